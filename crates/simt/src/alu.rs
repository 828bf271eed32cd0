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
mod decoded;
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
pub(crate) mod soft;

use crate::decode::{Columns, DecodeError, Level};
use crate::ptx::Instruction;
use crate::ptx::op::Op;
use crate::ptx::op::matrix::Mma;

pub(crate) use compare::exchanges;
pub use decoded::{Arithmetic, Collective};
pub(crate) use lanes::invert_source;
pub(crate) use products::MatrixProduct;
pub(crate) use shuffle::shuffled;

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

/// Decodes a product of matrices, `mma.sync`.
///
/// # Errors
/// Fails as [`decode`] does.
pub(crate) fn decode_product(
    instruction: &Instruction,
    op: &Mma,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<MatrixProduct, DecodeError> {
    products::decode(instruction, op, columns, level)
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
