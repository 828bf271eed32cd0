//! Findings of the audit, and their messages.

use std::fmt;

use super::{DRIVER_FUNCTIONS, sizes};
use crate::names::readable;

/// Something that must not be in finished code. Names are symbols, as LLVM has them; the text that `Display` makes has the
/// names of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finding {
    /// An access through a generic pointer that comes from a shared or constant static.
    GenericAccess {
        /// The function with the access.
        function: String,
        /// The static.
        variable: String,
        /// `shared` or `constant`.
        memory: &'static str,
        /// `load`, `store`, `atomic` or `copy`.
        access: &'static str,
        /// `file:line`, where the build has line information.
        place: Option<String>,
    },
    /// A write to a static in constant memory.
    ConstantWrite {
        /// The function with the write.
        function: String,
        /// The static.
        variable: String,
        /// `file:line`, where the build has line information.
        place: Option<String>,
    },
    /// A static that holds the address of a shared one, which no two blocks have at the same place.
    SharedAddress {
        /// The static that holds it.
        holder: String,
        /// The shared static.
        variable: String,
    },
    /// An atomic instruction on memory that has none.
    AtomicSpace {
        /// The function with the instruction, after inlining.
        function: String,
        /// The instruction, as far as it is known: `atom.local.cas.b32`, `atom`.
        instruction: String,
        /// `local`, `constant` or `parameter`.
        memory: &'static str,
        /// `file:line`, where the build has line information.
        place: Option<String>,
    },
    /// A static whose address is taken for that of a local variable.
    LocalAddress {
        /// The static.
        variable: String,
    },
    /// A function or static that nothing defines.
    Unresolved {
        /// Its symbol.
        symbol: String,
        /// The functions that use it.
        users: Vec<String>,
        /// `file:line` of one use, where the build has line information.
        place: Option<String>,
    },
    /// A kernel with more static shared memory than any can have.
    SharedSize {
        /// The kernel.
        kernel: String,
        /// The shared statics that it reaches, with their sizes in bytes, the largest first.
        statics: Vec<(String, u64)>,
    },
    /// More constant memory than a module can have.
    ConstantSize {
        /// The constant statics, with their sizes in bytes, the largest first.
        statics: Vec<(String, u64)>,
    },
    /// An instruction of a warp or block that the optimiser copied to paths of which a thread takes one.
    CopiedToBranches {
        /// The function with the copies, after inlining: the kernel, as a rule.
        function: String,
        /// The instruction: `bar.sync`.
        instruction: String,
        /// The paths on which the source has it: 1, or the number of calls of the function that has it.
        expected: usize,
        /// The paths on which copies are.
        found: usize,
        /// `file:line` of the instruction, where the build has line information.
        place: Option<String>,
    },
    /// An instruction of a warp or block that LLVM's back end wrote more often than it was given.
    CopiedByBackEnd {
        /// The function.
        function: String,
        /// The instruction: `bar.sync`.
        instruction: String,
        /// How often the optimised code has it.
        expected: usize,
        /// How often the PTX has it.
        found: usize,
    },
    /// A static that can change, in the reach of a safe kernel.
    MutableStatic {
        /// The kernel.
        kernel: String,
        /// The static.
        variable: String,
        /// `file:line` of one use, where the build has line information.
        place: Option<String>,
    },
    /// A barrier of a safe kernel that only some threads of a block reach.
    DivergentBarrier {
        /// The function with the barrier, after inlining: the kernel, as a rule.
        function: String,
        /// `file:line` of the barrier, where the build has line information.
        place: Option<String>,
        /// `file:line` of the branch that threads take in different ways.
        branch: Option<String>,
        /// The source of divergence that decides the branch: `the thread's index (`tid.x`)`.
        cause: String,
        /// `file:line` of that.
        cause_place: Option<String>,
    },
    /// A barrier that threads of a block may choose differently, by its number or by a pointer to its function. The
    /// kernel is safe.
    DivergentChoice {
        /// The function with the barrier, after inlining: the kernel, as a rule.
        function: String,
        /// `file:line` of the barrier or call, where the build has line information.
        place: Option<String>,
        /// The source of divergence that decides the choice.
        cause: String,
        /// `file:line` of that.
        cause_place: Option<String>,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |place: &Option<String>| match place {
            Some(place) => format!(" at {place}"),
            None => String::from(" (build with line information to see where)"),
        };
        let sum = |statics: &[(String, u64)]| statics.iter().map(|(_, size)| size).sum::<u64>();
        let list = |statics: &[(String, u64)]| {
            let each = statics.iter().map(|(name, size)| format!("`{}`: {size}", readable(name)));
            each.collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::GenericAccess { function, variable, memory, access, place } => write!(
                f,
                "generic {access} of the {memory} static `{}` in `{}`{}: the compiler lost track of its \
                 address space, mostly because one pointer can go to two memories, or because the function was not inlined. \
                 Access the static directly, keep the two cases apart, or mark the function `#[inline(always)]`",
                readable(variable),
                readable(function),
                at(place)
            ),
            Self::ConstantWrite { function, variable, place } => write!(
                f,
                "write to the constant static `{}` in `{}`{}: constant memory can only be written by the host. \
                 Put the static in global or shared memory",
                readable(variable),
                readable(function),
                at(place)
            ),
            Self::SharedAddress { holder, variable } => write!(
                f,
                "the static `{}` holds the address of the shared static `{}`, which exists only while a block runs. \
                 Take the address inside the kernel",
                readable(holder),
                readable(variable)
            ),
            Self::AtomicSpace { function, instruction, memory, place } => write!(
                f,
                "`{instruction}` on {memory} memory in `{}`{}: atomic instructions reach global and shared memory alone. \
                 Put the variable there, or access it without atomics: no other thread can see a local variable",
                readable(function),
                at(place)
            ),
            Self::LocalAddress { variable } => write!(
                f,
                "the address of the static `{}` is taken for that of a local variable: a fault of this builder, not of the \
                 kernels. Please report it with the kernel's source",
                readable(variable)
            ),
            Self::Unresolved { symbol, users, place } => {
                write!(f, "`{}` is not defined anywhere", readable(symbol))?;
                if !users.is_empty() {
                    let users: Vec<String> = users.iter().map(|user| readable(user)).collect();
                    write!(f, ", but used in `{}`{}", users.join("`, `"), at(place))?;
                }
                write!(
                    f,
                    ": a GPU has no libraries to find it in (the driver provides only {}). ",
                    DRIVER_FUNCTIONS.join(", ")
                )?;
                if symbol.ends_with("__rust_alloc")
                    || symbol.ends_with("__rust_dealloc")
                    || symbol.ends_with("__rust_realloc")
                {
                    write!(f, "It is Rust's allocator: define a `#[global_allocator]`, as `cuda_std` does")
                } else {
                    write!(f, "Define it in Rust or remove the call")
                }
            }
            Self::SharedSize { kernel, statics } => write!(
                f,
                "the kernel `{}` has {} bytes of static shared memory ({}), and {} is the most that a kernel can have. Make the \
                 statics smaller or use dynamic shared memory (`cuda_std::shared::dynamic_shared_mem`), whose size the launch gives: \
                 a device can allow more of that",
                readable(kernel),
                sum(statics),
                list(statics),
                sizes::SHARED
            ),
            Self::ConstantSize { statics } => write!(
                f,
                "the constant statics take {} bytes ({}), and {} is the most that a module can have. Put the largest into global \
                 memory, as a static without `#[address_space]` or as a buffer that the kernel is given",
                sum(statics),
                list(statics),
                sizes::CONSTANT
            ),
            Self::CopiedToBranches { function, instruction, expected, found, place } => write!(
                f,
                "`{instruction}` in `{}`{} was copied: it is on {found} paths of which a thread takes one, where the source has it on \
                 {expected}. Lanes that part there would wait for each other for ever, or exchange nothing of sense. This is a fault of \
                 this builder, not of the kernels: please report it with the kernel's source. Until it is mended, do not branch on one \
                 condition both before and after the instruction",
                readable(function),
                at(place)
            ),
            Self::CopiedByBackEnd { function, instruction, expected, found } => write!(
                f,
                "`{instruction}` is in the PTX of `{}` {found} times, where the optimised code has it {expected} times: lanes that must \
                 execute it together could be at different copies. This is a fault of LLVM's back end, not of the kernels: please \
                 report it with the kernel's source. Until it is mended, build with another toolchain",
                readable(function)
            ),
            Self::MutableStatic { kernel, variable, place } => write!(
                f,
                "the static `{}` can change and is used by the safe kernel `{}`{}: a static that can change would carry a value from \
                 one thread to another, past the types that keep them apart. Pass a buffer to the kernel instead, or make the \
                 kernel an `unsafe fn`",
                readable(variable),
                readable(kernel),
                at(place)
            ),
            Self::DivergentBarrier { function, place, branch, cause, cause_place } => {
                write!(
                    f,
                    "the barrier in `{}`{} is reached by some threads of the block only: the branch",
                    readable(function),
                    at(place)
                )?;
                let known = |place: &Option<String>| {
                    place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default()
                };
                write!(
                    f,
                    "{} depends on {cause}{}. The others would wait for ever. Take the barrier out of the branch or loop, let all threads \
                     decide it together, as by a vote of the block, or make the kernel an `unsafe fn`",
                    known(branch),
                    known(cause_place)
                )
            }
            Self::DivergentChoice { function, place, cause, cause_place } => write!(
                f,
                "threads of one block wait at different barriers in `{}`{}: which one it is depends on {cause}{}. Each would wait for \
                 ever. Let all threads of the block use the same barrier, or make the kernel an `unsafe fn`",
                readable(function),
                at(place),
                cause_place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_is_told_apart() {
        let finding = Finding::Unresolved {
            symbol: "_RNvCsX_7___rustc12___rust_alloc".into(),
            users: vec!["k".into()],
            place: Some("src/lib.rs:3".into()),
        };
        let text = finding.to_string();
        assert!(
            text.starts_with(
                "`__rustc::__rust_alloc` is not defined anywhere, but used in `k` at src/lib.rs:3:"
            ),
            "{text}"
        );
        assert!(text.contains("define a `#[global_allocator]`"), "{text}");
    }

    #[test]
    fn names_are_those_of_the_source() {
        let finding = Finding::GenericAccess {
            function: "_RNvCs6gNbY1t9XKo_7kernels6helper".into(),
            variable: "_RNvCs6gNbY1t9XKo_7kernels4TILE".into(),
            memory: "shared",
            access: "load",
            place: None,
        };
        let text = finding.to_string();
        assert!(
            text.starts_with("generic load of the shared static `kernels::TILE` in `kernels::helper` (build"),
            "{text}"
        );
    }
}
