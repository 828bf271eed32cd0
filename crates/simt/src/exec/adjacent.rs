//! Finds loads from shared memory that ptxas merges into one of 8 or 16 bytes.
//!
//! Loads of one basic block merge where they read adjacent words behind the same register, nothing between them writes memory,
//! and ptxas can prove that the whole lies at a multiple of its size. It places shared variables at multiples of 16 bytes, and
//! follows multiplications, shifts and additions of known factors from there. For example, with a row of 8 words for each thread:
//!
//! ```text
//! mul.wide.u32 o, tid, 32       a multiple of 32
//! add.u64 p, ROWS, o            a multiple of 16, as ROWS is
//! ld.shared.b32 a, [p]          machine code: one LDS.128 for all four
//! ld.shared.b32 b, [p+4]
//! ld.shared.b32 c, [p+8]
//! ld.shared.b32 d, [p+12]
//! ```
//!
//! Seen in what ptxas 13.5 makes for `sm_90` of kernels in the seen half of the program `fidelity` (`dct_8x8`, `dgemm_tile`,
//! `covariance`). Without it a simulated `dgemm_tile` takes a third more wavefronts than Nsight Compute counts.

use std::collections::HashMap;

use super::read;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Format, IntegerVerb, LogicVerb};
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::{AddressSpace, Part};
use crate::ptx::{AddressBase, Body, Instruction, Operand, RegisterId, ScalarType};

/// The part of a load in the one that ptxas merges it with others into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Distance in bytes from the load's own address to the first of the merged one.
    pub back: u8,
    /// Bytes of the merged load; 0 if another instruction loads these as well.
    pub bytes: u8,
}

/// Trailing zero bits of a variable's address in shared memory.
const OF_VARIABLES: u32 = 4;

/// More than any address has.
const ALL: u32 = 64;

/// Returns the loads of a function that merge, by the index of the instruction.
pub(super) fn find(body: &Body, cfg: &Cfg) -> Vec<(u32, Merged)> {
    if !body.instructions.iter().any(|instruction| load(0, instruction).is_some()) {
        return Vec::new();
    }
    let zeros = trailing_zeros(body);
    let mut found = Vec::new();
    for block in &cfg.blocks {
        let mut open: Vec<Load> = Vec::new();
        for at in block.instructions.clone() {
            let instruction = &body.instructions[at as usize];
            if let Some(load) = load(at, instruction) {
                open.push(load);
            } else if ends(instruction) {
                merge(&mut open, &zeros, &mut found);
            }
            // An address register that changes begins another address.
            let mut moves = false;
            if let Some(made) = instruction.operands.first() {
                each_register(made, &mut |made| moves |= open.iter().any(|load| load.base == made));
            }
            if moves {
                merge(&mut open, &zeros, &mut found);
            }
        }
        merge(&mut open, &zeros, &mut found);
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    found
}

struct Load {
    at: u32,
    base: RegisterId,
    offset: i64,
    bytes: u32,
}

/// Returns a load from shared memory that may merge.
fn load(at: u32, instruction: &Instruction) -> Option<Load> {
    let Ok(Op::Memory(Memory::Ld(access))) = instruction.opcode.op() else { return None };
    let is_plain = access.order.is_none() && access.elements == 1 && instruction.guard.is_none();
    if !is_plain || !access.space.is_some_and(AddressSpace::is_shared) {
        return None;
    }
    let [_, Operand::Address(address)] = instruction.operands.as_slice() else { return None };
    let AddressBase::Register(base) = address.base else { return None };
    let bytes = access.scalar.size().filter(|bytes| matches!(bytes, 4 | 8))?;
    Some(Load { at, base, offset: address.offset, bytes })
}

/// True for what loads do not cross.
fn ends(instruction: &Instruction) -> bool {
    let op = read::op(instruction);
    let stores = op.stores() && op.space() != Some(AddressSpace::Global);
    stores
        || op.awaits().is_some()
        || op.is_strong()
        || matches!(op, Op::Memory(Memory::Atomic(_)) | Op::Call | Op::Memory(Memory::Fence(_)))
}

/// Merges what it can of the open loads: 16 bytes, or 8.
fn merge(open: &mut Vec<Load>, zeros: &HashMap<RegisterId, u32>, found: &mut Vec<(u32, Merged)>) {
    open.sort_by_key(|load| (load.base, load.bytes, load.offset));
    let mut rest = open.as_slice();
    while let [first, ..] = rest {
        let aligned = |bytes: u32| {
            let base = zeros.get(&first.base).copied().unwrap_or(0);
            base >= bytes.trailing_zeros() && first.offset % i64::from(bytes) == 0
        };
        let adjacent = |bytes: u32| {
            let count = (bytes / first.bytes) as usize;
            let part = rest.get(..count).filter(|_| count > 1)?;
            let follows = |(index, load): (i64, &Load)| {
                load.base == first.base
                    && load.bytes == first.bytes
                    && load.offset == first.offset + index * i64::from(first.bytes)
            };
            ((0..).zip(part).all(follows) && aligned(bytes)).then_some((part, bytes))
        };
        let Some((part, bytes)) = adjacent(16).or_else(|| adjacent(8)) else {
            rest = &rest[1..];
            continue;
        };
        let earliest = part.iter().map(|load| load.at).min();
        found.extend(part.iter().map(|load| {
            let whole = Some(load.at) == earliest;
            let back = (load.offset - first.offset) as u8;
            (load.at, Merged { back, bytes: if whole { bytes as u8 } else { 0 } })
        }));
        rest = &rest[part.len()..];
    }
    open.clear();
}

/// Returns the trailing zero bits that each register has at least, where there are any.
fn trailing_zeros(body: &Body) -> HashMap<RegisterId, u32> {
    // What nothing has written yet counts as 0, of which all bits are zeros: a value that goes round a loop is as aligned as what
    // enters it and what is added in the loop.
    let mut zeros: HashMap<RegisterId, u32> = HashMap::new();
    loop {
        let mut changes = false;
        for instruction in &body.instructions {
            let Some(made) = instruction.operands.first() else { continue };
            let of =
                |index: usize| instruction.operands.get(index).map_or(0, |operand| known(operand, &zeros));
            let bits = match (made, instruction.opcode.op()) {
                (Operand::Register(_), Ok(op)) => result(&op, of, instruction),
                _ => 0,
            };
            each_register(made, &mut |register| {
                let before = zeros.entry(register).or_insert(ALL);
                changes |= bits < *before;
                *before = bits.min(*before);
            });
        }
        if !changes {
            return zeros;
        }
    }
}

fn each_register(operand: &Operand, with: &mut impl FnMut(RegisterId)) {
    match operand {
        Operand::Register(register) => with(*register),
        Operand::Vector(parts) => parts.iter().for_each(|part| each_register(part, with)),
        Operand::Pair(parts) => parts.iter().for_each(|part| each_register(part, with)),
        _ => {}
    }
}

fn known(operand: &Operand, zeros: &HashMap<RegisterId, u32>) -> u32 {
    match operand {
        Operand::Register(register) => zeros.get(register).copied().unwrap_or(ALL),
        Operand::Immediate(value) => value.integer().map_or(0, u64::trailing_zeros),
        Operand::Symbol(_, offset) => offset.trailing_zeros().min(OF_VARIABLES),
        _ => 0,
    }
}

fn is_integer(format: Format) -> bool {
    use ScalarType::{S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(format, Format::Scalar(S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64))
}

/// Trailing zeros of a result, given those of the operands by index: the result is operand 0.
fn result(op: &Op, of: impl Fn(usize) -> u32, instruction: &Instruction) -> u32 {
    let product = || (of(1) + of(2)).min(ALL);
    match op {
        Op::Mov(_) | Op::Memory(Memory::Cvta { .. }) => of(1),
        Op::Convert(convert) if is_integer(convert.to) && is_integer(convert.from) && !convert.saturates => {
            of(1)
        }
        Op::Selp(_) => of(1).min(of(2)),
        Op::Integer(integer) if integer.part != Some(Part::High) && !integer.saturates => {
            match integer.verb {
                IntegerVerb::Add | IntegerVerb::Sub => of(1).min(of(2)),
                IntegerVerb::Mul => product(),
                IntegerVerb::Mad => product().min(of(3)),
                _ => 0,
            }
        }
        Op::Logic(verb, _) => match verb {
            LogicVerb::And => of(1).max(of(2)),
            LogicVerb::Or | LogicVerb::Xor => of(1).min(of(2)),
            LogicVerb::Shl => match instruction.operands.get(2) {
                Some(Operand::Immediate(by)) => (of(1) + by.integer().unwrap_or(0) as u32).min(ALL),
                _ => of(1),
            },
            _ => 0,
        },
        _ => 0,
    }
}
