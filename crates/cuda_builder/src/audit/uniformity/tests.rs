//! Kernels as IR, and what is found in them.

mod calls;
mod control;
mod values;

use super::*;
use crate::testing::refused;

const DECLARATIONS: &str = r#"
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
    declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
    declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
    declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
    declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
    declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)
    declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)
    declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
    declare void @llvm.nvvm.bar.warp.sync(i32)
    declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
    declare float @llvm.nvvm.ex2.approx.f32(float)
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    declare void @llvm.trap()
    @TILE = internal global [256 x i32] undef, section ".cuda.shared"
    @COEF = internal global [4 x i32] undef, section ".cuda.constant"
"#;

/// A module with the kernel `k(ptr %p, i32 %n)`, described as safe or not; `BARRIER` in its body is one.
fn module(safe: bool, body: &str, more: &str) -> String {
    let (bytes, safe) = if safe { (13, "\\00safe") } else { (8, "") };
    let body = body.replace("BARRIER", "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)");
    format!(
        "@d = internal constant [{bytes} x i8] c\"k\\000\\000\\00--{safe}\", section \".cuda.kernel\"\n\
         {DECLARATIONS}\n{more}\n\
         define ptx_kernel void @k(ptr %p, i32 %n) {{\n{body}\n}}\n"
    )
}

/// A barrier that is reached if the `i1 %c` holds, which `before` computes.
fn under(before: &str) -> String {
    format!(
        "entry:\n{before}\nbr i1 %c, label %sync, label %end\n\
         sync:\nBARRIER\nbr label %end\n\
         end:\nret void"
    )
}

fn causes(body: &str, more: &str) -> Vec<String> {
    let cause = |finding: Finding| match finding {
        Finding::DivergentBarrier { function, cause, .. } => {
            assert_eq!(function, "k");
            cause
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&module(false, body, more)), []);
    refused(&module(true, body, more)).into_iter().map(cause).collect()
}

#[track_caller]
fn passes(body: &str) {
    assert_eq!(causes(body, ""), [""; 0], "{body}");
}

#[track_caller]
fn fails(body: &str, cause: &str) {
    assert_eq!(causes(body, ""), [cause], "{body}");
}

const TID: &str = "the thread's index (`tid.x`)";
const LOAD: &str = "%v = load i32, ptr %p %c = icmp ult i32 %v, 3";
const READ_TID: &str = "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()";

#[test]
fn the_example_of_the_documentation() {
    fails(
        "entry:
           %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %a = icmp ugt i32 %n, 3
           br i1 %a, label %one, label %join
         one:
           BARRIER
           br label %join
         join:
           %k = phi i32 [ 0, %entry ], [ 1, %one ]
           br label %loop
         loop:
           %i = phi i32 [ %k, %join ], [ %next, %loop ]
           %next = add i32 %i, 1
           %b = icmp ult i32 %next, %tid
           br i1 %b, label %loop, label %after
         after:
           %c = icmp eq i32 %next, 7
           br i1 %c, label %two, label %end
         two:
           BARRIER
           br label %end
         end:
           ret void",
        TID,
    );
}
