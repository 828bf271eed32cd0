//! Tables that many threads fill at once: hashing of several kinds, caches, samples, rings, and small counters.

use cuda_std::prelude::*;
use cuda_std::vector::U32x4;
use cuda_std::warp::{lane_id, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::{atomic::mid, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{ALL, index};

/// No key.
const EMPTY: u32 = u32::MAX;

/// Inserts keys into a set with linear probing: a compare-and-swap at each slot that is tried.
#[kernel]
pub unsafe fn insert_keys(n: u32, mask: u32, keys: *const u32, table: *mut u32) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let mut slot = (key ^ key >> 16).wrapping_mul(0x45D9_F3B5) & mask;
        loop {
            let found =
                mid::atomic_compare_and_swap_u32_device(table.add(slot as usize), EMPTY, key, Relaxed);
            if found == EMPTY || found == key {
                return;
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// Inserts pairs of key and value, 64 bits together, into a table with double hashing.
#[kernel]
pub unsafe fn insert_pairs(n: u32, mask: u32, keys: *const u32, values: *const u32, table: *mut u64) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let pair = u64::from(*values.add(i)) << 32 | u64::from(key);
        let mut slot = key.wrapping_mul(0x9E37_79B1) >> 7 & mask;
        let step = key.wrapping_mul(0x85EB_CA6B) >> 11 | 1;
        loop {
            let found =
                mid::atomic_compare_and_swap_u64_device(table.add(slot as usize), u64::MAX, pair, Relaxed);
            if found == u64::MAX || found as u32 == key {
                return;
            }
            slot = slot.wrapping_add(step) & mask;
        }
    }
}

/// Inserts keys at the first free one of three slots that hashing gives; a key that finds none goes to a list behind the table.
#[kernel]
pub unsafe fn insert_choices(
    n: u32,
    mask: u32,
    room: u32,
    keys: *const u32,
    table: *mut u32,
    rejected: *mut u32,
) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let key = *keys.add(i);
    let mut hash = key;
    for _ in 0..3 {
        hash = (hash ^ hash >> 15).wrapping_mul(0x9E37_79B1);
        let slot = table.add((hash >> 8 & mask) as usize);
        let found = mid::atomic_compare_and_swap_u32_device(slot, EMPTY, key, Relaxed);
        if found == EMPTY || found == key {
            return;
        }
    }
    // The counter goes on from launch to launch; the places wrap.
    let at = mid::atomic_fetch_add_u32_device(rejected, Relaxed, 1) % room;
    *table.add((mask + 1 + at) as usize) = key;
}

/// Adds values to keys of a table in buckets of 32 slots, a warp per key: all slots are compared at once.
#[kernel]
pub unsafe fn warp_upsert(
    n: u32,
    buckets: u32,
    keys: *const u32,
    values: *const u32,
    table: *mut u32,
    sums: *mut u32,
) {
    let (i, lane) = (index() / 32, lane_id());
    if i >= n as usize {
        return;
    }
    let (key, value) = (*keys.add(i), *values.add(i));
    let mut bucket = (key.wrapping_mul(0x9E37_79B1) >> 5) % buckets;
    loop {
        let at = bucket as usize * 32;
        let slot = table.add(at + lane as usize).read_volatile();
        let same = warp_vote_ballot(ALL, slot == key);
        if same != 0 {
            if lane == same.trailing_zeros() {
                mid::atomic_fetch_add_u32_device(sums.add(at + lane as usize), Relaxed, value);
            }
            return;
        }
        let free = warp_vote_ballot(ALL, slot == EMPTY);
        if free == 0 {
            bucket = if bucket + 1 == buckets { 0 } else { bucket + 1 };
            continue;
        }
        // The lowest free slot; if another warp is quicker, the bucket is read again.
        let (leader, mut found) = (free.trailing_zeros(), 0);
        if lane == leader {
            found =
                mid::atomic_compare_and_swap_u32_device(table.add(at + lane as usize), EMPTY, key, Relaxed);
            if found == EMPTY || found == key {
                mid::atomic_fetch_add_u32_device(sums.add(at + lane as usize), Relaxed, value);
            }
        }
        found = warp_shuffle_idx(ALL, found, leader, 32).0;
        if found == EMPTY || found == key {
            return;
        }
    }
}

/// Builds the chains of a hash table: each row puts itself at its bucket's head, and notes the row that was there.
#[kernel]
pub unsafe fn build_chains(n: u32, shift: u32, keys: *const u32, links: *mut u32) {
    let i = index();
    if i < n as usize {
        let bucket = (*keys.add(i)).wrapping_mul(0x9E37_79B1) >> shift;
        let buckets = 1_usize << (32 - shift);
        let before = mid::atomic_fetch_exch_u32_device(links.add(bucket as usize), Relaxed, i as u32);
        *links.add(buckets + i) = before;
    }
}

/// Accesses to a cache with eight lines per set: a hit leaves the latest time, and misses are counted per block.
#[kernel]
pub unsafe fn touch_lines(
    n: u32,
    sets: u32,
    lines: *const u32,
    tags: *const U32x4,
    times: *mut u32,
    misses: *mut u32,
) {
    let i = index();
    let mut missed = false;
    if i < n as usize {
        let line = *lines.add(i);
        let set = (line % sets) as usize;
        let (low, high) = (*tags.add(2 * set), *tags.add(2 * set + 1));
        let mut way = 8;
        for (k, tag) in low.to_array().into_iter().chain(high.to_array()).enumerate() {
            if tag == line {
                way = k;
            }
        }
        missed = way == 8;
        if !missed {
            mid::atomic_fetch_max_u32_device(times.add(8 * set + way), Relaxed, i as u32 + 1);
        }
    }
    let count = thread::sync_threads_count(u32::from(missed));
    if thread::thread_idx_x() == 0 && count > 0 {
        mid::atomic_fetch_add_u32_device(misses, Relaxed, count);
    }
}

/// Counts different numbers by a bitmap: those that set a bit first are counted per block.
#[kernel]
pub unsafe fn count_different(n: u32, numbers: *const u32, bitmap: *mut u32, count: *mut u32) {
    let i = index();
    let mut first = false;
    if i < n as usize {
        let number = *numbers.add(i);
        let bit = 1 << (number % 32);
        first = mid::atomic_fetch_or_u32_device(bitmap.add(number as usize / 32), Relaxed, bit) & bit == 0;
    }
    let different = thread::sync_threads_count(u32::from(first));
    if thread::thread_idx_x() == 0 {
        mid::atomic_fetch_add_u32_device(count, Relaxed, different);
    }
}

/// A random row of each group: the one with the highest hash, kept with its number by an atomic maximum of 64 bits.
#[kernel]
pub unsafe fn sample_groups(n: u32, groups: *const u32, samples: *mut u64) {
    let i = index();
    if i < n as usize {
        let mut hash = (i as u32).wrapping_mul(0xCC9E_2D51);
        hash ^= hash >> 15;
        hash = hash.wrapping_mul(0x1B87_3593);
        hash ^= hash >> 13;
        let sample = u64::from(hash) << 32 | i as u64;
        mid::atomic_fetch_max_u64_device(samples.add(*groups.add(i) as usize), Relaxed, sample);
    }
}

/// Appends events to a ring per stream, at the place that the stream's counter gives.
#[kernel]
pub unsafe fn ring_append(
    n: u32,
    room: u32,
    streams: *const u32,
    events: *const u32,
    counts: *mut u32,
    rings: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let stream = *streams.add(i) as usize;
        let at = mid::atomic_fetch_add_u32_device(counts.add(stream), Relaxed, 1) & (room - 1);
        *rings.add(stream * room as usize + at as usize) = *events.add(i);
    }
}

/// Counts in 16 bits, two counters a word: a compare-and-swap of the word, until no other thread is in between.
#[kernel]
pub unsafe fn count_in_halves(n: u32, items: *const u32, counters: *mut u32) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let item = *items.add(i);
    let (word, shift) = (counters.add(item as usize / 2), 16 * (item % 2));
    let mut old = word.read_volatile();
    loop {
        let count = ((old >> shift) + 1) & 0xffff;
        let new = old & !(0xffff << shift) | count << shift;
        let found = mid::atomic_compare_and_swap_u32_device(word, old, new, Relaxed);
        if found == old {
            return;
        }
        old = found;
    }
}

/// Counts the baskets that hold each pair of items, in a triangle of counters: a thread takes all pairs of a basket.
#[kernel]
pub unsafe fn item_pairs(baskets: u32, starts: *const u32, items: *const u32, counts: *mut u32) {
    let i = index();
    if i < baskets as usize {
        let (first, end) = (*starts.add(i), *starts.add(i + 1));
        for a in first..end {
            let x = *items.add(a as usize);
            for b in a + 1..end {
                let y = *items.add(b as usize);
                let (low, high) = (x.min(y), x.max(y));
                if low != high {
                    let pair = high as usize * (high as usize - 1) / 2 + low as usize;
                    mid::atomic_fetch_add_u32_device(counts.add(pair), Relaxed, 1);
                }
            }
        }
    }
}

/// A sum, the least and the largest value, and the number of rows, of each group.
#[kernel]
pub unsafe fn aggregate_groups(
    n: u32,
    keys: *const u32,
    values: *const u32,
    sums: *mut u64,
    least: *mut u32,
    most: *mut u32,
    counts: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let (key, value) = (*keys.add(i) as usize, *values.add(i));
        mid::atomic_fetch_add_u64_device(sums.add(key), Relaxed, value.into());
        mid::atomic_fetch_min_u32_device(least.add(key), Relaxed, value);
        mid::atomic_fetch_max_u32_device(most.add(key), Relaxed, value);
        mid::atomic_fetch_add_u32_device(counts.add(key), Relaxed, 1);
    }
}
