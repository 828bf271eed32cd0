//! Divergent regions that compiled code executes itself, under an active mask.
//!
//! Where lanes of a warp disagree on a branch, the interpreter executes one side up to the branch's immediate
//! post-dominator, then the other ([`warp`](super::super::warp)), and counts each instruction once for each side that
//! reaches it. Code does the same where the way through the region can be written down before execution: the region has
//! no loop and no instruction that the interpreter executes. The order of the sides is the interpreter's, so observers
//! see the same accesses in the same order, and a block that both sides reach is executed, and counted, twice.
//!
//! For example, `if (a && b) x; else y; z` becomes two branches that meet at `z`, at 5:
//!
//! ```text
//! 0  @!a bra 4     splits at 5:  first  {1} at 1, leaves none; splits at 5: first {2, 3}, second {4}
//! 1  @!b bra 4                   second {4}
//! 2  x
//! 3  bra 5         with masks: lanes of a & b execute 2 and 3, lanes of a & !b execute 4, lanes of !a execute 4
//! 4  y
//! 5  z
//! ```
//!
//! A lane that jumps to the region's end has nothing left to do: it leaves the mask ([`After::Leaves`]). So a guard costs
//! one mask, however many follow it.

use super::super::program::Program;
use super::super::step::{Action, Branch, NOWHERE, Rare};
use super::graph::{Block, End, Graph};

/// A divergent branch: what its lanes execute before they meet. A side that is empty goes there at once.
pub(super) struct Split {
    /// The lanes that go on behind the branch; they are first unless they have nothing to do.
    pub(super) goes_on: Vec<Part>,
    pub(super) jumps: Vec<Part>,
    /// The block at which the lanes meet.
    pub(super) meets: usize,
}

/// A block of a side, and what follows it.
pub(super) struct Part {
    pub(super) block: usize,
    pub(super) after: After,
}

/// What the lanes of a part do behind its block.
pub(super) enum After {
    /// They go to the next part, or meet the other side.
    Goes,
    /// Lanes for which the branch is taken (or not taken) leave for the place where the side ends.
    Leaves { taken: bool },
    /// They take different ways, and the next part follows where they meet.
    Splits(Split),
}

/// Most steps of a region, those of blocks that are executed twice counted twice.
const MOST_STEPS: u32 = 160;

struct Search<'a> {
    program: &'a Program,
    graph: &'a Graph,
    /// Steps that may still be added.
    left: u32,
}

/// Returns for each block how its branch diverges, if code can execute that.
pub(super) fn find(program: &Program, graph: &Graph) -> Vec<Option<Split>> {
    let of = |(number, block): (usize, &Block)| {
        let End::Branch(branch) = block.end else { return None };
        let mut search = Search { program, graph, left: MOST_STEPS };
        search.split(number, branch).map(|(split, _)| split)
    };
    graph.blocks.iter().enumerate().map(of).collect()
}

impl Split {
    /// Calls a function for each part, those of inner branches included.
    pub(super) fn each<'a>(&'a self, act: &mut impl FnMut(&'a Part)) {
        each(&self.goes_on, act);
        each(&self.jumps, act);
    }
}

/// Calls a function for each part of a side.
pub(super) fn each<'a>(side: &'a [Part], act: &mut impl FnMut(&'a Part)) {
    for part in side {
        act(part);
        if let After::Splits(split) = &part.after {
            split.each(act);
        }
    }
}

impl Search<'_> {
    /// Returns the sides of a divergent branch, and the number of the block at which they meet.
    fn split(&mut self, block: usize, branch: Branch) -> Option<(Split, usize)> {
        if !branch.is_guarded || branch.is_backward || branch.meets >= NOWHERE - 1 {
            return None;
        }
        let meets = self.graph.block_starting(branch.meets)?;
        let target = self.graph.block_starting(branch.target)?;
        let goes_on = self.side(block + 1, meets)?;
        let jumps = self.side(target, meets)?;
        Some((Split { goes_on, jumps, meets }, meets))
    }

    /// Returns the parts of the way from a block to the place where it ends.
    fn side(&mut self, from: usize, end: usize) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut at = from;
        while at != end {
            let block = self.graph.blocks.get(at)?;
            self.left = self.left.checked_sub(block.steps.end - block.steps.start + 1)?;
            if !block.steps.clone().all(|pc| self.is_maskable(pc)) {
                return None;
            }
            let (after, next) = match block.end {
                End::Falls => (After::Goes, at + 1),
                End::Branch(branch) if !branch.is_guarded => {
                    (After::Goes, self.graph.block_starting(branch.target)?)
                }
                End::Branch(branch) => {
                    let to = |pc: u32| self.graph.block_starting(pc);
                    let meets = to(branch.meets).filter(|_| branch.meets < NOWHERE - 1)?;
                    if branch.is_backward {
                        return None;
                    } else if meets == end && to(branch.target) == Some(end) {
                        (After::Leaves { taken: true }, at + 1)
                    } else if meets == end && at + 1 == end {
                        (After::Leaves { taken: false }, to(branch.target)?)
                    } else {
                        let (split, meets) = self.split(at, branch)?;
                        (After::Splits(split), meets)
                    }
                }
                End::Exit | End::Interpreted => return None,
            };
            // Without a way back there is no loop.
            if next <= at {
                return None;
            }
            parts.push(Part { block: at, after });
            at = next;
        }
        Some(parts)
    }

    /// Returns true if code executes this step for some lanes of a warp.
    fn is_maskable(&self, pc: u32) -> bool {
        match &self.program.steps[pc as usize].action {
            Action::Rare(rare) => matches!(self.program.rare[*rare as usize], Rare::Nothing),
            Action::Branch(branch) => !branch.is_tangled,
            Action::Arithmetic(_) | Action::Parameter(_) | Action::Memory(_) => true,
        }
    }
}
