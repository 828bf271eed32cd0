//! Quantised numbers: 8 and 4 bits.

use cuda_std::prelude::*;
use cuda_std::{GpuFloat, warp};

use crate::{ALL, index, warp_sum};

/// The sum of four products of signed bytes, and a third operand.
#[inline(always)]
fn dp4a(a: u32, b: u32, c: i32) -> i32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result: i32;
        // SAFETY: arithmetic.
        unsafe {
            core::arch::asm!("dp4a.s32.s32 {}, {}, {}, {};", out(reg32) result, in(reg32) a, in(reg32) b, in(reg32) c,
                options(pure, nomem, nostack, preserves_flags));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let product = |shift: u32| i32::from((a >> shift) as i8) * i32::from((b >> shift) as i8);
        c + product(0) + product(8) + product(16) + product(24)
    }
}

/// A matrix of bytes times a vector of bytes: a warp per row, four products an instruction.
#[kernel]
pub unsafe fn gemv_int8(rows: u32, words: u32, a: *const u32, x: *const u32, y: *mut i32) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let mut sum = 0;
        let mut k = lane;
        while k < words as usize {
            sum = dp4a(*a.add(row * words as usize + k), *x.add(k), sum);
            k += 32;
        }
        for distance in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_xor(ALL, sum, distance, 32).0;
        }
        if lane == 0 {
            *y.add(row) = sum;
        }
    }
}

/// A product of matrices of bytes: a thread per element, the second matrix by columns.
#[kernel]
pub unsafe fn gemm_int8(n: u32, words: u32, a: *const u32, b: *const u32, c: *mut i32) {
    let (x, y) = crate::position();
    let words = words as usize;
    let mut sum = 0;
    for k in 0..words {
        sum = dp4a(*a.add(y * words + k), *b.add(k * n as usize + x), sum);
    }
    *c.add(y * n as usize + x) = sum;
}

/// A matrix of 4-bit weights with a scale per 32 of them, times a vector of floats: a warp per row.
#[kernel]
pub unsafe fn gemv_int4(
    rows: u32,
    groups: u32,
    weights: *const u32,
    scales: *const f32,
    x: *const f32,
    y: *mut f32,
) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let mut sum = 0.0_f32;
        // A lane takes a word of 8 weights: four lanes share a group.
        let words = groups as usize * 4;
        let mut k = lane;
        while k < words {
            let packed = *weights.add(row * words + k);
            let scale = *scales.add(row * groups as usize + k / 4);
            let mut part = 0.0_f32;
            for nibble in 0..8 {
                let weight = ((packed >> (4 * nibble)) & 15) as i32 - 8;
                part = (weight as f32).mul_add(*x.add(k * 8 + nibble), part);
            }
            sum = scale.mul_add(part, sum);
            k += 32;
        }
        let sum = warp_sum(sum);
        if lane == 0 {
            *y.add(row) = sum;
        }
    }
}

/// Floats to signed bytes, four to a word.
#[kernel]
pub unsafe fn quantise(words: u32, scale: f32, from: *const f32, to: *mut u32) {
    let i = index();
    if i < words as usize {
        let mut packed = 0;
        for byte in 0..4 {
            let value = (*from.add(4 * i + byte) * scale).clamp(-127.0, 127.0) as i32;
            packed |= (value as u32 & 255) << (8 * byte);
        }
        *to.add(i) = packed;
    }
}

/// Bytes to floats with a scale per row.
#[kernel]
pub unsafe fn dequantise(n: u32, width: u32, scales: *const f32, from: *const i8, to: *mut f32) {
    let i = index();
    if i < n as usize {
        *to.add(i) = f32::from(*from.add(i)) * *scales.add(i / width as usize);
    }
}
