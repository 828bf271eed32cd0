//! Requests that bring a line nearer and deliver no value.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;

macro_rules! prefetches {
    ($($(#[$documentation:meta])* $name:ident, $instruction:literal;)*) => {$(
        $(#[$documentation])*
        ///
        /// # Safety
        /// `pointer` is to global memory.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name<T>(pointer: *const T) {
            // SAFETY: a prefetch changes no memory; the space is promised by the caller.
            unsafe { asm!(concat!($instruction, " [{}];"), in(reg64) pointer, options(readonly, nostack, preserves_flags)) }
        }
    )*};
}

prefetches! {
    /// Brings the line of an address into L1 (`prefetch.global.L1`).
    prefetch_l1, "prefetch.global.L1";
    /// Brings the line of an address into L2 (`prefetch.global.L2`).
    prefetch_l2, "prefetch.global.L2";
    /// Brings the line of an address into L2, last to leave it (`prefetch.global.L2::evict_last`, sm_80).
    prefetch_l2_evict_last, "prefetch.global.L2::evict_last";
}
