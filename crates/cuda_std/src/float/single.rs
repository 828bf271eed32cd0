//! Functions of `f32` in about a dozen instructions, without a branch, from the special function unit's approximations.
//!
//! The unit's `ex2.approx` and `rcp.approx` are off by 2 ulp and 1 ulp at most (PTX ISA), and cost one instruction each if
//! subnormal numbers may become 0 (`.ftz`). So the arguments are reduced to where they are not needed: `exp` splits its
//! exponent in a whole part, which is put into a float's bits, and a fraction for `ex2`.
//!
//! On the host, and on the simulated driver, an approximation is the exact value rounded once. The errors in the
//! documentation of [`GpuFloat`](super::GpuFloat) were measured with these, over every fifth `f32` against `f64`. On a GPU, up to 1.5 ulp
//! more come from `ex2`, and 0.5 ulp from `rcp`.

use core::f32::consts::LOG2_E;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsic::{ex2_approx_flushing as ex2, fma_f32 as fma, rcp_approx_flushing as reciprocal};
#[cfg(not(target_arch = "nvptx64"))]
use libm::fmaf as fma;
#[cfg(not(target_arch = "nvptx64"))]
use model::{ex2, reciprocal};

/// The rest of log2(e) beyond the 24 bits of [`LOG2_E`].
const LOG2_E_REST: f32 = 1.925_963e-8;

/// 1.5 * 2^23, whose sum with a number of magnitude below 2^22 is rounded to a whole one, and the bias of the exponent of `f32`:
/// the last bits of the sum are the biased exponent.
const WHOLE_AND_BIAS: f32 = 12_582_912.0 + 127.0;

/// Where `tanh` changes its method: below, `1 - 2 / (e + 1)` would lose digits to the subtraction.
const SMALL: f32 = 0.75;

/// The polynomial in x^2 for `(tanh(x) / x - 1) / x^2`, highest power first, with the least relative error in `tanh` below
/// [`SMALL`]: 0.55 * 2^-24, by Remez's exchange.
const TANH: [f32; 5] = [-0.004_769_490_6, 0.019_664_915, -0.053_390_257, 0.133_265_21, -0.333_330_7];

/// e to this power.
///
/// The whole part stays within the exponents of normal numbers. The fraction keeps the rest where a result is subnormal or
/// too large, so that rounding, 0 and infinity come from the last product alone; NaN stays in the fraction.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    #[expect(
        clippy::manual_clamp,
        reason = "`clamp` keeps NaN, for which it needs comparisons and selections"
    )]
    let sum = (x * LOG2_E).max(-126.0).min(127.0) + WHOLE_AND_BIAS;
    let whole = sum - WHOLE_AND_BIAS;
    let fraction = fma(x, LOG2_E_REST, fma(x, LOG2_E, -whole));
    ex2(fraction) * f32::from_bits(sum.to_bits() << 23)
}

/// The hyperbolic tangent: a polynomial for small arguments, and else `1 - 2 / (exp(2 |x|) + 1)`.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let magnitude = x.abs();
    let large = fma(reciprocal(ex2(magnitude * (2.0 * LOG2_E)) + 1.0), -2.0, 1.0);
    let square = magnitude * magnitude;
    let [first, rest @ ..] = TANH;
    let polynomial = rest.into_iter().fold(first, |sum, coefficient| fma(sum, square, coefficient));
    let small = fma(polynomial * square, magnitude, magnitude);
    (if magnitude < SMALL { small } else { large }).copysign(x)
}

/// The approximations as exact values that are rounded once, with subnormal numbers as 0.
#[cfg(not(target_arch = "nvptx64"))]
mod model {
    fn flushed(x: f32) -> f32 {
        if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
    }

    /// `ex2.approx.ftz.f32`.
    pub(super) fn ex2(x: f32) -> f32 {
        flushed(libm::exp2(f64::from(flushed(x))) as f32)
    }

    /// `rcp.approx.ftz.f32`.
    pub(super) fn reciprocal(x: f32) -> f32 {
        flushed((1.0 / f64::from(flushed(x))) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::{exp, tanh};

    /// The distance of neighbouring `f32` at this magnitude; of subnormal ones for what is smaller.
    fn ulp(value: f64) -> f64 {
        let magnitude = value.abs().max(f64::from(f32::MIN_POSITIVE));
        f64::powi(2.0, libm::ilogb(magnitude) - 23)
    }

    /// The largest error in ulp over every 4099th `f32`, a stride that meets all exponents and ends.
    fn largest_error(ours: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
        let mut largest = 0.0_f64;
        for bits in (0..=u32::MAX).step_by(4099) {
            let x = f32::from_bits(bits);
            let (found, expected) = (ours(x), exact(f64::from(x)));
            let rounded = expected as f32;
            if rounded.is_finite() {
                largest = largest.max((f64::from(found) - expected).abs() / ulp(expected));
                assert_eq!(found.is_sign_negative(), rounded.is_sign_negative(), "{x:e}");
            } else {
                assert!(found == rounded || found.is_nan() && rounded.is_nan(), "{x:e}: {found:e}");
            }
        }
        largest
    }

    #[test]
    fn errors_are_those_that_the_documentation_states() {
        let error = largest_error(exp, libm::exp);
        assert!(error < 1.04, "exp: {error}");
        let error = largest_error(tanh, libm::tanh);
        assert!(error < 1.5, "tanh: {error}");
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(
            [exp(0.0), exp(-0.0), exp(f32::INFINITY), exp(f32::NEG_INFINITY)],
            [1.0, 1.0, f32::INFINITY, 0.0]
        );
        // The last finite result, the last number, the last subnormal one and what follows each.
        assert_eq!(exp(88.722_84), f32::INFINITY);
        assert!(exp(88.722_83).is_finite());
        assert_eq!([exp(-103.97), exp(-103.98)], [f32::from_bits(1), 0.0]);
        assert_eq!([exp(f32::MAX), exp(f32::MIN), exp(f32::from_bits(1))], [f32::INFINITY, 0.0, 1.0]);
        let least = f32::from_bits(1);
        assert_eq!([tanh(least), tanh(-least), tanh(f32::MIN_POSITIVE)], [least, -least, f32::MIN_POSITIVE]);
        assert_eq!([tanh(f32::INFINITY), tanh(f32::NEG_INFINITY), tanh(f32::MAX)], [1.0, -1.0, 1.0]);
        assert_eq!([tanh(0.0).to_bits(), tanh(-0.0).to_bits()], [0, 1 << 31]);
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
    }
}
