//! Layouts: permutations of axes, borders, structures and triangles.

use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cuda_std::{shared_array, thread};

use crate::{index, position};

/// Turns the axes of a field around, z y x to x y z, as one writes it first: reads along x, writes far apart.
#[kernel]
pub unsafe fn reverse_axes(nx: u32, ny: u32, nz: u32, from: *const f32, to: *mut f32) {
    let at = thread::index_3d();
    if at.x < nx && at.y < ny && at.z < nz {
        let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
        let (nx, ny, nz) = (nx as usize, ny as usize, nz as usize);
        *to.add((x * ny + y) * nz + z) = *from.add((z * ny + y) * nx + x);
    }
}

/// Exchanges positions and heads of a batch, rows of 64 floats as vectors of four.
#[kernel]
pub unsafe fn swap_heads(positions: u32, heads: u32, from: *const F32x4, to: *mut F32x4) {
    let part = thread::thread_idx_x() as usize;
    let head = thread::thread_idx_y() as usize + (thread::block_idx_y() * thread::block_dim_y()) as usize;
    let row = thread::block_idx_x() as usize;
    let (positions, heads) = (positions as usize, heads as usize);
    if head < heads {
        let (batch, place) = (row / positions, row % positions);
        *to.add(((batch * heads + head) * positions + place) * 16 + part) =
            *from.add((row * heads + head) * 16 + part);
    }
}

/// Packs the six faces of a cube of doubles into one buffer, as ranks exchange them: a face per z of the grid.
#[kernel]
pub unsafe fn pack_faces(n: u32, field: *const f64, faces: *mut f64) {
    let (a, b) = position();
    let (face, n) = (thread::block_idx_z() as usize, n as usize);
    if a < n && b < n {
        let edge = if face % 2 == 0 { 0 } else { n - 1 };
        let (x, y, z) = match face / 2 {
            0 => (edge, a, b),
            1 => (a, edge, b),
            _ => (a, b, edge),
        };
        *faces.add((face * n + b) * n + a) = *field.add((z * n + y) * n + x);
    }
}

/// Takes structures of seven floats apart into seven arrays, by way of shared memory.
#[kernel]
pub unsafe fn split_structures(n: u32, from: *const f32, to: *mut f32) {
    let tile = shared_array![f32; 896];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 128;
    let n = n as usize;
    for k in 0..7 {
        let at = first * 7 + k * 128 + thread;
        if at < 7 * n {
            *tile.add(k * 128 + thread) = *from.add(at);
        }
    }
    thread::sync_threads();
    if first + thread < n {
        for k in 0..7 {
            *to.add(k * n + first + thread) = *tile.add(thread * 7 + k);
        }
    }
}

/// Packs the lower triangle of a matrix, rows one after another.
#[kernel]
pub unsafe fn pack_triangle(n: u32, from: *const f32, to: *mut f32) {
    let (x, y) = position();
    if y < n as usize && x <= y {
        *to.add(y * (y + 1) / 2 + x) = *from.add(y * n as usize + x);
    }
}

/// Copies chosen columns of a matrix, one block of threads per 256 rows and column.
#[kernel]
pub unsafe fn take_columns(rows: u32, width: u32, chosen: *const u32, from: *const f32, to: *mut f32) {
    let row = index();
    let column = thread::block_idx_y() as usize;
    if row < rows as usize {
        *to.add(column * rows as usize + row) =
            *from.add(row * width as usize + *chosen.add(column) as usize);
    }
}

/// Stores pixels of 16 bits in Morton's order: bits of both coordinates in turn.
#[kernel]
pub unsafe fn morton_order(side: u32, from: *const u16, to: *mut u16) {
    let (x, y) = position();
    let spread = |value: usize| {
        let mut bits = value as u32;
        bits = (bits | bits << 8) & 0x00ff_00ff;
        bits = (bits | bits << 4) & 0x0f0f_0f0f;
        bits = (bits | bits << 2) & 0x3333_3333;
        (bits | bits << 1) & 0x5555_5555
    };
    *to.add((spread(x) | spread(y) << 1) as usize) = *from.add(y * side as usize + x);
}
