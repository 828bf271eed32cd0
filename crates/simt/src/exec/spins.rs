//! Recognises spin loops: loops that may wait for another thread.
//!
//! A *spin loop* reads a value again and again until another thread changes it: a lock, a flag, the phase of an
//! `mbarrier`. That thread may be a lane of the same warp which has left the loop and waits at the join behind it for
//! the lanes that spin. On a GPU that reconverges there without exception, both would wait for ever: a *SIMT-induced
//! deadlock* (ElTantawy and Aamodt, "MIMD Synchronization on SIMT Architectures", MICRO 2016, who find such loops by a
//! similar analysis). Since Volta, each thread makes progress. Here, [`run`](super::run) takes a warp out of a spin loop
//! after some iterations and releases its joins. In any other loop the lanes that have left do wait at the join, since
//! early release would only cost convergence. So the two kinds have to be told apart.
//!
//! # The rule
//!
//! Another thread can end a loop only through memory. A *source* is an instruction whose result another thread's write
//! can change: an atomic, an `mbarrier` operation, or a load that is *strong* in the memory model's terms (`volatile`,
//! `relaxed`, `acquire`). A weak load is a source only if the loop contains a fence or `nanosleep`; without them a
//! compiler could move it in front of the loop. What depends on a source, directly or through registers, over all
//! iterations, is *tainted* ([`Uses::depending`](super::uses::Uses::depending)). The loop spins if a branch or an exit in
//! it reads a tainted register. For example:
//!
//! ```text
//! SPIN: atom.global.cas.b32 r, [lock], 0, 1     a source: r is tainted
//!       setp.ne.u32 p, r, 0                     reads r: p is tainted
//!       @p bra SPIN                             reads p: a spin loop
//!
//! SUM:  ld.global.f32 v, [a]                    weak, and there is no fence: not a source
//!       add.f32 s, s, v
//!       atom.global.add.u32 n, [count], 1       a source: n is tainted
//!       setp.lt.u32 p, i, 100                   reads i alone
//!       @p bra SUM                              not a spin loop: no other thread can end it
//! ```
//!
//! The rule errs towards spinning: of a function that a loop calls, nothing is known, so its result is tainted.

use std::ops::Range;

use super::site::SiteInfo;
use super::step::{Action, Rare, Step};
use super::uses::Uses;
use crate::ptx::op::Op;
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::AddressSpace;

/// Marks the branches of a function that close spin loops; `own` are its steps among the program's.
pub(super) fn mark(steps: &mut [Step], rare: &[Rare], sites: &[SiteInfo], uses: &Uses, own: Range<usize>) {
    for at in own {
        let Action::Branch(branch) = &steps[at].action else { continue };
        let target = branch.target as usize;
        if branch.is_backward
            && may_wait(steps, rare, sites, uses, target..at + 1)
            && let Action::Branch(branch) = &mut steps[at].action
        {
            branch.spins = true;
        }
    }
}

/// Returns true if other threads' writes can decide when these instructions are left.
fn may_wait(steps: &[Step], rare: &[Rare], sites: &[SiteInfo], uses: &Uses, range: Range<usize>) -> bool {
    let op = |at: usize| sites[at].op;
    let fenced = range.clone().any(|at| matches!(op(at), Op::Memory(Memory::Fence(_)) | Op::Nanosleep));
    let is_source = |at: usize| match op(at) {
        Op::Memory(Memory::Atomic(atomic)) => atomic.gives_back,
        Op::Memory(Memory::Mbarrier(_)) => true,
        Op::Memory(Memory::Ld(access)) => {
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
    let tainted = uses.depending(range.clone(), is_source);
    range.into_iter().any(|at| {
        let step = &steps[at];
        let decides = match &step.action {
            Action::Branch(_) => true,
            Action::Rare(index) => {
                matches!(rare[*index as usize], Rare::Switch { .. } | Rare::Exit | Rare::Return)
            }
            _ => false,
        };
        decides && uses.reads(at, &tainted)
    })
}
