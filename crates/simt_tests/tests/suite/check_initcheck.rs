//! initcheck: each planted read of what nobody wrote is found at its line, and the kernel without it is clean.

use crate::check_lab::{BYTES, all, assert_at, assert_clean, lab, only};
use simt::check::Check::{Initcheck, Memcheck};
use simt::check::{Check, FindingKind, Memory};

#[test]
fn initcheck_finds_what_the_host_did_not_write() {
    let lab = lab(Initcheck);
    let (data, out) = (lab.empty(BYTES), lab.empty(BYTES));
    assert_eq!(
        only(lab.launch("unwritten", 2, &[data.into(), out.into()]), Initcheck, "unwritten"),
        format!(
            "Uninitialized __global__ memory read of size 4 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
             Address {data:#x}\n    and 127 more of the same at this place"
        )
    );
    let (data, out) = (lab.empty(2 * BYTES), lab.empty(2 * BYTES));
    lab.memory.write(data, &[1; 804]).unwrap();
    assert_eq!(
        only(lab.launch("partly_written", 2, &[data.into(), out.into()]), Initcheck, "partly_written"),
        format!(
            "Uninitialized __global__ memory read of size 8 bytes\n    by thread (36,0,0) in block (1,0,0)\n    \
             Address {:#x}\n    and 27 more of the same at this place",
            data + 800
        )
    );
    // The same kernels on what has been written, by the host and by the kernel before.
    let lab = all();
    let (data, middle, out) = (lab.zeros(BYTES), lab.empty(BYTES), lab.empty(BYTES));
    assert_clean(&lab.launch("unwritten", 2, &[data.into(), middle.into()]), "unwritten");
    assert_clean(&lab.launch("unwritten", 2, &[middle.into(), out.into()]), "unwritten");
    let (data, out) = (lab.zeros(2 * BYTES), lab.empty(2 * BYTES));
    assert_clean(&lab.launch("partly_written", 2, &[data.into(), out.into()]), "partly_written");
}

#[test]
fn initcheck_finds_what_nobody_wrote_to_shared_memory() {
    let lab = lab(Initcheck);
    let (data, out) = (lab.zeros(BYTES), lab.empty(BYTES));
    assert_eq!(
        only(lab.launch("unwritten_shared", 2, &[out.into()]), Initcheck, "unwritten_shared"),
        "Uninitialized __shared__ memory read of size 4 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
         Address 0xfc\n    and 63 more of the same at this place"
    );
    let findings = lab.launch("no_halo", 2, &[data.into(), out.into()]);
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 2, "{texts:?}");
    for (finding, (thread, address)) in findings.iter().zip([(0, 0), (63, 65 * 4)]) {
        assert_at(finding.place.as_ref().unwrap(), "FAULT", "no_halo");
        assert_eq!(finding.count, 2);
        assert_eq!(finding.thread.unwrap().thread, [thread, 0, 0]);
        let FindingKind::UninitialisedRead { memory: Memory::Shared, bytes: 4, address: at, .. } =
            finding.kind
        else {
            panic!("{finding}");
        };
        assert_eq!(at, address);
    }
    let lab = all();
    let (data, out) = (lab.zeros(BYTES), lab.empty(BYTES));
    assert_clean(&lab.launch("unwritten_shared_fixed", 2, &[out.into()]), "unwritten_shared_fixed");
    assert_clean(
        &lab.launch("no_halo_fixed", 2, &[data.into(), 128_u64.into(), out.into()]),
        "no_halo_fixed",
    );
}

#[test]
fn initcheck_finds_registers_that_steer_branches() {
    let lab = lab(Initcheck);
    let (flags, out) = (lab.empty(BYTES), lab.zeros(8));
    let findings = lab.launch("unwritten_branch", 2, &[flags.into(), out.into()]);
    let kinds: Vec<_> =
        findings.iter().map(|finding| finding.to_string().lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        kinds,
        ["Uninitialized __global__ memory read of size 4 bytes", "Uninitialized register steers a branch"]
    );
    assert_at(findings[1].place.as_ref().unwrap(), "FAULT", "unwritten_branch");
    assert_eq!(findings[1].count, 128);

    assert_eq!(
        only(lab.launch("undefined_register", 2, &[out.into()]), Initcheck, "undefined_register"),
        "Uninitialized register steers a branch\n    by thread (0,0,0) in block (0,0,0)\n    \
         and 127 more of the same at this place"
    );
    let lab = all();
    let (flags, out) = (lab.zeros(BYTES), lab.zeros(8));
    assert_clean(&lab.launch("unwritten_branch", 2, &[flags.into(), out.into()]), "unwritten_branch");
    assert_clean(&lab.launch("undefined_register_fixed", 2, &[out.into()]), "undefined_register_fixed");
}

/// Faults end a launch; what was found by then stays found.
#[test]
fn findings_survive_a_launch_that_fails() {
    let lab = all();
    let (data, out) = (lab.empty(BYTES), lab.zeros(BYTES));
    let findings = lab.launch("panics", 2, &[data.into(), 128_u64.into(), out.into()]);
    let checks: Vec<Check> = findings.iter().map(|finding| finding.check).collect();
    assert_eq!(checks, [Initcheck, Memcheck]);
}
