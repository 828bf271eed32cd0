//! `cp.async.bulk`: one thread copies a run of bytes (sm_90).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use super::barrier::Barrier;
use crate::access::CachePolicy;
use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::shared;

/// Starts to copy bytes from global into the block's shared memory; their arrival counts for the barrier
/// (`cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`, sm_90).
///
/// The barrier must expect them: [`Barrier::arrive_expect_bytes`].
///
/// # Safety
/// - `destination` and `barrier` are in this block's shared memory, the barrier is initialised, and `source` is in
///   global memory;
/// - both pointers are aligned to 16 and `bytes` is a multiple of 16;
/// - until the barrier's phase is over, nothing accesses the destination and nothing writes the source.
#[gpu_only]
#[inline(always)]
pub unsafe fn bulk_to_shared<T>(destination: *mut T, source: *const T, bytes: u32, barrier: *const Barrier) {
    let (destination, barrier) = (shared::address(destination), shared::address(barrier));
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
            in(reg32) destination, in(reg64) source, in(reg32) bytes, in(reg32) barrier,
            options(nostack, preserves_flags)
        );
    }
}

/// [`bulk_to_shared`] with the bytes kept in L2 as the policy says (`.L2::cache_hint`, sm_90).
///
/// # Safety
/// As for [`bulk_to_shared`].
#[gpu_only]
#[inline(always)]
pub unsafe fn bulk_to_shared_with_policy<T>(
    destination: *mut T,
    source: *const T,
    bytes: u32,
    barrier: *const Barrier,
    policy: CachePolicy,
) {
    let (destination, barrier) = (shared::address(destination), shared::address(barrier));
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [{}], [{}], {}, [{}], {};",
            in(reg32) destination, in(reg64) source, in(reg32) bytes, in(reg32) barrier, in(reg64) policy.bits(),
            options(nostack, preserves_flags)
        );
    }
}

/// Starts to copy bytes from shared into global memory (`cp.async.bulk.global.shared::cta.bulk_group`, sm_90).
///
/// What threads wrote to the source must be ordered before: each of them calls [`fence_async_proxy`](super::fence_async_proxy),
/// then all meet at [`sync_threads`](crate::thread::sync_threads), then one starts the copy.
///
/// # Safety
/// - `destination` is in global memory and `source` in this block's shared memory;
/// - both pointers are aligned to 16 and `bytes` is a multiple of 16;
/// - nothing writes the source until [`bulk_wait_group_read`], and nothing accesses the destination until
///   [`bulk_wait_group`]; the source lives until then, so the thread waits before the block ends.
#[gpu_only]
#[inline(always)]
pub unsafe fn bulk_to_global<T>(destination: *mut T, source: *const T, bytes: u32) {
    let source = shared::address(source);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group [{}], [{}], {};",
            in(reg64) destination, in(reg32) source, in(reg32) bytes, options(nostack, preserves_flags)
        );
    }
}

/// [`bulk_to_global`] with the bytes kept in L2 as the policy says (`.L2::cache_hint`, sm_90).
///
/// # Safety
/// As for [`bulk_to_global`].
#[gpu_only]
#[inline(always)]
pub unsafe fn bulk_to_global_with_policy<T>(
    destination: *mut T,
    source: *const T,
    bytes: u32,
    policy: CachePolicy,
) {
    let source = shared::address(source);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [{}], [{}], {}, {};",
            in(reg64) destination, in(reg32) source, in(reg32) bytes, in(reg64) policy.bits(),
            options(nostack, preserves_flags)
        );
    }
}

/// Brings bytes of global memory into L2 (`cp.async.bulk.prefetch.L2.global`, sm_90).
///
/// # Safety
/// `source` is in global memory and aligned to 16, and `bytes` is a multiple of 16 that stays inside the allocation.
#[gpu_only]
#[inline(always)]
pub unsafe fn bulk_prefetch_l2<T>(source: *const T, bytes: u32) {
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "cp.async.bulk.prefetch.L2.global [{}], {};",
            in(reg64) source, in(reg32) bytes, options(readonly, nostack, preserves_flags)
        );
    }
}

/// Makes a group of this thread's bulk copies to global memory since the last group (`cp.async.bulk.commit_group`, sm_90).
#[gpu_only]
#[inline(always)]
pub fn bulk_commit_group() {
    // SAFETY: touches no memory.
    unsafe { asm!("cp.async.bulk.commit_group;", options(nostack, preserves_flags)) }
}

/// Waits until at most the newest `PENDING` of this thread's groups are not yet written (`cp.async.bulk.wait_group`,
/// sm_90).
#[gpu_only]
#[inline(always)]
pub fn bulk_wait_group<const PENDING: u32>() {
    // SAFETY: waits, and the copies' own contract covers what they write.
    unsafe { asm!("cp.async.bulk.wait_group {};", const PENDING, options(nostack, preserves_flags)) }
}

/// Waits until at most the newest `PENDING` of this thread's groups still read their source. The shared memory of the
/// others may then be written again (`cp.async.bulk.wait_group.read`, sm_90).
#[gpu_only]
#[inline(always)]
pub fn bulk_wait_group_read<const PENDING: u32>() {
    // SAFETY: waits, and the copies' own contract covers what they read.
    unsafe { asm!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags)) }
}
