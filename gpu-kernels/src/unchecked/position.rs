//! A thread's position in the whole grid, and an element's position in a matrix.

use cuda_std::thread;

/// This thread's number in a one-dimensional grid. It has 64 bits, so that neither grids of more than 2^32 threads nor the
/// addresses computed from them wrap.
#[inline(always)]
pub(super) fn grid_index() -> usize {
    thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize
}

/// This thread's position in a two-dimensional grid: along x, where the lanes of a warp are neighbours, and along y. Grids
/// have fewer than 2^32 threads in each direction.
///
/// Along y the factors have the order in which nvcc reads them, which ptxas keeps: that makes a copy with one element per
/// thread 1% faster.
#[inline(always)]
pub(super) fn grid_position() -> (u32, u32) {
    (
        thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x(),
        thread::block_dim_y() * thread::block_idx_y() + thread::thread_idx_y(),
    )
}

/// This thread's number in its block, with x running fastest. Warps follow this order, so `% 32` is the lane.
#[inline(always)]
pub(super) fn block_index() -> u32 {
    thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x()
}

/// The index of the element in a row and column of a matrix whose rows have `width` elements. The product has 64 bits,
/// which takes one multiplication on the GPU too.
#[inline(always)]
pub(super) fn element(row: u32, width: u32, column: u32) -> usize {
    row as usize * width as usize + column as usize
}
