//! Loops that may wait for another thread.
//!
//! Such a loop ends when a value changes that others write: its end depends on an atomic operation or a strong load, or
//! on any load where the loop has a fence in it. Whoever goes round it is to let the others run now and then; lanes that
//! go round any other loop keep the lanes waiting that left it before.

use std::ops::Range;

use super::compile::Compiler;
use super::step::{Action, Rare};

/// Marks the branches that close such loops, among these steps.
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

/// Whether a load of this opcode sees what other threads write meanwhile.
pub(super) fn is_strong(opcode: &str) -> bool {
    opcode.split('.').any(|word| matches!(word, "volatile" | "relaxed" | "acquire" | "mmio"))
}

/// Whether what others write can decide when this part of the code is left.
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
        // What a function does is not looked into.
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
