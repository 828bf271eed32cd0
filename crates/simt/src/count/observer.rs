//! Counts one run of blocks: receives what the executor [observes](crate::observe) and passes each access on.
//!
//! A worker executes runs of adjacent blocks, each with an observer and a [`Run`] of its own, so that nothing is shared while
//! kernels execute. Runs are merged in the order of their blocks, and the result does not depend on the number of
//! workers.
//!
//! | access | counted by |
//! | --- | --- |
//! | evenly spaced, in any memory | [`repeats`](super::repeats), by a memo of the site's last one |
//! | the same in global memory, by compiled code | [`noted`](super::noted), together, before any other access |
//! | in rows of fewer than 32 lanes | [`rows`](super::rows), likewise |
//! | all of a block's, if they repeat an earlier block's | [`replays`](super::replays), together, when the block ends |
//! | any other, in global memory | [`lanes`](super::lanes), by its addresses |
//! | any other, in shared, constant or local memory | [`on_chip`](super::on_chip) |
//!
//! For example, `y[i] = a * x[i] + y[i]` in a block of 256 threads tells this observer of 8 warps that each load twice and
//! store once, all evenly spaced; of the issues of each instruction, in one sum for all warps where the code is compiled;
//! and of the block's beginning and end, when what it has touched is passed on to L2.

use super::run::Run;
use super::shape::Rules;
use super::steady::{Memo, Path};
use crate::observe::{Access, At, Distance, Observer, Operation, Rows, Site, Space, SteadyAccess, Tallies};
use std::ops::Range;

/// Counts the blocks of one run. Created by [`CounterObservation`](super::CounterObservation).
///
/// Blocks come one after another. If a worker alternates between blocks that wait for each other, all is counted too,
/// but L1 is emptied at each change.
pub struct CounterObserver {
    pub(super) rules: Rules,
    pub(super) run: Box<Run>,
    pub(super) block: u64,
    /// State of the search for loads, then a barrier, then stores.
    pub(super) phase: Phase,
}

/// Which of loads, a barrier behind them, and stores behind that a block has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Phase {
    pub(super) loaded: bool,
    /// True once a barrier has followed loads.
    pub(super) passed: bool,
    pub(super) stored: bool,
    /// True once a store has followed that barrier.
    pub(super) phased: bool,
}

const NO_BLOCK: u64 = u64::MAX;

impl Phase {
    /// Notes an access that takes a path.
    #[inline(always)]
    pub(super) fn note(&mut self, path: Path) {
        self.note_ways(path.ways());
    }

    /// Notes loads through L1, and stores.
    #[inline(always)]
    pub(super) fn note_ways(&mut self, [loads, stores]: [bool; 2]) {
        self.loaded |= loads;
        self.stored |= stores;
        self.phased |= stores && self.passed;
    }
}

impl CounterObserver {
    pub(super) fn new(rules: Rules, run: Box<Run>) -> Self {
        Self { rules, run, block: NO_BLOCK, phase: Phase::default() }
    }

    /// Ends the current block, if there is one.
    pub(super) fn end_block(&mut self) {
        if self.block != NO_BLOCK {
            self.count_notes();
            self.end_following();
            self.run.end_block(self.block / self.rules.cut.window);
            self.end_kept();
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
        self.run.replays.begin();
    }

    /// Counts what comes before an access of this block to this space.
    #[inline(always)]
    fn come_to(&mut self, block: u64, space: Space) {
        if block != self.block {
            self.change_to(block);
        }
        self.count_notes();
        if space == Space::Global && self.run.replays.is_watching() {
            self.stop_watching();
        }
    }

    #[cold]
    fn change_to(&mut self, block: u64) {
        self.begin_block(block);
    }

    /// Counts an access of the current block by all its addresses.
    #[inline(always)]
    pub(super) fn lanes_access(&mut self, at: At, access: &Access<'_>) {
        match access.space {
            Space::Global => self.global(at, access),
            Space::Shared => self.shared(at, access),
            Space::Cluster => self.cluster(at, access),
            Space::Local => self.local(at, access),
            Space::Constant => self.constant(at, access),
        }
    }

    /// Records an access of a sampled block.
    #[cold]
    fn record(&mut self, at: At, access: &Access<'_>) {
        let wavefronts = match access.space {
            Space::Shared | Space::Cluster => self.shared_wavefronts(at, access).taken,
            Space::Constant => self.constant_issues(access.addresses, access.active),
            Space::Global | Space::Local => 0,
        };
        self.run.recorder.access(at, access, wavefronts);
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
}

impl Observer for CounterObserver {
    const ISSUES: bool = true;
    const ACCESSES: bool = true;
    const BRANCHES: bool = true;
    const SYNCHRONISATION: bool = true;
    const WARP_BARRIERS: bool = false;
    const BATCHES: bool = true;

    fn block_begins(&mut self, block: u64, warps: u32) {
        self.run.totals.blocks += 1;
        self.run.totals.warps += u64::from(warps);
        self.begin_block(block);
        self.run.recorder.begin(block, warps as usize);
    }

    fn block_issued(&mut self, distance: Distance) {
        let totals = &mut self.run.totals;
        totals.issued += distance.instructions;
        totals.pace += distance.pace;
        totals.longest_path = totals.longest_path.max(distance.path);
        self.run.blocks.push(distance.instructions);
    }

    fn wants_steps(&self) -> bool {
        self.run.recorder.is_recording()
    }

    fn block_ends(&mut self, block: u64) {
        self.run.recorder.end();
        if self.block == block {
            self.end_block();
        }
    }

    fn run_ends(&mut self) {
        self.end_block();
        let Run { memory, groups, .. } = &mut *self.run;
        memory.drain(groups);
    }

    #[inline(always)]
    fn issue(&mut self, at: At, active: u32) {
        let counts = self.run.site(at.site().0);
        counts.instructions += 1;
        counts.thread_instructions += if active == u32::MAX { 32 } else { u64::from(active.count_ones()) };
        if self.run.recorder.is_recording() {
            self.run.recorder.issue(at);
        }
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
        self.come_to(at.block, access.space);
        if self.run.recorder.is_recording() {
            self.record(at, access);
        }
        self.lanes_access(at, access);
    }

    #[inline(always)]
    fn steady_access(&mut self, at: At, access: &SteadyAccess) {
        if access.active == 0 {
            return;
        }
        self.come_to(at.block, access.space);
        if self.run.recorder.is_recording() {
            self.record(at, &access.with(&access.addresses()));
        }
        if access.operation.is_atomic()
            && (access.space == Space::Global || self.run.contest(at.site()).is_some())
        {
            return self.lanes_access(at, &access.with(&access.addresses()));
        }
        self.steady(at, access);
    }

    fn rows_access(&mut self, at: At, access: &SteadyAccess, rows: Rows) {
        if access.active == 0 {
            return;
        }
        self.come_to(at.block, access.space);
        if self.run.recorder.is_recording() {
            self.record(at, &access.with(&rows.addresses(access.base, access.step)));
        }
        if access.operation.is_atomic() && self.run.contest(at.site()).is_some() {
            return self.lanes_access(at, &access.with(&rows.addresses(access.base, access.step)));
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
        let order = super::worst::order(At::new(block, 0, Site(sites.start)));
        let Run { memos, notes, .. } = &mut *self.run;
        let first: *mut Memo = memos.window(sites);
        // The tally is a memo's first field.
        Some(Tallies { first: first.cast(), stride: size_of::<Memo>(), order, notes })
    }

    #[inline(always)]
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {
        let counts = self.run.site(at.site().0);
        counts.branches += 1;
        counts.divergent_branches += u64::from(jump != 0 && go_on != 0);
    }

    #[inline]
    fn branches(&mut self, site: Site, branches: u64, divergent: u64) {
        let counts = self.run.site(site.0);
        counts.branches += branches;
        counts.divergent_branches += divergent;
    }

    fn matched(&mut self, _: At, values: u32) {
        self.run.matched_values += u64::from(values);
    }

    fn barrier(&mut self, at: At, _barrier: u32, _warps: u64) {
        if at.block == self.block {
            self.count_notes();
            self.phase.passed |= self.phase.loaded;
        }
        self.run.site(at.site().0).barriers += 1;
    }
}
