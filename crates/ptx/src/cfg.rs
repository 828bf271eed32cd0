//! The control flow graph of a function, and the reconvergence points of divergent lanes.
//!
//! Lanes that diverge at a branch reconverge at its immediate post-dominator: the first block on all paths to the
//! function's end. A bounds check has a path that ends in a `trap`, an `exit` or a call that never returns. If such
//! paths counted, nothing behind the check would post-dominate it, and lanes would never reconverge. So blocks from
//! which no `ret` can be reached are removed before post-dominators are computed. For example:
//!
//! ```text
//! B0: @%p bra B2;      reconverges at B3: B2 is removed, since it cannot return
//! B1: ... bra B3;
//! B2: trap;
//! B3: ret;
//! ```

mod dominators;
mod loops;

use std::ops::Range;

use super::body::{Body, Instruction, LabelId, LabelMeaning, Operand, SymbolMeaning};
use super::index::Index;
use super::op::Op;
use dominators::immediate_dominators;
use loops::Loops;

pub use loops::Meeting;

/// A basic block: an index in [`Cfg::blocks`], which is in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A basic block and its successors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Indices in [`Body::instructions`]. Empty only for the end of the function.
    pub instructions: Range<u32>,
    /// Successors without repetition: first the next block, if control falls through.
    pub successors: Vec<BlockId>,
    /// True if its end may leave the function by `ret`, or by running past the last instruction.
    pub leaves: bool,
    /// True if some path from here leads to a `ret`.
    pub returns: bool,
    /// Reconvergence point of lanes that diverge at this block's end; None if they do not reconverge before the
    /// function ends.
    pub meets: Option<BlockId>,
    /// Reconvergence points of lanes that may leave loops: first that of all lanes, last that of those that stay in the innermost
    /// loop. Empty if that is [`Self::meets`] alone.
    pub meetings: Vec<Meeting>,
}

/// The control flow graph of a function.
#[derive(Debug)]
pub struct Cfg {
    /// Basic blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// True if each loop has a single entry. If not, a reconvergence point may lie within a loop that lanes entered at
    /// different blocks, and running the fragment with the lowest program counter is the safer rule.
    pub reducible: bool,
    /// True if a block has [`Block::meetings`].
    pub has_meetings: bool,
    /// Block of each instruction.
    block_of: Vec<BlockId>,
    loops: Loops,
}

/// Control flow behind an instruction.
struct Flow {
    /// Labels to which it jumps.
    targets: Vec<u32>,
    /// True if it continues at the next instruction.
    falls_through: bool,
    /// True if it returns to the function's caller.
    leaves: bool,
    /// True if it ends a basic block.
    ends: bool,
}

impl Cfg {
    /// Builds the graph. The index tells which callees never return.
    pub fn new(index: &Index<'_>, body: &Body) -> Self {
        let count = body.instructions.len() as u32;
        let flows: Vec<Flow> =
            body.instructions.iter().map(|instruction| flow(index, body, instruction)).collect();
        // Running past the end is a return; a jump there needs a block as its target.
        let mut leaders = vec![false; count as usize + 1];
        leaders[0] = true;
        for (flow, next) in flows.iter().zip(1..) {
            leaders[next] |= flow.ends && next < count as usize;
            flow.targets.iter().for_each(|target| leaders[*target as usize] = true);
        }
        let mut starts: Vec<u32> = (0..=count).filter(|place| leaders[*place as usize]).collect();
        starts.push(count);
        let mut block_of = vec![BlockId(0); count as usize + 1];
        let mut blocks = Vec::with_capacity(starts.len());
        let ends_at = |index: usize| starts[index + 1];
        for (index, start) in starts[..starts.len() - 1].iter().enumerate() {
            let instructions = *start..ends_at(index);
            let last = instructions.end.max(instructions.start + 1) as usize;
            block_of[*start as usize..last].fill(BlockId(index as u32));
            blocks.push(Block {
                instructions,
                successors: Vec::new(),
                leaves: false,
                returns: false,
                meets: None,
                meetings: Vec::new(),
            });
        }
        let last_block = blocks.len() - 1;
        for (index, block) in blocks.iter_mut().enumerate() {
            let flow = block.instructions.clone().next_back().map(|last| &flows[last as usize]);
            let falls_through = flow.is_none_or(|flow| flow.falls_through);
            block.leaves = flow.is_some_and(|flow| flow.leaves) || falls_through && index == last_block;
            if falls_through && index != last_block {
                block.successors.push(BlockId(index as u32 + 1));
            }
            for target in flow.map_or(&[][..], |flow| flow.targets.as_slice()) {
                let target = block_of[*target as usize];
                if !block.successors.contains(&target) {
                    block.successors.push(target);
                }
            }
        }
        block_of.truncate(count as usize);
        let mut cfg =
            Self { blocks, reducible: true, has_meetings: false, block_of, loops: Loops::default() };
        cfg.find_returning();
        cfg.find_meetings();
        cfg.reducible = cfg.is_reducible();
        if cfg.reducible {
            cfg.loops = Loops::new(&cfg.blocks, &cfg.predecessors());
            cfg.loops.find_meetings(&mut cfg.blocks);
            cfg.has_meetings = cfg.blocks.iter().any(|block| !block.meetings.is_empty());
        }
        cfg
    }

    /// Returns the block of an instruction.
    pub fn block_of(&self, instruction: u32) -> Option<BlockId> {
        self.block_of.get(instruction as usize).copied()
    }

    /// Returns the block of this number.
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.0 as usize]
    }

    /// Returns how many loops contain both blocks; none where loops have several entries.
    pub fn loops_around(&self, from: BlockId, to: BlockId) -> u32 {
        self.loops.around(from, to)
    }

    /// Returns each block's predecessors, in the order of the text.
    pub fn predecessors(&self) -> Vec<Vec<BlockId>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for (block, from) in self.blocks.iter().zip(0..) {
            block.successors.iter().for_each(|to| predecessors[to.0 as usize].push(BlockId(from)));
        }
        predecessors
    }

    fn find_returning(&mut self) {
        let predecessors = self.predecessors();
        let leaving = |(index, block): (usize, &Block)| block.leaves.then_some(index as u32);
        let mut open: Vec<u32> = self.blocks.iter().enumerate().filter_map(leaving).collect();
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut self.blocks[index as usize].returns, true) {
                open.extend(predecessors[index as usize].iter().map(|from| from.0));
            }
        }
    }

    /// Computes post-dominators as dominators of the reversed graph, from one exit to which all ends lead. Blocks that
    /// never return lead only to such blocks, and have reconvergence points of their own.
    fn find_meetings(&mut self) {
        let exit = self.blocks.len();
        let mut turned = vec![Vec::new(); exit + 1];
        for (block, index) in self.blocks.iter().zip(0..) {
            let is_end = if block.returns { block.leaves } else { block.successors.is_empty() };
            if is_end {
                turned[exit].push(index);
            }
            for to in &block.successors {
                if self.blocks[to.0 as usize].returns == block.returns {
                    turned[to.0 as usize].push(index);
                }
            }
        }
        let meets = immediate_dominators(&turned, exit as u32);
        for (block, meets) in self.blocks.iter_mut().zip(meets) {
            block.meets = meets.filter(|meets| *meets as usize != exit).map(BlockId);
        }
    }

    /// Returns true if the target of each back edge, in a depth-first order, dominates its source.
    fn is_reducible(&self) -> bool {
        let successors: Vec<Vec<u32>> =
            self.blocks.iter().map(|block| block.successors.iter().map(|to| to.0).collect()).collect();
        let dominators = immediate_dominators(&successors, 0);
        let back = dominators::back_edges(&successors, 0);
        // A walk up the tree of dominators is short enough without the nodes' depths.
        back.into_iter().all(|(from, to)| {
            let mut at = from;
            while at != to {
                match dominators[at as usize] {
                    Some(up) if up != at => at = up,
                    _ => return false,
                }
            }
            true
        })
    }
}

fn flow(index: &Index<'_>, body: &Body, instruction: &Instruction) -> Flow {
    let guarded = instruction.guard.is_some();
    let target = |label: &LabelId| body.target(*label);
    let label = instruction.operands.iter().find_map(|operand| match operand {
        Operand::Label(label) => Some(*label),
        _ => None,
    });
    let end = |targets, falls_through, leaves| Flow { targets, falls_through, leaves, ends: true };
    let Ok(op) = instruction.opcode.op() else {
        return Flow { targets: Vec::new(), falls_through: true, leaves: false, ends: false };
    };
    match op {
        Op::Bra => end(label.iter().filter_map(target).collect(), guarded, false),
        Op::Brx => {
            let list = label.and_then(|label| body.labels.get(label.0 as usize));
            let targets = match list.map(|label| &label.meaning) {
                Some(LabelMeaning::BranchTargets(targets)) => targets.iter().filter_map(target).collect(),
                _ => Vec::new(),
            };
            end(targets, guarded, false)
        }
        Op::Ret => end(Vec::new(), guarded, true),
        Op::Exit | Op::Trap => end(Vec::new(), guarded, false),
        Op::Call if never_returns(index, body, instruction) => end(Vec::new(), guarded, false),
        _ => Flow { targets: Vec::new(), falls_through: true, leaves: false, ends: false },
    }
}

/// Returns true if a call is to a function that is declared `.noreturn`.
fn never_returns(index: &Index<'_>, body: &Body, instruction: &Instruction) -> bool {
    let Some(call) = instruction.call() else { return false };
    if let Operand::Symbol(symbol, _) = call.target
        && symbol.meaning == SymbolMeaning::Module
    {
        return index.never_returns(&symbol.name);
    }
    match call.prototype.and_then(|label| body.labels.get(label.0 as usize)).map(|label| &label.meaning) {
        Some(LabelMeaning::Prototype(prototype)) => prototype.never_returns,
        Some(LabelMeaning::CallTargets(targets)) => targets.iter().all(|target| index.never_returns(target)),
        _ => false,
    }
}
