//! Tells LLVM which code the lanes of a warp must run together.
//!
//! A barrier or a shuffle acts on all lanes that reach it at once. An optimiser for one thread sees nothing wrong in
//! copying one into both branches of a condition, after which the lanes no longer meet. LLVM leaves alone what
//! is marked `convergent`; its own intrinsics are, but rustc marks neither functions nor inline assembly, and so
//! inline PTX with a barrier in it is fair game.
//!
//! So every function is marked, as clang does for CUDA; LLVM takes the mark away again from those that it can see need none.
//! Inline assembly is marked by its instructions, and not all of it, as clang does with `asm volatile`: a cached store
//! that must not be copied would keep its loop from being unrolled.

use ptx::outline::{Kind, statements};

use crate::llvm::{Module, Opcode};

/// Instructions, without what follows their first dot, that lanes carry out together.
const TOGETHER: [&str; 20] = [
    "activemask",
    "bar",
    "barrier",
    "call",
    "elect",
    "exit",
    "griddepcontrol",
    "ldmatrix",
    "match",
    "mma",
    "movmatrix",
    "redux",
    "ret",
    "setmaxnreg",
    "shfl",
    "stmatrix",
    "tcgen05",
    "vote",
    "wgmma",
    "wmma",
];

/// Instructions with an effect of their own that each lane carries out for itself. Assembly with an effect that has any
/// other instruction in it is taken to concern the warp.
const ALONE: [&str; 49] = [
    "abs",
    "add",
    "and",
    "applypriority",
    "atom",
    "bfe",
    "bfi",
    "bfind",
    "brkpt",
    "clz",
    "cp",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "fence",
    "fma",
    "isspacep",
    "ld",
    "ldu",
    "lop3",
    "mad",
    "mapa",
    "max",
    "mbarrier",
    "membar",
    "min",
    "mov",
    "mul",
    "nanosleep",
    "neg",
    "not",
    "or",
    "pmevent",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "red",
    "rem",
    "selp",
    "setp",
    "shl",
    "shr",
    "st",
    "sub",
    "trap",
    "xor",
];

pub(super) fn run(module: &mut Module<'_>) {
    for function in module.functions().filter(|function| !function.is_declaration()) {
        function.add_word_attribute("convergent");
        for call in function.instructions().filter(|instruction| instruction.opcode() == Some(Opcode::Call)) {
            let Some(callee) = call.callee() else { continue };
            let concerns_warp = match callee.assembly() {
                Some(assembly) => is_done_together(&assembly.text, assembly.has_effects),
                // A call by pointer may go to anything.
                None => !callee.is_function(),
            };
            if concerns_warp {
                call.add_call_attribute("convergent");
            }
        }
    }
}

fn is_done_together(assembly: &str, has_effects: bool) -> bool {
    instructions(assembly)
        .any(|opcode| TOGETHER.contains(&opcode.base()) || (has_effects && !ALONE.contains(&opcode.base())))
}

/// The instructions in a piece of PTX.
pub(crate) fn instructions(assembly: &str) -> impl Iterator<Item = ptx::Opcode> {
    statements(assembly).filter_map(|statement| match statement.kind {
        Kind::Instruction(opcode) => Some(ptx::Opcode::new(opcode)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn functions_and_warp_wide_assembly_are_marked() {
        let text = testing::prepared(
            r#"
            define ptx_kernel void @k(ptr %p, ptr %f) {
              call void asm sideeffect "bar.sync 0;", "~{memory}"()
              call void asm sideeffect "st.global.cs.b32 [$0], $1;", "l,r,~{memory}"(ptr %p, i32 1)
              call void %f()
              ret void
            }
            "#,
        );
        let line =
            |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{text}"));
        let attribute = |line: &str| {
            let group = line.rsplit_once('#')?.1.trim_end_matches(" {").to_owned();
            text.lines().find(|line| line.starts_with(&format!("attributes #{group} =")))
        };
        for marked in ["define ptx_kernel void @k", "bar.sync", "call void %f()"] {
            assert!(
                attribute(line(marked)).is_some_and(|group| group.contains("convergent")),
                "{marked} in\n{text}"
            );
        }
        assert_eq!(attribute(line("st.global.cs")), None, "{text}");
    }

    #[test]
    fn a_barrier_in_assembly_is_not_copied_into_branches() {
        // The condition is the same before and after the barrier: without the mark, both paths get one of their own.
        let ptx = testing::ptx(
            r#"
            define ptx_kernel void @k(ptr %p, i32 %a) {
            start:
              %c = icmp sgt i32 %a, 3
              br i1 %c, label %one, label %meet
            one:
              store volatile i32 1, ptr %p
              br label %meet
            meet:
              call void asm sideeffect "bar.sync 0;", "~{memory}"()
              br i1 %c, label %two, label %end
            two:
              store volatile i32 2, ptr %p
              br label %end
            end:
              ret void
            }
            "#,
        );
        assert_eq!(ptx.matches("bar.sync").count(), 1, "{ptx}");
    }

    #[test]
    fn assembly_is_told_by_its_instructions() {
        for together in [
            "bar.sync 0;",
            "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;",
            "{ .reg .pred p;\n setp.ne.u32 p, $1, 0;\n vote.sync.ballot.b32 $0, p, -1; }",
            "@p barrier.cluster.arrive;",
            "wgmma.fence.sync.aligned;",
            "some.future.instruction;",
            "wait: mbarrier.try_wait.b64 p, [a], b; bra wait;",
        ] {
            assert!(is_done_together(together, true), "{together}");
        }
        for alone in [
            "",
            "st.global.cs.b32 [$0], $1;",
            "mov.u32 $0, %laneid;",
            "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0; ld.global.L2::cache_hint.b32 $0, [$1], policy; }",
            "// a comment\n@!p st.shared.u32 [$0], 1;",
            "trap;",
        ] {
            assert!(!is_done_together(alone, true), "{alone}");
        }
        assert!(!is_done_together("sqrt.approx.f32 $0, $1;", false));
        assert!(is_done_together("activemask.b32 $0;", false));
    }
}
