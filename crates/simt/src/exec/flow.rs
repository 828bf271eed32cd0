//! Finds reconvergence points: where lanes that diverge at a branch meet again.
//!
//! That is the immediate post-dominator of the branch, which [`cfg`](crate::ptx::cfg) finds. Two cases remain.
//! Lanes with no such point in a called function meet where it returns ([`AT_RETURN`]). In a kernel they need not meet
//! ([`NOWHERE`]), and neither need they at an instruction that only ends the kernel:
//!
//! ```text
//! 4  @%p bra 7        lanes without an element of their own
//! 5  ld.global ...
//! 6  st.global ...
//! 7  ret              the post-dominator of 4, but a lane that comes here exits without waiting for the others
//! ```

use super::step::{AT_RETURN, NOWHERE};
use crate::ptx::Body;
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;

/// Returns the pc at which lanes reconverge that diverge at instruction `index`, the last of its basic block. `first`
/// is the pc of the function's first instruction.
pub(super) fn meets(cfg: &Cfg, body: &Body, index: u32, first: u32, is_entry: bool) -> u32 {
    let block = cfg.block_of(index).and_then(|block| cfg.block(block).meets);
    let Some(meets) = block.map(|block| cfg.block(block).instructions.start) else {
        return if is_entry { NOWHERE } else { AT_RETURN };
    };
    // At the end of a kernel nothing is left to execute together: a lane that comes there exits, as threads on the
    // hardware do.
    if is_entry && leaves(body, meets) { NOWHERE } else { first + meets }
}

/// Returns true if a kernel's lanes exit at this instruction and do nothing else.
pub(super) fn leaves(body: &Body, index: u32) -> bool {
    match body.instructions.get(index as usize) {
        None => true,
        Some(instruction) => {
            instruction.guard.is_none() && matches!(instruction.opcode.op(), Ok(Op::Ret | Op::Exit))
        }
    }
}
