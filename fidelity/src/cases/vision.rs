//! Computer vision, video and graphics.

use super::Set;
use crate::{
    case::{Case, any_order},
    data::{floats, mix, singles, words},
};

/// Floats between two numbers.
fn between(n: usize, seed: u64, low: f32, high: f32) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| low + (high - low) * value).collect()
}

/// A picture of areas of one brightness each, with some noise.
fn picture([nx, ny]: [usize; 2], seed: u64) -> Vec<u8> {
    (0..nx * ny)
        .map(|i| {
            let area = mix(i / nx / 19 * 1000 + i % nx / 23, seed) % 200;
            (20 + area + mix(i, seed + 1) % 12) as u8
        })
        .collect()
}

/// Checks numbers of which one in a thousand may differ, because it lies beside a threshold.
fn almost(expected: Vec<f32>, tolerance: f32) -> impl Fn(&[f32]) -> Result<(), String> + Send + 'static {
    move |found| {
        let mut wrong = (0..found.len()).filter(|&i| {
            let near = (found[i] - expected[i]).abs() <= tolerance * (1.0 + expected[i].abs());
            !near
        });
        match wrong.next() {
            Some(at) if (1 + wrong.count()) * 1000 > found.len() => {
                Err(format!("element {at} and others: it is {}, expected {}", found[at], expected[at]))
            }
            _ => Ok(()),
        }
    }
}

fn tone(n: usize) -> Case {
    let exposure = 0.8_f32;
    // Few pixels are bright.
    let from: Vec<f32> = floats(4 * n, 1).into_iter().map(|value| 4.0 * value * value * value).collect();
    let shown = |value: f32| {
        let x = f64::from(value) * f64::from(exposure);
        let linear = (x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)).clamp(0.0, 1.0);
        if linear <= 0.0031308 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
    };
    let expected: Vec<f32> = from
        .iter()
        .enumerate()
        .map(|(i, &value)| {
            let share = if i % 4 == 3 { f64::from(value).min(1.0) } else { shown(value) };
            (share * 255.0) as f32
        })
        .collect();
    let rounded = move |found: &[u8]| {
        let wrong = |(&found, &expected): (&u8, &f32)| (f32::from(found) - expected).abs() > 0.51;
        match found.iter().zip(&expected).position(wrong) {
            None => Ok(()),
            Some(at) => Err(format!("element {at} is {}, expected {}", found[at], expected[at])),
        }
    };
    Case::over(n, 256).word(n).single(exposure).input(&from).holding(&vec![0_u8; 4 * n], rounded)
}

fn flow([nx, ny]: [usize; 2]) -> Case {
    let n = nx * ny;
    let smoothness = 0.5_f32;
    let [ix, iy, it, u, v] = [1, 2, 3, 4, 5].map(|seed| between(n, seed, -1.0, 1.0));
    let [mut to_u, mut to_v] = [0; 2].map(|_| Vec::with_capacity(n));
    for y in 0..ny {
        let rows = [y.saturating_sub(1), y, (y + 1).min(ny - 1)];
        for x in 0..nx {
            let columns = [x.saturating_sub(1), x, (x + 1).min(nx - 1)];
            let mean = |field: &[f32]| {
                let at = |row: usize, column: usize| f64::from(field[rows[row] * nx + columns[column]]);
                (at(0, 1) + at(1, 0) + at(1, 2) + at(2, 1)) / 6.0
                    + (at(0, 0) + at(0, 2) + at(2, 0) + at(2, 2)) / 12.0
            };
            let i = y * nx + x;
            let [ix, iy, it] = [ix[i], iy[i], it[i]].map(f64::from);
            let (u, v) = (mean(&u), mean(&v));
            let share = (ix * u + iy * v + it) / (f64::from(smoothness) + ix * ix + iy * iy);
            to_u.push((u - ix * share) as f32);
            to_v.push((v - iy * share) as f32);
        }
    }
    Case::plane([nx, ny], [16, 16])
        .word(nx)
        .word(ny)
        .single(smoothness)
        .input(&ix)
        .input(&iy)
        .input(&it)
        .input(&u)
        .input(&v)
        .output(to_u, 1e-5)
        .output(to_v, 1e-5)
}

fn census([nx, ny]: [usize; 2]) -> Case {
    let image = picture([nx, ny], 1);
    let mut expected = vec![0_u64; nx * ny];
    for y in 0..ny {
        for x in 0..nx {
            let middle = image[y * nx + x];
            let mut bits = 0;
            for dy in 0..7 {
                let row = (y + dy).saturating_sub(3).min(ny - 1) * nx;
                for dx in 0..9 {
                    if dy != 3 || dx != 4 {
                        let other = image[row + (x + dx).saturating_sub(4).min(nx - 1)];
                        bits = bits << 1 | u64::from(other < middle);
                    }
                }
            }
            expected[y * nx + x] = bits;
        }
    }
    // Not by `output`, as a double does not hold 62 bits.
    let exact = move |found: &[u64]| match found.iter().zip(&expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(format!("element {at} is {:x}, expected {:x}", found[at], expected[at])),
    };
    Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&image).holding(&vec![u64::MAX; nx * ny], exact)
}

fn aggregate([nx, ny]: [usize; 2], disparities: usize) -> Case {
    let (small, large) = (7_u32, 60_u32);
    let n = nx * ny * disparities;
    // A match of low cost, at a disparity that changes slowly along the row.
    let costs: Vec<u8> = (0..n)
        .map(|i| {
            let (pixel, disparity) = (i / disparities, i % disparities);
            let right = mix(pixel / nx * 64 + pixel % nx / 40, 1) as usize % disparities;
            (mix(i, 2) % if right == disparity { 8 } else { 62 }) as u8
        })
        .collect();
    let sums: Vec<u16> = (0..n).map(|i| (mix(i, 3) % 400) as u16).collect();
    let mut to = sums.clone();
    for y in 0..ny {
        let mut path = vec![0_u32; disparities];
        let mut best = 0;
        for x in 0..nx {
            let at = (y * nx + x) * disparities;
            let value = |k: usize| {
                let mut least = path[k].min(best + large);
                if k > 0 {
                    least = least.min(path[k - 1] + small);
                }
                if k + 1 < disparities {
                    least = least.min(path[k + 1] + small);
                }
                u32::from(costs[at + k]) + least - best
            };
            let values: Vec<u32> = (0..disparities).map(value).collect();
            for (k, &value) in values.iter().enumerate() {
                to[at + k] += value as u16;
            }
            best = values.iter().copied().fold(u32::MAX, u32::min);
            path = values;
        }
    }
    Case::grid([1, ny as u32, 1], [disparities as u32, 1, 1])
        .word(nx)
        .word(small as usize)
        .word(large as usize)
        .input(&costs)
        .inout(&sums, to, 0.0)
}

fn look([nx, ny]: [usize; 2], side: usize) -> Case {
    let step = 2.0_f32 / side as f32;
    let mut volume = Vec::with_capacity(side * side * side);
    for i in 0..side * side * side {
        let [x, y, z] =
            [i % side, i / side % side, i / (side * side)].map(|k| 2.0 * k as f32 / (side - 1) as f32 - 1.0);
        let radius = (x * x + y * y + z * z).sqrt();
        let folds = 0.5 + 0.5 * (9.0 * x + 2.0 * y).sin() * (7.0 * y - 3.0 * z).cos();
        let shell = (1.0 - radius / 0.95).max(0.0) * folds;
        volume
            .push((1.4 * shell + 0.02 * (mix(i, 1) % 256) as f32 / 256.0 * (1.0 - radius).max(0.0)).min(1.0));
    }
    let table: Vec<f32> = (0..257)
        .flat_map(|k| {
            let share = f64::from(k) / 256.0;
            let opaque = 12.0 * (share - 0.06).max(0.0);
            singles(&[share, 0.5 + 0.5 * (6.0 * share).sin(), 1.0 - share, opaque])
        })
        .collect();
    let origin = [0.6, 0.4, -3.0];
    let length = f64::from(step);
    let half = 0.5 * (side - 1) as f64;
    let mut expected = Vec::with_capacity(4 * nx * ny);
    for i in 0..nx * ny {
        let share = |k: usize, n: usize| (k as f64 + 0.5) * 2.0 / n as f64 - 1.0;
        let aim = [0.7 * share(i % nx, nx) - 0.2, 0.55 * share(i / nx, ny) - 0.13, 1.0];
        let scale = aim.iter().map(|a| a * a).sum::<f64>().sqrt().recip();
        let direction = aim.map(|a| a * scale);
        let (mut near, mut far) = (0.0_f64, 1e30_f64);
        for axis in 0..3 {
            let (a, b) = ((-1.0 - origin[axis]) / direction[axis], (1.0 - origin[axis]) / direction[axis]);
            near = near.max(a.min(b));
            far = far.min(a.max(b));
        }
        let mut colour = [0.0; 4];
        let mut t = near;
        while t < far && colour[3] < 0.95 {
            let (mut low, mut rest) = ([0; 3], [0.0; 3]);
            for axis in 0..3 {
                let place = ((t * direction[axis] + origin[axis] + 1.0) * half).clamp(0.0, 2.0 * half);
                low[axis] = (place as usize).min(side - 2);
                rest[axis] = place - low[axis] as f64;
            }
            let corner = (low[2] * side + low[1]) * side + low[0];
            let mut density = 0.0;
            for k in 0..8 {
                let bits = [k & 1, k >> 1 & 1, k >> 2];
                let weight: f64 =
                    (0..3).map(|axis| if bits[axis] == 1 { rest[axis] } else { 1.0 - rest[axis] }).product();
                let value = volume[corner + bits[0] + (bits[1] + bits[2] * side) * side];
                density += weight * f64::from(value);
            }
            if density > 0.05 {
                let entry = density.min(0.9999) * 255.0;
                let (low, rest) = (entry as usize, entry.fract());
                let at = |part: usize| {
                    let (a, b) = (f64::from(table[4 * low + part]), f64::from(table[4 * low + 4 + part]));
                    a + rest * (b - a)
                };
                let seen = (1.0 - colour[3]) * at(3) * length;
                for part in 0..3 {
                    colour[part] += seen * at(part);
                }
                colour[3] += seen;
            }
            t += length;
        }
        expected.extend(singles(&colour));
    }
    Case::plane([nx, ny], [16, 16])
        .word(nx)
        .word(ny)
        .word(side)
        .single(step)
        .input(&volume)
        .input(&table)
        .holding(&vec![f32::NAN; 4 * nx * ny], almost(expected, 1e-3))
}

fn fuse([nx, ny, nz]: [usize; 3], voxel: f32) -> Case {
    let [width, height] = [640_usize, 480];
    let focal = 525.0_f32;
    let depths: Vec<u16> = (0..width * height)
        .map(|i| {
            let (u, v) = ((i % width) as f64, (i / width) as f64);
            let hole = mix(i / width / 16 * 100 + i % width / 16, 1).is_multiple_of(20);
            let depth = 2000.0 + 350.0 * (u / 90.0).sin() * (v / 70.0).cos() + f64::from(mix(i, 2) % 8);
            if hole { 0 } else { depth as u16 }
        })
        .collect();
    let (sine, cosine) = 0.15_f32.sin_cos();
    let middle = [nx, ny, nz].map(|n| 0.5 * n as f32 * voxel);
    // Turned about the vertical axis, the volume's middle two metres ahead.
    let pose = [
        [cosine, 0.0, sine, -cosine * middle[0] - sine * middle[2]],
        [0.0, 1.0, 0.0, -middle[1]],
        [-sine, 0.0, cosine, 2.0 + sine * middle[0] - cosine * middle[2]],
    ];
    let n = nx * ny * nz;
    let volume: Vec<f32> =
        (0..n).flat_map(|i| [mix(i, 3) as f32 / 2_147_483_648.0 - 1.0, (mix(i, 4) % 65) as f32]).collect();
    let mut to = volume.clone();
    for i in 0..n {
        let world = [i % nx, i / nx % ny, i / (nx * ny)].map(|k| (k as f32 + 0.5) * voxel);
        let camera = pose.map(|row| row[0] * world[0] + row[1] * world[1] + row[3] + row[2] * world[2]);
        if camera[2] <= 0.1 {
            continue;
        }
        let inverse = 1.0 / camera[2];
        let u = (camera[0] * inverse * focal + 0.5 * width as f32).floor();
        let v = (camera[1] * inverse * focal + 0.5 * height as f32).floor();
        if u < 0.0 || v < 0.0 || u >= width as f32 || v >= height as f32 {
            continue;
        }
        let depth = depths[v as usize * width + u as usize];
        let distance = f32::from(depth) * 0.001 - camera[2];
        if depth != 0 && distance >= -4.0 * voxel {
            let (old, weight) = (volume[2 * i], volume[2 * i + 1]);
            to[2 * i] = (old * weight + (distance / (4.0 * voxel)).min(1.0)) / (weight + 1.0);
            to[2 * i + 1] = (weight + 1.0).min(64.0);
        }
    }
    let pose: Vec<f32> = pose.into_iter().flatten().collect();
    Case::plane([nx, ny], [32, 8])
        .word(nx)
        .word(ny)
        .word(nz)
        .single(voxel)
        .input(&pose)
        .word(width)
        .word(height)
        .single(focal)
        .input(&depths)
        .holding(&volume, almost(to, 1e-4))
}

fn background([nx, ny]: [usize; 2]) -> Case {
    let n = nx * ny;
    let rate = 0.02_f32;
    let scene = picture([nx, ny], 1);
    // Some areas are covered by things that move.
    let frame: Vec<u8> = (0..n)
        .map(|i| {
            let covered = mix(i / nx / 60 * 100 + i % nx / 45, 3).is_multiple_of(8);
            if covered {
                (mix(i / 30, 4) % 256) as u8
            } else {
                scene[i].saturating_add((mix(i, 5) % 9) as u8)
            }
        })
        .collect();
    let [mut weights, mut means, mut variances] = [0; 3].map(|_| vec![0.0_f32; 3 * n]);
    for i in 0..n {
        let noise = |k: usize, seed| mix(3 * i + k, seed) as f32 / 4_294_967_296.0;
        let first = 0.5 + 0.45 * noise(0, 6);
        let second = (1.0 - first) * (0.5 + 0.5 * noise(1, 6));
        for (k, weight) in [first, second, 1.0 - first - second].into_iter().enumerate() {
            weights[k * n + i] = weight;
            means[k * n + i] =
                if k == 0 { f32::from(scene[i]) + 6.0 * noise(0, 7) } else { 255.0 * noise(k, 7) };
            variances[k * n + i] = 10.0 + 90.0 * noise(k, 8);
        }
    }
    let [mut to_w, mut to_m, mut to_v] = [0; 3].map(|_| vec![0.0_f32; 3 * n]);
    let mut mask = Vec::with_capacity(n);
    for i in 0..n {
        let value = f32::from(frame[i]);
        let mut modes = [0, 1, 2].map(|k| [weights[k * n + i], means[k * n + i], variances[k * n + i]]);
        let fits = |mode: &[f32; 3]| (value - mode[1]).powi(2) < 6.25 * mode[2];
        let found = modes.iter().position(fits);
        let before: f32 = modes.iter().take(found.unwrap_or(0)).map(|mode| mode[0]).sum();
        mask.push(if found.is_some() && before < 0.7 { 0.0 } else { 255.0 });
        for mode in &mut modes {
            mode[0] *= 1.0 - rate;
        }
        match found {
            Some(k) => {
                let [weight, mean, variance] = &mut modes[k];
                *weight += rate;
                let (share, distance) = (rate / *weight, value - *mean);
                *mean += share * distance;
                *variance = (*variance + share * (distance * distance - *variance)).max(4.0);
            }
            None => modes[2] = [rate, value, 225.0],
        }
        modes.sort_by(|a, b| b[0].total_cmp(&a[0]));
        let total: f32 = modes.iter().map(|mode| mode[0]).sum();
        for (k, mode) in modes.into_iter().enumerate() {
            to_w[k * n + i] = mode[0] / total;
            to_m[k * n + i] = mode[1];
            to_v[k * n + i] = mode[2];
        }
    }
    let masked = almost(mask, 0.0);
    let masked = move |found: &[u8]| {
        let found: Vec<f32> = found.iter().map(|&value| value.into()).collect();
        masked(&found)
    };
    Case::over(n, 256)
        .word(n)
        .single(rate)
        .input(&frame)
        .holding(&weights, almost(to_w, 1e-4))
        .holding(&means, almost(to_m, 1e-4))
        .holding(&variances, almost(to_v, 1e-4))
        .holding(&vec![1_u8; n], masked)
}

fn corners([nx, ny]: [usize; 2]) -> Case {
    let threshold = 20;
    let image = picture([nx, ny], 1);
    let circle: Vec<(isize, isize)> = {
        let quarter = [(0, -3), (1, -3), (2, -2), (3, -1)];
        let turned = |c: isize, s: isize| quarter.map(|(x, y)| (x * c - y * s, x * s + y * c));
        [(1, 0), (0, 1), (-1, 0), (0, -1)].into_iter().flat_map(|(c, s)| turned(c, s)).collect()
    };
    let mut expected = Vec::new();
    for y in 3..ny - 3 {
        for x in 3..nx - 3 {
            let at = y * nx + x;
            let middle = i32::from(image[at]);
            let longest = |differs: &dyn Fn(i32) -> bool| {
                let (mut run, mut longest) = (0, 0);
                for k in 0..32 {
                    let (dx, dy) = circle[k % 16];
                    let value = i32::from(image[at.wrapping_add_signed(dy * nx as isize + dx)]);
                    run = if differs(value - middle) { run + 1 } else { 0 };
                    longest = longest.max(run);
                }
                longest
            };
            if longest(&|rise| rise > threshold) >= 9 || longest(&|rise| rise < -threshold) >= 9 {
                expected.push((y << 16 | x) as u32);
            }
        }
    }
    let count = expected.len();
    Case::plane([nx, ny], [32, 8])
        .word(nx)
        .word(ny)
        .word(threshold as usize)
        .word(count)
        .input(&image)
        .inout(&[0_u32], vec![count as u32], 0.0)
        .holding(&vec![u32::MAX; count], any_order(expected))
}

fn similarity([nx, ny]: [usize; 2]) -> Case {
    let first: Vec<f32> = picture([nx, ny], 1).into_iter().map(|value| f32::from(value) / 255.0).collect();
    let noise = words(nx * ny, 21, 3);
    let second: Vec<f32> = first
        .iter()
        .zip(&noise)
        .map(|(value, &noise)| (0.95 * value + (noise as f32 - 10.0) / 255.0).clamp(0.0, 1.0))
        .collect();
    let window: Vec<f64> = (0..11).map(|tap| (-(f64::from(tap) - 5.0).powi(2) / 4.5).exp()).collect();
    let total: f64 = window.iter().sum();
    let window: Vec<f32> = window.into_iter().map(|weight| (weight / total) as f32).collect();
    let taps: Vec<f64> = window.iter().map(|&weight| weight.into()).collect();
    let (mx, my) = (nx - 10, ny - 10);
    let mut rows = vec![[0.0_f64; 5]; mx * ny];
    for y in 0..ny {
        for x in 0..mx {
            let sums = &mut rows[y * mx + x];
            for (tap, weight) in taps.iter().enumerate() {
                let (p, q) = (f64::from(first[y * nx + x + tap]), f64::from(second[y * nx + x + tap]));
                for (sum, value) in sums.iter_mut().zip([p, q, p * p, q * q, p * q]) {
                    *sum += weight * value;
                }
            }
        }
    }
    let mut map = Vec::with_capacity(mx * my);
    let mut sum = 0.0;
    for y in 0..my {
        for x in 0..mx {
            let mut sums = [0.0; 5];
            for (tap, weight) in taps.iter().enumerate() {
                for (sum, value) in sums.iter_mut().zip(rows[(y + tap) * mx + x]) {
                    *sum += weight * value;
                }
            }
            let [p, q, pp, qq, pq] = sums;
            let value = (2.0 * p * q + 1e-4) * (2.0 * (pq - p * q) + 9e-4)
                / ((p * p + q * q + 1e-4) * (pp - p * p + qq - q * q + 9e-4));
            sum += value;
            map.push(value as f32);
        }
    }
    Case::plane([mx, my], [16, 16])
        .word(nx)
        .word(ny)
        .input(&window)
        .input(&first)
        .input(&second)
        .output(map, 1e-3)
        .inout(&[0.0_f32], vec![sum as f32], 1e-3)
}

pub(super) fn add(set: &mut Set) {
    let size = |[nx, ny]: [usize; 2]| format!("nx={nx} ny={ny}");
    for n in [640_usize * 480, 3840 * 2160] {
        set.add("tone_map", format!("n={n}"), move || tone(n));
    }
    for plane in [[640_usize, 360_usize], [2560, 1440]] {
        set.add("flow_round", size(plane), move || flow(plane));
    }
    for plane in [[1242_usize, 375_usize], [3840, 2160]] {
        set.add("census_bits", size(plane), move || census(plane));
    }
    for (plane, disparities) in [([320_usize, 160_usize], 64_usize), ([1242, 375], 128)] {
        set.add("aggregate_row", format!("{} disparities={disparities}", size(plane)), move || {
            aggregate(plane, disparities)
        });
    }
    for (plane, side) in [([400_usize, 300_usize], 120_usize), ([800, 600], 240)] {
        set.add("look_through", format!("{} side={side}", size(plane)), move || look(plane, side));
    }
    for ([nx, ny, nz], voxel) in [([96_usize, 96_usize, 96_usize], 0.0125), ([256, 256, 200], 0.008)] {
        set.add("fuse_depths", format!("nx={nx} ny={ny} nz={nz}"), move || fuse([nx, ny, nz], voxel));
    }
    for plane in [[480_usize, 360_usize], [1920, 1080]] {
        set.add("subtract_background", size(plane), move || background(plane));
    }
    for plane in [[1241_usize, 376_usize], [5472, 3648]] {
        set.add("segment_corners", size(plane), move || corners(plane));
    }
    for plane in [[768_usize, 512_usize], [2560, 1600]] {
        set.add("similarity_map", size(plane), move || similarity(plane));
    }
}
