//! Float functions for kernels, under the names that `std` gives them.
//!
//! | functions | on the GPU | accuracy |
//! | --- | --- | --- |
//! | `floor`, `ceil`, `trunc`, `round_ties_even` | one `cvt.rmi`, `cvt.rpi`, `cvt.rzi`, `cvt.rni` | exact |
//! | `round` | a few instructions around `cvt.rzi` | exact |
//! | `sqrt` | `sqrt.rn` | correctly rounded |
//! | `mul_add` | one `fma.rn` | correctly rounded |
//! | `abs`, `copysign`, `signum`, `fract` | `abs`, `copysign` and bit operations | exact |
//! | `exp`, `exp2`, `tanh` of `f32` | 11, 1 and 16 instructions around `ex2.approx` | see each |
//! | everything else | code of the crate `libm`, the same as on the host | within an ulp or so |
//!
//! A product and a sum become one instruction only through `mul_add`; the compiler never joins `a * b + c` by itself.
//! For the fast approximations of the special function unit, see [`approx`].

mod single;

use crate::approx;

/// A function that is LLVM's on the GPU and `libm`'s on the host.
macro_rules! hardware {
    ($intrinsic:ident($($argument:expr),* $(,)?), $libm:ident) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            crate::intrinsic::$intrinsic($($argument),*)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            libm::$libm($($argument),*)
        }
    }};
}

macro_rules! gpu_float {
    ($(
        $(#[$documentation:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;
    )*) => {
        /// Float functions that work in kernels and on the host, where `std` may not be.
        pub trait GpuFloat: Copy + PartialOrd {
            $($(#[$documentation])* #[must_use] fn $name(self, $($argument: $type),*) -> $result;)*
        }
    };
}

gpu_float! {
    /// The largest whole number not above.
    fn floor() -> Self;
    /// The smallest whole number not below.
    fn ceil() -> Self;
    /// The nearest whole number, halves away from 0.
    fn round() -> Self;
    /// The nearest whole number, halves to the even one.
    fn round_ties_even() -> Self;
    /// The whole part, towards 0.
    fn trunc() -> Self;
    /// The fractional part, `self - self.trunc()`.
    fn fract() -> Self;
    /// The value without its sign.
    fn abs() -> Self;
    /// 1 or -1 by the sign, also of zeros and infinities; NaN for NaN.
    fn signum() -> Self;
    /// The value with another's sign.
    fn copysign(sign: Self) -> Self;
    /// `self * a + b`, rounded once.
    fn mul_add(a: Self, b: Self) -> Self;
    /// The whole number `n` for which `self = n * rhs + self.rem_euclid(rhs)`.
    fn div_euclid(rhs: Self) -> Self;
    /// The least non-negative remainder.
    fn rem_euclid(rhs: Self) -> Self;
    /// The power with a whole exponent, by repeated squaring.
    fn powi(n: i32) -> Self;
    /// The power.
    fn powf(n: Self) -> Self;
    /// The square root.
    fn sqrt() -> Self;
    /// e to this power. Of `f32`, with an error of at most 1.04 ulp and that of `ex2.approx`.
    fn exp() -> Self;
    /// 2 to this power. Of `f32`, [`approx::exp2`]: within 2 ulp.
    fn exp2() -> Self;
    /// The natural logarithm.
    fn ln() -> Self;
    /// The logarithm to a base: the quotient of two natural logarithms.
    fn log(base: Self) -> Self;
    /// The logarithm to base 2.
    fn log2() -> Self;
    /// The logarithm to base 10.
    fn log10() -> Self;
    /// The cube root.
    fn cbrt() -> Self;
    /// The hypotenuse over two sides, without overflow on the way.
    fn hypot(other: Self) -> Self;
    /// The sine of an angle in radians.
    fn sin() -> Self;
    /// The cosine of an angle in radians.
    fn cos() -> Self;
    /// The tangent of an angle in radians.
    fn tan() -> Self;
    /// The angle with this sine, in [-pi/2, pi/2].
    fn asin() -> Self;
    /// The angle with this cosine, in [0, pi].
    fn acos() -> Self;
    /// The angle with this tangent, in [-pi/2, pi/2].
    fn atan() -> Self;
    /// The angle of the point (`other`, `self`), in [-pi, pi].
    fn atan2(other: Self) -> Self;
    /// Sine and cosine together.
    fn sin_cos() -> (Self, Self);
    /// `exp(self) - 1`, accurate near 0.
    fn exp_m1() -> Self;
    /// `ln(1 + self)`, accurate near 0.
    fn ln_1p() -> Self;
    /// The hyperbolic sine.
    fn sinh() -> Self;
    /// The hyperbolic cosine.
    fn cosh() -> Self;
    /// The hyperbolic tangent. Of `f32`, with an error of at most 1.5 ulp and those of `ex2.approx` and `rcp.approx`, less for
    /// magnitudes below 0.75.
    fn tanh() -> Self;
    /// The inverse hyperbolic sine.
    fn asinh() -> Self;
    /// The inverse hyperbolic cosine.
    fn acosh() -> Self;
    /// The inverse hyperbolic tangent.
    fn atanh() -> Self;
}

/// The functions of one type: which are the hardware's is written out, the others are `libm`'s by name.
macro_rules! implement {
    ($float:ident; $(hardware $name:ident($($argument:ident),*) = $intrinsic:ident, $libm:ident;)*
     $(ours $own:ident = $function:path;)*
     $(libm $from:ident($($other:ident),*) = $library:ident;)*) => {
        impl GpuFloat for $float {
            $(
                #[inline(always)]
                fn $name(self, $($argument: Self),*) -> Self {
                    hardware!($intrinsic(self, $($argument),*), $libm)
                }
            )*
            $(
                #[inline(always)]
                fn $own(self) -> Self {
                    $function(self)
                }
            )*
            $(
                #[inline]
                fn $from(self, $($other: Self),*) -> Self {
                    libm::$library(self, $($other),*)
                }
            )*

            #[inline(always)]
            fn fract(self) -> Self {
                self - GpuFloat::trunc(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }

            #[inline(always)]
            fn signum(self) -> Self {
                $float::signum(self)
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $float::copysign(self, sign)
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = GpuFloat::trunc(self / rhs);
                match self.remainder(rhs) {
                    remainder if remainder < 0.0 && rhs > 0.0 => quotient - 1.0,
                    remainder if remainder < 0.0 => quotient + 1.0,
                    _ => quotient,
                }
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = self.remainder(rhs);
                if remainder < 0.0 { remainder + $float::abs(rhs) } else { remainder }
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                let mut power = 1.0;
                let mut square = self;
                let mut exponent = n.unsigned_abs();
                while exponent != 0 {
                    if exponent & 1 != 0 {
                        power *= square;
                    }
                    square *= square;
                    exponent >>= 1;
                }
                if n < 0 { 1.0 / power } else { power }
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                (GpuFloat::sin(self), GpuFloat::cos(self))
            }
        }
    };
}

implement! {
    f32;
    hardware floor() = floor_f32, floorf;
    hardware ceil() = ceil_f32, ceilf;
    hardware round() = round_f32, roundf;
    hardware round_ties_even() = roundeven_f32, rintf;
    hardware trunc() = trunc_f32, truncf;
    hardware sqrt() = sqrt_f32, sqrtf;
    hardware mul_add(a, b) = fma_f32, fmaf;
    ours exp = single::exp;
    ours exp2 = approx::exp2;
    ours tanh = single::tanh;
    libm powf(n) = powf;
    libm ln() = logf;
    libm log2() = log2f;
    libm log10() = log10f;
    libm cbrt() = cbrtf;
    libm hypot(other) = hypotf;
    libm sin() = sinf;
    libm cos() = cosf;
    libm tan() = tanf;
    libm asin() = asinf;
    libm acos() = acosf;
    libm atan() = atanf;
    libm atan2(other) = atan2f;
    libm exp_m1() = expm1f;
    libm ln_1p() = log1pf;
    libm sinh() = sinhf;
    libm cosh() = coshf;
    libm asinh() = asinhf;
    libm acosh() = acoshf;
    libm atanh() = atanhf;
}

implement! {
    f64;
    hardware floor() = floor_f64, floor;
    hardware ceil() = ceil_f64, ceil;
    hardware round() = round_f64, round;
    hardware round_ties_even() = roundeven_f64, rint;
    hardware trunc() = trunc_f64, trunc;
    hardware sqrt() = sqrt_f64, sqrt;
    hardware mul_add(a, b) = fma_f64, fma;
    libm powf(n) = pow;
    libm exp() = exp;
    libm exp2() = exp2;
    libm ln() = log;
    libm log2() = log2;
    libm log10() = log10;
    libm cbrt() = cbrt;
    libm hypot(other) = hypot;
    libm sin() = sin;
    libm cos() = cos;
    libm tan() = tan;
    libm asin() = asin;
    libm acos() = acos;
    libm atan() = atan;
    libm atan2(other) = atan2;
    libm exp_m1() = expm1;
    libm ln_1p() = log1p;
    libm sinh() = sinh;
    libm cosh() = cosh;
    libm tanh() = tanh;
    libm asinh() = asinh;
    libm acosh() = acosh;
    libm atanh() = atanh;
}

/// The exact remainder, with the dividend's sign. LLVM's own for this target is `x - y * trunc(x / y)`, which is not.
trait Remainder {
    fn remainder(self, rhs: Self) -> Self;
}

impl Remainder for f32 {
    #[inline]
    fn remainder(self, rhs: Self) -> Self {
        libm::fmodf(self, rhs)
    }
}

impl Remainder for f64 {
    #[inline]
    fn remainder(self, rhs: Self) -> Self {
        libm::fmod(self, rhs)
    }
}

#[cfg(test)]
mod tests {

    use super::GpuFloat;

    #[test]
    fn functions_are_those_of_std() {
        for x in [-3.7_f64, -2.5, -1.0, -0.3, 0.0, 0.3, 0.5, 1.0, 2.5, 3.7, 1e9] {
            assert_eq!(GpuFloat::floor(x), f64::floor(x));
            assert_eq!(GpuFloat::ceil(x), f64::ceil(x));
            assert_eq!(GpuFloat::round(x), f64::round(x));
            assert_eq!(GpuFloat::round_ties_even(x), f64::round_ties_even(x));
            assert_eq!(GpuFloat::trunc(x), f64::trunc(x));
            assert_eq!(GpuFloat::fract(x), f64::fract(x));
            assert_eq!(GpuFloat::signum(x), f64::signum(x));
            assert_eq!(GpuFloat::mul_add(x, 3.0, 0.1), f64::mul_add(x, 3.0, 0.1));
            for y in [-2.0, -0.7, 0.7, 2.0] {
                assert_eq!(GpuFloat::div_euclid(x, y), f64::div_euclid(x, y), "{x} / {y}");
                assert_eq!(GpuFloat::rem_euclid(x, y), f64::rem_euclid(x, y), "{x} % {y}");
            }
        }
    }

    #[test]
    fn single_precision_is_within_an_ulp_of_std() {
        let near = |ours: f32, theirs: f32| (ours.to_bits() as i32 - theirs.to_bits() as i32).abs() <= 2;
        for x in [0.01_f32, 0.3, 0.9, 1.0, 1.7, 2.5] {
            assert!(near(GpuFloat::sin(x), f32::sin(x)), "sin {x}");
            assert!(near(GpuFloat::exp(x), f32::exp(x)), "exp {x}");
            assert!(near(GpuFloat::ln_1p(x), f32::ln_1p(x)), "ln_1p {x}");
            assert!(near(GpuFloat::powf(x, 1.3), f32::powf(x, 1.3)), "powf {x}");
            assert!(near(GpuFloat::atan2(x, -2.0), f32::atan2(x, -2.0)), "atan2 {x}");
            assert!(near(GpuFloat::powi(x, -3), f32::powi(x, -3)), "powi {x}");
        }
        assert_eq!(GpuFloat::powi(2.0_f32, 10), 1024.0);
        assert_eq!(GpuFloat::powi(2.0_f32, -2), 0.25);
        assert_eq!(GpuFloat::powi(0.0_f32, 0), 1.0);
        assert_eq!(GpuFloat::log(8.0_f64, 2.0), 8.0_f64.ln() / 2.0_f64.ln());
    }
}
