//! # Blocks that stay
//!
//! One block for each multiprocessor, which goes from tile to tile: [`ring`](super::ring) with a loop around it. The loader does not
//! stop at a tile's end. While the two warpgroups write their results it fills the ring with the next tile, which can then
//! begin at once; and the ring, its barriers and the register budgets are made once.
//!
//! What still waits: nobody multiplies while results are written, and each quad of lanes writes half a sector at a time.

use super::pipeline;
use super::tiles::Tiles;
use cuda_std::tensor::{Bf16, SwizzledTile, TensorMap, aligned_dynamic_shared, increase_registers};
use cuda_std::{GridConstant, kernel, thread};

pub use super::pipeline::{COLUMNS, ROWS, SHARED, THREADS};

/// `C = A * B^T`, tiles of 128 x 256 by a block for each multiprocessor.
///
/// # Safety
/// As for [`matmul_ring`](super::ring), with any number of blocks.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 64x st.global.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
pub unsafe fn matmul_persistent(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut u32,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let steps = k.div_ceil(64);
    // SAFETY: the launch has the shared memory. One thread fills, and an elected thread of each of two warpgroups releases. No
    // size is 0.
    unsafe {
        let ring = pipeline::ring(aligned_dynamic_shared(), 1, [a, b]);
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group);
        if warpgroup == 0 {
            pipeline::load_tiles::<Bf16, SwizzledTile<COLUMNS>, ()>(ring, (a, b), tiles, 1, steps);
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(lane == 0);
            for tile in tiles.of_block() {
                let (row, column) = tiles.place(tile);
                let corner = (row * ROWS + half * 64, column * COLUMNS);
                let sums = pipeline::multiply::<Bf16, SwizzledTile<COLUMNS>>(&mut ring, half, steps);
                pipeline::write_256(c, (m, n), corner, lane, &sums.pack());
            }
        }
    }
}
