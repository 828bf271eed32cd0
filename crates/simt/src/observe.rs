//! How execution is watched: one interface for counters and for checks.
//!
//! The executor is generic over its observer, and whatever an observer's constants switch off is not compiled in, so
//! watching costs nothing where nobody watches.

use crate::coalescing::Addresses;

/// An instruction of a program: an index in its list of sites, which gives its line in the PTX and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u32);

/// Who executes: a warp of a block, at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The block's index in the grid: x fastest, then y, then z.
    pub block: u64,
    /// The warp's index in its block: thread x fastest, 32 threads a warp.
    pub warp: u32,
    /// The instruction.
    pub site: Site,
}

/// A state space, as far as memory behaves differently in it. Generic addresses have been resolved to one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device, managed and pinned memory: addresses as the host sees them.
    Global,
    /// The block's own: offsets from 0.
    Shared,
    /// The thread's own: offsets from 0.
    Local,
    /// `.const`: addresses as the host sees them.
    Constant,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, computes and writes in one, and gives the old value back.
    Atomic,
    /// The same without giving anything back.
    Reduction,
}

/// One memory instruction of one warp in one space, all of its lanes within bounds and aligned.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Where.
    pub space: Space,
    /// What.
    pub operation: Operation,
    /// Of each lane; those of lanes that take no part are never looked at.
    pub addresses: &'a Addresses,
    /// Bit `k` is set when lane `k` takes part.
    pub active: u32,
    /// Bytes a lane, those of a vector together: 1, 2, 4, 8, 16 or 32. Bulk copies come as several accesses.
    pub bytes: u32,
    /// Through the read-only path: `ld.global.nc`.
    pub read_only: bool,
    /// Past L1: `.cg`, `.cv`, `.volatile`, `.relaxed` and stronger at a scope beyond the block, asynchronous and bulk
    /// copies.
    pub past_l1: bool,
    /// `.relaxed`, `.acquire`, `.release`, `.volatile`: no data race with its like. True of atomics.
    pub strong: bool,
}

/// Watches the blocks of a launch that one worker executes, in their order, one after another.
///
/// All methods do nothing unless they are overridden.
#[allow(unused_variables, reason = "the names say what there is to see")]
pub trait Observer {
    /// Whether [`Observer::issue`] is wanted.
    const ISSUES: bool = false;
    /// Whether [`Observer::access`] is wanted.
    const ACCESSES: bool = false;
    /// Whether [`Observer::branch`] is wanted.
    const BRANCHES: bool = false;
    /// Whether barriers and other synchronisation are wanted.
    const SYNCHRONISATION: bool = false;
    /// Whether undefined registers are tracked, and [`Observer::undefined`] is wanted.
    const REGISTERS: bool = false;

    /// A block begins.
    fn block_begins(&mut self, block: u64, warps: u32) {}
    /// The block has ended, with all its warps.
    fn block_ends(&mut self, block: u64) {}
    /// A warp issues an instruction for these lanes (0: guarded off for all).
    fn issue(&mut self, at: At, active: u32) {}
    /// A warp is about to access memory.
    fn access(&mut self, at: At, access: &Access<'_>) {}
    /// A conditional branch: the lanes that jump and those that go on.
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {}
    /// All warps that a barrier waits for have arrived: what they did before is over. `barrier` is its number, `warps`
    /// the bits of those that took part where it is a barrier of some warps only, else all ones.
    fn barrier(&mut self, at: At, barrier: u32, warps: u64) {}
    /// Lanes of a warp have waited for each other (`bar.warp.sync`, and all `.sync` instructions).
    fn warp_barrier(&mut self, at: At, lanes: u32) {}
    /// Loads say so after [`Observer::access`] if some lanes read bytes that nothing has written: the answer is which
    /// lanes' results are undefined. Asked only with [`Observer::REGISTERS`].
    fn undefined_lanes(&mut self) -> u32 {
        0
    }
    /// An instruction depends on a register that nothing has written: a branch by it, or an address by it.
    fn undefined(&mut self, at: At, lanes: u32) {}
    /// A fence of these lanes, at the scope of a block, a device or the system.
    fn fence(&mut self, at: At, lanes: u32, beyond_block: bool) {}
    /// Something that is wrong with synchronisation; the launch goes on if it can.
    fn misuse(&mut self, at: At, misuse: Misuse) {}
}

/// Wrong synchronisation, as synccheck reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// `bar.sync` by a part of a warp while other lanes of it are elsewhere: their bits.
    DivergentWarp {
        /// Lanes that are elsewhere.
        elsewhere: u32,
    },
    /// Some threads of the block left, or wait at another barrier, while others wait here for all.
    DivergentBlock,
    /// The caller of a `.sync` instruction is not in its own mask, or the mask names no lane.
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
}

/// Watches a launch: gives each run of blocks an observer, and takes it back.
pub trait Observation {
    /// Who watches a run of blocks.
    type Observer: Observer + Send;

    /// How many consecutive blocks make a run: all of the run is executed by one worker, in order. Runs are executed
    /// in parallel unless [`Observation::in_order`].
    ///
    /// Where a block waits for one that has not begun, its run ends with it, and what is left of the run is one of its
    /// own, with an observer of its own, executed in turns with it.
    fn run_of_blocks(&self) -> u64;

    /// Whether one run must end before the next begins.
    fn in_order(&self) -> bool {
        false
    }

    /// The observer for a run that begins with this block. Called from several threads.
    fn begin(&self, first_block: u64) -> Self::Observer;

    /// Takes back the observers of runs, in the order of their blocks, whatever order they ended in. Not called for
    /// runs of a launch that failed before them.
    fn end(&mut self, observer: Self::Observer);
}

/// Watches nothing.
impl Observer for () {}

impl Observation for () {
    type Observer = ();

    fn run_of_blocks(&self) -> u64 {
        16
    }

    fn begin(&self, _: u64) {}

    fn end(&mut self, (): ()) {}
}

/// Both watch.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ISSUES: bool = A::ISSUES || B::ISSUES;
    const ACCESSES: bool = A::ACCESSES || B::ACCESSES;
    const BRANCHES: bool = A::BRANCHES || B::BRANCHES;
    const SYNCHRONISATION: bool = A::SYNCHRONISATION || B::SYNCHRONISATION;
    const REGISTERS: bool = A::REGISTERS || B::REGISTERS;

    fn block_begins(&mut self, block: u64, warps: u32) {
        self.0.block_begins(block, warps);
        self.1.block_begins(block, warps);
    }
    fn block_ends(&mut self, block: u64) {
        self.0.block_ends(block);
        self.1.block_ends(block);
    }
    fn issue(&mut self, at: At, active: u32) {
        self.0.issue(at, active);
        self.1.issue(at, active);
    }
    fn access(&mut self, at: At, access: &Access<'_>) {
        self.0.access(at, access);
        self.1.access(at, access);
    }
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {
        self.0.branch(at, jump, go_on);
        self.1.branch(at, jump, go_on);
    }
    fn barrier(&mut self, at: At, barrier: u32, warps: u64) {
        self.0.barrier(at, barrier, warps);
        self.1.barrier(at, barrier, warps);
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

/// Whoever lends it watches.
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

    fn end(&mut self, observer: Self::Observer) {
        (**self).end(observer);
    }
}

impl<A: Observation, B: Observation> Observation for (A, B) {
    type Observer = (A::Observer, B::Observer);

    /// The larger of the two; both are powers of two, or the larger is a multiple of the other.
    fn run_of_blocks(&self) -> u64 {
        self.0.run_of_blocks().max(self.1.run_of_blocks())
    }

    fn in_order(&self) -> bool {
        self.0.in_order() || self.1.in_order()
    }

    fn begin(&self, first_block: u64) -> Self::Observer {
        (self.0.begin(first_block), self.1.begin(first_block))
    }

    fn end(&mut self, (a, b): Self::Observer) {
        self.0.end(a);
        self.1.end(b);
    }
}
