//! The order in which blocks take tiles of C.

use core::iter::StepBy;
use core::ops::Range;
use cuda_std::thread;

/// The tiles of a matrix, `group` rows of tiles at a time, column by column: from left to right, then from right to left, so that
/// a band begins with the columns of B that the band before read last.
#[derive(Clone, Copy)]
pub struct Tiles {
    /// Rows of tiles.
    rows: u32,
    /// Columns of tiles.
    columns: u32,
    /// Rows of a band, at least 1.
    group: u32,
}

impl Tiles {
    /// So many rows and columns of tiles.
    ///
    /// # Safety
    /// None of the three is 0, and `rows + group` and `rows * columns` are less than 2^32.
    #[inline(always)]
    pub unsafe fn new(rows: u32, columns: u32, group: u32) -> Self {
        Self { rows, columns, group }
    }

    /// The number of tiles.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.rows * self.columns
    }

    /// The tiles of the calling block in a launch that strides through them.
    #[inline(always)]
    pub fn of_block(self) -> StepBy<Range<u32>> {
        (thread::block_idx_x()..self.count()).step_by(thread::grid_dim_x() as usize)
    }

    /// [`of_block`](Self::of_block) for so many matrices, their tiles numbered through.
    #[inline(always)]
    pub fn of_block_in(self, matrices: u32) -> StepBy<Range<u32>> {
        let all = self.count() * matrices;
        (thread::block_idx_x()..all).step_by(thread::grid_dim_x() as usize)
    }

    /// The matrix of a tile that is numbered through all, and its number there.
    #[inline(always)]
    pub fn split(self, tile: u32) -> (u32, u32) {
        let tiles = self.count();
        // SAFETY: neither factor is 0.
        let matrix = unsafe { divide(tile, tiles) };
        (matrix, tile - matrix * tiles)
    }

    /// The tiles of the calling block's cluster of that many blocks.
    #[inline(always)]
    pub fn of_cluster(self, blocks: u32) -> StepBy<Range<u32>> {
        let (cluster, clusters) = (thread::block_idx_x() / blocks, thread::grid_dim_x() / blocks);
        (cluster..self.count()).step_by(clusters as usize)
    }

    /// The row and the column of the tile that comes as this number.
    #[inline(always)]
    pub fn place(self, number: u32) -> (u32, u32) {
        let in_band = self.group * self.columns;
        // SAFETY: promised to `new`.
        let band = unsafe { divide(number, in_band) };
        let first = band * self.group;
        let within = number - band * in_band;
        let height = if self.rows - first < self.group { self.rows - first } else { self.group };
        // SAFETY: a band that has a tile has a row.
        let column = unsafe { divide(within, height) };
        let row = first + within - column * height;
        (row, if band % 2 == 1 { self.columns - 1 - column } else { column })
    }
}

/// A quotient without a check for zero.
///
/// # Safety
/// The divisor is not 0.
#[inline(always)]
unsafe fn divide(dividend: u32, divisor: u32) -> u32 {
    // SAFETY: promised by the caller.
    unsafe { core::hint::assert_unchecked(divisor != 0) };
    dividend / divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_comes_once_band_by_band() {
        // SAFETY: none is 0.
        let tiles = unsafe { Tiles::new(5, 3, 2) };
        let order: [(u32, u32); 15] = core::array::from_fn(|number| tiles.place(number as u32));
        assert_eq!(order[..6], [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
        assert_eq!(order[6..9], [(2, 2), (3, 2), (2, 1)]);
        assert_eq!(order[12..], [(4, 0), (4, 1), (4, 2)]);
        let mut sorted = order;
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
