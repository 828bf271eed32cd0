//! The cost of requests to memory, as a site's counters take it in.

use crate::coalescing::Traffic;
use counters::MemoryCounts;

/// Costs of requests beside their traffic.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Sectors that go on to L2.
    pub(super) l2_sectors: u64,
    /// Loads that hit L1 with all their sectors.
    pub(super) in_l1: u64,
    /// Sectors that the block has written before.
    pub(super) rewritten: u64,
    /// Turns of L1 of each request.
    pub(super) turns: u32,
}

/// Adds some requests of the same traffic.
#[inline(always)]
pub(super) fn add(memory: &mut MemoryCounts, traffic: &Traffic, extent: &Extent, times: u64) {
    let straddling = traffic.requests * u32::from(traffic.straddles());
    memory.instructions += times;
    memory.requests += times * u64::from(traffic.requests);
    memory.transactions += times * u64::from(traffic.transactions);
    memory.sectors += times * u64::from(traffic.sectors);
    memory.lines += times * u64::from(traffic.lines);
    memory.straddling += times * u64::from(straddling);
    memory.bytes_requested += times * u64::from(traffic.bytes_used);
    memory.bytes_moved += times * u64::from(traffic.bytes_moved);
    memory.turns += times * u64::from(extent.turns);
    memory.l2_sectors += extent.l2_sectors;
    memory.requests_in_l1 += extent.in_l1;
    memory.rewritten += extent.rewritten;
}
