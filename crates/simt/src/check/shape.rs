//! The shape of a launch, by which threads and blocks get their coordinates.

use serde::Serialize;

use super::finding::Thread;

/// A launch's grid and block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
}

impl Shape {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The thread that is this lane of a block's warp. Blocks and threads are counted with x running fastest, then y.
    pub fn thread(&self, block: u64, warp: u32, lane: u32) -> Thread {
        Thread {
            thread: coordinates(u64::from(warp) * 32 + u64::from(lane), self.block),
            block: coordinates(block, self.grid),
        }
    }
}

fn coordinates(index: u64, shape: [u32; 3]) -> [u32; 3] {
    let [x, y] = [u64::from(shape[0].max(1)), u64::from(shape[1].max(1))];
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}
