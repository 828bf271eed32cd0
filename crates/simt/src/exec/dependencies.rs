//! Estimates how long a warp takes for its instructions alone: the longest chain of dependent ones in each basic block.
//!
//! An instruction issues when its operands are there, and no two of a warp issue in one clock. The block then ends with its
//! last result. ptxas orders a block's instructions so that long chains begin early, so their order in PTX does not matter.
//! For example, with 4 clocks for each result:
//!
//! ```text
//! mul a, x, y       issues at 0, a at 4
//! mul b, z, w       issues at 1, b at 5
//! add c, a, b       issues at 5, c at 9: the block takes 9 clocks, 4 + 1 + 4 by its sites
//! ```
//!
//! Two readers wait longer for a result than arithmetic does: a branch or a guard for its predicate, of which the machine code for
//! `sm_90` has 13 clocks between the two instructions instead of 4, and an access to memory for its address, 6 instead of 4.
//!
//! Of a loop that [ptxas unrolls](super::unrolled) four iterations are looked at together, so that what does not depend on the
//! iteration before overlaps with it. Waits for global memory are counted apart, as [round trips](super::waits).

use super::read;
use super::unrolled::Unrolled;
use super::uses::Uses;
use crate::count::Slots;
use crate::ptx::Body;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::{Awaits, Op};
use crate::registers::{Slot, Width};
use std::collections::HashMap;

/// Iterations of an unrolled loop that are looked at together.
const OVERLAPPING: u32 = 4;

/// Clocks that a predicate takes longer to decide whether an instruction executes than to be an operand.
pub(crate) const GUARDS: u32 = 9;

/// Clocks that a result takes longer to be an address.
pub(crate) const ADDRESSES: u32 = 2;

/// Returns the clocks that each instruction adds to its basic block.
pub(super) fn find(
    body: &Body,
    cfg: &Cfg,
    uses: &Uses,
    (slots, unrolled): (&[Slots], &[Unrolled]),
    first: u32,
) -> Vec<f32> {
    let ops: Vec<Op> = body.instructions.iter().map(read::op).collect();
    let mut added = vec![0.0; ops.len()];
    for (index, block) in cfg.blocks.iter().enumerate() {
        let unrolled = unrolled.iter().find(|unrolled| unrolled.block == index);
        let waits = |at: u32| ops[at as usize].awaits() == Some(Awaits::Threads);
        let iterations = unrolled.filter(|_| !block.instructions.clone().any(waits));
        let copies = iterations.map_or(1, |unrolled| unrolled.iterations.min(OVERLAPPING));
        let mut ready: HashMap<u32, u32> = HashMap::new();
        let (mut issued, mut end) = (0, 0);
        for copy in 1..=copies {
            for at in block.instructions.clone() {
                let op = &ops[at as usize];
                if copy < copies && unrolled.is_some_and(|unrolled| unrolled.once.contains(&at)) {
                    continue;
                }
                let place = (first + at) as usize;
                let slots = slots[at as usize];
                let decides = matches!(op, Op::Bra) || body.instructions[at as usize].guard.is_some();
                let later = |slot: &Slot| match slot.width {
                    Width::Predicate if decides => GUARDS,
                    _ if uses.address(place).is_some_and(|address| address.cell == slot.cell) => ADDRESSES,
                    _ => 0,
                };
                let operands = uses.sources(place).iter();
                let operands = operands.filter_map(|slot| Some(ready.get(&slot.cell)? + later(slot)));
                let start = operands.max().unwrap_or(0).max(if slots.issued > 0 { issued } else { 0 });
                issued += u32::from(slots.issued);
                let done = start + u32::from(slots.clocks);
                if slots.is_sequence() {
                    // It branches to its rare cases, so nothing moves across it.
                    issued = issued.max(done);
                }
                ready.extend(uses.results(place).iter().map(|slot| (slot.cell, done)));
                if done > end {
                    added[at as usize] += (done - end) as f32 / copies as f32;
                    end = done;
                }
            }
        }
    }
    added
}
