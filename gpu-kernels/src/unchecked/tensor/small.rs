//! # Small products: what a launch costs
//!
//! 1024 x 1024 x 1024 is 2 us of work for the tensor cores, if all of them have some. In tiles of 128 x 256 it is 32 blocks for
//! 132 multiprocessors; in tiles of 128 x 64 it is 128. Each block has one tile, 24 KiB to load a step, and everything
//! in shared memory at once: eight stages hold half of K. What is left is what happens once, and each part of it is as long as
//! several steps:
//!
//! - *Maps.* They are parameters of the launch, which needs no fence in the kernel; the copy engine's first use of one waits a
//!   thousand cycles for it, so the first thing that a block does is to ask for it.
//! - *Barriers.* The blocks of a cluster meet before they write to each other, 470 cycles after the start. With the fence that
//!   [`cluster_sync`] contains a launch takes 0.14 us longer than with [`cluster_start`].
//! - *Loads.* Two blocks, one below the other, load 32 of their 64 columns of B each, for both.
//! - *The end.* Nobody loads into the last stages again, so nobody releases them. Then no block arrives at a barrier of one that may
//!   have ended, and they need not meet again.
//! - *Results* go to C without the copy engine (`rows.rs`).
//! - *The launch.* It allows the next launch to place its blocks as soon as these end, and waits for the one before only when it
//!   loads: [`dependent`]. That matters if the launch is an overlapping one.
//!
//! [`cluster_sync`]: cuda_std::tensor::cluster_sync

use super::pipeline::BOX;
use super::rows::{self, Rows};
use core::hint;
use cuda_std::async_copy::Barrier;
use cuda_std::tensor::{
    Accumulator64, Bf16, Multiply, Ring, SwizzledTile, TensorMap, aligned_dynamic_shared, cluster_rank,
    cluster_start,
};
use cuda_std::vector::U32x4;
use cuda_std::{GridConstant, dependent, kernel, shared_array, thread};

/// Rows of C that a block computes.
pub const ROWS: u32 = 128;
/// Columns of C that a block computes.
pub const COLUMNS: u32 = 64;
/// Blocks of a cluster, one below the other.
pub const CLUSTER: u32 = 2;
/// Threads of a block: two warpgroups that multiply, and a warp of which one thread loads.
pub const THREADS: u32 = 288;
/// The first thread of the warp that loads.
const LOADER: u32 = 256;
const STAGES: u32 = 8;
/// B begins behind the two boxes of A.
const B: u32 = 2 * BOX;
/// Columns of B that a block loads, for all blocks of the cluster.
const PART: u32 = COLUMNS / CLUSTER;
type Stages = Ring<STAGES, { 3 * BOX }>;
/// Dynamic shared memory of a launch: the stages, a buffer for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 2 * BOX + 1024;

/// `C = A * B^T`, tiles of 128 x 64 by a block each.
///
/// # Safety
/// The maps are of A (`m` rows of `k`) and B (`n` rows of `k`) in bf16, with boxes of 128 and 32 rows of 64, swizzled by 128
/// bytes. `c` has `m` rows of `n`, eight bf16 an element, `n` being a multiple of 8; nothing else writes A and B or accesses C
/// during the launch. Blocks have 288 threads in x and [`SHARED`] bytes of dynamic shared memory; the grid has a column of blocks for
/// each column of tiles, and a row for each row of tiles, an even number. No size is 0; sizes are below 2^31.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// PTX: contains .reqnctapercluster 1, 2, 1
// PTX: contains 2x prefetch.tensormap
// PTX: contains barrier.cluster.arrive.relaxed.aligned
// PTX: lacks fence.proxy.tensormap
// PTX: contains 4x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 4x st.global.v4.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(288, 1), cluster(1, 2, 1))]
pub unsafe fn matmul_small(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut U32x4,
    m: u32,
    n: u32,
    k: u32,
) {
    let (thread, shared) = (thread::thread_idx_x(), aligned_dynamic_shared());
    let (x, y) = (thread::block_idx_x() * COLUMNS, thread::block_idx_y() * ROWS);
    let (rank, steps) = (cluster_rank(), k.div_ceil(64));
    // SAFETY: the launch has the shared memory. The thread that initialises the ring fills it, together with that of the other block,
    // and an elected thread of each of four warpgroups releases to each. Both blocks meet before the first use; a block ends when it
    // has read all of its stages and its loader has seen all releases. No size is 0.
    unsafe {
        let warp = rows::warp();
        let ring = Stages::new(shared, shared_array![Barrier; 2 * STAGES as usize]);
        if thread == LOADER {
            a.prefetch();
            b.prefetch();
            ring.init(2 * CLUSTER);
        }
        dependent::launch_dependents();
        cluster_start();
        dependent::wait_for_predecessor();
        if warp == LOADER / 32 {
            if thread == LOADER {
                let (a, b, mut ring) = (a.map(), b.map(), ring.producer());
                for step in 0..steps {
                    let stage = ring.fill_or_trap();
                    stage.load::<ROWS>(0, a, (step * 64, y));
                    let part = rank * PART;
                    stage.load_multicast::<PART>(B + part * 128, b, (step * 64, x + part), 0b11);
                }
            }
        } else {
            let (half, lane) = (warp / 4, thread % 128);
            let mut ring = ring.consumer_among(lane < CLUSTER, lane % CLUSTER);
            let mut sums = Accumulator64::zero();
            let mut last = None;
            // Without a path around the loop ptxas sees that nothing but `wgmma` touches the sums.
            hint::assert_unchecked(steps != 0);
            for step in 0..steps {
                let stage = ring.wait();
                Multiply::<Bf16, _>::multiply::<1>(
                    &mut sums,
                    stage.tile(half * BOX),
                    stage.tile::<COLUMNS>(B),
                );
                if let Some(done) = last.replace(stage)
                    && step - 1 + STAGES < steps
                {
                    done.release_to_peer();
                }
            }
            let buffer = rows::buffer(shared + Stages::BYTES, half, 1);
            sums.finish().pack().store::<0>(SwizzledTile::at(buffer), lane);
            Rows { c, m, n }.copy(buffer, lane / 32, (x, y + half * 64));
        }
    }
}
