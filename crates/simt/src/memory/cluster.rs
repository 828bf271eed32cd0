//! The shared memory of a cluster's blocks, as each of them reaches it.
//!
//! One worker executes all blocks of a cluster, in turn. So a block's access to the shared memory of another one is an
//! access to host memory that no other thread uses meanwhile. Addresses name the block by the window that they lie in
//! ([`windows`](super::windows)): [`ClusterMemory::owner`] takes them apart and [`ClusterMemory::address`] puts them
//! together.
//!
//! A rank that the cluster does not have, and a block that has ended, are faults with names: a GPU's blocks have to stay
//! until nothing in the cluster reads their memory any more.

use std::ops::Range;

use super::shared::SharedMemory;
use super::windows::WINDOW_BYTES;

/// The shared memory of one block.
#[derive(Clone, Copy, Debug)]
struct OfBlock {
    /// Host address of its first byte.
    base: u64,
    bytes: u64,
    has_ended: bool,
}

/// The block in whose shared memory an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The block that executes.
    Own,
    /// Another block, by its rank, which the cluster may not have.
    Other(u32),
}

/// The shared memory of all blocks of a cluster, from the point of view of the one that executes.
#[derive(Debug)]
pub struct ClusterMemory {
    blocks: Vec<OfBlock>,
    rank: u32,
    /// Ranges that blocks have written into other blocks since those last went on, by rank.
    written: Vec<Vec<Range<u64>>>,
}

impl ClusterMemory {
    /// Creates a cluster of this many blocks without shared memory.
    pub fn new(blocks: u32) -> Self {
        let none = OfBlock { base: 0, bytes: 0, has_ended: false };
        let blocks = blocks.max(1) as usize;
        Self { blocks: vec![none; blocks], rank: 0, written: vec![Vec::new(); blocks] }
    }

    /// Sets the shared memory of a block that begins. The block keeps it until the cluster has ended.
    pub(crate) fn begin(&mut self, rank: u32, shared: &mut SharedMemory) {
        self.blocks[rank as usize] = OfBlock { base: shared.base(), bytes: shared.bytes(), has_ended: false };
        self.written[rank as usize].clear();
    }

    /// Takes note that a block has ended.
    pub(crate) fn end(&mut self, rank: u32) {
        self.blocks[rank as usize].has_ended = true;
    }

    /// Makes a block the one that executes. Returns the ranges of its shared memory that others have written since it
    /// last was.
    pub(crate) fn turn_to(&mut self, rank: u32) -> Vec<Range<u64>> {
        self.rank = rank;
        std::mem::take(&mut self.written[rank as usize])
    }

    /// Returns the rank of the block that executes.
    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the number of blocks.
    pub(crate) fn size(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Returns true if the cluster has more than one block.
    #[inline(always)]
    pub(super) fn has_others(&self) -> bool {
        self.blocks.len() > 1
    }

    /// Returns the block that an address in shared memory names, and the offset in its memory.
    pub(super) fn owner(&self, address: u64) -> (Owner, u64) {
        let (window, offset) = (address / WINDOW_BYTES, address % WINDOW_BYTES);
        if window == 0 || !self.has_others() {
            return (Owner::Own, address);
        }
        let rank = u32::try_from(window - 1).unwrap_or(u32::MAX);
        (if rank == self.rank { Owner::Own } else { Owner::Other(rank) }, offset)
    }

    /// Returns the address by which all blocks reach what lies at an offset in the memory of the block of this rank, which
    /// the cluster has. Where the cluster has one block alone, that is the offset.
    pub(super) fn address(&self, rank: u32, offset: u64) -> u64 {
        if self.has_others() { (u64::from(rank) + 1) * WINDOW_BYTES + offset % WINDOW_BYTES } else { offset }
    }

    /// Returns the host address and the bytes of the shared memory of a block.
    ///
    /// # Errors
    /// Says why an access to it is illegal.
    pub(super) fn reach(&self, rank: u32) -> Result<(u64, u64), String> {
        match self.blocks.get(rank as usize) {
            None => Err(format!("an access to block {rank} of {}", self.name())),
            Some(block) if block.has_ended => Err(format!(
                "an access to the shared memory of block {rank} of its cluster, which has ended: blocks have to wait for each \
                 other before they end"
            )),
            Some(block) => Ok((block.base, block.bytes)),
        }
    }

    /// Takes note of a write into the shared memory of another block.
    pub(super) fn note_written(&mut self, rank: u32, range: Range<u64>) {
        let of_block = &mut self.written[rank as usize];
        match of_block.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => of_block.push(range),
        }
    }

    /// Returns the cluster's size in words.
    pub(super) fn name(&self) -> String {
        match self.blocks.len() {
            1 => "a cluster of one block".to_owned(),
            blocks => format!("a cluster of {blocks} blocks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterMemory, Owner};

    #[test]
    fn addresses_name_the_block_and_the_offset() {
        let mut cluster = ClusterMemory::new(4);
        assert_eq!(cluster.turn_to(2), []);
        assert_eq!(cluster.address(3, 64), 0x400_0040);
        assert_eq!(cluster.address(3, 0x100_0040), 0x400_0040);
        assert_eq!(cluster.owner(0x400_0040), (Owner::Other(3), 64));
        assert_eq!(cluster.owner(0x300_0040), (Owner::Own, 64));
        assert_eq!(cluster.owner(64), (Owner::Own, 64));
        assert_eq!(cluster.owner(0x500_0000), (Owner::Other(4), 0));
        assert_eq!(cluster.reach(4), Err("an access to block 4 of a cluster of 4 blocks".to_owned()));
        let alone = ClusterMemory::new(1);
        assert_eq!((alone.address(0, 64), alone.owner(0x200_0000)), (64, (Owner::Own, 0x200_0000)));
    }

    #[test]
    fn what_others_write_is_told_once() {
        let mut cluster = ClusterMemory::new(2);
        cluster.note_written(1, 0..16);
        cluster.note_written(1, 16..32);
        cluster.note_written(1, 64..68);
        assert_eq!(cluster.turn_to(0), []);
        assert_eq!(cluster.turn_to(1), [0..32, 64..68]);
        assert_eq!(cluster.turn_to(1), []);
    }
}
