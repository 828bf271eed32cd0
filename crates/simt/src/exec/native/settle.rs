//! Spreads what compiled code has counted over its steps.
//!
//! Code counts the executions of a block and the branches taken at its end, and of guarded steps the threads; the counts of
//! each step follow from these. If code stops within a block, the count of that block is taken back, and the steps that were
//! executed are counted one by one.

use super::super::run::Runner;
use super::code::{Native, site};
use super::context::Counter;
use crate::observe::Observer;

impl<O: Observer> Runner<'_, O> {
    /// Takes back the count of a block within which code has stopped, and counts the steps that were executed.
    pub(super) fn settle_block(&mut self, native: &Native, pc: u32, with_last: bool) {
        let Some(number) = native.blocks.iter().position(|block| block.steps.contains(&pc)) else { return };
        let steps = native.blocks[number].steps.clone();
        let end = pc + u32::from(with_last);
        let count = native.blocks.len();
        let active = self.native.shared.active;
        if active == u32::MAX {
            self.native.counters[Counter::Executed.index(count, number)] -= 1;
        } else {
            self.native.counters[Counter::Masked.index(count, number)] -= 1;
            self.native.counters[Counter::Threads.index(count, number)] -= u64::from(active.count_ones());
        }
        self.counts.warp_instructions -= u64::from(steps.end - end);
        for pc in steps.start..end {
            // Threads of guarded steps have their own counters.
            let threads = if native.is_guarded(pc) { 0 } else { u64::from(active.count_ones()) };
            self.counts.thread_instructions += threads;
            if O::ISSUES {
                self.observer.issues(site(pc), 1, threads);
            }
        }
    }

    /// Adds what compiled code has counted to the observer's counts and the worker's.
    pub(in super::super) fn flush_compiled(&mut self, native: &Native) {
        if self.native.counters.len() != native.counters() {
            return;
        }
        let counters = std::mem::take(&mut self.native.counters);
        let count = native.blocks.len();
        let (of_blocks, guarded) = counters.split_at(Counter::of_blocks(count));
        for (number, block) in native.blocks.iter().enumerate() {
            let of = |counter: Counter| of_blocks[counter.index(count, number)];
            let (whole, masked) = (of(Counter::Executed), of(Counter::Masked));
            if whole + masked == 0 {
                continue;
            }
            for pc in block.steps.clone() {
                let threads = if native.is_guarded(pc) {
                    0
                } else if block.branch == Some(pc) {
                    32 * of(Counter::Taken) + of(Counter::TakenThreads)
                } else {
                    32 * whole + of(Counter::Threads)
                };
                self.counts.thread_instructions += threads;
                if O::ISSUES {
                    self.observer.issues(site(pc), whole + masked, threads);
                }
            }
            if let Some(pc) = block.branch
                && O::BRANCHES
            {
                self.observer.branches(site(pc), whole + masked, of(Counter::Divergent));
            }
        }
        for (&pc, &threads) in native.guarded.iter().zip(guarded) {
            self.counts.thread_instructions += threads;
            if O::ISSUES && threads != 0 {
                self.observer.issues(site(pc), 0, threads);
            }
        }
        self.native.counters = counters;
        self.native.counters.fill(0);
    }
}
