//! Records what the warps of a few blocks issue and access, for the [simulation](super) of a multiprocessor.

use super::{MOST_ALONE, MOST_OF_BLOCK, ROUNDS};
use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};
use crate::count::turns;
use crate::decode::Level;
use crate::observe::{Access, At, Operation, Site, Space};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Blocks that are recorded where each has a multiprocessor to itself.
const RECORDED_ALONE: u64 = 8;

/// An instruction that a warp issued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issue {
    pub(super) site: Site,
    /// Its access to memory, by its index in the warp's list.
    pub(super) access: Option<u32>,
}

/// How a request to memory is served.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// By shared memory, in this many wavefronts.
    Shared {
        wavefronts: u32,
    },
    /// By constant memory, of which the lanes ask for this many addresses.
    Constant {
        addresses: u32,
    },
    Global(GlobalRequest),
}

/// A request that passes through L1.
#[derive(Clone, Debug)]
pub(super) struct GlobalRequest {
    pub(super) operation: Operation,
    /// True for local memory, whose stores stay in L1.
    pub(super) is_local: bool,
    /// True if L1 does not keep what it loads.
    pub(super) past_l1: bool,
    /// Distinct sectors, by their numbers: a range of the warp's list.
    pub(super) sectors: Range<u32>,
    /// Turns of L1.
    pub(super) turns: u32,
}

/// What a warp did.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpTrace {
    pub(super) issues: Vec<Issue>,
    pub(super) requests: Vec<Request>,
    pub(super) sectors: Vec<u64>,
    /// Instructions that it issued, those that were not kept included.
    pub(super) issued: u64,
}

/// What the warps of a block did.
#[derive(Clone, Debug)]
pub(super) struct BlockTrace {
    pub(super) block: u64,
    pub(super) warps: Vec<WarpTrace>,
}

/// The blocks of a launch that are recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Ascending.
    blocks: Arc<[u64]>,
    /// True if each block has a multiprocessor to itself.
    are_alone: bool,
}

/// The recorded blocks of a launch.
#[derive(Debug, Default)]
pub struct Traces {
    pub(super) blocks: Vec<BlockTrace>,
    /// True if each block has a multiprocessor to itself.
    pub(super) are_alone: bool,
}

/// Records the sampled blocks of a worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    sample: Sample,
    /// The block that is being executed, if it is among them.
    current: Option<BlockTrace>,
    /// Most instructions of a warp that are kept.
    most: usize,
    recorded: Vec<BlockTrace>,
}

impl Sample {
    /// Returns the blocks to record of a launch of so many blocks: of those that one multiprocessor executes, as many as are simulated,
    /// in rounds of blocks that are resident together; or where there are fewer blocks than multiprocessors, some of all.
    ///
    /// It is one that has no fewer blocks than any other. For example, of 100 000 blocks on 132 multiprocessors with room for 8 each, one
    /// multiprocessor has the blocks 44, 176, 308 and so on, 758 of them. Recorded are eight in a row from the 126th, from the 379th
    /// and from the 631st on.
    pub(crate) fn of(blocks: u64, resident: u32, card: &Card) -> Self {
        let multiprocessors = u64::from(card.multiprocessors);
        if blocks <= multiprocessors {
            let chosen = blocks.min(RECORDED_ALONE);
            let blocks = (0..chosen).map(|index| (2 * index + 1) * blocks / (2 * chosen)).collect();
            return Self { blocks, are_alone: true };
        }
        let (resident, rounds) = (u64::from(resident.max(1)), ROUNDS as u64);
        // The first few multiprocessors have a block more than the others, unless all have as many.
        let with_most = (blocks - 1) % multiprocessors + 1;
        let first = (multiprocessors / 3).min(with_most - 1);
        let there = (blocks - first).div_ceil(multiprocessors);
        let places: BTreeSet<u64> = if there <= rounds * resident {
            (0..there).collect()
        } else {
            let begin = |round: u64| ((2 * round + 1) * there / (2 * rounds)).min(there - resident);
            (0..rounds).flat_map(|round| begin(round)..begin(round) + resident).collect()
        };
        Self {
            blocks: places.into_iter().map(|place| first + place * multiprocessors).collect(),
            are_alone: false,
        }
    }

    fn most_issues(&self) -> usize {
        if self.are_alone { MOST_ALONE } else { MOST_OF_BLOCK }
    }
}

/// Counts the loads of a sector that bypass L1.
#[derive(Clone, Copy, Default)]
struct Wanted {
    requests: u64,
    /// Blocks that make them.
    blocks: usize,
    /// The last of these, from 1.
    last_block: usize,
}

impl Traces {
    /// Returns the share of the loads' requests that pass L1 for the one sector that most of them want; 0 where fewer than half of the blocks
    /// want it.
    pub(super) fn hottest_share(&self) -> f64 {
        let mut requests = 0_u64;
        let mut wanted = FxHashMap::<u64, Wanted>::default();
        for (block, trace) in (1..).zip(&self.blocks) {
            for warp in &trace.warps {
                let loads = warp.requests.iter().filter_map(|request| match request {
                    Request::Global(request) if request.operation == Operation::Load && !request.is_local => {
                        Some(request)
                    }
                    _ => None,
                });
                for load in loads {
                    requests += 1;
                    if !load.past_l1 {
                        continue;
                    }
                    for sector in &warp.sectors[load.sectors.start as usize..load.sectors.end as usize] {
                        let wanted = wanted.entry(*sector).or_default();
                        wanted.requests += 1;
                        if wanted.last_block != block {
                            wanted.last_block = block;
                            wanted.blocks += 1;
                        }
                    }
                }
            }
        }
        let by_most = wanted.values().filter(|wanted| 2 * wanted.blocks >= self.blocks.len());
        by_most.map(|wanted| wanted.requests).max().unwrap_or(0) as f64 / requests.max(1) as f64
    }

    /// Collects what workers recorded.
    pub(crate) fn of(sample: &Sample, recorders: impl Iterator<Item = Recorder>) -> Self {
        let mut blocks: Vec<BlockTrace> = recorders.flat_map(|recorder| recorder.recorded).collect();
        blocks.sort_by_key(|trace| trace.block);
        Self { blocks, are_alone: sample.are_alone }
    }
}

impl Recorder {
    pub(crate) fn new(sample: Sample) -> Self {
        Self { sample, current: None, most: 0, recorded: Vec::new() }
    }

    /// Begins a block of this many warps.
    pub(crate) fn begin(&mut self, block: u64, warps: usize) {
        self.end();
        if self.sample.blocks.binary_search(&block).is_ok() {
            self.most = self.sample.most_issues() / warps.max(1);
            self.current = Some(BlockTrace { block, warps: vec![WarpTrace::default(); warps] });
        }
    }

    /// Ends the current block.
    pub(crate) fn end(&mut self) {
        self.recorded.extend(self.current.take());
    }

    /// Returns true while a sampled block is executed.
    #[inline(always)]
    pub(crate) fn is_recording(&self) -> bool {
        self.current.is_some()
    }

    fn warp(&mut self, at: At) -> Option<&mut WarpTrace> {
        let current = self.current.as_mut().filter(|trace| trace.block == at.block)?;
        current.warps.get_mut(at.warp() as usize)
    }

    /// Records an instruction.
    #[cold]
    pub(crate) fn issue(&mut self, at: At) {
        let most = self.most;
        let Some(warp) = self.warp(at) else { return };
        warp.issued += 1;
        if warp.issues.len() < most {
            warp.issues.push(Issue { site: at.site(), access: None });
        }
    }

    /// Records the access of the instruction that was issued last; `wavefronts` are those of shared memory, and the
    /// addresses of constant memory.
    #[cold]
    pub(crate) fn access(&mut self, at: At, access: &Access<'_>, wavefronts: u32) {
        let most = self.most;
        let Some(warp) = self.warp(at).filter(|warp| warp.issued as usize <= most) else { return };
        let Some(last) = warp.issues.last_mut().filter(|issue| issue.site == at.site()) else { return };
        let lanes = || (0..32).filter(|lane| access.active >> lane & 1 != 0);
        let request = match access.space {
            Space::Shared | Space::Cluster => Request::Shared { wavefronts },
            Space::Constant => Request::Constant { addresses: wavefronts },
            Space::Global | Space::Local => {
                let first = warp.sectors.len();
                for lane in lanes() {
                    let address = match access.space {
                        Space::Global => access.addresses[lane],
                        _ => local_address(at, lane as u64, access.addresses[lane]),
                    };
                    let last = address + u64::from(access.bytes) - 1;
                    warp.sectors.extend(address / SECTOR_BYTES..=last / SECTOR_BYTES);
                }
                warp.sectors[first..].sort_unstable();
                let mut kept = first;
                for index in first..warp.sectors.len() {
                    if kept == first || warp.sectors[kept - 1] != warp.sectors[index] {
                        warp.sectors[kept] = warp.sectors[index];
                        kept += 1;
                    }
                }
                warp.sectors.truncate(kept);
                let sectors = &warp.sectors[first..];
                let data = match access.space {
                    Space::Global => {
                        turns::of_data(access.addresses, access.active, access.bytes, Level::detect())
                    }
                    _ => (access.active.count_ones() * access.bytes).div_ceil(LINE_BYTES as u32),
                };
                let line = |sector: &u64| sector * SECTOR_BYTES / LINE_BYTES;
                let lines = sectors.chunk_by(|a, b| line(a) == line(b)).count() as u32;
                Request::Global(GlobalRequest {
                    operation: access.operation,
                    is_local: access.space == Space::Local,
                    past_l1: access.past_l1,
                    sectors: first as u32..kept as u32,
                    turns: turns::of(lines, data),
                })
            }
        };
        last.access = Some(warp.requests.len() as u32);
        warp.requests.push(request);
    }
}

/// Returns an address for a lane's local memory: a word of all lanes makes a line, and no two warps have one in common.
fn local_address(at: At, lane: u64, offset: u64) -> u64 {
    const BASE: u64 = 1 << 60;
    const WARP_BYTES: u64 = 1 << 24;
    BASE + (at.block * 64 + u64::from(at.warp())) * WARP_BYTES + offset / 4 * LINE_BYTES + lane * 4
}
