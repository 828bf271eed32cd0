//! # The memory mountain: bandwidth by footprint and stride
//!
//! How fast a card reads depends on two distances: how far the reads spread, which decides which cache holds them, and how far
//! apart neighbouring lanes read, which decides how much of each sector they use. Drawn over both, bandwidth is a mountain
//! (Bryant and O'Hallaron, *Computer Systems: A Programmer's Perspective*, draw it for CPUs). Its ridges are the levels: L1 while each SM's
//! share fits there, L2, DRAM. Its slopes are the strides: at 2 vectors of 16 bytes half of each sector of 32 bytes is wasted,
//! from there on whole sectors are skipped, and no more is lost until requests have a line for each lane.
//!
//! # Launch
//! Blocks and grids are one-dimensional, of any size; `threads` is the number of all threads `T`, `reads` a multiple of
//! [`IN_FLIGHT`]. The source's length is a power of two. Thread `t` reads, for each `k` below `reads`, the vector
//! `(t + k T) * stride mod length`, and writes the sum of all words, which wraps. So all threads together read every
//! `stride`-th vector, again and again if there are fewer of them than reads.

use cuda_safe::names::N;
use cuda_safe::unroll::repeat;
use cuda_safe::vector::U32x4;
use cuda_safe::{Each, EachThread, In, Out, Thread, kernel};

/// Loads in flight per thread.
pub const IN_FLIGHT: u32 = 8;

/// Reads every `stride`-th vector of the source.
// PTX: contains 8x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.b32
#[kernel(requires(source.len().is_power_of_two(), threads == grid.count() * block.count()))]
pub fn mountain(
    thread: Thread,
    source: In<U32x4, Each<N>>,
    destination: Out<u32, EachThread>,
    stride: u32,
    threads: u32,
    reads: u32,
) {
    let (mask, step) = (source.len() - 1, threads as usize * stride as usize);
    let (mut sum, mut at) = (0_u32, thread.number() * stride as usize);
    let mut left = reads;
    while left >= IN_FLIGHT {
        sum = repeat::<IN_FLIGHT, _>(sum, |sum, nth| {
            let vector = source.get((at + nth as usize * step) & mask);
            sum.wrapping_add(vector.map_or(0, words))
        });
        at += IN_FLIGHT as usize * step;
        left -= IN_FLIGHT;
    }
    destination.put(thread.own(), sum);
}

/// The sum of a vector's words.
#[inline(always)]
pub(crate) fn words(vector: U32x4) -> u32 {
    vector.x.wrapping_add(vector.y).wrapping_add(vector.z.wrapping_add(vector.w))
}
