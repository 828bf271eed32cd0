//! Merges the runs of a launch in the order of their blocks: what they touch in L2 and behind it.

use super::balance::Balance;
use super::by_site::BySite;
use super::common::Common;
use super::group::{GROUP_SHIFT, Group};
use super::halves::capacity;
use super::issued::Issued;
use super::l2::L2State;
use super::peer_stores;
use super::run::{Run, Totals};
use super::shape::{Cut, LaunchShape, Placement, Range, Rules};
use super::windows::{ManagedWindow, Windows};
use crate::coalescing::SECTOR_BYTES;
use crate::exec::Chained;
use crate::model::unified::PAGE_BYTES;
use counters::{
    Counts, DramCounts, HottestAtomics, LaunchCounters, LinkCounts, LoopedAtomics, SampledLoads, SiteCounts,
};

/// The sums of a launch's runs.
pub(super) struct Merged {
    pub(super) l2: L2State,
    /// The current part.
    pub(super) part: Option<u64>,
    pub(super) windows: Windows,
    pub(super) dram_read: DramCounts,
    pub(super) dram_written: DramCounts,
    pub(super) link: LinkCounts,
    pub(super) balance: Balance,
    pub(super) common: Common,
}

impl Merged {
    pub(super) fn new(shape: &LaunchShape, rules: &Rules, l2: L2State) -> Self {
        Self {
            part: None,
            windows: Windows::new(rules.partitions),
            dram_read: DramCounts::default(),
            dram_written: DramCounts::default(),
            link: LinkCounts::default(),
            balance: Balance::new(l2.card().multiprocessors, rules.cut.window),
            common: Common::new(shape.blocks().div_ceil(rules.cut.run)),
            l2,
        }
    }

    /// Adds a run, and empties it for the next one.
    pub(super) fn add(&mut self, shape: &LaunchShape, rules: &Rules, run: &mut Run) {
        self.common.add(&run.groups, rules.level);
        let ends = run.parts.iter().skip(1).map(|part| part.1).chain([run.groups.len()]);
        for (&(part, start), end) in run.parts.iter().zip(ends) {
            self.begin_part(&rules.cut, part);
            let groups = &run.groups[start..end];
            let elsewhere = &rules.elsewhere;
            if !elsewhere.any() || !groups.iter().any(|group| elsewhere.is_near(group.index << GROUP_SHIFT)) {
                self.l2.touch(groups, &mut self.dram_read, &mut self.dram_written);
            } else {
                let of_device = self.of_device(&shape.ranges, groups);
                self.l2.touch(&of_device, &mut self.dram_read, &mut self.dram_written);
            }
        }
        for traffic in &run.partitions {
            self.windows.add_partitions(traffic);
        }
        self.windows.add_trails(run.trails.done.drain(..));
        run.blocks.drain(..).for_each(|instructions| self.balance.deal(instructions));
        run.parts.clear();
        run.groups.clear();
        run.partitions.clear();
    }

    /// Ends the launch.
    pub(super) fn end_launch(&mut self, cut: &Cut) {
        if let Some(part) = self.part {
            self.windows.end_managed_window(cut.window_of_part(part));
        }
        self.l2.end_launch();
    }

    /// Returns the launch's counters, but for those that its runs add up by themselves.
    pub(super) fn counters(
        &mut self,
        shape: &LaunchShape,
        rules: &Rules,
        counts: &BySite<Counts>,
        totals: &Totals,
    ) -> LaunchCounters {
        let total: Counts = counts.iter().map(|(_, counts)| *counts).sum();
        let issued = Issued { shape, counts, warps: totals.warps };
        let (indexed_loads, indexed_stores) = issued.indexed();
        let idle_requests = issued.idle_requests();
        let is_old = !self.l2.card().compute_capability.at_least(7, 0);
        let hidden = if is_old { issued.slots(|slots| slots.hidden) } else { 0 };
        let (mut dram_read, mut dram_written) = (self.dram_read, self.dram_written);
        if self.l2.card().l2_bytes == 0 {
            // Without a cache, memory sees the transactions.
            dram_read.granules = total.loads.sectors + total.atomics.sectors + total.local_loads.sectors;
            dram_written.granules = total.stores.sectors + total.atomics.sectors + total.local_stores.sectors;
            dram_read.pages = dram_read.pages.max(totals.scattered[0]);
            dram_written.pages = dram_written.pages.max(totals.scattered[1]);
        }
        let [camping_read, camping_written] = self.windows.camping();
        let float_atomics =
            issued.of(&shape.facts.float_atomics).map(|site| counts.get(*site).atomics.requests);
        let reduced_sectors =
            issued.of(&shape.facts.reductions).map(|site| counts.get(*site).atomics.l2_sectors);
        let sites = counts.iter().filter(|(_, counts)| **counts != Counts::default());
        let takes_work =
            issued.of(&shape.facts.takes_work).any(|site| counts.get(*site).atomics.requests > 0);
        let longest_warp = (totals.longest_path * totals.warps) as f64 / totals.issued.max(1) as f64;
        LaunchCounters {
            blocks: totals.blocks,
            warps: totals.warps,
            resident_blocks: shape.occupancy.blocks,
            resident_warps: shape.occupancy.warps,
            residency: Some(shape.occupancy.residency),
            windows: totals.blocks.div_ceil(rules.cut.window),
            round_trips: issued.waits(self.l2.card().loads_in_flight),
            copy_requests: issued.copy_requests(),
            chained_loads: issued.chained(Chained::Global),
            chained_on_chip: issued.chained(Chained::OnChip),
            dependency_clocks: issued.dependency_clocks(),
            indexed_loads,
            indexed_stores,
            issue_slots: issued.slots(|slots| slots.issued).saturating_sub(hidden) + idle_requests,
            integer_slots: issued.slots(|slots| slots.integer),
            multiply_slots: issued.slots(|slots| slots.multiply),
            special_slots: issued.slots(|slots| slots.special),
            double_slots: issued.slots(|slots| slots.double),
            shuffle_slots: issued.slots(|slots| slots.shuffle),
            idle_requests,
            imbalance: if takes_work { 1.0 } else { self.balance.imbalance() },
            longest_warp: if takes_work { 1.0 } else { longest_warp },
            pace: totals.pace as f64 / totals.issued.max(1) as f64,
            phased: totals.phased * 2 > totals.storing,
            total,
            l2_sectors_read: total.loads.l2_sectors + total.local_loads.l2_sectors,
            l2_sectors_written: total.stores.l2_sectors
                + total.atomics.l2_sectors
                + total.local_stores.l2_sectors,
            l2_sectors_unread: self.l2.unread(),
            l2_sectors_shared: self.shared(shape, total.loads.l2_sectors, totals),
            sampled_loads: SampledLoads::default(),
            l2_sectors_merged: issued.merged_stores(),
            l2_sectors_spilled: totals.tally.spilled,
            l2_sectors_again: self.fetched_again(rules, totals, total.stores.l2_sectors),
            float_atomics: float_atomics.sum(),
            reduced_sectors: reduced_sectors.sum(),
            dram_read,
            dram_written,
            camping_read,
            camping_written,
            hottest: HottestAtomics::default(),
            looped: LoopedAtomics::default(),
            shared_swaps: 0,
            matched_values: 0,
            cluster_requests: 0,
            cluster_bytes: 0,
            link: self.link,
            managed_pages: self.windows.managed.iter().map(|window| window.pages.len() as u64).sum(),
            managed_blocks: self.windows.managed.iter().map(ManagedWindow::blocks).sum(),
            sites: sites.map(|(site, &counts)| SiteCounts { site, counts }).collect(),
            worst: Vec::new(),
        }
    }

    /// Of the sectors that blocks request from L2 to read, those that L1 has for another block of the same multiprocessor.
    fn shared(&self, shape: &LaunchShape, requested: u64, totals: &Totals) -> u64 {
        let common = self.common.of_blocks(totals.blocks, requested, totals.tally.lost);
        let of_multiprocessor = totals.blocks.div_ceil(self.l2.card().multiprocessors.into());
        let together = of_multiprocessor.clamp(1, shape.occupancy.blocks.max(1).into());
        (common * (1.0 - 1.0 / together as f64)) as u64
    }

    /// Of the sectors that blocks load again because L1 has lost them, those that L2 has lost, too.
    ///
    /// L2 is looked up block by block, but resident blocks run side by side: before a block comes again to what it loaded, the others
    /// have touched their data as well. If these are about as much as L2 holds, it is gone.
    fn fetched_again(&self, rules: &Rules, totals: &Totals, stored: u64) -> u64 {
        let windows = totals.blocks as f64 / rules.cut.window as f64;
        let bytes = (self.common.distinct() + stored) as f64 * SECTOR_BYTES as f64 / windows.max(1.0);
        let share = bytes / capacity(self.l2.card(), 0).max(1) as f64;
        (((share - 1.0) / 0.4).clamp(0.0, 1.0) * (totals.tally.lost + totals.tally.spilled) as f64) as u64
    }

    /// Begins the part to which the next groups belong.
    fn begin_part(&mut self, cut: &Cut, part: u64) {
        let Some(before) = self.part.replace(part).filter(|&before| before != part) else { return };
        self.l2.end_part();
        if cut.window_of_part(before) != cut.window_of_part(part) {
            self.l2.end_resident_window();
            self.windows.end_managed_window(cut.window_of_part(before));
        }
    }

    /// Counts groups outside of the card's own memory, and returns the groups that are in device memory.
    fn of_device(&mut self, ranges: &[Range], groups: &[Group]) -> Vec<Group> {
        let mut of_device = Vec::with_capacity(groups.len());
        for &group in groups {
            let address = group.index << GROUP_SHIFT;
            let first = ranges.partition_point(|range| range.addresses.end <= address);
            // A group may reach into a range that begins before it.
            let range = ranges.get(first);
            let range = range.filter(|range| range.addresses.start < address + (1 << GROUP_SHIFT));
            match range.map(|range| range.placement) {
                None => of_device.push(group),
                Some(Placement::Managed) => {
                    self.windows.touch_page(address / PAGE_BYTES, group.read != 0, group.written != 0);
                    of_device.push(group);
                }
                Some(Placement::Host | Placement::Linked) => {
                    self.link.sectors_read += u64::from(group.read.count_ones());
                    self.link.sectors_written += u64::from(group.written.count_ones());
                }
                Some(Placement::Peer) => {
                    self.link.peer_sectors_read += u64::from(group.read.count_ones());
                    self.link.peer_packets_read += peer_stores::packets(group.read);
                    self.link.peer_sectors_written += u64::from(group.written.count_ones());
                }
            }
        }
        of_device
    }
}
