//! Fields in space and time: fluids, waves, relaxation and grids of several levels.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, thread};

use crate::position;

/// A lattice Boltzmann step with nine velocities: pulls from the neighbours, periodic, and relaxes towards equilibrium.
#[kernel]
pub unsafe fn lattice_d2q9(nx: u32, ny: u32, rate: f32, from: *const f32, to: *mut f32) {
    const X: [i32; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
    const Y: [i32; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
    const WEIGHT: [f32; 9] = [
        4.0 / 9.0,
        1.0 / 9.0,
        1.0 / 9.0,
        1.0 / 9.0,
        1.0 / 9.0,
        1.0 / 36.0,
        1.0 / 36.0,
        1.0 / 36.0,
        1.0 / 36.0,
    ];
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x < nx && y < ny {
        let (left, right) = (if x == 0 { nx - 1 } else { x - 1 }, if x + 1 == nx { 0 } else { x + 1 });
        let (down, up) = (if y == 0 { ny - 1 } else { y - 1 }, if y + 1 == ny { 0 } else { y + 1 });
        let mut f = [0.0_f32; 9];
        let (mut density, mut ux, mut uy) = (0.0_f32, 0.0_f32, 0.0_f32);
        for k in 0..9 {
            let source_x = [x, left, right][(X[k].rem_euclid(3)) as usize];
            let source_y = [y, down, up][(Y[k].rem_euclid(3)) as usize];
            f[k] = *from.add((k * ny + source_y) * nx + source_x);
            density += f[k];
            ux += X[k] as f32 * f[k];
            uy += Y[k] as f32 * f[k];
        }
        ux /= density;
        uy /= density;
        let square = 1.5 * (ux * ux + uy * uy);
        for k in 0..9 {
            let along = 3.0 * (X[k] as f32 * ux + Y[k] as f32 * uy);
            let equilibrium = WEIGHT[k] * density * (1.0 + along + 0.5 * along * along - square);
            *to.add((k * ny + y) * nx + x) = f[k] + rate * (equilibrium - f[k]);
        }
    }
}

/// Half a sweep of Gauss and Seidel in double precision: the points of one colour, in place, every other one of a row.
#[kernel]
pub unsafe fn red_black_sweep(nx: u32, ny: u32, colour: u32, right: *const f64, u: *mut f64) {
    let (half, row) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    let (x, y) = (2 * half + 1 + (row + colour as usize) % 2, row + 1);
    if x < nx - 1 && y < ny - 1 {
        let at = y * nx + x;
        let around = *u.add(at - 1) + *u.add(at + 1) + *u.add(at - nx) + *u.add(at + nx);
        *u.add(at) = 0.25 * (around - *right.add(at));
    }
}

/// The wave equation in three dimensions, of fourth order: a star of 13 points, a thread per point in blocks of 16 x 4 x 4.
#[kernel]
pub unsafe fn wave_3d_star(n: u32, speed: f32, before: *const f32, now: *const f32, after: *mut f32) {
    let at = thread::index_3d();
    let n = n as usize;
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    if x >= 2 && y >= 2 && z >= 2 && x < n - 2 && y < n - 2 && z < n - 2 {
        let at = (z * n + y) * n + x;
        let mut sum = -7.5 * *now.add(at);
        for stride in [1, n, n * n] {
            sum += 1.333_333_4 * (*now.add(at - stride) + *now.add(at + stride));
            sum -= 0.083_333_336 * (*now.add(at - 2 * stride) + *now.add(at + 2 * stride));
        }
        *after.add(at) = 2.0 * *now.add(at) - *before.add(at) + speed * sum;
    }
}

/// Carries a field along a flow: each cell looks back along its velocity and interpolates there.
#[kernel]
pub unsafe fn advect_back(
    nx: u32,
    ny: u32,
    step: f32,
    u: *const f32,
    v: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let at = y * nx as usize + x;
        let fx = (x as f32 - step * *u.add(at)).max(0.0).min(nx as f32 - 1.001);
        let fy = (y as f32 - step * *v.add(at)).max(0.0).min(ny as f32 - 1.001);
        let (left, bottom) = (fx as usize, fy as usize);
        let (ax, ay) = (fx - left as f32, fy - bottom as f32);
        let corner = bottom * nx as usize + left;
        let above = corner + nx as usize;
        let low = (1.0 - ax) * *from.add(corner) + ax * *from.add(corner + 1);
        let high = (1.0 - ax) * *from.add(above) + ax * *from.add(above + 1);
        *to.add(at) = (1.0 - ay) * low + ay * high;
    }
}

/// A multigrid's restriction in three dimensions: each coarse point is the mean of eight fine ones.
#[kernel]
pub unsafe fn restrict_3d(nx: u32, ny: u32, nz: u32, fine: *const f32, coarse: *mut f32) {
    let at = thread::index_3d();
    if at.x < nx && at.y < ny && at.z < nz {
        let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
        let (nx, ny) = (nx as usize, ny as usize);
        let mut sum = 0.0_f32;
        for dz in 0..2 {
            for dy in 0..2 {
                for dx in 0..2 {
                    sum += *fine.add(((2 * z + dz) * 2 * ny + 2 * y + dy) * 2 * nx + 2 * x + dx);
                }
            }
        }
        *coarse.add((z * ny + y) * nx + x) = 0.125 * sum;
    }
}
