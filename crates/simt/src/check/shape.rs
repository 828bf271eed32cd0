//! The shape of a launch, which determines the coordinates of threads and blocks.

use serde::Serialize;

use super::finding::Thread;

/// Grid and block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
}

impl Shape {
    /// Returns the number of threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the thread at a lane of a block's warp. Blocks and threads are numbered with x fastest, then y.
    pub(crate) fn thread(&self, block: u64, warp: u32, lane: u32) -> Thread {
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
