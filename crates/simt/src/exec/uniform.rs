//! Finds atomics that ptxas executes once per warp.
//!
//! Where all lanes of an atomic share an address, and the operation is an addition, a minimum, a maximum or a logical one on
//! integers, ptxas combines their operands first (`redux`, or a population count and a shuffle), and one lane alone accesses
//! memory. It does so only where it can tell that the address is *uniform*: computed from parameters, constants and the
//! block's index, and from nothing that differs between lanes. An address that happens to be the same in all lanes is not.
//!
//! ```text
//! ld.param.u64 p, [sum]       uniform
//! red.global.add.u32 [p], v   combined
//! add.u64 q, p, tid
//! red.global.add.u32 [q], v   not combined, even where tid is 0 in all lanes
//! red.global.add.f32 [p], f   not combined: the order of additions would change
//! ```

use super::layout::{Fill, Layout};
use super::read;
use super::special::Special;
use super::uses::Uses;
use crate::ptx::op::Op;
use crate::ptx::op::memory::{Atomic, Memory};
use crate::ptx::op::words::{AddressSpace, Update};
use crate::ptx::{Body, Instruction, ScalarType};
use crate::registers::Slot;
use std::collections::HashSet;

/// Returns the columns of a function that may differ between the lanes of a warp.
pub(super) fn varying(body: &Body, layout: &Layout<'_>, uses: &Uses, first: u32) -> HashSet<u32> {
    let op = |place: usize| read::op(&body.instructions[place - first as usize]);
    let places = first as usize..first as usize + body.instructions.len();
    let filled = layout.filled.iter().filter(|(_, fill)| is_varying(fill)).map(|(slot, _)| slot.cell);
    let mut varying: HashSet<u32> = filled.collect();
    for place in places.clone().filter(|place| differs(&op(*place))) {
        varying.extend(uses.results(place).iter().map(|slot| slot.cell));
    }
    loop {
        let known = varying.len();
        for place in places.clone() {
            if uses.reads(place, &varying) {
                varying.extend(uses.results(place).iter().map(|slot| slot.cell));
            }
        }
        if varying.len() == known {
            return varying;
        }
    }
}

/// Returns the sites of a function's atomics on global memory whose lanes ptxas combines.
pub(super) fn combined(body: &Body, uses: &Uses, varying: &HashSet<u32>, first: u32) -> Vec<usize> {
    let candidates = (first as usize..)
        .zip(&body.instructions)
        .filter(|(_, instruction)| instruction.opcode.op().is_ok_and(|op| is_candidate(&op)));
    let shares = |place: &usize| uses.address(*place).is_some_and(|address| !varying.contains(&address.cell));
    candidates.map(|(place, _)| place).filter(shares).collect()
}

fn is_candidate(op: &Op) -> bool {
    use ScalarType::{B32, B64, S32, S64, U32, U64};
    let Op::Memory(Memory::Atomic(Atomic { update, space, scalar, elements: 1, .. })) = op else {
        return false;
    };
    let global = space.is_none_or(|space| space == AddressSpace::Global);
    let integer = matches!(scalar, B32 | B64 | S32 | S64 | U32 | U64);
    global && integer && !matches!(update, Update::Exchange | Update::CompareAndSwap)
}

/// Returns the sites of a function's atomics on shared memory that count: they add 1 to a word of 32 bits, and nothing reads its
/// old value. The machine has an instruction for these, `ATOMS.POPC.INC`, for which lanes of one address are one operation: on an
/// H200 `atomics_shared_add_u32` takes as long for 1 counter as for 256 (`coalesce run atomics`).
pub(super) fn counting(body: &Body, layout: &Layout<'_>, uses: &Uses, first: u32) -> Vec<usize> {
    let places = first as usize..first as usize + body.instructions.len();
    let op = |place: usize| read::op(&body.instructions[place - first as usize]);
    let adds = |place: &usize| {
        use ScalarType::{B32, S32, U32};
        let op = op(*place);
        matches!(
            op,
            Op::Memory(Memory::Atomic(Atomic {
                update: Update::Add,
                scalar: B32 | S32 | U32,
                elements: 1,
                ..
            }))
        )
    };
    let candidates: Vec<usize> = places.clone().filter(adds).collect();
    if candidates.is_empty() {
        return candidates;
    }
    // Compilers give generic addresses to atomics; that they are of shared memory shows where they come from.
    let from_shared = |place: usize| matches!(op(place), Op::Memory(Memory::Cvta { space, to_space: false, .. }) if space.is_shared());
    let mut shared: HashSet<u32> = HashSet::new();
    loop {
        let known = shared.len();
        for place in places.clone().filter(|place| !op(*place).loads()) {
            if from_shared(place) || uses.reads(place, &shared) {
                shared.extend(uses.results(place).iter().map(|slot| slot.cell));
            }
        }
        if shared.len() == known {
            break;
        }
    }
    let is_shared = |place: &usize| {
        let named = op(*place).space().is_some_and(AddressSpace::is_shared);
        named || uses.address(*place).is_some_and(|address| shared.contains(&address.cell))
    };
    let immediate = |slot: &Slot| {
        let is_one =
            |(filled, fill): &(Slot, Fill)| filled.cell == slot.cell && matches!(fill, Fill::Bits(1));
        layout.filled.iter().any(is_one)
    };
    let is_one = |slot: &Slot| {
        let mut makers =
            places.clone().filter(|place| uses.results(*place).iter().any(|made| made.cell == slot.cell));
        let moves =
            |place: usize| matches!(op(place), Op::Mov(_)) && uses.sources(place).iter().any(immediate);
        immediate(slot) || makers.next().is_some_and(moves) && makers.next().is_none()
    };
    let read: HashSet<u32> =
        places.clone().flat_map(|place| uses.sources(place)).map(|slot| slot.cell).collect();
    let counts = |place: &usize| {
        let unread = !uses.results(*place).iter().any(|slot| read.contains(&slot.cell));
        unread && is_shared(place) && uses.sources(*place).iter().any(is_one)
    };
    candidates.into_iter().filter(counts).collect()
}

/// Returns the sites at which lanes look whether a phase of an `mbarrier` is complete. Of one barrier they do it together.
pub(super) fn looking(body: &Body, first: u32) -> Vec<usize> {
    let looks = |instruction: &Instruction| {
        let op = instruction.opcode.op();
        op.is_ok_and(|op| matches!(op, Op::Memory(Memory::Mbarrier(_))) && op.awaits().is_some())
    };
    let places = (first as usize..).zip(&body.instructions);
    places.filter(|(_, instruction)| looks(instruction)).map(|(place, _)| place).collect()
}

/// Returns true for an instruction whose result differs between lanes though its operands may not.
fn differs(op: &Op) -> bool {
    match op {
        Op::Memory(Memory::Ld(access)) if access.is_parameter() => false,
        Op::Shfl { .. } | Op::Match { .. } | Op::Elect | Op::Call => true,
        _ => op.loads(),
    }
}

fn is_varying(fill: &Fill) -> bool {
    match fill {
        Fill::Special(special, _) => {
            matches!(special, Special::Thread(_) | Special::Lane | Special::LaneMask(_))
        }
        Fill::Local(_) => true,
        Fill::Bits(_) | Fill::Shared(..) | Fill::Parameters(_) => false,
    }
}
