//! Accesses to where nothing is, and panics.
use crate::{here, place};
use cuda_std::{kernel, shared_array, thread};

/// One element behind the end: the last thread's.
#[kernel]
//@ memcheck data=zeros(512) out=zeros(512)
pub unsafe fn read_past_end(data: *const u32, out: *mut u32) {
    *out.add(place()) = *data.add(place() + 1); //~ ERROR Invalid __global__ read of size 4 bytes
    //~| NOTE by thread (63,0,0) in block (1,0,0)
    //~| NOTE Address data+512 is out of bounds
    //~| NOTE and is 1 bytes after the nearest allocation at data of size 512 bytes
}

#[kernel]
//@ all data=zeros(512) length=128u64 out=zeros(512)
pub unsafe fn read_past_end_fixed(data: *const u32, length: usize, out: *mut u32) {
    if place() + 1 < length {
        *out.add(place()) = *data.add(place() + 1);
    }
}

/// The element before the first: thread 0's.
#[kernel]
//@ memcheck data=zeros(1024)
pub unsafe fn write_before_begin(data: *mut u64) {
    *data.wrapping_add(place()).wrapping_sub(1) = 7; //~ ERROR Invalid __global__ write of size 8 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data-8 is out of bounds
    //~| NOTE and is 8 bytes before the nearest allocation at data of size 1024 bytes
}

#[kernel]
//@ all data=empty(1024)
pub unsafe fn write_before_begin_fixed(data: *mut u64) {
    *data.add(place()) = 7;
}

/// A pointer to bytes taken for one to words.
#[kernel]
//@ memcheck data=zeros(514) out=zeros(512)
pub unsafe fn misaligned(data: *const u8, out: *mut u32) {
    *out.add(place()) = *data.add(place() * 4 + 2).cast::<u32>(); //~ ERROR Invalid __global__ read of size 4 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data+2 is misaligned
}

#[kernel]
//@ all data=zeros(512) out=zeros(512)
pub unsafe fn misaligned_fixed(data: *const u8, out: *mut u32) {
    *out.add(place()) = *data.add(place() * 4).cast::<u32>();
}

/// The host frees `data` before the launch.
#[kernel]
//@ memcheck data=freed(512)
//@ memcheck grid=1,2 block=2,2,4 data=freed(512)
pub unsafe fn use_after_free(data: *mut u32) {
    *data.add(place()) += 1; //~ ERROR Invalid __global__ read of size 4 bytes, in launch 1
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data is out of bounds
    //~| NOTE and is 0 bytes inside the nearest allocation at data of size 512 bytes, which has been freed
    //~| ERROR Invalid __global__ read of size 4 bytes, in launch 2
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data is out of bounds
    //~| NOTE and is 0 bytes inside the nearest allocation at data of size 512 bytes, which has been freed
}

#[kernel]
//@ all data=zeros(512)
pub unsafe fn use_after_free_fixed(data: *mut u32) {
    *data.add(place()) += 1;
}

/// A tile of 64 elements, and an index that goes on.
#[kernel]
//@ memcheck step=2u64 out=zeros(512)
pub unsafe fn shared_out_of_bounds(step: usize, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here() * step) = here() as u32; //~ ERROR Invalid __shared__ write of size 4 bytes
    //~| NOTE by thread (32,0,0) in block (0,0,0)
    //~| NOTE Address 0x100 is out of bounds
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

#[kernel]
//@ all out=zeros(512)
pub unsafe fn shared_out_of_bounds_fixed(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = here() as u32;
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

/// The host passes null.
#[kernel]
//@ memcheck data=0u64
pub unsafe fn null(data: *mut f32) {
    *data.add(place()) = 1.0; //~ ERROR Invalid __global__ write of size 4 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address 0x0 is out of bounds
}

#[kernel]
//@ all data=0u64
pub unsafe fn null_fixed(data: *mut f32) {
    if !data.is_null() {
        *data.add(place()) = 1.0;
    }
}

/// An atomic on what is not there.
#[kernel]
//@ memcheck data=zeros(512)
pub unsafe fn atomic_past_end(data: *mut u32) {
    let counter = core::sync::atomic::AtomicU32::from_ptr(data.add(1 << 20));
    counter.fetch_add(1, core::sync::atomic::Ordering::Relaxed); //~ ERROR Invalid __global__ atomic of size 4 bytes
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data+4194304 is out of bounds
    //~| NOTE and is 4193793 bytes after the nearest allocation at data of size 512 bytes
}

#[kernel]
//@ all data=zeros(512)
pub unsafe fn atomic_past_end_fixed(data: *mut u32) {
    let counter = core::sync::atomic::AtomicU32::from_ptr(data);
    counter.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
}

/// A bounds check that fails for the last thread.
#[kernel]
//@ memcheck data=zeros(512) length=128u64 out=zeros(512)
//@ all data=empty(512) length=128u64 out=zeros(512)
pub unsafe fn panics(data: &[u32], out: *mut u32) {
    *out.add(place()) = data[place() + 1]; //~ ERROR Kernel panicked: index out of bounds, in launch 1
    //~| NOTE by thread (63,0,0) in block (1,0,0)
    //~| ERROR Uninitialized __global__ memory read of size 4 bytes, in launch 2
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    //~| NOTE Address data+4
    //~| NOTE and 95 more of the same at this place
    //~| ERROR Kernel panicked: index out of bounds, in launch 2
    //~| NOTE by thread (63,0,0) in block (1,0,0)
}

#[kernel]
//@ all data=zeros(512) length=128u64 out=zeros(512)
pub unsafe fn panics_fixed(data: &[u32], out: *mut u32) {
    *out.add(place()) = data.get(place() + 1).copied().unwrap_or(0);
}

/// An assertion.
#[kernel]
//@ memcheck grid=1 length=64u32 out=zeros(512)
pub unsafe fn asserts(length: u32, out: *mut u32) {
    assert!(length > 64); //~ ERROR Kernel panicked
    //~| NOTE by thread (0,0,0) in block (0,0,0)
    *out.add(place()) = length;
}

#[kernel]
//@ all length=64u32 out=zeros(512)
pub unsafe fn asserts_fixed(length: u32, out: *mut u32) {
    assert!(length > 31);
    *out.add(place()) = length;
}
