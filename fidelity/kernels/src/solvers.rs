//! Parts of solvers: a step of conjugate gradients, a multigrid level, a stencil, and sparse matrices in slices and blocks.

use cuda_std::prelude::*;
use cuda_std::warp::{warp_shuffle_down, warp_shuffle_xor};
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{ALL, index, position};

/// Updates solution and residual of conjugate gradients in double precision, and sums the residual's squares by block.
#[kernel]
pub unsafe fn cg_update(
    n: u32,
    scalars: *const f64,
    direction: *const f64,
    product: *const f64,
    solution: *mut f64,
    residual: *mut f64,
    partial: *mut f64,
) {
    let warps = shared_array![f64; 32];
    let alpha = *scalars / *scalars.add(1);
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut sum = 0.0_f64;
    let mut i = index();
    while i < n as usize {
        *solution.add(i) = alpha.mul_add(*direction.add(i), *solution.add(i));
        let rest = (-alpha).mul_add(*product.add(i), *residual.add(i));
        *residual.add(i) = rest;
        sum = rest.mul_add(rest, sum);
        i += step;
    }
    for distance in [16, 8, 4, 2, 1] {
        sum += warp_shuffle_down(ALL, sum, distance, 32).0;
    }
    let thread = thread::thread_idx_x() as usize;
    if thread.is_multiple_of(32) {
        *warps.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        for warp in 1..thread::block_dim_x() as usize / 32 {
            sum += *warps.add(warp);
        }
        *partial.add(thread::block_idx_x() as usize) = sum;
    }
}

/// Adds a coarse grid's correction to the fine one by bilinear interpolation: a thread per fine point.
#[kernel]
pub unsafe fn prolongate_2d(nx: u32, ny: u32, coarse: *const f32, fine: *mut f32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x < 2 * nx - 1 && y < 2 * ny - 1 {
        // A fine point on a coarse line has the same neighbour twice.
        let (left, right) = (x / 2, x.div_ceil(2));
        let (top, bottom) = (y / 2 * nx, y.div_ceil(2) * nx);
        let sum = *coarse.add(top + left)
            + *coarse.add(top + right)
            + *coarse.add(bottom + left)
            + *coarse.add(bottom + right);
        let at = y * (2 * nx - 1) + x;
        *fine.add(at) = 0.25_f32.mul_add(sum, *fine.add(at));
    }
}

/// Applies 27 points with four weights, by distance: planes of a tile pass through shared memory, 16 outputs a thread.
#[kernel]
pub unsafe fn stencil_27(nx: u32, ny: u32, nz: u32, from: *const f32, to: *mut f32) {
    let tile = shared_array![f32; 340];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (nx, ny, nz) = (nx as usize, ny as usize, nz as usize);
    let (left, top) = (thread::block_idx_x() as usize * 32, thread::block_idx_y() as usize * 8);
    let first = thread::block_idx_z() as usize * 16;
    let (x, y) = (left + tx + 1, top + ty + 1);
    let inside = x < nx - 1 && y < ny - 1;
    // Of the two planes before: the centre, the sum of four sides, and the sum of four corners.
    let (mut below, mut here) = ([0.0_f32; 3], [0.0_f32; 3]);
    for z in first..(first + 18).min(nz) {
        let mut cell = ty * 32 + tx;
        while cell < 340 {
            let (sx, sy) = ((left + cell % 34).min(nx - 1), (top + cell / 34).min(ny - 1));
            *tile.add(cell) = *from.add((z * ny + sy) * nx + sx);
            cell += 256;
        }
        thread::sync_threads();
        let at = tile.add((ty + 1) * 34 + tx + 1);
        let sides = *at.sub(34) + *at.sub(1) + *at.add(1) + *at.add(34);
        let corners = *at.sub(35) + *at.sub(33) + *at.add(33) + *at.add(35);
        let above = [*at, sides, corners];
        thread::sync_threads();
        if z >= first + 2 && inside {
            let faces = here[1] + below[0] + above[0];
            let edges = here[2] + below[1] + above[1];
            let outer = 0.005 * (below[2] + above[2]);
            let sum = 0.4_f32.mul_add(here[0], 0.05_f32.mul_add(faces, 0.02_f32.mul_add(edges, outer)));
            *to.add(((z - 1) * ny + y) * nx + x) = sum;
        }
        below = here;
        here = above;
    }
}

/// Multiplies a matrix in sliced ELL by a vector: slices of 32 rows, as wide as their longest, a thread per row.
#[kernel]
pub unsafe fn spmv_sell(
    rows: u32,
    starts: *const u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let row = index();
    if row < rows as usize {
        let end = *starts.add(row / 32 + 1) as usize;
        let mut k = *starts.add(row / 32) as usize + row % 32;
        let mut sum = 0.0_f32;
        while k < end {
            sum = (*values.add(k)).mul_add(*x.add(*columns.add(k) as usize), sum);
            k += 32;
        }
        *y.add(row) = sum;
    }
}

/// Multiplies a matrix of dense 4 x 4 blocks by a vector: a warp per row of blocks, half a warp per block.
#[kernel]
pub unsafe fn spmv_bsr(
    rows: u32,
    starts: *const u32,
    columns: *const u32,
    values: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let end = *starts.add(row + 1) as usize;
        let mut block = *starts.add(row) as usize + lane / 16;
        let mut sum = 0.0_f32;
        while block < end {
            let column = *columns.add(block) as usize * 4 + lane % 4;
            sum = (*values.add(block * 16 + lane % 16)).mul_add(*x.add(column), sum);
            block += 2;
        }
        for distance in [16, 2, 1] {
            sum += warp_shuffle_xor(ALL, sum, distance, 32).0;
        }
        if lane < 16 && lane.is_multiple_of(4) {
            *y.add(row * 4 + lane / 4) = sum;
        }
    }
}
