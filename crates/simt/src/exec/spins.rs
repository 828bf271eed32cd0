//! Recognises spin loops: loops that may wait for another thread.
//!
//! A spin loop ends when another thread changes a value. So its exit depends on an atomic or a strong load, or on any
//! load if the loop contains a fence or `nanosleep`. A warp in a spin loop yields now and then. In any other loop the
//! lanes that have left wait at the join for those that are still in it.

use std::ops::Range;

use super::compile::Compiler;
use super::step::{Action, Rare};
use crate::ptx::op::Op;
use crate::ptx::op::words::AddressSpace;

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

/// Returns true if other threads' writes can decide when these instructions are left.
fn may_wait(compiler: &Compiler<'_>, range: Range<usize>) -> bool {
    let op = |at: usize| compiler.sites[at].op;
    let fenced = range.clone().any(|at| matches!(op(at), Op::Fence(_) | Op::Nanosleep));
    let is_source = |at: usize| match op(at) {
        Op::Atomic(atomic) => atomic.gives_back,
        Op::Mbarrier(_) => true,
        Op::Ld(access) => {
            let own = |space| matches!(space, AddressSpace::Local | AddressSpace::Constant);
            let is_own = access.space.is_some_and(|space| own(space) || space.is_parameter());
            !is_own && !access.read_only && (op(at).is_strong() || fenced)
        }
        // Callees are not analysed.
        Op::Call => true,
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
