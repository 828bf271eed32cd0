//! Finds how long the warps of a block wait for one another at barriers.
//!
//! Up to a barrier a block takes as long as the warp that has most to do. So a block's *pace* is the sum, over the stretches up
//! to its barriers, of the instructions of the warp that issues most in each. What comes behind the last barrier counts by its mean
//! warp: there warps end one by one, and others go on in their place. For example, of four warps:
//!
//! ```text
//! stretch    instructions          counted
//! 1          90  10  10  10        90
//! 2          10  90  10  10        90
//! last        4   4   4   4        4
//! block      104 104 24  24        184, and 64 on average: warps wait for two thirds of the time
//! ```
//!
//! A block cannot end before the warp that has most to do behind the last barrier: its *path* counts that stretch by its longest warp,
//! too.

use super::run::Runner;
use crate::observe::{Distance, Observer};

/// Most warps of a block.
const MOST_WARPS: usize = 32;

/// Instructions of a block's warps since its last barrier, and those of the stretches before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    issued: [u64; MOST_WARPS],
    /// Instructions of the worker when the current warp was last noted.
    noted: u64,
    /// Of the stretches that have ended, the sum of the instructions of the warp with most in each, times the block's warps.
    longest: u64,
}

impl Pace {
    /// Ends a stretch. `warps` are those of the block.
    fn end_stretch(&mut self, warps: usize) {
        let issued = &mut self.issued[..warps];
        self.longest += warps as u64 * issued.iter().copied().max().unwrap_or(0);
        issued.fill(0);
    }

    /// Ends the block, whose warps have issued these instructions, and of which there are this many.
    pub(super) fn end(&mut self, instructions: u64, warps: usize) -> Distance {
        let before = self.longest;
        let last: u64 = self.issued[..warps].iter().sum();
        self.end_stretch(warps);
        let path = std::mem::take(&mut self.longest) / warps.max(1) as u64;
        Distance { instructions, pace: before + last, path }
    }
}

impl<O: Observer> Runner<'_, O> {
    /// Notes that a warp is about to be executed.
    #[inline(always)]
    pub(super) fn begin_pace(&mut self) {
        self.block.pace.noted = self.counts.warp_instructions;
    }

    /// Notes what a warp has issued since it was last noted.
    #[inline(always)]
    pub(super) fn note_pace(&mut self, index: usize) {
        let now = self.counts.warp_instructions;
        self.block.pace.issued[index] += now - self.block.pace.noted;
        self.block.pace.noted = now;
    }

    /// Ends a stretch at a barrier of the whole block, which this warp completes.
    pub(super) fn pass_barrier(&mut self, index: usize) {
        self.note_pace(index);
        self.block.pace.end_stretch(self.block.warps.len());
    }
}
