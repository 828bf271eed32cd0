//! Types that one instruction can move, and their PTX types.

use crate::vector::{F32x2, F32x4, F64x2, I32x2, I32x4, I64x2, U32x2, U32x4, U64x2};

/// A type of 1, 2, 4, 8 or 16 bytes, aligned to its size, that one load or store moves.
///
/// # Safety
/// `Word` has the type's size and alignment at most, and any bytes that a value of the type can have are a `Word` and
/// the other way round.
pub unsafe trait Access: Copy {
    /// The same bytes as the registers that the instruction takes.
    #[doc(hidden)]
    type Word: super::load::Load + super::store::Store;
}

macro_rules! access {
    ($($type:ty as $word:ty),* $(,)?) => {$(
        // SAFETY: both are plain numbers in the same bytes (the size is asserted).
        unsafe impl Access for $type {
            type Word = $word;
        }
        const _: () = assert!(size_of::<$type>() == size_of::<$word>() && align_of::<$type>() == size_of::<$word>());
    )*};
}

access! {
    u8 as u8, i8 as u8,
    u16 as u16, i16 as u16,
    u32 as u32, i32 as u32, f32 as u32,
    u64 as u64, i64 as u64, f64 as u64, usize as u64, isize as u64,
    F32x2 as [u32; 2], U32x2 as [u32; 2], I32x2 as [u32; 2],
    F32x4 as [u32; 4], U32x4 as [u32; 4], I32x4 as [u32; 4],
    F64x2 as [u64; 2], U64x2 as [u64; 2], I64x2 as [u64; 2],
}

/// The same bytes as the other type.
///
/// # Safety
/// `From` and `To` have the same size, and the bytes are a valid `To`.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(super) unsafe fn cast<From: Copy, To: Copy>(value: From) -> To {
    // SAFETY: promised by the caller.
    unsafe { core::mem::transmute_copy(&value) }
}
