//! Approximations of `f32` functions, as few instructions of the special function unit.

use core::f32::consts::{LOG2_10, LOG10_2};

use crate::approx;

macro_rules! fast {
    ($($(#[$documentation:meta])* $name:ident($($argument:ident),*) = $result:expr;)*) => {$(
        $(#[$documentation])*
        #[inline(always)]
        #[must_use]
        pub fn $name($($argument: f32),*) -> f32 {
            $result
        }
    )*};
}

fast! {
    /// The cosine, as [`approx::cos`].
    fast_cosf(x) = approx::cos(x);
    /// 10 to this power: a multiplication and [`approx::exp2`].
    fast_exp10f(x) = approx::exp2(x * LOG2_10);
    /// e to this power, as [`approx::exp`].
    fast_expf(x) = approx::exp(x);
    /// The quotient, as [`approx::divide`]: 0 for a divisor of magnitude above 2^126.
    fast_fdividef(x, y) = approx::divide(x, y);
    /// The logarithm to base 10: [`approx::log2`] and a multiplication.
    fast_log10f(x) = approx::log2(x) * LOG10_2;
    /// The logarithm to base 2, as [`approx::log2`].
    fast_log2f(x) = approx::log2(x);
    /// The natural logarithm, as [`approx::ln`].
    fast_logf(x) = approx::ln(x);
    /// The power: 2 to the product of `y` and [`approx::log2`] of `x`.
    fast_powf(x, y) = approx::exp2(y * approx::log2(x));
    /// The sine, as [`approx::sin`].
    fast_sinf(x) = approx::sin(x);
    /// The tangent: the quotient of [`approx::sin`] and [`approx::cos`].
    fast_tanf(x) = approx::divide(approx::sin(x), approx::cos(x));
}

/// Writes sine and cosine, as [`approx::sin`] and [`approx::cos`].
///
/// # Safety
/// Both pointers are valid for writes and aligned.
#[inline(always)]
pub unsafe fn fast_sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) {
    // SAFETY: promised by the caller.
    unsafe {
        sptr.write(approx::sin(x));
        cptr.write(approx::cos(x));
    }
}
