//! Images.

use super::{Set, grids::inside};
use crate::{
    case::Case,
    data::{bytes, floats, words},
};

pub(super) fn add(set: &mut Set) {
    for [nx, ny] in [[1024_usize, 1024_usize], [8192, 1000]] {
        set.add("integral_columns", format!("nx={nx} ny={ny}"), move || {
            let from = words(nx * ny, 256, 1);
            let mut expected = from.clone();
            (nx..nx * ny).for_each(|i| expected[i] += expected[i - nx]);
            Case::over(nx, 64).word(nx).word(ny).input(&from).output::<u32>(expected, 0.0)
        });
    }
    let [nx, ny] = [1200_usize, 900];
    set.add("erode_5x5", format!("nx={nx} ny={ny}"), move || {
        let from = bytes(nx * ny, 1);
        let clamped = |at: usize, step: usize, n: usize| (at + step).saturating_sub(2).min(n - 1);
        let least = |i: usize| {
            let pixel = |k: usize| from[clamped(i / nx, k / 5, ny) * nx + clamped(i % nx, k % 5, nx)];
            (0..25).map(pixel).min().expect("25 pixels")
        };
        let expected = (0..nx * ny).map(least).collect();
        Case::plane([nx, ny], [32, 16]).word(nx).word(ny).input(&from).output::<u8>(expected, 0.0)
    });
    let points = 12_000_usize;
    set.add("hough_votes", format!("points={points} angles=180 distances=2048"), move || {
        let (x, y) = (words(points, 640, 1), words(points, 480, 2));
        let angles = (0..180).map(|angle| f64::from(angle).to_radians());
        let (cosines, sines): (Vec<f32>, Vec<f32>) =
            angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
        let mut votes = vec![0_u32; 180 * 2048];
        for (&x, &y) in x.iter().zip(&y) {
            for angle in 0..180 {
                let along = x as f32 * cosines[angle] + y as f32 * sines[angle];
                votes[angle * 2048 + ((along + 1024.0) as usize).min(2047)] += 1;
            }
        }
        Case::over(points, 64)
            .word(points)
            .word(2048)
            .input(&cosines)
            .input(&sines)
            .input(&x)
            .input(&y)
            .inout::<u32>(&vec![0; 180 * 2048], votes, 0.0)
    });
    let ([sx, sy], [nx, ny]) = ([640_usize, 480_usize], [1000_usize, 750_usize]);
    set.add("resize_bicubic", format!("from={sx}x{sy} to={nx}x{ny}"), move || {
        let from = floats(sx * sy, 1);
        let weights = |t: f32| {
            let (square, cube) = (t * t, t * t * t);
            [
                -0.5 * cube + square - 0.5 * t,
                1.5 * cube - 2.5 * square + 1.0,
                -1.5 * cube + 2.0 * square + 0.5 * t,
                0.5 * cube - 0.5 * square,
            ]
        };
        let clamped = |at: usize, step: usize, n: usize| (at + step).saturating_sub(1).min(n - 1);
        let expected = (0..nx * ny)
            .map(|i| {
                let (fx, fy) =
                    ((i % nx) as f32 * sx as f32 / nx as f32, (i / nx) as f32 * sy as f32 / ny as f32);
                let (across, down) = (weights(fx.fract()), weights(fy.fract()));
                let of = |k: usize| {
                    let (column, row) = (clamped(fx as usize, k % 4, sx), clamped(fy as usize, k / 4, sy));
                    across[k % 4] * down[k / 4] * from[row * sx + column]
                };
                (0..16).map(of).sum()
            })
            .collect();
        Case::plane([nx, ny], [32, 8])
            .word(sx)
            .word(sy)
            .word(nx)
            .word(ny)
            .input(&from)
            .output::<f32>(expected, 1e-4)
    });
    for [nx, ny] in [[1024_usize, 768_usize], [2600, 2600]] {
        set.add("demosaic", format!("nx={nx} ny={ny}"), move || {
            let from: Vec<u16> = words(nx * ny, 4096, 1).into_iter().map(|value| value as u16).collect();
            let mut expected = vec![0_u16; 3 * nx * ny];
            let mean = |places: &[usize]| {
                places.iter().map(|&at| u32::from(from[at])).sum::<u32>() / places.len() as u32
            };
            for i in inside([nx, ny], 1) {
                let (across, down) = (mean(&[i - 1, i + 1]), mean(&[i - nx, i + nx]));
                let corners = mean(&[i - nx - 1, i - nx + 1, i + nx - 1, i + nx + 1]);
                let here = u32::from(from[i]);
                let colours = match (i % nx % 2, i / nx % 2) {
                    (1, 0) => [across, here, down],
                    (0, 1) => [down, here, across],
                    (0, 0) => [here, u32::midpoint(across, down), corners],
                    _ => [corners, u32::midpoint(across, down), here],
                };
                (0..3).for_each(|k| expected[3 * i + k] = colours[k] as u16);
            }
            Case::plane([nx, ny], [64, 4]).word(nx).word(ny).input(&from).inout::<u16>(
                &vec![0; 3 * nx * ny],
                expected,
                0.0,
            )
        });
    }
    for count in [1_usize << 20, 7 << 20] {
        set.add("equalise", format!("words={count} blocks=660"), move || {
            let table: Vec<u32> = (0..256_u32).map(|level| level * level / 255).collect();
            let from = words(count, u32::MAX, 1);
            let mapped = |word: &u32| {
                u32::from_le_bytes(word.to_le_bytes().map(|byte| table[usize::from(byte)] as u8))
            };
            let expected = from.iter().map(mapped).collect();
            Case::grid([660, 1, 1], [192, 1, 1])
                .word(count)
                .input(&table)
                .input(&from)
                .output::<u32>(expected, 0.0)
        });
    }
}
