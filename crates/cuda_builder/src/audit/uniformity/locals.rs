//! Variables in local memory: where their addresses go, and what is written through them.
//!
//! Each thread has a copy of its own, at the same address in each, so that a uniform address does not make a load uniform
//! there. The analysis therefore keeps one fact per variable, as the divergence of its address: the address is uniform as long as
//! all threads have written the same to the variable, and a load then follows its address as any other does.
//!
//! A parameter of a kernel that is passed `byval` is such a variable too: the kernel may write to its copy.

use std::collections::HashSet;

use crate::llvm::{Opcode, Value};

/// Intrinsics that write memory, in which the first argument is where.
const WRITERS: [&str; 3] = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
/// Intrinsics that take a pointer and keep none of it.
const ONLOOKERS: [&str; 3] = ["llvm.lifetime.", "llvm.assume", "llvm.dbg."];

/// The address that an instruction writes to; `None` without a write, or for one that the analysis does not follow.
pub(super) fn written(instruction: Value<'_>) -> Option<Value<'_>> {
    match instruction.opcode() {
        Some(Opcode::Store) => instruction.operands().nth(1),
        Some(Opcode::Call) if calls_any(instruction, &WRITERS) => instruction.arguments().next(),
        _ => None,
    }
}

/// True if a variable's address escapes: it is stored, or used in a way that the analysis does not follow.
pub(super) fn escapes(variable: Value<'_>) -> bool {
    let mut seen = HashSet::from([variable]);
    let mut open = vec![variable];
    while let Some(address) = open.pop() {
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::Load | Opcode::IntegerCompare) => {}
                Some(Opcode::Store) if user.operands().next() != Some(address) => {}
                Some(Opcode::Call) if calls_any(user, &WRITERS) || calls_any(user, &ONLOOKERS) => {}
                Some(opcode) if derives(opcode) => {
                    if seen.insert(user) {
                        open.push(user);
                    }
                }
                _ => return true,
            }
        }
    }
    false
}

/// The `alloca`s and parameters that an address may be derived from.
pub(super) fn behind(address: Value<'_>) -> Vec<Value<'_>> {
    let mut seen = HashSet::from([address]);
    let mut open = vec![address];
    let mut variables = Vec::new();
    while let Some(value) = open.pop() {
        match value.opcode() {
            Some(Opcode::Alloca) => variables.push(value),
            None if !value.is_constant_value() => variables.push(value),
            Some(opcode) if derives(opcode) => {
                let pointers = value.operands().filter(|operand| operand.address_space().is_some());
                open.extend(pointers.filter(|operand| seen.insert(*operand)));
            }
            _ => {}
        }
    }
    variables
}

/// True if the result of such an instruction points to the same variable as one of its operands.
fn derives(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::ElementPointer
            | Opcode::Phi
            | Opcode::Select
            | Opcode::AddressSpaceCast
            | Opcode::BitCast
            | Opcode::Freeze
    )
}

fn calls_any(call: Value<'_>, prefixes: &[&str]) -> bool {
    let Some(callee) = call.callee().filter(|callee| callee.is_function()) else { return false };
    let name = callee.name();
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}
