//! L2 cache policies: what should stay in L2 and for which part of the accesses (sm_80).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use super::word::Access;
#[cfg(target_arch = "nvptx64")]
use super::word::cast;
use crate::gpu_only;
use crate::vector::{F32x4, I32x4, U32x4};

/// An L2 policy for the lines that an access brings in: an opaque 64-bit word made by `createpolicy` (sm_80).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct CachePolicy(u64);

macro_rules! policies {
    ($($(#[$documentation:meta])* $name:ident, $instruction:literal;)*) => {
        impl CachePolicy {$(
            $(#[$documentation])*
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub fn $name() -> Self {
                let policy;
                // SAFETY: makes a word from constants.
                unsafe { asm!(concat!($instruction, " {}, 1.0;"), out(reg64) policy, options(pure, nomem, nostack, preserves_flags)) };
                Self(policy)
            }
        )*}
    };
}

policies! {
    /// First to leave L2 (`createpolicy.fractional.L2::evict_first.b64`).
    evict_first, "createpolicy.fractional.L2::evict_first.b64";
    /// Last to leave L2 (`createpolicy.fractional.L2::evict_last.b64`).
    evict_last, "createpolicy.fractional.L2::evict_last.b64";
    /// Keeps the place in the order that the line has (`createpolicy.fractional.L2::evict_unchanged.b64`).
    evict_unchanged, "createpolicy.fractional.L2::evict_unchanged.b64";
}

impl CachePolicy {
    /// The word that the instructions take.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// The 16-byte types that the accesses with a policy move.
///
/// # Safety
/// The type is four 32-bit numbers, aligned to 16.
pub unsafe trait Quad: Access<Word = [u32; 4]> {}
// SAFETY: as the trait asks.
unsafe impl Quad for F32x4 {}
// SAFETY: as the trait asks.
unsafe impl Quad for U32x4 {}
// SAFETY: as the trait asks.
unsafe impl Quad for I32x4 {}

/// Loads 16 bytes past L1, in L2 as the policy says (`ld.global.L1::no_allocate.L2::cache_hint.v4.b32`, sm_80).
///
/// # Safety
/// `pointer` is to global memory, readable, initialised and aligned to 16.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_with_policy<T: Quad>(pointer: *const T, policy: CachePolicy) -> T {
    let (x, y, z, w): (u32, u32, u32, u32);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {{{}, {}, {}, {}}}, [{}], {};",
            out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg64) pointer, in(reg64) policy.0,
            options(pure, readonly, nostack, preserves_flags)
        );
        cast([x, y, z, w])
    }
}

/// Stores 16 bytes past L1, in L2 as the policy says (`st.global.L1::no_allocate.L2::cache_hint.v4.b32`, sm_80).
///
/// # Safety
/// `pointer` is to global memory, writable and aligned to 16, and no other thread accesses the same bytes unordered.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_with_policy<T: Quad>(pointer: *mut T, value: T, policy: CachePolicy) {
    // SAFETY: promised by the caller.
    unsafe {
        let [x, y, z, w]: [u32; 4] = cast(value);
        asm!(
            "st.global.L1::no_allocate.L2::cache_hint.v4.b32 [{}], {{{}, {}, {}, {}}}, {};",
            in(reg64) pointer, in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, in(reg64) policy.0,
            options(nostack, preserves_flags)
        );
    }
}
