//! Functions, pointers to them, and kernels beside the one that is judged.

use super::*;

#[test]
fn functions_and_closures_are_judged_where_they_are_called() {
    let helpers = r#"
        define internal i32 @index() noinline {
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          ret i32 %t
        }
        define internal i32 @same(i32 %x) noinline { ret i32 %x }
        define internal void @meet() noinline {
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          ret void
        }
    "#;
    let body = |value: &str| {
        under(&format!("%v = call i32 {value}\n%c = icmp ult i32 %v, 3"))
            .replace("BARRIER", "call void @meet()")
    };
    assert_eq!(causes(&body("@index()"), helpers), [TID]);
    assert_eq!(causes(&body("@same(i32 %n)"), helpers), [""; 0]);
}

#[test]
fn what_cannot_be_inlined_is_divergent() {
    let helpers = r#"
        define internal i32 @fold(i32 %x) {
        entry:
          %c = icmp ult i32 %x, 2
          br i1 %c, label %end, label %more
        more:
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          %y = lshr i32 %x, 1
          %f = call i32 @fold(i32 %y)
          %g = call i32 @fold(i32 %f)
          ret i32 %g
        end:
          ret i32 %x
        }
    "#;
    // Recursion: the function is judged on its own, with parameters that may differ.
    let found =
        refused(&module(true, "%v = call i32 @fold(i32 %n)\nstore i32 %v, ptr %p\nret void", helpers));
    let parameter = |finding: &Finding| {
        matches!(finding, Finding::DivergentBarrier { function, cause, .. }
            if function == "fold" && cause == "a parameter of a function that is not inlined")
    };
    assert!(found.iter().any(parameter), "{found:?}");
    let unknown = under("%v = call i32 %p(i32 %n)\n%c = icmp ult i32 %v, 3");
    fails(&unknown, "the result of a call by pointer");
}

#[test]
fn a_call_by_pointer_may_lead_to_a_barrier() {
    let helpers = r#"
        define internal void @meet() {
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          ret void
        }
        define internal void @pass() { ret void }
        @TABLE = internal constant [2 x ptr] [ptr @meet, ptr @pass]
    "#;
    let body = |index: &str| {
        format!(
            "{READ_TID}\n%at = getelementptr ptr, ptr @TABLE, i32 {index}\n%f = load ptr, ptr %at\n\
             call void %f()\nret void"
        )
    };
    assert_eq!(refused(&module(true, &body("%n"), helpers)), []);
    let found = refused(&module(true, &body("%tid"), helpers));
    let choice =
        Finding::DivergentChoice { function: "k".into(), place: None, cause: TID.into(), cause_place: None };
    assert_eq!(found, std::slice::from_ref(&choice));
    assert!(
        choice.to_string().starts_with(
            "threads of one block wait at different barriers in `k` (build with line information to see where): which one it is depends \
             on the thread's index (`tid.x`). Each would"
        ),
        "{choice}"
    );
    let numbered =
        format!("{READ_TID}\ncall void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %tid)\nret void");
    assert_eq!(refused(&module(true, &numbered, "")), [choice]);
}

#[test]
fn kernels_that_are_not_safe_are_left_alone_and_leave_others_alone() {
    let other = r#"
        define ptx_kernel void @other() {
        entry:
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %c = icmp ult i32 %t, 3
          br i1 %c, label %sync, label %end
        sync:
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          br label %end
        end:
          ret void
        }
    "#;
    assert_eq!(refused(&module(true, "BARRIER ret void", other)), []);
}

#[test]
fn barrier_branch_and_cause_are_named_by_their_lines_in_the_users_crate() {
    let found = refused(
        r#"
        @d = internal constant [11 x i8] c"k\000\000\00\00safe", section ".cuda.kernel"
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
        define ptx_kernel void @k() !dbg !4 {
        entry:
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !9
          %c = icmp ult i32 %t, 3, !dbg !10
          br i1 %c, label %sync, label %end, !dbg !10
        sync:
          call void @sync_threads(), !dbg !11
          br label %end, !dbg !11
        end:
          ret void, !dbg !11
        }
        define internal void @sync_threads() !dbg !6 {
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !12
          ret void, !dbg !12
        }
        !llvm.module.flags = !{!0}
        !llvm.dbg.cu = !{!1}
        !0 = !{i32 2, !"Debug Info Version", i32 3}
        !1 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !2, emissionKind: DebugDirectivesOnly)
        !2 = !DIFile(filename: "src/lib.rs", directory: "/home/me/kernels")
        !3 = !DIFile(filename: "/home/me/.cargo/registry/cuda_std-0.2.2/src/thread.rs", directory: "")
        !4 = distinct !DISubprogram(name: "k", file: !2, line: 5, type: !5, unit: !1, spFlags: DISPFlagDefinition)
        !5 = !DISubroutineType(types: !{})
        !6 = distinct !DISubprogram(name: "sync_threads", file: !3, line: 140, type: !5, unit: !1, spFlags: DISPFlagDefinition)
        !9 = !DILocation(line: 7, column: 1, scope: !4)
        !10 = !DILocation(line: 8, column: 1, scope: !4)
        !11 = !DILocation(line: 9, column: 1, scope: !4)
        !12 = !DILocation(line: 142, column: 1, scope: !6)
        "#,
    );
    let [finding] = &found[..] else { panic!("{found:?}") };
    let text = finding.to_string();
    assert!(
        text.starts_with(
            "the barrier in `k` at /home/me/kernels/src/lib.rs:9 is reached by some threads of the block only: the branch at \
             /home/me/kernels/src/lib.rs:8 depends on the thread's index (`tid.x`) at /home/me/kernels/src/lib.rs:7. The"
        ),
        "{text}"
    );
}
