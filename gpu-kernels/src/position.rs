//! Where a thread stands in the whole grid.

use cuda_std::thread;

/// This thread's place among all threads of a one-dimensional grid of fewer than 2^32 threads.
///
/// The arithmetic is 32 bits wide on purpose: it is one instruction, where 64 bits are a chain of them before the
/// first load can leave, and threads that live for one load feel that.
#[inline(always)]
pub(crate) fn grid_index() -> usize {
    thread::index_1d() as usize
}

/// The indices below `length` that this thread has in a grid-stride loop: its own place first, then one every so many
/// as the grid has threads. A range with `step_by` would be the same indices after a 64-bit division, which it needs
/// to know how many there will be.
#[inline(always)]
pub(crate) fn grid_stride(length: usize) -> impl Iterator<Item = usize> {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    core::iter::successors(Some(grid_index()), move |index| Some(index + threads))
        .take_while(move |&index| index < length)
}
