//! Prefix sums and stream compaction.

use cuda_std::prelude::*;
use cuda_std::warp::{lane_id, warp_shuffle_idx, warp_shuffle_up, warp_vote_ballot};
use cuda_std::{atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, index};

/// Inclusive sums of each block of 512 in shared memory, after Hillis and Steele.
#[kernel]
pub unsafe fn scan_hillis(from: *const u32, to: *mut u32) {
    let (front, back) = (shared_array![u32; 512], shared_array![u32; 512]);
    let thread = thread::thread_idx_x() as usize;
    let i = index();
    *front.add(thread) = *from.add(i);
    thread::sync_threads();
    let (mut source, mut target) = (front, back);
    let mut distance = 1;
    while distance < 512 {
        let mut value = *source.add(thread);
        if thread >= distance {
            value += *source.add(thread - distance);
        }
        *target.add(thread) = value;
        thread::sync_threads();
        (source, target) = (target, source);
        distance *= 2;
    }
    *to.add(i) = *source.add(thread);
}

/// Exclusive sums of each block's 1024 in a tree in shared memory, after Blelloch, with its bank conflicts.
#[kernel]
pub unsafe fn scan_blelloch(from: *const u32, to: *mut u32, totals: *mut u32) {
    let tree = shared_array![u32; 1024];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 1024;
    *tree.add(2 * thread) = *from.add(first + 2 * thread);
    *tree.add(2 * thread + 1) = *from.add(first + 2 * thread + 1);
    let (mut offset, mut active) = (1, 512);
    while active > 0 {
        thread::sync_threads();
        if thread < active {
            *tree.add(offset * (2 * thread + 2) - 1) += *tree.add(offset * (2 * thread + 1) - 1);
        }
        offset *= 2;
        active /= 2;
    }
    if thread == 0 {
        *totals.add(thread::block_idx_x() as usize) = *tree.add(1023);
        *tree.add(1023) = 0;
    }
    active = 1;
    while active < 1024 {
        offset /= 2;
        thread::sync_threads();
        if thread < active {
            let (left, right) = (offset * (2 * thread + 1) - 1, offset * (2 * thread + 2) - 1);
            let below = *tree.add(left);
            *tree.add(left) = *tree.add(right);
            *tree.add(right) += below;
        }
        active *= 2;
    }
    thread::sync_threads();
    *to.add(first + 2 * thread) = *tree.add(2 * thread);
    *to.add(first + 2 * thread + 1) = *tree.add(2 * thread + 1);
}

/// Inclusive sums of each warp's 32 by shuffles.
#[kernel]
pub unsafe fn scan_warp(n: u32, from: *const u32, to: *mut u32) {
    let i = index();
    let mut value = if i < n as usize { *from.add(i) } else { 0 };
    for distance in [1, 2, 4, 8, 16] {
        let below = warp_shuffle_up(ALL, value, distance, 32).0;
        if lane_id() >= distance {
            value += below;
        }
    }
    if i < n as usize {
        *to.add(i) = value;
    }
}

/// Adds each block's offset to its elements, the last step of a scan of many blocks.
#[kernel]
pub unsafe fn add_offsets(n: u32, offsets: *const u32, from: *const u32, to: *mut u32) {
    let i = index();
    if i < n as usize {
        *to.add(i) = *from.add(i) + *offsets.add(i / 1024);
    }
}

/// Keeps the elements below a limit, in any order: a ballot, and one atomic per warp.
#[kernel]
pub unsafe fn compact_ballot(n: u32, limit: u32, from: *const u32, count: *mut u32, to: *mut u32) {
    let i = index();
    let value = if i < n as usize { *from.add(i) } else { u32::MAX };
    let kept = value < limit;
    let votes = warp_vote_ballot(ALL, kept);
    let lane = lane_id();
    let mut first = 0;
    if lane == 0 {
        first = mid::atomic_fetch_add_u32_device(count, Relaxed, votes.count_ones());
    }
    first = warp_shuffle_idx(ALL, first, 0, 32).0;
    if kept {
        let before = votes & ((1 << lane) - 1);
        // The counter goes on from launch to launch; the places wrap.
        *to.add(((first + before.count_ones()) % n) as usize) = value;
    }
}

/// Marks where runs of equal elements begin.
#[kernel]
pub unsafe fn run_heads(n: u32, from: *const u32, heads: *mut u32) {
    let i = index();
    if i < n as usize {
        *heads.add(i) = u32::from(i == 0 || *from.add(i) != *from.add(i - 1));
    }
}
