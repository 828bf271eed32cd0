//! `f32`: what its modifiers do to operands and results.

/// Bits of a float operation's configuration.
pub(super) const FLUSH: u32 = 1;
pub(super) const SATURATE: u32 = 2;
pub(super) const RELU: u32 = 4;
/// Where the direction of rounding stands in it.
pub(super) const ROUNDING: u32 = 8;

/// Subnormal numbers become 0 of the same sign.
#[inline(always)]
pub(super) fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// The only NaN that operations on `f32` give.
pub(super) const NAN: f32 = f32::from_bits(0x7FFF_FFFF);

/// Asks the bits, for to LLVM all NaN are one: of floats, it may give a square root's own NaN rather than this one.
#[inline(always)]
pub(super) fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7FFF_FFFF > 0x7F80_0000 { 0x7FFF_FFFF } else { bits })
}

/// An operand as `.ftz` wants it.
#[inline(always)]
pub(super) fn operand(value: f32, config: u32) -> f32 {
    if config & FLUSH != 0 { flush(value) } else { value }
}

/// A result as `.ftz` and `.sat` want it.
#[inline(always)]
pub(super) fn result(value: f32, config: u32) -> f32 {
    framed(if config & FLUSH != 0 { flush(value) } else { value }, config)
}

/// As [`result`], of one that was rounded to the nearest: `exact` says what it was, or rather its magnitude.
///
/// Flushed is what is below the least normal number once it has 24 bits, even if it becomes that very number where
/// subnormal numbers have fewer.
#[inline(always)]
pub(super) fn result_of(value: f32, exact: f64, config: u32) -> f32 {
    let is_tiny = exact.abs() < LEAST_ROUNDED_UP;
    let zero = f32::from_bits(value.to_bits() & 0x8000_0000);
    framed(if (config & FLUSH != 0) & is_tiny { zero } else { value }, config)
}

/// What is at least this, rounds to the least normal number, 2^-126, or above.
pub(super) const LEAST_ROUNDED_UP: f64 = (1.0 - 1.0 / (1 << 25) as f64) * f32::MIN_POSITIVE as f64;

#[inline(always)]
pub(super) fn framed(value: f32, config: u32) -> f32 {
    if config & SATURATE != 0 { saturate(value) } else { canonical(value) }
}

/// To 0..=1; NaN and -0.0 become 0.0.
#[inline(always)]
pub(super) fn saturate(value: f32) -> f32 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}
