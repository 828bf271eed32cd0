//! The basic blocks of a kernel as the compiled tier sees them, and the registers that are live in them.
//!
//! A block ends at a branch, before an instruction that the interpreter executes ([`End::Interpreted`]), and before a
//! step that something jumps to or that the interpreter may return to.
//!
//! For example, in this kernel the interpreter executes the barrier, and may hand the warp back behind it:
//!
//! ```text
//! 0  ld.global.b32 %r1, [%rd1]      B0: steps 0 and 1, then the interpreter; %r1 and %rd1 are live at its end
//! 1  st.shared.b32 [%r2], %r1
//! 2  bar.sync 0                     no block
//! 3  ld.shared.b32 %r3, [%r2+4]     B1: steps 3 to 5, an entry
//! 4  setp.eq.u32 %p1, %r3, 0
//! 5  @%p1 bra 7
//! 6  st.global.b32 [%rd1], %r3      B2
//! 7  ret                            B3: an entry too, where lanes meet that step 5 has parted
//! ```
//!
//! Registers that are live where code starts or stops travel through the frame. Liveness is the usual backward data-flow
//! analysis; a guarded instruction does not end the life of its result, since some lanes keep the old value.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::super::block::BARRIERS;
use super::super::layout::Fill;
use super::super::program::{FunctionCode, Program};
use super::super::step::{Action, BarrierKind, Branch, NOWHERE, Rare};
use crate::registers::{Slot, Width};

/// A basic block.
pub(super) struct Block {
    /// Steps that compiled code executes, the branch or exit at the end included.
    pub(super) steps: Range<u32>,
    pub(super) end: End,
    /// Blocks that may follow, an interpreted step between them or not.
    pub(super) successors: Vec<usize>,
}

impl Block {
    /// Returns the steps without the branch or the exit at the end.
    pub(super) fn straight(&self) -> Range<u32> {
        match self.end {
            End::Branch(_) | End::Exit => self.steps.start..self.steps.end - 1,
            End::Falls | End::Interpreted => self.steps.clone(),
        }
    }
}

/// The way a block ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// Control falls through to the next block.
    Falls,
    /// A branch, the last of the steps.
    Branch(Branch),
    /// All lanes exit, by the last of the steps.
    Exit,
    /// The interpreter executes the step behind the block's.
    Interpreted,
}

/// The graph of a kernel's blocks.
pub(super) struct Graph {
    pub(super) first: u32,
    pub(super) blocks: Vec<Block>,
    /// Block of each step, by its distance from the first; [`NO_BLOCK`] of interpreted steps.
    block_of: Vec<u32>,
    /// Steps at which the interpreter may hand a warp over.
    pub(super) entries: Vec<u32>,
    /// Registers that are kept in variables, ascending by cell.
    pub(super) registers: Vec<Slot>,
    numbers: HashMap<u32, usize>,
    live_at_start: Vec<Set>,
}

const NO_BLOCK: u32 = u32::MAX;

/// A set of registers: a bit each.
type Set = Vec<u64>;

/// Returns true if compiled code executes this rare instruction by a call, for whole warps.
pub(super) fn is_called(rare: &Rare) -> bool {
    match rare {
        Rare::Collective(collective, constant) => {
            collective.member_mask.is_none() || *constant == Some(u32::MAX)
        }
        Rare::WarpBarrier { constant, .. } => *constant == Some(u32::MAX),
        Rare::Product(_) | Rare::Parameters(_) | Rare::Nothing => true,
        _ => false,
    }
}

/// Returns the number of a barrier of the whole block, if it is a constant: such a barrier reads no register.
pub(super) fn plain_barrier(function: &FunctionCode, rare: &Rare) -> Option<u32> {
    let Rare::Barrier(barrier) = rare else { return None };
    let fill = function.filled.iter().find(|(filled, _)| *filled == barrier.number).map(|(_, fill)| *fill);
    match (barrier.kind, barrier.threads, fill) {
        (BarrierKind::Sync, None, Some(Fill::Bits(number))) if number < BARRIERS as u128 => {
            Some(number as u32)
        }
        _ => None,
    }
}

impl Graph {
    pub(super) fn new(program: &Program, function: &FunctionCode) -> Self {
        let (first, end) = (function.first, function.end);
        let step = |pc: u32| &program.steps[pc as usize];
        let rare = |pc: u32| match step(pc).action {
            Action::Rare(index) => Some(&program.rare[index as usize]),
            _ => None,
        };
        let is_guarded = |pc: u32| step(pc).guard != 0;
        let is_exit = |pc: u32| matches!(rare(pc), Some(Rare::Exit)) && !is_guarded(pc);
        let is_interpreted = |pc: u32| match step(pc).action {
            Action::Branch(branch) => branch.spins,
            Action::Rare(_) => !is_exit(pc) && (is_guarded(pc) || !rare(pc).is_some_and(is_called)),
            Action::Memory(index) => program.memory[index as usize].may_wait(),
            _ => false,
        };
        let mut entries = BTreeSet::from([first]);
        let mut leaders = BTreeSet::from([first]);
        for pc in first..end {
            if is_interpreted(pc) {
                leaders.extend([pc, pc + 1]);
                entries.insert(pc + 1);
            }
            if is_exit(pc) {
                leaders.insert(pc + 1);
            }
            match &step(pc).action {
                Action::Branch(branch) => {
                    leaders.extend([branch.target, pc + 1]);
                    if branch.is_guarded && branch.meets < NOWHERE - 1 {
                        leaders.insert(branch.meets);
                        entries.insert(branch.meets);
                    }
                }
                Action::Rare(_) => {
                    if let Some(Rare::Switch { targets, meets, .. }) = rare(pc) {
                        leaders.extend(targets.iter().copied());
                        leaders.extend((*meets < NOWHERE - 1).then_some(*meets));
                    }
                }
                _ => {}
            }
        }
        leaders.insert(end);
        let leaders: Vec<u32> = leaders.into_iter().filter(|pc| (first..=end).contains(pc)).collect();
        let mut blocks = Vec::new();
        let mut block_of = vec![NO_BLOCK; (end - first) as usize];
        for pair in leaders.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            let last = end - 1;
            let number = blocks.len();
            let (steps, end) = if is_interpreted(last) {
                // Alone in its range, since the step is a leader.
                (start..last, End::Interpreted)
            } else {
                let kind = match step(last).action {
                    Action::Branch(branch) => End::Branch(branch),
                    Action::Rare(_) if is_exit(last) => End::Exit,
                    _ => End::Falls,
                };
                (start..end, kind)
            };
            steps.clone().for_each(|pc| block_of[(pc - first) as usize] = number as u32);
            blocks.push((steps, end, last));
        }
        let numbers: HashMap<u32, usize> =
            blocks.iter().enumerate().map(|(number, block)| (block.0.start, number)).collect();
        let blocks: Vec<Block> = blocks
            .into_iter()
            .enumerate()
            .map(|(number, (steps, end_kind, last))| {
                let at = |pc: u32| numbers.get(&pc).copied();
                let next = (last + 1 < end).then_some(number + 1);
                let successors: Vec<usize> = match end_kind {
                    End::Falls => next.into_iter().collect(),
                    End::Exit => Vec::new(),
                    End::Branch(branch) if branch.is_guarded => {
                        at(branch.target).into_iter().chain(next).collect()
                    }
                    End::Branch(branch) => at(branch.target).into_iter().collect(),
                    End::Interpreted => match (&step(last).action, rare(last)) {
                        (Action::Branch(branch), _) => at(branch.target).into_iter().chain(next).collect(),
                        (_, Some(Rare::Switch { targets, .. })) => {
                            targets.iter().filter_map(|pc| at(*pc)).chain(next).collect()
                        }
                        (_, Some(Rare::Exit)) if !is_guarded(last) => Vec::new(),
                        (_, Some(Rare::Trap)) if !is_guarded(last) => Vec::new(),
                        _ => next.into_iter().collect(),
                    },
                };
                Block { steps, end: end_kind, successors }
            })
            .collect();
        let entries = entries.into_iter().filter(|pc| *pc < end).collect();
        let mut graph = Self {
            first,
            blocks,
            block_of,
            entries,
            registers: Vec::new(),
            numbers: HashMap::new(),
            live_at_start: Vec::new(),
        };
        graph.entries.retain(|pc| graph.block_of[(*pc - first) as usize] != NO_BLOCK);
        graph.find_registers(program, function);
        graph.find_live(program);
        graph
    }

    /// Collects the registers. Those of 128 bits stay in the frame.
    fn find_registers(&mut self, program: &Program, function: &FunctionCode) {
        let filled: std::collections::HashSet<u32> =
            function.filled.iter().map(|(slot, _)| slot.cell).collect();
        let mut found: BTreeSet<(u32, u8)> = BTreeSet::new();
        let code = |width| match width {
            Width::Predicate => 0,
            Width::Word => 1,
            Width::Double => 2,
            Width::Quad => 3,
        };
        for pc in function.first..function.end {
            let index = pc as usize;
            let interpreted = self.block_of[(pc - self.first) as usize] == NO_BLOCK;
            let is_bytes = |slot: &Slot| interpreted && slot.width == Width::Predicate;
            for slot in program.uses.sources(index).iter().chain(program.uses.results(index)) {
                // Columns that stand for the bytes of `.param` variables look like predicates. Only interpreted
                // steps use them, and real predicates among those occur elsewhere too.
                if !filled.contains(&slot.cell) && !is_bytes(slot) {
                    found.insert((slot.cell, code(slot.width)));
                }
            }
        }
        let widths = [Width::Predicate, Width::Word, Width::Double, Width::Quad];
        self.registers = found
            .into_iter()
            .map(|(cell, width)| Slot { cell, width: widths[usize::from(width)] })
            .filter(|slot| slot.width != Width::Quad)
            .collect();
        self.numbers = self.registers.iter().enumerate().map(|(number, slot)| (slot.cell, number)).collect();
    }

    /// Returns the number of a register that is kept in a variable.
    pub(super) fn register(&self, cell: u32) -> Option<usize> {
        self.numbers.get(&cell).copied()
    }

    /// Returns the block that begins at a step.
    pub(super) fn block_starting(&self, pc: u32) -> Option<usize> {
        self.blocks.iter().position(|block| block.steps.start == pc)
    }

    fn step_back(&self, program: &Program, live: &mut Set, pc: u32) {
        let index = pc as usize;
        if program.steps[index].guard == 0 {
            for number in program.uses.results(index).iter().filter_map(|slot| self.register(slot.cell)) {
                live[number / 64] &= !(1 << (number % 64));
            }
        }
        for number in program.uses.sources(index).iter().filter_map(|slot| self.register(slot.cell)) {
            live[number / 64] |= 1 << (number % 64);
        }
    }

    /// Steps of a block, the interpreted one at its end included.
    fn all_steps(&self, block: usize) -> Range<u32> {
        let Block { steps, end, .. } = &self.blocks[block];
        steps.start..steps.end + u32::from(matches!(end, End::Interpreted))
    }

    fn live_at_end(&self, block: usize) -> Set {
        let mut live = vec![0; self.registers.len().div_ceil(64)];
        for next in &self.blocks[block].successors {
            live.iter_mut().zip(&self.live_at_start[*next]).for_each(|(live, more)| *live |= more);
        }
        live
    }

    fn find_live(&mut self, program: &Program) {
        self.live_at_start = vec![vec![0; self.registers.len().div_ceil(64)]; self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..self.blocks.len()).rev() {
                let mut live = self.live_at_end(block);
                for pc in self.all_steps(block).rev() {
                    self.step_back(program, &mut live, pc);
                }
                changed |= live != self.live_at_start[block];
                self.live_at_start[block] = live;
            }
        }
    }

    /// Returns the numbers of the registers that are live before a step: one of a block, or the interpreted one at
    /// its end.
    pub(super) fn live_before(&self, program: &Program, pc: u32) -> Vec<usize> {
        let block = (0..self.blocks.len()).find(|block| self.all_steps(*block).contains(&pc));
        let Some(block) = block else { return Vec::new() };
        let mut live = self.live_at_end(block);
        for pc in (pc..self.all_steps(block).end).rev() {
            self.step_back(program, &mut live, pc);
        }
        (0..self.registers.len()).filter(|number| live[number / 64] >> (number % 64) & 1 != 0).collect()
    }
}
