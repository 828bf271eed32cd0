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
//! - *Storing.* As in [`stored`](super::stored), but a quarter of a tile's results in each of the first four steps of the next
//!   tile, while the tensor cores have that step's work.
//! - *Short K.* Results are stored within four steps, so there are at least four; what lies beyond K is loaded as zeros.
//!
//! `product` is written for any elements and any layout of B; the kernels below it are its uses.

use super::pipeline::{self, B, BOX, Nth, Right};
use super::results::Results;
use super::tiles::Tiles;
use cuda_std::async_copy::bulk_wait_group_read;
use cuda_std::tensor::{
    Accumulator256, Bf16, Consumer, Element, Multiply, Packed256, Stage, Sums256, SwizzledTile, TensorMap,
    TransposedTile, aligned_dynamic_shared, increase_registers,
};
use cuda_std::{GridConstant, kernel, thread, unroll};

pub use super::stored::{COLUMNS, ROWS, SHARED, THREADS};

/// A product's sizes: C has `m` rows of `n`, sums have `k` terms, and there are so many `matrices` of each.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) k: u32,
    pub(super) matrices: u32,
}

/// `C = A * B`, each result as `pack` makes it of its sum. `pack` is called with the sums of 64 rows and 256 columns and with the
/// row and the column of the first.
///
/// # Safety
/// The maps are of A, B and C as the kernels below say, of as many dimensions as `N` says. Blocks have 384 threads in x and
/// [`SHARED`] bytes of dynamic shared memory; nothing else writes A and B or accesses C during the launch. No size and no
/// `group` is 0; sizes are below 2^31. A kernel calls this once, with all its threads.
#[inline(always)]
pub(super) unsafe fn product<E: Element, R: Right, N: Nth>(
    [a, b, c]: [GridConstant<'_, TensorMap>; 3],
    Sizes { m, n, k, matrices }: Sizes,
    group: u32,
    pack: impl Fn(Sums256, (u32, u32)) -> Packed256,
) where
    Accumulator256: Multiply<E, R>,
{
    let shared = aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let steps = steps::<E>(k);
    // SAFETY: the launch has the shared memory. One thread fills the ring and an elected thread of each of two warpgroups releases
    // its stages. Each warpgroup has a barrier and two buffers of its own.
    unsafe {
        let ring = pipeline::ring(shared, 1, [a, b, c]);
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group);

        if warpgroup == 0 {
            pipeline::load_tiles::<E, R, N>(ring, (a, b), tiles, matrices, steps);
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let ring = ring.consumer(lane == 0);
            let results = Results::new(c.map(), shared + pipeline::Stages::BYTES, half, lane);
            let parts = tiles.of_block_in(matrices).map(|tile| {
                let (nth, tile) = N::of(tile, tiles);
                let (row, column) = tiles.place(tile);
                ((column * COLUMNS, row * ROWS + half * 64, nth), steps, ())
            });
            let pack = |sums, at, ()| (pack(sums, at), true);
            compute::<E, R, N, _, _, _>((ring, |stage| stage.release()), results, half, parts, pack);
        }
    }
}

/// Steps of a tile: results are stored within four, so there are at least four.
#[inline(always)]
pub(super) fn steps<E: Element>(k: u32) -> u32 {
    if k > 3 * E::DEPTH { k.div_ceil(E::DEPTH) } else { 4 }
}

/// What a warpgroup does that multiplies: of each part of a tile the 64 rows whose first result is at its place (column, row and
/// matrix), while the results before it are stored. A part is a place, a number of steps, and what `pack` is told of it;
/// `pack` makes results of its sums, and says whether they are to be stored.
///
/// # Safety
/// All threads of the warpgroup call this together. The producer loads as many stages for each part as it has steps, which are
/// at least four, and `release` releases a stage, which is called when nothing reads it any more.
#[inline(always)]
pub(super) unsafe fn compute<E: Element, R: Right, N: Nth, T, const STAGES: u32, const BYTES: u32>(
    (mut ring, release): (Consumer<STAGES, BYTES>, impl Fn(Stage<BYTES>)),
    mut results: Results<'_, N>,
    half: u32,
    parts: impl Iterator<Item = ((u32, u32, N), u32, T)>,
    pack: impl Fn(Sums256, (u32, u32), T) -> (Packed256, bool),
) where
    Accumulator256: Multiply<E, R>,
{
    // SAFETY: promised by the caller. A stage is released when all but the newest group of wgmma is complete, which is one of the
    // next stage.
    unsafe {
        let mut packed = Packed256::zero();
        for ((column, row, nth), steps, told) in parts {
            let stage = ring.wait();
            // Not added to zeros, which would have to be written.
            let mut sums: Accumulator256 = Multiply::start(stage.tile(half * BOX), R::at(stage.address(B)));
            results.store::<0>(&packed);
            let mut last = Some(stage);
            unroll!(part in [1 2 3] {
                let stage = ring.wait();
                sums.multiply::<1>(stage.tile(half * BOX), R::at(stage.address(B)));
                if let Some(done) = last.replace(stage) {
                    release(done);
                }
                results.store::<part>(&packed);
            });
            for _ in 4..steps {
                let stage = ring.wait();
                sums.multiply::<1>(stage.tile(half * BOX), R::at(stage.address(B)));
                if let Some(done) = last.replace(stage) {
                    release(done);
                }
            }
            let sums = sums.finish();
            if let Some(done) = last {
                release(done);
            }
            let (of_it, are_results) = pack(sums, (row, column), told);
            packed = of_it;
            results.at = are_results.then_some((column, row, nth));
        }
        unroll!(part in [0 1 2 3] { results.store::<part>(&packed); });
        bulk_wait_group_read::<0>();
    }
}

/// `C = A * B^T` by a block for each multiprocessor, which loads, multiplies and stores at the same time.
///
/// # Safety
/// The maps are of A (`m` rows of `k`), B (`n` rows of `k`) and C (`m` rows of `n`) in bf16, with boxes of 128, 128 and 64 rows
/// of 64, swizzled by 128 bytes. Blocks have 384 threads in x and [`SHARED`] bytes of dynamic shared memory; nothing else
/// writes A and B or accesses C during the launch. No size and no `group` is 0; sizes are below 2^31.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 3x prefetch.tensormap
// PTX: contains setmaxnreg.dec.sync.aligned.u32 40
// PTX: contains setmaxnreg.inc.sync.aligned.u32 232
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
pub unsafe fn matmul_overlapped(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let sizes = Sizes { m, n, k, matrices: 1 };
    // SAFETY: promised by the caller.
    unsafe { product::<Bf16, SwizzledTile<COLUMNS>, ()>([a, b, c], sizes, group, |sums, _| sums.pack()) }
}

/// `C = A * B` for B as `k` rows of `n`: the tensor cores transpose what they read.
///
/// # Safety
/// As for `matmul_overlapped`, but the map of B is of `k` rows of `n`, with boxes of 64 rows of 64.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 5x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
pub unsafe fn matmul_rows_of_b(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let sizes = Sizes { m, n, k, matrices: 1 };
    // SAFETY: promised by the caller.
    unsafe { product::<Bf16, TransposedTile<COLUMNS>, ()>([a, b, c], sizes, group, |sums, _| sums.pack()) }
}

/// `C = A * B^T` for so many `matrices` of each, in one launch: tiles of all are one list, so only the last of all has a last wave.
///
/// # Safety
/// As for `matmul_overlapped`, but the maps have three dimensions, the last of which is the number of the matrix, and boxes
/// of one matrix.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_batched(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    matrices: u32,
    group: u32,
) {
    let sizes = Sizes { m, n, k, matrices };
    // SAFETY: promised by the caller.
    unsafe { product::<Bf16, SwizzledTile<COLUMNS>, u32>([a, b, c], sizes, group, |sums, _| sums.pack()) }
}
