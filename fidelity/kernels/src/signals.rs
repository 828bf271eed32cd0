//! Signals and pictures: cosine transforms, edges, turned images, noise, filters; shortest paths and a cipher by tables.

use cuda_std::prelude::*;
use cuda_std::vector::{U32x2, U32x4};
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{index, position};

/// The inverse cosine transform of eight numbers: even and odd frequencies apart.
#[inline(always)]
fn inverse_8(from: [f32; 8]) -> [f32; 8] {
    let (sum, difference) = (0.353_553_4 * (from[0] + from[4]), 0.353_553_4 * (from[0] - from[4]));
    let slow = 0.461_939_78 * from[2] + 0.191_341_71 * from[6];
    let fast = 0.191_341_71 * from[2] - 0.461_939_78 * from[6];
    let even = [sum + slow, difference + fast, difference - fast, sum - slow];
    let (a, b, c, d) = (0.490_392_63, 0.415_734_8, 0.277_785_12, 0.097_545_16);
    let odd = [
        a * from[1] + b * from[3] + c * from[5] + d * from[7],
        b * from[1] - d * from[3] - a * from[5] - c * from[7],
        c * from[1] - a * from[3] + d * from[5] + b * from[7],
        d * from[1] - c * from[3] + b * from[5] - a * from[7],
    ];
    let mut to = [0.0; 8];
    for k in 0..4 {
        to[k] = even[k] + odd[k];
        to[7 - k] = even[k] - odd[k];
    }
    to
}

/// Scales coefficients of 8 x 8 pixels and transforms them back: 8 threads per tile take a column, then a row, of it.
#[kernel]
pub unsafe fn inverse_dct(
    tiles: u32,
    across: u32,
    scales: *const u16,
    coefficients: *const i16,
    pixels: *mut U32x2,
) {
    // Rows of 9 floats, 16 tiles.
    let shared = shared_array![f32; 1152];
    let thread = thread::thread_idx_x() as usize;
    let (tile, line) = (index() / 8, thread % 8);
    let own = shared.add(thread / 8 * 72);
    if tile < tiles as usize {
        let mut column = [0.0_f32; 8];
        for (y, value) in column.iter_mut().enumerate() {
            let scale = i32::from(*scales.add(8 * y + line));
            *value = (i32::from(*coefficients.add(64 * tile + 8 * y + line)) * scale) as f32;
        }
        for (y, value) in inverse_8(column).into_iter().enumerate() {
            *own.add(9 * y + line) = value;
        }
    }
    thread::sync_threads();
    if tile < tiles as usize {
        let mut row = [0.0_f32; 8];
        for (x, value) in row.iter_mut().enumerate() {
            *value = *own.add(9 * line + x);
        }
        let bytes = inverse_8(row).map(|value| (value + 128.5).clamp(0.0, 255.0) as u32);
        let word = |k: usize| bytes[k] | bytes[k + 1] << 8 | bytes[k + 2] << 16 | bytes[k + 3] << 24;
        let across = across as usize;
        let at = (tile / across * 8 + line) * across + tile % across;
        *pixels.add(at) = U32x2::new(word(0), word(4));
    }
}

/// Canny's edges before hysteresis: maxima along one of four directions of the gradient, 1 if weak and 2 if strong.
#[kernel]
pub unsafe fn suppress_maxima(
    nx: u32,
    ny: u32,
    low: u32,
    high: u32,
    across: *const i16,
    down: *const i16,
    magnitude: *const u16,
    edges: *mut u8,
) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x >= nx || y >= ny {
        return;
    }
    let at = y * nx + x;
    let mut edge = 0;
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let here = *magnitude.add(at);
        if u32::from(here) > low {
            let (h, v) = (i32::from(*across.add(at)), i32::from(*down.add(at)));
            // Tangents of 22.5 and 67.5 degrees in fixed point.
            let (flat, height) = (h.abs() * 13573, v.abs() << 15);
            let (before, after) = if height < flat {
                (at - 1, at + 1)
            } else if height > flat + (h.abs() << 16) {
                (at - nx, at + nx)
            } else if h ^ v < 0 {
                (at - nx + 1, at + nx - 1)
            } else {
                (at - nx - 1, at + nx + 1)
            };
            if here > *magnitude.add(before) && here >= *magnitude.add(after) {
                edge = if u32::from(here) > high { 2 } else { 1 };
            }
        }
    }
    *edges.add(at) = edge;
}

/// Turns, scales and shifts an image of four bytes per pixel, with bilinear interpolation and zeros beyond the edges.
#[kernel]
pub unsafe fn warp_affine(
    sx: u32,
    sy: u32,
    nx: u32,
    ny: u32,
    matrix: *const f32,
    from: *const u32,
    to: *mut u32,
) {
    let (x, y) = position();
    if x >= nx as usize || y >= ny as usize {
        return;
    }
    let along = |row: usize| {
        let [a, b, c] = [0, 1, 2].map(|k| *matrix.add(3 * row + k));
        a.mul_add(x as f32, b.mul_add(y as f32, c))
    };
    let (fx, fy) = (along(0), along(1));
    let (left, top) = (fx.floor(), fy.floor());
    let (u, v) = (fx - left, fy - top);
    let (left, top) = (left as i32, top as i32);
    let corners = [(left, top), (left + 1, top), (left, top + 1), (left + 1, top + 1)].map(|(x, y)| {
        if x >= 0 && y >= 0 && x < sx as i32 && y < sy as i32 {
            *from.add(y as usize * sx as usize + x as usize)
        } else {
            0
        }
    });
    let mut pixel = 0;
    for shift in [0, 8, 16, 24] {
        let [p, q, r, s] = corners.map(|corner| (corner >> shift & 255) as f32);
        let (upper, lower) = (u.mul_add(q - p, p), u.mul_add(s - r, r));
        pixel |= ((v.mul_add(lower - upper, upper) + 0.5) as u32) << shift;
    }
    *to.add(y * nx as usize + x) = pixel;
}

/// The product of a corner's distance with one of twelve gradients.
#[inline(always)]
fn gradient(hash: u32, x: f32, y: f32, z: f32) -> f32 {
    let hash = hash & 15;
    let u = if hash < 8 { x } else { y };
    let v = if hash < 4 {
        y
    } else if hash == 12 || hash == 14 {
        x
    } else {
        z
    };
    (if hash & 1 == 0 { u } else { -u }) + (if hash & 2 == 0 { v } else { -v })
}

/// Perlin's noise in three dimensions on a plane: octaves of twice the frequency and half the height, permutation in shared
/// memory.
#[kernel]
pub unsafe fn gradient_noise(nx: u32, ny: u32, octaves: u32, depth: f32, table: *const u8, to: *mut f32) {
    let own = shared_array![u8; 256];
    let thread = (thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    *own.add(thread) = *table.add(thread);
    thread::sync_threads();
    let (px, py) = position();
    if px >= nx as usize || py >= ny as usize {
        return;
    }
    let (mut x, mut y, mut z) = (px as f32 / 64.0, py as f32 / 64.0, depth);
    let (mut sum, mut height) = (0.0_f32, 1.0_f32);
    for _ in 0..octaves {
        let (cx, cy, cz) = (x.floor(), y.floor(), z.floor());
        let (dx, dy, dz) = (x - cx, y - cy, z - cz);
        let (ix, iy, iz) = (cx as i32 as u32, cy as i32 as u32, cz as i32 as u32);
        let hash = |value: u32| u32::from(*own.add((value & 255) as usize));
        let fade = |t: f32| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
        let mix = |t: f32, a: f32, b: f32| a + t * (b - a);
        let (u, v, w) = (fade(dx), fade(dy), fade(dz));
        let mut planes = [0.0_f32; 2];
        for (k, plane) in planes.iter_mut().enumerate() {
            let mut lines = [0.0_f32; 2];
            for (j, line) in lines.iter_mut().enumerate() {
                let corner = |i: u32| {
                    let at = hash(ix + i + hash(iy + j as u32 + hash(iz + k as u32)));
                    gradient(at, dx - i as f32, dy - j as f32, dz - k as f32)
                };
                *line = mix(u, corner(0), corner(1));
            }
            *plane = mix(v, lines[0], lines[1]);
        }
        sum += height * mix(w, planes[0], planes[1]);
        (x, y, z) = (2.0 * x, 2.0 * y, 2.0 * z);
        height *= 0.5;
    }
    *to.add(py * nx as usize + px) = sum;
}

/// Floyd and Warshall's shortest paths by tiles of 32 x 32, a pass's last step: tiles in neither the pivot's row nor column.
#[kernel]
pub unsafe fn floyd_tile(n: u32, pivot: u32, distances: *mut u32) {
    let (left, upper) = (shared_array![u32; 1024], shared_array![u32; 1024]);
    if thread::block_idx_x() == pivot || thread::block_idx_y() == pivot {
        return;
    }
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let ((x, y), n, first) = (position(), n as usize, pivot as usize * 32);
    *left.add(ty * 32 + tx) = *distances.add(y * n + first + tx);
    *upper.add(ty * 32 + tx) = *distances.add((first + ty) * n + x);
    thread::sync_threads();
    let mut least = *distances.add(y * n + x);
    for k in 0..32 {
        least = least.min(*left.add(ty * 32 + k) + *upper.add(k * 32 + tx));
    }
    *distances.add(y * n + x) = least;
}

/// A filter of 64 taps: 256 outputs a block, the samples that they need and the taps in shared memory.
#[kernel]
pub unsafe fn fir_64(n: u32, taps: *const f32, from: *const f32, to: *mut f32) {
    let (samples, weights) = (shared_array![f32; 319], shared_array![f32; 64]);
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 256;
    let mut k = thread;
    while k < 319 {
        // The block's first output needs 63 samples before its own.
        let at = first + k;
        *samples.add(k) = if at >= 63 && at - 63 < n as usize { *from.add(at - 63) } else { 0.0 };
        k += 256;
    }
    if thread < 64 {
        *weights.add(thread) = *taps.add(thread);
    }
    thread::sync_threads();
    if first + thread < n as usize {
        let mut sum = 0.0_f32;
        for tap in 0..64 {
            sum = (*weights.add(tap)).mul_add(*samples.add(thread + 63 - tap), sum);
        }
        *to.add(first + thread) = sum;
    }
}

/// AES with a counter: 16 bytes a thread, ten rounds by a table of words and one of bytes in shared memory.
#[kernel]
pub unsafe fn aes_counter(
    blocks: u32,
    nonce: u32,
    keys: *const u32,
    table: *const u32,
    boxes: *const u8,
    from: *const U32x4,
    to: *mut U32x4,
) {
    let (words, bytes) = (shared_array![u32; 256], shared_array![u8; 256]);
    let thread = thread::thread_idx_x() as usize;
    *words.add(thread) = *table.add(thread);
    *bytes.add(thread) = *boxes.add(thread);
    thread::sync_threads();
    let i = index();
    if i >= blocks as usize {
        return;
    }
    let mut state = [nonce, 0, 0, i as u32];
    for k in 0..4 {
        state[k] ^= *keys.add(k);
    }
    let byte = |word: u32, k: u32| (word >> (24 - 8 * k) & 255) as usize;
    for round in 1..10 {
        let old = state;
        for k in 0..4 {
            state[k] = *keys.add(4 * round + k)
                ^ *words.add(byte(old[k], 0))
                ^ (*words.add(byte(old[(k + 1) % 4], 1))).rotate_right(8)
                ^ (*words.add(byte(old[(k + 2) % 4], 2))).rotate_right(16)
                ^ (*words.add(byte(old[(k + 3) % 4], 3))).rotate_right(24);
        }
    }
    let mut text = (*from.add(i)).to_array();
    for k in 0..4 {
        let last = |j: usize| u32::from(*bytes.add(byte(state[(k + j) % 4], j as u32))) << (24 - 8 * j);
        text[k] ^= (*keys.add(40 + k) ^ (last(0) | last(1) | last(2) | last(3))).swap_bytes();
    }
    *to.add(i) = U32x4::from_array(text);
}
