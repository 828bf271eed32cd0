//! # Sums that keep their precision
//!
//! Tensor cores add f32 in their own way. Of a sum of FP8 products they keep about 14 bits, and every addition of TF32
//! products is cut off instead of rounded: over thousands of terms the errors all point the same way. So here a tensor core
//! sums only one stage, 128 bytes of K. The stage's sums are then added to those of the tile by ordinary additions, which
//! round to nearest (*promotion*). One warpgroup adds while the other one multiplies.
//!
//! - `matmul_e4m3_promoted`, `matmul_e5m2_promoted`: FP8 with sums as good as those of f32, for each 128 terms. A tile's
//!   128 registers and a stage's 128 would be more than a thread can have, so a stage is multiplied in two halves of 128
//!   columns.
//! - `matmul_3xtf32`: a product of f32 at the accuracy of f32. Each number is the sum of two TF32, `x = high + low`
//!   ([`split_tf32`](super::prepare)), which have 22 bits together. Of the four products three count:
//!   `low * high + high * low + high * high`. So it takes three times the tensor cores' time, and twice the memory.

use super::pipeline::{self, B, BOX, Destination, Stages};
use super::results::Results;
use super::tiles::Tiles;
use cuda_std::async_copy::{Barrier, bulk_wait_group_read};
use cuda_std::tensor::{
    Accumulator128, E4m3, E5m2, Element, Multiply, Ring, Sums128, Sums256, SwizzledTile, TensorMap, Tf32,
    aligned_dynamic_shared, decrease_registers, increase_registers,
};
use cuda_std::{GpuFloat, GridConstant, kernel, shared_array, thread, unroll};

pub use super::overlapped::{COLUMNS, ROWS, SHARED, THREADS};

/// `C = alpha * A * B^T` for FP8, with promoted sums.
///
/// # Safety
/// As for the kernels below; a kernel calls this once, with all its threads.
#[inline(always)]
unsafe fn product<E: Element>(
    [a, b, c]: [GridConstant<'_, TensorMap>; 3],
    (m, n, k): (u32, u32, u32),
    alpha: f32,
    group: u32,
) where
    Accumulator128: Multiply<E, SwizzledTile<128>>,
{
    let shared = aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let steps = k.div_ceil(E::DEPTH);
    // SAFETY: the launch has the shared memory. One thread fills, and an elected thread of each of two warpgroups releases when
    // the sums of a stage are complete; each warpgroup has a barrier and two buffers of its own. No size is 0.
    unsafe {
        let ring = pipeline::ring(shared, 1, [a, b, c]);
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group);
        if warpgroup == 0 {
            pipeline::load_tiles::<E, SwizzledTile<COLUMNS>, ()>(ring, (a, b), tiles, 1, steps);
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(lane == 0);
            let c = c.map();
            let mut results = Results::new(c, shared + Stages::BYTES, half, lane);
            for tile in tiles.of_block() {
                let mut sums = [Sums128::zero(), Sums128::zero()];
                for _ in 0..steps {
                    let stage = ring.wait();
                    unroll!(part in [0 1] {
                        let columns = stage.tile::<128>(B + part as u32 * 2 * BOX);
                        sums[part].add(&Accumulator128::start(stage.tile(half * BOX), columns).finish());
                    });
                    stage.release();
                }
                let (row, column) = tiles.place(tile);
                let packed = Sums256::from(sums).map(|sum| GpuFloat::mul_add(alpha, sum, 0.0)).pack();
                results.at = Some((column * COLUMNS, row * ROWS + half * 64, ()));
                unroll!(part in [0 1 2 3] { results.store::<part>(&packed); });
            }
            bulk_wait_group_read::<0>();
        }
    }
}

/// `C = alpha * A * B^T` for A and B in FP8 (e4m3), C in bf16, each 128 products summed apart.
///
/// # Safety
/// As for [`matmul_e4m3`](super::scaled).
// PTX: contains 8x wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3
// PTX: contains 16x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_e4m3_promoted(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    group: u32,
) {
    // SAFETY: promised by the caller.
    unsafe { product::<E4m3>([a, b, c], (m, n, k), alpha, group) }
}

/// `matmul_e4m3_promoted` for e5m2.
///
/// # Safety
/// As for [`matmul_e4m3`](super::scaled).
// PTX: contains 8x wgmma.mma_async.sync.aligned.m64n128k32.f32.e5m2.e5m2
// PTX: contains 16x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_e5m2_promoted(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    group: u32,
) {
    // SAFETY: promised by the caller.
    unsafe { product::<E5m2>([a, b, c], (m, n, k), alpha, group) }
}

/// Rows and columns of C that a block of `matmul_3xtf32` computes at a time.
pub const TF32_SIDE: u32 = 128;
const TF32_STAGES: u32 = 3;
/// A stage: 128 rows of A, high and low, and 128 of B.
type Tf32Stages = Ring<TF32_STAGES, { 8 * BOX }>;
/// Dynamic shared memory of a launch with TF32.
pub const TF32_SHARED: u32 = Tf32Stages::BYTES + 1024;

/// `C = alpha * A * B^T + beta * C` for f32 that are split in two.
///
/// # Safety
/// The maps are of A and B in three dimensions: the high and then the low parts of `m` (`n`) rows of `k`, in boxes of 128 rows of
/// 32 of one part, swizzled by 128 bytes. `c` has `m` rows of `n` f32, and nothing else accesses it during the launch. Blocks
/// have 384 threads in x and [`TF32_SHARED`] bytes of dynamic shared memory. `k` is a multiple of 4 and `n` of 2. No size and no
/// `group` is 0; sizes are below 2^31.
// PTX: contains 12x wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32
// PTX: contains 4x cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 32x st.global.v2.b32 or st.global.b64
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_3xtf32(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
    group: u32,
) {
    const DEPTH: u32 = Tf32::DEPTH;
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    // SAFETY: the launch has the shared memory. The ring is initialised by one thread before all others use it, which one thread
    // fills and an elected thread of each of two warpgroups releases when a stage's sums are complete. No size is 0.
    unsafe {
        let ring =
            Tf32Stages::new(aligned_dynamic_shared(), shared_array![Barrier; 2 * TF32_STAGES as usize]);
        if thread::thread_idx_x() == 0 {
            a.prefetch();
            b.prefetch();
            ring.init(2);
        }
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(TF32_SIDE), n.div_ceil(TF32_SIDE), group);
        if warpgroup == 0 {
            decrease_registers::<40>();
            if lane == 0 {
                let ((a, b), mut ring) = ((a.map(), b.map()), ring.producer());
                for tile in tiles.of_block() {
                    let (row, column) = tiles.place(tile);
                    for step in 0..k.div_ceil(DEPTH) {
                        let stage = ring.fill_or_trap();
                        unroll!(part in [0 1] {
                            let (offset, nth) = (part as u32 * 2 * BOX, part as u32);
                            stage.load::<TF32_SIDE>(offset, a, (step * DEPTH, row * TF32_SIDE, nth));
                            stage.load::<TF32_SIDE>(4 * BOX + offset, b, (step * DEPTH, column * TF32_SIDE, nth));
                        });
                    }
                }
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(lane == 0);
            for tile in tiles.of_block() {
                let mut sums = Sums128::zero();
                for _ in 0..k.div_ceil(DEPTH) {
                    let stage = ring.wait();
                    let a = [stage.tile(half * BOX), stage.tile((2 + half) * BOX)];
                    let b: [SwizzledTile<TF32_SIDE>; 2] = [stage.tile(4 * BOX), stage.tile(6 * BOX)];
                    // The small products first.
                    let mut part: Accumulator128 = Multiply::<Tf32, _>::start(a[1], b[0]);
                    Multiply::<Tf32, _>::multiply::<2>(&mut part, a[0], b[1]);
                    Multiply::<Tf32, _>::multiply::<2>(&mut part, a[0], b[0]);
                    sums.add(&part.finish());
                    stage.release();
                }
                let (row, column) = tiles.place(tile);
                let c = Destination { c, m, n, alpha, beta };
                c.write((row * TF32_SIDE + half * 64, column * TF32_SIDE), lane, &sums);
            }
        }
    }
}
