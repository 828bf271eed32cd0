//! Copies between global and shared memory that run beside the threads.
//!
//! A plain copy into shared memory goes through registers, and a thread that has asked for a value holds a register until it
//! comes. An asynchronous copy does neither, so that far more bytes can be on the way at a time.
//!
//! - [`copy_to_shared`] and its kin (**sm_80**, `cp.async`): each thread copies its own 4, 8 or 16 bytes. A thread joins its
//!   copies into *groups* with [`commit_group`] and waits for them with [`wait_group`]; then
//!   [`sync_threads`](crate::thread::sync_threads) makes them visible to the block.
//! - [`bulk_to_shared`], [`bulk_to_global`] (**sm_90**, `cp.async.bulk`): one thread copies a whole run of bytes. Its arrival
//!   in shared memory is announced by a [`Barrier`] that counts bytes; the way back is waited for by groups.
//!
//! The functions do not depend on what they are compiled for, but the instructions do: a kernel that uses one is accepted
//! only for the architecture named there and later ones.
//!
//! # A tile by bulk copy
//! ```no_run
//! use cuda_std::async_copy::{Barrier, bulk_to_shared, fence_barrier_init};
//! use cuda_std::vector::F32x4;
//! use cuda_std::{kernel, shared_array, thread};
//!
//! /// `source` has 512 vectors for each block, `sums` one for each thread.
//! #[kernel(launch_bounds(256))]
//! unsafe fn sum_of_two(source: *const F32x4, sums: *mut f32) {
//!     let barrier = shared_array![Barrier; 1];
//!     let tile = shared_array![F32x4; 512];
//!     let thread = thread::thread_idx_x() as usize;
//!     unsafe {
//!         if thread == 0 {
//!             Barrier::init(barrier, 1);
//!             fence_barrier_init();
//!         }
//!         thread::sync_threads();
//!         if thread == 0 {
//!             Barrier::arrive_expect_bytes(barrier, 8192);
//!             bulk_to_shared(tile, source.add(512 * thread::block_idx_x() as usize), 8192, barrier);
//!         }
//!         Barrier::wait_parity(barrier, 0);
//!         let (near, far) = (*tile.add(thread), *tile.add(thread + 256));
//!         *sums.add(thread::index_1d() as usize) = near.x + far.x;
//!     }
//! }
//! # fn main() {}
//! ```

mod barrier;
mod bulk;
mod element;

pub use barrier::{Barrier, fence_async_proxy, fence_barrier_init};
#[cfg(target_arch = "nvptx64")]
pub(crate) use barrier::{arrive_expect_bytes, init as init_barrier, is_phase_over};
pub use bulk::{
    bulk_commit_group, bulk_prefetch_l2, bulk_to_global, bulk_to_global_with_policy, bulk_to_shared,
    bulk_to_shared_with_policy, bulk_wait_group, bulk_wait_group_read,
};
pub use element::{
    commit_group, copy_to_shared, copy_to_shared_or_zero, copy_to_shared_past_l1,
    copy_to_shared_past_l1_or_zero, wait_all, wait_group,
};
