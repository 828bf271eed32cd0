//! Neural networks.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, floats, mix},
};

/// Attention of each query of width 32 over all keys.
fn attention(q: &[f32], k: &[f32], v: &[f32]) -> Vec<f32> {
    let of = |query: &[f32]| {
        let dot = |key: &[f32]| query.iter().zip(key).map(|(q, k)| q * k).sum::<f32>();
        let weights: Vec<f32> = k.chunks(32).map(|key| (dot(key) / 32.0_f32.sqrt()).exp()).collect();
        let total: f32 = weights.iter().sum();
        let mut sum = [0.0_f32; 32];
        for (weight, value) in weights.iter().zip(v.chunks(32)) {
            sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight / total * value);
        }
        sum
    };
    q.chunks(32).flat_map(of).collect()
}

pub(super) fn add(set: &mut Set) {
    for (queries, keys) in [(2048_usize, 256_usize), (9600, 96)] {
        set.add("flash_tile", format!("queries={queries} keys={keys}"), move || {
            let [q, k] = [(queries, 1), (keys, 2)].map(|(n, seed)| -> Vec<f32> {
                floats(32 * n, seed).into_iter().map(|value| 4.0 * value - 2.0).collect()
            });
            let v = floats(32 * keys, 3);
            let expected = attention(&q, &k, &v);
            Case::grid([queries as u32 / 64, 1, 1], [64, 1, 1])
                .word(keys)
                .input(&q)
                .input(&k)
                .input(&v)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (groups, size) in [(512_usize, 3136_usize), (1024, 9408)] {
        set.add("group_norm", format!("groups={groups} size={size}"), move || {
            let from = floats(groups * size, 1);
            let expected = from
                .chunks(size)
                .flat_map(|group| {
                    let mean = group.iter().map(|&value| f64::from(value)).sum::<f64>() / size as f64;
                    let squares = group.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>();
                    let scale = (squares / size as f64 + 1e-5).sqrt().recip();
                    group.iter().map(move |&value| ((f64::from(value) - mean) * scale) as f32)
                })
                .collect();
            Case::grid([groups as u32, 1, 1], [384, 1, 1])
                .word(size / 4)
                .input(&from)
                .output::<f32>(expected, 1e-4)
        });
    }
    let (images, side, channels) = (3_usize, 56_usize, 144_usize);
    set.add("depthwise_3x3", format!("images={images} side={side} channels={channels}"), move || {
        let weights: Vec<f32> = floats(9 * channels, 1).into_iter().map(|weight| weight - 0.4).collect();
        let from = floats(images * side * side * channels, 2);
        let expected = (0..from.len())
            .map(|i| {
                let (channel, pixel) = (i % channels, i / channels);
                let (x, y, image) = (pixel % side, pixel / side % side, pixel / side / side);
                let near = |k: usize| {
                    let (sx, sy) = (x + k % 3, y + k / 3);
                    let inside = (1..=side).contains(&sx) && (1..=side).contains(&sy);
                    let at = ((image * side + sy).wrapping_sub(1) * side + sx).wrapping_sub(1);
                    if inside { weights[k * channels + channel] * from[at * channels + channel] } else { 0.0 }
                };
                (0..9).map(near).sum::<f32>().max(0.0)
            })
            .collect();
        let blocks = [channels.div_ceil(32) as u32, (side * side).div_ceil(8) as u32, images as u32];
        Case::grid(blocks, [32, 8, 1])
            .word(side)
            .word(channels)
            .input(&weights)
            .input(&from)
            .output::<f32>(expected, 1e-4)
    });
    for rows in [640_usize, 5000] {
        set.add("top_eight", format!("rows={rows} width=512"), move || {
            let from = floats(rows * 512, 1);
            let (mut values, mut places) = (Vec::new(), Vec::new());
            for row in from.chunks(512) {
                let mut order: Vec<usize> = (0..512).collect();
                // Of equal ones a lane takes its lowest, and the lowest lane goes first.
                order.sort_by(|&a, &b| {
                    row[b].total_cmp(&row[a]).then((a % 32).cmp(&(b % 32))).then(a.cmp(&b))
                });
                values.extend(order[..8].iter().map(|&place| row[place]));
                places.extend(order[..8].iter().map(|&place| place as u32));
            }
            Case::over(32 * rows, 128)
                .word(rows)
                .input(&from)
                .output::<f32>(values, 0.0)
                .output::<u32>(places, 0.0)
        });
    }
    for (bags, vocabulary) in [(4000_usize, 50_000_usize), (12_000, 240_000)] {
        set.add("embedding_bag", format!("bags={bags} vocabulary={vocabulary} width=64"), move || {
            let words = Rows::random(bags, vocabulary, 12, 1);
            let table = floats(64 * vocabulary, 3);
            let expected = (0..bags)
                .flat_map(|bag| {
                    let mut sum = [0.0_f32; 64];
                    for k in words.of(bag) {
                        let row = &table[64 * words.columns[k] as usize..];
                        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
                    }
                    sum.map(|value| value / words.of(bag).len() as f32)
                })
                .collect();
            Case::over(16 * bags, 256)
                .word(bags)
                .input(&words.starts)
                .input(&words.columns)
                .input(&table)
                .output::<f32>(expected, 1e-5)
        });
    }
    for (rows, columns) in [(1536_usize, 4096_usize), (8000, 4096)] {
        set.add("gemv_bf16", format!("rows={rows} columns={columns}"), move || {
            // Exponents of 1/2 to 2, signs and fractions at random.
            let weights: Vec<u16> = (0..rows * columns)
                .map(|i| {
                    let bits = mix(i, 1);
                    ((bits & 0x807f) | (126 + (bits >> 16) % 2) << 7) as u16
                })
                .collect();
            let x = floats(columns, 2);
            let weight = |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16));
            let dot = |row: &[u16]| {
                row.iter().zip(&x).map(|(&bits, &x)| weight(bits) * f64::from(x)).sum::<f64>() as f32
            };
            let expected = weights.chunks(columns).map(dot).collect();
            Case::grid([rows as u32, 1, 1], [128, 1, 1])
                .word(columns)
                .input(&weights)
                .input(&x)
                .output::<f32>(expected, 1e-4)
        });
    }
    let (outputs, inputs, pixels) = (128_usize, 64_usize, 3136_usize);
    set.add("pointwise_tile", format!("outputs={outputs} inputs={inputs} pixels={pixels}"), move || {
        let weights: Vec<f32> = floats(outputs * inputs, 1).into_iter().map(|weight| weight - 0.4).collect();
        let from = floats(inputs * pixels, 2);
        let mut expected = vec![0.0_f32; outputs * pixels];
        for (weights, row) in weights.chunks(inputs).zip(expected.chunks_mut(pixels)) {
            for (weight, from) in weights.iter().zip(from.chunks(pixels)) {
                row.iter_mut().zip(from).for_each(|(sum, value)| *sum += weight * value);
            }
            row.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        Case::grid([pixels as u32 / 64, outputs as u32 / 64, 1], [16, 16, 1])
            .word(inputs)
            .word(pixels)
            .input(&weights)
            .input(&from)
            .output::<f32>(expected, 1e-4)
    });
    for (rows, width) in [(3000_usize, 200_usize), (6000, 900)] {
        set.add("softmax_gradient", format!("rows={rows} width={width}"), move || {
            let output: Vec<f32> =
                floats(rows * width, 1).into_iter().map(|value| value / width as f32).collect();
            let above = floats(rows * width, 2);
            let mut expected = Vec::with_capacity(rows * width);
            for (output, above) in output.chunks(width).zip(above.chunks(width)) {
                let dot: f32 = output.iter().zip(above).map(|(a, b)| a * b).sum();
                expected.extend(output.iter().zip(above).map(|(output, above)| output * (above - dot)));
            }
            Case::over(32 * rows, 64)
                .word(rows)
                .word(width)
                .input(&output)
                .input(&above)
                .output::<f32>(expected, 1e-4)
        });
    }
}
