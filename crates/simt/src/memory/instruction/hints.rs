//! Decodes cache hints and fences: prefetches, policies, `fence` and `membar`.

use std::sync::atomic::{Ordering, fence};

use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::Environment;
use crate::memory::decoded::Decoded;
use crate::memory::opcode;
use crate::memory::windows::AddressSpace;
use crate::observe::Observer;
use crate::ptx::op::memory::Fence;
use crate::ptx::op::words::{AddressSpace as Named, Scope};
use crate::ptx::{Instruction, ScalarType};
use crate::registers::Slot;

/// Result of `createpolicy`: an arbitrary number, since no policy has an effect here.
pub(super) const POLICY: u64 = 0x1000_0000_0000_0000;

/// Decodes `prefetch`, `prefetchu`, `applypriority` and `discard`, which only check their operands. `discard` may leave
/// memory as it was.
pub(super) fn decode_advice(
    instruction: &Instruction,
    space: Option<Named>,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<()>, DecodeError> {
    let space = match space {
        Some(Named::Global) => AddressSpace::Global,
        Some(Named::Local) => AddressSpace::Local,
        // Of constants and parameters, generic addresses are prefetched.
        None | Some(Named::Constant | Named::Parameter) => AddressSpace::Generic,
        _ => return Err(DecodeError::unsupported(instruction)),
    };
    opcode::count(instruction, 1, 2)?;
    let address = opcode::address_operand(instruction, 0, space, columns, level)?;
    Ok(Decoded::new(()).address(address.slot()))
}

/// Decodes `createpolicy`.
pub(super) fn decode_policy(
    instruction: &Instruction,
    columns: &mut dyn Columns,
) -> Result<Decoded<Slot>, DecodeError> {
    opcode::count(instruction, 1, 4)?;
    let result = opcode::result(instruction, opcode::operand(instruction, 0)?, ScalarType::B64, columns)?;
    Ok(Decoded::new(result).results(&[result]))
}

/// Returns true if `fence` or `membar` reaches beyond the block. A fence between proxies orders different ways to access
/// memory, of which there is one here.
pub(super) fn is_beyond_block(op: &Fence) -> bool {
    op.scope.is_some_and(|scope| scope != Scope::Block)
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
