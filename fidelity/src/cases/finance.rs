//! Finance, physics and fractals.

use super::Set;
use crate::{
    case::Case,
    data::{doubles, floats, mix},
};

/// The cumulated normal distribution, by the same polynomial.
fn normal(d: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let polynomial = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153]
        .into_iter()
        .fold(0.0, |sum, coefficient| sum * k + coefficient);
    let tail = 0.39894228 * (-0.5 * d * d).exp() * k * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

pub(super) fn add(set: &mut Set) {
    for n in [1_usize << 20, 1 << 24] {
        set.add("black_scholes", format!("n={n}"), move || {
            let in_range = |seed, low: f32, high: f32| -> Vec<f32> {
                floats(n, seed).into_iter().map(|value| low + (high - low) * value).collect()
            };
            let [price, strike, years] =
                [in_range(1, 5.0, 30.0), in_range(2, 1.0, 100.0), in_range(3, 0.25, 10.0)];
            let (mut calls, mut puts) = (Vec::with_capacity(n), Vec::with_capacity(n));
            for i in 0..n {
                let [s, x, t] = [price[i], strike[i], years[i]].map(f64::from);
                let d1 = ((s / x).ln() + (0.02 + 0.045) * t) / (0.3 * t.sqrt());
                let d2 = d1 - 0.3 * t.sqrt();
                let discount = x * (-0.02 * t).exp();
                calls.push((s * normal(d1) - discount * normal(d2)) as f32);
                puts.push((discount * (1.0 - normal(d2)) - s * (1.0 - normal(d1))) as f32);
            }
            Case::over(n, 256)
                .word(n)
                .input(&price)
                .input(&strike)
                .input(&years)
                .output::<f32>(calls, 1e-4)
                .output::<f32>(puts, 1e-4)
        });
    }
    let (threads, tries) = (1 << 17, 128);
    set.add("monte_carlo_pi", format!("threads={threads} tries={tries}"), move || {
        let seeds: Vec<u32> = (0..threads).map(|i| mix(i, 1) | 1).collect();
        let hits = |&seed: &u32| {
            let mut state = seed;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                (state >> 8) as f32 / 16_777_216.0
            };
            (0..tries).filter(|_| next().powi(2) + next().powi(2) < 1.0).count() as u32
        };
        let expected = seeds.iter().map(hits).collect();
        Case::over(threads, 256).word(tries).input(&seeds).output::<u32>(expected, 0.0)
    });
    let (threads, steps) = (1 << 17, 64);
    set.add("monte_carlo_paths", format!("threads={threads} steps={steps}"), move || {
        let seeds: Vec<u32> = (0..threads).map(|i| mix(i, 1)).collect();
        let path = |&seed: &u32| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from((state >> 8) + 1) / 16_777_217.0
            };
            let mut value = 1.0;
            for _ in 0..steps {
                let radius = (-2.0 * next().ln()).sqrt();
                let angle = std::f64::consts::TAU * next() - std::f64::consts::PI;
                value *= (0.01 * radius * angle.cos() - 0.000_05).exp();
            }
            value as f32
        };
        let expected = seeds.iter().map(path).collect();
        Case::over(threads, 256).word(steps).input(&seeds).output::<f32>(expected, 1e-3)
    });
    let options = 2048;
    set.add("binomial_option", format!("options={options} steps=255"), move || {
        let strikes: Vec<f32> = floats(options, 1).into_iter().map(|value| 60.0 + 80.0 * value).collect();
        let price = |&strike: &f32| {
            let mut values: Vec<f64> = (0..256)
                .map(|leaf| {
                    (100.0 * (0.02 * (2.0 * f64::from(leaf) - 255.0)).exp() - f64::from(strike)).max(0.0)
                })
                .collect();
            for last in (1..256).rev() {
                for i in 0..last {
                    values[i] = 0.999 * (0.505 * values[i + 1] + 0.495 * values[i]);
                }
            }
            values[0] as f32
        };
        let expected = strikes.iter().map(price).collect();
        Case::grid([options as u32, 1, 1], [256, 1, 1]).input(&strikes).output::<f32>(expected, 1e-3)
    });
    let [nx, ny] = [768_usize, 512];
    set.add("mandelbrot", format!("nx={nx} ny={ny}"), move || {
        let rounds = |i: usize| {
            let (cx, cy) = (3.0 * (i % nx) as f32 / nx as f32 - 2.0, 2.0 * (i / nx) as f32 / ny as f32 - 1.0);
            let (mut zx, mut zy, mut round) = (0.0_f32, 0.0_f32, 0);
            while round < 256 && zx * zx + zy * zy <= 4.0 {
                (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
                round += 1;
            }
            round
        };
        let expected: Vec<u32> = (0..nx * ny).map(rounds).collect();
        // ptxas joins products and sums, so points at the edge may take another number of rounds.
        let alike = move |found: &[u32]| {
            let other = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
            if other * 100 <= found.len() { Ok(()) } else { Err(format!("{other} points differ")) }
        };
        Case::plane([nx, ny], [16, 16]).word(nx).word(ny).holding(&vec![u32::MAX; nx * ny], alike)
    });
    let n = 8192_usize;
    set.add("nbody", format!("n={n}"), move || {
        let bodies = floats(4 * n, 1);
        let pulled = |i: usize| {
            let mut sum = [0.0_f64; 3];
            for other in bodies.chunks(4) {
                let to: [f64; 3] = std::array::from_fn(|axis| f64::from(other[axis] - bodies[4 * i + axis]));
                let square = to.iter().map(|d| d * d).sum::<f64>() + 0.01;
                let pull = f64::from(other[3]) / (square * square.sqrt());
                (0..3).for_each(|axis| sum[axis] += pull * to[axis]);
            }
            sum.map(|sum| sum as f32)
        };
        // All bodies would take long to check: every 64th.
        let expected: Vec<[f32; 3]> = (0..n).step_by(64).map(pulled).collect();
        let near = move |found: &[f32]| {
            let far = found.chunks(3).step_by(64).zip(&expected).position(|(found, expected)| {
                let scale = expected.iter().map(|value| value.abs()).fold(1.0, f32::max);
                let wrong = |(a, b): (&f32, &f32)| (a - b).is_nan() || (a - b).abs() > 1e-3 * scale;
                found.iter().zip(expected).any(wrong)
            });
            far.map_or(Ok(()), |at| Err(format!("the force on body {} is wrong", 64 * at)))
        };
        Case::over(n, 256).word(n).input(&bodies).holding(&vec![f32::NAN; 3 * n], near)
    });
    for (n, count) in [(1_usize << 15, 64_usize), (1 << 20, 32)] {
        set.add("lennard_jones", format!("n={n} neighbours={count}"), move || {
            let positions: Vec<f32> = floats(4 * n, 1).into_iter().map(|value| 6.0 * value).collect();
            let neighbours: Vec<u32> =
                (0..n * count).map(|at| ((at % n) as u32 + mix(at, 2) % 2048) % n as u32).collect();
            let mut expected = vec![0.0_f32; 3 * n];
            for i in 0..n {
                let mut sum = [0.0_f64; 3];
                for k in 0..count {
                    let other = neighbours[k * n + i] as usize;
                    let from: [f32; 3] =
                        std::array::from_fn(|axis| positions[4 * i + axis] - positions[4 * other + axis]);
                    let square = from[0] * from[0] + from[1] * from[1] + from[2] * from[2] + 0.1;
                    if square < 16.0 {
                        let inverse = 1.0 / f64::from(square);
                        let sixth = inverse.powi(3);
                        let strength = inverse * sixth * (1.5 * sixth - 2.0);
                        (0..3).for_each(|axis| sum[axis] += strength * f64::from(from[axis]));
                    }
                }
                (0..3).for_each(|axis| expected[3 * i + axis] = sum[axis] as f32);
            }
            Case::over(n, 256).word(n).word(count).input(&neighbours).input(&positions).output(expected, 1e-2)
        });
    }
    let ([nx, ny], charges) = ([256_usize, 256], 128_usize);
    set.add("coulomb_grid", format!("nx={nx} ny={ny} charges={charges}"), move || {
        let atoms: Vec<f64> = doubles(3 * charges, 1).into_iter().map(|value| 20.0 * value).collect();
        let potential = |i: usize| -> f64 {
            let (x, y) = ((i % nx) as f64 * 0.1, (i / nx) as f64 * 0.1);
            let part = |atom: &[f64]| atom[2] / ((atom[0] - x).powi(2) + (atom[1] - y).powi(2) + 0.25).sqrt();
            atoms.chunks(3).map(part).sum()
        };
        let expected = (0..nx * ny).map(potential).collect();
        Case::plane([nx, ny], [32, 8]).word(nx).word(charges).input(&atoms).output::<f64>(expected, 1e-10)
    });
    let n = 1 << 18;
    set.add("dhorner", format!("n={n} degree=63"), move || {
        let (coefficients, x) = (doubles(64, 1), doubles(n, 2));
        let horner = |&x: &f64| coefficients.iter().fold(0.0_f64, |sum, &c| sum.mul_add(x, c));
        let expected = x.iter().map(horner).collect();
        Case::over(n, 256).word(n).input(&coefficients).input(&x).output::<f64>(expected, 1e-12)
    });
}
