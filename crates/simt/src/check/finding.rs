//! Findings: what a check reports, as data.
//!
//! A [`Finding`] says what is wrong ([`FindingKind`]), where ([`Place`]), in which thread first and how often. Its text is made elsewhere, in
//! compute-sanitizer's words; programs read the same data as JSON, so a field's name here is part of that format.
//!
//! Two relations between findings decide what is printed. One *repeats* another if both are of the same instruction and differ
//! in threads and addresses alone: they are printed once, with a count. One *is like* another if a change of one line of the source
//! would mend both: they are printed as one group. For example, a loop that the compiler has unrolled four times reads out
//! of bounds at four instructions: four findings, none of which repeats another, in one group.

use std::time::Duration;

use serde::Serialize;

use super::checks::Check;
use super::place::Place;
use crate::fault;
use crate::observe::{Operation, Space};

/// A finding: what is wrong, where, in which thread, and how often.
///
/// Its text uses compute-sanitizer's words, without the prefix that a [`Report`](super::Report) puts before each line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Check that found it.
    pub check: Check,
    /// Severity: errors count, warnings are only shown.
    pub severity: Severity,
    /// What is wrong.
    pub kind: FindingKind,
    /// Kernel of the launch; None for findings about the host's calls.
    pub kernel: Option<String>,
    /// Position of the instruction, if there is one.
    pub place: Option<Place>,
    /// First thread that it concerns.
    pub thread: Option<Thread>,
    /// How often it occurred at this place: threads, or for races accesses of threads. Bytes and blocks do not count
    /// apart.
    pub count: u64,
}

impl Finding {
    /// Creates a finding that occurred once, without place and thread.
    pub(super) fn new(check: Check, kind: FindingKind) -> Self {
        Self { check, severity: Severity::Error, kind, kernel: None, place: None, thread: None, count: 1 }
    }

    /// Returns true if both are the same finding: at one instruction, for any thread and address.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let sites = self.check == other.check
            && self.severity == other.severity
            && self.kernel == other.kernel
            && self.place == other.place
            && self.place.is_some();
        sites && self.kind.repeats(&other.kind)
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Correct only if the lanes of a warp happen to run in step.
    Warning,
    /// Wrong.
    Error,
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Thread {
    /// Coordinates in its block: x, y, z.
    pub thread: [u32; 3],
    /// Coordinates of its block in the grid.
    pub block: [u32; 3],
}

/// Memory space of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Global memory: addresses as the host sees them.
    Global,
    /// Shared memory: offsets from 0 in each block, or addresses that `mapa` gives.
    Shared,
    /// Local memory: offsets from 0 in each thread.
    Local,
    /// Constant memory: addresses as the host sees them.
    Constant,
}

impl From<Space> for Memory {
    fn from(space: Space) -> Self {
        match space {
            Space::Global => Self::Global,
            Space::Shared | Space::Cluster => Self::Shared,
            Space::Local => Self::Local,
            Space::Constant => Self::Constant,
        }
    }
}

/// Kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation or a reduction.
    Atomic,
}

impl From<Operation> for AccessKind {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Load => Self::Read,
            Operation::Store => Self::Write,
            Operation::Atomic | Operation::Reduction => Self::Atomic,
        }
    }
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessProblem {
    /// The address lies in no allocation.
    OutOfBounds,
    /// The address is not a multiple of the access's size.
    Misaligned,
    /// The memory is read-only.
    ReadOnly,
}

/// An allocation near an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NearAllocation {
    /// Address of its first byte.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Position of the access relative to it.
    pub side: Side,
    /// Distance in bytes to the first byte, from the first byte, or from the last byte. As in compute-sanitizer, 1 byte
    /// after is the first byte outside.
    pub distance: u64,
    /// True if it has been freed.
    pub freed: bool,
}

/// Position of an access relative to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Before its first byte.
    Before,
    /// Inside: the access begins within it.
    Inside,
    /// After its last byte.
    After,
}

impl From<fault::Nearest> for NearAllocation {
    fn from(nearest: fault::Nearest) -> Self {
        let (side, distance) = match nearest.place {
            fault::Place::Before(bytes) => (Side::Before, bytes),
            fault::Place::Inside(bytes) => (Side::Inside, bytes),
            fault::Place::After(bytes) => (Side::After, bytes),
        };
        Self { address: nearest.address, bytes: nearest.bytes, side, distance, freed: nearest.freed }
    }
}

/// What is wrong with a free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FreeProblem {
    /// The memory has been freed before.
    AlreadyFreed,
    /// The address was never allocated.
    NotAllocated,
    /// The address lies inside an allocation, after its start.
    Inside {
        /// Address of the allocation.
        allocation: u64,
        /// Size in bytes.
        bytes: u64,
    },
}

/// Order of two racing accesses, at least one of which writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Hazard {
    /// Read after write.
    Raw,
    /// Write after read.
    War,
    /// Write after write.
    Waw,
}

impl Hazard {
    /// Returns the abbreviation used in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "RAW",
            Self::War => "WAR",
            Self::Waw => "WAW",
        }
    }
}

/// One of two racing accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RacingAccess {
    /// Kind of the access.
    pub access: AccessKind,
    /// Position of its instruction.
    pub place: Place,
    /// Thread that accessed.
    pub thread: Thread,
}

/// What is wrong with a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "problem")]
pub enum BarrierProblem {
    /// Part of a warp waits at a block barrier while the rest is elsewhere.
    DivergentWarp {
        /// Lanes that are elsewhere, a bit each.
        elsewhere: u32,
    },
    /// Some threads of the block have exited, or wait at another barrier.
    DivergentBlock,
    /// The caller is not in its own member mask, or the mask is empty.
    NotInMask {
        /// The mask.
        mask: u32,
        /// Callers that the mask leaves out.
        callers: u32,
    },
    /// The mask names lanes that never arrive.
    NeverArrive {
        /// The mask.
        mask: u32,
        /// Lanes that do not arrive.
        missing: u32,
    },
    /// Deadlock: no thread can make progress.
    Deadlock {
        /// The waiting warps and where they wait, separated by semicolons.
        waiting: String,
    },
}

/// What is wrong, with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FindingKind {
    /// memcheck: an access that ended the launch.
    InvalidAccess {
        /// Memory space.
        memory: Memory,
        /// Kind of the access.
        access: AccessKind,
        /// Address; in shared and local memory an offset from 0.
        address: u64,
        /// Size of the access in bytes.
        bytes: u32,
        /// What is wrong with it.
        problem: AccessProblem,
        /// The nearest allocation.
        nearest: Option<NearAllocation>,
    },
    /// memcheck: `trap`, to which a panic compiles.
    Panicked {
        /// Text of the panic, as far as known.
        says: Option<String>,
    },
    /// memcheck: an assertion of the kernel failed.
    AssertFailed,
    /// memcheck: a breakpoint without a debugger.
    Breakpoint,
    /// memcheck: the stack is too small for local memory or the call depth.
    StackOverflow {
        /// Bytes needed.
        wanted: u64,
        /// Bytes available.
        limit: u64,
    },
    /// memcheck: a loop that is endless, or too long to tell.
    Endless {
        /// Warp instructions since a warp last ended.
        instructions: u64,
        /// Time without progress, if that was the limit.
        patience: Option<Duration>,
    },
    /// memcheck: an instruction that cannot execute with its run-time operands.
    IllegalInstruction {
        /// What is wrong.
        what: String,
    },
    /// memcheck: memory that was not freed.
    Leak {
        /// Address of its first byte.
        address: u64,
        /// Size in bytes.
        bytes: u64,
        /// The call that allocated it.
        allocated_by: String,
    },
    /// memcheck: a driver call that failed.
    ApiError {
        /// Name of the call.
        function: String,
        /// Name of the result, such as `CUDA_ERROR_INVALID_VALUE`.
        name: String,
        /// Number of the result.
        code: u32,
        /// Meaning of the result.
        description: String,
    },
    /// memcheck: an invalid free.
    InvalidFree {
        /// Address that was to be freed.
        address: u64,
        /// Name of the call.
        function: String,
        /// What is wrong with it.
        problem: FreeProblem,
    },
    /// racecheck: two conflicting accesses that happens-before does not order.
    Race {
        /// Their order in this execution.
        hazard: Hazard,
        /// Memory space.
        memory: Memory,
        /// The first byte that both access.
        address: u64,
        /// The access that came first in this execution; its place is the finding's.
        first: Box<RacingAccess>,
        /// The access that came second.
        second: Box<RacingAccess>,
    },
    /// initcheck: a read of uninitialised bytes.
    UninitialisedRead {
        /// Memory space.
        memory: Memory,
        /// Size of the access in bytes, some of which are uninitialised.
        bytes: u32,
        /// Address of its first byte.
        address: u64,
        /// True if the instruction writes too.
        atomic: bool,
    },
    /// initcheck, a warning: memory that was not written completely before its context ended.
    UnusedMemory {
        /// Address of its first byte.
        address: u64,
        /// Size in bytes.
        bytes: u64,
        /// Offset of the first byte that was not written.
        offset: u64,
        /// Number of bytes that were not written.
        unwritten: u64,
    },
    /// initcheck: a branch or an address depends on uninitialised values.
    UninitialisedRegister {
        /// True for a branch, false for an address.
        branch: bool,
    },
    /// synccheck: a misused barrier.
    Barrier {
        /// What is wrong with it.
        #[serde(flatten)]
        problem: BarrierProblem,
    },
}

impl FindingKind {
    /// Returns true if both are one mistake to its author: whatever the address, the size, the order of a race, and the
    /// lanes.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::InvalidAccess { memory, access, problem, .. },
                Self::InvalidAccess { memory: memory2, access: access2, problem: problem2, .. },
            ) => (memory, access, problem) == (memory2, access2, problem2),
            (Self::Race { memory, .. }, Self::Race { memory: memory2, .. }) => memory == memory2,
            (
                Self::UninitialisedRead { memory, atomic, .. },
                Self::UninitialisedRead { memory: memory2, atomic: atomic2, .. },
            ) => (memory, atomic) == (memory2, atomic2),
            _ => self.repeats(other),
        }
    }

    /// Returns true if both are equal except for addresses and threads.
    fn repeats(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::InvalidAccess { memory, access, bytes, problem, .. },
                Self::InvalidAccess {
                    memory: memory2,
                    access: access2,
                    bytes: bytes2,
                    problem: problem2,
                    ..
                },
            ) => (memory, access, bytes, problem) == (memory2, access2, bytes2, problem2),
            (
                Self::Race { hazard, memory, first, second, .. },
                Self::Race { hazard: hazard2, memory: memory2, first: first2, second: second2, .. },
            ) => {
                (hazard, memory) == (hazard2, memory2)
                    && (first.access, &first.place) == (first2.access, &first2.place)
                    && (second.access, &second.place) == (second2.access, &second2.place)
            }
            (
                Self::UninitialisedRead { memory, bytes, .. },
                Self::UninitialisedRead { memory: memory2, bytes: bytes2, .. },
            ) => (memory, bytes) == (memory2, bytes2),
            (Self::Barrier { problem }, Self::Barrier { problem: problem2 }) => {
                std::mem::discriminant(problem) == std::mem::discriminant(problem2)
            }
            _ => self == other,
        }
    }
}
