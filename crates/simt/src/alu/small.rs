//! Arithmetic on `f16` and `bf16`, rounded once.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Float as Op, FloatVerb};

use super::form::{Decoded, Form};
use super::half::{Brain, Half, Small, sum_to_odd};
use super::lanes::{Code, operation};
use super::single::{
    FLUSH, RELU, ROUNDING, SATURATE, config_of, operand as single_operand, result as single_result,
};
use super::soft::{SINGLE, rounding_of, single as exact_single};
use crate::ptx::op::words::Rounding;

#[inline(always)]
pub(super) fn operand<T: Small>(value: T, config: u32) -> T {
    let flushed = value.flushed();
    if config & FLUSH != 0 { flushed } else { value }
}

#[inline(always)]
pub(super) fn result<T: Small>(value: T, config: u32) -> T {
    // All variants are computed and one is selected, so that the loop over lanes has no branches.
    let flushed = value.flushed().bits();
    let bits = if config & FLUSH != 0 { flushed } else { value.bits() };
    let is_negative = (bits & 0x8000 != 0) & !value.is_nan();
    let at_most_one = if bits > T::ONE { T::ONE } else { bits };
    let saturated = if (bits & 0x8000 != 0) | value.is_nan() { 0 } else { at_most_one };
    let positive = if is_negative { 0 } else { bits };
    let bits = if config & RELU != 0 { positive } else { bits };
    T::from_bits(if config & SATURATE != 0 { saturated } else { bits })
}

/// Applies the modifiers as [`result`] does, but flushes by the value before rounding: see
/// [`super::single::result_of`].
#[inline(always)]
fn result_of<T: Small>(value: T, exact: f64, config: u32) -> T {
    let is_tiny = (config & FLUSH != 0) & (exact.abs() < T::LEAST_ROUNDED_UP);
    let zero = T::from_bits(value.bits() & 0x8000);
    result(if is_tiny { zero } else { value }, config)
}

// Without modifiers the loop over lanes selects less, and is several times as fast.
operation!(PlainAdd[T: Small](a: T, b: T) -> T { T::narrow(a.widen() + b.widen()) });
operation!(PlainSub[T: Small](a: T, b: T) -> T { T::narrow(a.widen() - b.widen()) });
operation!(PlainMul[T: Small](a: T, b: T) -> T { a.product(b) });
operation!(PlainFma[T: Small](a: T, b: T, c: T) -> T {
    let wide = |value: T| f64::from(value.widen());
    T::narrow_double(sum_to_odd(wide(a) * wide(b), wide(c)))
});

operation!(SmallAdd[T: Small](a: T, b: T; config) -> T {
    // Rounding to 24 bits first is harmless for a sum of two numbers of 11 or 8 bits.
    result(T::narrow(operand(a, config).widen() + operand(b, config).widen()), config)
});
operation!(SmallSub[T: Small](a: T, b: T; config) -> T {
    result(T::narrow(operand(a, config).widen() - operand(b, config).widen()), config)
});
operation!(SmallMul[T: Small](a: T, b: T; config) -> T {
    let (a, b) = (operand(a, config), operand(b, config));
    result_of(a.product(b), f64::from(a.widen()) * f64::from(b.widen()), config)
});
operation!(SmallFma[T: Small](a: T, b: T, c: T; config) -> T {
    let wide = |value: T| f64::from(operand(value, config).widen());
    let exact = sum_to_odd(wide(a) * wide(b), wide(c));
    result_of(T::narrow_double(exact), exact, config)
});
operation!(SmallAbs[T: Small](a: T; config) -> T {
    let positive = operand(T::from_bits(a.bits() & 0x7FFF), config);
    if a.is_nan() { T::nan() } else { positive }
});
operation!(SmallNeg[T: Small](a: T; config) -> T {
    let turned = operand(T::from_bits(a.bits() ^ 0x8000), config);
    if a.is_nan() { T::nan() } else { turned }
});

/// The operation in the configuration: `a + c`, `a - c`, `a * b + c` of small `a` and `b` and an `f32` `c`.
const SUBTRACT: u32 = 1 << 12;

#[inline(always)]
fn mixed_sum<T: Small>(a: T, b: T, c: f32, config: u32) -> f32 {
    let rounding = rounding_of(config >> ROUNDING);
    let product = exact_single(a.widen()).times(exact_single(b.widen()));
    let c = exact_single(if config & SUBTRACT != 0 { -c } else { c });
    let bits = SINGLE.round(product.add(c, rounding), rounding);
    single_result(single_operand(f32::from_bits(bits as u32), 0), config)
}

operation!(MixedAdd[T: Small](a: T, c: f32; config) -> f32 { mixed_sum(a, T::from_bits(T::ONE), c, config) });
operation!(MixedFma[T: Small](a: T, b: T, c: f32; config) -> f32 { mixed_sum(a, b, c, config) });

/// Decodes `add.f32.f16`, `sub` and `fma`: the second type is that of the first operands.
pub(super) fn mixed(form: &mut Form<'_>, op: &Op) -> Decoded {
    let is_brain = match op.factors {
        Some(ScalarType::Bf16) => true,
        Some(ScalarType::F16) => false,
        _ => return form.unsupported(),
    };
    if op.flushes {
        return form.unsupported();
    }
    let rounding = op.rounding.unwrap_or(Rounding::NearestEven);
    let config = config_of(op) | (rounding as u32) << ROUNDING;
    let (code, config) = match (op.verb, is_brain) {
        (FloatVerb::Add, false) => (Code::of::<MixedAdd<Half>>(), config),
        (FloatVerb::Add, true) => (Code::of::<MixedAdd<Brain>>(), config),
        (FloatVerb::Sub, false) => (Code::of::<MixedAdd<Half>>(), config | SUBTRACT),
        (FloatVerb::Sub, true) => (Code::of::<MixedAdd<Brain>>(), config | SUBTRACT),
        (FloatVerb::Fma, false) if op.rounding.is_some() => (Code::of::<MixedFma<Half>>(), config),
        (FloatVerb::Fma, true) if op.rounding.is_some() => (Code::of::<MixedFma<Brain>>(), config),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}
