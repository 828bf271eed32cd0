//! The blocks of a function, and where the lanes of a warp that went different ways come together again.
//!
//! Lanes that part at a branch meet at its immediate post-dominator: the first block that all ways lead through. A
//! bounds check has a way that leads nowhere, to a `trap`, an `exit` or a call that never returns; with such ways
//! counted, nothing behind the check would post-dominate it, and lanes would run on one by one. So blocks from which
//! no `ret` can be reached are left out before post-dominators are sought.

mod dominators;

use std::ops::Range;

use super::body::{Body, Instruction, LabelId, LabelMeaning, Operand, SymbolMeaning};
use super::index::Index;
use dominators::immediate_dominators;

/// A block by its number: an index in [`Cfg::blocks`]. They are numbered in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Instructions that run one after another, and where they lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Indices in [`Body::instructions`]. Empty only for the place behind the last one.
    pub instructions: Range<u32>,
    /// Without repetition: first the block behind this one, where its end can be passed.
    pub successors: Vec<BlockId>,
    /// Whether its end may leave the function by `ret`, or by running past the last instruction.
    pub leaves: bool,
    /// Whether some way from here leads to a `ret`.
    pub returns: bool,
    /// Where lanes that part at this block's end meet again; none: not before the function ends.
    pub meets: Option<BlockId>,
}

/// The control flow graph of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// The first is where the function begins.
    pub blocks: Vec<Block>,
    /// Whether each loop has one way in. Where not, a meeting place may lie within a loop that lanes entered by
    /// different doors, and running the lane that is furthest behind is the safer rule.
    pub reducible: bool,
    /// By instruction.
    block_of: Vec<BlockId>,
}

/// How an instruction leads on.
struct Flow {
    /// To these labels.
    targets: Vec<u32>,
    /// To the next instruction.
    falls_through: bool,
    /// Out of the function, back to its caller.
    leaves: bool,
    /// Whether it ends a block.
    ends: bool,
}

impl Cfg {
    /// The index says which of the called functions never return.
    pub fn new(index: &Index<'_>, body: &Body) -> Self {
        let count = body.instructions.len() as u32;
        let flows: Vec<Flow> =
            body.instructions.iter().map(|instruction| flow(index, body, instruction)).collect();
        // Running past the end is a return; a jump there needs a block to land in.
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
        let mut cfg = Self { blocks, reducible: true, block_of };
        cfg.find_returning();
        cfg.find_meetings();
        cfg.reducible = cfg.is_reducible();
        cfg
    }

    /// The block that an instruction is in.
    pub fn block_of(&self, instruction: u32) -> Option<BlockId> {
        self.block_of.get(instruction as usize).copied()
    }

    /// The block of that number.
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.0 as usize]
    }

    /// By block: those that lead to it, in the order of the text.
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

    /// Post-dominators are dominators of the graph turned round, from one exit that all ends lead to. Blocks that
    /// never return lead only to their like, and have their own meeting places.
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

    /// Each edge that goes back, in some depth-first order, goes to a block that dominates where it comes from.
    fn is_reducible(&self) -> bool {
        let successors: Vec<Vec<u32>> =
            self.blocks.iter().map(|block| block.successors.iter().map(|to| to.0).collect()).collect();
        let dominators = immediate_dominators(&successors, 0);
        let back = dominators::back_edges(&successors, 0);
        // Depth in the tree of dominators, and a walk up to it, would do; the walk alone is short enough.
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
    match instruction.opcode.base() {
        "bra" => end(label.iter().filter_map(target).collect(), guarded, false),
        "brx" => {
            let list = label.and_then(|label| body.labels.get(label.0 as usize));
            let targets = match list.map(|label| &label.meaning) {
                Some(LabelMeaning::BranchTargets(targets)) => targets.iter().filter_map(target).collect(),
                _ => Vec::new(),
            };
            end(targets, guarded, false)
        }
        "ret" => end(Vec::new(), guarded, true),
        "exit" | "trap" => end(Vec::new(), guarded, false),
        "call" if never_returns(index, body, instruction) => end(Vec::new(), guarded, false),
        _ => Flow { targets: Vec::new(), falls_through: true, leaves: false, ends: false },
    }
}

/// Whether a call is to a function that is declared so.
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
