//! What a check has to say.

use std::time::Duration;

use serde::Serialize;

use super::checks::Check;
use super::place::Place;
use crate::fault;
use crate::observe::{Operation, Space};

/// Something that is wrong: what, where, who did it, and how often.
///
/// Written out it has compute-sanitizer's words, one line each, without the prefix that a [`Report`](super::Report)
/// puts before them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Who found it.
    pub check: Check,
    /// Errors count; warnings are shown.
    pub severity: Severity,
    /// What it is.
    pub kind: FindingKind,
    /// The kernel that was launched; none for what the host did.
    pub kernel: Option<String>,
    /// The instruction, where there is one.
    pub place: Option<Place>,
    /// The first thread that it happened to.
    pub thread: Option<Thread>,
    /// How often it happened at this place: threads, or accesses of threads for races. Bytes and blocks do not count
    /// apart.
    pub count: u64,
}

impl Finding {
    /// Something that happened once, to nobody in particular.
    pub(super) fn new(check: Check, kind: FindingKind) -> Self {
        Self { check, severity: Severity::Error, kind, kernel: None, place: None, thread: None, count: 1 }
    }

    /// Whether both are the same thing again: at one instruction, whoever it happened to and whichever address it was.
    pub fn repeats(&self, other: &Self) -> bool {
        let sites = self.check == other.check
            && self.severity == other.severity
            && self.kernel == other.kernel
            && self.place == other.place
            && self.place.is_some();
        sites && self.kind.repeats(&other.kind)
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It works as long as the lanes of a warp happen to run in step.
    Warning,
    /// It is wrong.
    Error,
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Thread {
    /// Its coordinates in its block: x, y, z.
    pub thread: [u32; 3],
    /// The block's in the grid.
    pub block: [u32; 3],
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Addresses as the host sees them.
    Global,
    /// From 0 in each block.
    Shared,
    /// From 0 in each thread.
    Local,
    /// Addresses as the host sees them.
    Constant,
}

impl From<Space> for Memory {
    fn from(space: Space) -> Self {
        match space {
            Space::Global => Self::Global,
            Space::Shared => Self::Shared,
            Space::Local => Self::Local,
            Space::Constant => Self::Constant,
        }
    }
}

/// What was wanted of memory.
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
    /// Nothing may be accessed there.
    OutOfBounds,
    /// The address is no multiple of the size.
    Misaligned,
    /// It may only be read.
    ReadOnly,
}

/// An allocation near an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NearAllocation {
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Where the access lies, seen from it.
    pub side: Side,
    /// How many bytes it lies before its first, from its first, or behind its last; as compute-sanitizer counts, 1 byte
    /// after is the first that is not in it.
    pub distance: u64,
    /// It has been freed.
    pub freed: bool,
}

/// A side of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Before its first byte.
    Before,
    /// It begins within it.
    Inside,
    /// Behind its last byte.
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

/// What a free was wrong about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FreeProblem {
    /// It has been freed before.
    AlreadyFreed,
    /// Nothing was ever allocated there.
    NotAllocated,
    /// It is in the middle of an allocation.
    Inside {
        /// The allocation's first byte.
        allocation: u64,
        /// Its size.
        bytes: u64,
    },
}

/// The order in which two accesses came, of which at least one writes.
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
    /// As it is written in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "RAW",
            Self::War => "WAR",
            Self::Waw => "WAW",
        }
    }
}

/// One of two accesses that race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RacingAccess {
    /// What it did.
    pub access: AccessKind,
    /// Its instruction.
    pub place: Place,
    /// Who did it.
    pub thread: Thread,
}

/// What is wrong with a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "problem")]
pub enum BarrierProblem {
    /// A part of the warp waits at a barrier of the block; the rest is elsewhere.
    DivergentWarp {
        /// Lanes that are elsewhere, a bit each.
        elsewhere: u32,
    },
    /// Some threads of the block are gone, or wait at another barrier.
    DivergentBlock,
    /// The caller is not in the mask that it gives, or the mask names nobody.
    NotInMask {
        /// The mask.
        mask: u32,
        /// Callers that it leaves out.
        callers: u32,
    },
    /// The mask names lanes that never come.
    NeverArrive {
        /// The mask.
        mask: u32,
        /// Who does not come.
        missing: u32,
    },
    /// Everybody waits for somebody.
    Deadlock {
        /// Who waits where, separated by semicolons.
        waiting: String,
    },
}

/// What is wrong, with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FindingKind {
    /// memcheck: an access that ended the launch.
    InvalidAccess {
        /// Where.
        memory: Memory,
        /// What was wanted.
        access: AccessKind,
        /// In shared and local memory from 0.
        address: u64,
        /// Bytes wanted.
        bytes: u32,
        /// What is wrong with it.
        problem: AccessProblem,
        /// What lies near.
        nearest: Option<NearAllocation>,
    },
    /// memcheck: `trap`, which is what a panic becomes.
    Panicked {
        /// What the panic would have said, as far as that is known.
        says: Option<String>,
    },
    /// memcheck: an assertion of the kernel failed.
    AssertFailed,
    /// memcheck: a breakpoint without a debugger.
    Breakpoint,
    /// memcheck: more local memory or deeper calls than there is stack.
    StackOverflow {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes that there are.
        limit: u64,
    },
    /// memcheck: a loop without end, or one that takes so long that it cannot be told from one.
    Endless {
        /// Warp instructions without one warp coming to its end.
        instructions: u64,
        /// The time without progress, where that is what was limited.
        patience: Option<Duration>,
    },
    /// memcheck: an instruction that cannot be done as asked.
    IllegalInstruction {
        /// What is wrong.
        what: String,
    },
    /// memcheck: memory that nobody freed.
    Leak {
        /// Its first byte.
        address: u64,
        /// Its size.
        bytes: u64,
        /// The call that it came from.
        allocated_by: String,
    },
    /// memcheck: a call of the driver that failed.
    ApiError {
        /// The call's name.
        function: String,
        /// The result's name: `CUDA_ERROR_INVALID_VALUE`.
        name: String,
        /// Its number.
        code: u32,
        /// What it means.
        description: String,
    },
    /// memcheck: a free of what cannot be freed.
    InvalidFree {
        /// What was to be freed.
        address: u64,
        /// The call.
        function: String,
        /// What is wrong with it.
        problem: FreeProblem,
    },
    /// racecheck: two accesses to one place, at least one of them a write, that nothing orders.
    Race {
        /// Which came first here.
        hazard: Hazard,
        /// Where.
        memory: Memory,
        /// The first byte that both touch.
        address: u64,
        /// The one that came first here; the finding's place is its too.
        first: Box<RacingAccess>,
        /// The one that came second.
        second: Box<RacingAccess>,
    },
    /// initcheck: a read of bytes that nothing has written.
    UninitialisedRead {
        /// Where.
        memory: Memory,
        /// Bytes that a thread reads at once, some of which are not initialised.
        bytes: u32,
        /// The first of them.
        address: u64,
        /// Whether the instruction writes too.
        atomic: bool,
    },
    /// initcheck: memory that nothing has written when its context goes; a warning.
    UnusedMemory {
        /// Its first byte.
        address: u64,
        /// Its size.
        bytes: u64,
        /// Of the first byte that nothing has written.
        offset: u64,
        /// How many there are.
        unwritten: u64,
    },
    /// initcheck: a branch or an address depends on what nothing has written.
    UninitialisedRegister {
        /// It is a branch that does.
        branch: bool,
    },
    /// synccheck: a barrier that does not work.
    Barrier {
        /// What is wrong with it.
        #[serde(flatten)]
        problem: BarrierProblem,
    },
}

impl FindingKind {
    /// Whether both are the same mistake as their author sees it: whatever the address, the size, the order of a race, and
    /// the lanes concerned.
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

    /// Whether both are the same but for addresses and threads.
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
