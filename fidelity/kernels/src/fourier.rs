//! Fourier transforms and their relatives.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, approx, shared_array, thread};

use crate::index;

/// `(a + bi)(c + di)`.
#[inline(always)]
fn product(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0].mul_add(b[0], -(a[1] * b[1])), a[0].mul_add(b[1], a[1] * b[0])]
}

#[inline(always)]
unsafe fn load(pointer: *const f32, at: usize) -> [f32; 2] {
    [*pointer.add(2 * at), *pointer.add(2 * at + 1)]
}

#[inline(always)]
unsafe fn store(pointer: *mut f32, at: usize, value: [f32; 2]) {
    *pointer.add(2 * at) = value[0];
    *pointer.add(2 * at + 1) = value[1];
}

/// One stage of a Stockham transform of radix 2, twiddle factors computed by the special function unit.
#[kernel]
pub unsafe fn fft_radix2_stage(n: u32, span: u32, from: *const f32, to: *mut f32) {
    let i = index();
    let half = n as usize / 2;
    if i < half {
        let k = i % span as usize;
        let angle = -core::f32::consts::PI * k as f32 / span as f32;
        let (a, b) = (load(from, i), load(from, i + half));
        let b = product(b, [approx::cos(angle), approx::sin(angle)]);
        let at = (i - k) * 2 + k;
        store(to, at, [a[0] + b[0], a[1] + b[1]]);
        store(to, at + span as usize, [a[0] - b[0], a[1] - b[1]]);
    }
}

/// One stage of radix 4, twiddle factors from a table.
#[kernel]
pub unsafe fn fft_radix4_stage(n: u32, span: u32, table: *const f32, from: *const f32, to: *mut f32) {
    let i = index();
    let quarter = n as usize / 4;
    if i < quarter {
        let span = span as usize;
        let k = i % span;
        let step = quarter / span;
        let a = load(from, i);
        let b = product(load(from, i + quarter), load(table, k * step));
        let c = product(load(from, i + 2 * quarter), load(table, 2 * k * step));
        let d = product(load(from, i + 3 * quarter), load(table, 3 * k * step));
        let (s, t) = ([a[0] + c[0], a[1] + c[1]], [a[0] - c[0], a[1] - c[1]]);
        let (u, v) = ([b[0] + d[0], b[1] + d[1]], [b[1] - d[1], d[0] - b[0]]);
        let at = (i - k) * 4 + k;
        store(to, at, [s[0] + u[0], s[1] + u[1]]);
        store(to, at + span, [t[0] + v[0], t[1] + v[1]]);
        store(to, at + 2 * span, [s[0] - u[0], s[1] - u[1]]);
        store(to, at + 3 * span, [t[0] - v[0], t[1] - v[1]]);
    }
}

/// A transform of 256 points per block of 128 threads, all eight stages in shared memory.
#[kernel]
pub unsafe fn fft_shared_256(from: *const f32, to: *mut f32) {
    let (front, back) = (shared_array![f32; 512], shared_array![f32; 512]);
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 256;
    store(front, thread, load(from, first + thread));
    store(front, thread + 128, load(from, first + thread + 128));
    let (mut source, mut target) = (front, back);
    let mut span = 1;
    while span < 256 {
        thread::sync_threads();
        let k = thread % span;
        let angle = -core::f32::consts::PI * k as f32 / span as f32;
        let (a, b) = (load(source, thread), load(source, thread + 128));
        let b = product(b, [approx::cos(angle), approx::sin(angle)]);
        let at = (thread - k) * 2 + k;
        store(target, at, [a[0] + b[0], a[1] + b[1]]);
        store(target, at + span, [a[0] - b[0], a[1] - b[1]]);
        (source, target) = (target, source);
        span *= 2;
    }
    thread::sync_threads();
    store(to, first + thread, load(source, thread));
    store(to, first + thread + 128, load(source, thread + 128));
}

/// A Walsh-Hadamard step of radix 4 in memory.
#[kernel]
pub unsafe fn walsh_stage(n: u32, distance: u32, from: *const f32, to: *mut f32) {
    let i = index();
    if i < n as usize / 4 {
        let distance = distance as usize;
        let at = i / distance * 4 * distance + i % distance;
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| *from.add(at + k * distance));
        *to.add(at) = a + b + c + d;
        *to.add(at + distance) = a - b + c - d;
        *to.add(at + 2 * distance) = a + b - c - d;
        *to.add(at + 3 * distance) = a - b - c + d;
    }
}

/// The cosine transform of 8 x 8 pixels: a block of 64 threads per tile, rows and then columns.
#[kernel]
pub unsafe fn dct_8x8(nx: u32, basis: *const f32, from: *const f32, to: *mut f32) {
    let (pixels, rows) = (shared_array![f32; 64], shared_array![f32; 64]);
    let (u, v) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (x, y) = crate::position();
    *pixels.add(v * 8 + u) = *from.add(y * nx as usize + x);
    thread::sync_threads();
    let mut sum = 0.0_f32;
    for k in 0..8 {
        sum = (*basis.add(u * 8 + k)).mul_add(*pixels.add(v * 8 + k), sum);
    }
    *rows.add(v * 8 + u) = sum;
    thread::sync_threads();
    let mut sum = 0.0_f32;
    for k in 0..8 {
        sum = (*basis.add(v * 8 + k)).mul_add(*rows.add(k * 8 + u), sum);
    }
    *to.add(y * nx as usize + x) = sum;
}
