//! Decodes cache hints and fences: prefetches, policies, `fence` and `membar`.

use std::sync::atomic::{Ordering, fence};

use super::access::{AddressSpace, Environment};
use super::instruction::{Decoded, Operation as Decode};
use super::opcode;
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::Observer;
use crate::ptx::op::Op;
use crate::ptx::op::memory::{CopyGroup, Fence};
use crate::ptx::op::words::{AddressSpace as Named, Scope};
use crate::ptx::{Instruction, ScalarType};

/// Result of `createpolicy`: an arbitrary number, since no policy has an effect here.
pub(super) const POLICY: u64 = 0x1000_0000_0000_0000;

/// Decodes what changes no memory: advice on caches, policies, fences, and groups of copies, which are complete at
/// once. None for other instructions.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Option<Decoded>, DecodeError> {
    match op {
        Op::Advice { space, .. } => advice(instruction, *space, columns, level),
        Op::Createpolicy => policy(instruction, columns),
        Op::Fence(op) => Ok(order(op)),
        Op::CopyGroup { group, .. } => {
            let operands = usize::from(*group == CopyGroup::Wait);
            opcode::count(instruction, operands, operands)?;
            Ok(Decoded::new(Decode::Nothing))
        }
        Op::BulkPrefetch { .. } => {
            let address = opcode::address_operand(instruction, 0, AddressSpace::Global, columns, level)?;
            Ok(Decoded::new(Decode::Nothing).address(address.slot()))
        }
        _ => return Ok(None),
    }
    .map(Some)
}

/// Decodes `prefetch`, `prefetchu`, `applypriority` and `discard`, which only check their operands. `discard` may leave
/// memory as it was.
fn advice(
    instruction: &Instruction,
    space: Option<Named>,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded, DecodeError> {
    let space = match space {
        Some(Named::Global) => AddressSpace::Global,
        Some(Named::Local) => AddressSpace::Local,
        // Of constants and parameters, generic addresses are prefetched.
        None | Some(Named::Constant | Named::Parameter) => AddressSpace::Generic,
        _ => return Err(DecodeError::unsupported(instruction)),
    };
    opcode::count(instruction, 1, 2)?;
    let address = opcode::address_operand(instruction, 0, space, columns, level)?;
    Ok(Decoded::new(Decode::Nothing).address(address.slot()))
}

/// Decodes `createpolicy`.
fn policy(instruction: &Instruction, columns: &mut dyn Columns) -> Result<Decoded, DecodeError> {
    opcode::count(instruction, 1, 4)?;
    let result = opcode::result(instruction, opcode::operand(instruction, 0)?, ScalarType::B64, columns)?;
    Ok(Decoded::new(Decode::Policy(result)).results(&[result]))
}

/// Decodes `fence` and `membar`. A fence between proxies orders different ways to access memory, of which there is one
/// here.
fn order(op: &Fence) -> Decoded {
    Decoded::new(Decode::Fence { beyond_block: op.scope.is_some_and(|scope| scope != Scope::Block) })
}

/// Executes a fence: a thread that sees what follows it sees what precedes it.
pub(super) fn execute_fence<O: Observer>(
    mask: u32,
    beyond_block: bool,
    environment: &mut Environment<'_, O>,
) {
    fence(Ordering::SeqCst);
    tell(mask, beyond_block, environment);
}

/// Tells the observer of a fence, or of an instruction that implies one.
pub(super) fn tell<O: Observer>(mask: u32, beyond_block: bool, environment: &mut Environment<'_, O>) {
    if O::SYNCHRONISATION {
        environment.observer.fence(environment.at, mask, beyond_block);
    }
}
