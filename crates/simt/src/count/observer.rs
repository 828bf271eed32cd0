//! Counts one run of blocks.

use super::block::{CachedLoads, Uncached};
use super::distinct::{self, Pieces};
use super::local;
use super::request::{self, AnyLanes, Groups, Steady};
use super::run::Run;
use super::shape::{Generation, Rules};
use super::turns;
use super::worst::Cost;
use crate::coalescing::{Access as Way, Request, Traffic, constant_replays};
use crate::decode::Level;
use crate::observe::{Access, At, Observer, Operation, Site, Space};
use counters::MemoryCounts;

/// Counts the blocks of one run. Created by [`CounterObservation`](super::CounterObservation).
///
/// Blocks come one after another. If a worker alternates between blocks that wait for each other, all is counted too,
/// but L1 is emptied at each change.
pub struct CounterObserver {
    rules: Rules,
    pub(super) run: Box<Run>,
    block: u64,
    /// State of the search for loads, then a barrier, then stores.
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default)]
struct Phase {
    loaded: bool,
    /// True once a barrier has followed loads.
    passed: bool,
    stored: bool,
    /// True once a store has followed that barrier.
    phased: bool,
}

/// Costs of a request beside its traffic.
#[derive(Clone, Copy)]
struct Extent {
    /// Sectors that go on to L2.
    l2_sectors: u32,
    /// True for a load that hits L1 with all its sectors.
    in_l1: bool,
    /// Sectors that the block has written before.
    rewritten: u32,
    /// Turns of L1.
    turns: u32,
}

const NO_BLOCK: u64 = u64::MAX;

impl CounterObserver {
    pub(super) fn new(rules: Rules, run: Box<Run>) -> Self {
        Self { rules, run, block: NO_BLOCK, phase: Phase::default() }
    }

    /// Ends the current block, if there is one.
    pub(super) fn end_block(&mut self) {
        if self.block != NO_BLOCK {
            self.run.end_block(self.block / self.rules.cut.window);
            let phase = std::mem::take(&mut self.phase);
            self.run.totals.storing += u64::from(phase.stored);
            self.run.totals.phased += u64::from(phase.phased);
            self.block = NO_BLOCK;
        }
    }

    fn begin_block(&mut self, block: u64) {
        self.end_block();
        self.block = block;
        self.run.begin_part(self.rules.cut.part_of(block));
    }

    #[cold]
    fn change_to(&mut self, block: u64) {
        self.begin_block(block);
    }

    #[inline(always)]
    fn global(&mut self, at: At, access: &Access<'_>) {
        #[cfg(target_arch = "x86_64")]
        if self.rules.level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            unsafe { self.global_avx2(at, access) };
            return;
        }
        self.global_at(at, access);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn global_avx2(&mut self, at: At, access: &Access<'_>) {
        self.global_at(at, access);
    }

    #[inline(always)]
    fn global_at(&mut self, at: At, access: &Access<'_>) {
        let load = access.operation == Operation::Load;
        if load {
            self.phase.loaded = true;
        } else {
            self.phase.stored = true;
            self.phase.phased |= self.phase.passed;
        }
        let way = if load { Way::Load } else { Way::Store };
        let request =
            Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
        let steady = Steady::find(access.addresses, access.active);
        if self.run.trails.any() {
            self.run.trails.note(at.warp, access.addresses, access.active, !load);
        }
        if self.run.host_pages.any() {
            let window = self.block / self.rules.cut.window;
            self.run.host_pages.note(window, at.warp, access.addresses, access.active);
        }
        match (self.rules.generation, steady) {
            (Generation::Sectors, Some(steady)) => {
                let traffic = steady.traffic(access.bytes);
                self.touch(at, access, &request, &steady, traffic);
            }
            (Generation::Sectors, None) => self.scattered(at, access, &request),
            (Generation::Parts, Some(steady)) if access.active == u32::MAX && access.bytes <= 16 => {
                let by_lines = self.rules.l1.lines && self.is_cached(access);
                let traffic = steady.traffic_in_parts(access.bytes, by_lines);
                self.touch(at, access, &request, &steady, traffic);
            }
            (Generation::Parts, _) => self.parts(at, access, &request),
            (Generation::Segments, _) => self.segments(at, access, &request),
        }
    }

    /// Returns true if a load goes through L1.
    #[inline(always)]
    fn is_cached(&self, access: &Access<'_>) -> bool {
        let l1 = &self.rules.l1;
        access.operation == Operation::Load
            && !access.past_l1
            && (l1.loads || (access.read_only && l1.read_only))
    }

    /// Counts a request with arbitrary addresses, from 5.0 on.
    #[inline(never)]
    fn scattered(&mut self, at: At, access: &Access<'_>, request: &Request<'_>) {
        #[cfg(target_arch = "x86_64")]
        if self.rules.level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            unsafe { self.scattered_avx2(at, access, request) };
            return;
        }
        self.scattered_at(at, access, request);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn scattered_avx2(&mut self, at: At, access: &Access<'_>, request: &Request<'_>) {
        self.scattered_at(at, access, request);
    }

    #[inline(always)]
    fn scattered_at(&mut self, at: At, access: &Access<'_>, request: &Request<'_>) {
        let pieces = Pieces::of(access.addresses, access.active, self.rules.level);
        let lanes = AnyLanes { addresses: access.addresses, pieces };
        let traffic = lanes.traffic(request.bytes_requested());
        self.touch(at, access, request, &lanes, traffic);
    }

    /// Counts a request with arbitrary addresses on 2.x and 3.x.
    #[inline(never)]
    fn parts(&mut self, at: At, access: &Access<'_>, request: &Request<'_>) {
        let coalescer = if self.is_cached(access) { self.rules.cached } else { self.rules.uncached };
        // Of the pieces, only the steps matter here.
        let pieces = Pieces { sectors: 0, lines: 0, tags: 0, steps: access.active };
        let lanes = AnyLanes { addresses: access.addresses, pieces };
        self.touch(at, access, request, &lanes, coalescer.traffic(request));
    }

    /// Counts a request on 1.x, whose transactions go straight to memory.
    #[inline(never)]
    fn segments(&mut self, at: At, access: &Access<'_>, request: &Request<'_>) {
        let rules = self.rules;
        let transactions = rules.uncached.transactions(request);
        let traffic = rules.uncached.traffic(request);
        let way = usize::from(request.access == Way::Store);
        self.run.totals.scattered[way] += request::scattered_pages(request, rules.page_shift);
        if rules.partitions > 0 {
            let window = self.block / rules.cut.window;
            let partitions = self.run.partitions(window, rules.partitions);
            for transaction in transactions.iter() {
                let partition = (transaction.address / 256 % u64::from(rules.partitions)) as usize;
                partitions.bytes[way][partition] += u64::from(transaction.bytes);
            }
        }
        self.touch(at, access, request, &transactions, traffic);
    }

    /// Looks up L1, records what goes on to L2, and counts.
    #[inline(always)]
    fn touch(
        &mut self,
        at: At,
        access: &Access<'_>,
        request: &Request<'_>,
        groups: &impl Groups,
        traffic: Traffic,
    ) {
        let cached = self.is_cached(access);
        let lines = self.rules.l1.lines;
        let Run { memory, groups: list, .. } = &mut *self.run;
        let mut extent = Extent { l2_sectors: traffic.sectors, in_l1: false, rewritten: 0, turns: 0 };
        extent.turns = match self.rules.generation {
            Generation::Sectors => groups.turns(&traffic),
            Generation::Parts | Generation::Segments => turns::before_maxwell(&traffic),
        };
        if cached {
            let mut loads = CachedLoads::new(memory, list, at.warp, lines);
            groups.each(&mut loads);
            extent.l2_sectors = loads.end();
            extent.in_l1 = extent.l2_sectors == 0;
        } else {
            let reads = access.operation != Operation::Store;
            let writes = access.operation != Operation::Load;
            let mut uncached = Uncached { memory, list, reads, writes, rewritten: 0, taken: 0 };
            groups.each(&mut uncached);
            if access.operation == Operation::Store {
                // Sectors that one request writes twice are written once.
                extent.rewritten = uncached.rewritten - uncached.taken.saturating_sub(traffic.sectors);
            }
        }
        self.count_global(at, access, request, &traffic, extent);
    }

    #[inline(always)]
    fn count_global(
        &mut self,
        at: At,
        access: &Access<'_>,
        request: &Request<'_>,
        traffic: &Traffic,
        extent: Extent,
    ) {
        let level = self.rules.level;
        let counts = self.run.site(at.site.0);
        let memory = match access.operation {
            Operation::Load => &mut counts.loads,
            Operation::Store => &mut counts.stores,
            Operation::Atomic | Operation::Reduction => {
                let conflicts = distinct::conflicts(request, level);
                counts.conflicts.addresses += u64::from(conflicts.addresses);
                counts.conflicts.rounds += u64::from(conflicts.rounds);
                &mut counts.atomics
            }
        };
        count(memory, traffic, extent);
        self.run.worst.note(at, access, Cost::Sectors(traffic.sectors));
        if self.run.host_pages.any() && traffic.straddles() {
            self.run.host_pages.note_split(access.operation != Operation::Load);
        }
    }

    fn local(&mut self, at: At, access: &Access<'_>) {
        let traffic = local::traffic(access.addresses, access.active, access.bytes);
        // Before 2.0, no cache holds local memory.
        let l2_sectors = if self.rules.generation == Generation::Segments { traffic.sectors } else { 0 };
        let counts = self.run.site(at.site.0);
        let memory = match access.operation {
            Operation::Load => &mut counts.local_loads,
            _ => &mut counts.local_stores,
        };
        let turns = turns::of_data(&traffic);
        count(memory, &traffic, Extent { l2_sectors, in_l1: false, rewritten: 0, turns });
        self.run.worst.note(at, access, Cost::Sectors(traffic.sectors));
    }

    fn shared(&mut self, at: At, access: &Access<'_>) {
        let way = if access.operation == Operation::Load { Way::Load } else { Way::Store };
        let request =
            Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
        let is_atomic = matches!(access.operation, Operation::Atomic | Operation::Reduction);
        let wavefronts = if is_atomic {
            let rounds = distinct::conflicts(&request, self.rules.level).rounds;
            self.run.shared.atomic_wavefronts(at.site, &request, rounds)
        } else {
            self.run.shared.wavefronts(at.site, &request)
        };
        let counts = self.run.site(at.site.0);
        let shared = match access.operation {
            Operation::Load => &mut counts.shared_loads,
            Operation::Store => &mut counts.shared_stores,
            Operation::Atomic | Operation::Reduction => &mut counts.shared_atomics,
        };
        shared.requests += 1;
        shared.wavefronts += u64::from(wavefronts.taken);
        shared.ideal += u64::from(wavefronts.ideal);
        self.run.worst.note(at, access, Cost::Wavefronts(wavefronts.taken));
    }

    fn constant(&mut self, at: At, access: &Access<'_>) {
        let uniform = access.active == u32::MAX
            && self.rules.generation != Generation::Segments
            && Steady::find(access.addresses, access.active).is_some_and(|steady| steady.step == 0);
        let issues = if uniform {
            1
        } else {
            constant_replays(self.rules.capability, access.addresses, access.active)
        };
        let constant = &mut self.run.site(at.site.0).constant;
        constant.requests += 1;
        constant.replays += u64::from(issues - 1);
        self.run.worst.note(at, access, Cost::Wavefronts(issues));
    }
}

#[inline(always)]
fn count(memory: &mut MemoryCounts, traffic: &Traffic, extent: Extent) {
    memory.instructions += 1;
    memory.requests += u64::from(traffic.requests);
    memory.transactions += u64::from(traffic.transactions);
    memory.sectors += u64::from(traffic.sectors);
    memory.lines += u64::from(traffic.lines);
    memory.straddling += u64::from(traffic.requests * u32::from(traffic.straddles()));
    memory.bytes_requested += u64::from(traffic.bytes_used);
    memory.bytes_moved += u64::from(traffic.bytes_moved);
    memory.l2_sectors += u64::from(extent.l2_sectors);
    memory.turns += u64::from(extent.turns);
    memory.requests_in_l1 += u64::from(extent.in_l1);
    memory.rewritten += u64::from(extent.rewritten);
}

impl Observer for CounterObserver {
    const ISSUES: bool = true;
    const ACCESSES: bool = true;
    const BRANCHES: bool = true;
    const SYNCHRONISATION: bool = true;
    const BATCHES: bool = true;

    fn block_begins(&mut self, block: u64, warps: u32) {
        self.run.totals.blocks += 1;
        self.run.totals.warps += u64::from(warps);
        self.begin_block(block);
    }

    fn block_ends(&mut self, block: u64) {
        if self.block == block {
            self.end_block();
        }
    }

    #[inline(always)]
    fn issue(&mut self, at: At, active: u32) {
        let counts = self.run.site(at.site.0);
        counts.instructions += 1;
        counts.thread_instructions += if active == u32::MAX { 32 } else { u64::from(active.count_ones()) };
    }

    #[inline]
    fn issues(&mut self, site: Site, warps: u64, threads: u64) {
        let counts = self.run.site(site.0);
        counts.instructions += warps;
        counts.thread_instructions += threads;
    }

    #[inline(always)]
    fn access(&mut self, at: At, access: &Access<'_>) {
        if access.active == 0 {
            return;
        }
        if at.block != self.block {
            self.change_to(at.block);
        }
        match access.space {
            Space::Global => self.global(at, access),
            Space::Shared => self.shared(at, access),
            Space::Local => self.local(at, access),
            Space::Constant => self.constant(at, access),
        }
    }

    #[inline(always)]
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {
        let counts = self.run.site(at.site.0);
        counts.branches += 1;
        counts.divergent_branches += u64::from(jump != 0 && go_on != 0);
    }

    #[inline]
    fn branches(&mut self, site: Site, branches: u64, divergent: u64) {
        let counts = self.run.site(site.0);
        counts.branches += branches;
        counts.divergent_branches += divergent;
    }

    fn barrier(&mut self, at: At, _barrier: u32, _warps: u64) {
        if at.block == self.block {
            self.phase.passed |= self.phase.loaded;
        }
        self.run.site(at.site.0).barriers += 1;
    }
}
