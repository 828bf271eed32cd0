//! What compiled code and the executor share.

use std::mem::offset_of;

use super::regions::DEEPEST;
use super::sums::Sums;
use crate::observe::Notes;
use crate::registers::Cell;

/// The state that compiled code reads and writes, by offset. One per worker.
#[repr(C)]
pub(super) struct Shared {
    /// The interpreter's functions that the kernel's code calls, each with the address of its slots.
    pub(super) calls: *const [usize; 2],
    /// The launch's parameters.
    pub(super) parameters: *const u8,
    /// Shared memory of the block: the host's address, and its bytes.
    pub(super) shared: u64,
    pub(super) shared_bytes: u64,
    /// Bounds of the allocation that each access last hit: first and last address that may be accessed, inclusive.
    pub(super) bounds: *mut [u64; 2],
    /// Executions by block, then branches taken by block, then threads by guarded step.
    pub(super) counters: *mut u64,
    /// Coordinates of the block's threads, by warp, axis and lane.
    pub(super) threads: *const [[u32; 32]; 3],
    /// Warp instructions that the worker has executed.
    pub(super) instructions: u64,
    /// Value of `instructions` at which a loop returns to the executor.
    pub(super) limit: u64,
    pub(super) block: [u32; 3],
    pub(super) multiprocessor: u32,
    pub(super) warp: u32,
    /// The step at which compiled code stopped.
    pub(super) pc: u32,
    /// The lanes that were active where code stopped while lanes were apart, for a fault or the end of the time slice.
    pub(super) active: u32,
    /// Branches and loops whose lanes were apart there, outermost first.
    pub(super) open_count: u32,
    pub(super) open: [Open; MOST_OPEN],
    /// The observer's tallies of the function's steps: address of the first, 0 without; bytes from one to the next.
    pub(super) tallies: u64,
    pub(super) tally_stride: u64,
    /// Order of the warp in the launch, by which tallies are limited.
    pub(super) order: u64,
    /// Where the observer lets accesses to global memory be noted; has a place if `tallies` has.
    pub(super) notes: *mut Notes,
    /// Lanes in which the load that was reported last reads uninitialised bytes, if undefined registers are tracked.
    pub(super) undefined: u32,
    /// Addresses of the lanes, for the observer and for gathers.
    pub(super) addresses: [u64; 32],
    /// First address of the allocation whose sums are held back, with [`IS_WIDE`](super::sums::IS_WIDE); 0 without.
    pub(super) summed: u64,
    pub(super) sums: Sums,
    /// The executor, whose type the callbacks know.
    pub(super) runner: *mut (),
    pub(super) callbacks: Callbacks,
}

/// A branch or a loop whose lanes have not met yet.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Open {
    /// The step at which they meet; [`NOWHERE`](super::super::step::NOWHERE) if they exit.
    pub(super) meets: u32,
    pub(super) lanes: u32,
    /// First step of the lanes that have not begun.
    pub(super) later: u32,
    pub(super) later_lanes: u32,
}

/// Most branches and loops that are open at a time.
pub(super) const MOST_OPEN: usize = 2 * DEEPEST;

/// Functions of the executor that compiled code calls.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Callbacks {
    /// Executes a memory instruction for a mask, by the columns of the frame. Returns 0, or 1 for a fault.
    pub(super) memory: unsafe extern "C" fn(*mut Shared, *mut Cell, u32, u32) -> u32,
    /// Executes a rare instruction for a whole warp.
    pub(super) rare: unsafe extern "C" fn(*mut Shared, *mut Cell, u32),
    /// Tells the observer of an access at `base + k * step`.
    pub(super) steady: unsafe extern "C" fn(*mut Shared, u32, u64, u64),
    /// Tells the observer of an access in rows: number, log2 of a row's lanes, base, step and pitch.
    pub(super) rows: unsafe extern "C" fn(*mut Shared, u32, u32, u64, u64, u64),
    /// Tells the observer of an access at the shared addresses, in the lanes of a mask.
    pub(super) any: unsafe extern "C" fn(*mut Shared, u32, u32),
    /// Tells the observer of the values that the `match.any` at a step has found.
    pub(super) matched: unsafe extern "C" fn(*mut Shared, u32, u32),
    /// Adds values to sums that are held back: the lanes' values, the allocation as in [`Shared::summed`], and a mask.
    pub(super) add: unsafe extern "C" fn(*mut Shared, *const (), u64, u32),
    /// Adds the sums to memory.
    pub(super) settle: unsafe extern "C" fn(*mut Shared),
}

/// A counter of a block. Counters lie one after the other by kind, then by block; those of guarded steps follow.
#[derive(Clone, Copy)]
pub(super) enum Counter {
    /// Executions by whole warps.
    Executed,
    /// Branches that whole warps took.
    Taken,
    /// Executions under a mask.
    Masked,
    /// Threads of those.
    Threads,
    /// Threads that took the branch where not the whole warp did.
    TakenThreads,
    /// Branches that were taken by some of the lanes.
    Divergent,
}

impl Counter {
    /// Returns the number of counters of this many blocks.
    pub(super) fn of_blocks(blocks: usize) -> usize {
        (Self::Divergent as usize + 1) * blocks
    }

    /// Returns the index of a block's counter.
    pub(super) fn index(self, blocks: usize, block: usize) -> usize {
        self as usize * blocks + block
    }
}

/// Offsets of the fields.
pub(super) mod at {
    use super::{Callbacks, Shared, offset_of};

    pub(crate) const CALLS: usize = offset_of!(Shared, calls);
    pub(crate) const PARAMETERS: usize = offset_of!(Shared, parameters);
    pub(crate) const SHARED: usize = offset_of!(Shared, shared);
    pub(crate) const SHARED_BYTES: usize = offset_of!(Shared, shared_bytes);
    pub(crate) const BOUNDS: usize = offset_of!(Shared, bounds);
    pub(crate) const COUNTERS: usize = offset_of!(Shared, counters);
    pub(crate) const THREADS: usize = offset_of!(Shared, threads);
    pub(crate) const INSTRUCTIONS: usize = offset_of!(Shared, instructions);
    pub(crate) const LIMIT: usize = offset_of!(Shared, limit);
    pub(crate) const BLOCK: usize = offset_of!(Shared, block);
    pub(crate) const MULTIPROCESSOR: usize = offset_of!(Shared, multiprocessor);
    pub(crate) const WARP: usize = offset_of!(Shared, warp);
    pub(crate) const PC: usize = offset_of!(Shared, pc);
    pub(crate) const ACTIVE: usize = offset_of!(Shared, active);
    pub(crate) const OPEN_COUNT: usize = offset_of!(Shared, open_count);
    pub(crate) const OPEN: usize = offset_of!(Shared, open);
    pub(crate) const TALLIES: usize = offset_of!(Shared, tallies);
    pub(crate) const TALLY_STRIDE: usize = offset_of!(Shared, tally_stride);
    pub(crate) const ORDER: usize = offset_of!(Shared, order);
    pub(crate) const NOTES: usize = offset_of!(Shared, notes);
    pub(crate) const UNDEFINED: usize = offset_of!(Shared, undefined);
    pub(crate) const ADDRESSES: usize = offset_of!(Shared, addresses);
    pub(crate) const SUMMED: usize = offset_of!(Shared, summed);
    pub(crate) const MEMORY: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, memory);
    pub(crate) const RARE: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, rare);
    pub(crate) const STEADY: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, steady);
    pub(crate) const ROWS: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, rows);
    pub(crate) const ANY: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, any);
    pub(crate) const MATCHED: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, matched);
    pub(crate) const ADD: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, add);
    pub(crate) const SETTLE: usize = offset_of!(Shared, callbacks) + offset_of!(Callbacks, settle);
}

/// A kernel's code: executes a whole warp from an entry, and returns why it stopped.
pub(super) type Entry = unsafe extern "C" fn(*mut Shared, *mut Cell, u32) -> u32;

/// Reasons for which compiled code returns.
pub(super) mod stopped {
    /// All lanes have exited.
    pub(crate) const ENDED: u32 = 0;
    /// The interpreter has to go on at the step, within a block.
    pub(crate) const LEFT: u32 = 1;
    /// An access faulted.
    pub(crate) const FAULT: u32 = 2;
    /// The limit of instructions is reached.
    pub(crate) const TIRED: u32 = 3;
    /// The interpreter executes the step, which follows a block.
    pub(crate) const BETWEEN: u32 = 4;
    /// A load has read uninitialised bytes, which the interpreter tracks from the step behind it on.
    pub(crate) const UNDEFINED: u32 = 5;
    /// The interpreter has to go on at the step, within a block, with lanes that are apart.
    pub(crate) const APART: u32 = 6;
}
