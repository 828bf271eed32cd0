//! Pictures, sound, text and packed data.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, mix, words},
};
use bytemuck::cast_slice;
use std::fmt::Write;

/// A picture of soft slopes with noise.
fn picture([nx, ny]: [usize; 2], seed: u64) -> Vec<u8> {
    let pixel = |i: usize| {
        let (x, y) = ((i % nx) as f32, (i / nx) as f32);
        let slope = 100.0 + 50.0 * (x / 23.0).sin() + 50.0 * (y / 17.0 + x / 90.0).cos();
        slope as u8 + (mix(i, seed) % 40) as u8
    };
    (0..nx * ny).map(pixel).collect()
}

/// The best of 256 shifts of each 16 x 16 pixels, the first of equals, and its sum of differences.
fn motion([nx, ny]: [usize; 2], current: &[u8], before: &[u8]) -> (Vec<u32>, Vec<u32>) {
    let padded = nx + 32;
    let clamped = |at: usize, n: usize| at.saturating_sub(8).min(n - 1);
    let wide: Vec<u8> = (0..padded * (ny + 32))
        .map(|i| before[clamped(i / padded, ny) * nx + clamped(i % padded, nx)])
        .collect();
    let of = |square: usize| {
        let (left, top) = (square % (nx / 16) * 16, square / (nx / 16) * 16);
        let cost = |shift: usize| -> u32 {
            (0..16)
                .map(|row| {
                    let here = &current[(top + row) * nx + left..][..16];
                    let there = &wide[(top + row + shift / 16) * padded + left + shift % 16..][..16];
                    here.iter().zip(there).map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>()
                })
                .sum()
        };
        (0..256).map(|shift| (shift as u32, cost(shift))).min_by_key(|&(_, cost)| cost).expect("256 shifts")
    };
    (0..nx / 16 * (ny / 16)).map(of).unzip()
}

/// Harris's measure of corners, edges clamped.
fn harris([nx, ny]: [usize; 2], from: &[u8]) -> Vec<f32> {
    let pixel = |x: i64, y: i64| {
        let (x, y) = (x.clamp(0, nx as i64 - 1) as usize, y.clamp(0, ny as i64 - 1) as usize);
        i64::from(from[y * nx + x])
    };
    // Derivatives one pixel beyond each edge.
    let wide = nx as i64 + 2;
    let derivatives: Vec<[i64; 2]> = (0..wide * (ny as i64 + 2))
        .map(|i| {
            let (x, y) = (i % wide - 1, i / wide - 1);
            let side = |dx: i64| pixel(x + dx, y - 1) + 2 * pixel(x + dx, y) + pixel(x + dx, y + 1);
            let level = |dy: i64| pixel(x - 1, y + dy) + 2 * pixel(x, y + dy) + pixel(x + 1, y + dy);
            [side(1) - side(-1), level(1) - level(-1)]
        })
        .collect();
    (0..nx * ny)
        .map(|i| {
            let (mut xx, mut yy, mut xy) = (0, 0, 0);
            for k in 0..9 {
                let [a, b] = derivatives[(i / nx + k / 3) * wide as usize + i % nx + k % 3];
                xx += a * a;
                yy += b * b;
                xy += a * b;
            }
            let (xx, yy, xy) = (xx as f64, yy as f64, xy as f64);
            (xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)) as f32
        })
        .collect()
}

/// SHA3-256 of 64 bytes, after the definition.
fn sha3(message: &[u64]) -> [u64; 4] {
    let mut state = [[0_u64; 5]; 5];
    for (k, &word) in message.iter().enumerate() {
        state[k / 5][k % 5] = word;
    }
    state[1][3] ^= 6;
    state[3][1] ^= 1 << 63;
    let mut register = 1_u8;
    for _ in 0..24 {
        let column: [u64; 5] = std::array::from_fn(|x| (0..5).fold(0, |all, y| all ^ state[y][x]));
        for row in &mut state {
            for (x, word) in row.iter_mut().enumerate() {
                *word ^= column[(x + 4) % 5] ^ column[(x + 1) % 5].rotate_left(1);
            }
        }
        let (mut x, mut y, mut held) = (1, 0, state[0][1]);
        for turn in 0..24_u32 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let next = state[y][x];
            state[y][x] = held.rotate_left((turn + 1) * (turn + 2) / 2 % 64);
            held = next;
        }
        for row in &mut state {
            let old = *row;
            *row = std::array::from_fn(|x| old[x] ^ (!old[(x + 1) % 5] & old[(x + 2) % 5]));
        }
        // The round's constant from a shift register of 8 bits.
        for power in 0..7 {
            state[0][0] ^= u64::from(register & 1) << ((1 << power) - 1);
            register = register << 1 ^ if register >> 7 == 1 { 0x71 } else { 0 };
        }
    }
    std::array::from_fn(|k| state[0][k])
}

/// Writes a length's bytes beyond the token.
fn put_length(length: usize, to: &mut Vec<u8>) {
    if length >= 15 {
        to.extend(vec![255; (length - 15) / 255]);
        to.push(((length - 15) % 255) as u8);
    }
}

/// Packs text to literals and matches, taking the last place with the same four letters.
fn lz_pack(text: &[u8], to: &mut Vec<u8>) {
    let mut places = vec![usize::MAX; 4096];
    let (mut at, mut first) = (0, 0);
    while at + 4 <= text.len() {
        let four = u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]);
        let place = std::mem::replace(&mut places[(four.wrapping_mul(0x9E37_79B1) >> 20) as usize], at);
        if place == usize::MAX || text[place..place + 4] != text[at..at + 4] {
            at += 1;
            continue;
        }
        let length = (at..text.len()).take_while(|&k| text[k] == text[place + k - at]).count();
        let literals = at - first;
        to.push((literals.min(15) << 4 | (length - 4).min(15)) as u8);
        put_length(literals, to);
        to.extend(&text[first..at]);
        to.extend(((at - place) as u16).to_le_bytes());
        put_length(length - 4, to);
        at += length;
        first = at;
    }
    if first < text.len() {
        let literals = text.len() - first;
        to.push((literals.min(15) << 4) as u8);
        put_length(literals, to);
        to.extend(&text[first..]);
    }
}

/// Lines as a server logs them.
fn log_lines(size: usize) -> Vec<u8> {
    let pages =
        ["/index.html", "/search?q=", "/images/logo.png", "/api/v2/items/", "/login", "/static/site.css"];
    let mut text = String::with_capacity(size + 100);
    let mut line = 0;
    while text.len() < size {
        let number = |seed: u64, limit: u32| mix(line, seed) % limit;
        let page = pages[number(1, 6) as usize];
        let (host, item) = (number(2, 40), number(3, 900));
        let status = [200, 200, 200, 304, 404][number(4, 5) as usize];
        let (second, length) = (line / 7, number(5, 30_000));
        writeln!(text, "{second:07} 10.0.3.{host} \"GET {page}{item} HTTP/1.1\" {status} {length}")
            .expect("a string");
        line += 1;
    }
    text.truncate(size);
    text.into_bytes()
}

pub(super) fn add(set: &mut Set) {
    for [nx, ny] in [[1282_usize, 722_usize], [5120, 2882]] {
        set.add("nv12_to_rgb", format!("nx={nx} ny={ny}"), move || {
            let (luma, chroma) = (picture([nx, ny], 1), bytes(nx * ny / 2, 2));
            let mut expected = Vec::with_capacity(3 * nx * ny);
            for (i, &light) in luma.iter().enumerate() {
                let pair = i / nx / 2 * nx + i % nx / 2 * 2;
                let (u, v) = (i32::from(chroma[pair]) - 128, i32::from(chroma[pair + 1]) - 128);
                let light = 298 * i32::from(light).saturating_sub(16).max(0);
                for colour in [409 * v, -100 * u - 208 * v, 516 * u] {
                    expected.push((light + colour + 128).div_euclid(256).clamp(0, 255) as u8);
                }
            }
            Case::plane([nx / 2, ny / 2], [32, 8])
                .word(nx)
                .word(ny)
                .input(&luma)
                .input(&chroma)
                .output::<u8>(expected, 0.0)
        });
    }
    for n in [1_100_000_usize, 11_000_000] {
        set.add("blend_over", format!("n={n}"), move || {
            let (above, below) = (words(n, u32::MAX, 1), words(n, u32::MAX, 2));
            let mix = |(above, below): (&u32, &u32)| {
                let (above, below) = (above.to_le_bytes(), below.to_le_bytes());
                let opacity = u32::from(above[3]);
                u32::from_le_bytes(std::array::from_fn(|k| {
                    let over = if k == 3 { 255 } else { u32::from(above[k]) };
                    // To the nearest 255th.
                    ((over * opacity + u32::from(below[k]) * (255 - opacity) + 127) / 255) as u8
                }))
            };
            let expected = above.iter().zip(&below).map(mix).collect();
            Case::over(n, 256).word(n).input(&above).input(&below).output::<u32>(expected, 0.0)
        });
    }
    for [nx, ny] in [[352_usize, 288_usize], [1280, 720]] {
        set.add("motion_search", format!("nx={nx} ny={ny}"), move || {
            let before = picture([nx, ny], 1);
            // The picture moved by a few pixels that differ from one part to the next, with some noise.
            let current: Vec<u8> = (0..nx * ny)
                .map(|i| {
                    let part = i / nx / 48 * 100 + i % nx / 48;
                    let (dx, dy) = (mix(part, 2) as usize % 6, mix(part, 3) as usize % 6);
                    let (x, y) = ((i % nx + dx).min(nx - 1), (i / nx + dy).min(ny - 1));
                    before[y * nx + x] + (mix(i, 4) % 8) as u8
                })
                .collect();
            let (shifts, costs) = motion([nx, ny], &current, &before);
            Case::grid([nx as u32 / 16, ny as u32 / 16, 1], [256, 1, 1])
                .word(nx)
                .word(ny)
                .input(&current)
                .input(&before)
                .output::<u32>(shifts, 0.0)
                .output::<u32>(costs, 0.0)
        });
    }
    for [nx, ny] in [[700_usize, 500_usize], [3000, 2200]] {
        set.add("harris_response", format!("nx={nx} ny={ny}"), move || {
            let from = picture([nx, ny], 1);
            let expected = harris([nx, ny], &from);
            Case::plane([nx, ny], [32, 16]).word(nx).word(ny).input(&from).output::<f32>(expected, 1e-4)
        });
    }
    for (chunks, size) in [(2000_usize, 3072_usize), (6000, 16_000)] {
        set.add("adler32_chunks", format!("chunks={chunks} bytes={size}"), move || {
            let from = words(chunks * size / 4, u32::MAX, 1);
            let checksum = |chunk: &[u32]| {
                let (mut first, mut second) = (1_u32, 0_u32);
                // So many bytes never overflow.
                for part in cast_slice::<u32, u8>(chunk).chunks(2000) {
                    for &byte in part {
                        first += u32::from(byte);
                        second += first;
                    }
                    first %= 65_521;
                    second %= 65_521;
                }
                second << 16 | first
            };
            let expected = from.chunks(size / 4).map(checksum).collect();
            Case::over(32 * chunks, 128).word(chunks).word(size / 4).input(&from).output::<u32>(expected, 0.0)
        });
    }
    for n in [18_000_usize, 250_000] {
        set.add("sha3_256", format!("n={n}"), move || {
            let messages: Vec<u64> =
                (0..8 * n).map(|i| u64::from(mix(i, 1)) << 32 | u64::from(mix(i, 2))).collect();
            let expected: Vec<u64> = messages.chunks(8).flat_map(sha3).collect();
            // As words, which a double holds exactly.
            let halves: Vec<u32> = cast_slice(&expected).to_vec();
            Case::over(n, 128).word(n).input(&messages).output::<u32>(halves, 0.0)
        });
    }
    for (chunks, size) in [(800_usize, 300_usize), (8000, 2000)] {
        set.add("lz_expand", format!("chunks={chunks} bytes={size}"), move || {
            let text = log_lines(chunks * size);
            let (mut starts, mut packed) = (vec![0_u32], Vec::new());
            for chunk in text.chunks(size) {
                lz_pack(chunk, &mut packed);
                starts.push(packed.len() as u32);
            }
            Case::over(32 * chunks, 128)
                .word(chunks)
                .word(size)
                .input(&starts)
                .input(&packed)
                .output::<u8>(text, 0.0)
        });
    }
    for n in [200_000_usize, 4_500_000] {
        set.add("strings_to_integers", format!("n={n}"), move || {
            let (mut starts, mut letters) = (vec![0_u32], String::new());
            let (mut numbers, mut valid) = (Vec::new(), Vec::new());
            for i in 0..n {
                // Numbers of 1 to 9 digits; a few strings are no numbers.
                let number = (mix(i, 1) % 10_u32.pow(1 + mix(i, 2) % 9)) as i32;
                let (text, value) = match mix(i, 3) % 50 {
                    0 => ("n/a".to_owned(), None),
                    1 => (String::new(), None),
                    2 => (format!("{number}.5"), None),
                    3..10 => (format!("-{number}"), Some(-number)),
                    10 => (format!("+{number}"), Some(number)),
                    _ => (number.to_string(), Some(number)),
                };
                letters.push_str(&text);
                starts.push(letters.len() as u32);
                numbers.push(value.unwrap_or(0));
                valid.push(u8::from(value.is_some()));
            }
            Case::over(n, 256)
                .word(n)
                .input(&starts)
                .input(letters.as_bytes())
                .output::<i32>(numbers, 0.0)
                .output::<u8>(valid, 0.0)
        });
    }
    for (channels, samples) in [(12_000_usize, 24_usize), (50_000, 200)] {
        set.add("biquad_cascade", format!("channels={channels} samples={samples}"), move || {
            // Two low passes of different sharpness.
            let factors = [0.2_f32, 0.4, 0.2, -0.35, 0.15, 0.3, 0.25, 0.1, -0.5, 0.2];
            let from = crate::data::floats(channels * samples, 1);
            let mut expected = vec![0.0_f32; channels * samples];
            for channel in 0..channels {
                // Inputs and outputs of the last two steps, before, between and after the filters.
                let mut past = [[0.0_f64; 2]; 3];
                for at in (channel..channels * samples).step_by(channels) {
                    let mut now = [f64::from(from[at]), 0.0, 0.0];
                    for k in 0..2 {
                        let f: [f64; 5] = std::array::from_fn(|j| f64::from(factors[5 * k + j]));
                        now[k + 1] = f[0] * now[k] + f[1] * past[k][0] + f[2] * past[k][1]
                            - f[3] * past[k + 1][0]
                            - f[4] * past[k + 1][1];
                    }
                    past.iter_mut().zip(now).for_each(|(past, now)| *past = [now, past[0]]);
                    expected[at] = now[2] as f32;
                }
            }
            Case::over(channels, 128)
                .word(channels)
                .word(samples)
                .input(&factors)
                .input(&from)
                .output::<f32>(expected, 1e-4)
        });
    }
}
