//! `idioms` on a simulated H200: every way gives the same result, the checks cost the instructions that the kernels' comments say,
//! and the tax is shown.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, misuse, outcome};
use serde_json::Value;
use std::process::Command;

/// Small sizes, none of them a multiple of a block.
const SMALL: [&str; 6] = ["--bytes", "100KiB", "--nx", "100", "--size", "33x45x29"];

/// The program's command line, on a simulated H200.
fn on_h200(arguments: &[&str]) -> Command {
    let mut command = coalesce(arguments);
    command.args(["--device", "sim:h200"]);
    command
}

fn run(arguments: &[&str]) -> Vec<Value> {
    let Outcome { status, out, err } = outcome(&mut on_h200(arguments));
    assert_eq!(status, Some(0), "{arguments:?}: {err}");
    out.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

#[test]
fn every_way_gives_the_same_and_checks_cost_instructions() {
    let records = run(&[&["run", "idioms", "--format", "json"], &SMALL[..]].concat());
    assert_eq!(records.len(), 15);
    let instructions = |kernel: &str| {
        let record = records.iter().find(|record| record["kernel"] == kernel).expect("a row of the kernel");
        assert_eq!(record["verified"], true, "{record}");
        record["counters"]["total"]["instructions"].as_u64().expect("a count")
    };
    for task in ["copy", "transpose", "matmul"] {
        let of = |way: &str| instructions(&format!("{way}_{task}"));
        // Iterators over a row and a column are two pointers that go on, for which there is less to compute than for indices.
        let ways = ["checked", "asserted", "iterated"];
        for way in &ways[..if task == "matmul" { 2 } else { 3 }] {
            assert!(of("unchecked") < of(way), "{way}_{task}: {} against {}", of("unchecked"), of(way));
        }
    }
    // The memory that they touch is the same.
    for row in &records[..5] {
        assert_eq!(row["counters"]["total"]["loads"]["sectors"], 100 * 1024 / 32, "{row}");
        assert_eq!(row["counters"]["total"]["stores"]["sectors"], 100 * 1024 / 32, "{row}");
    }
    let parameters = &records[11]["parameters"];
    assert_eq!((&parameters["m"], &parameters["n"], &parameters["k"]), (&33.into(), &45.into(), &29.into()));
    assert_eq!((&parameters["task"], &parameters["way"]), (&"matmul".into(), &"checked".into()));
}

#[test]
fn the_tax_stands_under_the_table() {
    let Outcome { status, out, err } = outcome(&mut on_h200(&[&["run", "idioms"], &SMALL[..]].concat()));
    assert_eq!(status, Some(0), "{err}");
    for row in
        ["copy 25600: time", "copy 25600: instr.", "transpose 100x100: time", "matmul 33x45x29: instr."]
    {
        let line =
            out.lines().find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("no {row} in {out}"));
        // Small sizes lie within the model's doubt, which the mark says.
        let figures: Vec<f64> = line[row.len()..]
            .split_whitespace()
            .filter_map(|word| word.trim_end_matches('~').parse().ok())
            .collect();
        assert_eq!(figures.len(), 5, "{line}");
        if row.ends_with("time") {
            assert_eq!(figures[4], 1.0, "{line}");
        }
    }
    let marked = out.lines().any(|line| line.starts_with("copy 25600: time") && line.contains('~'));
    let told = out.replace('\n', " ").contains("~: within the model's doubt of both times.");
    assert_eq!(marked, told, "{out}");
}

#[test]
fn the_checks_find_nothing() {
    let Outcome { status, out, err } = outcome(&mut on_h200(&["check", "idioms"]));
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(out.contains("no findings of 15 kernels in 15 launches"), "{out}");
}

#[test]
fn what_cannot_be_multiplied_says_why() {
    let error = misuse(&mut on_h200(&["run", "idioms", "--kernel", "checked_matmul", "--size", "8x8x90000"]));
    assert!(error.contains("8x8x90000 sums 90000 terms") && error.contains("at most 85598"), "{error}");
    let error =
        misuse(&mut on_h200(&["run", "idioms", "--kernel", "checked_transpose", "--nx", "2147483648"]));
    assert!(error.contains("2147483648 by 2147483648"), "{error}");
}
