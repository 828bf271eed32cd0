//! Accesses to one place that nothing orders. Blocks have 64 threads.
use crate::{here, place};
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::async_copy::{copy_to_shared, wait_all};
use cuda_std::{kernel, shared_array, thread, warp};

/// No barrier between the write of one warp and the read of another.
#[kernel]
//@ racecheck data=zeros(512) out=zeros(512)
pub unsafe fn read_after_write(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place()); //~ ERROR Write races with the Read 1 line below in __shared__ memory [128 hazards]
    *out.add(place()) = *tile.add((here() + 32) % 64);
}

#[kernel]
//@ all grid=3 data=zeros(768) out=zeros(768)
pub unsafe fn read_after_write_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    thread::sync_threads();
    *out.add(place()) = *tile.add((here() + 32) % 64);
}

/// A tile is filled again while others may still read it.
#[kernel]
//@ racecheck data=zeros(512) rounds=2u64 out=zeros(512)
pub unsafe fn write_after_read(data: *const u32, rounds: usize, out: *mut u32) {
    let tile = shared_array![u32; 64];
    let mut sum = 0;
    for round in 0..rounds {
        *tile.add(here()) = *data.add(round * 64 + here()); //~ ERROR Write races with the Read 2 lines below in __shared__ memory [128 hazards]
        thread::sync_threads();
        sum += *tile.add((here() + 32) % 64);
    }
    *out.add(place()) = sum;
}

#[kernel]
//@ all grid=3 data=zeros(768) rounds=3u64 out=zeros(768)
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
//@ racecheck out=zeros(512)
pub unsafe fn write_after_write(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here() % 32) = here() as u32; //~ ERROR Write races with the Write on this line in __shared__ memory [64 hazards]
    thread::sync_threads();
    *out.add(place()) = *tile.add(31 - here() % 32);
}

#[kernel]
//@ all grid=3 out=zeros(768)
pub unsafe fn write_after_write_fixed(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = here() as u32;
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

/// Two lanes of one store write one element.
#[kernel]
//@ racecheck out=zeros(512)
pub unsafe fn one_store(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here() / 2) = here() as u32; //~ ERROR Write races with the Write on this line in __shared__ memory [4 hazards]
    thread::sync_threads();
    *out.add(place()) = *tile.add(31 - here() / 2);
}

#[kernel]
//@ all grid=3 out=zeros(768)
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
//@ racecheck data=zeros(512) out=zeros(512)
pub unsafe fn within_warp(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place()); //~ WARNING Write races with the Read 1 line below in __shared__ memory [128 hazards]
    *out.add(place()) = *tile.add(here() ^ 1);
}

#[kernel]
//@ all grid=3 data=zeros(768) out=zeros(768)
pub unsafe fn within_warp_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    warp::sync_warp(u32::MAX);
    *out.add(place()) = *tile.add(here() ^ 1);
}

/// A barrier of half a warp orders that half only.
#[kernel]
//@ racecheck data=zeros(512) out=zeros(512)
pub unsafe fn half_warp(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place()); //~ WARNING Write races with the Read 6 lines below in __shared__ memory [128 hazards]
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
    } else {
        warp::sync_warp(0xffff_0000);
    }
    *out.add(place()) = *tile.add(here() ^ 16);
}

#[kernel]
//@ all grid=3 data=zeros(768) out=zeros(768)
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
//@ racecheck grid=3 data=zeros(768) length=192u64
pub unsafe fn between_blocks(data: *mut u32, length: usize) {
    let right = (place() + 64) % length;
    let value = *data.add(right); //~ ERROR Read races with the Write 2 lines below in __global__ memory [192 hazards]
    thread::sync_threads();
    *data.add(place()) = value;
}

#[kernel]
//@ all grid=3 data=zeros(768) length=192u64 out=zeros(768)
pub unsafe fn between_blocks_fixed(data: *const u32, length: usize, out: *mut u32) {
    let right = (place() + 64) % length;
    *out.add(place()) = *data.add(right);
}

/// The block that is last by the counter reads what the others wrote, but no fence made them hand it on.
#[kernel]
//@ racecheck grid=3 partial=zeros(64) counter=zeros(4) out=zeros(256)
pub unsafe fn last_block(partial: *mut u32, counter: *mut u32, out: *mut u32) {
    let last = shared_array![u32; 1];
    let block = thread::block_idx_x() as usize;
    let blocks = thread::grid_dim_x() as usize;
    if here() == 0 {
        partial.add(block).write(block as u32 + 1); //~ ERROR Write races with the Read 6 lines below in __global__ memory [2 hazards]
        let before = AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
        *last = u32::from(before as usize == blocks - 1);
    }
    thread::sync_threads();
    if *last != 0 && here() < blocks {
        *out.add(here()) = *partial.add(here());
    }
}

#[kernel]
//@ all grid=3 partial=empty(64) counter=zeros(4) out=empty(64)
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
//@ racecheck grid=3 counter=zeros(4)
pub unsafe fn plain_counter(counter: *mut u32) {
    if here() == 0 {
        *counter += 1; //~ ERROR Read races with the Write on this line in __global__ memory [2 hazards]
        //~| ERROR Write races with the Write on this line in __global__ memory [2 hazards]
    }
}

#[kernel]
//@ all grid=3 counter=zeros(4)
pub unsafe fn plain_counter_fixed(counter: *mut u32) {
    if here() == 0 {
        AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed);
    }
}

/// `cp.async.wait_all` waits for the copies of the calling thread alone.
#[kernel]
//@ racecheck from=zeros(512) length=128u64 to=zeros(512)
pub unsafe fn async_tile_unsynced(from: &[u32], to: *mut u32) {
    let tile = shared_array![u32; 64];
    copy_to_shared(tile.add(here()), &raw const from[place()]); //~ ERROR Write races with the Read 2 lines below in __shared__ memory [128 hazards]
    wait_all();
    *to.add(place()) = *tile.add((here() + 32) % 64);
}
