//! Quantised numbers.

use super::Set;
use crate::{
    case::Case,
    data::{floats, mix},
};

/// The sum of the products of signed bytes.
fn dot(a: impl Iterator<Item = u32>, b: impl Iterator<Item = u32>) -> i32 {
    let bytes = |word: u32| word.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
    a.zip(b).flat_map(|(a, b)| bytes(a).into_iter().zip(bytes(b))).map(|(a, b)| a * b).sum()
}

fn random(n: usize, seed: u64) -> Vec<u32> {
    (0..n).map(|i| mix(i, seed)).collect()
}

pub(super) fn add(set: &mut Set) {
    for (rows, words) in [(4096_usize, 512_usize), (16384, 4096)] {
        set.add("gemv_int8", format!("rows={rows} columns={}", 4 * words), move || {
            let (a, x) = (random(rows * words, 1), random(words, 2));
            let expected = a.chunks(words).map(|row| dot(row.iter().copied(), x.iter().copied())).collect();
            Case::over(rows * 32, 256).word(rows).word(words).input(&a).input(&x).output::<i32>(expected, 0.0)
        });
    }
    let (n, words) = (512_usize, 64_usize);
    set.add("gemm_int8", format!("n={n} depth={}", 4 * words), move || {
        let (a, b) = (random(n * words, 1), random(words * n, 2));
        let element = |i: usize| {
            let row = a[i / n * words..][..words].iter().copied();
            dot(row, b[i % n..].iter().step_by(n).copied())
        };
        let expected = (0..n * n).map(element).collect();
        Case::plane([n, n], [32, 8]).word(n).word(words).input(&a).input(&b).output::<i32>(expected, 0.0)
    });
    for (rows, groups) in [(4096_usize, 128_usize), (32768, 512)] {
        set.add("gemv_int4", format!("rows={rows} columns={}", 32 * groups), move || {
            let weights = random(rows * groups * 4, 1);
            let (scales, x) = (floats(rows * groups, 2), floats(groups * 32, 3));
            let row_sum = |row: usize| {
                let sum: f64 = (0..groups * 32)
                    .map(|column| {
                        let packed = weights[row * groups * 4 + column / 8];
                        let weight = f64::from((packed >> (column % 8 * 4)) & 15) - 8.0;
                        weight * f64::from(x[column]) * f64::from(scales[row * groups + column / 32])
                    })
                    .sum();
                sum as f32
            };
            let expected = (0..rows).map(row_sum).collect();
            Case::over(rows * 32, 256)
                .word(rows)
                .word(groups)
                .input(&weights)
                .input(&scales)
                .input(&x)
                .output::<f32>(expected, 1e-4)
        });
    }
    for words in [1_usize << 18, 1 << 23] {
        set.add("quantise", format!("words={words}"), move || {
            let from: Vec<f32> = floats(4 * words, 1).into_iter().map(|value| 4.0 * value - 2.0).collect();
            let byte = |&value: &f32| ((value * 80.0).clamp(-127.0, 127.0) as i32 as u32) & 255;
            let pack = |four: &[f32]| four.iter().rev().fold(0, |packed, value| packed << 8 | byte(value));
            let expected = from.chunks(4).map(pack).collect();
            Case::over(words, 256).word(words).single(80.0).input(&from).output::<u32>(expected, 0.0)
        });
    }
    for n in [1_usize << 21, 1 << 26] {
        set.add("dequantise", format!("n={n} width=1024"), move || {
            let from: Vec<i8> = (0..n).map(|i| mix(i, 1) as i8).collect();
            let scales = floats(n / 1024, 2);
            let expected =
                from.iter().enumerate().map(|(i, &byte)| f32::from(byte) * scales[i / 1024]).collect();
            Case::over(n, 256).word(n).word(1024).input(&scales).input(&from).output::<f32>(expected, 1e-6)
        });
    }
}
