//! Training.

use super::Set;
use crate::{
    case::Case,
    data::{floats, mix, words},
};

/// Floats between -2 and 2.
fn signed(n: usize, seed: u64) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| 4.0 * value - 2.0).collect()
}

/// Philox 4x32 of ten rounds, for a counter of 32 bits and such a key.
fn philox(counter: u32, key: u32) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = [counter, 0, 0, 0];
    let [mut k, mut l] = [key, 0];
    for _ in 0..10 {
        let (first, second) = (u64::from(a) * 0xD251_1F53, u64::from(c) * 0xCD9E_8D57);
        let high = |product: u64| (product >> 32) as u32;
        (a, b, c, d) = (high(second) ^ b ^ k, second as u32, high(first) ^ d ^ l, first as u32);
        (k, l) = (k.wrapping_add(0x9E37_79B9), l.wrapping_add(0xBB67_AE85));
    }
    [a, b, c, d]
}

fn bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

pub(super) fn add(set: &mut Set) {
    for (rows, channels, blocks) in [(6272_usize, 72_usize, 64_u32), (100_352, 160, 240)] {
        set.add("channel_moments", format!("rows={rows} channels={channels} parts={blocks}"), move || {
            let from = floats(rows * channels, 1);
            let (mut sums, mut squares) = (vec![0.0_f64; channels], vec![0.0_f64; channels]);
            for row in from.chunks(channels) {
                for (channel, &value) in row.iter().enumerate() {
                    sums[channel] += f64::from(value);
                    squares[channel] += f64::from(value) * f64::from(value);
                }
            }
            let single = |sums: Vec<f64>| sums.into_iter().map(|sum| sum as f32).collect();
            Case::grid([channels.div_ceil(32) as u32, blocks, 1], [32, 8, 1])
                .word(rows)
                .word(channels)
                .input(&from)
                .inout::<f32>(&vec![0.0; channels], single(sums), 1e-4)
                .inout::<f32>(&vec![0.0; channels], single(squares), 1e-4)
        });
    }
    for (rows, width, block) in [(1000_usize, 768_usize, 128_u32), (8192, 1536, 256)] {
        set.add("layer_norm_gradient", format!("rows={rows} width={width} block={block}"), move || {
            let (from, above) = (signed(rows * width, 1), signed(rows * width, 2));
            let (gain, means) = (floats(width, 3), floats(rows, 4));
            let scales: Vec<f32> = floats(rows, 5).into_iter().map(|value| value + 0.5).collect();
            let mut expected = Vec::with_capacity(rows * width);
            for (row, (from, above)) in from.chunks(width).zip(above.chunks(width)).enumerate() {
                let pair = |k: usize| ((from[k] - means[row]) * scales[row], above[k] * gain[k]);
                let (mut sum, mut dot) = (0.0_f64, 0.0_f64);
                for (normal, gradient) in (0..width).map(pair) {
                    sum += f64::from(gradient);
                    dot += f64::from(gradient) * f64::from(normal);
                }
                let (sum, dot) = ((sum / width as f64) as f32, (dot / width as f64) as f32);
                let below = |(normal, gradient)| scales[row] * (gradient - sum - normal * dot);
                expected.extend((0..width).map(pair).map(below));
            }
            Case::grid([rows as u32, 1, 1], [block, 1, 1])
                .word(width)
                .input(&from)
                .input(&above)
                .input(&gain)
                .input(&means)
                .input(&scales)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (positions, width, vocabulary) in [(1200_usize, 256_usize, 10_000_usize), (16_384, 384, 50_257)] {
        let shape = format!("positions={positions} width={width} vocabulary={vocabulary}");
        set.add("embedding_gradient", shape, move || {
            // The lower a token, the more frequent it is, as with words.
            let tokens: Vec<u32> = floats(positions, 1)
                .into_iter()
                .map(|value| (value.powi(3) * vocabulary as f32) as u32)
                .map(|token| token.min(vocabulary as u32 - 1))
                .collect();
            // Multiples of 1/256, whose sums are exact in any order.
            let above: Vec<f32> = words(positions * width, 512, 2)
                .into_iter()
                .map(|value| (value as f32 - 256.0) / 256.0)
                .collect();
            let mut expected = vec![0.0_f32; vocabulary * width];
            for (&token, above) in tokens.iter().zip(above.chunks(width)) {
                let row = &mut expected[token as usize * width..][..width];
                row.iter_mut().zip(above).for_each(|(sum, value)| *sum += value);
            }
            Case::grid([positions as u32, 1, 1], [128, 1, 1])
                .word(width)
                .input(&tokens)
                .input(&above)
                .inout::<f32>(&vec![0.0; vocabulary * width], expected, 0.0)
        });
    }
    for quads in [100_000_usize, 3_000_000] {
        set.add("dropout_add", format!("n={} dropped=10%", 4 * quads), move || {
            let (from, residual) = (signed(4 * quads, 1), signed(4 * quads, 2));
            let limit = (0.9 * 4_294_967_296.0) as u32;
            let (scale, seed) = (1.0_f32 / 0.9, 2009_u32);
            let random = (0..quads as u32).flat_map(|counter| philox(counter, seed));
            let expected = random
                .zip(from.iter().zip(&residual))
                .map(|(random, (&value, &rest))| if random < limit { value * scale + rest } else { rest })
                .collect();
            Case::over(quads, 256)
                .word(quads)
                .word(limit as usize)
                .single(scale)
                .word(seed as usize)
                .input(&from)
                .input(&residual)
                .output::<f32>(expected, 1e-6)
        });
    }
    for (rows, half) in [(400_usize, 1376_usize), (4096, 5504)] {
        set.add("swiglu", format!("rows={rows} width={half}+{half}"), move || {
            // Exponents of 1/2 to 2, signs and fractions at random.
            let from: Vec<u16> = (0..2 * rows * half)
                .map(|i| {
                    let bits = mix(i, 1);
                    ((bits & 0x807f) | (126 + (bits >> 16) % 2) << 7) as u16
                })
                .collect();
            let mut expected = Vec::with_capacity(rows * half);
            for row in from.chunks(2 * half) {
                let (gates, ups) = row.split_at(half);
                let pairs = gates.iter().zip(ups).map(|(&gate, &up)| (bf16(gate), bf16(up)));
                expected.extend(pairs.map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up));
            }
            // 8 bits of precision.
            let near = move |found: &[u16]| {
                let wrong = |(&bits, &expected): (&u16, &f32)| {
                    let near = (bf16(bits) - expected).abs() <= expected.abs() / 256.0;
                    !near
                };
                match found.iter().zip(&expected).position(wrong) {
                    None => Ok(()),
                    Some(at) => {
                        Err(format!("element {at} is {}, expected {}", bf16(found[at]), expected[at]))
                    }
                }
            };
            Case::grid([half.div_ceil(512) as u32, rows as u32, 1], [256, 1, 1])
                .word(half / 2)
                .input(&from)
                .holding(&vec![u16::MAX; rows * half], near)
        });
    }
    for groups in [4500_usize, 150_000] {
        set.add("quantise_groups", format!("groups={groups} size=128"), move || {
            let from = signed(128 * groups, 1);
            let (mut scales, mut bytes) = (Vec::with_capacity(groups), Vec::with_capacity(128 * groups));
            for group in from.chunks(128) {
                let most = group.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                scales.push(most / 127.0);
                bytes.extend(group.iter().map(|value| (value * (127.0 / most)).round_ties_even() as i8));
            }
            Case::over(32 * groups, 256)
                .word(groups)
                .input(&from)
                .output::<f32>(scales, 0.0)
                .output::<i8>(bytes, 0.0)
        });
    }
}
