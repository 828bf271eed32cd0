//! Sparse matrices, and reads and writes at indices.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, floats, permutation, words},
};

pub(super) fn add(set: &mut Set) {
    for (name, per_row) in [("spmv_csr_scalar", 1), ("spmv_csr_vector", 32)] {
        type Shape = (&'static str, fn() -> Rows);
        let shapes: [Shape; 2] = [
            ("rows=262144 mesh width=8", || Rows::banded(1 << 18, 8, 1000, 1)),
            ("rows=131072 random mean=24", || Rows::random(1 << 17, 1 << 17, 24, 1)),
        ];
        for (shape, build) in shapes {
            set.add(name, shape.to_owned(), move || {
                let rows = build();
                let (values, x) = (floats(rows.columns.len(), 5), floats(rows.len(), 6));
                let sum = |row: usize| -> f32 {
                    rows.of(row).map(|k| values[k] * x[rows.columns[k] as usize]).sum()
                };
                let expected = (0..rows.len()).map(sum).collect();
                Case::over(rows.len() * per_row, 256)
                    .word(rows.len())
                    .input(&rows.starts)
                    .input(&rows.columns)
                    .input(&values)
                    .input(&x)
                    .output::<f32>(expected, 1e-4)
            });
        }
    }
    for (rows, width) in [(1_usize << 18, 8_usize), (1 << 21, 14)] {
        set.add("spmv_ell", format!("rows={rows} width={width}"), move || {
            let matrix = Rows::banded(rows, width as u32, 1000, 1);
            let columns: Vec<u32> =
                (0..rows * width).map(|at| matrix.columns[at % rows * width + at / rows]).collect();
            let (values, x) = (floats(rows * width, 5), floats(rows, 6));
            let mut expected = vec![0.0; rows];
            for (at, (column, value)) in columns.iter().zip(&values).enumerate() {
                expected[at % rows] += value * x[*column as usize];
            }
            Case::over(rows, 256)
                .word(rows)
                .word(width)
                .input(&columns)
                .input(&values)
                .input(&x)
                .output::<f32>(expected, 1e-4)
        });
    }
    let entries = 1 << 21;
    set.add("spmv_coo", format!("entries={entries} per row=8"), move || {
        let rows: Vec<u32> = (0..entries as u32).map(|k| k / 8).collect();
        let columns = words(entries, entries as u32 / 8, 1);
        let (values, x) = (floats(entries, 5), floats(entries / 8, 6));
        let mut expected = vec![0.0; entries / 8];
        for k in 0..entries {
            expected[k / 8] += values[k] * x[columns[k] as usize];
        }
        Case::over(entries, 256).word(entries).input(&rows).input(&columns).input(&values).input(&x).inout(
            &vec![0.0_f32; entries / 8],
            expected,
            1e-4,
        )
    });
    for n in [1_usize << 20, 1 << 23] {
        set.add("spmv_dia", format!("n={n} distance=1024"), move || {
            let (diagonals, x) = (floats(5 * n, 1), floats(n, 2));
            let expected = (0..n)
                .map(|row| {
                    let at = |k: usize, column: usize| diagonals[k * n + row] * x.get(column).unwrap_or(&0.0);
                    at(0, row.wrapping_sub(1024))
                        + at(1, row.wrapping_sub(1))
                        + at(2, row)
                        + at(3, row + 1)
                        + at(4, row + 1024)
                })
                .collect();
            Case::over(n, 256).word(n).word(1024).input(&diagonals).input(&x).output::<f32>(expected, 1e-5)
        });
    }
    for n in [1_usize << 20, 1 << 23, 1 << 25] {
        set.add("gather", format!("n={n}"), move || {
            let (indices, from) = (words(n, n as u32, 1), floats(n, 2));
            let expected = indices.iter().map(|&i| from[i as usize]).collect();
            Case::over(n, 256).word(n).input(&indices).input(&from).output::<f32>(expected, 0.0)
        });
        set.add("scatter", format!("n={n}"), move || {
            let (indices, from) = (permutation(n), floats(n, 2));
            let mut expected = vec![0.0_f32; n];
            indices.iter().zip(&from).for_each(|(&i, &value)| expected[i as usize] = value);
            Case::over(n, 256).word(n).input(&indices).input(&from).output(expected, 0.0)
        });
    }
}
