//! Fields on lattices, and other sciences.

use super::{Set, grids::inside};
use crate::{
    case::Case,
    data::{doubles, floats, mix, words},
};

/// The nineteen velocities, opposite ones next to each other.
const VELOCITIES: [[isize; 3]; 19] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

/// What a cell sends along each velocity.
fn sent(f: [f64; 19], solid: bool, rate: f64) -> [f64; 19] {
    if solid {
        return std::array::from_fn(|k| f[if k == 0 { 0 } else { ((k - 1) ^ 1) + 1 }]);
    }
    let density: f64 = f.iter().sum();
    let speed: [f64; 3] = std::array::from_fn(|axis| {
        f.iter().zip(VELOCITIES).map(|(f, velocity)| f * velocity[axis] as f64).sum::<f64>() / density
    });
    let square: f64 = speed.iter().map(|speed| speed * speed).sum();
    std::array::from_fn(|k| {
        let weight = [1.0 / 3.0, 1.0 / 18.0, 1.0 / 36.0][usize::from(k > 0) + usize::from(k > 6)];
        let along: f64 = (0..3).map(|axis| 3.0 * VELOCITIES[k][axis] as f64 * speed[axis]).sum();
        let equilibrium = weight * density * (1.0 + along + 0.5 * along * along - 1.5 * square);
        f[k] + rate * (equilibrium - f[k])
    })
}

/// The flux of shallow water along an axis, and the fastest wave's speed.
fn water([depth, u, v]: [f64; 3], axis: usize) -> ([f64; 3], f64) {
    let speed = [u, v][axis] / depth;
    let mut flux = [depth, u, v].map(|part| part * speed);
    flux[1 + axis] += 0.5 * 9.81 * depth * depth;
    (flux, speed.abs() + (9.81 * depth).sqrt())
}

pub(super) fn add(set: &mut Set) {
    for [nx, ny, nz] in [[48_usize, 40_usize, 36_usize], [150, 130, 96]] {
        set.add("lbm_d3q19", format!("nx={nx} ny={ny} nz={nz}"), move || {
            let cells = nx * ny * nz;
            // Spheres of rock, some of them outside.
            let rock = |i: usize| {
                let at = [i % nx, i / nx % ny, i / nx / ny];
                let square: usize = at.iter().map(|at| (at % 30).abs_diff(15).pow(2)).sum();
                u8::from(square < 81)
            };
            let solid: Vec<u8> = (0..cells).map(rock).collect();
            let from: Vec<f32> = floats(19 * cells, 1).into_iter().map(|value| 0.1 + 0.05 * value).collect();
            let mut expected = vec![0.0_f32; 19 * cells];
            for i in 0..cells {
                let out = sent(std::array::from_fn(|k| from[k * cells + i].into()), solid[i] != 0, 0.7);
                let shift =
                    |at: usize, by: isize, n: usize| (at as isize + by).rem_euclid(n as isize) as usize;
                for (k, [dx, dy, dz]) in VELOCITIES.into_iter().enumerate() {
                    let z = shift(i / nx / ny, dz, nz);
                    let (x, y) = (shift(i % nx, dx, nx), shift(i / nx % ny, dy, ny));
                    expected[k * cells + (z * ny + y) * nx + x] = out[k] as f32;
                }
            }
            let blocks = [nx.div_ceil(32), ny.div_ceil(4), nz];
            Case::grid(blocks.map(|n| n as u32), [32, 4, 1])
                .word(nx)
                .word(ny)
                .word(nz)
                .single(0.7)
                .input(&solid)
                .input(&from)
                .output(expected, 1e-5)
        });
    }
    for [nx, ny, nz] in [[70_usize, 66_usize, 50_usize], [250, 200, 160]] {
        set.add("gray_scott", format!("nx={nx} ny={ny} nz={nz}"), move || {
            let plane = nx * ny;
            let (u, v) = (doubles(plane * nz, 1), doubles(plane * nz, 2));
            let (mut next_u, mut next_v) = (vec![0.0_f64; plane * nz], vec![0.0_f64; plane * nz]);
            let (feed, kill) = (0.04, 0.06);
            for z in 1..nz - 1 {
                for i in inside([nx, ny], 1).map(|i| z * plane + i) {
                    let spread = |field: &[f64]| {
                        let sum: f64 =
                            [1, nx, plane].iter().map(|step| field[i - step] + field[i + step]).sum();
                        sum / 6.0 - field[i]
                    };
                    let reaction = u[i] * v[i].powi(2);
                    next_u[i] = u[i] + 0.2 * spread(&u) - reaction + feed * (1.0 - u[i]);
                    next_v[i] = v[i] + 0.1 * spread(&v) + reaction - (feed + kill) * v[i];
                }
            }
            let blocks = [nx.div_ceil(32), ny.div_ceil(4), nz.div_ceil(2)];
            let zero = vec![0.0_f64; plane * nz];
            Case::grid(blocks.map(|n| n as u32), [32, 4, 2])
                .word(nx)
                .word(ny)
                .word(nz)
                .double(feed)
                .double(kill)
                .input(&u)
                .input(&v)
                .inout(&zero, next_u, 1e-12)
                .inout(&zero, next_v, 1e-12)
        });
    }
    for [nx, ny] in [[700_usize, 500_usize], [5200, 3800]] {
        set.add("sandpile_topple", format!("nx={nx} ny={ny}"), move || {
            let from: Vec<i32> = words(nx * ny, 7, 1).into_iter().map(|grains| grains as i32).collect();
            let mut expected = from.clone();
            for i in (0..nx * ny).filter(|&i| from[i] >= 4) {
                let (x, y) = (i % nx, i / nx);
                expected[i] -= 4;
                let beside = [(x > 0, i.wrapping_sub(1)), (x + 1 < nx, i + 1)];
                let above = [(y > 0, i.wrapping_sub(nx)), (y + 1 < ny, i + nx)];
                for (_, at) in beside.into_iter().chain(above).filter(|(exists, _)| *exists) {
                    expected[at] += 1;
                }
            }
            Case::plane([nx, ny], [32, 8]).word(nx).word(ny).input(&from).output(expected, 0.0)
        });
    }
    for (qubits, target, control) in [(18_usize, 5_usize, 11_usize), (24, 17, 6)] {
        set.add("apply_gate", format!("qubits={qubits} target={target} control={control}"), move || {
            let scale = (0.5_f32).powi(qubits as i32 / 2);
            let state: Vec<f32> =
                floats(2 << qubits, 1).into_iter().map(|value| (value - 0.5) * scale).collect();
            // A unitary matrix: a rotation with phases.
            let (sine, cosine) = 0.7_f64.sin_cos();
            let phase = |size: f64, angle: f64| [size * angle.cos(), size * angle.sin()];
            let gate = [phase(cosine, 0.3), phase(-sine, 1.1), phase(sine, 0.2), phase(cosine, 1.0)];
            let mut expected = state.clone();
            for i in (0..1 << qubits).filter(|i| i >> control & 1 == 1 && i >> target & 1 == 0) {
                let pair = [i, i | 1 << target];
                for (row, at) in pair.into_iter().enumerate() {
                    let (mut real, mut imaginary) = (0.0, 0.0);
                    for (column, from) in pair.into_iter().enumerate() {
                        let [a, b] = gate[2 * row + column];
                        let (c, d) = (f64::from(state[2 * from]), f64::from(state[2 * from + 1]));
                        real += a * c - b * d;
                        imaginary += a * d + b * c;
                    }
                    (expected[2 * at], expected[2 * at + 1]) = (real as f32, imaginary as f32);
                }
            }
            let gate = gate.map(|entry| entry.map(|part| part as f32));
            Case::over(1 << (qubits - 2), 256)
                .word(1 << (qubits - 2))
                .word(target)
                .word(control)
                .input(gate.as_flattened())
                .inout(&state, expected, 1e-5)
        });
    }
    for [nx, ny] in [[400_usize, 300_usize], [3000, 1900]] {
        set.add("shallow_water", format!("nx={nx} ny={ny}"), move || {
            let (plane, ratio) = (nx * ny, 0.05);
            let from: Vec<f32> = floats(3 * plane, 1)
                .into_iter()
                .enumerate()
                .map(|(i, value)| if i < plane { 1.0 + value } else { value - 0.5 })
                .collect();
            let mut expected = vec![0.0_f32; 3 * plane];
            for i in 0..plane {
                let (x, y) = (i % nx, i / nx);
                let state = |x: usize, y: usize| -> [f64; 3] {
                    std::array::from_fn(|k| from[k * plane + y * nx + x].into())
                };
                let flux = |a: [f64; 3], b: [f64; 3], axis: usize| -> [f64; 3] {
                    let ((left, slow), (right, fast)) = (water(a, axis), water(b, axis));
                    std::array::from_fn(|k| 0.5 * (left[k] + right[k] - slow.max(fast) * (b[k] - a[k])))
                };
                let here = state(x, y);
                let west = flux(state(x.saturating_sub(1), y), here, 0);
                let east = flux(here, state((x + 1).min(nx - 1), y), 0);
                let north = flux(state(x, y.saturating_sub(1)), here, 1);
                let south = flux(here, state(x, (y + 1).min(ny - 1)), 1);
                for k in 0..3 {
                    let out = east[k] - west[k] + south[k] - north[k];
                    expected[k * plane + i] = (here[k] - ratio * out) as f32;
                }
            }
            Case::plane([nx, ny], [32, 8])
                .word(nx)
                .word(ny)
                .single(ratio as f32)
                .input(&from)
                .output(expected, 1e-5)
        });
    }
    for [nx, ny, nz] in [[22_usize, 20_usize, 20_usize], [64, 60, 55]] {
        let atoms = nx * ny * nz;
        set.add("electron_density", format!("atoms={atoms}"), move || {
            let (cutoff, knots) = (2.3_f32, 500);
            let at = |i: usize| [i % nx, i / nx % ny, i / nx / ny];
            let positions: Vec<f32> = floats(4 * atoms, 1)
                .into_iter()
                .enumerate()
                .map(|(i, value)| if i % 4 < 3 { at(i / 4)[i % 4] as f32 + 0.2 * value } else { 0.0 })
                .collect();
            // The list has a skin: atoms whose sites are within 2.5, whether they are within the cut-off or not.
            let shifts: Vec<[isize; 3]> = (0..125)
                .map(|k| [k % 5 - 2, k / 5 % 5 - 2, k / 25 - 2])
                .filter(|shift| (1..=6).contains(&shift.iter().map(|step| step * step).sum::<isize>()))
                .collect();
            let mut counts = vec![0_u32; atoms];
            let mut neighbours = vec![0_u32; atoms * shifts.len()];
            let scale = knots as f32 / cutoff;
            // Pieces of (1 - r / cutoff) squared, as cubic polynomials of the rest behind the knot.
            let pieces = |knot: usize| {
                let (step, rest) = (1.0 / knots as f64, 1.0 - knot as f64 / knots as f64);
                [rest * rest, -2.0 * rest * step, step * step, 0.0].map(|part| part as f32)
            };
            let spline: Vec<f32> = (0..=knots).flat_map(pieces).collect();
            let mut expected = vec![0.0_f32; atoms];
            for i in 0..atoms {
                let site = at(i);
                let mut sum = 0.0;
                for shift in &shifts {
                    let moved: [isize; 3] = std::array::from_fn(|axis| site[axis] as isize + shift[axis]);
                    if (0..3).any(|axis| moved[axis] < 0 || moved[axis] >= [nx, ny, nz][axis] as isize) {
                        continue;
                    }
                    let other = (moved[2] as usize * ny + moved[1] as usize) * nx + moved[0] as usize;
                    neighbours[counts[i] as usize * atoms + i] = other as u32;
                    counts[i] += 1;
                    let square: f64 = (0..3)
                        .map(|axis| f64::from(positions[4 * other + axis] - positions[4 * i + axis]).powi(2))
                        .sum();
                    sum += (1.0 - square.sqrt() / f64::from(cutoff)).max(0.0).powi(2);
                }
                expected[i] = sum as f32;
            }
            Case::over(atoms, 128)
                .word(atoms)
                .single(cutoff)
                .single(scale)
                .input(&counts)
                .input(&neighbours)
                .input(&positions)
                .input(&spline)
                .output(expected, 1e-4)
        });
    }
    for (cells, reactions) in [(8000_usize, 9_usize), (260_000, 14)] {
        set.add("arrhenius_rates", format!("cells={cells} reactions={reactions}"), move || {
            let species = words(4 * reactions, 9, 1);
            let laws: Vec<f64> = doubles(6 * reactions, 2)
                .into_iter()
                .enumerate()
                .map(|(i, value)| value * [20.0, 1.5, 9000.0][i % 3])
                .collect();
            let temperature: Vec<f64> =
                doubles(cells, 3).into_iter().map(|value| 400.0 + 1800.0 * value).collect();
            let concentration = doubles(9 * cells, 4);
            let mut expected = vec![0.0; reactions * cells];
            for (k, rate) in expected.iter_mut().enumerate() {
                let (reaction, cell) = (k / cells, k % cells);
                let part = |side: usize| {
                    let law = &laws[6 * reaction + 3 * side..];
                    let amount = |k: usize| {
                        concentration[species[4 * reaction + 2 * side + k] as usize * cells + cell]
                    };
                    let heat = temperature[cell];
                    law[0].exp() * heat.powf(law[1]) * (-law[2] / heat).exp() * amount(0) * amount(1)
                };
                *rate = part(0) - part(1);
            }
            Case::over(cells, 128)
                .word(cells)
                .word(reactions)
                .input(&species)
                .input(&laws)
                .input(&temperature)
                .input(&concentration)
                .output(expected, 1e-10)
        });
    }
    for [lookups, points, most] in [[12_000_usize, 300_usize, 6_usize], [150_000, 5003, 24]] {
        set.add("cross_sections", format!("lookups={lookups} points={points} nuclides={most}"), move || {
            let kinds = 68;
            let mut grids = doubles(6 * points * kinds, 1);
            for grid in grids.chunks_mut(6 * points) {
                let mut energies: Vec<f64> = grid.iter().copied().step_by(6).collect();
                energies.sort_by(f64::total_cmp);
                (energies[0], energies[points - 1]) = (0.0, 1.0);
                energies.into_iter().enumerate().for_each(|(point, energy)| grid[6 * point] = energy);
            }
            let (mut starts, mut nuclides) = (vec![0_u32], Vec::new());
            for material in 0..12 {
                // The first material, the fuel, has the most nuclides.
                let count = if material == 0 { most } else { 1 + mix(material, 2) as usize % (most / 2) };
                nuclides.extend(words(count, kinds as u32, 10 + material as u64));
                starts.push(nuclides.len() as u32);
            }
            let densities = doubles(nuclides.len(), 3);
            let energies = doubles(lookups, 4);
            let materials: Vec<u32> = words(lookups, 24, 5).into_iter().map(|k| k % 14 % 12).collect();
            let mut expected = vec![0.0; 5 * lookups];
            for (i, sums) in expected.chunks_mut(5).enumerate() {
                let material = materials[i] as usize;
                for k in starts[material] as usize..starts[material + 1] as usize {
                    let grid = &grids[nuclides[k] as usize * 6 * points..][..6 * points];
                    let (mut low, mut count) = (0, points - 1);
                    // The last point, but the end, that is not above.
                    while count > 1 {
                        let half = count / 2;
                        if grid[6 * (low + half)] <= energies[i] {
                            low += half;
                        }
                        count -= half;
                    }
                    let (below, above) = (&grid[6 * low..], &grid[6 * low + 6..]);
                    let share = (energies[i] - below[0]) / (above[0] - below[0]);
                    for (kind, sum) in sums.iter_mut().enumerate() {
                        let value = below[1 + kind] + share * (above[1 + kind] - below[1 + kind]);
                        *sum += densities[k] * value;
                    }
                }
            }
            Case::over(lookups, 256)
                .word(lookups)
                .word(points)
                .input(&energies)
                .input(&materials)
                .input(&starts)
                .input(&nuclides)
                .input(&densities)
                .input(&grids)
                .output(expected, 1e-9)
        });
    }
    for sites in [5000_usize, 330_000] {
        set.add("multiply_links", format!("sites={sites}"), move || {
            let signed = |n: usize, seed: u64| -> Vec<f32> {
                floats(n, seed).into_iter().map(|value| value - 0.5).collect()
            };
            let (links, right) = (signed(72 * sites, 1), signed(72, 2));
            let mut expected = vec![0.0_f32; 72 * sites];
            for (i, out) in expected.chunks_mut(2).enumerate() {
                let (link, row, column) = (i / 9, i / 3 % 3, i % 3);
                for k in 0..3 {
                    let (a, b) = (
                        &links[18 * link + 6 * row + 2 * k..],
                        &right[18 * (link % 4) + 6 * k + 2 * column..],
                    );
                    out[0] += a[0] * b[0] - a[1] * b[1];
                    out[1] += a[0] * b[1] + a[1] * b[0];
                }
            }
            Case::over(36 * sites, 128).word(sites).input(&links).input(&right).output(expected, 1e-5)
        });
    }
}
