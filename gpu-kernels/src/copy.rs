//! # Copy: the ceiling that everything else is held against
//!
//! A copy reads each byte once and writes it once, in order. Nothing that has to move the same bytes will be faster,
//! so the best copy is what "all of the bandwidth" means in practice: a few per cent to a fifth below the data
//! sheet, because DRAM refreshes, turns round between reading and writing, and opens rows.
//!
//! What a copy kernel can choose is how many bytes a lane moves at a time, how many loads it has in flight, and
//! who hands out the work:
//!
//! - `copy_scalar`: 4 bytes per thread. Perfectly coalesced, yet four times the requests, warps and address arithmetic
//!   that the bytes need.
//! - `copy_vector`: 16 bytes per thread, the widest access there is before Blackwell. One load in flight per thread is
//!   enough when the SMs are full of threads, and as each block ends the hardware puts the next one in its place,
//!   which keeps the whole card working on neighbouring addresses.
//! - `copy_unrolled`: four vectors per thread, all four loads issued before the first store.
//! - `copy_streaming`: as `copy_vector`, with loads that stay out of L1 and stores marked as not to be read again.
//! - `copy_persistent`: a few blocks per SM that stride through the array until it is done. The classic way; blocks
//!   drift apart, so reads and writes are spread over more DRAM pages at a time.
//!
//! A thread asks for its index: there is one if the source has an element there, and a thread past the end has nothing to
//! do. That one comparison is what makes any length work, and it costs nothing that a copy could notice. Neither access
//! is compared again, since the index is below the length that both arrays share, and only this thread has it.

use cuda_safe::names::N;
use cuda_safe::shape::Runs;
use cuda_safe::vector::U32x4;
use cuda_safe::{Each, In, Out, Thread, kernel};

/// Loads that `copy_unrolled` has in flight in each thread; the other kernels have one.
pub const LOADS_IN_FLIGHT: usize = 4;

/// Copies one 4-byte word per thread.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub fn copy_scalar(thread: Thread, source: In<u32, Each<N>>, destination: Out<u32, Each<N>>) {
    if let Some(i) = thread.index(source) {
        destination.put(i, source.at(i));
    }
}

/// Copies one 16-byte vector per thread.
// PTX: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn copy_vector(thread: Thread, source: In<U32x4, Each<N>>, destination: Out<U32x4, Each<N>>) {
    if let Some(i) = thread.index(source) {
        destination.put(i, source.at(i));
    }
}

/// Copies [`LOADS_IN_FLIGHT`] vectors per thread, with all loads issued before the first store. A block owns
/// `threads * LOADS_IN_FLIGHT` neighbouring vectors, and each access of a warp is one row of neighbours.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn copy_unrolled(
    thread: Thread<Runs<LOADS_IN_FLIGHT>>,
    source: In<U32x4, Each<N>>,
    destination: Out<U32x4, Each<N>>,
) {
    match thread.run(source) {
        Ok(run) => destination.put_run(run, source.run(run)),
        Err(rest) => rest.for_each(|i| destination.put(i, source.at(i))),
    }
}

/// Copies one 16-byte vector per thread past L1, with stores that are evicted first.
// PTX: contains ld.global.nc.L1::no_allocate.v4
// PTX: contains st.global.cs.v4
#[kernel]
pub fn copy_streaming(thread: Thread, source: In<U32x4, Each<N>>, destination: Out<U32x4, Each<N>>) {
    if let Some(i) = thread.index(source) {
        destination.stream(i, source.stream(i));
    }
}

/// Copies with as many threads as the launch has: each takes every `threads in the grid`-th vector.
// PTX: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn copy_persistent(thread: Thread, source: In<U32x4, Each<N>>, destination: Out<U32x4, Each<N>>) {
    for i in thread.grid_stride(source) {
        destination.put(i, source.at(i));
    }
}
