//! Vectors, and matrices against vectors.

use super::Set;
use crate::{
    case::Case,
    data::{doubles, floats},
};

/// The product of a matrix in rows with a vector.
pub(super) fn times(a: &[f32], x: &[f32]) -> Vec<f32> {
    a.chunks(x.len())
        .map(|row| row.iter().zip(x).map(|(a, x)| f64::from(a * x)).sum::<f64>() as f32)
        .collect()
}

/// The product of its transpose with a vector.
fn transposed_times(a: &[f32], x: &[f32]) -> Vec<f32> {
    let columns = a.len() / x.len();
    let mut sums = vec![0.0; columns];
    for (row, x) in a.chunks(columns).zip(x) {
        for (sum, a) in sums.iter_mut().zip(row) {
            *sum += f64::from(a * x);
        }
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

pub(super) fn add(set: &mut Set) {
    for n in [1_usize << 20, 1 << 25] {
        set.add("axpy", format!("n={n}"), move || {
            let (x, y) = (floats(n, 1), floats(n, 2));
            let expected = x.iter().zip(&y).map(|(x, y)| 1.5_f32.mul_add(*x, *y)).collect();
            Case::over(n, 256).word(n).single(1.5).input(&x).inout(&y, expected, 0.0)
        });
        let half = n / 2;
        set.add("daxpy", format!("n={half}"), move || {
            let (x, y) = (doubles(half, 1), doubles(half, 2));
            let expected = x.iter().zip(&y).map(|(x, y)| 1.5_f64.mul_add(*x, *y)).collect();
            Case::over(half, 256).word(half).double(1.5).input(&x).inout(&y, expected, 0.0)
        });
    }
    let n = 1 << 24;
    set.add("triad_loop", format!("n={n} blocks=1056"), move || {
        let (b, c) = (floats(n, 1), floats(n, 2));
        let expected = b.iter().zip(&c).map(|(b, c)| 3.0_f32.mul_add(*c, *b)).collect();
        Case::grid([1056, 1, 1], [256, 1, 1])
            .word(n)
            .single(3.0)
            .output::<f32>(expected, 0.0)
            .input(&b)
            .input(&c)
    });
    for n in [1_usize << 20, 1 << 25] {
        set.add("dot_partial", format!("n={n} blocks=264"), move || {
            let (x, y) = (floats(n, 1), floats(n, 2));
            let total: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(x * y)).sum();
            let near = move |partial: &[f32]| {
                let sum: f64 = partial.iter().map(|&part| f64::from(part)).sum();
                if (sum / total - 1.0).abs() < 1e-4 {
                    Ok(())
                } else {
                    Err(format!("{sum}, expected {total}"))
                }
            };
            Case::grid([264, 1, 1], [256, 1, 1])
                .word(n)
                .input(&x)
                .input(&y)
                .holding(&vec![f32::NAN; 264], near)
        });
    }
    let n = 1 << 22;
    set.add("squares_atomic", format!("n={n}"), move || {
        let x = floats(n, 1);
        let total = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() as f32;
        Case::over(n, 256).word(n).input(&x).inout(&[0.0_f32], vec![total], 1e-4)
    });
    for (name, per_row) in [("gemv_thread", 1), ("gemv_warp", 32)] {
        for (rows, columns) in [(4096_usize, 1024_usize), (16384, 4096)] {
            if per_row == 1 && rows == 16384 {
                continue;
            }
            set.add(name, format!("rows={rows} columns={columns}"), move || {
                let (a, x) = (floats(rows * columns, 1), floats(columns, 2));
                let expected = times(&a, &x);
                Case::over(rows * per_row, 256)
                    .word(rows)
                    .word(columns)
                    .input(&a)
                    .input(&x)
                    .output(expected, 1e-4)
            });
        }
    }
    for (rows, columns) in [(1024_usize, 4096_usize), (4096, 16384)] {
        set.add("atax_columns", format!("rows={rows} columns={columns}"), move || {
            let (a, x) = (floats(rows * columns, 1), floats(rows, 2));
            let expected = transposed_times(&a, &x);
            Case::over(columns, 256).word(rows).word(columns).input(&a).input(&x).output(expected, 1e-4)
        });
    }
    let n = 2048;
    set.add("gesummv", format!("n={n}"), move || {
        let (a, b, x) = (floats(n * n, 1), floats(n * n, 2), floats(n, 3));
        let (first, second) = (times(&a, &x), times(&b, &x));
        let expected = first.iter().zip(&second).map(|(a, b)| 1.5 * a + 2.5 * b).collect();
        Case::over(n, 128)
            .word(n)
            .single(1.5)
            .single(2.5)
            .input(&a)
            .input(&b)
            .input(&x)
            .output::<f32>(expected, 1e-4)
    });
    let n = 4096;
    set.add("gemver_outer", format!("n={n}"), move || {
        let a = floats(n * n, 1);
        let [u1, v1, u2, v2] = [2, 3, 4, 5].map(|seed| floats(n, seed));
        let expected = (0..n * n).map(|i| a[i] + u1[i / n] * v1[i % n] + u2[i / n] * v2[i % n]).collect();
        Case::plane([n, n], [32, 8])
            .word(n)
            .input(&a)
            .output::<f32>(expected, 1e-6)
            .input(&u1)
            .input(&v1)
            .input(&u2)
            .input(&v2)
    });
    let (rows, columns) = (512_usize, 8192_usize);
    set.add("column_deviation", format!("rows={rows} columns={columns}"), move || {
        let data = floats(rows * columns, 1);
        let ones = vec![1.0 / rows as f32; rows];
        let mean = transposed_times(&data, &ones);
        let squares: Vec<f32> =
            data.iter().enumerate().map(|(i, value)| (value - mean[i % columns]).powi(2)).collect();
        let deviation = transposed_times(&squares, &ones).into_iter().map(f32::sqrt).collect();
        Case::over(columns, 256)
            .word(rows)
            .word(columns)
            .input(&data)
            .output(mean, 1e-4)
            .output::<f32>(deviation, 1e-4)
    });
    let (n, pivot) = (2048_usize, 100_usize);
    set.add("gaussian_eliminate", format!("n={n} pivot={pivot}"), move || {
        let (multipliers, from) = (floats(n, 1), floats(n * n, 2));
        let mut expected = from.clone();
        for row in pivot + 1..n {
            for column in pivot..n {
                expected[row * n + column] -= multipliers[row] * from[pivot * n + column];
            }
        }
        Case::plane([n - pivot, n - pivot], [16, 16])
            .word(n)
            .word(pivot)
            .input(&multipliers)
            .input(&from)
            .inout(&from, expected, 1e-6)
    });
}
