//! Tests of divergent values and of the barriers that count.

use super::*;

#[test]
fn a_condition_is_told_by_what_it_comes_from() {
    for (before, cause) in [
        ("%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %c = icmp ult i32 %t, 3", TID),
        (
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.laneid() %c = icmp ult i32 %t, 3",
            "the special register `laneid`",
        ),
        (
            "%t = call i64 @llvm.nvvm.read.ptx.sreg.clock64() %c = icmp ult i64 %t, 3",
            "the special register `clock64`",
        ),
        (
            "%t = atomicrmw add ptr %p, i32 1 monotonic %c = icmp ult i32 %t, 3",
            "the result of an atomic operation",
        ),
        (
            "%t = cmpxchg ptr %p, i32 1, i32 2 monotonic monotonic %c = extractvalue { i32, i1 } %t, 1",
            "the result of an atomic operation",
        ),
        (
            "%t = load atomic i32, ptr %p monotonic, align 4 %c = icmp ult i32 %t, 3",
            "an atomic or volatile load",
        ),
        (
            "%s = icmp ult i32 %n, 3 %c = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %s)",
            "the result of `llvm.nvvm.vote.any.sync`",
        ),
        (
            "%t = call i32 asm \"mov.u32 $0, %laneid;\", \"=r\"() %c = icmp ult i32 %t, 3",
            "the result of the inline assembly `mov.u32 $0, %laneid;`",
        ),
        (
            "%t = call i32 asm sideeffect \"mov.u32 $0, 5;\", \"=r\"() %c = icmp ult i32 %t, 3",
            "the result of the inline assembly `mov.u32 $0, 5;`",
        ),
        (
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %a = getelementptr i32, ptr %p, i32 %t \
             %v = load i32, ptr %a %c = icmp ult i32 %v, 3",
            TID,
        ),
        (
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %m = icmp ult i32 %t, 3 \
             %v = select i1 %m, i32 %n, i32 0 %c = icmp ult i32 %v, 3",
            TID,
        ),
        (
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %f = uitofp i32 %t to float \
             %e = call float @llvm.nvvm.ex2.approx.f32(float %f) %c = fcmp ult float %e, 3.0",
            TID,
        ),
        (
            "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() \
             %v = call i32 asm \"add.u32 $0, $1, 1;\", \"=r,r\"(i32 %t) %c = icmp ult i32 %v, 3",
            TID,
        ),
    ] {
        fails(&under(before), cause);
    }
    for before in [
        "%c = icmp ugt i32 %n, 3",
        "%t = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() %c = icmp ult i32 %t, 3",
        "%t = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x() %c = icmp ult i32 %t, 3",
        "%v = load i32, ptr %p %c = icmp ult i32 %v, 3",
        "%a = getelementptr i32, ptr @TILE, i32 %n %v = load i32, ptr %a %c = icmp ult i32 %v, 3",
        "%a = getelementptr i32, ptr @COEF, i32 %n %v = load i32, ptr %a %c = icmp ult i32 %v, 3",
        "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %s = icmp ult i32 %t, 3 \
         %c = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %s)",
        "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %s = icmp ult i32 %t, 3 \
         %v = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %s) %c = icmp ult i32 %v, 3",
        "%f = uitofp i32 %n to float %e = call float @llvm.nvvm.ex2.approx.f32(float %f) %c = fcmp ult float %e, 3.0",
        "%v = call i32 asm \"add.u32 $0, $1, 1;\", \"=r,r\"(i32 %n) %c = icmp ult i32 %v, 3",
    ] {
        passes(&under(before));
    }
}

#[test]
fn each_kind_of_block_barrier_is_held_to_it() {
    let body =
        |barrier: &str| under(&format!("{READ_TID}\n%c = icmp ult i32 %tid, 3")).replace("BARRIER", barrier);
    for barrier in [
        "%b = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 true)",
        "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"()",
        "call void asm sideeffect \"barrier.sync.aligned 0;\", \"~{memory}\"()",
        "call void asm sideeffect \"{ .reg .pred p; bar.red.or.pred p, 0, p; }\", \"~{memory}\"()",
    ] {
        fails(&body(barrier), TID);
    }
    for other in [
        "call void @llvm.nvvm.bar.warp.sync(i32 -1)",
        "call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)",
        "call void asm sideeffect \"bar.warp.sync -1;\", \"~{memory}\"()",
        "call void asm sideeffect \"mbarrier.init.shared.b64 [$0], 1;\", \"r,~{memory}\"(i32 0)",
    ] {
        passes(&body(other));
    }
}

#[test]
fn a_local_variable_is_what_was_written_to_it() {
    let body = |store: &str| {
        format!(
            "entry:\n{READ_TID}\n%flags = alloca [4 x i32]\n%copy = alloca [4 x i32]\n\
             %d = icmp ult i32 %tid, 3\n%at = getelementptr i32, ptr %flags, i32 %n\n\
             store i32 0, ptr %at\n{store}\n\
             %from = getelementptr i32, ptr %flags, i32 2\n\
             %v = load i32, ptr %from\n%c = icmp eq i32 %v, 1\nbr i1 %c, label %sync, label %end\n\
             sync:\nBARRIER\nbr label %end\n\
             end:\nret void"
        )
    };
    passes(&body(""));
    passes(&body("call void @llvm.memcpy.p0.p0.i64(ptr %flags, ptr @COEF, i64 16, i1 false)"));
    fails(&body("store i32 %tid, ptr %at"), TID);
    // The value is the same in all threads, but not the place, or not whether it is written.
    fails(&body("%own = getelementptr i32, ptr %flags, i32 %tid store i32 1, ptr %own"), TID);
    fails(
        &body(
            "br i1 %d, label %set, label %go\nset:\nstore i32 1, ptr %at\n\
             store volatile i32 1, ptr %p\nbr label %go\ngo:",
        ),
        TID,
    );
    // Through a second variable.
    fails(
        &body(
            "%to = getelementptr i32, ptr %copy, i32 %n store i32 %tid, ptr %to \
             call void @llvm.memcpy.p0.p0.i64(ptr %flags, ptr %copy, i64 16, i1 false)",
        ),
        TID,
    );
    fails(&body("store ptr %flags, ptr %p"), "a local variable whose address is passed on");
}

#[test]
fn a_parameter_that_is_passed_by_value_is_a_local_variable() {
    let kernel = |store: &str| {
        format!(
            r#"
            @d = internal constant [12 x i8] c"k\000\000\00-\00safe", section ".cuda.kernel"
            {DECLARATIONS}
            define ptx_kernel void @k(ptr byval([4 x i32]) %own) {{
            entry:
              {READ_TID}
              {store}
              %v = load i32, ptr %own
              %c = icmp ult i32 %v, 3
              br i1 %c, label %sync, label %end
            sync:
              call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
              br label %end
            end:
              ret void
            }}
            "#
        )
    };
    assert_eq!(refused(&kernel("")), []);
    assert_eq!(refused(&kernel("store i32 7, ptr %own")), []);
    let store = "%at = getelementptr i32, ptr %own, i32 %tid store i32 7, ptr %at";
    assert_eq!(refused(&kernel(store)).len(), 1);
    // A buffer that the parameter points to is no variable of the thread.
    passes(&under(&format!(
        "{READ_TID} %at = getelementptr i32, ptr %p, i32 %tid store i32 7, ptr %at {LOAD}"
    )));
}

#[test]
fn a_flag_in_a_register_after_all_is_followed_as_one() {
    let body = |value: &str| {
        under(&format!(
            "%flag = alloca i32\n{READ_TID}\nstore i32 {value}, ptr %flag\n%v = load i32, ptr %flag\n\
             %c = icmp ult i32 %v, 3"
        ))
    };
    fails(&body("%tid"), TID);
    passes(&body("%n"));
}

#[test]
fn what_threads_wrote_to_shared_memory_is_one_value_at_one_place() {
    passes(&under(&format!(
        "{READ_TID}\n%own = getelementptr i32, ptr @TILE, i32 %tid\nstore i32 %tid, ptr %own\nBARRIER\n\
         %v = load i32, ptr @TILE\n%c = icmp ult i32 %v, 3"
    )));
}
