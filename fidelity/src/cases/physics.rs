//! Simulation.

use super::Set;
use crate::{
    case::Case,
    data::{doubles, floats, mix, singles, words},
};

/// Floats between two numbers.
fn between(n: usize, seed: u64, low: f32, high: f32) -> Vec<f32> {
    floats(n, seed).into_iter().map(|value| low + (high - low) * value).collect()
}

/// The same in double precision.
fn wide(n: usize, seed: u64, low: f64, high: f64) -> Vec<f64> {
    doubles(n, seed).into_iter().map(|value| low + (high - low) * value).collect()
}

/// Checks coordinates that may be a period away.
fn periodic(expected: Vec<f64>, period: f64) -> impl Fn(&[f32]) -> Result<(), String> + Send + 'static {
    move |found| {
        let wrong = |(found, expected): (&f32, &f64)| {
            let distance = (f64::from(*found) - expected).abs();
            let near = distance.min((period - distance).abs()) < 1e-3;
            !near
        };
        match found.iter().zip(&expected).position(wrong) {
            None => Ok(()),
            Some(at) => Err(format!("element {at} is {}, expected {}", found[at], expected[at])),
        }
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn plus(a: [f64; 3], b: [f64; 3], factor: f64) -> [f64; 3] {
    [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]]
}

fn push(n: usize, [nx, ny]: [usize; 2]) -> Case {
    let half = 0.05_f32;
    let field = |seed| between(4 * nx * ny, seed, -1.0, 1.0);
    let (electric, magnetic) = (field(1), field(2));
    // Sorted by cell some steps ago.
    let (drift_x, drift_y) = (between(n, 3, -2.0, 3.0), between(n, 4, -2.0, 3.0));
    let [mut x, mut y] = [Vec::with_capacity(n), Vec::with_capacity(n)];
    for i in 0..n {
        let cell = i * (nx * ny) / n;
        let (column, row) = ((cell % nx) as f32, (cell / nx) as f32);
        x.push((column + drift_x[i]).rem_euclid(nx as f32).min(nx as f32 - 0.001));
        y.push((row + drift_y[i]).rem_euclid(ny as f32).min(ny as f32 - 0.001));
    }
    let [vx, vy, vz] = [5, 6, 7].map(|seed| between(n, seed, -2.0, 2.0));
    let (mut to_x, mut to_y) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut to_v = [0; 3].map(|_| Vec::with_capacity(n));
    let step = f64::from(half);
    for i in 0..n {
        let (column, row) = (x[i] as usize, y[i] as usize);
        let (fx, fy) = (f64::from(x[i]).fract(), f64::from(y[i]).fract());
        let at = |field: &[f32]| {
            [0, 1, 2].map(|axis| {
                let node = |dx, dy| f64::from(field[4 * ((row + dy) % ny * nx + (column + dx) % nx) + axis]);
                (1.0 - fy) * ((1.0 - fx) * node(0, 0) + fx * node(1, 0))
                    + fy * ((1.0 - fx) * node(0, 1) + fx * node(1, 1))
            })
        };
        let (e, b) = (at(&electric), at(&magnetic));
        let v = plus([vx[i], vy[i], vz[i]].map(f64::from), e, step);
        let t = b.map(|b| step * b);
        let turned = cross(plus(v, cross(v, t), 1.0), t);
        let v = plus(plus(v, turned, 2.0 / (1.0 + dot(t, t))), e, step);
        to_x.push((f64::from(x[i]) + 2.0 * step * v[0]).rem_euclid(nx as f64));
        to_y.push((f64::from(y[i]) + 2.0 * step * v[1]).rem_euclid(ny as f64));
        for axis in 0..3 {
            to_v[axis].push(v[axis] as f32);
        }
    }
    let [to_vx, to_vy, to_vz] = to_v;
    Case::over(n, 256)
        .word(n)
        .word(nx)
        .word(ny)
        .single(half)
        .input(&electric)
        .input(&magnetic)
        .holding(&x, periodic(to_x, nx as f64))
        .holding(&y, periodic(to_y, ny as f64))
        .inout(&vx, to_vx, 1e-4)
        .inout(&vy, to_vy, 1e-4)
        .inout(&vz, to_vz, 1e-4)
}

fn diffusion([nx, ny, nz]: [usize; 3]) -> Case {
    let n = nx * ny * nz;
    let (from, coefficient) = (floats(n, 1), between(n, 2, 0.01, 0.05));
    let mut to = from.clone();
    let value = |i: usize| f64::from(from[i]);
    let laplacian = |i: usize| 4.0 * value(i) - (value(i + 1) + value(i - 1) + value(i + nx) + value(i - nx));
    let mut laplacians = vec![0.0; nx * ny];
    for z in 0..nz {
        let level = z * nx * ny;
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                laplacians[y * nx + x] = laplacian(level + y * nx + x);
            }
        }
        let flux = |low: usize, high: usize| {
            let flux: f64 = laplacians[high] - laplacians[low];
            if flux * (value(level + high) - value(level + low)) > 0.0 { 0.0 } else { flux }
        };
        for y in 2..ny - 2 {
            for x in 2..nx - 2 {
                let at = y * nx + x;
                let sum = flux(at, at + 1) - flux(at - 1, at) + flux(at, at + nx) - flux(at - nx, at);
                let i = level + at;
                to[i] = (value(i) - f64::from(coefficient[i]) * sum) as f32;
            }
        }
    }
    let blocks = [(nx - 4).div_ceil(32) as u32, (ny - 4).div_ceil(8) as u32, nz as u32];
    Case::grid(blocks, [32, 8, 1]).word(nx).word(ny).input(&from).input(&coefficient).inout(
        &from.clone(),
        to,
        1e-5,
    )
}

fn saturation(t: f64, p: f64) -> f64 {
    380.0 / p * (17.27 * (t - 273.15) / (t - 35.86)).exp()
}

fn warm_rain(columns: usize, levels: usize) -> Case {
    let n = columns * levels;
    let (step, depth) = (20.0_f32, 400.0_f32);
    let noise: Vec<Vec<f32>> = (1..6).map(|seed| floats(n, seed)).collect();
    let [mut density, mut pressure, mut temperature] = [0; 3].map(|_| Vec::with_capacity(n));
    let [mut vapour, mut cloud, mut rain] = [0; 3].map(|_| Vec::with_capacity(n));
    for i in 0..n {
        let height = 1.0 - (i / columns) as f32 / levels as f32;
        let p = 1e5 * (1.0 - 0.75 * height) + 100.0 * noise[0][i];
        let t = 296.0 - 60.0 * height + 2.0 * noise[1][i];
        density.push(p / (287.0 * t));
        pressure.push(p);
        temperature.push(t);
        vapour.push(saturation(t.into(), p.into()) as f32 * (0.7 + 0.4 * noise[2][i]));
        // Clouds and showers cover parts of the sky, in runs of columns.
        let cloudy = mix(i / columns / 8 * 1000 + i % columns / 50, 7).is_multiple_of(3);
        let showery = mix(i % columns / 80, 8).is_multiple_of(4);
        cloud.push(if cloudy { 3e-3 * noise[3][i] } else { 0.0 });
        rain.push(if showery { 2e-3 * noise[4][i] } else { 0.0 });
    }
    let fallen = floats(columns, 9);
    let [mut to_t, mut to_v, mut to_c, mut to_r] = [0; 4].map(|_| vec![0.0_f32; n]);
    let mut to_fallen = Vec::with_capacity(columns);
    let (dt, dz) = (f64::from(step), f64::from(depth));
    for column in 0..columns {
        let mut above = 0.0;
        for level in 0..levels {
            let i = level * columns + column;
            let [rho, p, mut t] = [density[i], pressure[i], temperature[i]].map(f64::from);
            let [mut qv, mut qc, mut qr] = [vapour[i], cloud[i], rain[i]].map(f64::from);
            let raining = |qr: f64| qr > f64::from(1e-8_f32);
            let mut flux = 0.0;
            if raining(qr) {
                let speed = 14.2 * (rho * qr).powf(0.1364) / rho.sqrt();
                flux = (rho * qr * speed).min(rho * qr * dz / dt);
            }
            qr += dt * (above - flux) / (rho * dz);
            above = flux;
            let mut turned = (1e-3 * (qc - 1e-3) * dt).max(0.0);
            if raining(qr) {
                turned += 2.2 * qc * qr.powf(0.875) * dt;
            }
            turned = turned.min(qc);
            qc -= turned;
            qr += turned;
            let saturated = saturation(t, p);
            let surplus = (qv - saturated) / (1.0 + 4098.0 * 2500.0 * saturated / (t - 35.86).powi(2));
            let change = surplus.max(-qc);
            qv -= change;
            qc += change;
            t += 2500.0 * change;
            if qc <= 0.0 && raining(qr) {
                let lack = change - surplus;
                let lost = (0.05 * (rho * qr).sqrt() * dt * lack).min(qr).min(lack);
                qv += lost;
                qr -= lost;
                t -= 2500.0 * lost;
            }
            to_t[i] = t as f32;
            to_v[i] = qv as f32;
            to_c[i] = qc as f32;
            to_r[i] = qr as f32;
        }
        to_fallen.push((f64::from(fallen[column]) + above * dt) as f32);
    }
    Case::over(columns, 128)
        .word(columns)
        .word(levels)
        .single(step)
        .single(depth)
        .input(&density)
        .input(&pressure)
        .inout(&temperature, to_t, 1e-5)
        .inout(&vapour, to_v, 1e-4)
        .inout(&cloud, to_c, 1e-3)
        .inout(&rain, to_r, 1e-3)
        .inout(&fallen, to_fallen, 1e-4)
}

fn torsions(chains: usize) -> Case {
    let atoms = chains * 64;
    let mut positions = Vec::with_capacity(4 * atoms);
    for atom in 0..atoms {
        let (chain, link) = (atom / 64, atom % 64);
        let side = if link.is_multiple_of(2) { 0.45 } else { -0.45 };
        let noise = |seed| f64::from(mix(atom, seed)) / 4_294_967_296.0 - 0.5;
        positions.push((1.25 * link as f64 + 0.2 * noise(1)) as f32);
        positions.push((4.0 * (chain % 100) as f64 + side + 0.2 * noise(2)) as f32);
        positions.push((4.0 * (chain / 100) as f64 + noise(3)) as f32);
        positions.push(1.0);
    }
    let parameters: Vec<f32> = (0..24_usize)
        .flat_map(|kind| {
            let phase = if kind.is_multiple_of(3) { std::f64::consts::PI } else { 0.1 * kind as f64 };
            singles(&[0.2 + 0.1 * kind as f64, phase.cos(), phase.sin(), (1 + kind % 6) as f64])
        })
        .collect();
    // Two terms for each four atoms in a row.
    let n = chains * 61 * 2;
    let quadruples: Vec<u32> = (0..n)
        .flat_map(|i| {
            let first = (i / 122 * 64 + i % 122 / 2) as u32;
            [first, first + 1, first + 2, first + 3]
        })
        .collect();
    let kinds = words(n, 24, 4);
    let mut forces = vec![0.0; 3 * atoms];
    let mut energy = 0.0;
    for i in 0..n {
        let quadruple = [0, 1, 2, 3].map(|k| quadruples[4 * i + k] as usize);
        let [a, b, c, d] = quadruple.map(|atom| [0, 1, 2].map(|axis| f64::from(positions[4 * atom + axis])));
        let (f, g, h) = (plus(a, b, -1.0), plus(b, c, -1.0), plus(d, c, -1.0));
        let (m, o) = (cross(f, g), cross(h, g));
        let (mm, oo, length) = (dot(m, m), dot(o, o), dot(g, g).sqrt());
        let angle = (dot(cross(o, m), g) / length).atan2(dot(m, o));
        let kind: Vec<f64> =
            parameters[4 * kinds[i] as usize..][..4].iter().map(|&value| value.into()).collect();
        let (sine, cosine) = (kind[3] * angle).sin_cos();
        energy += kind[0] * (1.0 + cosine * kind[1] + sine * kind[2]);
        let slope = kind[0] * kind[3] * (cosine * kind[2] - sine * kind[1]);
        let (fg, hg) = (dot(f, g) / length, dot(h, g) / length);
        for axis in 0..3 {
            let (m, o) = (m[axis] / mm, o[axis] / oo);
            // The angle's derivatives by the four positions.
            let by = [-length * m, (length + fg) * m - hg * o, (hg - length) * o - fg * m, length * o];
            for (atom, by) in quadruple.into_iter().zip(by) {
                forces[3 * atom + axis] -= slope * by;
            }
        }
    }
    Case::over(n, 128)
        .word(n)
        .input(&quadruples)
        .input(&kinds)
        .input(&parameters)
        .input(&positions)
        .inout(&vec![0.0_f32; 3 * atoms], singles(&forces), 2e-3)
        .inout(&[0.0_f32], vec![energy as f32], 1e-3)
}

fn histories(n: usize, cells: usize) -> Case {
    let seeds: Vec<u32> = (0..n).map(|i| mix(i, 1) | 1).collect();
    let materials: Vec<u32> = (0..cells).map(|cell| mix(cell / 25, 2) % 4).collect();
    // The total cross section, and the share of it that absorbs.
    let sections: Vec<f32> = (0..32)
        .flat_map(|k| {
            let noise = |seed| mix(k, seed) as f32 / 4_294_967_296.0;
            [0.05 + 0.03 * (k % 8) as f32 + 0.1 * noise(3), 0.05 + 0.2 * noise(4)]
        })
        .collect();
    let majorants: Vec<f32> = (0..8)
        .map(|group| {
            let of = |material: usize| sections[2 * (material * 8 + group)];
            (0..4).map(of).fold(0.0, f32::max)
        })
        .collect();
    // Scattering leads to the same or a lower energy; from the lowest one at times back.
    let mut transfers = Vec::new();
    for row in 0..32_usize {
        let group = row % 8;
        let shares: Vec<f64> = (0..8_usize)
            .map(|target| {
                let noise = f64::from(mix(row * 8 + target, 5)) / 4_294_967_296.0;
                if target >= group { (0.2 + noise) / (1 + target - group) as f64 } else { 0.02 * noise }
            })
            .collect();
        let total: f64 = shares.iter().sum();
        let mut sum = 0.0;
        for share in shares {
            sum += share / total;
            transfers.push(sum as f32);
        }
    }
    let (mut tally, mut leaked) = (vec![0.0; cells * 8], [0.0; 2]);
    let width = cells as f32;
    for &seed in &seeds {
        let mut state = seed;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            ((state >> 8) + 1) as f32 * (1.0 / 16_777_217.0)
        };
        let mut x = 0.25 * width * next();
        let mut direction = 2.0 * next() - 1.0;
        let (mut weight, mut group) = (1.0_f32, 0);
        loop {
            let majorant = majorants[group];
            x -= next().ln() * direction / majorant;
            if x < 0.0 || x >= width {
                leaked[usize::from(x >= width)] += f64::from(weight);
                break;
            }
            let cell = x as usize;
            let material = materials[cell] as usize;
            let section = &sections[2 * (material * 8 + group)..][..2];
            if next() * majorant >= section[0] {
                continue;
            }
            let absorbed = weight * section[1];
            tally[cell * 8 + group] += f64::from(absorbed);
            weight -= absorbed;
            if weight < 0.1 {
                if next() < 0.5 {
                    break;
                }
                weight *= 2.0;
            }
            let chance = next();
            let shares = &transfers[material * 64 + group * 8..][..8];
            group = shares[..7].iter().position(|&share| share >= chance).unwrap_or(7);
            direction = 2.0 * next() - 1.0;
        }
    }
    // A neutron beside a border may be counted on its other side.
    Case::over(n, 256)
        .word(n)
        .word(cells)
        .input(&seeds)
        .input(&materials)
        .input(&sections)
        .input(&majorants)
        .input(&transfers)
        .inout(&vec![0.0_f32; cells * 8], singles(&tally), 0.03)
        .inout(&[0.0_f32; 2], singles(&leaked), 2e-3)
}

fn sweep(side: usize, directions: usize, groups: usize) -> Case {
    let (cells, pairs) = (side * side * side, directions * groups);
    let middle = 3 * (side - 1) / 2;
    let place = |cell: usize| [cell % side, cell / side % side, cell / (side * side)];
    let plane: Vec<u32> = (0..cells)
        .filter(|&cell| place(cell).iter().sum::<usize>() == middle)
        .map(|cell| cell as u32)
        .collect();
    let (cosines, sigma) = (wide(3 * directions, 1, 0.1, 1.0), wide(cells * groups, 2, 0.1, 2.0));
    let source = doubles(cells * pairs, 3);
    let faces = [4, 5, 6].map(|seed| doubles(side * side * pairs, seed));
    let mut to_faces = faces.clone();
    let before = vec![0.0; cells * pairs];
    let mut flux = before.clone();
    for &cell in &plane {
        let cell = cell as usize;
        let [x, y, z] = place(cell);
        let on = [z * side + y, z * side + x, y * side + x];
        for pair in 0..pairs {
            let cosine = &cosines[3 * (pair / groups)..][..3];
            let (mut sum, mut below) = (source[cell * pairs + pair], sigma[cell * groups + pair % groups]);
            for axis in 0..3 {
                sum += cosine[axis] * faces[axis][on[axis] * pairs + pair];
                below += cosine[axis];
            }
            let value = sum / below;
            flux[cell * pairs + pair] = value;
            for axis in 0..3 {
                let i = on[axis] * pairs + pair;
                to_faces[axis][i] = 2.0 * value - faces[axis][i];
            }
        }
    }
    let [to_x, to_y, to_z] = to_faces;
    Case::over(plane.len() * pairs, 256)
        .word(plane.len())
        .word(groups)
        .word(pairs)
        .word(side)
        .input(&plane)
        .input(&cosines)
        .input(&sigma)
        .input(&source)
        .inout(&faces[0], to_x, 1e-11)
        .inout(&faces[1], to_y, 1e-11)
        .inout(&faces[2], to_z, 1e-11)
        .inout(&before, flux, 1e-11)
}

fn courant([nx, ny]: [usize; 2]) -> Case {
    let (n, nodes) = (nx * ny, (nx + 1) * (ny + 1));
    let size = 0.01;
    let (sound, viscosity) = (wide(n, 1, 0.2, 1.5), wide(n, 2, 0.0, 0.2));
    let density = wide(n, 3, 0.5, 2.0);
    let [u, v] = [4, 5].map(|seed| wide(nodes, seed, -1.5, 1.5));
    let step = |i: usize| {
        let node = i / nx * (nx + 1) + i % nx;
        let corners = [node, node + 1, node + nx + 1, node + nx + 2];
        let [a, b, c, d] = corners.map(|node| u[node]);
        let (west, east) = (a + c, b + d);
        let [a, b, c, d] = corners.map(|node| v[node]);
        let (north, south) = (a + b, c + d);
        let fastest = (sound[i].powi(2) + 2.0 * viscosity[i] / density[i]).sqrt();
        let mut step = 0.7 * size / fastest;
        for speed in [west, east, north, south] {
            step = step.min(2.0 * size / speed.abs().max(1e-16));
        }
        let divergence = (east - west + south - north) / (2.0 * size);
        if divergence < -1e-16 { step.min(-0.7 / divergence) } else { step }
    };
    let steps: Vec<f64> = (0..n).map(step).collect();
    let least = steps.chunks(256).map(|steps| steps.iter().copied().fold(1e30, f64::min)).collect();
    Case::over(n, 256)
        .word(nx)
        .word(ny)
        .double(size)
        .input(&sound)
        .input(&viscosity)
        .input(&density)
        .input(&u)
        .input(&v)
        .output::<f64>(least, 1e-10)
}

/// Boys' function of order 0 and its derivative, by a series.
fn boys(argument: f64) -> [f64; 2] {
    let series = |order: f64| {
        let mut term = 1.0 / (2.0 * order + 1.0);
        let mut sum = term;
        for k in 1..200 {
            term *= 2.0 * argument / (2.0 * (order + f64::from(k)) + 1.0);
            sum += term;
        }
        sum * (-argument).exp()
    };
    [series(0.0), -series(1.0)]
}

fn coulomb(n: usize, panel: usize) -> Case {
    let (centres, exponents, charges) =
        (wide(3 * n, 1, 0.0, 6.0), wide(n, 2, 0.3, 4.0), wide(n, 3, 0.1, 1.0));
    // Hermite's cubics on pieces of an eighth.
    let table: Vec<f64> = (0..192)
        .flat_map(|piece| {
            let ([f, df], [g, dg]) = (boys(f64::from(piece) * 0.125), boys(f64::from(piece + 1) * 0.125));
            let rise = (g - f) / 0.125;
            [f, df, (3.0 * rise - 2.0 * df - dg) / 0.125, (df + dg - 2.0 * rise) / (0.125 * 0.125)]
        })
        .collect();
    let mut matrix = vec![0.0; n];
    for i in 0..n {
        for k in 0..n {
            let square: f64 =
                (0..3).map(|axis| (centres[axis * n + i] - centres[axis * n + k]).powi(2)).sum();
            let (product, both) = (exponents[i] * exponents[k], exponents[i] + exponents[k]);
            let argument = product / both * square;
            let value = if argument < 24.0 {
                let piece = (argument * 8.0) as usize;
                let rest = argument - piece as f64 * 0.125;
                table[4 * piece..][..4].iter().rev().fold(0.0, |sum, factor| sum * rest + factor)
            } else {
                0.5 * (std::f64::consts::PI / argument).sqrt()
            };
            matrix[i] += charges[k] * value / (product * both.sqrt());
        }
    }
    Case::grid([n.div_ceil(128) as u32, n.div_ceil(panel) as u32, 1], [128, 1, 1])
        .word(n)
        .word(panel)
        .input(&centres)
        .input(&exponents)
        .input(&charges)
        .input(&table)
        .inout(&vec![0.0_f64; n], matrix, 1e-10)
}

fn phase(n: usize) -> Case {
    let (step, coupling) = (0.01_f32, 20.0_f32);
    let (potential, wave) = (between(n, 1, 0.0, 60.0), between(2 * n, 2, -1.0, 1.0));
    let turned = (0..n)
        .flat_map(|i| {
            let (re, im) = (f64::from(wave[2 * i]), f64::from(wave[2 * i + 1]));
            let angle =
                -f64::from(step) * (f64::from(coupling) * (re * re + im * im) + f64::from(potential[i]));
            let (sine, cosine) = angle.sin_cos();
            [(re * cosine - im * sine) as f32, (re * sine + im * cosine) as f32]
        })
        .collect();
    Case::over(n, 256)
        .word(n)
        .single(step)
        .single(coupling)
        .input(&potential)
        .inout::<f32>(&wave, turned, 1e-5)
}

pub(super) fn add(set: &mut Set) {
    for (n, [nx, ny]) in [(200_000_usize, [256_usize, 192_usize]), (4_000_000, [1000, 800])] {
        set.add("boris_push", format!("n={n} nx={nx} ny={ny}"), move || push(n, [nx, ny]));
    }
    for [nx, ny, nz] in [[128_usize, 120_usize, 40_usize], [512, 480, 60]] {
        set.add("horizontal_diffusion", format!("nx={nx} ny={ny} nz={nz}"), move || diffusion([nx, ny, nz]));
    }
    for (columns, levels) in [(10_000_usize, 40_usize), (75_000, 60)] {
        set.add("warm_rain", format!("columns={columns} levels={levels}"), move || {
            warm_rain(columns, levels)
        });
    }
    for chains in [720_usize, 15_000] {
        set.add("torsion_forces", format!("atoms={} terms={}", chains * 64, chains * 122), move || {
            torsions(chains)
        });
    }
    for (n, cells) in [(40_000_usize, 500_usize), (150_000, 4000)] {
        set.add("neutron_histories", format!("n={n} cells={cells}"), move || histories(n, cells));
    }
    for (side, directions, groups) in [(20_usize, 3_usize, 16_usize), (36, 8, 16)] {
        let parameters = format!("side={side} directions={directions} groups={groups}");
        set.add("sweep_plane", parameters, move || sweep(side, directions, groups));
    }
    for [nx, ny] in [[500_usize, 400_usize], [2400, 2000]] {
        set.add("courant_step", format!("nx={nx} ny={ny}"), move || courant([nx, ny]));
    }
    for n in [1500_usize, 6000] {
        set.add("coulomb_pairs", format!("n={n} panel=512"), move || coulomb(n, 512));
    }
    for n in [640_usize * 480, 256 * 256 * 200] {
        set.add("turn_phase", format!("n={n}"), move || phase(n));
    }
}
