//! Products of matrices, and their relatives.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, shared_array, thread};

use crate::position;

/// PolyBench's 2mm: a product through tiles of 16 x 16 in shared memory.
#[kernel]
pub unsafe fn gemm_tile(n: u32, a: *const f32, b: *const f32, c: *mut f32) {
    let (left, right) = (shared_array![f32; 256], shared_array![f32; 256]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (x, y) = position();
    let n = n as usize;
    let mut sum = 0.0_f32;
    for tile in 0..n / 16 {
        *left.add(ty * 16 + tx) = *a.add(y * n + tile * 16 + tx);
        *right.add(ty * 16 + tx) = *b.add((tile * 16 + ty) * n + x);
        thread::sync_threads();
        for k in 0..16 {
            sum = (*left.add(ty * 16 + k)).mul_add(*right.add(k * 16 + tx), sum);
        }
        thread::sync_threads();
    }
    *c.add(y * n + x) = sum;
}

/// The same in double precision.
#[kernel]
pub unsafe fn dgemm_tile(n: u32, a: *const f64, b: *const f64, c: *mut f64) {
    let (left, right) = (shared_array![f64; 256], shared_array![f64; 256]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (x, y) = position();
    let n = n as usize;
    let mut sum = 0.0_f64;
    for tile in 0..n / 16 {
        *left.add(ty * 16 + tx) = *a.add(y * n + tile * 16 + tx);
        *right.add(ty * 16 + tx) = *b.add((tile * 16 + ty) * n + x);
        thread::sync_threads();
        for k in 0..16 {
            sum = (*left.add(ty * 16 + k)).mul_add(*right.add(k * 16 + tx), sum);
        }
        thread::sync_threads();
    }
    *c.add(y * n + x) = sum;
}

/// PolyBench's syrk: `C = A transpose(A)` from memory, a thread per element. Lanes walk rows apart in the second factor.
#[kernel]
pub unsafe fn syrk(n: u32, depth: u32, a: *const f32, c: *mut f32) {
    let (x, y) = position();
    let depth = depth as usize;
    let mut sum = 0.0_f32;
    for k in 0..depth {
        sum = (*a.add(y * depth + k)).mul_add(*a.add(x * depth + k), sum);
    }
    *c.add(y * n as usize + x) = sum;
}

/// PolyBench's doitgen: each row of a three-dimensional array times a matrix.
#[kernel]
pub unsafe fn doitgen(rows: u32, depth: u32, a: *const f32, matrix: *const f32, result: *mut f32) {
    let (p, row) = position();
    let depth = depth as usize;
    if row < rows as usize && p < depth {
        let mut sum = 0.0_f32;
        for s in 0..depth {
            sum = (*a.add(row * depth + s)).mul_add(*matrix.add(s * depth + p), sum);
        }
        *result.add(row * depth + p) = sum;
    }
}

/// A product of a tall matrix with a narrow one: 4 results per thread in registers.
#[kernel]
pub unsafe fn gemm_narrow(rows: u32, depth: u32, a: *const f32, b: *const f32, c: *mut f32) {
    let row = crate::index();
    if row < rows as usize {
        let mut sums = [0.0_f32; 4];
        for k in 0..depth as usize {
            let value = *a.add(k * rows as usize + row);
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum = value.mul_add(*b.add(k * 4 + column), *sum);
            }
        }
        for (column, sum) in sums.iter().enumerate() {
            *c.add(column * rows as usize + row) = *sum;
        }
    }
}

/// Many small products: a block of 64 threads multiplies two matrices of 8 x 8.
#[kernel]
pub unsafe fn batched_8x8(a: *const f32, b: *const f32, c: *mut f32) {
    let (left, right) = (shared_array![f32; 64], shared_array![f32; 64]);
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 64;
    *left.add(thread) = *a.add(first + thread);
    *right.add(thread) = *b.add(first + thread);
    thread::sync_threads();
    let (row, column) = (thread / 8, thread % 8);
    let mut sum = 0.0_f32;
    for k in 0..8 {
        sum = (*left.add(row * 8 + k)).mul_add(*right.add(k * 8 + column), sum);
    }
    *c.add(first + thread) = sum;
}

/// Rodinia's lud, the step inside a tile: a block factors a matrix of 16 x 16 in place in shared memory.
#[kernel]
pub unsafe fn lud_tile(a: *const f32, factors: *mut f32) {
    let tile = shared_array![f32; 256];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 256;
    for row in 0..16 {
        *tile.add(row * 16 + thread) = *a.add(first + row * 16 + thread);
    }
    thread::sync_threads();
    for pivot in 0..15 {
        if thread > pivot {
            let mut value = *tile.add(thread * 16 + pivot);
            for k in 0..pivot {
                value -= *tile.add(thread * 16 + k) * *tile.add(k * 16 + pivot);
            }
            *tile.add(thread * 16 + pivot) = value / *tile.add(pivot * 16 + pivot);
        }
        thread::sync_threads();
        if thread > pivot {
            let mut value = *tile.add((pivot + 1) * 16 + thread);
            for k in 0..=pivot {
                value -= *tile.add((pivot + 1) * 16 + k) * *tile.add(k * 16 + thread);
            }
            *tile.add((pivot + 1) * 16 + thread) = value;
        }
        thread::sync_threads();
    }
    for row in 0..16 {
        *factors.add(first + row * 16 + thread) = *tile.add(row * 16 + thread);
    }
}
