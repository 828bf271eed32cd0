//! `mbarrier`: phases, counts and bytes, step by step.

use crate::memory_support::{ALL, Machine, device};
use simt::fault::FaultKind;
use simt::internals::memory::{MBARRIER, Progress, SHARED_WINDOW};
use simt::observe::{Operation, Space};

/// One lane at a time, on the barrier at offset 64.
fn barrier<'a>(memory: &'a simt::memory::Memory, count: u32) -> Machine<'a> {
    let mut machine = Machine::new(memory);
    machine.set("%r1", |_| 64);
    machine.set("%rd1", |_| SHARED_WINDOW + 64);
    machine.ok(&format!("mbarrier.init.shared.b64 [%r1], {count};"), 1);
    machine
}

/// Whether a phase of this parity is complete, asked in all ways.
fn complete(machine: &mut Machine<'_>, parity: u32) -> bool {
    let answers: Vec<(u64, Progress)> = [
        format!("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], {parity};"),
        format!("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], {parity};"),
        format!("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], {parity}, 1000;"),
        format!("mbarrier.test_wait.parity.b64 %p1, [%rd1], {parity};"),
    ]
    .iter()
    .map(|code| {
        let progress = machine.run(code, 1).expect("it waits");
        (machine.get("%p1")[0], progress)
    })
    .collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].1, if answers[0].0 == 1 { Progress::Done } else { Progress::Wait });
    answers[0].0 == 1
}

/// (instructions, phase 0 complete, phase 1 complete) - as asked by parity, of which the one before is 1 at first.
#[test]
fn phases_follow_the_table() {
    let memory = device();
    let steps: &[(&str, bool, bool)] = &[
        ("", false, true),
        ("mbarrier.arrive.shared.b64 %rd2, [%r1];", false, true),
        ("mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1], 2;", true, false),
        // Phase 1, of three again, and with bytes.
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 100;", true, false),
        ("mbarrier.arrive.b64 %rd3, [%rd1], 2;", true, false),
        ("mbarrier.complete_tx.shared::cta.b64 [%r1], 60;", true, false),
        ("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 40;", false, true),
        // Phase 2: bytes that come before they are announced.
        ("mbarrier.complete_tx.shared.b64 [%r1], 8;", false, true),
        ("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd4, [%r1], 2;", false, true),
        ("mbarrier.arrive.shared.b64 _, [%r1];", false, true),
        ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 8;", true, false),
        // Phase 3: one leaves for good, so that phase 4 is of two.
        ("mbarrier.arrive_drop.shared.b64 %rd5, [%r1];", true, false),
        ("mbarrier.arrive.shared.b64 _, [%r1], 2;", false, true),
        ("mbarrier.arrive.shared.b64 _, [%r1], 1;", false, true),
        (
            "mbarrier.arrive_drop.expect_tx.shared.b64 _, [%r1], 4; mbarrier.complete_tx.shared.b64 [%r1], 4;",
            true,
            false,
        ),
        // Phase 5 is of one.
        ("mbarrier.arrive.shared.b64 _, [%r1];", false, true),
    ];
    let mut machine = barrier(&memory, 3);
    for (code, even, odd) in steps {
        if !code.is_empty() {
            machine.ok(code, 1);
        }
        assert_eq!((complete(&mut machine, 0), complete(&mut machine, 1)), (*even, *odd), "{code}");
    }
}

#[test]
fn states_tell_their_phase_and_what_was_pending() {
    let memory = device();
    let mut machine = barrier(&memory, 4);
    machine.ok("mbarrier.arrive.shared.b64 %rd2, [%r1]; mbarrier.arrive.shared.b64 %rd3, [%r1], 2;", 1);
    machine.ok("mbarrier.pending_count.b64 %r2, %rd2; mbarrier.pending_count.b64 %r3, %rd3;", 1);
    assert_eq!((machine.get("%r2")[0], machine.get("%r3")[0]), (4, 3));
    for (state, done) in [("%rd2", 0), ("%rd3", 0)] {
        let code = format!("mbarrier.test_wait.shared.b64 %p1, [%r1], {state};");
        assert_eq!(machine.run(&code, 1), Ok(Progress::Wait));
        assert_eq!(machine.get("%p1")[0], done);
    }
    machine.ok("mbarrier.arrive.shared.b64 %rd4, [%r1];", 1);
    for state in ["%rd2", "%rd3", "%rd4"] {
        let code = format!("mbarrier.try_wait.acquire.cta.shared.b64 %p1, [%r1], {state};");
        assert_eq!(machine.run(&code, 1), Ok(Progress::Done));
        assert_eq!(machine.get("%p1")[0], 1);
    }
}

/// A whole warp arrives with one instruction, lane after lane.
#[test]
fn lanes_arrive_one_by_one() {
    let memory = device();
    let mut machine = barrier(&memory, 32);
    machine.set("%p1", |_| 1);
    machine.ok("mbarrier.arrive.shared.b64 %rd2, [%r1]; mbarrier.pending_count.b64 %r2, %rd2;", 0x7FFF_FFFF);
    let expected = |lane: usize| if lane == 31 { 0 } else { 32 - lane as u64 };
    assert_eq!(machine.get("%r2"), std::array::from_fn(expected));
    assert_eq!(
        machine.run("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;", 0xFFFF),
        Ok(Progress::Wait)
    );
    // Lanes that do not ask keep what they have.
    assert_eq!(machine.get("%p1"), std::array::from_fn(|lane| u64::from(lane >= 16)));
    machine.ok("mbarrier.arrive.shared.b64 _, [%r1];", 1 << 31);
    assert!(complete(&mut machine, 0));
    // Each its own object.
    machine.set("%r1", |lane| 512 + 8 * lane);
    machine.set("%r4", |lane| 1 + lane % 2);
    machine.ok("mbarrier.init.shared.b64 [%r1], %r4; mbarrier.arrive.shared.b64 _, [%r1];", ALL);
    machine.ok("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;", ALL);
    assert_eq!(machine.get("%p1"), std::array::from_fn(|lane| u64::from(lane % 2 == 0)));
}

#[test]
fn lanes_at_one_object_ask_for_phases_of_their_own() {
    let memory = device();
    let mut machine = barrier(&memory, 1);
    let wait = "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r4;";
    machine.set("%r4", |lane| lane % 2);
    assert_eq!(machine.run(wait, ALL), Ok(Progress::Wait));
    assert_eq!(machine.get("%p1"), std::array::from_fn(|lane| lane as u64 % 2));
    // The lowest lane that asks for what there is not is named.
    machine.set("%r4", |lane| if lane < 5 { 1 } else { lane });
    let fault = machine.fault(wait, ALL);
    let what = "an mbarrier's phase parity of 5; it is 0 or 1";
    assert_eq!((fault.lane, fault.kind), (5, FaultKind::Illegal(what.to_owned())));
}

#[test]
fn copies_of_a_thread_arrive_with_it() {
    let memory = device();
    let mut machine = barrier(&memory, 2);
    // Adds one and takes it off.
    machine.ok("cp.async.mbarrier.arrive.shared.b64 [%r1]; cp.async.mbarrier.arrive.b64 [%rd1];", 0b11);
    assert!(!complete(&mut machine, 0));
    machine.ok("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];", 0b11);
    assert!(complete(&mut machine, 0));
}

#[test]
fn misuse_is_named() {
    let memory = device();
    let illegal = |machine: &mut Machine<'_>, code: &str, what: &str| {
        let fault = machine.fault(code, 0b100);
        assert_eq!((fault.lane, fault.kind), (2, FaultKind::Illegal(what.to_owned())), "{code}");
    };
    let mut machine = barrier(&memory, 2);
    illegal(
        &mut machine,
        "mbarrier.init.shared.b64 [%r1], 0;",
        "mbarrier.init with a count of 0; it must be 1 to 1048575",
    );
    illegal(
        &mut machine,
        "mbarrier.arrive.shared.b64 _, [%r1+8];",
        "mbarrier used before mbarrier.init, or overwritten",
    );
    illegal(
        &mut machine,
        "mbarrier.arrive.shared.b64 _, [%r1], 3;",
        "3 arrive at an mbarrier whose phase waits for 2",
    );
    illegal(
        &mut machine,
        "mbarrier.arrive_drop.shared.b64 _, [%r1], 3;",
        "3 leave an mbarrier that counts 2",
    );
    illegal(
        &mut machine,
        "mbarrier.arrive.noComplete.shared.b64 %rd2, [%r1], 2;",
        "an arrival with .noComplete completes its phase",
    );
    illegal(
        &mut machine,
        "mbarrier.expect_tx.shared.b64 [%r1], 1048576;",
        "an mbarrier has 1048576 bytes under way; 1048575 at most",
    );
    illegal(
        &mut machine,
        "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 2;",
        "an mbarrier's phase parity of 2; it is 0 or 1",
    );
    machine.set("%rd2", |_| 0);
    illegal(
        &mut machine,
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd2;",
        "an mbarrier's state that no mbarrier.arrive gave",
    );
    machine.ok("mbarrier.inval.shared.b64 [%r1];", 1);
    illegal(
        &mut machine,
        "mbarrier.arrive.shared.b64 _, [%r1];",
        "mbarrier used before mbarrier.init, or overwritten",
    );
    let buffer = memory.allocate(64, simt::memory::Kind::Device).expect("memory");
    machine.set("%rd1", |_| buffer);
    illegal(
        &mut machine,
        "mbarrier.init.b64 [%rd1], 1;",
        "mbarrier at an address that is not in shared memory",
    );
    let fault = machine.fault("mbarrier.init.shared.b64 [%r1+4], 1;", 1);
    assert!(matches!(fault.kind, FaultKind::Misaligned { space: Space::Shared, bytes: 8, address: 68, .. }));
    let fault = machine.fault("mbarrier.init.shared.b64 [%r1+8000], 1;", 1);
    assert!(matches!(
        fault.kind,
        FaultKind::OutOfBounds { space: Space::Shared, bytes: 8, address: 8064, .. }
    ));
    let error = machine.decode("mbarrier.arrive.odd.shared.b64 _, [%r1];").expect_err("no such thing");
    assert_eq!(
        error.to_string(),
        "mbarrier.arrive.odd.shared.b64: unknown modifier .odd, or not in this place"
    );
}

/// Who passes is ordered behind all who arrived in the phase: the observer hears of it as of a barrier of those warps.
#[test]
fn passing_is_told_as_a_barrier_of_those_who_arrived() {
    let memory = device();
    let mut machine = barrier(&memory, 3);
    for warp in [2, 5, 7] {
        machine.warp = warp;
        machine.ok("mbarrier.arrive.shared.b64 _, [%r1];", 1);
    }
    machine.warp = 1;
    assert!(machine.recorder.barriers.is_empty());
    machine.ok("mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;", 0b11);
    assert_eq!(machine.recorder.barriers, [(MBARRIER, 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7)]);
    let kinds: Vec<_> =
        machine.recorder.seen.iter().map(|seen| (seen.operation, seen.space, seen.strong)).collect();
    assert_eq!(kinds[0], (Operation::Store, Space::Shared, false));
    assert_eq!(kinds[1..], [(Operation::Atomic, Space::Shared, true); 4]);
}
