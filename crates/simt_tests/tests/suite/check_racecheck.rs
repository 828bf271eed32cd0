//! racecheck: each planted race is found between its lines, and the kernel without it is clean.

use crate::check_lab::{BYTES, Value, all, assert_clean, lab, mark_at, short};
use simt::check::Check::Racecheck;
use simt::check::{AccessKind, Finding, FindingKind, Hazard, Memory, Severity};

/// The races of a kernel, which are between its marks: which came first, from which mark to which, and how often. The
/// words are compared with what the finding says of itself.
fn races(
    findings: &[Finding],
    kernel: &str,
    memory: Memory,
    severity: Severity,
) -> Vec<(Hazard, [&'static str; 2], u64)> {
    let race = |finding: &Finding| {
        assert_eq!((finding.check, finding.severity), (Racecheck, severity), "{finding}");
        let FindingKind::Race { hazard, memory: found, first, second, address } = &finding.kind else {
            panic!("{finding}");
        };
        assert_eq!(*found, memory, "{finding}");
        let word = if severity == Severity::Error { "Error" } else { "Warning" };
        let words = |access| match access {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
            AccessKind::Atomic => "Atomic",
        };
        let thread = |thread: [u32; 3]| format!("({},{},{})", thread[0], thread[1], thread[2]);
        let (one, other) = (words(first.access), words(second.access));
        let blocks = match (first.thread.block, second.thread.block) {
            (one, other) if one == other => format!("block {}", thread(one)),
            (one, other) => format!("blocks {} and {}", thread(one), thread(other)),
        };
        let mut text = format!(
            "{word}: Race reported between {one} access at {}\n    and {other} access at {} [{} hazards]\n\
             {word}: Potential {} hazard detected at {memory} {address:#x} in {blocks} :\n    \
             {one} Thread {} at {}\n    {other} Thread {} at {}",
            first.place,
            second.place,
            finding.count,
            hazard.name(),
            thread(first.thread.thread),
            first.place,
            thread(second.thread.thread),
            second.place,
        );
        if severity == Severity::Warning {
            text += "\n    The threads are in one warp, which need not run in step";
        }
        assert_eq!(short(finding), text);
        let marks = [mark_at(&first.place, kernel), mark_at(&second.place, kernel)];
        (*hazard, marks, finding.count)
    };
    findings.iter().map(race).collect()
}

/// Of two warps whichever runs first races with the one behind it, so a read and a write without a barrier are found as
/// one or the other order, or as both.
fn assert_unordered(
    findings: &[Finding],
    kernel: &str,
    write: &'static str,
    read: &'static str,
    hazards: u64,
) {
    let found = races(findings, kernel, Memory::Shared, Severity::Error);
    for (hazard, marks, _) in &found {
        let wanted = match hazard {
            Hazard::Raw => [write, read],
            Hazard::War => [read, write],
            Hazard::Waw => panic!("{found:?}"),
        };
        assert_eq!(*marks, wanted, "{found:?}");
    }
    assert_eq!(found.iter().map(|(.., count)| count).sum::<u64>(), hazards, "{found:?}");
}

#[test]
fn racecheck_finds_missing_barriers() {
    let lab = lab(Racecheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    let launch = |kernel, parameters: &[Value]| lab.launch(kernel, 2, parameters);
    // Each of the 64 threads of a block reads what another warp writes.
    let findings = launch("read_after_write", &[data.into(), out.into()]);
    assert_unordered(&findings, "read_after_write", "FAULT", "AND", 2 * 64);
    let findings = launch("write_after_read", &[data.into(), 2_u64.into(), out.into()]);
    assert_unordered(&findings, "write_after_read", "AND", "FAULT", 2 * 64);

    let findings = launch("async_tile_unsynced", &[data.into(), 128_u64.into(), out.into()]);
    assert_unordered(&findings, "async_tile_unsynced", "FAULT", "AND", 2 * 64);

    let findings = launch("write_after_write", &[out.into()]);
    let found = races(&findings, "write_after_write", Memory::Shared, Severity::Error);
    assert_eq!(found, [(Hazard::Waw, ["FAULT", "FAULT"], 2 * 32)]);
    let findings = launch("one_store", &[out.into()]);
    let found = races(&findings, "one_store", Memory::Shared, Severity::Error);
    assert_eq!(found, [(Hazard::Waw, ["FAULT", "FAULT"], 2 * 2)]);
}

#[test]
fn racecheck_warns_of_lanes_that_need_not_run_in_step() {
    let lab = lab(Racecheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    for kernel in ["within_warp", "half_warp"] {
        let findings = lab.launch(kernel, 2, &[data.into(), out.into()]);
        let found = races(&findings, kernel, Memory::Shared, Severity::Warning);
        let hazards: u64 = found.iter().map(|(.., count)| count).sum();
        assert!(found.iter().all(|(hazard, marks, _)| (*hazard, *marks) == (Hazard::Raw, ["FAULT", "AND"])));
        assert_eq!(hazards, 128, "{kernel}: {found:?}");
    }
}

#[test]
fn racecheck_finds_races_between_blocks() {
    let lab = lab(Racecheck);
    let launch = |kernel, parameters: &[Value]| {
        let findings = lab.launch(kernel, 3, parameters);
        races(&findings, kernel, Memory::Global, Severity::Error)
    };
    // The last block reads what the first has written; the others write what a block before them has read.
    let data = lab.zeros(3 * 256);
    let found = launch("between_blocks", &[data.into(), 192_u64.into()]);
    assert_eq!(found, [(Hazard::War, ["FAULT", "AND"], 128), (Hazard::Raw, ["AND", "FAULT"], 64)]);

    let (partial, counter, out) = (lab.zeros(64), lab.zeros(4), lab.zeros(256));
    let found = launch("last_block", &[partial.into(), counter.into(), out.into()]);
    assert_eq!(found, [(Hazard::Raw, ["FAULT", "AND"], 2)]);

    let counter = lab.zeros(4);
    let found = launch("plain_counter", &[counter.into()]);
    assert_eq!(found, [(Hazard::Raw, ["FAULT", "FAULT"], 2), (Hazard::Waw, ["FAULT", "FAULT"], 2)]);
}

#[test]
fn kernels_whose_races_are_repaired_are_clean() {
    let lab = all();
    let (data, out) = (lab.zeros(3 * 256), lab.zeros(3 * 256));
    let clean = |kernel: &str, parameters: &[Value]| assert_clean(&lab.launch(kernel, 3, parameters), kernel);
    clean("read_after_write_fixed", &[data.into(), out.into()]);
    clean("write_after_read_fixed", &[data.into(), 3_u64.into(), out.into()]);
    clean("write_after_write_fixed", &[out.into()]);
    clean("one_store_fixed", &[out.into()]);
    clean("within_warp_fixed", &[data.into(), out.into()]);
    clean("half_warp_fixed", &[data.into(), out.into()]);
    clean("between_blocks_fixed", &[data.into(), 192_u64.into(), out.into()]);
    clean("plain_counter_fixed", &[lab.zeros(4).into()]);
    clean("last_block_fixed", &[lab.empty(64).into(), lab.zeros(4).into(), lab.empty(64).into()]);
}
