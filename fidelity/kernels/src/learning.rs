//! Neural networks: norms, activations, attention and their losses.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, approx, thread};

use crate::{block_sum, index, warp_max, warp_sum};

/// Layer norm: a block per row.
#[kernel]
pub unsafe fn layer_norm(width: u32, from: *const f32, gain: *const f32, bias: *const f32, to: *mut f32) {
    let (width, thread) = (width as usize, thread::thread_idx_x() as usize);
    let row = thread::block_idx_x() as usize * width;
    let step = thread::block_dim_x() as usize;
    let mut sum = 0.0_f32;
    let mut i = thread;
    while i < width {
        sum += *from.add(row + i);
        i += step;
    }
    let mean = block_sum(sum) / width as f32;
    let mut squares = 0.0_f32;
    i = thread;
    while i < width {
        let distance = *from.add(row + i) - mean;
        squares = distance.mul_add(distance, squares);
        i += step;
    }
    let scale = approx::reciprocal_sqrt(block_sum(squares) / width as f32 + 1e-5);
    i = thread;
    while i < width {
        *to.add(row + i) = ((*from.add(row + i) - mean) * scale).mul_add(*gain.add(i), *bias.add(i));
        i += step;
    }
}

/// RMS norm: a warp per row.
#[kernel]
pub unsafe fn rms_norm(rows: u32, width: u32, from: *const f32, gain: *const f32, to: *mut f32) {
    let (row, lane) = (index() / 32, index() % 32);
    let width = width as usize;
    if row < rows as usize {
        let mut squares = 0.0_f32;
        let mut i = lane;
        while i < width {
            let value = *from.add(row * width + i);
            squares = value.mul_add(value, squares);
            i += 32;
        }
        let scale = approx::reciprocal_sqrt(warp_sum(squares) / width as f32 + 1e-6);
        i = lane;
        while i < width {
            *to.add(row * width + i) = *from.add(row * width + i) * scale * *gain.add(i);
            i += 32;
        }
    }
}

/// Softmax: a warp per row of 256, the row in registers.
#[kernel]
pub unsafe fn softmax_rows(rows: u32, from: *const f32, to: *mut f32) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let mut values = [0.0_f32; 8];
        let mut greatest = f32::MIN;
        for (k, value) in values.iter_mut().enumerate() {
            *value = *from.add(row * 256 + k * 32 + lane);
            greatest = greatest.max(*value);
        }
        let greatest = warp_max(greatest);
        let mut sum = 0.0_f32;
        for value in &mut values {
            *value = approx::exp(*value - greatest);
            sum += *value;
        }
        let scale = 1.0 / warp_sum(sum);
        for (k, value) in values.iter().enumerate() {
            *to.add(row * 256 + k * 32 + lane) = value * scale;
        }
    }
}

/// One query's scores against all keys of 64 numbers: a warp per key.
#[kernel]
pub unsafe fn attention_scores(keys: u32, query: *const f32, key: *const f32, scores: *mut f32) {
    let (at, lane) = (index() / 32, index() % 32);
    if at < keys as usize {
        let first = *query.add(lane) * *key.add(at * 64 + lane);
        let sum = (*query.add(lane + 32)).mul_add(*key.add(at * 64 + lane + 32), first);
        let sum = warp_sum(sum);
        if lane == 0 {
            *scores.add(at) = sum * 0.125;
        }
    }
}

/// GELU in its form with a hyperbolic tangent.
#[kernel]
pub unsafe fn gelu(n: u32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < n as usize {
        let x = *from.add(i);
        let inner = 0.797_884_6 * 0.044_715_f32.mul_add(x * x * x, x);
        // tanh by an exponential and a division, as libraries did before there was an instruction.
        let tanh = 1.0 - 2.0 / (approx::exp(2.0 * inner) + 1.0);
        *to.add(i) = 0.5 * x * (1.0 + tanh);
    }
}

/// Rows of a table by token: a block copies a row.
#[kernel]
pub unsafe fn embedding_gather(width: u32, tokens: *const u32, table: *const f32, to: *mut f32) {
    let token = *tokens.add(thread::block_idx_x() as usize) as usize;
    let (row, width) = (thread::block_idx_x() as usize * width as usize, width as usize);
    let mut i = thread::thread_idx_x() as usize;
    while i < width {
        *to.add(row + i) = *table.add(token * width + i);
        i += thread::block_dim_x() as usize;
    }
}

/// Cross entropy of each row's label: a block per row of the vocabulary.
#[kernel]
pub unsafe fn cross_entropy(width: u32, logits: *const f32, labels: *const u32, loss: *mut f32) {
    let (width, thread) = (width as usize, thread::thread_idx_x() as usize);
    let row = thread::block_idx_x() as usize;
    let mut sum = 0.0_f32;
    let mut i = thread;
    while i < width {
        sum += approx::exp(*logits.add(row * width + i));
        i += thread::block_dim_x() as usize;
    }
    let total = block_sum(sum);
    if thread == 0 {
        *loss.add(row) = approx::ln(total) - *logits.add(row * width + *labels.add(row) as usize);
    }
}

/// Adam's update of parameters and both moments, out of place for the parameters.
#[kernel]
pub unsafe fn adam_step(
    n: u32,
    gradient: *const f32,
    first: *const f32,
    second: *const f32,
    parameters: *const f32,
    new_first: *mut f32,
    new_second: *mut f32,
    updated: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let g = *gradient.add(i);
        let m = 0.9_f32.mul_add(*first.add(i), 0.1 * g);
        let v = 0.999_f32.mul_add(*second.add(i), 0.001 * g * g);
        *new_first.add(i) = m;
        *new_second.add(i) = v;
        *updated.add(i) = *parameters.add(i) - 0.001 * m / (v.sqrt() + 1e-8);
    }
}

/// The maximum of windows of 2 x 2.
#[kernel]
pub unsafe fn max_pool(nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = crate::position();
    let nx = nx as usize;
    if x < nx / 2 && y < ny as usize / 2 {
        let at = 2 * y * nx + 2 * x;
        let above = (*from.add(at)).max(*from.add(at + 1));
        let below = (*from.add(at + nx)).max(*from.add(at + nx + 1));
        *to.add(y * (nx / 2) + x) = above.max(below);
    }
}

/// The position of each row's greatest value: a warp per row.
#[kernel]
pub unsafe fn argmax_rows(rows: u32, width: u32, from: *const f32, best: *mut u32) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let (mut greatest, mut at) = (f32::MIN, 0_u32);
        let mut i = lane;
        while i < width as usize {
            let value = *from.add(row * width as usize + i);
            if value > greatest {
                greatest = value;
                at = i as u32;
            }
            i += 32;
        }
        for distance in [16, 8, 4, 2, 1] {
            let other = cuda_std::warp::warp_shuffle_xor(crate::ALL, greatest, distance, 32).0;
            let place = cuda_std::warp::warp_shuffle_xor(crate::ALL, at, distance, 32).0;
            if other > greatest || (other == greatest && place < at) {
                greatest = other;
                at = place;
            }
        }
        if lane == 0 {
            *best.add(row) = at;
        }
    }
}

/// Rotary positions: pairs of numbers turned by an angle that depends on both places.
#[kernel]
pub unsafe fn rotary(n: u32, half: u32, frequencies: *const f32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < n as usize {
        let (position, pair) = (i / half as usize, i % half as usize);
        let angle = position as f32 * *frequencies.add(pair);
        let (sine, cosine) = (approx::sin(angle), approx::cos(angle));
        let (a, b) = (*from.add(2 * i), *from.add(2 * i + 1));
        *to.add(2 * i) = a * cosine - b * sine;
        *to.add(2 * i + 1) = a * sine + b * cosine;
    }
}
