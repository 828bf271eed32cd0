//! Where lanes that part meet again.

use super::step::{AT_RETURN, NOWHERE};
use crate::ptx::Body;
use crate::ptx::cfg::Cfg;

/// The place where lanes meet that part at the instruction of this index, which ends its block; `first` is the place
/// of the function's first.
pub(super) fn meets(cfg: &Cfg, body: &Body, index: u32, first: u32, is_entry: bool) -> u32 {
    let block = cfg.block_of(index).and_then(|block| cfg.block(block).meets);
    let Some(meets) = block.map(|block| cfg.block(block).instructions.start) else {
        return if is_entry { NOWHERE } else { AT_RETURN };
    };
    // At the end of a kernel there is nothing left to do together: who comes there has left, as threads have on the
    // hardware that leave early.
    if is_entry && leaves(body, meets) { NOWHERE } else { first + meets }
}

/// Whether a kernel's lanes leave here, and do nothing else.
pub(super) fn leaves(body: &Body, index: u32) -> bool {
    match body.instructions.get(index as usize) {
        None => true,
        Some(instruction) => {
            instruction.guard.is_none() && matches!(instruction.opcode.base(), "ret" | "exit")
        }
    }
}
