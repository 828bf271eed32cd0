//! Fourier transforms.

use super::Set;
use crate::{case::Case, data::floats};
use std::f64::consts::PI;

/// A complex number times a root of unity.
fn turned(from: &[f32], at: usize, angle: f64) -> [f64; 2] {
    let (a, b) = (f64::from(from[2 * at]), f64::from(from[2 * at + 1]));
    [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
}

/// A Stockham stage of radix `radix`: the transform of each group of elements `n / radix` apart.
fn stage(from: &[f32], radix: usize, span: usize) -> Vec<f32> {
    let n = from.len() / 2;
    let mut to = vec![0.0; 2 * n];
    for i in 0..n / radix {
        let k = i % span;
        let angle = -2.0 * PI * k as f64 / (radix * span) as f64;
        let parts: Vec<[f64; 2]> =
            (0..radix).map(|j| turned(from, i + j * (n / radix), angle * j as f64)).collect();
        for m in 0..radix {
            let at = (i - k) * radix + k + m * span;
            for (j, [re, im]) in parts.iter().enumerate() {
                let angle = -2.0 * PI * (j * m) as f64 / radix as f64;
                to[2 * at] += (re * angle.cos() - im * angle.sin()) as f32;
                to[2 * at + 1] += (re * angle.sin() + im * angle.cos()) as f32;
            }
        }
    }
    to
}

pub(super) fn add(set: &mut Set) {
    for n in [1_usize << 20, 1 << 24] {
        set.add("fft_radix2_stage", format!("n={n} span=64"), move || {
            let from = floats(2 * n, 1);
            let expected = stage(&from, 2, 64);
            Case::over(n / 2, 256).word(n).word(64).input(&from).output(expected, 1e-4)
        });
    }
    let n = 1 << 20;
    set.add("fft_radix4_stage", format!("n={n} span=64"), move || {
        let from = floats(2 * n, 1);
        let expected = stage(&from, 4, 64);
        let table: Vec<f32> = (0..n)
            .flat_map(|k| {
                let angle = -2.0 * PI * k as f64 / n as f64;
                [angle.cos() as f32, angle.sin() as f32]
            })
            .collect();
        Case::over(n / 4, 256).word(n).word(64).input(&table).input(&from).output(expected, 1e-4)
    });
    let count = 4096;
    set.add("fft_shared_256", format!("count={count}"), move || {
        let from = floats(512 * count, 1);
        let mut expected = Vec::with_capacity(from.len());
        for block in from.chunks(512) {
            let mut values = block.to_vec();
            (0..8).for_each(|power| values = stage(&values, 2, 1 << power));
            expected.extend(values);
        }
        Case::grid([count as u32, 1, 1], [128, 1, 1]).input(&from).output(expected, 1e-4)
    });
    for n in [1_usize << 20, 1 << 25] {
        set.add("walsh_stage", format!("n={n} distance=1024"), move || {
            let from = floats(n, 1);
            let mut expected = vec![0.0; n];
            for first in (0..n).step_by(4096) {
                for at in first..first + 1024 {
                    let [a, b, c, d] = [0, 1, 2, 3].map(|k| from[at + k * 1024]);
                    expected[at] = a + b + c + d;
                    expected[at + 1024] = a - b + c - d;
                    expected[at + 2048] = a + b - c - d;
                    expected[at + 3072] = a - b - c + d;
                }
            }
            Case::over(n / 4, 256).word(n).word(1024).input(&from).output(expected, 1e-5)
        });
    }
    let [nx, ny] = [2048_usize, 1024];
    set.add("dct_8x8", format!("nx={nx} ny={ny}"), move || {
        let from = floats(nx * ny, 1);
        let basis: Vec<f32> = (0..64)
            .map(|i| {
                let (u, k) = (i / 8, i % 8);
                let scale: f64 = if u == 0 { 0.125 } else { 0.25 };
                (scale.sqrt() * (PI * u as f64 * (2 * k + 1) as f64 / 16.0).cos()) as f32
            })
            .collect();
        let mut rows = vec![0.0_f32; nx * ny];
        let mut expected = vec![0.0_f32; nx * ny];
        for i in 0..nx * ny {
            let (x, y) = (i % nx, i / nx);
            rows[i] = (0..8).map(|k| basis[x % 8 * 8 + k] * from[y * nx + x / 8 * 8 + k]).sum();
        }
        for i in 0..nx * ny {
            let (x, y) = (i % nx, i / nx);
            expected[i] = (0..8).map(|k| basis[y % 8 * 8 + k] * rows[(y / 8 * 8 + k) * nx + x]).sum();
        }
        Case::plane([nx, ny], [8, 8]).word(nx).input(&basis).input(&from).output(expected, 1e-5)
    });
}
