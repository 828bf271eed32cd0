//! Sequences.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, floats},
};

/// Letters of an alphabet of four.
fn letters(n: usize, seed: u64) -> Vec<u8> {
    bytes(n, seed).into_iter().map(|byte| byte % 4).collect()
}

pub(super) fn add(set: &mut Set) {
    for pairs in [100_usize, 400] {
        set.add("smith_waterman", format!("pairs={pairs} letters=96"), move || {
            let (first, second) = (letters(96 * pairs, 1), letters(96 * pairs, 2));
            let best = |(first, second): (&[u8], &[u8])| {
                let mut cells = [[0_i32; 97]; 97];
                for (y, a) in first.iter().enumerate() {
                    for (x, b) in second.iter().enumerate() {
                        let matched = cells[y][x] + if a == b { 3 } else { -2 };
                        cells[y + 1][x + 1] =
                            matched.max(cells[y][x + 1] - 2).max(cells[y + 1][x] - 2).max(0);
                    }
                }
                cells.as_flattened().iter().copied().max().expect("there are cells")
            };
            let expected = first.chunks(96).zip(second.chunks(96)).map(best).collect();
            Case::grid([pairs as u32, 1, 1], [96, 1, 1])
                .input(&first)
                .input(&second)
                .output::<i32>(expected, 0.0)
        });
    }
    for (count, length) in [(128_usize, 300_usize), (3000, 100)] {
        set.add("time_warping", format!("count={count} length={length}"), move || {
            let (pattern, series) = (floats(32, 1), floats(count * length, 2));
            let distance = |series: &[f32]| {
                let mut row = vec![f32::MAX; length];
                for (k, wanted) in pattern.iter().enumerate() {
                    let mut corner = if k == 0 { 0.0 } else { f32::MAX };
                    let mut left = f32::MAX;
                    for (cell, value) in row.iter_mut().zip(series) {
                        let least = cell.min(left).min(corner);
                        corner = *cell;
                        left = least + (wanted - value).abs();
                        *cell = left;
                    }
                }
                row[length - 1]
            };
            let expected = series.chunks(length).map(distance).collect();
            Case::over(32 * count, 128)
                .word(count)
                .word(length)
                .input(&pattern)
                .input(&series)
                .output::<f32>(expected, 1e-5)
        });
    }
    let (sequences, steps) = (60_usize, 40_usize);
    set.add("viterbi", format!("sequences={sequences} states=64 steps={steps}"), move || {
        let logarithms =
            |n, seed| -> Vec<f32> { floats(n, seed).into_iter().map(|value| -8.0 * value).collect() };
        let (moves, emissions) = (logarithms(4096, 1), logarithms(16 * 64, 2));
        let observed: Vec<u8> = bytes(sequences * steps, 3).into_iter().map(|byte| byte % 16).collect();
        let (mut scores, mut origins) = (Vec::new(), Vec::new());
        for observed in observed.chunks(steps) {
            let emission = |step: usize, state: usize| emissions[usize::from(observed[step]) * 64 + state];
            let mut now: Vec<f32> = (0..64).map(|state| emission(0, state)).collect();
            origins.extend([0_u8; 64]);
            for step in 1..steps {
                let before = now.clone();
                for state in 0..64 {
                    let score = |other: usize| before[other] + moves[other * 64 + state];
                    let best =
                        (1..64).fold(0, |best, other| if score(other) > score(best) { other } else { best });
                    now[state] = score(best) + emission(step, state);
                    origins.push(best as u8);
                }
            }
            scores.extend(now);
        }
        Case::grid([sequences as u32, 1, 1], [64, 1, 1])
            .word(steps)
            .input(&moves)
            .input(&emissions)
            .input(&observed)
            .output::<f32>(scores, 0.0)
            .inout::<u8>(&vec![0; origins.len()], origins, 0.0)
    });
    let (count, length) = (30_000_usize, 80_usize);
    set.add("edit_distance", format!("count={count} length={length}"), move || {
        let (pattern, texts) = (letters(64, 1), letters(count * length, 2));
        let masks: Vec<u64> = (0..4)
            .map(|letter| (0..64).filter(|&k| pattern[k] == letter).map(|k| 1_u64 << k).sum())
            .collect();
        let distance = |i: usize| {
            // The column of distances between the pattern's beginnings and the text so far.
            let mut column: [u32; 65] = std::array::from_fn(|row| row as u32);
            for k in 0..length {
                let letter = texts[k * count + i];
                let mut corner = column[0];
                column[0] += 1;
                for row in 1..65 {
                    let changed = corner + u32::from(pattern[row - 1] != letter);
                    corner = column[row];
                    column[row] = changed.min(column[row] + 1).min(column[row - 1] + 1);
                }
            }
            column[64]
        };
        let expected = (0..count).map(distance).collect();
        Case::over(count, 192)
            .word(count)
            .word(length)
            .input(&masks)
            .input(&texts)
            .output::<u32>(expected, 0.0)
    });
}
