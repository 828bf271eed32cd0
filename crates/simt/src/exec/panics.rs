//! Takes the panics of `cuda_builder` for what they are.
//!
//! There a panic in a region of divergent lanes is a `brkpt`, an `exit` under a guard that is always true, and a branch
//! that is never reached; its documentation says why. Here the `brkpt` becomes the `trap` that it stands for, behind
//! which nothing follows.

use crate::ptx::op::Op;
use crate::ptx::{Function, Instruction, Item, Module, Opcode};

/// Ops of a panic: a breakpoint, the number of threads in a block, its comparison with 0, an exit, a branch.
fn is_panic(code: &[Instruction]) -> bool {
    let op = |instruction: &Instruction| instruction.opcode.op().ok();
    let [stop, threads, compare, exit, branch] = code else { return false };
    let is_branch = op(branch) == Some(Op::Bra) && branch.guard.is_none();
    op(stop) == Some(Op::Brkpt)
        && stop.guard.is_none()
        && threads.opcode.as_str() == "mov.u32"
        && compare.opcode.as_str() == "setp.ne.u32"
        && op(exit) == Some(Op::Exit)
        && exit.guard.is_some()
        && is_branch
}

/// Rewrites the panics of all functions.
pub(super) fn recognise(module: &mut Module) {
    for item in &mut module.items {
        let Item::Function(Function { body: Some(body), .. }) = item else { continue };
        let panics: Vec<usize> = body
            .instructions
            .windows(5)
            .enumerate()
            .filter(|(_, code)| is_panic(code))
            .map(|(at, _)| at)
            .collect();
        for at in panics {
            let [stop, .., exit, branch] = &mut body.instructions[at..at + 5] else { continue };
            stop.opcode = Opcode::new("trap");
            // The rest is not reached, and leads nowhere.
            exit.guard = None;
            *branch = exit.clone();
        }
    }
}
