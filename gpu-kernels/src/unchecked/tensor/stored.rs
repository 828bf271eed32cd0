//! # The copy engine stores
//!
//! In [`persistent`](super::persistent) each thread writes its results to C, half a sector at a time and with an address and
//! two comparisons for each word. Here a warpgroup puts its results into shared memory first, 64 rows of 64 columns, by
//! `stmatrix`, in the swizzle that the copy engine reads; one thread has the engine write that box to C, clipped at C's
//! edges. The engine writes whole rows of 128 bytes, and it writes while the warpgroup goes on: with the next box, and
//! with the next tile.
//!
//! What still waits: while results go to shared memory nobody multiplies.

use super::pipeline::{self, BOX, Stages};
use super::results::Results;
use super::tiles::Tiles;
use cuda_std::async_copy::bulk_wait_group_read;
use cuda_std::tensor::{Bf16, SwizzledTile, TensorMap, aligned_dynamic_shared, increase_registers};
use cuda_std::{GridConstant, kernel, thread, unroll};

pub use super::pipeline::{COLUMNS, ROWS, THREADS};

/// Dynamic shared memory of a launch: the stages, two buffers for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 4 * BOX + 1024;

/// `C = A * B^T`, tiles of 128 x 256 by a block for each multiprocessor, which the copy engine stores.
///
/// # Safety
/// The maps are of A (`m` rows of `k`), B (`n` rows of `k`) and C (`m` rows of `n`) in bf16, with boxes of 128, 128 and 64 rows
/// of 64, swizzled by 128 bytes. Blocks have 384 threads in x and [`SHARED`] bytes of dynamic shared memory; nothing else
/// writes A and B or accesses C during the launch. No size and no `group` is 0; sizes are below 2^31.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 16x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 4x cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
pub unsafe fn matmul_stored(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let shared = aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let steps = k.div_ceil(64);
    // SAFETY: the launch has the shared memory. One thread fills, and an elected thread of each of two warpgroups releases;
    // each warpgroup has a barrier and two buffers of its own. No size is 0.
    unsafe {
        let ring = pipeline::ring(shared, 1, [a, b, c]);
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group);
        if warpgroup == 0 {
            pipeline::load_tiles::<Bf16, SwizzledTile<COLUMNS>, ()>(ring, (a, b), tiles, 1, steps);
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(lane == 0);
            let mut results = Results::new(c.map(), shared + Stages::BYTES, half, lane);
            for tile in tiles.of_block() {
                let (row, column) = tiles.place(tile);
                let packed = pipeline::multiply::<Bf16, SwizzledTile<COLUMNS>>(&mut ring, half, steps).pack();
                results.at = Some((column * COLUMNS, row * ROWS + half * 64, ()));
                unroll!(part in [0 1 2 3] { results.store::<part>(&packed); });
            }
            bulk_wait_group_read::<0>();
        }
    }
}
