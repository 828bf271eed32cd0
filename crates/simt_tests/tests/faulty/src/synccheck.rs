//! Barriers that not all reach. Blocks have 64 threads.
use crate::{here, place};
use core::arch::asm;
use cuda_std::{kernel, shared_array, thread, warp};

/// Half of each warp waits for the block, the other half does not.
#[kernel]
//@ synccheck data=zeros(512) out=empty(512)
pub unsafe fn divergent_warp(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    if here() % 32 < 16 {
        thread::sync_threads();
        *out.add(place()) = *tile.add(63 - here());
    } else {
        *out.add(place()) = 1;
        thread::sync_threads(); //~ ERROR Barrier error detected. Divergent thread(s) in warp.
        //~| NOTE by thread (16,0,0) in block (0,0,0)
        //~| NOTE while lanes 0x0000ffff of its warp are elsewhere
        //~| NOTE and 63 more of the same at this place
    }
}

#[kernel]
//@ all data=zeros(512) out=empty(512)
pub unsafe fn divergent_warp_fixed(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = *data.add(place());
    thread::sync_threads();
    *out.add(place()) = if here() % 32 < 16 { *tile.add(63 - here()) } else { 1 };
}

/// A part of a warp leaves before the barrier, which waits for those that have not left: no fault since Volta.
#[kernel]
//@ all length=40u64 out=empty(512)
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
//@ synccheck out=empty(512)
pub unsafe fn not_in_mask(out: *mut u32) {
    warp::sync_warp(0x0000_ffff); //~ ERROR Barrier error detected. Invalid arguments.
    //~| NOTE by thread (16,0,0) in block (0,0,0)
    //~| NOTE The mask 0x0000ffff leaves out its callers 0xffff0000
    //~| NOTE and 63 more of the same at this place
    *out.add(place()) = 1;
}

#[kernel]
//@ all out=empty(512)
pub unsafe fn not_in_mask_fixed(out: *mut u32) {
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
    }
    *out.add(place()) = 1;
}

/// Half of the warp waits for the other, which waits for the block.
#[kernel]
//@ synccheck out=empty(512)
pub unsafe fn never_arrive(out: *mut u32) {
    if here() % 32 < 16 {
        warp::sync_warp(u32::MAX); //~ ERROR Barrier error detected. Missing thread(s) in warp.
        //~| NOTE by thread (0,0,0) in block (0,0,0)
        //~| NOTE The mask 0xffffffff names lanes 0xffff0000, which never arrive
        //~| NOTE and 31 more of the same at this place
        //~| ERROR Barrier error detected. Deadlock.
        //~| NOTE by thread (0,0,0) in block (0,0,0)
        //~| NOTE warp 0, lanes 0x0000ffff, waits for the other lanes of the mask 0xffffffff (bar.warp.sync)
        //~| NOTE warp 0, lanes 0xffff0000, waits at barrier 0 for all threads (bar.sync)
        //~| NOTE warp 1, lanes 0x0000ffff, waits for the other lanes of the mask 0xffffffff (bar.warp.sync)
        //~| NOTE warp 1, lanes 0xffff0000, waits at barrier 0 for all threads (bar.sync)
        *out.add(place()) = 1;
    }
    thread::sync_threads(); //~ ERROR Barrier error detected. Divergent thread(s) in warp.
    //~| NOTE by thread (16,0,0) in block (0,0,0)
    //~| NOTE while lanes 0x0000ffff of its warp are elsewhere
    //~| NOTE and 31 more of the same at this place
}

#[kernel]
//@ all out=empty(512)
pub unsafe fn never_arrive_fixed(out: *mut u32) {
    if here() % 32 < 16 {
        warp::sync_warp(0x0000_ffff);
        *out.add(place()) = 1;
    }
    thread::sync_threads();
}

/// A barrier that waits for more threads than the block has.
#[kernel]
//@ synccheck out=empty(512)
pub unsafe fn wrong_count(out: *mut u32) {
    asm!("barrier.sync 1, 96;"); //~ ERROR Barrier error detected. Deadlock.
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE warp 0, lanes 0xffffffff, waits at barrier 1 for 96 threads, of which 64 came (barrier.sync)
    //~| NOTE warp 1, lanes 0xffffffff, waits at barrier 1 for 96 threads, of which 64 came (barrier.sync)
    *out.add(place()) = 1;
}

#[kernel]
//@ all out=empty(512)
pub unsafe fn wrong_count_fixed(out: *mut u32) {
    asm!("barrier.sync 1, 64;");
    *out.add(place()) = 1;
}

/// One warp waits for all at one barrier, the other at another.
#[kernel]
//@ synccheck out=empty(512)
pub unsafe fn two_barriers(out: *mut u32) {
    if here() < 32 {
        asm!("barrier.sync 1;"); //~ ERROR Barrier error detected. Divergent thread(s) in block.
        //~| NOTE by thread (0,0,0) in block (0,0,0)
        //~| NOTE and 31 more of the same at this place
        //~| ERROR Barrier error detected. Deadlock.
        //~| NOTE by thread (0,0,0) in block (0,0,0)
        //~| NOTE warp 0, lanes 0xffffffff, waits at barrier 1 for all threads (barrier.sync)
        //~| NOTE warp 1, lanes 0xffffffff, waits at barrier 2 for all threads (barrier.sync)
        *out.add(place()) = 1;
    } else {
        asm!("barrier.sync 2;"); //~ ERROR Barrier error detected. Divergent thread(s) in block.
        //~| NOTE by thread (32,0,0) in block (0,0,0)
        //~| NOTE and 31 more of the same at this place
        *out.add(place()) = 2;
    }
}

#[kernel]
//@ all out=empty(512)
pub unsafe fn two_barriers_fixed(out: *mut u32) {
    if here() < 32 {
        asm!("barrier.sync 1, 32;");
        *out.add(place()) = 1;
    } else {
        asm!("barrier.sync 2, 32;");
        *out.add(place()) = 2;
    }
}
