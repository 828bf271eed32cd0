//! Atomics with and without contention, and hash tables.

use cuda_std::atomic::mid;
use cuda_std::prelude::*;

use core::sync::atomic::Ordering::Relaxed;

use crate::{index, warp_sum};

/// Every thread adds to one counter.
#[kernel]
pub unsafe fn counter_contended(n: u32, values: *const u32, sum: *mut u32) {
    let i = index();
    if i < n as usize {
        mid::atomic_fetch_add_u32_device(sum, Relaxed, *values.add(i));
    }
}

/// Every warp adds one float to one counter, its sum by shuffles.
#[kernel]
pub unsafe fn sum_per_warp(n: u32, values: *const f32, sum: *mut f32) {
    let i = index();
    let value = if i < n as usize { *values.add(i) } else { 0.0 };
    let total = warp_sum(value);
    if i.is_multiple_of(32) {
        mid::atomic_fetch_add_f32_device(sum, Relaxed, total);
    }
}

/// A histogram straight in memory: as many addresses as bins.
#[kernel]
pub unsafe fn histogram_global(n: u32, mask: u32, values: *const u32, bins: *mut u32) {
    let i = index();
    if i < n as usize {
        mid::atomic_fetch_add_u32_device(bins.add((*values.add(i) & mask) as usize), Relaxed, 1);
    }
}

/// The maximum by an atomic that each thread issues only if it would raise the value.
#[kernel]
pub unsafe fn maximum_guarded(n: u32, values: *const u32, maximum: *mut u32) {
    let i = index();
    if i < n as usize {
        let value = *values.add(i);
        if value > maximum.read_volatile() {
            mid::atomic_fetch_max_u32_device(maximum, Relaxed, value);
        }
    }
}

/// Multiplicative hashing to a table of a power of two.
#[inline(always)]
fn slot(key: u32, mask: u32) -> u32 {
    (key.wrapping_mul(0x9E37_79B1) >> 7) & mask
}

/// Inserts keys into a table with linear probing by compare and swap. Keys already there stay where they are.
#[kernel]
pub unsafe fn hash_insert(n: u32, mask: u32, keys: *const u32, table: *mut u32) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let mut at = slot(key, mask);
        loop {
            let old = mid::atomic_compare_and_swap_u32_device(table.add(at as usize), u32::MAX, key, Relaxed);
            if old == u32::MAX || old == key {
                break;
            }
            at = (at + 1) & mask;
        }
    }
}

/// Looks keys up in such a table: the number of probes, or 0 if the key is absent.
#[kernel]
pub unsafe fn hash_probe(n: u32, mask: u32, keys: *const u32, table: *const u32, probes: *mut u32) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let (mut at, mut count) = (slot(key, mask), 1);
        loop {
            let found = *table.add(at as usize);
            if found == key {
                break;
            }
            if found == u32::MAX {
                count = 0;
                break;
            }
            at = (at + 1) & mask;
            count += 1;
        }
        *probes.add(i) = count;
    }
}

/// Groups values by key: float atomics at addresses that neighbours often share.
#[kernel]
pub unsafe fn group_sums(n: u32, keys: *const u32, values: *const f32, sums: *mut f32) {
    let i = index();
    if i < n as usize {
        mid::atomic_fetch_add_f32_device(sums.add(*keys.add(i) as usize), Relaxed, *values.add(i));
    }
}
