//! # With factors, and results in f32
//!
//! `C = alpha * A * B^T + beta * C`, as BLAS has it. The sums of a tile are in registers when it is done, so `alpha` costs one
//! multiplication for each. `beta` costs reading C, which each thread does for its own results, two neighbouring elements at a
//! time; with a `beta` of 0, C is not read and may hold anything.

use super::overlapped::{Sizes, product};
use super::pipeline;
use super::tiles::Tiles;
use cuda_std::tensor::{
    Bf16, E4m3, E5m2, Packed256, Sums256, SwizzledTile, TensorMap, aligned_dynamic_shared,
    increase_registers, pack_bf16,
};
use cuda_std::{GpuFloat, GridConstant, kernel, thread, unroll};

pub use super::overlapped::{COLUMNS, ROWS, SHARED, THREADS};

/// Multiplies all sums and rounds them to bf16.
#[inline(always)]
fn scaled(sums: Sums256, alpha: f32) -> Packed256 {
    sums.map(|sum| GpuFloat::mul_add(alpha, sum, 0.0)).pack()
}

/// `C = alpha * A * B^T + beta * C` in bf16.
///
/// # Safety
/// As for [`matmul_overlapped`](super::overlapped); `c` is the matrix that `c_map` is of, two bf16 a word.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 64x ld.global.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_scaled(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c_map: GridConstant<'_, TensorMap>,
    c: *const u32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
    group: u32,
) {
    let lane = thread::thread_idx_x() % 128;
    let pack = |sums: Sums256, (row, column): (u32, u32)| {
        if beta == 0.0 {
            return scaled(sums, alpha);
        }
        let row = row + lane / 32 * 16 + lane % 32 / 4;
        let column = column + lane % 4 * 2;
        // What C has at a place: two neighbours.
        let old = |row: u32, column: u32| {
            let is_there = row < m && column < n;
            let place = c.wrapping_add((row as usize * n as usize + column as usize) / 2);
            // SAFETY: it is read only if C has it.
            let word = if is_there { unsafe { *place } } else { 0 };
            (beta * f32::from_bits(word << 16), beta * f32::from_bits(word & 0xffff_0000))
        };
        let mut packed = Packed256::zero();
        unroll!(eight in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
            unroll!(half in [0 1] {
                let (left, right) = old(row + 8 * half as u32, column + 8 * eight as u32);
                let sum = 4 * eight + 2 * half;
                let scaled = |nth: usize, rest: f32| GpuFloat::mul_add(alpha, sums.0[nth], rest);
                packed.0[2 * eight + half] = pack_bf16(scaled(sum, left), scaled(sum + 1, right));
            });
        });
        packed
    };
    let sizes = Sizes { m, n, k, matrices: 1 };
    // SAFETY: promised by the caller.
    unsafe { product::<Bf16, SwizzledTile<COLUMNS>, ()>([a, b, c_map], sizes, group, pack) }
}

/// `C = alpha * A * B^T` for A and B in FP8 (e4m3), C in bf16. `alpha` takes the scales of A and B.
///
/// Sums are those of the tensor cores alone, with about 14 bits: cuBLAS calls this fast accumulation. Compare
/// [`promoted`](super::promoted).
///
/// # Safety
/// As for [`matmul_overlapped`](super::overlapped), but the maps of A and B are of bytes, with boxes of 128 rows
/// of 128.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_e4m3(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    group: u32,
) {
    let sizes = Sizes { m, n, k, matrices: 1 };
    let pack = |sums: Sums256, _| scaled(sums, alpha);
    // SAFETY: promised by the caller.
    unsafe { product::<E4m3, SwizzledTile<COLUMNS>, ()>([a, b, c], sizes, group, pack) }
}

/// `matmul_e4m3` for e5m2.
///
/// # Safety
/// As for `matmul_e4m3`.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k32.f32.e5m2.e5m2
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_e5m2(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    group: u32,
) {
    let sizes = Sizes { m, n, k, matrices: 1 };
    let pack = |sums: Sums256, _| scaled(sums, alpha);
    // SAFETY: promised by the caller.
    unsafe { product::<E5m2, SwizzledTile<COLUMNS>, ()>([a, b, c], sizes, group, pack) }
}

/// `C = alpha * A * B^T + beta * C` with C in f32. A quad of lanes writes 32 neighbouring bytes of a row, a whole sector, from
/// registers.
///
/// # Safety
/// As for [`matmul_persistent`](super::persistent), but `c` has `m` rows of `n` f32.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 64x st.global.v2.b32 or st.global.b64
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]
pub unsafe fn matmul_to_f32(
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
                let (row, column) = (row * ROWS + half * 64, column * COLUMNS);
                let [left, right] =
                    pipeline::multiply::<Bf16, SwizzledTile<COLUMNS>>(&mut ring, half, steps).halves();
                let c = pipeline::Destination { c, m, n, alpha, beta };
                c.write((row, column), lane, &left);
                c.write((row, column + 128), lane, &right);
            }
        }
    }
}
