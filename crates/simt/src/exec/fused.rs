//! Corrects the [`Slots`] of instructions by what ptxas makes of them together.
//!
//! [`Slots::of`] prices each PTX instruction alone. Machine instructions do more at once, so ptxas fuses instructions that follow
//! from each other in the same basic block, and it chooses among units. The rules were read off the machine code that ptxas 13.5
//! makes for `sm_90` of kernels of the program `fidelity` that may be looked at:
//!
//! | PTX | machine code |
//! | --- | --- |
//! | logical operations that follow from three operands, and a comparison with their result | one `LOP3`, which takes three operands and sets a predicate |
//! | `shl` that only additions read | `LEA` for each (64 bits: `LEA` and `LEA.HI.X`) |
//! | `mul.wide` that only additions read | `IMAD.WIDE` for each |
//! | two additions | one `IADD3` |
//! | logical operations on predicates | a third operand of `ISETP` |
//! | `and` or `bfe` of a byte or half, and its conversion to a float | one `I2F`, on the unit for special functions |
//! | `shl` in 32 bits | `IMAD.SHL`, on the multiplier; in 64 bits one half |
//! | `add` in 32 bits | `IADD3` and `IMAD.IADD` alternately, so that both units are used; in 64 bits one half each |
//! | what is the same in all lanes | the uniform datapath, which takes an issue slot and no lanes of a unit |
//! | `@p bra A; bra B; A:` | one branch to `B` under the opposite condition |
//! | nothing | a kernel's stack; the descriptor of global memory; a load of each parameter, and a move of each special register |
//!
//! For example, `(a & b) ^ (a & c) ^ (b & c)` is one instruction, and `a[i] + b[i]` needs no product but those of its two addresses:
//!
//! ```text
//! mul.wide.u32 q, i, 4          nothing
//! add.s64 p, a, q               IMAD.WIDE.U32 p, i, 0x4, a
//! add.s64 r, b, q               IMAD.WIDE.U32 r, i, 0x4, b
//! ```

use super::halves;
use super::layout::ALWAYS;
use super::read;
use super::uses::Uses;
use crate::count::Slots;
use crate::ptx::cfg::{Block, Cfg};
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Convert, FieldVerb, Format, Integer, IntegerVerb, LogicVerb};
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::{AddressSpace, Part};
use crate::ptx::{Body, Instruction, Operand, ScalarType};
use crate::registers::Slot;
use std::collections::{HashMap, HashSet};

/// Kind of an instruction, as far as it can be fused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A logical operation on 32 bits.
    Logic,
    /// One on 64 bits, of which each half is one on 32.
    WideLogic,
    /// One on predicates.
    Predicate,
    ShiftLeft,
    /// A product of 32 bits with 64 bits.
    WideProduct,
    Add,
    Compare,
    /// A logical operation that leaves the lowest byte or half of 32 bits.
    Mask,
    /// The extraction of another one.
    Piece,
    /// A conversion of 32 bits to a float.
    ToFloat,
    Other,
}

/// Operands of a machine instruction.
const OPERANDS: usize = 3;

/// An instruction that may be fused with the one that reads its result.
struct Maker {
    at: usize,
    /// Operands of the machine instruction that computes its result.
    operands: Operands,
}

/// Columns that a machine instruction reads, those of constants among them.
#[derive(Clone, Default)]
struct Operands(Vec<u32>);

impl Operands {
    fn of(sources: &[Slot]) -> Self {
        let mut all = Self::default();
        sources.iter().filter(|slot| **slot != ALWAYS).for_each(|slot| all.add(slot.cell));
        all
    }

    fn add(&mut self, column: u32) {
        if !self.0.contains(&column) {
            self.0.push(column);
        }
    }

    /// These with what the maker of a column reads instead of that column.
    fn with(&self, column: u32, maker: &Self) -> Self {
        let mut all = self.clone();
        all.0.retain(|one| *one != column);
        maker.0.iter().for_each(|column| all.add(*column));
        all
    }

    /// True if one machine instruction reads them all.
    fn fit(&self) -> bool {
        self.0.len() <= OPERANDS
    }
}

/// Returns the slots of a function's instructions. `varying` are the columns that differ between lanes.
pub(super) fn slots(
    body: &Body,
    cfg: &Cfg,
    uses: &Uses,
    varying: &HashSet<u32>,
    (is_entry, first): (bool, u32),
) -> Vec<Slots> {
    let ops: Vec<Op> = body.instructions.iter().map(read::op).collect();
    let mut slots: Vec<Slots> = ops.iter().map(Slots::of).collect();
    for (at, issued) in halves::find(body) {
        let slots = &mut slots[at as usize];
        (slots.issued, slots.integer, slots.clocks) = (issued, issued, 4 * u16::from(issued));
    }
    let kinds = ops.iter().zip(&body.instructions).map(|(op, instruction)| kind(op, instruction));
    let kinds: Vec<Kind> = kinds.collect();
    let (mut readers, mut writers): (HashMap<u32, Vec<Kind>>, HashMap<u32, u32>) = Default::default();
    for (place, kind) in (first as usize..).zip(&kinds) {
        uses.sources(place).iter().for_each(|slot| readers.entry(slot.cell).or_default().push(*kind));
        uses.results(place).iter().for_each(|slot| *writers.entry(slot.cell).or_default() += 1);
    }
    // Products and shifts that only additions read, each of which computes them again.
    let parts = (0..ops.len()).filter(|at| matches!(kinds[*at], Kind::WideProduct | Kind::ShiftLeft));
    let result = |at: usize| uses.results(first as usize + at).first().map(|slot| (slot.cell, at));
    let is_added = |cell: &u32| readers.get(cell).is_some_and(|of| of.iter().all(|of| *of == Kind::Add));
    let parts = parts.filter_map(result).filter(|(cell, _)| writers[cell] == 1 && is_added(cell));
    let parts: HashMap<u32, usize> = parts.collect();
    let mut multiplies = false;
    for block in &cfg.blocks {
        // By the columns that hold their results.
        let mut makers: HashMap<u32, Maker> = HashMap::new();
        for at in block.instructions.clone().map(|at| at as usize) {
            let (sources, results) = (uses.sources(first as usize + at), uses.results(first as usize + at));
            let is_uniform = !results.is_empty() && results.iter().all(|slot| !varying.contains(&slot.cell));
            settle(&mut slots[at], kinds[at], is_uniform, &mut multiplies);
            let part = sources.iter().find_map(|slot| parts.get(&slot.cell));
            let operands = if let Some(&part) = part {
                if kinds[part] == Kind::WideProduct {
                    slots[at] = Slots::of(&ops[part]);
                    settle(&mut slots[at], kinds[part], is_uniform, &mut multiplies);
                }
                slots[part] = Slots::default();
                None
            } else {
                fuse(at, sources, &makers, &kinds, &mut slots)
            };
            for result in results {
                makers.remove(&result.cell);
                let alone = readers.get(&result.cell).is_some_and(|readers| readers.len() == 1);
                if let Some(operands) = &operands
                    && (alone || matches!(kinds[at], Kind::Compare | Kind::Predicate))
                {
                    makers.insert(result.cell, Maker { at, operands: operands.clone() });
                }
            }
        }
    }
    for at in vanishing(body, cfg, &ops) {
        slots[at] = Slots::default();
    }
    if is_entry {
        add_hidden(&mut slots, body, &ops);
    }
    slots
}

/// Returns the branches that need no machine instruction: a branch to the next block, and a branch that a conditional one jumps over,
/// because ptxas inverts the condition.
fn vanishing(body: &Body, cfg: &Cfg, ops: &[Op]) -> Vec<usize> {
    // The branch at the end of a block, and whether it has a condition.
    let branch = |block: &Block| {
        let last = block.instructions.clone().next_back()? as usize;
        (ops[last] == Op::Bra).then(|| (last, body.instructions[last].guard.is_some()))
    };
    let leads = |block: &Block, to: usize| block.successors.iter().any(|block| block.0 as usize == to);
    let mut vanishing = Vec::new();
    let mut before: Option<&Block> = None;
    for (block, next) in cfg.blocks.iter().zip(1..) {
        let alone = block.instructions.len() == 1;
        let skipped = before
            .is_some_and(|before| alone && leads(before, next) && matches!(branch(before), Some((_, true))));
        if let Some((last, false)) = branch(block)
            && (leads(block, next) || skipped)
        {
            vanishing.push(last);
        }
        before = Some(block);
    }
    vanishing
}

/// Fuses an instruction with those that make what it reads. Returns the operands of the machine instruction that it becomes, or
/// `None` for one that is not fused with its reader.
fn fuse(
    at: usize,
    sources: &[Slot],
    makers: &HashMap<u32, Maker>,
    kinds: &[Kind],
    slots: &mut [Slots],
) -> Option<Operands> {
    let mut operands = Operands::of(sources);
    let parts = sources.iter().filter_map(|slot| Some((slot.cell, makers.get(&slot.cell)?)));
    let parts: Vec<(u32, &Maker)> =
        parts.filter(|(_, maker)| fused(kinds[maker.at], kinds[at]) == Some(Fused::Operands)).collect();
    // All of them if the instruction has room for their operands together, or else those for which it has.
    let all = parts.iter().fold(operands.clone(), |all, (cell, maker)| all.with(*cell, &maker.operands));
    for (cell, maker) in parts {
        let with = if all.fit() { all.clone() } else { operands.with(cell, &maker.operands) };
        if with.fit() {
            slots[maker.at] = Slots::default();
            operands = with;
        }
    }
    for slot in sources {
        let Some(maker) = makers.get(&slot.cell) else { continue };
        match fused(kinds[maker.at], kinds[at]) {
            Some(Fused::Test) => {
                slots[maker.at] = Slots::default();
                return None;
            }
            Some(Fused::Condition) => slots[at] = Slots::default(),
            Some(Fused::Conversion) => {
                slots[maker.at] = Slots::default();
                slots[at] = Slots { special: 1, integer: 0, ..slots[at] };
            }
            Some(Fused::Operands) | None => {}
        }
    }
    (kinds[at] != Kind::Other).then_some(operands)
}

/// Adds the machine instructions that a kernel begins with, and those that parameters and special registers take.
fn add_hidden(slots: &mut [Slots], body: &Body, ops: &[Op]) {
    let is_global = |op: &Op| op.space() == Some(AddressSpace::Global);
    let mut begins = 1 + u8::from(ops.iter().any(is_global));
    for ((slots, op), instruction) in slots.iter_mut().zip(ops).zip(&body.instructions) {
        let is_special = instruction.operands.iter().any(|operand| matches!(operand, Operand::Special(_)));
        let is_parameter = matches!(op, Op::Memory(Memory::Ld(access)) if access.is_parameter());
        slots.hidden = begins + u8::from(is_parameter);
        slots.issued += slots.hidden + u8::from(matches!(op, Op::Mov(_)) && is_special);
        begins = 0;
    }
}

/// The way to fuse an instruction with the one that reads its result.
#[derive(PartialEq, Eq)]
enum Fused {
    /// The second reads the operands of the first, if it has room for them.
    Operands,
    /// The first sets the predicate that the second would compute from its result.
    Test,
    /// The first takes the second's other predicate as an operand.
    Condition,
    /// The second converts a part of the operand of the first, on the unit for special functions.
    Conversion,
}

/// Returns the way to fuse two instructions, the first of which makes what the second reads.
fn fused(maker: Kind, reader: Kind) -> Option<Fused> {
    match (maker, reader) {
        (Kind::Compare | Kind::Predicate, Kind::Predicate) => Some(Fused::Condition),
        (Kind::Logic | Kind::Mask, Kind::Compare) => Some(Fused::Test),
        (Kind::Mask | Kind::Piece, Kind::ToFloat) => Some(Fused::Conversion),
        (Kind::Logic | Kind::Mask, Kind::Logic | Kind::Mask)
        | (Kind::WideLogic, Kind::WideLogic)
        | (Kind::Add, Kind::Add) => Some(Fused::Operands),
        _ => None,
    }
}

/// The integers among the operands of an instruction.
fn constants(instruction: &Instruction) -> Vec<i64> {
    instruction.operands.iter().filter_map(read::integer).collect()
}

/// True for the place and length of an aligned byte or half of 32 bits.
fn is_piece(constants: &[i64]) -> bool {
    matches!(constants, [from, bits @ (8 | 16)] if from % bits == 0)
}

fn kind(op: &Op, instruction: &Instruction) -> Kind {
    use ScalarType::{B32, B64, F32, Pred, S32, S64, U32, U64};
    match op {
        Op::Logic(LogicVerb::And, B32 | U32 | S32)
            if matches!(constants(instruction)[..], [0xff | 0xffff]) =>
        {
            Kind::Mask
        }
        Op::Field { verb: FieldVerb::Bfe, scalar: B32 | U32 | S32, .. }
            if is_piece(&constants(instruction)) =>
        {
            Kind::Piece
        }
        Op::Convert(Convert { to: Format::Scalar(F32), from: Format::Scalar(B32 | U32 | S32), .. }) => {
            Kind::ToFloat
        }
        Op::Logic(_, Pred) => Kind::Predicate,
        Op::Logic(LogicVerb::Shl, _) => Kind::ShiftLeft,
        Op::Logic(LogicVerb::And | LogicVerb::Or | LogicVerb::Xor | LogicVerb::Not, B32 | U32 | S32) => {
            Kind::Logic
        }
        Op::Logic(LogicVerb::And | LogicVerb::Or | LogicVerb::Xor | LogicVerb::Not, B64 | U64 | S64) => {
            Kind::WideLogic
        }
        Op::Compare(_) => Kind::Compare,
        Op::Integer(Integer {
            carry_in: false,
            carry_out: false,
            saturates: false,
            verb,
            part,
            scalar,
            ..
        }) => match verb {
            IntegerVerb::Add => Kind::Add,
            IntegerVerb::Mul if *part == Some(Part::Wide) && scalar.size() == Some(4) => Kind::WideProduct,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// Moves an instruction to the unit that ptxas chooses. `multiplies` says whether the next addition goes to the multiplier.
fn settle(slots: &mut Slots, kind: Kind, is_uniform: bool, multiplies: &mut bool) {
    if is_uniform {
        (slots.integer, slots.multiply) = (0, 0);
        return;
    }
    let moved = match (kind, slots.integer) {
        (Kind::ShiftLeft | Kind::Add, 2) => true,
        (Kind::ShiftLeft, 1) => true,
        (Kind::Add, 1) => {
            *multiplies = !*multiplies;
            !*multiplies
        }
        _ => false,
    };
    if moved {
        slots.integer -= 1;
        slots.multiply += 1;
    }
}
