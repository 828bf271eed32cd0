//! Stencils.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, doubles, floats, words},
};

/// The points inside a plane, `border` away from its edges, by index.
pub(super) fn inside([nx, ny]: [usize; 2], border: usize) -> impl Iterator<Item = usize> {
    (border..ny - border).flat_map(move |y| (border..nx - border).map(move |x| y * nx + x))
}

pub(super) fn add(set: &mut Set) {
    for [nx, ny] in [[1024_usize, 1024_usize], [8192, 4096]] {
        set.add("jacobi_2d", format!("nx={nx} ny={ny}"), move || {
            let from = floats(nx * ny, 1);
            let mut expected = vec![0.0; nx * ny];
            for i in inside([nx, ny], 1) {
                expected[i] = 0.2 * (from[i] + from[i - 1] + from[i + 1] + from[i - nx] + from[i + nx]);
            }
            Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).inout(
                &vec![0.0_f32; nx * ny],
                expected,
                1e-6,
            )
        });
    }
    let [nx, ny] = [2048, 1024];
    set.add("djacobi_2d", format!("nx={nx} ny={ny}"), move || {
        let from = doubles(nx * ny, 1);
        let mut expected = vec![0.0; nx * ny];
        for i in inside([nx, ny], 1) {
            expected[i] = 0.2 * (from[i] + from[i - 1] + from[i + 1] + from[i - nx] + from[i + nx]);
        }
        Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).inout(
            &vec![0.0_f64; nx * ny],
            expected,
            1e-12,
        )
    });
    for [nx, ny, nz] in [[256_usize, 256_usize, 64_usize], [512, 512, 128]] {
        set.add("heat_3d_march", format!("nx={nx} ny={ny} nz={nz}"), move || {
            let (from, plane) = (floats(nx * ny * nz, 1), nx * ny);
            let mut expected = vec![0.0; nx * ny * nz];
            for z in 1..nz - 1 {
                for i in inside([nx, ny], 1).map(|i| z * plane + i) {
                    let around = from[i - 1]
                        + from[i + 1]
                        + from[i - nx]
                        + from[i + nx]
                        + from[i - plane]
                        + from[i + plane];
                    expected[i] = 0.4 * from[i] + 0.1 * around;
                }
            }
            Case::plane([nx, ny], [32, 8]).word(nx).word(ny).word(nz).input(&from).inout(
                &vec![0.0_f32; nx * ny * nz],
                expected,
                1e-5,
            )
        });
    }
    let n = 128_usize;
    set.add("convolution_3d", format!("n={n}"), move || {
        let from = floats(n * n * n, 1);
        let mut expected = vec![0.0; n * n * n];
        for z in 1..n - 1 {
            for i in inside([n, n], 1).map(|i| z * n * n + i) {
                for k in 0..27 {
                    let (dx, dy, dz) = (k % 3, k / 3 % 3, k / 9);
                    let weight = (dx + 2 * dy + 3 * dz) as f32 * 0.01;
                    expected[i] += weight * from[i + (dz * n + dy) * n + dx - (n + 1) * n - 1];
                }
            }
        }
        Case::grid([4, 32, 128], [32, 4, 1]).word(n).input(&from).inout(
            &vec![0.0_f32; n * n * n],
            expected,
            1e-5,
        )
    });
    let [nx, ny] = [2048_usize, 2048];
    set.add("convolution_2d", format!("nx={nx} ny={ny}"), move || {
        let from = floats(nx * ny, 1);
        let mut expected = vec![0.0; nx * ny];
        for i in inside([nx, ny], 1) {
            let weights = [0.2_f32, -0.3, 0.4, 0.5, 0.6, 0.7, -0.8, -0.9, 0.1];
            for (k, weight) in weights.into_iter().enumerate() {
                expected[i] += weight * from[i + k / 3 * nx + k % 3 - nx - 1];
            }
        }
        Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).inout(
            &vec![0.0_f32; nx * ny],
            expected,
            1e-5,
        )
    });
    for [nx, ny] in [[1024_usize, 1024_usize], [4096, 4096]] {
        set.add("fdtd_field", format!("nx={nx} ny={ny}"), move || {
            let [ex, ey, from] = [1, 2, 3].map(|seed| floats(nx * ny, seed));
            let mut expected = vec![0.0; nx * ny];
            for y in 0..ny - 1 {
                for i in y * nx..y * nx + nx - 1 {
                    expected[i] = from[i] - 0.7 * (ex[i + 1] - ex[i] + ey[i + nx] - ey[i]);
                }
            }
            Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&ex).input(&ey).input(&from).inout(
                &vec![0.0_f32; nx * ny],
                expected,
                1e-6,
            )
        });
    }
    let n = 1024_usize;
    set.add("hotspot", format!("n={n}"), move || {
        let (power, from) = (floats(n * n, 1), floats(n * n, 2));
        let clamped = |x: isize| x.clamp(0, n as isize - 1) as usize;
        // Two steps on a plate whose edges repeat outwards, which is what a clamped tile computes.
        let wide = n + 4;
        let mut plate: Vec<f32> = (0..wide * wide)
            .map(|i| from[clamped((i / wide) as isize - 2) * n + clamped((i % wide) as isize - 2)])
            .collect();
        for step in 1..=2 {
            let before = plate.clone();
            for i in inside([wide, wide], step) {
                let here = before[i];
                let vertical = before[i - wide] + before[i + wide] - 2.0 * here;
                let horizontal = before[i - 1] + before[i + 1] - 2.0 * here;
                let heat = power[clamped((i / wide) as isize - 2) * n + clamped((i % wide) as isize - 2)];
                plate[i] = here + 0.1 * (heat + 0.5 * vertical + 0.25 * horizontal + 0.05 * (80.0 - here));
            }
        }
        let expected = inside([wide, wide], 2).map(|i| plate[i]).collect();
        let blocks = n.div_ceil(12) as u32;
        Case::grid([blocks, blocks, 1], [16, 16, 1])
            .word(n)
            .input(&power)
            .input(&from)
            .output::<f32>(expected, 1e-5)
    });
    let [nx, ny] = [2048_usize, 1024];
    set.add("srad_coefficient", format!("nx={nx} ny={ny}"), move || {
        let image: Vec<f32> = floats(nx * ny, 1).into_iter().map(|value| value + 0.5).collect();
        let at = |x: usize, y: usize| f64::from(image[y.min(ny - 1) * nx + x.min(nx - 1)]);
        let q0 = 0.05;
        let expected = (0..nx * ny)
            .map(|i| {
                let (x, y) = (i % nx, i / nx);
                let here = at(x, y);
                let sides =
                    [at(x, y.saturating_sub(1)), at(x, y + 1), at(x.saturating_sub(1), y), at(x + 1, y)];
                let sides = sides.map(|side| side - here);
                let gradient = sides.map(|side| side * side).iter().sum::<f64>() / (here * here);
                let laplacian = sides.iter().sum::<f64>() / here;
                let denominator = 1.0 + 0.25 * laplacian;
                let q = (0.5 * gradient - 0.0625 * laplacian * laplacian) / (denominator * denominator);
                (1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0)))).clamp(0.0, 1.0) as f32
            })
            .collect();
        Case::plane([nx, ny], [16, 16])
            .word(nx)
            .word(ny)
            .single(0.05)
            .input(&image)
            .output::<f32>(expected, 1e-3)
    });
    let columns = 216 * 1024_usize;
    set.add("pathfinder", format!("columns={columns} rows=20"), move || {
        let wall: Vec<i32> = words(20 * columns, 10, 1).into_iter().map(|value| value as i32).collect();
        let cost: Vec<i32> = words(columns, 10, 2).into_iter().map(|value| value as i32).collect();
        let mut best = cost.clone();
        for row in wall.chunks(columns) {
            let before = best.clone();
            for x in 0..columns {
                let left = before[x.saturating_sub(1)];
                best[x] = row[x] + before[x].min(left).min(before[(x + 1).min(columns - 1)]);
            }
        }
        Case::grid([1024, 1, 1], [256, 1, 1]).word(columns).input(&wall).input(&cost).output(best, 0.0)
    });
    let [nx, ny] = [2048_usize, 2048];
    set.add("game_of_life", format!("nx={nx} ny={ny}"), move || {
        let from: Vec<u8> = bytes(nx * ny, 1).into_iter().map(|byte| u8::from(byte < 80)).collect();
        let expected = (0..nx * ny)
            .map(|i| {
                let (x, y) = (i % nx + nx, i / nx + ny);
                let alive: u8 = (0..9)
                    .filter(|k| *k != 4)
                    .map(|k| from[(y + k / 3 - 1) % ny * nx + (x + k % 3 - 1) % nx])
                    .sum();
                u8::from(alive == 3 || (alive == 2 && from[i] == 1))
            })
            .collect();
        Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).output(expected, 0.0)
    });
    let n = 1 << 24;
    set.add("wave_1d", format!("n={n}"), move || {
        let (before, now) = (floats(n, 1), floats(n, 2));
        let mut expected = vec![0.0; n];
        for i in 2..n - 2 {
            let (outer, inner) = (now[i - 2] + now[i + 2], now[i - 1] + now[i + 1]);
            expected[i] = 0.25 * (16.0 * inner - outer - 30.0 * now[i]) / 12.0 + 2.0 * now[i] - before[i];
        }
        Case::over(n, 256).word(n).input(&before).input(&now).inout(&vec![0.0_f32; n], expected, 1e-5)
    });
}
