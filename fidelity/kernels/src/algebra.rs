//! Vectors and matrices against vectors: BLAS 1 and 2, and PolyBench's kernels of that kind.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, atomic::mid, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{block_sum, index, warp_sum};

/// `y = a x + y`.
#[kernel]
pub unsafe fn axpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
    let i = index();
    if i < n as usize {
        *y.add(i) = a.mul_add(*x.add(i), *y.add(i));
    }
}

/// The same in double precision.
#[kernel]
pub unsafe fn daxpy(n: u32, a: f64, x: *const f64, y: *mut f64) {
    let i = index();
    if i < n as usize {
        *y.add(i) = a.mul_add(*x.add(i), *y.add(i));
    }
}

/// STREAM's triad with a loop over the grid.
#[kernel]
pub unsafe fn triad_loop(n: u32, s: f32, a: *mut f32, b: *const f32, c: *const f32) {
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = index();
    while i < n as usize {
        *a.add(i) = s.mul_add(*c.add(i), *b.add(i));
        i += step;
    }
}

/// A sum per block of products; the second step is another launch.
#[kernel]
pub unsafe fn dot_partial(n: u32, x: *const f32, y: *const f32, partial: *mut f32) {
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = index();
    let mut sum = 0.0_f32;
    while i < n as usize {
        sum = (*x.add(i)).mul_add(*y.add(i), sum);
        i += step;
    }
    let sum = block_sum(sum);
    if thread::thread_idx_x() == 0 {
        *partial.add(thread::block_idx_x() as usize) = sum;
    }
}

/// The sum of squares, one float atomic per block.
#[kernel]
pub unsafe fn squares_atomic(n: u32, x: *const f32, sum: *mut f32) {
    let i = index();
    let value = if i < n as usize { *x.add(i) } else { 0.0 };
    let total = block_sum(value * value);
    if thread::thread_idx_x() == 0 {
        mid::atomic_fetch_add_f32_device(sum, Relaxed, total);
    }
}

/// `y = A x` with a thread per row: neighbouring threads read rows apart.
#[kernel]
pub unsafe fn gemv_thread(rows: u32, columns: u32, a: *const f32, x: *const f32, y: *mut f32) {
    let row = index();
    if row < rows as usize {
        let mut sum = 0.0_f32;
        for column in 0..columns as usize {
            sum = (*a.add(row * columns as usize + column)).mul_add(*x.add(column), sum);
        }
        *y.add(row) = sum;
    }
}

/// `y = A x` with a warp per row.
#[kernel]
pub unsafe fn gemv_warp(rows: u32, columns: u32, a: *const f32, x: *const f32, y: *mut f32) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let mut sum = 0.0_f32;
        let mut column = lane;
        while column < columns as usize {
            sum = (*a.add(row * columns as usize + column)).mul_add(*x.add(column), sum);
            column += 32;
        }
        let sum = warp_sum(sum);
        if lane == 0 {
            *y.add(row) = sum;
        }
    }
}

/// `y = transpose(A) x`, the second half of PolyBench's atax, mvt and bicg: a thread walks down a column.
#[kernel]
pub unsafe fn atax_columns(rows: u32, columns: u32, a: *const f32, x: *const f32, y: *mut f32) {
    let column = index();
    if column < columns as usize {
        let mut sum = 0.0_f32;
        for row in 0..rows as usize {
            sum = (*a.add(row * columns as usize + column)).mul_add(*x.add(row), sum);
        }
        *y.add(column) = sum;
    }
}

/// PolyBench's gesummv: `y = alpha A x + beta B x`, a thread per row.
#[kernel]
pub unsafe fn gesummv(
    n: u32,
    alpha: f32,
    beta: f32,
    a: *const f32,
    b: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let row = index();
    if row < n as usize {
        let (mut first, mut second) = (0.0_f32, 0.0_f32);
        for column in 0..n as usize {
            let value = *x.add(column);
            first = (*a.add(row * n as usize + column)).mul_add(value, first);
            second = (*b.add(row * n as usize + column)).mul_add(value, second);
        }
        *y.add(row) = alpha * first + beta * second;
    }
}

/// PolyBench's gemver, first step: `B = A + u1 v1 + u2 v2`, a thread per element in blocks of 32 x 8.
#[kernel]
pub unsafe fn gemver_outer(
    n: u32,
    a: *const f32,
    b: *mut f32,
    u1: *const f32,
    v1: *const f32,
    u2: *const f32,
    v2: *const f32,
) {
    let (x, y) = crate::position();
    if x < n as usize && y < n as usize {
        let at = y * n as usize + x;
        *b.add(at) = *a.add(at) + *u1.add(y) * *v1.add(x) + *u2.add(y) * *v2.add(x);
    }
}

/// PolyBench's correlation, means: a thread per column of the data.
#[kernel]
pub unsafe fn column_deviation(
    rows: u32,
    columns: u32,
    data: *const f32,
    mean: *mut f32,
    deviation: *mut f32,
) {
    let column = index();
    if column < columns as usize {
        let mut sum = 0.0_f32;
        for row in 0..rows as usize {
            sum += *data.add(row * columns as usize + column);
        }
        let average = sum / rows as f32;
        let mut squares = 0.0_f32;
        for row in 0..rows as usize {
            let distance = *data.add(row * columns as usize + column) - average;
            squares = distance.mul_add(distance, squares);
        }
        *mean.add(column) = average;
        *deviation.add(column) = (squares / rows as f32).sqrt();
    }
}

/// One column of Gaussian elimination (Rodinia's Fan2): every row below subtracts a multiple of the pivot's row.
#[kernel]
pub unsafe fn gaussian_eliminate(n: u32, pivot: u32, multipliers: *const f32, from: *const f32, a: *mut f32) {
    let (x, y) = crate::position();
    let (n, pivot) = (n as usize, pivot as usize);
    if x < n - pivot && y < n - pivot - 1 {
        let (row, column) = (y + pivot + 1, x + pivot);
        *a.add(row * n + column) =
            *from.add(row * n + column) - *multipliers.add(row) * *from.add(pivot * n + column);
    }
}
