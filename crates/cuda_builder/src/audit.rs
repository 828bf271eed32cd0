//! The last check of finished code: what compiles, loads and then computes wrongly or not at all.
//!
//! - An access that goes through a generic pointer although it can be seen to come from a shared or constant static.
//!   Such an access is slower than it need be and is how other compilers have produced wrong code in silence: if the
//!   address space was lost on the way, something about the code is not as its author thinks.
//! - A write to constant memory, which a kernel cannot do.
//! - The address of a shared static inside another static, which is written before any block runs.
//! - An atomic instruction on local, constant or parameter memory, which have none.
//! - A function or static that nothing defines. The driver would refuse the whole module, without naming it.
//! - An instruction that lanes execute together, copied to paths of which a thread takes one.
//! - More static shared memory than a kernel can have, or more constant memory than a module can.
//!
//! Safe kernels are checked before optimisation too, for what their types cannot rule out:
//!
//! - A static that can change, by which a value of one thread gets into the code of the block.
//! - A barrier that only some threads of the block reach.
//!
//! An access of which no such origin is visible passes: most generic accesses go to global memory.

mod addresses;
mod atomics;
mod copies;
mod finding;
mod functions;
mod reach;
mod sizes;
mod statics;
mod uniformity;

use std::collections::HashSet;

use crate::llvm::{Module, Position, Value};

pub(crate) use addresses::constant_writes;
pub(crate) use copies::{Counts, Originals};
pub use finding::Finding;
pub use functions::DRIVER_FUNCTIONS;
pub(crate) use sizes::CONSTANT as CONSTANT_CAPACITY;
pub(crate) use statics::statics;
pub(crate) use uniformity::uniformity;

/// Checks an optimised module.
pub(crate) fn module(module: &Module<'_>) -> Vec<Finding> {
    let mut findings = addresses::module(module);
    findings.extend(atomics::module(module));
    findings.extend(functions::module(module));
    findings.extend(sizes::module(module));
    findings
}

/// Checks finished PTX for what only the back end made. `counts` are those of the module that it was given.
pub(crate) fn ptx(text: &str, counts: &Counts) -> Vec<Finding> {
    let mut findings = functions::ptx(text);
    findings.extend(atomics::ptx(text));
    findings.extend(counts.check(text));
    findings
}

/// Instructions that use a global, also by way of constant expressions.
fn instructions_using(global: Value<'_>) -> Vec<Value<'_>> {
    let mut seen = HashSet::new();
    let mut open = vec![global];
    let mut found = Vec::new();
    while let Some(value) = open.pop() {
        for user in value.users() {
            if !seen.insert(user) {
                continue;
            }
            if user.is_instruction() {
                found.push(user);
            } else {
                open.push(user);
            }
        }
    }
    found
}

/// The source line of an instruction in the author's code. For code inlined from the standard library, it is the line
/// of the call.
fn place(instruction: Value<'_>) -> Option<String> {
    let positions = instruction.positions();
    let standard = |position: &&Position| {
        position.file.contains("/library/core/") || position.file.contains("/library/alloc/")
    };
    let position = positions.iter().find(|position| !standard(position)).or(positions.first())?;
    Some(format!("{}:{}", position.file, position.line))
}

/// The source line of an instruction in the crate of its function, through any number of inlined library functions. If
/// that crate has no part in it, the line is that of [`place`].
fn authors_place(instruction: Value<'_>) -> Option<String> {
    let positions = instruction.positions();
    let crates_own = |position: &&Position| {
        let source = |file: &str| file.rfind("/src/").map(|end| file[..end].to_owned());
        positions.last().is_some_and(|function| source(&function.file) == source(&position.file))
    };
    let position = positions.iter().filter(|position| position.line > 0).find(crates_own);
    position.map(|position| format!("{}:{}", position.file, position.line)).or_else(|| place(instruction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::findings;

    #[test]
    fn the_place_is_the_authors_and_not_the_librarys() {
        let found = findings(
            r#"
            @TILE = internal addrspace(3) global i32 undef
            define ptx_kernel void @k() !dbg !4 {
              store i32 1, ptr addrspacecast (ptr addrspace(3) @TILE to ptr), !dbg !7
              ret void, !dbg !8
            }
            !llvm.module.flags = !{!0}
            !llvm.dbg.cu = !{!1}
            !0 = !{i32 2, !"Debug Info Version", i32 3}
            !1 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !2, emissionKind: DebugDirectivesOnly)
            !2 = !DIFile(filename: "src/lib.rs", directory: "/home/me/kernels")
            !3 = !DIFile(filename: "/rustc/library/core/src/ptr/mod.rs", directory: "")
            !4 = distinct !DISubprogram(name: "k", file: !2, line: 5, type: !5, unit: !1, spFlags: DISPFlagDefinition)
            !5 = !DISubroutineType(types: !{})
            !6 = distinct !DISubprogram(name: "write", file: !3, line: 900, type: !5, unit: !1, spFlags: DISPFlagDefinition)
            !7 = !DILocation(line: 901, column: 1, scope: !6, inlinedAt: !8)
            !8 = !DILocation(line: 42, column: 1, scope: !4)
            "#,
        );
        let Some(Finding::GenericAccess { place, .. }) = found.first() else { panic!("{found:?}") };
        assert_eq!(place.as_deref(), Some("/home/me/kernels/src/lib.rs:42"));
        let text = found[0].to_string();
        assert!(
            text.starts_with(
                "generic store of the shared static `TILE` in `k` at /home/me/kernels/src/lib.rs:42:"
            ),
            "{text}"
        );
    }
}
