//! Takes in a request's sectors: loads look them up in L1, other accesses pass it.

use super::block::BlockMemory;
use super::group::{Group, whole_lines};
use super::prefetch;
use super::takes::{Sink, Takes, nearby};
use crate::coalescing::Addresses;

/// A sink for loads through L1.
pub(super) struct CachedLoads<'a> {
    memory: &'a mut BlockMemory,
    list: &'a mut Vec<Group>,
    /// Clock of the warp that loads: see [`CachedLoads::new`].
    clock: u32,
    warp: u32,
    /// True if L1 is filled by lines.
    lines: bool,
    /// Sectors that missed.
    missed: u32,
}

impl<'a> CachedLoads<'a> {
    /// Begins a load of a warp. Its clock is put back by [`CachedLoads::end`].
    #[inline(always)]
    pub(super) fn new(memory: &'a mut BlockMemory, list: &'a mut Vec<Group>, warp: u32, lines: bool) -> Self {
        let clock = *memory.clock(warp);
        Self { memory, list, lines, missed: 0, clock, warp }
    }

    /// Ends the load and returns the sectors that missed.
    #[inline(always)]
    pub(super) fn end(self) -> u32 {
        *self.memory.clock(self.warp) = self.clock;
        self.missed
    }
}

impl CachedLoads<'_> {
    /// Loads from the sectors of these lanes, in their order. Returns false if they have to be taken one by one.
    #[inline(always)]
    pub(super) fn take_together(&mut self, addresses: &Addresses, lanes: u32) -> bool {
        if self.lines || !self.memory.reserve() {
            return false;
        }
        let mut takes = Takes::NONE;
        takes.find(addresses, lanes);
        self.missed += self.memory.load_all(&mut self.clock, &takes, addresses);
        true
    }
}

impl Sink for CachedLoads<'_> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        let sectors = if self.lines { whole_lines(sectors) } else { sectors };
        self.missed += self.memory.load_cached(&mut self.clock, group, sectors, self.list);
    }
}

/// A sink for accesses that bypass L1.
pub(super) struct Uncached<'a> {
    pub(super) memory: &'a mut BlockMemory,
    pub(super) list: &'a mut Vec<Group>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Sectors that the block has written before, counted each time.
    pub(super) rewritten: u32,
    /// Sectors accessed, counted each time.
    pub(super) taken: u32,
}

impl Uncached<'_> {
    /// Accesses the sectors of these lanes, whose order does not matter where none is forgotten. Returns false if they have to be
    /// taken one by one.
    #[inline(always)]
    pub(super) fn take_together(&mut self, addresses: &Addresses, lanes: u32) -> bool {
        if !self.memory.reserve() {
            return false;
        }
        if let Some((first, sectors)) = nearby(addresses, lanes) {
            for (group, sectors) in (first..).zip(sectors) {
                if sectors != 0 {
                    self.take(group, sectors);
                }
            }
            return true;
        }
        addresses.iter().copied().for_each(prefetch::to_l2);
        let mut takes = Takes::NONE;
        takes.find(addresses, lanes);
        self.taken += takes.sectors[..takes.count].iter().map(|sectors| sectors.count_ones()).sum::<u32>();
        self.rewritten += self.memory.access_all(&takes, self.reads, self.writes);
        true
    }
}

impl Sink for Uncached<'_> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        self.taken += sectors.count_ones();
        self.rewritten += self.memory.access(group, sectors, [self.reads, self.writes], self.list);
    }
}
