//! # Matrix multiplication: data reuse
//!
//! A matrix product uses each number of A `n` times and each number of B `m` times. Its speed depends on where these
//! numbers are read from: global memory, shared memory or registers. `C = alpha * A * B + beta * C`, where A has `m` rows of
//! `k` elements, B `k` rows of `n`, and C `m` rows of `n`.
//!
//! The product needs `2 m n k` operations on `m k + k n` numbers. The measure of reuse is *arithmetic intensity*, the
//! operations per byte loaded from global memory:
//!
//! - `matmul_naive`: one element of C per thread. Each multiplication loads both operands: a quarter of an operation per byte.
//!   Neighbouring threads load the same row of A or the same lines of B, so L1 serves most of these loads, and is the limit.
//! - `matmul_tiled_16`, `matmul_tiled_32`: a block loads a tile of A and a tile of B into shared memory, one element of each
//!   per thread, and all its threads multiply from there. That takes 16 or 32 times fewer loads from global memory: 4 or 8
//!   operations per byte. Each tile needs two barriers, one after it is loaded and one before the next overwrites it. Each
//!   multiplication now loads from shared memory, which is the new limit.
//! - `matmul_tiled_dynamic`: the same with a tile width that is known only at the launch, in dynamic shared memory. The
//!   compiler cannot unroll a loop whose length it does not know.
//! - `matmul_register`: each thread keeps 8 x 8 elements of C in registers; see [`register`](crate::unchecked::register).
//! - `matmul_register_wide`: 8 x 16 elements, in the order and with the loads that the multiprocessor's own limits ask for; see
//!   [`wide`](crate::unchecked::register::wide).
//!
//! Tensor cores multiply small matrices in one instruction, sixteen times as many operations a clock. On a GPU of compute
//! capability 9.0 (H100, H200) `matmul_mma`, `matmul_wgmma` and `matmul_overlapped` compute `C = A * B^T` in bf16 with sums in
//! f32, B as n rows of k; n and k are multiples of 8. What feeds such units is the subject of
//! [`tensor`](crate::unchecked::tensor): fragments that lanes load, tiles that the copy engine loads, and a block in which
//! some warps only load and others only multiply. The inputs are whole numbers up to 7, which verify exactly. They
//! change fewer bits than random numbers do and so draw less power, which allows a higher clock: expect a few per cent less
//! of random numbers.
//!
//! Tiles have a largest size: a width of `w` takes `2 * w^2 * 4` bytes of shared memory, and `w^2` threads in a block of at
//! most 1024. The width of 1024 that the original article prints would take 8 MiB and a million threads.
//!
//! As in BLAS, C is not read if `beta` is 0.
//!
//! # Launch
//! All in single precision take `(a, b, c, m, n, k, alpha, beta)`. m, n and k are any.
//!
//! | kernel | block | grid | dynamic shared bytes |
//! | --- | --- | --- | --- |
//! | `matmul_naive` | any `bx` by `by` | `ceil(n / bx)` by `ceil(m / by)` | 0 |
//! | `matmul_tiled_16`, `_32` | 16 x 16, 32 x 32 | `ceil(n / 16)` by `ceil(m / 16)`, .. | 0 |
//! | `matmul_tiled_dynamic` | any `w` by `w` | `ceil(n / w)` by `ceil(m / w)` | `2 * w * w * 4` |
//! | `matmul_register` | 256 in any shape | `ceil(n / 128)` by `ceil(m / 128)` | 0 |
//! | `matmul_register_wide` | 256 in any shape | `ceil(n / 256)` by `ceil(m / 128)` | 0 |

#![expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]

use cuda_safe::input::Strip;
use cuda_safe::names::{K, M, N};
use cuda_safe::place::Mine2;
use cuda_safe::shape::{Fixed, Plane, Square};
use cuda_safe::tile::{PerPosition, SquareCells};
use cuda_safe::{
    AlongRows, Block, Contained, Extent, GpuFloat, Matrix, Out, PerThread, Thread, Tile, kernel,
};

/// Computes one element of C per thread, with both operands of each multiplication from global memory.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains fma.rn.f32
// PTX: contains st.global.b32
// PTX: lacks shared
#[kernel]
pub fn matmul_naive(
    thread: Thread<Plane>,
    a: Matrix<f32, M, K>,
    b: Matrix<f32, K, N>,
    c: Out<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
    alpha: f32,
    beta: f32,
) {
    if let Some(mine) = thread.position(n, m) {
        finish(c, mine, alpha, dot_product(a.row(mine.y()), b.column(mine.x()), k), beta);
    }
}

/// Writes an element of C from its sum of products.
#[inline(always)]
fn finish(c: Out<f32, AlongRows<M, N>>, mine: Mine2<N, M>, alpha: f32, sum: f32, beta: f32) {
    let rest = if beta == 0.0 { 0.0 } else { beta * c.get(mine) };
    c.put(mine, GpuFloat::mul_add(alpha, sum, rest));
}

/// Sums the products of a row and a column.
#[inline(always)]
pub(crate) fn dot_product<L>(row: Strip<f32, L>, column: Strip<f32, L>, length: Extent<L>) -> f32 {
    row.fold_with(column, length, 0.0, |sum, a, b| GpuFloat::mul_add(a, b, sum))
}

/// Multiplies tiles of `W` x `W` in shared memory. A tile holds zeros beyond the edge of its matrix, which add nothing.
// PTX matmul_tiled_16, matmul_tiled_32: contains 2x ld.global.nc.b32
// PTX matmul_tiled_16: contains 16x fma.rn.f32
// PTX matmul_tiled_16: contains 16x ld.shared.b32
// PTX matmul_tiled_16: contains 4x ld.shared.v4.b32
// PTX matmul_tiled_32: contains 32x fma.rn.f32
// PTX matmul_tiled_32: contains 32x ld.shared.b32
// PTX matmul_tiled_32: contains 8x ld.shared.v4.b32
// PTX matmul_tiled_16, matmul_tiled_32: contains st.global.b32
#[kernel(matmul_tiled_16 = <16>, matmul_tiled_32 = <32>)]
pub fn matmul_tiled<const W: u32>(
    mut block: Block<Fixed<W, W>>,
    a_tile: Tile<f32, PerPosition<W, W>>,
    b_tile: Tile<f32, PerPosition<W, W>>,
    a: Matrix<f32, M, K>,
    b: Matrix<f32, K, N>,
    c: Out<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
    alpha: f32,
    beta: f32,
) {
    let block = &mut block;
    let place = block.each(|thread| thread.coordinates());
    let sum = match (block.inside(n, m), k.whole_parts()) {
        // All tiles are within their matrices, so no index is compared.
        (Some(inside), Some(parts)) => sum_of_tiles(
            block,
            (a_tile, b_tile),
            parts,
            |thread, part| a.at(inside.position(thread).y(), part.x(thread)),
            |thread, part| b.at(part.y(thread), inside.position(thread).x()),
        ),
        _ => sum_of_tiles(
            block,
            (a_tile, b_tile),
            k.parts::<W>(),
            |thread, first| a.get(place.of(thread).1, first + thread.x(), m, k).unwrap_or(0.0),
            |thread, first| b.get(first + thread.y(), place.of(thread).0, k, n).unwrap_or(0.0),
        ),
    };
    block.each(|thread| {
        if let Some(mine) = thread.position(n, m) {
            finish(c, mine, alpha, sum.of(thread), beta);
        }
    });
}

/// A tile of `matmul_tiled`, which has one cell per thread.
type CellEach<const W: u32> = Tile<f32, PerPosition<W, W>>;

/// Loads a tile of A and one of B for each part of the length, and adds the products of the thread's row and column. Each
/// thread loads one element of either tile.
#[inline(always)]
fn sum_of_tiles<const W: u32, P: Copy + Contained>(
    block: &mut Block<Fixed<W, W>>,
    (mut a_tile, mut b_tile): (CellEach<W>, CellEach<W>),
    parts: impl Iterator<Item = P>,
    a: impl Fn(&Thread<Fixed<W, W>>, P) -> f32 + Contained,
    b: impl Fn(&Thread<Fixed<W, W>>, P) -> f32 + Contained,
) -> PerThread<f32> {
    let mut sum = block.each(|_| 0.0);
    for part in parts {
        let a_loaded = block.write(a_tile, |thread, cells| cells.set(thread, a(thread, part)));
        let b_loaded = block.write(b_tile, |thread, cells| cells.set(thread, b(thread, part)));
        let (a_full, b_full) = block.sync((a_loaded, b_loaded));
        sum = block.map(sum, |thread, mut sum| {
            for first in (0..W as usize).step_by(AT_ONCE) {
                let row: [f32; AT_ONCE] = a_full.row(thread, first);
                let column: [f32; AT_ONCE] = b_full.column(thread, first);
                sum = row.into_iter().zip(column).fold(sum, |sum, (a, b)| GpuFloat::mul_add(a, b, sum));
            }
            sum
        });
        (a_tile, b_tile) = block.sync((a_full, b_full));
    }
    sum
}

/// Factors that a thread loads from a tile before it multiplies the first.
const AT_ONCE: usize = 16;

/// Multiplies tiles as wide as the block, in dynamic shared memory.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains fma.rn.f32
// PTX: contains 2x ld.shared.b32
// PTX: contains st.global.b32
#[kernel]
pub fn matmul_tiled_dynamic(
    mut block: Block<Square>,
    mut a_tile: Tile<f32, SquareCells>,
    mut b_tile: Tile<f32, SquareCells>,
    a: Matrix<f32, M, K>,
    b: Matrix<f32, K, N>,
    c: Out<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
    alpha: f32,
    beta: f32,
) {
    let place = block.each(|thread| thread.coordinates());
    let mut sum = block.each(|_| 0.0);
    let mut first = 0;
    while first < k.get() {
        let a_loaded = block.write(a_tile, |thread, cells| {
            let (_, row) = place.of(thread);
            cells.set(thread, a.get(row, first + thread.x(), m, k).unwrap_or(0.0));
        });
        let b_loaded = block.write(b_tile, |thread, cells| {
            let (column, _) = place.of(thread);
            cells.set(thread, b.get(first + thread.y(), column, k, n).unwrap_or(0.0));
        });
        let (a_full, b_full) = block.sync((a_loaded, b_loaded));
        sum = block.map(sum, |thread, sum| {
            let (row, column) = (a_full.row(thread), b_full.column(thread));
            row.fold_with(&column, sum, |sum, a, b| GpuFloat::mul_add(a, b, sum))
        });
        (a_tile, b_tile) = block.sync((a_full, b_full));
        first += block.side();
    }
    block.each(|thread| {
        if let Some(mine) = thread.position(n, m) {
            finish(c, mine, alpha, sum.of(thread), beta);
        }
    });
}
