//! Simulation: plasma, weather, molecules, reactors and quantum gases.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, U32x4};
use cuda_std::{GpuFloat, approx, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{block_sum, index};

/// A cross product.
#[inline(always)]
fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// An inner product.
#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Moves charged particles by Boris' scheme, with both fields interpolated from the four nearest nodes of a periodic grid.
#[kernel]
pub unsafe fn boris_push(
    n: u32,
    nx: u32,
    ny: u32,
    half: f32,
    electric: *const F32x4,
    magnetic: *const F32x4,
    x: *mut f32,
    y: *mut f32,
    vx: *mut f32,
    vy: *mut f32,
    vz: *mut f32,
) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let (px, py) = (*x.add(i), *y.add(i));
    let (column, row) = ((px as u32).min(nx - 1), (py as u32).min(ny - 1));
    let (fx, fy) = (px - column as f32, py - row as f32);
    let right = if column + 1 == nx { 0 } else { column + 1 };
    let below = if row + 1 == ny { 0 } else { row + 1 };
    let nodes = [(column, row), (right, row), (column, below), (right, below)];
    let weights = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
    let (mut e, mut b) = ([0.0_f32; 3], [0.0_f32; 3]);
    for k in 0..4 {
        let node = (nodes[k].1 * nx + nodes[k].0) as usize;
        let (strength, field) = (*electric.add(node), *magnetic.add(node));
        e[0] = weights[k].mul_add(strength.x, e[0]);
        e[1] = weights[k].mul_add(strength.y, e[1]);
        e[2] = weights[k].mul_add(strength.z, e[2]);
        b[0] = weights[k].mul_add(field.x, b[0]);
        b[1] = weights[k].mul_add(field.y, b[1]);
        b[2] = weights[k].mul_add(field.z, b[2]);
    }
    let mut v = [*vx.add(i), *vy.add(i), *vz.add(i)];
    for axis in 0..3 {
        v[axis] = half.mul_add(e[axis], v[axis]);
    }
    let t = [half * b[0], half * b[1], half * b[2]];
    let factor = 2.0 / (1.0 + dot(t, t));
    let turned = cross(v, t);
    let turned = cross([v[0] + turned[0], v[1] + turned[1], v[2] + turned[2]], t);
    for axis in 0..3 {
        v[axis] = half.mul_add(e[axis], factor.mul_add(turned[axis], v[axis]));
    }
    let (width, height) = (nx as f32, ny as f32);
    let mut to_x = (2.0 * half).mul_add(v[0], px);
    let mut to_y = (2.0 * half).mul_add(v[1], py);
    if to_x < 0.0 {
        to_x += width;
    } else if to_x >= width {
        to_x -= width;
    }
    if to_y < 0.0 {
        to_y += height;
    } else if to_y >= height {
        to_y -= height;
    }
    *x.add(i) = to_x;
    *y.add(i) = to_y;
    *vx.add(i) = v[0];
    *vy.add(i) = v[1];
    *vz.add(i) = v[2];
}

/// Horizontal diffusion of fourth order with limited fluxes, a level per layer of blocks, by tiles of 32 x 8.
#[kernel]
pub unsafe fn horizontal_diffusion(
    nx: u32,
    ny: u32,
    from: *const f32,
    coefficient: *const f32,
    to: *mut f32,
) {
    let tile = shared_array![f32; 432];
    let laplacian = shared_array![f32; 340];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (nx, ny) = (nx as usize, ny as usize);
    let (left, top) = (thread::block_idx_x() as usize * 32, thread::block_idx_y() as usize * 8);
    let level = thread::block_idx_z() as usize * nx * ny;
    let own = ty * 32 + tx;
    // The tile begins at the block's place, so that its inner part begins two columns and rows on.
    let mut k = own;
    while k < 432 {
        let (column, row) = ((left + k % 36).min(nx - 1), (top + k / 36).min(ny - 1));
        *tile.add(k) = *from.add(level + row * nx + column);
        k += 256;
    }
    thread::sync_threads();
    k = own;
    while k < 340 {
        let at = tile.add((k / 34 + 1) * 36 + k % 34 + 1);
        *laplacian.add(k) = 4.0 * *at - (*at.add(1) + *at.sub(1) + *at.add(36) + *at.sub(36));
        k += 256;
    }
    thread::sync_threads();
    let (x, y) = (left + tx + 2, top + ty + 2);
    if x < nx - 2 && y < ny - 2 {
        let flux = |from: usize, to: usize, low: usize, high: usize| {
            let flux = *laplacian.add(to) - *laplacian.add(from);
            if flux * (*tile.add(high) - *tile.add(low)) > 0.0 { 0.0 } else { flux }
        };
        let (at, inner) = ((ty + 2) * 36 + tx + 2, (ty + 1) * 34 + tx + 1);
        let east = flux(inner, inner + 1, at, at + 1);
        let west = flux(inner - 1, inner, at - 1, at);
        let south = flux(inner, inner + 34, at, at + 36);
        let north = flux(inner - 34, inner, at - 36, at);
        let i = level + y * nx + x;
        *to.add(i) = *tile.add(at) - *coefficient.add(i) * (east - west + south - north);
    }
}

/// Rain without ice in columns of air, from the top down: drops form, collect, fall and evaporate, and vapour condenses.
#[kernel]
pub unsafe fn warm_rain(
    columns: u32,
    levels: u32,
    step: f32,
    depth: f32,
    density: *const f32,
    pressure: *const f32,
    temperature: *mut f32,
    vapour: *mut f32,
    cloud: *mut f32,
    rain: *mut f32,
    fallen: *mut f32,
) {
    let column = index();
    if column >= columns as usize {
        return;
    }
    let mut above = 0.0_f32;
    for level in 0..levels as usize {
        let i = level * columns as usize + column;
        let (rho, p) = (*density.add(i), *pressure.add(i));
        let (mut t, mut qv, mut qc, mut qr) =
            (*temperature.add(i), *vapour.add(i), *cloud.add(i), *rain.add(i));
        let mut flux = 0.0;
        if qr > 1e-8 {
            let speed = 14.2 * approx::exp2(0.1364 * approx::log2(rho * qr)) / rho.sqrt();
            flux = (rho * qr * speed).min(rho * qr * depth / step);
        }
        qr += step * (above - flux) / (rho * depth);
        above = flux;
        let mut turned = 0.0;
        if qc > 1e-3 {
            turned = 1e-3 * (qc - 1e-3) * step;
        }
        if qr > 1e-8 {
            turned += 2.2 * qc * approx::exp2(0.875 * approx::log2(qr)) * step;
        }
        turned = turned.min(qc);
        qc -= turned;
        qr += turned;
        let saturated = 380.0 / p * approx::exp(17.27 * (t - 273.15) / (t - 35.86));
        let slope = 1.0 + 4098.0 * 2500.0 * saturated / ((t - 35.86) * (t - 35.86));
        let surplus = (qv - saturated) / slope;
        let change = surplus.max(-qc);
        qv -= change;
        qc += change;
        t += 2500.0 * change;
        if qc <= 0.0 && qr > 1e-8 {
            let lack = change - surplus;
            let rate = 0.05 * approx::sqrt(rho * qr) * step;
            let lost = (rate * lack).min(qr).min(lack);
            qv += lost;
            qr -= lost;
            t -= 2500.0 * lost;
        }
        *temperature.add(i) = t;
        *vapour.add(i) = qv;
        *cloud.add(i) = qc;
        *rain.add(i) = qr;
    }
    *fallen.add(column) += above * step;
}

/// Forces of molecules' torsions: four atoms' positions gathered, four forces added, the energy summed by block.
#[kernel]
pub unsafe fn torsion_forces(
    n: u32,
    quadruples: *const U32x4,
    kinds: *const u32,
    parameters: *const F32x4,
    positions: *const F32x4,
    forces: *mut f32,
    energy: *mut f32,
) {
    let i = index();
    let mut own = 0.0;
    if i < n as usize {
        let atoms = *quadruples.add(i);
        let at = |atom: u32| {
            let position = *positions.add(atom as usize);
            [position.x, position.y, position.z]
        };
        let (a, b, c, d) = (at(atoms.x), at(atoms.y), at(atoms.z), at(atoms.w));
        let f = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        let g = [b[0] - c[0], b[1] - c[1], b[2] - c[2]];
        let h = [d[0] - c[0], d[1] - c[1], d[2] - c[2]];
        let (m, o) = (cross(f, g), cross(h, g));
        let (mm, oo, gg) = (dot(m, m), dot(o, o), dot(g, g));
        let inverse = approx::reciprocal_sqrt(mm * oo);
        let length = approx::sqrt(gg);
        let cosine = dot(m, o) * inverse;
        let sine = dot(cross(o, m), g) * inverse / length;
        // Strength, cosine and sine of the phase, and how often the energy repeats in a turn.
        let kind = *parameters.add(*kinds.add(i) as usize);
        let (mut c_n, mut s_n) = (cosine, sine);
        for _ in 1..kind.w as u32 {
            (c_n, s_n) = (c_n * cosine - s_n * sine, s_n * cosine + c_n * sine);
        }
        own = kind.x * (1.0 + c_n * kind.y + s_n * kind.z);
        let slope = kind.x * kind.w * (c_n * kind.z - s_n * kind.y);
        let first = -slope * length / mm;
        let last = slope * length / oo;
        let (fg, hg) = (slope * dot(f, g) / (mm * length), slope * dot(h, g) / (oo * length));
        for axis in 0..3 {
            let on_a = -first * m[axis];
            let on_d = -last * o[axis];
            let shared = hg * o[axis] - fg * m[axis];
            let add = |atom: u32, force: f32| {
                mid::atomic_fetch_add_f32_device(forces.add(3 * atom as usize + axis), Relaxed, force);
            };
            add(atoms.x, on_a);
            add(atoms.y, shared - on_a);
            add(atoms.z, -on_d - shared);
            add(atoms.w, on_d);
        }
    }
    let sum = block_sum(own);
    if thread::thread_idx_x() == 0 {
        mid::atomic_fetch_add_f32_device(energy, Relaxed, sum);
    }
}

/// Neutrons through a slab of layers, a history per thread: virtual collisions, absorption by weight, roulette, and tallies.
#[kernel]
pub unsafe fn neutron_histories(
    n: u32,
    cells: u32,
    seeds: *const u32,
    materials: *const u32,
    sections: *const F32x2,
    majorants: *const f32,
    transfers: *const f32,
    tally: *mut f32,
    leaked: *mut f32,
) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let mut state = *seeds.add(i);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        ((state >> 8) + 1) as f32 * (1.0 / 16_777_217.0)
    };
    let width = cells as f32;
    let mut x = 0.25 * width * next();
    let mut direction = 2.0 * next() - 1.0;
    let (mut weight, mut group) = (1.0_f32, 0_u32);
    loop {
        let majorant = *majorants.add(group as usize);
        x -= approx::ln(next()) * direction / majorant;
        if x < 0.0 || x >= width {
            let side = usize::from(x >= width);
            mid::atomic_fetch_add_f32_device(leaked.add(side), Relaxed, weight);
            break;
        }
        let cell = x as u32;
        let material = *materials.add(cell as usize);
        let section = *sections.add((material * 8 + group) as usize);
        if next() * majorant < section.x {
            let absorbed = weight * section.y;
            mid::atomic_fetch_add_f32_device(tally.add((cell * 8 + group) as usize), Relaxed, absorbed);
            weight -= absorbed;
            if weight < 0.1 {
                if next() < 0.5 {
                    break;
                }
                weight *= 2.0;
            }
            let chance = next();
            let shares = transfers.add((material * 64 + group * 8) as usize);
            let mut target = 0;
            while target < 7 && *shares.add(target as usize) < chance {
                target += 1;
            }
            group = target;
            direction = 2.0 * next() - 1.0;
        }
    }
}

/// A plane of cells in the sweep of discrete ordinates: diamond differences, a thread per cell, direction and energy.
#[kernel]
pub unsafe fn sweep_plane(
    count: u32,
    groups: u32,
    pairs: u32,
    side: u32,
    plane: *const u32,
    cosines: *const f64,
    sigma: *const f64,
    source: *const f64,
    face_x: *mut f64,
    face_y: *mut f64,
    face_z: *mut f64,
    flux: *mut f64,
) {
    let i = thread::index_1d();
    if i >= count * pairs {
        return;
    }
    let (cell, pair) = (*plane.add((i / pairs) as usize), i % pairs);
    let (x, y, z) = (cell % side, cell / side % side, cell / (side * side));
    let cosine = cosines.add(3 * (pair / groups) as usize);
    let (cx, cy, cz) = (*cosine, *cosine.add(1), *cosine.add(2));
    let place = |cell: u32| (cell * pairs + pair) as usize;
    let (on_x, on_y, on_z) =
        (face_x.add(place(z * side + y)), face_y.add(place(z * side + x)), face_z.add(place(y * side + x)));
    let sum = *source.add(place(cell)) + cx * *on_x + cy * *on_y + cz * *on_z;
    let middle = sum / (cx + cy + cz + *sigma.add((cell * groups + pair % groups) as usize));
    *flux.add(place(cell)) = middle;
    *on_x = 2.0 * middle - *on_x;
    *on_y = 2.0 * middle - *on_y;
    *on_z = 2.0 * middle - *on_z;
}

/// The longest stable step of a flow on a staggered grid: limits by sound, velocities and divergence, the least by block.
#[kernel]
pub unsafe fn courant_step(
    nx: u32,
    ny: u32,
    size: f64,
    sound: *const f64,
    viscosity: *const f64,
    density: *const f64,
    velocity_x: *const f64,
    velocity_y: *const f64,
    least: *mut f64,
) {
    let steps = shared_array![f64; 256];
    let own = thread::thread_idx_x() as usize;
    let i = index();
    let (nx, ny) = (nx as usize, ny as usize);
    let mut step = 1e30_f64;
    if i < nx * ny {
        let (x, y) = (i % nx, i / nx);
        let node = y * (nx + 1) + x;
        let speed = *sound.add(i);
        let square = speed * speed + 2.0 * *viscosity.add(i) / *density.add(i);
        step = 0.7 * size / square.sqrt().max(1e-16);
        let (below, right) = (node + nx + 1, node + 1);
        let west = *velocity_x.add(node) + *velocity_x.add(below);
        let east = *velocity_x.add(right) + *velocity_x.add(below + 1);
        let north = *velocity_y.add(node) + *velocity_y.add(right);
        let south = *velocity_y.add(below) + *velocity_y.add(below + 1);
        step = step.min(size / (0.5 * west).abs().max((0.5 * east).abs()).max(1e-16));
        step = step.min(size / (0.5 * north).abs().max((0.5 * south).abs()).max(1e-16));
        let divergence = (east - west + south - north) / (2.0 * size);
        if divergence < -1e-16 {
            step = step.min(-0.7 / divergence);
        }
    }
    *steps.add(own) = step;
    thread::sync_threads();
    let mut half = 128;
    while half > 0 {
        if own < half {
            *steps.add(own) = (*steps.add(own)).min(*steps.add(own + half));
        }
        thread::sync_threads();
        half /= 2;
    }
    if own == 0 {
        *least.add(thread::block_idx_x() as usize) = *steps;
    }
}

/// Coulomb's matrix of pairs of Gaussian functions: a thread per pair, a row of blocks per panel of other pairs in tiles.
#[kernel]
pub unsafe fn coulomb_pairs(
    n: u32,
    panel: u32,
    centres: *const f64,
    exponents: *const f64,
    charges: *const f64,
    boys: *const f64,
    matrix: *mut f64,
) {
    let tile = shared_array![f64; 640];
    let own = thread::thread_idx_x() as usize;
    let (i, n) = (index(), n as usize);
    let place = i.min(n - 1);
    let (x, y, z) = (*centres.add(place), *centres.add(n + place), *centres.add(2 * n + place));
    let exponent = *exponents.add(place);
    let mut first = thread::block_idx_y() as usize * panel as usize;
    let end = (first + panel as usize).min(n);
    let mut sum = 0.0_f64;
    while first < end {
        if first + own < end {
            let other = first + own;
            *tile.add(own) = *centres.add(other);
            *tile.add(128 + own) = *centres.add(n + other);
            *tile.add(256 + own) = *centres.add(2 * n + other);
            *tile.add(384 + own) = *exponents.add(other);
            *tile.add(512 + own) = *charges.add(other);
        }
        thread::sync_threads();
        for k in 0..(end - first).min(128) {
            let (dx, dy, dz) = (*tile.add(k) - x, *tile.add(128 + k) - y, *tile.add(256 + k) - z);
            let other = *tile.add(384 + k);
            let (product, both) = (exponent * other, exponent + other);
            let argument = product / both * (dx * dx + dy * dy + dz * dz);
            let value = if argument < 24.0 {
                // A cubic per eighth.
                let piece = (argument * 8.0) as u32;
                let rest = argument - f64::from(piece) * 0.125;
                let cubic = boys.add(4 * piece as usize);
                let inner = rest.mul_add(*cubic.add(3), *cubic.add(2));
                rest.mul_add(rest.mul_add(inner, *cubic.add(1)), *cubic)
            } else {
                0.886_226_925_452_758 / argument.sqrt()
            };
            sum += *tile.add(512 + k) * value / (product * both.sqrt());
        }
        thread::sync_threads();
        first += 128;
    }
    if i < n {
        mid::atomic_fetch_add_f64_device(matrix.add(i), Relaxed, sum);
    }
}

/// Turns a condensate's wave function by the phase of the potential and of its own density.
#[kernel]
pub unsafe fn turn_phase(n: u32, step: f32, coupling: f32, potential: *const f32, wave: *mut F32x2) {
    let i = index();
    if i < n as usize {
        let value = *wave.add(i);
        let density = value.x * value.x + value.y * value.y;
        let phase = -step * coupling.mul_add(density, *potential.add(i));
        let (sine, cosine) = (approx::sin(phase), approx::cos(phase));
        *wave.add(i) = F32x2::new(value.x * cosine - value.y * sine, value.x * sine + value.y * cosine);
    }
}
