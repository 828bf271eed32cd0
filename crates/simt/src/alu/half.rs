//! `.f16` and `.bf16`: their representation, and rounding to them.

use crate::ptx::ScalarType;

use super::lanes::{Lane, Outcome};
use super::packed::Halves;

/// An `f16` by its bits: 5 of exponent, 10 of fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half(pub(super) u16);

/// A `bf16` by its bits: the upper half of an `f32`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brain(pub(super) u16);

/// A 16-bit floating-point format.
pub(super) trait Small: Lane + Outcome + Halves {
    const ONE: u16;
    const INFINITY: u16;
    /// The smallest normal number.
    const LEAST: u16;
    /// The smallest value that rounds to the smallest normal number or above, at the format's precision.
    const LEAST_ROUNDED_UP: f64;

    fn from_bits(bits: u16) -> Self;
    fn bits(self) -> u16;
    /// Converts exactly.
    fn widen(self) -> f32;
    /// Rounds to the nearest.
    fn narrow(value: f32) -> Self;
    /// Returns `a * b`, rounded to the nearest.
    fn product(self, other: Self) -> Self;

    /// Rounds to the nearest.
    #[inline(always)]
    fn narrow_double(value: f64) -> Self {
        Self::narrow(to_odd_single(value))
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.bits() & 0x7FFF > Self::INFINITY
    }

    #[inline(always)]
    fn nan() -> Self {
        Self::from_bits(0x7FFF)
    }

    /// Flushes subnormal numbers to 0 of the same sign.
    #[inline(always)]
    fn flushed(self) -> Self {
        if self.bits() & 0x7FFF < Self::LEAST { Self::from_bits(self.bits() & 0x8000) } else { self }
    }
}

impl Small for Half {
    const ONE: u16 = 0x3C00;
    const INFINITY: u16 = 0x7C00;
    const LEAST: u16 = 0x0400;
    const LEAST_ROUNDED_UP: f64 = (1.0 - 1.0 / 4096.0) / 16384.0;

    #[inline(always)]
    fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn bits(self) -> u16 {
        self.0
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        let magnitude = u32::from(self.0 & 0x7FFF) << 13;
        let sign = u32::from(self.0 & 0x8000) << 16;
        // The exponent is 112 too small; a multiplication, unlike an addition to it, makes subnormals normal.
        let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
        let widened = if magnitude >= 0x0F80_0000 { magnitude | 0x7F80_0000 } else { scaled };
        f32::from_bits(widened | sign)
    }

    #[inline(always)]
    fn narrow(value: f32) -> Self {
        let bits = value.to_bits();
        let magnitude = bits & 0x7FFF_FFFF;
        let rebased = magnitude.wrapping_sub(0x3800_0000);
        let normal = rebased.wrapping_add(0xFFF).wrapping_add(rebased >> 13 & 1) >> 13;
        // The last place of 0.5 is that of a subnormal `f16`.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3F00_0000);
        let rounded = if magnitude < 0x3880_0000 { subnormal } else { normal };
        let rounded = if magnitude >= 0x477F_F000 { 0x7C00 } else { rounded };
        let signed = rounded as u16 | (bits >> 16) as u16 & 0x8000;
        Self(if magnitude > 0x7F80_0000 { 0x7FFF } else { signed })
    }

    #[inline(always)]
    fn product(self, other: Self) -> Self {
        // The product is exact in 24 bits.
        Self::narrow(self.widen() * other.widen())
    }
}

impl Small for Brain {
    const ONE: u16 = 0x3F80;
    const INFINITY: u16 = 0x7F80;
    const LEAST: u16 = 0x0080;
    const LEAST_ROUNDED_UP: f64 = (1.0 - 1.0 / 512.0) * f32::MIN_POSITIVE as f64;

    #[inline(always)]
    fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn bits(self) -> u16 {
        self.0
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> Self {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7FFF).wrapping_add(bits >> 16 & 1) >> 16;
        Self(if value.is_nan() { 0x7FFF } else { rounded as u16 })
    }

    #[inline(always)]
    fn product(self, other: Self) -> Self {
        // The product is exact in an `f64`; in an `f32` only if it is not subnormal.
        Self::narrow_double(f64::from(self.widen()) * f64::from(other.widen()))
    }
}

macro_rules! lanes {
    ($($name:ident, $scalar:ident;)*) => { $(
        impl Lane for $name {
            type Raw = u32;
            const SCALAR: Option<ScalarType> = Some(ScalarType::$scalar);

            #[inline(always)]
            fn from_raw(raw: u32) -> Self {
                Self(raw as u16)
            }

            #[inline(always)]
            fn into_raw(self) -> u32 {
                self.0.into()
            }
        }

        impl Outcome for $name {
            type First = Self;
            type Second = ();

            #[inline(always)]
            fn split(self) -> (Self, ()) {
                (self, ())
            }
        }

        impl Halves for $name {
            type Both = u32;

            #[inline(always)]
            fn low(both: u32) -> Self {
                Self(both as u16)
            }

            #[inline(always)]
            fn high(both: u32) -> Self {
                Self((both >> 16) as u16)
            }

            #[inline(always)]
            fn join(low: Self, high: Self) -> u32 {
                u32::from(low.0) | u32::from(high.0) << 16
            }
        }
    )* };
}

lanes! { Half, F16; Brain, Bf16; }

/// Rounds towards zero and sets the last bit if the result is inexact. Rounding it again, to a format at least two bits
/// shorter, gives the same as rounding the number itself.
#[inline(always)]
pub(super) fn to_odd_single(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let lost = back != value;
    let bits = nearest.to_bits();
    let towards_zero = if back.abs() > value.abs() { bits.wrapping_sub(1) } else { bits };
    if lost && !value.is_nan() { f32::from_bits(towards_zero | 1) } else { nearest }
}

/// Returns `a + b` with the last bit set if the sum is inexact, as [`to_odd_single`] does.
#[inline(always)]
pub(super) fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum: the error of the rounded sum.
    let of_b = sum - a;
    let error = (a - (sum - of_b)) + (b - of_b);
    let bits = sum.to_bits();
    let points_away = (error < 0.0) == (sum < 0.0);
    let towards_zero = if points_away { bits } else { bits.wrapping_sub(1) };
    // For infinities and NaN, the error is a NaN.
    if error != 0.0 && !error.is_nan() { f64::from_bits(towards_zero | 1) } else { sum }
}
