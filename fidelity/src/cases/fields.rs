//! Fluids, waves and relaxation.

use super::{Set, grids::inside};
use crate::{
    case::Case,
    data::{doubles, floats},
};

pub(super) fn add(set: &mut Set) {
    for [nx, ny] in [[384_usize, 512_usize], [1024, 768]] {
        set.add("lattice_d2q9", format!("nx={nx} ny={ny}"), move || {
            const X: [isize; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
            const Y: [isize; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
            let plane = nx * ny;
            let from: Vec<f32> = floats(9 * plane, 1).into_iter().map(|value| 0.1 + 0.05 * value).collect();
            let mut expected = vec![0.0; 9 * plane];
            for i in 0..plane {
                let (x, y) = ((i % nx) as isize, (i / nx) as isize);
                let f: [f64; 9] = std::array::from_fn(|k| {
                    let (x, y) = ((x - X[k]).rem_euclid(nx as isize), (y - Y[k]).rem_euclid(ny as isize));
                    from[k * plane + y as usize * nx + x as usize].into()
                });
                let density: f64 = f.iter().sum();
                let ux = (0..9).map(|k| X[k] as f64 * f[k]).sum::<f64>() / density;
                let uy = (0..9).map(|k| Y[k] as f64 * f[k]).sum::<f64>() / density;
                for k in 0..9 {
                    let weight = [4.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0][usize::from(k > 0) + usize::from(k > 4)];
                    let along = 3.0 * (X[k] as f64 * ux + Y[k] as f64 * uy);
                    let equilibrium =
                        weight * density * (1.0 + along + 0.5 * along * along - 1.5 * (ux * ux + uy * uy));
                    expected[k * plane + i] = (f[k] + 0.6 * (equilibrium - f[k])) as f32;
                }
            }
            Case::plane([nx, ny], [64, 2]).word(nx).word(ny).single(0.6).input(&from).output(expected, 1e-5)
        });
    }
    for [nx, ny] in [[1026_usize, 1026_usize], [3074, 2050]] {
        set.add("red_black_sweep", format!("nx={nx} ny={ny}"), move || {
            let (right, u) = (doubles(nx * ny, 1), doubles(nx * ny, 2));
            let mut expected = u.clone();
            for i in inside([nx, ny], 1).filter(|i| (i % nx + i / nx) % 2 == 1) {
                expected[i] = 0.25 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] - right[i]);
            }
            // Colour 1: the first point of the first row inside has an odd sum of coordinates.
            Case::plane([nx / 2 - 1, ny - 2], [32, 4])
                .word(nx)
                .word(ny)
                .word(1)
                .input(&right)
                .inout::<f64>(&u, expected, 1e-12)
        });
    }
    let n = 128_usize;
    set.add("wave_3d_star", format!("n={n}"), move || {
        let (before, now) = (floats(n * n * n, 1), floats(n * n * n, 2));
        let mut expected = vec![0.0; n * n * n];
        for z in 2..n - 2 {
            for i in inside([n, n], 2).map(|i| z * n * n + i) {
                let mut sum = -7.5 * now[i];
                for stride in [1, n, n * n] {
                    sum += 4.0 / 3.0 * (now[i - stride] + now[i + stride]);
                    sum -= (now[i - 2 * stride] + now[i + 2 * stride]) / 12.0;
                }
                expected[i] = 2.0 * now[i] - before[i] + 0.1 * sum;
            }
        }
        Case::grid([8, 32, 32], [16, 4, 4]).word(n).single(0.1).input(&before).input(&now).inout(
            &vec![0.0_f32; n * n * n],
            expected,
            1e-5,
        )
    });
    for [nx, ny] in [[900_usize, 700_usize], [1900, 1800]] {
        set.add("advect_back", format!("nx={nx} ny={ny}"), move || {
            let [u, v] = [1, 2].map(|seed| -> Vec<f32> {
                floats(nx * ny, seed).into_iter().map(|value| 2.0 * value - 1.0).collect()
            });
            let from = floats(nx * ny, 3);
            let expected = (0..nx * ny)
                .map(|i| {
                    let fx = ((i % nx) as f32 - 2.5 * u[i]).max(0.0).min(nx as f32 - 1.001);
                    let fy = ((i / nx) as f32 - 2.5 * v[i]).max(0.0).min(ny as f32 - 1.001);
                    let (left, bottom) = (fx as usize, fy as usize);
                    let (ax, ay) = (fx.fract(), fy.fract());
                    let row = |y: usize| (1.0 - ax) * from[y * nx + left] + ax * from[y * nx + left + 1];
                    (1.0 - ay) * row(bottom) + ay * row(bottom + 1)
                })
                .collect();
            Case::plane([nx, ny], [16, 16])
                .word(nx)
                .word(ny)
                .single(2.5)
                .input(&u)
                .input(&v)
                .input(&from)
                .output::<f32>(expected, 1e-5)
        });
    }
    for [nx, ny, nz] in [[96_usize, 64_usize, 64_usize], [128, 128, 112]] {
        set.add("restrict_3d", format!("nx={nx} ny={ny} nz={nz}"), move || {
            let fine = floats(8 * nx * ny * nz, 1);
            let mut expected = vec![0.0_f32; nx * ny * nz];
            for (i, value) in fine.iter().enumerate() {
                let (x, y, z) = (i % (2 * nx), i / (2 * nx) % (2 * ny), i / (4 * nx * ny));
                expected[(z / 2 * ny + y / 2) * nx + x / 2] += 0.125 * value;
            }
            Case::grid([nx as u32 / 32, ny as u32 / 4, nz as u32 / 2], [32, 4, 2])
                .word(nx)
                .word(ny)
                .word(nz)
                .input(&fine)
                .output::<f32>(expected, 1e-5)
        });
    }
}
