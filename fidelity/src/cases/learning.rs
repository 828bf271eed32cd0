//! Neural networks.

use super::Set;
use crate::{
    case::Case,
    data::{floats, words},
};

fn centred(n: usize, seed: u64) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| 4.0 * value - 2.0).collect()
}

fn mean(row: &[f32], of: impl Fn(f64) -> f64) -> f64 {
    row.iter().map(|&value| of(value.into())).sum::<f64>() / row.len() as f64
}

pub(super) fn add(set: &mut Set) {
    for (rows, width) in [(2048_usize, 1024_usize), (8192, 4096)] {
        set.add("layer_norm", format!("rows={rows} width={width}"), move || {
            let (from, gain, bias) = (centred(rows * width, 1), floats(width, 2), floats(width, 3));
            let expected = from
                .chunks(width)
                .flat_map(|row| {
                    let average = mean(row, |value| value);
                    let scale = (mean(row, |value| (value - average).powi(2)) + 1e-5).sqrt().recip();
                    let normed = row.iter().map(move |&value| (f64::from(value) - average) * scale);
                    normed
                        .zip(&gain)
                        .zip(&bias)
                        .map(|((value, gain), bias)| (value * f64::from(*gain) + f64::from(*bias)) as f32)
                })
                .collect();
            Case::grid([rows as u32, 1, 1], [256, 1, 1])
                .word(width)
                .input(&from)
                .input(&gain)
                .input(&bias)
                .output::<f32>(expected, 1e-4)
        });
        set.add("rms_norm", format!("rows={rows} width={width}"), move || {
            let (from, gain) = (centred(rows * width, 1), floats(width, 2));
            let expected = from
                .chunks(width)
                .flat_map(|row| {
                    let scale = (mean(row, |value| value * value) + 1e-6).sqrt().recip();
                    row.iter().zip(&gain).map(move |(value, gain)| (f64::from(value * gain) * scale) as f32)
                })
                .collect();
            Case::over(rows * 32, 256)
                .word(rows)
                .word(width)
                .input(&from)
                .input(&gain)
                .output::<f32>(expected, 1e-4)
        });
    }
    for rows in [8192_usize, 1 << 17] {
        set.add("softmax_rows", format!("rows={rows} width=256"), move || {
            let from = centred(rows * 256, 1);
            let expected = from
                .chunks(256)
                .flat_map(|row| {
                    let sum: f64 = row.iter().map(|&value| f64::from(value).exp()).sum();
                    row.iter().map(move |&value| (f64::from(value).exp() / sum) as f32)
                })
                .collect();
            Case::over(rows * 32, 256).word(rows).input(&from).output::<f32>(expected, 1e-4)
        });
    }
    let keys = 1 << 16;
    set.add("attention_scores", format!("keys={keys} width=64"), move || {
        let (query, key) = (centred(64, 1), centred(keys * 64, 2));
        let score = |key: &[f32]| key.iter().zip(&query).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let expected = key.chunks(64).map(|key| (score(key) * 0.125) as f32).collect();
        Case::over(keys * 32, 256).word(keys).input(&query).input(&key).output::<f32>(expected, 1e-4)
    });
    for n in [1_usize << 20, 1 << 25] {
        set.add("gelu", format!("n={n}"), move || {
            let from = centred(n, 1);
            let gelu = |&x: &f32| {
                let x = f64::from(x);
                (0.5 * x * (1.0 + (0.7978845608 * (x + 0.044715 * x.powi(3))).tanh())) as f32
            };
            let expected = from.iter().map(gelu).collect();
            Case::over(n, 256).word(n).input(&from).output::<f32>(expected, 1e-4)
        });
    }
    let (vocabulary, width, tokens) = (50_000_usize, 768_usize, 8192_usize);
    set.add(
        "embedding_gather",
        format!("vocabulary={vocabulary} width={width} tokens={tokens}"),
        move || {
            let (chosen, table) = (words(tokens, vocabulary as u32, 1), floats(vocabulary * width, 2));
            let row = |&token: &u32| table[token as usize * width..][..width].to_vec();
            let expected = chosen.iter().flat_map(row).collect();
            Case::grid([tokens as u32, 1, 1], [256, 1, 1])
                .word(width)
                .input(&chosen)
                .input(&table)
                .output::<f32>(expected, 0.0)
        },
    );
    let (rows, width) = (1024_usize, 32_000_usize);
    set.add("cross_entropy", format!("rows={rows} width={width}"), move || {
        let (logits, labels) = (centred(rows * width, 1), words(rows, width as u32, 2));
        let loss = |(row, label): (&[f32], &u32)| {
            let sum: f64 = row.iter().map(|&value| f64::from(value).exp()).sum();
            (sum.ln() - f64::from(row[*label as usize])) as f32
        };
        let expected = logits.chunks(width).zip(&labels).map(loss).collect();
        Case::grid([rows as u32, 1, 1], [512, 1, 1])
            .word(width)
            .input(&logits)
            .input(&labels)
            .output::<f32>(expected, 1e-4)
    });
    for n in [1_usize << 19, 1 << 24] {
        set.add("adam_step", format!("n={n}"), move || {
            let [gradient, first, second, parameters] = [1, 2, 3, 4].map(|seed| floats(n, seed));
            let new_first: Vec<f32> = (0..n).map(|i| 0.9 * first[i] + 0.1 * gradient[i]).collect();
            let new_second: Vec<f32> =
                (0..n).map(|i| 0.999 * second[i] + 0.001 * gradient[i] * gradient[i]).collect();
            let updated = (0..n)
                .map(|i| parameters[i] - 0.001 * new_first[i] / (new_second[i].sqrt() + 1e-8))
                .collect();
            Case::over(n, 256)
                .word(n)
                .input(&gradient)
                .input(&first)
                .input(&second)
                .input(&parameters)
                .output(new_first, 1e-5)
                .output(new_second, 1e-5)
                .output::<f32>(updated, 1e-5)
        });
    }
    for [nx, ny] in [[2048_usize, 1024_usize], [8192, 8192]] {
        set.add("max_pool", format!("nx={nx} ny={ny}"), move || {
            let from = floats(nx * ny, 1);
            let greatest = |i: usize| {
                let at = i / (nx / 2) * 2 * nx + i % (nx / 2) * 2;
                [at, at + 1, at + nx, at + nx + 1].map(|at| from[at]).into_iter().fold(0.0, f32::max)
            };
            let expected = (0..nx * ny / 4).map(greatest).collect();
            Case::plane([nx / 2, ny / 2], [32, 8]).word(nx).word(ny).input(&from).output::<f32>(expected, 0.0)
        });
    }
    let (rows, width) = (16384_usize, 512_usize);
    set.add("argmax_rows", format!("rows={rows} width={width}"), move || {
        let from = floats(rows * width, 1);
        let best = |row: &[f32]| {
            let greatest = row.iter().copied().fold(0.0, f32::max);
            row.iter().position(|&value| value == greatest).expect("one is greatest") as u32
        };
        let expected = from.chunks(width).map(best).collect();
        Case::over(rows * 32, 256).word(rows).word(width).input(&from).output::<u32>(expected, 0.0)
    });
    let (positions, half) = (32_768_usize, 64_usize);
    set.add("rotary", format!("positions={positions} pairs={half}"), move || {
        let n = positions * half;
        let (frequencies, from) = (floats(half, 1), floats(2 * n, 2));
        // Angles small enough for the special function unit.
        let frequencies: Vec<f32> = frequencies.into_iter().map(|value| value * 1e-4).collect();
        let expected = (0..n)
            .flat_map(|i| {
                let angle = f64::from((i / half) as f32 * frequencies[i % half]);
                let (a, b) = (f64::from(from[2 * i]), f64::from(from[2 * i + 1]));
                [(a * angle.cos() - b * angle.sin()) as f32, (a * angle.sin() + b * angle.cos()) as f32]
            })
            .collect();
        Case::over(n, 256).word(n).word(half).input(&frequencies).input(&from).output::<f32>(expected, 1e-4)
    });
}
