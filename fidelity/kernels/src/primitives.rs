//! Primitives of parallel algorithms: sorting steps, segmented sums, products and extremes.

use cuda_std::prelude::*;
use cuda_std::vector::{F64x2, U32x4};
use cuda_std::warp::{
    WarpReductionOp, lane_id, warp_match_any, warp_reduce, warp_shuffle_up, warp_shuffle_xor,
};
use cuda_std::{atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, index};

/// A pass of a radix sort: 256 keys a block go to their digits' places in the order they had, ranks by matching lanes.
#[kernel]
pub unsafe fn radix_scatter(shift: u32, offsets: *const u32, from: *const u32, to: *mut u32) {
    let counts = shared_array![u32; 128];
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, lane_id());
    let block = thread::block_idx_x() as usize;
    if thread < 128 {
        *counts.add(thread) = 0;
    }
    thread::sync_threads();
    let key = *from.add(block * 256 + thread);
    let digit = ((key >> shift) & 15) as usize;
    let same = warp_match_any(ALL, digit as u32);
    let before = (same & ((1 << lane) - 1)).count_ones();
    if before == 0 {
        *counts.add(warp * 16 + digit) = same.count_ones();
    }
    thread::sync_threads();
    if thread < 16 {
        // Each digit's first place, warp after warp.
        let mut place = *offsets.add(thread * thread::grid_dim_x() as usize + block);
        for warp in 0..8 {
            let count = *counts.add(warp * 16 + thread);
            *counts.add(warp * 16 + thread) = place;
            place += count;
        }
    }
    thread::sync_threads();
    *to.add((*counts.add(warp * 16 + digit) + before) as usize) = key;
}

/// Products up to each element of a row of 2048 in double precision: two elements a thread, then warps, then the block.
#[kernel]
pub unsafe fn product_scan(from: *const F64x2, to: *mut F64x2) {
    let warps = shared_array![f64; 32];
    let thread = thread::thread_idx_x() as usize;
    let at = thread::block_idx_x() as usize * 1024 + thread;
    let lane = lane_id();
    let pair = *from.add(at);
    let mut product = pair.x * pair.y;
    for distance in [1, 2, 4, 8, 16] {
        let below = warp_shuffle_up(ALL, product, distance, 32).0;
        if lane >= distance {
            product *= below;
        }
    }
    if lane == 31 {
        *warps.add(thread / 32) = product;
    }
    thread::sync_threads();
    if thread < 32 {
        let mut whole = *warps.add(thread);
        for distance in [1, 2, 4, 8, 16] {
            let below = warp_shuffle_up(ALL, whole, distance, 32).0;
            if lane >= distance {
                whole *= below;
            }
        }
        *warps.add(thread) = whole;
    }
    thread::sync_threads();
    let below = warp_shuffle_up(ALL, product, 1, 32).0;
    let mut first = if lane == 0 { 1.0 } else { below };
    if thread >= 32 {
        first *= *warps.add(thread / 32 - 1);
    }
    *to.add(at) = F64x2::new(first * pair.x, first * pair.x * pair.y);
}

/// Sorts 32 keys of 64 bits per warp in registers, by a bitonic network of shuffles.
#[kernel]
pub unsafe fn sort_warp(n: u32, from: *const u64, to: *mut u64) {
    let i = index();
    let lane = lane_id();
    let mut key = if i < n as usize { *from.add(i) } else { u64::MAX };
    let mut run = 2;
    while run <= 32 {
        let mut distance = run / 2;
        while distance > 0 {
            let other = warp_shuffle_xor(ALL, key, distance, 32).0;
            let keep_less = (lane & run == 0) == (lane & distance == 0);
            key = if (key < other) == keep_less { key } else { other };
            distance /= 2;
        }
        run *= 2;
    }
    if i < n as usize {
        *to.add(i) = key;
    }
}

/// Sums of segments that flags begin: within warps by shuffles, and an atomic for each segment's part in a warp.
#[kernel]
pub unsafe fn segment_sums(n: u32, segments: *const u32, values: *const u32, sums: *mut u32) {
    let i = index();
    let lane = lane_id();
    let (segment, mut sum) = if i < n as usize { (*segments.add(i), *values.add(i)) } else { (u32::MAX, 0) };
    for distance in [1, 2, 4, 8, 16] {
        let below = warp_shuffle_up(ALL, sum, distance, 32).0;
        let its = warp_shuffle_up(ALL, segment, distance, 32).0;
        if lane >= distance && its == segment {
            sum += below;
        }
    }
    let next = cuda_std::warp::warp_shuffle_down(ALL, segment, 1, 32).0;
    if i < n as usize && (lane == 31 || next != segment) {
        mid::atomic_fetch_add_u32_device(sums.add(segment as usize), Relaxed, sum);
    }
}

/// The least and the largest of each block's part of an array: four numbers a load, a loop over the grid.
#[kernel]
pub unsafe fn extremes(quads: u32, values: *const U32x4, least: *mut u32, most: *mut u32) {
    let (lows, highs) = (shared_array![u32; 32], shared_array![u32; 32]);
    let thread = thread::thread_idx_x() as usize;
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let (mut low, mut high) = (u32::MAX, 0);
    let mut i = index();
    while i < quads as usize {
        let four = *values.add(i);
        low = low.min(four.x.min(four.y)).min(four.z.min(four.w));
        high = high.max(four.x.max(four.y)).max(four.z.max(four.w));
        i += step;
    }
    low = warp_reduce(ALL, low, WarpReductionOp::Min);
    high = warp_reduce(ALL, high, WarpReductionOp::Max);
    if thread.is_multiple_of(32) {
        *lows.add(thread / 32) = low;
        *highs.add(thread / 32) = high;
    }
    thread::sync_threads();
    if thread == 0 {
        for warp in 1..thread::block_dim_x() as usize / 32 {
            low = low.min(*lows.add(warp));
            high = high.max(*highs.add(warp));
        }
        *least.add(thread::block_idx_x() as usize) = low;
        *most.add(thread::block_idx_x() as usize) = high;
    }
}

/// Writes out runs: each output finds its run by bisection among the runs' starts.
#[kernel]
pub unsafe fn run_expand(n: u32, runs: u32, starts: *const u32, symbols: *const u8, to: *mut u8) {
    let i = index() as u32;
    if i < n {
        let (mut low, mut high) = (0, runs);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if *starts.add(middle as usize) <= i {
                low = middle;
            } else {
                high = middle;
            }
        }
        *to.add(i as usize) = *symbols.add(low as usize);
    }
}
