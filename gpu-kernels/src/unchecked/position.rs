//! Where a thread stands in the whole grid.

use cuda_std::thread;

/// This thread's place among all threads of a one-dimensional grid, counted in 64 bits, so that neither grids of more
/// than 2^32 threads nor the addresses computed from them wrap.
#[inline(always)]
pub(super) fn grid_index() -> usize {
    thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize
}

/// This thread's place in a two-dimensional grid: along x, where neighbours in a warp are, and along y. Grids reach less
/// than 2^32 threads in each direction.
///
/// On y the factors stand in the order in which nvcc reads them, and ptxas keeps to it: a copy of one element a thread is
/// 1% faster for it.
#[inline(always)]
pub(super) fn grid_position() -> (u32, u32) {
    (
        thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x(),
        thread::block_dim_y() * thread::block_idx_y() + thread::thread_idx_y(),
    )
}

/// This thread's number in its block when x runs fastest. Warps are cut from this order, so `% 32` is the lane.
#[inline(always)]
pub(super) fn block_index() -> u32 {
    thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x()
}

/// Where the element of a row and column lies in a matrix whose rows have `width` elements. The product is taken in 64
/// bits, which is one multiplication on the GPU too.
#[inline(always)]
pub(super) fn element(row: u32, width: u32, column: u32) -> usize {
    row as usize * width as usize + column as usize
}
