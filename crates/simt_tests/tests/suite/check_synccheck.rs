//! synccheck: each planted barrier that not all reach is found at its line, and the kernel without it is clean.

use crate::check_lab::{BYTES, Lab, Value, all, assert_clean, lab, mark_at, only, short};
use simt::check::Check::Synccheck;
use simt::check::Finding;

#[derive(Clone, Copy)]
enum Parameter {
    In,
    Out,
    Number(u64),
}
use Parameter::{In, Number, Out};

/// Launches two blocks with these parameters.
fn launch_in(lab: &Lab, kernel: &str, parameters: &[Parameter]) -> Vec<Finding> {
    let value = |parameter: &Parameter| match parameter {
        In => lab.zeros(BYTES).into(),
        Out => lab.empty(BYTES).into(),
        Number(number) => (*number).into(),
    };
    lab.launch(kernel, 2, &parameters.iter().map(value).collect::<Vec<Value>>())
}

#[test]
fn synccheck_finds_barriers_that_not_all_lanes_reach() {
    // Either half of the warp is at a barrier of its own while the other is elsewhere; whichever comes first is found.
    let findings = launch_in(&lab(Synccheck), "divergent_warp", &[In, Out]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let mark = mark_at(findings[0].place.as_ref().unwrap(), "divergent_warp");
    let (thread, elsewhere) = if mark == "FAULT" { (0, "0xffff0000") } else { (16, "0x0000ffff") };
    let text = short(&findings[0]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Barrier error detected. Divergent thread(s) in warp.");
    assert_eq!(
        lines[2..],
        [
            format!("    by thread ({thread},0,0) in block (0,0,0)"),
            format!("    while lanes {elsewhere} of its warp are elsewhere"),
            "    and 63 more of the same at this place".to_owned(),
        ]
    );
    // Two blocks of two warps, and half of the lanes in each.
    assert_eq!(
        only(launch_in(&lab(Synccheck), "not_in_mask", &[Out]), Synccheck, "not_in_mask"),
        "Barrier error detected. Invalid arguments.\n    by thread (16,0,0) in block (0,0,0)\n    \
         The mask 0x0000ffff leaves out its callers 0xffff0000\n    and 63 more of the same at this place"
    );
    // Those that do not come wait for the block meanwhile, without the rest of their warp: nobody can go on.
    let findings = launch_in(&lab(Synccheck), "never_arrive", &[Out]);
    let headlines: Vec<String> =
        findings.iter().map(|f| f.to_string().lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        headlines,
        [
            "Barrier error detected. Missing thread(s) in warp.",
            "Barrier error detected. Divergent thread(s) in warp.",
            "Barrier error detected. Deadlock."
        ]
    );
    assert_eq!(
        only(findings[..1].to_vec(), Synccheck, "never_arrive"),
        "Barrier error detected. Missing thread(s) in warp.\n    by thread (0,0,0) in block (0,0,0)\n    \
         The mask 0xffffffff names lanes 0xffff0000, which never arrive\n    \
         and 31 more of the same at this place"
    );
    assert_eq!(mark_at(findings[1].place.as_ref().unwrap(), "never_arrive"), "AND");
}

#[test]
fn synccheck_finds_barriers_that_not_all_warps_reach() {
    let findings = launch_in(&lab(Synccheck), "two_barriers", &[Out]);
    let found: Vec<(String, &str)> = findings
        .iter()
        .map(|finding| {
            assert_eq!(finding.check, Synccheck);
            let headline = finding.to_string().lines().next().unwrap().to_owned();
            (headline, mark_at(finding.place.as_ref().unwrap(), "two_barriers"))
        })
        .collect();
    let divergent = "Barrier error detected. Divergent thread(s) in block.".to_owned();
    let deadlock = "Barrier error detected. Deadlock.".to_owned();
    assert_eq!(found, [(divergent.clone(), "FAULT"), (divergent, "AND"), (deadlock, "FAULT")]);
    assert_eq!(findings[0].thread.unwrap().thread, [0, 0, 0]);
    assert_eq!(findings[1].thread.unwrap().thread, [32, 0, 0]);

    let text = only(launch_in(&lab(Synccheck), "wrong_count", &[Out]), Synccheck, "wrong_count");
    assert!(
        text.starts_with("Barrier error detected. Deadlock.\n    by thread (0,0,0) in block (0,0,0)\n    "),
        "{text}"
    );
    assert!(text.contains("barrier 1") && text.contains("96 threads") && text.contains("64 came"), "{text}");
}

#[test]
fn kernels_whose_barriers_are_repaired_are_clean() {
    for (kernel, parameters) in [
        ("divergent_warp_fixed", &[In, Out][..]),
        // Barriers wait for those that have not left.
        ("early_return", &[Number(40), Out]),
        ("not_in_mask_fixed", &[Out]),
        ("never_arrive_fixed", &[Out]),
        ("wrong_count_fixed", &[Out]),
        ("two_barriers_fixed", &[Out]),
    ] {
        assert_clean(&launch_in(&all(), kernel, parameters), kernel);
    }
}

/// synccheck alone does not need the blocks one after another; what it finds is the same.
#[test]
fn findings_do_not_depend_on_the_number_of_workers() {
    let one = launch_in(&lab(Synccheck), "not_in_mask", &[Out]);
    for workers in [2, 7] {
        let lab = lab(Synccheck).workers(workers);
        let out = lab.empty(64 * BYTES);
        let many = lab.launch("not_in_mask", 64, &[out.into()]);
        assert_eq!((many.len(), one.len()), (1, 1));
        assert_eq!(many[0].count, 64 * 32);
        assert_eq!((many[0].place.as_ref(), many[0].thread), (one[0].place.as_ref(), one[0].thread));
    }
}
