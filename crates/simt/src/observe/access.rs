//! What is observed: an access to memory, and the point of execution that it is made at.

use crate::coalescing::Addresses;

/// An instruction of a program: an index in its list of sites, which give the line in the PTX and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u32);

/// A point of execution: a warp of a block at an instruction.
///
/// It is two words, which are passed in registers. Three fields were passed in memory: written one by one and copied as one, which stalls
/// store forwarding for a few nanoseconds in each observed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The block's index in the grid: x fastest, then y, then z.
    pub block: u64,
    /// The warp in the lower half, the site in the upper one.
    warp_and_site: u64,
}

impl At {
    /// Returns the point of a warp at an instruction.
    #[inline(always)]
    pub const fn new(block: u64, warp: u32, site: Site) -> Self {
        Self { block, warp_and_site: warp as u64 | (site.0 as u64) << 32 }
    }

    /// Returns the index of the warp in its block: thread x fastest, 32 threads per warp.
    #[inline(always)]
    pub const fn warp(self) -> u32 {
        self.warp_and_site as u32
    }

    /// Returns the instruction.
    #[inline(always)]
    pub const fn site(self) -> Site {
        Site((self.warp_and_site >> 32) as u32)
    }
}

/// State space of an access. Generic addresses have been resolved to one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device, managed and pinned memory: addresses as the host sees them.
    Global,
    /// Shared memory of the block: offsets from 0.
    Shared,
    /// Shared memory of another block of the cluster: the addresses that `mapa` gives.
    Cluster,
    /// Local memory of the thread: offsets from 0.
    Local,
    /// `.const`: addresses as the host sees them.
    Constant,
}

/// Operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, computes and writes atomically, and returns the old value.
    Atomic,
    /// Reads, computes and writes atomically, without a result.
    Reduction,
}

impl Operation {
    /// Returns true for atomic operations, with a result or without.
    #[inline(always)]
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Reduction)
    }
}

/// An access of one warp by one memory instruction in one space. All its lanes are within bounds and aligned.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// State space.
    pub space: Space,
    /// Operation.
    pub operation: Operation,
    /// Address of each lane; those of inactive lanes are meaningless.
    pub addresses: &'a Addresses,
    /// Active mask: bit `k` is set if lane `k` takes part.
    pub active: u32,
    /// Bytes per lane, of all elements of a vector: 1, 2, 4, 8, 16 or 32. A bulk copy comes as several accesses.
    pub bytes: u32,
    /// True for the read-only path: `ld.global.nc`.
    pub read_only: bool,
    /// True if the access bypasses L1: `.cg`, `.cv`, `.volatile`, `.relaxed` and stronger at a scope beyond the block,
    /// asynchronous and bulk copies.
    pub past_l1: bool,
    /// True for `.relaxed`, `.acquire`, `.release`, `.volatile` and atomics: strong accesses do not race with each
    /// other.
    pub strong: bool,
}
