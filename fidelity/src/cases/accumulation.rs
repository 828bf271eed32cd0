//! Sums that many threads add to.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, floats, mix, permutation, singles, words},
};

/// Near enough where floats are added up in any order.
const ANY_ORDER: f64 = 1e-3;

/// Numbers below `limit`, of which small ones are more frequent: the product of two shares.
fn skewed(n: usize, limit: u32, seed: u64) -> Vec<u32> {
    let (a, b) = (floats(n, seed), floats(n, seed + 1));
    a.iter().zip(&b).map(|(a, b)| ((a * a * b * limit as f32) as u32).min(limit - 1)).collect()
}

/// Counts of each number below `limit`.
fn counts(numbers: &[u32], limit: usize) -> Vec<u32> {
    let mut counts = vec![0; limit];
    numbers.iter().for_each(|&number| counts[number as usize] += 1);
    counts
}

pub(super) fn add(set: &mut Set) {
    for (rows, mean, sorted) in [(300_000_usize, 7, true), (40_000, 40, false)] {
        let order = if sorted { "sorted" } else { "shuffled" };
        set.add("spmv_entries", format!("rows={rows} mean={mean} {order}"), move || {
            let matrix = Rows::random(rows, rows, mean, 1);
            let mut at: Vec<(u32, u32)> = (0..rows)
                .flat_map(|row| matrix.of(row).map(move |k| (row as u32, k as u32)))
                .map(|(row, k)| (row, matrix.columns[k as usize]))
                .collect();
            if !sorted {
                at.sort_by_key(|&(row, column)| mix(column as usize, u64::from(row)));
            }
            let (values, x) = (floats(at.len(), 3), floats(rows, 4));
            let mut y = vec![0.0_f64; rows];
            for (&(row, column), value) in at.iter().zip(&values) {
                y[row as usize] += f64::from(*value) * f64::from(x[column as usize]);
            }
            let (rows_of, columns): (Vec<u32>, Vec<u32>) = at.into_iter().unzip();
            Case::over(values.len(), 256)
                .word(values.len())
                .input(&rows_of)
                .input(&columns)
                .input(&values)
                .input(&x)
                .inout(&vec![0.0_f32; rows], singles(&y), ANY_ORDER)
        });
    }
    for (rows, columns, panel) in [(4000_usize, 3000_usize, 32_usize), (60_000, 200, 250)] {
        set.add("sum_panels", format!("rows={rows} columns={columns} panel={panel}"), move || {
            let matrix = floats(rows * columns, 1);
            let mut sums = vec![0.0_f64; columns];
            for row in matrix.chunks(columns) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            let grid = [columns.div_ceil(128) as u32, rows.div_ceil(panel) as u32, 1];
            Case::grid(grid, [128, 1, 1]).word(rows).word(columns).word(panel).input(&matrix).inout(
                &vec![0.0_f32; columns],
                singles(&sums),
                ANY_ORDER,
            )
        });
    }
    for (n, k) in [(400_000_usize, 12_usize), (150_000, 300)] {
        set.add("assign_points", format!("n={n} k={k}"), move || {
            let (points, centres) = (floats(4 * n, 1), floats(4 * k, 2));
            let (mut sums, mut counts) = (vec![0.0_f64; 4 * k], vec![0_u32; k]);
            for point in points.chunks(4) {
                let distance = |centre: &[f32]| {
                    let d: Vec<f32> = point.iter().zip(centre).map(|(a, b)| a - b).collect();
                    d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]
                };
                let (best, _) = centres
                    .chunks(4)
                    .enumerate()
                    .map(|(number, centre)| (number, distance(centre)))
                    .fold((0, f32::INFINITY), |best, one| if one.1 < best.1 { one } else { best });
                counts[best] += 1;
                (0..4).for_each(|axis| sums[4 * best + axis] += f64::from(point[axis]));
            }
            // A point that two centres are equally near to may count for either.
            let near = move |found: &[u32]| {
                let off: u32 = found.iter().zip(&counts).map(|(a, b)| a.abs_diff(*b)).sum();
                if off <= 20 { Ok(()) } else { Err(format!("{off} points are of other centres")) }
            };
            Case::over(n, 256)
                .word(n)
                .word(k)
                .input(&points)
                .input(&centres)
                .inout(&vec![0.0_f32; 4 * k], singles(&sums), 5e-3)
                .holding(&vec![0_u32; k], near)
        });
    }
    for (n, side, sorted) in [(500_000_usize, 256_usize, false), (2_000_000, 1500, true)] {
        let order = if sorted { "sorted" } else { "shuffled" };
        set.add("deposit_charge", format!("n={n} side={side} {order}"), move || {
            let (xs, ys) = (floats(n, 1), floats(n, 2));
            let scale = (side - 1) as f32 * 0.999;
            let mut places: Vec<[f32; 2]> = xs.iter().zip(&ys).map(|(x, y)| [x * scale, y * scale]).collect();
            if sorted {
                places.sort_by_key(|[x, y]| (*y as u32, *x as u32));
            }
            let mut grid = vec![0.0_f64; side * side];
            for [x, y] in &places {
                let (column, row) = (*x as usize, *y as usize);
                let (fx, fy) = (f64::from(*x) - column as f64, f64::from(*y) - row as f64);
                let node = row * side + column;
                grid[node] += (1.0 - fx) * (1.0 - fy);
                grid[node + 1] += fx * (1.0 - fy);
                grid[node + side] += (1.0 - fx) * fy;
                grid[node + side + 1] += fx * fy;
            }
            Case::over(n, 128).word(n).word(side).input(places.as_flattened()).inout(
                &vec![0.0_f32; side * side],
                singles(&grid),
                ANY_ORDER,
            )
        });
    }
    for (n, side, power) in [(3_000_000_usize, 1024_usize, 1), (3_000_000, 128, 3)] {
        set.add("density_map", format!("n={n} side={side} power={power}"), move || {
            let points: Vec<f32> = floats(2 * n, 1).iter().map(|x| x.powi(power)).collect();
            let cell = |point: &[f32]| {
                (point[1] * side as f32) as u32 * side as u32 + (point[0] * side as f32) as u32
            };
            let cells: Vec<u32> = points.chunks(2).map(cell).collect();
            Case::grid([528, 1, 1], [512, 1, 1]).word(n).word(side).input(&points).inout(
                &vec![0_u32; side * side],
                counts(&cells, side * side),
                0.0,
            )
        });
    }
    for (n, bins) in [(2_000_000_usize, 500_u32), (6_000_000, 40)] {
        set.add("weigh_bins", format!("n={n} bins={bins}"), move || {
            let bins: Vec<u16> = skewed(n, bins, 1).iter().map(|bin| *bin as u16).collect();
            let weights = floats(n, 3);
            let mut sums = vec![0.0_f64; 512];
            bins.iter().zip(&weights).for_each(|(bin, weight)| sums[*bin as usize] += f64::from(*weight));
            Case::grid([396, 1, 1], [256, 1, 1]).word(n).input(&bins).input(&weights).inout(
                &vec![0.0_f32; 512],
                singles(&sums),
                ANY_ORDER,
            )
        });
    }
    for (n, blocks) in [(800_000_usize, 400_u32), (30_000_000, 1056)] {
        set.add("moments", format!("n={n} blocks={blocks}"), move || {
            let values: Vec<f32> = floats(n, 1).iter().map(|x| x * x + 0.5).collect();
            let sum = values.iter().map(|value| f64::from(*value)).sum::<f64>() as f32;
            let bits = || values.iter().map(|value| value.to_bits());
            let extremes = vec![bits().min().unwrap_or(0), bits().max().unwrap_or(0)];
            Case::grid([blocks, 1, 1], [256, 1, 1])
                .word(n)
                .input(&values)
                .inout(&[0.0_f32], vec![sum], ANY_ORDER)
                .inout(&[u32::MAX, 0], extremes, 0.0)
        });
    }
    for n in [200_000_usize, 20_000_000] {
        set.add("dot_by_warp", format!("n={n}"), move || {
            let (x, y) = (floats(n, 1), floats(n, 2));
            let sum: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            Case::over(n / 4, 256).word(n / 4).input(&x).input(&y).inout(
                &[0.0_f32],
                vec![sum as f32],
                ANY_ORDER,
            )
        });
    }
    for (n, labels, sorted) in
        [(2_000_000_usize, 5000_u32, true), (1_000_000, 100, false), (8_000_000, 3_000_000, false)]
    {
        let order = if sorted { "sorted" } else { "skewed" };
        set.add("sum_labels", format!("n={n} labels={labels} {order}"), move || {
            let mut of: Vec<u32> = skewed(n, labels, 1);
            if sorted {
                of.sort_unstable();
            }
            let values = words(n, 50, 3);
            let mut sums = vec![0_u32; labels as usize];
            of.iter().zip(&values).for_each(|(label, value)| sums[*label as usize] += value);
            Case::over(n, 256).word(n).input(&of).input(&values).inout(
                &vec![0_u32; labels as usize],
                sums,
                0.0,
            )
        });
    }
    for (n, mean) in [(60_000_usize, 8), (900_000, 5)] {
        set.add("push_ranks", format!("n={n} mean={mean}"), move || {
            let pages = Rows::random(n, n, mean, 1);
            let ranks = floats(n, 3);
            let mut next = vec![0.0_f64; n];
            for (page, rank) in ranks.iter().enumerate() {
                let links = pages.of(page);
                let share = f64::from(*rank) / links.len() as f64;
                links.for_each(|link| next[pages.columns[link] as usize] += share);
            }
            Case::over(n, 128).word(n).input(&pages.starts).input(&pages.columns).input(&ranks).inout(
                &vec![0.0_f32; n],
                singles(&next),
                ANY_ORDER,
            )
        });
    }
    for (n, pixels) in [(1_000_000_usize, 640 * 480_u32), (4_000_000, 3840 * 2160)] {
        set.add("splat_points", format!("n={n} pixels={pixels}"), move || {
            let (at, depths) = (skewed(n, pixels, 1), words(n, 1 << 20, 3));
            let mut buffer = vec![0_u64; pixels as usize];
            for (i, (&pixel, &depth)) in at.iter().zip(&depths).enumerate() {
                let seen = &mut buffer[pixel as usize];
                *seen = (*seen).max(u64::from(depth) << 32 | i as u64);
            }
            Case::over(n, 256).word(n).input(&at).input(&depths).inout(
                &vec![0_u64; pixels as usize],
                buffer,
                0.0,
            )
        });
    }
    for (nx, ny, tile) in [(1600_usize, 1200_usize, 50_usize), (2000, 1500, 400)] {
        set.add("label_boxes", format!("nx={nx} ny={ny} tile={tile}"), move || {
            // A blob in each tile, of a label of its own.
            let across = nx.div_ceil(tile);
            let label = |x: usize, y: usize| {
                let number = y / tile * across + x / tile;
                let (dx, dy) = ((x % tile).abs_diff(tile / 2), (y % tile).abs_diff(tile / 2));
                let reach = tile / 4 + mix(number, 1) as usize % (tile / 4);
                if dx * dx + dy * dy < reach * reach { number as u32 + 1 } else { 0 }
            };
            let labels: Vec<u32> = (0..nx * ny).map(|at| label(at % nx, at / nx)).collect();
            let count = across * ny.div_ceil(tile) + 1;
            let mut boxes = [u32::MAX, 0, u32::MAX, 0].repeat(count);
            let empty = boxes.clone();
            for (at, &label) in labels.iter().enumerate().filter(|(_, label)| **label > 0) {
                let (x, y) = ((at % nx) as u32, (at / nx) as u32);
                let own = &mut boxes[4 * label as usize..][..4];
                own[0] = own[0].min(x);
                own[1] = own[1].max(x);
                own[2] = own[2].min(y);
                own[3] = own[3].max(y);
            }
            Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&labels).inout(&empty, boxes, 0.0)
        });
    }
    for (n, classes) in [(400_000_usize, 10_u32), (1_000_000, 200)] {
        set.add("confusion_matrix", format!("n={n} classes={classes}"), move || {
            let truths = words(4 * n, classes, 1);
            // Four of five are right.
            let guess = |(i, &truth): (usize, &u32)| {
                if mix(i, 2).is_multiple_of(5) { mix(i, 3) % classes } else { truth }
            };
            let guesses: Vec<u32> = truths.iter().enumerate().map(guess).collect();
            let cells: Vec<u32> =
                truths.iter().zip(&guesses).map(|(truth, guess)| truth * classes + guess).collect();
            let narrow =
                |numbers: &[u32]| -> Vec<u8> { numbers.iter().map(|number| *number as u8).collect() };
            let size = (classes * classes) as usize;
            Case::over(n, 256)
                .word(n)
                .word(classes as usize)
                .input(&narrow(&truths))
                .input(&narrow(&guesses))
                .inout(&vec![0_u32; size], counts(&cells, size), 0.0)
        });
    }
    for (nodes, n, near) in [(50_000_usize, 150_000_usize, true), (600_000, 1_500_000, false)] {
        let order = if near { "neighbours" } else { "random" };
        set.add("spring_forces", format!("nodes={nodes} springs={n} {order}"), move || {
            let first = words(n, nodes as u32, 1);
            let other = |(i, &a): (usize, &u32)| match near {
                true => (a + 1 + mix(i, 2) % 30) % nodes as u32,
                false => (a + 1 + mix(i, 2) % (nodes as u32 - 1)) % nodes as u32,
            };
            let mut springs: Vec<[u32; 2]> =
                first.iter().enumerate().map(|(i, a)| [*a, other((i, a))]).collect();
            if near {
                springs.sort_unstable();
            }
            let places = floats(4 * nodes, 3);
            let mut forces = vec![0.0_f64; 3 * nodes];
            for &[a, b] in &springs {
                let (a, b) = (a as usize, b as usize);
                let d: Vec<f64> =
                    (0..3).map(|k| f64::from(places[4 * b + k]) - f64::from(places[4 * a + k])).collect();
                let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01).sqrt();
                for (k, d) in d.iter().enumerate() {
                    let pull = (length - 1.0) / length * d;
                    forces[3 * a + k] += pull;
                    forces[3 * b + k] -= pull;
                }
            }
            Case::over(n, 256).word(n).input(springs.as_flattened()).input(&places).inout(
                &vec![0.0_f32; 3 * nodes],
                singles(&forces),
                ANY_ORDER,
            )
        });
    }
    for (n, vocabulary, reach) in [(300_000_usize, 512_usize, 5_usize), (700_000, 4096, 3)] {
        set.add("cooccurrences", format!("n={n} words={vocabulary} reach={reach}"), move || {
            // The most frequent words have numbers all over the vocabulary.
            let numbers = permutation(vocabulary);
            let text: Vec<u32> =
                skewed(n, vocabulary as u32, 1).iter().map(|word| numbers[*word as usize]).collect();
            let mut counts = vec![0_u32; vocabulary * vocabulary];
            for (i, word) in text.iter().enumerate() {
                for other in &text[i + 1..(i + 1 + reach).min(n)] {
                    counts[*word as usize * vocabulary + *other as usize] += 1;
                }
            }
            Case::over(n, 256).word(n).word(vocabulary).word(reach).input(&text).inout(
                &vec![0_u32; vocabulary * vocabulary],
                counts,
                0.0,
            )
        });
    }
}
