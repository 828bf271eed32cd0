//! Finds atomics that ptxas executes once per warp.
//!
//! Where all lanes of an atomic share an address, ptxas may combine their operands first (`redux`, or a population count and a
//! shuffle), so that one lane alone accesses memory. It does so only where it can tell that the address is *uniform*: computed from
//! parameters, constants and the block's index, and from nothing that differs between lanes. An address that happens to be the same in
//! all lanes is not.
//!
//! ```text
//! ld.param.u64 p, [sum]       uniform
//! red.global.add.u32 [p], v   combined
//! add.u64 q, p, tid
//! red.global.add.u32 [q], v   not combined, even where tid is 0 in all lanes
//! red.global.add.f32 [p], f   not combined: the order of additions would change
//! ```
//!
//! Which operations it combines, as the machine code shows that ptxas 13.5 makes for `sm_80` and `sm_90` of each operation with each kind
//! of operand (an old value that nothing reads makes `atom` the same as `red`):
//!
//! | operation | 32 bits, old value unread | 32 bits, old value read | 64 bits |
//! | --- | --- | --- | --- |
//! | addition | yes | yes; of operands that differ, in full warps | where the operand is uniform |
//! | minimum, maximum, logical | yes | no | no |
//! | others | no | no | no |

use super::layout::{Fill, Layout};
use super::loops;
use super::read;
use super::special::Special;
use super::uses::Uses;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::op::memory::{Atomic, Memory};
use crate::ptx::op::words::{AddressSpace, Update};
use crate::ptx::{Body, Instruction, ScalarType};
use crate::registers::{Slot, Width};
use std::collections::HashSet;
use std::ops::Range;

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
    let places = first as usize..first as usize + body.instructions.len();
    let is_combined = |site: &usize| {
        let op = read::op(&body.instructions[*site - first as usize]);
        let uniform = |address: Slot| !varying.contains(&address.cell);
        let Some(address) = uses.address(*site).filter(|address| op.is_atomic() && uniform(*address)) else {
            return false;
        };
        let is_operand = |slot: &&Slot| slot.cell != address.cell && slot.width != Width::Predicate;
        let differ = uses.sources(*site).iter().filter(is_operand).any(|slot| varying.contains(&slot.cell));
        combines(&op, is_read(&places, uses, *site), differ)
    };
    places.clone().filter(is_combined).collect()
}

/// Returns the sites of a function's atomics that are reductions: they name global memory, and nothing reads the old value.
pub(super) fn reductions(body: &Body, uses: &Uses, first: u32) -> Vec<usize> {
    let places = first as usize..first as usize + body.instructions.len();
    let reduces = |site: &usize| {
        let op = read::op(&body.instructions[*site - first as usize]);
        op.is_atomic() && op.space() == Some(AddressSpace::Global) && !is_read(&places, uses, *site)
    };
    places.clone().filter(reduces).collect()
}

/// Returns true if an instruction reads what the one at this site writes.
fn is_read(places: &Range<usize>, uses: &Uses, site: usize) -> bool {
    let old: HashSet<u32> = uses.results(site).iter().map(|slot| slot.cell).collect();
    !old.is_empty() && places.clone().any(|place| uses.reads(place, &old))
}

/// Returns which of a function's combined additions tell a block or a warp what part of the work it does next: in a loop, and what depends
/// on the old value decides a branch, or goes to shared memory for the other warps.
pub(super) fn taking_work(body: &Body, cfg: &Cfg, uses: &Uses, combined: &[usize], first: u32) -> Vec<usize> {
    let places = first as usize..first as usize + body.instructions.len();
    let repeats = loops::repeats(cfg);
    let takes = |site: &usize| {
        let block = cfg.block_of(*site as u32 - first);
        if !block.is_some_and(|block| repeats[block.0 as usize]) {
            return false;
        }
        let told = uses.depending(places.clone(), |place| place == *site);
        places.clone().filter(|place| uses.reads(*place, &told)).any(|place| {
            let op = read::op(&body.instructions[place - first as usize]);
            let is_told = |slot: &Slot| told.contains(&slot.cell) && uses.address(place) != Some(*slot);
            op == Op::Bra
                || op.stores()
                    && op.space().is_some_and(AddressSpace::is_shared)
                    && uses.sources(place).iter().any(is_told)
        })
    };
    combined.iter().copied().filter(takes).collect()
}

/// Returns true if ptxas combines the lanes of an atomic to a uniform address.
fn combines(op: &Op, is_read: bool, operands_differ: bool) -> bool {
    use ScalarType::{B32, S32, U32, U64};
    let Op::Memory(Memory::Atomic(Atomic { update, space, scalar, elements: 1, .. })) = op else {
        return false;
    };
    let global = space.is_none_or(|space| space == AddressSpace::Global);
    global
        && match (update, scalar) {
            (Update::Add, B32 | S32 | U32) => true,
            (Update::Add, U64) => !operands_differ,
            (Update::Min | Update::Max, B32 | S32 | U32) => !is_read,
            (Update::And | Update::Or | Update::Xor, B32 | S32 | U32) => !is_read,
            _ => false,
        }
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
