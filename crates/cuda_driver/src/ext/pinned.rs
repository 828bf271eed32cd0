//! Pinned host memory that the device accesses directly, with the flags that `cust`'s `LockedBuffer` lacks.

use std::ffi::c_void;
use std::ops::{BitOr, Deref, DerefMut};
use std::ptr::{self, NonNull};

use super::raw::{self, CUdeviceptr};
use super::{Check, Error, Result};
use crate::Code;

/// Flags of an allocation of pinned memory; combine with `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PinnedFlags(u32);

impl PinnedFlags {
    /// Pinned only.
    pub const NONE: Self = Self(0);
    /// Pinned for all contexts of the process, not only the current one.
    pub const PORTABLE: Self = Self(1);
    /// Mapped into the device's address space, so that kernels access it through
    /// [`as_device_ptr`](PinnedBuffer::as_device_ptr).
    pub const MAPPED: Self = Self(2);
    /// Not cached by the host's processor. That can make the device's accesses faster and makes the host's reads very
    /// slow.
    pub const WRITE_COMBINED: Self = Self(4);
}

impl BitOr for PinnedFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An owned slice in pinned host memory.
#[derive(Debug)]
pub struct PinnedBuffer<T: Copy> {
    pointer: NonNull<T>,
    length: usize,
}

impl<T: Copy> PinnedBuffer<T> {
    /// Allocates a buffer of `length` copies of a value.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_VALUE` for no bytes or more than the address space, `CUDA_ERROR_OUT_OF_MEMORY`, or the error
    /// of a missing current context.
    pub fn new(value: T, length: usize, flags: PinnedFlags) -> Result<Self> {
        // SAFETY: each element is written before anyone else knows the buffer.
        let buffer = unsafe { Self::uninitialized(length, flags) }?;
        for index in 0..length {
            // SAFETY: the index is within the allocation.
            unsafe { buffer.pointer.add(index).write(value) };
        }
        Ok(buffer)
    }

    /// Allocates a buffer of `length` elements without values.
    ///
    /// # Safety
    ///
    /// Each element is written before it is read.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub unsafe fn uninitialized(length: usize, flags: PinnedFlags) -> Result<Self> {
        const INVALID_VALUE: Error = Error { function: "cuMemHostAlloc", code: Code(1) };
        let bytes = length.checked_mul(size_of::<T>()).filter(|&bytes| bytes > 0).ok_or(INVALID_VALUE)?;
        let mut pointer: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer can be written.
        unsafe { raw::cuMemHostAlloc(&raw mut pointer, bytes, flags.0) }.of("cuMemHostAlloc")?;
        // The driver allocates whole pages, so every alignment up to a page's is met.
        let pointer = NonNull::new(pointer.cast::<T>()).filter(|pointer| pointer.is_aligned());
        Ok(PinnedBuffer { pointer: pointer.ok_or(INVALID_VALUE)?, length })
    }

    /// Returns the address by which kernels access the buffer.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_VALUE` if the buffer is not mapped.
    pub fn as_device_ptr(&self) -> Result<CUdeviceptr> {
        let mut address = 0;
        // SAFETY: the buffer is pinned memory of the driver's, and the pointer can be written.
        unsafe { raw::cuMemHostGetDevicePointer_v2(&raw mut address, self.pointer.as_ptr().cast(), 0) }
            .of("cuMemHostGetDevicePointer_v2")?;
        Ok(address)
    }
}

impl<T: Copy> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: each element was written, by `new` or by the caller of `uninitialized`.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }
}

impl<T: Copy> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the buffer is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }
}

impl<T: Copy> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: the memory is ours and not used again. An error cannot be handed on from here.
        unsafe { raw::cuMemFreeHost(self.pointer.as_ptr().cast()) };
    }
}

// SAFETY: the buffer owns its memory, which belongs to no thread.
unsafe impl<T: Copy + Send> Send for PinnedBuffer<T> {}
// SAFETY: sharing the buffer shares its elements and nothing else.
unsafe impl<T: Copy + Sync> Sync for PinnedBuffer<T> {}
