//! `name_of_lesson` on a simulated H200: every element right, every sector used, and nothing for the checks to find.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, outcome};
use crate::support::records::records;

#[test]
fn every_element_is_right_and_every_sector_used() {
    let records = records(&["name_of_lesson", "--bytes", "64KiB"]);
    let [record] = records.as_slice() else { panic!("one kernel, one row: {records:?}") };
    assert_eq!(record["kernel"], "name_of_lesson_f32");
    // 64 KiB are 512 warps of 32 elements, and a warp of these is 128 bytes: four sectors.
    for direction in ["loads", "stores"] {
        let counts = &record["counters"]["total"][direction];
        assert_eq!(counts["requests"], 512, "{direction}: {counts}");
        assert_eq!(counts["sectors"], 4 * 512, "{direction}: {counts}");
    }
}

#[test]
fn the_checks_find_nothing() {
    let arguments = ["check", "name_of_lesson", "--device", "sim:h200", "--bytes", "64KiB"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(out.contains("no findings of 1 kernel"), "{out}");
}
