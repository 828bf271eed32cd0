//! Image filters.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, approx, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{index, position};

/// A box of 5 x 5 pixels, edges clamped.
#[kernel]
pub unsafe fn box_filter(nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as i32, ny as i32);
    let (x, y) = (x as i32, y as i32);
    if x < nx && y < ny {
        let mut sum = 0.0_f32;
        for dy in -2..=2 {
            for dx in -2..=2 {
                let (sx, sy) = ((x + dx).clamp(0, nx - 1), (y + dy).clamp(0, ny - 1));
                sum += *from.add((sy * nx + sx) as usize);
            }
        }
        *to.add((y * nx + x) as usize) = sum / 25.0;
    }
}

/// Sobel's gradient of bytes.
#[kernel]
pub unsafe fn sobel(nx: u32, ny: u32, from: *const u8, to: *mut u8) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let pixel = |dx: usize, dy: usize| i32::from(*from.add((y + dy - 1) * nx + x + dx - 1));
        let across =
            pixel(2, 0) + 2 * pixel(2, 1) + pixel(2, 2) - pixel(0, 0) - 2 * pixel(0, 1) - pixel(0, 2);
        let down = pixel(0, 2) + 2 * pixel(1, 2) + pixel(2, 2) - pixel(0, 0) - 2 * pixel(1, 0) - pixel(2, 0);
        *to.add(y * nx + x) = (across.abs() + down.abs()).min(255) as u8;
    }
}

/// A bilateral filter of 5 x 5: weights by distance and by difference, each an exponential.
#[kernel]
pub unsafe fn bilateral(nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as i32, ny as i32);
    let (x, y) = (x as i32, y as i32);
    if x < nx && y < ny {
        let centre = *from.add((y * nx + x) as usize);
        let (mut sum, mut weights) = (0.0_f32, 0.0_f32);
        for dy in -2..=2 {
            for dx in -2..=2 {
                let (sx, sy) = ((x + dx).clamp(0, nx - 1), (y + dy).clamp(0, ny - 1));
                let value = *from.add((sy * nx + sx) as usize);
                let difference = value - centre;
                let weight = approx::exp(-0.125 * (dx * dx + dy * dy) as f32 - 8.0 * difference * difference);
                sum = weight.mul_add(value, sum);
                weights += weight;
            }
        }
        *to.add((y * nx + x) as usize) = sum / weights;
    }
}

/// The median of 3 x 3 pixels, by a network of minima and maxima.
#[kernel]
pub unsafe fn median_3x3(nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let mut v = [0.0_f32; 9];
        for (k, value) in v.iter_mut().enumerate() {
            *value = *from.add((y + k / 3 - 1) * nx + x + k % 3 - 1);
        }
        macro_rules! order {
            ($($a:literal $b:literal),*) => {$(
                (v[$a], v[$b]) = (v[$a].min(v[$b]), v[$a].max(v[$b]));
            )*};
        }
        order!(1 2, 4 5, 7 8, 0 1, 3 4, 6 7, 1 2, 4 5, 7 8, 0 3, 5 8, 4 7, 3 6, 1 4, 2 5, 4 7, 4 2, 6 4, 4 2);
        *to.add(y * nx + x) = v[4];
    }
}

/// Pixels of 4 bytes to luminance.
#[kernel]
pub unsafe fn grey(n: u32, from: *const u32, to: *mut f32) {
    let i = index();
    if i < n as usize {
        let pixel = *from.add(i);
        let (red, green, blue) = (pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255);
        *to.add(i) = 0.114_f32.mul_add(blue as f32, 0.299_f32.mul_add(red as f32, 0.587 * green as f32));
    }
}

/// Enlarges an image by an arbitrary factor with bilinear interpolation.
#[kernel]
pub unsafe fn resize_bilinear(sx: u32, sy: u32, nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let fx = x as f32 * (sx - 1) as f32 / nx as f32;
        let fy = y as f32 * (sy - 1) as f32 / ny as f32;
        let (left, top) = (fx as usize, fy as usize);
        let (ax, ay) = (fx - left as f32, fy - top as f32);
        let at = top * sx as usize + left;
        let above = ax.mul_add(*from.add(at + 1) - *from.add(at), *from.add(at));
        let below_at = at + sx as usize;
        let below = ax.mul_add(*from.add(below_at + 1) - *from.add(below_at), *from.add(below_at));
        *to.add(y * nx as usize + x) = ay.mul_add(below - above, above);
    }
}

/// Reads each pixel through a table of 256 entries, as colour correction does.
#[kernel]
pub unsafe fn lookup_table(n: u32, table: *const f32, from: *const u8, to: *mut f32) {
    let i = index();
    if i < n as usize {
        *to.add(i) = *table.add(*from.add(i) as usize);
    }
}

/// A histogram of bytes in 256 bins: a copy per block in shared memory, then one atomic per bin.
#[kernel]
pub unsafe fn histogram_shared(n: u32, from: *const u8, bins: *mut u32) {
    let own = shared_array![u32; 256];
    let thread = thread::thread_idx_x() as usize;
    *own.add(thread) = 0;
    thread::sync_threads();
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = index();
    while i < n as usize {
        mid::atomic_fetch_add_u32_block(own.add(*from.add(i) as usize), Relaxed, 1);
        i += step;
    }
    thread::sync_threads();
    mid::atomic_fetch_add_u32_device(bins.add(thread), Relaxed, *own.add(thread));
}

/// A separable Gaussian of radius 8 along rows, weights in memory.
#[kernel]
pub unsafe fn gaussian_rows(nx: u32, ny: u32, weights: *const f32, from: *const f32, to: *mut f32) {
    let tile = shared_array![f32; 272];
    let thread = thread::thread_idx_x() as usize;
    let x = index();
    let row = thread::block_idx_y() as usize * nx as usize;
    let clamp = |column: usize| column.saturating_sub(8).min(nx as usize - 1);
    if (thread::block_idx_y()) < ny {
        *tile.add(thread) = *from.add(row + clamp(x));
        if thread < 16 {
            *tile.add(thread + 256) = *from.add(row + clamp(x + 256));
        }
    }
    thread::sync_threads();
    let mut sum = 0.0_f32;
    for k in 0..17 {
        sum = (*weights.add(k)).mul_add(*tile.add(thread + k), sum);
    }
    if x < nx as usize {
        *to.add(row + x) = sum;
    }
}
