//! Accesses to where nothing is, and panics.
use crate::{here, place};
use cuda_std::{kernel, shared_array, thread};

/// One element behind the end: the last thread's.
#[kernel]
pub unsafe fn read_past_end(data: *const u32, out: *mut u32) {
    *out.add(place()) = *data.add(place() + 1); // FAULT read_past_end
}

#[kernel]
pub unsafe fn read_past_end_fixed(data: *const u32, length: usize, out: *mut u32) {
    if place() + 1 < length {
        *out.add(place()) = *data.add(place() + 1);
    }
}

/// The element before the first: thread 0's.
#[kernel]
pub unsafe fn write_before_begin(data: *mut u64) {
    *data.wrapping_add(place()).wrapping_sub(1) = 7; // FAULT write_before_begin
}

#[kernel]
pub unsafe fn write_before_begin_fixed(data: *mut u64) {
    *data.add(place()) = 7;
}

/// A pointer to bytes taken for one to words.
#[kernel]
pub unsafe fn misaligned(data: *const u8, out: *mut u32) {
    *out.add(place()) = *data.add(place() * 4 + 2).cast::<u32>(); // FAULT misaligned
}

#[kernel]
pub unsafe fn misaligned_fixed(data: *const u8, out: *mut u32) {
    *out.add(place()) = *data.add(place() * 4).cast::<u32>();
}

/// The host frees `data` before the launch.
#[kernel]
pub unsafe fn use_after_free(data: *mut u32) {
    *data.add(place()) += 1; // FAULT use_after_free
}

#[kernel]
pub unsafe fn use_after_free_fixed(data: *mut u32) {
    *data.add(place()) += 1;
}

/// A tile of 64 elements, and an index that goes on.
#[kernel]
pub unsafe fn shared_out_of_bounds(step: usize, out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here() * step) = here() as u32; // FAULT shared_out_of_bounds
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

#[kernel]
pub unsafe fn shared_out_of_bounds_fixed(out: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(here()) = here() as u32;
    thread::sync_threads();
    *out.add(place()) = *tile.add(63 - here());
}

/// The host passes null.
#[kernel]
pub unsafe fn null(data: *mut f32) {
    *data.add(place()) = 1.0; // FAULT null
}

#[kernel]
pub unsafe fn null_fixed(data: *mut f32) {
    if !data.is_null() {
        *data.add(place()) = 1.0;
    }
}

/// An atomic on what is not there.
#[kernel]
pub unsafe fn atomic_past_end(data: *mut u32) {
    let counter = core::sync::atomic::AtomicU32::from_ptr(data.add(1 << 20));
    counter.fetch_add(1, core::sync::atomic::Ordering::Relaxed); // FAULT atomic_past_end
}

#[kernel]
pub unsafe fn atomic_past_end_fixed(data: *mut u32) {
    let counter = core::sync::atomic::AtomicU32::from_ptr(data);
    counter.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
}

/// A bounds check that fails for the last thread.
#[kernel]
pub unsafe fn panics(data: &[u32], out: *mut u32) {
    *out.add(place()) = data[place() + 1]; // FAULT panics
}

#[kernel]
pub unsafe fn panics_fixed(data: &[u32], out: *mut u32) {
    *out.add(place()) = data.get(place() + 1).copied().unwrap_or(0);
}

/// An assertion.
#[kernel]
pub unsafe fn asserts(length: u32, out: *mut u32) {
    assert!(length > 64); // FAULT asserts
    *out.add(place()) = length;
}

#[kernel]
pub unsafe fn asserts_fixed(length: u32, out: *mut u32) {
    assert!(length > 31);
    *out.add(place()) = length;
}
