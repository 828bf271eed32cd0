//! Particles and bodies: cell lists, springs and rigid motion.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, atomic::mid};

use core::sync::atomic::Ordering::Relaxed;

use crate::index;

/// Repulsion within a cut-off of 1, by cells of that width: a thread per particle looks through 27 cells.
#[kernel]
pub unsafe fn cell_forces(
    n: u32,
    side: u32,
    starts: *const u32,
    x: *const f32,
    y: *const f32,
    z: *const f32,
    force: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let side = side as i32;
        let (px, py, pz) = (*x.add(i), *y.add(i), *z.add(i));
        let (cx, cy, cz) = (px as i32, py as i32, pz as i32);
        let (mut fx, mut fy, mut fz) = (0.0_f32, 0.0_f32, 0.0_f32);
        for k in 0..27 {
            let (ax, ay, az) = (cx + k % 3 - 1, cy + k / 3 % 3 - 1, cz + k / 9 - 1);
            if ax < 0 || ay < 0 || az < 0 || ax >= side || ay >= side || az >= side {
                continue;
            }
            let cell = ((az * side + ay) * side + ax) as usize;
            for other in *starts.add(cell)..*starts.add(cell + 1) {
                let other = other as usize;
                let (dx, dy, dz) = (px - *x.add(other), py - *y.add(other), pz - *z.add(other));
                let square = dx * dx + dy * dy + dz * dz;
                if square < 1.0 && other != i {
                    let strength = (1.0 - square) / (square + 0.01);
                    fx = strength.mul_add(dx, fx);
                    fy = strength.mul_add(dy, fy);
                    fz = strength.mul_add(dz, fz);
                }
            }
        }
        *force.add(i) = fx;
        *force.add(n as usize + i) = fy;
        *force.add(2 * n as usize + i) = fz;
    }
}

/// Puts particles into cells: an atomic per particle counts the cell's, and yields the particle's rank in it.
#[kernel]
pub unsafe fn cell_insert(
    n: u32,
    side: u32,
    x: *const f32,
    y: *const f32,
    z: *const f32,
    counts: *mut u32,
    ranks: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let scale = side as f32;
        let [cx, cy, cz] = [*x.add(i), *y.add(i), *z.add(i)].map(|at| ((at * scale) as u32).min(side - 1));
        let cell = (cz * side + cy) * side + cx;
        *ranks.add(i) = mid::atomic_fetch_add_u32_device(counts.add(cell as usize), Relaxed, 1);
    }
}

/// Springs between two nodes each: the force goes to both ends by six float atomics.
#[kernel]
pub unsafe fn spring_scatter(springs: u32, ends: *const u32, nodes: *const f32, force: *mut f32) {
    let i = index();
    if i < springs as usize {
        let (a, b) = (*ends.add(2 * i) as usize * 3, *ends.add(2 * i + 1) as usize * 3);
        let d: [f32; 3] = [0, 1, 2].map(|axis| *nodes.add(b + axis) - *nodes.add(a + axis));
        let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-6).sqrt();
        let pull = 3.0 * (length - 0.5) / length;
        for axis in 0..3 {
            mid::atomic_fetch_add_f32_device(force.add(a + axis), Relaxed, pull * d[axis]);
            mid::atomic_fetch_add_f32_device(force.add(b + axis), Relaxed, -pull * d[axis]);
        }
    }
}

/// Moves rigid bodies kept as structures of 13 floats: position, velocity, orientation, spin.
#[kernel]
pub unsafe fn rigid_step(bodies: u32, step: f32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < bodies as usize {
        let (from, to) = (from.add(13 * i), to.add(13 * i));
        let mut velocity = [*from.add(3), *from.add(4), *from.add(5)];
        velocity[1] -= 9.81 * step;
        for axis in 0..3 {
            *to.add(axis) = velocity[axis].mul_add(step, *from.add(axis));
            *to.add(3 + axis) = velocity[axis];
        }
        let [w, x, y, z] = [6, 7, 8, 9].map(|k| *from.add(k));
        let [p, q, r] = [10, 11, 12].map(|k| *from.add(k));
        let half = 0.5 * step;
        let turned = [
            w - half * (p * x + q * y + r * z),
            x + half * (p * w + q * z - r * y),
            y + half * (q * w + r * x - p * z),
            z + half * (r * w + p * y - q * x),
        ];
        let square = turned.iter().fold(0.0_f32, |sum, part| part.mul_add(*part, sum));
        let inverse = 1.0 / square.sqrt();
        for k in 0..4 {
            *to.add(6 + k) = turned[k] * inverse;
        }
        for k in 10..13 {
            *to.add(k) = 0.99 * *from.add(k);
        }
    }
}
