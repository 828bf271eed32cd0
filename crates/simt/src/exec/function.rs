//! A decoded function, and what a launch needs to know of a kernel beside its functions.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::layout::{Fill, Place};
use super::special::Special;
use crate::registers::Slot;

/// A decoded function.
#[derive(Debug)]
pub(super) struct FunctionCode {
    pub(super) name: Arc<str>,
    /// Index of its first step.
    pub(super) first: u32,
    /// Index after its last step.
    pub(super) end: u32,
    /// Size of its frame in cells.
    pub(super) cells: u32,
    pub(super) is_entry: bool,
    /// Registers that may be read before they are written.
    pub(super) undefined_at_start: Vec<Slot>,
    pub(super) most_live: u32,
    pub(super) live_at_calls: u32,
    pub(super) round_trips: u32,
    pub(super) phased: bool,
    /// Columns that are filled once per launch.
    pub(super) filled: Vec<(Slot, Fill)>,
    /// Columns filled for each block and for each warp: special registers, truncated to this many bytes.
    pub(super) by_block: Vec<(Slot, Special, u8)>,
    pub(super) by_warp: Vec<(Slot, Special, u8)>,
    /// Columns with addresses in the function's own local memory, filled at each call, with the offset.
    pub(super) locals: Vec<(Slot, i64)>,
    pub(super) local_bytes: u32,
    /// Parameters that are copied to local memory, with the offset of the copy.
    pub(super) copies: Vec<(u32, u32)>,
    pub(super) parameters: Vec<Place>,
    pub(super) returns: Vec<Place>,
}

impl FunctionCode {
    /// Returns the stack bytes of a call: local memory and a return address, rounded up to the alignment of the largest
    /// register.
    pub(super) fn stack(&self) -> u32 {
        (self.local_bytes + 8).next_multiple_of(16)
    }
}

/// Launch data of a kernel that its functions do not hold.
#[derive(Debug)]
pub(super) struct KernelCode {
    /// Offset of each shared variable, by number; None if no function that the kernel reaches uses it.
    pub(super) shared: Vec<Option<u32>>,
    /// Offset of its dynamic shared memory.
    pub(super) dynamic_start: u32,
    /// Local memory of the deepest chain of calls in bytes; None if recursion or indirect calls leave it unbounded.
    pub(super) stack: Option<u32>,
    /// Warp instructions of a block, on average over the last launch; 0 before.
    pub(super) of_block: AtomicU64,
}
