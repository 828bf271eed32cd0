//! # Loading, multiplying and storing at the same time
//!
//! 384 threads, one block on each multiprocessor, tile after tile of 128 x 256:
//!
//! ```text
//! warpgroup 0, one thread   fill stage: A 128 x 64, B 256 x 64    up to four stages ahead, also into the next tile
//! warpgroups 1 and 2        multiply 64 x 256 each                four wgmma a stage, one stage's left in flight
//!                           store the tile before                 a quarter in each of the first four steps
//! ```
//!
//! - *Registers.* A tile's sums are 128 registers a thread and the results of the tile before 64 as bf16: more than the 168
//!   that 384 threads have each. The loading warpgroup gives back what it does not need.
//! - *One group in flight.* A step is waited for only after the next one is issued, so the tensor cores always have work
//!   queued. A stage is therefore released one step later than it is multiplied.
//! - *Storing.* `stmatrix` puts 64 columns of a warpgroup's results into one of its two buffers, the copy engine takes them
//!   from there, and clips them at C's edges. Two buffers, so that one is written while the other is read.
//! - *Short K.* Results are stored within four steps, so there are at least four; what lies beyond K is loaded as zeros.

use super::tiles::Tiles;
use cuda_std::async_copy::{Barrier, bulk_wait_group, bulk_wait_group_read, fence_async_proxy};
use cuda_std::tensor::{
    Accumulator256, Map, Packed256, Ring, SwizzledTile, TensorMap, aligned_dynamic_shared,
    decrease_registers, increase_registers, sync_warpgroup,
};
use cuda_std::{kernel, shared_array, thread, unroll};

/// Rows of C that a block computes at a time.
pub const ROWS: u32 = 128;
/// Columns of C that a block computes at a time.
pub const COLUMNS: u32 = 256;
/// Columns of A and B that are multiplied at a time: 128 bytes.
pub const DEPTH: u32 = 64;
const STAGES: u32 = 4;
/// Bytes of 64 rows of a stage, or of 64 columns of a warpgroup's results.
const BOX: u32 = SwizzledTile::<64>::BYTES;
/// B begins behind the two boxes of A.
const B: u32 = 2 * BOX;
type Stages = Ring<STAGES, { 6 * BOX }>;
/// Dynamic shared memory of a launch: the stages, two buffers for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 4 * BOX + 1024;

/// `C = A * B^T` by a block for each multiprocessor, which loads, multiplies and stores at the same time.
///
/// # Safety
/// The maps are of A (`m` rows of `k`), B (`n` rows of `k`) and C (`m` rows of `n`) in bf16, with boxes of 128, 128 and 64 rows
/// of 64, swizzled by 128 bytes. Blocks have 384 threads in x and [`SHARED`] bytes of dynamic shared memory; nothing else
/// writes A and B or accesses C during the launch. No size and no `group` is 0; sizes are below 2^31.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains setmaxnreg.dec.sync.aligned.u32 40
// PTX: contains setmaxnreg.inc.sync.aligned.u32 232
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
pub unsafe fn matmul_overlapped(
    a: &TensorMap,
    b: &TensorMap,
    c: &TensorMap,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let shared = aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let first = lane == 0;
    let steps = if k > 3 * DEPTH { k.div_ceil(DEPTH) } else { 4 };
    // SAFETY: the launch has the shared memory. The ring is initialised by one thread before all others use it, which one thread
    // fills and an elected thread of each of two warpgroups releases; loads of a stage are its six boxes. A stage is released
    // when all but the newest group of wgmma is complete, which is one of the next stage. Each warpgroup has a barrier and
    // two buffers of its own.
    unsafe {
        let ring = Stages::new(shared, shared_array![Barrier; 2 * STAGES as usize]);
        if thread::thread_idx_x() == 0 {
            ring.init(2);
        }
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group);

        if warpgroup == 0 {
            decrease_registers::<40>();
            if first {
                let (a, b) = (a.acquire(true), b.acquire(true));
                let mut ring = ring.producer();
                for tile in tiles.of_block() {
                    let (row, column) = tiles.place(tile);
                    for step in 0..steps {
                        let (stage, at) = (ring.fill_or_trap(), step * DEPTH);
                        stage.load::<128>(0, a, (at, row * ROWS));
                        stage.load::<128>(B, b, (at, column * COLUMNS));
                        stage.load::<128>(B + 2 * BOX, b, (at, column * COLUMNS + 128));
                    }
                }
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(first);
            let mut results = Results {
                c: c.acquire(first),
                buffers: shared + Stages::BYTES + half * 2 * BOX,
                half,
                lane,
                at: None,
            };
            let mut packed = Packed256::zero();
            for tile in tiles.of_block() {
                let mut sums = Accumulator256::zero();
                let mut last = None;
                unroll!(part in [0 1 2 3] {
                    let stage = ring.wait();
                    sums.multiply::<1>(stage.tile(half * BOX), stage.tile(B));
                    if let Some(done) = last.replace(stage) {
                        done.release();
                    }
                    results.store::<part>(&packed);
                });
                for _ in 4..steps {
                    let stage = ring.wait();
                    sums.multiply::<1>(stage.tile(half * BOX), stage.tile(B));
                    if let Some(done) = last.replace(stage) {
                        done.release();
                    }
                }
                packed = sums.finish().pack();
                if let Some(done) = last {
                    done.release();
                }
                let (row, column) = tiles.place(tile);
                results.at = Some((column * COLUMNS, row * ROWS + half * 64));
            }
            unroll!(part in [0 1 2 3] { results.store::<part>(&packed); });
            bulk_wait_group::<0>();
        }
    }
}

/// Where the results go that a warpgroup has not stored yet.
struct Results<'a> {
    c: Map<'a>,
    /// Two buffers of 64 rows of 64 columns.
    buffers: u32,
    half: u32,
    lane: u32,
    /// Column and row of the first result; none before the first tile.
    at: Option<(u32, u32)>,
}

impl Results<'_> {
    /// Stores 64 columns, if there are results.
    ///
    /// # Safety
    /// All threads of the warpgroup call this together, for the parts 0 to 3 in turn; the buffers and the barrier are theirs
    /// alone, and the map is of C, with boxes of 64 x 64.
    #[inline(always)]
    unsafe fn store<const PART: usize>(&self, packed: &Packed256) {
        let buffer = SwizzledTile::<64>::at(self.buffers + PART as u32 % 2 * BOX);
        let (x, y) = self.at.unwrap_or_default();
        // SAFETY: the elected thread waits until this buffer's last store has read it before the others write to it, and
        // until they all have written before it starts the next.
        unsafe {
            bulk_wait_group_read::<1>();
            sync_warpgroup(self.half + 1);
            packed.store::<PART>(buffer, self.lane);
            fence_async_proxy();
            sync_warpgroup(self.half + 1);
            self.c.store(buffer, (x + PART as u32 * 64, y), self.lane == 0 && self.at.is_some());
        }
    }
}
