//! Atomic instructions on memory that has none: PTX's `atom` and `red` take addresses in global and shared memory alone.
//!
//! ptxas refuses `atom.local`, and a generic `atom` on a local address ends the launch with an error about the address
//! space. So a generic one is refused here if the address of a local variable can be seen to reach it: the passes have
//! already turned those that go to local memory and nowhere else into plain accesses.

use std::collections::HashSet;

use ptx::op::Op;
use ptx::op::words::AddressSpace as Space;
use ptx::outline::{Kind, statements};

use super::{Finding, place};
use crate::llvm::{AddressSpace, Module, Opcode, Value};
use crate::passes::assembly_instructions;

/// Checks an optimised module.
pub(super) fn module(module: &Module<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let locals = function.instructions().filter(|at| at.opcode() == Some(Opcode::Alloca));
        for local in locals {
            reached_from(local, &mut findings);
        }
    }
    findings
}

/// Follows the address of a local variable, inside its function, to atomic instructions.
fn reached_from(local: Value<'_>, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::from([local]);
    let mut open = vec![local];
    while let Some(pointer) = open.pop() {
        for user in pointer.users() {
            let through = |index: usize| user.operands().nth(index) == Some(pointer);
            let instruction = match user.opcode() {
                Some(Opcode::AtomicReadModifyWrite | Opcode::CompareExchange)
                    if through(0) && pointer.address_space() != Some(AddressSpace::LOCAL) =>
                {
                    String::from("atom")
                }
                Some(Opcode::Call) => match atomic_assembly(user) {
                    Some(instruction) => instruction,
                    None => continue,
                },
                Some(
                    Opcode::ElementPointer
                    | Opcode::Phi
                    | Opcode::Select
                    | Opcode::AddressSpaceCast
                    | Opcode::BitCast
                    | Opcode::Freeze,
                ) => {
                    if user.address_space().is_some() && seen.insert(user) {
                        open.push(user);
                    }
                    continue;
                }
                _ => continue,
            };
            let function = user.parent_function().map(Value::name).unwrap_or_default();
            let finding = Finding::AtomicSpace { function, instruction, memory: "local", place: place(user) };
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
}

/// The first atomic instruction in the inline assembly that a call is.
fn atomic_assembly(call: Value<'_>) -> Option<String> {
    let assembly = call.callee()?.assembly()?;
    let is_atomic = |opcode: &ptx::Opcode| opcode.op().is_ok_and(|op| op.is_atomic());
    let atomic = assembly_instructions(&assembly.text).find(is_atomic);
    atomic.map(|opcode| opcode.to_string())
}

/// Checks PTX for atomic instructions whose name has another space in it.
pub(super) fn ptx(text: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut function = "";
    for statement in statements(text) {
        let instruction = match statement.kind {
            Kind::Function { name, .. } => {
                function = name;
                continue;
            }
            Kind::Instruction(opcode) => opcode,
            _ => continue,
        };
        let memory = match Op::read(instruction).ok().filter(Op::is_atomic).and_then(|op| op.space()) {
            Some(Space::Local) => "local",
            Some(Space::Constant) => "constant",
            Some(space) if space.is_parameter() => "parameter",
            _ => continue,
        };
        let (function, instruction) = (function.to_owned(), instruction.to_owned());
        let finding = Finding::AtomicSpace { function, instruction, memory, place: None };
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, findings};

    fn found(function: &str, instruction: &str, memory: &'static str) -> Finding {
        Finding::AtomicSpace {
            function: function.into(),
            instruction: instruction.into(),
            memory,
            place: None,
        }
    }

    #[test]
    fn a_generic_atomic_that_a_local_variable_reaches_is_refused() {
        let refused = findings(
            r#"
            define ptx_kernel void @chosen(ptr %out, i1 %which) {
              %own = alloca i32
              %at = select i1 %which, ptr %own, ptr %out
              %old = atomicrmw add ptr %at, i32 1 monotonic
              store i32 %old, ptr %out
              ret void
            }
            define ptx_kernel void @assembly(ptr %out, i64 %i) {
              %own = alloca [4 x i32]
              %at = getelementptr i32, ptr %own, i64 %i
              %old = call i32 asm sideeffect "atom.relaxed.gpu.add.u32 $0, [$1], 1;", "=r,l"(ptr %at)
              store i32 %old, ptr %out
              ret void
            }
            define ptx_kernel void @fine(ptr %out) {
              %own = alloca i32
              %a = cmpxchg ptr %out, i32 0, i32 1 acq_rel monotonic
              %b = call i32 asm sideeffect "ld.volatile.b32 $0, [$1];", "=r,l"(ptr %own)
              %c = atomicrmw add ptr %out, i32 %b monotonic
              ret void
            }
            "#,
        );
        let expected =
            [found("chosen", "atom", "local"), found("assembly", "atom.relaxed.gpu.add.u32", "local")];
        assert_eq!(refused, expected);
        let text = refused[1].to_string();
        assert!(
            text.starts_with("`atom.relaxed.gpu.add.u32` on local memory in `assembly` (build"),
            "{text}"
        );
    }

    #[test]
    fn a_local_variable_alone_is_no_reason_to_refuse() {
        let ptx = testing::ptx(
            "define ptx_kernel void @k(ptr %out, i64 %i) {
              %own = alloca [4 x i32]
              store [4 x i32] zeroinitializer, ptr %own
              %at = getelementptr i32, ptr %own, i64 %i
              %old = atomicrmw add ptr %at, i32 1 monotonic
              %left = load [4 x i32], ptr %own
              store [4 x i32] %left, ptr %out
              ret void
            }",
        );
        assert!(!ptx.contains("atom"), "{ptx}");
    }

    #[test]
    fn ptx_is_searched_for_atomics_on_other_memory() {
        let text = ".visible .entry k(\n.param .u64 p\n)\n{\n\tatom.global.add.u32 \t%r1, [%rd1], 1;\n\
                    \t@%p1 atom.relaxed.sys.local.cas.b32 \t%r2, [%rd2], 0, 1;\n\tld.local.b32 %r3, [%rd2];\n}\n\
                    .func (.param .b32 r) helper(\n)\n{\n\tred.const.add.u32 \t[TABLE], 1;\n}\n";
        let expected = [
            found("k", "atom.relaxed.sys.local.cas.b32", "local"),
            found("helper", "red.const.add.u32", "constant"),
        ];
        assert_eq!(ptx(text), expected);
    }
}
