//! # Two blocks share what they load
//!
//! Under load an H200 draws all the power that it may, 700 W, and its clock falls from 1980 MHz to some 1650. From then on what
//! counts is the energy of each operation, and every byte that moves has a part in it. This kernel is
//! [`overlapped`] with fewer bytes:
//!
//! - *Multicast.* Blocks of a *cluster* run at the same time on neighbouring multiprocessors and reach each other's shared memory.
//!   Two blocks with tiles one above the other need the same columns of B. Each loads half of them and has the copy engine
//!   write them to both: L2 is read for 256 rows of K a block instead of 384.
//! - *Turning back.* Every second tile of a block is summed from the end of K to its beginning. All blocks begin a tile at about
//!   the same time, and the end of K, which they read last, is still in L2.
//! - *Even waves.* 4096 x 4096 are 256 tiles of a cluster: four waves of 66 clusters, the last of which has 58 tiles, or four whole
//!   ones of 64. The host launches as many clusters as fill the last wave, and the others stay off.
//!
//! A stage is now filled by two blocks. A block may load only when the stage is free in both, so both warpgroups of both
//! blocks arrive at each block's *empty* barriers: thread 0 of a warpgroup speaks to block 0, and thread 1 to block 1. And no
//! block may end while the other still writes to it or arrives at its barriers: the cluster meets at the end.

use super::overlapped::{self, compute};
use super::pipeline::{self, B, BOX, Stages};
use super::results::Results;
use super::tiles::Tiles;
use cuda_std::tensor::{
    Bf16, SwizzledTile, TensorMap, aligned_dynamic_shared, cluster_rank, cluster_start, cluster_sync,
    decrease_registers, increase_registers,
};
use cuda_std::{GridConstant, kernel, thread};

pub use super::overlapped::{COLUMNS, ROWS, SHARED, THREADS};

/// Blocks of a cluster.
pub const CLUSTER: u32 = 2;

/// `C = A * B^T`, tiles of 256 x 256 by a cluster of two blocks.
///
/// # Safety
/// As for [`matmul_overlapped`](super::overlapped), with an even number of blocks.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// PTX: contains .reqnctapercluster 2, 1, 1
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1), cluster(2))]
pub unsafe fn matmul_multicast(
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
    let (rank, steps) = (cluster_rank(), overlapped::steps::<Bf16>(k));
    // SAFETY: the launch has the shared memory. One thread of each block fills, and of each of four warpgroups one thread for each
    // block releases. All threads of both blocks meet before the first use and after the last. Each warpgroup has a barrier
    // and two buffers of its own. No size is 0.
    unsafe {
        let ring = pipeline::ring(shared, CLUSTER, [a, b, c]);
        cluster_start();
        let tiles = Tiles::new(m.div_ceil(CLUSTER * ROWS), n.div_ceil(COLUMNS), group);
        let places = tiles.of_cluster(CLUSTER).map(|tile| {
            let (row, column) = tiles.place(tile);
            ((row * CLUSTER + rank) * ROWS, column * COLUMNS)
        });
        if warpgroup == 0 {
            decrease_registers::<40>();
            if lane == 0 {
                let (a, b, mut ring) = (a.map(), b.map(), ring.producer());
                let mut turned = false;
                for (row, column) in places {
                    let column = column + rank * 128;
                    for step in 0..steps {
                        let depth = 64 * if turned { steps - 1 - step } else { step };
                        let stage = ring.fill_or_trap();
                        stage.load::<ROWS>(0, a, (depth, row));
                        stage.load_multicast::<128>(B + rank * 2 * BOX, b, (depth, column), 0b11);
                    }
                    turned = !turned;
                }
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let ring = ring.consumer_among(lane < CLUSTER, lane % CLUSTER);
            let results = Results::new(c.map(), shared + Stages::BYTES, half, lane);
            let parts = places.map(|(row, column)| ((column, row + half * 64, ()), steps, ()));
            compute::<Bf16, SwizzledTile<COLUMNS>, (), _, _, _>(
                (ring, |stage| stage.release_to_peer()),
                results,
                half,
                parts,
                |sums, _, ()| (sums.pack(), true),
            );
        }
        cluster_sync();
    }
}
