//! Neural networks, statistics and search.

use super::Set;
use crate::{
    case::Case,
    data::{floats, mix, words},
};
use bytemuck::cast_slice;

/// Floats between -1 and 1.
fn signed(n: usize, seed: u64) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| 2.0 * value - 1.0).collect()
}

/// A feature map between its pixels, edges clamped: points lie less than a pixel outside.
fn between(map: &[f32], [nx, ny]: [usize; 2], x: f64, y: f64) -> f64 {
    let (x, y) = (x.clamp(0.0, nx as f64 - 1.0), y.clamp(0.0, ny as f64 - 1.0));
    let at = |dx: usize, dy: usize| {
        f64::from(map[(y as usize + dy).min(ny - 1) * nx + (x as usize + dx).min(nx - 1)])
    };
    let upper = at(0, 0) + (at(1, 0) - at(0, 0)) * x.fract();
    let lower = at(0, 1) + (at(1, 1) - at(0, 1)) * x.fract();
    upper + (lower - upper) * y.fract()
}

/// Years, months, days and weekdays (0 is a Sunday) of all days from 1970 to 2100.
fn calendar() -> Vec<(u16, u8, u8, u8)> {
    let mut all = Vec::new();
    for year in 1970..=2100_u16 {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in lengths.into_iter().enumerate() {
            for day in 1..=length {
                // 1970 began on a Thursday.
                let weekday = (all.len() + 4) % 7;
                all.push((year, month as u8 + 1, day, weekday as u8));
            }
        }
    }
    all
}

pub(super) fn add(set: &mut Set) {
    for (channels, [nx, ny]) in [(32_usize, [60_usize, 56_usize]), (240, [112, 100])] {
        set.add("im2col", format!("channels={channels} nx={nx} ny={ny}"), move || {
            let n = channels * nx * ny;
            let from = floats(n, 1);
            let mut expected = Vec::with_capacity(9 * n);
            for image in from.chunks(nx * ny) {
                for k in 0..9 {
                    for i in 0..nx * ny {
                        let (x, y) = ((i % nx + k % 3).wrapping_sub(1), (i / nx + k / 3).wrapping_sub(1));
                        expected.push(if x < nx && y < ny { image[y * nx + x] } else { 0.0 });
                    }
                }
            }
            Case::over(n, 256).word(n).word(nx).word(ny).input(&from).output::<f32>(expected, 0.0)
        });
    }
    for (regions, channels, [nx, ny]) in [(50_usize, 64_usize, [80_usize, 50_usize]), (300, 256, [76, 50])] {
        let shape = format!("regions={regions} channels={channels} nx={nx} ny={ny}");
        set.add("roi_align", shape, move || {
            let from = floats(channels * nx * ny, 1);
            let mut boxes = Vec::new();
            for share in floats(4 * regions, 2).chunks(4) {
                // In pixels of a picture 16 times as large.
                let (width, height) = (16.0 * nx as f32, 16.0 * ny as f32);
                let (left, top) = (share[0] * 0.7 * width, share[1] * 0.7 * height);
                boxes.extend([left, top]);
                boxes.push(left + 20.0 + share[2] * (width - left - 20.0));
                boxes.push(top + 20.0 + share[3] * (height - top - 20.0));
            }
            let mut expected = Vec::with_capacity(regions * channels * 49);
            for region in boxes.chunks(4) {
                let [left, top, right, bottom] = std::array::from_fn(|k| f64::from(region[k]) * 0.0625 - 0.5);
                for map in from.chunks(nx * ny) {
                    for cell in 0..49 {
                        let point = |k: usize| {
                            let column = (cell % 7) as f64 + 0.25 + 0.5 * (k % 2) as f64;
                            let row = (cell / 7) as f64 + 0.25 + 0.5 * (k / 2) as f64;
                            let x = left + (right - left) / 7.0 * column;
                            between(map, [nx, ny], x, top + (bottom - top) / 7.0 * row)
                        };
                        expected.push(((0..4).map(point).sum::<f64>() * 0.25) as f32);
                    }
                }
            }
            let n = expected.len();
            Case::over(n, 256)
                .word(n)
                .word(channels)
                .word(nx)
                .word(ny)
                .single(0.0625)
                .input(&boxes)
                .input(&from)
                .output::<f32>(expected, 1e-4)
        });
    }
    for n in [1000_usize, 7000] {
        set.add("box_suppression", format!("n={n}"), move || {
            // Whole numbers: products are exact.
            let mut boxes = Vec::new();
            for i in 0..n {
                let [left, top] = [1, 2].map(|seed| mix(i / 3, seed) % 900 + mix(i, seed + 2) % 20);
                let [width, height] = [5, 6].map(|seed| 30 + mix(i, seed) % 60);
                boxes.extend([left, top, left + width, top + height].map(|side| side as f32));
            }
            let columns = n.div_ceil(64);
            let mut masks = vec![0_u64; n * columns];
            for i in 0..n {
                let own = &boxes[4 * i..4 * i + 4];
                for j in i + 1..n {
                    let other = &boxes[4 * j..4 * j + 4];
                    let side = |k: usize| (own[k + 2].min(other[k + 2]) - own[k].max(other[k])).max(0.0);
                    let area = |sides: &[f32]| (sides[2] - sides[0]) * (sides[3] - sides[1]);
                    let common = side(0) * side(1);
                    if common > 0.5 * (area(own) + area(other) - common) {
                        masks[i * columns + j / 64] |= 1 << (j % 64);
                    }
                }
            }
            // As words, which a double holds exactly.
            let halves: Vec<u32> = cast_slice(&masks).to_vec();
            Case::grid([columns as u32, columns as u32, 1], [64, 1, 1])
                .word(n)
                .single(0.5)
                .input(&boxes)
                .inout::<u32>(&vec![0; 2 * n * columns], halves, 0.0)
        });
    }
    for (batch, channels, steps) in [(1_usize, 1500_usize, 12_usize), (6, 2048, 100)] {
        let shape = format!("batch={batch} channels={channels} steps={steps}");
        set.add("selective_scan", shape, move || {
            let decay: Vec<f32> = floats(channels * 16, 1).into_iter().map(|value| -0.1 - value).collect();
            let n = batch * steps * channels;
            let (inputs, paces) = (signed(n, 2), signed(n, 3));
            let (enter, leave) = (signed(batch * steps * 16, 4), signed(batch * steps * 16, 5));
            let mut expected = vec![0.0_f32; n];
            let mut states = vec![0.0_f32; channels * 16];
            for step in 0..batch * steps {
                if step % steps == 0 {
                    states.fill(0.0);
                }
                let (enter, leave) = (&enter[16 * step..][..16], &leave[16 * step..][..16]);
                for (channel, state) in states.chunks_mut(16).enumerate() {
                    let at = step * channels + channel;
                    let pace = paces[at].exp().ln_1p();
                    for k in 0..16 {
                        let keep = (pace * decay[16 * channel + k]).exp();
                        state[k] = keep * state[k] + pace * inputs[at] * enter[k];
                        expected[at] += state[k] * leave[k];
                    }
                }
            }
            Case::grid([channels.div_ceil(128) as u32, batch as u32, 1], [128, 1, 1])
                .word(channels)
                .word(steps)
                .input(&decay)
                .input(&inputs)
                .input(&paces)
                .input(&enter)
                .input(&leave)
                .output::<f32>(expected, 1e-3)
        });
    }
    for features in [700_usize, 24_000] {
        set.add("best_split", format!("features={features} bins=256"), move || {
            // Whole numbers: sums are exact in any order.
            let gradients: Vec<f32> =
                words(features * 256, 100, 1).into_iter().map(|word| word as f32 - 49.0).collect();
            let curvatures: Vec<f32> =
                words(features * 256, 20, 2).into_iter().map(|word| word as f32 + 1.0).collect();
            let score = |gradient: f32, curvature: f32| gradient * gradient / (curvature + 1.0);
            let of = |(gradients, curvatures): (&[f32], &[f32])| {
                let (all, curve): (f32, f32) = (gradients.iter().sum(), curvatures.iter().sum());
                let (mut gradient, mut curvature) = (0.0_f32, 0.0_f32);
                let (mut best, mut place) = (f32::MIN, 0);
                for (bin, (one, other)) in gradients.iter().zip(curvatures).enumerate() {
                    gradient += one;
                    curvature += other;
                    let parts = score(gradient, curvature) + score(all - gradient, curve - curvature);
                    let gain = parts - score(all, curve);
                    if gain > best {
                        (best, place) = (gain, bin as u32);
                    }
                }
                (best, place)
            };
            let (gains, places) = gradients.chunks(256).zip(curvatures.chunks(256)).map(of).unzip();
            Case::grid([features as u32, 1, 1], [256, 1, 1])
                .single(1.0)
                .input(&gradients)
                .input(&curvatures)
                .output::<f32>(gains, 1e-5)
                .output::<u32>(places, 0.0)
        });
    }
    for (n, clusters) in [(40_000_usize, 12_usize), (600_000, 15)] {
        set.add("mixture_shares", format!("n={n} clusters={clusters} dimensions=8"), move || {
            let (points, means) = (floats(8 * n, 1), floats(8 * clusters, 2));
            let narrowness: Vec<f32> =
                floats(8 * clusters, 3).into_iter().map(|value| 2.0 + 6.0 * value).collect();
            let offsets = signed(clusters, 4);
            let mut expected = vec![0.0_f32; clusters * n];
            let mut likely = vec![0.0_f64; clusters];
            for i in 0..n {
                for (cluster, likely) in likely.iter_mut().enumerate() {
                    let part = |k: usize| {
                        let away = f64::from(points[k * n + i]) - f64::from(means[8 * cluster + k]);
                        away * away * f64::from(narrowness[8 * cluster + k])
                    };
                    let distance: f64 = (0..8).map(part).sum();
                    *likely = (f64::from(offsets[cluster]) - 0.5 * distance).exp();
                }
                let total: f64 = likely.iter().sum();
                for (cluster, likely) in likely.iter().enumerate() {
                    expected[cluster * n + i] = (likely / total) as f32;
                }
            }
            Case::over(n, 128)
                .word(n)
                .word(clusters)
                .input(&points)
                .input(&means)
                .input(&narrowness)
                .input(&offsets)
                .output::<f32>(expected, 1e-4)
        });
    }
    for samples in [600_usize, 12_000] {
        set.add("feature_interaction", format!("samples={samples} vectors=27 width=48"), move || {
            let from = signed(samples * 27 * 48, 1);
            let mut expected = Vec::with_capacity(samples * 399);
            for sample in from.chunks(27 * 48) {
                let row = |k: usize| &sample[48 * k..48 * k + 48];
                expected.extend(row(0));
                for high in 1..27 {
                    let dot = |low| row(high).iter().zip(row(low)).map(|(a, b)| a * b).sum::<f32>();
                    expected.extend((0..high).map(dot));
                }
            }
            Case::grid([samples as u32, 1, 1], [128, 1, 1]).input(&from).output::<f32>(expected, 1e-4)
        });
    }
    for (n, queries, blocks) in [(150_000_usize, 1_usize, 264_u32), (1_000_000, 5, 132)] {
        let shape = format!("n={n} queries={queries} blocks={blocks}");
        set.add("coded_distances", shape, move || {
            let tables = floats(queries * 4096, 1);
            let codes = words(4 * n, u32::MAX, 2);
            let mut expected = Vec::with_capacity(queries * n);
            for table in tables.chunks(4096) {
                for code in cast_slice::<u32, u8>(&codes).chunks(16) {
                    let part = |(k, &letter): (usize, &u8)| table[256 * k + usize::from(letter)];
                    expected.push(code.iter().enumerate().map(part).sum());
                }
            }
            Case::grid([blocks, queries as u32, 1], [256, 1, 1])
                .word(n)
                .input(&tables)
                .input(&codes)
                .output::<f32>(expected, 1e-5)
        });
    }
    for n in [800_000_usize, 12_000_000] {
        set.add("calendar_columns", format!("n={n}"), move || {
            let all = calendar();
            let days = words(n, all.len() as u32, 1);
            let dates: Vec<i32> = days.iter().map(|&day| day as i32).collect();
            let of = |day: &u32| all[*day as usize];
            Case::over(n, 256)
                .word(n)
                .input(&dates)
                .output::<u16>(days.iter().map(|day| of(day).0).collect(), 0.0)
                .output::<u8>(days.iter().map(|day| of(day).1).collect(), 0.0)
                .output::<u8>(days.iter().map(|day| of(day).2).collect(), 0.0)
                .output::<u8>(days.iter().map(|day| of(day).3).collect(), 0.0)
        });
    }
}
