//! Meshes, geometry, and linear algebra of sparse and small systems.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, doubles, floats, mix},
};

type Vector = [f32; 3];

fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A tree of boxes around triangles: of each node two corners, the first child or triangle, and how many triangles.
struct Tree {
    boxes: Vec<([Vector; 2], [u32; 2])>,
    triangles: Vec<[Vector; 3]>,
}

impl Tree {
    fn new(triangles: Vec<[Vector; 3]>) -> Tree {
        let count = triangles.len();
        let mut tree = Tree { boxes: vec![([[0.0; 3]; 2], [0, 0])], triangles };
        tree.split(0, 0, count);
        tree
    }

    /// Fills a node in for these triangles, and halves them along the longest axis until there are four.
    fn split(&mut self, node: usize, first: usize, end: usize) {
        let part = &mut self.triangles[first..end];
        let corners = || part.iter().flatten();
        let low: Vector = std::array::from_fn(|axis| corners().map(|at| at[axis]).fold(f32::MAX, f32::min));
        let high: Vector = std::array::from_fn(|axis| corners().map(|at| at[axis]).fold(f32::MIN, f32::max));
        if part.len() <= 4 {
            self.boxes[node] = ([low, high], [first as u32, (end - first) as u32]);
            return;
        }
        let size = minus(high, low);
        let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).expect("three axes");
        let middle = |triangle: &[Vector; 3]| triangle.iter().map(|at| at[axis]).sum::<f32>();
        part.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
        let child = self.boxes.len();
        self.boxes.extend([([[0.0; 3]; 2], [0, 0]); 2]);
        self.boxes[node] = ([low, high], [child as u32, 0]);
        let half = usize::midpoint(first, end);
        self.split(child, first, half);
        self.split(child + 1, half, end);
    }

    /// The distance to the nearest triangle below this node that is before the limit, or the limit.
    fn cast(&self, node: usize, origin: Vector, direction: Vector, limit: f32) -> f32 {
        let ([low, high], [first, count]) = self.boxes[node];
        let (mut near, mut far) = (0.0_f32, limit);
        for axis in 0..3 {
            let inverse = 1.0 / direction[axis];
            let (a, b) = ((low[axis] - origin[axis]) * inverse, (high[axis] - origin[axis]) * inverse);
            near = near.max(a.min(b));
            far = far.min(a.max(b));
        }
        let first = first as usize;
        if near > far {
            limit
        } else if count == 0 {
            let left = self.cast(first, origin, direction, limit);
            self.cast(first + 1, origin, direction, left)
        } else {
            let hits = self.triangles[first..first + count as usize].iter().filter_map(|&[a, b, c]| {
                let (u, v, from) = (minus(b, a), minus(c, a), minus(origin, a));
                let (across, normal) = (cross(direction, v), cross(from, u));
                let scale = 1.0 / dot(u, across);
                let (s, t) = (scale * dot(from, across), scale * dot(direction, normal));
                let distance = scale * dot(v, normal);
                (s >= 0.0 && t >= 0.0 && s + t <= 1.0 && distance > 0.0).then_some(distance)
            });
            hits.fold(limit, f32::min)
        }
    }
}

/// Numbers for the points of a grid, each moved by less than `reach` places, as generators of meshes give them.
fn numbering(n: usize, reach: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| i + mix(i, seed) as usize % reach);
    let mut number = vec![0; n];
    order.iter().enumerate().for_each(|(place, &i)| number[i] = place as u32);
    number
}

/// Compressed rows of pairs, both ways.
fn both_ways(nodes: usize, pairs: &[[u32; 2]]) -> Rows {
    let mut starts = vec![0_u32; nodes + 1];
    pairs.iter().flatten().for_each(|&node| starts[node as usize + 1] += 1);
    (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
    let mut ends = starts.clone();
    let mut columns = vec![0; 2 * pairs.len()];
    for &[a, b] in pairs {
        for (from, to) in [(a, b), (b, a)] {
            columns[ends[from as usize] as usize] = to;
            ends[from as usize] += 1;
        }
    }
    Rows { starts, columns }
}

/// A number that looks random, by which nodes come before each other.
fn priority(node: u32) -> u32 {
    let step = |x: u32, shift: u32, factor: u32| (x ^ (x >> shift)).wrapping_mul(factor);
    step(step(step(node, 16, 0x45D9_F3B5), 15, 0x2C1B_3C6D), 13, 1)
}

pub(super) fn add(set: &mut Set) {
    for [width, height, side] in [[168_usize, 120_usize, 70_usize], [512, 380, 240]] {
        let count = 2 * side * side;
        set.add("cast_rays", format!("width={width} height={height} triangles={count}"), move || {
            let rough = floats((side + 1) * (side + 1), 1);
            let point = |x: usize, y: usize| {
                let (fx, fy) = (x as f32 / side as f32, y as f32 / side as f32);
                let hills = 0.05 * ((9.0 * fx).sin() + (11.0 * fy).cos());
                [fx, fy, hills + 0.5 / side as f32 * rough[y * (side + 1) + x]]
            };
            let triangles = (0..side * side)
                .flat_map(|i| {
                    let (x, y) = (i % side, i / side);
                    let [a, b, c, d] = [point(x, y), point(x + 1, y), point(x, y + 1), point(x + 1, y + 1)];
                    [[a, b, c], [b, d, c]]
                })
                .collect();
            let tree = Tree::new(triangles);
            let (eye, far) = ([0.5_f32, -0.3, 0.45], 10.0);
            let expected = (0..width * height)
                .map(|i| {
                    let (x, y) = (i % width, i / width);
                    let right = x as f32 / width as f32 - 0.5;
                    let up = 0.5 - y as f32 / height as f32;
                    tree.cast(0, eye, [right, 1.0, up - 0.6], far)
                })
                .collect();
            let node = |&([low, high], [first, count]): &([Vector; 2], [u32; 2])| {
                let (first, count) = (f32::from_bits(first), f32::from_bits(count));
                [low[0], low[1], low[2], first, high[0], high[1], high[2], count]
            };
            let boxes: Vec<f32> = tree.boxes.iter().flat_map(node).collect();
            let corners = tree.triangles.as_flattened().as_flattened();
            Case::plane([width, height], [8, 8])
                .word(width)
                .word(height)
                .single(far)
                .input(&eye)
                .input(&boxes)
                .input(corners)
                .output::<f32>(expected, 1e-5)
        });
    }
    for [nx, ny] in [[170_usize, 130_usize], [1400, 1100]] {
        let vertices = nx * ny;
        set.add("smooth_vertices", format!("vertices={vertices}"), move || {
            let number = numbering(vertices, 500, 1);
            let mut pairs = Vec::new();
            for i in 0..vertices {
                let (right, up) = (i % nx + 1 < nx, i / nx + 1 < ny);
                let beside = [(right, i + 1), (up, i + nx), (right && up, i + nx + 1)];
                pairs.extend(
                    beside.iter().filter(|(exists, _)| *exists).map(|&(_, j)| [number[i], number[j]]),
                );
            }
            let mesh = both_ways(vertices, &pairs);
            let from = floats(3 * vertices, 2);
            let mut expected = vec![0.0_f32; 3 * vertices];
            for i in 0..vertices {
                for axis in 0..3 {
                    let neighbours = mesh.of(i).map(|k| f64::from(from[3 * mesh.columns[k] as usize + axis]));
                    let mean = neighbours.sum::<f64>() / mesh.of(i).len() as f64;
                    expected[3 * i + axis] = (0.4 * f64::from(from[3 * i + axis]) + 0.6 * mean) as f32;
                }
            }
            Case::over(vertices, 256)
                .word(vertices)
                .single(0.6)
                .input(&mesh.starts)
                .input(&mesh.columns)
                .input(&from)
                .output(expected, 1e-5)
        });
    }
    for n in [25_000_usize, 1_200_000] {
        set.add("eigenvalues_3x3", format!("n={n}"), move || {
            let matrices: Vec<f32> = floats(6 * n, 1).into_iter().map(|value| 2.0 * value - 1.0).collect();
            let mut expected = vec![0.0_f32; 3 * n];
            for i in 0..n {
                let [a, b, c, yz, xz, xy] = std::array::from_fn(|k| f64::from(matrices[k * n + i]));
                // The roots of the characteristic polynomial by the cosine of a third of an angle.
                let mean = (a + b + c) / 3.0;
                let (a, b, c) = (a - mean, b - mean, c - mean);
                let spread = ((a * a + b * b + c * c + 2.0 * (yz * yz + xz * xz + xy * xy)) / 6.0).sqrt();
                let determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
                let angle = (determinant / (2.0 * spread.powi(3))).clamp(-1.0, 1.0).acos() / 3.0;
                let third = std::f64::consts::TAU / 3.0;
                let roots = [angle + third, angle - third, angle];
                for (k, root) in roots.into_iter().enumerate() {
                    expected[k * n + i] = (mean + 2.0 * spread * root.cos()) as f32;
                }
            }
            Case::over(n, 128).word(n).input(&matrices).output(expected, 1e-4)
        });
    }
    for (points, corners) in [(30_000_usize, 90_usize), (600_000, 250)] {
        set.add("points_in_polygon", format!("points={points} corners={corners}"), move || {
            // A star with uneven rays.
            let radii = floats(corners, 1);
            let polygon: Vec<[f32; 2]> = (0..corners)
                .map(|k| {
                    let (sine, cosine) = (std::f32::consts::TAU * k as f32 / corners as f32).sin_cos();
                    let radius = 0.3 + 0.6 * radii[k];
                    [radius * cosine, radius * sine]
                })
                .collect();
            let point: Vec<f32> = floats(2 * points, 2).into_iter().map(|value| 2.0 * value - 1.0).collect();
            let inside = |at: &[f32]| {
                let crossed = |k: &usize| {
                    let ([ax, ay], [bx, by]) = (polygon[*k], polygon[(k + corners - 1) % corners]);
                    let between = (ay > at[1]) != (by > at[1]);
                    between && at[0] < (bx - ax) / (by - ay) * (at[1] - ay) + ax
                };
                ((0..corners).filter(crossed).count() % 2) as u8
            };
            let expected = point.chunks(2).map(inside).collect();
            Case::over(points, 256)
                .word(points)
                .word(corners)
                .input(&point)
                .input(polygon.as_flattened())
                .output::<u8>(expected, 0.0)
        });
    }
    for (rows, mean) in [(3000_usize, 8_u32), (50_000, 14)] {
        set.add("sampled_product", format!("rows={rows} mean={mean}"), move || {
            let matrix = Rows::random(rows, rows, mean, 1);
            let values = floats(matrix.columns.len(), 3);
            let (left, right) = (floats(64 * rows, 4), floats(64 * rows, 5));
            let mut expected = Vec::new();
            for row in 0..rows {
                for k in matrix.of(row) {
                    let (a, b) = (&left[64 * row..][..64], &right[64 * matrix.columns[k] as usize..][..64]);
                    expected.push(values[k] * a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>());
                }
            }
            Case::over(32 * rows, 128)
                .word(rows)
                .input(&matrix.starts)
                .input(&matrix.columns)
                .input(&values)
                .input(&left)
                .input(&right)
                .output(expected, 1e-4)
        });
    }
    for [nx, ny, nz] in [[44_usize, 36_usize, 30_usize], [150, 140, 120]] {
        let rows = nx * ny * nz / 8;
        set.add("solve_level", format!("rows={rows}"), move || {
            // The last of eight colours of a grid: its points have neighbours of the other colours only.
            let (mut order, mut starts, mut columns) = (Vec::new(), vec![0_u32], Vec::new());
            for i in 0..rows {
                let at =
                    [i % (nx / 2), i / (nx / 2) % (ny / 2), i / (nx / 2 * (ny / 2))].map(|at| 2 * at + 1);
                for k in (0..27).filter(|&k| k != 13) {
                    let [x, y, z] = [at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1];
                    if x < nx && y < ny && z < nz {
                        columns.push(((z * ny + y) * nx + x) as u32);
                    }
                }
                starts.push(columns.len() as u32);
                order.push(((at[2] * ny + at[1]) * nx + at[0]) as u32);
            }
            let values: Vec<f64> = doubles(columns.len(), 1).into_iter().map(|value| -value).collect();
            let diagonal: Vec<f64> = doubles(rows, 2).into_iter().map(|value| 26.0 + value).collect();
            let (right, x) = (doubles(8 * rows, 3), doubles(8 * rows, 4));
            let mut expected = x.clone();
            for (i, &row) in order.iter().enumerate() {
                let known = starts[i] as usize..starts[i + 1] as usize;
                let sum: f64 = known.map(|k| values[k] * x[columns[k] as usize]).sum();
                expected[row as usize] = (right[row as usize] - sum) / diagonal[i];
            }
            Case::over(8 * rows, 256)
                .word(rows)
                .input(&order)
                .input(&starts)
                .input(&columns)
                .input(&values)
                .input(&diagonal)
                .input(&right)
                .inout(&x, expected, 1e-12)
        });
    }
    for nodes in [20_011_usize, 1_300_000] {
        set.add("independent_set", format!("nodes={nodes}"), move || {
            // Four edges a node, half of them to nodes near by.
            let pairs: Vec<[u32; 2]> = (0..4 * nodes)
                .map(|k| {
                    let reach = if k % 2 == 0 { 200 } else { nodes - 1 };
                    let other = k / 4 + 1 + mix(k, 1) as usize % reach;
                    [(k / 4) as u32, (other % nodes) as u32]
                })
                .collect();
            let graph = both_ways(nodes, &pairs);
            let from: Vec<u8> =
                (0..nodes).map(|i| [0, 0, 0, 0, 0, 0, 1, 2][mix(i, 2) as usize % 8]).collect();
            let next = |node: usize| {
                let around = || graph.of(node).map(|k| graph.columns[k]);
                let before = |&other: &u32| {
                    let rank = |node: u32| (priority(node), node);
                    from[other as usize] == 0 && rank(other) > rank(node as u32)
                };
                if from[node] != 0 {
                    from[node]
                } else if around().any(|other| from[other as usize] == 1) {
                    2
                } else {
                    u8::from(!around().any(|other| before(&other)))
                }
            };
            let expected = (0..nodes).map(next).collect();
            Case::over(nodes, 256)
                .word(nodes)
                .input(&graph.starts)
                .input(&graph.columns)
                .input(&from)
                .output::<u8>(expected, 0.0)
        });
    }
    for [nx, ny, nz] in [[30_usize, 28_usize, 26_usize], [140, 130, 110]] {
        let elements = nx * ny * nz;
        set.add("hexahedron_volumes", format!("elements={elements}"), move || {
            let (wide, high) = (nx + 1, ny + 1);
            let points = wide * high * (nz + 1);
            const CORNERS: [[usize; 3]; 8] =
                [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
            let nodes: Vec<u32> = (0..8 * elements)
                .map(|k| {
                    let (element, [dx, dy, dz]) = (k / 8, CORNERS[k % 8]);
                    let (x, y, z) = (element % nx + dx, element / nx % ny + dy, element / nx / ny + dz);
                    ((z * high + y) * wide + x) as u32
                })
                .collect();
            let place = |axis: usize| -> Vec<f64> {
                let at = |i: usize| [i % wide, i / wide % high, i / wide / high][axis] as f64;
                doubles(points, 1 + axis as u64)
                    .into_iter()
                    .enumerate()
                    .map(|(i, v)| at(i) + 0.3 * v)
                    .collect()
            };
            let places = [place(0), place(1), place(2)];
            let start: Vec<f64> = doubles(elements, 4).into_iter().map(|value| 0.5 + value).collect();
            // The integral of the determinant, which two points along each axis give exactly.
            let volume = |nodes: &[u32]| -> f64 {
                let offset = 0.5 / 3.0_f64.sqrt();
                let at = |k: usize, axis: usize| 0.5 + if k >> axis & 1 == 0 { -offset } else { offset };
                let determinant = |k: usize| {
                    let mut columns = [[0.0_f64; 3]; 3];
                    for (&node, corner) in nodes.iter().zip(CORNERS) {
                        for (by, column) in columns.iter_mut().enumerate() {
                            let weight: f64 = (0..3)
                                .map(|axis| match (axis == by, corner[axis] == 1) {
                                    (true, up) => f64::from(u8::from(up)) * 2.0 - 1.0,
                                    (false, true) => at(k, axis),
                                    (false, false) => 1.0 - at(k, axis),
                                })
                                .product();
                            (0..3).for_each(|axis| column[axis] += weight * places[axis][node as usize]);
                        }
                    }
                    let [a, b, c] = columns;
                    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
                        + a[2] * (b[0] * c[1] - b[1] * c[0])
                };
                (0..8).map(determinant).sum::<f64>() / 8.0
            };
            let volumes: Vec<f64> = nodes.chunks(8).map(volume).collect();
            let ratios = volumes.iter().zip(&start).map(|(volume, start)| volume / start).collect();
            Case::over(elements, 128)
                .word(elements)
                .input(&nodes)
                .input(&places[0])
                .input(&places[1])
                .input(&places[2])
                .input(&start)
                .output(volumes, 1e-10)
                .output::<f64>(ratios, 1e-10)
        });
    }
    for [m, n] in [[150_usize, 200_usize], [700, 900]] {
        set.add("triangle_product", format!("m={m} n={n}"), move || {
            let (triangle, from) = (floats(m * m, 1), floats(m * n, 2));
            let mut expected = from.clone();
            for k in 0..m {
                for row in 0..k {
                    let factor = triangle[k * m + row];
                    let sums = &mut expected[row * n..][..n];
                    sums.iter_mut().zip(&from[k * n..]).for_each(|(sum, value)| *sum += factor * value);
                }
            }
            expected.iter_mut().for_each(|sum| *sum *= 1.5);
            Case::plane([n, m], [32, 8])
                .word(m)
                .word(n)
                .single(1.5)
                .input(&triangle)
                .input(&from)
                .output(expected, 1e-4)
        });
    }
}
