//! Source positions of a program's instructions, for messages and reports.

use std::fmt;
use std::sync::Arc;

use super::adjacent::Merged;
use crate::count::Slots;
use crate::ptx::lines::in_library;
use crate::ptx::op::Op;
use crate::ptx::{Index, Instruction};

/// An instruction of a program; its index is its [`Site`](crate::observe::Site).
#[derive(Clone, Debug, PartialEq)]
pub struct SiteInfo {
    /// Name of its function in the PTX.
    pub function: Arc<str>,
    /// The whole opcode, such as `ld.global.b32`.
    pub opcode: Arc<str>,
    /// The same, typed.
    pub op: Op,
    /// Line in the PTX, from 1.
    pub line: u32,
    /// Lines of the source, innermost inlined function first; empty without line information.
    pub source: Vec<SourceLine>,
    /// True if a warp waits here for its outstanding loads: the instruction is the first on some path to read the
    /// result of a load from global memory.
    #[doc(hidden)]
    pub waits_before: bool,
    /// Where it waits for loads before its loop alone, these, one of each basic block: it waits no more often than they are executed.
    #[doc(hidden)]
    pub awaits_earlier: Vec<u32>,
    /// Loop iterations whose loads it waits for together, because ptxas unrolls the loop; 1 elsewhere.
    #[doc(hidden)]
    pub turns_together: u32,
    /// The site that sets the loop's counter, where ptxas unrolls the loop and needs this instruction once for four iterations.
    #[doc(hidden)]
    pub once_a_turn: Option<u32>,
    /// The number of the first site of its basic block.
    #[doc(hidden)]
    pub block: u32,
    /// Of a load from global memory, how much of what a warp can have in flight it takes.
    #[doc(hidden)]
    pub load_weight: f32,
    /// The part of a load from shared memory in the one that ptxas merges it with others into.
    #[doc(hidden)]
    pub merged: Option<Merged>,
    /// Of a store right behind another one to the same sectors, how many stores follow one another there.
    #[doc(hidden)]
    pub behind: Option<u32>,
    /// The memory of a load whose address is the result of a load before it.
    #[doc(hidden)]
    pub chained: Option<Chained>,
    /// True for an access to global memory whose address depends on a value from global memory.
    #[doc(hidden)]
    pub indexed: bool,
    /// Registers that it reads, its guard included, and those that it writes: columns of its function's frame.
    #[doc(hidden)]
    pub reads: Vec<u32>,
    #[doc(hidden)]
    pub writes: Vec<u32>,
    /// The one among those that it reads which holds its address.
    #[doc(hidden)]
    pub address: Option<u32>,
    /// Clocks by which it makes the longest chain of dependent instructions of its basic block longer.
    #[doc(hidden)]
    pub dependency_clocks: f32,
    /// True for an atomic whose lanes of one address are one operation: ptxas or the machine combines them.
    #[doc(hidden)]
    pub combined: bool,
    /// True for an addition in a loop to a word that is the same for all threads, whose old value tells a block or a warp what part of the
    /// work it does next.
    #[doc(hidden)]
    pub takes_work: bool,
    /// True for an atomic that is known to be on global memory and whose old value nothing reads: ptxas makes a `RED` of it, which waits
    /// for no answer.
    #[doc(hidden)]
    pub reduces: bool,
    /// Estimated machine instructions.
    #[doc(hidden)]
    pub slots: Slots,
    /// Of an access to memory in a body that ptxas makes conditional instructions, the branch around it: each warp that comes to the
    /// branch issues the access.
    #[doc(hidden)]
    pub guarded_by: Option<u32>,
}

/// The memory through which loads follow a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chained {
    /// Global memory.
    Global,
    /// Shared or constant memory.
    OnChip,
}

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// File, as the compiler names it.
    pub file: Arc<str>,
    /// Line from 1; 0 if unknown.
    pub line: u32,
    /// Column from 1; 0 if unknown.
    pub column: u32,
    /// Inlined function that contains the line, demangled; None for the function itself or if unknown.
    pub function: Option<Arc<str>>,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(formatter, ":{}", self.column) } else { Ok(()) }
    }
}

impl SourceLine {
    /// Returns true if the line is in a library: Rust's own, the kernels' device library, or a dependency that cargo
    /// fetched.
    pub fn is_library(&self) -> bool {
        in_library(&self.file)
    }
}

impl SiteInfo {
    pub(super) fn new(index: &Index<'_>, function: &Arc<str>, instruction: &Instruction, op: Op) -> Self {
        let source = index.source(instruction).into_iter().filter_map(|place| {
            // Compilers write line 0 where nothing in the source corresponds.
            (place.line > 0).then(|| SourceLine {
                file: place.file.unwrap_or_else(|| "?".into()),
                line: place.line,
                column: place.column,
                function: place.function.map(|name| readable(&name)),
            })
        });
        let opcode = instruction.opcode.as_str();
        Self {
            source: source.collect(),
            ..Self::alone(function.clone(), opcode, op, instruction.position.line)
        }
    }

    /// An instruction that nothing is known of but what it is.
    #[doc(hidden)]
    pub fn alone(function: Arc<str>, opcode: &str, op: Op, line: u32) -> Self {
        Self {
            function,
            opcode: opcode.into(),
            op,
            slots: Slots::of(&op),
            line,
            source: Vec::new(),
            waits_before: false,
            awaits_earlier: Vec::new(),
            turns_together: 1,
            once_a_turn: None,
            block: 0,
            load_weight: 0.0,
            merged: None,
            behind: None,
            chained: None,
            reads: Vec::new(),
            writes: Vec::new(),
            address: None,
            dependency_clocks: 0.0,
            combined: false,
            takes_work: false,
            reduces: false,
            guarded_by: None,
            indexed: false,
        }
    }

    /// Returns the innermost line that is in no library, else the innermost line.
    pub fn user_line(&self) -> Option<&SourceLine> {
        self.source.iter().find(|line| !line.is_library()).or(self.source.first())
    }

    /// Returns the kind of panic that a `trap` is, such as "index out of bounds", if the inlined functions around it
    /// tell.
    pub fn panic(&self) -> Option<&'static str> {
        let names = self.source.iter().filter_map(|line| line.function.as_deref());
        let names = names.chain(std::iter::once(&*self.function));
        let named = names
            .into_iter()
            .find_map(|name| PANICS.iter().find(|(part, _)| name.contains(part)).map(|(_, words)| *words));
        // Without names, the file tells the kind.
        named.or_else(|| {
            let file = self.source.first()?.file.replace('\\', "/");
            FILES.iter().find(|(part, _)| file.ends_with(part)).map(|(_, words)| *words)
        })
    }
}

impl fmt::Display for SiteInfo {
    /// Writes `ld.global.b32, line 17 (src/copy.rs:12:9)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, line {}", self.opcode, self.line)?;
        self.user_line().map_or(Ok(()), |place| write!(formatter, " ({place})"))
    }
}

/// Functions of `core::panicking` and others on the way of a panic, by a part of their names, with the kind of panic.
/// More specific ones come first.
const PANICS: [(&str, &str); 32] = [
    ("panic_bounds_check", "index out of bounds"),
    ("panic_misaligned_pointer", "misaligned pointer dereference"),
    ("panic_null_pointer", "null pointer dereference"),
    ("panic_const_add_overflow", "attempt to add with overflow"),
    ("panic_const_sub_overflow", "attempt to subtract with overflow"),
    ("panic_const_mul_overflow", "attempt to multiply with overflow"),
    ("panic_const_div_by_zero", "attempt to divide by zero"),
    ("panic_const_rem_by_zero", "attempt to calculate the remainder with a divisor of zero"),
    ("panic_const_div_overflow", "attempt to divide with overflow"),
    ("panic_const_rem_overflow", "attempt to calculate the remainder with overflow"),
    ("panic_const_neg_overflow", "attempt to negate with overflow"),
    ("panic_const_shl_overflow", "attempt to shift left with overflow"),
    ("panic_const_shr_overflow", "attempt to shift right with overflow"),
    ("slice_start_index_len_fail", "range start index out of range for slice"),
    ("slice_end_index_len_fail", "range end index out of range for slice"),
    ("slice_index_order_fail", "slice index starts after it ends"),
    ("slice_index_fail", "range out of range for slice"),
    ("str_index_overflow_fail", "attempted to index a str beyond its end"),
    ("copy_from_slice", "source and destination slices have different lengths"),
    ("len_mismatch_fail", "source and destination slices have different lengths"),
    ("unwrap_failed", "called `unwrap()` on a value that has none"),
    ("expect_failed", "called `expect()` on a value that has none"),
    ("unreachable_display", "entered unreachable code"),
    ("assert_failed", "assertion failed"),
    ("panic_cannot_unwind", "panic in a function that cannot unwind"),
    ("panic_nounwind", "panic in a function that cannot unwind"),
    ("panic_already_borrowed", "already borrowed"),
    ("panic_already_mutably_borrowed", "already mutably borrowed"),
    ("handle_alloc_error", "memory allocation failed"),
    ("panic_explicit", "explicit panic"),
    ("panic_fmt", "panic"),
    ("panicking", "panic"),
];

/// Files of Rust's library that raise panics, with the kind of panic.
const FILES: [(&str, &str); 7] = [
    ("core/src/panicking.rs", "panic"),
    ("core/src/slice/index.rs", "range out of range for slice"),
    ("core/src/option.rs", "called `unwrap()` or `expect()` on a `None`"),
    ("core/src/result.rs", "called `unwrap()` or `expect()` on an `Err`"),
    ("core/src/cell.rs", "already borrowed"),
    ("core/src/str/mod.rs", "attempted to index a str beyond its end"),
    ("alloc/src/alloc.rs", "memory allocation failed"),
];

/// Demangles Rust's names and drops the hash: `_ZN4core9panicking18panic_bounds_check17h0123456789abcdefE` becomes
/// `core::panicking::panic_bounds_check`. Other names stay as they are.
fn readable(name: &Arc<str>) -> Arc<str> {
    parts_of(name).map_or_else(|| name.clone(), |parts| parts.join("::").into())
}

fn parts_of(name: &str) -> Option<Vec<&str>> {
    let mut rest = name.strip_prefix("_ZN")?;
    let mut parts = Vec::new();
    while !rest.starts_with('E') {
        let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().ok()?;
        parts.push(rest.get(digits..digits + length)?);
        rest = &rest[digits + length..];
    }
    let is_hash = |part: &&str| {
        part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if parts.last().is_some_and(is_hash) {
        parts.pop();
    }
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn mangled_names_become_paths() {
        let name = "_ZN4core9panicking18panic_bounds_check17h0123456789abcdefE";
        assert_eq!(&*readable(&name.into()), "core::panicking::panic_bounds_check");
        for name in ["_Z3sumii", "_ZN9999999999999999999999a", "_ZN3x"] {
            assert_eq!(&*readable(&name.into()), name);
        }
    }
}
