//! Finds the loops that ptxas unrolls, and what that saves.
//!
//! Of a loop that is one basic block and whose counter changes by a constant, ptxas makes one loop of four iterations and
//! another for the rest; where it knows the number of iterations and they are not too many, no loop is left. For example, of
//! a row that a warp adds up:
//!
//! ```text
//! L: ld.global.b32 a, [p]       a load and an addition for each iteration,
//!    add.rn.f32 s, s, a
//!    add.s64 p, p, 128          these once for four: the machine code has [p], [p+128], [p+256] and [p+384]
//!    add.s64 i, i, 32
//!    setp.lt.u64 q, i, n
//!    @q bra L
//! ```
//!
//! Seen in what ptxas 13.5 makes for `sm_90` of the 90 loops of one block that the open kernels of the program `fidelity` have:
//!
//! | loop | unrolled |
//! | --- | --- |
//! | counter steps by a constant, bound known at run time, up to 65 machine instructions with loads from global memory | four times |
//! | the same with shuffles (`decode_attention`); with votes it is (`btree_search`) | no |
//! | the same without loads (`monte_carlo_pi`), with 93 instructions or a division that branches to its rare cases (`thomas_columns`) | no |
//! | counter begins with the result of another loop (`label_minimum`), or with a few low bits of a number: what is left by a loop that the compiler unrolled | no |
//! | counter steps by what is known at run time (`gemv_bf16`), or depends on data (`binary_search`) | no |
//! | 5 to 19 iterations with up to 700 instructions in all (`pathfinder`, `viterbi`, `smith_waterman`, `trsm_columns`) | wholly |
//! | 16 or 60 iterations with more than 2000 (`crc32_bits`, `hough_votes`) | no |
//!
//! A loop of one load and 200 iterations is unrolled wholly, too.

use super::read::{integer, is_global, op, result, step};
use crate::count::Slots;
use crate::ptx::cfg::{BlockId, Cfg};
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::LogicVerb;
use crate::ptx::op::words::Comparison;
use crate::ptx::{Body, Instruction, Operand, RegisterId};
use std::collections::HashSet;
use std::ops::Range;

/// Iterations of which ptxas makes one where it does not know their number.
pub(crate) const ITERATIONS: u32 = 4;

/// Most machine instructions of an iteration of such a loop.
const MOST: u32 = 72;

/// Most machine instructions of all iterations of a loop of which none is left.
const MOST_WHOLE: u64 = 1500;

/// A mask up to which a counter is taken to be what another loop left.
const FEW: u64 = 31;

/// A loop that ptxas unrolls.
pub(super) struct Unrolled {
    /// Its basic block.
    pub(super) block: usize,
    /// Iterations that become one.
    pub(super) iterations: u32,
    /// True if no loop is left.
    pub(super) whole: bool,
    /// The instruction that sets the counter before the loop.
    pub(super) begins: u32,
    /// Instructions that are left once for all these iterations: steps of counters and pointers, the comparison, and the branch.
    pub(super) once: Vec<u32>,
}

/// Returns the loops of a function that ptxas unrolls. `slots` are those of its instructions.
pub(super) fn find(body: &Body, cfg: &Cfg, slots: &[Slots]) -> Vec<Unrolled> {
    let is_loop = |(index, _): &(usize, _)| cfg.blocks[*index].successors.contains(&BlockId(*index as u32));
    let loops = cfg.blocks.iter().enumerate().filter(is_loop);
    loops.filter_map(|(block, _)| Loop { body, cfg, block }.unrolled(slots)).collect()
}

/// A loop that is one basic block.
struct Loop<'a> {
    body: &'a Body,
    cfg: &'a Cfg,
    block: usize,
}

impl Loop<'_> {
    fn places(&self) -> Range<u32> {
        self.cfg.blocks[self.block].instructions.clone()
    }

    fn instruction(&self, at: u32) -> &Instruction {
        &self.body.instructions[at as usize]
    }

    /// The step of each register that an iteration changes only by adding a constant, with the instruction that does.
    fn steps(&self) -> Vec<(RegisterId, i64, u32)> {
        let step = |at: u32| {
            let (to, by) = step(self.instruction(at))?;
            let writes = self.places().filter(|at| result(self.instruction(*at)) == Some(to)).count();
            (writes == 1).then_some((to, by, at))
        };
        self.places().filter_map(step).collect()
    }

    fn unrolled(&self, slots: &[Slots]) -> Option<Unrolled> {
        let branch = self.places().next_back()?;
        let guard = self.instruction(branch).guard?;
        if guard.negated || op(self.instruction(branch)) != Op::Bra {
            return None;
        }
        let decides = |at: &u32| result(self.instruction(*at)) == Some(guard.register);
        let compare = self.places().rev().find(decides)?;
        let Op::Compare(comparison) = op(self.instruction(compare)) else { return None };
        let [_, left, right] = self.instruction(compare).operands.as_slice() else { return None };
        let steps = self.steps();
        let step_of = |operand: &Operand| match operand {
            Operand::Register(register) => steps.iter().find(|(stepped, ..)| stepped == register),
            _ => None,
        };
        let (counter, by, bound) = match (step_of(left), step_of(right)) {
            (Some(&(counter, by, _)), None) => (counter, by, right),
            (None, Some(&(counter, by, _))) => (counter, by, left),
            _ => return None,
        };
        if let Operand::Register(bound) = bound
            && self.places().any(|at| result(self.instruction(at)) == Some(*bound))
        {
            return None;
        }
        let blocks = |at: u32| slots[at as usize].is_sequence() || op(self.instruction(at)) == Op::Call;
        if self.places().any(blocks) {
            return None;
        }
        let begins = self.begins(counter)?;
        let size: u32 = self.places().map(|at| u32::from(slots[at as usize].issued)).sum();
        let trips = integer(bound).and_then(|bound| trips(self.value(begins)?, by, bound, comparison.test));
        let is_whole = trips.is_some_and(|trips| trips * u64::from(size) <= MOST_WHOLE);
        let loads = |at: u32| {
            let op = op(self.instruction(at));
            op.loads() && is_global(&op)
        };
        let shuffles = |at: u32| matches!(op(self.instruction(at)), Op::Shfl { .. });
        let suits = size <= MOST && self.places().any(loads) && !self.places().any(shuffles);
        if !is_whole && (!suits || self.is_rest(begins)) {
            return None;
        }
        let once = steps.iter().filter(|(register, ..)| self.only_addresses(*register, compare) || is_whole);
        let once = once.map(|(_, _, at)| *at).chain([compare, branch]).collect();
        let iterations = trips.filter(|_| is_whole).map_or(ITERATIONS, |trips| trips as u32);
        Some(Unrolled { block: self.block, iterations, whole: is_whole, begins, once })
    }

    /// The instruction that gives a register its value before the loop, if it is one.
    fn begins(&self, register: RegisterId) -> Option<u32> {
        let predecessors = self.cfg.predecessors();
        let mut seen = HashSet::from([BlockId(self.block as u32)]);
        let mut open = predecessors[self.block].clone();
        let mut found = None;
        while let Some(block) = open.pop() {
            if !seen.insert(block) {
                continue;
            }
            let mut places = self.cfg.block(block).instructions.clone().rev();
            match places.find(|at| result(self.instruction(*at)) == Some(register)) {
                Some(at) if found.is_some_and(|found| found != at) => return None,
                Some(at) => found = Some(at),
                None => open.extend(&predecessors[block.0 as usize]),
            }
        }
        found
    }

    /// The constant that an instruction gives, if it is known; through a register that its basic block sets before.
    fn value(&self, at: u32) -> Option<i64> {
        let instruction = self.instruction(at);
        let (Op::Mov(_), [_, value]) = (op(instruction), instruction.operands.as_slice()) else {
            return None;
        };
        match value {
            Operand::Register(from) => {
                let block = self.cfg.block(self.cfg.block_of(at)?);
                let sets = |at: &u32| result(self.instruction(*at)) == Some(*from);
                self.value((block.instructions.start..at).rev().find(sets)?)
            }
            value => integer(value),
        }
    }

    /// True if a counter begins with a few low bits of a number: a loop before has taken the others.
    fn is_rest(&self, begins: u32) -> bool {
        let instruction = self.instruction(begins);
        let mask = instruction.operands.get(2).and_then(integer);
        matches!(op(instruction), Op::Logic(LogicVerb::And, _))
            && mask.is_some_and(|mask| (0..=FEW as i64).contains(&mask))
    }

    /// True if the loop reads a register only to step it, to compare it, and as an address.
    fn only_addresses(&self, register: RegisterId, compare: u32) -> bool {
        self.places().all(|at| {
            let instruction = self.instruction(at);
            at == compare
                || result(instruction) == Some(register)
                || !instruction.operands.iter().any(|operand| reads(operand, register))
        })
    }
}

/// True if an operand is this register, and not an address in it.
fn reads(operand: &Operand, register: RegisterId) -> bool {
    match operand {
        Operand::Register(read) | Operand::Minus(read) | Operand::Not(read) => *read == register,
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().any(|part| reads(part, register)),
        _ => false,
    }
}

/// Iterations of a loop whose counter begins so, steps by so much in each, and goes on while the test with the bound holds.
fn trips(begin: i64, step: i64, bound: i64, test: Comparison) -> Option<u64> {
    use Comparison::{Greater, Higher, Less, Lower, NotEqual};
    let distance = bound.checked_sub(begin)?;
    let (whole, rest) = (distance.checked_div(step)?, distance.checked_rem(step)?);
    let trips = match test {
        NotEqual if rest == 0 => whole,
        Less | Lower if step > 0 => whole + i64::from(rest > 0),
        Greater | Higher if step < 0 => whole + i64::from(rest < 0),
        _ => return None,
    };
    u64::try_from(trips).ok().filter(|trips| *trips > 0)
}
