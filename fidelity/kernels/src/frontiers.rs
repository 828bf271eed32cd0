//! Work that creates work: frontiers of graphs, proposals, sets that unite, tickets, partitions, and depths of triangles.

use cuda_std::prelude::*;
use cuda_std::vector::{U32x2, U32x4};
use cuda_std::warp::{lane_id, warp_shuffle_idx, warp_shuffle_up, warp_vote_ballot};
use cuda_std::{atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::{ALL, index};

/// A step of a breadth-first search, a thread per node of the frontier: neighbours not reached before are queued one by one,
/// some of them more than once.
#[kernel]
pub unsafe fn expand_each(
    n: u32,
    level: u32,
    room: u32,
    frontier: *const u32,
    starts: *const u32,
    targets: *const u32,
    reached: *const u8,
    levels: *mut u32,
    count: *mut u32,
    queue: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let node = *frontier.add(i) as usize;
        for k in *starts.add(node)..*starts.add(node + 1) {
            let target = *targets.add(k as usize);
            if *reached.add(target as usize) == 0 {
                mid::atomic_fetch_min_u32_device(levels.add(target as usize), Relaxed, level);
                // The counter goes on from launch to launch; the places wrap.
                let at = mid::atomic_fetch_add_u32_device(count, Relaxed, 1) % room;
                *queue.add(at as usize) = target;
            }
        }
    }
}

/// The same with a warp per node: lanes take 32 neighbours at a time, and one of them reserves places for all.
#[kernel]
pub unsafe fn expand_by_warp(
    n: u32,
    level: u32,
    room: u32,
    frontier: *const u32,
    starts: *const u32,
    targets: *const u32,
    reached: *const u8,
    levels: *mut u32,
    count: *mut u32,
    queue: *mut u32,
) {
    let (i, lane) = (index() / 32, lane_id());
    if i >= n as usize {
        return;
    }
    let node = *frontier.add(i) as usize;
    let (mut k, end) = (*starts.add(node), *starts.add(node + 1));
    while k < end {
        let mut target = 0;
        let mut new = false;
        if k + lane < end {
            target = *targets.add((k + lane) as usize);
            new = *reached.add(target as usize) == 0;
        }
        let votes = warp_vote_ballot(ALL, new);
        let mut first = 0;
        if lane == 0 && votes != 0 {
            first = mid::atomic_fetch_add_u32_device(count, Relaxed, votes.count_ones());
        }
        first = warp_shuffle_idx(ALL, first, 0, 32).0;
        if new {
            mid::atomic_fetch_min_u32_device(levels.add(target as usize), Relaxed, level);
            let before = (votes & ((1 << lane) - 1)).count_ones();
            *queue.add(((first + before) % room) as usize) = target;
        }
        k += 32;
    }
}

/// A step of a topological order: tasks that are done count for their successors, and the last one before a task queues it.
#[kernel]
pub unsafe fn release_tasks(
    n: u32,
    room: u32,
    done: *const u32,
    starts: *const u32,
    successors: *const u32,
    needed: *const u32,
    arrived: *mut u32,
    count: *mut u32,
    queue: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let task = *done.add(i) as usize;
        for k in *starts.add(task)..*starts.add(task + 1) {
            let next = *successors.add(k as usize);
            let before = mid::atomic_fetch_add_u32_device(arrived.add(next as usize), Relaxed, 1);
            // Every launch counts all of them again.
            if (before + 1).is_multiple_of(*needed.add(next as usize)) {
                let at = mid::atomic_fetch_add_u32_device(count, Relaxed, 1) % room;
                *queue.add(at as usize) = next;
            }
        }
    }
}

/// Proposals of a matching: each node asks its heaviest neighbour, which keeps the heaviest that asks, in 64 bits with its name.
#[kernel]
pub unsafe fn propose_edges(
    n: u32,
    starts: *const u32,
    targets: *const u32,
    weights: *const u32,
    best: *mut u64,
) {
    let node = index();
    if node < n as usize {
        let (mut heaviest, mut chosen) = (0, u32::MAX);
        for k in *starts.add(node)..*starts.add(node + 1) {
            let (target, weight) = (*targets.add(k as usize), *weights.add(k as usize));
            if weight > heaviest && target as usize != node {
                (heaviest, chosen) = (weight, target);
            }
        }
        if chosen != u32::MAX {
            let proposal = u64::from(heaviest) << 32 | node as u64;
            mid::atomic_fetch_max_u64_device(best.add(chosen as usize), Relaxed, proposal);
        }
    }
}

/// The representative of a node's set; the path to it is halved on the way.
#[inline(always)]
unsafe fn representative(parents: *mut u32, mut node: u32) -> u32 {
    loop {
        let parent = mid::atomic_load_32_device(parents.add(node as usize), Relaxed);
        if parent == node {
            return node;
        }
        let above = mid::atomic_load_32_device(parents.add(parent as usize), Relaxed);
        if above != parent {
            mid::atomic_store_32_device(parents.add(node as usize), Relaxed, above);
        }
        node = above;
    }
}

/// Unites the sets of each edge's ends: the higher representative is hooked to the lower one by compare-and-swap.
#[kernel]
pub unsafe fn unite_sets(edges: u32, ends: *const U32x2, parents: *mut u32) {
    let i = index();
    if i >= edges as usize {
        return;
    }
    let edge = *ends.add(i);
    let (mut a, mut b) = (edge.x, edge.y);
    loop {
        a = representative(parents, a);
        b = representative(parents, b);
        if a == b {
            return;
        }
        let (low, high) = (a.min(b), a.max(b));
        if mid::atomic_compare_and_swap_u32_device(parents.add(high as usize), high, low, Relaxed) == high {
            return;
        }
    }
}

/// A sum in one launch: blocks leave their sums in memory, and the one that comes last adds them up.
#[kernel]
pub unsafe fn sum_by_last(quads: u32, values: *const U32x4, sums: *mut u32, done: *mut u32, total: *mut u32) {
    let (warps, last) = (shared_array![u32; 8], shared_array![u32; 1]);
    let thread = thread::thread_idx_x() as usize;
    let blocks = thread::grid_dim_x();
    let block_total = |value: u32| {
        let sum = cuda_std::warp::warp_reduce(ALL, value, cuda_std::warp::WarpReductionOp::Add);
        if thread.is_multiple_of(32) {
            *warps.add(thread / 32) = sum;
        }
        thread::sync_threads();
        (0..8).fold(0_u32, |sum, warp| sum.wrapping_add(*warps.add(warp)))
    };
    let mut sum = 0_u32;
    let mut i = index();
    while i < quads as usize {
        let four = (*values.add(i)).to_array();
        sum = four.into_iter().fold(sum, u32::wrapping_add);
        i += 256 * blocks as usize;
    }
    let own = block_total(sum);
    if thread == 0 {
        sums.add(thread::block_idx_x() as usize).write_volatile(own);
        thread::device_fence();
        let before = mid::atomic_fetch_add_u32_device(done, AcqRel, 1);
        *last = u32::from(before % blocks == blocks - 1);
    }
    thread::sync_threads();
    if *last == 1 {
        thread::device_fence();
        let (mut sum, mut block) = (0_u32, thread);
        while block < blocks as usize {
            sum = sum.wrapping_add(sums.add(block).read_volatile());
            block += 256;
        }
        sum = block_total(sum);
        if thread == 0 {
            *total = sum;
        }
    }
}

/// The number whose Collatz sequence is longest: warps take 32 numbers at a time from a counter until none are left.
#[kernel]
pub unsafe fn longest_collatz(tiles: u32, first: u32, taken: *mut u32, longest: *mut u64) {
    let lane = lane_id();
    let warps = thread::grid_dim_x() * (thread::block_dim_x() / 32);
    let mut best = 0;
    loop {
        let mut tile = 0;
        if lane == 0 {
            // Each warp ends with a ticket that is no tile, so that a launch takes this many.
            tile = mid::atomic_fetch_add_u32_device(taken, Relaxed, 1) % (tiles + warps);
        }
        tile = warp_shuffle_idx(ALL, tile, 0, 32).0;
        if tile >= tiles {
            break;
        }
        let start = u64::from(first + 32 * tile + lane);
        let (mut value, mut steps) = (start, 0_u64);
        while value != 1 {
            value = if value & 1 == 0 { value / 2 } else { 3 * value + 1 };
            steps += 1;
        }
        best = best.max(steps << 32 | start);
    }
    mid::atomic_fetch_max_u64_device(longest, Relaxed, best);
}

/// A partition around a pivot: each block reserves places at both ends of the result, for the lower keys and the others.
#[kernel]
pub unsafe fn partition_keys(n: u32, pivot: u32, from: *const u32, counts: *mut u32, to: *mut u32) {
    let (lows, firsts) = (shared_array![u32; 8], shared_array![u32; 2]);
    let (thread, lane) = (thread::thread_idx_x() as usize, lane_id());
    let (i, present) = (index(), index() < n as usize);
    let key = if present { *from.add(i) } else { u32::MAX };
    let low = present && key < pivot;
    let votes = warp_vote_ballot(ALL, low);
    if lane == 0 {
        *lows.add(thread / 32) = votes.count_ones();
    }
    thread::sync_threads();
    let (mut before, mut all) = ((votes & ((1 << lane) - 1)).count_ones(), 0);
    for warp in 0..8 {
        before += if warp < thread / 32 { *lows.add(warp) } else { 0 };
        all += *lows.add(warp);
    }
    if thread == 0 {
        let size = (n - i as u32).min(256);
        *firsts = mid::atomic_fetch_add_u32_device(counts, Relaxed, all);
        *firsts.add(1) = mid::atomic_fetch_add_u32_device(counts.add(1), Relaxed, size - all);
    }
    thread::sync_threads();
    // The counters go on from launch to launch; the places wrap.
    if low {
        *to.add(((*firsts + before) % n) as usize) = key;
    } else if present {
        let place = (*firsts.add(1) + thread as u32 - before) % n;
        *to.add((n - 1 - place) as usize) = key;
    }
}

/// Copies records of different lengths behind one another: a warp's lanes add up their lengths and reserve room by one atomic.
#[kernel]
pub unsafe fn copy_records(
    n: u32,
    room: u32,
    records: *const U32x2,
    from: *const u32,
    used: *mut u32,
    to: *mut u32,
) {
    let (i, lane) = (index(), lane_id());
    // A record's first word and its length, which also stands in its first word.
    let record = if i < n as usize { *records.add(i) } else { U32x2::new(0, 0) };
    let mut end = record.y;
    for distance in [1, 2, 4, 8, 16] {
        let below = warp_shuffle_up(ALL, end, distance, 32).0;
        if lane >= distance {
            end += below;
        }
    }
    let mut first = 0;
    if lane == 31 {
        first = mid::atomic_fetch_add_u32_device(used, Relaxed, end);
    }
    first = warp_shuffle_idx(ALL, first, 31, 32).0 + end - record.y;
    for k in 0..record.y {
        *to.add(((first + k) % room) as usize) = *from.add((record.x + k) as usize);
    }
}

/// Draws small triangles into a buffer of depths: a thread tests the pixels of its triangle's box by three edges, and keeps
/// the nearest triangle by an atomic minimum of 64 bits.
#[kernel]
pub unsafe fn draw_triangles(n: u32, width: u32, height: u32, triangles: *const i32, pixels: *mut u64) {
    let i = index();
    if i >= n as usize {
        return;
    }
    // x and y of three corners, and a depth.
    let [ax, ay, bx, by, cx, cy, depth] = [0, 1, 2, 3, 4, 5, 6].map(|k| *triangles.add(7 * i + k));
    let (left, right) = (ax.min(bx).min(cx).max(0), ax.max(bx).max(cx).min(width as i32 - 1));
    let (top, bottom) = (ay.min(by).min(cy).max(0), ay.max(by).max(cy).min(height as i32 - 1));
    let edge =
        |px: i32, py: i32, qx: i32, qy: i32, x: i32, y: i32| (qx - px) * (y - py) - (qy - py) * (x - px);
    let name = (depth as u64) << 32 | i as u64;
    for y in top..=bottom {
        for x in left..=right {
            let (a, b, c) =
                (edge(ax, ay, bx, by, x, y), edge(bx, by, cx, cy, x, y), edge(cx, cy, ax, ay, x, y));
            if (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0) {
                let pixel = pixels.add(y as usize * width as usize + x as usize);
                mid::atomic_fetch_min_u64_device(pixel, Relaxed, name);
            }
        }
    }
}
