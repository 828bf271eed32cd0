//! Makes findings of faults, leaks and wrong driver calls.

use super::checks::Check;
use super::finding::{
    AccessKind, AccessProblem, BarrierProblem, Finding, FindingKind, FreeProblem, Memory, Severity, Thread,
};
use super::panic;
use super::place::Place;
use crate::fault::{Fault, FaultKind};
use crate::observe::{Operation, Space};

impl Finding {
    /// Makes a finding of the fault that ended a launch. A deadlock is synccheck's, all others are memcheck's.
    pub fn of_fault(fault: &Fault, kernel: &str, place: Option<Place>) -> Self {
        let access = |space: Space, operation: Operation, address, bytes, problem, nearest| {
            let (memory, access) = (Memory::from(space), AccessKind::from(operation));
            FindingKind::InvalidAccess { memory, access, address, bytes, problem, nearest }
        };
        let kind = match &fault.kind {
            &FaultKind::OutOfBounds { space, operation, address, bytes, nearest } => {
                let nearest = nearest.map(Into::into);
                access(space, operation, address, bytes, AccessProblem::OutOfBounds, nearest)
            }
            &FaultKind::Misaligned { space, operation, address, bytes } => {
                access(space, operation, address, bytes, AccessProblem::Misaligned, None)
            }
            &FaultKind::ReadOnly { address, bytes } => {
                access(Space::Constant, Operation::Store, address, bytes, AccessProblem::ReadOnly, None)
            }
            FaultKind::Trap => {
                let says = place.as_ref().and_then(panic::kind);
                FindingKind::Panicked { says: says.map(str::to_owned) }
            }
            FaultKind::Breakpoint => FindingKind::Breakpoint,
            FaultKind::AssertFailed => FindingKind::AssertFailed,
            FaultKind::Deadlock { waiting } => {
                FindingKind::Barrier { problem: BarrierProblem::Deadlock { waiting: waiting.clone() } }
            }
            &FaultKind::StackOverflow { wanted, limit } => FindingKind::StackOverflow { wanted, limit },
            &FaultKind::Endless { instructions, patience } => FindingKind::Endless { instructions, patience },
            FaultKind::Illegal(what) => FindingKind::IllegalInstruction { what: what.clone() },
        };
        let check = match kind {
            FindingKind::Barrier { .. } => Check::Synccheck,
            _ => Check::Memcheck,
        };
        Self {
            kernel: Some(kernel.to_owned()),
            place,
            thread: Some(Thread { thread: fault.thread, block: fault.block }),
            ..Self::new(check, kind)
        }
    }

    /// Makes a finding of an allocation that was not freed before its context ended. `allocated_by` names the call that
    /// made it.
    pub fn leak(address: u64, bytes: u64, allocated_by: impl Into<String>) -> Self {
        Self::new(Check::Leakcheck, FindingKind::Leak { address, bytes, allocated_by: allocated_by.into() })
    }

    /// Makes a finding of a failed driver call. Its text is `Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to
    /// "invalid argument" on CUDA API call to cuMemAlloc_v2.`
    pub fn api_error(
        function: impl Into<String>,
        name: impl Into<String>,
        code: u32,
        description: impl Into<String>,
    ) -> Self {
        let (function, name, description) = (function.into(), name.into(), description.into());
        Self::new(Check::Memcheck, FindingKind::ApiError { function, name, code, description })
    }

    /// Makes a finding of device memory that was not written completely: `unwritten` bytes were not, the first of them
    /// at `offset`. This is compute-sanitizer's `--track-unused-memory`.
    pub fn unused(address: u64, bytes: u64, offset: u64, unwritten: u64) -> Self {
        let kind = FindingKind::UnusedMemory { address, bytes, offset, unwritten };
        Self { severity: Severity::Warning, ..Self::new(Check::Initcheck, kind) }
    }

    /// Makes a finding of an invalid free by a driver call.
    pub fn invalid_free(function: impl Into<String>, address: u64, problem: FreeProblem) -> Self {
        Self::new(Check::Memcheck, FindingKind::InvalidFree { address, function: function.into(), problem })
    }
}
