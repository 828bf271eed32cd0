//! `cp.async`: each thread copies its own few bytes (sm_80).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::shared;

/// Starts a copy of 4, 8 or 16 bytes from global to shared memory, through L1 and L2 (`cp.async.ca.shared.global`,
/// sm_80).
///
/// # Safety
/// `destination` is in shared memory and `source` in global memory, both aligned to the value's size; until the copy is
/// waited for, nothing reads or writes the destination and nothing writes the source.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared<T: Copy>(destination: *mut T, source: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
    let destination = shared::address(destination);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.ca.shared.global [{}], [{}], {};",
            in(reg32) destination, in(reg64) source, const size_of::<T>(), options(nostack, preserves_flags)
        );
    }
}

/// Starts to copy a value of 16 bytes from global into shared memory, through L2 alone (`cp.async.cg.shared.global`,
/// sm_80).
///
/// # Safety
/// As for [`copy_to_shared`].
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared_past_l1<T: Copy>(destination: *mut T, source: *const T) {
    const { assert!(size_of::<T>() == 16, "cp.async.cg copies 16 bytes") };
    let destination = shared::address(destination);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.cg.shared.global [{}], [{}], 16;",
            in(reg32) destination, in(reg64) source, options(nostack, preserves_flags)
        );
    }
}

/// Starts [`copy_to_shared`] if the condition holds; else fills the destination with zeros and leaves the source
/// unread. (`cp.async.ca.shared.global` with a source size, sm_80.) For edges of a matrix.
///
/// # Safety
/// As for [`copy_to_shared`]; the source need not be readable if the condition does not hold.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared_or_zero<T: Copy>(destination: *mut T, source: *const T, condition: bool) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
    let destination = shared::address(destination);
    let bytes = if condition { size_of::<T>() as u32 } else { 0 };
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.ca.shared.global [{}], [{}], {}, {};",
            in(reg32) destination, in(reg64) source, const size_of::<T>(), in(reg32) bytes,
            options(nostack, preserves_flags)
        );
    }
}

/// Starts [`copy_to_shared_past_l1`] if the condition holds; else fills the destination with zeros and leaves the source unread
/// (`cp.async.cg.shared.global` with a source size, sm_80). For edges of a matrix whose tiles are read once per
/// multiprocessor, where a line in L1 is of no use.
///
/// # Safety
/// As for [`copy_to_shared`]; the source need not be readable if the condition does not hold.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared_past_l1_or_zero<T: Copy>(
    destination: *mut T,
    source: *const T,
    condition: bool,
) {
    const { assert!(size_of::<T>() == 16, "cp.async.cg copies 16 bytes") };
    let destination = shared::address(destination);
    let bytes = if condition { 16_u32 } else { 0 };
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.cg.shared.global [{}], [{}], 16, {};",
            in(reg32) destination, in(reg64) source, in(reg32) bytes, options(nostack, preserves_flags)
        );
    }
}

/// Makes a group of this thread's copies since the last group (`cp.async.commit_group`, sm_80).
#[gpu_only]
#[inline(always)]
pub fn commit_group() {
    // SAFETY: touches no memory.
    unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
}

/// Waits until at most the newest `PENDING` of this thread's groups are still on the way (`cp.async.wait_group`, sm_80).
///
/// The copies are then visible to this thread; a barrier makes them visible to others.
#[gpu_only]
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    // SAFETY: waits, and the copies' own contract covers what they write.
    unsafe { asm!("cp.async.wait_group {};", const PENDING, options(nostack, preserves_flags)) }
}

/// Waits for all of this thread's copies, in groups or not (`cp.async.wait_all`, sm_80).
#[gpu_only]
#[inline(always)]
pub fn wait_all() {
    // SAFETY: waits, and the copies' own contract covers what they write.
    unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
}
