//! How a warp stores its results without the copy engine: by `stmatrix` into shared memory, and from there 16 bytes a lane.
//!
//! The copy engine would first have to be told of them (a fence, a barrier of the warpgroup) and to fetch its map. Where a
//! block has no other work meanwhile, it is no faster, and a warp that stores by itself waits for no other.

use super::pipeline::BOX;
use cuda_std::tensor::SwizzledTile;
use cuda_std::vector::U32x4;
use cuda_std::warp::{lane_id, sync_warp, warp_shuffle_idx};
use cuda_std::{thread, unroll};

/// A matrix of bf16 in rows that begin at multiples of 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// `m` rows of `n`, eight in each element.
    pub(super) c: *mut U32x4,
    pub(super) m: u32,
    /// A multiple of 8.
    pub(super) n: u32,
}

impl Rows {
    /// Copies the calling warp's 16 rows of a tile of `COLUMNS` columns, 64 or fewer, to C, what C has of them. Eight lanes write
    /// 128 bytes of a row. `(x, y)` are the column and the row of the tile's first element.
    ///
    /// # Safety
    /// All lanes of the warp call this together; the rows from `16 * warp` on of the tile at `tile` are the warp's, which has
    /// written them, `warp` being its number in its warpgroup. C is there, and nothing else accesses this part of it.
    #[inline(always)]
    pub(super) unsafe fn copy<const COLUMNS: u32>(self, tile: u32, warp: u32, (x, y): (u32, u32)) {
        let Self { c, m, n } = self;
        let (lane, tile) = (lane_id(), SwizzledTile::<64>::at(tile));
        let (unit, first) = (lane % 8, warp * 16 + lane / 8);
        // SAFETY: promised by the caller: the barrier orders the warp's writes before its reads, and its reads before its next writes.
        // A place is written only if C has it.
        unsafe {
            sync_warp(u32::MAX);
            unroll!(four in [0 1 2 3] {
                let row = first + 4 * four as u32;
                let results = U32x4::from_array(tile.read_unit(row, unit));
                // One condition, and so one branch.
                if (y + row < m) & (x + unit * 8 < n) & (COLUMNS == 64 || unit * 8 < COLUMNS) {
                    c.add(((y + row) as usize * n as usize + (x + unit * 8) as usize) / 8).write(results);
                }
            });
            sync_warp(u32::MAX);
        }
    }
}

/// The number of the calling thread's warp in its block.
///
/// All lanes have it from the first, which tells ptxas that it is one number. After a branch by this number, and by
/// no thread's own, ptxas knows that warps are whole, and keeps the addresses that follow from it in uniform registers, where
/// `wgmma` and the copy engine take them. Otherwise each instruction waits for its own copies of them.
///
/// # Safety
/// All lanes of the warp call this together.
#[inline(always)]
pub(super) unsafe fn warp() -> u32 {
    // SAFETY: promised by the caller.
    unsafe { warp_shuffle_idx(u32::MAX, thread::thread_idx_x() / 32, 0, 32).0 }
}

/// Where the tile of warpgroup `half`, of 64 rows, lies among buffers from an address on, `tiles` for each warpgroup.
#[inline(always)]
pub(super) const fn buffer(buffers: u32, half: u32, tiles: u32) -> u32 {
    buffers + half * tiles * BOX
}
