//! Clusters: blocks that run at the same time and reach each other's shared memory (sm_90).
//!
//! A kernel names its clusters itself, `#[kernel(arch = "90", cluster(2))]`, or the host asks for them with the launch
//! (`cuda_launch::LaunchOptions::in_clusters`). Without, each block is a cluster of its own.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;
use crate::vector::U32x4;

macro_rules! special_register {
    ($(#[$attribute:meta])* $name:ident, $register:literal) => {
        $(#[$attribute])*
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            let value: u32;
            // SAFETY: reads a register that does not change.
            unsafe {
                asm!(
                    concat!("mov.u32 {}, ", $register, ";"),
                    out(reg32) value, options(pure, nomem, nostack, preserves_flags)
                );
            }
            value
        }
    };
}

special_register! {
    /// The block's number within its cluster (`%cluster_ctarank`, sm_90).
    cluster_rank, "%cluster_ctarank"
}
special_register! {
    /// Blocks of the cluster (`%cluster_nctarank`, sm_90).
    cluster_size, "%cluster_nctarank"
}

/// Waits until all threads of all blocks of the cluster are here; what each wrote before, all see after
/// (`barrier.cluster.arrive.release.aligned` and `barrier.cluster.wait.acquire.aligned`, sm_90).
///
/// A block whose shared memory others use meets them here before it ends.
///
/// # Safety
/// All threads of the cluster that have not returned reach the same call, those of a warp together.
#[gpu_only]
#[inline(always)]
pub unsafe fn cluster_sync() {
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "barrier.cluster.arrive.release.aligned;",
            "barrier.cluster.wait.acquire.aligned;",
            options(nostack, preserves_flags)
        );
    }
}

/// Waits until all threads of all blocks of the cluster are here, and orders nothing but the barriers that were initialised before
/// (`barrier.cluster.arrive.relaxed.aligned` and `barrier.cluster.wait.acquire.aligned`, sm_90).
///
/// This is for the start of a kernel, behind [`fence_barrier_init`](crate::async_copy::fence_barrier_init), which
/// [`Ring::init`](super::Ring::init) contains. [`cluster_sync`] there costs a fence of the whole GPU's memory: 0.14 us a
/// launch on an H200.
///
/// # Safety
/// As for [`cluster_sync`]; of what a thread wrote before, other blocks use nothing but initialised barriers after.
#[gpu_only]
#[inline(always)]
pub unsafe fn cluster_start() {
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "barrier.cluster.arrive.relaxed.aligned;",
            "barrier.cluster.wait.acquire.aligned;",
            options(nostack, preserves_flags)
        );
    }
}

/// The address, in the cluster's shared memory, of what lies at an address of the block's own in the block of that rank
/// (`mapa.shared::cluster.u32`, sm_90).
///
/// The result means nothing if the cluster has no such rank.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn map_to_rank(address: u32, rank: u32) -> u32 {
    let there: u32;
    // SAFETY: address arithmetic.
    unsafe {
        asm!(
            "mapa.shared::cluster.u32 {}, {}, {};",
            out(reg32) there, in(reg32) address, in(reg32) rank, options(pure, nomem, nostack, preserves_flags)
        );
    }
    there
}

/// Loads 16 bytes from an address in the cluster's shared memory, which [`map_to_rank`] gives, exactly here
/// (`ld.shared::cluster.v4.b32`, sm_90).
///
/// # Safety
/// The address is a multiple of 16 and within the shared memory of a block of the cluster that has not ended, and the bytes are
/// initialised and visible: the blocks met at [`cluster_sync`].
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_vector_of_cluster(address: u32) -> U32x4 {
    let (x, y, z, w): (u32, u32, u32, u32);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "ld.shared::cluster.v4.b32 {{{}, {}, {}, {}}}, [{}];",
            out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg32) address,
            options(readonly, nostack, preserves_flags)
        );
    }
    U32x4::new(x, y, z, w)
}

/// The same of a word (`ld.shared::cluster.b32`, sm_90).
///
/// # Safety
/// As for [`load_vector_of_cluster`], with an address that is a multiple of 4.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_word_of_cluster(address: u32) -> u32 {
    let word;
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "ld.shared::cluster.b32 {}, [{}];",
            out(reg32) word, in(reg32) address, options(readonly, nostack, preserves_flags)
        );
    }
    word
}
