//! Finance, physics and fractals: much arithmetic on little data.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, approx, shared_array, thread};

use crate::index;

/// The cumulated normal distribution by Hastings' polynomial.
#[inline(always)]
fn normal(d: f32) -> f32 {
    let k = 1.0 / 0.231_641_9_f32.mul_add(d.abs(), 1.0);
    let mut polynomial = 1.330_274_4_f32;
    for coefficient in [-1.821_255_9_f32, 1.781_477_9, -0.356_563_78, 0.319_381_54] {
        polynomial = polynomial.mul_add(k, coefficient);
    }
    let tail = 0.398_942_3 * approx::exp(-0.5 * d * d) * k * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// Black and Scholes: prices of a call and a put.
#[kernel]
pub unsafe fn black_scholes(
    n: u32,
    price: *const f32,
    strike: *const f32,
    years: *const f32,
    call: *mut f32,
    put: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let (s, x, t) = (*price.add(i), *strike.add(i), *years.add(i));
        let root = approx::sqrt(t);
        let d1 = (approx::ln(s / x) + (0.02 + 0.5 * 0.3 * 0.3) * t) / (0.3 * root);
        let d2 = d1 - 0.3 * root;
        let discount = x * approx::exp(-0.02 * t);
        let (n1, n2) = (normal(d1), normal(d2));
        *call.add(i) = s * n1 - discount * n2;
        *put.add(i) = discount * (1.0 - n2) - s * (1.0 - n1);
    }
}

/// The circle's area by throwing darts: each thread has a generator of its own (xorshift).
#[kernel]
pub unsafe fn monte_carlo_pi(tries: u32, seeds: *const u32, hits: *mut u32) {
    let i = index();
    let mut state = *seeds.add(i);
    let mut count = 0;
    for _ in 0..tries {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as f32 * (1.0 / 16_777_216.0)
        };
        let (x, y) = (next(), next());
        count += u32::from(x * x + y * y < 1.0);
    }
    *hits.add(i) = count;
}

/// An option's paths by Box and Muller: logarithms, roots, sines and exponentials.
#[kernel]
pub unsafe fn monte_carlo_paths(steps: u32, seeds: *const u32, end: *mut f32) {
    let i = index();
    let mut state = *seeds.add(i);
    let mut value = 1.0_f32;
    for _ in 0..steps {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 8) + 1) as f32 * (1.0 / 16_777_217.0)
        };
        let radius = approx::sqrt(-2.0 * approx::ln(next()));
        let angle = core::f32::consts::TAU * next() - core::f32::consts::PI;
        value *= approx::exp(0.01 * radius * approx::cos(angle) - 0.000_05);
    }
    *end.add(i) = value;
}

/// A binomial tree's option price per block: backward steps in shared memory, a barrier in each.
#[kernel]
pub unsafe fn binomial_option(strikes: *const f32, price: *mut f32) {
    let values = shared_array![f32; 256];
    let thread = thread::thread_idx_x() as usize;
    let strike = *strikes.add(thread::block_idx_x() as usize);
    let leaf = 100.0 * approx::exp(0.02 * (2.0 * thread as f32 - 255.0));
    *values.add(thread) = (leaf - strike).max(0.0);
    thread::sync_threads();
    for step in 0..255 {
        let last = 255 - step;
        let mut value = 0.0_f32;
        if thread < last {
            value = 0.999 * (0.505 * *values.add(thread + 1) + 0.495 * *values.add(thread));
        }
        thread::sync_threads();
        if thread < last {
            *values.add(thread) = value;
        }
        thread::sync_threads();
    }
    if thread == 0 {
        *price.add(thread::block_idx_x() as usize) = *values;
    }
}

/// The Mandelbrot set: as many rounds as it takes, up to 256.
#[kernel]
pub unsafe fn mandelbrot(nx: u32, ny: u32, rounds: *mut u32) {
    let (x, y) = crate::position();
    if x < nx as usize && y < ny as usize {
        let (cx, cy) = (3.0 * x as f32 / nx as f32 - 2.0, 2.0 * y as f32 / ny as f32 - 1.0);
        let (mut zx, mut zy) = (0.0_f32, 0.0_f32);
        let mut round = 0;
        while round < 256 && zx * zx + zy * zy <= 4.0 {
            let next = zx * zx - zy * zy + cx;
            zy = 2.0 * zx * zy + cy;
            zx = next;
            round += 1;
        }
        *rounds.add(y * nx as usize + x) = round;
    }
}

/// All-pairs gravity: tiles of 256 bodies in shared memory, a reciprocal root per pair.
#[kernel]
pub unsafe fn nbody(n: u32, bodies: *const f32, acceleration: *mut f32) {
    let tile = shared_array![f32; 1024];
    let thread = thread::thread_idx_x() as usize;
    let i = index();
    let (x, y, z) = (*bodies.add(4 * i), *bodies.add(4 * i + 1), *bodies.add(4 * i + 2));
    let (mut ax, mut ay, mut az) = (0.0_f32, 0.0_f32, 0.0_f32);
    for first in 0..n as usize / 256 {
        for part in 0..4 {
            *tile.add(4 * thread + part) = *bodies.add(4 * (first * 256 + thread) + part);
        }
        thread::sync_threads();
        for k in 0..256 {
            let (dx, dy, dz) = (*tile.add(4 * k) - x, *tile.add(4 * k + 1) - y, *tile.add(4 * k + 2) - z);
            let square = dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, 0.01)));
            let inverse = approx::reciprocal_sqrt(square);
            let pull = *tile.add(4 * k + 3) * inverse * inverse * inverse;
            ax = pull.mul_add(dx, ax);
            ay = pull.mul_add(dy, ay);
            az = pull.mul_add(dz, az);
        }
        thread::sync_threads();
    }
    *acceleration.add(3 * i) = ax;
    *acceleration.add(3 * i + 1) = ay;
    *acceleration.add(3 * i + 2) = az;
}

/// Lennard-Jones forces over a list of neighbours (SHOC's md): reads positions at indices.
#[kernel]
pub unsafe fn lennard_jones(
    n: u32,
    count: u32,
    neighbours: *const u32,
    positions: *const f32,
    force: *mut f32,
) {
    let i = index();
    if i < n as usize {
        let (x, y, z) = (*positions.add(4 * i), *positions.add(4 * i + 1), *positions.add(4 * i + 2));
        let (mut fx, mut fy, mut fz) = (0.0_f32, 0.0_f32, 0.0_f32);
        for k in 0..count as usize {
            let other = *neighbours.add(k * n as usize + i) as usize;
            let dx = x - *positions.add(4 * other);
            let dy = y - *positions.add(4 * other + 1);
            let dz = z - *positions.add(4 * other + 2);
            let square = dx * dx + dy * dy + dz * dz + 0.1;
            if square < 16.0 {
                let inverse = 1.0 / square;
                let sixth = inverse * inverse * inverse;
                let strength = inverse * sixth * (1.5 * sixth - 2.0);
                fx = strength.mul_add(dx, fx);
                fy = strength.mul_add(dy, fy);
                fz = strength.mul_add(dz, fz);
            }
        }
        *force.add(3 * i) = fx;
        *force.add(3 * i + 1) = fy;
        *force.add(3 * i + 2) = fz;
    }
}

/// Potentials of charges on a grid in double precision, with a division and a root per charge.
#[kernel]
pub unsafe fn coulomb_grid(nx: u32, charges: u32, atoms: *const f64, potential: *mut f64) {
    let (x, y) = crate::position();
    let (px, py) = (x as f64 * 0.1, y as f64 * 0.1);
    let mut sum = 0.0_f64;
    for k in 0..charges as usize {
        let (dx, dy) = (*atoms.add(3 * k) - px, *atoms.add(3 * k + 1) - py);
        sum += *atoms.add(3 * k + 2) / GpuFloat::sqrt(dx * dx + dy * dy + 0.25);
    }
    *potential.add(y * nx as usize + x) = sum;
}

/// A polynomial of degree 64 in double precision, by Horner's rule: a chain of dependent operations.
#[kernel]
pub unsafe fn dhorner(n: u32, coefficients: *const f64, x: *const f64, y: *mut f64) {
    let i = index();
    if i < n as usize {
        let value = *x.add(i);
        let mut sum = 0.0_f64;
        for k in 0..64 {
            sum = sum.mul_add(value, *coefficients.add(k));
        }
        *y.add(i) = sum;
    }
}
