//! Rendering and geometry: rays, voxels, surfaces and vertices.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, U32x2};
use cuda_std::{GpuFloat, thread};

use crate::{index, position};

/// The nearest of some spheres along each pixel's ray, all of which every thread reads: 0 for none.
#[kernel]
pub unsafe fn ray_spheres(nx: u32, ny: u32, spheres: u32, list: *const F32x4, nearest: *mut u32) {
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let (dx, dy) = (2.0 * x as f32 / nx as f32 - 1.0, 2.0 * y as f32 / ny as f32 - 1.0);
        let square = dx * dx + dy * dy + 1.0;
        let (mut least, mut found) = (f32::MAX, 0);
        for k in 0..spheres {
            let sphere = *list.add(k as usize);
            let along = dx * sphere.x + dy * sphere.y + sphere.z;
            let distance = sphere.x * sphere.x + sphere.y * sphere.y + sphere.z * sphere.z;
            let root = along * along - square * (distance - sphere.w * sphere.w);
            if root > 0.0 {
                let hit = (along - root.sqrt()) / square;
                if hit > 0.0 && hit < least {
                    least = hit;
                    found = k + 1;
                }
            }
        }
        *nearest.add(y * nx as usize + x) = found;
    }
}

/// Walks a ray through 64 x 64 x 64 voxels, a bit each, to the first that is full: cells visited, by the nearest border.
#[kernel]
pub unsafe fn voxel_walk(nx: u32, ny: u32, voxels: *const u32, visited: *mut u32) {
    let (px, py) = position();
    if px < nx as usize && py < ny as usize {
        let slope = [px as f32 / nx as f32 - 0.5, py as f32 / ny as f32 - 0.5, 0.7];
        let mut cell = [32_i32, 32, 0];
        let mut next = [0.0_f32; 3];
        let mut delta = [0.0_f32; 3];
        let mut step = [1_i32; 3];
        for axis in 0..3 {
            delta[axis] = 1.0 / (slope[axis].abs() + 1e-6);
            step[axis] = if slope[axis] < 0.0 { -1 } else { 1 };
            next[axis] = 0.5 * delta[axis];
        }
        let mut count = 0;
        loop {
            let outside = (cell[0] | cell[1] | cell[2]) & !63 != 0;
            if outside {
                break;
            }
            let bit = ((cell[2] << 12) | (cell[1] << 6) | cell[0]) as u32;
            count += 1;
            if *voxels.add((bit / 32) as usize) >> (bit % 32) & 1 == 1 {
                break;
            }
            if next[0] < next[1] && next[0] < next[2] {
                cell[0] += step[0];
                next[0] += delta[0];
            } else if next[1] < next[2] {
                cell[1] += step[1];
                next[1] += delta[1];
            } else {
                cell[2] += step[2];
                next[2] += delta[2];
            }
        }
        *visited.add(py * nx as usize + px) = count;
    }
}

/// Marching cubes, first pass: each cell's case from its eight corners, and how many vertices it yields.
#[kernel]
pub unsafe fn cubes_classify(
    n: u32,
    level: f32,
    vertices: *const u8,
    field: *const f32,
    kinds: *mut u8,
    counts: *mut u32,
) {
    let i = index();
    let n = n as usize;
    if i < n * n * n {
        let (x, y, z) = (i % n, i / n % n, i / n / n);
        let mut kind = 0_u32;
        for corner in 0..8 {
            let (cx, cy, cz) = (x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2));
            if *field.add((cz * (n + 1) + cy) * (n + 1) + cx) < level {
                kind |= 1 << corner;
            }
        }
        *kinds.add(i) = kind as u8;
        *counts.add(i) = u32::from(*vertices.add(kind as usize));
    }
}

/// Moves each vertex with four bones by weight: matrices of 3 x 4 at indices packed in a word.
#[kernel]
pub unsafe fn skin_vertices(
    vertices: u32,
    bones: *const F32x4,
    indices: *const u32,
    weights: *const F32x4,
    from: *const f32,
    to: *mut f32,
) {
    let i = index();
    if i < vertices as usize {
        let (x, y, z) = (*from.add(3 * i), *from.add(3 * i + 1), *from.add(3 * i + 2));
        let (packed, weight) = (*indices.add(i), (*weights.add(i)).to_array());
        let mut moved = [0.0_f32; 3];
        for k in 0..4 {
            let bone = ((packed >> (8 * k)) & 255) as usize;
            for axis in 0..3 {
                let row = *bones.add(3 * bone + axis);
                moved[axis] += weight[k] * (row.x * x + row.y * y + row.z * z + row.w);
            }
        }
        for axis in 0..3 {
            *to.add(3 * i + axis) = moved[axis];
        }
    }
}

/// The next level of a mip map: means of 2 x 2 pixels of four bytes each, rounded.
#[kernel]
pub unsafe fn mip_level(nx: u32, ny: u32, from: *const U32x2, to: *mut u32) {
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let upper = *from.add(2 * y * nx as usize + x);
        let lower = *from.add((2 * y + 1) * nx as usize + x);
        let pixels = [upper.x, upper.y, lower.x, lower.y];
        // Two channels in one sum: four bytes add up to 10 bits.
        let even = pixels.iter().fold(0x0002_0002, |sum, pixel| sum + (pixel & 0x00ff_00ff));
        let odd = pixels.iter().fold(0x0002_0002, |sum, pixel| sum + ((pixel >> 8) & 0x00ff_00ff));
        *to.add(y * nx as usize + x) = ((even >> 2) & 0x00ff_00ff) | (((odd >> 2) & 0x00ff_00ff) << 8);
    }
}

/// Distance fields by sphere tracing: steps until a ray meets a ball with a hole, or leaves.
#[kernel]
pub unsafe fn sphere_trace(nx: u32, ny: u32, steps: *mut u32) {
    let (px, py) = position();
    if px < nx as usize && py < ny as usize {
        let (x, y) = (3.0 * px as f32 / nx as f32 - 1.5, 3.0 * py as f32 / ny as f32 - 1.5);
        let (mut z, mut count) = (-3.0_f32, 0);
        while count < 48 && z < 3.0 {
            let ball = (x * x + y * y + z * z).sqrt() - 1.0;
            let hole = 0.45 - (x * x + y * y).sqrt();
            let distance = ball.max(hole);
            if distance < 0.001 {
                break;
            }
            z += distance;
            count += 1;
        }
        *steps.add(py * nx as usize + px) = count;
    }
}
