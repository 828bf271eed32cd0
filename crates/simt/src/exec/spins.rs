//! Recognises spin loops: loops that may wait for another thread.
//!
//! A spin loop ends when another thread changes a value. So its exit depends on an atomic or a strong load, or on any
//! load if the loop contains a fence or `nanosleep`. A warp in a spin loop yields now and then. In any other loop the
//! lanes that have left wait at the join for those that are still in it.

use std::ops::Range;

use super::compile::Compiler;
use super::step::{Action, Rare};

/// Marks the branches among these steps that close spin loops.
pub(super) fn mark(compiler: &mut Compiler<'_>, range: Range<usize>) {
    for at in range.clone() {
        let Action::Branch(branch) = &compiler.steps[at].action else { continue };
        let target = branch.target as usize;
        if branch.is_backward
            && may_wait(compiler, target..at + 1)
            && let Action::Branch(branch) = &mut compiler.steps[at].action
        {
            branch.spins = true;
        }
    }
}

/// Returns true if a load of this opcode sees other threads' writes while it is repeated.
pub(super) fn is_strong(opcode: &str) -> bool {
    opcode.split('.').any(|word| matches!(word, "volatile" | "relaxed" | "acquire" | "mmio"))
}

/// Returns true if other threads' writes can decide when these instructions are left.
fn may_wait(compiler: &Compiler<'_>, range: Range<usize>) -> bool {
    let opcode = |at: usize| &*compiler.sites[at].opcode;
    let base = |at: usize| opcode(at).split('.').next().unwrap_or("");
    let fenced = range.clone().any(|at| matches!(base(at), "membar" | "fence" | "nanosleep"));
    let is_source = |at: usize| match base(at) {
        "atom" | "mbarrier" => true,
        "ld" => {
            let weak = !is_strong(opcode(at));
            let own = opcode(at).split('.').any(|word| matches!(word, "param" | "local" | "const" | "nc"));
            !own && (!weak || fenced)
        }
        // Callees are not analysed.
        "call" => true,
        _ => false,
    };
    if !range.clone().any(is_source) {
        return false;
    }
    let tainted = compiler.uses.depending(range.clone(), is_source);
    range.into_iter().any(|at| {
        let step = &compiler.steps[at];
        let decides = match &step.action {
            Action::Branch(_) => true,
            Action::Rare(rare) => {
                matches!(compiler.rare[*rare as usize], Rare::Switch { .. } | Rare::Exit | Rare::Return)
            }
            _ => false,
        };
        decides && compiler.uses.reads(at, &tainted)
    })
}
