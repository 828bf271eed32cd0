//! Computer vision, video and graphics.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4};
use cuda_std::warp::{WarpReductionOp, warp_reduce};
use cuda_std::{GpuFloat, approx, atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, index, position, warp_sum};

/// One channel of a bright picture as a byte: exposure, a filmic curve and the display's gamma.
#[inline(always)]
fn tone(value: f32, exposure: f32) -> u32 {
    let x = value * exposure;
    let curve = x * 2.51_f32.mul_add(x, 0.03) / x.mul_add(2.43_f32.mul_add(x, 0.59), 0.14);
    let linear = curve.clamp(0.0, 1.0);
    let shown = if linear <= 0.003_130_8 {
        12.92 * linear
    } else {
        1.055_f32.mul_add(approx::exp2(approx::log2(linear) * (1.0 / 2.4)), -0.055)
    };
    (shown * 255.0 + 0.5) as u32
}

/// Tone mapping of floats to bytes, four channels to a pixel.
#[kernel]
pub unsafe fn tone_map(n: u32, exposure: f32, from: *const F32x4, to: *mut u32) {
    let i = index();
    if i < n as usize {
        let pixel = *from.add(i);
        let alpha = (pixel.w.clamp(0.0, 1.0) * 255.0 + 0.5) as u32;
        let (red, green, blue) = (tone(pixel.x, exposure), tone(pixel.y, exposure), tone(pixel.z, exposure));
        *to.add(i) = red | green << 8 | blue << 16 | alpha << 24;
    }
}

/// A round of optical flow after Horn and Schunck.
#[kernel]
pub unsafe fn flow_round(
    nx: u32,
    ny: u32,
    smoothness: f32,
    slope_x: *const f32,
    slope_y: *const f32,
    slope_t: *const f32,
    u: *const f32,
    v: *const f32,
    to_u: *mut f32,
    to_v: *mut f32,
) {
    let (x, y) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if x >= nx || y >= ny {
        return;
    }
    let (left, right) = (x.saturating_sub(1), (x + 1).min(nx - 1));
    let (above, at, below) = (y.saturating_sub(1) * nx, y * nx, (y + 1).min(ny - 1) * nx);
    let mean = |field: *const f32| {
        let near =
            *field.add(at + left) + *field.add(at + right) + *field.add(above + x) + *field.add(below + x);
        let far = *field.add(above + left)
            + *field.add(above + right)
            + *field.add(below + left)
            + *field.add(below + right);
        near * (1.0 / 6.0) + far * (1.0 / 12.0)
    };
    let i = at + x;
    let (mean_u, mean_v) = (mean(u), mean(v));
    let (ix, iy) = (*slope_x.add(i), *slope_y.add(i));
    let change = ix * mean_u + iy * mean_v + *slope_t.add(i);
    let share = change / (smoothness + ix * ix + iy * iy);
    *to_u.add(i) = mean_u - ix * share;
    *to_v.add(i) = mean_v - iy * share;
}

/// The census of windows of 9 x 7: a bit per neighbour that is darker than the middle, by tiles of 32 x 8.
#[kernel]
pub unsafe fn census_bits(nx: u32, ny: u32, from: *const u8, to: *mut u64) {
    let tile = shared_array![u8; 560];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (left, top) = (thread::block_idx_x() as i32 * 32 - 4, thread::block_idx_y() as i32 * 8 - 3);
    let mut k = ty * 32 + tx;
    while k < 560 {
        let column = (left + (k % 40) as i32).clamp(0, nx as i32 - 1);
        let row = (top + (k / 40) as i32).clamp(0, ny as i32 - 1);
        *tile.add(k) = *from.add((row * nx as i32 + column) as usize);
        k += 256;
    }
    thread::sync_threads();
    let (x, y) = position();
    if x < nx as usize && y < ny as usize {
        let middle = *tile.add((ty + 3) * 40 + tx + 4);
        let mut bits = 0_u64;
        for row in 0..7 {
            for column in 0..9 {
                if row != 3 || column != 4 {
                    let other = *tile.add((ty + row) * 40 + tx + column);
                    bits = bits << 1 | u64::from(other < middle);
                }
            }
        }
        *to.add(y * nx as usize + x) = bits;
    }
}

/// Costs of stereo matches along a row of pixels, from left to right: a block per row, a thread per disparity.
#[kernel]
pub unsafe fn aggregate_row(nx: u32, small: u32, large: u32, costs: *const u8, sums: *mut u16) {
    let path = shared_array![u32; 258];
    let least = shared_array![u32; 8];
    let (own, disparities) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let mut at = thread::block_idx_y() as usize * nx as usize * disparities + own;
    if own == 0 {
        *path = 0xffff;
        *path.add(disparities + 1) = 0xffff;
    }
    *path.add(own + 1) = 0;
    thread::sync_threads();
    let mut best = 0;
    for _ in 0..nx {
        let cost = u32::from(*costs.add(at));
        let aside = (*path.add(own)).min(*path.add(own + 2)) + small;
        let value = cost + (*path.add(own + 1)).min(aside).min(best + large) - best;
        let warp = warp_reduce(ALL, value, WarpReductionOp::Min);
        if own.is_multiple_of(32) {
            *least.add(own / 32) = warp;
        }
        *sums.add(at) += value as u16;
        thread::sync_threads();
        *path.add(own + 1) = value;
        best = *least;
        for k in 1..disparities / 32 {
            best = best.min(*least.add(k));
        }
        thread::sync_threads();
        at += disparities;
    }
}

/// Looks through a volume of densities: rays in perspective, samples between eight voxels, colours from a table.
#[kernel]
pub unsafe fn look_through(
    nx: u32,
    ny: u32,
    side: u32,
    step: f32,
    volume: *const f32,
    table: *const F32x4,
    image: *mut F32x4,
) {
    let (x, y) = position();
    if x >= nx as usize || y >= ny as usize {
        return;
    }
    // The volume is the cube between -1 and 1; the eye stands before it, a bit aside.
    let origin = [0.6_f32, 0.4, -3.0];
    let aim_x = (x as f32 + 0.5) * (2.0 / nx as f32) - 1.0;
    let aim_y = (y as f32 + 0.5) * (2.0 / ny as f32) - 1.0;
    let aim = [0.7 * aim_x - 0.2, 0.55 * aim_y - 0.13, 1.0];
    let scale = 1.0 / (aim[0] * aim[0] + aim[1] * aim[1] + 1.0).sqrt();
    let direction = [aim[0] * scale, aim[1] * scale, scale];
    let (mut near, mut far) = (0.0_f32, 1e30_f32);
    for axis in 0..3 {
        let inverse = 1.0 / direction[axis];
        let (a, b) = ((-1.0 - origin[axis]) * inverse, (1.0 - origin[axis]) * inverse);
        near = near.max(a.min(b));
        far = far.min(a.max(b));
    }
    let mut colour = [0.0_f32; 4];
    let side = side as usize;
    let half = 0.5 * (side - 1) as f32;
    let mut t = near;
    while t < far && colour[3] < 0.95 {
        let mut low = [0_usize; 3];
        let mut rest = [0.0_f32; 3];
        for axis in 0..3 {
            let place = (t.mul_add(direction[axis], origin[axis]) + 1.0) * half;
            let place = place.clamp(0.0, (side - 1) as f32);
            low[axis] = (place as usize).min(side - 2);
            rest[axis] = place - low[axis] as f32;
        }
        let corner = volume.add((low[2] * side + low[1]) * side + low[0]);
        let row = |at: *const f32| rest[0].mul_add(*at.add(1) - *at, *at);
        let layer = |at: *const f32| {
            let (first, second) = (row(at), row(at.add(side)));
            rest[1].mul_add(second - first, first)
        };
        let (front, back) = (layer(corner), layer(corner.add(side * side)));
        let density = rest[2].mul_add(back - front, front);
        if density > 0.05 {
            let entry = density.min(0.9999) * 255.0;
            let (low, rest) = (entry as usize, entry - (entry as usize) as f32);
            let (a, b) = (*table.add(low), *table.add(low + 1));
            let seen = (1.0 - colour[3]) * rest.mul_add(b.w - a.w, a.w) * step;
            colour[0] = seen.mul_add(rest.mul_add(b.x - a.x, a.x), colour[0]);
            colour[1] = seen.mul_add(rest.mul_add(b.y - a.y, a.y), colour[1]);
            colour[2] = seen.mul_add(rest.mul_add(b.z - a.z, a.z), colour[2]);
            colour[3] += seen;
        }
        t += step;
    }
    *image.add(y * nx as usize + x) = F32x4::new(colour[0], colour[1], colour[2], colour[3]);
}

/// Fuses a picture of depths into a volume of distances to the surface: a thread per column of voxels.
#[kernel]
pub unsafe fn fuse_depths(
    nx: u32,
    ny: u32,
    nz: u32,
    voxel: f32,
    pose: *const f32,
    width: u32,
    height: u32,
    focal: f32,
    depths: *const u16,
    volume: *mut F32x2,
) {
    let (x, y) = position();
    if x >= nx as usize || y >= ny as usize {
        return;
    }
    let (nx, ny) = (nx as usize, ny as usize);
    let (wx, wy) = ((x as f32 + 0.5) * voxel, (y as f32 + 0.5) * voxel);
    let mut rows = [0.0_f32; 3];
    let mut steps = [0.0_f32; 3];
    for axis in 0..3 {
        let row = pose.add(4 * axis);
        rows[axis] = *row * wx + *row.add(1) * wy + *row.add(3);
        steps[axis] = *row.add(2);
    }
    let (middle_x, middle_y) = (0.5 * width as f32, 0.5 * height as f32);
    let truncation = 4.0 * voxel;
    for z in 0..nz as usize {
        let wz = (z as f32 + 0.5) * voxel;
        let camera = [rows[0] + steps[0] * wz, rows[1] + steps[1] * wz, rows[2] + steps[2] * wz];
        if camera[2] <= 0.1 {
            continue;
        }
        let inverse = 1.0 / camera[2];
        let u = (camera[0] * inverse * focal + middle_x).floor() as i32;
        let v = (camera[1] * inverse * focal + middle_y).floor() as i32;
        if u < 0 || v < 0 || u >= width as i32 || v >= height as i32 {
            continue;
        }
        let depth = *depths.add(v as usize * width as usize + u as usize);
        if depth == 0 {
            continue;
        }
        let distance = f32::from(depth) * 0.001 - camera[2];
        if distance >= -truncation {
            let at = volume.add((z * ny + y) * nx + x);
            let old = *at;
            let new = (distance / truncation).min(1.0);
            let weight = old.y + 1.0;
            *at = F32x2::new((old.x * old.y + new) / weight, weight.min(64.0));
        }
    }
}

/// Tells moving things from the background by a mixture of three brightnesses per pixel, which it updates.
#[kernel]
pub unsafe fn subtract_background(
    n: u32,
    rate: f32,
    frame: *const u8,
    weights: *mut f32,
    means: *mut f32,
    variances: *mut f32,
    mask: *mut u8,
) {
    let i = index();
    let n = n as usize;
    if i >= n {
        return;
    }
    let value = f32::from(*frame.add(i));
    let (mut w, mut m, mut v) = ([0.0_f32; 3], [0.0_f32; 3], [0.0_f32; 3]);
    for k in 0..3 {
        w[k] = *weights.add(k * n + i);
        m[k] = *means.add(k * n + i);
        v[k] = *variances.add(k * n + i);
    }
    let (mut found, mut background, mut before) = (false, false, 0.0_f32);
    for k in 0..3 {
        let distance = value - m[k];
        let own = w[k];
        w[k] = (1.0 - rate) * own;
        if !found && distance * distance < 6.25 * v[k] {
            found = true;
            background = before < 0.7;
            w[k] += rate;
            let share = rate / w[k];
            m[k] += share * distance;
            v[k] = (v[k] + share * (distance * distance - v[k])).max(4.0);
        }
        before += own;
    }
    if !found {
        (w[2], m[2], v[2]) = (rate, value, 225.0);
    }
    // The strongest first; a change moves one of them up.
    for k in [1, 0, 1] {
        if w[k] < w[k + 1] {
            (w[k], w[k + 1]) = (w[k + 1], w[k]);
            (m[k], m[k + 1]) = (m[k + 1], m[k]);
            (v[k], v[k + 1]) = (v[k + 1], v[k]);
        }
    }
    let scale = 1.0 / (w[0] + w[1] + w[2]);
    for k in 0..3 {
        *weights.add(k * n + i) = w[k] * scale;
        *means.add(k * n + i) = m[k];
        *variances.add(k * n + i) = v[k];
    }
    *mask.add(i) = if background { 0 } else { 255 };
}

/// The circle of the segment test.
const CIRCLE: [(isize, isize); 16] = [
    (0, -3),
    (1, -3),
    (2, -2),
    (3, -1),
    (3, 0),
    (3, 1),
    (2, 2),
    (1, 3),
    (0, 3),
    (-1, 3),
    (-2, 2),
    (-3, 1),
    (-3, 0),
    (-3, -1),
    (-2, -2),
    (-1, -3),
];

/// Corners by the segment test: nine of sixteen pixels on a circle in a row that are all brighter or all darker.
#[kernel]
pub unsafe fn segment_corners(
    nx: u32,
    ny: u32,
    threshold: i32,
    capacity: u32,
    image: *const u8,
    count: *mut u32,
    corners: *mut u32,
) {
    let (x, y) = position();
    if x < 3 || y < 3 || x + 3 >= nx as usize || y + 3 >= ny as usize {
        return;
    }
    let at = image.add(y * nx as usize + x);
    let middle = i32::from(*at);
    let (high, low) = (middle + threshold, middle - threshold);
    let pixel = |dx: isize, dy: isize| i32::from(*at.offset(dy * nx as isize + dx));
    let quarters = [pixel(0, -3), pixel(3, 0), pixel(0, 3), pixel(-3, 0)];
    let (mut brighter, mut darker) = (0, 0);
    for value in quarters {
        brighter += u32::from(value > high);
        darker += u32::from(value < low);
    }
    if brighter < 2 && darker < 2 {
        return;
    }
    let (mut bright, mut dark) = (0_u32, 0_u32);
    for k in 0..16 {
        let value = pixel(CIRCLE[k].0, CIRCLE[k].1);
        bright |= u32::from(value > high) << k;
        dark |= u32::from(value < low) << k;
    }
    let nine = |bits: u32| {
        let bits = bits | bits << 16;
        let two = bits & bits >> 1;
        let four = two & two >> 2;
        let eight = four & four >> 4;
        eight & bits >> 8 != 0
    };
    if nine(bright) || nine(dark) {
        let slot = mid::atomic_fetch_add_u32_device(count, Relaxed, 1);
        if slot < capacity {
            *corners.add(slot as usize) = (y as u32) << 16 | x as u32;
        }
    }
}

/// Structural similarity of two pictures by Gaussian windows of 11 x 11 in tiles of 16 x 16, a map and its sum.
#[kernel]
pub unsafe fn similarity_map(
    nx: u32,
    ny: u32,
    window: *const f32,
    first: *const f32,
    second: *const f32,
    map: *mut f32,
    sum: *mut f32,
) {
    let (a, b) = (shared_array![f32; 676], shared_array![f32; 676]);
    let rows = shared_array![f32; 2080];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (left, top) = (thread::block_idx_x() as usize * 16, thread::block_idx_y() as usize * 16);
    let (nx, ny) = (nx as usize, ny as usize);
    let own = ty * 16 + tx;
    let mut k = own;
    while k < 676 {
        let at = (top + k / 26).min(ny - 1) * nx + (left + k % 26).min(nx - 1);
        *a.add(k) = *first.add(at);
        *b.add(k) = *second.add(at);
        k += 256;
    }
    thread::sync_threads();
    k = own;
    while k < 416 {
        let at = k / 16 * 26 + k % 16;
        let mut sums = [0.0_f32; 5];
        for tap in 0..11 {
            let weight = *window.add(tap);
            let (p, q) = (*a.add(at + tap), *b.add(at + tap));
            let (wp, wq) = (weight * p, weight * q);
            sums[0] += wp;
            sums[1] += wq;
            sums[2] = wp.mul_add(p, sums[2]);
            sums[3] = wq.mul_add(q, sums[3]);
            sums[4] = wp.mul_add(q, sums[4]);
        }
        for part in 0..5 {
            *rows.add(part * 416 + k) = sums[part];
        }
        k += 256;
    }
    thread::sync_threads();
    let mut sums = [0.0_f32; 5];
    for tap in 0..11 {
        let weight = *window.add(tap);
        for part in 0..5 {
            sums[part] = weight.mul_add(*rows.add(part * 416 + own + 16 * tap), sums[part]);
        }
    }
    let [p, q, pp, qq, pq] = sums;
    let (vp, vq, both) = (pp - p * p, qq - q * q, pq - p * q);
    let above = (2.0 * p * q + 1e-4) * (2.0 * both + 9e-4);
    let mut value = above / ((p * p + q * q + 1e-4) * (vp + vq + 9e-4));
    let (x, y) = (left + tx, top + ty);
    if x < nx - 10 && y < ny - 10 {
        *map.add(y * (nx - 10) + x) = value;
    } else {
        value = 0.0;
    }
    let total = warp_sum(value);
    if own.is_multiple_of(32) {
        mid::atomic_fetch_add_f32_device(sum, Relaxed, total);
    }
}
