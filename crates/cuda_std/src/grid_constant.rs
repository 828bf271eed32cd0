//! Values that a kernel has where the launch put them: among its parameters.

use core::ops::Deref;

/// A value in the kernel's parameters, which the kernel has by reference (`const __grid_constant__` in CUDA C++, sm_70, PTX 7.7).
///
/// A parameter of a plain type is copied into each thread's registers or local memory, and so has an address of that thread's own.
/// This one has an address that is the same for all threads, aligned to 64 bytes, and is read through the constant cache. A tensor
/// map needs that: the copy engine reads it from there ([`map`](GridConstant::map)).
///
/// The host passes the value: a `T`, or with `cuda_launch` what can be one.
///
/// ```no_run
/// use cuda_std::{GridConstant, kernel, thread};
///
/// /// # Safety
/// /// `output` has 64 elements, and the launch 64 threads.
/// #[kernel]
/// pub unsafe fn look_up(table: GridConstant<'_, [f32; 64]>, output: *mut f32) {
///     let index = thread::thread_idx_x() as usize;
///     // SAFETY: one element for each thread.
///     unsafe { *output.add(index) = table[63 - index] }
/// }
/// # fn main() {}
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct GridConstant<'a, T>(&'a T);

impl<'a, T> GridConstant<'a, T> {
    /// The parameter that `#[kernel]` found.
    ///
    /// # Safety
    /// The value is one of the kernel's parameters.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub const unsafe fn new(value: &'a T) -> Self {
        const { assert!(align_of::<T>() <= 64, "a parameter of a kernel is aligned to 64 bytes at most") };
        Self(value)
    }

    /// The value, for as long as the kernel runs.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> &'a T {
        self.0
    }
}

impl<T> Clone for GridConstant<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GridConstant<'_, T> {}

impl<T> Deref for GridConstant<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.0
    }
}
