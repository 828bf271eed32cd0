//! Barriers that not all reach. Blocks have 64 threads.
use crate::{here, place};
use core::arch::asm;
use cuda_std::{kernel, shared_array, thread, warp};

/// Half of each warp waits for the block, the other half does not.
#[kernel]
pub unsafe fn divergent_warp(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    if here() % 32 < 16 {
        thread::sync_threads(); // FAULT divergent_warp
        *out.add(place()) = *tile.add(63 - here());
    } else {
        *out.add(place()) = 1;
        thread::sync_threads(); // AND divergent_warp
    }
}

#[kernel]
pub unsafe fn divergent_warp_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    thread::sync_threads();
    *out.add(place()) = if here() % 32 < 16 { *tile.add(63 - here()) } else { 1 };
}

/// A part of a warp leaves before the barrier, which waits for those that have not left: no fault since Volta.
#[kernel]
pub unsafe fn early_return(length: usize, out: *mut u32) {
    let tile = shared_array![u32; 64];
    if here() >= length {
        return;
    }
    *tile.add(here()) = here() as u32;
    thread::sync_threads();
    *out.add(place()) = *tile.add(length - 1 - here());
}

/// All lanes call, half of them are named.
#[kernel]
pub unsafe fn not_in_mask(out: *mut u32) {
    warp::sync_warp(0x0000_ffff); // FAULT not_in_mask
    *out.add(place()) = 1;
}

#[kernel]
pub unsafe fn not_in_mask_fixed(out: *mut u32) {
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
    }
    *out.add(place()) = 1;
}

/// Half of the warp waits for the other, which waits for the block.
#[kernel]
pub unsafe fn never_arrive(out: *mut u32) {
    if here() % 32 < 16 {
        warp::sync_warp(u32::MAX); // FAULT never_arrive
        *out.add(place()) = 1;
    }
    thread::sync_threads(); // AND never_arrive
}

#[kernel]
pub unsafe fn never_arrive_fixed(out: *mut u32) {
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
        *out.add(place()) = 1;
    }
    thread::sync_threads();
}

/// A barrier that waits for more threads than the block has.
#[kernel]
pub unsafe fn wrong_count(out: *mut u32) {
    asm!("barrier.sync 1, 96;"); // FAULT wrong_count
    *out.add(place()) = 1;
}

#[kernel]
pub unsafe fn wrong_count_fixed(out: *mut u32) {
    asm!("barrier.sync 1, 64;");
    *out.add(place()) = 1;
}

/// One warp waits for all at one barrier, the other at another.
#[kernel]
pub unsafe fn two_barriers(out: *mut u32) {
    if here() < 32 {
        asm!("barrier.sync 1;"); // FAULT two_barriers
        *out.add(place()) = 1;
    } else {
        asm!("barrier.sync 2;"); // AND two_barriers
        *out.add(place()) = 2;
    }
}

#[kernel]
pub unsafe fn two_barriers_fixed(out: *mut u32) {
    if here() < 32 {
        asm!("barrier.sync 1, 32;");
        *out.add(place()) = 1;
    } else {
        asm!("barrier.sync 2, 32;");
        *out.add(place()) = 2;
    }
}
