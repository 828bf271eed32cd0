//! Sorting, merging and searching.

use cuda_std::prelude::*;
use cuda_std::{atomic::mid, shared_array, thread};

use core::sync::atomic::Ordering::Relaxed;

use crate::index;

/// One step of a bitonic sort in memory: compares and exchanges elements `distance` apart.
#[kernel]
pub unsafe fn bitonic_step(n: u32, distance: u32, run: u32, from: *const u32, to: *mut u32) {
    let i = index() as u32;
    if i < n {
        let other = i ^ distance;
        let (mine, theirs) = (*from.add(i as usize), *from.add(other as usize));
        let ascending = i & run == 0;
        let lower = i < other;
        let keep_less = ascending == lower;
        *to.add(i as usize) = if keep_less { mine.min(theirs) } else { mine.max(theirs) };
    }
}

/// Sorts 1024 elements per block in shared memory, by all steps of a bitonic sort.
#[kernel]
pub unsafe fn bitonic_shared(from: *const u32, to: *mut u32) {
    let keys = shared_array![u32; 1024];
    let thread = thread::thread_idx_x();
    let first = thread::block_idx_x() as usize * 1024;
    *keys.add(thread as usize) = *from.add(first + thread as usize);
    *keys.add(thread as usize + 512) = *from.add(first + thread as usize + 512);
    let mut run = 2;
    while run <= 1024 {
        let mut distance = run / 2;
        while distance > 0 {
            thread::sync_threads();
            let low = 2 * thread - (thread & (distance - 1));
            let high = low + distance;
            let (a, b) = (*keys.add(low as usize), *keys.add(high as usize));
            if (a > b) == (low & run == 0) {
                *keys.add(low as usize) = b;
                *keys.add(high as usize) = a;
            }
            distance /= 2;
        }
        run *= 2;
    }
    thread::sync_threads();
    *to.add(first + thread as usize) = *keys.add(thread as usize);
    *to.add(first + thread as usize + 512) = *keys.add(thread as usize + 512);
}

/// Counts digits of 4 bits per block, for a radix sort: 16 counters per block, bins first.
#[kernel]
pub unsafe fn radix_histogram(n: u32, shift: u32, keys: *const u32, counts: *mut u32) {
    let own = shared_array![u32; 16];
    let thread = thread::thread_idx_x() as usize;
    if thread < 16 {
        *own.add(thread) = 0;
    }
    thread::sync_threads();
    let first = thread::block_idx_x() as usize * 2048;
    for k in 0..8 {
        let i = first + k * 256 + thread;
        if i < n as usize {
            let digit = (*keys.add(i) >> shift) & 15;
            mid::atomic_fetch_add_u32_block(own.add(digit as usize), Relaxed, 1);
        }
    }
    thread::sync_threads();
    if thread < 16 {
        *counts.add(thread * thread::grid_dim_x() as usize + thread::block_idx_x() as usize) =
            *own.add(thread);
    }
}

/// Merge path: each thread finds its part of two sorted lists by bisection along a diagonal, and merges 8 elements.
#[kernel]
pub unsafe fn merge_path(n: u32, a: *const u32, b: *const u32, merged: *mut u32) {
    let diagonal = index() * 8;
    let n = n as usize;
    if diagonal < 2 * n {
        let (mut low, mut high) = (diagonal.saturating_sub(n), diagonal.min(n));
        while low < high {
            let middle = (low + high) / 2;
            if *a.add(middle) <= *b.add(diagonal - 1 - middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (mut i, mut j) = (low, diagonal - low);
        for k in 0..8 {
            let take_a = j >= n || (i < n && *a.add(i) <= *b.add(j));
            *merged.add(diagonal + k) = if take_a { *a.add(i) } else { *b.add(j) };
            if take_a {
                i += 1;
            } else {
                j += 1;
            }
        }
    }
}

/// Looks up each query in a sorted table: the number of elements below it.
#[kernel]
pub unsafe fn binary_search(queries: u32, n: u32, table: *const u32, query: *const u32, found: *mut u32) {
    let i = index();
    if i < queries as usize {
        let wanted = *query.add(i);
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = (low + high) / 2;
            if *table.add(middle as usize) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        *found.add(i) = low;
    }
}

/// The rank of each element among its block's 256 by comparing with all of them, and its place by that.
#[kernel]
pub unsafe fn rank_sort(from: *const u32, to: *mut u32) {
    let keys = shared_array![u32; 256];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 256;
    let own = *from.add(first + thread);
    *keys.add(thread) = own;
    thread::sync_threads();
    let mut rank = 0;
    for other in 0..256 {
        let key = *keys.add(other);
        rank += usize::from(key < own || (key == own && other < thread));
    }
    *to.add(first + rank) = own;
}
