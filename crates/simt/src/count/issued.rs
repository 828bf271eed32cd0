//! Derives what warps issue and wait for from how often each instruction was executed.

use super::by_site::BySite;
use super::facts::{Wait, Waiting, within};
use super::launch::{in_few_lines, parts};
use super::shape::LaunchShape;
use super::slots::Slots;
use crate::exec::{Chained, behind};
use counters::Counts;
use std::slice;

/// Machine code before a loop that ptxas unrolls four times: it computes the number of remaining iterations, and executes these. From
/// Nsight Compute's `smsp__inst_executed.sum` of kernels with such loops on an H200.
const PASS: Slots =
    Slots { issued: 40, integer: 16, multiply: 0, special: 0, double: 0, shuffle: 0, hidden: 0, clocks: 60 };

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

    /// The entries whose sites may have been executed.
    fn within<'a, T>(&self, entries: &'a [T], site: impl Fn(&T) -> u32) -> slice::Iter<'a, T> {
        within(entries, site, &self.counts.sites()).iter()
    }

    /// Those of these sites that may have been executed.
    pub(super) fn of<'a>(&self, sites: &'a [u32]) -> slice::Iter<'a, u32> {
        self.within(sites, |site| *site)
    }

    /// Sectors of stores that merge with those of the store right before.
    pub(super) fn merged_stores(&self) -> u64 {
        let merged = |(site, run): &(u32, u32)| {
            let stores = &self.counts.get(*site).stores;
            stores.rewritten as f64 * behind::share(*run) * in_few_lines(stores)
        };
        self.within(&self.shape.facts.behind, |(site, _)| *site).map(merged).sum::<f64>() as u64
    }

    /// Returns the executions of each site, and what a list of all sites has for it.
    fn each<'a, T>(&'a self, known: &'a [T]) -> impl Iterator<Item = (u64, &'a T)> {
        let counted =
            self.counts.iter().map(|(site, counts)| (counts.instructions, known.get(site as usize)));
        counted.filter_map(|(instructions, known)| Some((instructions, known?)))
    }

    /// Sites that begin unrolled loops, each with an instruction that its loop has once for four iterations.
    fn once_a_turn(&self) -> slice::Iter<'_, (u32, u32)> {
        self.within(&self.shape.facts.once_a_turn, |(begins, _)| *begins)
    }

    /// Issue slots of all instructions, or those of a unit.
    pub(super) fn slots(&self, of: fn(&Slots) -> u8) -> u64 {
        let slots = &self.shape.facts.slots;
        let all: u64 =
            self.each(slots).map(|(instructions, slots)| instructions * u64::from(of(slots))).sum();
        let saved =
            |&(begins, site): &(u32, u32)| self.saved(site, begins) * f64::from(of(&slots[site as usize]));
        let saved: f64 = self.once_a_turn().map(saved).sum();
        let passes = self.passes() * u64::from(of(&PASS));
        (all + passes).saturating_sub(saved as u64)
    }

    /// Entries of warps into loops that ptxas unrolls four times.
    fn passes(&self) -> u64 {
        let mut begins: Vec<u32> = self.once_a_turn().map(|(begins, _)| *begins).collect();
        begins.dedup();
        begins.into_iter().map(|site| self.instructions(site)).sum()
    }

    /// Executions of an instruction that unrolling its loop four times saves.
    ///
    /// Of each entry into the loop, one and a half iterations remain on average, which are executed one by one: a loop of 9
    /// iterations executes the instruction 1.5 + 7.5 / 4 times.
    fn saved(&self, site: u32, begins: u32) -> f64 {
        let (iterations, passes) = (self.instructions(site) as f64, self.instructions(begins) as f64);
        if iterations < 4.0 * passes { 0.0 } else { (iterations - 1.5 * passes) * 0.75 }
    }

    /// Requests to memory that warps issue without a lane that needs them: as often as they come to the branch around them.
    pub(super) fn idle_requests(&self) -> u64 {
        let idle =
            |&(branch, site): &(u32, u32)| self.instructions(branch).saturating_sub(self.instructions(site));
        self.within(&self.shape.facts.guarded, |(branch, _)| *branch).map(idle).sum()
    }

    /// Successive waits for loads per warp, on a card that keeps this many loads in flight.
    ///
    /// A basic block waits as often as its instructions say, or once for each batch of loads that are in flight together where
    /// these are more. Of asynchronous copies as many are under way as the block's shared memory holds: a ring of four stages
    /// waits a quarter of their time for each.
    pub(super) fn waits(&self, loads_in_flight: f64) -> f64 {
        let waits = |wait: &Wait| {
            let executed = self.instructions(wait.site);
            let earlier: u64 = wait.earlier.iter().map(|load| self.instructions(*load)).sum();
            let times = if wait.earlier.is_empty() { executed } else { executed.min(earlier) };
            times as f64 / f64::from(wait.turns)
        };
        let sum = |sites: slice::Iter<'_, Wait>| -> f64 { sites.map(waits).sum() };
        let of_block = |block: &Waiting| {
            let weight = |&(site, weight): &(u32, f32)| self.instructions(site) as f64 * f64::from(weight);
            let batches = block.loads.iter().map(weight).sum::<f64>() / loads_in_flight;
            if block.waits.is_empty() {
                // The wait for the last batch is another block's.
                let once = block.loads.iter().map(|(site, _)| self.instructions(*site)).max();
                (batches - once.unwrap_or(0) as f64).max(0.0)
            } else {
                batches.max(sum(block.waits.iter()))
            }
        };
        let facts = &self.shape.facts;
        let waits: f64 = self.within(&facts.waiting, |waiting| waiting.block).map(of_block).sum();
        let copies = sum(self.within(&facts.copy_waits, |wait| wait.site));
        let copied: u64 =
            self.of(&facts.copies).map(|site| self.counts.get(*site).loads.bytes_requested).sum();
        // All warps of a block wait for what it copies.
        let a_wait = copied as f64 * self.shape.warps_of_block() as f64 / copies.max(1.0);
        let stages = if copied == 0 { 1.0 } else { (f64::from(self.shape.shared_bytes) / a_wait).max(1.0) };
        self.a_warp(waits + copies / stages)
    }

    /// Parts of lines of indexed loads, and of indexed stores: see [`parts`].
    pub(super) fn indexed(&self) -> (u64, u64) {
        let counts = self.of(&self.shape.facts.indexed).map(|site| self.counts.get(*site));
        counts.fold((0, 0), |(loads, stores), counts| {
            (loads + parts(&counts.loads), stores + parts(&counts.stores))
        })
    }

    /// Requests of asynchronous copies.
    pub(super) fn copy_requests(&self) -> u64 {
        self.of(&self.shape.facts.copies).map(|site| self.counts.get(*site).loads.requests).sum()
    }

    /// Loads per warp that follow a chain through this memory.
    pub(super) fn chained(&self, memory: Chained) -> f64 {
        let chained = self.within(&self.shape.facts.chained, |(site, _)| *site);
        let sites = chained.filter(|(_, of)| *of == memory);
        self.a_warp(sites.map(|(site, _)| self.instructions(*site) as f64).sum())
    }

    /// Clocks of dependent instructions per warp.
    pub(super) fn dependency_clocks(&self) -> f64 {
        let each = self.each(&self.shape.facts.dependencies);
        let sum: f64 = each.map(|(instructions, clocks)| instructions as f64 * f64::from(*clocks)).sum();
        self.a_warp(sum + self.passes() as f64 * f64::from(PASS.clocks))
    }
}
