//! Divergent regions that compiled code executes itself, under an active mask.
//!
//! Where lanes of a warp disagree on a branch, the interpreter executes one side up to the branch's immediate
//! post-dominator, then the other ([`warp`](super::super::warp)), and counts each instruction once for each side that
//! reaches it. Code does the same where the way through the region can be written down before execution: it is made of
//! branches and of loops whose lanes meet right behind them, without an instruction that the interpreter executes. The
//! order of the sides is the interpreter's, so observers see the same accesses in the same order, and a block that both
//! sides reach is executed, and counted, twice.
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
//! one mask, however many follow it. Lanes leave a loop in the same way ([`Loop`]): the others go round until none is
//! left.
//!
//! LLVM may lay out a loop such that lanes meet before the branch at which they part ([`Split::returns`]), as in
//! `for (...) { if (c) x; y; barrier }`:
//!
//! ```text
//! 0  bra 4
//! 1  y
//! 2  barrier
//! 3  @last bra 7
//! 4  @!c bra 1     splits at 1:  first {5, 6}, the others leave for 1
//! 5  x
//! 6  bra 1
//! ```

use super::super::program::Program;
use super::super::step::{AT_RETURN, Action, Branch, Inside, NOWHERE, Rare};
use super::graph::{Block, End, Graph};

/// A divergent branch: what its lanes execute before they meet. A side that is empty goes there at once.
pub(super) struct Split {
    /// The lanes that go on behind the branch; they are first unless they have nothing to do.
    pub(super) goes_on: Vec<Part>,
    pub(super) jumps: Vec<Part>,
    /// The block at which the lanes meet; None if all of them exit.
    pub(super) meets: Option<usize>,
    /// The lanes that jump are first, since they do nothing but exit.
    pub(super) jumps_first: bool,
    /// The lanes meet by branches back, at which a time slice may end: code needs time for both sides, which have no loop.
    pub(super) returns: bool,
}

/// A piece of a side.
pub(super) enum Part {
    Block(usize, After),
    /// Parts that lanes repeat until they have left for the place where the loop ends.
    Loop(Loop),
}

/// A loop, all of whose lanes meet behind its last block.
pub(super) struct Loop {
    pub(super) first: usize,
    pub(super) body: Vec<Part>,
    pub(super) meets: usize,
    /// The lanes come from the loop's end, by the branch back.
    pub(super) goes_back: bool,
}

/// The way of the lanes behind a block.
pub(super) enum After {
    /// They go to the next part, or meet the other side.
    Goes,
    /// Lanes for which the branch is taken (or not taken) leave for the place where the side or the loop ends.
    Leaves { taken: bool },
    /// They take different ways, and the next part follows where they meet.
    Splits(Split),
    /// They have exited.
    Exits,
}

/// Most steps of a region, those of blocks that are executed twice counted twice.
pub(super) const MOST_STEPS: u32 = 160;

/// Most steps of all regions of a kernel: LLVM takes about a millisecond for each.
const MOST_STEPS_IN_ALL: u32 = 1024;

/// Most branches and loops within one another.
pub(super) const DEEPEST: usize = 12;

struct Search<'a> {
    program: &'a Program,
    graph: &'a Graph,
    /// Steps that may still be added.
    left: u32,
    /// Branches and loops that may still be nested.
    depth: usize,
}

/// Returns for each block how its branch diverges, if code can execute that.
pub(super) fn find(program: &Program, graph: &Graph) -> Vec<Option<Split>> {
    let mut left = MOST_STEPS_IN_ALL;
    let of = |(number, block): (usize, &Block)| {
        let End::Branch(branch) = block.end else { return None };
        let most = left.min(MOST_STEPS);
        let mut search = Search { program, graph, left: most, depth: DEEPEST };
        let split = search.split(number, branch)?;
        left -= most - search.left;
        Some(split)
    };
    graph.blocks.iter().enumerate().map(of).collect()
}

impl Part {
    /// Returns the block at which the part begins.
    pub(super) fn first(&self) -> usize {
        match self {
            Self::Block(block, _) => *block,
            Self::Loop(repeated) => repeated.first,
        }
    }
}

/// Calls a function for each block of a side, those of inner branches and loops included.
pub(super) fn each(side: &[Part], act: &mut impl FnMut(usize)) {
    for part in side {
        match part {
            Part::Block(block, after) => {
                act(*block);
                if let After::Splits(split) = after {
                    each(&split.goes_on, act);
                    each(&split.jumps, act);
                }
            }
            Part::Loop(repeated) => each(&repeated.body, act),
        }
    }
}

/// Returns true if lanes may repeat a part of a side.
fn has_loop(side: &[Part]) -> bool {
    side.iter().any(|part| match part {
        Part::Loop(_) => true,
        Part::Block(_, After::Splits(split)) => has_loop(&split.goes_on) || has_loop(&split.jumps),
        Part::Block(..) => false,
    })
}

impl Search<'_> {
    /// Returns the sides of a divergent branch.
    fn split(&mut self, block: usize, branch: Branch) -> Option<Split> {
        let meets_inside = |inside: &Inside| inside.meets.iter().any(|(_, depth)| *depth > 0);
        if !branch.is_guarded
            || branch.meets == AT_RETURN
            || self.program.inside.get(branch.inside as usize).is_some_and(meets_inside)
        {
            return None;
        }
        let meets = match branch.meets {
            NOWHERE => None,
            pc => Some(self.graph.block_starting(pc)?),
        };
        let target = self.graph.block_starting(branch.target)?;
        self.depth = self.depth.checked_sub(1)?;
        let goes_on = self.side(block + 1, meets, None)?;
        let jumps = if branch.is_backward && Some(target) != meets {
            // Behind the loop, lanes that leave it would go first and meet the others later.
            if Some(block + 1) != meets {
                return None;
            }
            vec![Part::Loop(self.repeated(target, true).filter(|repeated| Some(repeated.meets) == meets)?)]
        } else {
            self.side(target, meets, None)?
        };
        self.depth += 1;
        let returns = meets.is_some_and(|meets| meets <= block);
        if returns && (has_loop(&goes_on) || has_loop(&jumps)) {
            return None;
        }
        let jumps_first =
            matches!(self.graph.blocks[target], Block { end: End::Exit, ref steps, .. } if steps.len() == 1);
        Some(Split { goes_on, jumps, meets, jumps_first, returns })
    }

    /// Returns the loop that begins at a block: up to the last block that jumps back there.
    fn repeated(&mut self, first: usize, goes_back: bool) -> Option<Loop> {
        let last = self.last_of_loop(first)?;
        self.depth = self.depth.checked_sub(1)?;
        let body = self.side(first, Some(last + 1), Some(first))?;
        self.depth += 1;
        Some(Loop { first, body, meets: last + 1, goes_back })
    }

    fn last_of_loop(&self, first: usize) -> Option<usize> {
        let start = self.graph.blocks[first].steps.start;
        let goes_back = |block: &Block| matches!(block.end, End::Branch(branch) if branch.target == start);
        (first..self.graph.blocks.len()).rfind(|block| goes_back(&self.graph.blocks[*block]))
    }

    /// Returns the parts of the way from a block to the place where it ends, or back to the loop's first block. Without
    /// such a place, the lanes exit.
    fn side(&mut self, from: usize, end: Option<usize>, repeats: Option<usize>) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut at = from;
        let mut is_first = repeats.is_some();
        while Some(at) != end {
            let block = self.graph.blocks.get(at)?;
            if !std::mem::take(&mut is_first) && self.last_of_loop(at).is_some() {
                let repeated = self.repeated(at, false)?;
                at = repeated.meets;
                parts.push(Part::Loop(repeated));
                continue;
            }
            self.left = self.left.checked_sub(block.steps.end - block.steps.start + 1)?;
            if !block.straight().all(|pc| self.is_maskable(pc)) {
                return None;
            }
            let to = |pc: u32| self.graph.block_starting(pc);
            let (after, next) = match block.end {
                End::Falls => (After::Goes, at + 1),
                End::Branch(branch) if !branch.is_guarded => (After::Goes, to(branch.target)?),
                End::Branch(branch) => {
                    let leaves = end.is_some() && branch.meets != NOWHERE && to(branch.meets) == end;
                    if leaves && to(branch.target) == end {
                        (After::Leaves { taken: true }, at + 1)
                    } else if leaves && Some(at + 1) == end {
                        (After::Leaves { taken: false }, to(branch.target)?)
                    } else if branch.is_backward {
                        return None;
                    } else {
                        let split = self.split(at, branch).filter(|split| !split.returns)?;
                        let Some(meets) = split.meets else {
                            parts.push(Part::Block(at, After::Splits(split)));
                            return end.is_none().then_some(parts);
                        };
                        (After::Splits(split), meets)
                    }
                }
                End::Exit => {
                    parts.push(Part::Block(at, After::Exits));
                    return end.is_none().then_some(parts);
                }
                End::Interpreted => return None,
            };
            parts.push(Part::Block(at, after));
            if Some(next) == repeats {
                return Some(parts);
            }
            if next <= at && Some(next) != end {
                // The rest of a round of a loop that the warp entered as a whole.
                let repeated = self.repeated(next, true)?;
                if repeated.meets <= at {
                    return None;
                }
                at = repeated.meets;
                parts.push(Part::Loop(repeated));
                continue;
            }
            at = next;
        }
        // A loop's body comes to its end by the branch back alone.
        repeats.is_none().then_some(parts)
    }

    /// Returns true if code executes this step for some lanes of a warp.
    fn is_maskable(&self, pc: u32) -> bool {
        match &self.program.steps[pc as usize].action {
            Action::Rare(rare) => matches!(self.program.rare[*rare as usize], Rare::Nothing),
            Action::Arithmetic(_) | Action::Parameter(_) | Action::Memory(_) => true,
            Action::Branch(_) => false,
        }
    }
}
