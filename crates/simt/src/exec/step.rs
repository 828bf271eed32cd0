//! Decoded instructions in the form in which they are executed.

use super::layout::{Bytes, Place};
use super::special::Special;
use crate::alu::{Arithmetic, Collective, MatrixProduct};
use crate::ptx::op::control::Reduction;
use crate::registers::Slot;

/// A pc that no lane reaches.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Reconvergence point of lanes that diverge in a called function and return at different instructions.
pub(super) const AT_RETURN: u32 = u32::MAX - 1;

/// One instruction. Its index among the program's steps is its pc and its site.
pub(super) struct Step {
    /// Cell of the guard's predicate.
    pub(super) guard: u32,
    /// All ones if the guard is negated, else 0.
    pub(super) flip: u32,
    pub(super) action: Action,
}

/// What an instruction does.
pub(super) enum Action {
    Arithmetic(Arithmetic),
    /// A memory instruction: its index among the program's.
    Memory(u32),
    /// A load from a kernel's parameters, the same for all lanes.
    Parameter(ParameterLoad),
    Branch(Branch),
    /// A rarer instruction: its index among the program's.
    Rare(u32),
}

/// `ld.param` of a kernel's parameter.
#[derive(Clone, Copy)]
pub(super) struct ParameterLoad {
    /// Offset in the parameters, in bytes.
    pub(super) offset: u32,
    pub(super) result: Slot,
    pub(super) load: Load,
}

/// Conversion of loaded bytes to a register: sign- or zero-extended to its size.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Bytes loaded: 1, 2, 4, 8 or 16.
    pub(super) bytes: u8,
    pub(super) signed: bool,
    /// Size of the register in bytes.
    pub(super) register: u8,
}

impl Load {
    pub(super) fn extend(self, bits: u128) -> u128 {
        if !self.signed {
            return bits;
        }
        let unused = 128 - 8 * u32::from(self.bytes);
        let extended = ((bits << unused) as i128 >> unused) as u128;
        extended & (u128::MAX >> (128 - 8 * u32::from(self.register)))
    }
}

/// The [`Branch::inside`] of a branch outside of loops whose lanes reconverge in each round.
pub(super) const NOT_INSIDE: u32 = u32::MAX;

/// A branch in loops: where lanes that stay in them reconverge ([`Meeting`](crate::ptx::cfg::Meeting)).
pub(super) struct Inside {
    /// Reconvergence points, each with the nesting depth of its loop: first that of all lanes, last that of the innermost loop.
    pub(super) meets: Box<[(u32, u32)]>,
    /// Number of loops that contain the branch and each of its targets; the last target is the next instruction.
    pub(super) kept: Box<[u32]>,
}

/// `bra`.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub(super) target: u32,
    /// Reconvergence point; [`NOWHERE`] at the end of the kernel, [`AT_RETURN`] at that of a called function.
    pub(super) meets: u32,
    /// Index of its [`Inside`] among the program's; [`NOT_INSIDE`] if it has none.
    pub(super) inside: u32,
    pub(super) is_guarded: bool,
    /// The target is this instruction or an earlier one.
    pub(super) is_backward: bool,
    /// The branch closes a loop whose end another thread may decide.
    pub(super) spins: bool,
    /// The function has irreducible loops: loops with several entries.
    pub(super) is_tangled: bool,
}

/// Instructions that are rare, or slow in any case.
pub(super) enum Rare {
    Collective(Collective, Option<u32>),
    /// `mma.sync`
    Product(Box<MatrixProduct>),
    /// `bar.warp.sync`
    WarpBarrier {
        mask: Slot,
        constant: Option<u32>,
    },
    Barrier(Barrier),
    ClusterArrive,
    ClusterWait,
    /// `brx.idx`
    Switch {
        index: Slot,
        targets: Box<[u32]>,
        meets: u32,
        inside: u32,
    },
    Call(Box<CallSite>),
    /// `ret`
    Return,
    /// `exit`, and a kernel's `ret`.
    Exit,
    Trap,
    Breakpoint,
    /// `ld.param` of several elements.
    Parameters(Box<[ParameterLoad]>),
    /// `ld.param` of arguments and results.
    LoadBytes(Box<[(Bytes, u32, Slot, Load)]>),
    /// `st.param`
    StoreBytes(Box<[(Bytes, u32, Slot, Load)]>),
    /// An instruction that reads the clock.
    Timed {
        columns: Box<[(Slot, Special, u8)]>,
        arithmetic: Arithmetic,
    },
    /// `nanosleep`
    Sleep(Slot),
    /// `pmevent` and others without an effect that a program can see.
    Nothing,
}

/// `bar` and `barrier`.
pub(super) struct Barrier {
    pub(super) number: Slot,
    /// Threads to wait for; None for all of the block.
    pub(super) threads: Option<Slot>,
    pub(super) kind: BarrierKind,
    /// True if all lanes of a warp must execute the same instruction.
    pub(super) is_aligned: bool,
}

/// What a thread does at a barrier.
#[derive(Clone, Copy)]
pub(super) enum BarrierKind {
    Sync,
    Arrive,
    /// Waits and combines a predicate of all threads; `negated` is for `!p`.
    Reduce {
        combine: Reduction,
        result: Slot,
        source: Slot,
        negated: bool,
    },
}

/// `call`.
pub(super) struct CallSite {
    pub(super) target: CallTarget,
    pub(super) arguments: Box<[Place]>,
    pub(super) returns: Box<[Place]>,
}

/// The callee of a call.
pub(super) enum CallTarget {
    /// A function, by its number.
    Function(u32),
    /// The function whose address each lane has there.
    Address(Slot),
    Builtin(Builtin),
}

/// Functions of the device runtime that the interpreter implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Print,
    AssertFail,
    Allocate,
    Free,
}

impl Builtin {
    /// Returns the function of this name with the numbers of its arguments and its results.
    pub(super) fn new(name: &str) -> Option<(Self, usize, usize)> {
        Some(match name {
            "vprintf" => (Self::Print, 2, 1),
            "__assertfail" => (Self::AssertFail, 5, 0),
            "malloc" => (Self::Allocate, 1, 1),
            "free" => (Self::Free, 1, 0),
            _ => return None,
        })
    }
}
