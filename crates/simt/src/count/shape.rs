//! What is known of a launch before it begins, and how it is cut.

use super::l1::L1;
use super::slots::Slots;
use crate::cards::{Card, Occupancy};
use crate::coalescing::{BankMode, BankRule, Coalescer, LANES};
use crate::decode::Level;
use crate::exec::SiteInfo;

/// What lies at addresses that are not the card's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Managed memory: pages that are touched are counted a window. On the card it is memory like any other.
    Managed,
    /// The host's, pinned: every sector goes over the host link, and none to device memory.
    Host,
    /// Managed memory that the card reaches over the link, where the host has it: the same.
    Linked,
}

/// Addresses of one placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// From the first to behind the last.
    pub addresses: std::ops::Range<u64>,
    /// What lies there.
    pub placement: Placement,
}

/// A launch, as far as counting needs to know it beforehand.
#[derive(Clone, Debug)]
pub struct LaunchShape {
    /// Blocks, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Blocks and warps that are resident on a multiprocessor.
    pub occupancy: Occupancy,
    /// Shared memory of a block, static and dynamic together.
    pub shared_bytes: u32,
    /// How 3.x lays out its banks.
    pub bank_mode: BankMode,
    /// How many sites the program has.
    pub sites: usize,
    /// Sites before which a warp waits for the loads that it has issued, and of how many turns of a loop these are, for
    /// [`Counters::round_trips`](crate::model::Counters::round_trips).
    pub waits: Vec<(u32, u32)>,
    /// What each site takes, for [`Counters::instructions`](crate::model::Counters::instructions).
    pub slots: Vec<Slots>,
    /// Managed and pinned memory, ascending. Costs nothing when empty.
    pub ranges: Vec<Range>,
}

impl LaunchShape {
    /// A launch of a program with these sites, without managed or pinned memory.
    pub fn new(grid: [u32; 3], block: [u32; 3], occupancy: Occupancy, sites: &[SiteInfo]) -> Self {
        let waiting = (0..).zip(sites).filter(|(_, site)| site.waits_before);
        let waits = waiting.map(|(number, site)| (number, site.turns_together));
        Self {
            grid,
            block,
            occupancy,
            shared_bytes: 0,
            bank_mode: BankMode::default(),
            sites: sites.len(),
            waits: waits.collect(),
            slots: sites.iter().map(|site| Slots::of(&site.opcode)).collect(),
            ranges: Vec::new(),
        }
    }

    fn warps_of_block(&self) -> u64 {
        self.block.iter().map(|&threads| u64::from(threads)).product::<u64>().div_ceil(LANES as u64).max(1)
    }

    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&blocks| u64::from(blocks)).product()
    }
}

/// How blocks are gathered: in windows, and these in parts. A part never spans windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Blocks that are resident on the card at once.
    pub(super) window: u64,
    /// Blocks of a part, the tick of L2's clock.
    part: u64,
    parts_of_window: u64,
    /// Blocks of a run, which has no bearing on any number.
    pub(super) run: u64,
}

impl Cut {
    /// About so many warps a part.
    const WARPS: u64 = 128;
    /// A launch is cut in so many runs at least, where it has as many blocks, so that all workers have some.
    const RUNS: u64 = 64;

    pub(super) fn new(card: &Card, shape: &LaunchShape) -> Self {
        let window = (u64::from(shape.occupancy.blocks) * u64::from(card.multiprocessors)).max(1);
        let part = (Self::WARPS / shape.warps_of_block()).clamp(1, 64);
        // Powers of two, as `Observation` wants them for pairs.
        let part = 1 << part.ilog2();
        let run = part.min(1 << (shape.blocks() / Self::RUNS).max(1).ilog2());
        Self { window, part, parts_of_window: window.div_ceil(part), run }
    }

    /// The part of a block.
    pub(super) fn part_of(&self, block: u64) -> u64 {
        let (window, block) = (block / self.window, block % self.window);
        window * self.parts_of_window + block / self.part
    }

    /// The window of a part.
    pub(super) fn window_of_part(&self, part: u64) -> u64 {
        part / self.parts_of_window
    }
}

/// The rules of a card, as an observer needs them at every access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Requests that use L1.
    pub(super) cached: Coalescer,
    /// Requests that do not.
    pub(super) uncached: Coalescer,
    pub(super) generation: Generation,
    pub(super) l1: L1,
    pub(super) banks: BankRule,
    pub(super) capability: crate::coalescing::ComputeCapability,
    pub(super) page_shift: u32,
    pub(super) partitions: u32,
    pub(super) cut: Cut,
    pub(super) level: Level,
}

/// Which way a request goes through the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// 1.x: half-warps, transactions of three sizes, no cache.
    Segments,
    /// 2.x and 3.x: parts of warps.
    Parts,
    /// From 5.0 on: distinct sectors.
    Sectors,
}

impl Rules {
    pub(super) fn new(card: &Card, shape: &LaunchShape) -> Self {
        let capability = card.compute_capability;
        Self {
            cached: Coalescer::new(capability),
            uncached: Coalescer::with_l1(capability, false),
            generation: match capability.major {
                1 => Generation::Segments,
                2 | 3 => Generation::Parts,
                _ => Generation::Sectors,
            },
            l1: L1::new(card, &shape.occupancy, u64::from(shape.shared_bytes)),
            banks: BankRule::new(capability, shape.bank_mode),
            capability,
            page_shift: card.dram_page_bytes.trailing_zeros(),
            partitions: card.dram_partitions,
            cut: Cut::new(card, shape),
            level: Level::detect(),
        }
    }
}
