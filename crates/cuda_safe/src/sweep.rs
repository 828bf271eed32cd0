//! The steps of a prefix sum in shared memory: a thread reads cells before its own, or has a pair of cells to itself.

use cuda_std::thread;

use crate::bits::Bits;
use crate::block::Block;
use crate::contained::Contained;
use crate::shape::{Linear, Warps};
use crate::thread::Thread;
use crate::tile::{CanRead, EachThreads, Full, Halved, Tile};

impl<T: Bits, State> Tile<T, EachThreads, State> {
    /// The thread's own cell.
    #[inline(always)]
    #[must_use]
    pub fn own<S: Linear>(&self, thread: &Thread<S>) -> T
    where
        State: CanRead,
    {
        // SAFETY: the cell is within the tile, which nobody writes in this state.
        unsafe { *self.pointer().add(thread.x() as usize) }
    }

    /// The cell `distance` before the thread's own, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn before<S: Linear>(&self, thread: &Thread<S>, distance: u32) -> Option<T>
    where
        State: CanRead,
    {
        let x = thread.x();
        // SAFETY: the cell is within the tile, which nobody writes in this state.
        (x >= distance).then(|| unsafe { *self.pointer().add((x - distance) as usize) })
    }
}

impl Block<Warps> {
    /// Performs one step of a sweep over a balanced tree (Blelloch 1990). Thread `t` replaces the cells
    /// `2 distance t + distance - 1` and `2 distance t + 2 distance - 1` by what `combine` makes of both, if the block has
    /// them.
    ///
    /// No cell belongs to two threads, so one barrier per step is enough.
    #[inline(always)]
    pub fn pairs<T, F>(
        &mut self,
        tile: Tile<T, EachThreads, Full>,
        distance: u32,
        combine: F,
    ) -> Tile<T, EachThreads, Halved>
    where
        T: Bits,
        F: Fn(T, T) -> (T, T) + Contained,
    {
        // Blocks have at most 1024 threads, so that no larger distance has a pair, and no product wraps. For a distance of 0
        // `left` wraps to a number that no block has.
        let distance = distance.min(1024);
        let left = (thread::thread_idx_x() * 2 * distance + distance).wrapping_sub(1);
        let right = left.wrapping_add(distance);
        if right < thread::block_dim_x() {
            // SAFETY: both cells are within the tile. They are this thread's alone: its pairs begin at a multiple of
            // `2 * distance` of its own.
            unsafe {
                let (left, right) = (cell(&tile, left), cell(&tile, right));
                let (first, second) = combine(*left, *right);
                left.write(first);
                right.write(second);
            }
        }
        tile.into_state()
    }
}

/// # Safety
/// The tile has the cell.
#[inline(always)]
unsafe fn cell<T: Bits>(tile: &Tile<T, EachThreads, Full>, number: u32) -> *mut T {
    // SAFETY: promised by the caller.
    unsafe { tile.pointer().add(number as usize) }
}
