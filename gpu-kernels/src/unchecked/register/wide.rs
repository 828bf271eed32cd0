//! # Operands and scoreboards
//!
//! With [its sums in registers](super) a product reaches 73% of the multiplications that an H200 has units for, at its highest
//! clock throughout. What is left is within the multiprocessor. Each of its four schedulers issues one instruction a clock, so
//! the first loss is plain: every instruction that is no multiplication. A thread with 8 x 16 elements of C loads six vectors
//! for 128 multiplications, where 8 x 8 take four for 64. Two losses more show in the machine code alone.
//!
//! **Operands.** A multiplication has three operands in registers, more than the register file delivers in a clock. A loop of
//! nothing but multiplications, in the order that the compiler found, ran at 76% of the data sheet's rate. The scheduler
//! keeps an operand of the instruction before, in the same position (`.reuse` in machine code). So the order matters: down
//! the first column of the thread's elements, up the second, down the third. Each multiplication then shares a factor with the
//! one before it, at the turns as well. `ptxas` follows this order, but not every other: row by row, it took them in fours.
//!
//! **Scoreboards.** A warp has six counters by which an instruction waits for loads. If a load from global memory has the counter
//! of a load from shared memory, the multiplications that wait for the one wait for DRAM. That happened where the next
//! tiles were loaded in the middle of the loop's code, and cost up to 12%. Here the loads stand in a branch, which the matrices'
//! edges need in any case. `ptxas` moves no load out of it, and the tiles have a third of a step to come.
//!
//! The rest is as before, with two tiles of each matrix in place of one, so that a step has a single barrier:
//!
//! - Each warp has 64 x 64 of C. Lanes whose numbers differ in bit 0 load the same rows of A, and those that differ in bit 1
//!   the same columns of B. Shared memory serves such a pair as one lane: two wavefronts per load in place of four.
//! - Vectors of a column of A's tile are swizzled, not padded: the transposing stores have no bank conflicts, and the four
//!   tiles take 48 KiB, all that a block has without asking for more.
//! - Blocks take their parts of C in bands of eight rows of blocks ([`tiles`]), so that those that run together read little of
//!   A and of B.
//!
//! # What was tried
//! Rates as shares of cuBLAS's in the same run, at 4096 x 4096 x 4096 on an H200 (cuBLAS without TF32: 51.4 TFLOP/s):
//!
//! | form | share |
//! | --- | --- |
//! | `matmul_register` | 0.950 |
//! | 8 x 8 per thread, two tiles, `cp.async` for B, multiplications row by row | 0.948 |
//! | 8 x 16, row by row; steps of 8, of 16 | 0.941, 0.960 |
//! | 8 x 16, A not transposed but read along `k`: the compiler finds no registers without bank conflicts | 0.87 to 0.88 |
//! | 8 x 16, there and back, loads sharing counters | 0.887 |
//! | 8 x 16, there and back, `cp.async` for B, steps of 16 | 1.016 |
//! | this algorithm, 128 x 128 per block of 128 threads, two blocks per multiprocessor | 0.991 |
//! | this algorithm, the next tiles loaded right after the barrier, before the step's first factors | 0.998 |
//! | `matmul_register_wide` | 1.024; 1.038 at 8192, 1.005 at 16384 |
//!
//! `ptxas` assigns registers differently after each small change, which alone moves the rate by 1% or 2%. The clock stayed at
//! 1980 MHz throughout, so power is no limit. Steps of 32, three or four tiles, another number of rows of blocks per band, and
//! copies past L1 changed less than 2% or lost.
//!
//! # Launch
//! Parameters and sizes are those of [`matmul_register`](super). Blocks of [`THREADS`] in any shape; a grid of
//! `ceil(n / 256)` by `ceil(m / 128)`. Blocks whose part is inside C load vectors if `k` and `n` are multiples of four, except
//! the last step where `k` is not a multiple of [`DEPTH`]; the rest goes element by element.

#![expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]

use super::{Product, finish_vector, vector_at};
use crate::unchecked::position::{block_index, element};
use crate::unchecked::tensor::tiles;
use cuda_std::vector::F32x4;
use cuda_std::{GpuFloat, kernel, shared_array, thread, unroll};

/// Rows of C that a block computes.
pub const ROWS: u32 = 128;

/// Columns of C that a block computes.
pub const COLUMNS: u32 = 256;

/// Threads of a block: eight warps.
pub const THREADS: u32 = 256;

/// Columns of A and rows of B that are multiplied at a time.
pub const DEPTH: u32 = 16;

/// Bytes of shared memory of a block: two tiles of either matrix.
pub const SHARED: u32 = 2 * (A_TILE + B_TILE) as u32 * size_of::<F32x4>() as u32;

/// Rows of blocks in a band.
const BAND: u32 = 8;

/// Vectors of a column of A's tile, and of a row of B's.
const DOWN: usize = ROWS as usize / 4;
const ACROSS: usize = COLUMNS as usize / 4;

/// Vectors of the tiles.
const A_TILE: usize = DEPTH as usize * DOWN;
const B_TILE: usize = DEPTH as usize * ACROSS;

/// Vectors of each tile that a thread loads: a part of every 64th row of A's, and of every 4th row of B's.
const A_SHARE: usize = A_TILE / THREADS as usize;
const B_SHARE: usize = B_TILE / THREADS as usize;

/// A thread's elements of C: eight rows of four vectors. Rows and vectors are four in a run; a run of rows is 32 from the next,
/// and a vector 16 columns.
type Sums = [[[f32; 4]; 4]; 8];

/// Computes 8 x 16 elements of C per thread, in registers.
///
/// # Safety
/// `a` has `m * k` elements, `b` has `k * n`, and `c` points to `m * n`, which nothing else accesses during the launch; all
/// three begin at a multiple of 16 bytes, as every allocation does. `k` is less than 2^31, and the grid covers C.
// PTX: contains 2048x fma.rn.f32
// PTX: contains 96x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 12x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 32x st.global.v4.b32 or st.global.v2.b64
#[kernel(
    launch_bounds(THREADS),
    requires(block.count() == 256, a.len() == m * k, b.len() == k * n)
)]
pub unsafe fn matmul_register_wide(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
) {
    let a_tiles = shared_array![F32x4; 2 * A_TILE];
    let b_tiles = shared_array![F32x4; 2 * B_TILE];
    let block = Block::new(a, b, Product { m, n, k, alpha, beta });
    let mut sums = [[[0.0; 4]; 4]; 8];
    // SAFETY: promised by the caller.
    unsafe {
        block.accumulate(&mut sums, a_tiles, b_tiles);
        block.finish(&sums, c);
    }
}

/// A block's part of the product, and its thread's place in it.
#[derive(Clone, Copy)]
struct Block<'a> {
    product: Product,
    a: &'a [f32],
    b: &'a [f32],
    /// The first row and column of the block's part.
    top: u32,
    left: u32,
    /// Whether that part is inside C, and rows of A and B consist of whole vectors.
    is_whole: bool,
    /// Where the thread's first elements of A and B are, as far as they exist.
    from_a: *const f32,
    from_b: *const f32,
}

impl<'a> Block<'a> {
    #[inline(always)]
    fn new(a: &'a [f32], b: &'a [f32], product: Product) -> Self {
        let Product { m, n, k, .. } = product;
        // SAFETY: a grid has blocks in both directions.
        let tiles = unsafe { tiles::Tiles::new(thread::grid_dim_y(), thread::grid_dim_x(), BAND) };
        let (row, column) = tiles.place(thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x());
        let (top, left) = (row * ROWS, column * COLUMNS);
        let ((down, right), (below, beside)) = (place_in_a(), place_in_b());
        Self {
            product,
            a,
            b,
            top,
            left,
            is_whole: (top + ROWS <= m) & (left + COLUMNS <= n) & k.is_multiple_of(4) & n.is_multiple_of(4),
            from_a: a.as_ptr().wrapping_add(element(top + down, k, right)),
            from_b: b.as_ptr().wrapping_add(element(below, n, left + beside)),
        }
    }

    /// Adds the products of all tiles to the thread's sums.
    #[inline(always)]
    unsafe fn accumulate(&self, sums: &mut Sums, a_tiles: *mut F32x4, b_tiles: *mut F32x4) {
        let ((lane_row, lane_column), (warp_row, warp_column)) = place_in_c();
        let (mut of_a, mut of_b) = ([[0.0; 4]; 2], [[0.0; 4]; 4]);
        // Which of the two tiles is multiplied, and which is loaded.
        let (mut now, mut later) = (0, 1);
        let mut first = 0;
        // SAFETY: a thread stores its own cells, of the tiles that no thread reads before the next barrier; what lies
        // beyond the matrices is not read.
        unsafe {
            store_a(self.load_a(0), a_tiles);
            store_b(self.load_b(0), b_tiles);
            while first < self.product.k {
                thread::sync_threads();
                first += DEPTH;
                let mut next_a = [F32x4::splat(0.0); A_SHARE];
                let mut next_b = [F32x4::splat(0.0); B_SHARE];
                let rows = a_tiles.add(now * A_TILE + warp_row / 4);
                let columns = b_tiles.add(now * B_TILE + (warp_column + lane_column) / 4);
                // Factors are loaded while the ones before them are multiplied: the first ones while the last ones of the
                // step before are, which the very first step has as zeros.
                unroll!(depth in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                    let following = (column_of_a(rows, lane_row, depth), row_of_b(columns, depth));
                    multiply(sums, &of_a, &of_b);
                    // A's vectors come before B's, because there are registers for either.
                    if depth == 2 {
                        next_a = self.load_a(first);
                    }
                    if depth == 8 {
                        store_a(next_a, a_tiles.add(later * A_TILE));
                        next_b = self.load_b(first);
                    }
                    if depth == 14 {
                        store_b(next_b, b_tiles.add(later * B_TILE));
                    }
                    (of_a, of_b) = following;
                });
                core::mem::swap(&mut now, &mut later);
            }
        }
        multiply(sums, &of_a, &of_b);
    }

    /// Whether the tiles that begin at column `first` of A and row `first` of B are all vectors.
    #[inline(always)]
    fn is_vectors(&self, first: u32) -> bool {
        self.is_whole & (first + DEPTH <= self.product.k)
    }

    /// This thread's vectors of A's tile that begins at column `first`, with zeros beyond the matrix.
    #[inline(always)]
    unsafe fn load_a(&self, first: u32) -> [F32x4; A_SHARE] {
        let Product { m, k, .. } = self.product;
        // SAFETY: promised by the caller.
        unsafe {
            if self.is_vectors(first) {
                let from = self.from_a.add(first as usize);
                return [0, 64].map(|row| *from.add(row * k as usize).cast());
            }
            let (down, right) = place_in_a();
            [0, 64].map(|row| vector_at::<false>(self.a, (m, k), self.top + down + row, first + right))
        }
    }

    /// This thread's vectors of B's tile that begins at row `first`, with zeros beyond the matrix.
    #[inline(always)]
    unsafe fn load_b(&self, first: u32) -> [F32x4; B_SHARE] {
        let Product { n, k, .. } = self.product;
        // SAFETY: promised by the caller.
        unsafe {
            if self.is_vectors(first) {
                let from = self.from_b.add(element(first, n, 0));
                return [0, 4, 8, 12].map(|row| *from.add(row * n as usize).cast());
            }
            let (down, right) = place_in_b();
            [0, 4, 8, 12].map(|row| vector_at::<false>(self.b, (k, n), first + down + row, self.left + right))
        }
    }

    /// Writes the thread's elements of C.
    #[inline(always)]
    unsafe fn finish(&self, sums: &Sums, c: *mut f32) {
        let ((lane_row, lane_column), (warp_row, warp_column)) = place_in_c();
        let Product { m, n, .. } = self.product;
        // SAFETY: these elements are this thread's alone, and whole vectors are aligned.
        unsafe {
            unroll!(nth in [0 1 2 3 4 5 6 7] {
                let row = self.top + (warp_row + lane_row + nth / 4 * 32 + nth % 4) as u32;
                unroll!(vector in [0 1 2 3] {
                    let column = self.left + (warp_column + lane_column + vector * 16) as u32;
                    if self.is_whole {
                        finish_vector(self.product, c, row, column, sums[nth][vector]);
                    } else {
                        unroll!(right in [0 1 2 3] {
                            let column = column + right as u32;
                            if row < m && column < n {
                                self.product.finish(c, row, column, sums[nth][vector][right]);
                            }
                        });
                    }
                });
            });
        }
    }
}

/// Multiplies eight elements of a column of A by sixteen of a row of B: down one column of C and up the next.
#[inline(always)]
fn multiply(sums: &mut Sums, of_a: &[[f32; 4]; 2], of_b: &[[f32; 4]; 4]) {
    unroll!(vector in [0 1 2 3] {
        unroll!(column in [0 1 2 3] {
            unroll!(nth in [0 1 2 3 4 5 6 7] {
                const ROW: usize = if column.is_multiple_of(2) { nth } else { 7 - nth };
                let sum = &mut sums[ROW][vector][column];
                *sum = GpuFloat::mul_add(of_a[ROW / 4][ROW % 4], of_b[vector][column], *sum);
            });
        });
    });
}

/// The row and column of the thread's first vector in A's tile.
#[inline(always)]
fn place_in_a() -> (u32, u32) {
    (block_index() / (DEPTH / 4), block_index() % (DEPTH / 4) * 4)
}

/// The row and column of the thread's first vector in B's tile.
#[inline(always)]
fn place_in_b() -> (u32, u32) {
    (block_index() / ACROSS as u32, block_index() % ACROSS as u32 * 4)
}

/// The row and column of the lane's first element in its warp's part of the block's, and of the warp's part in that.
#[inline(always)]
fn place_in_c() -> ((usize, usize), (usize, usize)) {
    let (lane, warp) = (block_index() as usize % 32, block_index() as usize / 32);
    ((lane / 2 % 8 * 4, (lane % 2 + lane / 16 * 2) * 4), (warp % 2 * 64, warp / 2 * 64))
}

/// What the numbers of vectors in a column of A's tile are combined with, by exclusive or.
#[inline(always)]
const fn swizzle(depth: usize) -> usize {
    depth / 4 % 4 * 2
}

/// Two vectors of a column of A's tile, 32 rows apart.
#[inline(always)]
unsafe fn column_of_a(rows: *const F32x4, lane_row: usize, depth: usize) -> [[f32; 4]; 2] {
    // SAFETY: they are within the tile.
    unsafe {
        let from = rows.add(depth * DOWN + ((lane_row / 4) ^ swizzle(depth)));
        [(*from).to_array(), (*from.add(8)).to_array()]
    }
}

/// Four vectors of a row of B's tile, 16 columns apart.
#[inline(always)]
unsafe fn row_of_b(columns: *const F32x4, depth: usize) -> [[f32; 4]; 4] {
    // SAFETY: they are within the tile.
    unsafe {
        let from = columns.add(depth * ACROSS);
        let mut row = [[0.0; 4]; 4];
        unroll!(vector in [0 1 2 3] { row[vector] = (*from.add(4 * vector)).to_array(); });
        row
    }
}

/// Stores the vectors of [`Block::load_a`] in a tile, transposed.
#[inline(always)]
unsafe fn store_a(of_a: [F32x4; A_SHARE], tile: *mut F32x4) {
    let (row, depth) = (place_in_a().0 as usize, place_in_a().1 as usize);
    // SAFETY: the cells are within the tile and this thread's alone.
    unsafe {
        let column = tile.add(depth * DOWN + ((row / 4) ^ swizzle(depth))).cast::<f32>().add(row % 4);
        unroll!(nth in [0 1] {
            unroll!(right in [0 1 2 3] {
                column.add(nth * 64 + right * 4 * DOWN).write(of_a[nth].to_array()[right]);
            });
        });
    }
}

/// Stores the vectors of [`Block::load_b`] in a tile.
#[inline(always)]
unsafe fn store_b(of_b: [F32x4; B_SHARE], tile: *mut F32x4) {
    // SAFETY: the cells are within the tile and this thread's alone.
    unsafe {
        unroll!(nth in [0 1 2 3] {
            tile.add(block_index() as usize + nth * THREADS as usize).write(of_b[nth]);
        });
    }
}
