//! Arithmetic with the rounding in the function's name: one instruction each.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use pastey::paste;

use crate::float::GpuFloat;
use crate::gpu_only;

/// The four roundings of an operation. The host rounds to nearest and in no other way.
macro_rules! rounded {
    ($($name:ident($($argument:ident),*): $float:ident $register:ident, $instruction:literal $what:literal, $nearest:expr;)*) => {$(
        paste! {
            rounded!(@ [<$name _rd>] $float $register ($($argument),*) $instruction ".rm" $what "down");
            rounded!(@ [<$name _ru>] $float $register ($($argument),*) $instruction ".rp" $what "up");
            rounded!(@ [<$name _rz>] $float $register ($($argument),*) $instruction ".rz" $what "towards zero");

            #[doc = concat!($what, ", rounded to nearest, ties to even.")]
            #[inline(always)]
            #[must_use]
            pub fn [<$name _rn>]($($argument: $float),*) -> $float {
                $nearest
            }
        }
    )*};
    (@ $name:ident $float:ident $register:ident ($($argument:ident),*) $instruction:literal $mode:literal $what:literal $way:literal) => {
        #[doc = concat!($what, ", rounded ", $way, " (`", $instruction, $mode, ".", stringify!($float), "`).")]
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name($($argument: $float),*) -> $float {
            let result: $float;
            // SAFETY: arithmetic.
            unsafe {
                asm!(
                    concat!($instruction, $mode, ".", stringify!($float), " {}" $(, rounded!(slot $argument))*, ";"),
                    out($register) result, $(in($register) $argument,)*
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            result
        }
    };
    (slot $argument:ident) => {
        ", {}"
    };
}

rounded! {
    dadd(x, y): f64 reg64, "add" "The sum", x + y;
    dmul(x, y): f64 reg64, "mul" "The product", x * y;
    ddiv(x, y): f64 reg64, "div" "The quotient", x / y;
    drcp(x): f64 reg64, "rcp" "The reciprocal", 1.0 / x;
    dsqrt(x): f64 reg64, "sqrt" "The square root", GpuFloat::sqrt(x);
    fma(x, y, z): f64 reg64, "fma" "`x * y + z`", GpuFloat::mul_add(x, y, z);
    fadd(x, y): f32 reg32, "add" "The sum", x + y;
    fsub(x, y): f32 reg32, "sub" "The difference", x - y;
    fmul(x, y): f32 reg32, "mul" "The product", x * y;
    fdiv(x, y): f32 reg32, "div" "The quotient", x / y;
    frcp(x): f32 reg32, "rcp" "The reciprocal", 1.0 / x;
    fsqrt(x): f32 reg32, "sqrt" "The square root", GpuFloat::sqrt(x);
    fmaf(x, y, z): f32 reg32, "fma" "`x * y + z`", GpuFloat::mul_add(x, y, z);
}

/// The square root's reciprocal, rounded to nearest by way of `f64`.
#[inline(always)]
#[must_use]
pub fn frsqrt_rn(x: f32) -> f32 {
    (1.0 / GpuFloat::sqrt(f64::from(x))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_rounds_to_nearest() {
        assert_eq!((dadd_rn(0.1, 0.2), ddiv_rn(1.0, 3.0), drcp_rn(3.0)), (0.1 + 0.2, 1.0 / 3.0, 1.0 / 3.0));
        assert_eq!(
            (fsub_rn(0.3, 0.1), fmul_rn(0.1, 0.1), fsqrt_rn(2.0)),
            (0.3 - 0.1, 0.1 * 0.1, 2.0_f32.sqrt())
        );
        assert_eq!(fmaf_rn(0.1, 0.1, -0.01), 0.1_f32.mul_add(0.1, -0.01));
        assert_eq!((frsqrt_rn(4.0), frsqrt_rn(0.0), frsqrt_rn(2.0)), (0.5, f32::INFINITY, 0.707_106_77));
    }

    #[test]
    #[should_panic(expected = "dadd_rd is only on the GPU")]
    fn other_roundings_are_the_gpus() {
        let _ = dadd_rd(1.0, 2.0);
    }
}
