//! Layouts.

use super::Set;
use crate::{
    case::Case,
    data::{doubles, floats, words},
};

pub(super) fn add(set: &mut Set) {
    for [nx, ny, nz] in [[96_usize, 100_usize, 120_usize], [224, 200, 160]] {
        set.add("reverse_axes", format!("nx={nx} ny={ny} nz={nz}"), move || {
            let from = floats(nx * ny * nz, 1);
            let mut expected = vec![0.0; from.len()];
            for (i, value) in from.iter().enumerate() {
                expected[(i % nx * ny + i / nx % ny) * nz + i / nx / ny] = *value;
            }
            Case::grid([nx as u32 / 32, ny as u32 / 4, nz as u32 / 2], [32, 4, 2])
                .word(nx)
                .word(ny)
                .word(nz)
                .input(&from)
                .output::<f32>(expected, 0.0)
        });
    }
    for (batch, positions) in [(2_usize, 700_usize), (16, 600)] {
        let heads = 12;
        set.add("swap_heads", format!("batch={batch} positions={positions} heads={heads}"), move || {
            let from = floats(batch * positions * heads * 64, 1);
            let mut expected = vec![0.0; from.len()];
            for (i, row) in from.chunks(64).enumerate() {
                let (head, place, batch) = (i % heads, i / heads % positions, i / heads / positions);
                let at = ((batch * heads + head) * positions + place) * 64;
                expected[at..at + 64].copy_from_slice(row);
            }
            Case::grid([(batch * positions) as u32, 2, 1], [16, 8, 1])
                .word(positions)
                .word(heads)
                .input(&from)
                .output::<f32>(expected, 0.0)
        });
    }
    let n = 200_usize;
    set.add("pack_faces", format!("n={n}"), move || {
        let field = doubles(n * n * n, 1);
        let expected = (0..6 * n * n)
            .map(|i| {
                let (a, b, face) = (i % n, i / n % n, i / n / n);
                let edge = face % 2 * (n - 1);
                let [x, y, z] = [[edge, a, b], [a, edge, b], [a, b, edge]][face / 2];
                field[(z * n + y) * n + x]
            })
            .collect();
        let blocks = n.div_ceil(16) as u32;
        Case::grid([blocks, blocks, 6], [16, 16, 1]).word(n).input(&field).output::<f64>(expected, 0.0)
    });
    for n in [150_000_usize, 1_100_000] {
        set.add("split_structures", format!("n={n}"), move || {
            let from = floats(7 * n, 1);
            let expected = (0..7 * n).map(|i| from[i % n * 7 + i / n]).collect();
            Case::over(n, 128).word(n).input(&from).output::<f32>(expected, 0.0)
        });
    }
    for n in [1500_usize, 3500] {
        set.add("pack_triangle", format!("n={n}"), move || {
            let from = floats(n * n, 1);
            let expected = (0..n).flat_map(|y| from[y * n..=y * n + y].to_vec()).collect();
            Case::plane([n, n], [32, 4]).word(n).input(&from).output::<f32>(expected, 0.0)
        });
    }
    let (rows, width) = (20_000_usize, 600_usize);
    set.add("take_columns", format!("rows={rows} width={width} chosen=24"), move || {
        let (chosen, from) = (words(24, width as u32, 1), floats(rows * width, 2));
        let column =
            |&column: &u32| (0..rows).map(|row| from[row * width + column as usize]).collect::<Vec<_>>();
        let expected = chosen.iter().flat_map(column).collect();
        Case::grid([rows.div_ceil(256) as u32, 24, 1], [256, 1, 1])
            .word(rows)
            .word(width)
            .input(&chosen)
            .input(&from)
            .output::<f32>(expected, 0.0)
    });
    let side = 2048_usize;
    set.add("morton_order", format!("side={side}"), move || {
        let from: Vec<u16> = words(side * side, 65_536, 1).into_iter().map(|pixel| pixel as u16).collect();
        let pixel = |at: usize| {
            let coordinate =
                |shift: usize| (0..11).map(|bit| (at >> (2 * bit + shift) & 1) << bit).sum::<usize>();
            from[coordinate(1) * side + coordinate(0)]
        };
        let expected = (0..side * side).map(pixel).collect();
        Case::plane([side, side], [32, 8]).word(side).input(&from).output::<u16>(expected, 0.0)
    });
}
