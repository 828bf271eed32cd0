//! # Gather and scatter: access by index
//!
//! `gather` reads where an array of indices says, `scatter` writes there. The indices themselves are read in order. What the
//! access costs depends on how far neighbouring lanes are apart:
//!
//! - In order, a warp's 32 words are four sectors, as in a copy.
//! - In random blocks of 32 bytes, a warp touches four sectors in four lines. No byte that moves is lost, but DRAM opens a
//!   page for less, and a block of 128 or 4096 bytes is what it takes to be level with a copy again.
//! - Wholly at random, each lane has a sector of its own: a warp's request is 32 sectors, of each of which an eighth is used.
//!   The rate is then bound by sectors that L2 or DRAM answers per second.
//!
//! Where the array fits in L2, sectors come from there, and random access costs the L1's replays and L2's slices alone.
//!
//! A random *write* of 4 bytes is worse than a read if the array does not fit in L2: the sector is written in part, so that it
//! stays in L2 until it is evicted with a mask of valid bytes, and DRAM writes it in bursts that are longer than the word.
//!
//! # Safety
//! An index from memory may be any number, so `gather` compares it with the length: one comparison beside a load that
//! takes hundreds of cycles. `scatter` must hold that no two threads write one element, which for a permutation is a fact
//! about values. Its stores are relaxed atomic ones, with which two writes to one element would be a defined mistake.
//! [`scatter_unchecked`](crate::unchecked::gather::scatter_unchecked()) has plain stores and says why they are sound.
//!
//! # Launch
//! Blocks and grids are one-dimensional, of any size, one thread per index. All three arrays have one length.

use cuda_safe::names::N;
use cuda_safe::{Atomics, Each, In, Out, Thread, kernel};

/// `destination[i] = source[indices[i]]`.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel]
pub fn gather(
    thread: Thread,
    indices: In<u32, Each<N>>,
    source: In<u32, Each<N>>,
    destination: Out<u32, Each<N>>,
) {
    if let Some(i) = thread.index(indices)
        && let Some(value) = source.get(indices.at(i) as usize)
    {
        destination.put(i, value);
    }
}

/// `destination[indices[i]] = source[i]`.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains st.relaxed.gpu.global.b32
// PTX: lacks trap
#[kernel(requires(destination.len() == source.len()))]
pub fn scatter(
    thread: Thread,
    indices: In<u32, Each<N>>,
    source: In<u32, Each<N>>,
    destination: Atomics<u32, N>,
) {
    if let Some(i) = thread.index(indices)
        && let Some(element) = destination.at(indices.at(i) as usize)
    {
        element.store(source.at(i));
    }
}
