//! Hides a number's origin from the compiler.

use std::arch::asm;

/// Returns the number.
///
/// What the compiler knows to come from a comparison it may branch upon, even where a selection was asked for. Where the
/// outcome cannot be predicted, a branch costs more than all that is computed here.
#[inline(always)]
pub(super) fn hidden(mut number: u64) -> u64 {
    // SAFETY: there are no instructions.
    unsafe {
        asm!("/* {0} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags));
    }
    number
}
