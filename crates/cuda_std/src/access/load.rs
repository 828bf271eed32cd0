//! Loads from global memory, one instruction each.
#![allow(
    clippy::pointers_in_nomem_asm_block,
    reason = "what a read-only load reads is no memory that the program can change while it runs"
)]

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use super::word::Access;
#[cfg(target_arch = "nvptx64")]
use super::word::cast;
use crate::gpu_only;

// A read-only load's result depends on nothing that the kernel does, so LLVM may merge and hoist it (`pure, nomem`).
// A cached load sees the kernel's own writes, so it may only be merged between them (`pure, readonly`).
// A volatile load happens exactly where it stands.
macro_rules! loads {
    ($(
        $(#[$documentation:meta])*
        $name:ident, $instruction:literal, options($($option:ident),*);
    )*) => {
        /// The loads of one shape of registers.
        #[doc(hidden)]
        pub trait Load: Copy {
            $(
                /// See the function of that name.
                ///
                /// # Safety
                /// As that function's.
                #[cfg(target_arch = "nvptx64")]
                unsafe fn $name(pointer: *const Self) -> Self;
            )*
        }

        impl Load for u8 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let value: u16;
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(concat!($instruction, ".b8 {}, [{}];"), out(reg16) value, in(reg64) pointer, options($($option),*));
                }
                // The upper byte is zero.
                value as u8
            }
        )*}

        impl Load for u16 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let value: u16;
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(concat!($instruction, ".b16 {}, [{}];"), out(reg16) value, in(reg64) pointer, options($($option),*));
                }
                value
            }
        )*}

        impl Load for u32 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let value: u32;
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(concat!($instruction, ".b32 {}, [{}];"), out(reg32) value, in(reg64) pointer, options($($option),*));
                }
                value
            }
        )*}

        impl Load for u64 {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let value: u64;
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(concat!($instruction, ".b64 {}, [{}];"), out(reg64) value, in(reg64) pointer, options($($option),*));
                }
                value
            }
        )*}

        impl Load for [u32; 2] {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let (x, y): (u32, u32);
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".v2.b32 {{{}, {}}}, [{}];"),
                        out(reg32) x, out(reg32) y, in(reg64) pointer, options($($option),*)
                    );
                }
                [x, y]
            }
        )*}

        impl Load for [u32; 4] {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let (x, y, z, w): (u32, u32, u32, u32);
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".v4.b32 {{{}, {}, {}, {}}}, [{}];"),
                        out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg64) pointer, options($($option),*)
                    );
                }
                [x, y, z, w]
            }
        )*}

        impl Load for [u64; 2] {$(
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn $name(pointer: *const Self) -> Self {
                let (x, y): (u64, u64);
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!($instruction, ".v2.b64 {{{}, {}}}, [{}];"),
                        out(reg64) x, out(reg64) y, in(reg64) pointer, options($($option),*)
                    );
                }
                [x, y]
            }
        )*}

        $(
            $(#[$documentation])*
            ///
            /// # Safety
            /// `pointer` is to global memory, readable, initialised and aligned to the type's size.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub unsafe fn $name<T: Access>(pointer: *const T) -> T {
                // SAFETY: promised by the caller; `Access` says that the bytes are the same.
                unsafe { cast(<T::Word as Load>::$name(pointer.cast())) }
            }
        )*
    };
}

loads! {
    /// Loads what nothing writes during the whole launch, by the read-only path (`ld.global.nc`).
    ///
    /// If anything does write it, the value read is any. The elements of a kernel's `&[T]` parameter take this path by
    /// themselves; this is for raw pointers.
    #[doc(alias("__ldg", "ldg"))]
    load_read_only, "ld.global.nc", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`], first to leave L1 (`ld.global.nc.L1::evict_first`).
    load_read_only_evict_first, "ld.global.nc.L1::evict_first", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`], last to leave L1 (`ld.global.nc.L1::evict_last`).
    load_read_only_evict_last, "ld.global.nc.L1::evict_last", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`] past L1 (`ld.global.nc.L1::no_allocate`).
    load_read_only_no_allocate, "ld.global.nc.L1::no_allocate", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`] that fetches 128 bytes into L2 (`ld.global.nc.L2::128B`).
    load_read_only_l2_128, "ld.global.nc.L2::128B", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`] that fetches 256 bytes into L2 (`ld.global.nc.L2::256B`, sm_80).
    load_read_only_l2_256, "ld.global.nc.L2::256B", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`] past L1 that fetches 128 bytes into L2 (`ld.global.nc.L1::no_allocate.L2::128B`).
    load_read_only_no_allocate_l2_128, "ld.global.nc.L1::no_allocate.L2::128B", options(pure, nomem, nostack, preserves_flags);

    /// [`load_read_only`] past L1 that fetches 256 bytes into L2 (`ld.global.nc.L1::no_allocate.L2::256B`, sm_80).
    load_read_only_no_allocate_l2_256, "ld.global.nc.L1::no_allocate.L2::256B", options(pure, nomem, nostack, preserves_flags);

    /// Loads, caching in L1 and L2 (`ld.global.ca`), which is what a plain load does.
    #[doc(alias("__ldca"))]
    load_cached_all, "ld.global.ca", options(pure, readonly, nostack, preserves_flags);

    /// Loads, caching in L2 and not in L1 (`ld.global.cg`).
    #[doc(alias("__ldcg"))]
    load_cached_global, "ld.global.cg", options(pure, readonly, nostack, preserves_flags);

    /// Loads what is likely used once: first to leave the caches (`ld.global.cs`).
    #[doc(alias("__ldcs"))]
    load_streaming, "ld.global.cs", options(pure, readonly, nostack, preserves_flags);

    /// Loads a value on its last use: a line only in this cache need not be written back (`ld.global.lu`).
    #[doc(alias("__ldlu"))]
    load_last_use, "ld.global.lu", options(pure, readonly, nostack, preserves_flags);

    /// Loads afresh whatever the caches hold, exactly here (`ld.global.cv`).
    #[doc(alias("__ldcv"))]
    load_volatile, "ld.global.cv", options(nostack, preserves_flags);

    /// Loads, first to leave L1 (`ld.global.L1::evict_first`).
    load_evict_first, "ld.global.L1::evict_first", options(pure, readonly, nostack, preserves_flags);

    /// Loads, last to leave L1 (`ld.global.L1::evict_last`).
    load_evict_last, "ld.global.L1::evict_last", options(pure, readonly, nostack, preserves_flags);

    /// Loads past L1 (`ld.global.L1::no_allocate`).
    load_no_allocate, "ld.global.L1::no_allocate", options(pure, readonly, nostack, preserves_flags);

    /// Loads and fetches 128 bytes into L2 (`ld.global.L2::128B`).
    load_l2_128, "ld.global.L2::128B", options(pure, readonly, nostack, preserves_flags);

    /// Loads and fetches 256 bytes into L2 (`ld.global.L2::256B`, sm_80).
    load_l2_256, "ld.global.L2::256B", options(pure, readonly, nostack, preserves_flags);

    /// Loads past L1 and fetches 256 bytes into L2 (`ld.global.L1::no_allocate.L2::256B`, sm_80).
    load_no_allocate_l2_256, "ld.global.L1::no_allocate.L2::256B", options(pure, readonly, nostack, preserves_flags);
}
