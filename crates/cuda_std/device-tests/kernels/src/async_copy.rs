//! Copies that run beside the threads. All kernels are for one or more blocks of 128 threads; those for sm_80 and sm_90 do
//! nothing in PTX for less.
use cuda_std::access::CachePolicy;
use cuda_std::async_copy::*;
use cuda_std::vector::{F64x2, U32x2, U32x4};
use cuda_std::{cfg, kernel, shared_array, thread};
use pastey::paste;

macro_rules! elements {
    ($($type:ident)*) => {paste! {$(
        /// Reverses each block's elements. In the second half of the results, those whose place is a multiple of 3 are
        /// 0 by condition.
        #[kernel]
        pub unsafe fn [<copy_async_ $type:lower>](source: &[$type], results: *mut $type) {
            if cfg::architecture() >= 800 {
                let (near, far) = (shared_array![$type; 128], shared_array![$type; 128]);
                let (thread, place) = (thread::thread_idx_x() as usize, crate::place());
                copy_to_shared(near.add(thread), &raw const source[place]);
                commit_group();
                copy_to_shared_or_zero(far.add(thread), &raw const source[place], place % 3 != 0);
                commit_group();
                wait_group::<1>();
                thread::sync_threads();
                *results.add(place) = *near.add(127 - thread);
                wait_group::<0>();
                thread::sync_threads();
                *results.add(source.len() + place) = *far.add(127 - thread);
            }
        }
    )*}};
}

elements! { u32 f32 u64 U32x2 U32x4 F64x2 }

/// Reverses each block's elements, past L1. In the second half of the results, those whose place is a multiple of 3 are 0 by
/// condition.
#[kernel]
pub unsafe fn copy_async_past_l1(source: &[U32x4], results: *mut U32x4) {
    if cfg::architecture() >= 800 {
        let (near, far) = (shared_array![U32x4; 128], shared_array![U32x4; 128]);
        let (thread, place) = (thread::thread_idx_x() as usize, crate::place());
        copy_to_shared_past_l1(near.add(thread), &raw const source[place]);
        copy_to_shared_past_l1_or_zero(far.add(thread), &raw const source[place], place % 3 != 0);
        wait_all();
        thread::sync_threads();
        *results.add(place) = *near.add(127 - thread);
        *results.add(source.len() + place) = *far.add(127 - thread);
    }
}

/// Threads meet at a barrier object eight times, and each time read what another one wrote before. The result is how
/// often that was right.
#[kernel]
pub unsafe fn barrier_phases(results: *mut u32) {
    if cfg::architecture() >= 800 {
        let (barrier, tile) = (shared_array![Barrier; 1], shared_array![u32; 128]);
        let thread = thread::thread_idx_x();
        if thread == 0 {
            Barrier::init(barrier, 128);
        }
        thread::sync_threads();
        let mut right = 0;
        for turn in 0..8 {
            *tile.add(thread as usize) = thread * 10 + turn;
            let phase = Barrier::arrive(barrier);
            while !Barrier::is_complete(barrier, phase) {}
            let other = (thread + 33) % 128;
            right += u32::from(*tile.add(other as usize) == other * 10 + turn);
            let phase = Barrier::arrive(barrier);
            while !Barrier::is_complete(barrier, phase) {}
        }
        thread::sync_threads();
        if thread == 0 {
            Barrier::invalidate(barrier);
        }
        *results.add(crate::place()) = right;
    }
}

/// Reverses tiles of 128 vectors, four per block, one after the other. A bulk copy brings a tile into shared memory,
/// the threads reverse it into another, and a bulk copy writes it back. `kind` 1: with cache policies; 2: the bytes
/// announced apart.
#[kernel]
pub unsafe fn copy_bulk(source: *const U32x4, results: *mut U32x4, kind: u32) {
    const BYTES: u32 = 128 * size_of::<U32x4>() as u32;
    if cfg::architecture() >= 900 {
        let barrier = shared_array![Barrier; 1];
        let (arriving, leaving) = (shared_array![U32x4; 128], shared_array![U32x4; 128]);
        let thread = thread::thread_idx_x() as usize;
        let block = 4 * 128 * thread::block_idx_x() as usize;
        if thread == 0 {
            Barrier::init(barrier, 1);
            fence_barrier_init();
            bulk_prefetch_l2(source.add(block), BYTES);
        }
        thread::sync_threads();
        for tile in 0..4 {
            let start = block + 128 * tile;
            if thread == 0 {
                match kind {
                    0 => {
                        Barrier::arrive_expect_bytes(barrier, BYTES);
                        bulk_to_shared(arriving, source.add(start), BYTES, barrier);
                    }
                    1 => {
                        Barrier::arrive_expect_bytes(barrier, BYTES);
                        let policy = CachePolicy::evict_first();
                        bulk_to_shared_with_policy(arriving, source.add(start), BYTES, barrier, policy);
                    }
                    _ => {
                        Barrier::expect_bytes(barrier, BYTES);
                        bulk_to_shared(arriving, source.add(start), BYTES, barrier);
                        Barrier::arrive(barrier);
                    }
                }
            }
            Barrier::wait_parity(barrier, tile as u32 % 2);
            *leaving.add(thread) = *arriving.add(127 - thread);
            fence_async_proxy();
            thread::sync_threads();
            if thread == 0 {
                if kind == 1 {
                    bulk_to_global_with_policy(results.add(start), leaving, BYTES, CachePolicy::evict_last());
                } else {
                    bulk_to_global(results.add(start), leaving, BYTES);
                }
                bulk_commit_group();
                bulk_wait_group_read::<0>();
            }
            thread::sync_threads();
        }
        if thread == 0 {
            bulk_wait_group::<0>();
        }
    }
}
