//! # Larger tiles whose results are stored while nobody waits
//!
//! [`wide`](super::wide) has no registers left for the results of the tile before, so nobody multiplies while it stores. Here a
//! block has 256 x 160, and each of its two warpgroups two accumulators of 64 x 160, 160 registers a thread together. At a
//! tile's end the accumulators part: up to the last [`LAST`] steps both take a step's part of B while it is there, and these last steps
//! stay in the ring. The upper one goes through all of them, then the lower one.
//!
//! ```text
//! step    .. 60 60 61 61 62 63 62 63 |  0  0  1  1  2  2 ..     of the next tile
//! sums    ..  u  l  u  l  u  u  l  l |  u  l  u  l  u  l ..
//! stored                       u  u  |     l     l     l
//! ```
//!
//! So half of the results are stored while the tensor cores have the last steps of the other half, and the other half, 40 registers as
//! bf16, during the first steps of the next tile. (To begin the upper sums of the next tile before the lower ones of this tile end, so
//! that the tensor cores always have work, was 1% slower on an H200.) A block reads (128 + 160) rows of K from L2 for 256 x 160
//! results, since two blocks side by side share A: 230 rows for each 128 x 256 of C, where [`multicast`](super::multicast) reads 256.
//!
//! The other reason is the last wave: 5120 x 5120 are 320 tiles of a cluster, 4.8 waves of 66 clusters. In tiles of 256 x 256 they are
//! 400, 6.1 waves.

use super::pipeline::BOX;
use super::rows::Rows;
use super::tiles::Tiles;
use cuda_std::async_copy::Barrier;
use cuda_std::tensor::{
    Accumulator160, Bf16, Multiply, Packed160, Ring, Stage, SwizzledTile, TensorMap, aligned_dynamic_shared,
    cluster_rank, cluster_start, cluster_sync, decrease_registers, increase_registers,
};
use cuda_std::vector::U32x4;
use cuda_std::{GridConstant, kernel, shared_array, thread, unroll};

pub use super::multicast::CLUSTER;
pub use super::pipeline::THREADS;

/// Rows of C that a block computes at a time.
pub const ROWS: u32 = 256;
/// Columns of C that a block computes at a time.
pub const COLUMNS: u32 = 160;
/// Steps at the end that the accumulators take one after the other.
pub const LAST: u32 = 2;
const STAGES: u32 = 4;
/// B begins behind the four boxes of A.
const B: u32 = 4 * BOX;
const STAGE: u32 = B + SwizzledTile::<COLUMNS>::BYTES;
type Stages = Ring<STAGES, STAGE>;
/// Dynamic shared memory of a launch: the stages, a buffer for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 2 * BOX + 1024;

/// `C = A * B^T`, tiles of 256 x 320 by a cluster of two blocks.
///
/// # Safety
/// The maps are of A (`m` rows of `k`) and B (`n` rows of `k`) in bf16, with boxes of 128 and 160 rows of 64, swizzled by 128
/// bytes. `c` has `m` rows of `n`, eight bf16 an element, `n` being a multiple of 8. Blocks have 384 threads in x and [`SHARED`] bytes
/// of dynamic shared memory, and there is an even number of them; nothing else writes A and B or accesses C during the launch. No size
/// and no `group` is 0; sizes are below 2^31.
// PTX: contains wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// PTX: contains .reqnctapercluster 2, 1, 1
// PTX: contains 30x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1), cluster(2))]
pub unsafe fn matmul_staggered(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut U32x4,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let shared = aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    // The results of the tile before are stored in three steps. What lies outside of A and B is zeros.
    let (rank, steps) = (cluster_rank(), k.div_ceil(64).max(3 + LAST));
    // SAFETY: the launch has the shared memory. One thread of each block fills, and of each of four warpgroups one thread for each
    // block releases, when no wgmma reads the stage any more. All threads of both blocks meet before the first use and after the
    // last. Each warpgroup has a buffer of its own. No size is 0.
    unsafe {
        let ring = Stages::new(shared, shared_array![Barrier; 2 * STAGES as usize]);
        if thread::thread_idx_x() == 0 {
            a.prefetch();
            b.prefetch();
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
            let upper_tiles = |stage: &Stage<STAGE>| (stage.tile(2 * half * BOX), stage.tile::<COLUMNS>(B));
            let lower_tiles =
                |stage: &Stage<STAGE>| (stage.tile((2 * half + 1) * BOX), stage.tile::<COLUMNS>(B));
            let mut ring = ring.consumer_among(lane < CLUSTER, lane % CLUSTER);
            let results = Results { c: Rows { c, m, n }, buffer: shared + Stages::BYTES + half * BOX, lane };
            let mut packed = Packed160::zero();
            // No row of C is there, so nothing is stored before the first tile.
            let mut at = (0, m);
            for (row, column) in places {
                let mut last = ring.wait();
                let mut upper = start(upper_tiles(&last));
                let mut lower = start(lower_tiles(&last));
                results.store::<0>(&packed, at);
                unroll!(part in [1 2] {
                    let stage = ring.wait();
                    multiply::<1>(&mut upper, upper_tiles(&stage));
                    last.release_to_peer();
                    multiply::<1>(&mut lower, lower_tiles(&stage));
                    results.store::<part>(&packed, at);
                    last = stage;
                });
                for _ in 3..steps - LAST {
                    let stage = ring.wait();
                    multiply::<1>(&mut upper, upper_tiles(&stage));
                    last.release_to_peer();
                    multiply::<1>(&mut lower, lower_tiles(&stage));
                    last = stage;
                }
                let (stage0, stage1) = (ring.wait(), ring.wait());
                multiply::<1>(&mut upper, upper_tiles(&stage0));
                last.release_to_peer();
                multiply::<2>(&mut upper, upper_tiles(&stage1));
                multiply::<2>(&mut lower, lower_tiles(&stage0));
                multiply::<2>(&mut lower, lower_tiles(&stage1));
                packed = upper.finish_before::<LAST>().pack();
                at = (column, row + half * 128);
                unroll!(part in [0 1 2] { results.store::<part>(&packed, at); });
                at.1 += 64;
                packed = lower.finish().pack();
                stage0.release_to_peer();
                stage1.release_to_peer();
            }
            unroll!(part in [0 1 2] { results.store::<part>(&packed, at); });
        }
        cluster_sync();
    }
}

/// The product of 64 rows and the columns of B, the first of a tile.
///
/// # Safety
/// As for [`Multiply::start`].
#[inline(always)]
unsafe fn start((a, b): (SwizzledTile<64>, SwizzledTile<COLUMNS>)) -> Accumulator160 {
    // SAFETY: promised by the caller.
    unsafe { Multiply::<Bf16, _>::start(a, b) }
}

/// Adds such a product to sums, and leaves `PENDING` groups unfinished.
///
/// # Safety
/// As for [`Multiply::multiply`].
#[inline(always)]
unsafe fn multiply<const PENDING: u32>(
    sums: &mut Accumulator160,
    (a, b): (SwizzledTile<64>, SwizzledTile<COLUMNS>),
) {
    // SAFETY: promised by the caller.
    unsafe { Multiply::<Bf16, _>::multiply::<PENDING>(sums, a, b) }
}

/// How a warpgroup stores its results: by a buffer of its own, 64 columns at a time and then 32.
#[derive(Clone, Copy)]
struct Results {
    c: Rows,
    buffer: u32,
    lane: u32,
}

impl Results {
    /// Stores a part of 64 rows, whose first result is at this column and row.
    ///
    /// # Safety
    /// All threads of the warpgroup call this together; the rest as for [`Rows::copy`].
    #[inline(always)]
    unsafe fn store<const PART: usize>(self, packed: &Packed160, (x, y): (u32, u32)) {
        let at = (x + 64 * PART as u32, y);
        // SAFETY: promised by the caller; a warp reads its rows of the buffer before it writes them again.
        unsafe {
            packed.store::<PART>(SwizzledTile::at(self.buffer), self.lane);
            match PART {
                2 => self.c.copy::<32>(self.buffer, self.lane / 32, at),
                _ => self.c.copy::<64>(self.buffer, self.lane / 32, at),
            }
        }
    }
}
