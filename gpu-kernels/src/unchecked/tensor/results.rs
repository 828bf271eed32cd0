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
    /// All threads of the warpgroup call this together, for the parts 0 to 3 in turn; the buffers and barrier `half + 1` are
    /// theirs alone, and the map is of C, with boxes of 64 x 64 bf16.
    #[inline(always)]
    pub(super) unsafe fn store<const PART: usize>(&self, packed: &Packed256) {
        let buffer = SwizzledTile::<64>::at(self.buffers + PART as u32 % 2 * BOX);
        let (x, y, nth) = self.at.unwrap_or_default();
        // SAFETY: the elected thread waits until this buffer's last store has read it before the others write to it, and
        // until they all have written before it starts the next.
        unsafe {
            bulk_wait_group_read::<1>();
            sync_warpgroup(self.half + 1);
            packed.store::<PART>(buffer, self.lane);
            fence_async_proxy();
            sync_warpgroup(self.half + 1);
            self.c.store(buffer, nth.at(x + PART as u32 * 64, y), self.lane == 0 && self.at.is_some());
        }
    }
}
