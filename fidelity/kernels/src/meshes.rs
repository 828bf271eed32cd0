//! Meshes, geometry, and linear algebra of sparse and small systems.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4};
use cuda_std::warp::warp_shuffle_xor;
use cuda_std::{GpuFloat, thread};

use crate::{ALL, index, position, warp_sum};

/// A vector's difference to another.
#[inline(always)]
fn minus(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The cross product.
#[inline(always)]
fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The scalar product.
#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The distance along a ray at which it enters a box, or the limit if it does not before.
#[inline(always)]
unsafe fn entry(low: F32x4, high: F32x4, origin: [f32; 3], inverse: [f32; 3], limit: f32) -> f32 {
    let (low, high) = (low.to_array(), high.to_array());
    let (mut near, mut far) = (0.0_f32, limit);
    for axis in 0..3 {
        let a = (low[axis] - origin[axis]) * inverse[axis];
        let b = (high[axis] - origin[axis]) * inverse[axis];
        near = near.max(a.min(b));
        far = far.min(a.max(b));
    }
    if near <= far { near } else { limit }
}

/// Casts a camera's rays at triangles in a tree of boxes: depth first, the nearer child before the other.
#[kernel]
pub unsafe fn cast_rays(
    width: u32,
    height: u32,
    far: f32,
    eye: *const f32,
    boxes: *const F32x4,
    triangles: *const f32,
    depth: *mut f32,
) {
    let (x, y) = position();
    if x >= width as usize || y >= height as usize {
        return;
    }
    let origin: [f32; 3] = [0, 1, 2].map(|axis| *eye.add(axis));
    let (right, up) = (x as f32 / width as f32 - 0.5, 0.5 - y as f32 / height as f32);
    let direction = [right, 1.0, up - 0.6];
    let inverse = direction.map(|part| 1.0 / part);
    let mut nearest = far;
    let mut stack = [(0_u32, 0.0_f32); 32];
    let mut top = 0;
    let mut node = 0_usize;
    loop {
        // Of a node: its box's low corner and first child or triangle, its high corner and number of triangles.
        let (low, high) = (*boxes.add(2 * node), *boxes.add(2 * node + 1));
        let (first, count) = (low.w.to_bits() as usize, high.w.to_bits() as usize);
        if count == 0 {
            let enter = |child: usize| {
                entry(*boxes.add(2 * child), *boxes.add(2 * child + 1), origin, inverse, nearest)
            };
            let (left, right) = (enter(first), enter(first + 1));
            let (near, away) = if left <= right { (first, first + 1) } else { (first + 1, first) };
            if left.max(right) < nearest {
                stack[top] = (away as u32, left.max(right));
                top += 1;
            }
            if left.min(right) < nearest {
                node = near;
                continue;
            }
        } else {
            for k in first..first + count {
                let at = triangles.add(9 * k);
                let corner = |k: usize| [*at.add(3 * k), *at.add(3 * k + 1), *at.add(3 * k + 2)];
                let a = corner(0);
                let (u, v) = (minus(corner(1), a), minus(corner(2), a));
                let across = cross(direction, v);
                let determinant = dot(u, across);
                if determinant.abs() < 1e-12 {
                    continue;
                }
                let scale = 1.0 / determinant;
                let from = minus(origin, a);
                let first = scale * dot(from, across);
                let normal = cross(from, u);
                let second = scale * dot(direction, normal);
                let distance = scale * dot(v, normal);
                let inside = first >= 0.0 && second >= 0.0 && first + second <= 1.0;
                if inside && distance > 0.0 && distance < nearest {
                    nearest = distance;
                }
            }
        }
        loop {
            if top == 0 {
                *depth.add(y * width as usize + x) = nearest;
                return;
            }
            top -= 1;
            let (next, enters) = stack[top];
            if enters < nearest {
                node = next as usize;
                break;
            }
        }
    }
}

/// Smooths a mesh: moves each vertex towards the mean of its neighbours.
#[kernel]
pub unsafe fn smooth_vertices(
    vertices: u32,
    share: f32,
    starts: *const u32,
    neighbours: *const u32,
    from: *const f32,
    to: *mut f32,
) {
    let i = index();
    if i < vertices as usize {
        let (start, end) = (*starts.add(i) as usize, *starts.add(i + 1) as usize);
        let mut sum = [0.0_f32; 3];
        for k in start..end {
            let other = *neighbours.add(k) as usize;
            for axis in 0..3 {
                sum[axis] += *from.add(3 * other + axis);
            }
        }
        let inverse = 1.0 / (end - start) as f32;
        for axis in 0..3 {
            let here = *from.add(3 * i + axis);
            *to.add(3 * i + axis) = here + share * (sum[axis] * inverse - here);
        }
    }
}

/// Turns two rows and columns of a symmetric matrix so that their common entry vanishes.
#[inline(always)]
fn rotate(diagonal: &mut [f32; 3], off: &mut [f32; 3], p: usize, q: usize) {
    // The entry off the diagonal is numbered by the row and column that it is not in.
    let r = 3 - p - q;
    let between = off[r];
    if between.abs() < 1e-20 {
        return;
    }
    let theta = (diagonal[q] - diagonal[p]) / (2.0 * between);
    let size = 1.0 / (theta.abs() + theta.mul_add(theta, 1.0).sqrt());
    let tangent = if theta < 0.0 { -size } else { size };
    let cosine = 1.0 / tangent.mul_add(tangent, 1.0).sqrt();
    let sine = tangent * cosine;
    diagonal[p] -= tangent * between;
    diagonal[q] += tangent * between;
    off[r] = 0.0;
    (off[p], off[q]) = (sine.mul_add(off[q], cosine * off[p]), (-sine).mul_add(off[p], cosine * off[q]));
}

/// Eigenvalues of many symmetric 3 x 3 matrices by Jacobi's rotations until the rest is small, in rising order.
#[kernel]
pub unsafe fn eigenvalues_3x3(n: u32, matrices: *const f32, values: *mut f32) {
    let (i, n) = (index(), n as usize);
    if i < n {
        let mut diagonal: [f32; 3] = [0, 1, 2].map(|k| *matrices.add(k * n + i));
        let mut off: [f32; 3] = [3, 4, 5].map(|k| *matrices.add(k * n + i));
        for _ in 0..10 {
            let rest = off[0].abs() + off[1].abs() + off[2].abs();
            if rest < 1e-6 * (diagonal[0].abs() + diagonal[1].abs() + diagonal[2].abs()) {
                break;
            }
            rotate(&mut diagonal, &mut off, 0, 1);
            rotate(&mut diagonal, &mut off, 0, 2);
            rotate(&mut diagonal, &mut off, 1, 2);
        }
        let [a, b, c] = diagonal;
        let (low, high) = (a.min(b), a.max(b));
        *values.add(i) = low.min(c);
        *values.add(n + i) = low.max(high.min(c));
        *values.add(2 * n + i) = high.max(c);
    }
}

/// Tells whether points lie in a polygon, by the number of edges that a ray to the right crosses.
#[kernel]
pub unsafe fn points_in_polygon(
    points: u32,
    corners: u32,
    point: *const F32x2,
    polygon: *const F32x2,
    inside: *mut u8,
) {
    let i = index();
    if i < points as usize {
        let at = *point.add(i);
        let mut within = false;
        let mut before = *polygon.add(corners as usize - 1);
        for k in 0..corners as usize {
            let corner = *polygon.add(k);
            if (corner.y > at.y) != (before.y > at.y) {
                let slope = (before.x - corner.x) / (before.y - corner.y);
                if at.x < slope * (at.y - corner.y) + corner.x {
                    within = !within;
                }
            }
            before = corner;
        }
        *inside.add(i) = u8::from(within);
    }
}

/// Samples a product of two dense matrices where a sparse one has entries, and scales by them: a warp per row.
#[kernel]
pub unsafe fn sampled_product(
    rows: u32,
    starts: *const u32,
    columns: *const u32,
    values: *const f32,
    left: *const F32x2,
    right: *const F32x2,
    products: *mut f32,
) {
    let (row, lane) = (index() / 32, index() % 32);
    if row < rows as usize {
        let own = *left.add(row * 32 + lane);
        for k in *starts.add(row) as usize..*starts.add(row + 1) as usize {
            let other = *right.add(*columns.add(k) as usize * 32 + lane);
            let sum = warp_sum(own.x.mul_add(other.x, own.y * other.y));
            if lane == 0 {
                *products.add(k) = *values.add(k) * sum;
            }
        }
    }
}

/// Solves for the unknowns of one level of a triangular system in double precision: eight threads per row.
#[kernel]
pub unsafe fn solve_level(
    rows: u32,
    order: *const u32,
    starts: *const u32,
    columns: *const u32,
    values: *const f64,
    diagonal: *const f64,
    right: *const f64,
    x: *mut f64,
) {
    let (i, lane) = (index() / 8, index() % 8);
    let inside = i < rows as usize;
    let mut sum = 0.0_f64;
    if inside {
        let end = *starts.add(i + 1) as usize;
        let mut k = *starts.add(i) as usize + lane;
        while k < end {
            sum = (*values.add(k)).mul_add(*x.add(*columns.add(k) as usize), sum);
            k += 8;
        }
    }
    for distance in [4, 2, 1] {
        sum += warp_shuffle_xor(ALL, sum, distance, 32).0;
    }
    if inside && lane == 0 {
        let row = *order.add(i) as usize;
        *x.add(row) = (*right.add(row) - sum) / *diagonal.add(i);
    }
}

/// A number that looks random, by which nodes come before each other.
#[inline(always)]
fn priority(node: u32) -> u32 {
    let mixed = (node ^ (node >> 16)).wrapping_mul(0x45D9_F3B5);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2C1B_3C6D);
    mixed ^ (mixed >> 13)
}

/// A round of Luby's independent set: an open node joins if no open neighbour comes before, and leaves if one has joined.
#[kernel]
pub unsafe fn independent_set(
    nodes: u32,
    starts: *const u32,
    edges: *const u32,
    from: *const u8,
    to: *mut u8,
) {
    let node = index();
    if node < nodes as usize {
        // 0 is open, 1 has joined, 2 has left.
        let mut state = *from.add(node);
        if state == 0 {
            let own = (priority(node as u32), node as u32);
            state = 1;
            for k in *starts.add(node) as usize..*starts.add(node + 1) as usize {
                let other = *edges.add(k);
                let theirs = *from.add(other as usize);
                if theirs == 1 {
                    state = 2;
                    break;
                }
                if theirs == 0 && (priority(other), other) > own {
                    state = 0;
                }
            }
        }
        *to.add(node) = state;
    }
}

/// The triple product of three vectors.
#[inline(always)]
fn triple(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
}

/// Volumes of hexahedra with eight corners each, and their ratios to the volumes at the start.
#[kernel]
pub unsafe fn hexahedron_volumes(
    elements: u32,
    nodes: *const u32,
    x: *const f64,
    y: *const f64,
    z: *const f64,
    start: *const f64,
    volume: *mut f64,
    ratio: *mut f64,
) {
    let i = index();
    if i < elements as usize {
        let mut corners = [[0.0_f64; 3]; 8];
        for k in 0..8 {
            let node = *nodes.add(8 * i + k) as usize;
            corners[k] = [*x.add(node), *y.add(node), *z.add(node)];
        }
        let edge = |a: usize, b: usize| [0, 1, 2].map(|axis| corners[a][axis] - corners[b][axis]);
        let plus = |a: [f64; 3], b: [f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        let sum = triple(plus(edge(3, 1), edge(7, 2)), edge(6, 3), edge(2, 0))
            + triple(plus(edge(4, 3), edge(5, 7)), edge(6, 4), edge(7, 0))
            + triple(plus(edge(1, 4), edge(2, 5)), edge(6, 1), edge(5, 0));
        let size = sum / 12.0;
        *volume.add(i) = size;
        *ratio.add(i) = size / *start.add(i);
    }
}

/// PolyBench's product with a lower triangle, transposed, whose diagonal is 1: a thread per entry.
#[kernel]
pub unsafe fn triangle_product(
    m: u32,
    n: u32,
    alpha: f32,
    triangle: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let (column, row) = position();
    let (m, n) = (m as usize, n as usize);
    if row < m && column < n {
        let mut sum = *from.add(row * n + column);
        for k in row + 1..m {
            sum = (*triangle.add(k * m + row)).mul_add(*from.add(k * n + column), sum);
        }
        *to.add(row * n + column) = alpha * sum;
    }
}
