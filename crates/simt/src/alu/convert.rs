//! Conversions `cvt`, between numbers of any two types.

mod float;
mod integer;
mod modifiers;
mod packed;

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Convert, Format};

use super::form::{Decoded, Form};

fn is_integer(scalar: ScalarType) -> bool {
    use ScalarType::{S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(scalar, S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64)
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::F16 | ScalarType::Bf16 | ScalarType::F32 | ScalarType::F64)
}

pub(super) use packed::pack;

pub(super) fn decode(form: &mut Form<'_>, op: &Convert) -> Decoded {
    let (Format::Scalar(to), Format::Scalar(from)) = (op.to, op.from) else {
        return packed::decode(form, op);
    };
    if [to, from].iter().any(|scalar| matches!(scalar, ScalarType::F16x2 | ScalarType::Bf16x2)) {
        return packed::decode(form, op);
    }
    match (is_integer(to), is_integer(from)) {
        (true, true) => integer::between(form, to, from, op),
        (true, false) if is_float(from) => integer::from_float(form, to, from, op),
        (false, true) if is_float(to) => float::from_integer(form, to, from, op),
        (false, false) if is_float(to) && is_float(from) => float::between(form, to, from, op),
        _ => form.unsupported(),
    }
}
