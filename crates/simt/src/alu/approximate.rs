//! Approximate functions: `ex2`, `lg2`, `sin`, `cos`, `tanh`, `rsqrt`, and `div`, `rcp`, `sqrt` with `.approx` or
//! `.full`.
//!
//! Each is computed in `f64` and rounded. So its error is at most about half a unit in the last place, which is within
//! the errors that the manual documents.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Float as Op, FloatVerb};
use crate::ptx::op::words::Accuracy;

use super::double::nan_of;
use super::form::{Decoded, Form};
use super::half::{Brain, Half, Small};
use super::lanes::{Code, operation};
use super::packed::Twice;
use super::single::{FLUSH, operand, result};
use super::small::{operand as small_operand, result as small_result};

macro_rules! functions {
    ($($name:ident, |$value:ident| $function:expr;)*) => { $(
        operation!($name(a: f32; config) -> f32 {
            let $value = f64::from(operand(a, config));
            result($function as f32, config)
        });
    )* };
}

functions! {
    Exp2, |x| x.exp2();
    Log2, |x| x.log2();
    Sin, |x| x.sin();
    Cos, |x| x.cos();
    Tanh, |x| x.tanh();
    ReciprocalSqrt, |x| reciprocal_sqrt(x);
    Reciprocal, |x| 1.0 / x;
    Sqrt, |x| x.sqrt();
}

operation!(SmallExp2[T: Small](a: T; config) -> T {
    small_result(T::narrow_double(f64::from(small_operand(a, config).widen()).exp2()), config)
});
operation!(SmallTanh[T: Small](a: T; config) -> T {
    small_result(T::narrow_double(f64::from(small_operand(a, config).widen()).tanh()), config)
});

operation!(DivFull(a: f32, b: f32; config) -> f32 { result(operand(a, config) / operand(b, config), config) });

// The reciprocal of a divisor above 2^126 underflows.
operation!(Div(a: f32, b: f32; config) -> f32 {
    let (a, b) = (operand(a, config), operand(b, config));
    let reciprocal_is_lost = b.abs() > f32::from_bits(0x7E80_0000) && b.abs() < f32::INFINITY;
    let divisor = if reciprocal_is_lost { f32::INFINITY.copysign(b) } else { b };
    result(a / divisor, config)
});

/// Returns the upper half of an `f64`, with subnormal numbers flushed to 0.
#[inline(always)]
fn upper(value: f64) -> f64 {
    if value.is_nan() {
        return f64::from_bits(0x7FFF_FFFF_0000_0000);
    }
    let bits = value.to_bits() & 0xFFFF_FFFF_0000_0000;
    f64::from_bits(if bits & 0x7FF0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits })
}

#[inline(always)]
fn reciprocal_sqrt(value: f64) -> f64 {
    if value >= 0.0 { 1.0 / value.sqrt() } else { nan_of(value, 0.0, 0.0) }
}

operation!(ReciprocalDouble(a: f64) -> f64 { upper(1.0 / upper(a)) });
operation!(ReciprocalSqrtDouble(a: f64; config) -> f64 {
    if config & FLUSH != 0 { upper(reciprocal_sqrt(upper(a))) } else { reciprocal_sqrt(a) }
});

pub(super) fn decode(form: &mut Form<'_>, op: &Op) -> Decoded {
    let Op { verb, scalar, flushes, .. } = *op;
    let is_full = op.accuracy == Some(Accuracy::Full);
    if op.accuracy.is_none() || op.pairs {
        return form.unsupported();
    }
    let code = match (verb, scalar) {
        (FloatVerb::Ex2, ScalarType::F32) => Code::of::<Exp2>(),
        (FloatVerb::Lg2, ScalarType::F32) => Code::of::<Log2>(),
        (FloatVerb::Sin, ScalarType::F32) => Code::of::<Sin>(),
        (FloatVerb::Cos, ScalarType::F32) => Code::of::<Cos>(),
        (FloatVerb::Tanh, ScalarType::F32) if !flushes => Code::of::<Tanh>(),
        (FloatVerb::Rsqrt, ScalarType::F32) => Code::of::<ReciprocalSqrt>(),
        (FloatVerb::Rcp, ScalarType::F32) => Code::of::<Reciprocal>(),
        (FloatVerb::Sqrt, ScalarType::F32) => Code::of::<Sqrt>(),
        (FloatVerb::Div, ScalarType::F32) if is_full => Code::of::<DivFull>(),
        (FloatVerb::Div, ScalarType::F32) => Code::of::<Div>(),
        (FloatVerb::Rcp, ScalarType::F64) if flushes => Code::of::<ReciprocalDouble>(),
        (FloatVerb::Rsqrt, ScalarType::F64) => Code::of::<ReciprocalSqrtDouble>(),
        (FloatVerb::Ex2, ScalarType::F16) if !flushes => Code::of::<SmallExp2<Half>>(),
        (FloatVerb::Ex2, ScalarType::F16x2) if !flushes => Code::of::<Twice<SmallExp2<Half>>>().typed(scalar),
        (FloatVerb::Ex2, ScalarType::Bf16) if flushes => Code::of::<SmallExp2<Brain>>(),
        (FloatVerb::Ex2, ScalarType::Bf16x2) if flushes => {
            Code::of::<Twice<SmallExp2<Brain>>>().typed(scalar)
        }
        (FloatVerb::Tanh, ScalarType::F16) if !flushes => Code::of::<SmallTanh<Half>>(),
        (FloatVerb::Tanh, ScalarType::F16x2) if !flushes => {
            Code::of::<Twice<SmallTanh<Half>>>().typed(scalar)
        }
        (FloatVerb::Tanh, ScalarType::Bf16) if !flushes => Code::of::<SmallTanh<Brain>>(),
        (FloatVerb::Tanh, ScalarType::Bf16x2) if !flushes => {
            Code::of::<Twice<SmallTanh<Brain>>>().typed(scalar)
        }
        _ => return form.unsupported(),
    };
    form.plain(code, u32::from(flushes) * FLUSH)
}
