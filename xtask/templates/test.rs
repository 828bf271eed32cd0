//! `name_of_lesson` on a simulated H200: every element right, every sector used, and nothing for the checks to find.

use serde_json::Value;
use std::process::Command;

/// Runs the program, which has to succeed, and returns its output.
fn coalesce(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coalesce"));
    command.args(arguments).args(["--device", "sim:h200", "--bytes", "64KiB"]);
    for variable in ["COALESCE_DRIVER", "COALESCE_SIMULATE", "COALESCE_CHECK"] {
        command.env_remove(variable);
    }
    let output = command.output().expect("the program starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    out.into_owned()
}

#[test]
fn every_element_is_right_and_every_sector_used() {
    let text = coalesce(&["run", "name_of_lesson", "--format", "json"]);
    assert_eq!(text.lines().count(), 1, "one kernel, one row: {text}");
    let record: Value = serde_json::from_str(&text).expect("a record is an object");
    assert_eq!(record["kernel"], "name_of_lesson_f32");
    assert_eq!(record["verified"], true, "{record}");
    // 64 KiB are 512 warps of 32 elements, and a warp of these is 128 bytes: four sectors.
    for direction in ["loads", "stores"] {
        let counts = &record["counters"]["total"][direction];
        assert_eq!(counts["requests"], 512, "{direction}: {counts}");
        assert_eq!(counts["sectors"], 4 * 512, "{direction}: {counts}");
    }
}

#[test]
fn the_checks_find_nothing() {
    let text = coalesce(&["check", "name_of_lesson"]);
    assert!(text.contains("no findings of 1 kernel"), "{text}");
}
