//! Image filters.

use super::{Set, grids::inside};
use crate::{
    case::Case,
    data::{bytes, floats, mix},
};

/// Each pixel's window of 5 x 5, edges clamped, one value after another.
fn windows([nx, ny]: [usize; 2], image: &[f32], mut of: impl FnMut(f32, [f32; 25]) -> f32) -> Vec<f32> {
    let clamped = |at: usize, step: usize, n: usize| (at + step).saturating_sub(2).min(n - 1);
    (0..nx * ny)
        .map(|i| {
            let window =
                std::array::from_fn(|k| image[clamped(i / nx, k / 5, ny) * nx + clamped(i % nx, k % 5, nx)]);
            of(image[i], window)
        })
        .collect()
}

pub(super) fn add(set: &mut Set) {
    let [nx, ny] = [1024_usize, 1024];
    set.add("box_filter", format!("nx={nx} ny={ny}"), move || {
        let from = floats(nx * ny, 1);
        let expected = windows([nx, ny], &from, |_, window| window.iter().sum::<f32>() / 25.0);
        Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).output(expected, 1e-5)
    });
    set.add("bilateral", format!("nx={nx} ny={ny}"), move || {
        let from = floats(nx * ny, 1);
        let expected = windows([nx, ny], &from, |centre, window| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (k, value) in window.into_iter().enumerate() {
                let (dx, dy) = (k as i32 % 5 - 2, k as i32 / 5 - 2);
                let weight = (-0.125 * (dx * dx + dy * dy) as f32 - 8.0 * (value - centre).powi(2)).exp();
                sum += weight * value;
                weights += weight;
            }
            sum / weights
        });
        Case::plane([nx, ny], [16, 16]).word(nx).word(ny).input(&from).output(expected, 1e-4)
    });
    for [nx, ny] in [[2048_usize, 2048_usize], [8192, 8192]] {
        set.add("sobel", format!("nx={nx} ny={ny}"), move || {
            let from = bytes(nx * ny, 1);
            let mut expected = vec![0; nx * ny];
            for i in inside([nx, ny], 1) {
                let pixel = |dx: usize, dy: usize| i32::from(from[i + dy * nx + dx - nx - 1]);
                let across =
                    pixel(2, 0) + 2 * pixel(2, 1) + pixel(2, 2) - pixel(0, 0) - 2 * pixel(0, 1) - pixel(0, 2);
                let down =
                    pixel(0, 2) + 2 * pixel(1, 2) + pixel(2, 2) - pixel(0, 0) - 2 * pixel(1, 0) - pixel(2, 0);
                expected[i] = (across.abs() + down.abs()).min(255) as u8;
            }
            Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).inout(
                &vec![0_u8; nx * ny],
                expected,
                0.0,
            )
        });
    }
    let [nx, ny] = [2048_usize, 1024];
    set.add("median_3x3", format!("nx={nx} ny={ny}"), move || {
        let from = floats(nx * ny, 1);
        let mut expected = vec![0.0; nx * ny];
        for i in inside([nx, ny], 1) {
            let mut window: [f32; 9] = std::array::from_fn(|k| from[i + k / 3 * nx + k % 3 - nx - 1]);
            window.sort_by(f32::total_cmp);
            expected[i] = window[4];
        }
        Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).inout(
            &vec![0.0_f32; nx * ny],
            expected,
            0.0,
        )
    });
    for n in [1_usize << 20, 1 << 25] {
        set.add("grey", format!("n={n}"), move || {
            let from: Vec<u32> = (0..n).map(|i| mix(i, 1)).collect();
            let grey = |pixel: &u32| {
                let [red, green, blue, _] = pixel.to_le_bytes().map(f32::from);
                0.299 * red + 0.587 * green + 0.114 * blue
            };
            let expected = from.iter().map(grey).collect();
            Case::over(n, 256).word(n).input(&from).output::<f32>(expected, 1e-6)
        });
    }
    let [sx, sy] = [1000_usize, 700];
    let [nx, ny] = [2048_usize, 1024];
    set.add("resize_bilinear", format!("from={sx}x{sy} to={nx}x{ny}"), move || {
        let from = floats(sx * sy, 1);
        let expected = (0..nx * ny)
            .map(|i| {
                // The position in single precision, as the kernel has it; the weights follow from it exactly.
                let fx = (i % nx) as f32 * (sx - 1) as f32 / nx as f32;
                let fy = (i / nx) as f32 * (sy - 1) as f32 / ny as f32;
                let (left, top) = (fx as usize, fy as usize);
                let (ax, ay) = (fx.fract(), fy.fract());
                let row = |y: usize| (1.0 - ax) * from[y * sx + left] + ax * from[y * sx + left + 1];
                (1.0 - ay) * row(top) + ay * row(top + 1)
            })
            .collect();
        Case::plane([nx, ny], [32, 8])
            .word(sx)
            .word(sy)
            .word(nx)
            .word(ny)
            .input(&from)
            .output::<f32>(expected, 1e-5)
    });
    let n = 1 << 23;
    set.add("lookup_table", format!("n={n}"), move || {
        let (table, from) = (floats(256, 1), bytes(n, 2));
        let expected = from.iter().map(|&byte| table[usize::from(byte)]).collect();
        Case::over(n, 256).word(n).input(&table).input(&from).output::<f32>(expected, 0.0)
    });
    for n in [1_usize << 22, 1 << 25] {
        set.add("histogram_shared", format!("n={n} blocks=528"), move || {
            let from = bytes(n, 1);
            let mut bins = vec![0_u32; 256];
            from.iter().for_each(|&byte| bins[usize::from(byte)] += 1);
            Case::grid([528, 1, 1], [256, 1, 1]).word(n).input(&from).inout(&[0_u32; 256], bins, 0.0)
        });
    }
    let [nx, ny] = [2048_usize, 1024];
    set.add("gaussian_rows", format!("nx={nx} ny={ny}"), move || {
        let (weights, from) = (floats(17, 1), floats(nx * ny, 2));
        let clamped = |x: usize, k: usize| (x + k).saturating_sub(8).min(nx - 1);
        let expected = (0..nx * ny)
            .map(|i| (0..17).map(|k| weights[k] * from[i / nx * nx + clamped(i % nx, k)]).sum())
            .collect();
        Case::grid([nx as u32 / 256, ny as u32, 1], [256, 1, 1])
            .word(nx)
            .word(ny)
            .input(&weights)
            .input(&from)
            .output::<f32>(expected, 1e-5)
    });
}
