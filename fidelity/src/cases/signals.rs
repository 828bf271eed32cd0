//! Signals and pictures, shortest paths and a cipher.

use super::{Set, grids::inside};
use crate::{
    case::Case,
    data::{bytes, floats, mix, permutation, words},
};
use std::f64::consts::PI;

/// A row of numbers transformed by a matrix.
fn transformed(matrix: &[[f64; 8]; 8], from: [f64; 8]) -> [f64; 8] {
    matrix.map(|row| row.iter().zip(from).map(|(a, b)| a * b).sum())
}

/// Perlin's noise at a place.
fn noise(table: &[u8], at: [f64; 3]) -> f64 {
    let fade = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let hash = |value: usize| usize::from(table[value & 255]);
    let corner = |k: usize| {
        let bits = [k & 1, k >> 1 & 1, k >> 2];
        let [x, y, z] = [0, 1, 2].map(|axis| at[axis].floor() as usize + bits[axis]);
        let d: [f64; 3] = std::array::from_fn(|axis| at[axis].fract() - bits[axis] as f64);
        let number = hash(x + hash(y + hash(z))) & 15;
        // The gradients are the middles of a cube's twelve edges, four of them twice.
        let (u, v) = match number {
            0..4 => (0, 1),
            4..8 => (0, 2),
            12 | 14 => (1, 0),
            _ => (1, 2),
        };
        let sign = |bit: usize| if number & bit == 0 { 1.0 } else { -1.0 };
        let weight = |axis: usize| {
            let t = fade(at[axis].fract());
            if bits[axis] == 0 { 1.0 - t } else { t }
        };
        (sign(1) * d[u] + sign(2) * d[v]) * weight(0) * weight(1) * weight(2)
    };
    (0..8).map(corner).sum()
}

/// Twice a number of AES's field.
fn double(value: u8) -> u8 {
    value << 1 ^ if value < 128 { 0 } else { 0x1b }
}

/// AES's substitution of bytes: inverses in the field, then bits mixed.
fn substitution() -> [u8; 256] {
    let mut boxes = [0x63; 256];
    let (mut power, mut inverse) = (1_u8, 1_u8);
    loop {
        // Times 3, and divided by 3.
        power ^= double(power);
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        inverse ^= if inverse < 128 { 0 } else { 9 };
        boxes[usize::from(power)] =
            (1..5).fold(inverse ^ 0x63, |mixed, distance| mixed ^ inverse.rotate_left(distance));
        if power == 1 {
            return boxes;
        }
    }
}

/// The keys of AES's eleven rounds, as 44 words of four bytes.
fn round_keys(boxes: &[u8; 256], key: [u8; 16]) -> Vec<[u8; 4]> {
    let mut words: Vec<[u8; 4]> = key.as_chunks().0.to_vec();
    let mut constant = 1;
    for k in 4..44 {
        let mut word: [u8; 4] = words[k - 1];
        if k % 4 == 0 {
            word = [1, 2, 3, 0].map(|byte| boxes[usize::from(word[byte])]);
            word[0] ^= constant;
            constant = double(constant);
        }
        words.push(std::array::from_fn(|byte| words[k - 4][byte] ^ word[byte]));
    }
    words
}

/// AES's encryption of 16 bytes.
fn encrypt(boxes: &[u8; 256], keys: &[[u8; 4]], block: [u8; 16]) -> [u8; 16] {
    let keys = keys.as_flattened();
    let mut state: [u8; 16] = std::array::from_fn(|k| block[k] ^ keys[k]);
    for round in 1..11 {
        // Row k % 4 moves k % 4 columns.
        let moved: [u8; 16] = std::array::from_fn(|k| boxes[usize::from(state[(k + k % 4 * 4) % 16])]);
        state = std::array::from_fn(|k| {
            let column = |j: usize| moved[k / 4 * 4 + (k + j) % 4];
            let mixed = double(column(0)) ^ double(column(1)) ^ column(1) ^ column(2) ^ column(3);
            keys[16 * round + k] ^ if round == 10 { moved[k] } else { mixed }
        });
    }
    state
}

pub(super) fn add(set: &mut Set) {
    for [nx, ny] in [[1600_usize, 1200_usize], [4800, 3200]] {
        set.add("inverse_dct", format!("nx={nx} ny={ny}"), move || {
            let tiles = nx * ny / 64;
            let scales: Vec<u16> = (0..64).map(|k| 10 + 3 * (k / 8 + k % 8)).collect();
            // A mean, and small numbers of both signs in the lower frequencies.
            let coefficients: Vec<u16> = (0..nx * ny)
                .map(|i| match (i % 64, i % 8 + i / 8 % 8) {
                    (0, _) => (mix(i, 1) % 81) as i32 - 40,
                    (_, frequency @ 0..5) => (mix(i, 1) % 13) as i32 / (1 + frequency as i32) - 1,
                    _ => 0,
                })
                .map(|value| value as u16)
                .collect();
            let inverse: [[f64; 8]; 8] = std::array::from_fn(|x| {
                let wave = |k: usize| ((2 * x + 1) as f64 * k as f64 * PI / 16.0).cos() / 2.0;
                std::array::from_fn(|k| if k == 0 { 0.125_f64.sqrt() } else { wave(k) })
            });
            let mut expected = vec![0_u8; nx * ny];
            for (tile, values) in coefficients.chunks(64).enumerate() {
                let value = |k: usize| f64::from(values[k].cast_signed()) * f64::from(scales[k]);
                let columns: [[f64; 8]; 8] =
                    std::array::from_fn(|x| transformed(&inverse, std::array::from_fn(|y| value(8 * y + x))));
                for y in 0..8 {
                    let first = (tile / (nx / 8) * 8 + y) * nx + tile % (nx / 8) * 8;
                    let row = transformed(&inverse, std::array::from_fn(|x| columns[x][y]));
                    row.iter().enumerate().for_each(|(x, value)| expected[first + x] = (value + 128.5) as u8);
                }
            }
            // A byte may be rounded the other way.
            Case::over(8 * tiles, 128)
                .word(tiles)
                .word(nx / 8)
                .input(&scales)
                .input(&coefficients)
                .output::<u8>(expected, 0.01)
        });
    }
    for [nx, ny] in [[800_usize, 600_usize], [4000, 3000]] {
        set.add("suppress_maxima", format!("nx={nx} ny={ny}"), move || {
            // Rings, with some noise.
            let picture: Vec<i32> = (0..nx * ny)
                .map(|i| ((i % nx).pow(2) + (i / nx).pow(2)) / 8000 % 2 * 160 + mix(i, 1) as usize % 24)
                .map(|value| value as i32)
                .collect();
            let (mut across, mut down) = (vec![0_i32; nx * ny], vec![0_i32; nx * ny]);
            for i in inside([nx, ny], 1) {
                let pixel = |dx: usize, dy: usize| picture[i + dy * nx + dx - nx - 1];
                across[i] = pixel(2, 0) + 2 * pixel(2, 1) + pixel(2, 2)
                    - (pixel(0, 0) + 2 * pixel(0, 1) + pixel(0, 2));
                down[i] = pixel(0, 2) + 2 * pixel(1, 2) + pixel(2, 2)
                    - (pixel(0, 0) + 2 * pixel(1, 0) + pixel(2, 0));
            }
            let magnitude: Vec<u16> =
                across.iter().zip(&down).map(|(h, v)| (h.abs() + v.abs()) as u16).collect();
            let mut expected = vec![0_u8; nx * ny];
            for i in inside([nx, ny], 1).filter(|&i| magnitude[i] > 100) {
                let (h, v) = (across[i], down[i]);
                let slope = f64::from(v.abs()) / f64::from(h.abs());
                let step = if slope < 13573.0 / 32768.0 {
                    1
                } else if slope > 2.0 + 13573.0 / 32768.0 {
                    nx
                } else if (h < 0) == (v < 0) {
                    nx + 1
                } else {
                    nx - 1
                };
                if magnitude[i] > magnitude[i - step] && magnitude[i] >= magnitude[i + step] {
                    expected[i] = if magnitude[i] > 300 { 2 } else { 1 };
                }
            }
            let short = |values: &[i32]| values.iter().map(|&value| value as u16).collect::<Vec<_>>();
            Case::plane([nx, ny], [32, 8])
                .word(nx)
                .word(ny)
                .word(100)
                .word(300)
                .input(&short(&across))
                .input(&short(&down))
                .input(&magnitude)
                .output::<u8>(expected, 0.0)
        });
    }
    for ([sx, sy], [nx, ny]) in
        [([512_usize, 512_usize], [500_usize, 400_usize]), ([3000, 2000], [2500, 1500])]
    {
        set.add("warp_affine", format!("from={sx}x{sy} to={nx}x{ny} angle=0.4"), move || {
            let from = words(sx * sy, u32::MAX, 1);
            let (sine, cosine) = 0.4_f32.sin_cos();
            let matrix = [cosine, -sine, 60.5, sine, cosine, -40.25];
            let mut expected = Vec::with_capacity(4 * nx * ny);
            for i in 0..nx * ny {
                let (x, y) = ((i % nx) as f32, (i / nx) as f32);
                let [fx, fy] = [0, 3].map(|k| matrix[k].mul_add(x, matrix[k + 1].mul_add(y, matrix[k + 2])));
                let (left, top, u, v) = (fx.floor(), fy.floor(), fx - fx.floor(), fy - fy.floor());
                let corner = |dx: i32, dy: i32| {
                    let (x, y) = (left as i32 + dx, top as i32 + dy);
                    let within = (0..sx as i32).contains(&x) && (0..sy as i32).contains(&y);
                    (if within { from[y as usize * sx + x as usize] } else { 0 }).to_le_bytes()
                };
                let (a, b, c, d) = (corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1));
                for k in 0..4 {
                    let [a, b, c, d] = [a[k], b[k], c[k], d[k]].map(f32::from);
                    let blended = (1.0 - v) * ((1.0 - u) * a + u * b) + v * ((1.0 - u) * c + u * d);
                    expected.push((blended + 0.5) as u8);
                }
            }
            // A byte may be rounded the other way.
            Case::plane([nx, ny], [16, 16])
                .word(sx)
                .word(sy)
                .word(nx)
                .word(ny)
                .input(&matrix)
                .input(&from)
                .output::<u8>(expected, 0.015)
        });
    }
    for ([nx, ny], octaves) in [([300_usize, 200_usize], 4_usize), ([1280, 720], 3)] {
        set.add("gradient_noise", format!("nx={nx} ny={ny} octaves={octaves}"), move || {
            let table: Vec<u8> = permutation(256).into_iter().map(|value| value as u8).collect();
            let value = |i: usize| {
                let octave = |k: usize| {
                    let scale = f64::from(1 << k);
                    let at = [(i % nx) as f64 / 64.0, (i / nx) as f64 / 64.0, 5.3125];
                    noise(&table, at.map(|axis| axis * scale)) / scale
                };
                (0..octaves).map(octave).sum::<f64>() as f32
            };
            let expected = (0..nx * ny).map(value).collect();
            Case::plane([nx, ny], [32, 8])
                .word(nx)
                .word(ny)
                .word(octaves)
                .single(5.3125)
                .input(&table)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (n, pivot) in [(480_usize, 3_usize), (1696, 20)] {
        set.add("floyd_tile", format!("n={n} pivot={pivot}"), move || {
            let distances = words(n * n, 10_000, 1);
            let (first, end) = (32 * pivot, 32 * pivot + 32);
            let mut expected = distances.clone();
            for y in (0..first).chain(end..n) {
                for k in first..end {
                    for x in (0..first).chain(end..n) {
                        let sum = distances[y * n + k] + distances[k * n + x];
                        expected[y * n + x] = expected[y * n + x].min(sum);
                    }
                }
            }
            Case::plane([n, n], [32, 32]).word(n).word(pivot).inout(&distances, expected, 0.0)
        });
    }
    for n in [100_001_usize, 3_000_000] {
        set.add("fir_64", format!("n={n} taps=64"), move || {
            let taps: Vec<f32> = floats(64, 1).into_iter().map(|tap| tap - 0.4).collect();
            let from = floats(n, 2);
            let value = |i: usize| taps.iter().zip(from[..=i].iter().rev()).map(|(a, b)| a * b).sum();
            let expected = (0..n).map(value).collect();
            Case::over(n, 256).word(n).input(&taps).input(&from).output::<f32>(expected, 1e-4)
        });
    }
    for blocks in [40_000_usize, 500_000] {
        set.add("aes_counter", format!("blocks={blocks}"), move || {
            let boxes = substitution();
            let keys = round_keys(&boxes, std::array::from_fn(|k| mix(k, 1) as u8));
            let table = boxes.map(|byte| {
                let twice = double(byte);
                u32::from_be_bytes([twice, byte, byte, twice ^ byte])
            });
            let from = bytes(16 * blocks, 2);
            let mut expected = from.clone();
            for (i, block) in expected.chunks_mut(16).enumerate() {
                let counter = (0xC0FF_EE00_u128 << 96 | i as u128).to_be_bytes();
                block.iter_mut().zip(encrypt(&boxes, &keys, counter)).for_each(|(byte, key)| *byte ^= key);
            }
            let words: Vec<u32> = keys.iter().map(|&word| u32::from_be_bytes(word)).collect();
            Case::over(blocks, 256)
                .word(blocks)
                .word(0xC0FF_EE00)
                .input(&words)
                .input(&table)
                .input(&boxes)
                .input(&from)
                .output::<u8>(expected, 0.0)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aes_encrypts_the_standard_example() {
        let (key, text) = (std::array::from_fn(|k| k as u8), std::array::from_fn(|k| 17 * k as u8));
        let boxes = substitution();
        let found = encrypt(&boxes, &round_keys(&boxes, key), text);
        assert_eq!(u128::from_be_bytes(found), 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a);
    }
}
