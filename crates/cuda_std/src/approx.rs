//! Approximations by the GPU's special function unit: one instruction each, a few bits less than full precision.
//!
//! The error bounds are those of the PTX manual. On the host the functions are the full-precision ones, so a result
//! there differs in its last bits.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

macro_rules! approximations {
    ($($(#[$documentation:meta])* $name:ident($($argument:ident),*), $gpu:expr, $host:expr;)*) => {$(
        $(#[$documentation])*
        #[inline(always)]
        #[must_use]
        pub fn $name($($argument: f32),*) -> f32 {
            #[cfg(target_arch = "nvptx64")]
            {
                $gpu
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $host
            }
        }
    )*};
}

/// One instruction on one or two `f32`.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($template:literal, $($argument:ident),*) => {{
        let result: f32;
        // SAFETY: arithmetic.
        unsafe { asm!($template, out(reg32) result, $(in(reg32) $argument,)* options(pure, nomem, nostack, preserves_flags)) };
        result
    }};
}

approximations! {
    /// The sine (`sin.approx.f32`): absolute error 2^-20.5 for angles of -pi to pi, more beyond.
    sin(x), intrinsic::sin_approx(x), libm::sinf(x);
    /// The cosine (`cos.approx.f32`): absolute error 2^-20.5 for angles of -pi to pi, more beyond.
    cos(x), intrinsic::cos_approx(x), libm::cosf(x);
    /// 2 to this power (`ex2.approx.f32`): 2 ulp.
    exp2(x), intrinsic::ex2_approx(x), libm::exp2f(x);
    /// e to this power: a multiplication and `ex2.approx.f32`.
    exp(x), intrinsic::ex2_approx(x * core::f32::consts::LOG2_E), libm::expf(x);
    /// The logarithm to base 2 (`lg2.approx.f32`): absolute error 2^-22 between 0.5 and 2, 2 ulp outside.
    log2(x), intrinsic::lg2_approx(x), libm::log2f(x);
    /// The natural logarithm: `lg2.approx.f32` and a multiplication.
    ln(x), intrinsic::lg2_approx(x) * core::f32::consts::LN_2, libm::logf(x);
    /// The square root (`sqrt.approx.f32`): relative error 2^-23.
    sqrt(x), intrinsic::sqrt_approx(x), libm::sqrtf(x);
    /// The square root's reciprocal (`rsqrt.approx.f32`): relative error 2^-22.9.
    reciprocal_sqrt(x), intrinsic::rsqrt_approx(x), 1.0 / libm::sqrtf(x);
    /// The reciprocal (`rcp.approx.f32`): 1 ulp.
    reciprocal(x), instruction!("rcp.approx.f32 {}, {};", x), 1.0 / x;
    /// The quotient (`div.approx.f32`): 2 ulp for a divisor of magnitude 2^-126 to 2^126.
    divide(x, y), instruction!("div.approx.f32 {}, {}, {};", x, y), x / y;
    /// The hyperbolic tangent (`tanh.approx.f32`, sm_75): relative error 2^-11.
    tanh(x), instruction!("tanh.approx.f32 {}, {};", x), libm::tanhf(x);
}
