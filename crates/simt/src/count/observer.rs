//! Counts one run of blocks.

use super::block::{CachedLoads, GROUP_SHIFT, Uncached};
use super::distinct::{self, Pieces};
use super::local;
use super::prefetch;
use super::request::{self, AnyLanes, Groups, Steady};
use super::run::Run;
use super::shape::{Generation, Rules};
use super::steady::{Memo, Path, Price};
use super::turns;
use super::worst::Cost;
use crate::coalescing::{
    Access as Way, AtomicConflicts, LANES, Request, Traffic, Wavefronts, constant_replays,
};
use crate::decode::Level;
use crate::observe::{Access, At, Observer, Operation, Rows, Site, Space, SteadyAccess, Tallies};
use counters::MemoryCounts;
use std::ops::Range;

/// Counts the blocks of one run. Created by [`CounterObservation`](super::CounterObservation).
///
/// Blocks come one after another. If a worker alternates between blocks that wait for each other, all is counted too,
/// but L1 is emptied at each change.
pub struct CounterObserver {
    pub(super) rules: Rules,
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
        let steady = request::spacing(access.addresses, access.active);
        let steady = steady.map(|(base, step)| SteadyAccess::spaced(access, base, step));
        if self.rules.generation == Generation::Sectors
            && let Some(steady) = &steady
            && (self.repeat(at, steady) || self.replace_memo(at, steady) && self.repeat(at, steady))
        {
            return;
        }
        self.irregular(at, access, steady.map(|steady| Steady::of(&steady)));
    }

    /// Counts an access of the current block by all its addresses.
    #[inline(always)]
    pub(super) fn lanes_access(&mut self, at: At, access: &Access<'_>) {
        if access.space == Space::Global && is_atomic(access.operation) {
            self.run.note_atomic(at.site, access.active, |lane| access.addresses[lane as usize]);
        }
        match access.space {
            Space::Global => self.global(at, access),
            Space::Shared => self.shared(at, access),
            Space::Local => self.local(at, access),
            Space::Constant => self.constant(at, access),
        }
    }

    /// Counts a request to global memory by all its addresses.
    #[inline(always)]
    fn irregular(&mut self, at: At, access: &Access<'_>, steady: Option<Steady>) {
        self.note_phase(access.operation);
        if self.rules.elsewhere.any() {
            self.note_elsewhere(at, access);
        }
        let way = if access.operation == Operation::Load { Way::Load } else { Way::Store };
        let request =
            Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
        match (self.rules.generation, steady) {
            (Generation::Sectors, _) => self.scattered(at, access, &request),
            (Generation::Parts, Some(steady)) if access.active == u32::MAX && access.bytes <= 16 => {
                let by_lines =
                    self.rules.l1.lines && self.is_cached(access.operation, access.past_l1, access.read_only);
                let traffic = steady.traffic_in_parts(access.bytes, by_lines);
                self.touch(at, access, &request, &steady, traffic, None);
            }
            (Generation::Parts, _) => self.parts(at, access, &request),
            (Generation::Segments, _) => self.segments(at, access, &request),
        }
    }

    #[inline(always)]
    pub(super) fn note_phase(&mut self, operation: Operation) {
        if operation == Operation::Load {
            self.phase.loaded = true;
        } else {
            self.phase.stored = true;
            self.phase.phased |= self.phase.passed;
        }
    }

    /// Notes a request to global memory if it may be to memory that is not the card's own.
    #[inline(always)]
    fn note_elsewhere(&mut self, at: At, access: &Access<'_>) {
        if self.rules.elsewhere.is_among(access.addresses) {
            self.note_near(at, access);
        } else {
            self.run.host_pages.leave();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_near(&mut self, at: At, access: &Access<'_>) {
        let run = &mut *self.run;
        run.elsewhere = true;
        if run.trails.any() {
            let written = access.operation != Operation::Load;
            run.trails.note(at.warp, access.addresses, access.active, written);
        }
        if run.peer_stores.any() && access.operation != Operation::Load {
            run.peer_stores.note(access.addresses, access.active, access.bytes);
        }
        if run.host_pages.any() {
            let window = self.block / self.rules.cut.window;
            run.host_pages.note(window, at.warp, access.addresses, access.active);
        }
    }

    /// Counts an access of at least one lane at evenly spaced addresses.
    #[inline(always)]
    pub(super) fn steady(&mut self, at: At, access: &SteadyAccess) {
        #[cfg(target_arch = "x86_64")]
        if self.rules.level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            unsafe { self.steady_avx2(at, access) };
            return;
        }
        self.steady_at(at, access);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn steady_avx2(&mut self, at: At, access: &SteadyAccess) {
        self.steady_at(at, access);
    }

    #[inline(always)]
    fn steady_at(&mut self, at: At, access: &SteadyAccess) {
        if !self.repeat(at, access) {
            self.begin_steady(at, access);
        }
    }

    /// Counts an access that is no repetition of its site's memo.
    #[inline(never)]
    fn begin_steady(&mut self, at: At, access: &SteadyAccess) {
        if !self.replace_memo(at, access) || !self.repeat(at, access) {
            self.expand(at, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn expand(&mut self, at: At, access: &SteadyAccess) {
        let addresses = access.addresses();
        let access = access.with(&addresses);
        let steady = request::spacing(&addresses, access.active);
        let steady = steady.map(|(base, step)| Steady::of(&SteadyAccess::spaced(&access, base, step)));
        self.irregular(at, &access, steady);
    }

    /// Counts an access as a repetition of its site's memo. Returns false if it is none.
    #[inline(always)]
    fn repeat(&mut self, at: At, access: &SteadyAccess) -> bool {
        let Run { memos, memory, groups: list, .. } = &mut *self.run;
        let memo = memos.at(at.site.0);
        if !memo.is_of(access) {
            return false;
        }
        memo.tally.repeats += 1;
        let low = memo.low(access);
        let (group, sectors) = (low >> GROUP_SHIFT, memo.sectors << (low >> 5 & 31));
        match memo.path {
            Path::None => {}
            Path::Cached => {
                self.phase.loaded = true;
                let missed = memory.load_near(&mut memo.slot, at.warp, group, sectors, list);
                memo.l2_sectors += u64::from(missed);
                memo.in_l1 += u64::from(missed == 0);
            }
            Path::Stored => {
                self.phase.stored = true;
                self.phase.phased |= self.phase.passed;
                let rewritten = memory.access_near(&mut memo.slot, group, sectors, [false, true], list);
                memo.rewritten += u64::from(rewritten);
            }
            Path::Far => {
                self.repeat_far(at, access);
                return true;
            }
        }
        if memo.must_look(at) || self.rules.elsewhere.is_near(low) {
            self.look(at, access);
        }
        true
    }

    /// Looks up a repetition that a memo does not have the sectors of, or that is neither a load through L1 nor a store.
    #[inline(never)]
    fn repeat_far(&mut self, at: At, access: &SteadyAccess) {
        #[cfg(target_arch = "x86_64")]
        if self.rules.level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            unsafe { self.repeat_far_avx2(at, access) };
            return;
        }
        self.repeat_far_at(at, access);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn repeat_far_avx2(&mut self, at: At, access: &SteadyAccess) {
        self.repeat_far_at(at, access);
    }

    #[inline(always)]
    fn repeat_far_at(&mut self, at: At, access: &SteadyAccess) {
        let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
        let Run { memos, memory, groups: list, .. } = &mut *self.run;
        let memo = memos.at(at.site.0);
        let low = memo.low(access);
        let (group, sectors) = (low >> GROUP_SHIFT, memo.sectors << (low >> 5 & 31));
        // Evenly spaced lines come fast enough not to wait for each other.
        (0..LANES as u32).for_each(|lane| prefetch::to_l1(access.address(lane)));
        let [reads, writes] = [access.operation != Operation::Store, access.operation != Operation::Load];
        if cached {
            let mut loads = CachedLoads::new(memory, list, at.warp, false);
            Steady::of(access).each(&mut loads);
            let missed = loads.end();
            memo.l2_sectors += u64::from(missed);
            memo.in_l1 += u64::from(missed == 0);
        } else if memo.sectors != 0 {
            memory.access_near(&mut memo.slot, group, sectors, [reads, writes], list);
        } else {
            let mut uncached = Uncached { memory, list, reads, writes, rewritten: 0, taken: 0 };
            Steady::of(access).each(&mut uncached);
            memo.rewritten += u64::from(if reads { 0 } else { uncached.rewritten });
        }
        let must_look = memo.must_look(at);
        self.note_phase(access.operation);
        let Steady { low, high, .. } = Steady::of(access);
        if must_look || self.rules.elsewhere.is_between(low, high) {
            self.look(at, access);
        }
    }

    /// Replaces a site's memo. Returns false if there is none for this access.
    #[inline(never)]
    fn replace_memo(&mut self, at: At, access: &SteadyAccess) -> bool {
        let new = match access.space {
            Space::Global if self.rules.generation != Generation::Sectors => None,
            Space::Global => {
                Memo::global(access, self.is_cached(access.operation, access.past_l1, access.read_only))
            }
            Space::Shared => {
                let wavefronts = self.shared_wavefronts_of(at, access);
                Some(Memo::new(access, self.run.shared.period() - 1, Price::Wavefronts(wavefronts)))
            }
            Space::Local => {
                let traffic = local::traffic(&access.addresses(), access.active, access.bytes);
                // The phase is that in a word.
                Some(Memo::new(access, 3, Price::Memory { traffic, turns: turns::of_data(&traffic) }))
            }
            Space::Constant => {
                let issues = constant_replays(self.rules.capability, &access.addresses(), access.active);
                Some(Memo::new(access, 0, Price::Issues(issues)))
            }
        };
        let Some(new) = new else { return false };
        self.put_memo(at, new);
        true
    }

    /// Adds the repetitions of a site's memo to the counters, and puts another in its place.
    pub(super) fn put_memo(&mut self, at: At, new: Memo) {
        let local_to_l2 = self.rules.local_to_l2();
        let run = &mut *self.run;
        let memo = run.memos.at(at.site.0);
        memo.settle(run.counts.at(at.site.0), local_to_l2);
        memo.slot = std::mem::replace(memo, new).slot;
        memo.tally.from = run.worst.kept_below(at.site, new.price.cost());
    }

    fn shared_wavefronts_of(&mut self, at: At, access: &SteadyAccess) -> Wavefronts {
        let addresses = access.addresses();
        self.shared_wavefronts(at, &access.with(&addresses))
    }

    /// Notes a repetition of a site's memo if it is the worst request, or is not to the card's own memory.
    #[cold]
    #[inline(never)]
    fn look(&mut self, at: At, access: &SteadyAccess) {
        let addresses = access.addresses();
        let access = access.with(&addresses);
        self.note_worst(at, &access);
        if access.space == Space::Global && self.rules.elsewhere.any() {
            self.note_elsewhere(at, &access);
            if self.run.memos.at(at.site.0).price.straddles() {
                self.run.host_pages.note_split(access.operation != Operation::Load);
            }
        }
    }

    /// Notes a repetition of a site's memo if it is the worst request.
    #[inline(always)]
    pub(super) fn note_worst(&mut self, at: At, access: &Access<'_>) {
        let run = &mut *self.run;
        let memo = run.memos.at(at.site.0);
        let cost = memo.price.cost();
        run.worst.note(at, access, cost);
        memo.tally.from = run.worst.kept_below(at.site, cost);
    }

    /// Returns true if an access goes through L1.
    #[inline(always)]
    pub(super) fn is_cached(&self, operation: Operation, past_l1: bool, read_only: bool) -> bool {
        let l1 = &self.rules.l1;
        operation == Operation::Load && !past_l1 && (l1.loads || (read_only && l1.read_only))
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
        let level = self.rules.level;
        let (pieces, conflicts) = if is_atomic(access.operation) {
            let (pieces, conflicts) = distinct::pieces_and_conflicts(request, level);
            (pieces, Some(conflicts))
        } else {
            (Pieces::of(access.addresses, access.active, level), None)
        };
        let lanes = AnyLanes { addresses: access.addresses, pieces };
        if lanes.are_scattered() {
            access.addresses.iter().copied().for_each(prefetch::to_l2);
        }
        let traffic = lanes.traffic(request.bytes_requested());
        self.touch(at, access, request, &lanes, traffic, conflicts);
    }

    /// Counts a request with arbitrary addresses on 2.x and 3.x.
    #[inline(never)]
    fn parts(&mut self, at: At, access: &Access<'_>, request: &Request<'_>) {
        let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
        let coalescer = if cached { self.rules.cached } else { self.rules.uncached };
        // Of the pieces, only the steps matter here.
        let pieces = Pieces { sectors: 0, lines: 0, tags: 0, steps: access.active };
        let lanes = AnyLanes { addresses: access.addresses, pieces };
        self.touch(at, access, request, &lanes, coalescer.traffic(request), None);
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
        self.touch(at, access, request, &transactions, traffic, None);
    }

    /// Looks up L1, records what goes on to L2, and counts. `conflicts` are those of an atomic, where they are known.
    #[inline(always)]
    fn touch(
        &mut self,
        at: At,
        access: &Access<'_>,
        request: &Request<'_>,
        groups: &impl Groups,
        traffic: Traffic,
        conflicts: Option<AtomicConflicts>,
    ) {
        let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
        let lines = self.rules.l1.lines;
        let Run { memory, groups: list, .. } = &mut *self.run;
        let mut extent = Extent { l2_sectors: u64::from(traffic.sectors), in_l1: 0, rewritten: 0, turns: 0 };
        extent.turns = match self.rules.generation {
            Generation::Sectors => groups.turns(&traffic),
            Generation::Parts | Generation::Segments => turns::before_maxwell(&traffic),
        };
        if cached {
            let mut loads = CachedLoads::new(memory, list, at.warp, lines);
            groups.load(&mut loads);
            extent.l2_sectors = u64::from(loads.end());
            extent.in_l1 = u64::from(extent.l2_sectors == 0);
        } else {
            let reads = access.operation != Operation::Store;
            let writes = access.operation != Operation::Load;
            let mut uncached = Uncached { memory, list, reads, writes, rewritten: 0, taken: 0 };
            if self.rules.generation == Generation::Sectors {
                groups.access(&mut uncached);
            } else {
                // Parts of a warp may count the same sector each.
                groups.each(&mut uncached);
            }
            if access.operation == Operation::Store {
                // Sectors that one request writes twice are written once.
                let rewritten = uncached.rewritten - uncached.taken.saturating_sub(traffic.sectors);
                extent.rewritten = u64::from(rewritten);
            }
        }
        self.count_global(at, access, request, &traffic, extent, conflicts);
    }

    #[inline(always)]
    fn count_global(
        &mut self,
        at: At,
        access: &Access<'_>,
        request: &Request<'_>,
        traffic: &Traffic,
        extent: Extent,
        conflicts: Option<AtomicConflicts>,
    ) {
        let level = self.rules.level;
        let counts = self.run.site(at.site.0);
        let memory = match access.operation {
            Operation::Load => &mut counts.loads,
            Operation::Store => &mut counts.stores,
            Operation::Atomic | Operation::Reduction => {
                let conflicts = conflicts.unwrap_or_else(|| distinct::conflicts(request, level));
                counts.conflicts.addresses += u64::from(conflicts.addresses);
                counts.conflicts.rounds += u64::from(conflicts.rounds);
                &mut counts.atomics
            }
        };
        count(memory, traffic, &extent, 1);
        self.run.worst.note(at, access, Cost::Sectors(traffic.sectors));
        if self.run.host_pages.any() && traffic.straddles() {
            self.run.host_pages.note_split(access.operation != Operation::Load);
        }
    }

    fn local(&mut self, at: At, access: &Access<'_>) {
        let traffic = local::traffic(access.addresses, access.active, access.bytes);
        // Before 2.0, no cache holds local memory.
        let l2_sectors = if self.rules.local_to_l2() { u64::from(traffic.sectors) } else { 0 };
        let counts = self.run.site(at.site.0);
        let memory = match access.operation {
            Operation::Load => &mut counts.local_loads,
            _ => &mut counts.local_stores,
        };
        let turns = turns::of_data(&traffic);
        count(memory, &traffic, &Extent { l2_sectors, in_l1: 0, rewritten: 0, turns }, 1);
        self.run.worst.note(at, access, Cost::Sectors(traffic.sectors));
    }

    pub(super) fn shared_wavefronts(&mut self, at: At, access: &Access<'_>) -> Wavefronts {
        let way = if access.operation == Operation::Load { Way::Load } else { Way::Store };
        let request =
            Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
        if is_atomic(access.operation) {
            // One that counts takes the lanes of an address together.
            let counts = self.run.is_combined(at.site);
            let rounds = if counts { 1 } else { distinct::conflicts(&request, self.rules.level).rounds };
            self.run.shared.atomic_wavefronts(at.site, &request, rounds)
        } else {
            self.run.shared.wavefronts(at.site, &request)
        }
    }

    fn shared(&mut self, at: At, access: &Access<'_>) {
        let wavefronts = self.shared_wavefronts(at, access);
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
            && request::spacing(access.addresses, access.active).is_some_and(|(_, step)| step == 0);
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
pub(super) fn is_atomic(operation: Operation) -> bool {
    matches!(operation, Operation::Atomic | Operation::Reduction)
}

/// Adds some requests of the same traffic.
#[inline(always)]
pub(super) fn count(memory: &mut MemoryCounts, traffic: &Traffic, extent: &Extent, times: u64) {
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

    fn block_issued(&mut self, instructions: u64) {
        self.run.blocks.push(instructions);
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
        self.lanes_access(at, access);
    }

    #[inline(always)]
    fn steady_access(&mut self, at: At, access: &SteadyAccess) {
        if access.active == 0 {
            return;
        }
        if at.block != self.block {
            self.change_to(at.block);
        }
        if access.space == Space::Global && is_atomic(access.operation) {
            self.run.note_atomic(at.site, access.active, |lane| access.address(lane));
        }
        self.steady(at, access);
    }

    fn rows_access(&mut self, at: At, access: &SteadyAccess, rows: Rows) {
        if access.active == 0 {
            return;
        }
        if at.block != self.block {
            self.change_to(at.block);
        }
        self.rows(at, access, rows);
    }

    #[inline]
    fn tallies(&mut self, block: u64, sites: Range<u32>) -> Option<Tallies> {
        if sites.is_empty() {
            return None;
        }
        if block != self.block {
            self.change_to(block);
        }
        let order = super::worst::order(At { block, warp: 0, site: Site(sites.start) });
        let first: *mut Memo = self.run.memos.window(sites);
        // The tally is a memo's first field.
        Some(Tallies { first: first.cast(), stride: size_of::<Memo>(), order })
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
