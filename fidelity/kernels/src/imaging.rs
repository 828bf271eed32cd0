//! Images: integral sums, morphology, votes for lines, interpolation and colour mosaics.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{index, position};

/// The second half of an integral image: sums down each column, a thread per column.
#[kernel]
pub unsafe fn integral_columns(nx: u32, ny: u32, from: *const u32, to: *mut u32) {
    let x = index();
    if x < nx as usize {
        let mut sum = 0_u32;
        for y in 0..ny as usize {
            sum = sum.wrapping_add(*from.add(y * nx as usize + x));
            *to.add(y * nx as usize + x) = sum;
        }
    }
}

/// Erosion of bytes by a square of 5 x 5: the minimum from a tile of 36 x 20 in shared memory.
#[kernel]
pub unsafe fn erode_5x5(nx: u32, ny: u32, from: *const u8, to: *mut u8) {
    let tile = shared_array![u8; 720];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (left, top) = (thread::block_idx_x() as usize * 32, thread::block_idx_y() as usize * 16);
    let mut cell = ty * 32 + tx;
    while cell < 720 {
        let x = (left + cell % 36).saturating_sub(2).min(nx as usize - 1);
        let y = (top + cell / 36).saturating_sub(2).min(ny as usize - 1);
        *tile.add(cell) = *from.add(y * nx as usize + x);
        cell += 512;
    }
    thread::sync_threads();
    let mut least = u8::MAX;
    for dy in 0..5 {
        for dx in 0..5 {
            least = least.min(*tile.add((ty + dy) * 36 + tx + dx));
        }
    }
    let (x, y) = (left + tx, top + ty);
    if x < nx as usize && y < ny as usize {
        *to.add(y * nx as usize + x) = least;
    }
}

/// Hough's transform: each point votes, for each of 180 angles, for the line through it.
#[kernel]
pub unsafe fn hough_votes(
    points: u32,
    distances: u32,
    cosines: *const f32,
    sines: *const f32,
    x: *const u32,
    y: *const u32,
    votes: *mut u32,
) {
    let i = index();
    if i < points as usize {
        let (px, py) = (*x.add(i) as f32, *y.add(i) as f32);
        for angle in 0..180 {
            let along = px * *cosines.add(angle) + py * *sines.add(angle);
            let row = (along + 0.5 * distances as f32) as u32;
            let at = angle * distances as usize + row.min(distances - 1) as usize;
            mid::atomic_fetch_add_u32_device(votes.add(at), Relaxed, 1);
        }
    }
}

/// The weights of Catmull and Rom's four points.
#[inline(always)]
fn cubic(t: f32) -> [f32; 4] {
    let (square, cube) = (t * t, t * t * t);
    [
        -0.5 * cube + square - 0.5 * t,
        1.5 * cube - 2.5 * square + 1.0,
        -1.5 * cube + 2.0 * square + 0.5 * t,
        0.5 * cube - 0.5 * square,
    ]
}

/// Enlarges an image with bicubic interpolation: 16 pixels each, edges clamped.
#[kernel]
pub unsafe fn resize_bicubic(sx: u32, sy: u32, nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let fx = x as f32 * sx as f32 / nx as f32;
        let fy = y as f32 * sy as f32 / ny as f32;
        let (left, top) = (fx as i32, fy as i32);
        let (across, down) = (cubic(fx - left as f32), cubic(fy - top as f32));
        let mut sum = 0.0_f32;
        for (j, weight) in down.iter().enumerate() {
            let row = (top + j as i32 - 1).clamp(0, sy as i32 - 1) * sx as i32;
            let mut line = 0.0_f32;
            for (i, weight) in across.iter().enumerate() {
                let column = (left + i as i32 - 1).clamp(0, sx as i32 - 1);
                line = weight.mul_add(*from.add((row + column) as usize), line);
            }
            sum = weight.mul_add(line, sum);
        }
        *to.add(y * nx as usize + x) = sum;
    }
}

/// A camera's mosaic of red, green and blue to colours: each pixel takes what it lacks from its neighbours, 16 bits each.
#[kernel]
pub unsafe fn demosaic(nx: u32, ny: u32, from: *const u16, to: *mut u16) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let at = y * nx + x;
        let pixel = |at: usize| u32::from(*from.add(at));
        let here = pixel(at);
        let across = (pixel(at - 1) + pixel(at + 1)) / 2;
        let down = (pixel(at - nx) + pixel(at + nx)) / 2;
        let (red, green, blue) = if (x + y) % 2 == 1 {
            if y % 2 == 0 { (across, here, down) } else { (down, here, across) }
        } else {
            let cross = (across + down) / 2;
            let corners =
                (pixel(at - nx - 1) + pixel(at - nx + 1) + pixel(at + nx - 1) + pixel(at + nx + 1)) / 4;
            if y % 2 == 0 { (here, cross, corners) } else { (corners, cross, here) }
        };
        *to.add(3 * at) = red as u16;
        *to.add(3 * at + 1) = green as u16;
        *to.add(3 * at + 2) = blue as u16;
    }
}

/// Equalises a histogram: bytes, four to a word, through a table in shared memory, in a loop over the grid.
#[kernel]
pub unsafe fn equalise(words: u32, table: *const u32, from: *const u32, to: *mut u32) {
    let own = shared_array![u32; 256];
    let mut k = thread::thread_idx_x() as usize;
    while k < 256 {
        *own.add(k) = *table.add(k);
        k += thread::block_dim_x() as usize;
    }
    thread::sync_threads();
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = index();
    while i < words as usize {
        let pixels = *from.add(i);
        let mapped = |shift: u32| *own.add((pixels >> shift & 255) as usize) << shift;
        *to.add(i) = mapped(0) | mapped(8) | mapped(16) | mapped(24);
        i += step;
    }
}
