//! What ends a launch before its time.

use std::time::Duration;

use crate::observe::{Operation, Site, Space};

/// What went wrong, where, and who did it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// The instruction.
    pub site: Site,
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The coordinates in the block of the first thread that it happened to.
    pub thread: [u32; 3],
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// An address that nothing may be accessed at.
    OutOfBounds {
        /// Where it was thought to be.
        space: Space,
        /// What was wanted.
        operation: Operation,
        /// The address; in shared and local memory from 0.
        address: u64,
        /// Bytes wanted.
        bytes: u32,
        /// What is known of the address, as in "is 4 bytes after the nearest allocation at 0x.. of size 64 bytes".
        nearest: Option<Nearest>,
    },
    /// An address that is no multiple of the access's size.
    Misaligned {
        /// Where it is.
        space: Space,
        /// What was wanted.
        operation: Operation,
        /// The address.
        address: u64,
        /// Bytes wanted.
        bytes: u32,
    },
    /// A write to memory that is only read: constants, parameters.
    ReadOnly {
        /// The address.
        address: u64,
        /// Bytes wanted.
        bytes: u32,
    },
    /// `trap`: what a Rust panic becomes. The site's source says which.
    Trap,
    /// `brkpt` without a debugger.
    Breakpoint,
    /// `__assertfail` was called; the words are printed by then.
    AssertFailed,
    /// Nobody can go on: threads wait for others that wait too, or have left.
    Deadlock {
        /// Who waits where, in words.
        waiting: String,
    },
    /// More local memory or deeper calls than the stack has.
    StackOverflow {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes that there are.
        limit: u64,
    },
    /// No warp has come to its end for so long that a loop without end is likely: the launch's limit.
    Endless {
        /// Warp instructions.
        instructions: u64,
        /// The time, where that is what was limited.
        patience: Option<Duration>,
    },
    /// An instruction that cannot be done as asked, found while executing: `brx.idx` beyond its list, ...
    Illegal(String),
}

/// An allocation near an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// How far the access lies from it: before it, within it (it reaches over the end) or after it.
    pub place: Place,
    /// It was freed.
    pub freed: bool,
}

/// Where an address lies, seen from an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// So many bytes before its first.
    Before(u64),
    /// So many bytes from its first; the access reaches over its end, or the allocation is freed.
    Inside(u64),
    /// So many bytes behind its last.
    After(u64),
}
