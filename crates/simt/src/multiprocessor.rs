//! Simulates one multiprocessor, instruction by instruction, for the time of a launch.
//!
//! The [model](crate::model)'s formula knows how much a launch needs of each resource; it does not know in which order. Warps
//! wait at barriers, end early, do the same thing at the same time, and find memory busy or idle; how far their waits and their work
//! overlap decides most of the time of kernels that no single resource bounds. So a launch's time comes from a simulation of what
//! the warps of a few blocks did:
//!
//! 1. `trace`: while the kernel is executed, some blocks are recorded: each warp's instructions, and the sectors or
//!    wavefronts of its accesses.
//! 2. `order`: the instructions are put into the order that ptxas makes of them: loads move up, loops are unrolled, short bodies
//!    of branches become conditional instructions.
//! 3. `simulation`: a multiprocessor executes them. It has schedulers with their units, a pipeline for shared memory and L1, barriers,
//!    and room for as many blocks as the occupancy allows. A scoreboard tells when each register's value is there.
//! 4. `memory`: L1 is simulated with its lines. L2 and device memory are queues that serve this multiprocessor's share, at the
//!    rate that the formula gives for this launch.
//!
//! Three rounds of resident blocks are simulated, and further ones take as long as the second and the third on average; of long blocks
//! fewer rounds. Of each block a number of instructions is recorded, and the rest is taken to go on in the same way.
//!
//! Trace-driven simulation of a GPU's schedulers and scoreboards is that of Bakhoda et al., "Analyzing CUDA Workloads Using a Detailed
//! GPU Simulator" (ISPASS 2009), and of Khairy et al., "Accel-Sim" (ISCA 2020); that one multiprocessor and its share of memory
//! are enough is the interval of Huang et al., "GPUMech" (MICRO 2014).
//!
//! # A worked example
//!
//! One warp adds up two numbers that are in device memory, on an H200; clocks, and what delays each instruction:
//!
//! ```text
//!  41    ld.global a, [p]       the warp's start
//!  42    ld.global b, [q]       one instruction a clock
//! 698    add c, a, b            b: 655 clocks after 43, when the pipeline had served its request
//! 702    st.global [r], c       c: 4 clocks
//! ```

mod code;
mod memory;
mod order;
mod simulation;
mod trace;

pub use trace::Traces;
pub(crate) use trace::{Recorder, Sample};

use crate::cards::Card;
use crate::coalescing::SECTOR_BYTES;
use crate::count::{Modelled, model_on};
use crate::exec::SiteInfo;
use crate::model::{Counters, LaunchTime};
use code::Code;
use counters::{LaunchCounters, LoopedAtomics, SampledLoads};
use memory::{Rates, Sectors};
use order::{Ordered, Orderer};
use rayon::prelude::*;
use simulation::{Multiprocessor, Order, Outcome};
use std::cmp::Reverse;

/// Most instructions of a block that are recorded and simulated, and of one that has a multiprocessor to itself.
const MOST_OF_BLOCK: usize = 60_000;
const MOST_ALONE: usize = 250_000;

/// Most instructions of a launch that are simulated, roughly.
const MOST: usize = 240_000;

/// Rounds of resident blocks that are simulated where there are more.
const ROUNDS: usize = 3;

/// Returns true if times on this card come from a simulation: those of its instructions and memories are known.
pub(crate) fn is_simulated(card: &Card) -> bool {
    card.compute_capability.at_least(7, 0) && card.chain_clocks.iter().all(|clocks| *clocks > 0.0)
}

/// The outcome of a simulated launch.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    /// The launch's time.
    pub time: LaunchTime,
    /// Counts the sampled blocks' loads and their hits in the L1 that they share. The formula takes its share of hits from here.
    pub loads: SampledLoads,
}

impl Traces {
    /// Simulates a multiprocessor for a launch with these counters; None if nothing was recorded, or the kernel does what the simulation
    /// does not know.
    ///
    /// `shared_bytes` are those of a block.
    pub fn simulated(
        &self,
        sites: &[SiteInfo],
        counters: &LaunchCounters,
        shared_bytes: u32,
        card: &Card,
    ) -> Option<Simulated> {
        // Not how long threads contest for a word of shared memory, nor the memory of other cards.
        let of_others = counters.link.peer_sectors_read + counters.link.peer_sectors_stored > 0;
        let is_known = counters.looped == LoopedAtomics::default() && !of_others;
        let is_known = is_known && !self.blocks.is_empty() && is_simulated(card);
        let code = Code::of(self, sites).filter(|_| is_known)?;
        let (order, kept) = self.ordered(&code);
        let launch = Launch { traces: self, code: &code, order: &order, kept, counters, shared_bytes, card };
        let (clocks, mut loads) = launch.outcome();
        let hottest = self.hottest_share();
        loads.hottest = (hottest * loads.requests as f64).round() as u64;
        let model = model_on(counters, card);
        let hottest_loads = hottest * model.loads;
        let model = Counters { busy_ns: clocks / card.clock_mhz * 1e3, hottest_loads, ..model };
        Some(Simulated { time: LaunchTime::new(&model, card), loads })
    }

    /// Returns each warp's instructions in order, and which share of each block's instructions these are.
    fn ordered(&self, code: &Code) -> (Order, Vec<f64>) {
        let mut orderer = Orderer::new(code);
        let mut blocks = Vec::with_capacity(self.blocks.len());
        let mut kept = Vec::with_capacity(self.blocks.len());
        let most = if self.are_alone { MOST_ALONE } else { MOST_OF_BLOCK };
        for block in &self.blocks {
            let mut warps: Vec<Vec<Ordered>> = block.warps.iter().map(|warp| orderer.ordered(warp)).collect();
            let length: usize = warps.iter().map(Vec::len).sum();
            let share = (most as f64 / length.max(1) as f64).min(1.0);
            if share < 1.0 {
                warps
                    .iter_mut()
                    .for_each(|warp| warp.truncate(((warp.len() as f64 * share) as usize).max(1)));
            }
            let recorded: usize = block.warps.iter().map(|warp| warp.issues.len()).sum();
            let issued: u64 = block.warps.iter().map(|warp| warp.issued).sum();
            kept.push(share * recorded as f64 / issued.max(1) as f64);
            blocks.push(warps);
        }
        let Orderer { placed, registers, .. } = orderer;
        (Order { placed, blocks, registers }, kept)
    }
}

/// A launch whose time is sought.
struct Launch<'a> {
    traces: &'a Traces,
    code: &'a Code,
    order: &'a Order,
    /// Share of each block's instructions that are simulated.
    kept: Vec<f64>,
    counters: &'a LaunchCounters,
    shared_bytes: u32,
    card: &'a Card,
}

impl Launch<'_> {
    /// Clocks of the busiest multiprocessor, and what became of the loads of the blocks that were simulated last.
    fn outcome(&self) -> (f64, SampledLoads) {
        let model = self.counters.model();
        let multiprocessors = f64::from(self.card.multiprocessors);
        let share = model.blocks / multiprocessors;
        if share <= 1.0 { self.alone(&model) } else { self.together(&model, share) }
    }

    /// Where each block has a multiprocessor to itself: the longest of those that were recorded, and longer if the launch has a longer one.
    fn alone(&self, model: &Counters) -> (f64, SampledLoads) {
        let issued = |block: &usize| self.traces.blocks[*block].warps.iter().map(|warp| warp.issued).max();
        let mut blocks: Vec<usize> = (0..self.traces.blocks.len()).collect();
        blocks.sort_by_key(|block| Reverse(issued(block)));
        blocks.truncate(SIMULATED_ALONE);
        let outcomes = blocks.par_iter().map(|&block| {
            let sectors = self.simulate(block, 1, 1, self.counted_rates()).sectors;
            let rates = self.rates(sectors.times(1.0 / self.kept[block]));
            let outcome = self.simulate(block, 1, 1, rates);
            (outcome.clocks * self.longest_over_simulated(block), outcome.loads)
        });
        let (mut longest, mut loads) = (0.0_f64, SampledLoads::default());
        for (clocks, of_block) in outcomes.collect::<Vec<_>>() {
            longest = longest.max(clocks);
            loads += of_block;
        }
        let recorded = blocks.first().and_then(issued).unwrap_or(0).max(1);
        let mean = self.counters.total.instructions as f64 / model.warps.max(1.0);
        (longest * (model.longest_warp * mean / recorded as f64).clamp(1.0, MOST_LONGER), loads)
    }

    /// Instructions of a block's longest warp over those of it that are simulated: others wait for it, and end before.
    fn longest_over_simulated(&self, block: usize) -> f64 {
        let warps = self.traces.blocks[block].warps.iter().zip(&self.order.blocks[block]);
        let longest = warps.max_by_key(|(warp, _)| warp.issued);
        longest.map_or(1.0, |(warp, order)| {
            // Instructions that machine code does not have are among both.
            let recorded = warp.issues.len().max(1) as f64;
            warp.issued as f64 / recorded * (recorded / order.len().max(1) as f64).max(1.0)
        })
    }

    /// Where multiprocessors have several blocks, `share` on average.
    fn together(&self, model: &Counters, share: f64) -> (f64, SampledLoads) {
        let most = share.ceil();
        let resident = (self.counters.resident_blocks as usize).max(1);
        let of_block =
            self.order.blocks.iter().flatten().map(Vec::len).sum::<usize>() / self.order.blocks.len();
        let affordable = (MOST / (of_block * resident).max(1)).max(1);
        let simulated = (ROUNDS.min(affordable) * resident).min(most as usize);
        let kept = self.kept.iter().sum::<f64>() / self.kept.len() as f64;
        let begun = resident.min(simulated);
        let sectors = self.simulate(0, begun, resident, self.counted_rates()).sectors;
        let rates = self.rates(sectors.times(1.0 / (begun as f64 * kept)));
        let goes_on = most as usize > simulated;
        let (Outcome { clocks: all, mut loads, .. }, first) = rayon::join(
            || self.simulate(0, simulated, resident, rates),
            || (goes_on && simulated > begun).then(|| self.simulate(0, begun, resident, rates)),
        );
        let clocks = if !goes_on {
            all
        } else if let Some(first) = first {
            // Later rounds find what the ones before have left.
            loads.requests -= first.loads.requests;
            loads.hits = loads.hits.saturating_sub(first.loads.hits);
            all + (share - simulated as f64) * (all - first.clocks) / (simulated - begun) as f64
        } else {
            // Such long blocks begin and end in no time.
            all * share / begun as f64
        };
        // Where blocks differ, the multiprocessor counts that has most to do.
        (clocks * (model.imbalance * share / most).max(1.0) / kept, loads)
    }

    fn simulate(&self, first: usize, count: usize, resident: usize, rates: Rates) -> Outcome {
        let shared_bytes = u64::from(self.shared_bytes) * resident as u64;
        let traces = (self.code, self.traces, self.order);
        Multiprocessor::new(traces, self.card, rates, shared_bytes).execute(first, count, resident)
    }

    /// What a sector costs by the formula, if so many as were counted pass L2.
    fn counted_rates(&self) -> Rates {
        let model = self.counters.model();
        let all = Sectors { loaded: model.l2_sectors_read, stored: model.l2_sectors_written };
        self.rates(all.times(1.0 / model.blocks))
    }

    /// What a sector costs, if this many of each block pass L2 and take the time of the formula together.
    fn rates(&self, of_block: Sectors) -> Rates {
        let mut model = model_on(self.counters, self.card);
        (model.hottest_rounds, model.slice_rounds, model.hottest_operations) = (0.0, 0.0, 0.0);
        let time = LaunchTime::new(&model, self.card);
        let busy = f64::from(self.card.multiprocessors).min(model.blocks);
        let clocks = |seconds: f64, sectors: f64| match sectors > 0.0 {
            true => seconds * self.card.clock_mhz * 1e6 * busy / (sectors * model.blocks),
            false => 0.0,
        };
        let fetched = model.dram_read.granules * f64::from(self.card.dram_granule_bytes);
        let read = model.l2_sectors_read * SECTOR_BYTES as f64;
        let missed = if read > 0.0 { (fetched / read).min(1.0) } else { 0.0 };
        let l2 = clocks(time.l2, of_block.as_loaded(self.card));
        let dram = clocks(time.dram, of_block.loaded + of_block.stored);
        Rates { l2, dram: dram / self.card.queue_share, missed }
    }
}

/// Blocks that are simulated where each has a multiprocessor to itself: those with the longest warps.
const SIMULATED_ALONE: usize = 2;

/// Most by which the longest warp of a launch is taken to be longer than those that were recorded.
const MOST_LONGER: f64 = 4.0;
