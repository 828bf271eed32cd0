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

use ptx::op::Op;
use ptx::outline::{Kind, statements};

use crate::llvm::{Module, Opcode};

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

/// Whether lanes carry assembly out together. Control flow counts, since a loop may wait for other lanes; so does an instruction
/// with an effect that `ptx` does not read.
fn is_done_together(assembly: &str, has_effects: bool) -> bool {
    instructions(assembly).any(|opcode| {
        let is_unread = matches!(opcode.op(), Ok(Op::Other { .. }));
        let leads_on = opcode.op().is_ok_and(|op| op.is_control() && op != Op::Trap);
        is_collective(&opcode) || leads_on || has_effects && is_unread
    })
}

/// Whether the lanes of a warp carry an instruction out together, as far as is known: an unknown one may be such.
pub(crate) fn is_collective(opcode: &ptx::Opcode) -> bool {
    opcode.op().map_or(true, |op| op.is_collective())
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
            "setmaxnreg.dec.sync.aligned.u32 24;",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, p, 1, 1, 0, 0;",
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
            "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [$0, {$1, $2}], [$3];",
        ] {
            assert!(!is_done_together(alone, true), "{alone}");
        }
        assert!(!is_done_together("sqrt.approx.f32 $0, $1;", false));
        assert!(is_done_together("activemask.b32 $0;", false));
        assert!(is_done_together("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 $0, $1, $2, $3;", false));
        assert!(!is_done_together("tex.2d.v4.f32.f32 $0, [$1, {$2, $3}];", false));
    }
}
