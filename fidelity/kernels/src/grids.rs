//! Stencils on grids: PolyBench's, Rodinia's and the classics.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{index, position};

/// Jacobi's five points in two dimensions.
#[kernel]
pub unsafe fn jacobi_2d(nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let at = y * nx + x;
        *to.add(at) = 0.2
            * (*from.add(at)
                + *from.add(at - 1)
                + *from.add(at + 1)
                + *from.add(at - nx)
                + *from.add(at + nx));
    }
}

/// Jacobi's five points in double precision.
#[kernel]
pub unsafe fn djacobi_2d(nx: u32, ny: u32, from: *const f64, to: *mut f64) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let at = y * nx + x;
        *to.add(at) = 0.2
            * (*from.add(at)
                + *from.add(at - 1)
                + *from.add(at + 1)
                + *from.add(at - nx)
                + *from.add(at + nx));
    }
}

/// Seven points in three dimensions, each thread marching along z with the column in registers.
#[kernel]
pub unsafe fn heat_3d_march(nx: u32, ny: u32, nz: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    let (nx, ny, nz) = (nx as usize, ny as usize, nz as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let plane = nx * ny;
        let mut at = plane + y * nx + x;
        let (mut below, mut here) = (*from.add(at - plane), *from.add(at));
        for _ in 1..nz - 1 {
            let above = *from.add(at + plane);
            let sides = *from.add(at - 1) + *from.add(at + 1) + *from.add(at - nx) + *from.add(at + nx);
            *to.add(at) = 0.4_f32.mul_add(here, 0.1 * (below + above + sides));
            below = here;
            here = above;
            at += plane;
        }
    }
}

/// PolyBench's convolution in three dimensions, 27 points from memory, a thread per point.
#[kernel]
pub unsafe fn convolution_3d(n: u32, from: *const f32, to: *mut f32) {
    let at = thread::index_3d();
    let (x, y, z, n) = (at.x as usize, at.y as usize, at.z as usize, n as usize);
    if x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1 {
        let mut sum = 0.0_f32;
        for dz in 0..3 {
            for dy in 0..3 {
                for dx in 0..3 {
                    let weight = (dx + 2 * dy + 3 * dz) as f32 * 0.01;
                    sum = weight.mul_add(*from.add(((z + dz - 1) * n + y + dy - 1) * n + x + dx - 1), sum);
                }
            }
        }
        *to.add((z * n + y) * n + x) = sum;
    }
}

/// PolyBench's convolution in two dimensions, nine points with constant weights.
#[kernel]
pub unsafe fn convolution_2d(nx: u32, ny: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x > 0 && y > 0 && x < nx - 1 && y < ny - 1 {
        let at = y * nx + x;
        let (up, down) = (at - nx, at + nx);
        let mut sum = 0.2 * *from.add(up - 1);
        sum = (-0.3_f32).mul_add(*from.add(up), sum);
        sum = 0.4_f32.mul_add(*from.add(up + 1), sum);
        sum = 0.5_f32.mul_add(*from.add(at - 1), sum);
        sum = 0.6_f32.mul_add(*from.add(at), sum);
        sum = 0.7_f32.mul_add(*from.add(at + 1), sum);
        sum = (-0.8_f32).mul_add(*from.add(down - 1), sum);
        sum = (-0.9_f32).mul_add(*from.add(down), sum);
        *to.add(at) = 0.1_f32.mul_add(*from.add(down + 1), sum);
    }
}

/// PolyBench's fdtd-2d, the step of the magnetic field.
#[kernel]
pub unsafe fn fdtd_field(nx: u32, ny: u32, ex: *const f32, ey: *const f32, from: *const f32, hz: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x < nx - 1 && y < ny - 1 {
        let at = y * nx + x;
        let curl = *ex.add(at + 1) - *ex.add(at) + *ey.add(at + nx) - *ey.add(at);
        *hz.add(at) = *from.add(at) - 0.7 * curl;
    }
}

/// Rodinia's hotspot: temperatures in a tile of 16 x 16 with a border, two steps of time per launch.
#[kernel]
pub unsafe fn hotspot(n: u32, power: *const f32, from: *const f32, to: *mut f32) {
    let (tile, next) = (shared_array![f32; 256], shared_array![f32; 256]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    // A block yields 12 x 12: two steps need two more on each side, which is clamped to the plate.
    let clamp =
        |block: u32, thread: usize| (block as usize * 12 + thread).saturating_sub(2).min(n as usize - 1);
    let (x, y) = (clamp(thread::block_idx_x(), tx), clamp(thread::block_idx_y(), ty));
    let (at, cell) = (y * n as usize + x, ty * 16 + tx);
    *tile.add(cell) = *from.add(at);
    let heat = *power.add(at);
    thread::sync_threads();
    for step in 0..2 {
        let (source, target) = if step == 0 { (tile, next) } else { (next, tile) };
        let inside = tx > step && ty > step && tx < 15 - step && ty < 15 - step;
        if inside {
            let here = *source.add(cell);
            let vertical = *source.add(cell - 16) + *source.add(cell + 16) - 2.0 * here;
            let horizontal = *source.add(cell - 1) + *source.add(cell + 1) - 2.0 * here;
            *target.add(cell) =
                here + 0.1 * (heat + 0.5 * vertical + 0.25 * horizontal + 0.05 * (80.0 - here));
        }
        thread::sync_threads();
    }
    let mine = thread::block_idx_x() as usize * 12 + tx >= 2 && thread::block_idx_y() as usize * 12 + ty >= 2;
    if mine && tx > 1 && ty > 1 && tx < 14 && ty < 14 {
        let (x, y) =
            (thread::block_idx_x() as usize * 12 + tx - 2, thread::block_idx_y() as usize * 12 + ty - 2);
        if x < n as usize && y < n as usize {
            *to.add(y * n as usize + x) = *tile.add(cell);
        }
    }
}

/// Rodinia's srad: the diffusion coefficient of each pixel from its gradient and Laplacian, with divisions.
#[kernel]
pub unsafe fn srad_coefficient(nx: u32, ny: u32, q0: f32, image: *const f32, coefficient: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x < nx && y < ny {
        let here = *image.add(y * nx + x);
        let north = *image.add(y.saturating_sub(1) * nx + x) - here;
        let south = *image.add((y + 1).min(ny - 1) * nx + x) - here;
        let west = *image.add(y * nx + x.saturating_sub(1)) - here;
        let east = *image.add(y * nx + (x + 1).min(nx - 1)) - here;
        let gradient = (north * north + south * south + west * west + east * east) / (here * here);
        let laplacian = (north + south + west + east) / here;
        let numerator = 0.5 * gradient - 0.0625 * laplacian * laplacian;
        let denominator = 1.0 + 0.25 * laplacian;
        let q = numerator / (denominator * denominator);
        let value = 1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0)));
        *coefficient.add(y * nx + x) = value.clamp(0.0, 1.0);
    }
}

/// Rodinia's pathfinder: a block of 256 takes the cheapest path through 20 rows of a strip, in shared memory.
#[kernel]
pub unsafe fn pathfinder(columns: u32, wall: *const i32, cost: *const i32, result: *mut i32) {
    let (previous, current) = (shared_array![i32; 256], shared_array![i32; 256]);
    let thread = thread::thread_idx_x() as usize;
    let columns = columns as usize;
    // A block yields 216 columns, and 20 more on each side that its rows need.
    let x = thread::block_idx_x() as usize * 216 + thread;
    let column = x.saturating_sub(20).min(columns - 1);
    *previous.add(thread) = *cost.add(column);
    thread::sync_threads();
    for row in 0..20 {
        let left = *previous.add(thread.saturating_sub(1));
        let right = *previous.add((thread + 1).min(255));
        let best = (*previous.add(thread)).min(left).min(right);
        *current.add(thread) = best + *wall.add(row * columns + column);
        thread::sync_threads();
        *previous.add(thread) = *current.add(thread);
        thread::sync_threads();
    }
    if (20..236).contains(&thread) && x - 20 < columns {
        *result.add(x - 20) = *previous.add(thread);
    }
}

/// Conway's game of life on bytes, with a torus's edges.
#[kernel]
pub unsafe fn game_of_life(nx: u32, ny: u32, from: *const u8, to: *mut u8) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x < nx && y < ny {
        let (left, right) = ((x + nx - 1) % nx, (x + 1) % nx);
        let (up, down) = ((y + ny - 1) % ny * nx, (y + 1) % ny * nx);
        let row = y * nx;
        let alive = *from.add(up + left)
            + *from.add(up + x)
            + *from.add(up + right)
            + *from.add(row + left)
            + *from.add(row + right)
            + *from.add(down + left)
            + *from.add(down + x)
            + *from.add(down + right);
        *to.add(row + x) = u8::from(alive == 3 || (alive == 2 && *from.add(row + x) == 1));
    }
}

/// A wave equation of fourth order in one dimension, five points and two arrays of history.
#[kernel]
pub unsafe fn wave_1d(n: u32, before: *const f32, now: *const f32, next: *mut f32) {
    let i = index();
    if i >= 2 && i < n as usize - 2 {
        let outer = *now.add(i - 2) + *now.add(i + 2);
        let inner = *now.add(i - 1) + *now.add(i + 1);
        let curvature = (-30.0_f32).mul_add(*now.add(i), 16.0_f32.mul_add(inner, -outer)) / 12.0;
        *next.add(i) = 0.25_f32.mul_add(curvature, 2.0_f32.mul_add(*now.add(i), -*before.add(i)));
    }
}
