//! Lists, queues, sketches and sets that threads fill together, and the steps of graph algorithms that do.

use cuda_std::prelude::*;
use cuda_std::vector::U32x2;
use cuda_std::{atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::{block_sum, index};

/// Numbers below a limit, each at a place that a counter gives it.
#[kernel]
pub unsafe fn append_each(n: u32, limit: u32, values: *const u32, count: *mut u32, to: *mut u32) {
    let i = index();
    if i < n as usize {
        let value = *values.add(i);
        if value < limit {
            // The counter goes on from launch to launch; the places wrap.
            let place = mid::atomic_fetch_add_u32_device(count, Relaxed, 1) % n;
            *to.add(place as usize) = value;
        }
    }
}

/// The same with a counter for each block, which takes the places of all of its numbers at once.
#[kernel]
pub unsafe fn append_by_block(n: u32, limit: u32, values: *const u32, count: *mut u32, to: *mut u32) {
    let shared = shared_array![u32; 2];
    let (i, thread) = (index(), thread::thread_idx_x());
    if thread == 0 {
        *shared = 0;
    }
    thread::sync_threads();
    let value = if i < n as usize { *values.add(i) } else { u32::MAX };
    let mut before = 0;
    if value < limit {
        before = mid::atomic_fetch_add_u32_block(shared, Relaxed, 1);
    }
    thread::sync_threads();
    if thread == 0 {
        *shared.add(1) = mid::atomic_fetch_add_u32_device(count, Relaxed, *shared);
    }
    thread::sync_threads();
    if value < limit {
        *to.add(((*shared.add(1) + before) % n) as usize) = value;
    }
}

/// Divides keys by their upper bits: each bucket has a cursor and room for `room` keys, which wraps.
#[kernel]
pub unsafe fn fill_buckets(
    n: u32,
    shift: u32,
    room: u32,
    keys: *const u32,
    cursors: *mut u32,
    buckets: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let bucket = key >> shift;
        let place = mid::atomic_fetch_add_u32_device(cursors.add(bucket as usize), Relaxed, 1) % room;
        *buckets.add((bucket * room + place) as usize) = key;
    }
}

/// A round of shortest paths: each edge offers its end a shorter way.
#[kernel]
pub unsafe fn relax_edges(
    n: u32,
    edges: *const U32x2,
    weights: *const u32,
    known: *const u32,
    distances: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let edge = *edges.add(i);
        let (from, to) = (edge.x, edge.y);
        let distance = *known.add(from as usize);
        if distance != u32::MAX {
            let offered = distance + *weights.add(i);
            mid::atomic_fetch_min_u32_device(distances.add(to as usize), Relaxed, offered);
        }
    }
}

/// A round of connected components: the greater end of each edge gets the smaller one's label, if that is smaller.
#[kernel]
pub unsafe fn hook_labels(n: u32, edges: *const U32x2, old: *const u32, labels: *mut u32) {
    let i = index();
    if i < n as usize {
        let edge = *edges.add(i);
        let (a, b) = (edge.x, edge.y);
        let (of_a, of_b) = (*old.add(a as usize), *old.add(b as usize));
        if of_a < of_b {
            mid::atomic_fetch_min_u32_device(labels.add(b as usize), Relaxed, of_a);
        } else if of_b < of_a {
            mid::atomic_fetch_min_u32_device(labels.add(a as usize), Relaxed, of_b);
        }
    }
}

/// In-degrees of a graph: a count for each edge's end.
#[kernel]
pub unsafe fn in_degrees(n: u32, edges: *const U32x2, degrees: *mut u32) {
    let i = index();
    if i < n as usize {
        let edge = *edges.add(i);
        mid::atomic_fetch_add_u32_device(degrees.add(edge.y as usize), Relaxed, 1);
    }
}

/// Blocks that take tiles of 1024 numbers from a counter until there are none, and add up their squares.
#[kernel]
pub unsafe fn take_tiles(tiles: u32, values: *const f32, next: *mut u32, sums: *mut f32) {
    let shared = shared_array![u32; 1];
    let thread = thread::thread_idx_x() as usize;
    // Each launch takes one number for each tile, and one more for each block.
    let all = tiles + thread::grid_dim_x();
    loop {
        if thread == 0 {
            *shared = mid::atomic_fetch_add_u32_device(next, Relaxed, 1) % all;
        }
        thread::sync_threads();
        let tile = *shared;
        thread::sync_threads();
        if tile >= tiles {
            return;
        }
        let mut sum = 0.0;
        for part in 0..4 {
            let value = *values.add(tile as usize * 1024 + part * 256 + thread);
            sum += value * value;
        }
        sum = block_sum(sum);
        if thread == 0 {
            *sums.add(tile as usize) = sum;
        }
    }
}

/// Marks the nodes of a list in a set of bits.
#[kernel]
pub unsafe fn mark_nodes(n: u32, nodes: *const u32, bits: *mut u32) {
    let i = index();
    if i < n as usize {
        let node = *nodes.add(i);
        mid::atomic_fetch_or_u32_device(bits.add((node / 32) as usize), Relaxed, 1 << (node % 32));
    }
}

/// A hash of 32 bits.
#[inline(always)]
fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}

/// Registers of a sketch that estimates how many different keys there are: the longest run of zeros of each register's hashes.
#[kernel]
pub unsafe fn sketch_distinct(n: u32, bits: u32, keys: *const u32, registers: *mut u32) {
    let step = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = index();
    while i < n as usize {
        let hash = hash(*keys.add(i));
        let rank = (hash << bits).leading_zeros().min(32 - bits) + 1;
        let register = registers.add((hash >> (32 - bits)) as usize);
        if *register < rank {
            mid::atomic_fetch_max_u32_device(register, Relaxed, rank);
        }
        i += step;
    }
}

/// A sketch of how often keys come: four rows of counters, each with its own hash.
#[kernel]
pub unsafe fn sketch_counts(n: u32, width: u32, keys: *const u32, counts: *mut u32) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        for row in 0..4_u32 {
            let cell = hash(key ^ row.wrapping_mul(0x9E37_79B9)) & (width - 1);
            mid::atomic_fetch_add_u32_device(counts.add((row * width + cell) as usize), Relaxed, 1);
        }
    }
}

/// Adds keys to a Bloom filter of `mask + 1` bits, three of them for each.
#[kernel]
pub unsafe fn bloom_insert(n: u32, mask: u32, keys: *const u32, bits: *mut u32) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let (first, step) = (hash(key), hash(key ^ 0x5BD1_E995) | 1);
        for k in 0..3_u32 {
            let bit = first.wrapping_add(k.wrapping_mul(step)) & mask;
            mid::atomic_fetch_or_u32_device(bits.add((bit / 32) as usize), Relaxed, 1 << (bit % 32));
        }
    }
}

/// Counts the edges that join nodes of one colour, and marks their greater nodes.
#[kernel]
pub unsafe fn find_conflicts(
    n: u32,
    edges: *const U32x2,
    colours: *const u8,
    count: *mut u32,
    marks: *mut u32,
) {
    let i = index();
    if i < n as usize {
        let edge = *edges.add(i);
        let (a, b) = (edge.x, edge.y);
        if *colours.add(a as usize) == *colours.add(b as usize) {
            mid::atomic_fetch_add_u32_device(count, Relaxed, 1);
            let greater = a.max(b);
            mid::atomic_fetch_or_u32_device(marks.add((greater / 32) as usize), Relaxed, 1 << (greater % 32));
        }
    }
}

/// Triangles of a graph: for each edge, what its ends' ascending lists of neighbours have in common.
#[kernel]
pub unsafe fn count_triangles(
    n: u32,
    edges: *const U32x2,
    starts: *const u32,
    neighbours: *const u32,
    count: *mut u64,
) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let edge = *edges.add(i);
    let (a, b) = (edge.x, edge.y);
    let (mut at_a, end_a) = (*starts.add(a as usize), *starts.add(a as usize + 1));
    let (mut at_b, end_b) = (*starts.add(b as usize), *starts.add(b as usize + 1));
    let mut common = 0;
    while at_a < end_a && at_b < end_b {
        let (of_a, of_b) = (*neighbours.add(at_a as usize), *neighbours.add(at_b as usize));
        common += u64::from(of_a == of_b);
        at_a += u32::from(of_a <= of_b);
        at_b += u32::from(of_b <= of_a);
    }
    if common > 0 {
        mid::atomic_fetch_add_u64_device(count, Relaxed, common);
    }
}

/// Counts keys in a table with double hashing: the first empty slot is claimed by compare-and-swap.
#[kernel]
pub unsafe fn count_keys(n: u32, mask: u32, keys: *const u32, slots: *mut u32, counts: *mut u32) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let key = *keys.add(i);
    let (mut at, step) = (hash(key), hash(key ^ 0x5BD1_E995) | 1);
    loop {
        let slot = slots.add((at & mask) as usize);
        let mut found = slot.read_volatile();
        if found == u32::MAX {
            found = mid::atomic_compare_and_swap_u32_device(slot, u32::MAX, key, Relaxed);
        }
        if found == u32::MAX || found == key {
            mid::atomic_fetch_add_u32_device(counts.add((at & mask) as usize), Relaxed, 1);
            return;
        }
        at = at.wrapping_add(step);
    }
}
