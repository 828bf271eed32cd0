//! Branches, loops and traps.

use super::*;

/// A loop with a barrier, whose counter stays below `%bound`.
fn counted_loop(before: &str, bound: &str) -> String {
    format!(
        "entry:\n{before}\nbr label %head\n\
         head:\n%i = phi i32 [ 0, %entry ], [ %next, %body ]\n%more = icmp ult i32 %i, {bound}\n\
         br i1 %more, label %body, label %end\n\
         body:\nBARRIER\n%next = add i32 %i, 1\nbr label %head\n\
         end:\nret void"
    )
}

#[test]
fn a_loop_passes_if_its_trip_count_is_uniform() {
    passes(&counted_loop("", "%n"));
    fails(&counted_loop(READ_TID, "%tid"), TID);
    // Grid strides: the first index is a thread's own, and so is the trip count.
    fails(&counted_loop(READ_TID, "%n").replace("[ 0, %entry ]", "[ %tid, %entry ]"), TID);
}

#[test]
fn a_value_of_a_loop_with_a_divergent_exit_is_divergent_after_it() {
    let body = |left: &str| {
        format!(
            "entry:\n{READ_TID}\nbr label %loop\n\
             loop:\n%i = phi i32 [ 0, %entry ], [ %next, %loop ]\n\
             store volatile i32 %i, ptr %p\n%v = load i32, ptr %p\n\
             %next = add i32 %i, 1\n%more = icmp ult i32 %next, %tid\n\
             br i1 %more, label %loop, label %after\n\
             after:\n%c = icmp ult i32 {left}, 7\nbr i1 %c, label %sync, label %end\n\
             sync:\nBARRIER\nbr label %end\n\
             end:\nret void"
        )
    };
    fails(&body("%next"), TID);
    // The address is the same in all threads; the time at which they read is not.
    fails(&body("%v"), TID);
    passes(&body("%n"));
}

#[test]
fn a_phi_where_divergent_paths_join_is_divergent() {
    let body = |one: &str, other: &str, condition: &str| {
        format!(
            "entry:\n{READ_TID}\n%d = icmp ult i32 %tid, 3\n%u = icmp ult i32 %n, 3\n\
             br i1 {condition}, label %one, label %other\n\
             one:\nstore volatile i32 1, ptr %p\nbr label %join\n\
             other:\nstore volatile i32 2, ptr %p\nbr label %join\n\
             join:\n%v = phi i32 [ {one}, %one ], [ {other}, %other ]\n\
             %c = icmp ult i32 %v, 7\nbr i1 %c, label %sync, label %end\n\
             sync:\nBARRIER\nbr label %end\n\
             end:\nret void"
        )
    };
    fails(&body("0", "9", "%d"), TID);
    passes(&body("0", "9", "%u"));
    passes(&body("%n", "%n", "%d"));
    fails(&body("%n", "%tid", "%u"), TID);
}

#[test]
fn both_sides_of_a_divergent_branch_are_refused() {
    let body = format!(
        "entry:\n{READ_TID}\n%c = icmp ult i32 %tid, 3\nbr i1 %c, label %one, label %other\n\
         one:\nstore volatile i32 1, ptr %p\nBARRIER\nbr label %join\n\
         other:\nstore volatile i32 2, ptr %p\nBARRIER\nbr label %join\n\
         join:\nBARRIER\nret void"
    );
    // They have no line numbers to tell them apart; the one after the join is not among them.
    fails(&body, TID);
    assert_eq!(refused(&module(true, &body.replacen("BARRIER", "", 2), "")), []);
}

#[test]
fn a_uniform_branch_in_a_divergent_one_does_not_help() {
    let body = format!(
        "entry:\n{READ_TID}\n%c = icmp ult i32 %tid, 3\n%u = icmp ult i32 %n, 3\n\
         br i1 %c, label %one, label %end\n\
         one:\nstore volatile i32 1, ptr %p\nbr i1 %u, label %sync, label %end\n\
         sync:\nBARRIER\nbr label %end\n\
         end:\nret void"
    );
    fails(&body, TID);
}

#[test]
fn a_thread_that_returns_early_is_missed_at_the_barrier() {
    let body = format!(
        "entry:\n{READ_TID}\n%c = icmp uge i32 %tid, %n\nbr i1 %c, label %leave, label %go\n\
         leave:\nret void\n\
         go:\nBARRIER\nstore i32 1, ptr %p\nret void"
    );
    fails(&body, TID);
}

#[test]
fn a_path_to_a_trap_is_none() {
    let body = format!(
        "entry:\n{READ_TID}\n%c = icmp uge i32 %tid, %n\nbr i1 %c, label %wrong, label %go\n\
         wrong:\ncall void @llvm.trap()\nunreachable\n\
         go:\nBARRIER\nret void"
    );
    passes(&body);
    fails(&body.replace("call void @llvm.trap()", "BARRIER call void @llvm.trap()"), TID);
    // An endless loop is not a trap.
    let body = body.replace("call void @llvm.trap()\nunreachable", "BARRIER br label %wrong");
    fails(&body, TID);
}
