//! Reads single instructions, for the estimates of what ptxas makes of them.

use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::IntegerVerb;
use crate::ptx::op::words::AddressSpace;
use crate::ptx::{Instruction, Operand, RegisterId};

/// Returns an instruction's operation. All of a function's opcodes have been decoded before it is looked at.
pub(super) fn op(instruction: &Instruction) -> Op {
    instruction.opcode.op().unwrap_or(Op::Other { collective: false })
}

/// Returns true for an access to global memory. Generic addresses count as global, since compilers name the other spaces where they
/// know them.
pub(super) fn is_global(op: &Op) -> bool {
    op.space().is_none_or(|space| space == AddressSpace::Global)
}

/// Returns the register that an instruction writes, if it writes one alone.
pub(super) fn result(instruction: &Instruction) -> Option<RegisterId> {
    match instruction.operands.first() {
        Some(Operand::Register(register)) => Some(*register),
        _ => None,
    }
}

/// Returns an integer that stands in the text.
pub(super) fn integer(operand: &Operand) -> Option<i64> {
    match operand {
        Operand::Immediate(value) => value.integer().map(u64::cast_signed),
        _ => None,
    }
}

/// Returns the register to which an instruction adds a constant, and the constant.
pub(super) fn step(instruction: &Instruction) -> Option<(RegisterId, i64)> {
    let [Operand::Register(to), Operand::Register(from), by] = instruction.operands.as_slice() else {
        return None;
    };
    let adds = matches!(op(instruction), Op::Integer(integer) if integer.verb == IntegerVerb::Add);
    let is_step = adds && to == from && instruction.guard.is_none();
    integer(by).filter(|_| is_step).map(|by| (*to, by))
}
