//! Data science, genomes, time series and statistics.

use super::Set;
use crate::{
    case::Case,
    data::{floats, mix, skewed, words},
};

/// Floats between -1 and 1.
fn centred(n: usize, seed: u64) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| 2.0 * value - 1.0).collect()
}

/// Genotypes as two planes of bits, a pair of rows for each 32 people, a column for each position of the genome.
fn genotypes(snps: usize, words: usize, seed: u64) -> Vec<u32> {
    let mut planes = vec![0; 2 * words * snps];
    for word in 0..words {
        for snp in 0..snps {
            // A share of 5/8 has the first genotype, 1/4 the second, 1/8 the third.
            let random = |k: usize| mix((word * snps + snp) * 3 + k, seed);
            let (a, b, c) = (random(0), random(1), random(2));
            planes[2 * word * snps + snp] = a | (b & c);
            planes[(2 * word + 1) * snps + snp] = !planes[2 * word * snps + snp] & (b | c);
        }
    }
    planes
}

/// Counts of the nine pairs of genotypes at two positions: four are counted, the others follow from the positions' own.
fn pair_counts(planes: &[Vec<[u64; 2]>], alone: &[[u32; 2]], people: u32, pair: [usize; 2]) -> [u32; 9] {
    let [first, second] = pair;
    let mut both = [[0; 2]; 2];
    for (a, b) in planes[first].iter().zip(&planes[second]) {
        for k in 0..2 {
            for l in 0..2 {
                both[k][l] += (a[k] & b[l]).count_ones();
            }
        }
    }
    let third = |k: usize| alone[first][k] - both[k][0] - both[k][1];
    let last: [u32; 2] = std::array::from_fn(|l| alone[second][l] - both[0][l] - both[1][l]);
    let rest = people - alone[first][0] - alone[first][1] - last[0] - last[1];
    [both[0][0], both[0][1], third(0), both[1][0], both[1][1], third(1), last[0], last[1], rest]
}

pub(super) fn add(set: &mut Set) {
    for (rows, columns) in [(48_000_usize, 27_usize), (580_000, 50)] {
        set.add("standardise_columns", format!("rows={rows} columns={columns}"), move || {
            let n = rows * columns;
            let (means, from) = (centred(columns, 1), centred(n, 3));
            let scales: Vec<f32> = floats(columns, 2).into_iter().map(|scale| scale + 0.5).collect();
            let standard = |i: usize| {
                let column = i % columns;
                ((f64::from(from[i]) - f64::from(means[column])) * f64::from(scales[column])) as f32
            };
            let expected = (0..n).map(standard).collect();
            Case::over(n, 256)
                .word(n)
                .word(columns)
                .input(&means)
                .input(&scales)
                .input(&from)
                .output::<f32>(expected, 1e-6)
        });
    }
    for (rows, features) in [(100_000_usize, 14_usize), (1_000_000, 28)] {
        set.add("quantile_bins", format!("rows={rows} features={features}"), move || {
            let from = floats(rows * features, 1);
            let mut edges = floats(255 * features, 2);
            edges.chunks_mut(255).for_each(|edges| edges.sort_unstable_by(f32::total_cmp));
            let expected = from
                .chunks(rows)
                .zip(edges.chunks(255))
                .flat_map(|(column, edges)| {
                    column.iter().map(|value| edges.partition_point(|edge| edge <= value) as u8)
                })
                .collect();
            Case::grid([rows.div_ceil(256) as u32, features as u32, 1], [256, 1, 1])
                .word(rows)
                .input(&edges)
                .input(&from)
                .output::<u8>(expected, 0.0)
        });
    }
    for (n, features) in [(60_000_usize, 20_usize), (1_000_000, 28)] {
        set.add("logistic_gradient", format!("samples={n} features={features}"), move || {
            let (weights, samples) = (centred(features, 1), centred(features * n, 2));
            let score = |i: usize| -> f64 {
                (0..features).map(|k| f64::from(samples[k * n + i]) * f64::from(weights[k])).sum()
            };
            // The true model's weights are different.
            let truth = |i: usize| -> f32 {
                (0..features).map(|k| samples[k * n + i] * weights[features - 1 - k]).sum()
            };
            let labels: Vec<u8> = (0..n).map(|i| u8::from(truth(i) > 0.0)).collect();
            let mut gradient = vec![0.0_f64; features];
            for i in 0..n {
                let residual = 1.0 / (1.0 + (-score(i)).exp()) - f64::from(labels[i]);
                for (k, sum) in gradient.iter_mut().enumerate() {
                    *sum += residual * f64::from(samples[k * n + i]);
                }
            }
            let expected = gradient.into_iter().map(|sum| sum as f32).collect();
            Case::over(n, 256)
                .word(n)
                .word(features)
                .input(&weights)
                .input(&samples)
                .input(&labels)
                .inout::<f32>(&vec![0.0; features], expected, 1e-3)
        });
    }
    for (points, dimensions, centres) in [(20_000_usize, 64_usize, 10_usize), (200_000, 128, 15)] {
        let parameters = format!("points={points} dimensions={dimensions} centres={centres}");
        set.add("opening_gain", parameters, move || {
            let places = floats(points * dimensions, 1);
            let weights: Vec<f32> =
                words(points, 4, 2).into_iter().map(|weight| 1.0 + weight as f32).collect();
            let assigned = words(points, centres as u32, 3);
            // Centres are points; only their numbers count here.
            let owners: Vec<u32> = assigned.iter().map(|&centre| centre * 11 + 5).collect();
            let mut columns = vec![u32::MAX; points];
            (0..centres).for_each(|centre| columns[centre * 11 + 5] = centre as u32);
            let candidate = points / 3;
            let mut offers = vec![0.0_f64; points];
            for dimension in places.chunks(points) {
                for (offer, place) in offers.iter_mut().zip(dimension) {
                    *offer += (f64::from(*place) - f64::from(dimension[candidate])).powi(2);
                }
            }
            offers.iter_mut().zip(&weights).for_each(|(offer, weight)| *offer *= f64::from(*weight));
            // No cost is so near to the candidate's that rounding decides; one point in five moves.
            let factor = |i: usize| {
                let share = f64::from(mix(i, 4)) / 4_294_967_296.0;
                if mix(i, 5).is_multiple_of(5) { 1.1 + share } else { 0.2 + 0.7 * share }
            };
            let costs: Vec<f32> = (0..points).map(|i| (factor(i) * (offers[i] + 0.01)) as f32).collect();
            let mut lower = vec![0.0_f32; points * (centres + 1)];
            let mut switched = vec![0_u8; points];
            for i in 0..points {
                let gain = f64::from(costs[i]) - offers[i];
                switched[i] = u8::from(gain > 0.0);
                let column = if gain > 0.0 { centres } else { assigned[i] as usize };
                lower[i * (centres + 1) + column] = -gain.abs() as f32;
            }
            Case::over(points, 256)
                .word(points)
                .word(dimensions)
                .word(centres)
                .word(candidate)
                .input(&places)
                .input(&weights)
                .input(&costs)
                .input(&owners)
                .input(&columns)
                .inout::<f32>(&vec![0.0; points * (centres + 1)], lower, 1e-4)
                .output::<u8>(switched, 0.0)
        });
    }
    for (snps, cases, controls) in [(300_usize, 47_usize, 63_usize), (1000, 60, 68)] {
        let parameters = format!("snps={snps} cases={} controls={}", 32 * cases, 32 * controls);
        set.add("snp_pairs", parameters, move || {
            let data = [(genotypes(snps, cases, 1), cases), (genotypes(snps, controls, 2), controls)];
            let mut factorials = vec![0.0_f64];
            for number in 1..=32 * (cases + controls) + 1 {
                factorials.push(factorials[number - 1] + (number as f64).ln());
            }
            let groups = data.each_ref().map(|(planes, words)| {
                let word = |at: usize, k: usize, snp: usize| {
                    planes.get((2 * at + k) * snps + snp).map_or(0, |&word| u64::from(word))
                };
                let bits: Vec<Vec<[u64; 2]>> = (0..snps)
                    .map(|snp| {
                        let pair = |at, k| word(2 * at, k, snp) | word(2 * at + 1, k, snp) << 32;
                        (0..words.div_ceil(2)).map(|at| [pair(at, 0), pair(at, 1)]).collect()
                    })
                    .collect();
                let count = |bits: &Vec<[u64; 2]>, k: usize| bits.iter().map(|b| b[k].count_ones()).sum();
                let alone: Vec<[u32; 2]> = bits.iter().map(|bits| [count(bits, 0), count(bits, 1)]).collect();
                (bits, alone, 32 * *words as u32)
            });
            let mut scores = vec![0.0_f32; snps * snps];
            for first in 0..snps {
                for second in first + 1..snps {
                    let [ill, well] = groups
                        .each_ref()
                        .map(|(bits, alone, people)| pair_counts(bits, alone, *people, [first, second]));
                    let cell = |k: usize| {
                        let (a, b) = (ill[k] as usize, well[k] as usize);
                        factorials[a + b + 1] - factorials[a] - factorials[b]
                    };
                    scores[first * snps + second] = (0..9).map(cell).sum::<f64>() as f32;
                }
            }
            let factorials: Vec<f32> = factorials.into_iter().map(|value| value as f32).collect();
            Case::plane([snps, snps], [32, 8])
                .word(snps)
                .word(cases)
                .word(controls)
                .input(&data[0].0)
                .input(&data[1].0)
                .input(&factorials)
                .inout::<f32>(&vec![0.0; snps * snps], scores, 1e-4)
        });
    }
    for sites in [40_000_usize, 1_100_003] {
        set.add("site_partials", format!("sites={sites} rates=4"), move || {
            let (first_matrices, second_matrices) = (floats(64, 1), floats(64, 2));
            let (first, second) = (floats(sites * 16, 3), floats(sites * 16, 4));
            let sum = |matrices: &[f32], partials: &[f32], i: usize| -> f64 {
                let (rate, site, state) = (i / (4 * sites), i / 4 * 4, i % 4);
                let row = &matrices[rate * 16 + state * 4..][..4];
                row.iter().zip(&partials[site..]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            let expected = (0..16 * sites)
                .map(|i| (sum(&first_matrices, &first, i) * sum(&second_matrices, &second, i)) as f32)
                .collect();
            Case::grid([sites.div_ceil(64) as u32, 4, 1], [256, 1, 1])
                .word(sites)
                .input(&first_matrices)
                .input(&second_matrices)
                .input(&first)
                .input(&second)
                .output::<f32>(expected, 1e-5)
        });
    }
    for (series, steps) in [(5000_usize, 250_usize), (60_000, 500)] {
        set.add("exponential_averages", format!("series={series} steps={steps}"), move || {
            let (fast, slow, signal) = (2.0_f32 / 13.0, 2.0_f32 / 27.0, 2.0_f32 / 10.0);
            let prices: Vec<f32> =
                floats(series * steps, 1).into_iter().map(|price| 20.0 + 10.0 * price).collect();
            let mut expected = vec![0.0_f32; series * steps];
            let mut states: Vec<[f64; 3]> =
                prices[..series].iter().map(|&price| [price.into(), price.into(), 0.0]).collect();
            for (prices, results) in prices.chunks(series).zip(expected.chunks_mut(series)) {
                for ((state, &price), result) in states.iter_mut().zip(prices).zip(results) {
                    let [quick, calm, average] = state;
                    *quick += f64::from(fast) * (f64::from(price) - *quick);
                    *calm += f64::from(slow) * (f64::from(price) - *calm);
                    *average += f64::from(signal) * (*quick - *calm - *average);
                    *result = (*quick - *calm - *average) as f32;
                }
            }
            Case::over(series, 256)
                .word(series)
                .word(steps)
                .single(fast)
                .single(slow)
                .single(signal)
                .input(&prices)
                .output::<f32>(expected, 1e-3)
        });
    }
    for (nx, ny, points) in [(100_usize, 100_usize, 2500_usize), (250, 200, 10_000)] {
        set.add("kernel_density", format!("nx={nx} ny={ny} points={points}"), move || {
            // A bandwidth of 0.1; the exponential of a sum is a product.
            let (sharpness, scale) = (50.0_f32, 1.0 / (std::f32::consts::TAU * 0.01 * points as f32));
            let samples: Vec<f32> = skewed(2 * points, 1 << 24, 2, 1)
                .into_iter()
                .map(|place| place as f32 / 16_777_216.0)
                .collect();
            let factors = |n: usize, axis: usize| -> Vec<Vec<f64>> {
                let factor = |k: usize, sample: &[f32]| {
                    let apart = (k as f64 + 0.5) / n as f64 - f64::from(sample[axis]);
                    (-f64::from(sharpness) * apart * apart).exp()
                };
                (0..n).map(|k| samples.chunks(2).map(|sample| factor(k, sample)).collect()).collect()
            };
            let (across, down) = (factors(nx, 0), factors(ny, 1));
            let expected = (0..nx * ny)
                .map(|i| {
                    let terms = across[i % nx].iter().zip(&down[i / nx]);
                    (terms.map(|(a, b)| a * b).sum::<f64>() * f64::from(scale)) as f32
                })
                .collect();
            Case::over(nx * ny, 256)
                .word(nx)
                .word(ny)
                .word(points)
                .single(sharpness)
                .single(scale)
                .input(&samples)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (resamples, n) in [(10_000_usize, 1000_usize), (100_000, 2000)] {
        set.add("bootstrap_means", format!("resamples={resamples} n={n}"), move || {
            let (values, seed) = (floats(n, 1), 2009_u32);
            let mean = |i: usize| {
                let mut state = (i as u32 ^ seed).wrapping_mul(0x9E37_79B1) | 1;
                let mut sum = 0.0_f64;
                for _ in 0..n {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    sum += f64::from(values[((u64::from(state) * n as u64) >> 32) as usize]);
                }
                (sum / n as f64) as f32
            };
            let expected = (0..resamples).map(mean).collect();
            Case::over(resamples, 128)
                .word(resamples)
                .word(n)
                .word(seed as usize)
                .input(&values)
                .output::<f32>(expected, 1e-4)
        });
    }
}
