//! # Matrix multiplication: the same number, read a thousand times
//!
//! `C = alpha * A * B + beta * C`, where A has `m` rows of `k`, B `k` rows of `n`, and C `m` rows of `n`. The product needs
//! `2 m n k` operations on `m k + k n` numbers: each number is used `n` or `m` times. How fast it goes is a question of
//! where it is used from. In operations for each byte that is loaded (*arithmetic intensity*):
//!
//! - `matmul_naive`: one thread an element of C; each multiplication loads both its operands, a quarter of an operation
//!   a byte. L1 catches most of it, since neighbours load the same row of A or the same lines of B, and is then what
//!   everything waits for.
//! - `matmul_tiled_16`, `matmul_tiled_32`: a block takes a tile of A and a tile of B into shared memory, one element each a
//!   thread, and all its threads multiply from there: 16 or 32 times fewer loads from global memory, 4 or 8 operations
//!   a byte. Two barriers a tile: when it is loaded, and before the next one overwrites it. Now each multiplication loads
//!   from shared memory, and that is the new wait.
//! - `matmul_tiled_dynamic`: the same with the width of the block's tile known at the launch only, in dynamic
//!   shared memory. What the compiler does not know it cannot unroll.
//! - `matmul_register`: the step after that, in [`register`].
//!
//! A tile must fit: `2 * width^2 * 4` bytes of shared memory, and `width^2` threads in a block of at most 1024. A width of
//! 1024, as the article prints it, asks for 8 MiB and a million threads.
//!
//! As in BLAS, a `beta` of 0 means that C is not read, whatever is in it.
//!
//! # Launch
//! All take `(a, b, c, m, n, k, alpha, beta)`: two slices, a pointer, three `u32` up to 2^31, two `f32`. m, n and k are
//! any.
//!
//! | kernel | block | grid | dynamic shared bytes |
//! | --- | --- | --- | --- |
//! | `matmul_naive` | any `bx` by `by` | `ceil(n / bx)` by `ceil(m / by)` | 0 |
//! | `matmul_tiled_16`, `_32` | 16 x 16, 32 x 32 | `ceil(n / 16)` by `ceil(m / 16)`, .. | 0 |
//! | `matmul_tiled_dynamic` | any `w` by `w` | `ceil(n / w)` by `ceil(m / w)` | `2 * w * w * 4` |
//! | `matmul_register` | 256 in any shape | `ceil(n / 128)` by `ceil(m / 128)` | 0 |

#![expect(clippy::too_many_arguments, reason = "the arguments of BLAS")]

pub mod register;

use crate::position::{element, grid_position};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::vector::F32x4;
use cuda_std::{GpuFloat, kernel, shared_array, thread};

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
    /// Puts a sum of products in its place in C.
    ///
    /// # Safety
    /// C has this row and column, and they are the calling thread's alone.
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

/// One element of C a thread, both operands of each multiplication from global memory.
///
/// # Safety
/// `a` has `m * k` elements, `b` has `k * n`, and `c` points to `m * n`, which nothing else touches during the launch.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains fma.rn.f32
// PTX: contains st.global.b32
// PTX: lacks shared
#[kernel]
pub unsafe fn matmul_naive(a: &[f32], b: &[f32], c: *mut f32, m: u32, n: u32, k: u32, alpha: f32, beta: f32) {
    let (column, row) = grid_position();
    if column < n && row < m {
        // SAFETY: row, column and `nth` are within both matrices, and the element of C is this thread's alone.
        unsafe {
            let sum = dot_product(k, |nth| {
                (*b.get_unchecked(element(nth, n, column)), *a.get_unchecked(element(row, k, nth)))
            });
            Product { m, n, k, alpha, beta }.finish(c, row, column, sum);
        }
    }
}

/// The sum of `length` products, whose factors are `factors(n)`, loaded in this order. Two at a time, all four factors first;
/// from there the compilers go on unrolling.
#[inline(always)]
pub(crate) fn dot_product(length: u32, factors: impl Fn(u32) -> (f32, f32)) -> f32 {
    let add = |sum, (one, other)| GpuFloat::mul_add(other, one, sum);
    let (mut sum, mut nth) = (0.0, 0);
    while length - nth >= 2 {
        let (first, second) = (factors(nth), factors(nth + 1));
        sum = add(add(sum, first), second);
        nth += 2;
    }
    while nth < length {
        sum = add(sum, factors(nth));
        nth += 1;
    }
    sum
}

/// Adds `length` products to a sum, `AT_ONCE` of whose factors are loaded before the first are multiplied. `left(n)` and
/// `right(n)` are the factors of the `n`-th product.
#[inline(always)]
fn add_products<const AT_ONCE: usize>(
    mut sum: f32,
    length: u32,
    left: impl Fn(usize) -> f32,
    right: impl Fn(usize) -> f32,
) -> f32 {
    let length = length as usize;
    let mut first = 0;
    while first + AT_ONCE <= length {
        let left: [f32; AT_ONCE] = core::array::from_fn(|nth| left(first + nth));
        let right: [f32; AT_ONCE] = core::array::from_fn(|nth| right(first + nth));
        sum = left.into_iter().zip(right).fold(sum, |sum, (left, right)| GpuFloat::mul_add(left, right, sum));
        first += AT_ONCE;
    }
    (first..length).fold(sum, |sum, nth| GpuFloat::mul_add(left(nth), right(nth), sum))
}

/// Tiles of 16 x 16 in shared memory.
///
/// # Safety
/// As for [`matmul_naive`], with blocks of 16 x 16.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains 16x fma.rn.f32
// PTX: contains 16x ld.shared.b32
// PTX: contains 4x ld.shared.v4.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn matmul_tiled_16(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
) {
    // In vectors, so that the compiler knows the tiles to be aligned and loads four elements of a row at a time.
    let (a_tile, b_tile) = (shared_array![F32x4; 16 * 4], shared_array![F32x4; 16 * 4]);
    // SAFETY: promised by the caller.
    unsafe { Product { m, n, k, alpha, beta }.by_tiles::<16>(16, a_tile.cast(), b_tile.cast(), a, b, c) }
}

/// Tiles of 32 x 32 in shared memory.
///
/// # Safety
/// As for [`matmul_naive`], with blocks of 32 x 32.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains 32x fma.rn.f32
// PTX: contains 32x ld.shared.b32
// PTX: contains 8x ld.shared.v4.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn matmul_tiled_32(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
) {
    let (a_tile, b_tile) = (shared_array![F32x4; 32 * 8], shared_array![F32x4; 32 * 8]);
    // SAFETY: promised by the caller.
    unsafe { Product { m, n, k, alpha, beta }.by_tiles::<16>(32, a_tile.cast(), b_tile.cast(), a, b, c) }
}

/// Tiles as wide as the block in dynamic shared memory.
///
/// # Safety
/// As for [`matmul_naive`], with square blocks and two words of dynamic shared memory for each thread.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains fma.rn.f32
// PTX: contains 2x ld.shared.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn matmul_tiled_dynamic(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    beta: f32,
) {
    let width = thread::block_dim_x();
    let a_tile = dynamic_shared_mem::<f32>();
    // SAFETY: the second tile follows the first; the rest is promised by the caller.
    unsafe {
        let b_tile = a_tile.add((width * width) as usize);
        Product { m, n, k, alpha, beta }.by_tiles::<8>(width, a_tile, b_tile, a, b, c);
    }
}

impl Product {
    /// One element of C a thread, from tiles of `width` x `width` in shared memory, of which `AT_ONCE`
    /// factors are loaded at a time. Where a tile reaches over a matrix's
    /// edge it holds zeros, which add nothing.
    ///
    /// # Safety
    /// As for [`matmul_naive`], with blocks of `width` x `width`; the tiles have as many elements.
    #[inline(always)]
    unsafe fn by_tiles<const AT_ONCE: usize>(
        self,
        width: u32,
        a_tile: *mut f32,
        b_tile: *mut f32,
        a: &[f32],
        b: &[f32],
        c: *mut f32,
    ) {
        let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
        let (column, row) = (thread::block_idx_x() * width + x, thread::block_idx_y() * width + y);
        let here = (y * width + x) as usize;
        let mut from_a = element(row, self.k, x);
        let mut sum = 0.0;
        let mut first = 0;
        while first < self.k {
            // SAFETY: what is loaded is within its matrix, a thread writes its own place in each tile, and reads
            // others' only between the barriers.
            unsafe {
                let in_a = (row < self.m) & (first + x < self.k);
                let in_b = (first + y < self.k) & (column < self.n);
                a_tile.add(here).write(if in_a { *a.get_unchecked(from_a) } else { 0.0 });
                b_tile.add(here).write(if in_b {
                    *b.get_unchecked(element(first + y, self.n, column))
                } else {
                    0.0
                });
                thread::sync_threads();
                let (row_of_a, column_of_b) = (a_tile.add((y * width) as usize), b_tile.add(x as usize));
                let left = |nth| *row_of_a.add(nth);
                let right = |nth| *column_of_b.add(nth * width as usize);
                sum = add_products::<AT_ONCE>(sum, width, left, right);
                thread::sync_threads();
            }
            first += width;
            from_a += width as usize;
        }
        if row < self.m && column < self.n {
            // SAFETY: C has this row and column, and they are this thread's alone.
            unsafe { self.finish(c, row, column, sum) }
        }
    }
}
