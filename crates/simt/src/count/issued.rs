//! Derives what warps issue and wait for from how often each instruction was executed.

use super::by_site::BySite;
use super::launch::parts;
use super::shape::LaunchShape;
use super::slots::Slots;
use crate::exec::Chained;
use counters::Counts;

/// Counts of a launch by instruction, with what its shape says of each.
pub(super) struct Issued<'a> {
    pub(super) shape: &'a LaunchShape,
    pub(super) counts: &'a BySite<Counts>,
    pub(super) warps: u64,
}

impl Issued<'_> {
    fn a_warp(&self, sum: f64) -> f64 {
        if self.warps == 0 { 0.0 } else { sum / self.warps as f64 }
    }

    fn instructions(&self, site: u32) -> u64 {
        self.counts.get(site).instructions
    }

    /// Issue slots of all instructions, or those of a unit.
    pub(super) fn slots(&self, of: fn(&Slots) -> u8) -> u64 {
        let each = (0..).zip(&self.shape.slots).filter(|(_, slots)| of(slots) > 0);
        each.map(|(site, slots)| self.instructions(site) * u64::from(of(slots))).sum()
    }

    /// Requests to memory that warps issue without a lane that needs them: as often as they come to the branch around them.
    pub(super) fn idle_requests(&self) -> u64 {
        let idle =
            |&(site, branch): &(u32, u32)| self.instructions(branch).saturating_sub(self.instructions(site));
        self.shape.guarded.iter().map(idle).sum()
    }

    /// Waits for loads per warp, one after another.
    ///
    /// Of asynchronous copies as many are under way as the block's shared memory holds: a ring of four stages waits a quarter of
    /// their time for each.
    pub(super) fn waits(&self) -> f64 {
        let sum = |sites: &[(u32, u32)]| -> f64 {
            sites.iter().map(|&(site, turns)| self.instructions(site) as f64 / f64::from(turns)).sum()
        };
        let copies = sum(&self.shape.copy_waits);
        let copied: u64 =
            (self.shape.copies.iter()).map(|site| self.counts.get(*site).loads.bytes_requested).sum();
        // All warps of a block wait for what it copies.
        let a_wait = copied as f64 * self.shape.warps_of_block() as f64 / copies.max(1.0);
        let stages = if copied == 0 { 1.0 } else { (f64::from(self.shape.shared_bytes) / a_wait).max(1.0) };
        self.a_warp(sum(&self.shape.waits) + copies / stages)
    }

    /// Parts of lines of indexed loads, and of indexed stores: see [`parts`].
    pub(super) fn indexed(&self) -> (u64, u64) {
        let counts = self.shape.indexed.iter().map(|site| self.counts.get(*site));
        counts.fold((0, 0), |(loads, stores), counts| {
            (loads + parts(&counts.loads), stores + parts(&counts.stores))
        })
    }

    /// Requests of asynchronous copies.
    pub(super) fn copy_requests(&self) -> u64 {
        self.shape.copies.iter().map(|site| self.counts.get(*site).loads.requests).sum()
    }

    /// Loads per warp that follow a chain through this memory.
    pub(super) fn chained(&self, memory: Chained) -> f64 {
        let sites = self.shape.chained.iter().filter(|(_, of)| *of == memory);
        self.a_warp(sites.map(|(site, _)| self.instructions(*site) as f64).sum())
    }

    /// Clocks of dependent instructions per warp.
    pub(super) fn dependency_clocks(&self) -> f64 {
        let each = (0..).zip(&self.shape.dependencies);
        self.a_warp(each.map(|(site, clocks)| self.instructions(site) as f64 * f64::from(*clocks)).sum())
    }
}
