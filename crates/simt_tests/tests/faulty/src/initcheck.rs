//! Reads of what nothing has written. Blocks have 64 threads.
use crate::{here, place};
use core::arch::asm;
use cuda_std::{kernel, shared_array, thread};

/// The host never writes `data`.
#[kernel]
//@ initcheck data=empty(512) out=empty(512)
pub unsafe fn unwritten(data: *const u32, out: *mut u32) {
    *out.add(place()) = *data.add(place()) + 1; //~ ERROR Uninitialized __global__ memory read of size 4 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data
    //~| NOTE and 127 more of the same at this place
}

/// The host writes a part of `data`.
#[kernel]
//@ initcheck data=partial(804,1024) out=empty(1024)
//@ all data=zeros(1024) out=empty(1024)
pub unsafe fn partly_written(data: *const u64, out: *mut u64) {
    *out.add(place()) = *data.add(place()) * 3; //~ ERROR Uninitialized __global__ memory read of size 8 bytes, in launch 1
    //~| NOTE by thread (36,0,0) in block (1,0,0)
    //~| NOTE Address data+800
    //~| NOTE and 27 more of the same at this place
}

/// Every other element of the tile is written.
#[kernel]
//@ initcheck out=empty(512)
pub unsafe fn unwritten_shared(out: *mut u32) {
    let tile = shared_array![u32; 64];
    if here() % 2 == 0 {
        *tile.add(here()) = here() as u32;
    }
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here()); //~ ERROR Uninitialized __shared__ memory read of size 4 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address 0xfc
    //~| NOTE and 63 more of the same at this place
}

#[kernel]
//@ all out=empty(512)
pub unsafe fn unwritten_shared_fixed(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = here() as u32;
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

/// A stencil whose tile has a halo that nobody loads.
#[kernel]
//@ initcheck data=zeros(512) out=empty(512)
pub unsafe fn no_halo(data: *const u32, out: *mut u32) {
    let tile = shared_array![u32; 66];
    *tile.add(here() + 1) = *data.add(place());
    thread::sync_threads();
    *out.add(place()) = *tile.add(here()) + *tile.add(here() + 2); //~ ERROR Uninitialized __shared__ memory read of size 4 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address 0x0
    //~| NOTE and 1 more of the same at this place
    //~| ERROR Uninitialized __shared__ memory read of size 4 bytes
    //~| NOTE by thread (63,0,0) in block (0,0,0)
    //~| NOTE Address 0x104
    //~| NOTE and 1 more of the same at this place
}

#[kernel]
//@ all data=zeros(512) length=128u64 out=empty(512)
pub unsafe fn no_halo_fixed(data: *const u32, length: usize, out: *mut u32) {
    let tile = shared_array![u32; 66];
    *tile.add(here() + 1) = *data.add(place());
    if here() == 0 {
        *tile = *data.add((place() + length - 1) % length);
        *tile.add(65) = *data.add((place() + 64) % length);
    }
    thread::sync_threads();
    *out.add(place()) = *tile.add(here()) + *tile.add(here() + 2);
}

/// What nothing has written says which way to go.
#[kernel]
//@ initcheck flags=empty(512) out=zeros(8)
//@ all flags=zeros(512) out=zeros(8)
pub unsafe fn unwritten_branch(flags: *const u32, out: *mut u32) {
    let flag = *flags.add(place()); //~ ERROR Uninitialized __global__ memory read of size 4 bytes, in launch 1
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address flags
    //~| NOTE and 127 more of the same at this place
    if flag > 7 {
        //~^ ERROR Uninitialized register steers a branch, in launch 1
        //~| NOTE by thread (0,0,0) in block (0,0,0)
        //~| NOTE and 127 more of the same at this place
        AtomicSum(out).add(1);
        AtomicSum(out.add(1)).add(flag);
    }
}

/// A register that no instruction has written says which way to go.
#[kernel]
//@ initcheck out=zeros(8)
pub unsafe fn undefined_register(out: *mut u32) {
    let value: u32;
    asm!("{{ .reg .b32 nothing; mov.b32 {}, nothing; }}", out(reg32) value);
    if value > 7 {
        //~^ ERROR Uninitialized register steers a branch
        //~| NOTE by thread (0,0,0) in block (0,0,0)
        //~| NOTE and 127 more of the same at this place
        AtomicSum(out).add(1);
        AtomicSum(out.add(1)).add(value);
    }
}

#[kernel]
//@ all out=zeros(8)
pub unsafe fn undefined_register_fixed(out: *mut u32) {
    let value: u32;
    asm!("{{ .reg .b32 something; mov.b32 something, 9; mov.b32 {}, something; }}", out(reg32) value);
    if value > 7 {
        AtomicSum(out).add(1);
        AtomicSum(out.add(1)).add(value);
    }
}

/// Effects that no predicated instruction can have in one go, so that a branch stays a branch.
struct AtomicSum(*mut u32);

impl AtomicSum {
    #[inline(always)]
    unsafe fn add(self, value: u32) {
        core::sync::atomic::AtomicU32::from_ptr(self.0)
            .fetch_add(value, core::sync::atomic::Ordering::Relaxed);
    }
}
