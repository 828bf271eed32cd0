//! Forms of values: scalars, affine ones, rows and vectors of lanes, as text of LLVM.

use crate::registers::Width;

/// A value of an instruction: the text of an operand, without its type.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The same in all lanes.
    Scalar(String),
    /// Base and step.
    Affine(String, String),
    /// Rows of `1 << log` lanes: base, and the steps within and between rows.
    Grid(u8, [String; 3]),
    /// 32 lanes.
    Vector(String),
    /// A predicate: 32 bits.
    Mask(String),
}

/// Returns the type of 32 lanes.
pub(super) fn lanes(bits: u32) -> String {
    format!("<32 x i{bits}>")
}

pub(super) fn bits_of(width: Width) -> u32 {
    match width {
        Width::Predicate => 1,
        Width::Word => 32,
        Width::Double => 64,
        Width::Quad => 128,
    }
}

/// Returns a constant of 32 lanes.
pub(super) fn constant_lanes(bits: u32, lane: impl Fn(u32) -> u32) -> String {
    let list: Vec<String> = (0..32).map(|index| format!("i{bits} {}", lane(index))).collect();
    format!("<{}>", list.join(", "))
}

pub(super) fn literal(bits: u32, value: u64) -> String {
    match bits {
        1 => (value & 1 != 0).to_string(),
        32 => (value as i32).to_string(),
        _ => (value as i64).to_string(),
    }
}
