//! Sums that many threads add to: sparse products, deposits on grids, counts, moments and extents.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, U32x2};
use cuda_std::warp::{WarpReductionOp, warp_reduce};
use cuda_std::{GpuFloat, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, block_sum, index, position, warp_sum};

/// A sparse matrix times a vector by its entries, in any order: each adds its product to its row.
#[kernel]
pub unsafe fn spmv_entries(
    n: u32,
    rows: *const u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let product = *values.add(i) * *x.add(*columns.add(i) as usize);
        mid::atomic_fetch_add_f32_device(y.add(*rows.add(i) as usize), Relaxed, product);
    }
}

/// Sums of a matrix's columns: a thread adds up its column of a panel of rows, and adds that to the column's sum.
#[kernel]
pub unsafe fn sum_panels(rows: u32, columns: u32, panel: u32, matrix: *const f32, sums: *mut f32) {
    let column = index();
    if column < columns as usize {
        let first = thread::block_idx_y() * panel;
        let mut sum = 0.0;
        for row in first..(first + panel).min(rows) {
            sum += *matrix.add(row as usize * columns as usize + column);
        }
        mid::atomic_fetch_add_f32_device(sums.add(column), Relaxed, sum);
    }
}

/// Assigns points of four dimensions to the nearest of `k` centres, and adds them to its sums and count.
#[kernel]
pub unsafe fn assign_points(
    n: u32,
    k: u32,
    points: *const F32x4,
    centres: *const F32x4,
    sums: *mut f32,
    counts: *mut u32,
) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let point = *points.add(i);
    let (mut best, mut least) = (0, f32::INFINITY);
    for centre in 0..k {
        let at = *centres.add(centre as usize);
        let (x, y, z, w) = (point.x - at.x, point.y - at.y, point.z - at.z, point.w - at.w);
        let distance = x * x + y * y + z * z + w * w;
        if distance < least {
            (best, least) = (centre, distance);
        }
    }
    let sum = sums.add(4 * best as usize);
    mid::atomic_fetch_add_f32_device(sum, Relaxed, point.x);
    mid::atomic_fetch_add_f32_device(sum.add(1), Relaxed, point.y);
    mid::atomic_fetch_add_f32_device(sum.add(2), Relaxed, point.z);
    mid::atomic_fetch_add_f32_device(sum.add(3), Relaxed, point.w);
    mid::atomic_fetch_add_u32_device(counts.add(best as usize), Relaxed, 1);
}

/// Particles' charges on the four nearest nodes of a grid, by their distances.
#[kernel]
pub unsafe fn deposit_charge(n: u32, nx: u32, particles: *const F32x2, grid: *mut f32) {
    let i = index();
    if i < n as usize {
        let at = *particles.add(i);
        let (column, row) = (at.x as u32, at.y as u32);
        let (fx, fy) = (at.x - column as f32, at.y - row as f32);
        let node = grid.add((row * nx + column) as usize);
        mid::atomic_fetch_add_f32_device(node, Relaxed, (1.0 - fx) * (1.0 - fy));
        mid::atomic_fetch_add_f32_device(node.add(1), Relaxed, fx * (1.0 - fy));
        mid::atomic_fetch_add_f32_device(node.add(nx as usize), Relaxed, (1.0 - fx) * fy);
        mid::atomic_fetch_add_f32_device(node.add(nx as usize + 1), Relaxed, fx * fy);
    }
}

/// Counts the points in each cell of a map.
#[kernel]
pub unsafe fn density_map(n: u32, side: u32, points: *const F32x2, map: *mut u32) {
    let step = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = index();
    while i < n as usize {
        let at = *points.add(i);
        let cell = (at.y * side as f32) as u32 * side + (at.x * side as f32) as u32;
        mid::atomic_fetch_add_u32_device(map.add(cell as usize), Relaxed, 1);
        i += step;
    }
}

/// Sums of weights by bin: in shared memory for each block, then in memory.
#[kernel]
pub unsafe fn weigh_bins(n: u32, bins: *const u16, weights: *const f32, sums: *mut f32) {
    let own = shared_array![f32; 512];
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let mut bin = thread;
    while bin < 512 {
        *own.add(bin) = 0.0;
        bin += threads;
    }
    thread::sync_threads();
    let step = thread::grid_dim_x() as usize * threads;
    let mut i = index();
    while i < n as usize {
        mid::atomic_fetch_add_f32_block(own.add(*bins.add(i) as usize), Relaxed, *weights.add(i));
        i += step;
    }
    thread::sync_threads();
    bin = thread;
    while bin < 512 {
        mid::atomic_fetch_add_f32_device(sums.add(bin), Relaxed, *own.add(bin));
        bin += threads;
    }
}

/// Sum, least and greatest of positive numbers: by block, then by three atomics of its first thread.
#[kernel]
pub unsafe fn moments(n: u32, values: *const f32, sum: *mut f32, extremes: *mut u32) {
    let step = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let (mut total, mut least, mut greatest) = (0.0, u32::MAX, 0);
    let mut i = index();
    while i < n as usize {
        let value = *values.add(i);
        total += value;
        // Positive floats are ordered as their bits are.
        (least, greatest) = (least.min(value.to_bits()), greatest.max(value.to_bits()));
        i += step;
    }
    total = block_sum(total);
    least = warp_reduce(ALL, least, WarpReductionOp::Min);
    greatest = warp_reduce(ALL, greatest, WarpReductionOp::Max);
    if thread::thread_idx_x().is_multiple_of(32) {
        mid::atomic_fetch_min_u32_device(extremes, Relaxed, least);
        mid::atomic_fetch_max_u32_device(extremes.add(1), Relaxed, greatest);
    }
    if thread::thread_idx_x() == 0 {
        mid::atomic_fetch_add_f32_device(sum, Relaxed, total);
    }
}

/// An inner product: each warp adds up 128 products and adds them to the result.
#[kernel]
pub unsafe fn dot_by_warp(n: u32, x: *const F32x4, y: *const F32x4, result: *mut f32) {
    let i = index();
    let mut sum = 0.0;
    if i < n as usize {
        let (a, b) = (*x.add(i), *y.add(i));
        sum = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    sum = warp_sum(sum);
    if thread::thread_idx_x().is_multiple_of(32) {
        mid::atomic_fetch_add_f32_device(result, Relaxed, sum);
    }
}

/// Sums by label, an atomic for each element.
#[kernel]
pub unsafe fn sum_labels(n: u32, labels: *const u32, values: *const u32, sums: *mut u32) {
    let i = index();
    if i < n as usize {
        mid::atomic_fetch_add_u32_device(sums.add(*labels.add(i) as usize), Relaxed, *values.add(i));
    }
}

/// A step of page rank: each page adds its share to the pages that it links to.
#[kernel]
pub unsafe fn push_ranks(n: u32, starts: *const u32, targets: *const u32, ranks: *const f32, next: *mut f32) {
    let page = index();
    if page < n as usize {
        let (first, end) = (*starts.add(page), *starts.add(page + 1));
        let share = *ranks.add(page) / (end - first) as f32;
        for link in first..end {
            let target = *targets.add(link as usize) as usize;
            mid::atomic_fetch_add_f32_device(next.add(target), Relaxed, share);
        }
    }
}

/// The nearest point of each pixel: depth and number in one word of 64 bits, of which the greatest stays.
#[kernel]
pub unsafe fn splat_points(n: u32, pixels: *const u32, depths: *const u32, buffer: *mut u64) {
    let i = index();
    if i < n as usize {
        let seen = u64::from(*depths.add(i)) << 32 | i as u64;
        mid::atomic_fetch_max_u64_device(buffer.add(*pixels.add(i) as usize), Relaxed, seen);
    }
}

/// The box around each label of an image.
#[kernel]
pub unsafe fn label_boxes(nx: u32, ny: u32, labels: *const u32, boxes: *mut u32) {
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let label = *labels.add(y * nx as usize + x);
        if label > 0 {
            let own = boxes.add(4 * label as usize);
            mid::atomic_fetch_min_u32_device(own, Relaxed, x as u32);
            mid::atomic_fetch_max_u32_device(own.add(1), Relaxed, x as u32);
            mid::atomic_fetch_min_u32_device(own.add(2), Relaxed, y as u32);
            mid::atomic_fetch_max_u32_device(own.add(3), Relaxed, y as u32);
        }
    }
}

/// Counts the pairs of true and guessed classes: four pairs a load.
#[kernel]
pub unsafe fn confusion_matrix(
    n: u32,
    classes: u32,
    truths: *const u32,
    guesses: *const u32,
    counts: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let (mut truths, mut guesses) = (*truths.add(i), *guesses.add(i));
        for _ in 0..4 {
            let cell = (truths & 255) * classes + (guesses & 255);
            mid::atomic_fetch_add_u32_device(counts.add(cell as usize), Relaxed, 1);
            (truths, guesses) = (truths >> 8, guesses >> 8);
        }
    }
}

/// Forces of springs between pairs of nodes, on both of their ends.
#[kernel]
pub unsafe fn spring_forces(n: u32, springs: *const U32x2, places: *const F32x4, forces: *mut f32) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let spring = *springs.add(i);
    let (a, b) = (spring.x, spring.y);
    let (p, q) = (*places.add(a as usize), *places.add(b as usize));
    let (dx, dy, dz) = (q.x - p.x, q.y - p.y, q.z - p.z);
    let length = (dx * dx + dy * dy + dz * dz + 0.01).sqrt();
    let pull = (length - 1.0) / length;
    let (first, second) = (forces.add(3 * a as usize), forces.add(3 * b as usize));
    mid::atomic_fetch_add_f32_device(first, Relaxed, pull * dx);
    mid::atomic_fetch_add_f32_device(first.add(1), Relaxed, pull * dy);
    mid::atomic_fetch_add_f32_device(first.add(2), Relaxed, pull * dz);
    mid::atomic_fetch_add_f32_device(second, Relaxed, -pull * dx);
    mid::atomic_fetch_add_f32_device(second.add(1), Relaxed, -pull * dy);
    mid::atomic_fetch_add_f32_device(second.add(2), Relaxed, -pull * dz);
}

/// Counts the pairs of words of which one stands up to `reach` places before the other.
#[kernel]
pub unsafe fn cooccurrences(n: u32, words: u32, reach: u32, text: *const u32, counts: *mut u32) {
    let i = index() as u32;
    if i < n {
        let word = *text.add(i as usize);
        for j in i + 1..(i + 1 + reach).min(n) {
            let cell = word * words + *text.add(j as usize);
            mid::atomic_fetch_add_u32_device(counts.add(cell as usize), Relaxed, 1);
        }
    }
}
