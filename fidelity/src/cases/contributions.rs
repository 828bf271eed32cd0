//! Many contributions to one sum.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, bytes, floats, mix, singles, skewed, words},
};
use std::f64::consts::PI;

/// Near enough where floats are added in any order.
const ANY_ORDER: f64 = 1e-4;

/// The points of a square of `side` x `side` cells, moved by up to 0.3, and its triangles, two per cell.
fn mesh(side: usize, shuffled: bool) -> (Vec<f32>, Vec<[u32; 3]>) {
    let (line, shift) = (side + 1, floats(3 * (side + 1) * (side + 1), 1));
    let points = (0..shift.len())
        .map(|k| match (k / 3, k % 3) {
            (point, 0) => (point % line) as f32 + 0.3 * shift[k],
            (point, 1) => (point / line) as f32 + 0.3 * shift[k],
            _ => shift[k],
        })
        .collect();
    let cell = |i: usize| {
        let at = (i / side * line + i % side) as u32;
        let above = at + line as u32;
        [[at, at + 1, above + 1], [at, above + 1, above]]
    };
    let mut triangles: Vec<[u32; 3]> = (0..side * side).flat_map(cell).collect();
    if shuffled {
        triangles.sort_by_key(|corners| mix(corners[1] as usize, corners[2].into()));
    }
    (points, triangles)
}

/// The weights of a cubic B-spline.
fn spline(t: f64) -> [f64; 4] {
    let s = 1.0 - t;
    let middle = |t: f64| 2.0 / 3.0 - t * t + t * t * t / 2.0;
    [s * s * s / 6.0, middle(t), middle(s), t * t * t / 6.0]
}

pub(super) fn add(set: &mut Set) {
    for (side, shuffled) in [(250_usize, false), (600, true)] {
        let order = if shuffled { "shuffled" } else { "in order" };
        set.add("vertex_normals", format!("triangles={} {order}", 2 * side * side), move || {
            let (points, triangles) = mesh(side, shuffled);
            let mut normals = vec![0.0_f64; points.len()];
            for corners in &triangles {
                let corners = corners.map(|corner| 3 * corner as usize);
                let edge = |k: usize, axis: usize| {
                    f64::from(points[corners[k] + axis]) - f64::from(points[corners[0] + axis])
                };
                for axis in 0..3 {
                    let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
                    let normal = edge(1, i) * edge(2, j) - edge(1, j) * edge(2, i);
                    corners.iter().for_each(|corner| normals[corner + axis] += normal);
                }
            }
            Case::over(triangles.len(), 256)
                .word(triangles.len())
                .input(triangles.as_flattened())
                .input(&points)
                .inout(&vec![0.0_f32; points.len()], singles(&normals), ANY_ORDER)
        });
    }
    for (side, shuffled) in [(150_usize, true), (450, false)] {
        let order = if shuffled { "shuffled" } else { "in order" };
        set.add("assemble_elements", format!("elements={} {order}", 2 * side * side), move || {
            let (points, elements) = mesh(side, shuffled);
            let entries: Vec<[u32; 2]> = (0..9)
                .flat_map(|k| elements.iter().map(move |corners| [corners[k / 3], corners[k % 3]]))
                .collect();
            let mut different = entries.clone();
            different.sort_unstable();
            different.dedup();
            let place = |entry: &[u32; 2]| different.binary_search(entry).expect("it is in the list") as u32;
            let places: Vec<u32> = entries.iter().map(place).collect();
            let mut matrix = vec![0.0_f64; different.len()];
            for (element, corners) in elements.iter().enumerate() {
                let point = |k: usize, axis: usize| f64::from(points[3 * corners[k % 3] as usize + axis]);
                // The gradients of the corners' hat functions, times twice the area.
                let slope = |k: usize| [point(k + 1, 1) - point(k + 2, 1), point(k + 2, 0) - point(k + 1, 0)];
                let slopes = [0, 1, 2].map(slope);
                let twice = slopes[0][0] * slopes[1][1] - slopes[1][0] * slopes[0][1];
                for k in 0..9 {
                    let (a, b) = (slopes[k / 3], slopes[k % 3]);
                    let value = (a[0] * b[0] + a[1] * b[1]) / (2.0 * twice.abs());
                    matrix[places[k * elements.len() + element] as usize] += value;
                }
            }
            Case::over(elements.len(), 128)
                .word(elements.len())
                .input(elements.as_flattened())
                .input(&points)
                .input(&places)
                .inout(&vec![0.0_f64; matrix.len()], matrix, 1e-10)
        });
    }
    for (edges, width, nodes, power) in [(60_000_usize, 32_usize, 10_000_u32, 1), (200_000, 16, 60_000, 3)] {
        let sizes = format!("edges={edges} width={width} nodes={nodes} power={power}");
        set.add("sum_messages", sizes, move || {
            let (sources, targets) = (words(edges, nodes, 1), skewed(edges, nodes, power, 2));
            let (weights, features) = (floats(edges, 3), floats(nodes as usize * width, 4));
            let mut sums = vec![0.0_f64; features.len()];
            for edge in 0..edges {
                let (from, to) = (sources[edge] as usize * width, targets[edge] as usize * width);
                for k in 0..width {
                    sums[to + k] += f64::from(weights[edge]) * f64::from(features[from + k]);
                }
            }
            Case::over(edges * width, 256)
                .word(edges)
                .word(width)
                .input(&sources)
                .input(&targets)
                .input(&weights)
                .input(&features)
                .inout(&vec![0.0_f32; sums.len()], singles(&sums), ANY_ORDER)
        });
    }
    for (m, n, inner, slice) in [(256_usize, 256_usize, 1024_usize, 128_usize), (96, 64, 8192, 256)] {
        set.add("product_slices", format!("m={m} n={n} inner={inner} slice={slice}"), move || {
            let (a, b) = (floats(m * inner, 1), floats(inner * n, 2));
            let mut c = vec![0.0_f64; m * n];
            for row in 0..m {
                for k in 0..inner {
                    let value = f64::from(a[row * inner + k]);
                    for column in 0..n {
                        c[row * n + column] += value * f64::from(b[k * n + column]);
                    }
                }
            }
            Case::grid([n / 32, m / 32, inner / slice].map(|blocks| blocks as u32), [32, 8, 1])
                .word(n)
                .word(inner)
                .word(slice)
                .input(&a)
                .input(&b)
                .inout(&vec![0.0_f32; m * n], singles(&c), ANY_ORDER)
        });
    }
    for (n, side) in [(20_000_usize, 32_usize), (60_000, 96)] {
        set.add("spread_splines", format!("n={n} side={side}"), move || {
            let particles: Vec<f32> = floats(4 * n, 1)
                .into_iter()
                .enumerate()
                .map(|(k, share)| if k % 4 == 3 { share } else { share * side as f32 })
                .collect();
            let mut mesh = vec![0.0_f64; side * side * side];
            for particle in particles.chunks(4) {
                let [x, y, z] = [0, 1, 2].map(|axis| particle[axis] as usize);
                let [wx, wy, wz] = [0, 1, 2].map(|axis| spline(f64::from(particle[axis].fract())));
                for k in 0..64 {
                    let (i, j, k) = (k % 4, k / 4 % 4, k / 16);
                    let row = (z + k) % side * side + (y + j) % side;
                    mesh[row * side + (x + i) % side] += f64::from(particle[3]) * wx[i] * wy[j] * wz[k];
                }
            }
            Case::over(16 * n, 128).word(n).word(side).input(&particles).inout(
                &vec![0.0_f32; mesh.len()],
                singles(&mesh),
                ANY_ORDER,
            )
        });
    }
    for (n, mean, reach) in [(30_000_usize, 12, 40_u32), (150_000, 7, 149_000)] {
        set.add("half_list_forces", format!("n={n} mean={mean} reach={reach}"), move || {
            let mut lists = Rows::random(n, reach as usize, mean, 1);
            for i in 0..n {
                let range = lists.of(i);
                lists.columns[range].iter_mut().for_each(|j| *j = (i as u32 + 1 + *j) % n as u32);
            }
            let particles = floats(4 * n, 3);
            let mut forces = vec![0.0_f64; 3 * n];
            for i in 0..n {
                for k in lists.of(i) {
                    let j = lists.columns[k] as usize;
                    let value = |particle: usize, axis: usize| f64::from(particles[4 * particle + axis]);
                    let d = [0, 1, 2].map(|axis| value(j, axis) - value(i, axis));
                    let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.0625;
                    for axis in 0..3 {
                        let force = value(i, 3) * value(j, 3) * d[axis] / square.powf(1.5);
                        forces[3 * i + axis] += force;
                        forces[3 * j + axis] -= force;
                    }
                }
            }
            Case::over(n, 128).word(n).input(&lists.starts).input(&lists.columns).input(&particles).inout(
                &vec![0.0_f32; 3 * n],
                singles(&forces),
                ANY_ORDER,
            )
        });
    }
    for (n, shift, bins) in [(1500_usize, 17_usize, 24_usize), (4500, 13, 384)] {
        set.add("pair_distances", format!("n={n} bins={bins}"), move || {
            let points = words(4 * n, 1024, 1);
            let mut counts = vec![0_u32; bins];
            for i in 0..n {
                for j in i + 1..n {
                    let square = |axis: usize| points[4 * i + axis].abs_diff(points[4 * j + axis]).pow(2);
                    let bin = (square(0) + square(1) + square(2)) >> shift;
                    counts[(bin as usize).min(bins - 1)] += 1;
                }
            }
            let tiles = n.div_ceil(256) as u32;
            Case::grid([tiles, tiles, 1], [256, 1, 1]).word(n).word(shift).word(bins).input(&points).inout(
                &vec![0; bins],
                counts,
                0.0,
            )
        });
    }
    for (rows, features, bins, blocks) in [(120_000_usize, 12_usize, 256_usize, 16), (600_000, 6, 32, 64)] {
        let sizes = format!("rows={rows} features={features} bins={bins} blocks={blocks}");
        set.add("gradient_bins", sizes, move || {
            let mut codes = bytes(rows * features, 1);
            codes.iter_mut().for_each(|code| *code = (usize::from(*code) % bins) as u8);
            let gradients: Vec<f32> =
                floats(2 * rows, 2).chunks(2).flat_map(|pair| [pair[0] - 0.5, pair[1]]).collect();
            let mut sums = vec![0.0_f64; 2 * bins * features];
            for (at, &code) in codes.iter().enumerate() {
                let (feature, row) = (at / rows, at % rows);
                let bin = 2 * (feature * bins + usize::from(code));
                sums[bin] += f64::from(gradients[2 * row]);
                sums[bin + 1] += f64::from(gradients[2 * row + 1]);
            }
            Case::grid([blocks, features as u32, 1], [256, 1, 1])
                .word(rows)
                .word(bins)
                .input(&codes)
                .input(&gradients)
                .inout(&vec![0.0_f32; sums.len()], singles(&sums), ANY_ORDER)
        });
    }
    for (n, blocks, noise) in [(1_u32 << 20, 132, 30), (12_000_000, 528, 4)] {
        set.add("joint_histogram", format!("pixels={n} blocks={blocks} noise={noise}"), move || {
            // Stripes of grey, and the same with noise.
            let n = n as usize;
            let first: Vec<u8> = (0..n).map(|i| (i / 40 % 200) as u8).collect();
            let second: Vec<u8> =
                first.iter().enumerate().map(|(i, &grey)| grey + (mix(i, 1) % noise) as u8).collect();
            let mut counts = vec![0_u32; 4096];
            first
                .iter()
                .zip(&second)
                .for_each(|(&x, &y)| counts[64 * usize::from(y >> 2) + usize::from(x >> 2)] += 1);
            Case::grid([blocks, 1, 1], [256, 1, 1]).word(n / 16).input(&first).input(&second).inout(
                &vec![0; 4096],
                counts,
                0.0,
            )
        });
    }
    for (side, angles) in [(256_usize, 30_usize), (640, 20)] {
        set.add("project_image", format!("side={side} angles={angles}"), move || {
            let detectors = side * 3 / 2;
            let direction = |angle: usize| {
                let (sine, cosine) = (PI * angle as f64 / angles as f64).sin_cos();
                [cosine as f32, sine as f32]
            };
            let directions: Vec<[f32; 2]> = (0..angles).map(direction).collect();
            let image = floats(side * side, 1);
            let mut sums = vec![0.0_f64; angles * detectors];
            for (i, &value) in image.iter().enumerate() {
                let [dx, dy] = [i % side, i / side].map(|at| at as f64 - 0.5 * (side as f64 - 1.0));
                for (angle, direction) in directions.iter().enumerate() {
                    let [x, y] = direction.map(f64::from);
                    let shadow = dx * x + dy * y + 0.5 * detectors as f64;
                    let at = angle * detectors + shadow as usize;
                    let right = f64::from(value) * shadow.fract();
                    sums[at] += f64::from(value) - right;
                    sums[at + 1] += right;
                }
            }
            Case::plane([side, side], [32, 8])
                .word(side)
                .word(angles)
                .word(detectors)
                .input(directions.as_flattened())
                .input(&image)
                .inout(&vec![0.0_f32; sums.len()], singles(&sums), 1e-3)
        });
    }
    for (n, shift, power) in [(400_000_usize, 10_usize, 2), (3_000_000, 9, 1)] {
        set.add("voxel_sums", format!("n={n} side={} power={power}", 1 << (16 - shift)), move || {
            let axes = [1, 2, 3].map(|seed| skewed(n, 1 << 16, power, seed));
            let points: Vec<u32> = (0..n).flat_map(|i| [axes[0][i] | axes[1][i] << 16, axes[2][i]]).collect();
            let side = 1 << (16 - shift);
            let mut voxels = vec![0_u32; 4 * side * side * side];
            for i in 0..n {
                let [x, y, z] = [0, 1, 2].map(|axis| (axes[axis][i] >> shift) as usize);
                let voxel = 4 * ((z * side + y) * side + x);
                (0..3).for_each(|axis| voxels[voxel + axis] += axes[axis][i] % (1 << shift));
                voxels[voxel + 3] += 1;
            }
            Case::over(n, 256).word(n).word(shift).input(&points).inout(&vec![0; voxels.len()], voxels, 0.0)
        });
    }
}
