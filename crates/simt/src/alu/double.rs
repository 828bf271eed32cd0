//! Arithmetic on `f64`, rounded to the nearest.

use super::lanes::operation;

#[inline(always)]
pub(super) fn quiet(value: f64) -> f64 {
    f64::from_bits(value.to_bits() | 1 << 51)
}

/// Returns the NaN of an operation: the first of these operands that is a NaN, made quiet, or else the canonical one.
#[inline(always)]
pub(super) fn nan_of(first: f64, second: f64, third: f64) -> f64 {
    let rest = if third.is_nan() { quiet(third) } else { f64::from_bits(0xFFF8_0000_0000_0000) };
    let rest = if second.is_nan() { quiet(second) } else { rest };
    if first.is_nan() { quiet(first) } else { rest }
}

/// Tests the bits: see [`super::single::canonical`].
#[inline(always)]
fn is_nan(value: f64) -> bool {
    value.to_bits() & u64::MAX >> 1 > 0x7FF0_0000_0000_0000
}

// A GPU takes a NaN of the second operand first, and of the first one last; a division takes them in order.
#[inline(always)]
fn checked(value: f64, a: f64, b: f64, c: f64) -> f64 {
    if is_nan(value) { nan_of(b, c, a) } else { value }
}

#[inline(always)]
fn quotient(value: f64, a: f64, b: f64) -> f64 {
    if is_nan(value) { nan_of(a, b, 0.0) } else { value }
}

operation!(Add(a: f64, b: f64) -> f64 { checked(a + b, a, b, 0.0) });
operation!(Sub(a: f64, b: f64) -> f64 { checked(a - b, a, b, 0.0) });
operation!(Mul(a: f64, b: f64) -> f64 { checked(a * b, a, b, 0.0) });
operation!(Fma(a: f64, b: f64, c: f64) -> f64 { checked(a.mul_add(b, c), a, b, c) });
operation!(Div(a: f64, b: f64) -> f64 { quotient(a / b, a, b) });
operation!(Reciprocal(a: f64) -> f64 { quotient(1.0 / a, a, 0.0) });
operation!(Sqrt(a: f64) -> f64 { quotient(a.sqrt(), a, 0.0) });
operation!(Abs(a: f64) -> f64 { if a.is_nan() { quiet(a) } else { a.abs() } });
operation!(Neg(a: f64) -> f64 { if a.is_nan() { quiet(a) } else { -a } });
