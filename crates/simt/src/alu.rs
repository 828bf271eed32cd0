//! Arithmetic: instructions on registers alone, and those by which the lanes of a warp exchange values.
//!
//! Semantics are those of the PTX ISA manual, 9.0. Where the manual leaves a result open, it is the one observed on an
//! H200:
//! - Integer division by zero gives all ones, and so does its remainder; `MIN / -1` is `MIN`, its remainder 0.
//! - A NaN result of an `f32`, `f16` or `bf16` operation is the canonical one, `0x7FFFFFFF` or `0x7FFF`, also of `abs`
//!   and `neg`. `f64` operations, and conversions from `f64`, pass on an operand's NaN, made quiet.
//! - `.ftz` flushes a result to 0 if it is below the smallest normal number after rounding to the format's precision.
//! - `bfe` and `bfi` of 64 bits use positions and lengths above 255 as they are; those of 32 bits use their lowest 8
//!   bits.
//!
//! The approximate functions (`ex2`, `lg2`, `sin`, `cos`, `tanh`, `.approx`) are computed in `f64` and rounded. They
//! are within the errors that the manual documents, but may differ from a GPU in the last bits.

mod approximate;
mod carry;
mod collective;
mod compare;
mod convert;
mod double;
mod extremes;
mod fields;
mod float;
mod form;
mod half;
mod integer;
mod lanes;
mod logic;
mod moves;
mod packed;
mod products;
mod raw;
mod select;
mod shuffle;
mod single;
mod small;
mod soft;

use crate::decode::{Columns, DecodeError, Level};
use crate::ptx::Instruction;
use crate::ptx::op::Op;
use crate::ptx::op::matrix::Mma;
use crate::registers::{Cell, Slot, Width};

/// Executes an instruction for the lanes of a mask.
///
/// # Safety
/// The frame is that of a warp in the function for which the slots were made, this computer supports the level at which
/// the instruction was decoded, and no other code uses the frame meanwhile.
pub(crate) type Run = unsafe fn(frame: *mut Cell, slots: &Slots, mask: u32);

/// Columns of an instruction's operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Columns written, in cells from the start of the frame.
    pub results: [u32; 2],
    /// Columns read. The results of an instruction beyond the second (a `mov` that unpacks four) are here too.
    pub sources: [u32; 4],
    /// Bits of the opcode, or a small immediate. From bit 26: the results and then the sources to invert.
    pub config: u32,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Arithmetic {
    /// Function that executes it.
    pub run: Run,
    /// Its columns.
    pub slots: Slots,
    shape: Shape,
}

impl Arithmetic {
    /// Returns the columns that it writes in the lanes of the mask.
    pub fn results(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.results(self.slots)
    }

    /// Returns the columns that it reads.
    pub fn sources(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.sources(self.slots)
    }
}

/// The used slots of [`Slots`] and their widths: four bits per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape(u32);

impl Shape {
    fn set(&mut self, index: u32, width: Width, is_result: bool) {
        let width = match width {
            Width::Predicate => 1,
            Width::Word => 2,
            Width::Double => 3,
            Width::Quad => 4,
        };
        self.0 |= (width | u32::from(is_result) << 3) << (4 * index);
    }

    fn slots(self, slots: Slots, results: bool) -> impl Iterator<Item = Slot> {
        let ([a, b], [c, d, e, f]) = (slots.results, slots.sources);
        [a, b, c, d, e, f].into_iter().zip(0..).filter_map(move |(cell, index)| {
            let bits = self.0 >> (4 * index) & 15;
            let width = match bits & 7 {
                1 => Width::Predicate,
                2 => Width::Word,
                3 => Width::Double,
                4 => Width::Quad,
                _ => return None,
            };
            (results == (bits & 8 != 0)).then_some(Slot { cell, width })
        })
    }

    fn results(self, slots: Slots) -> impl Iterator<Item = Slot> {
        self.slots(slots, true)
    }

    fn sources(self, slots: Slots) -> impl Iterator<Item = Slot> {
        self.slots(slots, false)
    }
}

/// Decodes an instruction on each lane's registers alone. None if it is not one.
///
/// # Errors
/// Fails if the simulator does not know this form of the instruction, or its operands do not fit.
pub fn decode(
    instruction: &Instruction,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Option<Arithmetic>, DecodeError> {
    let op = instruction.opcode.op()?;
    let form = &mut form::Form::new(instruction, columns, level);
    let decoded = match op {
        Op::Mov(scalar) => moves::mov(form, scalar),
        Op::Convert(convert) => convert::decode(form, &convert),
        Op::Pack(pack) => convert::pack(form, &pack),
        Op::Compare(compare) => compare::decode(form, &compare),
        Op::Selp(scalar) => select::selp(form, scalar),
        Op::Slct { scalar, by, flushes } => select::slct(form, scalar, by, flushes),
        Op::Testp(test, scalar) => select::testp(form, test, scalar),
        Op::Copysign(scalar) => select::copysign(form, scalar),
        Op::Logic(verb, scalar) => logic::decode(form, verb, scalar),
        Op::Shf { left, overshift, scalar } => logic::funnel_shift(form, left, overshift, scalar),
        Op::Lop3 { combine, scalar } => logic::lop3(form, combine, scalar),
        Op::Field { verb, overshift, scalar } => fields::decode(form, verb, overshift, scalar),
        Op::Prmt { permutation, scalar } => fields::prmt(form, permutation, scalar),
        Op::Dot(dot) => fields::dot(form, &dot),
        Op::Integer(integer) if integer.carry_in || integer.carry_out => carry::decode(form, &integer),
        Op::Integer(integer) => integer::decode(form, &integer),
        Op::Float(float) => float::decode(form, &float),
        _ => return Ok(None),
    };
    decoded.map(Some)
}

/// A decoded collective: an instruction of several lanes.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// Function that executes it, for all lanes that have met.
    pub run: Run,
    /// Its columns.
    pub slots: Slots,
    /// Column of the member mask: the lanes that must meet before it executes. None for the lanes that are present.
    pub member_mask: Option<Slot>,
    shape: Shape,
}

impl Collective {
    /// Returns the columns that it writes in the lanes of the mask.
    pub fn results(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.results(self.slots)
    }

    /// Returns the columns that it reads, the member mask included.
    pub fn sources(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.sources(self.slots).chain(self.member_mask)
    }
}

pub(crate) use compare::exchanges;
pub(crate) use products::MatrixProduct;

/// Decodes a product of matrices, `mma.sync`.
///
/// # Errors
/// Fails as [`decode`] does.
pub(crate) fn decode_product(
    instruction: &Instruction,
    op: &Mma,
    columns: &mut dyn Columns,
) -> Result<MatrixProduct, DecodeError> {
    products::decode(instruction, op, columns)
}

/// Decodes a collective: `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`. None if it is not one.
///
/// # Errors
/// Fails as [`decode`] does.
pub fn decode_collective(
    instruction: &Instruction,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Option<Collective>, DecodeError> {
    collective::decode(&mut form::Form::new(instruction, columns, level))
}
