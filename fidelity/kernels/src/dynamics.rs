//! Dynamics: trajectories, fluxes on meshes, finite elements, spins, and integrals of adaptive depth.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, U32x2};
use cuda_std::warp::warp_shuffle_idx;
use cuda_std::{GpuFloat, atomic::mid};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, index, position};

/// Lorenz's equations.
#[inline(always)]
fn lorenz([x, y, z]: [f32; 3], rho: f32) -> [f32; 3] {
    [10.0 * (y - x), x.mul_add(rho - z, -y), x.mul_add(y, -8.0 / 3.0 * z)]
}

/// A state moved along a slope.
#[inline(always)]
fn moved(state: [f32; 3], slope: [f32; 3], step: f32) -> [f32; 3] {
    [0, 1, 2].map(|axis| slope[axis].mul_add(step, state[axis]))
}

/// Integrates Lorenz's equations by Runge and Kutta's fourth-order method: a trajectory per thread, each with its own rho.
#[kernel]
pub unsafe fn rk4_lorenz(n: u32, steps: u32, step: f32, rho: *const f32, from: *const f32, to: *mut f32) {
    let (i, n) = (index(), n as usize);
    if i < n {
        let rho = *rho.add(i);
        let mut state: [f32; 3] = [0, 1, 2].map(|axis| *from.add(axis * n + i));
        for _ in 0..steps {
            let first = lorenz(state, rho);
            let second = lorenz(moved(state, first, 0.5 * step), rho);
            let third = lorenz(moved(state, second, 0.5 * step), rho);
            let fourth = lorenz(moved(state, third, step), rho);
            let slope = [0, 1, 2]
                .map(|axis| (first[axis] + 2.0 * (second[axis] + third[axis]) + fourth[axis]) * (1.0 / 6.0));
            state = moved(state, slope, step);
        }
        for axis in 0..3 {
            *to.add(axis * n + i) = state[axis];
        }
    }
}

/// The flux of a gas through a face with this normal, and the fastest wave's speed.
#[inline(always)]
fn gas_flux(state: F32x4, nx: f32, ny: f32) -> ([f32; 4], f32) {
    let [density, mx, my, energy] = state.to_array();
    let (u, v) = (mx / density, my / density);
    let pressure = 0.4 * (energy - 0.5 * (mx * u + my * v));
    let through = u * nx + v * ny;
    let sound = (1.4 * pressure / density).sqrt();
    let flux = [
        mx * nx + my * ny,
        mx * through + pressure * nx,
        my * through + pressure * ny,
        (energy + pressure) * through,
    ];
    (flux, through.abs() + sound)
}

/// Adds Rusanov's fluxes of a gas on an unstructured mesh to both cells of each face, by eight float atomics.
#[kernel]
pub unsafe fn face_flux(
    faces: u32,
    cells: *const U32x2,
    normals: *const F32x2,
    states: *const F32x4,
    change: *mut f32,
) {
    let i = index();
    if i < faces as usize {
        let (pair, normal) = (*cells.add(i), *normals.add(i));
        let area = (normal.x * normal.x + normal.y * normal.y).sqrt();
        let (nx, ny) = (normal.x / area, normal.y / area);
        let (left, right) = (*states.add(pair.x as usize), *states.add(pair.y as usize));
        let (out, fast) = gas_flux(left, nx, ny);
        let (into, faster) = gas_flux(right, nx, ny);
        let speed = fast.max(faster);
        let (left, right) = (left.to_array(), right.to_array());
        for k in 0..4 {
            let flux = 0.5 * area * (out[k] + into[k] - speed * (right[k] - left[k]));
            mid::atomic_fetch_add_f32_device(change.add(4 * pair.x as usize + k), Relaxed, -flux);
            mid::atomic_fetch_add_f32_device(change.add(4 * pair.y as usize + k), Relaxed, flux);
        }
    }
}

/// Multiplies elements of eight nodes by their symmetric matrices: eight threads an element, a float atomic each.
#[kernel]
pub unsafe fn element_product(
    elements: u32,
    nodes: *const u32,
    matrices: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let (element, row) = (index() / 8, index() % 8);
    let inside = element < elements as usize;
    // Threads beyond the last element take part in the shuffles with its values.
    let element = element.min(elements as usize - 1);
    let node = *nodes.add(8 * element + row) as usize;
    let value = *x.add(node);
    let mut sum = 0.0_f32;
    for column in 0..8 {
        let other = warp_shuffle_idx(ALL, value, column, 8).0;
        sum = (*matrices.add(64 * element + 8 * column as usize + row)).mul_add(other, sum);
    }
    if inside {
        mid::atomic_fetch_add_f32_device(y.add(node), Relaxed, sum);
    }
}

/// A random number for a counter and a key: Philox 2x32 with ten rounds.
#[inline(always)]
fn philox(mut counter: [u32; 2], mut key: u32) -> u32 {
    for _ in 0..10 {
        let product = u64::from(counter[0]) * 0xD256_D193;
        counter = [(product >> 32) as u32 ^ key ^ counter[1], product as u32];
        key = key.wrapping_add(0x9E37_79B9);
    }
    counter[0]
}

/// Updates one colour of Ising's checkerboard by Metropolis's rule: a thread per spin, each colour's in an array of its own.
#[kernel]
pub unsafe fn ising_sweep(
    half: u32,
    ny: u32,
    colour: u32,
    sweep: u32,
    limits: *const u32,
    others: *const i8,
    spins: *mut i8,
) {
    let (x, y) = position();
    let (half, ny) = (half as usize, ny as usize);
    if x < half && y < ny {
        let (up, down) = (if y == 0 { ny - 1 } else { y - 1 }, if y + 1 == ny { 0 } else { y + 1 });
        let (left, right) = (if x == 0 { half - 1 } else { x - 1 }, if x + 1 == half { 0 } else { x + 1 });
        let side = if (y + colour as usize).is_multiple_of(2) { left } else { right };
        let spin = |x: usize, y: usize| i32::from(*others.add(y * half + x));
        let around = spin(x, up) + spin(x, down) + spin(x, y) + spin(side, y);
        let at = y * half + x;
        let own = *spins.add(at);
        let limit = *limits.add(((i32::from(own) * around + 4) / 2) as usize);
        if philox([at as u32, sweep], 2009 + colour) <= limit {
            *spins.add(at) = -own;
        }
    }
}

/// Integrates peaks from 0 to 1 by adaptive Simpson's rule: a peak per thread, halves of intervals on a stack of its own.
#[kernel]
pub unsafe fn adaptive_simpson(
    n: u32,
    tolerance: f32,
    centres: *const f32,
    widths: *const f32,
    integrals: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let (centre, spread) = (*centres.add(i), *widths.add(i));
        let peak = |x: f32| 1.0 / ((x - centre) * (x - centre) + spread * spread);
        // Of each interval: its start, its width, and the values at the start, in the middle and at the end.
        let mut stack = [[0.0_f32; 5]; 16];
        let mut top = 0;
        let mut interval = [0.0, 1.0, peak(0.0), peak(0.5), peak(1.0)];
        let mut sum = 0.0_f32;
        loop {
            let [start, width, first, middle, last] = interval;
            let (left, right) = (peak(start + 0.25 * width), peak(start + 0.75 * width));
            let whole = width * (1.0 / 6.0) * (first + 4.0 * middle + last);
            let halves = width * (1.0 / 12.0) * (first + 4.0 * (left + right) + 2.0 * middle + last);
            let error = (halves - whole) * (1.0 / 15.0);
            // Wide intervals may have their peak between the samples, where no error shows.
            if width > 0.0625 || (error.abs() > tolerance * width && width > 1e-4) {
                stack[top] = [start + 0.5 * width, 0.5 * width, middle, right, last];
                top += 1;
                interval = [start, 0.5 * width, first, left, middle];
            } else {
                sum += halves + error;
                if top == 0 {
                    break;
                }
                top -= 1;
                interval = stack[top];
            }
        }
        *integrals.add(i) = sum;
    }
}
