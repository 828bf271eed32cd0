//! # Copy: the ceiling that everything else is held against
//!
//! A copy reads each byte once and writes it once, in order. Nothing that has to move the same bytes will be faster,
//! so the best copy is what "all of the bandwidth" means in practice: a few per cent to a fifth below the data
//! sheet, because DRAM refreshes, turns round between reading and writing, and opens rows.
//!
//! What a copy kernel can choose is how many bytes a lane moves at a time, how many loads it has in flight, and
//! who hands out the work:
//!
//! - `copy_scalar`: 4 bytes a thread. Perfectly coalesced, yet four times the requests, warps and address arithmetic
//!   that the bytes need.
//! - `copy_vector`: 16 bytes a thread, the widest access there is before Blackwell. One load in flight a thread is
//!   enough when the SMs are full of threads, and as each block ends the hardware puts the next one in its place,
//!   which keeps the whole card working on neighbouring addresses.
//! - `copy_unrolled`: four vectors a thread, all four loads issued before the first store.
//! - `copy_streaming`: as `copy_vector`, with loads that stay out of L1 and stores marked as not to be read again.
//! - `copy_persistent`: a few blocks an SM that stride through the array until it is done. The classic way; blocks
//!   drift apart, so reads and writes are spread over more DRAM pages at a time.
//!
//! The source is a slice and the lookup is checked: a thread past the end has nothing to do. That one comparison is
//! what makes any length work, and it costs nothing that a copy could notice.

use crate::position::{grid_index, grid_stride};
use cuda_std::access::{load_read_only_no_allocate, store_streaming};
use cuda_std::vector::U32x4;
use cuda_std::{kernel, thread};

/// Loads that `copy_unrolled` has in flight in each thread; the other kernels have one.
pub const LOADS_IN_FLIGHT: usize = 4;

/// Copies one 4-byte word a thread.
///
/// # Safety
/// `destination` points to at least `source.len()` words that nothing else touches during the launch.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn copy_scalar(source: &[u32], destination: *mut u32) {
    let index = grid_index();
    if let Some(&word) = source.get(index) {
        // SAFETY: `index` is within `source`, and `destination` is as long and this thread's alone at `index`.
        unsafe { destination.add(index).write(word) }
    }
}

/// Copies one 16-byte vector a thread.
///
/// # Safety
/// `destination` points to at least `source.len()` vectors that nothing else touches during the launch.
// PTX: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub unsafe fn copy_vector(source: &[U32x4], destination: *mut U32x4) {
    let index = grid_index();
    if let Some(&vector) = source.get(index) {
        // SAFETY: `index` is within `source`, and `destination` is as long and this thread's alone at `index`.
        unsafe { destination.add(index).write(vector) }
    }
}

/// Copies [`LOADS_IN_FLIGHT`] vectors a thread, with all loads issued before the first store. A block owns
/// `threads * LOADS_IN_FLIGHT` neighbouring vectors, and the threads take turns in it, so that each access of a warp is
/// still one row of neighbours.
///
/// # Safety
/// As for [`copy_vector`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub unsafe fn copy_unrolled(source: &[U32x4], destination: *mut U32x4) {
    let threads = thread::block_dim_x() as usize;
    let first = thread::block_idx_x() as usize * threads * LOADS_IN_FLIGHT + thread::thread_idx_x() as usize;
    if first + (LOADS_IN_FLIGHT - 1) * threads < source.len() {
        let in_flight: [U32x4; LOADS_IN_FLIGHT] = core::array::from_fn(|turn| {
            // SAFETY: the last turn's index is within `source`, and so are those before it.
            unsafe { *source.get_unchecked(first + turn * threads) }
        });
        for (turn, vector) in in_flight.into_iter().enumerate() {
            // SAFETY: `destination` is as long as `source`, and this thread's alone at its turns.
            unsafe { destination.add(first + turn * threads).write(vector) }
        }
    } else {
        for turn in 0..LOADS_IN_FLIGHT - 1 {
            let index = first + turn * threads;
            if let Some(&vector) = source.get(index) {
                // SAFETY: `index` is within `source`, and `destination` is as long and this thread's alone there.
                unsafe { destination.add(index).write(vector) }
            }
        }
    }
}

/// Copies one 16-byte vector a thread past L1, with stores that are evicted first.
///
/// # Safety
/// As for [`copy_vector`].
// PTX: contains ld.global.nc.L1::no_allocate.v4
// PTX: contains st.global.cs.v4
#[kernel]
pub unsafe fn copy_streaming(source: &[U32x4], destination: *mut U32x4) {
    let index = grid_index();
    if let Some(vector) = source.get(index) {
        // SAFETY: nothing writes to `source` during the launch; `index` is within it, and `destination` is as long
        // and this thread's alone at `index`.
        unsafe { store_streaming(destination.add(index), load_read_only_no_allocate(vector)) }
    }
}

/// Copies with as many threads as the launch has: each takes every `threads in the grid`-th vector.
///
/// # Safety
/// As for [`copy_vector`].
// PTX: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub unsafe fn copy_persistent(source: &[U32x4], destination: *mut U32x4) {
    for index in grid_stride(source.len()) {
        // SAFETY: `index` is within `source`, and `destination` is as long and this thread's alone at `index`.
        unsafe { destination.add(index).write(*source.get_unchecked(index)) }
    }
}
