//! Kernels as they should be, which use shared memory, warps and atomics in the ways that programs do.
use crate::{here, place};
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::async_copy::*;
use cuda_std::vector::U32x4;
use cuda_std::{kernel, shared_array, thread, warp};

/// A matrix of `n` x `n` turned over in tiles of 8 x 8, in blocks of 8 x 8.
#[kernel]
pub unsafe fn transpose(from: *const u32, n: usize, to: *mut u32) {
    let tile = shared_array![u32; 72];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (column, row) = (thread::block_idx_x() as usize * 8, thread::block_idx_y() as usize * 8);
    *tile.add(y * 9 + x) = *from.add((row + y) * n + column + x);
    thread::sync_threads();
    *to.add((column + y) * n + row + x) = *tile.add(x * 9 + y);
}

/// The product of two matrices of `n` x `n`, in tiles of 8 x 8 with two barriers each.
#[kernel]
pub unsafe fn product(a: *const f32, b: *const f32, n: usize, c: *mut f32) {
    let (left, right) = (shared_array![f32; 64], shared_array![f32; 64]);
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (column, row) = (thread::block_idx_x() as usize * 8 + x, thread::block_idx_y() as usize * 8 + y);
    let mut sum = 0.0;
    for tile in 0..n / 8 {
        *left.add(y * 8 + x) = *a.add(row * n + tile * 8 + x);
        *right.add(y * 8 + x) = *b.add((tile * 8 + y) * n + column);
        thread::sync_threads();
        for k in 0..8 {
            sum += *left.add(y * 8 + k) * *right.add(k * 8 + x);
        }
        thread::sync_threads();
    }
    *c.add(row * n + column) = sum;
}

/// Each block's sum, by shuffles within the warps and shared memory between them; blocks of 64, the last one not full.
#[kernel]
pub unsafe fn sums(data: &[u32], out: *mut u32) {
    let partial = shared_array![u32; 2];
    let mut sum = data.get(place()).copied().unwrap_or(0);
    let mut step = 16;
    while step > 0 {
        sum += warp::warp_shuffle_down(u32::MAX, sum, step, 32).0;
        step /= 2;
    }
    if here() % 32 == 0 {
        *partial.add(here() / 32) = sum;
    }
    thread::sync_threads();
    if here() == 0 {
        *out.add(thread::block_idx_x() as usize) = *partial + *partial.add(1);
    }
}

/// How often each of 16 values occurs: in the block by atomics on shared memory, then by atomics on global memory.
#[kernel]
pub unsafe fn histogram(data: &[u32], counts: *mut u32) {
    let bins = shared_array![u32; 16];
    if here() < 16 {
        *bins.add(here()) = 0;
    }
    thread::sync_threads();
    if let Some(value) = data.get(place()) {
        AtomicU32::from_ptr(bins.add((value % 16) as usize)).fetch_add(1, Ordering::Relaxed);
    }
    thread::sync_threads();
    if here() < 16 {
        AtomicU32::from_ptr(counts.add(here())).fetch_add(*bins.add(here()), Ordering::Relaxed);
    }
}

/// A sum over the block without shuffles: half of the threads in each step, the last steps within a warp.
#[kernel]
pub unsafe fn tree(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    thread::sync_threads();
    if here() < 32 {
        let mut step = 32;
        while step > 0 {
            let other = *tile.add(here() + step * usize::from(here() < step));
            warp::sync_warp(u32::MAX);
            if here() < step {
                *tile.add(here()) += other;
            }
            warp::sync_warp(u32::MAX);
            step /= 2;
        }
    }
    if here() == 0 {
        *out.add(thread::block_idx_x() as usize) = *tile;
    }
}

/// A lock around a counter that is not atomic.
#[kernel]
pub unsafe fn locked(lock: *mut u32, counter: *mut u32) {
    if here() == 0 {
        let lock = AtomicU32::from_ptr(lock);
        while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {}
        *counter += 1;
        lock.store(0, Ordering::Release);
    }
}

/// Each block's elements backwards, through a tile that is filled beside the threads.
#[kernel]
pub unsafe fn async_tile(from: &[u32], to: *mut u32) {
    let tile = shared_array![u32; 64];
    copy_to_shared(tile.add(here()), &raw const from[place()]);
    wait_all();
    thread::sync_threads();
    *to.add(place()) = *tile.add(63 - here());
}

/// Threads meet at a barrier object, and read what others wrote before; four times over.
#[kernel]
pub unsafe fn phases(to: *mut u32) {
    let (barrier, tile) = (shared_array![Barrier; 1], shared_array![u32; 64]);
    if here() == 0 {
        Barrier::init(barrier, 64);
    }
    thread::sync_threads();
    let mut sum = 0;
    for turn in 0..4 {
        *tile.add(here()) = here() as u32 + turn;
        let phase = Barrier::arrive(barrier);
        while !Barrier::is_complete(barrier, phase) {}
        sum += *tile.add(63 - here());
        let phase = Barrier::arrive(barrier);
        while !Barrier::is_complete(barrier, phase) {}
    }
    *to.add(place()) = sum;
}

/// Tiles one after the other, by bulk copies into shared memory and out of it, turned round by the threads.
#[kernel]
pub unsafe fn bulk(from: *const u32, tiles: usize, to: *mut u32) {
    const BYTES: u32 = 64 * 4;
    let barrier = shared_array![Barrier; 1];
    let (arriving, leaving) =
        (shared_array![U32x4; 16].cast::<u32>(), shared_array![U32x4; 16].cast::<u32>());
    let block = thread::block_idx_x() as usize * tiles * 64;
    if here() == 0 {
        Barrier::init(barrier, 1);
        fence_barrier_init();
    }
    thread::sync_threads();
    for tile in 0..tiles {
        let start = block + tile * 64;
        if here() == 0 {
            Barrier::arrive_expect_bytes(barrier, BYTES);
            bulk_to_shared(arriving, from.add(start), BYTES, barrier);
        }
        Barrier::wait_parity(barrier, tile as u32 % 2);
        *leaving.add(here()) = *arriving.add(63 - here());
        fence_async_proxy();
        thread::sync_threads();
        if here() == 0 {
            bulk_to_global(to.add(start), leaving, BYTES);
            bulk_commit_group();
            bulk_wait_group_read::<0>();
        }
        thread::sync_threads();
    }
    if here() == 0 {
        bulk_wait_group::<0>();
    }
}
