//! Data science: tables, models, genomes, time series and statistics.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid;
use cuda_std::prelude::*;
use cuda_std::vector::F32x2;
use cuda_std::{GpuFloat, approx, shared_array, thread};

use crate::{index, warp_sum};

/// Brings each column of a table to mean 0 and deviation 1, rows one after another.
#[kernel]
pub unsafe fn standardise_columns(
    n: u32,
    columns: u32,
    means: *const f32,
    scales: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let column = (i as u32 % columns) as usize;
        *to.add(i) = (*from.add(i) - *means.add(column)) * *scales.add(column);
    }
}

/// The bins of values among 255 ascending edges for each feature: a row of blocks per feature, bisection in shared memory.
#[kernel]
pub unsafe fn quantile_bins(rows: u32, edges: *const f32, from: *const f32, to: *mut u8) {
    let own = shared_array![f32; 256];
    let (thread, feature) = (thread::thread_idx_x() as usize, thread::block_idx_y() as usize);
    if thread < 255 {
        *own.add(thread) = *edges.add(feature * 255 + thread);
    }
    thread::sync_threads();
    let row = index();
    if row < rows as usize {
        let at = feature * rows as usize + row;
        let value = *from.add(at);
        let (mut low, mut high) = (0, 255);
        while low < high {
            let middle = (low + high) / 2;
            if *own.add(middle) <= value {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        *to.add(at) = low as u8;
    }
}

/// The gradient of a logistic regression of up to 64 features: a sample per thread, sums by warp, block and atomics.
#[kernel]
pub unsafe fn logistic_gradient(
    n: u32,
    features: u32,
    weights: *const f32,
    samples: *const f32,
    labels: *const u8,
    gradient: *mut f32,
) {
    let (own, sums) = (shared_array![f32; 64], shared_array![f32; 64]);
    let thread = thread::thread_idx_x() as usize;
    let (n, features) = (n as usize, features as usize);
    if thread < features {
        *own.add(thread) = *weights.add(thread);
        *sums.add(thread) = 0.0;
    }
    thread::sync_threads();
    let i = index();
    let mut residual = 0.0_f32;
    if i < n {
        let mut score = 0.0_f32;
        for feature in 0..features {
            score = (*samples.add(feature * n + i)).mul_add(*own.add(feature), score);
        }
        residual = 1.0 / (1.0 + approx::exp(-score)) - f32::from(*labels.add(i));
    }
    for feature in 0..features {
        let part = if i < n { residual * *samples.add(feature * n + i) } else { 0.0 };
        let sum = warp_sum(part);
        if thread.is_multiple_of(32) {
            mid::atomic_fetch_add_f32_block(sums.add(feature), Relaxed, sum);
        }
    }
    thread::sync_threads();
    if thread < features {
        mid::atomic_fetch_add_f32_device(gradient.add(thread), Relaxed, *sums.add(thread));
    }
}

/// What opening a centre would save, as Rodinia's streamcluster asks: each point moves to it, or counts for its own centre.
#[kernel]
pub unsafe fn opening_gain(
    points: u32,
    dimensions: u32,
    centres: u32,
    candidate: u32,
    places: *const f32,
    weights: *const f32,
    costs: *const f32,
    assigned: *const u32,
    columns: *const u32,
    lower: *mut f32,
    switched: *mut u8,
) {
    let own = shared_array![f32; 256];
    let thread = thread::thread_idx_x() as usize;
    let (points, dimensions) = (points as usize, dimensions as usize);
    let mut dimension = thread;
    while dimension < dimensions {
        *own.add(dimension) = *places.add(dimension * points + candidate as usize);
        dimension += thread::block_dim_x() as usize;
    }
    thread::sync_threads();
    let point = index();
    if point < points {
        let mut distance = 0.0_f32;
        for dimension in 0..dimensions {
            let difference = *places.add(dimension * points + point) - *own.add(dimension);
            distance = difference.mul_add(difference, distance);
        }
        let cost = distance * *weights.add(point);
        let current = *costs.add(point);
        let row = point * (centres as usize + 1);
        if cost < current {
            *switched.add(point) = 1;
            *lower.add(row + centres as usize) += cost - current;
        } else {
            *switched.add(point) = 0;
            let column = *columns.add(*assigned.add(point) as usize) as usize;
            *lower.add(row + column) += current - cost;
        }
    }
}

/// Scores pairs of genome positions for two groups of people: 9 genotypes counted in bits, logarithms of factorials by table.
#[kernel]
pub unsafe fn snp_pairs(
    snps: u32,
    case_words: u32,
    control_words: u32,
    cases: *const u32,
    controls: *const u32,
    factorials: *const f32,
    scores: *mut f32,
) {
    let (second, first) = crate::position();
    let snps = snps as usize;
    if first < second && second < snps {
        let mut counts = [[0_u32; 9]; 2];
        for (count, planes, words) in [(0, cases, case_words as usize), (1, controls, control_words as usize)]
        {
            for word in 0..words {
                let row = 2 * word * snps;
                let (a0, a1) = (*planes.add(row + first), *planes.add(row + snps + first));
                let (b0, b1) = (*planes.add(row + second), *planes.add(row + snps + second));
                let (a, b) = ([a0, a1, !(a0 | a1)], [b0, b1, !(b0 | b1)]);
                for k in 0..9 {
                    counts[count][k] += (a[k / 3] & b[k % 3]).count_ones();
                }
            }
        }
        let mut score = 0.0_f32;
        for k in 0..9 {
            let (ill, well) = (counts[0][k] as usize, counts[1][k] as usize);
            score += *factorials.add(ill + well + 1) - *factorials.add(ill) - *factorials.add(well);
        }
        *scores.add(first * snps + second) = score;
    }
}

/// Likelihoods at an inner node of a phylogenetic tree: 64 sites by 4 states a block, a rate per row of blocks.
#[kernel]
pub unsafe fn site_partials(
    sites: u32,
    first_matrices: *const f32,
    second_matrices: *const f32,
    first: *const f32,
    second: *const f32,
    to: *mut f32,
) {
    let (first_own, second_own) = (shared_array![f32; 256], shared_array![f32; 256]);
    let (first_moves, second_moves) = (shared_array![f32; 16], shared_array![f32; 16]);
    let (thread, rate) = (thread::thread_idx_x() as usize, thread::block_idx_y() as usize);
    let at = rate * 4 * sites as usize + index();
    let inside = index() < 4 * sites as usize;
    if inside {
        *first_own.add(thread) = *first.add(at);
        *second_own.add(thread) = *second.add(at);
    }
    if thread < 16 {
        *first_moves.add(thread) = *first_matrices.add(rate * 16 + thread);
        *second_moves.add(thread) = *second_matrices.add(rate * 16 + thread);
    }
    thread::sync_threads();
    if inside {
        let (site, state) = (thread / 4 * 4, thread % 4);
        let (mut left, mut right) = (0.0_f32, 0.0_f32);
        for k in 0..4 {
            left = (*first_moves.add(state * 4 + k)).mul_add(*first_own.add(site + k), left);
            right = (*second_moves.add(state * 4 + k)).mul_add(*second_own.add(site + k), right);
        }
        *to.add(at) = left * right;
    }
}

/// The difference of a fast and a slow exponential average from its own average: a series per thread, times one after another.
#[kernel]
pub unsafe fn exponential_averages(
    series: u32,
    steps: u32,
    fast: f32,
    slow: f32,
    signal: f32,
    prices: *const f32,
    to: *mut f32,
) {
    let i = index();
    let series = series as usize;
    if i < series {
        let mut quick = *prices.add(i);
        let mut calm = quick;
        let mut average = 0.0_f32;
        for step in 0..steps as usize {
            let price = *prices.add(step * series + i);
            quick = fast.mul_add(price - quick, quick);
            calm = slow.mul_add(price - calm, calm);
            let apart = quick - calm;
            average = signal.mul_add(apart - average, average);
            *to.add(step * series + i) = apart - average;
        }
    }
}

/// The density of points in the plane by Gaussian kernels, at each place of a grid: tiles of 256 points in shared memory.
#[kernel]
pub unsafe fn kernel_density(
    nx: u32,
    ny: u32,
    points: u32,
    sharpness: f32,
    scale: f32,
    samples: *const F32x2,
    density: *mut f32,
) {
    let tile = shared_array![F32x2; 256];
    let thread = thread::thread_idx_x() as usize;
    let (place, points) = (index(), points as usize);
    let x = ((place as u32 % nx) as f32 + 0.5) / nx as f32;
    let y = ((place as u32 / nx) as f32 + 0.5) / ny as f32;
    let mut sum = 0.0_f32;
    let mut start = 0;
    while start < points {
        if start + thread < points {
            *tile.add(thread) = *samples.add(start + thread);
        }
        thread::sync_threads();
        for k in 0..256.min(points - start) {
            let sample = *tile.add(k);
            let (dx, dy) = (x - sample.x, y - sample.y);
            sum += approx::exp(-sharpness * dx.mul_add(dx, dy * dy));
        }
        thread::sync_threads();
        start += 256;
    }
    if place < (nx * ny) as usize {
        *density.add(place) = sum * scale;
    }
}

/// Means of samples drawn with replacement: a thread per resample, with a generator of its own (xorshift).
#[kernel]
pub unsafe fn bootstrap_means(resamples: u32, n: u32, seed: u32, values: *const f32, means: *mut f32) {
    let i = index();
    if i < resamples as usize {
        let mut state = (i as u32 ^ seed).wrapping_mul(0x9E37_79B1) | 1;
        let mut sum = 0.0_f32;
        for _ in 0..n {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let drawn = (u64::from(state) * u64::from(n)) >> 32;
            sum += *values.add(drawn as usize);
        }
        *means.add(i) = sum / n as f32;
    }
}
