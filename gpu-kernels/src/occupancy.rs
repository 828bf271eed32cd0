//! # Occupancy: bytes in flight
//!
//! Memory answers after its latency, whatever the bandwidth. To keep it busy meanwhile, enough bytes must be on their way. By
//! Little's law the bytes in flight are the bandwidth times the latency: 4 TB/s times 600 ns is 2.4 MB, or 18 KB for each of an
//! H200's 132 SMs. With fewer in flight, bandwidth is what is in flight over the latency; with more, requests wait for one another.
//!
//! Three numbers multiply to the bytes in flight of an SM: its threads, the loads that each has in flight, and the bytes of each
//! load. Occupancy is only the first of them. A card that is a quarter full of threads with four loads of 16 bytes each reads as fast
//! as one that is full of threads with one, and threads with one load of 4 bytes are too few even where they fill the card.
//!
//! - `in_flight_1`, `in_flight_2`, `in_flight_4`, `in_flight_8`: so many loads of 16 bytes in flight per thread.
//! - `in_flight_words`: four loads of 4 bytes.
//! - `async_copy`, `async_bulk`, `async_tensor` of `unchecked/staged.rs`: asynchronous copies into rings in shared memory, which
//!   have bytes in flight without registers. The number of their stages, and of blocks on an SM, is a fourth factor.
//!
//! # Launch
//! Blocks are one-dimensional and whole warps. The grid has as many blocks as are to run at a time, and they stride through the
//! source together: a warp takes 32 neighbouring elements for each load in flight, then the same as far on as all warps reach.
//! The destination has one word per thread, the sum of all words that it reads, which wraps.

use cuda_safe::names::N;
use cuda_safe::shape::Warps;
use cuda_safe::vector::U32x4;
use cuda_safe::{Each, EachThread, In, Out, Thread, kernel};

use crate::mountain::words;

/// Loads in flight per thread of `in_flight_words`.
pub const WORDS: usize = 4;

/// Sums vectors of 16 bytes.
// PTX in_flight_1: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX in_flight_2: contains 2x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX in_flight_4: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX in_flight_8: contains 8x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
#[kernel(in_flight_1 = <1>, in_flight_2 = <2>, in_flight_4 = <4>, in_flight_8 = <8>)]
pub fn in_flight<const LOADS: usize>(
    thread: Thread<Warps>,
    source: In<U32x4, Each<N>>,
    destination: Out<u32, EachThread>,
) {
    let mut vectors = source.by_warps::<_, LOADS>(&thread);
    let mut sum = 0_u32;
    while let Some(vectors) = vectors.whole() {
        sum = vectors.into_iter().fold(sum, |sum, vector| sum.wrapping_add(words(vector)));
    }
    sum = vectors.rest().fold(sum, |sum, vector| sum.wrapping_add(words(vector)));
    destination.put(thread.own(), sum);
}

/// Sums words of 4 bytes, [`WORDS`] of them in flight.
// PTX: contains 4x ld.global.nc.b32
#[kernel]
pub fn in_flight_words(thread: Thread<Warps>, source: In<u32, Each<N>>, destination: Out<u32, EachThread>) {
    let mut words = source.by_warps::<_, WORDS>(&thread);
    let mut sum = 0_u32;
    while let Some(words) = words.whole() {
        sum = words.into_iter().fold(sum, u32::wrapping_add);
    }
    sum = words.rest().fold(sum, u32::wrapping_add);
    destination.put(thread.own(), sum);
}
