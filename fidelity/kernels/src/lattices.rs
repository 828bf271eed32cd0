//! Fields on lattices, and other sciences.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4};
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{index, position};

/// A lattice Boltzmann step with nineteen velocities: relaxes, or turns back where solid, and pushes to the neighbours.
#[kernel]
pub unsafe fn lbm_d3q19(
    nx: u32,
    ny: u32,
    nz: u32,
    rate: f32,
    solid: *const u8,
    from: *const f32,
    to: *mut f32,
) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    let (nx, ny, nz) = (nx as usize, ny as usize, nz as usize);
    if x >= nx || y >= ny || z >= nz {
        return;
    }
    let cells = nx * ny * nz;
    let (plane, row) = (nx * ny, y * nx);
    let cell = z * plane + row + x;
    // The neighbours' columns, rows and planes, periodic: before, here, after.
    let columns = [if x == 0 { nx - 1 } else { x - 1 }, x, if x + 1 == nx { 0 } else { x + 1 }];
    let rows = [if y == 0 { plane - nx } else { row - nx }, row, if y + 1 == ny { 0 } else { row + nx }];
    let planes = [
        if z == 0 { cells - plane } else { (z - 1) * plane },
        z * plane,
        if z + 1 == nz { 0 } else { (z + 1) * plane },
    ];
    let mut f = [0.0_f32; 19];
    for k in 0..19 {
        f[k] = *from.add(k * cells + cell);
    }
    // Pairs of opposite velocities follow one another: those along an axis, then the diagonals.
    macro_rules! each_velocity {
        ($action:ident) => {
            $action!(0, 0, 0, 0, 0, 1.0 / 3.0);
            $action!(1, 2, 1, 0, 0, 1.0 / 18.0);
            $action!(2, 1, -1, 0, 0, 1.0 / 18.0);
            $action!(3, 4, 0, 1, 0, 1.0 / 18.0);
            $action!(4, 3, 0, -1, 0, 1.0 / 18.0);
            $action!(5, 6, 0, 0, 1, 1.0 / 18.0);
            $action!(6, 5, 0, 0, -1, 1.0 / 18.0);
            $action!(7, 8, 1, 1, 0, 1.0 / 36.0);
            $action!(8, 7, -1, -1, 0, 1.0 / 36.0);
            $action!(9, 10, 1, -1, 0, 1.0 / 36.0);
            $action!(10, 9, -1, 1, 0, 1.0 / 36.0);
            $action!(11, 12, 1, 0, 1, 1.0 / 36.0);
            $action!(12, 11, -1, 0, -1, 1.0 / 36.0);
            $action!(13, 14, 1, 0, -1, 1.0 / 36.0);
            $action!(14, 13, -1, 0, 1, 1.0 / 36.0);
            $action!(15, 16, 0, 1, 1, 1.0 / 36.0);
            $action!(16, 15, 0, -1, -1, 1.0 / 36.0);
            $action!(17, 18, 0, 1, -1, 1.0 / 36.0);
            $action!(18, 17, 0, -1, 1, 1.0 / 36.0);
        };
    }
    macro_rules! push {
        ($k:literal, $dx:literal, $dy:literal, $dz:literal, $value:expr) => {
            let target = planes[($dz + 1) as usize] + rows[($dy + 1) as usize] + columns[($dx + 1) as usize];
            *to.add($k * cells + target) = $value;
        };
    }
    if *solid.add(cell) != 0 {
        macro_rules! turn_back {
            ($k:literal, $opposite:literal, $dx:literal, $dy:literal, $dz:literal, $weight:expr) => {
                push!($k, $dx, $dy, $dz, f[$opposite]);
            };
        }
        each_velocity!(turn_back);
        return;
    }
    let (mut density, mut ux, mut uy, mut uz) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    macro_rules! sum {
        ($k:literal, $opposite:literal, $dx:literal, $dy:literal, $dz:literal, $weight:expr) => {
            density += f[$k];
            ux = ($dx as f32).mul_add(f[$k], ux);
            uy = ($dy as f32).mul_add(f[$k], uy);
            uz = ($dz as f32).mul_add(f[$k], uz);
        };
    }
    each_velocity!(sum);
    let inverse = 1.0 / density;
    ux *= inverse;
    uy *= inverse;
    uz *= inverse;
    let rest = 1.0 - 1.5 * (ux * ux + uy * uy + uz * uz);
    macro_rules! relax {
        ($k:literal, $opposite:literal, $dx:literal, $dy:literal, $dz:literal, $weight:expr) => {
            let along = 3.0 * ($dx as f32 * ux + $dy as f32 * uy + $dz as f32 * uz);
            let equilibrium = $weight * density * along.mul_add(0.5_f32.mul_add(along, 1.0), rest);
            push!($k, $dx, $dy, $dz, rate.mul_add(equilibrium - f[$k], f[$k]));
        };
    }
    each_velocity!(relax);
}

/// A step of Gray and Scott's reaction with diffusion in three dimensions, in double precision.
#[kernel]
pub unsafe fn gray_scott(
    nx: u32,
    ny: u32,
    nz: u32,
    feed: f64,
    kill: f64,
    u: *const f64,
    v: *const f64,
    next_u: *mut f64,
    next_v: *mut f64,
) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    let (nx, ny, nz) = (nx as usize, ny as usize, nz as usize);
    if x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1 {
        let plane = nx * ny;
        let at = z * plane + y * nx + x;
        let laplacian = |field: *const f64| {
            let sides = *field.add(at - 1) + *field.add(at + 1) + *field.add(at - nx) + *field.add(at + nx);
            let sum = sides + *field.add(at - plane) + *field.add(at + plane);
            (sum - 6.0 * *field.add(at)) / 6.0
        };
        let (here_u, here_v) = (*u.add(at), *v.add(at));
        let reaction = here_u * here_v * here_v;
        let change_u = 0.2 * laplacian(u) - reaction + feed * (1.0 - here_u);
        let change_v = 0.1 * laplacian(v) + reaction - (feed + kill) * here_v;
        *next_u.add(at) = here_u + change_u;
        *next_v.add(at) = here_v + change_v;
    }
}

/// A step of the sandpile: every cell of four grains or more gives one to each neighbour, over the edges too.
#[kernel]
pub unsafe fn sandpile_topple(nx: u32, ny: u32, from: *const i32, to: *mut i32) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x < nx && y < ny {
        let at = y * nx + x;
        let mut grains = *from.add(at);
        if grains >= 4 {
            grains -= 4;
        }
        if x > 0 && *from.add(at - 1) >= 4 {
            grains += 1;
        }
        if x + 1 < nx && *from.add(at + 1) >= 4 {
            grains += 1;
        }
        if y > 0 && *from.add(at - nx) >= 4 {
            grains += 1;
        }
        if y + 1 < ny && *from.add(at + nx) >= 4 {
            grains += 1;
        }
        *to.add(at) = grains;
    }
}

/// The product of two complex numbers, added to a third.
#[inline(always)]
fn complex_add(a: F32x2, b: F32x2, sum: (f32, f32)) -> (f32, f32) {
    let real = a.x.mul_add(b.x, (-a.y).mul_add(b.y, sum.0));
    let imaginary = a.x.mul_add(b.y, a.y.mul_add(b.x, sum.1));
    (real, imaginary)
}

/// Applies a gate to one qubit of a state vector, controlled by another qubit: a thread per pair of amplitudes.
#[kernel]
pub unsafe fn apply_gate(pairs: u32, target: u32, control: u32, gate: *const F32x2, state: *mut F32x2) {
    let i = index();
    if i < pairs as usize {
        // Opens two gaps in the bits of the index, the lower one first.
        let (low, high) = (target.min(control), target.max(control));
        let opened = (i >> low << (low + 1)) | (i & ((1 << low) - 1));
        let opened = (opened >> high << (high + 1)) | (opened & ((1 << high) - 1));
        let zero = opened | (1 << control);
        let one = zero | (1 << target);
        let (a, b) = (*state.add(zero), *state.add(one));
        let row = |k: usize| {
            let sum = complex_add(*gate.add(2 * k), a, (0.0, 0.0));
            let (real, imaginary) = complex_add(*gate.add(2 * k + 1), b, sum);
            F32x2::new(real, imaginary)
        };
        *state.add(zero) = row(0);
        *state.add(one) = row(1);
    }
}

/// Rusanov's flux of shallow water between two states of depth, momentum along the axis, and momentum across.
#[inline(always)]
fn water_flux(left: [f32; 3], right: [f32; 3]) -> [f32; 3] {
    let through = |[depth, along, across]: [f32; 3]| {
        let speed = along / depth;
        let pressure = 4.905 * depth * depth;
        ([along, along * speed + pressure, across * speed], speed.abs() + (9.81 * depth).sqrt())
    };
    let ((a, slow), (b, fast)) = (through(left), through(right));
    let fastest = slow.max(fast);
    [0, 1, 2].map(|k| 0.5 * (a[k] + b[k] - fastest * (right[k] - left[k])))
}

/// A step of the shallow water equations by finite volumes: tiles of 32 x 8 with a border in shared memory.
#[kernel]
pub unsafe fn shallow_water(nx: u32, ny: u32, ratio: f32, from: *const f32, to: *mut f32) {
    let tile = shared_array![f32; 1020];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (nx, ny) = (nx as usize, ny as usize);
    let (left, top) = (thread::block_idx_x() as usize * 32, thread::block_idx_y() as usize * 8);
    let plane = nx * ny;
    let mut cell = ty * 32 + tx;
    while cell < 340 {
        // Beyond the edges the field goes on as it is there.
        let x = (left + cell % 34).saturating_sub(1).min(nx - 1);
        let y = (top + cell / 34).saturating_sub(1).min(ny - 1);
        for k in 0..3 {
            *tile.add(340 * k + cell) = *from.add(k * plane + y * nx + x);
        }
        cell += 256;
    }
    thread::sync_threads();
    let (x, y) = (left + tx, top + ty);
    if x < nx && y < ny {
        let centre = (ty + 1) * 34 + tx + 1;
        let across = |cell: usize| [*tile.add(cell), *tile.add(340 + cell), *tile.add(680 + cell)];
        let down = |cell: usize| [*tile.add(cell), *tile.add(680 + cell), *tile.add(340 + cell)];
        let west = water_flux(across(centre - 1), across(centre));
        let east = water_flux(across(centre), across(centre + 1));
        let north = water_flux(down(centre - 34), down(centre));
        let south = water_flux(down(centre), down(centre + 34));
        let here = across(centre);
        let at = y * nx + x;
        *to.add(at) = here[0] - ratio * (east[0] - west[0] + south[0] - north[0]);
        *to.add(plane + at) = here[1] - ratio * (east[1] - west[1] + south[2] - north[2]);
        *to.add(2 * plane + at) = here[2] - ratio * (east[2] - west[2] + south[1] - north[1]);
    }
}

/// The electron density at each atom of a metal: its neighbours' contributions by cubic splines, from a list.
#[kernel]
pub unsafe fn electron_density(
    atoms: u32,
    cutoff: f32,
    scale: f32,
    counts: *const u32,
    neighbours: *const u32,
    positions: *const F32x4,
    spline: *const F32x4,
    density: *mut f32,
) {
    let i = index();
    if i < atoms as usize {
        let own = *positions.add(i);
        let mut sum = 0.0_f32;
        for k in 0..*counts.add(i) as usize {
            let other = *positions.add(*neighbours.add(k * atoms as usize + i) as usize);
            let (dx, dy, dz) = (other.x - own.x, other.y - own.y, other.z - own.z);
            let square = dx * dx + dy * dy + dz * dz;
            if square < cutoff * cutoff {
                let place = square.sqrt() * scale;
                let knot = place as u32;
                let rest = place - knot as f32;
                let piece = *spline.add(knot as usize);
                sum += rest.mul_add(rest.mul_add(rest.mul_add(piece.w, piece.z), piece.y), piece.x);
            }
        }
        *density.add(i) = sum;
    }
}

/// Net rates of reactions between two species each, forward and back by Arrhenius's law: a thread per cell of gas.
#[kernel]
pub unsafe fn arrhenius_rates(
    cells: u32,
    reactions: u32,
    species: *const u32,
    laws: *const f64,
    temperature: *const f64,
    concentration: *const f64,
    rates: *mut f64,
) {
    let (i, cells) = (index(), cells as usize);
    if i < cells {
        let heat = *temperature.add(i);
        let (logarithm, inverse) = (heat.ln(), 1.0 / heat);
        for reaction in 0..reactions as usize {
            let amount = |k: usize| *concentration.add(*species.add(4 * reaction + k) as usize * cells + i);
            // The logarithm of the factor, the exponent of the temperature, and the activation's temperature.
            let constant = |law: *const f64| {
                let power = (*law.add(1)).mul_add(logarithm, *law);
                (-*law.add(2)).mul_add(inverse, power).exp()
            };
            let law = laws.add(6 * reaction);
            let forward = constant(law) * amount(0) * amount(1);
            let back = constant(law.add(3)) * amount(2) * amount(3);
            *rates.add(reaction * cells + i) = forward - back;
        }
    }
}

/// Macroscopic cross sections for neutrons: searches each nuclide of the material for the energy, and interpolates five.
#[kernel]
pub unsafe fn cross_sections(
    lookups: u32,
    points: u32,
    energies: *const f64,
    materials: *const u32,
    starts: *const u32,
    nuclides: *const u32,
    densities: *const f64,
    grids: *const f64,
    sums: *mut f64,
) {
    let i = index();
    if i < lookups as usize {
        let (energy, material) = (*energies.add(i), *materials.add(i) as usize);
        let mut total = [0.0_f64; 5];
        for k in *starts.add(material) as usize..*starts.add(material + 1) as usize {
            // A point of a grid is its energy and five cross sections.
            let grid = grids.add(*nuclides.add(k) as usize * points as usize * 6);
            let (mut low, mut high) = (0, points as usize - 1);
            while high - low > 1 {
                let middle = usize::midpoint(low, high);
                if *grid.add(6 * middle) > energy {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            let (below, above) = (grid.add(6 * low), grid.add(6 * low + 6));
            let share = (*above - energy) / (*above - *below);
            let density = *densities.add(k);
            for kind in 0..5 {
                let (near, far) = (*below.add(1 + kind), *above.add(1 + kind));
                total[kind] = density.mul_add(far - share * (far - near), total[kind]);
            }
        }
        for kind in 0..5 {
            *sums.add(5 * i + kind) = total[kind];
        }
    }
}

/// Multiplies the four links of each site of a lattice gauge theory by one matrix each: a thread per entry.
#[kernel]
pub unsafe fn multiply_links(sites: u32, links: *const F32x2, right: *const F32x2, products: *mut F32x2) {
    let i = index();
    if i < sites as usize * 36 {
        let entry = i % 36;
        let (link, row, column) = (entry / 9, entry % 9 / 3, entry % 3);
        let (left, right) = (links.add(i - entry + 9 * link + 3 * row), right.add(9 * link + column));
        let mut sum = (0.0_f32, 0.0_f32);
        for k in 0..3 {
            sum = complex_add(*left.add(k), *right.add(3 * k), sum);
        }
        *products.add(i) = F32x2::new(sum.0, sum.1);
    }
}
