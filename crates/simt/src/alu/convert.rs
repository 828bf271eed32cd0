//! Conversions `cvt`, between numbers of any two types.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Convert, Format};
use crate::ptx::op::words::Rounding;

use super::convert_float;
use super::convert_integer;
use super::convert_packed;
use super::form::{Decoded, Form};
use super::lanes::flag;

/// Bits of a conversion's configuration. The lowest are [`super::single::FLUSH`] and the like.
pub(super) const FINITE: u32 = 8;
/// Position of the rounding to a whole number; the value 7 is none.
pub(super) const WHOLE: u32 = 12;

/// Returns the bits of the configuration for a conversion's modifiers.
pub(super) fn config_of(op: &Convert) -> u32 {
    use super::single::{FLUSH, RELU, ROUNDING, SATURATE};
    let rounding = op.rounding.unwrap_or(Rounding::NearestEven) as u32;
    let whole = op.whole.map_or(7, |whole| whole as u32);
    flag(op.flushes, FLUSH)
        | flag(op.saturates, SATURATE)
        | flag(op.relu, RELU)
        | flag(op.finite, FINITE)
        | (rounding << ROUNDING)
        | (whole << WHOLE)
}

/// The configuration of a conversion without modifiers.
pub(super) const PLAIN: u32 = 7 << WHOLE;

fn is_integer(scalar: ScalarType) -> bool {
    use ScalarType::{S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(scalar, S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64)
}

pub(super) fn is_signed(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::F16 | ScalarType::Bf16 | ScalarType::F32 | ScalarType::F64)
}

pub(super) fn decode(form: &mut Form<'_>, op: &Convert) -> Decoded {
    let (Format::Scalar(to), Format::Scalar(from)) = (op.to, op.from) else {
        return convert_packed::decode(form, op);
    };
    if [to, from].iter().any(|scalar| matches!(scalar, ScalarType::F16x2 | ScalarType::Bf16x2)) {
        return convert_packed::decode(form, op);
    }
    match (is_integer(to), is_integer(from)) {
        (true, true) => convert_integer::between(form, to, from, op),
        (true, false) if is_float(from) => convert_integer::from_float(form, to, from, op),
        (false, true) if is_float(to) => convert_float::from_integer(form, to, from, op),
        (false, false) if is_float(to) && is_float(from) => convert_float::between(form, to, from, op),
        _ => form.unsupported(),
    }
}
