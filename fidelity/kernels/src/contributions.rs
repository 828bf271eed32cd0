//! Many contributions to one sum: meshes, messages on a graph, forces, products in slices, and histograms of features.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, U32x2, U32x4};
use cuda_std::{GpuFloat, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{index, position};

/// Normals of a mesh's vertices: each triangle adds its own, as long as its area, to its three corners.
#[kernel]
pub unsafe fn vertex_normals(triangles: u32, corners: *const u32, points: *const f32, normals: *mut f32) {
    let i = index();
    if i >= triangles as usize {
        return;
    }
    let corner: [usize; 3] = [0, 1, 2].map(|k| *corners.add(3 * i + k) as usize);
    let [a, b, c] = corner.map(|at| [0, 1, 2].map(|axis| *points.add(3 * at + axis)));
    let (u, v) = ([b[0] - a[0], b[1] - a[1], b[2] - a[2]], [c[0] - a[0], c[1] - a[1], c[2] - a[2]]);
    let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    for at in corner {
        for axis in 0..3 {
            mid::atomic_fetch_add_f32_device(normals.add(3 * at + axis), Relaxed, normal[axis]);
        }
    }
}

/// Assembles the stiffness matrix of linear elements on triangles: nine entries each, at places that are known before.
#[kernel]
pub unsafe fn assemble_elements(
    elements: u32,
    nodes: *const u32,
    points: *const f32,
    places: *const u32,
    matrix: *mut f64,
) {
    let (element, elements) = (index(), elements as usize);
    if element >= elements {
        return;
    }
    let point = |k: usize| {
        let node = *nodes.add(3 * element + k) as usize;
        (f64::from(*points.add(3 * node)), f64::from(*points.add(3 * node + 1)))
    };
    let [a, b, c] = [point(0), point(1), point(2)];
    let across = [b.1 - c.1, c.1 - a.1, a.1 - b.1];
    let down = [c.0 - b.0, a.0 - c.0, b.0 - a.0];
    let scale = 0.5 / (across[0] * down[1] - across[1] * down[0]).abs();
    for row in 0..3 {
        for column in 0..3 {
            let value = scale * (across[row] * across[column] + down[row] * down[column]);
            let place = *places.add((3 * row + column) * elements + element) as usize;
            mid::atomic_fetch_add_f64_device(matrix.add(place), Relaxed, value);
        }
    }
}

/// Sums messages along a graph's edges, a thread for each edge and feature.
#[kernel]
pub unsafe fn sum_messages(
    edges: u32,
    width: u32,
    sources: *const u32,
    targets: *const u32,
    weights: *const f32,
    features: *const f32,
    sums: *mut f32,
) {
    let width = width as usize;
    let (edge, feature) = (index() / width, index() % width);
    if edge < edges as usize {
        let from = *sources.add(edge) as usize * width + feature;
        let to = *targets.add(edge) as usize * width + feature;
        mid::atomic_fetch_add_f32_device(sums.add(to), Relaxed, *weights.add(edge) * *features.add(from));
    }
}

/// A product of matrices, the inner dimension in slices along the grid's z: each block adds its part of a 32 x 32 tile.
#[kernel]
pub unsafe fn product_slices(n: u32, inner: u32, slice: u32, a: *const f32, b: *const f32, c: *mut f32) {
    let (left, right) = (shared_array![f32; 1024], shared_array![f32; 1024]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (n, inner, slice) = (n as usize, inner as usize, slice as usize);
    let column = thread::block_idx_x() as usize * 32 + tx;
    let row = thread::block_idx_y() as usize * 32 + ty;
    let first = thread::block_idx_z() as usize * slice;
    let mut sums = [0.0_f32; 4];
    let mut k = first;
    while k < first + slice {
        for part in 0..4 {
            let line = ty + 8 * part;
            *left.add(line * 32 + tx) = *a.add((row + 8 * part) * inner + k + tx);
            *right.add(line * 32 + tx) = *b.add((k + line) * n + column);
        }
        thread::sync_threads();
        for step in 0..32 {
            let value = *right.add(step * 32 + tx);
            for part in 0..4 {
                sums[part] = (*left.add((ty + 8 * part) * 32 + step)).mul_add(value, sums[part]);
            }
        }
        thread::sync_threads();
        k += 32;
    }
    for part in 0..4 {
        mid::atomic_fetch_add_f32_device(c.add((row + 8 * part) * n + column), Relaxed, sums[part]);
    }
}

/// The four weights of a cubic B-spline at a fraction of a cell.
#[inline(always)]
fn spline(t: f32) -> [f32; 4] {
    let s = 1.0 - t;
    let middle = |t: f32| (2.0 / 3.0) - t * t + 0.5 * t * t * t;
    [s * s * s / 6.0, middle(t), middle(s), t * t * t / 6.0]
}

/// Spreads charges over 4 x 4 x 4 points of a periodic mesh: 16 threads per particle take a row of four points each.
#[kernel]
pub unsafe fn spread_splines(n: u32, side: u32, particles: *const F32x4, mesh: *mut f32) {
    let (particle, lane) = (index() / 16, index() % 16);
    if particle >= n as usize {
        return;
    }
    let at = *particles.add(particle);
    let (x, y, z) = (at.x.floor(), at.y.floor(), at.z.floor());
    let (wx, wy, wz) = (spline(at.x - x), spline(at.y - y), spline(at.z - z));
    let (j, k) = (lane as u32 % 4, lane as u32 / 4);
    let pick = |weights: [f32; 4], k: u32| {
        let low = if k == 0 { weights[0] } else { weights[1] };
        let high = if k == 2 { weights[2] } else { weights[3] };
        if k < 2 { low } else { high }
    };
    let weight = at.w * pick(wy, j) * pick(wz, k);
    let row = (z as u32 + k) % side * side + (y as u32 + j) % side;
    for i in 0..4 {
        let point = (row * side + (x as u32 + i) % side) as usize;
        mid::atomic_fetch_add_f32_device(mesh.add(point), Relaxed, weight * wx[i as usize]);
    }
}

/// Softened attraction by lists that name each pair once: one particle's force is summed, its neighbours' are added one by one.
#[kernel]
pub unsafe fn half_list_forces(
    n: u32,
    starts: *const u32,
    neighbours: *const u32,
    particles: *const F32x4,
    forces: *mut f32,
) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let own = *particles.add(i);
    let mut sum = [0.0_f32; 3];
    for k in *starts.add(i)..*starts.add(i + 1) {
        let j = *neighbours.add(k as usize) as usize;
        let other = *particles.add(j);
        let d = [other.x - own.x, other.y - own.y, other.z - own.z];
        let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.0625;
        let scale = own.w * other.w / (square * square.sqrt());
        for axis in 0..3 {
            sum[axis] += scale * d[axis];
            mid::atomic_fetch_sub_f32_device(forces.add(3 * j + axis), Relaxed, scale * d[axis]);
        }
    }
    for axis in 0..3 {
        mid::atomic_fetch_add_f32_device(forces.add(3 * i + axis), Relaxed, sum[axis]);
    }
}

/// A histogram of the squared distances of all pairs: 256 points against 256 per block, bins in shared memory.
#[kernel]
pub unsafe fn pair_distances(n: u32, shift: u32, bins: u32, points: *const U32x4, counts: *mut u32) {
    let (own, tile) = (shared_array![u32; 512], shared_array![U32x4; 256]);
    let (column, row) = (thread::block_idx_x(), thread::block_idx_y());
    if column < row {
        return;
    }
    let thread = thread::thread_idx_x();
    let mut k = thread;
    while k < bins {
        *own.add(k as usize) = 0;
        k += 256;
    }
    let (i, first) = (row * 256 + thread, column * 256);
    if first + thread < n {
        *tile.add(thread as usize) = *points.add((first + thread) as usize);
    }
    thread::sync_threads();
    if i < n {
        let here = *points.add(i as usize);
        for k in 0..(n - first).min(256) {
            if i < first + k {
                let there = *tile.add(k as usize);
                let (x, y, z) =
                    (here.x.abs_diff(there.x), here.y.abs_diff(there.y), here.z.abs_diff(there.z));
                let bin = ((x * x + y * y + z * z) >> shift).min(bins - 1);
                mid::atomic_fetch_add_u32_block(own.add(bin as usize), Relaxed, 1);
            }
        }
    }
    thread::sync_threads();
    k = thread;
    while k < bins {
        mid::atomic_fetch_add_u32_device(counts.add(k as usize), Relaxed, *own.add(k as usize));
        k += 256;
    }
}

/// Sums of gradients and curvatures per bin of a feature, for the splits of a tree: a feature per block row, floats in shared
/// memory.
#[kernel]
pub unsafe fn gradient_bins(
    rows: u32,
    bins: u32,
    codes: *const u8,
    gradients: *const F32x2,
    histograms: *mut f32,
) {
    let sums = shared_array![f32; 512];
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let (feature, bins, rows) = (thread::block_idx_y() as usize, bins as usize, rows as usize);
    let mut k = thread;
    while k < 2 * bins {
        *sums.add(k) = 0.0;
        k += threads;
    }
    thread::sync_threads();
    let mut row = thread::block_idx_x() as usize * threads + thread;
    while row < rows {
        let bin = *codes.add(feature * rows + row) as usize;
        let gradient = *gradients.add(row);
        mid::atomic_fetch_add_f32_block(sums.add(2 * bin), Relaxed, gradient.x);
        mid::atomic_fetch_add_f32_block(sums.add(2 * bin + 1), Relaxed, gradient.y);
        row += thread::grid_dim_x() as usize * threads;
    }
    thread::sync_threads();
    k = thread;
    while k < 2 * bins {
        mid::atomic_fetch_add_f32_device(histograms.add(2 * bins * feature + k), Relaxed, *sums.add(k));
        k += threads;
    }
}

/// Counts the pairs of grey values of two images: 64 x 64 bins in shared memory, 16 pixels of each image a load.
#[kernel]
pub unsafe fn joint_histogram(sixteens: u32, first: *const U32x4, second: *const U32x4, counts: *mut u32) {
    let own = shared_array![u32; 4096];
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let mut k = thread;
    while k < 4096 {
        *own.add(k) = 0;
        k += threads;
    }
    thread::sync_threads();
    let mut i = index();
    while i < sixteens as usize {
        let (a, b) = ((*first.add(i)).to_array(), (*second.add(i)).to_array());
        for word in 0..4 {
            for byte in 0..4 {
                let (x, y) = (a[word] >> (8 * byte + 2) & 63, b[word] >> (8 * byte + 2) & 63);
                mid::atomic_fetch_add_u32_block(own.add((64 * y + x) as usize), Relaxed, 1);
            }
        }
        i += thread::grid_dim_x() as usize * threads;
    }
    thread::sync_threads();
    k = thread;
    while k < 4096 {
        let count = *own.add(k);
        if count > 0 {
            mid::atomic_fetch_add_u32_device(counts.add(k), Relaxed, count);
        }
        k += threads;
    }
}

/// Projects an image along several directions: each pixel is shared out between the two detectors next to its shadow.
#[kernel]
pub unsafe fn project_image(
    side: u32,
    angles: u32,
    detectors: u32,
    directions: *const F32x2,
    image: *const f32,
    sums: *mut f32,
) {
    let (x, y) = position();
    if x >= side as usize || y >= side as usize {
        return;
    }
    let value = *image.add(y * side as usize + x);
    let (middle, centre) = (0.5 * (side as f32 - 1.0), 0.5 * detectors as f32);
    let (dx, dy) = (x as f32 - middle, y as f32 - middle);
    for angle in 0..angles as usize {
        let direction = *directions.add(angle);
        let shadow = dx.mul_add(direction.x, dy.mul_add(direction.y, centre));
        let left = shadow.floor();
        let line = sums.add(angle * detectors as usize + left as usize);
        let right = value * (shadow - left);
        mid::atomic_fetch_add_f32_device(line, Relaxed, value - right);
        mid::atomic_fetch_add_f32_device(line.add(1), Relaxed, right);
    }
}

/// Sums and counts of points per voxel: position within 16 bits per axis, four atomics to a voxel's 16 bytes.
#[kernel]
pub unsafe fn voxel_sums(n: u32, shift: u32, points: *const U32x2, voxels: *mut u32) {
    let i = index();
    if i < n as usize {
        let point = *points.add(i);
        let (x, y, z) = (point.x & 0xffff, point.x >> 16, point.y & 0xffff);
        let bits = 16 - shift;
        let voxel = (((z >> shift) << bits | y >> shift) << bits | x >> shift) as usize;
        let inside = (1 << shift) - 1;
        for (k, value) in [x & inside, y & inside, z & inside, 1].into_iter().enumerate() {
            mid::atomic_fetch_add_u32_device(voxels.add(4 * voxel + k), Relaxed, value);
        }
    }
}
