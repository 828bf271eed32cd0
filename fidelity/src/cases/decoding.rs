//! Decoding.

use super::Set;
use crate::{
    case::Case,
    data::{floats, words},
};

/// Floats between -1 and 1.
fn signed(n: usize, seed: u64) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| 2.0 * value - 1.0).collect()
}

/// Attention of a query of width 128 over these keys and values.
fn attend(query: &[f32], keys: &[f32], values: &[f32]) -> [f32; 128] {
    let scores: Vec<f32> = keys
        .chunks(128)
        .map(|key| query.iter().zip(key).map(|(q, k)| q * k).sum::<f32>() / 128.0_f32.sqrt())
        .collect();
    let weights: Vec<f32> = scores.iter().map(|score| score.exp()).collect();
    let total: f32 = weights.iter().sum();
    let mut sum = [0.0_f32; 128];
    for (weight, value) in weights.iter().zip(values.chunks(128)) {
        sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value);
    }
    sum.map(|sum| sum / total)
}

/// A convolution of 3 x 3 with zeros beyond the edges, channels fastest.
fn convolve(side: usize, inputs: usize, outputs: usize, weights: &[f32], from: &[f32]) -> Vec<f32> {
    let pixels = from.len() / inputs;
    let mut to = vec![0.0_f32; pixels * outputs];
    for (pixel, sums) in to.chunks_mut(outputs).enumerate() {
        let (x, y, image) = (pixel % side, pixel / side % side, pixel / side / side);
        for tap in 0..9 {
            let (sx, sy) = (x + tap % 3, y + tap / 3);
            if !(1..=side).contains(&sx) || !(1..=side).contains(&sy) {
                continue;
            }
            let at = ((image * side + sy - 1) * side + sx - 1) * inputs;
            let rows = weights[tap * inputs * outputs..].chunks(outputs);
            for (value, row) in from[at..at + inputs].iter().zip(rows) {
                sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * weight);
            }
        }
    }
    to
}

/// The four nearest points, nearest first.
fn four_nearest(query: &[f32], points: &[f32]) -> [u32; 4] {
    let mut nearest = [(f32::MAX, 0_u32); 4];
    for (at, point) in points.chunks(3).enumerate() {
        let d: [f32; 3] = std::array::from_fn(|axis| query[axis] - point[axis]);
        let square = d[2].mul_add(d[2], d[1].mul_add(d[1], d[0] * d[0]));
        if square < nearest[3].0 {
            nearest[3] = (square, at as u32);
            // Stable: of equal ones the earlier stays in front.
            nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
    nearest.map(|(_, at)| at)
}

/// A number between 0 and 1 for a counter.
fn uniform(counter: u32, seed: u32) -> f32 {
    let mut hash = counter ^ seed;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x7FEB_352D);
    hash = (hash ^ (hash >> 15)).wrapping_mul(0x846C_A68B);
    hash ^= hash >> 16;
    ((hash >> 9) as f32 + 0.5) / 8_388_608.0
}

pub(super) fn add(set: &mut Set) {
    for (sequences, heads, positions) in [(2_usize, 32_usize, 100_usize), (24, 16, 600)] {
        let shape = format!("sequences={sequences} heads={heads} positions={positions} width=128");
        set.add("decode_attention", shape, move || {
            let rows = sequences * heads;
            // At least half of the positions are filled.
            let lengths: Vec<u32> = words(sequences, positions as u32 / 2, 1)
                .into_iter()
                .map(|short| positions as u32 - short)
                .collect();
            let (query, keys) = (signed(128 * rows, 2), signed(128 * rows * positions, 3));
            let values = floats(128 * rows * positions, 4);
            let of = |row: usize| {
                let filled = 128 * row * positions..128 * (row * positions + lengths[row / heads] as usize);
                attend(&query[128 * row..][..128], &keys[filled.clone()], &values[filled])
            };
            let expected = (0..rows).flat_map(of).collect();
            Case::grid([heads as u32, sequences as u32, 1], [256, 1, 1])
                .word(positions)
                .input(&lengths)
                .input(&query)
                .input(&keys)
                .input(&values)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (images, side, inputs, outputs) in [(12_usize, 14_usize, 16_usize, 64_usize), (6, 28, 64, 128)] {
        let shape = format!("images={images} side={side} inputs={inputs} outputs={outputs}");
        set.add("convolve_tile", shape, move || {
            let (weights, pixels) = (signed(9 * inputs * outputs, 1), images * side * side);
            let from = floats(pixels * inputs, 2);
            let expected = convolve(side, inputs, outputs, &weights, &from);
            Case::grid([pixels.div_ceil(64) as u32, outputs as u32 / 64, 1], [16, 16, 1])
                .word(pixels)
                .word(side)
                .word(inputs)
                .word(outputs)
                .input(&weights)
                .input(&from)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (batch, hidden) in [(96_usize, 650_usize), (2000, 1000)] {
        set.add("lstm_cell", format!("batch={batch} hidden={hidden}"), move || {
            let n = batch * hidden;
            let (input, recurrent) = (signed(4 * n, 1), signed(4 * n, 2));
            let (bias, cell) = (signed(4 * hidden, 3), signed(n, 4));
            let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
            let of = |i: usize| {
                let [enter, forget, candidate, leave] = std::array::from_fn(|k| {
                    let at = i / hidden * 4 * hidden + k * hidden + i % hidden;
                    input[at] + recurrent[at] + bias[k * hidden + i % hidden]
                });
                let state = sigmoid(forget) * cell[i] + sigmoid(enter) * candidate.tanh();
                (state, sigmoid(leave) * state.tanh())
            };
            let (states, outputs): (Vec<f32>, Vec<f32>) = (0..n).map(of).unzip();
            Case::over(n, 256)
                .word(batch)
                .word(hidden)
                .input(&input)
                .input(&recurrent)
                .input(&bias)
                .input(&cell)
                .output::<f32>(states, 1e-5)
                .output::<f32>(outputs, 1e-5)
        });
    }
    for (queries, points) in [(3000_usize, 50_usize), (20_000, 800)] {
        set.add("nearest_four", format!("queries={queries} points={points}"), move || {
            let (query, point) = (floats(3 * queries, 1), floats(3 * points, 2));
            let expected = query.chunks(3).flat_map(|query| four_nearest(query, &point)).collect();
            Case::over(queries, 128)
                .word(queries)
                .word(points)
                .input(&query)
                .input(&point)
                .output::<u32>(expected, 0.0)
        });
    }
    for (rows, width) in [(128_usize, 5000_usize), (800, 20_000)] {
        set.add("cumulative_rows", format!("rows={rows} width={width}"), move || {
            let from = floats(rows * width, 1);
            let mut expected = Vec::with_capacity(rows * width);
            for row in from.chunks(width) {
                let mut sum = 0.0_f64;
                expected.extend(row.iter().map(|&value| {
                    sum += f64::from(value);
                    sum as f32
                }));
            }
            Case::grid([rows as u32, 1, 1], [256, 1, 1])
                .word(width / 4)
                .input(&from)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (rows, width) in [(64_usize, 5000_usize), (200, 50_257)] {
        set.add("gumbel_sample", format!("rows={rows} width={width}"), move || {
            let (seed, heat) = (2009_u32, 0.8_f32);
            let logits: Vec<f32> = floats(rows * width, 1).into_iter().map(|value| 8.0 * value).collect();
            let mut best = Vec::new();
            for (row, logits) in logits.chunks(width).enumerate() {
                let score =
                    |i: usize| logits[i] / heat - (-uniform((row * width + i) as u32, seed).ln()).ln();
                let scores: Vec<f32> = (0..width).map(score).collect();
                let most = scores.iter().copied().fold(f32::MIN, f32::max);
                // Logarithms differ in their last bits: any of those that are as good as the best may be drawn.
                best.push(
                    (0..width as u32).filter(|&i| scores[i as usize] >= most - 1e-4).collect::<Vec<_>>(),
                );
            }
            let drawn = move |found: &[u32]| match found
                .iter()
                .zip(&best)
                .position(|(at, best)| !best.contains(at))
            {
                None => Ok(()),
                Some(row) => Err(format!("row {row} drew {}, expected {:?}", found[row], best[row])),
            };
            Case::grid([rows as u32, 1, 1], [512, 1, 1])
                .word(width)
                .word(seed as usize)
                .single(heat)
                .input(&logits)
                .holding(&vec![u32::MAX; rows], drawn)
        });
    }
}
