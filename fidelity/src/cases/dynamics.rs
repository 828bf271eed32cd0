//! Dynamics.

use super::Set;
use crate::{
    case::Case,
    data::{floats, mix},
};

/// The numbers below `n`, each moved by less than `reach` places: how a mesh's cells or faces are numbered.
fn shuffled(n: usize, reach: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| i + mix(i, seed) as usize % reach);
    order
}

/// Lorenz's equations.
fn lorenz([x, y, z]: [f64; 3], rho: f64) -> [f64; 3] {
    [10.0 * (y - x), x * (rho - z) - y, x * y - 8.0 / 3.0 * z]
}

/// The flux of a gas through a face with this normal, and the fastest wave's speed.
fn gas_flux([density, mx, my, energy]: [f64; 4], [nx, ny]: [f64; 2]) -> ([f64; 4], f64) {
    let pressure = 0.4 * (energy - 0.5 * (mx * mx + my * my) / density);
    let through = (mx * nx + my * ny) / density;
    let flux = [
        density * through,
        mx * through + pressure * nx,
        my * through + pressure * ny,
        (energy + pressure) * through,
    ];
    (flux, through.abs() + (1.4 * pressure / density).sqrt())
}

/// A random number for a counter and a key: Philox 2x32 with ten rounds.
fn philox(counter: [u32; 2], key: u32) -> u32 {
    let round = |[low, high]: [u32; 2], k: u32| {
        let product = u64::from(low) * 0xD256_D193;
        let key = key.wrapping_add(k.wrapping_mul(0x9E37_79B9));
        [(product >> 32) as u32 ^ key ^ high, product as u32]
    };
    (0..10).fold(counter, round)[0]
}

pub(super) fn add(set: &mut Set) {
    for (n, steps) in [(20_000_usize, 40_usize), (100_003, 120)] {
        set.add("rk4_lorenz", format!("n={n} steps={steps}"), move || {
            let rho: Vec<f32> = floats(n, 1).into_iter().map(|value| 20.0 + 10.0 * value).collect();
            let from: Vec<f32> = floats(3 * n, 2).into_iter().map(|value| 1.0 + 5.0 * value).collect();
            let step = 0.005;
            let mut expected = vec![0.0_f32; 3 * n];
            for i in 0..n {
                let mut state: [f64; 3] = std::array::from_fn(|axis| from[axis * n + i].into());
                let slope = |state: [f64; 3]| lorenz(state, rho[i].into());
                for _ in 0..steps {
                    let moved = |slope: [f64; 3], step: f64| {
                        std::array::from_fn(|axis| state[axis] + step * slope[axis])
                    };
                    let first = slope(state);
                    let second = slope(moved(first, 0.5 * step));
                    let third = slope(moved(second, 0.5 * step));
                    let fourth = slope(moved(third, step));
                    let sum = std::array::from_fn(|k| first[k] + 2.0 * (second[k] + third[k]) + fourth[k]);
                    state = moved(sum, step / 6.0);
                }
                (0..3).for_each(|axis| expected[axis * n + i] = state[axis] as f32);
            }
            Case::over(n, 128)
                .word(n)
                .word(steps)
                .single(step as f32)
                .input(&rho)
                .input(&from)
                .output(expected, 1e-4)
        });
    }
    for [nx, ny] in [[121_usize, 90_usize], [500, 411]] {
        set.add("face_flux", format!("cells={}", nx * ny), move || {
            let cells = nx * ny;
            let number = shuffled(cells, 300, 1);
            let across = (0..cells).filter(|i| i % nx > 0).map(|i| [number[i - 1], number[i]]);
            let along = (nx..cells).map(|i| [number[i - nx], number[i]]);
            let mut pairs: Vec<[usize; 2]> = across.chain(along).collect();
            pairs.sort_by_key(|pair| pair[0]);
            let faces = pairs.len();
            let normals: Vec<f32> = floats(2 * faces, 2).into_iter().map(|value| value - 0.5).collect();
            let states: Vec<f32> = floats(4 * cells, 3)
                .into_iter()
                .enumerate()
                .map(|(k, value)| value + [1.0, -0.5, -0.5, 3.0][k % 4])
                .collect();
            let state = |cell: usize| -> [f64; 4] { std::array::from_fn(|k| states[4 * cell + k].into()) };
            let mut expected = vec![0.0_f64; 4 * cells];
            for (&[a, b], normal) in pairs.iter().zip(normals.chunks(2)) {
                let normal = [f64::from(normal[0]), f64::from(normal[1])];
                let area = normal[0].hypot(normal[1]);
                let unit = normal.map(|part| part / area);
                let (left, right) = (state(a), state(b));
                let ((out, fast), (into, faster)) = (gas_flux(left, unit), gas_flux(right, unit));
                for k in 0..4 {
                    let flux = out[k] + into[k] - fast.max(faster) * (right[k] - left[k]);
                    expected[4 * a + k] -= 0.5 * area * flux;
                    expected[4 * b + k] += 0.5 * area * flux;
                }
            }
            let expected = expected.into_iter().map(|value| value as f32).collect();
            let pairs: Vec<u32> = pairs.into_iter().flatten().map(|cell| cell as u32).collect();
            Case::over(faces, 128).word(faces).input(&pairs).input(&normals).input(&states).inout::<f32>(
                &vec![0.0; 4 * cells],
                expected,
                1e-4,
            )
        });
    }
    for [nx, ny, nz] in [[31_usize, 30_usize, 29_usize], [80, 63, 61]] {
        let elements = nx * ny * nz;
        set.add("element_product", format!("elements={elements}"), move || {
            let points = (nx + 1) * (ny + 1) * (nz + 1);
            let corners = |element: usize| {
                let (x, y, z) = (element % nx, element / nx % ny, element / nx / ny);
                (0..8).map(move |k| (((z + k / 4) * (ny + 1) + y + k / 2 % 2) * (nx + 1) + x + k % 2) as u32)
            };
            let nodes: Vec<u32> = (0..elements).flat_map(corners).collect();
            let mut matrices: Vec<f32> =
                floats(64 * elements, 1).into_iter().map(|value| value - 0.4).collect();
            for matrix in matrices.chunks_mut(64) {
                (0..64).for_each(|k| matrix[k] = matrix[(k % 8).min(k / 8) * 8 + (k % 8).max(k / 8)]);
            }
            let x = floats(points, 2);
            let mut expected = vec![0.0_f32; points];
            for (nodes, matrix) in nodes.chunks(8).zip(matrices.chunks(64)) {
                for (&node, row) in nodes.iter().zip(matrix.chunks(8)) {
                    let products = row.iter().zip(nodes).map(|(value, &other)| value * x[other as usize]);
                    expected[node as usize] += products.sum::<f32>();
                }
            }
            Case::over(8 * elements, 256)
                .word(elements)
                .input(&nodes)
                .input(&matrices)
                .input(&x)
                .inout::<f32>(&vec![0.0; points], expected, 1e-4)
        });
    }
    for [nx, ny] in [[600_usize, 402_usize], [5000, 3300]] {
        set.add("ising_sweep", format!("nx={nx} ny={ny}"), move || {
            let (half, colour, sweep) = (nx / 2, 1, 7);
            // The plane of all spins, and each colour's own.
            let plane: Vec<i8> =
                (0..nx * ny).map(|i| if mix(i, 1).is_multiple_of(3) { -1 } else { 1 }).collect();
            let column = |colour: usize, i: usize| 2 * (i % half) + (i / half + colour) % 2;
            let of = |colour: usize| -> Vec<i8> {
                (0..half * ny).map(|i| plane[i / half * nx + column(colour, i)]).collect()
            };
            let limits: [u32; 5] =
                std::array::from_fn(|k| ((-0.8 * (2.0 * k as f64 - 4.0)).exp() * 4_294_967_296.0) as u32);
            let spins = of(colour);
            let flipped = |i: usize| {
                let (x, y) = (column(colour, i), i / half);
                let around = [(x + 1, y), (x + nx - 1, y), (x, y + 1), (x, y + ny - 1)]
                    .map(|(x, y)| plane[y % ny * nx + x % nx]);
                let agree = (spins[i] * around.iter().sum::<i8>() + 4) / 2;
                let flips = philox([i as u32, sweep], 2009 + colour as u32) <= limits[agree as usize];
                if flips { -spins[i] } else { spins[i] }
            };
            let expected = (0..half * ny).map(flipped).collect();
            Case::plane([half, ny], [32, 8])
                .word(half)
                .word(ny)
                .word(colour)
                .word(sweep as usize)
                .input(&limits)
                .input(&of(1 - colour))
                .inout(&spins, expected, 0.0)
        });
    }
    for (n, tolerance) in [(5003_usize, 0.3_f32), (120_000, 0.01)] {
        set.add("adaptive_simpson", format!("n={n} tolerance={tolerance}"), move || {
            let centres = floats(n, 1);
            let widths: Vec<f32> = floats(n, 2).into_iter().map(|value| 0.03 + 0.2 * value).collect();
            let integral = |(&centre, &width): (&f32, &f32)| {
                let (centre, width) = (f64::from(centre), f64::from(width));
                ((((1.0 - centre) / width).atan() + (centre / width).atan()) / width) as f32
            };
            let expected = centres.iter().zip(&widths).map(integral).collect();
            Case::over(n, 128)
                .word(n)
                .single(tolerance)
                .input(&centres)
                .input(&widths)
                .output::<f32>(expected, 3e-3)
        });
    }
}
