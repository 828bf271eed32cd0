//! Stores to global memory, one instruction each.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use super::word::Access;
#[cfg(target_arch = "nvptx64")]
use super::word::cast;
use crate::gpu_only;

macro_rules! stores {
    ($(
        $(#[$documentation:meta])*
        $name:ident, $instruction:literal;
    )*) => {
        /// The stores of one shape of registers.
        #[doc(hidden)]
        pub trait Store: Copy {
            $(
                /// See the function of that name.
                ///
                /// # Safety
                /// As that function's.
                #[cfg(target_arch = "nvptx64")]
                unsafe fn $name(pointer: *mut Self, value: Self);
            )*
        }

        impl Store for u8 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, value: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".b8 [{}], {};"),
                        in(reg64) pointer, in(reg16) u16::from(value), options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        impl Store for u16 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, value: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".b16 [{}], {};"),
                        in(reg64) pointer, in(reg16) value, options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        impl Store for u32 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, value: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".b32 [{}], {};"),
                        in(reg64) pointer, in(reg32) value, options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        impl Store for u64 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, value: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".b64 [{}], {};"),
                        in(reg64) pointer, in(reg64) value, options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        impl Store for [u32; 2] {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, [x, y]: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".v2.b32 [{}], {{{}, {}}};"),
                        in(reg64) pointer, in(reg32) x, in(reg32) y, options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        impl Store for [u32; 4] {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, [x, y, z, w]: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".v4.b32 [{}], {{{}, {}, {}, {}}};"),
                        in(reg64) pointer, in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w,
                        options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        impl Store for [u64; 2] {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *mut Self, [x, y]: Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".v2.b64 [{}], {{{}, {}}};"),
                        in(reg64) pointer, in(reg64) x, in(reg64) y, options(nostack, preserves_flags)
                    );
                }
            }
        )*}

        $(
            $(#[$documentation])*
            ///
            /// # Safety
            /// `pointer` is to global memory, writable and aligned to the type's size, and no other thread accesses the
            /// same bytes unordered.
            #[gpu_only]
            #[inline(always)]
            pub unsafe fn $name<T: Access>(pointer: *mut T, value: T) {
                // SAFETY: promised by the caller; `Access` says that the bytes are the same.
                unsafe { <T::Word as Store>::$name(pointer.cast(), cast(value)) }
            }
        )*
    };
}

stores! {
    /// Stores, written back from the caches in time (`st.global.wb`), which is what a plain store does.
    #[doc(alias("__stwb"))]
    store_write_back, "st.global.wb";

    /// Stores into L2, not into L1 (`st.global.cg`).
    #[doc(alias("__stcg"))]
    store_cached_global, "st.global.cg";

    /// Stores what is likely not used again: first to leave the caches (`st.global.cs`).
    #[doc(alias("__stcs"))]
    store_streaming, "st.global.cs";

    /// Stores through L2, so that the host's memory has it (`st.global.wt`).
    #[doc(alias("__stwt"))]
    store_write_through, "st.global.wt";

    /// Stores, first to leave L1 (`st.global.L1::evict_first`).
    store_evict_first, "st.global.L1::evict_first";

    /// Stores, last to leave L1 (`st.global.L1::evict_last`).
    store_evict_last, "st.global.L1::evict_last";

    /// Stores past L1 (`st.global.L1::no_allocate`).
    store_no_allocate, "st.global.L1::no_allocate";
}
