//! Memory that a kernel allocates by itself, and how much shared memory its launch has.
//!
//! `Box`, `Vec` and the like work in kernels through [`GLOBAL_ALLOCATOR`]. Each allocation of each thread is a call into the
//! driver's heap, 8 MiB unless the host sets another limit: it is slow and for debugging. A kernel that allocates
//! nothing has nothing of it in its PTX.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

#[cfg(target_arch = "nvptx64")]
mod system_call {
    use core::ffi::c_void;
    unsafe extern "C" {
        pub(super) fn malloc(size: usize) -> *mut c_void;
        pub(super) fn free(pointer: *mut c_void);
    }
}

/// Allocates from the device's heap; 16-byte aligned, null if there is not that much left.
///
/// # Safety
/// None is needed; the function is `unsafe` because Rust-CUDA's is.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn malloc(size: usize) -> *mut c_void {
    // SAFETY: the driver's own function.
    unsafe { system_call::malloc(size) }
}

/// Gives memory back to the device's heap; any thread of any kernel may do it.
///
/// # Safety
/// `ptr` is null or from [`malloc`] and has not been given back.
#[gpu_only]
#[inline(always)]
pub unsafe fn free(ptr: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe { system_call::free(ptr) }
}

/// Rust's allocator over [`malloc`] and [`free`].
#[derive(Clone, Copy, Debug)]
pub struct CUDAAllocator;

/// The alignment that [`malloc`] gives by itself.
const MALLOC_ALIGNMENT: usize = 16;

// SAFETY: memory is `malloc`'s, or for a larger alignment a part of it, and goes back to `free` by the address that
// `malloc` returned.
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNMENT {
            // SAFETY: none is needed.
            return unsafe { malloc(layout.size()) }.cast();
        }
        // Room to move up to the alignment, and before that for the address to free: `malloc` aligns to 16, so that at
        // least 16 bytes lie between the two.
        let Some(size) = layout.size().checked_add(layout.align()) else { return core::ptr::null_mut() };
        // SAFETY: none is needed.
        let start: *mut u8 = unsafe { malloc(size) }.cast();
        if start.is_null() {
            return start;
        }
        let aligned = start.wrapping_add(alignment_gap(start.addr(), layout.align()));
        // SAFETY: the gap is at least 16 bytes and at most the alignment, both inside the allocation and aligned to 16.
        unsafe { aligned.cast::<*mut u8>().sub(1).write(start) };
        aligned
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let start = if layout.align() <= MALLOC_ALIGNMENT {
            ptr
        } else {
            // SAFETY: `alloc` wrote it there.
            unsafe { ptr.cast::<*mut u8>().sub(1).read() }
        };
        // SAFETY: `start` is what `malloc` returned.
        unsafe { free(start.cast()) }
    }
}

/// The distance from an address to the next aligned one, at least one step of [`MALLOC_ALIGNMENT`].
const fn alignment_gap(address: usize, alignment: usize) -> usize {
    alignment - address % alignment
}

/// The allocator behind `alloc` on the GPU.
#[cfg_attr(target_arch = "nvptx64", global_allocator)]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

/// The size of the launch's dynamic shared memory in bytes (`%dynamic_smem_size`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn dynamic_smem_size() -> u32 {
    intrinsic::dynamic_smem_size()
}

/// The size of the block's shared memory in bytes, static and dynamic, rounded up to the hardware's granularity
/// (`%total_smem_size`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn total_smem_size() -> u32 {
    intrinsic::total_smem_size()
}

#[cfg(test)]
mod tests {
    use super::{MALLOC_ALIGNMENT, alignment_gap};

    #[test]
    fn the_gap_holds_a_pointer_and_ends_aligned() {
        for alignment in [32, 64, 256, 4096] {
            for address in (0..2 * alignment).step_by(MALLOC_ALIGNMENT) {
                let gap = alignment_gap(address, alignment);
                assert_eq!((address + gap) % alignment, 0);
                assert!((MALLOC_ALIGNMENT..=alignment).contains(&gap), "{address} {alignment}: {gap}");
            }
        }
    }
}
