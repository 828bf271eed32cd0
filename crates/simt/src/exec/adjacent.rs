//! Finds loads from shared memory, and stores to it, that ptxas merges into one of 8 or 16 bytes.
//!
//! Loads of one basic block merge where they read adjacent words behind the same register, nothing between them writes memory,
//! and ptxas can prove that the whole lies at a multiple of its size. So do stores between which nothing accesses shared memory. It places shared variables at multiples of 16 bytes, and
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
//! `covariance`). Without it a simulated `dgemm_tile` takes a third more wavefronts than Nsight Compute counts. Of the stores of
//! `fft_shared_256`, a complex number each, it makes `STS.64`.

use std::collections::HashMap;

use super::read;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Format, IntegerVerb, LogicVerb};
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::{AddressSpace, Part};
use crate::ptx::{AddressBase, Body, Instruction, Operand, RegisterId, ScalarType};

/// The part of a load or a store in the one that ptxas merges it with others into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Distance in bytes from the first address of the merged one to the own address.
    pub back: u8,
    /// Bytes of the merged one; 0 if another instruction accesses these as well.
    pub bytes: u8,
}

/// Trailing zero bits of a variable's address in shared memory.
const OF_VARIABLES: u32 = 4;

/// More than any address has.
const ALL: u32 = 64;

/// Returns the loads and stores of a function that merge, by the index of the instruction.
pub(super) fn find(body: &Body, cfg: &Cfg) -> Vec<(u32, Merged)> {
    if !body.instructions.iter().any(|instruction| access(0, instruction).is_some()) {
        return Vec::new();
    }
    let zeros = trailing_zeros(body);
    let mut found = Vec::new();
    for block in &cfg.blocks {
        let [mut loads, mut stores] = [Vec::new(), Vec::new()];
        for at in block.instructions.clone() {
            let instruction = &body.instructions[at as usize];
            let op = read::op(instruction);
            let access = access(at, instruction);
            if ends(&op) {
                merge(&mut loads, &zeros, &mut found);
            }
            if ends(&op) && access.is_none() || op.loads() && op.space().is_some_and(AddressSpace::is_shared)
            {
                merge(&mut stores, &zeros, &mut found);
            }
            if let Some(access) = access {
                let open: &mut Vec<Access> = if op.stores() { &mut stores } else { &mut loads };
                // A store behind another register may be to the same place.
                if op.stores() && open.first().is_some_and(|one| one.base != access.base) {
                    merge(open, &zeros, &mut found);
                }
                open.push(access);
            }
            // An address register that changes begins another address.
            let mut moves = false;
            if let Some(made) = instruction.operands.first() {
                let mut is_base = |made| moves |= loads.iter().chain(&stores).any(|one| one.base == made);
                each_register(made, &mut is_base);
            }
            if moves {
                merge(&mut loads, &zeros, &mut found);
                merge(&mut stores, &zeros, &mut found);
            }
        }
        merge(&mut loads, &zeros, &mut found);
        merge(&mut stores, &zeros, &mut found);
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    found
}

/// A load or a store that may merge.
struct Access {
    at: u32,
    base: RegisterId,
    offset: i64,
    bytes: u32,
}

/// Returns an access to shared memory that may merge.
fn access(at: u32, instruction: &Instruction) -> Option<Access> {
    let (access, address) = match (instruction.opcode.op(), instruction.operands.as_slice()) {
        (Ok(Op::Memory(Memory::Ld(access))), [_, Operand::Address(address)])
        | (Ok(Op::Memory(Memory::St(access))), [Operand::Address(address), _]) => (access, address),
        _ => return None,
    };
    let is_plain = access.order.is_none() && access.elements == 1 && instruction.guard.is_none();
    if !is_plain || !access.space.is_some_and(AddressSpace::is_shared) {
        return None;
    }
    let AddressBase::Register(base) = address.base else { return None };
    let bytes = access.scalar.size().filter(|bytes| matches!(bytes, 4 | 8))?;
    Some(Access { at, base, offset: address.offset, bytes })
}

/// True for what loads do not cross.
fn ends(op: &Op) -> bool {
    let stores = op.stores() && op.space() != Some(AddressSpace::Global);
    stores
        || op.awaits().is_some()
        || op.is_strong()
        || matches!(op, Op::Memory(Memory::Atomic(_)) | Op::Call | Op::Memory(Memory::Fence(_)))
}

/// Merges what it can of the open accesses: 16 bytes, or 8.
fn merge(open: &mut Vec<Access>, zeros: &HashMap<RegisterId, u32>, found: &mut Vec<(u32, Merged)>) {
    open.sort_by_key(|one| (one.base, one.bytes, one.offset));
    let mut rest = open.as_slice();
    while let [first, ..] = rest {
        let aligned = |bytes: u32| {
            let base = zeros.get(&first.base).copied().unwrap_or(0);
            base >= bytes.trailing_zeros() && first.offset % i64::from(bytes) == 0
        };
        let adjacent = |bytes: u32| {
            let count = (bytes / first.bytes) as usize;
            let part = rest.get(..count).filter(|_| count > 1)?;
            let follows = |(index, one): (i64, &Access)| {
                one.base == first.base
                    && one.bytes == first.bytes
                    && one.offset == first.offset + index * i64::from(first.bytes)
            };
            ((0..).zip(part).all(follows) && aligned(bytes)).then_some((part, bytes))
        };
        let Some((part, bytes)) = adjacent(16).or_else(|| adjacent(8)) else {
            rest = &rest[1..];
            continue;
        };
        let earliest = part.iter().map(|one| one.at).min();
        found.extend(part.iter().map(|one| {
            let whole = Some(one.at) == earliest;
            let back = (one.offset - first.offset) as u8;
            (one.at, Merged { back, bytes: if whole { bytes as u8 } else { 0 } })
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
