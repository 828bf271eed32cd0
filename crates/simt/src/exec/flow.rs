//! Finds reconvergence points: where lanes that diverge at a branch meet again.
//!
//! That is the immediate post-dominator of the branch, which [`cfg`](crate::ptx::cfg) finds. Two cases remain.
//! Lanes with no such point in a called function meet where it returns ([`AT_RETURN`]). In a kernel they need not meet
//! ([`NOWHERE`]), and neither need they at an instruction that only ends the kernel:
//!
//! ```text
//! 4  @%p bra 7        lanes without an element of their own
//! 5  ld.global ...
//! 6  st.global ...
//! 7  ret              the post-dominator of 4, but a lane that comes here exits without waiting for the others
//! ```

use super::step::{AT_RETURN, Inside, NOWHERE};
use crate::ptx::Body;
use crate::ptx::cfg::{BlockId, Cfg};
use crate::ptx::op::Op;

/// A function's reconvergence points.
pub(super) struct Flow<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) body: &'a Body,
    /// The pc of the function's first instruction.
    pub(super) first: u32,
    pub(super) is_entry: bool,
}

impl Flow<'_> {
    /// Returns the pc at which lanes reconverge that diverge at an instruction, the last of its basic block.
    pub(super) fn meets(&self, index: u32) -> u32 {
        self.place(self.cfg.block_of(index).and_then(|block| self.cfg.block(block).meets))
    }

    fn place(&self, block: Option<BlockId>) -> u32 {
        let Some(meets) = block.map(|block| self.cfg.block(block).instructions.start) else {
            return if self.is_entry { NOWHERE } else { AT_RETURN };
        };
        // At the end of a kernel nothing is left to execute together: a lane that comes there exits, as threads on the
        // hardware do.
        if self.is_entry && leaves(self.body, meets) { NOWHERE } else { self.first + meets }
    }

    /// Returns what is to be known of a branch in loops, in a function whose lanes reconverge within loops. `targets` are its
    /// targets' indices.
    pub(super) fn inside(&self, index: u32, targets: &[u32]) -> Option<Inside> {
        let cfg = self.cfg;
        let from = cfg.block_of(index)?;
        if !cfg.has_meetings || cfg.loops_around(from, from) == 0 {
            return None;
        }
        let meetings = cfg.block(from).meetings.as_slice();
        let all = match meetings {
            [] => Some((self.meets(index), 0)),
            [inner, ..] => (inner.depth > 0).then(|| (self.place(None), 0)),
        };
        let meets = meetings.iter().map(|at| (self.place(Some(at.block)), at.depth));
        let meets = all.into_iter().chain(meets).filter(|(pc, _)| *pc != NOWHERE).collect();
        let kept = |to: u32| cfg.block_of(to).map_or(0, |to| cfg.loops_around(from, to));
        Some(Inside { meets, kept: targets.iter().copied().chain([index + 1]).map(kept).collect() })
    }
}

/// Returns true if a kernel's lanes exit at this instruction and do nothing else.
pub(super) fn leaves(body: &Body, index: u32) -> bool {
    match body.instructions.get(index as usize) {
        None => true,
        Some(instruction) => {
            instruction.guard.is_none() && matches!(instruction.opcode.op(), Ok(Op::Ret | Op::Exit))
        }
    }
}
