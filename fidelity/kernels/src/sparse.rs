//! Sparse matrices against vectors, in four formats.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, atomic::mid};

use core::sync::atomic::Ordering::Relaxed;

use crate::{index, warp_sum};

/// Compressed rows, a thread per row.
#[kernel]
pub unsafe fn spmv_csr_scalar(
    rows: u32,
    starts: *const u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let row = index();
    if row < rows as usize {
        let mut sum = 0.0_f32;
        for k in *starts.add(row) as usize..*starts.add(row + 1) as usize {
            sum = (*values.add(k)).mul_add(*x.add(*columns.add(k) as usize), sum);
        }
        *y.add(row) = sum;
    }
}

/// Compressed rows, a warp per row.
#[kernel]
pub unsafe fn spmv_csr_vector(
    rows: u32,
    starts: *const u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let mut sum = 0.0_f32;
        let end = *starts.add(row + 1) as usize;
        let mut k = *starts.add(row) as usize + lane;
        while k < end {
            sum = (*values.add(k)).mul_add(*x.add(*columns.add(k) as usize), sum);
            k += 32;
        }
        let sum = warp_sum(sum);
        if lane == 0 {
            *y.add(row) = sum;
        }
    }
}

/// ELLPACK: as many entries in each row, stored column by column, so that neighbouring threads read neighbouring ones.
#[kernel]
pub unsafe fn spmv_ell(
    rows: u32,
    width: u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let row = index();
    if row < rows as usize {
        let mut sum = 0.0_f32;
        for k in 0..width as usize {
            let at = k * rows as usize + row;
            sum = (*values.add(at)).mul_add(*x.add(*columns.add(at) as usize), sum);
        }
        *y.add(row) = sum;
    }
}

/// Coordinates: a thread per entry, and a float atomic for each.
#[kernel]
pub unsafe fn spmv_coo(
    entries: u32,
    rows: *const u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let k = index();
    if k < entries as usize {
        let product = *values.add(k) * *x.add(*columns.add(k) as usize);
        mid::atomic_fetch_add_f32_device(y.add(*rows.add(k) as usize), Relaxed, product);
    }
}

/// Five diagonals of a square matrix.
#[kernel]
pub unsafe fn spmv_dia(n: u32, distance: u32, diagonals: *const f32, x: *const f32, y: *mut f32) {
    let row = index();
    let (n, distance) = (n as usize, distance as usize);
    if row < n {
        let mut sum = *diagonals.add(2 * n + row) * *x.add(row);
        if row >= 1 {
            sum = (*diagonals.add(n + row)).mul_add(*x.add(row - 1), sum);
        }
        if row + 1 < n {
            sum = (*diagonals.add(3 * n + row)).mul_add(*x.add(row + 1), sum);
        }
        if row >= distance {
            sum = (*diagonals.add(row)).mul_add(*x.add(row - distance), sum);
        }
        if row + distance < n {
            sum = (*diagonals.add(4 * n + row)).mul_add(*x.add(row + distance), sum);
        }
        *y.add(row) = sum;
    }
}

/// Reads at random indices.
#[kernel]
pub unsafe fn gather(n: u32, indices: *const u32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < n as usize {
        *to.add(i) = *from.add(*indices.add(i) as usize);
    }
}

/// Writes at indices that are a permutation.
#[kernel]
pub unsafe fn scatter(n: u32, indices: *const u32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < n as usize {
        *to.add(*indices.add(i) as usize) = *from.add(i);
    }
}
