//! Writes findings in compute-sanitizer's words.
//!
//! The first line says what is wrong; the lines below it say where, in which thread, and further details. Findings that
//! compute-sanitizer lacks follow its style. Its `+0x..`, an offset in machine code, is here the line of the PTX.

use std::fmt;

use super::finding::{
    AccessKind, AccessProblem, BarrierProblem, Finding, FindingKind, FreeProblem, Memory, NearAllocation,
    RacingAccess, Severity, Side, Thread,
};
use super::place::Place;

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Global => "__global__",
            Self::Shared => "__shared__",
            Self::Local => "__local__",
            Self::Constant => "__constant__",
        })
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
        })
    }
}

impl AccessKind {
    pub(super) fn capitalised(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Atomic => "Atomic",
        }
    }
}

impl fmt::Display for Thread {
    /// Writes `thread (1,0,0) in block (0,0,0)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "thread {} in block {}", Coordinates(self.thread), Coordinates(self.block))
    }
}

pub(super) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

struct Coordinates([u32; 3]);

impl fmt::Display for Coordinates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(formatter, "({x},{y},{z})")
    }
}

impl fmt::Display for NearAllocation {
    /// Writes `is 1 bytes after the nearest allocation at 0x.. of size 64 bytes`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bytes, distance, .. } = self;
        match self.side {
            Side::Inside => write!(formatter, "is {distance} bytes inside")?,
            Side::Before => write!(formatter, "is {distance} bytes before")?,
            Side::After => write!(formatter, "is {distance} bytes after")?,
        }
        write!(formatter, " the nearest allocation at {address:#x} of size {bytes} bytes")?;
        if self.freed {
            formatter.write_str(", which has been freed")?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FindingKind::Race { hazard, memory, address, first, second } => {
                let word = word(self.severity);
                first_side(formatter, self.severity, first)?;
                around(formatter, &first.place)?;
                second_side(formatter, second, self.count)?;
                around(formatter, &second.place)?;
                write!(
                    formatter,
                    "\n{word}: Potential {} hazard detected at {memory} {address:#x} in ",
                    hazard.name()
                )?;
                if first.thread.block == second.thread.block {
                    write!(formatter, "block {} :", Coordinates(first.thread.block))?;
                } else {
                    let blocks = (Coordinates(first.thread.block), Coordinates(second.thread.block));
                    write!(formatter, "blocks {} and {} :", blocks.0, blocks.1)?;
                }
                for RacingAccess { access, place, thread } in [&**first, &**second] {
                    let thread = Coordinates(thread.thread);
                    write!(formatter, "\n    {} Thread {thread} at {place}", access.capitalised())?;
                }
                if self.severity == Severity::Warning {
                    formatter.write_str("\n    The threads are in one warp, which need not run in step")?;
                }
                return Ok(());
            }
            kind => headline(formatter, kind)?,
        }
        if let Some(place) = &self.place {
            write!(formatter, "\n    at {place}")?;
            around(formatter, place)?;
        } else if let Some(kernel) = &self.kernel {
            write!(formatter, "\n    at {kernel}")?;
        }
        if let Some(thread) = &self.thread {
            write!(formatter, "\n    by {thread}")?;
        }
        details(formatter, &self.kind)?;
        if self.count > 1 {
            write!(formatter, "\n    and {} more of the same at this place", self.count - 1)?;
        }
        Ok(())
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
    }
}

/// Writes the first line of a race.
pub(super) fn first_side(out: &mut dyn fmt::Write, severity: Severity, first: &RacingAccess) -> fmt::Result {
    let (word, access) = (word(severity), first.access.capitalised());
    write!(out, "{word}: Race reported between {access} access at {}", first.place)
}

/// Writes the second line of a race with the number of hazards.
pub(super) fn second_side(out: &mut dyn fmt::Write, second: &RacingAccess, hazards: u64) -> fmt::Result {
    write!(out, "\n    and {} access at {} [{hazards} hazards]", second.access.capitalised(), second.place)
}

/// Writes the inlined lines between the shown line and the instruction, and the calls around them, one per line.
fn around(formatter: &mut fmt::Formatter<'_>, place: &Place) -> fmt::Result {
    place.inlined().try_for_each(|line| write!(formatter, "\n        by way of {line}"))?;
    place.callers().try_for_each(|line| write!(formatter, "\n        called at {line}"))
}

/// Writes the first line of a finding that is not a race.
pub(super) fn headline(out: &mut dyn fmt::Write, kind: &FindingKind) -> fmt::Result {
    match kind {
        FindingKind::InvalidAccess { memory, access, bytes, .. } => {
            write!(out, "Invalid {memory} {access} of size {bytes} bytes")
        }
        FindingKind::Panicked { says: Some(says) } => write!(out, "Kernel panicked: {says}"),
        FindingKind::Panicked { says: None } => out.write_str("Kernel panicked"),
        FindingKind::AssertFailed => out.write_str("Device-side assert"),
        FindingKind::Breakpoint => out.write_str("Breakpoint without a debugger"),
        FindingKind::StackOverflow { .. } => out.write_str("Stack overflow"),
        FindingKind::Endless { .. } => out.write_str("Endless loop, or a very long one"),
        FindingKind::IllegalInstruction { what } => write!(out, "Illegal instruction: {what}"),
        FindingKind::Leak { address, bytes, .. } => write!(out, "Leaked {bytes} bytes at {address:#x}"),
        FindingKind::ApiError { function, name, code, description } => write!(
            out,
            "Program hit {name} (error {code}) due to \"{description}\" on CUDA API call to {function}."
        ),
        FindingKind::InvalidFree { problem: FreeProblem::AlreadyFreed, .. } => {
            out.write_str("Malloc/Free error encountered : Double free")
        }
        FindingKind::InvalidFree { .. } => {
            out.write_str("Malloc/Free error encountered : Invalid pointer to free")
        }
        FindingKind::UninitialisedRead { memory, bytes, atomic, .. } => {
            let access = if *atomic { "atomic" } else { "read" };
            write!(out, "Uninitialized {memory} memory {access} of size {bytes} bytes")
        }
        FindingKind::UnusedMemory { address, bytes, .. } => {
            write!(out, "Unused __global__ memory in allocation {address:#x} of size {bytes} bytes")
        }
        FindingKind::UninitialisedRegister { branch: true } => {
            out.write_str("Uninitialized register steers a branch")
        }
        FindingKind::UninitialisedRegister { branch: false } => {
            out.write_str("Uninitialized register used as an address")
        }
        FindingKind::Barrier { problem } => out.write_str(match problem {
            BarrierProblem::DivergentWarp { .. } => "Barrier error detected. Divergent thread(s) in warp.",
            BarrierProblem::DivergentBlock => "Barrier error detected. Divergent thread(s) in block.",
            BarrierProblem::NotInMask { .. } => "Barrier error detected. Invalid arguments.",
            BarrierProblem::NeverArrive { .. } => "Barrier error detected. Missing thread(s) in warp.",
            BarrierProblem::Deadlock { .. } => "Barrier error detected. Deadlock.",
        }),
        FindingKind::Race { .. } => unreachable!("races have words of their own"),
    }
}

/// Writes the details of a finding, which follow its place and thread.
pub(super) fn details(out: &mut dyn fmt::Write, kind: &FindingKind) -> fmt::Result {
    match kind {
        FindingKind::InvalidAccess { address, problem, nearest, .. } => {
            let problem = match problem {
                AccessProblem::OutOfBounds => "is out of bounds",
                AccessProblem::Misaligned => "is misaligned",
                AccessProblem::ReadOnly => "is read-only",
            };
            write!(out, "\n    Address {address:#x} {problem}")?;
            match nearest {
                Some(nearest) => write!(out, "\n    and {nearest}"),
                None => Ok(()),
            }
        }
        FindingKind::UninitialisedRead { address, .. } => write!(out, "\n    Address {address:#x}"),
        FindingKind::UnusedMemory { bytes, offset, unwritten, .. } => {
            let share = *unwritten as f64 / *bytes as f64 * 100.0;
            write!(out, "\n    Not written {unwritten} bytes at offset {offset:#x}")?;
            write!(out, "\n    {share:.4}% of allocation were unused.")
        }
        FindingKind::StackOverflow { wanted, limit } => {
            write!(out, "\n    A thread needs {wanted} bytes of stack, but has {limit} bytes")
        }
        FindingKind::Endless { instructions, patience } => {
            write!(out, "\n    No warp has ended for {instructions} instructions")?;
            match patience {
                Some(patience) => {
                    write!(out, ", and there was no progress for {} s", patience.as_secs_f64())
                }
                None => Ok(()),
            }
        }
        FindingKind::Leak { allocated_by, .. } => write!(out, "\n    allocated by {allocated_by}"),
        FindingKind::InvalidFree { address, function, problem } => {
            write!(out, "\n    Address {address:#x}")?;
            if let FreeProblem::Inside { allocation, bytes } = problem {
                let inside = address - allocation;
                write!(
                    out,
                    " is {inside} bytes inside the allocation at {allocation:#x} of size {bytes} bytes"
                )?;
            }
            write!(out, "\n    on CUDA API call to {function}")
        }
        FindingKind::Barrier { problem } => match problem {
            BarrierProblem::DivergentWarp { elsewhere } => {
                write!(out, "\n    while lanes {elsewhere:#010x} of its warp are elsewhere")
            }
            BarrierProblem::NotInMask { mask, callers } => {
                write!(out, "\n    The mask {mask:#010x} leaves out its callers {callers:#010x}")
            }
            BarrierProblem::NeverArrive { mask, missing } => {
                write!(out, "\n    The mask {mask:#010x} names lanes {missing:#010x}, which never arrive")
            }
            BarrierProblem::Deadlock { waiting } => {
                waiting.split("; ").try_for_each(|who| write!(out, "\n    {who}"))
            }
            BarrierProblem::DivergentBlock => Ok(()),
        },
        _ => Ok(()),
    }
}
