//! Values that memory may hold which threads exchange with one another and with the host.

use cuda_std::vector::{F32x2, F32x4, F64x2, I32x2, I32x4, U32x2, U32x4, U64x2};

/// A value without padding for which any bits are valid.
///
/// Memory that was not written yet, or was written as another type, then still holds some value. No proof of where a thread
/// may write is of this kind, so that none can be handed to another thread through memory.
///
/// # Safety
/// The type has no padding, no references, and every pattern of bits is a value of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain bits, as a kernel's values and the elements of its arrays and tiles are",
    label = "not a number, a vector, or an array of them",
    note = "a `bool` crosses as a `u32`; a `struct` of one's own can be `unsafe impl Bits`, if it has no padding, no pointers, and \
            every pattern of bits is a value of it",
    note = "`In`, `Out`, `Tile` and the other types of parameters are known by their names: write them out, and no alias"
)]
pub unsafe trait Bits: Copy + 'static {}

macro_rules! bits {
    ($($type:ty)*) => {$(
        // SAFETY: a number, or numbers behind one another.
        unsafe impl Bits for $type {}
    )*};
}

bits! {
    u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64
    F32x2 F32x4 F64x2 I32x2 I32x4 U32x2 U32x4 U64x2
}

// SAFETY: arrays have no padding between their elements.
unsafe impl<T: Bits, const LENGTH: usize> Bits for [T; LENGTH] {}

/// A number of either precision, for kernels that are written once for both.
pub trait Number: Bits + core::ops::Add<Output = Self> {
    /// One.
    const ONE: Self;

    /// The nearest number.
    fn from_u32(value: u32) -> Self;
}

impl Number for f32 {
    const ONE: Self = 1.0;

    #[inline(always)]
    fn from_u32(value: u32) -> Self {
        value as Self
    }
}

impl Number for f64 {
    const ONE: Self = 1.0;

    #[inline(always)]
    fn from_u32(value: u32) -> Self {
        Self::from(value)
    }
}
