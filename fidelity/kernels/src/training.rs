//! Training: statistics over a batch, gradients, dropout, gated activations and bytes with scales.

use cuda_std::integer::multiply_high;
use cuda_std::intrinsics::float2int_rn;
use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cuda_std::{GpuFloat, approx, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{block_sum, index, warp_max};

/// Sums and sums of squares of each channel, channels fastest: 32 channels by 8 rows a block, then atomics.
#[kernel]
pub unsafe fn channel_moments(rows: u32, channels: u32, from: *const f32, sums: *mut f32, squares: *mut f32) {
    let (sum_tile, square_tile) = (shared_array![f32; 256], shared_array![f32; 256]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (channel, channels) = (index(), channels as usize);
    let (mut sum, mut square) = (0.0_f32, 0.0_f32);
    if channel < channels {
        let mut row = thread::block_idx_y() as usize * 8 + ty;
        while row < rows as usize {
            let value = *from.add(row * channels + channel);
            sum += value;
            square = value.mul_add(value, square);
            row += thread::grid_dim_y() as usize * 8;
        }
    }
    *sum_tile.add(ty * 32 + tx) = sum;
    *square_tile.add(ty * 32 + tx) = square;
    thread::sync_threads();
    if ty == 0 && channel < channels {
        for k in 1..8 {
            sum += *sum_tile.add(k * 32 + tx);
            square += *square_tile.add(k * 32 + tx);
        }
        mid::atomic_fetch_add_f32_device(sums.add(channel), Relaxed, sum);
        mid::atomic_fetch_add_f32_device(squares.add(channel), Relaxed, square);
    }
}

/// The gradient of a layer norm's input: a block per row, two sums over the row and a second pass.
#[kernel]
pub unsafe fn layer_norm_gradient(
    width: u32,
    from: *const f32,
    above: *const f32,
    gain: *const f32,
    means: *const f32,
    scales: *const f32,
    below: *mut f32,
) {
    let (width, thread) = (width as usize, thread::thread_idx_x() as usize);
    let row = thread::block_idx_x() as usize;
    let step = thread::block_dim_x() as usize;
    let (mean, scale) = (*means.add(row), *scales.add(row));
    let first = row * width;
    let (mut sum, mut dot) = (0.0_f32, 0.0_f32);
    let mut i = thread;
    while i < width {
        let normal = (*from.add(first + i) - mean) * scale;
        let gradient = *above.add(first + i) * *gain.add(i);
        sum += gradient;
        dot = gradient.mul_add(normal, dot);
        i += step;
    }
    let sum = block_sum(sum) / width as f32;
    let dot = block_sum(dot) / width as f32;
    i = thread;
    while i < width {
        let normal = (*from.add(first + i) - mean) * scale;
        let gradient = *above.add(first + i) * *gain.add(i);
        *below.add(first + i) = scale * (gradient - sum - normal * dot);
        i += step;
    }
}

/// The gradient of a table of embeddings: a block adds a token's row to the table's with atomics.
#[kernel]
pub unsafe fn embedding_gradient(width: u32, tokens: *const u32, above: *const f32, table: *mut f32) {
    let width = width as usize;
    let position = thread::block_idx_x() as usize;
    let row = table.add(*tokens.add(position) as usize * width);
    let mut i = thread::thread_idx_x() as usize;
    while i < width {
        mid::atomic_fetch_add_f32_device(row.add(i), Relaxed, *above.add(position * width + i));
        i += thread::block_dim_x() as usize;
    }
}

/// Four random words for a counter and a key: Philox 4x32 of ten rounds.
#[inline(always)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let high = [multiply_high(0xD251_1F53, counter[0]), multiply_high(0xCD9E_8D57, counter[2])];
        let low = [counter[0].wrapping_mul(0xD251_1F53), counter[2].wrapping_mul(0xCD9E_8D57)];
        counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// Dropout and the residual's addition: four values a thread, each kept if its random word is below a limit.
#[kernel]
pub unsafe fn dropout_add(
    quads: u32,
    limit: u32,
    scale: f32,
    seed: u32,
    from: *const F32x4,
    residual: *const F32x4,
    to: *mut F32x4,
) {
    let i = index();
    if i < quads as usize {
        let random = philox([i as u32, 0, 0, 0], [seed, 0]);
        let values = (*from.add(i)).to_array();
        let mut sum = (*residual.add(i)).to_array();
        for k in 0..4 {
            if random[k] < limit {
                sum[k] = values[k].mul_add(scale, sum[k]);
            }
        }
        *to.add(i) = F32x4::from_array(sum);
    }
}

/// The nearest 16-bit float (bfloat16) to a number, ties to even.
#[inline(always)]
fn round_bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

/// The gated activation of a row's two halves, `silu(gate) * up`: bfloat16, two to a word.
#[kernel]
pub unsafe fn swiglu(half: u32, from: *const u32, to: *mut u32) {
    let (column, row) = (index(), thread::block_idx_y() as usize);
    let half = half as usize;
    if column < half {
        let gates = *from.add(row * 2 * half + column);
        let ups = *from.add(row * 2 * half + half + column);
        let activate = |gate: u32, up: u32| {
            let (gate, up) = (f32::from_bits(gate), f32::from_bits(up));
            round_bf16(gate / (1.0 + approx::exp(-gate)) * up)
        };
        let low = activate(gates << 16, ups << 16);
        let high = activate(gates & 0xffff_0000, ups & 0xffff_0000);
        *to.add(row * half + column) = high << 16 | low;
    }
}

/// Groups of 128 floats to signed bytes and a scale by their largest magnitude: a warp per group, four values a lane.
#[kernel]
pub unsafe fn quantise_groups(groups: u32, from: *const F32x4, scales: *mut f32, to: *mut u32) {
    let (group, lane) = (index() / 32, index() % 32);
    if group < groups as usize {
        let values = (*from.add(group * 32 + lane)).to_array();
        let mut most = 0.0_f32;
        for value in values {
            most = most.max(value.abs());
        }
        let most = warp_max(most);
        let factor = if most > 0.0 { 127.0 / most } else { 0.0 };
        let mut packed = 0;
        for k in 0..4 {
            packed |= (float2int_rn(values[k] * factor) as u32 & 255) << (8 * k);
        }
        *to.add(group * 32 + lane) = packed;
        if lane == 0 {
            *scales.add(group) = most / 127.0;
        }
    }
}
