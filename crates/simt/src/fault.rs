//! Faults: errors that end a launch.

use std::time::Duration;

use crate::observe::{Operation, Site, Space};

/// A fault: its kind, the instruction and the thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// The instruction that faulted.
    pub site: Site,
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// Coordinates in the block of the lowest faulting thread.
    pub thread: [u32; 3],
}

/// The kinds of fault.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// An access outside of every allocation.
    OutOfBounds {
        /// State space that the instruction addresses.
        space: Space,
        /// Operation that was attempted.
        operation: Operation,
        /// The address; in shared and local memory an offset from 0.
        address: u64,
        /// Size of the access in bytes.
        bytes: u32,
        /// The nearest allocation, as in "is 4 bytes after the nearest allocation at 0x.. of size 64 bytes".
        nearest: Option<Nearest>,
    },
    /// An address that is not a multiple of the access's size.
    Misaligned {
        /// State space of the address.
        space: Space,
        /// Operation that was attempted.
        operation: Operation,
        /// The address.
        address: u64,
        /// Size of the access in bytes.
        bytes: u32,
    },
    /// A write to read-only memory: constants or parameters.
    ReadOnly {
        /// The address.
        address: u64,
        /// Size of the access in bytes.
        bytes: u32,
    },
    /// `trap`, to which a Rust panic compiles. The site's source line tells which panic.
    Trap,
    /// `brkpt` without a debugger.
    Breakpoint,
    /// `__assertfail` was called; its message has been printed.
    AssertFailed,
    /// No thread can make progress: every live thread waits for threads that wait too or have exited.
    Deadlock {
        /// The waiting warps and where they wait, as text.
        waiting: String,
    },
    /// The stack is too small for the kernel's local memory or its call depth.
    StackOverflow {
        /// Bytes needed.
        wanted: u64,
        /// Bytes available.
        limit: u64,
    },
    /// No warp has ended within the launch's limit, so an endless loop is likely.
    Endless {
        /// Warp instructions since a warp last ended.
        instructions: u64,
        /// The time limit, if that is the limit that was reached.
        patience: Option<Duration>,
    },
    /// An instruction that cannot execute with its run-time operands, such as `brx.idx` beyond its list.
    Illegal(String),
}

/// An allocation near an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Position of the access relative to the allocation.
    pub place: Place,
    /// True if the allocation has been freed.
    pub freed: bool,
}

/// Position of an address relative to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Distance in bytes from the address to the first byte.
    Before(u64),
    /// Offset in bytes from the first byte; the access crosses the end, or the allocation has been freed.
    Inside(u64),
    /// Distance in bytes of the address from the last byte.
    After(u64),
}
