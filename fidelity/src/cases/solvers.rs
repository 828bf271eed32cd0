//! Parts of solvers.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, doubles, floats},
};

/// A matrix whose rows' lengths vary, with its entries within `reach` columns right of the diagonal, around the end.
fn near_diagonal(rows: usize, mean: u32, reach: usize) -> Rows {
    let mut matrix = Rows::random(rows, reach, mean, 1);
    for row in 0..rows {
        let range = matrix.of(row);
        matrix.columns[range].iter_mut().for_each(|column| *column = (row as u32 + *column) % rows as u32);
    }
    matrix
}

pub(super) fn add(set: &mut Set) {
    for n in [100_000_usize, 2_500_000] {
        let (block, blocks) = (256, n.div_ceil(256).min(528));
        set.add("cg_update", format!("n={n} blocks={blocks}"), move || {
            let [direction, product, solution, residual] = [1, 2, 3, 4].map(|seed| doubles(n, seed));
            let scalars = [3.0, 8.0];
            let alpha = scalars[0] / scalars[1];
            let moved = |from: &[f64], along: &[f64], step: f64| -> Vec<f64> {
                from.iter().zip(along).map(|(from, along)| from + step * along).collect()
            };
            let solved = moved(&solution, &direction, alpha);
            let rest = moved(&residual, &product, -alpha);
            let mut partial = vec![0.0; blocks];
            rest.iter().enumerate().for_each(|(i, value)| partial[i / block % blocks] += value * value);
            Case::grid([blocks as u32, 1, 1], [block as u32, 1, 1])
                .word(n)
                .input(&scalars)
                .input(&direction)
                .input(&product)
                .inout(&solution, solved, 1e-12)
                .inout(&residual, rest, 1e-12)
                .output(partial, 1e-12)
        });
    }
    for [nx, ny] in [[257_usize, 257_usize], [2401, 1801]] {
        set.add("prolongate_2d", format!("nx={nx} ny={ny}"), move || {
            let [wide, high] = [2 * nx - 1, 2 * ny - 1];
            let (coarse, fine) = (floats(nx * ny, 1), floats(wide * high, 2));
            let mut expected = fine.clone();
            // Each coarse point spreads its value over nine fine ones.
            for (i, value) in coarse.iter().enumerate() {
                let (x, y) = (2 * (i % nx), 2 * (i / nx));
                for fy in y.saturating_sub(1)..(y + 2).min(high) {
                    for fx in x.saturating_sub(1)..(x + 2).min(wide) {
                        let halvings = x.abs_diff(fx) + y.abs_diff(fy);
                        expected[fy * wide + fx] += value / (1 << halvings) as f32;
                    }
                }
            }
            Case::plane([wide, high], [32, 8]).word(nx).word(ny).input(&coarse).inout(&fine, expected, 1e-5)
        });
    }
    for [nx, ny, nz] in [[130_usize, 98_usize, 50_usize], [350, 300, 130]] {
        set.add("stencil_27", format!("nx={nx} ny={ny} nz={nz}"), move || {
            let (from, plane) = (floats(nx * ny * nz, 1), nx * ny);
            let mut expected = vec![0.0_f32; nx * ny * nz];
            let weights = [0.4_f32, 0.05, 0.02, 0.005];
            for row in (1..nz - 1).flat_map(|z| (1..ny - 1).map(move |y| z * plane + y * nx)) {
                let sums = &mut expected[row + 1..row + nx - 1];
                for k in 0..27 {
                    let (dx, dy, dz) = (k % 3, k / 3 % 3, k / 9);
                    let away = [dx, dy, dz].into_iter().filter(|&d| d != 1).count();
                    let shifted = &from[row + dz * plane + dy * nx + dx - plane - nx..];
                    sums.iter_mut().zip(shifted).for_each(|(sum, value)| *sum += weights[away] * value);
                }
            }
            let blocks = [(nx - 2).div_ceil(32), (ny - 2).div_ceil(8), (nz - 2).div_ceil(16)];
            Case::grid(blocks.map(|n| n as u32), [32, 8, 1]).word(nx).word(ny).word(nz).input(&from).inout(
                &vec![0.0; nx * ny * nz],
                expected,
                1e-5,
            )
        });
    }
    for (rows, mean) in [(30_001_usize, 8_u32), (420_000, 12)] {
        set.add("spmv_sell", format!("rows={rows} mean={mean}"), move || {
            let matrix = near_diagonal(rows, mean, 3000);
            let (entries, x) = (floats(matrix.columns.len(), 5), floats(rows, 6));
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for first in (0..rows).step_by(32) {
                let slice = |lane: usize| if first + lane < rows { matrix.of(first + lane) } else { 0..0 };
                let width = (0..32).map(|lane| slice(lane).len()).max().expect("32 rows");
                for k in 0..width {
                    for lane in 0..32 {
                        let at = slice(lane).nth(k);
                        columns.push(at.map_or(0, |at| matrix.columns[at]));
                        values.push(at.map_or(0.0, |at| entries[at]));
                    }
                }
                starts.push(columns.len() as u32);
            }
            let sum = |row: usize| -> f32 {
                matrix.of(row).map(|k| entries[k] * x[matrix.columns[k] as usize]).sum()
            };
            let expected = (0..rows).map(sum).collect();
            Case::over(rows, 128)
                .word(rows)
                .input(&starts)
                .input(&columns)
                .input(&values)
                .input(&x)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (rows, mean) in [(8001_usize, 7_u32), (130_000, 9)] {
        set.add("spmv_bsr", format!("block rows={rows} mean={mean}"), move || {
            let matrix = near_diagonal(rows, mean, 2000);
            let (values, x) = (floats(16 * matrix.columns.len(), 5), floats(4 * rows, 6));
            let mut expected = vec![0.0_f32; 4 * rows];
            for (row, sums) in expected.chunks_mut(4).enumerate() {
                for k in matrix.of(row) {
                    let x = &x[4 * matrix.columns[k] as usize..][..4];
                    for (sum, values) in sums.iter_mut().zip(values[16 * k..].chunks(4)) {
                        *sum += values.iter().zip(x).map(|(value, x)| value * x).sum::<f32>();
                    }
                }
            }
            Case::over(32 * rows, 256)
                .word(rows)
                .input(&matrix.starts)
                .input(&matrix.columns)
                .input(&values)
                .input(&x)
                .output(expected, 1e-4)
        });
    }
}
