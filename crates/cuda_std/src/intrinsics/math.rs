//! Functions of one, two or three floats.

use crate::approx;
use crate::float::GpuFloat;
use crate::float_ext::FloatExt;

/// `Float` is the type of the function: `f64`, or `f32` where its name ends with an `f`.
macro_rules! number {
    ($float:ident Float) => {
        $float
    };
    ($float:ident $other:ident) => {
        $other
    };
}

macro_rules! functions {
    ($(
        $(#[$documentation:meta])*
        $double:ident, $single:ident($($argument:ident: $type:ident),*) -> $result:ident
            = $of_double:expr, $of_single:expr;
    )*) => {$(
        $(#[$documentation])*
        #[inline]
        #[must_use]
        pub fn $double($($argument: number!(f64 $type)),*) -> number!(f64 $result) {
            $of_double
        }

        $(#[$documentation])*
        #[inline]
        #[must_use]
        pub fn $single($($argument: number!(f32 $type)),*) -> number!(f32 $result) {
            $of_single
        }
    )*};
}

functions! {
    /// The arc cosine in radians, in [0, pi]; NaN outside [-1, 1].
    acos, acosf(x: Float) -> Float = libm::acos(x), libm::acosf(x);
    /// The inverse hyperbolic cosine; NaN below 1.
    acosh, acoshf(x: Float) -> Float = libm::acosh(x), libm::acoshf(x);
    /// The arc sine in radians, in [-pi/2, pi/2]; NaN outside [-1, 1].
    asin, asinf(x: Float) -> Float = libm::asin(x), libm::asinf(x);
    /// The inverse hyperbolic sine.
    asinh, asinhf(x: Float) -> Float = libm::asinh(x), libm::asinhf(x);
    /// The arc tangent in radians, in [-pi/2, pi/2].
    atan, atanf(x: Float) -> Float = libm::atan(x), libm::atanf(x);
    /// The angle of the point (`y`, `x`), whose first coordinate is the second argument, in [-pi, pi].
    atan2, atan2f(x: Float, y: Float) -> Float = libm::atan2(x, y), libm::atan2f(x, y);
    /// The inverse hyperbolic tangent; NaN outside [-1, 1].
    atanh, atanhf(x: Float) -> Float = libm::atanh(x), libm::atanhf(x);
    /// The cube root.
    cbrt, cbrtf(x: Float) -> Float = libm::cbrt(x), libm::cbrtf(x);
    /// The smallest whole number not below.
    ceil, ceilf(x: Float) -> Float = GpuFloat::ceil(x), GpuFloat::ceil(x);
    /// `x` with the sign of `y`.
    copysign, copysignf(x: Float, y: Float) -> Float = x.copysign(y), x.copysign(y);
    /// The cosine of an angle in radians.
    cos, cosf(x: Float) -> Float = libm::cos(x), libm::cosf(x);
    /// The hyperbolic cosine.
    cosh, coshf(x: Float) -> Float = libm::cosh(x), libm::coshf(x);
    /// The cosine of `x * pi`.
    cospi, cospif(x: Float) -> Float = x.cospi(), x.cospi();
    /// The error function.
    erf, erff(x: Float) -> Float = libm::erf(x), libm::erff(x);
    /// `1 - erf(x)`, accurate for large values.
    erfc, erfcf(x: Float) -> Float = libm::erfc(x), libm::erfcf(x);
    /// The value whose `erfc` is `x`, for 0 to 2.
    erfcinv, erfcinvf(x: Float) -> Float = x.inv_complementary_error_function(), x.inv_complementary_error_function();
    /// `exp(x^2) * erfc(x)`.
    erfcx, erfcxf(x: Float) -> Float = x.scaled_complementary_error_function(), x.scaled_complementary_error_function();
    /// The value whose `erf` is `x`, for -1 to 1.
    erfinv, erfinvf(x: Float) -> Float = x.inv_error_function(), x.inv_error_function();
    /// e to this power.
    exp, expf(x: Float) -> Float = libm::exp(x), GpuFloat::exp(x);
    /// 10 to this power.
    exp10, exp10f(x: Float) -> Float = libm::exp10(x), libm::exp10f(x);
    /// 2 to this power.
    exp2, exp2f(x: Float) -> Float = libm::exp2(x), GpuFloat::exp2(x);
    /// `exp(x) - 1`, accurate near 0.
    expm1, expm1f(x: Float) -> Float = libm::expm1(x), libm::expm1f(x);
    /// The magnitude.
    fabs, fabsf(x: Float) -> Float = x.abs(), x.abs();
    /// `x - y` where that is positive, else 0; NaN if one of them is.
    fdim, fdimf(x: Float, y: Float) -> Float = libm::fdim(x, y), libm::fdimf(x, y);
    /// The largest whole number not above.
    floor, floorf(x: Float) -> Float = GpuFloat::floor(x), GpuFloat::floor(x);
    /// `x * y + z`, rounded once.
    fma, fmaf(x: Float, y: Float, z: Float) -> Float = GpuFloat::mul_add(x, y, z), GpuFloat::mul_add(x, y, z);
    /// The larger one; of a number and NaN, the number.
    fmax, fmaxf(x: Float, y: Float) -> Float = x.max(y), x.max(y);
    /// The smaller one; of a number and NaN, the number.
    fmin, fminf(x: Float, y: Float) -> Float = x.min(y), x.min(y);
    /// The exact remainder of the division, with the sign of `x`.
    fmod, fmodf(x: Float, y: Float) -> Float = libm::fmod(x, y), libm::fmodf(x, y);
    /// The hypotenuse over two sides, without overflow on the way.
    hypot, hypotf(x: Float, y: Float) -> Float = libm::hypot(x, y), libm::hypotf(x, y);
    /// The exponent of the highest bit; the least `i32` for 0 and NaN, the largest for an infinity.
    ilogb, ilogbf(x: Float) -> i32 = libm::ilogb(x), libm::ilogbf(x);
    /// The Bessel function of the first kind of order 0.
    j0, j0f(x: Float) -> Float = libm::j0(x), libm::j0f(x);
    /// The Bessel function of the first kind of order 1.
    j1, j1f(x: Float) -> Float = libm::j1(x), libm::j1f(x);
    /// The Bessel function of the first kind of order `n`.
    jn, jnf(n: i32, x: Float) -> Float = libm::jn(n, x), libm::jnf(n, x);
    /// `x * 2^y`.
    ldexp, ldexpf(x: Float, y: i32) -> Float = libm::ldexp(x, y), libm::ldexpf(x, y);
    /// The natural logarithm of the gamma function's magnitude.
    lgamma, lgammaf(x: Float) -> Float = libm::lgamma(x), libm::lgammaf(x);
    /// The nearest integer, ties to even.
    llrint, llrintf(x: Float) -> i64 = GpuFloat::round_ties_even(x) as i64, GpuFloat::round_ties_even(x) as i64;
    /// The nearest integer, halves away from 0.
    llround, llroundf(x: Float) -> i64 = GpuFloat::round(x) as i64, GpuFloat::round(x) as i64;
    /// The natural logarithm.
    log, logf(x: Float) -> Float = libm::log(x), libm::logf(x);
    /// The logarithm to base 10.
    log10, log10f(x: Float) -> Float = libm::log10(x), libm::log10f(x);
    /// `log(1 + x)`, accurate near 0.
    log1p, log1pf(x: Float) -> Float = libm::log1p(x), libm::log1pf(x);
    /// The logarithm to base 2.
    log2, log2f(x: Float) -> Float = libm::log2(x), libm::log2f(x);
    /// The exponent of the highest bit as a float; minus infinity for 0.
    logb, logbf(x: Float) -> Float = exponent(x, f64::from(libm::ilogb(x))), exponent(f64::from(x), f64::from(libm::ilogbf(x))) as f32;
    /// The nearest whole number, ties to even.
    nearbyint, nearbyintf(x: Float) -> Float = GpuFloat::round_ties_even(x), GpuFloat::round_ties_even(x);
    /// The next float after `x` on the way to `y`.
    nextafter, nextafterf(x: Float, y: Float) -> Float = libm::nextafter(x, y), libm::nextafterf(x, y);
    /// The standard normal distribution's cumulative function.
    normcdf, normcdff(x: Float) -> Float = x.norm_cdf(), x.norm_cdf();
    /// The value whose `normcdf` is `x`, for 0 to 1.
    normcdfinv, normcdfinvf(x: Float) -> Float = x.inv_norm_cdf(), x.inv_norm_cdf();
    /// The power.
    pow, powf(x: Float, y: Float) -> Float = libm::pow(x, y), libm::powf(x, y);
    /// The power with a whole exponent, by repeated squaring.
    powi, powif(x: Float, y: i32) -> Float = GpuFloat::powi(x, y), GpuFloat::powi(x, y);
    /// `1 / cbrt(x)`.
    rcbrt, rcbrtf(x: Float) -> Float = x.rcbrt(), x.rcbrt();
    /// The IEEE remainder: `x` minus the nearest multiple of `y`, ties to even.
    remainder, remainderf(x: Float, y: Float) -> Float = libm::remainder(x, y), libm::remainderf(x, y);
    /// The nearest whole number, ties to even.
    rint, rintf(x: Float) -> Float = GpuFloat::round_ties_even(x), GpuFloat::round_ties_even(x);
    /// The nearest whole number, halves away from 0.
    round, roundf(x: Float) -> Float = GpuFloat::round(x), GpuFloat::round(x);
    /// The square root's reciprocal; that of an `f32` is `rsqrt.approx.f32`, within 2 ulp.
    rsqrt, rsqrtf(x: Float) -> Float = 1.0 / GpuFloat::sqrt(x), approx::reciprocal_sqrt(x);
    /// `x * 2^y`.
    scalbn, scalbnf(x: Float, y: i32) -> Float = libm::scalbn(x, y), libm::scalbnf(x, y);
    /// The sine of an angle in radians.
    sin, sinf(x: Float) -> Float = libm::sin(x), libm::sinf(x);
    /// The hyperbolic sine.
    sinh, sinhf(x: Float) -> Float = libm::sinh(x), libm::sinhf(x);
    /// The sine of `x * pi`.
    sinpi, sinpif(x: Float) -> Float = x.sinpi(), x.sinpi();
    /// The square root, correctly rounded.
    sqrt, sqrtf(x: Float) -> Float = GpuFloat::sqrt(x), GpuFloat::sqrt(x);
    /// The tangent of an angle in radians.
    tan, tanf(x: Float) -> Float = libm::tan(x), libm::tanf(x);
    /// The hyperbolic tangent.
    tanh, tanhf(x: Float) -> Float = libm::tanh(x), GpuFloat::tanh(x);
    /// The gamma function.
    tgamma, tgammaf(x: Float) -> Float = libm::tgamma(x), libm::tgammaf(x);
    /// The whole part, towards 0.
    trunc, truncf(x: Float) -> Float = GpuFloat::trunc(x), GpuFloat::trunc(x);
    /// The Bessel function of the second kind of order 0.
    y0, y0f(x: Float) -> Float = libm::y0(x), libm::y0f(x);
    /// The Bessel function of the second kind of order 1.
    y1, y1f(x: Float) -> Float = libm::y1(x), libm::y1f(x);
    /// The Bessel function of the second kind of order `n`.
    yn, ynf(n: i32, x: Float) -> Float = libm::yn(n, x), libm::ynf(n, x);
    /// 1 for a number that is neither infinite nor NaN, else 0.
    isfinited, finitef(x: Float) -> i32 = i32::from(x.is_finite()), i32::from(x.is_finite());
    /// 1 for an infinity, else 0.
    isinfd, isinff(x: Float) -> i32 = i32::from(x.is_infinite()), i32::from(x.is_infinite());
    /// 1 for NaN, else 0.
    isnand, isnanf(x: Float) -> i32 = i32::from(x.is_nan()), i32::from(x.is_nan());
    /// 1 if the sign's bit is set, else 0.
    signbitd, signbitf(x: Float) -> i32 = i32::from(x.is_sign_negative()), i32::from(x.is_sign_negative());
}

/// The exponent of numbers that have one.
fn exponent(x: f64, exponent: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_finite() {
        exponent
    } else {
        x * x
    }
}

/// The nearest value in 0 to 1, 0 for NaN.
#[inline(always)]
#[must_use]
pub fn saturatef(x: f32) -> f32 {
    x.saturate()
}

/// Functions with a second result, or two, through pointers.
macro_rules! with_pointers {
    ($(
        $(#[$documentation:meta])*
        $double:ident, $single:ident($argument:ident $(, $more:ident)*) -> ($($to:ident: $type:ident),*) $(-> $result:ident)?
            = |$values:pat_param| $returned:expr, $of_double:expr, $of_single:expr;
    )*) => {$(
        $(#[$documentation])*
        ///
        /// # Safety
        /// Each pointer is valid for writes and aligned.
        #[inline]
        pub unsafe fn $double($argument: f64, $($more: f64,)* $($to: *mut number!(f64 $type)),*) $(-> number!(f64 $result))? {
            let $values = $of_double;
            // SAFETY: promised by the caller.
            unsafe { $returned }
        }

        $(#[$documentation])*
        ///
        /// # Safety
        /// Each pointer is valid for writes and aligned.
        #[inline]
        pub unsafe fn $single($argument: f32, $($more: f32,)* $($to: *mut number!(f32 $type)),*) $(-> number!(f32 $result))? {
            let $values = $of_single;
            // SAFETY: promised by the caller.
            unsafe { $returned }
        }
    )*};
}

with_pointers! {
    /// A fraction, 0 or of magnitude 0.5 to 1, and to `b` the power of 2 to multiply it with.
    frexp, frexpf(x) -> (b: i32) -> Float = |(fraction, power)| { b.write(power); fraction }, libm::frexp(x), libm::frexpf(x);
    /// The fraction, and to `b` the whole part; both have the sign of `x`.
    modf, modff(x) -> (b: Float) -> Float = |(fraction, whole)| { b.write(whole); fraction }, libm::modf(x), libm::modff(x);
    /// The `remainder`, and to `quo` the lower bits of the quotient, three at least, with its sign.
    remquo, remquof(x, y) -> (quo: i32) -> Float = |(rest, quotient)| { quo.write(quotient); rest }, libm::remquo(x, y), libm::remquof(x, y);
    /// To `sptr` the sine and to `cptr` the cosine of an angle in radians.
    sincos, sincosf(x) -> (sptr: Float, cptr: Float) = |(sin, cos)| { sptr.write(sin); cptr.write(cos); }, libm::sincos(x), libm::sincosf(x);
    /// To `sptr` the sine and to `cptr` the cosine of `x * pi`.
    sincospi, sincospif(x) -> (sptr: Float, cptr: Float) = |(sin, cos)| { sptr.write(sin); cptr.write(cos); }, x.sincospi(), x.sincospi();
}

/// A quiet NaN. The string, which in C chooses among NaNs, is not read.
#[inline(always)]
#[must_use]
pub fn nan(_tagp: *mut i8) -> f64 {
    f64::NAN
}

/// A quiet NaN. The string, which in C chooses among NaNs, is not read.
#[inline(always)]
#[must_use]
pub fn nanf(_tagp: *mut i8) -> f32 {
    f32::NAN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_std() {
        for x in [-2.5_f64, -0.7, 0.0, 0.3, 1.0, 2.5, 1e3] {
            assert_eq!((ceil(x), floor(x), round(x), trunc(x)), (x.ceil(), x.floor(), x.round(), x.trunc()));
            assert_eq!((rint(x), nearbyint(x), fabs(x)), (x.round_ties_even(), x.round_ties_even(), x.abs()));
            assert_eq!((llrint(x), llround(x)), (x.round_ties_even() as i64, x.round() as i64));
            assert!(
                (sin(x) - x.sin()).abs() < 1e-15 && (exp10(x / 99.0) - 10_f64.powf(x / 99.0)).abs() < 1e-7
            );
        }
        assert_eq!((sqrtf(2.0), fmaf(0.1, 0.1, -0.01)), (2_f32.sqrt(), 0.1_f32.mul_add(0.1, -0.01)));
        assert_eq!((powi(2.0, -2), powif(3.0, 3), hypot(3.0, 4.0), fdim(1.0, 3.0)), (0.25, 27.0, 5.0, 0.0));
    }

    #[test]
    fn a_number_wins_over_nan() {
        assert_eq!((fmax(f64::NAN, 1.0), fminf(1.0, f32::NAN)), (1.0, 1.0));
        assert!(nan(core::ptr::null_mut()).is_nan() && nanf(core::ptr::null_mut()).is_nan());
    }

    #[test]
    fn exponents_are_of_the_highest_bit() {
        assert_eq!(
            (logb(10.0), logbf(0.3), logb(0.0), logb(f64::NEG_INFINITY)),
            (3.0, -2.0, f64::NEG_INFINITY, f64::INFINITY)
        );
        assert_eq!((ilogb(0.0), ilogbf(10.0)), (i32::MIN, 3));
        assert!(logbf(f32::NAN).is_nan());
    }

    #[test]
    fn kinds_of_numbers_are_told_apart() {
        assert_eq!(
            (isfinited(1.0), finitef(f32::INFINITY), isinfd(f64::NEG_INFINITY), isinff(1.0)),
            (1, 0, 1, 0)
        );
        assert_eq!((isnand(f64::NAN), isnanf(1.0), signbitd(-0.0), signbitf(0.0)), (1, 0, 1, 0));
        assert_eq!((saturatef(2.0), saturatef(f32::NAN), saturatef(0.5)), (1.0, 0.0, 0.5));
    }

    #[test]
    fn second_results_go_through_pointers() {
        let (mut power, mut whole, mut quotient) = (0, 0.0, 0);
        let (mut sine, mut cosine) = (0.0, 0.0);
        // SAFETY: the pointers are to variables.
        unsafe {
            assert_eq!((frexp(10.0, &mut power), power), (0.625, 4));
            assert_eq!((modff(-2.5, &mut whole), whole), (-0.5, -2.0));
            assert_eq!((remquo(7.0, 2.0, &mut quotient), quotient & 7), (-1.0, 4));
            sincospif(0.5, &mut sine, &mut cosine);
        }
        assert_eq!((sine, cosine), (1.0, 0.0));
        // To a function of no order, its inverse.
        assert!((erf(erfinv(0.3)) - 0.3).abs() < 1e-15 && (erfc(erfcinv(1.7)) - 1.7).abs() < 1e-15);
        assert!((normcdf(normcdfinv(0.1)) - 0.1).abs() < 1e-15 && (rsqrtf(4.0) - 0.5).abs() < 1e-6);
    }
}
