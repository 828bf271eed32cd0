//! A stand-in for the published `cust_core`, which links the driver's symbols of `cuda_driver` into every program with `cust`.
//!
//! `cust` takes its [`DeviceCopy`] from here, so a program with `cust` has this crate without naming it. A manifest that puts it
//! in the published one's stead is all that an unchanged program needs to be built without a CUDA toolkit and to run on any
//! machine:
//!
//! ```toml
//! [patch.crates-io]
//! cust_core = { git = ".." }
//! find_cuda_helper = { git = ".." }
//! ```
//!
//! Its first CUDA call binds NVIDIA's driver, or a simulated card where there is none: see `cuda_driver`. `find_cuda_helper` is
//! the build dependency by which `cust` looks for a toolkit and fails without one; ours looks for nothing.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![no_std]

// Named, so that its symbols are linked.
#[cfg(not(target_arch = "nvptx64"))]
use cuda_driver as _;

pub use _hidden::DeviceCopy;
pub use cust_derive::DeviceCopyCore as DeviceCopy;

/// Where `cust` looks for the trait without the derive macro of the same name.
#[doc(hidden)]
pub mod _hidden {
    use core::marker::PhantomData;
    use core::num::{
        NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroU8, NonZeroU16, NonZeroU32,
        NonZeroU64, NonZeroU128, Wrapping,
    };

    /// A value that means the same on the device when its bytes are copied there.
    ///
    /// Structs, enums and unions of such values derive it: `#[derive(Clone, Copy, DeviceCopy)]`.
    ///
    /// # Safety
    /// The value holds no reference or pointer to memory that the device cannot reach.
    pub unsafe trait DeviceCopy: Copy {}

    macro_rules! device_copy {
        ($($type:ty),* $(,)?) => {$(
            // SAFETY: plain values without pointers.
            unsafe impl DeviceCopy for $type {}
        )*};
    }

    #[cfg(any(feature = "vek", feature = "mint", feature = "num-complex"))]
    macro_rules! device_copy_of {
        ($($type:ident),* $(,)?) => {$(
            // SAFETY: values of the parameter's type, side by side.
            unsafe impl<T: DeviceCopy> DeviceCopy for $type<T> {}
        )*};
    }

    macro_rules! device_copy_tuples {
        ($first:ident $($rest:ident)*) => {
            // SAFETY: values that all may be copied.
            unsafe impl<$first: DeviceCopy, $($rest: DeviceCopy),*> DeviceCopy for ($first, $($rest,)*) {}
            device_copy_tuples! { $($rest)* }
        };
        () => {};
    }

    device_copy! {
        (), bool, char, f32, f64,
        u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize,
        NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128,
        NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128,
    }
    device_copy_tuples! { A B C D E F G H }

    // SAFETY: the value, or none.
    unsafe impl<T: DeviceCopy> DeviceCopy for Option<T> {}
    // SAFETY: one of two values that both may be copied.
    unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {}
    // SAFETY: the value in another type.
    unsafe impl<T: DeviceCopy> DeviceCopy for Wrapping<T> {}
    // SAFETY: the value, so many times.
    unsafe impl<T: DeviceCopy, const COUNT: usize> DeviceCopy for [T; COUNT] {}
    // SAFETY: nothing is copied.
    unsafe impl<T: DeviceCopy> DeviceCopy for PhantomData<T> {}
    // SAFETY: nothing is copied; it marks a lifetime.
    unsafe impl DeviceCopy for PhantomData<&()> {}

    #[cfg(feature = "glam")]
    mod of_glam {
        use super::DeviceCopy;
        use glam::{IVec2, IVec3, IVec4, Vec2, Vec3, Vec4};

        device_copy! { Vec2, Vec3, Vec4, IVec2, IVec3, IVec4 }
    }

    #[cfg(feature = "half")]
    device_copy! { half::f16, half::bf16 }

    #[cfg(feature = "vek")]
    mod of_vek {
        use super::DeviceCopy;
        use vek::{
            CubicBezier2, CubicBezier3, Extent2, Extent3, Mat2, Mat3, Mat4, Quaternion, Vec2, Vec3, Vec4,
        };

        device_copy_of! {
            CubicBezier2, CubicBezier3, Extent2, Extent3, Mat2, Mat3, Mat4, Quaternion, Vec2, Vec3, Vec4,
        }
    }

    #[cfg(feature = "mint")]
    mod of_mint {
        use super::DeviceCopy;
        use mint::{
            ColumnMatrix2, ColumnMatrix3, ColumnMatrix3x4, ColumnMatrix4, RowMatrix2, RowMatrix3,
            RowMatrix3x4, RowMatrix4, Vector2, Vector3, Vector4,
        };

        device_copy_of! {
            ColumnMatrix2, ColumnMatrix3, ColumnMatrix3x4, ColumnMatrix4, RowMatrix2, RowMatrix3, RowMatrix3x4, RowMatrix4,
            Vector2, Vector3, Vector4,
        }
    }

    #[cfg(feature = "num-complex")]
    mod of_num_complex {
        use super::DeviceCopy;
        use num_complex::Complex;

        device_copy_of! { Complex }
    }
}
