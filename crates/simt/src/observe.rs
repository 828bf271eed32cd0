//! Observes execution: one interface for counters and for checks.
//!
//! The executor is generic over its observer. Callbacks that an observer's constants switch off are not compiled in, so
//! an execution without an observer pays nothing.
//!
//! An observer of one's own implements [`Observer`] for a run of blocks and [`Observation`] for the launch. For example,
//! one that counts the bytes that stores write to global memory:
//!
//! ```
//! use simt::observe::{Access, At, Observation, Observer, Operation, Space};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! #[derive(Default)]
//! struct StoredByRun(u64);
//!
//! impl Observer for StoredByRun {
//!     const ACCESSES: bool = true;
//!
//!     fn access(&mut self, _: At, access: &Access<'_>) {
//!         if (access.operation, access.space) == (Operation::Store, Space::Global) {
//!             self.0 += u64::from(access.active.count_ones() * access.bytes);
//!         }
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Stored(AtomicU64);
//!
//! impl Observation for Stored {
//!     type Observer = StoredByRun;
//!
//!     fn run_of_blocks(&self) -> u64 {
//!         16
//!     }
//!
//!     fn begin(&self, _: u64) -> StoredByRun {
//!         StoredByRun::default()
//!     }
//!
//!     fn end(&self, run: StoredByRun) {
//!         self.0.fetch_add(run.0, Ordering::Relaxed);
//!     }
//! }
//! # let _ = Stored::default();
//! ```

mod access;
pub(crate) mod steady;

use std::ops::Range;

pub use access::{Access, At, Operation, Site, Space};
pub(crate) use steady::{MOST_NOTES, Note, Notes, Rows, SteadyAccess, Tallies, Tally};

/// Progress of a block, in instructions of its warps.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// Those of all warps.
    pub instructions: u64,
    /// Those of the warps for which others waited at barriers, times the block's warps.
    pub pace: u64,
    /// Those of the warps for which others waited at barriers, and behind the last barrier of the warp that had most to do.
    pub path: u64,
}

/// Observes the blocks of a run, which one worker executes in order.
///
/// Each block of a cluster of several is a run of its own. The worker executes the cluster's blocks in turn, and tells the
/// observer of each when its block goes on ([`Observer::block_resumes`]).
///
/// Each method does nothing unless it is overridden. Executors that vectorise report some accesses by methods that are
/// not documented, which call [`Observer::access`] unless they are overridden.
#[allow(unused_variables, reason = "the names say what there is to see")]
pub trait Observer {
    /// True to receive [`Observer::issue`].
    const ISSUES: bool = false;
    /// True to receive [`Observer::access`].
    const ACCESSES: bool = false;
    /// True to receive [`Observer::branch`].
    const BRANCHES: bool = false;
    /// True to receive barriers and other synchronisation.
    const SYNCHRONISATION: bool = false;
    /// True to receive [`Observer::warp_barrier`] as well. Without, compiled code shuffles and votes in place.
    const WARP_BARRIERS: bool = Self::SYNCHRONISATION;
    /// True to track undefined registers and receive [`Observer::undefined`].
    const REGISTERS: bool = false;
    /// True if an executor may report issues and branches as sums: by [`Observer::issues`] and [`Observer::branches`]
    /// in place of [`Observer::issue`] and [`Observer::branch`], at any time before the run ends. An observer that
    /// receives neither accepts sums, which it ignores; a pair of observers accepts them if both do.
    const BATCHES: bool = !Self::ISSUES && !Self::BRANCHES;

    /// A block begins.
    fn block_begins(&mut self, block: u64, warps: u32) {}
    /// Tells the progress of the block that ends next. Called before [`Observer::block_ends`], by executors alone.
    #[doc(hidden)]
    fn block_issued(&mut self, distance: Distance) {}
    /// A block of a cluster goes on, after other blocks of the cluster may have been executed and have ordered what its warps
    /// do. `written` are ranges of its shared memory that they have written, by offsets; they are there with
    /// [`Observer::REGISTERS`] alone. Not called in launches without clusters of several blocks.
    fn block_resumes(&mut self, block: u64, written: &[Range<u64>]) {}
    /// Returns true where the current block is to be reported instruction by instruction: the executor interprets it.
    #[doc(hidden)]
    fn wants_steps(&self) -> bool {
        false
    }
    /// The block has ended, with all its warps.
    fn block_ends(&mut self, block: u64) {}
    /// The run has ended. Called by the thread that executed it, before [`Observation::end`].
    fn run_ends(&mut self) {}
    /// A warp issues an instruction with this active mask (0 if its guard is false in all lanes).
    fn issue(&mut self, at: At, active: u32) {}
    /// Warps have issued an instruction this many times, with this many active lanes in sum. Called only with
    /// [`Observer::ISSUES`] and [`Observer::BATCHES`].
    fn issues(&mut self, site: Site, warps: u64, threads: u64) {}
    /// A warp is about to access memory.
    fn access(&mut self, at: At, access: &Access<'_>) {}
    /// A warp is about to access memory at evenly spaced addresses: equivalent to [`Observer::access`]. An executor
    /// calls one of the two for each access, and need not use this one.
    #[doc(hidden)]
    fn steady_access(&mut self, at: At, access: &SteadyAccess) {
        if Self::ACCESSES {
            self.access(at, &access.with(&access.addresses()));
        }
    }
    /// A warp is about to access memory in rows: equivalent to [`Observer::access`]. The step of `access` is that within a
    /// row.
    #[doc(hidden)]
    fn rows_access(&mut self, at: At, access: &SteadyAccess, rows: Rows) {
        if Self::ACCESSES {
            self.access(at, &access.with(&rows.addresses(access.base, access.step)));
        }
    }
    /// Returns tallies by which an executor may count accesses to shared and constant memory by all lanes of warps of
    /// this block, in place of [`Observer::steady_access`] and [`Observer::rows_access`], and note those to global
    /// memory. They hold until another method is called for a site that is not among these.
    #[doc(hidden)]
    fn tallies(&mut self, block: u64, sites: Range<u32>) -> Option<Tallies> {
        None
    }
    /// A conditional branch: the lanes that jump and those that go on.
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {}
    /// Warps have executed a conditional branch this many times, and in `divergent` of them lanes went both ways.
    /// Called only with [`Observer::BRANCHES`] and [`Observer::BATCHES`].
    fn branches(&mut self, site: Site, branches: u64, divergent: u64) {}
    /// A barrier completes: accesses before it happen before those after it. `barrier` is its number. `warps` are the
    /// bits of the warps that took part if it is a barrier of some warps only, else all ones.
    fn barrier(&mut self, at: At, barrier: u32, warps: u64) {}
    /// A `match.any` has found this many different values among a warp's lanes.
    fn matched(&mut self, at: At, values: u32) {}
    /// Lanes of a warp have synchronised (`bar.warp.sync`, and all `.sync` instructions).
    fn warp_barrier(&mut self, at: At, lanes: u32) {}
    /// Returns the lanes whose loaded bytes are uninitialised, after [`Observer::access`] of a load. Called only with
    /// [`Observer::REGISTERS`].
    fn undefined_lanes(&mut self) -> u32 {
        0
    }
    /// An instruction branches on, or addresses memory by, an undefined register.
    fn undefined(&mut self, at: At, lanes: u32) {}
    /// Lanes execute a fence, at the scope of a block, a device or the system.
    fn fence(&mut self, at: At, lanes: u32, beyond_block: bool) {}
    /// Synchronisation is misused; the launch goes on if it can.
    fn misuse(&mut self, at: At, misuse: Misuse) {}
}

/// Misuse of synchronisation, as synccheck reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// Part of a warp executed `bar.sync` while other lanes were elsewhere.
    DivergentWarp {
        /// Lanes that are elsewhere.
        elsewhere: u32,
    },
    /// Some threads of the block exited, or wait at another barrier, while others wait here for all.
    DivergentBlock,
    /// A caller of a `.sync` instruction is not in its own mask, or the mask is empty.
    NotInMask {
        /// The mask.
        mask: u32,
        /// Callers that it leaves out.
        callers: u32,
    },
    /// The mask names lanes that never arrive.
    NeverArrive {
        /// The mask.
        mask: u32,
        /// Lanes that do not arrive.
        missing: u32,
    },
}

/// Observes a launch: provides an observer for each run of blocks, and takes it back.
pub trait Observation {
    /// The observer of a run of blocks.
    type Observer: Observer + Send;

    /// Returns the length of a run in consecutive blocks. One worker executes a run in order; runs are executed in
    /// parallel unless [`Observation::in_order`].
    ///
    /// If a block waits for one that has not begun, its run ends with it. The rest of the run becomes a run of its own,
    /// with an observer of its own, and both are executed in turn. In launches with clusters of several blocks each block is
    /// a run.
    fn run_of_blocks(&self) -> u64;

    /// Returns true if each run must end before the next begins, except those of the blocks of one cluster.
    fn in_order(&self) -> bool {
        false
    }

    /// Creates the observer of a run that begins with this block. Called from several threads.
    fn begin(&self, first_block: u64) -> Self::Observer;

    /// Takes back a run's observer. Runs come one after another in the order of their blocks, in whatever order they ended,
    /// while other runs begin. After a failed launch, runs behind the failed one are left out.
    fn end(&self, observer: Self::Observer);
}

/// Observes nothing.
impl Observer for () {}

impl Observation for () {
    type Observer = ();

    fn run_of_blocks(&self) -> u64 {
        16
    }

    fn begin(&self, _: u64) {}

    fn end(&self, (): ()) {}
}

/// Calls both observers.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ISSUES: bool = A::ISSUES || B::ISSUES;
    const ACCESSES: bool = A::ACCESSES || B::ACCESSES;
    const BRANCHES: bool = A::BRANCHES || B::BRANCHES;
    const SYNCHRONISATION: bool = A::SYNCHRONISATION || B::SYNCHRONISATION;
    const WARP_BARRIERS: bool = A::WARP_BARRIERS || B::WARP_BARRIERS;
    const REGISTERS: bool = A::REGISTERS || B::REGISTERS;
    const BATCHES: bool = A::BATCHES && B::BATCHES;

    fn block_begins(&mut self, block: u64, warps: u32) {
        self.0.block_begins(block, warps);
        self.1.block_begins(block, warps);
    }
    fn block_issued(&mut self, distance: Distance) {
        self.0.block_issued(distance);
        self.1.block_issued(distance);
    }
    fn block_resumes(&mut self, block: u64, written: &[Range<u64>]) {
        self.0.block_resumes(block, written);
        self.1.block_resumes(block, written);
    }
    fn wants_steps(&self) -> bool {
        self.0.wants_steps() || self.1.wants_steps()
    }
    fn block_ends(&mut self, block: u64) {
        self.0.block_ends(block);
        self.1.block_ends(block);
    }
    fn run_ends(&mut self) {
        self.0.run_ends();
        self.1.run_ends();
    }
    fn issue(&mut self, at: At, active: u32) {
        self.0.issue(at, active);
        self.1.issue(at, active);
    }
    fn issues(&mut self, site: Site, warps: u64, threads: u64) {
        self.0.issues(site, warps, threads);
        self.1.issues(site, warps, threads);
    }
    fn access(&mut self, at: At, access: &Access<'_>) {
        self.0.access(at, access);
        self.1.access(at, access);
    }
    fn steady_access(&mut self, at: At, access: &SteadyAccess) {
        self.0.steady_access(at, access);
        self.1.steady_access(at, access);
    }

    fn rows_access(&mut self, at: At, access: &SteadyAccess, rows: Rows) {
        self.0.rows_access(at, access, rows);
        self.1.rows_access(at, access, rows);
    }
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {
        self.0.branch(at, jump, go_on);
        self.1.branch(at, jump, go_on);
    }
    fn branches(&mut self, site: Site, branches: u64, divergent: u64) {
        self.0.branches(site, branches, divergent);
        self.1.branches(site, branches, divergent);
    }
    fn barrier(&mut self, at: At, barrier: u32, warps: u64) {
        self.0.barrier(at, barrier, warps);
        self.1.barrier(at, barrier, warps);
    }
    fn matched(&mut self, at: At, values: u32) {
        self.0.matched(at, values);
        self.1.matched(at, values);
    }
    fn warp_barrier(&mut self, at: At, lanes: u32) {
        self.0.warp_barrier(at, lanes);
        self.1.warp_barrier(at, lanes);
    }
    fn undefined_lanes(&mut self) -> u32 {
        self.0.undefined_lanes() | self.1.undefined_lanes()
    }
    fn undefined(&mut self, at: At, lanes: u32) {
        self.0.undefined(at, lanes);
        self.1.undefined(at, lanes);
    }
    fn fence(&mut self, at: At, lanes: u32, beyond_block: bool) {
        self.0.fence(at, lanes, beyond_block);
        self.1.fence(at, lanes, beyond_block);
    }
    fn misuse(&mut self, at: At, misuse: Misuse) {
        self.0.misuse(at, misuse);
        self.1.misuse(at, misuse);
    }
}

/// Observes through a reference.
impl<O: Observation> Observation for &mut O {
    type Observer = O::Observer;

    fn run_of_blocks(&self) -> u64 {
        (**self).run_of_blocks()
    }

    fn in_order(&self) -> bool {
        (**self).in_order()
    }

    fn begin(&self, first_block: u64) -> Self::Observer {
        (**self).begin(first_block)
    }

    fn end(&self, observer: Self::Observer) {
        (**self).end(observer);
    }
}

impl<A: Observation, B: Observation> Observation for (A, B) {
    type Observer = (A::Observer, B::Observer);

    /// Returns the longer of the two runs; both are powers of two, or the longer is a multiple of the shorter.
    fn run_of_blocks(&self) -> u64 {
        self.0.run_of_blocks().max(self.1.run_of_blocks())
    }

    fn in_order(&self) -> bool {
        self.0.in_order() || self.1.in_order()
    }

    fn begin(&self, first_block: u64) -> Self::Observer {
        (self.0.begin(first_block), self.1.begin(first_block))
    }

    fn end(&self, (a, b): Self::Observer) {
        self.0.end(a);
        self.1.end(b);
    }
}
