//! How a warpgroup stores its results: by `stmatrix` into shared memory, and from there by the copy engine.

use super::pipeline::{BOX, Nth};
use cuda_std::async_copy::{bulk_wait_group_read, fence_async_proxy};
use cuda_std::tensor::{Map, Packed256, SwizzledTile, sync_warpgroup};

/// A warpgroup's two buffers of 64 rows of 64 columns, and where its results go. Two buffers, so that one is written while
/// the other is read.
pub(super) struct Results<'a, N> {
    c: Map<'a>,
    buffers: u32,
    half: u32,
    lane: u32,
    /// Column and row of the first result, and its matrix; none before the first tile.
    pub(super) at: Option<(u32, u32, N)>,
}

impl<'a, N: Nth + Default> Results<'a, N> {
    /// Buffers of warpgroup `half`, from an address on that is the same for both.
    #[inline(always)]
    pub(super) fn new(c: Map<'a>, buffers: u32, half: u32, lane: u32) -> Self {
        Self { c, buffers: buffers + half * 2 * BOX, half, lane, at: None }
    }

    /// Stores 64 columns, if there are results.
    ///
    /// # Safety
    /// As for [`store_box`](Self::store_box), for the parts 0 to 3 in turn.
    #[inline(always)]
    pub(super) unsafe fn store<const PART: usize>(&self, packed: &Packed256) {
        // SAFETY: promised by the caller; the tile is written by the whole warpgroup.
        unsafe { self.store_box(PART, (PART as u32 * 64, 0), |tile, lane| packed.store::<PART>(tile, lane)) };
    }

    /// Stores 64 rows of 64 columns, this far right of and below the first result, if there are results: `write` writes
    /// them into the tile that it is called with.
    ///
    /// # Safety
    /// All threads of the warpgroup call this together, with an even and an odd `nth` in turn; the buffers and barrier
    /// `half + 1` are theirs alone, and the map is of C, with boxes of 64 x 64 bf16.
    #[inline(always)]
    pub(super) unsafe fn store_box(
        &self,
        nth: usize,
        (right, below): (u32, u32),
        write: impl FnOnce(SwizzledTile<64>, u32),
    ) {
        let buffer = SwizzledTile::<64>::at(self.buffers + nth as u32 % 2 * BOX);
        let (x, y, matrix) = self.at.unwrap_or_default();
        // SAFETY: the elected thread waits until this buffer's last store has read it before the others write to it, and
        // until they all have written before it starts the next.
        unsafe {
            bulk_wait_group_read::<1>();
            sync_warpgroup(self.half + 1);
            write(buffer, self.lane);
            fence_async_proxy();
            sync_warpgroup(self.half + 1);
            self.c.store(buffer, matrix.at(x + right, y + below), self.lane == 0 && self.at.is_some());
        }
    }
}
