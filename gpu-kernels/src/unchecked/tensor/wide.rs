//! # Larger tiles
//!
//! [`multicast`](super::multicast) reads 256 rows of K from L2 for each 128 x 256 of C. Here a block has 256 x 192, half as
//! many again, and reads 320: each of two warpgroups multiplies 128 x 192, whose sums are 192 registers a thread. At 16384 x
//! 16384 x 16384, where an H200 is at its limit of power throughout, that is 2 to 3% faster; it draws as much power at a higher
//! clock.
//!
//! - *Two accumulators.* An instruction multiplies 64 rows. A warpgroup has the sums of 64 rows and of the 64 below, and adds
//!   to one while the tensor cores still have work of the other.
//! - *Side by side.* The two blocks of a cluster need the same rows of A, the longer side. Each loads half of them for both.
//! - *Three stages* of 56 KiB, and no registers left for the results of a tile before: they are stored as in
//!   [`stored`](super::stored), while nobody multiplies. Over 256 steps that hardly matters; over 64 it does.
//! - *Fewer tiles*, so whole waves weigh more: 8192 x 8192 are 704 tiles of a cluster, eleven waves of 66 where ten and two
//!   thirds would do; two thirds of the last column lie outside C. There `multicast` is as fast or faster.

use super::pipeline::BOX;
use super::results::Results;
use super::tiles::Tiles;
use cuda_std::async_copy::{Barrier, bulk_wait_group_read};
use cuda_std::tensor::{
    Accumulator192, Bf16, Multiply, Ring, SwizzledTile, TensorMap, aligned_dynamic_shared, cluster_rank,
    cluster_start, cluster_sync, decrease_registers, increase_registers,
};
use cuda_std::{GridConstant, kernel, shared_array, thread, unroll};

pub use super::multicast::CLUSTER;
pub use super::pipeline::THREADS;

/// Rows of C that a block computes at a time.
pub const ROWS: u32 = 256;
/// Columns of C that a block computes at a time.
pub const COLUMNS: u32 = 192;
const STAGES: u32 = 3;
/// B begins behind the four boxes of A.
const B: u32 = 4 * BOX;
const STAGE: u32 = B + SwizzledTile::<COLUMNS>::BYTES;
type Stages = Ring<STAGES, STAGE>;
/// Dynamic shared memory of a launch: the stages, two buffers for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 4 * BOX + 1024;

/// `C = A * B^T`, tiles of 256 x 384 by a cluster of two blocks.
///
/// # Safety
/// The maps are of A (`m` rows of `k`), B (`n` rows of `k`) and C (`m` rows of `n`) in bf16, with boxes of 128, 192 and 64 rows
/// of 64, swizzled by 128 bytes. Blocks have 384 threads in x and [`SHARED`] bytes of dynamic shared memory, and there is an even
/// number of them; nothing else writes A and B or accesses C during the launch. No size and no `group` is 0; sizes are below
/// 2^31.
// PTX: contains 16x wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// PTX: contains .reqnctapercluster 2, 1, 1
// PTX: contains 24x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1), cluster(2))]
pub unsafe fn matmul_wide(
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
    let (rank, steps) = (cluster_rank(), k.div_ceil(64));
    // SAFETY: the launch has the shared memory. One thread of each block fills, and of each of four warpgroups one thread for each
    // block releases, when all but the newest group of wgmma is complete, which is one of the next stage. All threads of both
    // blocks meet before the first use and after the last. Each warpgroup has a barrier and two buffers of its own. No size is
    // 0.
    unsafe {
        let ring = Stages::new(shared, shared_array![Barrier; 2 * STAGES as usize]);
        if thread::thread_idx_x() == 0 {
            a.prefetch();
            b.prefetch();
            c.prefetch();
            ring.init(2 * CLUSTER);
        }
        cluster_start();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(CLUSTER * COLUMNS), group);
        let places = tiles.of_cluster(CLUSTER).map(|tile| {
            let (row, column) = tiles.place(tile);
            (row * ROWS, (column * CLUSTER + rank) * COLUMNS)
        });
        if warpgroup == 0 {
            decrease_registers::<40>();
            if lane == 0 {
                let (a, b, mut ring) = (a.map(), b.map(), ring.producer());
                let mut turned = false;
                for (row, column) in places {
                    for step in 0..steps {
                        let depth = 64 * if turned { steps - 1 - step } else { step };
                        let stage = ring.fill_or_trap();
                        stage.load_multicast::<128>(rank * 2 * BOX, a, (depth, row + rank * 128), 0b11);
                        stage.load::<COLUMNS>(B, b, (depth, column));
                    }
                    turned = !turned;
                }
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer_among(lane < CLUSTER, lane % CLUSTER);
            let mut results = Results::new(c.map(), shared + Stages::BYTES, half, lane);
            for (row, column) in places {
                let mut last = ring.wait();
                let columns = last.tile::<COLUMNS>(B);
                let [above, below] = [2 * half * BOX, (2 * half + 1) * BOX];
                let mut upper: Accumulator192 = Multiply::<Bf16, _>::start(last.tile(above), columns);
                let mut lower: Accumulator192 = Multiply::<Bf16, _>::start(last.tile(below), columns);
                for _ in 1..steps {
                    let stage = ring.wait();
                    let columns = stage.tile::<COLUMNS>(B);
                    Multiply::<Bf16, _>::multiply::<1>(&mut upper, stage.tile(above), columns);
                    last.release_to_peer();
                    Multiply::<Bf16, _>::multiply::<1>(&mut lower, stage.tile(below), columns);
                    last = stage;
                }
                let (upper, lower) = (upper.finish().pack(), lower.finish().pack());
                last.release_to_peer();
                results.at = Some((column, row + half * 128, ()));
                unroll!(part in [0 1 2] {
                    results.store_box(part, (part as u32 * 64, 0), |tile, lane| upper.store::<part>(tile, lane));
                });
                unroll!(part in [0 1 2] {
                    results.store_box(part + 1, (part as u32 * 64, 64), |tile, lane| lower.store::<part>(tile, lane));
                });
            }
            bulk_wait_group_read::<0>();
        }
        cluster_sync();
    }
}
