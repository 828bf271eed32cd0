//! Control flow: loops, lanes that part and meet again, lanes that wait for each other.

use std::time::Duration;

use crate::exec_common::{Bench, kernel};
use simt::exec::LaunchFailure;
use simt::fault::FaultKind;
use simt::observe::Misuse;

fn bench(body: &str) -> Bench {
    Bench::with_head(&kernel("k", "", body))
}

fn each(threads: u32, value: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..threads).map(value).collect()
}

#[test]
fn a_loop_adds_up() {
    let bench = bench(
        "mov.b32 %r0, 0;
         mov.b32 %r2, 0;
        LOOP:
         add.s32 %r0, %r0, %r2;
         add.s32 %r2, %r2, 1;
         setp.lt.u32 %p1, %r2, 100;
         @%p1 bra LOOP;",
    );
    assert_eq!(bench.results("k", 64), vec![4950; 64]);
    let array = bench.upload(&[0u32; 64]);
    let log = bench.watch("k", 64, &[array.into()]);
    assert_eq!(bench.issued(&log, "setp.lt.u32"), (200, 6400));
    assert_eq!(log.branches.len(), 200);
    assert!(log.branches.iter().all(|(_, jump, go_on)| *jump == 0 || *go_on == 0), "no lane parts");
}

/// Lanes that leave a loop early wait behind it, and all reconverge there.
#[test]
fn lanes_go_round_a_loop_differently_often() {
    let bench = bench(
        "mov.b32 %r0, 0;
         mov.b32 %r2, 0;
        LOOP:
         add.s32 %r0, %r0, %r2;
         add.s32 %r2, %r2, 1;
         setp.le.u32 %p1, %r2, %r1;
         @%p1 bra LOOP;
         xor.b32 %r0, %r0, 1;",
    );
    let wanted = each(64, |thread| (thread * (thread + 1) / 2) ^ 1);
    assert_eq!(bench.results("k", 64), wanted);
    let array = bench.upload(&[0u32; 64]);
    let log = bench.watch("k", 64, &[array.into()]);
    // The first warp goes round 32 times, the second 64 times.
    assert_eq!(bench.issued(&log, "setp.le.u32"), (96, 64 * 65 / 2));
    assert_eq!(bench.issued(&log, "xor.b32"), (2, 64));
    assert_eq!(log.requests, 2);
}

/// A branch before a `break`: lanes that stay reconverge in each round, as in machine code with `BSSY`, `BREAK` and `BSYNC`.
#[test]
fn lanes_that_stay_in_a_loop_meet_in_each_round() {
    let bench = bench(
        "mov.b32 %r0, 0;
         mov.b32 %r2, 0;
        LOOP:
         xor.b32 %r3, %r1, %r2;
         and.b32 %r3, %r3, 1;
         setp.eq.u32 %p1, %r3, 0;
         @%p1 bra STAY;
         setp.ge.u32 %p2, %r2, %r1;
         @%p2 bra OUT;
        STAY:
         add.s32 %r0, %r0, 1;
         add.s32 %r2, %r2, 1;
         setp.lt.u32 %p3, %r2, 100;
         @%p3 bra LOOP;
        OUT:
         xor.b32 %r0, %r0, 1;",
    );
    // In every other round a thread looks whether it has gone round as often as its number.
    assert_eq!(bench.results("k", 64), each(64, |thread| (thread + 1) ^ 1));
    let array = bench.upload(&[0u32; 64]);
    let log = bench.watch("k", 64, &[array.into()]);
    // The first warp's last lane goes round 32 times, the second's 64 times.
    assert_eq!(bench.issued(&log, "setp.lt.u32"), (96, 64 * 65 / 2));
    assert_eq!(log.requests, 2);
}

#[test]
fn nested_branches_meet_inside_out() {
    let bench = bench(
        "and.b32 %r2, %r1, 1;
         setp.eq.u32 %p1, %r2, 0;
         @%p1 bra EVEN;
         and.b32 %r3, %r1, 2;
         setp.ne.u32 %p2, %r3, 0;
         @%p2 bra ODD2;
         mov.b32 %r0, 10;
         bra.uni ODD_END;
        ODD2:
         mov.b32 %r0, 20;
        ODD_END:
         mul.lo.u32 %r0, %r0, 3;
         bra.uni END;
        EVEN:
         mov.b32 %r0, 7;
        END:
         add.u32 %r0, %r0, %r1;",
    );
    let value = |thread: u32| thread + if thread.is_multiple_of(2) { 7 } else { 30 * (1 + thread / 2 % 2) };
    assert_eq!(bench.results("k", 32), each(32, value));
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(bench.issued(&log, "mul.lo.u32"), (1, 16));
    assert_eq!(bench.issued(&log, "add.u32"), (1, 32));
    assert_eq!(log.branches.iter().filter(|(_, jump, go_on)| *jump != 0 && *go_on != 0).count(), 2);
}

/// A bounds check whose failure leads to a trap does not keep the others from meeting.
#[test]
fn ways_that_never_return_are_left_out() {
    let bench = bench(
        "and.b32 %r2, %r1, 1;
         setp.eq.u32 %p1, %r2, 0;
         @%p1 bra LEFT;
         setp.gt.u32 %p2, %r1, 1000;
         @%p2 bra PANIC;
         mov.b32 %r0, 1;
         bra.uni MEET;
        LEFT:
         setp.gt.u32 %p3, %r1, 2000;
         @%p3 bra PANIC;
         mov.b32 %r0, 2;
         bra.uni MEET;
        PANIC:
         trap;
        MEET:
         xor.b32 %r0, %r0, 0;",
    );
    assert_eq!(bench.results("k", 32), each(32, |thread| 2 - (thread & 1)));
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(bench.issued(&log, "xor.b32"), (1, 32));
    assert_eq!(bench.issued(&log, "trap"), (0, 0));
}

#[test]
fn who_returns_early_is_not_waited_for() {
    let bench = bench(
        "mov.b32 %r0, 5;
         setp.lt.u32 %p1, %r1, 7;
         @%p1 bra OUT;
         bar.sync 0;
         add.u32 %r0, %r0, 1;
         bra.uni ON;
        OUT:
         ret;
        ON:",
    );
    let array = bench.upload(&[9u32; 96]);
    let log = bench.watch("k", 96, &[array.into()]);
    let after: Vec<u32> = bench.download(array, 96);
    assert_eq!(after, each(96, |thread| if thread < 7 { 9 } else { 6 }));
    assert_eq!(log.misuses, []);
    assert_eq!(log.barriers, [(0, u64::MAX)]);
    assert_eq!(bench.issued(&log, "add.u32"), (3, 89));
}

#[test]
fn guarded_exit_and_return() {
    let bench = bench(
        "mov.b32 %r0, 1;
         setp.eq.u32 %p1, %r1, 3;
         setp.eq.u32 %p2, %r1, 4;
         @%p1 exit;
         @!%p2 add.u32 %r0, %r0, 1;
         @%p2 ret;",
    );
    let array = bench.upload(&[9u32; 32]);
    bench.run("k", [1; 3], [32, 1, 1], &[array.into()]);
    let after: Vec<u32> = bench.download(array, 32);
    assert_eq!(after, each(32, |thread| if thread == 3 || thread == 4 { 9 } else { 2 }));
}

#[test]
fn a_table_of_places() {
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        "and.b32 %r2, %r1, 3;
         brx.idx %r2, TABLE;
        TABLE: .branchtargets A, B, C, A;
        A:
         mov.b32 %r0, 100;
         bra.uni END;
        B:
         mov.b32 %r0, 200;
         bra.uni END;
        C:
         mov.b32 %r0, 300;
        END:
         add.u32 %r0, %r0, %r1;",
    ));
    let value = |thread: u32| thread + [100, 200, 300, 100][thread as usize & 3];
    assert_eq!(bench.results("k", 64), each(64, value));
    let array = bench.upload(&[0u32; 64]);
    let log = bench.watch("k", 64, &[array.into()]);
    assert_eq!(bench.issued(&log, "add.u32"), (2, 64));
    let bad = Bench::with_head(&kernel("k", "", "brx.idx %r1, T;\nT: .branchtargets A;\nA: mov.b32 %r0, 1;"));
    let array = bad.upload(&[0u32; 32]);
    let Err(LaunchFailure::Fault { fault, .. }) = bad.try_run("k", [1; 3], [32, 1, 1], &[array.into()])
    else {
        panic!("a fault")
    };
    assert_eq!(fault.kind, FaultKind::Illegal("brx.idx: 1 of a list of 1".to_owned()));
    assert_eq!(fault.thread, [1, 0, 0]);
}

/// A graph whose loop has two ways in.
#[test]
fn a_loop_with_two_doors() {
    let bench = bench(
        "mov.b32 %r0, 0;
         mov.b32 %r2, 0;
         and.b32 %r3, %r1, 1;
         setp.eq.u32 %p1, %r3, 0;
         @%p1 bra SECOND;
        FIRST:
         add.u32 %r0, %r0, 1;
        SECOND:
         add.u32 %r0, %r0, 10;
         add.u32 %r2, %r2, 1;
         setp.lt.u32 %p2, %r2, 5;
         @%p2 bra FIRST;",
    );
    assert_eq!(bench.results("k", 32), each(32, |thread| 50 + if thread & 1 == 0 { 4 } else { 5 }));
}

#[test]
fn exchange_in_divergent_code() {
    let bench = bench(
        "setp.lt.u32 %p1, %r1, 16;
         @%p1 bra LOW;
         shfl.sync.bfly.b32 %r0, %r1, 1, 31, 0xffff0000;
         bra.uni END;
        LOW:
         shfl.sync.down.b32 %r0, %r1, 4, 31, 0x0000ffff;
        END:",
    );
    let value = |thread: u32| {
        if thread < 12 {
            thread + 4
        } else if thread < 16 {
            u32::MAX
        } else {
            thread ^ 1
        }
    };
    let got = bench.results("k", 32);
    for (thread, got) in (0..32).zip(got) {
        if value(thread) != u32::MAX {
            assert_eq!(got, value(thread), "thread {thread}");
        }
    }
}

/// Both ways have an exchange of the same kind among all: they meet there, though at different places in the code.
#[test]
fn exchange_between_two_places() {
    let bench = bench(
        "setp.lt.u32 %p1, %r1, 16;
         mul.lo.u32 %r2, %r1, 10;
         @%p1 bra LOW;
         mov.b32 %r4, 1000;
         shfl.sync.bfly.b32 %r0, %r2, 16, 31, 0xffffffff;
         add.u32 %r0, %r0, %r4;
         bra.uni END;
        LOW:
         add.u32 %r3, %r2, 1;
         mov.b32 %r5, 2000;
         shfl.sync.bfly.b32 %r6, %r3, 16, 31, 0xffffffff;
         add.u32 %r0, %r6, %r5;
        END:",
    );
    let value = |thread: u32| {
        if thread < 16 { 2000 + (thread + 16) * 10 } else { 1000 + (thread - 16) * 10 + 1 }
    };
    assert_eq!(bench.results("k", 32), each(32, value));
}

#[test]
fn warp_barriers_meet_wherever_they_are() {
    let bench = bench(
        "mov.b32 %r0, 0;
         setp.lt.u32 %p1, %r1, 16;
         @%p1 bra LOW;
         bar.warp.sync 0xffffffff;
         mov.b32 %r0, 1;
         bra.uni END;
        LOW:
         bar.warp.sync 0xffffffff;
         mov.b32 %r0, 2;
        END:",
    );
    assert_eq!(bench.results("k", 32), each(32, |thread| if thread < 16 { 2 } else { 1 }));
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(log.warp_barriers, [u32::MAX]);
    assert_eq!(log.misuses, []);
}

#[test]
fn groups_of_different_masks_by_one_instruction() {
    let bench = bench(
        "setp.lt.u32 %p1, %r1, 8;
         selp.b32 %r2, 0x000000ff, 0xffffff00, %p1;
         vote.sync.ballot.b32 %r0, %p1, %r2;",
    );
    assert_eq!(bench.results("k", 32), each(32, |thread| if thread < 8 { 0xFF } else { 0 }));
}

#[test]
fn wrong_masks_are_told() {
    // Thread 0 leaves; the others name it.
    let gone = bench(
        "setp.eq.u32 %p1, %r1, 0;
         @%p1 exit;
         mov.b32 %r0, 3;
         bar.warp.sync 0xffffffff;",
    );
    let array = gone.upload(&[0u32; 32]);
    let log = gone.watch("k", 32, &[array.into()]);
    let misuses: Vec<Misuse> = log.misuses.iter().map(|(_, misuse)| *misuse).collect();
    assert_eq!(misuses, [Misuse::NeverArrive { mask: u32::MAX, missing: 1 }]);
    // All call, and only half of them are named.
    let outside = bench("mov.b32 %r0, 3;\n bar.warp.sync 0x0000ffff;");
    let array = outside.upload(&[0u32; 32]);
    let log = outside.watch("k", 32, &[array.into()]);
    let misuses: Vec<Misuse> = log.misuses.iter().map(|(_, misuse)| *misuse).collect();
    assert_eq!(misuses, [Misuse::NotInMask { mask: 0xFFFF, callers: 0xFFFF_0000 }]);
    // A warp that is not full has never had the others.
    let log = bench("mov.b32 %r0, 3;\n bar.warp.sync 0xffffffff;");
    let array = log.upload(&[0u32; 32]);
    assert_eq!(log.watch("k", 20, &[array.into()]).misuses, []);
}

/// Each lane takes the same lock in turn: who has it must not be kept waiting by those who want it.
#[test]
fn lanes_of_a_warp_share_a_spin_lock() {
    let bench = Bench::with_head(&kernel(
        "k",
        ".shared .align 4 .b32 lock;\n.shared .align 4 .b32 count;",
        "setp.ne.u32 %p1, %r1, 0;
         @%p1 bra READY;
         st.shared.u32 [lock], 0;
         st.shared.u32 [count], 0;
        READY:
         bar.sync 0;
        TAKE:
         atom.shared.cas.b32 %r2, [lock], 0, 1;
         setp.ne.u32 %p2, %r2, 0;
         @%p2 bra TAKE;
         ld.volatile.shared.u32 %r0, [count];
         add.u32 %r3, %r0, 1;
         st.volatile.shared.u32 [count], %r3;
         membar.cta;
         atom.shared.exch.b32 %r4, [lock], 0;",
    ));
    let mut got = bench.results("k", 96);
    got.sort_unstable();
    assert_eq!(got, each(96, |thread| thread));
}

#[test]
fn a_deadlock_is_told_with_its_places() {
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        "mov.b32 %r0, 0;
         setp.lt.u32 %p1, %r1, 32;
         @%p1 bra FIRST;
         bar.sync 1;
         bra.uni END;
        FIRST:
         bar.sync 2;
        END:",
    ));
    let array = bench.upload(&[0u32; 64]);
    let failure = bench.try_run("k", [1; 3], [64, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault:?}") };
    assert!(
        waiting.contains("warp 0, lanes 0xffffffff, waits at barrier 2 for all threads (bar.sync, line "),
        "{waiting}"
    );
    assert!(waiting.contains("warp 1, lanes 0xffffffff, waits at barrier 1 for all threads"), "{waiting}");
}

#[test]
fn lanes_that_never_come_are_a_deadlock() {
    let bench = bench(
        "mov.b32 %r0, 0;
         setp.lt.u32 %p1, %r1, 16;
         @%p1 bra LOW;
         bar.warp.sync 0xffffffff;
         bra.uni END;
        LOW:
         bar.sync 0;
        END:",
    );
    let array = bench.upload(&[0u32; 32]);
    let mut watch = crate::exec_common::Watch::default();
    let failure = bench.launch_with("k", &[array.into()], &mut watch, |_| {});
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault:?}") };
    assert!(
        waiting.contains("lanes 0xffff0000, waits for the other lanes of the mask 0xffffffff"),
        "{waiting}"
    );
    let misuses: Vec<Misuse> = watch.log().misuses.iter().map(|(_, misuse)| *misuse).collect();
    let never = Misuse::NeverArrive { mask: u32::MAX, missing: 0xFFFF };
    assert_eq!(misuses.len(), 2);
    assert!(misuses.contains(&never), "{misuses:?}");
    assert!(misuses.contains(&Misuse::DivergentWarp { elsewhere: 0xFFFF_0000 }), "{misuses:?}");
}

#[test]
fn loops_without_end_reach_the_limit() {
    let bench = bench("mov.b32 %r0, 0;\nLOOP:\n add.u32 %r0, %r0, 1;\n bra.uni LOOP;");
    let array = bench.upload(&[0u32; 32]);
    let failure =
        bench.launch_with("k", &[array.into()], &mut (), |launch| launch.instruction_limit = Some(10_000));
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    assert_eq!(fault.kind, FaultKind::Endless { instructions: 10_000, patience: None });
    assert_eq!(fault.site.0, 2, "the branch back");
}

#[test]
fn loops_without_end_run_out_of_patience() {
    let patience = Some(Duration::from_millis(1));
    let plain = "mov.b32 %r0, 0;\nLOOP:\n add.u32 %r0, %r0, 1;\n bra.uni LOOP;";
    let sleeping = "LOOP:\n nanosleep.u32 20;\n bra.uni LOOP;";
    let waiting = "ld.param.u64 %rd1, [out];\nLOOP:\n ld.volatile.global.u32 %r0, [%rd1];\n setp.ne.u32 %p1, %r0, 7;\n @%p1 bra LOOP;";
    for code in [plain, sleeping, waiting] {
        let bench = bench(code);
        let array = bench.upload(&[0u32; 32]);
        let failure = bench.launch_with("k", &[array.into()], &mut (), |launch| {
            launch.instruction_limit = None;
            launch.patience = patience;
        });
        let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
        let FaultKind::Endless { patience: found, instructions } = fault.kind else { panic!("{fault:?}") };
        assert_eq!(found, patience);
        assert!(instructions > 0);
    }
}

#[test]
fn the_limit_is_of_one_warps_length_and_not_of_the_launchs() {
    let bench =
        bench("mov.b32 %r0, 0;\nLOOP:\n add.u32 %r0, %r0, 1;\n setp.lt.u32 %p1, %r0, 1000;\n @%p1 bra LOOP;");
    let array = bench.upload(&[0u32; 32]);
    let executed = bench.launch_with("k", &[array.into()], &mut (), |launch| {
        launch.grid = [50, 1, 1];
        launch.instruction_limit = Some(10_000);
    });
    assert!(executed.unwrap().warp_instructions > 50 * 3000);
}

#[test]
fn a_trap_ends_the_launch() {
    let bench = bench("mov.b32 %r0, 0;\n setp.eq.u32 %p1, %r1, 41;\n @%p1 trap;");
    let array = bench.upload(&[0u32; 64]);
    let failure = bench.try_run("k", [1; 3], [64, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    assert_eq!((fault.kind, fault.thread), (FaultKind::Trap, [41, 0, 0]));
}

/// The form in which cuda_builder lets lanes meet behind a check.
#[test]
fn a_panic_that_only_seems_to_go_on_is_a_trap() {
    let bench = bench(
        "mov.b32 %r0, 0;
         setp.lt.u32 %p1, %r1, 40;
         @%p1 bra MEET;
         setp.eq.u32 %p2, %r1, 41;
         @%p2 bra PANIC;
         mov.b32 %r0, 1;
        MEET:
         add.u32 %r0, %r0, 5;
         bra END;
        PANIC:
         brkpt;
         { .reg .pred %stops;
           .reg .b32 %threads;
           mov.u32 %threads, %ntid.x;
           setp.ne.u32 %stops, %threads, 0;
           @%stops exit; }
         bra.uni MEET;
        END:",
    );
    let array = bench.upload(&[0u32; 64]);
    let failure = bench.try_run("k", [1; 3], [64, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    assert_eq!((fault.kind, fault.thread), (FaultKind::Trap, [41, 0, 0]));
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(bench.download::<u32>(array, 32), [5; 32]);
    assert_eq!(bench.issued(&log, "trap"), (0, 0));
}

/// A branch by a register that nothing has written.
#[test]
fn undefined_registers_that_steer_are_told() {
    let bench = bench(
        "mov.b32 %r0, 0;
         setp.lt.u32 %p1, %r1, 8;
         @%p1 mov.b32 %r5, 1;
         add.u32 %r6, %r5, 1;
         selp.b32 %r7, %r6, 4, %p1;
         setp.eq.u32 %p2, %r7, 2;
         @%p2 bra SKIP;
         add.u32 %r0, %r0, 1;
        SKIP:
         setp.eq.u32 %p3, %r6, 2;
         @%p3 bra END;
         add.u32 %r0, %r0, 1;
        END:",
    );
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    let last = bench.program.sites().iter().rposition(|site| &*site.opcode == "bra").expect("branches");
    assert_eq!(log.undefined, [(last as u32, 0xFFFF_FF00)]);
}
