//! Data mining and sequence alignment: Rodinia's and SHOC's kernels of that kind.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, shared_array, thread};

use crate::index;

/// Rodinia's kmeans: the nearest of 16 centres in 8 dimensions, features stored one after another.
#[kernel]
pub unsafe fn kmeans_assign(points: u32, features: *const f32, centres: *const f32, nearest: *mut u32) {
    let point = index();
    if point < points as usize {
        let (mut best, mut least) = (0, f32::MAX);
        for centre in 0..16 {
            let mut distance = 0.0_f32;
            for feature in 0..8 {
                let difference =
                    *features.add(feature * points as usize + point) - *centres.add(centre * 8 + feature);
                distance = difference.mul_add(difference, distance);
            }
            if distance < least {
                least = distance;
                best = centre as u32;
            }
        }
        *nearest.add(point) = best;
    }
}

/// Rodinia's nn: the distance of each record, a pair of coordinates, from one place.
#[kernel]
pub unsafe fn nn_distance(n: u32, latitude: f32, longitude: f32, records: *const f32, distance: *mut f32) {
    let i = index();
    if i < n as usize {
        let (dx, dy) = (*records.add(2 * i) - latitude, *records.add(2 * i + 1) - longitude);
        *distance.add(i) = (dx * dx + dy * dy).sqrt();
    }
}

/// Rodinia's nw: a block of 16 threads aligns a tile of 16 x 16, diagonal by diagonal, in shared memory.
#[kernel]
pub unsafe fn nw_tile(tiles: u32, scores: *const i32, border: *const i32, result: *mut i32) {
    let cells = shared_array![i32; 289];
    let thread = thread::thread_idx_x() as usize;
    let tile = thread::block_idx_x() as usize;
    if tile >= tiles as usize {
        return;
    }
    if thread == 0 {
        *cells = *border.add(tile * 33);
    }
    *cells.add(thread + 1) = *border.add(tile * 33 + 1 + thread);
    *cells.add((thread + 1) * 17) = *border.add(tile * 33 + 17 + thread);
    thread::sync_threads();
    for diagonal in 0..31_usize {
        if thread <= diagonal && diagonal - thread < 16 {
            let (x, y) = (thread + 1, diagonal - thread + 1);
            let matched = *cells.add((y - 1) * 17 + x - 1) + *scores.add(tile * 256 + (y - 1) * 16 + x - 1);
            let gap = (*cells.add((y - 1) * 17 + x)).max(*cells.add(y * 17 + x - 1)) - 10;
            *cells.add(y * 17 + x) = matched.max(gap);
        }
        thread::sync_threads();
    }
    for row in 0..16 {
        *result.add(tile * 256 + row * 16 + thread) = *cells.add((row + 1) * 17 + thread + 1);
    }
}

/// Rodinia's backprop: a layer's weighted sums, a tile of 16 inputs by 16 units per block, reduced as a tree.
#[kernel]
pub unsafe fn backprop_layer(units: u32, input: *const f32, weights: *const f32, partial: *mut f32) {
    let (values, products) = (shared_array![f32; 16], shared_array![f32; 256]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * 16 + ty;
    if tx == 0 {
        *values.add(ty) = *input.add(row);
    }
    thread::sync_threads();
    let unit = thread::block_idx_x() as usize * 16 + tx;
    *products.add(ty * 16 + tx) = *weights.add(row * units as usize + unit) * *values.add(ty);
    thread::sync_threads();
    let mut distance = 1;
    while distance < 16 {
        if ty.is_multiple_of(2 * distance) {
            *products.add(ty * 16 + tx) += *products.add((ty + distance) * 16 + tx);
        }
        thread::sync_threads();
        distance *= 2;
    }
    if ty == 0 {
        *partial.add(thread::block_idx_y() as usize * units as usize + unit) = *products.add(tx);
    }
}

/// Rodinia's particle filter: finds, for each particle, the first entry of the cumulated weights that reaches its own.
#[kernel]
pub unsafe fn particle_find(particles: u32, cumulated: *const f32, wanted: *const f32, found: *mut u32) {
    let i = index();
    if i < particles as usize {
        let own = *wanted.add(i);
        let mut at = 0;
        while at < particles - 1 && *cumulated.add(at as usize) < own {
            at += 1;
        }
        *found.add(i) = at;
    }
}

/// Covariances of 16 features over many points: a block per pair of features.
#[kernel]
pub unsafe fn covariance(points: u32, data: *const f32, result: *mut f32) {
    let (a, b) = (thread::block_idx_x() as usize, thread::block_idx_y() as usize);
    let n = points as usize;
    let mut sum = 0.0_f32;
    let mut i = thread::thread_idx_x() as usize;
    while i < n {
        sum = (*data.add(a * n + i)).mul_add(*data.add(b * n + i), sum);
        i += thread::block_dim_x() as usize;
    }
    let total = crate::block_sum(sum);
    if thread::thread_idx_x() == 0 {
        *result.add(b * 16 + a) = total / points as f32;
    }
}
