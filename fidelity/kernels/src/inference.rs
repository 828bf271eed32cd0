//! Neural networks: attention by tiles, norms over groups, convolutions, the largest of a row, bags and 16-bit weights.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, U32x4};
use cuda_std::warp::warp_vote_ballot;
use cuda_std::{GpuFloat, approx, shared_array, thread};

use crate::{ALL, block_sum, index, warp_max, warp_sum};

/// Attention of width 32, a query per thread: tiles of 32 keys and values in shared memory, the softmax on the way.
#[kernel]
pub unsafe fn flash_tile(keys: u32, q: *const f32, k: *const f32, v: *const f32, to: *mut f32) {
    let (key_tile, value_tile) = (shared_array![f32; 1024], shared_array![f32; 1024]);
    let thread = thread::thread_idx_x() as usize;
    let i = index();
    let mut query = [0.0_f32; 32];
    let mut sum = [0.0_f32; 32];
    for (d, value) in query.iter_mut().enumerate() {
        *value = *q.add(32 * i + d);
    }
    let (mut most, mut total) = (-1e30_f32, 0.0_f32);
    for first in 0..keys as usize / 32 {
        let mut at = thread;
        while at < 1024 {
            *key_tile.add(at) = *k.add(first * 1024 + at);
            *value_tile.add(at) = *v.add(first * 1024 + at);
            at += thread::block_dim_x() as usize;
        }
        thread::sync_threads();
        for key in 0..32 {
            let mut score = 0.0_f32;
            for d in 0..32 {
                score = query[d].mul_add(*key_tile.add(32 * key + d), score);
            }
            score *= 0.176_776_7;
            if score > most {
                let shrink = approx::exp(most - score);
                most = score;
                total *= shrink;
                for value in &mut sum {
                    *value *= shrink;
                }
            }
            let weight = approx::exp(score - most);
            total += weight;
            for d in 0..32 {
                sum[d] = weight.mul_add(*value_tile.add(32 * key + d), sum[d]);
            }
        }
        thread::sync_threads();
    }
    let scale = 1.0 / total;
    for d in 0..32 {
        *to.add(32 * i + d) = sum[d] * scale;
    }
}

/// Group norm: a block per group of neighbouring channels, sums of values and of squares in one pass, vectors of four.
#[kernel]
pub unsafe fn group_norm(quads: u32, from: *const F32x4, to: *mut F32x4) {
    let first = thread::block_idx_x() as usize * quads as usize;
    let (mut sum, mut squares) = (0.0_f32, 0.0_f32);
    let mut k = thread::thread_idx_x();
    while k < quads {
        for value in (*from.add(first + k as usize)).to_array() {
            sum += value;
            squares = value.mul_add(value, squares);
        }
        k += thread::block_dim_x();
    }
    let count = 4.0 * quads as f32;
    let mean = block_sum(sum) / count;
    let variance = block_sum(squares) / count - mean * mean;
    let scale = approx::reciprocal_sqrt(variance + 1e-5);
    k = thread::thread_idx_x();
    while k < quads {
        let values = (*from.add(first + k as usize)).to_array();
        *to.add(first + k as usize) = F32x4::from_array(values.map(|value| (value - mean) * scale));
        k += thread::block_dim_x();
    }
}

/// A convolution of 3 x 3 for each channel apart, channels fastest, zeros beyond the edges: a thread per output.
#[kernel]
pub unsafe fn depthwise_3x3(side: u32, channels: u32, weights: *const f32, from: *const f32, to: *mut f32) {
    let channel = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let pixel = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if channel >= channels || pixel >= side * side {
        return;
    }
    let (channel, channels, side) = (channel as usize, channels as usize, side as usize);
    let (x, y) = (pixel as usize % side, pixel as usize / side);
    let image = from.add(thread::block_idx_z() as usize * side * side * channels);
    let mut sum = 0.0_f32;
    for dy in 0..3 {
        for dx in 0..3 {
            let (sx, sy) = (x + dx, y + dy);
            if sx > 0 && sy > 0 && sx <= side && sy <= side {
                let value = *image.add(((sy - 1) * side + sx - 1) * channels + channel);
                sum = (*weights.add((3 * dy + dx) * channels + channel)).mul_add(value, sum);
            }
        }
    }
    let at = ((thread::block_idx_z() as usize * side + y) * side + x) * channels + channel;
    *to.add(at) = sum.max(0.0);
}

/// The eight largest of each row, by a warp: each round finds the largest and crosses it out. Rows of 32 times 16.
#[kernel]
pub unsafe fn top_eight(rows: u32, from: *const f32, values: *mut f32, places: *mut u32) {
    let (row, lane) = (index() / 32, index() % 32);
    if row >= rows as usize {
        return;
    }
    let mut own = [0.0_f32; 16];
    for (k, value) in own.iter_mut().enumerate() {
        *value = *from.add(row * 512 + k * 32 + lane);
    }
    for round in 0..8 {
        let (mut best, mut at) = (own[0], 0);
        for k in 1..16 {
            if own[k] > best {
                best = own[k];
                at = k;
            }
        }
        let most = warp_max(best);
        let winner = warp_vote_ballot(ALL, best == most).trailing_zeros() as usize;
        if lane == winner {
            *values.add(row * 8 + round) = most;
            *places.add(row * 8 + round) = (at * 32 + lane) as u32;
            for k in 0..16 {
                if k == at {
                    own[k] = f32::MIN;
                }
            }
        }
    }
}

/// Bags of words: the mean of as many rows of a table as a bag has, 16 threads with four columns each.
#[kernel]
pub unsafe fn embedding_bag(
    bags: u32,
    starts: *const u32,
    words: *const u32,
    table: *const F32x4,
    to: *mut F32x4,
) {
    let (bag, part) = (index() / 16, index() % 16);
    if bag < bags as usize {
        let (first, end) = (*starts.add(bag), *starts.add(bag + 1));
        let mut sum = [0.0_f32; 4];
        for k in first..end {
            let row = (*table.add(*words.add(k as usize) as usize * 16 + part)).to_array();
            for column in 0..4 {
                sum[column] += row[column];
            }
        }
        let scale = 1.0 / (end - first) as f32;
        *to.add(bag * 16 + part) = F32x4::from_array(sum.map(|value| value * scale));
    }
}

/// A matrix of 16-bit floats (bfloat16) times a vector: a block of 128 per row, eight weights a load.
#[kernel]
pub unsafe fn gemv_bf16(columns: u32, weights: *const U32x4, x: *const F32x4, y: *mut f32) {
    let row = thread::block_idx_x() as usize;
    let groups = columns as usize / 8;
    let mut sum = 0.0_f32;
    let mut k = thread::thread_idx_x() as usize;
    while k < groups {
        let packed = (*weights.add(row * groups + k)).to_array();
        let (low, high) = (*x.add(2 * k), *x.add(2 * k + 1));
        let factors = [low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w];
        for word in 0..4 {
            sum = f32::from_bits(packed[word] << 16).mul_add(factors[2 * word], sum);
            sum = f32::from_bits(packed[word] & 0xffff_0000).mul_add(factors[2 * word + 1], sum);
        }
        k += thread::block_dim_x() as usize;
    }
    let total = block_sum(sum);
    if thread::thread_idx_x() == 0 {
        *y.add(row) = total;
    }
}

/// A convolution of 1 x 1: 64 pixels by 64 channels a block, a tile of 4 x 4 per thread, products from shared memory.
#[kernel]
pub unsafe fn pointwise_tile(inputs: u32, pixels: u32, weights: *const f32, from: *const f32, to: *mut f32) {
    let (left, right) = (shared_array![f32; 1024], shared_array![f32; 1024]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (first_pixel, first_output) =
        (thread::block_idx_x() as usize * 64, thread::block_idx_y() as usize * 64);
    let (inputs, pixels) = (inputs as usize, pixels as usize);
    let thread = ty * 16 + tx;
    let mut sums = [[0.0_f32; 4]; 4];
    for depth in 0..inputs / 16 {
        for k in 0..4 {
            let cell = thread + 256 * k;
            *left.add(cell) = *weights.add((first_output + cell / 16) * inputs + depth * 16 + cell % 16);
            *right.add(cell) = *from.add((depth * 16 + cell / 64) * pixels + first_pixel + cell % 64);
        }
        thread::sync_threads();
        for k in 0..16 {
            let a: [f32; 4] = [0, 1, 2, 3].map(|j| *left.add((ty * 4 + j) * 16 + k));
            let b: [f32; 4] = [0, 1, 2, 3].map(|j| *right.add(k * 64 + tx + 16 * j));
            for j in 0..4 {
                for i in 0..4 {
                    sums[j][i] = a[j].mul_add(b[i], sums[j][i]);
                }
            }
        }
        thread::sync_threads();
    }
    for j in 0..4 {
        for i in 0..4 {
            *to.add((first_output + ty * 4 + j) * pixels + first_pixel + tx + 16 * i) = sums[j][i].max(0.0);
        }
    }
}

/// The gradient of a softmax, rows of any width: a warp per row sums products and subtracts.
#[kernel]
pub unsafe fn softmax_gradient(
    rows: u32,
    width: u32,
    output: *const f32,
    above: *const f32,
    below: *mut f32,
) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let first = row * width as usize;
        let mut dot = 0.0_f32;
        let mut k = lane;
        while k < width as usize {
            dot = (*output.add(first + k)).mul_add(*above.add(first + k), dot);
            k += 32;
        }
        let dot = warp_sum(dot);
        k = lane;
        while k < width as usize {
            *below.add(first + k) = *output.add(first + k) * (*above.add(first + k) - dot);
            k += 32;
        }
    }
}
