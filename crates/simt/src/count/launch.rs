//! Derives results from a launch's counters: the model's input, the time, and sums by source line.

use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};
use crate::exec::SiteInfo;
use crate::model::{Counters, LaunchTime, Touched};
use counters::{Access, Counts, DramCounts, LaunchCounters, MemoryCounts};
use std::collections::BTreeMap;
use std::sync::Arc;

impl From<DramCounts> for Touched {
    fn from(counts: DramCounts) -> Self {
        Self { granules: counts.granules as f64, lines: counts.lines as f64, pages: counts.pages as f64 }
    }
}

/// A line of the user's source: file and line. `None` if unknown.
pub type SourcePlace = Option<(Arc<str>, u32)>;

/// Returns the source line of an instruction.
fn place(sites: &[SiteInfo], site: u32) -> SourcePlace {
    let place = sites.get(site as usize)?.user_line()?;
    Some((place.file.clone(), place.line))
}

/// Lines that accesses touch beyond those that their sectors would fill. Each is a transaction of L2's for a part of a line.
pub(super) fn parts(accesses: &MemoryCounts) -> u64 {
    accesses.lines.saturating_sub(accesses.sectors / 4)
}

/// Share of the stores to sectors written before that merge with the store before on their way to L2, if their warps run in step:
/// warps do where their loads hit in L1.
///
/// They merge where each warp stores once, so that the stores of adjacent warps follow one another; and where a warp writes its
/// structures member after member and these lie in a few lines. From Nsight Compute, sectors in L2 against sectors of stores:
///
/// ```text
/// lines per store    written again    merged    kernels
/// 13.6 to 16.8       0.87             0.64      copy_col: one store per warp
/// 2.0 to 2.4         0.67             0.55      demosaic
/// 3.0                0.67             0.64      layout_aos3_all, skin_vertices
/// 4.0                0.75             0.64      layout_aos4_all
/// 13                 0.88             0.12      rigid_step
/// 16                 0.50 to 0.97     0.04      invert_4x4, chacha20, huffman_decode
/// 1.0                0.75 to 0.88     0.07      base64_encode, time_warping, btree_search, top_eight: later stores to one line
/// ```
fn merging(stores: &MemoryCounts, warps: u64) -> f64 {
    if stores.requests <= warps {
        return 1.0;
    }
    if stores.lines as f64 / (stores.requests as f64) < 1.5 { 0.0 } else { in_few_lines(stores) }
}

/// Returns how far stores are to so few lines that they merge: 1 up to 4 lines each, 0 from 12 on.
pub(super) fn in_few_lines(stores: &MemoryCounts) -> f64 {
    let lines = stores.lines as f64 / stores.requests.max(1) as f64;
    ((12.0 - lines) / 8.0).clamp(0.0, 1.0)
}

/// Those of [`parts`] that lie in sectors that the block has not written before.
fn scattered(stores: &MemoryCounts) -> u64 {
    parts(stores).saturating_sub(stores.rewritten)
}

/// Lines that loads fetch from L2 beyond those that their sectors would fill. L1 is taken to serve all lines alike.
fn gathered(loads: &MemoryCounts) -> f64 {
    let missed = if loads.sectors == 0 { 0.0 } else { loads.l2_sectors as f64 / loads.sectors as f64 };
    parts(loads) as f64 * missed
}

/// Share of the sectors up to which stores are taken to cover them all.
const COVERED: f64 = 0.95;

/// Mean share of a sector that a store covers which does not cover it all.
const COVERED_IN_PART: f64 = 0.25;

/// Sectors that L2 fetches because stores change them in part and it did not hold them.
///
/// Which sectors were covered is not counted. Of sectors that became dirty unread, stores wrote so many bytes on average; what
/// is missing to whole sectors is taken to be missing from sectors of which a quarter was written.
fn filled(counters: &LaunchCounters) -> f64 {
    covered_in_part(counters.l2_sectors_unread as f64, &counters.total.stores)
}

/// Returns how many of the sectors that stores write they cover in part.
fn covered_in_part(sectors: f64, stores: &MemoryCounts) -> f64 {
    let covered = stores.bytes_requested as f64 / (sectors * SECTOR_BYTES as f64);
    if sectors == 0.0 || covered >= COVERED {
        return 0.0;
    }
    sectors * ((1.0 - covered) / (1.0 - COVERED_IN_PART)).min(1.0)
}

/// Results derived from counters, for the card on which they were counted.
pub trait Modelled {
    /// Returns the input of the [model](crate::model).
    #[doc(hidden)]
    fn model(&self) -> Counters;

    /// Returns the time on the card by the model's formula.
    fn time(&self, card: &Card) -> LaunchTime;

    /// Returns the hit rate of loads in L2 by bytes, from 0 to 1. It is 0 if DRAM's granules would make it negative or
    /// nothing is loaded.
    fn l2_hit_share(&self, card: &Card) -> f64;

    /// Sums the counters by line of the user's source; `None` collects instructions without a known line.
    fn by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, Counts>;

    /// Returns the most expensive request of each line of the user's source; of equal ones the first.
    fn worst_by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, &Access>;
}

/// Returns [`Modelled::model`] with what a card fetches again.
pub(crate) fn model_on(launch: &LaunchCounters, card: &Card) -> Counters {
    let mut counters = launch.model();
    let again = launch.l2_sectors_again as f64 * SECTOR_BYTES as f64;
    counters.dram_read.granules += again / f64::from(card.dram_granule_bytes);
    counters.dram_read.lines += again / LINE_BYTES as f64;
    counters.dram_read.pages += again / f64::from(card.dram_page_bytes);
    counters
}

impl Modelled for LaunchCounters {
    fn model(&self) -> Counters {
        let total = &self.total;
        let memory = total.global() + total.local_loads + total.local_stores;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let in_l1 = total.loads.sectors.saturating_sub(total.loads.l2_sectors);
        let kept = 1.0 - share(self.l2_sectors_spilled, in_l1).min(1.0);
        let by_block = kept * share(total.loads.requests_in_l1, total.loads.requests);
        let sampled = &self.sampled_loads;
        let l1_hit_share =
            if sampled.requests == 0 { by_block } else { share(sampled.hits, sampled.requests) };
        let in_step = by_block * merging(&total.stores, self.warps);
        let again = total.stores.rewritten as f64;
        let right_behind = (self.l2_sectors_merged as f64).min(again);
        let merged = right_behind + (again - right_behind) * in_step;
        Counters {
            blocks: self.blocks as f64,
            warps: self.warps as f64,
            imbalance: self.imbalance,
            longest_warp: self.longest_warp,
            pace: self.pace,
            busy_ns: 0.0,
            resident_warps: f64::from(self.resident_warps),
            round_trips: self.round_trips,
            chained_loads: self.chained_loads,
            chained_on_chip: self.chained_on_chip,
            // A block's sectors count once over the link, however often its warps request them.
            peer_share: share(self.link.peer_sectors_read, self.l2_sectors_read).min(1.0),
            peer_atomic_share: share(self.link.peer_sectors_updated, total.atomics.sectors).min(1.0),
            // Records from before slots were counted have none.
            instructions: if self.issue_slots == 0 { total.instructions } else { self.issue_slots } as f64,
            integer: self.integer_slots as f64,
            multiply: self.multiply_slots as f64,
            special: self.special_slots as f64,
            double: self.double_slots as f64,
            shuffles: self.shuffle_slots as f64,
            dependency_clocks: self.dependency_clocks,
            requests: memory.requests as f64,
            straddling: memory.straddling as f64,
            l1_turns: memory.turns as f64,
            l1_hit_share,
            lines_a_load: share(total.loads.lines, total.loads.requests),
            loads: total.loads.requests as f64,
            hottest_loads: share(sampled.hottest, sampled.requests) * total.loads.requests as f64,
            copies: self.copy_requests as f64,
            idle_requests: self.idle_requests as f64,
            stores: total.stores.requests as f64,
            rewritten: (parts(&total.stores) - scattered(&total.stores)) as f64
                * if again > 0.0 { 1.0 - merged / again } else { 1.0 },
            gathered: gathered(&total.loads),
            scattered: scattered(&total.stores) as f64,
            indexed_loads: share(self.indexed_loads, parts(&total.loads)),
            indexed_stores: share(self.indexed_stores, parts(&total.stores)),
            stored_in_part: covered_in_part(total.stores.sectors as f64 - merged, &total.stores),
            filled: filled(self),
            lines_a_sector: share(total.stores.lines, total.stores.sectors).clamp(0.25, 1.0),
            atomic_rounds: self.hottest.all_rounds as f64,
            atomic_share: match self.hottest.all_rounds {
                0 => 1.0,
                rounds => share(total.atomics.bytes_requested, rounds * SECTOR_BYTES).min(1.0),
            },
            hottest_rounds: self.hottest.rounds as f64,
            slice_rounds: self.hottest.slice as f64,
            alike: self.hottest.alike as f64,
            hottest_operations: self.hottest.operations.max(self.hottest.requests) as f64,
            float_share: share(self.float_atomics, total.atomics.requests),
            shared_atomics: total.shared_atomics.wavefronts as f64,
            looped_wavefronts: self.looped.wavefronts as f64,
            looped_operations: self.looped.operations as f64,
            looped_wide_operations: self.looped.wide_operations as f64,
            matched_values: self.matched_values as f64,
            cluster_bytes: self.cluster_bytes as f64,
            cluster_share: share(self.cluster_requests, total.shared().requests).min(1.0),
            constant_turns: (total.constant.requests + total.constant.replays) as f64,
            l2_sectors_read: (self.l2_sectors_read + self.l2_sectors_spilled)
                .saturating_sub(self.l2_sectors_shared) as f64,
            l2_sectors_written: self.l2_sectors_written as f64 - merged,
            reduced_sectors: self.reduced_sectors as f64,
            returned_sectors: total.atomics.l2_sectors.saturating_sub(self.reduced_sectors) as f64,
            dram_read: self.dram_read.into(),
            dram_written: self.dram_written.into(),
            camping_read: self.camping_read,
            camping_written: self.camping_written,
            shared_wavefronts: total.shared().wavefronts as f64,
            phased: self.phased,
        }
    }

    fn time(&self, card: &Card) -> LaunchTime {
        LaunchTime::new(&model_on(self, card), card)
    }

    fn l2_hit_share(&self, card: &Card) -> f64 {
        if self.l2_sectors_read == 0 || card.l2_bytes == 0 {
            return 0.0;
        }
        (1.0 - self.dram_read.bytes(card.dram_granule_bytes) as f64 / (self.l2_sectors_read * 32) as f64)
            .max(0.0)
    }

    fn by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, Counts> {
        self.grouped(|site| place(sites, site))
    }

    fn worst_by_line(&self, sites: &[SiteInfo]) -> BTreeMap<SourcePlace, &Access> {
        let mut worst: BTreeMap<SourcePlace, &Access> = BTreeMap::new();
        for access in &self.worst {
            let known = worst.entry(place(sites, access.site)).or_insert(access);
            if access.cost() > known.cost() {
                *known = access;
            }
        }
        worst
    }
}
