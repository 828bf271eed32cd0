//! Factorisations, triangular and tridiagonal systems, and small matrices in batches.

use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{index, warp_sum};

/// Cholesky's factor of matrices of 16 x 16: 16 threads a matrix and 4 matrices a block, in shared memory with padded rows.
#[kernel]
pub unsafe fn cholesky_16(from: *const f32, to: *mut f32) {
    let matrices = shared_array![f32; 1088];
    let thread = thread::thread_idx_x() as usize;
    let (own, row) = (matrices.add(thread / 16 * 272), thread % 16);
    let first = (thread::block_idx_x() as usize * 4 + thread / 16) * 256;
    for k in 0..16 {
        *own.add(k * 17 + row) = *from.add(first + k * 16 + row);
    }
    thread::sync_threads();
    for k in 0..16 {
        let root = (*own.add(k * 17 + k)).sqrt();
        thread::sync_threads();
        if row == k {
            *own.add(k * 17 + k) = root;
        } else if row > k {
            *own.add(row * 17 + k) /= root;
        }
        thread::sync_threads();
        if row > k {
            let factor = *own.add(row * 17 + k);
            for column in k + 1..=row {
                let at = row * 17 + column;
                *own.add(at) = (-factor).mul_add(*own.add(column * 17 + k), *own.add(at));
            }
        }
        thread::sync_threads();
    }
    for k in 0..16 {
        *to.add(first + k * 16 + row) = if row <= k { *own.add(k * 17 + row) } else { 0.0 };
    }
}

/// Solves `L X = B` with a lower triangle of 32 x 32 in shared memory: a thread per column, which it keeps in registers.
#[kernel]
pub unsafe fn trsm_columns(columns: u32, triangle: *const f32, b: *const f32, x: *mut f32) {
    let lower = shared_array![f32; 1024];
    let thread = thread::thread_idx_x() as usize;
    let mut k = thread;
    while k < 1024 {
        *lower.add(k) = *triangle.add(k);
        k += thread::block_dim_x() as usize;
    }
    thread::sync_threads();
    let column = index();
    if column < columns as usize {
        let mut own = [0.0_f32; 32];
        for (row, value) in own.iter_mut().enumerate() {
            *value = *b.add(row * columns as usize + column);
        }
        for row in 0..32 {
            let mut sum = own[row];
            for k in 0..row {
                sum = (-*lower.add(row * 32 + k)).mul_add(own[k], sum);
            }
            own[row] = sum / *lower.add(row * 32 + row);
        }
        for (row, value) in own.iter().enumerate() {
            *x.add(row * columns as usize + column) = *value;
        }
    }
}

/// LU factors of panels of 512 x 8 with row exchanges: a block per panel, a thread per row, the pivot by a tree.
#[kernel]
pub unsafe fn lu_panel(from: *const f32, to: *mut f32, pivots: *mut u32) {
    let (sizes, places) = (shared_array![f32; 512], shared_array![u32; 512]);
    let (top, swapped) = (shared_array![f32; 8], shared_array![f32; 8]);
    let thread = thread::thread_idx_x() as usize;
    let panel = thread::block_idx_x() as usize;
    let mut row = [0.0_f32; 8];
    for (k, value) in row.iter_mut().enumerate() {
        *value = *from.add((panel * 8 + k) * 512 + thread);
    }
    for k in 0..8 {
        *sizes.add(thread) = if thread < k { -1.0 } else { row[k].abs() };
        *places.add(thread) = thread as u32;
        let mut distance = 256;
        while distance > 0 {
            thread::sync_threads();
            if thread < distance && *sizes.add(thread + distance) > *sizes.add(thread) {
                *sizes.add(thread) = *sizes.add(thread + distance);
                *places.add(thread) = *places.add(thread + distance);
            }
            distance /= 2;
        }
        thread::sync_threads();
        let pivot = *places as usize;
        if thread == pivot {
            for (j, value) in row.iter().enumerate() {
                *top.add(j) = *value;
            }
        }
        if thread == k {
            for (j, value) in row.iter().enumerate() {
                *swapped.add(j) = *value;
            }
            *pivots.add(panel * 8 + k) = pivot as u32;
        }
        thread::sync_threads();
        if thread == pivot {
            for (j, value) in row.iter_mut().enumerate() {
                *value = *swapped.add(j);
            }
        }
        if thread == k {
            for (j, value) in row.iter_mut().enumerate() {
                *value = *top.add(j);
            }
        }
        if thread > k {
            let factor = row[k] / *top.add(k);
            row[k] = factor;
            for j in k + 1..8 {
                row[j] = (-factor).mul_add(*top.add(j), row[j]);
            }
        }
        thread::sync_threads();
    }
    for (k, value) in row.iter().enumerate() {
        *to.add((panel * 8 + k) * 512 + thread) = *value;
    }
}

/// Thomas' algorithm, a tridiagonal system per thread, systems side by side: down and up again through memory.
#[kernel]
pub unsafe fn thomas_columns(
    systems: u32,
    length: u32,
    lower: *const f32,
    diagonal: *const f32,
    upper: *const f32,
    right: *const f32,
    scratch: *mut f32,
    x: *mut f32,
) {
    let i = index();
    let systems = systems as usize;
    if i < systems {
        let mut c = *upper.add(i) / *diagonal.add(i);
        let mut d = *right.add(i) / *diagonal.add(i);
        *scratch.add(i) = c;
        *x.add(i) = d;
        let mut at = i;
        for _ in 1..length {
            at += systems;
            let a = *lower.add(at);
            let scale = 1.0 / (-a).mul_add(c, *diagonal.add(at));
            c = *upper.add(at) * scale;
            d = (-a).mul_add(d, *right.add(at)) * scale;
            *scratch.add(at) = c;
            *x.add(at) = d;
        }
        for _ in 1..length {
            at -= systems;
            d = (-*scratch.add(at)).mul_add(d, *x.add(at));
            *x.add(at) = d;
        }
    }
}

/// Cyclic reduction of a tridiagonal system of 512 equations per block of 256 threads, strides doubling in shared memory.
#[kernel]
pub unsafe fn cyclic_reduction(
    lower: *const f32,
    diagonal: *const f32,
    upper: *const f32,
    right: *const f32,
    x: *mut f32,
) {
    let (a, b) = (shared_array![f32; 512], shared_array![f32; 512]);
    let (c, d) = (shared_array![f32; 512], shared_array![f32; 512]);
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 512;
    for i in [thread, thread + 256] {
        *a.add(i) = *lower.add(first + i);
        *b.add(i) = *diagonal.add(first + i);
        *c.add(i) = *upper.add(first + i);
        *d.add(i) = *right.add(first + i);
    }
    let (mut stride, mut active) = (1, 256);
    while active > 1 {
        thread::sync_threads();
        if thread < active {
            let i = 2 * stride * thread + 2 * stride - 1;
            let low = i - stride;
            let high = (i + stride).min(511);
            let (p, q) = (*a.add(i) / *b.add(low), *c.add(i) / *b.add(high));
            if i == 511 {
                *b.add(i) -= *c.add(low) * p;
                *d.add(i) -= *d.add(low) * p;
                *a.add(i) = -*a.add(low) * p;
            } else {
                *b.add(i) -= *c.add(low) * p + *a.add(high) * q;
                *d.add(i) -= *d.add(low) * p + *d.add(high) * q;
                *a.add(i) = -*a.add(low) * p;
                *c.add(i) = -*c.add(high) * q;
            }
        }
        stride *= 2;
        active /= 2;
    }
    thread::sync_threads();
    if thread == 0 {
        // Two equations are left, 255 and 511.
        let (a2, b1, b2, c1) = (*a.add(511), *b.add(255), *b.add(511), *c.add(255));
        let determinant = b1 * b2 - c1 * a2;
        let (first, second) = (*d.add(255), *d.add(511));
        *d.add(255) = (b2 * first - c1 * second) / determinant;
        *d.add(511) = (b1 * second - a2 * first) / determinant;
    }
    stride = 128;
    active = 2;
    while stride > 0 {
        thread::sync_threads();
        if thread < active {
            let i = 2 * stride * thread + stride - 1;
            let below = if i >= stride { *a.add(i) * *d.add(i - stride) } else { 0.0 };
            *d.add(i) = (*d.add(i) - below - *c.add(i) * *d.add(i + stride)) / *b.add(i);
        }
        stride /= 2;
        active *= 2;
    }
    thread::sync_threads();
    *x.add(first + thread) = *d.add(thread);
    *x.add(first + thread + 256) = *d.add(thread + 256);
}

/// PolyBench's gramschmidt, third kernel: each later column loses its part along the column `k`, a thread per column.
#[kernel]
pub unsafe fn gram_schmidt_columns(rows: u32, columns: u32, k: u32, q: *const f32, a: *mut f32, r: *mut f32) {
    let j = index();
    let (rows, columns, k) = (rows as usize, columns as usize, k as usize);
    if j > k && j < columns {
        let mut dot = 0.0_f32;
        for i in 0..rows {
            dot = (*q.add(i)).mul_add(*a.add(i * columns + j), dot);
        }
        *r.add(k * columns + j) = dot;
        for i in 0..rows {
            *a.add(i * columns + j) -= *q.add(i) * dot;
        }
    }
}

/// Inverts a matrix of 4 x 4 per thread by cofactors; rows move as vectors.
#[kernel]
pub unsafe fn invert_4x4(count: u32, from: *const F32x4, to: *mut F32x4) {
    let i = index();
    if i < count as usize {
        let m: [[f32; 4]; 4] = [0, 1, 2, 3].map(|row| (*from.add(4 * i + row)).to_array());
        // Determinants of the upper and of the lower two rows.
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let s = pairs.map(|(a, b)| m[0][a] * m[1][b] - m[0][b] * m[1][a]);
        let c = pairs.map(|(a, b)| m[2][a] * m[3][b] - m[2][b] * m[3][a]);
        let determinant = s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0];
        let scale = 1.0 / determinant;
        let upper = |row: usize, j: usize, k: usize, l: usize, e: [usize; 3]| {
            (m[row][j] * c[e[0]] - m[row][k] * c[e[1]] + m[row][l] * c[e[2]]) * scale
        };
        let lower = |row: usize, j: usize, k: usize, l: usize, e: [usize; 3]| {
            (m[row][j] * s[e[0]] - m[row][k] * s[e[1]] + m[row][l] * s[e[2]]) * scale
        };
        let (e0, e1, e2, e3) = ([5, 4, 3], [5, 2, 1], [4, 2, 0], [3, 1, 0]);
        *to.add(4 * i) = F32x4::new(
            upper(1, 1, 2, 3, e0),
            -upper(0, 1, 2, 3, e0),
            lower(3, 1, 2, 3, e0),
            -lower(2, 1, 2, 3, e0),
        );
        *to.add(4 * i + 1) = F32x4::new(
            -upper(1, 0, 2, 3, e1),
            upper(0, 0, 2, 3, e1),
            -lower(3, 0, 2, 3, e1),
            lower(2, 0, 2, 3, e1),
        );
        *to.add(4 * i + 2) = F32x4::new(
            upper(1, 0, 1, 3, e2),
            -upper(0, 0, 1, 3, e2),
            lower(3, 0, 1, 3, e2),
            -lower(2, 0, 1, 3, e2),
        );
        *to.add(4 * i + 3) = F32x4::new(
            -upper(1, 0, 1, 2, e3),
            upper(0, 0, 1, 2, e3),
            -lower(3, 0, 1, 2, e3),
            lower(2, 0, 1, 2, e3),
        );
    }
}

/// Householder's reflection of columns, stored one after another: a warp per column forms the product and subtracts.
#[kernel]
pub unsafe fn householder_apply(rows: u32, columns: u32, v: *const f32, from: *const f32, to: *mut f32) {
    let (column, lane) = (index() / 32, index() % 32);
    let rows = rows as usize;
    if column < columns as usize {
        let first = column * rows;
        let mut sum = 0.0_f32;
        let mut row = lane;
        while row < rows {
            sum = (*v.add(row)).mul_add(*from.add(first + row), sum);
            row += 32;
        }
        let twice = 2.0 * warp_sum(sum);
        row = lane;
        while row < rows {
            *to.add(first + row) = (-twice).mul_add(*v.add(row), *from.add(first + row));
            row += 32;
        }
    }
}
