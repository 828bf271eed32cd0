//! Databases and texts: joins, groups, filters, lines, posting lists and words of a genome.

use cuda_std::prelude::*;
use cuda_std::vector::{U32x2, U32x4};
use cuda_std::warp::{WarpReductionOp, lane_id, warp_reduce, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, index};

/// A hash join's probe: each row follows its bucket's chain, and adds what the rows with its key hold.
#[kernel]
pub unsafe fn join_chains(
    n: u32,
    shift: u32,
    keys: *const u32,
    heads: *const u32,
    next: *const u32,
    rows: *const U32x2,
    sums: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let mut at = *heads.add((key.wrapping_mul(0x9E37_79B1) >> shift) as usize);
        let mut sum = 0_u32;
        while at != u32::MAX {
            let row = *rows.add(at as usize);
            if row.x == key {
                sum = sum.wrapping_add(row.y);
            }
            at = *next.add(at as usize);
        }
        *sums.add(i) = sum;
    }
}

/// The slot of a key in a table with linear probing, which takes the first empty one if the key is new. Slots are `stride`
/// words apart.
#[inline(always)]
unsafe fn claim(table: *mut u32, stride: usize, mask: u32, key: u32) -> usize {
    let mut at = key.wrapping_mul(0x85EB_CA6B) >> 9 & mask;
    loop {
        let place = table.add(at as usize * stride);
        let mut found = place.read_volatile();
        if found == u32::MAX {
            found = mid::atomic_compare_and_swap_u32_device(place, u32::MAX, key, Relaxed);
        }
        if found == u32::MAX || found == key {
            return at as usize;
        }
        at = (at + 1) & mask;
    }
}

/// Counts and sums of groups: a hash table of 512 slots in each block's shared memory, then one of triples in memory.
#[kernel]
pub unsafe fn group_by_hash(n: u32, mask: u32, keys: *const u32, values: *const u32, groups: *mut u32) {
    let own = shared_array![u32; 512];
    let (counts, sums) = (shared_array![u32; 512], shared_array![u32; 512]);
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let mut k = thread;
    while k < 512 {
        *own.add(k) = u32::MAX;
        *counts.add(k) = 0;
        *sums.add(k) = 0;
        k += threads;
    }
    thread::sync_threads();
    let step = thread::grid_dim_x() as usize * threads;
    let mut i = index();
    while i < n as usize {
        let at = claim(own, 1, 511, *keys.add(i));
        mid::atomic_fetch_add_u32_block(counts.add(at), Relaxed, 1);
        mid::atomic_fetch_add_u32_block(sums.add(at), Relaxed, *values.add(i));
        i += step;
    }
    thread::sync_threads();
    k = thread;
    while k < 512 {
        let key = *own.add(k);
        if key != u32::MAX {
            let group = groups.add(3 * claim(groups, 3, mask, key));
            mid::atomic_fetch_add_u32_device(group.add(1), Relaxed, *counts.add(k));
            mid::atomic_fetch_add_u32_device(group.add(2), Relaxed, *sums.add(k));
        }
        k += threads;
    }
}

/// Rows of a range of days with a small amount: their numbers, and their codes by a dictionary, in any order.
#[kernel]
pub unsafe fn filter_columns(
    n: u32,
    first_day: u32,
    end_day: u32,
    limit: u32,
    days: *const u16,
    amounts: *const u8,
    codes: *const u8,
    dictionary: *const u32,
    count: *mut u32,
    to: *mut U32x2,
) {
    let i = index();
    let mut kept = false;
    if i < n as usize {
        let day = u32::from(*days.add(i));
        kept = day >= first_day && day < end_day && u32::from(*amounts.add(i)) < limit;
    }
    let votes = warp_vote_ballot(ALL, kept);
    if votes == 0 {
        return;
    }
    let (lane, leader) = (lane_id(), votes.trailing_zeros());
    let mut first = 0;
    if lane == leader {
        first = mid::atomic_fetch_add_u32_device(count, Relaxed, votes.count_ones());
    }
    first = warp_shuffle_idx(ALL, first, leader, 32).0;
    if kept {
        let before = (votes & ((1 << lane) - 1)).count_ones();
        let name = *dictionary.add(*codes.add(i) as usize);
        // The counter goes on from launch to launch; the places wrap.
        *to.add(((first + before) % n) as usize) = U32x2::new(i as u32, name);
    }
}

/// Newlines in each block's 16 KiB of a text: 16 bytes a load, four loads a thread, bytes compared in words.
#[kernel]
pub unsafe fn count_lines(quads: u32, text: *const U32x4, counts: *mut u32) {
    let partial = shared_array![u32; 8];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 1024 + thread;
    let mut lines = 0;
    for k in 0..4 {
        let at = first + 256 * k;
        if at < quads as usize {
            for word in (*text.add(at)).to_array() {
                // The highest bit of each byte that is no newline.
                let differ = word ^ 0x0a0a_0a0a;
                let others = (((differ & 0x7f7f_7f7f) + 0x7f7f_7f7f) | differ) & 0x8080_8080;
                lines += 4 - others.count_ones();
            }
        }
    }
    let sum = warp_reduce(ALL, lines, WarpReductionOp::Add);
    if thread.is_multiple_of(32) {
        *partial.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        let mut total = 0;
        for warp in 0..8 {
            total += *partial.add(warp);
        }
        *counts.add(thread::block_idx_x() as usize) = total;
    }
}

/// What pairs of sorted lists have in common, a warp per pair: lanes look up the shorter list's elements by bisection.
#[kernel]
pub unsafe fn intersect_lists(
    n: u32,
    pairs: *const U32x2,
    starts: *const u32,
    elements: *const u32,
    common: *mut u32,
) {
    let (pair, lane) = (index() / 32, index() as u32 % 32);
    if pair >= n as usize {
        return;
    }
    let lists = *pairs.add(pair);
    let range = |list: u32| (*starts.add(list as usize), *starts.add(list as usize + 1));
    let (mut short, mut long) = (range(lists.x), range(lists.y));
    if short.1 - short.0 > long.1 - long.0 {
        core::mem::swap(&mut short, &mut long);
    }
    let mut count = 0;
    let mut at = short.0 + lane;
    while at < short.1 {
        let wanted = *elements.add(at as usize);
        let (mut low, mut high) = long;
        while low < high {
            let middle = (low + high) / 2;
            if *elements.add(middle as usize) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low < long.1 && *elements.add(low as usize) == wanted {
            count += 1;
        }
        at += 32;
    }
    let total = warp_reduce(ALL, count, WarpReductionOp::Add);
    if lane == 0 {
        *common.add(pair) = total;
    }
}

/// Counts a genome's words of `k` letters, each together with its reverse complement: 8 places a thread, atomics in memory.
/// No word contains an N.
#[kernel]
pub unsafe fn count_kmers(n: u32, k: u32, text: *const u8, counts: *mut u32) {
    let first = 8 * index() as u32;
    if first >= n {
        return;
    }
    let (mask, top) = ((1_u32 << (2 * k)) - 1, 2 * k - 2);
    let (mut forward, mut backward, mut letters) = (0_u32, 0_u32, 0);
    for at in first..(first + 7 + k).min(n) {
        let letter = *text.add(at as usize);
        if letter == b'N' {
            letters = 0;
            continue;
        }
        // A, C, T and G are 0 to 3.
        let code = u32::from(letter) >> 1 & 3;
        forward = (forward << 2 | code) & mask;
        backward = backward >> 2 | (code ^ 2) << top;
        letters += 1;
        if letters >= k {
            mid::atomic_fetch_add_u32_device(counts.add(forward.min(backward) as usize), Relaxed, 1);
        }
    }
}
