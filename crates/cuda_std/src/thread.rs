//! Thread and block indices, and the barriers and fences between threads.
//!
//! Threads with neighbouring `x` indices are neighbours in a warp, so `x` is the index that should run along memory.
//!
//! Each index is one special register, which LLVM knows never to change within a thread: it is read once, however often
//! it is asked for. The ranges that CUDA guarantees are told to the optimiser.

#[cfg(target_arch = "nvptx64")]
use core::hint::assert_unchecked;

use crate::glam::{UVec2, UVec3};

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// One special register as a function, with the range that the hardware guarantees.
macro_rules! index {
    ($(#[$documentation:meta] $name:ident, $register:ident, $range:expr;)*) => {$(
        #[$documentation]
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            let index = intrinsic::$register();
            // SAFETY: a launch outside of this range fails before any thread runs.
            unsafe { assert_unchecked($range.contains(&index)) };
            index
        }
    )*};
}

index! {
    /// The thread's index in its block along x, `%tid.x`: less than 1024.
    thread_idx_x, tid_x, (0..1024);
    /// The thread's index in its block along y, `%tid.y`: less than 1024.
    thread_idx_y, tid_y, (0..1024);
    /// The thread's index in its block along z, `%tid.z`: less than 64.
    thread_idx_z, tid_z, (0..64);
    /// The threads of a block along x, `%ntid.x`: 1 to 1024.
    block_dim_x, ntid_x, (1..=1024);
    /// The threads of a block along y, `%ntid.y`: 1 to 1024.
    block_dim_y, ntid_y, (1..=1024);
    /// The threads of a block along z, `%ntid.z`: 1 to 64.
    block_dim_z, ntid_z, (1..=64);
    /// The block's index in the grid along x, `%ctaid.x`: less than 2^31 - 1.
    block_idx_x, ctaid_x, (0..0x7fff_ffff);
    /// The block's index in the grid along y, `%ctaid.y`: less than 65535.
    block_idx_y, ctaid_y, (0..0xffff);
    /// The block's index in the grid along z, `%ctaid.z`: less than 65535.
    block_idx_z, ctaid_z, (0..0xffff);
    /// The blocks of the grid along x, `%nctaid.x`: 1 to 2^31 - 1.
    grid_dim_x, nctaid_x, (1..=0x7fff_ffff);
    /// The blocks of the grid along y, `%nctaid.y`: 1 to 65535.
    grid_dim_y, nctaid_y, (1..=0xffff);
    /// The blocks of the grid along z, `%nctaid.z`: 1 to 65535.
    grid_dim_z, nctaid_z, (1..=0xffff);
}

/// The thread's index in its block.
#[inline(always)]
#[must_use]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// The block's index in the grid.
#[inline(always)]
#[must_use]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// The threads of a block in each direction.
#[inline(always)]
#[must_use]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// The blocks of the grid in each direction.
#[inline(always)]
#[must_use]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// The thread's index in the whole launch, counted block by block. Among the blocks of the grid and the threads of a
/// block, x runs fastest, then y, then z. It wraps at 2^32.
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    let block = linear(block_idx(), grid_dim());
    let size = block_dim();
    let threads = size.x.wrapping_mul(size.y).wrapping_mul(size.z);
    block.wrapping_mul(threads).wrapping_add(linear(thread_idx(), size))
}

/// The thread's index along x in the whole launch. It wraps at 2^32.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// The thread's index along x and y in the whole launch.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), block_idx_y().wrapping_mul(block_dim_y()).wrapping_add(thread_idx_y()))
}

/// The thread's index along x, y and z in the whole launch.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    index_2d().extend(block_idx_z().wrapping_mul(block_dim_z()).wrapping_add(thread_idx_z()))
}

/// Whether this is the first thread of the launch: block (0, 0, 0), thread (0, 0, 0).
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == UVec3::ZERO && thread_idx() == UVec3::ZERO
}

/// The threads of a warp, 32 on every CUDA device so far.
#[inline(always)]
#[must_use]
pub const fn warp_size() -> u32 {
    32
}

/// A point's number when x runs fastest, then y, then z. It wraps at 2^32.
fn linear(point: UVec3, size: UVec3) -> u32 {
    point.z.wrapping_mul(size.y).wrapping_add(point.y).wrapping_mul(size.x).wrapping_add(point.x)
}

/// Waits until all threads of the block arrive (`bar.sync 0`). Writes before it are visible to all of them after it.
///
/// Every thread of the block that has not returned must reach the same call: in a branch that some threads do not take
/// the block hangs or its memory is wrong.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    intrinsic::barrier_sync(0);
}

/// [`sync_threads`], and the number of threads whose predicate is not 0 (`bar.red.popc.u32`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn sync_threads_count(predicate: u32) -> u32 {
    intrinsic::barrier_count(0, predicate != 0)
}

/// [`sync_threads`], and 1 if no thread's predicate is 0, else 0 (`bar.red.and.pred`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn sync_threads_and(predicate: u32) -> u32 {
    u32::from(intrinsic::barrier_and(0, predicate != 0))
}

/// [`sync_threads`], and 1 if any thread's predicate is not 0, else 0 (`bar.red.or.pred`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(intrinsic::barrier_or(0, predicate != 0))
}

/// Orders this thread's accesses before the fence against those after it, as seen **by its block** (`membar.cta`). The
/// name is Rust-CUDA's.
#[gpu_only]
#[inline(always)]
pub fn grid_fence() {
    intrinsic::membar_cta();
}

/// Orders this thread's memory accesses as all threads of the device see them (`membar.gl`).
#[gpu_only]
#[inline(always)]
pub fn device_fence() {
    intrinsic::membar_gl();
}

/// Orders this thread's memory accesses as all threads, the host and other devices see them (`membar.sys`).
#[gpu_only]
#[inline(always)]
pub fn system_fence() {
    intrinsic::membar_sys();
}

/// Sleeps for about this many nanoseconds, at most twice as long and never over a millisecond (`nanosleep.u32`, sm_70).
#[gpu_only]
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    intrinsic::nanosleep(nanos);
}

#[cfg(test)]
mod tests {
    use super::{linear, thread_idx_x};
    use crate::glam::UVec3;

    #[test]
    fn x_runs_fastest() {
        let size = UVec3::new(4, 3, 2);
        assert_eq!(linear(UVec3::new(0, 0, 0), size), 0);
        assert_eq!(linear(UVec3::new(1, 0, 0), size), 1);
        assert_eq!(linear(UVec3::new(0, 1, 0), size), 4);
        assert_eq!(linear(UVec3::new(0, 0, 1), size), 12);
        assert_eq!(linear(UVec3::new(3, 2, 1), size), 23);
    }

    #[test]
    #[should_panic(expected = "cuda_std::thread::thread_idx_x is only on the GPU")]
    fn the_host_has_no_thread_index() {
        let _ = thread_idx_x();
    }
}
