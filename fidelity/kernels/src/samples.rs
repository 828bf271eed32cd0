//! Neural networks, statistics and search.

use cuda_std::prelude::*;
use cuda_std::vector::U32x4;
use cuda_std::warp::warp_shuffle_up;
use cuda_std::{GpuFloat, approx, shared_array, thread};

use crate::{ALL, index};

/// Writes out what a convolution of 3 x 3 reads: nine values for each channel and pixel, zeros beyond the edges.
#[kernel]
pub unsafe fn im2col(n: u32, nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < n as usize {
        let (nx, ny) = (nx as usize, ny as usize);
        let pixels = nx * ny;
        let (channel, pixel) = (i / pixels, i % pixels);
        let (x, y) = (pixel % nx, pixel / nx);
        let image = from.add(channel * pixels);
        let column = to.add(channel * 9 * pixels + pixel);
        for dy in 0..3 {
            for dx in 0..3 {
                let (sx, sy) = (x + dx, y + dy);
                let inside = sx > 0 && sy > 0 && sx <= nx && sy <= ny;
                let value = if inside { *image.add((sy - 1) * nx + sx - 1) } else { 0.0 };
                *column.add((3 * dy + dx) * pixels) = value;
            }
        }
    }
}

/// A feature map between its pixels: zero well outside, four neighbours weighted inside.
#[inline(always)]
unsafe fn between(map: *const f32, nx: usize, ny: usize, x: f32, y: f32) -> f32 {
    if x < -1.0 || y < -1.0 || x > nx as f32 || y > ny as f32 {
        return 0.0;
    }
    let (x, y) = (x.max(0.0), y.max(0.0));
    let (left, top) = ((x as usize).min(nx - 1), (y as usize).min(ny - 1));
    let (right, bottom) = ((left + 1).min(nx - 1), (top + 1).min(ny - 1));
    let (across, down) = ((x - left as f32).min(1.0), (y - top as f32).min(1.0));
    let upper = *map.add(top * nx + left) * (1.0 - across) + *map.add(top * nx + right) * across;
    let lower = *map.add(bottom * nx + left) * (1.0 - across) + *map.add(bottom * nx + right) * across;
    upper * (1.0 - down) + lower * down
}

/// Features of regions on a grid of 7 x 7 cells, each the mean of 2 x 2 points between pixels: a thread per cell.
#[kernel]
pub unsafe fn roi_align(
    n: u32,
    channels: u32,
    nx: u32,
    ny: u32,
    scale: f32,
    regions: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let (column, row) = (i % 7, i / 7 % 7);
        let channel = i / 49 % channels as usize;
        let region = regions.add(i / 49 / channels as usize * 4);
        let (left, top) = (*region * scale - 0.5, *region.add(1) * scale - 0.5);
        let width = (*region.add(2) * scale - 0.5 - left) / 7.0;
        let height = (*region.add(3) * scale - 0.5 - top) / 7.0;
        let (nx, ny) = (nx as usize, ny as usize);
        let map = from.add(channel * nx * ny);
        let mut sum = 0.0_f32;
        for sy in 0..2 {
            let y = top + height * (row as f32 + 0.25 + 0.5 * sy as f32);
            for sx in 0..2 {
                let x = left + width * (column as f32 + 0.25 + 0.5 * sx as f32);
                sum += between(map, nx, ny, x, y);
            }
        }
        *to.add(i) = 0.25 * sum;
    }
}

/// Which boxes hide which ones after them: 64 x 64 pairs a block, a mask of 64 bits for each box.
#[kernel]
pub unsafe fn box_suppression(n: u32, limit: f32, boxes: *const f32, masks: *mut u64) {
    let (row, column) = (thread::block_idx_y() as usize, thread::block_idx_x() as usize);
    if row > column {
        return;
    }
    let others = shared_array![f32; 256];
    let thread = thread::thread_idx_x() as usize;
    let n = n as usize;
    let count = (n - column * 64).min(64);
    if thread < count {
        for k in 0..4 {
            *others.add(4 * thread + k) = *boxes.add(4 * (column * 64 + thread) + k);
        }
    }
    thread::sync_threads();
    let own = row * 64 + thread;
    if own < n {
        let [left, top, right, bottom] = [0, 1, 2, 3].map(|k| *boxes.add(4 * own + k));
        let area = (right - left) * (bottom - top);
        let first = if row == column { thread + 1 } else { 0 };
        let mut mask = 0_u64;
        for k in first..count {
            let [l, t, r, b] = [0, 1, 2, 3].map(|side| *others.add(4 * k + side));
            let width = (right.min(r) - left.max(l)).max(0.0);
            let height = (bottom.min(b) - top.max(t)).max(0.0);
            let common = width * height;
            if common > limit * (area + (r - l) * (b - t) - common) {
                mask |= 1 << k;
            }
        }
        *masks.add(own * thread::grid_dim_x() as usize + column) = mask;
    }
}

/// A state space that its inputs select: 16 states a channel in a thread's registers, step after step.
#[kernel]
pub unsafe fn selective_scan(
    channels: u32,
    steps: u32,
    decay: *const f32,
    inputs: *const f32,
    paces: *const f32,
    enter: *const f32,
    leave: *const f32,
    to: *mut f32,
) {
    let channel = index();
    let (channels, steps) = (channels as usize, steps as usize);
    if channel >= channels {
        return;
    }
    let first = thread::block_idx_y() as usize * steps;
    let (mut rates, mut state) = ([0.0_f32; 16], [0.0_f32; 16]);
    for (k, rate) in rates.iter_mut().enumerate() {
        *rate = *decay.add(channel * 16 + k);
    }
    for step in first..first + steps {
        let at = step * channels + channel;
        let input = *inputs.add(at);
        let pace = approx::ln(1.0 + approx::exp(*paces.add(at)));
        let mut sum = 0.0_f32;
        // Written out, so that the states stay in registers.
        macro_rules! advance {
            ($($k:literal)*) => {$(
                let keep = approx::exp(pace * rates[$k]);
                state[$k] = keep * state[$k] + pace * input * *enter.add(step * 16 + $k);
                sum = state[$k].mul_add(*leave.add(step * 16 + $k), sum);
            )*};
        }
        advance!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        *to.add(at) = sum;
    }
}

/// The sum of the values up to each thread's in a block of 256.
#[inline(always)]
unsafe fn sum_up_to(value: f32, warps: *mut f32) -> f32 {
    let thread = thread::thread_idx_x() as usize;
    let mut sum = value;
    for distance in [1, 2, 4, 8, 16] {
        let below = warp_shuffle_up(ALL, sum, distance, 32).0;
        if thread % 32 >= distance as usize {
            sum += below;
        }
    }
    if thread % 32 == 31 {
        *warps.add(thread / 32) = sum;
    }
    thread::sync_threads();
    for warp in 0..thread / 32 {
        sum += *warps.add(warp);
    }
    sum
}

/// The best place to split a tree's node by a feature: gains from sums of gradients over 256 bins, a block per feature.
#[kernel]
pub unsafe fn best_split(
    damping: f32,
    gradients: *const f32,
    curvatures: *const f32,
    gains: *mut f32,
    places: *mut u32,
) {
    let (first, second) = (shared_array![f32; 8], shared_array![f32; 8]);
    let totals = shared_array![f32; 2];
    let (gain_tree, place_tree) = (shared_array![f32; 256], shared_array![u32; 256]);
    let thread = thread::thread_idx_x() as usize;
    let feature = thread::block_idx_x() as usize;
    let gradient = sum_up_to(*gradients.add(feature * 256 + thread), first);
    let curvature = sum_up_to(*curvatures.add(feature * 256 + thread), second);
    if thread == 255 {
        *totals = gradient;
        *totals.add(1) = curvature;
    }
    thread::sync_threads();
    let (all, curve) = (*totals, *totals.add(1));
    let score = |gradient: f32, curvature: f32| gradient * gradient / (curvature + damping);
    let gain = score(gradient, curvature) + score(all - gradient, curve - curvature) - score(all, curve);
    *gain_tree.add(thread) = gain;
    *place_tree.add(thread) = thread as u32;
    thread::sync_threads();
    let mut half = 128;
    while half > 0 {
        if thread < half {
            let other = *gain_tree.add(thread + half);
            let place = *place_tree.add(thread + half);
            let own = *gain_tree.add(thread);
            if other > own || (other == own && place < *place_tree.add(thread)) {
                *gain_tree.add(thread) = other;
                *place_tree.add(thread) = place;
            }
        }
        thread::sync_threads();
        half /= 2;
    }
    if thread == 0 {
        *gains.add(feature) = *gain_tree;
        *places.add(feature) = *place_tree;
    }
}

/// Shares of clusters in points of eight dimensions: a mixture of normal distributions, each with its own widths.
#[kernel]
pub unsafe fn mixture_shares(
    n: u32,
    clusters: u32,
    points: *const f32,
    means: *const f32,
    narrowness: *const f32,
    offsets: *const f32,
    shares: *mut f32,
) {
    let i = index();
    let n = n as usize;
    if i < n {
        let mut own = [0.0_f32; 8];
        for (k, value) in own.iter_mut().enumerate() {
            *value = *points.add(k * n + i);
        }
        let mut most = f32::MIN;
        for cluster in 0..clusters as usize {
            let mut distance = 0.0_f32;
            for k in 0..8 {
                let away = own[k] - *means.add(8 * cluster + k);
                distance = (away * away).mul_add(*narrowness.add(8 * cluster + k), distance);
            }
            let likely = *offsets.add(cluster) - 0.5 * distance;
            *shares.add(cluster * n + i) = likely;
            most = most.max(likely);
        }
        let mut total = 0.0_f32;
        for cluster in 0..clusters as usize {
            let share = (*shares.add(cluster * n + i) - most).exp();
            *shares.add(cluster * n + i) = share;
            total += share;
        }
        let scale = 1.0 / total;
        for cluster in 0..clusters as usize {
            *shares.add(cluster * n + i) *= scale;
        }
    }
}

/// Products of all pairs of a sample's 27 vectors, as recommenders use them: a block per sample, vectors in shared memory.
#[kernel]
pub unsafe fn feature_interaction(from: *const f32, to: *mut f32) {
    // Rows of 48 values, 49 apart.
    let rows = shared_array![f32; 1323];
    let thread = thread::thread_idx_x() as usize;
    let sample = thread::block_idx_x() as usize;
    let step = thread::block_dim_x() as usize;
    let mut cell = thread;
    while cell < 1296 {
        let value = *from.add(sample * 1296 + cell);
        *rows.add(cell / 48 * 49 + cell % 48) = value;
        if cell < 48 {
            *to.add(sample * 399 + cell) = value;
        }
        cell += step;
    }
    thread::sync_threads();
    let mut pair = thread;
    while pair < 351 {
        // Row `high` has `high` pairs with rows before it.
        let mut high = ((approx::sqrt((8 * pair + 1) as f32) + 1.0) * 0.5) as usize;
        if high * (high - 1) / 2 > pair {
            high -= 1;
        }
        if high * (high + 1) / 2 <= pair {
            high += 1;
        }
        let low = pair - high * (high - 1) / 2;
        let mut dot = 0.0_f32;
        for k in 0..48 {
            dot = (*rows.add(49 * high + k)).mul_add(*rows.add(49 * low + k), dot);
        }
        *to.add(sample * 399 + 48 + pair) = dot;
        pair += step;
    }
}

/// Distances of a query to vectors of 16 coded parts: a table for each part in shared memory, a loop over the grid.
#[kernel]
pub unsafe fn coded_distances(n: u32, tables: *const f32, codes: *const U32x4, to: *mut f32) {
    let table = shared_array![f32; 4096];
    let query = thread::block_idx_y() as usize;
    let mut k = thread::thread_idx_x() as usize;
    while k < 4096 {
        *table.add(k) = *tables.add(query * 4096 + k);
        k += thread::block_dim_x() as usize;
    }
    thread::sync_threads();
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = index();
    while i < n as usize {
        let code = (*codes.add(i)).to_array();
        let mut sum = 0.0_f32;
        for part in 0..16 {
            let letter = code[part / 4] >> (part % 4 * 8) & 255;
            sum += *table.add(part * 256 + letter as usize);
        }
        *to.add(query * n as usize + i) = sum;
        i += step;
    }
}

/// Days since 1970 to columns of years, months, days and weekdays, by whole divisions.
#[kernel]
pub unsafe fn calendar_columns(
    n: u32,
    dates: *const i32,
    years: *mut u16,
    months: *mut u8,
    days: *mut u8,
    weekdays: *mut u8,
) {
    let i = index();
    if i < n as usize {
        // Days since the first of March of the year 0, which a leap day ends.
        let since = (*dates.add(i) + 719_468) as u32;
        let century = since / 146_097;
        let day = since % 146_097;
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let of_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        *years.add(i) = (400 * century + year + next) as u16;
        *months.add(i) = month as u8;
        *days.add(i) = of_month as u8;
        *weekdays.add(i) = ((since + 3) % 7) as u8;
    }
}
