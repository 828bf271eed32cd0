//! # Copy: the practical limit of bandwidth
//!
//! A copy reads each byte once and writes it once, in order. No kernel that must move the same bytes is faster, so the best
//! copy is the practical limit of every other kernel. It stays a few per cent to a fifth below the data sheet, because DRAM
//! refreshes, turns around between reading and writing, and opens rows.
//!
//! A copy kernel has three choices: the bytes that a lane moves per access, the loads that each thread has in flight, and
//! the grid, which covers the array or strides through it:
//!
//! - `copy_scalar`: 4 bytes per thread. Its accesses are perfectly coalesced, but it needs four times the requests, warps
//!   and address arithmetic of 16-byte accesses.
//! - `copy_vector`: 16 bytes per thread, the widest access before Blackwell. One load in flight per thread is enough when
//!   the SMs are full of threads. When a block ends, the hardware starts the next one in its place, so the whole card works
//!   on neighbouring addresses.
//! - `copy_unrolled`: four vectors per thread, with all four loads issued before the first store.
//! - `copy_streaming`: `copy_vector` with loads that are not kept in L1 and stores that are marked as not read again.
//! - `copy_persistent`: a few blocks per SM stride through the array until it is done. This is the classic way. The blocks
//!   drift apart, so reads and writes are spread over more DRAM pages at a time.
//!
//! A thread asks for its index, and gets one if the source has an element there. That one comparison makes any length work,
//! and its cost does not show. Neither access is checked again: the index is below the length that both arrays share, and
//! no other thread has it.

use cuda_safe::names::N;
use cuda_safe::shape::Runs;
use cuda_safe::vector::U32x4;
use cuda_safe::{Each, In, Out, Thread, kernel};

/// Loads in flight per thread of `copy_unrolled`; the other kernels have one.
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

/// Copies [`LOADS_IN_FLIGHT`] vectors per thread, with all loads issued before the first store. A block has
/// `threads * LOADS_IN_FLIGHT` neighbouring vectors, and each access of a warp covers 32 neighbours.
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

/// Copies one 16-byte vector per thread, with loads that are not kept in L1 and stores that are evicted first.
// PTX: contains ld.global.nc.L1::no_allocate.v4
// PTX: contains st.global.cs.v4
#[kernel]
pub fn copy_streaming(thread: Thread, source: In<U32x4, Each<N>>, destination: Out<U32x4, Each<N>>) {
    if let Some(i) = thread.index(source) {
        destination.stream(i, source.stream(i));
    }
}

/// Copies with any number of threads `T`: each takes every `T`-th vector.
// PTX: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn copy_persistent(thread: Thread, source: In<U32x4, Each<N>>, destination: Out<U32x4, Each<N>>) {
    for i in thread.grid_stride(source) {
        destination.put(i, source.at(i));
    }
}
