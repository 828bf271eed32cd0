//! Products of matrices.

use super::Set;
use crate::{
    case::Case,
    data::{doubles, floats},
};

/// The product of matrices in rows, `a` of `depth` columns and `b` of `columns`, in the precision of doubles.
fn product(a: &[f64], b: &[f64], depth: usize, columns: usize) -> Vec<f64> {
    let mut result = Vec::with_capacity(a.len() / depth * columns);
    for row in a.chunks(depth) {
        let mut sums = vec![0.0; columns];
        for (a, from) in row.iter().zip(b.chunks(columns)) {
            sums.iter_mut().zip(from).for_each(|(sum, b)| *sum += a * b);
        }
        result.extend(sums);
    }
    result
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

fn narrow(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|value| value as f32).collect()
}

fn transposed(a: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| a.iter().skip(column).step_by(columns).copied()).collect()
}

pub(super) fn add(set: &mut Set) {
    let n = 512;
    set.add("gemm_tile", format!("n={n}"), move || {
        let (a, b) = (floats(n * n, 1), floats(n * n, 2));
        let expected = narrow(product(&wide(&a), &wide(&b), n, n));
        Case::plane([n, n], [16, 16]).word(n).input(&a).input(&b).output(expected, 1e-4)
    });
    set.add("dgemm_tile", format!("n={n}"), move || {
        let (a, b) = (doubles(n * n, 1), doubles(n * n, 2));
        let expected = product(&a, &b, n, n);
        Case::plane([n, n], [16, 16]).word(n).input(&a).input(&b).output(expected, 1e-10)
    });
    let (n, depth) = (512, 256);
    set.add("syrk", format!("n={n} depth={depth}"), move || {
        let a = floats(n * depth, 1);
        let expected = narrow(product(&wide(&a), &transposed(&wide(&a), depth), depth, n));
        Case::plane([n, n], [32, 8]).word(n).word(depth).input(&a).output(expected, 1e-4)
    });
    let (rows, depth) = (8192, 64);
    set.add("doitgen", format!("rows={rows} depth={depth}"), move || {
        let (a, matrix) = (floats(rows * depth, 1), floats(depth * depth, 2));
        let expected = narrow(product(&wide(&a), &wide(&matrix), depth, depth));
        Case::plane([depth, rows], [64, 4])
            .word(rows)
            .word(depth)
            .input(&a)
            .input(&matrix)
            .output(expected, 1e-4)
    });
    let (rows, depth) = (1 << 20, 16);
    set.add("gemm_narrow", format!("rows={rows} depth={depth}"), move || {
        let (a, b) = (floats(rows * depth, 1), floats(depth * 4, 2));
        let by_rows = transposed(&wide(&a), rows);
        let expected = narrow(transposed(&product(&by_rows, &wide(&b), depth, 4), 4));
        Case::over(rows, 256).word(rows).word(depth).input(&a).input(&b).output(expected, 1e-4)
    });
    let count = 16384;
    set.add("batched_8x8", format!("count={count}"), move || {
        let (a, b) = (floats(count * 64, 1), floats(count * 64, 2));
        let expected =
            wide(&a).chunks(64).zip(wide(&b).chunks(64)).flat_map(|(a, b)| product(a, b, 8, 8)).collect();
        Case::grid([count as u32, 1, 1], [64, 1, 1]).input(&a).input(&b).output(narrow(expected), 1e-5)
    });
    let count = 8192;
    set.add("lud_tile", format!("count={count}"), move || {
        let mut a = floats(count * 256, 1);
        // A heavy diagonal needs no pivoting.
        a.iter_mut().enumerate().filter(|(i, _)| i % 256 % 17 == 0).for_each(|(_, value)| *value += 16.0);
        let mut factors = wide(&a);
        for tile in factors.chunks_mut(256) {
            for pivot in 0..16 {
                for row in pivot + 1..16 {
                    tile[row * 16 + pivot] /= tile[pivot * 16 + pivot];
                    for column in pivot + 1..16 {
                        tile[row * 16 + column] -= tile[row * 16 + pivot] * tile[pivot * 16 + column];
                    }
                }
            }
        }
        Case::grid([count as u32, 1, 1], [16, 1, 1]).input(&a).output(narrow(factors), 1e-5)
    });
}
