//! The naive matrix product with checks and with types; see the [module above](super), and [`crate::matmul`] for better ones.

use crate::matmul::dot_product;
use cuda_safe::names::{K, M, N};
use cuda_safe::shape::Plane;
use cuda_safe::{AlongRows, Checked, Extent, GpuFloat, Matrix, Out, Thread, kernel};

/// Where the element of a row and column lies in a matrix whose rows have `width` elements.
#[inline(always)]
fn element(row: u32, width: u32, column: u32) -> usize {
    row as usize * width as usize + column as usize
}

/// Multiplies with types: the rows, the columns and the length of the sum are within all three matrices by their names.
// PTX: contains 4x ld.global.nc.b32
// PTX: lacks trap
#[kernel]
pub fn typed_matmul(
    thread: Thread<Plane>,
    a: Matrix<f32, M, K>,
    b: Matrix<f32, K, N>,
    c: Out<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
) {
    if let Some(mine) = thread.position(n, m) {
        c.put(mine, dot_product(a.row(mine.y()), b.column(mine.x()), k));
    }
}

/// Multiplies with checked indexing: two checks for each multiplication.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains trap
// PTX: allows trap because the checks are what this kernel shows
#[kernel]
pub fn checked_matmul(
    thread: Thread<Plane>,
    a: &[f32],
    b: &[f32],
    c: Checked<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
) {
    if let Some(mine) = thread.position(n, m) {
        let (row, column) = (mine.y().get(), mine.x().get());
        let mut sum = 0.0;
        for nth in 0..k.get() {
            sum = GpuFloat::mul_add(a[element(row, k.get(), nth)], b[element(nth, n.get(), column)], sum);
        }
        c.put(mine, sum);
    }
}

/// Multiplies a row and a column as iterators: the column is every `n`-th element from its first on.
// PTX: contains 2x ld.global.nc.b32
// PTX: lacks trap
#[kernel]
pub fn iterated_matmul(
    thread: Thread<Plane>,
    a: &[f32],
    b: &[f32],
    c: Checked<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
) {
    if let Some(mine) = thread.position(n, m)
        && let Some(row_of_a) =
            a.get(element(mine.y().get(), k.get(), 0)..element(mine.y().get(), k.get(), k.get()))
    {
        let column_of_b = b.iter().skip(mine.x().get() as usize).step_by(n.get() as usize);
        let products = row_of_a.iter().zip(column_of_b);
        c.try_put(mine, products.fold(0.0, |sum: f32, (left, right)| GpuFloat::mul_add(*left, *right, sum)));
    }
}

/// Multiplies with checked indexing of rows that were cut out first. Each row of B has `n` elements for the compiler too, so
/// that `column < n` is all that it needs to know. But an iterator carries its pointer along, and LLVM no longer sees that it
/// is to what nothing writes: these loads are not of the read-only kind.
// PTX: contains 2x ld.global.b32
// PTX: contains trap
// PTX: allows trap because the assertions are what this kernel shows
#[kernel]
pub fn asserted_matmul(
    thread: Thread<Plane>,
    a: &[f32],
    b: &[f32],
    c: Checked<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
) {
    if let Some(mine) = thread.position(n, m) {
        let (row, column) = (mine.y().get(), mine.x().get());
        let row_of_a = &a[element(row, k.get(), 0)..element(row, k.get(), k.get())];
        let rows_of_b = b.chunks_exact(n.get() as usize);
        let mut sum = 0.0;
        for (left, row_of_b) in row_of_a.iter().zip(rows_of_b) {
            sum = GpuFloat::mul_add(*left, row_of_b[column as usize], sum);
        }
        c.put(mine, sum);
    }
}
