//! Instructions as they are executed.

use super::layout::{Bytes, Place};
use super::special::Special;
use crate::alu::{Arithmetic, Collective};
use crate::registers::Slot;

/// No place in the code: what nobody reaches.
pub(super) const NOWHERE: u32 = u32::MAX;
/// The place that lanes meet at which part in a called function and leave it in different ways.
pub(super) const AT_RETURN: u32 = u32::MAX - 1;

/// One instruction; its index among the program's steps is its site.
pub(super) struct Step {
    /// Where the predicate is that says for which lanes it is.
    pub(super) guard: u32,
    /// All ones where it is for those whose predicate is false.
    pub(super) flip: u32,
    pub(super) action: Action,
}

/// What it does.
pub(super) enum Action {
    Arithmetic(Arithmetic),
    /// An index among the program's memory instructions.
    Memory(u32),
    /// From a kernel's parameters, the same for all lanes.
    Parameter(ParameterLoad),
    Branch(Branch),
    /// An index among the program's rarer instructions.
    Rare(u32),
}

/// `ld.param` of a kernel.
#[derive(Clone, Copy)]
pub(super) struct ParameterLoad {
    /// Among the parameters' bytes.
    pub(super) offset: u32,
    pub(super) result: Slot,
    pub(super) load: Load,
}

/// How bytes become a register: so many of them, then extended to the register's size by sign or by zeros.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// 1, 2, 4, 8 or 16.
    pub(super) bytes: u8,
    pub(super) signed: bool,
    /// Of the register, in bytes.
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

/// `bra`.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub(super) target: u32,
    /// Where lanes that part here meet again; [`NOWHERE`]: at the end of the kernel; [`AT_RETURN`]: of the function.
    pub(super) meets: u32,
    pub(super) is_guarded: bool,
    /// Goes back or stays.
    pub(super) is_backward: bool,
    /// Closes a loop whose end another thread may decide.
    pub(super) spins: bool,
    /// In a function whose loops have several ways in.
    pub(super) is_tangled: bool,
}

/// What is rare, or takes long enough anyway.
pub(super) enum Rare {
    Collective(Collective, Option<u32>),
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
    },
    Call(Box<CallSite>),
    /// `ret`
    Return,
    /// `exit`, and `ret` of a kernel.
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
    /// `pmevent` and others that change nothing that a program can see.
    Nothing,
}

/// `bar` and `barrier`.
pub(super) struct Barrier {
    pub(super) number: Slot,
    /// Threads to wait for; none: all.
    pub(super) threads: Option<Slot>,
    pub(super) kind: BarrierKind,
    /// All lanes of a warp must execute the same one.
    pub(super) is_aligned: bool,
}

/// What happens at a barrier.
#[derive(Clone, Copy)]
pub(super) enum BarrierKind {
    Sync,
    Arrive,
    /// With a predicate to combine; the flag is for `!p`.
    Reduce {
        combine: Combine,
        result: Slot,
        source: Slot,
        negated: bool,
    },
}

/// How predicates are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    Count,
    And,
    Or,
}

/// `call`.
pub(super) struct CallSite {
    pub(super) target: CallTarget,
    pub(super) arguments: Box<[Place]>,
    pub(super) returns: Box<[Place]>,
}

/// Who is called.
pub(super) enum CallTarget {
    /// A function by its number.
    Function(u32),
    /// The functions whose addresses are there.
    Address(Slot),
    Builtin(Builtin),
}

/// Functions that the machine brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Print,
    AssertFail,
    Allocate,
    Free,
}

impl Builtin {
    /// By name, with how many arguments and results it has.
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
