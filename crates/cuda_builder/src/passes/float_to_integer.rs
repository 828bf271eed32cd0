//! Makes Rust's casts from floats to integers the single instruction that does the same.
//!
//! `x as i32` clamps to the ends of the range and makes 0 of NaN, which is LLVM's `llvm.fptosi.sat`. LLVM's back end
//! compares and selects around a `cvt` for it, though a `cvt` to an integer clamps by itself. What it makes of NaN is 0 as
//! well, unless one of the two types has 64 bits: then it is the value with only the highest bit set, and a selection
//! remains (PTX ISA, "Data Movement and Conversion Instructions: cvt"). An integer of fewer than 32 bits is clamped as one of 32.
//!
//! A `cvt` also rounds in the direction that it is told, so that `floor(x) as i32` is one instruction, not two.
//!
//! Run after the optimiser, which knows LLVM's function and what follows from it, and takes NVPTX's for something opaque.
//!
//! | cast | instructions |
//! | --- | --- |
//! | `f32` to `i32`, `u32` | `cvt` |
//! | `f32` to `i64`, `u64`; `f64` to 32 and 64 bits | `cvt`, `setp.nan`, `selp` |
//! | `f32` to `i8`, `i16` | `cvt`, `min`, `max` |
//! | `f32` to `u8`, `u16` | `cvt`, `min` |

use crate::llvm::{Builder, Module, Opcode, Value};

/// The attribute with which [`float`](super::float) has subnormal operands taken for 0.
const FLUSHES: &str = "denormal-fp-math-f32";

/// A cast, by the name of LLVM's function for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cast {
    is_signed: bool,
    bits: u32,
    /// True from `f64`, false from `f32`.
    is_double: bool,
}

impl Cast {
    /// Reads `llvm.fptosi.sat.i32.f32`. `None` for anything else, and for types that no `cvt` has.
    fn of(name: &str) -> Option<Self> {
        let (is_signed, types) = match name.strip_prefix("llvm.fptosi.sat.i") {
            Some(types) => (true, types),
            None => (false, name.strip_prefix("llvm.fptoui.sat.i")?),
        };
        let (bits, float) = types.split_once('.')?;
        let bits = bits.parse().ok().filter(|bits| (1..=32).contains(bits) || *bits == 64)?;
        let is_double = match float {
            "f32" => false,
            "f64" => true,
            _ => return None,
        };
        Some(Self { is_signed, bits, is_double })
    }

    /// The bits of the `cvt`.
    fn wide(self) -> u32 {
        self.bits.max(32)
    }

    /// The name of NVPTX's conversion with this rounding.
    fn function(self, rounding: &str, flushes: bool) -> String {
        let from = if self.is_double { "d" } else { "f" };
        let to = match (self.is_signed, self.wide()) {
            (true, 32) => "i",
            (false, 32) => "ui",
            (true, _) => "ll",
            (false, _) => "ull",
        };
        let flush = if flushes && !self.is_double { ".ftz" } else { "" };
        format!("llvm.nvvm.{from}2{to}.{rounding}{flush}")
    }

    /// True if the `cvt` makes something other than 0 of NaN.
    fn marks_nan(self) -> bool {
        self.is_double || self.bits == 64
    }

    /// The functions and operands, of 32 bits, that clamp to an integer of fewer.
    fn clamps(self) -> Vec<(&'static str, u64)> {
        match (self.bits, self.is_signed) {
            (32.., _) => Vec::new(),
            (bits, false) => vec![("llvm.umin.i32", (1 << bits) - 1)],
            (bits, true) => {
                let end = 1_u64 << (bits - 1);
                vec![("llvm.smin.i32", end - 1), ("llvm.smax.i32", end.wrapping_neg() & u64::from(u32::MAX))]
            }
        }
    }
}

pub(super) fn run(module: &mut Module<'_>) {
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let flushes = function.has_attribute(FLUSHES);
        let casts: Vec<_> =
            function.instructions().filter_map(|call| Some((call, Cast::of(&callee_name(call)?)?))).collect();
        for (call, cast) in casts {
            let Some(operand) = call.operands().next() else { continue };
            let (rounding, float) = rounded(operand).unwrap_or(("rz", operand));
            let converted = convert(module, call, cast, &cast.function(rounding, flushes), float);
            // SAFETY: the list has each call once, and this was its turn.
            unsafe { call.become_value(converted) };
        }
    }
}

fn callee_name(instruction: Value<'_>) -> Option<String> {
    (instruction.opcode() == Some(Opcode::Call)).then(|| instruction.callee())?.map(|callee| callee.name())
}

/// The rounding of a float to a whole number, and what is rounded.
fn rounded(float: Value<'_>) -> Option<(&'static str, Value<'_>)> {
    let name = callee_name(float)?;
    let (function, _) = name.strip_prefix("llvm.")?.split_once('.')?;
    let rounding = match function {
        "floor" => "rm",
        "ceil" => "rp",
        "trunc" => "rz",
        "roundeven" | "rint" | "nearbyint" => "rn",
        _ => return None,
    };
    Some((rounding, float.operands().next()?))
}

/// The instructions for a cast, in front of it.
fn convert<'c>(
    module: &mut Module<'c>,
    call: Value<'c>,
    cast: Cast,
    function: &str,
    float: Value<'c>,
) -> Value<'c> {
    let builder = Builder::before(call);
    let conversion = module.integer_function(function, cast.wide(), &[float]);
    let mut integer = builder.call(conversion, &[float]);
    if cast.marks_nan() {
        integer = builder.select(builder.is_nan(float), integer.constant_like(0), integer);
    }
    for (function, end) in cast.clamps() {
        let end = integer.constant_like(end);
        let clamp = module.integer_function(function, cast.wide(), &[integer, end]);
        integer = builder.call(clamp, &[integer, end]);
    }
    if cast.bits < cast.wide() { builder.truncate(integer, call) } else { integer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::{FloatOptions, PassOptions};
    use crate::testing;

    /// A kernel that stores `%x`, a `from`, as `to`, rounded by `rounding` first where that is given.
    fn kernel(function: &str, from: &str, to: &str, rounding: Option<&str>) -> String {
        let float = if from == "float" { "f32" } else { "f64" };
        let (declared, whole) = match rounding {
            None => (String::new(), String::from("%whole = freeze FLOAT %x")),
            Some(name) => (
                format!("declare {from} @llvm.{name}.{float}({from})"),
                format!("%whole = call {from} @llvm.{name}.{float}({from} %x)"),
            ),
        };
        let whole = whole.replace("FLOAT", from);
        format!(
            "{declared}
             declare {to} @llvm.{function}.sat.{to}.{float}({from})
             define ptx_kernel void @k(ptr %out, {from} %x) {{
               {whole}
               %integer = call {to} @llvm.{function}.sat.{to}.{float}({from} %whole)
               store {to} %integer, ptr %out
               ret void
             }}"
        )
    }

    /// The instructions between the loads of the parameters and the store.
    fn instructions(ptx: &str) -> Vec<&str> {
        let names = ptx.lines().filter_map(|line| line.split_whitespace().next());
        names
            .filter(|name| {
                ["cvt.", "setp.", "selp.", "min.", "max.", "mov."].iter().any(|kind| name.starts_with(kind))
            })
            .collect()
    }

    #[test]
    fn a_cast_is_one_conversion_and_what_is_left_to_do() {
        let expected: [(&str, &str, &str, &[&str]); 12] = [
            ("fptosi", "float", "i32", &["cvt.rzi.s32.f32"]),
            ("fptoui", "float", "i32", &["cvt.rzi.u32.f32"]),
            ("fptosi", "float", "i8", &["cvt.rzi.s32.f32", "min.s32", "max.s32"]),
            ("fptosi", "float", "i16", &["cvt.rzi.s32.f32", "min.s32", "max.s32"]),
            ("fptoui", "float", "i8", &["cvt.rzi.u32.f32", "min.u32"]),
            ("fptoui", "float", "i16", &["cvt.rzi.u32.f32", "min.u32"]),
            ("fptosi", "float", "i64", &["cvt.rzi.s64.f32", "setp.nan.f32", "selp.b64"]),
            ("fptoui", "float", "i64", &["cvt.rzi.u64.f32", "setp.nan.f32", "selp.b64"]),
            ("fptosi", "double", "i32", &["cvt.rzi.s32.f64", "setp.nan.f64", "selp.b32"]),
            ("fptoui", "double", "i32", &["cvt.rzi.u32.f64", "setp.nan.f64", "selp.b32"]),
            ("fptosi", "double", "i64", &["cvt.rzi.s64.f64", "setp.nan.f64", "selp.b64"]),
            ("fptoui", "double", "i64", &["cvt.rzi.u64.f64", "setp.nan.f64", "selp.b64"]),
        ];
        for (function, from, to, instructions_expected) in expected {
            let ptx = testing::ptx(&kernel(function, from, to, None));
            assert_eq!(instructions(&ptx), instructions_expected, "{function} of {from} to {to}:\n{ptx}");
        }
    }

    #[test]
    fn a_rounding_becomes_the_conversions() {
        for (rounding, conversion) in [
            ("floor", "cvt.rmi.s32.f32"),
            ("ceil", "cvt.rpi.s32.f32"),
            ("trunc", "cvt.rzi.s32.f32"),
            ("roundeven", "cvt.rni.s32.f32"),
            ("rint", "cvt.rni.s32.f32"),
        ] {
            let ptx = testing::ptx(&kernel("fptosi", "float", "i32", Some(rounding)));
            assert_eq!(instructions(&ptx), [conversion], "{rounding}:\n{ptx}");
        }
        let ptx = testing::ptx(&kernel("fptoui", "double", "i64", Some("ceil")));
        assert_eq!(instructions(&ptx), ["cvt.rpi.u64.f64", "setp.nan.f64", "selp.b64"], "{ptx}");
        // Halves away from 0 is none of the directions.
        let ptx = testing::ptx(&kernel("fptosi", "float", "i32", Some("round")));
        assert!(ptx.contains("cvt.rzi.s32.f32") && instructions(&ptx).len() > 1, "{ptx}");
    }

    #[test]
    fn flushed_operands_are_rounded_as_zero() {
        let float = FloatOptions { flush_subnormals: true, ..Default::default() };
        let options = PassOptions { float, ..Default::default() };
        let ptx = testing::ptx_with(&kernel("fptosi", "float", "i32", Some("floor")), options).unwrap();
        assert_eq!(instructions(&ptx), ["cvt.rmi.ftz.s32.f32"], "{ptx}");
    }

    #[test]
    fn constants_are_folded_with_rusts_meaning() {
        for (float, integer) in [
            ("0x7FF8000000000000", "0"),
            ("0x7FF0000000000000", "2147483647"),
            ("0xFFF0000000000000", "-2147483648"),
            ("-1.5", "-1"),
            ("2147483648.0", "2147483647"),
        ] {
            let ptx = testing::ptx(&format!(
                "declare i32 @llvm.fptosi.sat.i32.f32(float)
                 define ptx_kernel void @k(ptr %out) {{
                   %integer = call i32 @llvm.fptosi.sat.i32.f32(float {float})
                   store i32 %integer, ptr %out
                   ret void
                 }}"
            ));
            assert!(!ptx.contains("cvt.rzi") && ptx.contains(&format!(", {integer};")), "{float}:\n{ptx}");
        }
    }

    #[test]
    fn other_types_stay_llvms() {
        let of = |bits, is_signed, is_double| Some(Cast { is_signed, bits, is_double });
        assert_eq!(Cast::of("llvm.fptosi.sat.i32.f32"), of(32, true, false));
        assert_eq!(Cast::of("llvm.fptoui.sat.i8.f64"), of(8, false, true));
        for other in [
            "llvm.fptosi.sat.i128.f32",
            "llvm.fptosi.sat.i33.f32",
            "llvm.fptosi.sat.i32.f16",
            "llvm.fptosi.sat.v2i32.v2f32",
            "llvm.floor.f32",
        ] {
            assert_eq!(Cast::of(other), None, "{other}");
        }
    }
}
