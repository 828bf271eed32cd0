//! `coalesce diff` and `coalesce run --baseline`: two runs on simulated cards, from the command line to the exit status.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, failure, outcome};
use serde_json::Value;
use std::{fs, path::Path};

/// Runs on a simulated card at a small size.
fn run(card: &str, arguments: &[&str]) -> Outcome {
    let device = format!("sim:{card}");
    outcome(&mut coalesce(&[&["run", "--device", &device, "--bytes", "64KiB"], arguments].concat()))
}

/// The records of a run in a folder, each changed.
fn keep(folder: &Path, arguments: &[&str], change: impl Fn(usize, &mut Value)) -> String {
    let path = folder.to_str().expect("a path in UTF-8").to_string();
    let run = run("h200", &[arguments, &["--out", &path]].concat());
    assert_eq!(run.status, Some(0), "{}", run.err);
    let file = folder.join("records.jsonl");
    let text = fs::read_to_string(&file).expect("records");
    let changed = text.lines().enumerate().map(|(number, line)| {
        let mut record: Value = serde_json::from_str(line).expect("a record");
        change(number, &mut record);
        format!("{record}\n")
    });
    fs::write(file, changed.collect::<String>()).expect("the folder can be written to");
    path
}

#[test]
fn two_runs_are_compared_row_by_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let few = ["offset", "--precision", "f32", "--range", "0..=3"];
    let before = keep(&folder.path().join("before"), &few, |_, _| {});
    let after = keep(&folder.path().join("after"), &few, |number, record| {
        let factor = [1.0, 1.5, 0.5, 1.0][number];
        let times = &mut record["time_ms"];
        // A modelled time's interval goes with it.
        for place in ["/median", "/interval/0", "/interval/1"] {
            let time = times.pointer_mut(place).expect("a modelled time has an interval");
            *time = (factor * time.as_f64().expect("a time")).into();
        }
    });

    let page = folder.path().join("diff.html");
    let name = page.to_str().expect("a path in UTF-8");
    let Outcome { status, out, err } = outcome(&mut coalesce(&["diff", &before, &after, "--out", name]));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let page = fs::read_to_string(&page).expect("the page was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<section id=\"diff\""), "{page}");
    assert!(page.contains("data-kernel=\"offset_f32\" data-ratio=\"1.5\""), "{page}");
    let lines: Vec<&str> =
        out.lines().filter(|line| !line.starts_with(['A', 'B', ' ']) || line.contains("offset")).collect();
    let words = |line: &str| {
        line.split_whitespace().filter(|word| !word.starts_with("0.0")).collect::<Vec<_>>().join(" ")
    };
    let rows: Vec<String> =
        lines.into_iter().map(words).filter(|line| !line.is_empty() && !line.contains("after")).collect();
    assert_eq!(
        rows,
        [
            "slower in B",
            "offset_f32 1 1.500",
            "faster in B",
            "offset_f32 2 0.500",
            "4 rows in both runs: 1 slower, 1 faster, 2 the same within 2%.",
        ],
        "{out}"
    );

    let Outcome { status, err, .. } =
        outcome(&mut coalesce(&["diff", &before, &after, "--threshold", "49%"]));
    assert_eq!(
        (status, err.as_str()),
        (Some(1), "error: 1 row is slower by more than 49%, or INVALID; the worst is offset_f32 1\n")
    );
    assert_eq!(outcome(&mut coalesce(&["diff", &before, &after, "--threshold", "51"])).status, Some(0));

    // Half as long again, but with an interval that holds the time before.
    let doubtful = keep(&folder.path().join("doubtful"), &few, |number, record| {
        let times = &mut record["time_ms"];
        let time = times["median"].as_f64().expect("a time");
        if number == 1 {
            times["median"] = (1.5 * time).into();
            times["interval"] = vec![0.5 * time, 2.0 * time].into();
        }
    });
    let Outcome { status, out, err } =
        outcome(&mut coalesce(&["diff", &before, &doubtful, "--threshold", "2%"]));
    assert_eq!(
        (status, err.as_str()),
        (
            Some(1),
            "error: 1 row is slower by more than 2% (1 within the model's doubt), or INVALID; the worst is offset_f32 1\n"
        )
    );
    assert!(
        out.ends_with("4 rows in both runs: 1 within the model's doubt, 3 the same within 2%.\n"),
        "{out}"
    );

    let json = outcome(&mut coalesce(&["diff", &before, &after, "--format", "json"])).out;
    let json: Value = serde_json::from_str(&json).expect("an object");
    assert_eq!((&json["rows"][0]["change"], &json["rows"][0]["ratio"]), (&"slower".into(), &1.5.into()));
    assert_eq!(json["a"]["device"]["card"], "h200");

    // The records of this run are those of before; what it was not asked for is not gone.
    let Outcome { status, out, err } = run(
        "h200",
        &["offset", "--precision", "f32", "--range", "1,2", "--baseline", &after, "--threshold", "2%"],
    );
    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.ends_with("error: 1 row is slower by more than 2%, or INVALID; the worst is offset_f32 2\n"),
        "{err}"
    );
    assert!(out.ends_with("2 rows in both runs: 1 slower, 1 faster.\n"), "{out}");
    let csv = run(
        "h200",
        &["offset", "--range", "0..=3", "--precision", "f32", "--format", "csv", "--baseline", &before],
    );
    assert!(
        csv.out.starts_with("schema,") && csv.err.contains("rows in both runs: 4 the same within 2%"),
        "{}",
        csv.err
    );
}

#[test]
fn runs_that_cannot_be_compared_say_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = keep(&folder.path().join("before"), &["copy"], |_, _| {});
    let other = keep(&folder.path().join("other"), &["offset", "--range", "1"], |_, _| {});
    let error = failure(&mut coalesce(&["diff", &before, &other]));
    assert!(error.contains("/before (64 KiB) and ") && error.contains("no row in common"), "{error}");
    let error = failure(&mut coalesce(&["diff", &before, "nowhere"]));
    assert_eq!(
        error,
        "error: there are no records in nowhere: name a folder that `coalesce run --out` wrote, or a file of records\n"
    );
    let error = failure(&mut coalesce(&["run", "copy", "--device", "sim:h200", "--baseline", "nowhere"]));
    assert!(error.starts_with("error: there is no baseline: there are no records in nowhere"), "{error}");
    fs::write(folder.path().join("table"), "{}\n").expect("the folder can be written to");
    let error =
        failure(&mut coalesce(&["diff", &before, folder.path().join("table").to_str().expect("UTF-8")]));
    assert!(
        error.contains("table holds something else than records: line 1 is no record: missing field"),
        "{error}"
    );
    fs::write(folder.path().join("table"), "").expect("the folder can be written to");
    let error =
        failure(&mut coalesce(&["diff", &before, folder.path().join("table").to_str().expect("UTF-8")]));
    assert!(error.contains("table is empty: its run ended before the first record"), "{error}");
    assert_eq!(outcome(&mut coalesce(&["run", "--threshold", "2%"])).status, Some(2));
}
