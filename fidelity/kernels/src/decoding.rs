//! Decoding and layers beside it: attention to a cache, convolution by tiles, recurrent cells, neighbours and sampling.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, U32x4};
use cuda_std::warp::{lane_id, warp_shuffle_up, warp_shuffle_xor};
use cuda_std::{GpuFloat, approx, shared_array, thread};

use crate::{ALL, index};

/// Attention of one query per head to a cache, width 128: eight warps share the keys, each with a softmax of its own.
#[kernel]
pub unsafe fn decode_attention(
    positions: u32,
    lengths: *const u32,
    query: *const F32x4,
    keys: *const F32x4,
    values: *const F32x4,
    to: *mut f32,
) {
    let (mosts, totals) = (shared_array![f32; 8], shared_array![f32; 8]);
    let sums = shared_array![F32x4; 256];
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let (head, sequence) = (thread::block_idx_x() as usize, thread::block_idx_y() as usize);
    let at = sequence * thread::grid_dim_x() as usize + head;
    let first = at * positions as usize;
    let length = *lengths.add(sequence) as usize;
    let wanted = *query.add(at * 32 + lane);
    let (mut most, mut total, mut sum) = (-1e30_f32, 0.0_f32, [0.0_f32; 4]);
    let mut position = warp;
    while position < length {
        let key = *keys.add((first + position) * 32 + lane);
        let mut dot =
            wanted.x.mul_add(key.x, wanted.y.mul_add(key.y, wanted.z.mul_add(key.z, wanted.w * key.w)));
        // Over an array of distances this would stay a loop within the loop, with the array in local memory.
        let mut distance = 16;
        while distance > 0 {
            dot += warp_shuffle_xor(ALL, dot, distance, 32).0;
            distance /= 2;
        }
        let score = dot * 0.088_388_35;
        let greater = most.max(score);
        let (shrink, weight) = (approx::exp(most - greater), approx::exp(score - greater));
        most = greater;
        total = total.mul_add(shrink, weight);
        let value = (*values.add((first + position) * 32 + lane)).to_array();
        for k in 0..4 {
            sum[k] = sum[k].mul_add(shrink, weight * value[k]);
        }
        position += 8;
    }
    if lane == 0 {
        *mosts.add(warp) = most;
        *totals.add(warp) = total;
    }
    *sums.add(thread) = F32x4::from_array(sum);
    thread::sync_threads();
    if thread < 128 {
        let most = (0..8).map(|warp| *mosts.add(warp)).fold(f32::MIN, f32::max);
        let (mut total, mut sum) = (0.0_f32, 0.0_f32);
        for warp in 0..8 {
            let weight = approx::exp(*mosts.add(warp) - most);
            total = weight.mul_add(*totals.add(warp), total);
            sum = weight.mul_add(*sums.cast::<f32>().add(warp * 128 + thread), sum);
        }
        *to.add(at * 128 + thread) = sum / total;
    }
}

/// A convolution of 3 x 3 as a product, channels fastest: 64 pixels by 64 channels a block, 16 of a tap's inputs at a time.
#[kernel]
pub unsafe fn convolve_tile(
    pixels: u32,
    side: u32,
    inputs: u32,
    outputs: u32,
    weights: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let (left, right) = (shared_array![f32; 1040], shared_array![f32; 1024]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_pixel, first_output) = (thread::block_idx_x() * 64, thread::block_idx_y() * 64);
    let thread = ty * 16 + tx;
    // The places of the four pixels that this thread fetches.
    let places: [[u32; 3]; 4] = [0, 1, 2, 3].map(|k| {
        let pixel = first_pixel + thread / 16 + 16 * k;
        [pixel % side, pixel / side % side, pixel / (side * side)]
    });
    let mut sums = [[0.0_f32; 4]; 4];
    for tap in 0..9 {
        let (dx, dy) = (tap % 3, tap / 3);
        let mut input = 0;
        while input < inputs {
            for k in 0..4 {
                let [x, y, image] = places[k as usize];
                let (sx, sy) = (x + dx, y + dy);
                let beyond = sx == 0 || sy == 0 || sx > side || sy > side;
                let inside = first_pixel + thread / 16 + 16 * k < pixels && !beyond;
                let value = if inside {
                    let pixel = (image * side + sy - 1) * side + sx - 1;
                    *from.add((pixel * inputs + input + thread % 16) as usize)
                } else {
                    0.0
                };
                *left.add((thread % 16 * 65 + thread / 16 + 16 * k) as usize) = value;
                let row = tap * inputs + input + thread / 64 + 4 * k;
                *right.add((thread + 256 * k) as usize) =
                    *weights.add((row * outputs + first_output + thread % 64) as usize);
            }
            thread::sync_threads();
            for k in 0..16 {
                let a: [f32; 4] = [0, 1, 2, 3].map(|j| *left.add(k * 65 + ty as usize * 4 + j));
                let b: [f32; 4] = [0, 1, 2, 3].map(|i| *right.add(k * 64 + tx as usize + 16 * i));
                for j in 0..4 {
                    for i in 0..4 {
                        sums[j][i] = a[j].mul_add(b[i], sums[j][i]);
                    }
                }
            }
            thread::sync_threads();
            input += 16;
        }
    }
    for j in 0..4 {
        let pixel = first_pixel + ty * 4 + j;
        if pixel < pixels {
            for i in 0..4 {
                let at = pixel * outputs + first_output + tx + 16 * i;
                *to.add(at as usize) = sums[j as usize][i as usize];
            }
        }
    }
}

/// The pointwise part of an LSTM: four gates from two products and a bias, then the cell's and the output's new values.
#[kernel]
pub unsafe fn lstm_cell(
    batch: u32,
    hidden: u32,
    input: *const f32,
    recurrent: *const f32,
    bias: *const f32,
    cell: *const f32,
    new_cell: *mut f32,
    output: *mut f32,
) {
    let i = index() as u32;
    if i < batch * hidden {
        let (row, column) = ((i / hidden) as usize, (i % hidden) as usize);
        let hidden = hidden as usize;
        let gate = |k: usize| {
            let at = row * 4 * hidden + k * hidden + column;
            *input.add(at) + *recurrent.add(at) + *bias.add(k * hidden + column)
        };
        let sigmoid = |x: f32| 1.0 / (1.0 + approx::exp(-x));
        let tanh = |x: f32| 2.0 * sigmoid(2.0 * x) - 1.0;
        let (enter, forget) = (sigmoid(gate(0)), sigmoid(gate(1)));
        let (candidate, leave) = (tanh(gate(2)), sigmoid(gate(3)));
        let state = forget.mul_add(*cell.add(i as usize), enter * candidate);
        *new_cell.add(i as usize) = state;
        *output.add(i as usize) = leave * tanh(state);
    }
}

/// The four nearest points of each query by brute force: a thread per query, tiles of 128 points in shared memory.
#[kernel]
pub unsafe fn nearest_four(queries: u32, points: u32, query: *const f32, point: *const f32, to: *mut U32x4) {
    let tile = shared_array![f32; 384];
    let (i, thread) = (index(), thread::thread_idx_x());
    let own = i.min(queries as usize - 1);
    let wanted: [f32; 3] = [0, 1, 2].map(|axis| *query.add(3 * own + axis));
    let (mut least, mut places) = ([f32::MAX; 4], [0_u32; 4]);
    let mut first = 0;
    while first < points {
        let count = (points - first).min(128);
        let mut k = thread;
        while k < 3 * count {
            *tile.add(k as usize) = *point.add((3 * first + k) as usize);
            k += 128;
        }
        thread::sync_threads();
        for k in 0..count {
            let d: [f32; 3] = [0, 1, 2].map(|axis| wanted[axis] - *tile.add(3 * k as usize + axis));
            let square = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0] * d[0]));
            if square < least[3] {
                least[3] = square;
                places[3] = first + k;
                for slot in (1..4).rev() {
                    if least[slot] < least[slot - 1] {
                        least.swap(slot, slot - 1);
                        places.swap(slot, slot - 1);
                    }
                }
            }
        }
        thread::sync_threads();
        first += 128;
    }
    if i < queries as usize {
        *to.add(i) = U32x4::from_array(places);
    }
}

/// Cumulative sums along long rows: a block of eight warps per row, 1024 values at a time and what was before them.
#[kernel]
pub unsafe fn cumulative_rows(quads: u32, from: *const F32x4, to: *mut F32x4) {
    let warps = shared_array![f32; 8];
    let (thread, lane) = (thread::thread_idx_x(), lane_id());
    let row = thread::block_idx_x() as usize * quads as usize;
    let mut before = 0.0_f32;
    let mut first = 0;
    while first < quads {
        let at = first + thread;
        let mut values = if at < quads { (*from.add(row + at as usize)).to_array() } else { [0.0; 4] };
        for k in 1..4 {
            values[k] += values[k - 1];
        }
        let mut sum = values[3];
        let mut distance = 1;
        while distance < 32 {
            let below = warp_shuffle_up(ALL, sum, distance, 32).0;
            if lane >= distance {
                sum += below;
            }
            distance *= 2;
        }
        if lane == 31 {
            *warps.add(thread as usize / 32) = sum;
        }
        thread::sync_threads();
        let below = warp_shuffle_up(ALL, sum, 1, 32).0;
        let mut offset = if lane == 0 { before } else { before + below };
        for warp in 0..8 {
            let part = *warps.add(warp);
            if warp < thread as usize / 32 {
                offset += part;
            }
            before += part;
        }
        if at < quads {
            *to.add(row + at as usize) = F32x4::from_array(values.map(|value| value + offset));
        }
        thread::sync_threads();
        first += thread::block_dim_x();
    }
}

/// The greatest value of as many neighbouring lanes, and its place, in each of them.
#[inline(always)]
unsafe fn greatest_of(mut most: f32, mut place: u32, lanes: u32) -> (f32, u32) {
    let mut distance = lanes / 2;
    while distance > 0 {
        let other = warp_shuffle_xor(ALL, most, distance, 32).0;
        let its = warp_shuffle_xor(ALL, place, distance, 32).0;
        if other > most || (other == most && its < place) {
            most = other;
            place = its;
        }
        distance /= 2;
    }
    (most, place)
}

/// A draw from each row's softmax: the largest of logits plus Gumbel noise from hashed counters, a block of 512 per row.
#[kernel]
pub unsafe fn gumbel_sample(width: u32, seed: u32, heat: f32, logits: *const f32, drawn: *mut u32) {
    let (mosts, places) = (shared_array![f32; 16], shared_array![u32; 16]);
    let (row, thread) = (thread::block_idx_x(), thread::thread_idx_x());
    let (mut most, mut place) = (f32::MIN, 0_u32);
    let mut i = thread;
    while i < width {
        let at = row * width + i;
        let mut hash = at ^ seed;
        hash = (hash ^ hash >> 16).wrapping_mul(0x7FEB_352D);
        hash = (hash ^ hash >> 15).wrapping_mul(0x846C_A68B);
        hash ^= hash >> 16;
        // Between 0 and 1, and neither.
        let uniform = ((hash >> 9) as f32 + 0.5) / 8_388_608.0;
        let score = *logits.add(at as usize) / heat - (-uniform.ln()).ln();
        if score > most {
            most = score;
            place = i;
        }
        i += 512;
    }
    (most, place) = greatest_of(most, place, 32);
    if thread.is_multiple_of(32) {
        *mosts.add(thread as usize / 32) = most;
        *places.add(thread as usize / 32) = place;
    }
    thread::sync_threads();
    if thread < 32 {
        let slot = thread as usize % 16;
        (_, place) = greatest_of(*mosts.add(slot), *places.add(slot), 16);
        if thread == 0 {
            *drawn.add(row as usize) = place;
        }
    }
}
