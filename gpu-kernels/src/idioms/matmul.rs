//! The naive matrix product, four times over; see the [module above](super), and [`crate::matmul`] for better ones.

use crate::matmul::dot_product;
use crate::position::{element, grid_position};
use core::cell::Cell;
use cuda_std::{GpuFloat, kernel};

/// Multiplies with checked indexing: two checks for each multiplication.
///
/// # Safety
/// Nothing else touches `c` during the launch.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains trap
// PTX: allows trap because the checks are what this kernel shows
#[kernel]
pub unsafe fn checked_matmul(a: &[f32], b: &[f32], c: &[Cell<f32>], m: u32, n: u32, k: u32) {
    let (column, row) = grid_position();
    if row < m && column < n {
        let mut sum = 0.0;
        for nth in 0..k {
            sum = GpuFloat::mul_add(a[element(row, k, nth)], b[element(nth, n, column)], sum);
        }
        c[element(row, n, column)].set(sum);
    }
}

/// Multiplies a row and a column as iterators: the column is every `n`-th element from its first on.
///
/// # Safety
/// As for [`checked_matmul`].
// PTX: contains 2x ld.global.nc.b32
// PTX: lacks trap
#[kernel]
pub unsafe fn iterated_matmul(a: &[f32], b: &[f32], c: &[Cell<f32>], m: u32, n: u32, k: u32) {
    let (column, row) = grid_position();
    if row < m
        && column < n
        && let Some(row_of_a) = a.get(element(row, k, 0)..element(row, k, k))
        && let Some(place) = c.get(element(row, n, column))
    {
        let column_of_b = b.iter().skip(column as usize).step_by(n as usize);
        place.set(
            row_of_a
                .iter()
                .zip(column_of_b)
                .fold(0.0, |sum: f32, (left, right)| GpuFloat::mul_add(*left, *right, sum)),
        );
    }
}

/// Multiplies with checked indexing of rows that were cut out first. Each row of B has `n` elements for the compiler too, so
/// that `column < n` is all that it needs to know. But an iterator carries its pointer along, and LLVM no longer sees that it
/// is to what nothing writes: these loads are not of the read-only kind.
///
/// # Safety
/// As for [`checked_matmul`].
// PTX: contains 2x ld.global.b32
// PTX: contains trap
// PTX: allows trap because the assertions are what this kernel shows
#[kernel]
pub unsafe fn asserted_matmul(a: &[f32], b: &[f32], c: &[Cell<f32>], m: u32, n: u32, k: u32) {
    let (column, row) = grid_position();
    if row < m && column < n {
        let row_of_a = &a[element(row, k, 0)..element(row, k, k)];
        let rows_of_b = b.chunks_exact(n as usize);
        let mut sum = 0.0;
        for (left, row_of_b) in row_of_a.iter().zip(rows_of_b) {
            sum = GpuFloat::mul_add(*left, row_of_b[column as usize], sum);
        }
        c[element(row, n, column)].set(sum);
    }
}

/// Multiplies without checks: with nothing to check between them, loads can be issued before the first is needed, and
/// compilers do so by themselves once the source begins with two products at a time.
///
/// # Safety
/// As for [`checked_matmul`], and the slices have `m * k`, `k * n` and `m * n` elements.
// PTX: contains 4x ld.global.nc.b32
// PTX: lacks trap
#[kernel]
pub unsafe fn unchecked_matmul(a: &[f32], b: &[f32], c: &[Cell<f32>], m: u32, n: u32, k: u32) {
    let (column, row) = grid_position();
    if row < m && column < n {
        // SAFETY: row, column and `nth` are within the matrices.
        unsafe {
            let sum = dot_product(k, |nth| {
                (*b.get_unchecked(element(nth, n, column)), *a.get_unchecked(element(row, k, nth)))
            });
            c.get_unchecked(element(row, n, column)).set(sum);
        }
    }
}
