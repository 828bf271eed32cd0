//! Float functions beyond `std`'s: error functions, Bessel functions, angles in units of pi.
//!
//! None of them is an instruction of the GPU but `saturate`. They are code of the crate `libm`, or the few lines
//! here over it, the same on the host. Where a line computes with `f64`, so does the GPU.

use crate::float::GpuFloat;

mod private {
    /// Keeps the list of types here, so that functions can be added.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Float functions beyond `std`'s, for kernels and the host.
pub trait FloatExt: Sized + private::Sealed {
    /// The cosine of `self * pi`, exact at multiples of a half.
    #[must_use]
    fn cospi(self) -> Self;
    /// The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `self`.
    #[must_use]
    fn error_function(self) -> Self;
    /// `1 - self.error_function()`, accurate for large values.
    #[must_use]
    fn complementary_error_function(self) -> Self;
    /// The value whose [`error_function`](Self::error_function) this is, for -1 to 1.
    #[must_use]
    fn inv_error_function(self) -> Self;
    /// The value whose [`complementary_error_function`](Self::complementary_error_function) this is, for 0 to 2.
    #[must_use]
    fn inv_complementary_error_function(self) -> Self;
    /// `exp(self^2) * self.complementary_error_function()`, without overflow for large values.
    #[must_use]
    fn scaled_complementary_error_function(self) -> Self;
    /// A fraction, 0 or of magnitude 0.5 to 1, and the power of 2 to multiply it with.
    #[must_use]
    fn frexp(self) -> (Self, i32);
    /// The exponent of the highest bit: `floor(log2(abs(self)))`.
    #[must_use]
    fn unbiased_exp(self) -> i32;
    /// The Bessel function of the first kind of order 0.
    #[must_use]
    fn j0(self) -> Self;
    /// The Bessel function of the first kind of order 1.
    #[must_use]
    fn j1(self) -> Self;
    /// The Bessel function of the first kind of order `order`.
    #[must_use]
    fn jn(self, order: i32) -> Self;
    /// `self * 2^exp`.
    #[must_use]
    fn ldexp(self, exp: i32) -> Self;
    /// The natural logarithm of the gamma function's magnitude.
    #[must_use]
    fn log_gamma(self) -> Self;
    /// `ln(1 + self)`, accurate near 0.
    #[must_use]
    fn log1p(self) -> Self;
    /// The standard normal distribution's cumulative function.
    #[must_use]
    fn norm_cdf(self) -> Self;
    /// The value whose [`norm_cdf`](Self::norm_cdf) this is, for 0 to 1.
    #[must_use]
    fn inv_norm_cdf(self) -> Self;
    /// `1 / cbrt(self)`.
    #[must_use]
    fn rcbrt(self) -> Self;
    /// The nearest value in 0 to 1, 0 for NaN (`f32`: `.sat`).
    #[must_use]
    fn saturate(self) -> Self;
    /// `self * 2^exp`.
    #[must_use]
    fn scale_by_n(self, exp: i32) -> Self;
    /// Sine and cosine of `self * pi`, exact at multiples of a half.
    #[must_use]
    fn sincospi(self) -> (Self, Self);
    /// The sine of `self * pi`, exact at multiples of a half.
    #[must_use]
    fn sinpi(self) -> Self;
    /// The gamma function.
    #[must_use]
    fn gamma(self) -> Self;
    /// The Bessel function of the second kind of order 0.
    #[must_use]
    fn y0(self) -> Self;
    /// The Bessel function of the second kind of order 1.
    #[must_use]
    fn y1(self) -> Self;
    /// The Bessel function of the second kind of order `order`.
    #[must_use]
    fn yn(self, order: i32) -> Self;
}

macro_rules! implement {
    ($float:ident, $pi:expr, $saturate:expr;
     $(plain $name:ident = $library:ident;)*
     $(scaled $scaled:ident = $scalbn:ident;)*
     $(order $bessel:ident = $bessel_of_order:ident;)*
     parts $frexp:ident, $ilogb:ident;) => {
        impl FloatExt for $float {
            $(
                #[inline]
                fn $name(self) -> Self {
                    libm::$library(self)
                }
            )*
            $(
                #[inline]
                fn $scaled(self, exp: i32) -> Self {
                    libm::$scalbn(self, exp)
                }
            )*
            $(
                #[inline]
                fn $bessel(self, order: i32) -> Self {
                    libm::$bessel_of_order(order, self)
                }
            )*

            #[inline]
            fn frexp(self) -> (Self, i32) {
                libm::$frexp(self)
            }

            #[inline]
            fn unbiased_exp(self) -> i32 {
                libm::$ilogb(self)
            }

            #[inline]
            fn inv_error_function(self) -> Self {
                inverse_erf(f64::from(self)) as Self
            }

            #[inline]
            fn inv_complementary_error_function(self) -> Self {
                inverse_erfc(f64::from(self)) as Self
            }

            #[inline]
            fn scaled_complementary_error_function(self) -> Self {
                scaled_erfc(f64::from(self)) as Self
            }

            #[inline]
            fn norm_cdf(self) -> Self {
                (0.5 * libm::erfc(f64::from(self) * -core::f64::consts::FRAC_1_SQRT_2)) as Self
            }

            #[inline]
            fn inv_norm_cdf(self) -> Self {
                (-core::f64::consts::SQRT_2 * inverse_erfc(2.0 * f64::from(self))) as Self
            }

            #[inline]
            fn rcbrt(self) -> Self {
                1.0 / GpuFloat::cbrt(self)
            }

            #[inline(always)]
            fn saturate(self) -> Self {
                $saturate(self)
            }

            #[inline]
            fn sincospi(self) -> (Self, Self) {
                // Any multiple of 2 is a whole turn, and what is left of a quarter turn is exact.
                let turn = self - 2.0 * GpuFloat::round(self / 2.0);
                let quarter = GpuFloat::round(turn * 2.0);
                let (sin, cos) = GpuFloat::sin_cos((turn - quarter / 2.0) * $pi);
                match (quarter as i32).rem_euclid(4) {
                    0 => (sin, cos),
                    1 => (cos, -sin),
                    2 => (-sin, -cos),
                    _ => (-cos, sin),
                }
            }

            #[inline]
            fn sinpi(self) -> Self {
                self.sincospi().0
            }

            #[inline]
            fn cospi(self) -> Self {
                self.sincospi().1
            }
        }
    };
}

implement! {
    f32, core::f32::consts::PI, saturate_f32;
    plain error_function = erff;
    plain complementary_error_function = erfcf;
    plain j0 = j0f;
    plain j1 = j1f;
    plain y0 = y0f;
    plain y1 = y1f;
    plain log_gamma = lgammaf;
    plain gamma = tgammaf;
    plain log1p = log1pf;
    scaled ldexp = ldexpf;
    scaled scale_by_n = scalbnf;
    order jn = jnf;
    order yn = ynf;
    parts frexpf, ilogbf;
}

implement! {
    f64, core::f64::consts::PI, saturate_f64;
    plain error_function = erf;
    plain complementary_error_function = erfc;
    plain j0 = j0;
    plain j1 = j1;
    plain y0 = y0;
    plain y1 = y1;
    plain log_gamma = lgamma;
    plain gamma = tgamma;
    plain log1p = log1p;
    scaled ldexp = ldexp;
    scaled scale_by_n = scalbn;
    order jn = jn;
    order yn = yn;
    parts frexp, ilogb;
}

#[inline(always)]
fn saturate_f32(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        crate::intrinsic::saturate_f32(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        if x > 0.0 { x.min(1.0) } else { 0.0 }
    }
}

/// Comparisons, because `clamp` would let a NaN through.
#[inline(always)]
fn saturate_f64(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// The derivative of the error function at 0.
const SLOPE: f64 = core::f64::consts::FRAC_2_SQRT_PI;

/// A first approximation to the `x >= 0` with `erfc(x) = y`, for `y` of 0 to 1, within 0.0004. The formula is the
/// rational approximation of the normal distribution's quantiles by Hastings (Abramowitz and Stegun 26.2.23).
fn roughly_inverse_erfc(y: f64) -> f64 {
    let t = GpuFloat::sqrt(-2.0 * libm::log(y / 2.0));
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    (t - numerator / denominator) * core::f64::consts::FRAC_1_SQRT_2
}

/// Halley's steps towards the zero of a function with the error function's derivatives, up to its sign.
fn refine(mut x: f64, error: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..3 {
        let step = error(x) / (SLOPE * libm::exp(-x * x));
        x -= step / (1.0 + x * step);
    }
    x
}

/// The `x >= 0` with `erf(x) = y`, for `y` of 0 to 0.5.
fn inverse_erf_near_zero(y: f64) -> f64 {
    refine(y / SLOPE, |x| libm::erf(x) - y)
}

/// The `x >= 0` with `erfc(x) = y`, for `y` of 0 to 0.5.
fn inverse_erfc_near_zero(y: f64) -> f64 {
    if y == 0.0 { f64::INFINITY } else { refine(roughly_inverse_erfc(y), |x| y - libm::erfc(x)) }
}

fn inverse_erfc(y: f64) -> f64 {
    let folded = y.min(2.0 - y);
    let inverse = match folded {
        0.0..=0.5 => inverse_erfc_near_zero(folded),
        // Near 1 the difference to 1 is what counts, and it is exact.
        0.5..=1.0 => inverse_erf_near_zero(1.0 - folded),
        _ => f64::NAN,
    };
    if y > 1.0 { -inverse } else { inverse }
}

fn inverse_erf(y: f64) -> f64 {
    let magnitude = y.abs();
    let inverse = match magnitude {
        0.0..=0.5 => inverse_erf_near_zero(magnitude),
        0.5..=1.0 => inverse_erfc_near_zero(1.0 - magnitude),
        _ => f64::NAN,
    };
    inverse.copysign(y)
}

fn scaled_erfc(x: f64) -> f64 {
    if x < 10.0 {
        // The square's rounding error, multiplied by the exponential, would cost digits.
        let square = x * x;
        let rest = GpuFloat::mul_add(x, x, -square);
        let scale = libm::exp(square);
        return if scale.is_finite() { scale * libm::erfc(x) * (1.0 + rest) } else { scale };
    }
    // The asymptotic series 1 - 1/(2x^2) + 1*3/(2x^2)^2 - ..., whose terms fall below an ulp before they rise again.
    let inverse = 1.0 / (2.0 * x * x);
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..=16 {
        term *= -f64::from(2 * n - 1) * inverse;
        sum += term;
    }
    sum * SLOPE / (2.0 * x)
}

#[cfg(test)]
mod tests {
    use super::FloatExt;

    fn assert_near(ours: f64, expected: f64, tolerance: f64) {
        assert!((ours - expected).abs() <= tolerance * expected.abs(), "{ours:e}, expected {expected:e}");
    }

    #[test]
    fn angles_in_units_of_pi_are_exact_at_the_quarters() {
        for (x, sin, cos) in [
            (0.0, 0.0, 1.0),
            (0.5, 1.0, 0.0),
            (1.0, 0.0, -1.0),
            (1.5, -1.0, 0.0),
            (-0.5, -1.0, 0.0),
            (1e9 + 0.5, 1.0, 0.0),
        ] {
            assert_eq!(f64::sincospi(x), (sin, cos), "{x}");
        }
        assert_near(0.25_f64.sinpi(), core::f64::consts::FRAC_1_SQRT_2, 1e-15);
        assert_near(f64::from((1.0_f32 / 3.0).cospi()), 0.5, 1e-6);
    }

    #[test]
    fn inverse_error_functions_invert() {
        for y in [1e-300, 1e-10, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-12] {
            assert_near(y.inv_complementary_error_function().complementary_error_function(), y, 1e-12);
        }
        for y in [-0.9999, -0.3, 1e-10, 0.1, 0.5, 0.8, 0.999999] {
            assert_near(y.inv_error_function().error_function(), y, 1e-14);
        }
        assert_near(1.5_f64.inv_complementary_error_function(), -0.4769362762044699, 1e-14);
        assert_eq!(0.0_f64.inv_complementary_error_function(), f64::INFINITY);
        assert_eq!(2.0_f64.inv_complementary_error_function(), f64::NEG_INFINITY);
        assert!((-0.1_f64).inv_complementary_error_function().is_nan());
        assert!(1.1_f64.inv_error_function().is_nan());
        assert_eq!(1.0_f64.inv_complementary_error_function(), 0.0);
    }

    #[test]
    fn the_normal_distribution_has_its_known_quantiles() {
        assert_near(1.959963984540054_f64.norm_cdf(), 0.975, 1e-14);
        assert_near(0.975_f64.inv_norm_cdf(), 1.959963984540054, 1e-14);
        assert_eq!(0.0_f32.norm_cdf(), 0.5);
        assert_near(f64::from(0.025_f32.inv_norm_cdf()), -1.959963984540054, 1e-6);
    }

    #[test]
    fn the_scaled_error_function_meets_its_series() {
        // Known values, and both sides of the change of method.
        assert_near(1.0_f64.scaled_complementary_error_function(), 0.427583576155807, 1e-14);
        assert_near(10.0_f64.scaled_complementary_error_function(), 0.05614099274382259, 1e-14);
        let below = 9.999_999_999_f64.scaled_complementary_error_function();
        assert_near(below, 0.056_140_992_749_381_6, 1e-13);
        assert_near(1e20_f64.scaled_complementary_error_function(), 5.641895835477563e-21, 1e-14);
        assert_eq!((-30.0_f64).scaled_complementary_error_function(), f64::INFINITY);
    }

    #[test]
    fn parts_of_a_float() {
        assert_eq!(FloatExt::frexp(12.0_f64), (0.75, 4));
        assert_eq!(0.75_f32.unbiased_exp(), -1);
        assert_eq!(FloatExt::ldexp(0.75_f32, 4), 12.0);
        assert_eq!(3.0_f64.scale_by_n(-1), 1.5);
    }

    #[test]
    fn saturation_is_to_the_unit_interval() {
        assert_eq!(
            [(-1.0_f32).saturate(), 0.5.saturate(), 7.0.saturate(), f32::NAN.saturate()],
            [0.0, 0.5, 1.0, 0.0]
        );
        assert_eq!(
            [(-1.0_f64).saturate(), 0.5.saturate(), 7.0.saturate(), f64::NAN.saturate()],
            [0.0, 0.5, 1.0, 0.0]
        );
    }
}
