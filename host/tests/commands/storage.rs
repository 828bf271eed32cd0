//! `storage` on simulated cards: each variable where its class says, written and read by the host by its name.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, misuse, outcome};
use serde_json::Value;

fn run(arguments: &[&str]) -> Vec<Value> {
    let Outcome { status, out, err } = outcome(&mut coalesce(arguments));
    assert_eq!(status, Some(0), "{arguments:?}: {err}");
    out.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

#[test]
fn every_class_is_verified_and_says_what_reaches_it() {
    let records = run(&["run", "storage", "--device", "sim:h200", "--format", "json"]);
    let of = |record: &Value, name: &str| record["parameters"][name].as_str().unwrap_or("").to_string();
    let rows: Vec<_> = records
        .iter()
        .map(|record| {
            assert_eq!(record["verified"], true, "{record}");
            ["class", "variable", "space", "loads", "stores", "host_access"]
                .map(|name| of(record, name))
                .join("|")
        })
        .collect();
    assert_eq!(
        rows,
        [
            "device global|STORAGE_GLOBAL|global|ld.global.b32|st.global.b32|copies it",
            "static shared||shared|ld.shared.b32|st.shared.b32|cannot",
            "dynamic shared||shared|ld.shared.b32|st.shared.b32|cannot",
            "constant|STORAGE_CONSTANT|const|ld.const.b32||copies it",
            "local||local|ld.local.b32|st.local.b32|cannot",
            "managed|STORAGE_MANAGED|global|ld.global.b32|st.global.b32|touches it",
        ]
    );
    assert!(
        records[3]["explanation"].as_str().is_some_and(|text| {
            text.starts_with("constant: STORAGE_CONSTANT is in .const, reached by ld.const.b32; ")
                && text.contains("constant requests are issued 4 times each, once per address")
        }),
        "{}",
        records[3]["explanation"]
    );
    // What reaches a variable is what the counters of its kernel have: eight warps, one block.
    let requests = |row: usize, kind: &str| records[row]["counters"]["total"][kind]["requests"].as_u64();
    assert_eq!((requests(0, "loads"), requests(0, "stores")), (Some(8), Some(8)));
    assert_eq!((requests(1, "shared_loads"), requests(1, "shared_stores")), (Some(8), Some(8)));
    assert_eq!((requests(2, "shared_loads"), requests(2, "shared_stores")), (Some(8), Some(8)));
    assert_eq!(requests(3, "constant"), Some(8));
}

#[test]
fn the_table_names_the_instructions() {
    let Outcome { status, out, err } =
        outcome(coalesce(&["run", "storage", "--device", "sim:c1060"]).env("COLUMNS", "100"));
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("As the PTX for compute_75 has it:"), "{out}");
    let line = out.lines().find(|line| line.contains("STORAGE_CONSTANT")).expect("a line of the constant");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["constant", "STORAGE_CONSTANT", ".const", "16", "ld.const.b32", "copies", "it"]);
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn the_checks_find_nothing() {
    let Outcome { status, out, err } = outcome(&mut coalesce(&["check", "storage"]));
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(out.contains("no findings of 6 kernels in 6 launches"), "{out}");
}

#[test]
fn what_it_does_not_take_is_refused() {
    let error = misuse(&mut coalesce(&["run", "storage", "--device", "sim:h200", "--bytes", "1MiB"]));
    assert!(error.contains("--bytes has nothing to act on: storage does not take it"), "{error}");
}
