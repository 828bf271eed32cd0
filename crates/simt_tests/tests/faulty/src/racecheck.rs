//! Accesses to one place that nothing orders. Blocks have 64 threads.
use crate::{here, place};
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::async_copy::{copy_to_shared, wait_all};
use cuda_std::{kernel, shared_array, thread, warp};

/// No barrier between the write of one warp and the read of another.
#[kernel]
pub unsafe fn read_after_write(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place()); // FAULT read_after_write
    *out.add(place()) = *tile.add((here() + 32) % 64); // AND read_after_write
}

#[kernel]
pub unsafe fn read_after_write_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    thread::sync_threads();
    *out.add(place()) = *tile.add((here() + 32) % 64);
}

/// A tile is filled again while others may still read it.
#[kernel]
pub unsafe fn write_after_read(data: *const u32, rounds: usize, out: *mut u32) {
    let tile = shared_array![u32; 64];
    let mut sum = 0;
    for round in 0..rounds {
        *tile.add(here()) = *data.add(round * 64 + here()); // AND write_after_read
        thread::sync_threads();
        sum += *tile.add((here() + 32) % 64); // FAULT write_after_read
    }
    *out.add(place()) = sum;
}

#[kernel]
pub unsafe fn write_after_read_fixed(data: *const u32, rounds: usize, out: *mut u32) {
    let tile = shared_array![u32; 64];
    let mut sum = 0;
    for round in 0..rounds {
        *tile.add(here()) = *data.add(round * 64 + here());
        thread::sync_threads();
        sum += *tile.add((here() + 32) % 64);
        thread::sync_threads();
    }
    *out.add(place()) = sum;
}

/// Both warps write the same half.
#[kernel]
pub unsafe fn write_after_write(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here() % 32) = here() as u32; // FAULT write_after_write
    thread::sync_threads();
    *out.add(place()) = *tile.add(31 - here() % 32);
}

#[kernel]
pub unsafe fn write_after_write_fixed(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = here() as u32;
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

/// Two lanes of one store write one element.
#[kernel]
pub unsafe fn one_store(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here() / 2) = here() as u32; // FAULT one_store
    thread::sync_threads();
    *out.add(place()) = *tile.add(31 - here() / 2);
}

#[kernel]
pub unsafe fn one_store_fixed(out: *mut u32) {
    let tile = shared_array![u32; 64];
    if here() % 2 == 0 {
        *tile.add(here() / 2) = here() as u32;
    }
    thread::sync_threads();
    *out.add(place()) = *tile.add(31 - here() / 2);
}

/// Lanes of a warp count on running in step.
#[kernel]
pub unsafe fn within_warp(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place()); // FAULT within_warp
    *out.add(place()) = *tile.add(here() ^ 1); // AND within_warp
}

#[kernel]
pub unsafe fn within_warp_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    warp::sync_warp(u32::MAX);
    *out.add(place()) = *tile.add(here() ^ 1);
}

/// A barrier of half a warp orders that half only.
#[kernel]
pub unsafe fn half_warp(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place()); // FAULT half_warp
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
    } else {
        warp::sync_warp(0xffff_0000);
    }
    *out.add(place()) = *tile.add(here() ^ 16); // AND half_warp
}

#[kernel]
pub unsafe fn half_warp_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
    } else {
        warp::sync_warp(0xffff_0000);
    }
    *out.add(place()) = *tile.add(here() ^ 8);
}

/// A stencil in place: a block reads what its neighbour writes.
#[kernel]
pub unsafe fn between_blocks(data: *mut u32, length: usize) {
    let right = (place() + 64) % length;
    let value = *data.add(right); // FAULT between_blocks
    thread::sync_threads();
    *data.add(place()) = value; // AND between_blocks
}

#[kernel]
pub unsafe fn between_blocks_fixed(data: *const u32, length: usize, out: *mut u32) {
    let right = (place() + 64) % length;
    *out.add(place()) = *data.add(right);
}

/// The block that is last by the counter reads what the others wrote, but no fence made them hand it on.
#[kernel]
pub unsafe fn last_block(partial: *mut u32, counter: *mut u32, out: *mut u32) {
    let last = shared_array![u32; 1];
    let block = thread::block_idx_x() as usize;
    let blocks = thread::grid_dim_x() as usize;
    if here() == 0 {
        partial.add(block).write(block as u32 + 1); // FAULT last_block
        let before = AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
        *last = u32::from(before as usize == blocks - 1);
    }
    thread::sync_threads();
    if *last != 0 && here() < blocks {
        *out.add(here()) = *partial.add(here()); // AND last_block
    }
}

#[kernel]
pub unsafe fn last_block_fixed(partial: *mut u32, counter: *mut u32, out: *mut u32) {
    let last = shared_array![u32; 1];
    let block = thread::block_idx_x() as usize;
    let blocks = thread::grid_dim_x() as usize;
    if here() == 0 {
        partial.add(block).write(block as u32 + 1);
        thread::device_fence();
        let before = AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
        thread::device_fence();
        *last = u32::from(before as usize == blocks - 1);
    }
    thread::sync_threads();
    if *last != 0 && here() < blocks {
        *out.add(here()) = *partial.add(here());
    }
}

/// A counter without atomics.
#[kernel]
pub unsafe fn plain_counter(counter: *mut u32) {
    if here() == 0 {
        *counter += 1; // FAULT plain_counter
    }
}

#[kernel]
pub unsafe fn plain_counter_fixed(counter: *mut u32) {
    if here() == 0 {
        AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
    }
}

/// Whoever waits for a copy that runs beside the threads waits for its own alone.
#[kernel]
pub unsafe fn async_tile_unsynced(from: &[u32], to: *mut u32) {
    let tile = shared_array![u32; 64];
    copy_to_shared(tile.add(here()), &raw const from[place()]); // FAULT async_tile_unsynced
    wait_all();
    *to.add(place()) = *tile.add((here() + 32) % 64); // AND async_tile_unsynced
}
