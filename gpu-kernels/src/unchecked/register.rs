//! # Tiles in registers
//!
//! A tile in shared memory still costs two loads per multiplication. Registers reduce that to a quarter of a load. A thread
//! that computes 8 x 8 elements of C loads 8 numbers of A and 8 of B, as two vectors each, and multiplies each with each: 64
//! multiplications for 16 numbers. A block of 256 threads so keeps 128 x 128 elements of C in its registers. It takes [`DEPTH`]
//! columns of A and rows of B at a time, 32 operations per byte that it loads.
//!
//! - A's tile is transposed when it is stored, so that eight rows of one column are two vectors.
//! - A thread's eight rows, and its eight columns, are two groups of four, 64 apart. Neighbouring lanes then load
//!   neighbouring vectors, and lanes that are served together have different banks.
//! - The next tiles are loaded into registers before the present ones are multiplied, and stored to shared memory afterwards.

#![expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]

pub mod wide;

use super::position::{block_index, element};
use cuda_std::vector::F32x4;
use cuda_std::{GpuFloat, kernel, shared_array, thread};

/// Rows and columns of C that a block computes.
pub const SIDE: u32 = 128;

/// Columns of A and rows of B that are multiplied at a time.
pub const DEPTH: u32 = 8;

/// Vectors from one column of A's tile to the next. One of them is unused, so that the stores, which go down the columns, have
/// no bank conflicts.
const PITCH: usize = SIDE as usize / 4 + 1;

/// Bytes of shared memory of a block.
pub const SHARED: u32 = (DEPTH * (PITCH as u32 + SIDE / 4)) * size_of::<F32x4>() as u32;

/// A product's sizes and factors.
#[derive(Clone, Copy)]
struct Product {
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
}

impl Product {
    /// Writes an element of C from its sum of products.
    ///
    /// # Safety
    /// C has this row and column, and no other thread accesses that element.
    #[inline(always)]
    unsafe fn finish(self, c: *mut f32, row: u32, column: u32, sum: f32) {
        // SAFETY: promised by the caller.
        unsafe {
            let place = c.add(element(row, self.n, column));
            let rest = if self.beta == 0.0 { 0.0 } else { self.beta * *place };
            place.write(GpuFloat::mul_add(self.alpha, sum, rest));
        }
    }
}

/// Computes 8 x 8 elements of C per thread, in registers.
///
/// # Safety
/// `a` has `m * k` elements, `b` has `k * n`, and `c` points to `m * n`, which nothing else accesses during the launch; all
/// three begin at a multiple of 16 bytes, as every allocation does.
// PTX: contains 512x fma.rn.f32
// PTX: contains 32x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel(
    launch_bounds(256, 2),
    requires(block.count() == 256, a.len() == m * k, b.len() == k * n)
)]
pub unsafe fn matmul_register(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
) {
    let a_tile = shared_array![F32x4; DEPTH as usize * PITCH];
    let b_tile = shared_array![F32x4; (DEPTH * SIDE / 4) as usize];
    let tiles =
        Tiles { a_tile, b_tile, top: thread::block_idx_y() * SIDE, left: thread::block_idx_x() * SIDE };
    let product = Product { m, n, k, alpha, beta };
    let inside = (tiles.top + SIDE <= m) & (tiles.left + SIDE <= n);
    // SAFETY: promised by the caller; vectors are aligned where rows are multiples of four.
    unsafe {
        if inside & k.is_multiple_of(DEPTH) & n.is_multiple_of(4) {
            tiles.multiply::<true>(product, a, b, c);
        } else {
            tiles.multiply::<false>(product, a, b, c);
        }
    }
}

/// The block's tiles in shared memory and its position in C.
#[derive(Clone, Copy)]
struct Tiles {
    /// [`DEPTH`] columns of [`SIDE`] rows.
    a_tile: *mut F32x4,
    /// [`DEPTH`] rows of [`SIDE`] columns.
    b_tile: *mut F32x4,
    top: u32,
    left: u32,
}

impl Tiles {
    /// Computes the block's part of C. `WHOLE` says that all tiles are inside their matrices, in whole aligned vectors.
    #[inline(always)]
    unsafe fn multiply<const WHOLE: bool>(self, product: Product, a: &[f32], b: &[f32], c: *mut f32) {
        let thread = block_index();
        let (x, y) = ((thread % 16) as usize, (thread / 16) as usize);
        let mut sums = [[0.0_f32; 8]; 8];
        // SAFETY: what is read is within the matrices, or not read by `vector_at`; a thread writes its own cells of the
        // tiles, and reads others' only between the barriers.
        unsafe {
            let mut next = self.load::<WHOLE>(product, a, b, 0);
            let mut first = 0;
            while first < product.k {
                self.store(next);
                thread::sync_threads();
                first += DEPTH;
                if first < product.k {
                    next = self.load::<WHOLE>(product, a, b, first);
                }
                eight_times(|depth| {
                    let rows = self.a_tile.add(depth * PITCH + y);
                    let columns = self.b_tile.add(depth * SIDE as usize / 4 + x);
                    let rows = eight(*rows, *rows.add(16));
                    let columns = eight(*columns, *columns.add(16));
                    eight_times(|r| {
                        eight_times(|c| sums[r][c] = GpuFloat::mul_add(rows[r], columns[c], sums[r][c]));
                    });
                });
                thread::sync_threads();
            }
            eight_times(|r| {
                let row = self.top + (r / 4 * 64 + y * 4 + r % 4) as u32;
                let column = self.left + x as u32 * 4;
                if WHOLE {
                    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums[r];
                    finish_vector(product, c, row, column, [s0, s1, s2, s3]);
                    finish_vector(product, c, row, column + 64, [s4, s5, s6, s7]);
                } else {
                    eight_times(|nth| {
                        let column = column + (nth / 4 * 64 + nth % 4) as u32;
                        if row < product.m && column < product.n {
                            product.finish(c, row, column, sums[r][nth]);
                        }
                    });
                }
            });
        }
    }

    /// This thread's vectors of the tiles that begin at column `first` of A and row `first` of B.
    #[inline(always)]
    unsafe fn load<const WHOLE: bool>(
        self,
        product: Product,
        a: &[f32],
        b: &[f32],
        first: u32,
    ) -> (F32x4, F32x4) {
        let Product { m, n, k, .. } = product;
        let ((row, right), (down, column)) = (place_in_a(), place_in_b());
        // SAFETY: promised by the caller.
        unsafe {
            (
                vector_at::<WHOLE>(a, (m, k), self.top + row, first + right * 4),
                vector_at::<WHOLE>(b, (k, n), first + down, self.left + column * 4),
            )
        }
    }

    /// Stores the vectors of [`load`](Self::load) to shared memory, A's transposed.
    #[inline(always)]
    unsafe fn store(self, (of_a, of_b): (F32x4, F32x4)) {
        let ((row, right), (down, column)) = (place_in_a(), place_in_b());
        // SAFETY: the cells are within the tiles and this thread's alone.
        unsafe {
            let column_of_a = self.a_tile.add(right as usize * 4 * PITCH).cast::<f32>().add(row as usize);
            let [x, y, z, w] = of_a.to_array();
            column_of_a.write(x);
            column_of_a.add(4 * PITCH).write(y);
            column_of_a.add(8 * PITCH).write(z);
            column_of_a.add(12 * PITCH).write(w);
            self.b_tile.add((down * SIDE / 4 + column) as usize).write(of_b);
        }
    }
}

/// The row of the thread's vector in A's tile, and its column counted in vectors.
#[inline(always)]
fn place_in_a() -> (u32, u32) {
    (block_index() / (DEPTH / 4), block_index() % (DEPTH / 4))
}

/// The row of the thread's vector in B's tile, and its column counted in vectors.
#[inline(always)]
fn place_in_b() -> (u32, u32) {
    (block_index() / (SIDE / 4), block_index() % (SIDE / 4))
}

/// Four elements of a row of a matrix, with zeros beyond its edge.
#[inline(always)]
unsafe fn vector_at<const WHOLE: bool>(
    matrix: &[f32],
    (height, width): (u32, u32),
    row: u32,
    column: u32,
) -> F32x4 {
    // SAFETY: what is read is within the matrix, and a vector where the caller says so.
    unsafe {
        let first = matrix.as_ptr().wrapping_add(element(row, width, column));
        if WHOLE {
            *first.cast::<F32x4>()
        } else {
            F32x4::from_array([0, 1, 2, 3].map(|right| {
                let inside = (row < height) & (column + right < width);
                if inside { *first.add(right as usize) } else { 0.0 }
            }))
        }
    }
}

/// Writes four elements of C from their sums, as one vector.
#[inline(always)]
unsafe fn finish_vector(product: Product, c: *mut f32, row: u32, column: u32, sums: [f32; 4]) {
    let Product { n, alpha, beta, .. } = product;
    // SAFETY: promised by the caller.
    unsafe {
        let place = c.add(element(row, n, column)).cast::<F32x4>();
        let [x, y, z, w] = if beta == 0.0 { [0.0; 4] } else { (*place).to_array().map(|old| beta * old) };
        let [a, b, c, d] = sums;
        place.write(F32x4::new(
            GpuFloat::mul_add(alpha, a, x),
            GpuFloat::mul_add(alpha, b, y),
            GpuFloat::mul_add(alpha, c, z),
            GpuFloat::mul_add(alpha, d, w),
        ));
    }
}

/// Two vectors as one array.
#[inline(always)]
fn eight(first: F32x4, second: F32x4) -> [f32; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_array(), second.to_array());
    [a, b, c, d, e, f, g, h]
}

/// Calls `step` with 0 to 7. An array that a loop indexes stays in memory unless the optimiser unrolls the loop; eight calls
/// leave it no choice.
#[inline(always)]
fn eight_times(mut step: impl FnMut(usize)) {
    step(0);
    step(1);
    step(2);
    step(3);
    step(4);
    step(5);
    step(6);
    step(7);
}
