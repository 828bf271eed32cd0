//! The shape of a launch, as counting needs it beforehand, and its division into windows, parts and runs.

use super::facts::SiteFacts;
use super::group::GROUP_SHIFT;
use super::l1::L1;
use crate::cards::{Card, Occupancy};
use crate::coalescing::{Addresses, BankMode, BankRule, Coalescer, LANES};
use crate::decode::Level;
use crate::multiprocessor::{self, Sample};
use std::sync::Arc;

/// Placement of memory that is not the card's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Managed memory: touched pages are counted per window. On the card it is like any other memory.
    Managed,
    /// Pinned memory of the host: every sector goes over the host link, and none to device memory.
    Host,
    /// Managed memory that stays with the host and is accessed over the link, as pinned memory is.
    Linked,
    /// Memory of another card: every sector goes over the link between the cards.
    Peer,
}

/// An address range with its placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Addresses, as a half-open range.
    pub addresses: std::ops::Range<u64>,
    /// Placement of the memory.
    pub placement: Placement,
}

/// Returns the place of the range that contains an address, among ascending ones.
#[inline(always)]
pub(super) fn place_of<T>(
    ranges: &[T],
    addresses: impl Fn(&T) -> std::ops::Range<u64>,
    address: u64,
) -> Option<usize> {
    let at = ranges.partition_point(|range| addresses(range).end <= address);
    ranges.get(at).filter(|range| addresses(range).start <= address).map(|_| at)
}

/// The shape of a launch.
#[derive(Clone, Debug)]
pub struct LaunchShape {
    /// Blocks of the grid, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Blocks and warps resident on a multiprocessor.
    pub occupancy: Occupancy,
    /// Shared memory per block in bytes, static and dynamic together.
    pub shared_bytes: u32,
    /// Width of the banks on 3.x.
    pub bank_mode: BankMode,
    /// The program's instructions that counting treats in a way of their own.
    pub facts: Arc<SiteFacts>,
    /// True if some blocks are recorded, for the time of a launch; not where blocks wait for each other.
    pub records: bool,
    /// Managed memory, pinned memory and that of other cards, ascending. An empty list costs nothing.
    pub ranges: Vec<Range>,
}

impl LaunchShape {
    /// Describes a launch of a program with these instructions, without managed or pinned memory.
    pub fn new(grid: [u32; 3], block: [u32; 3], occupancy: Occupancy, facts: Arc<SiteFacts>) -> Self {
        Self {
            grid,
            block,
            occupancy,
            shared_bytes: 0,
            bank_mode: BankMode::default(),
            facts,
            records: false,
            ranges: Vec::new(),
        }
    }

    pub(super) fn warps_of_block(&self) -> u64 {
        self.block.iter().map(|&threads| u64::from(threads)).product::<u64>().div_ceil(LANES as u64).max(1)
    }

    /// The blocks to record.
    pub(super) fn sample(&self, card: &Card) -> Sample {
        if self.records && multiprocessor::is_simulated(card) {
            Sample::of(self.blocks(), self.occupancy.blocks, card)
        } else {
            Sample::default()
        }
    }

    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&blocks| u64::from(blocks)).product()
    }
}

/// The division of a launch: windows of resident blocks, divided into parts. A part lies in one window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Blocks resident on the card at once.
    pub(super) window: u64,
    /// Blocks of a part, the unit of L2's clock.
    part: u64,
    parts_of_window: u64,
    /// Blocks of a run, which does not influence the counters.
    pub(super) run: u64,
}

impl Cut {
    /// Approximate number of warps per part.
    const WARPS: u64 = 128;
    /// Fewest runs of a launch with enough blocks, so that all workers have work.
    const RUNS: u64 = 64;

    pub(super) fn new(card: &Card, shape: &LaunchShape) -> Self {
        let window = (u64::from(shape.occupancy.blocks) * u64::from(card.multiprocessors)).max(1);
        let part = (Self::WARPS / shape.warps_of_block()).clamp(1, 64);
        // Powers of two, as `Observation` requires for pairs.
        let part = 1 << part.ilog2();
        let run = part.min(1 << (shape.blocks() / Self::RUNS).max(1).ilog2());
        Self { window, part, parts_of_window: window.div_ceil(part), run }
    }

    /// Returns the part of a block.
    pub(super) fn part_of(&self, block: u64) -> u64 {
        let (window, block) = (block / self.window, block % self.window);
        window * self.parts_of_window + block / self.part
    }

    /// Returns the window of a part.
    pub(super) fn window_of_part(&self, part: u64) -> u64 {
        part / self.parts_of_window
    }
}

/// The rules of a card, as an observer needs them at each access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Rules for requests through L1.
    pub(super) cached: Coalescer,
    /// Rules for requests that bypass L1.
    pub(super) uncached: Coalescer,
    pub(super) generation: Generation,
    pub(super) l1: L1,
    pub(super) banks: BankRule,
    pub(super) capability: crate::coalescing::ComputeCapability,
    pub(super) page_shift: u32,
    pub(super) partitions: u32,
    pub(super) cut: Cut,
    pub(super) elsewhere: Elsewhere,
    pub(super) level: Level,
}

/// The span of all memory that is not the card's own. Most programs have a little of it, such as a pinned buffer for
/// copies, and their kernels stay clear of it: one comparison finds that out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elsewhere {
    first: u64,
    /// 0 if all memory is the card's own.
    bytes: u64,
}

impl Elsewhere {
    /// Bytes before the first range at which its span begins: a repetition's sectors reach no further from its lowest
    /// address, and no group that begins further away reaches into the range.
    pub(super) const MARGIN: u64 = 2 << GROUP_SHIFT;

    fn of(ranges: &[Range]) -> Self {
        let first = ranges.iter().map(|range| range.addresses.start).min();
        let end = ranges.iter().map(|range| range.addresses.end).max();
        first.zip(end).map_or(Self::default(), |(first, end)| {
            let first = first.saturating_sub(Self::MARGIN);
            Self { first, bytes: end.saturating_sub(first) }
        })
    }

    /// Returns true if some memory is not the card's own.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.bytes > 0
    }

    /// Returns true if an access may reach other memory than the card's own, from its lowest address within 1 KiB.
    #[inline(always)]
    pub(super) fn is_near(&self, address: u64) -> bool {
        address.wrapping_sub(self.first) < self.bytes
    }

    /// Returns true if one of the addresses may be of other memory than the card's own. Vectorises with the caller's
    /// machine features.
    #[inline(always)]
    pub(super) fn is_among(&self, addresses: &Addresses) -> bool {
        addresses.iter().fold(false, |near, &address| near | self.is_near(address))
    }

    /// Returns true if some of the span lies between two addresses.
    #[inline(always)]
    pub(super) fn is_between(&self, low: u64, high: u64) -> bool {
        self.any() && low < self.first + self.bytes && high >= self.first
    }
}

/// Code path of a request, by compute capability.
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
    /// Whether all loads from local memory go to L2, and all stores: before 2.0, no cache holds it; from 7.0 on, L1 keeps what
    /// is stored and writes it through as well, as Nsight Compute counts on an H200 (`storage_local`).
    pub(super) fn local_to_l2(&self) -> [bool; 2] {
        let uncached = self.generation == Generation::Segments;
        [uncached, uncached || self.capability.at_least(7, 0)]
    }

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
            l1: L1::new(card, shape),
            banks: BankRule::new(capability, shape.bank_mode),
            capability,
            page_shift: card.dram_page_bytes.trailing_zeros(),
            partitions: card.dram_partitions,
            cut: Cut::new(card, shape),
            elsewhere: Elsewhere::of(&shape.ranges),
            level: Level::detect(),
        }
    }
}
