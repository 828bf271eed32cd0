//! The naive matrix product with checks and with types; see the [module above](super), and [`crate::matmul`] for faster ones.

use crate::matmul::dot_product;
use cuda_safe::names::{K, M, N};
use cuda_safe::shape::Plane;
use cuda_safe::{AlongRows, Checked, Extent, GpuFloat, Matrix, Out, Thread, kernel};

/// The index of the element in a row and column of a matrix whose rows have `width` elements.
#[inline(always)]
fn element(row: u32, width: u32, column: u32) -> usize {
    row as usize * width as usize + column as usize
}

/// Multiplies with types: the names of the extents prove that rows and columns are within all three matrices.
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

/// Multiplies with checked indexing: two checks per multiplication.
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

/// Multiplies with checked indexing of rows that are sliced first. The compiler knows that each row of B has `n` elements, so
/// `column < n` proves the index. But LLVM cannot tell that the pointer in the iterator points to memory that nothing writes,
/// so these loads do not take the read-only path.
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
