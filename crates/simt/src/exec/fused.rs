//! Corrects the [`Slots`] of instructions by what ptxas makes of them together.
//!
//! [`Slots::of`] prices each PTX instruction alone. Machine instructions do more at once, so ptxas fuses an instruction whose
//! only reader follows in the same basic block into that reader, and it chooses among units. The rules were read off the
//! machine code that ptxas 13.5 makes for `sm_90` of kernels of the program `fidelity` in its seen half:
//!
//! | PTX | machine code |
//! | --- | --- |
//! | two logical operations, or one and a comparison with its result | one `LOP3`, which takes three operands and sets a predicate |
//! | `shl` and `add` | `LEA` (64 bits: `LEA` and `LEA.HI.X`) |
//! | `mul.wide` and `add.s64` | `IMAD.WIDE` |
//! | two additions | one `IADD3` |
//! | logical operations on predicates | a third operand of `ISETP` |
//! | `shl` in 32 bits | `IMAD.SHL`, on the multiplier; in 64 bits one half |
//! | `add` in 32 bits | `IADD3` and `IMAD.IADD` alternately, so that both units are used; in 64 bits one half each |
//! | what is the same in all lanes | the uniform datapath, which takes an issue slot and no lanes of a unit |
//!
//! For example, of `mul.wide.u32 q, i, 4; add.s64 p, base, q` the addition costs nothing, and of `xor a, x, y; xor b, a, z` the
//! first one. Outside of loops a fused instruction keeps its issue slot: there, moves and loads of constants that PTX
//! does not show make up for about as many.

use super::halves;
use super::loops::repeats;
use super::read;
use super::uses::Uses;
use crate::count::Slots;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Integer, IntegerVerb, LogicVerb};
use crate::ptx::op::words::Part;
use crate::ptx::{Body, ScalarType};
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
    Other,
}

/// Returns the slots of a function's instructions. `varying` are the columns that differ between lanes.
pub(super) fn slots(body: &Body, cfg: &Cfg, uses: &Uses, varying: &HashSet<u32>, first: u32) -> Vec<Slots> {
    let ops: Vec<Op> = body.instructions.iter().map(read::op).collect();
    let mut slots: Vec<Slots> = ops.iter().map(Slots::of).collect();
    for (at, issued) in halves::find(body) {
        let slots = &mut slots[at as usize];
        (slots.issued, slots.integer, slots.clocks) = (issued, issued, 4 * u16::from(issued));
    }
    let mut readers: HashMap<u32, u32> = HashMap::new();
    for at in 0..ops.len() {
        for slot in uses.sources(first as usize + at) {
            *readers.entry(slot.cell).or_default() += 1;
        }
    }
    let loops = repeats(cfg);
    let mut multiplies = false;
    for (block, &repeats) in cfg.blocks.iter().zip(&loops) {
        // The instruction of this block whose result a column holds, while nothing has been fused with it.
        let mut makers: HashMap<u32, usize> = HashMap::new();
        for at in block.instructions.clone().map(|at| at as usize) {
            let place = first as usize + at;
            let reader = kind(&ops[at]);
            let made = uses.sources(place).iter().find_map(|slot| {
                let maker = *makers.get(&slot.cell)?;
                let alone = readers.get(&slot.cell) == Some(&1);
                fused(kind(&ops[maker]), reader, alone).map(|vanishes| match vanishes {
                    Vanishes::Maker => maker,
                    Vanishes::Reader => at,
                })
            });
            let results = uses.results(place);
            results.iter().for_each(|slot| {
                makers.remove(&slot.cell);
            });
            let is_uniform = !results.is_empty() && results.iter().all(|slot| !varying.contains(&slot.cell));
            settle(&mut slots[at], &ops[at], is_uniform, &mut multiplies);
            if let Some(gone) = made {
                // Three operands are all that an instruction has: what has been fused is not fused again.
                let issued = if repeats { 0 } else { slots[gone].issued };
                slots[gone] = Slots { issued, ..Slots::default() };
            }
            if reader != Kind::Other && (made.is_none() || reader == Kind::Predicate) {
                makers.extend(results.iter().map(|slot| (slot.cell, at)));
            }
        }
    }
    slots
}

enum Vanishes {
    Maker,
    Reader,
}

/// Returns which of two instructions vanishes, of which the second reads the first's result; `alone` if nothing else does.
fn fused(maker: Kind, reader: Kind, alone: bool) -> Option<Vanishes> {
    match (maker, reader) {
        (Kind::Compare | Kind::Predicate, Kind::Predicate) => Some(Vanishes::Reader),
        (Kind::WideProduct, Kind::Add) if alone => Some(Vanishes::Reader),
        (Kind::Logic, Kind::Logic | Kind::Compare)
        | (Kind::WideLogic, Kind::WideLogic)
        | (Kind::ShiftLeft | Kind::Add, Kind::Add)
            if alone =>
        {
            Some(Vanishes::Maker)
        }
        _ => None,
    }
}

fn kind(op: &Op) -> Kind {
    use ScalarType::{B32, B64, Pred, S32, S64, U32, U64};
    match op {
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
fn settle(slots: &mut Slots, op: &Op, is_uniform: bool, multiplies: &mut bool) {
    if is_uniform {
        (slots.integer, slots.multiply) = (0, 0);
        return;
    }
    let moved = match (kind(op), slots.integer) {
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
