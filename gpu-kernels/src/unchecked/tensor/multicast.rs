//! # Two blocks share what they load
//!
//! Blocks of a *cluster* run at the same time on neighbouring multiprocessors and reach each other's shared memory. Two blocks
//! with tiles one above the other need the same columns of B. Each loads half of them and has the copy engine write
//! them to both blocks (*multicast*): L2 is read for 192 rows and columns a block instead of 384.
//!
//! A stage is now filled by two blocks. A block may load only when the stage is free in both, so both warpgroups of both
//! blocks arrive at each block's *empty* barriers. And no block may end while the other still writes to it or arrives at its
//! barriers: the cluster meets at the end.
//!
//! On an H200 it gains little over [`persistent`](super::persistent), because L2 was not what limited.

use super::pipeline::{self, B, BOX};
use super::tiles::Tiles;
use cuda_std::tensor::{
    Accumulator256, Bf16, Multiply, TensorMap, aligned_dynamic_shared, cluster_rank, cluster_sync,
    decrease_registers, increase_registers,
};
use cuda_std::{kernel, thread};

pub use super::pipeline::{COLUMNS, ROWS, SHARED, THREADS};

/// Blocks of a cluster.
pub const CLUSTER: u32 = 2;

/// `C = A * B^T`, tiles of 256 x 256 by a cluster of two blocks.
///
/// # Safety
/// As for [`matmul_persistent`](super::persistent), with an even number of blocks.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// PTX: contains .reqnctapercluster 2, 1, 1
// PTX: contains 64x st.global.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1), cluster(2))]
pub unsafe fn matmul_multicast(
    a: &TensorMap,
    b: &TensorMap,
    c: *mut u32,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let (rank, steps) = (cluster_rank(), k.div_ceil(64));
    // SAFETY: the launch has the shared memory. One thread of each block fills, and an elected thread of each of four
    // warpgroups releases to both. All threads of both blocks meet before the first use and after the last. No size is 0.
    unsafe {
        let ring = pipeline::ring(aligned_dynamic_shared(), CLUSTER);
        cluster_sync();
        let tiles = Tiles::new(m.div_ceil(CLUSTER * ROWS), n.div_ceil(COLUMNS), group);
        if warpgroup == 0 {
            decrease_registers::<40>();
            if lane == 0 {
                let (a, b, mut ring) = (a.acquire(true), b.acquire(true), ring.producer());
                for tile in tiles.of_cluster(CLUSTER) {
                    let (row, column) = tiles.place(tile);
                    let (row, column) = ((row * CLUSTER + rank) * ROWS, column * COLUMNS + rank * 128);
                    for step in 0..steps {
                        let stage = ring.fill_or_trap();
                        stage.load::<ROWS>(0, a, (step * 64, row));
                        stage.load_multicast::<128>(B + rank * 2 * BOX, b, (step * 64, column), 0b11);
                    }
                }
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(lane == 0);
            for tile in tiles.of_cluster(CLUSTER) {
                let mut sums = Accumulator256::zero();
                let mut last = None;
                for _ in 0..steps {
                    let stage = ring.wait();
                    Multiply::<Bf16, _>::multiply::<1>(
                        &mut sums,
                        stage.tile(half * BOX),
                        stage.tile::<COLUMNS>(B),
                    );
                    if let Some(done) = last.replace(stage) {
                        done.release_to(0);
                        done.release_to(1);
                    }
                }
                let sums = sums.finish().pack();
                if let Some(done) = last {
                    done.release_to(0);
                    done.release_to(1);
                }
                let (row, column) = tiles.place(tile);
                let corner = ((row * CLUSTER + rank) * ROWS + half * 64, column * COLUMNS);
                pipeline::write_256(c, (m, n), corner, lane, &sums);
            }
        }
        cluster_sync();
    }
}
