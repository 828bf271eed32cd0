//! Relaxed atomic operations that name the state space of their operand, and reductions.
//!
//! An instruction on a generic pointer (`atom.add`) first finds out which memory it points into. One with `.global` or
//! `.shared` in its name does not, and in shared memory it is another unit's instruction. A *reduction* (`red`) is an atomic
//! operation that gives no old value back, so that no thread waits for it.
//!
//! In global memory the scope is the device (`.gpu`), in shared memory the block (`.cta`). Addresses are specific ones, as
//! [`convert_generic_to_specific_address_space`](crate::ptr::convert_generic_to_specific_address_space) returns them.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;

/// A number that memory can change atomically: `u32`, `i32`, `u64`, `f32` and `f64`.
///
/// # Safety
/// For each function the pointer is an address within the space that the function names, where a value may be read and
/// written, aligned to its size. Every other access to the same bytes that is not ordered with this one is atomic as well.
#[allow(clippy::missing_safety_doc, reason = "the trait's documentation says it once for all")]
pub trait InSpace: Copy {
    /// Adds (`red.relaxed.gpu.global.add`). Integers wrap.
    unsafe fn add_global(pointer: *mut Self, operand: Self);
    /// Adds (`red.relaxed.cta.shared.add`).
    unsafe fn add_shared(pointer: *mut Self, operand: Self);
    /// Adds and returns the old value (`atom.relaxed.gpu.global.add`).
    unsafe fn fetch_add_global(pointer: *mut Self, operand: Self) -> Self;
    /// Adds and returns the old value (`atom.relaxed.cta.shared.add`).
    unsafe fn fetch_add_shared(pointer: *mut Self, operand: Self) -> Self;
    /// Stores `new` if memory holds the bits of `current`; returns the old value (`atom.relaxed.gpu.global.cas`).
    unsafe fn swap_if_global(pointer: *mut Self, current: Self, new: Self) -> Self;
    /// Stores `new` if memory holds the bits of `current`; returns the old value (`atom.relaxed.cta.shared.cas`).
    unsafe fn swap_if_shared(pointer: *mut Self, current: Self, new: Self) -> Self;
    /// The value (`ld.relaxed.gpu.global`).
    unsafe fn load_global(pointer: *const Self) -> Self;
    /// The value (`ld.relaxed.cta.shared`).
    unsafe fn load_shared(pointer: *const Self) -> Self;
    /// Stores a value (`st.relaxed.gpu.global`).
    unsafe fn store_global(pointer: *mut Self, operand: Self);
    /// Stores a value (`st.relaxed.cta.shared`).
    unsafe fn store_shared(pointer: *mut Self, operand: Self);
}

macro_rules! in_space {
    ($($type:ty, $register:ident, $bits:literal, $number:literal;)*) => {$(
        impl InSpace for $type {
            in_space!(@ $type, $register, $bits, $number, "gpu.global",
                add_global fetch_add_global swap_if_global load_global store_global);
            in_space!(@ $type, $register, $bits, $number, "cta.shared",
                add_shared fetch_add_shared swap_if_shared load_shared store_shared);
        }
    )*};
    (@ $type:ty, $register:ident, $bits:literal, $number:literal, $scope:literal,
        $add:ident $fetch_add:ident $swap_if:ident $load:ident $store:ident) => {
        #[gpu_only]
        #[inline(always)]
        unsafe fn $add(pointer: *mut Self, operand: Self) {
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!("red.relaxed.", $scope, ".add.", $number, " [{}], {};"),
                    in(reg64) pointer, in($register) operand, options(nostack, preserves_flags)
                );
            }
        }

        #[gpu_only]
        #[inline(always)]
        unsafe fn $fetch_add(pointer: *mut Self, operand: Self) -> Self {
            let value;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!("atom.relaxed.", $scope, ".add.", $number, " {}, [{}], {};"),
                    out($register) value, in(reg64) pointer, in($register) operand, options(nostack, preserves_flags)
                );
            }
            value
        }

        #[gpu_only]
        #[inline(always)]
        unsafe fn $swap_if(pointer: *mut Self, current: Self, new: Self) -> Self {
            let value;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!("atom.relaxed.", $scope, ".cas.", $bits, " {}, [{}], {}, {};"),
                    out($register) value, in(reg64) pointer, in($register) current, in($register) new, options(nostack, preserves_flags)
                );
            }
            value
        }

        #[gpu_only]
        #[inline(always)]
        unsafe fn $load(pointer: *const Self) -> Self {
            let value;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!("ld.relaxed.", $scope, ".", $bits, " {}, [{}];"),
                    out($register) value, in(reg64) pointer, options(nostack, preserves_flags)
                );
            }
            value
        }

        #[gpu_only]
        #[inline(always)]
        unsafe fn $store(pointer: *mut Self, operand: Self) {
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!("st.relaxed.", $scope, ".", $bits, " [{}], {};"),
                    in(reg64) pointer, in($register) operand, options(nostack, preserves_flags)
                );
            }
        }
    };
}

in_space! {
    u32, reg32, "b32", "u32";
    i32, reg32, "b32", "s32";
    u64, reg64, "b64", "u64";
    f32, reg32, "b32", "f32";
    f64, reg64, "b64", "f64";
}
