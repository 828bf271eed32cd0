//! `f32`: the effects of modifiers on operands and results.

use super::lanes::flag;
use crate::ptx::op::arithmetic::Float;

/// Bits of a float operation's configuration.
pub(super) const FLUSH: u32 = 1;
pub(super) const SATURATE: u32 = 2;
pub(super) const RELU: u32 = 4;
/// Position of the rounding in the configuration.
pub(super) const ROUNDING: u32 = 8;

/// Bits of the configuration for `.ftz` and `.sat`.
pub(super) fn config_of(op: &Float) -> u32 {
    flag(op.flushes, FLUSH) | flag(op.saturates, SATURATE)
}

/// Flushes subnormal numbers to 0 of the same sign.
#[inline(always)]
pub(super) fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// The only NaN that operations on `f32` return.
pub(super) const NAN: f32 = f32::from_bits(0x7FFF_FFFF);

/// Returns the canonical NaN for any NaN. Tests the bits, since LLVM treats all NaN of floats as one and may return a
/// square root's own NaN instead.
#[inline(always)]
pub(super) fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7FFF_FFFF > 0x7F80_0000 { 0x7FFF_FFFF } else { bits })
}

/// Applies `.ftz` to an operand.
#[inline(always)]
pub(super) fn operand(value: f32, config: u32) -> f32 {
    if config & FLUSH != 0 { flush(value) } else { value }
}

/// Applies `.ftz` and `.sat` to a result.
#[inline(always)]
pub(super) fn result(value: f32, config: u32) -> f32 {
    framed(if config & FLUSH != 0 { flush(value) } else { value }, config)
}

/// Applies them to a result rounded to the nearest; `exact` is its value, or at least its magnitude, before rounding.
///
/// A value is flushed if it is below the smallest normal number at 24 bits, even if the coarser rounding of subnormal
/// numbers gives exactly that number.
#[inline(always)]
pub(super) fn result_of(value: f32, exact: f64, config: u32) -> f32 {
    let is_tiny = exact.abs() < LEAST_ROUNDED_UP;
    let zero = f32::from_bits(value.to_bits() & 0x8000_0000);
    framed(if (config & FLUSH != 0) & is_tiny { zero } else { value }, config)
}

/// The smallest value that rounds to the smallest normal number, 2^-126, or above.
pub(super) const LEAST_ROUNDED_UP: f64 = (1.0 - 1.0 / (1 << 25) as f64) * f32::MIN_POSITIVE as f64;

#[inline(always)]
pub(super) fn framed(value: f32, config: u32) -> f32 {
    if config & SATURATE != 0 { saturate(value) } else { canonical(value) }
}

/// Clamps to 0..=1; NaN and -0.0 become 0.0.
#[inline(always)]
pub(super) fn saturate(value: f32) -> f32 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}
