//! Factorisations and systems of equations.

use super::Set;
use crate::{case::Case, data::floats};

/// Bands of diagonally dominant tridiagonal systems: lower, diagonal, upper, right side; the corners are 0.
fn bands(systems: usize, length: usize, at: impl Fn(usize, usize) -> usize) -> [Vec<f32>; 4] {
    let [mut lower, diagonal, mut upper, right] = [1, 2, 3, 4].map(|seed| floats(systems * length, seed));
    for system in 0..systems {
        lower[at(system, 0)] = 0.0;
        upper[at(system, length - 1)] = 0.0;
    }
    [lower, diagonal.into_iter().map(|value| value + 2.5).collect(), upper, right]
}

/// The solutions of such systems, in double precision.
fn solved(
    [lower, diagonal, upper, right]: &[Vec<f32>; 4],
    systems: usize,
    length: usize,
    at: impl Fn(usize, usize) -> usize,
) -> Vec<f32> {
    let mut x = vec![0.0; systems * length];
    let mut c = vec![0.0_f64; length];
    let mut d = vec![0.0_f64; length];
    for system in 0..systems {
        for k in 0..length {
            let i = at(system, k);
            let [a, b, u, r] = [lower[i], diagonal[i], upper[i], right[i]].map(f64::from);
            let (before_c, before_d) = if k > 0 { (c[k - 1], d[k - 1]) } else { (0.0, 0.0) };
            let scale = 1.0 / (b - a * before_c);
            c[k] = u * scale;
            d[k] = (r - a * before_d) * scale;
        }
        let mut value = 0.0;
        for k in (0..length).rev() {
            value = d[k] - c[k] * value;
            x[at(system, k)] = value as f32;
        }
    }
    x
}

/// The factors of a panel of 512 rows and 8 columns, columns one after another, and its pivots.
fn panel_factors(panel: &mut [f32]) -> [u32; 8] {
    std::array::from_fn(|k| {
        let mut pivot = k;
        for row in k..512 {
            if panel[k * 512 + row].abs() > panel[k * 512 + pivot].abs() {
                pivot = row;
            }
        }
        (0..8).for_each(|column| panel.swap(column * 512 + k, column * 512 + pivot));
        for row in k + 1..512 {
            let factor = panel[k * 512 + row] / panel[k * 512 + k];
            panel[k * 512 + row] = factor;
            for column in k + 1..8 {
                panel[column * 512 + row] =
                    (-factor).mul_add(panel[column * 512 + k], panel[column * 512 + row]);
            }
        }
        pivot as u32
    })
}

pub(super) fn add(set: &mut Set) {
    let count = 4096_usize;
    set.add("cholesky_16", format!("count={count}"), move || {
        let mut matrices = floats(count * 256, 1);
        let mut expected = vec![0.0; count * 256];
        for (matrix, factor) in matrices.chunks_mut(256).zip(expected.chunks_mut(256)) {
            for i in 0..256 {
                let (row, column) = (i / 16, i % 16);
                matrix[i] = if row == column {
                    10.0 + matrix[i]
                } else {
                    matrix[column.min(row) * 16 + row.max(column)]
                };
            }
            for row in 0..16 {
                for column in 0..=row {
                    let dot: f32 = (0..column).map(|k| factor[row * 16 + k] * factor[column * 16 + k]).sum();
                    let rest = matrix[row * 16 + column] - dot;
                    factor[row * 16 + column] =
                        if row == column { rest.sqrt() } else { rest / factor[column * 16 + column] };
                }
            }
        }
        Case::grid([count as u32 / 4, 1, 1], [64, 1, 1]).input(&matrices).output::<f32>(expected, 1e-4)
    });
    for columns in [8192_usize, 30_000] {
        set.add("trsm_columns", format!("columns={columns}"), move || {
            let mut triangle = floats(1024, 1);
            (0..32).for_each(|k| triangle[k * 33] += 8.0);
            let b = floats(32 * columns, 2);
            let mut x = b.clone();
            for row in 0..32 {
                for column in 0..columns {
                    let mut sum = x[row * columns + column];
                    for k in 0..row {
                        sum = (-triangle[row * 32 + k]).mul_add(x[k * columns + column], sum);
                    }
                    x[row * columns + column] = sum / triangle[row * 33];
                }
            }
            Case::over(columns, 64).word(columns).input(&triangle).input(&b).output::<f32>(x, 1e-5)
        });
    }
    for panels in [8_usize, 264] {
        set.add("lu_panel", format!("panels={panels} rows=512"), move || {
            let from = floats(panels * 4096, 1);
            let mut expected = from.clone();
            let pivots: Vec<u32> = expected.chunks_mut(4096).flat_map(panel_factors).collect();
            Case::grid([panels as u32, 1, 1], [512, 1, 1])
                .input(&from)
                .output::<f32>(expected, 1e-5)
                .output::<u32>(pivots, 0.0)
        });
    }
    for (systems, length) in [(4096_usize, 128_usize), (49_152, 64)] {
        set.add("thomas_columns", format!("systems={systems} length={length}"), move || {
            let at = |system, k| k * systems + system;
            let bands = bands(systems, length, at);
            let x = solved(&bands, systems, length, at);
            let [lower, diagonal, upper, right] = &bands;
            Case::over(systems, 128)
                .word(systems)
                .word(length)
                .input(lower)
                .input(diagonal)
                .input(upper)
                .input(right)
                .input(&vec![0.0_f32; systems * length])
                .output::<f32>(x, 1e-5)
        });
    }
    let systems = 1024_usize;
    set.add("cyclic_reduction", format!("systems={systems} length=512"), move || {
        let at = |system, k| system * 512 + k;
        let bands = bands(systems, 512, at);
        let x = solved(&bands, systems, 512, at);
        let [lower, diagonal, upper, right] = &bands;
        Case::grid([systems as u32, 1, 1], [256, 1, 1])
            .input(lower)
            .input(diagonal)
            .input(upper)
            .input(right)
            .output::<f32>(x, 1e-4)
    });
    for (rows, columns) in [(512_usize, 2048_usize), (800, 16_384)] {
        set.add("gram_schmidt_columns", format!("rows={rows} columns={columns} k=3"), move || {
            let scale = (3.0 / rows as f32).sqrt();
            let q: Vec<f32> = floats(rows, 1).into_iter().map(|value| (2.0 * value - 1.0) * scale).collect();
            let a = floats(rows * columns, 2);
            let mut dots = vec![0.0_f64; columns];
            for (row, q) in a.chunks(columns).zip(&q) {
                dots.iter_mut().zip(row).for_each(|(dot, a)| *dot += f64::from(*q) * f64::from(*a));
            }
            dots[..4].fill(0.0);
            let expected = (0..rows * columns)
                .map(|i| (f64::from(a[i]) - f64::from(q[i / columns]) * dots[i % columns]) as f32)
                .collect();
            let mut r = vec![0.0_f32; 4 * columns];
            (0..columns).for_each(|j| r[3 * columns + j] = dots[j] as f32);
            Case::over(columns, 256)
                .word(rows)
                .word(columns)
                .word(3)
                .input(&q)
                .inout::<f32>(&a, expected, 1e-4)
                .inout::<f32>(&vec![0.0; 4 * columns], r, 1e-3)
        });
    }
    for count in [1_usize << 16, 450_000] {
        set.add("invert_4x4", format!("count={count}"), move || {
            let mut matrices = floats(16 * count, 1);
            let mut expected = Vec::with_capacity(16 * count);
            for matrix in matrices.chunks_mut(16) {
                (0..4).for_each(|k| matrix[5 * k] += 3.0);
                // Gauss and Jordan; the diagonal dominates, so there is no need of a pivot.
                let mut wide = [[0.0_f64; 8]; 4];
                for row in 0..4 {
                    (0..4).for_each(|column| wide[row][column] = matrix[4 * row + column].into());
                    wide[row][4 + row] = 1.0;
                }
                for k in 0..4 {
                    let pivot = wide[k].map(|value| value / wide[k][k]);
                    for row in 0..4 {
                        let factor = wide[row][k];
                        for column in 0..8 {
                            wide[row][column] -= factor * pivot[column];
                        }
                    }
                    wide[k] = pivot;
                }
                expected.extend(wide.iter().flat_map(|row| row[4..].iter().map(|&value| value as f32)));
            }
            Case::over(count, 128).word(count).input(&matrices).output::<f32>(expected, 1e-4)
        });
    }
    for (rows, columns) in [(1000_usize, 1500_usize), (2000, 4000)] {
        set.add("householder_apply", format!("rows={rows} columns={columns}"), move || {
            let scale = (3.0 / rows as f32).sqrt();
            let v: Vec<f32> = floats(rows, 1).into_iter().map(|value| (2.0 * value - 1.0) * scale).collect();
            let from = floats(rows * columns, 2);
            let reflect = |column: &[f32]| -> Vec<f32> {
                let twice =
                    2.0 * column.iter().zip(&v).map(|(a, v)| f64::from(*a) * f64::from(*v)).sum::<f64>();
                column.iter().zip(&v).map(|(a, v)| (f64::from(*a) - twice * f64::from(*v)) as f32).collect()
            };
            let expected = from.chunks(rows).flat_map(reflect).collect();
            Case::over(32 * columns, 128)
                .word(rows)
                .word(columns)
                .input(&v)
                .input(&from)
                .output::<f32>(expected, 1e-4)
        });
    }
}
