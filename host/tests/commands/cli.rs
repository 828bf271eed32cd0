//! Real command lines, from arguments to what is printed, on a driver that is made for the tests (see
//! `fake_driver/libcuda.rs`): its device has 1 MiB of L2, a peak of 20 GB/s and 144 MiB of memory, and takes 10 us for
//! each launch beside the time for its bytes, so that all figures are known beforehand.

mod library;

use crate::support::edited::compiling;
use crate::support::fake::coalesce;
use crate::support::outcome::{Outcome, failure, misuse, outcome};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The experiments whose kernels the fake driver knows.
const KNOWN: [&str; 3] = ["offset", "stride", "copy"];

/// Options for a run that takes a fraction of a second.
const SMALL: [&str; 4] = ["--bytes", "16KiB", "--samples", "3"];

fn run(arguments: &[&str]) -> Vec<Value> {
    let Outcome { status, out, err } =
        outcome(&mut coalesce(&[&["run"], arguments, &SMALL, &["--format", "json"]].concat()));
    assert_eq!(status, Some(0), "{err}");
    records(&out)
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((value - expected).abs() < 1e-4 * expected, "{value} instead of {expected}");
}

#[test]
fn a_record_says_everything_about_its_row() {
    let records = run(&["offset", "--precision", "f32", "--range", "0..=1"]);
    assert_eq!(records.len(), 2);
    let record = &records[1];
    assert_eq!(record["schema"], "coalesce.record/1");
    assert_eq!((&record["experiment"], &record["kernel"]), (&"offset".into(), &"offset_f32".into()));
    assert_eq!((&record["language"], &record["backend"]), (&"rust".into(), &"measured".into()));
    assert_eq!(record["device"]["name"], "Fake GPU 0");
    assert_eq!(record["device"]["compute_capability"], "9.0");
    assert_eq!(record["device"]["driver"], "13.0");
    assert_eq!(record["ptx"], "compute_90");
    assert_eq!(record["parameters"]["precision"], "f32");
    assert_eq!(record["parameters"]["offset"], 1);
    assert_eq!(record["parameters"]["elements"], 4096);
    assert_eq!(record["parameters"]["grid"], 16);
    assert_eq!(record["bytes"]["read"], 16384);
    assert_eq!(record["bytes"]["written"], 16384);
    assert_eq!(record["bytes"]["footprint"], 16384 + 32);
    assert_eq!(record["verified"], true);
    assert_eq!(record["residence"], "L2");
    assert_eq!(record["time_ms"]["samples"], 3);
    assert_eq!(record["timing"]["method"], "graph");
    assert!(record["counters"].is_null() && record["ratio_to_reference"].is_null());

    // 32768 bytes at 20 bytes a nanosecond, and 10 us.
    let microseconds = 32_768.0 / 20_000.0 + 10.0;
    let rate = 32_768.0 / 1e3 / microseconds;
    close(&record["time_ms"]["median"], microseconds / 1e3);
    close(&record["gb_per_s"], rate);
    close(&record["percent_of_peak"], 100.0 * rate / 20.0);
    close(&record["peak"]["gb_per_s"], 20.0);
    let copied = record["copy"]["bytes"].as_f64().expect("the ceiling has a size");
    let ceiling = 2.0 * copied / 1e3 / (2.0 * copied / 20_000.0 + 10.0);
    close(&record["copy"]["gb_per_s"], ceiling);
    close(&record["percent_of_copy"], 100.0 * rate / ceiling);
}

#[test]
fn every_field_is_documented() {
    let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/records.md");
    let documentation = fs::read_to_string(documentation).expect("the documentation of records");
    for record in run(&["offset", "stride", "copy", "--range", "1"]) {
        let fields = record.as_object().expect("an object");
        let inner = fields.values().filter_map(Value::as_object).flat_map(|object| object.keys());
        for field in fields.keys().chain(inner) {
            assert!(documentation.contains(&format!("`{field}`")), "{field} is not documented");
        }
    }
}

#[test]
fn every_point_of_every_experiment_is_measured_and_verified() {
    let records = run(&KNOWN);
    assert_eq!(records.len(), 16 + 14 + 6);
    for record in &records {
        assert_eq!(record["verified"], true, "{record}");
        assert!(record["gb_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{record}");
    }
    let last = &records[records.len() - 1];
    assert_eq!((&last["experiment"], &last["kernel"]), (&"copy".into(), &"copy_persistent".into()));
}

#[test]
fn footprint_decides_where_the_data_lived() {
    let residence = |size: &str| {
        let arguments =
            ["run", "copy", "--kernel", "copy_vector", "--format", "json", "--samples", "1", "--bytes", size];
        let records = records(&outcome(&mut coalesce(&arguments)).out);
        records[0]["residence"].as_str().expect("a record").to_string()
    };
    assert_eq!([residence("256KiB"), residence("1MiB"), residence("2MiB")], ["L2", "mixed", "DRAM"]);
}

#[test]
fn a_row_above_the_copy_ceiling_says_why() {
    // The ceiling is measured on a quarter of what is free, 4 MiB; in 6 MiB the 10 us of a launch weigh less.
    let arguments =
        ["run", "copy", "--kernel", "copy_vector", "--bytes", "6MiB", "--samples", "1", "--format", "json"];
    let record = &records(&outcome(&mut coalesce(&arguments)).out)[0];
    assert!(record["percent_of_copy"].as_f64().is_some_and(|percent| percent > 100.0), "{record}");
    assert_eq!(record["residence"], "DRAM");
    assert_eq!(record["note"], "faster than the driver's own copy, which is what 100% stands for");
}

#[test]
fn launches_are_handed_over_as_their_experiment_says() {
    let arguments = ["run", "launch", "--kernel", "launch_empty", "--samples", "3", "--format", "json"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0), "{err}");
    let records = records(&out);
    let handed: Vec<_> = records
        .iter()
        .map(|record| (record["parameters"]["handed"].as_str(), record["timing"]["method"].as_str()))
        .collect();
    let (calls, graph) = ((Some("calls"), Some("launches")), (Some("graph"), Some("graph")));
    assert_eq!(handed, [calls, graph, graph, graph, graph]);
    for record in &records {
        close(&record["ns_per_operation"], 10_000.0);
        let host_us = record["observed"]["host_us_per_launch"].as_f64();
        assert!(host_us.is_some_and(|us| us > 0.0), "{record}");
    }
}

#[test]
fn long_launches_need_no_graph() {
    let arguments =
        ["run", "stride", "--precision", "f64", "--range", "1", "--bytes", "1MiB", "--format", "json"];
    let records = records(&outcome(&mut coalesce(&arguments)).out);
    assert_eq!(records[0]["timing"]["method"], "launches");
    // 2 MiB at 20 bytes a nanosecond and 10 us are 114.9 us, of which 18 are 2 ms.
    assert_eq!(records[0]["timing"]["launches_per_sample"], 18);
}

#[test]
fn once_launches_each_point_once_and_times_nothing() {
    let arguments = ["run", "offset", "copy", "--range", "1", "--bytes", "16KiB", "--once"];
    let Outcome { status, out, err } =
        outcome(&mut coalesce(&[&arguments[..], &["--format", "json"]].concat()));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let records = records(&out);
    assert_eq!(records.len(), 2 + 6);
    for record in &records {
        assert_eq!((&record["verified"], &record["timing"]["method"]), (&true.into(), &"once".into()));
        assert_eq!(record["timing"]["launches_per_sample"], 1);
        for field in ["time_ms", "gb_per_s", "percent_of_peak", "percent_of_copy", "copy"] {
            assert!(record[field].is_null(), "{field}: {record}");
        }
    }
    let Outcome { status, out, .. } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0));
    assert!(out.contains(", launched once, not timed\n") && !out.contains("INVALID"), "{out}");
    // A wrong result is wrong all the same.
    let Outcome { status, out, .. } = outcome(coalesce(&arguments).env("FAKE_WRONG", "offset_f64"));
    assert_eq!(status, Some(1));
    assert!(out.contains("INVALID: offset_f64 (rust, offset 1): "), "{out}");
    let Outcome { status, err, .. } = outcome(&mut coalesce(&["run", "--once", "--samples", "3"]));
    assert_eq!(status, Some(2));
    assert!(err.contains("--once") && err.contains("--samples"), "{err}");
}

#[test]
fn rows_of_a_gpu_are_explained_by_their_kernels_simulated() {
    let arguments = ["run", "offset", "--precision", "f32", "--range", "1", "--bytes", "16KiB"];
    // Launched once for another tool, they are not simulated besides.
    let once = outcome(&mut coalesce(&[&arguments[..], &["--once", "--format", "json"]].concat()));
    assert_eq!(
        records(&once.out)[0]["explanation"],
        "reads 16 KiB and writes as much; the footprint of 16.0 KiB stays in L2 from one launch to the next"
    );

    let Outcome { status, out, err } =
        outcome(&mut coalesce(&[&arguments[..], &["--format", "json"]].concat()));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!(
        records(&out)[0]["explanation"],
        "loads and stores touch 5 sectors per request, 80% of each used (counters simulated, h200); the footprint of \
         16.0 KiB stays in L2 from one launch to the next"
    );
    let Outcome { out, .. } = outcome(&mut coalesce(&[&arguments[..], &["--explain"]].concat()));
    assert!(out.contains("\noffset_f32 1: loads and stores touch 5 sectors per request, "), "{out}");
}

#[test]
fn options_that_nothing_takes_name_what_does() {
    let error = misuse(&mut coalesce(&["run", "offset", "copy", "--nx", "64"]));
    assert_eq!(
        error,
        "error: --nx has nothing to act on: offset, copy do not take it. transpose, idioms take it\n"
    );
    let error = misuse(&mut coalesce(&["run", "copy", "--precision", "f64"]));
    assert!(
        error.contains("--precision has nothing to act on: copy does not take it. offset, stride take it")
    );
    let error = misuse(&mut coalesce(&["run", "offset", "--block", "16x16"]));
    assert!(error.contains("--block 16x16 has two dimensions, and the blocks of offset have one"), "{error}");
}

#[test]
fn blocks_may_be_several() {
    let Outcome { status, out, err } = outcome(&mut coalesce(
        &[&["run", "offset", "copy", "--range", "1", "--block", "64,128", "--format", "json"][..], &SMALL]
            .concat(),
    ));
    assert_eq!(status, Some(0), "{err}");
    let records = records(&out);
    let blocks: Vec<_> = records.iter().map(|record| record["parameters"]["block"].as_u64()).collect();
    // The driver's own copy has no block, and is measured once.
    let of = |block| [Some(block); 5];
    let expected = [&[Some(64), Some(64), Some(128), Some(128), None][..], &of(64), &of(128)].concat();
    assert_eq!(blocks, expected);
}

#[test]
fn a_driver_without_graphs_is_said_in_the_record() {
    let mut command =
        coalesce(&[&["run", "offset", "--range", "0", "--format", "json"][..], &SMALL].concat());
    let records = records(&outcome(command.env("FAKE_NO_GRAPHS", "1")).out);
    assert_eq!(records[0]["timing"]["method"], "launches-without-graph");
    assert!(records[0]["note"].as_str().is_some_and(|note| note.contains("launch overhead")));
    assert_eq!(records[0]["verified"], true);
}

#[test]
fn a_wrong_result_is_invalid_and_has_no_figure() {
    for (kernel, fault) in [
        ("offset_f32", "1 element is wrong, the first at index 2049"),
        ("stride_f64", "1 element is wrong, the first at index 1024"),
        ("copy_vector", "4 elements are wrong, the first at index 4092: NaN instead of"),
    ] {
        let arguments =
            [&["run", "--kernel", kernel, "--range", "1", "--format", "json"][..], &SMALL].concat();
        let mut command = coalesce(&arguments[..]);
        if kernel == "copy_vector" {
            command = coalesce(&[&["run", "--kernel", kernel, "--format", "json"][..], &SMALL].concat());
        }
        let Outcome { status, out, err } = outcome(command.env("FAKE_WRONG", kernel));
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains("1 of 1 rows are INVALID"), "{err}");
        let record = &records(&out)[0];
        assert_eq!(record["verified"], false);
        for field in ["gb_per_s", "percent_of_peak", "percent_of_copy", "time_ms"] {
            assert!(record[field].is_null(), "{field}: {record}");
        }
        let note = record["note"].as_str().expect("a note");
        assert!(note.contains(fault), "{note}");
    }
}

#[test]
fn a_write_past_the_end_is_invalid() {
    let mut command =
        coalesce(&[&["run", "offset", "--precision", "f32", "--range", "3"][..], &SMALL].concat());
    let Outcome { status, out, .. } = outcome(command.env("FAKE_STRAY", "offset_f32"));
    assert_eq!(status, Some(1));
    assert!(
        out.contains(
            "INVALID: offset_f32 (rust, offset 3): buffer 0: something was written 0 bytes\n  past its end\n"
        ),
        "{out}"
    );
}

#[test]
fn an_experiment_is_a_screen_of_80_columns() {
    let Outcome { status, out, err } = outcome(&mut coalesce(&[&["run"][..], &KNOWN, &SMALL].concat()));
    assert_eq!(status, Some(0), "{err}");
    for line in out.lines().chain(err.lines().filter(|line| !line.starts_with("report "))) {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    assert!(
        out.starts_with(
            "measured on Fake GPU 0 (cuda:0, compute capability 9.0, 4 SMs, L2 1 MiB)\ndriver for "
        ),
        "{out}"
    );
    assert!(out.contains("\npeak 20 GB/s ("), "{out}");
    assert!(out.contains("lives in L2"), "{out}");
    for screen in out.split("\n\n").filter(|text| text.starts_with("GB/s\n")) {
        assert!(
            screen.contains("● f32") && screen.contains("△ f64") && screen.lines().count() <= 15,
            "{screen}"
        );
    }
    assert!(out.contains("\ncopy_persistent ███"), "{out}");
    let sections: Vec<&str> =
        out.split("\noffset: ").nth(1).unwrap_or_default().split("\nstride: ").collect();
    assert!(sections[0].lines().count() <= 40, "more than a screen: {}", sections[0]);
    assert!(!out.contains('\u{1b}'), "no colour in a pipe");

    let mut command = coalesce(&[&["run", "offset", "copy"][..], &SMALL].concat());
    let Outcome { out, .. } = outcome(command.env("LC_ALL", "C"));
    assert!(out.is_ascii() && out.contains("\ncopy_persistent ###"), "{out}");
}

#[test]
fn verbose_tables_have_every_row_of_both_precisions() {
    let arguments = [&["run", "-v"][..], &KNOWN, &SMALL].concat();
    let Outcome { status, out, err } = outcome(coalesce(&arguments).env("COLUMNS", "100"));
    assert_eq!(status, Some(0), "{err}");
    for line in out.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    let row = out.lines().find(|line| line.starts_with("31 ")).expect("a row for offset 31");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells.len(), 11, "{row}");
    assert_eq!((cells[1], cells[6]), ("2.82", "2.82"), "{row}");
}

#[test]
fn csv_is_data_alone() {
    let Outcome { status, out, err } = outcome(&mut coalesce(
        &[&["run", "stride", "--range", "1,2", "--format", "csv"][..], &SMALL].concat(),
    ));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].starts_with("schema,experiment,kernel,language,backend,device,"), "{}", lines[0]);
    assert!(
        lines[2].ends_with(
            ",0,150994944,1048576,4,1024,2147483647,10000,8000,\"2 x memory clock x bus width, from the driver\",\
             cuda:0,,,,,,,,,,,,,,,,,,,,,,,,,\"loads and stores touch 8 sectors per request, 50% of each used (counters \
             simulated, h200); the footprint of 32 KiB stays in L2 from one launch to the next\",,,,burst,,,,,,,,,,,,,,,,,,,,,,,,,"
        ),
        "{}",
        lines[2]
    );
    assert!(lines[2].starts_with(
        "coalesce.record/1,stride,stride_f32,rust,measured,Fake GPU 0,9.0,13.0,compute_90,f32,stride,2,"
    ));
}

#[test]
fn the_output_folder_holds_records_table_and_csv() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("deep/results");
    let arguments = [&["run", "copy", "--out", out.to_str().expect("UTF-8")][..], &SMALL].concat();
    let Outcome { status, out: printed, err } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0));
    let read = |name: &str| fs::read_to_string(out.join(name)).expect(name);
    let kept = out.join("records.jsonl");
    assert!(err.contains(&format!("\nrecords  {}\n", kept.display())), "{err}");
    assert_eq!(records(&read("records.jsonl")).len(), 6);
    assert!(printed.contains("\ncopy_persistent ███"), "{printed}");
    let table = read("table.txt");
    assert!(table.starts_with("measured on Fake GPU 0 ") && table.contains(" ms "), "{table}");
    assert!(
        !table.contains('█') && table.lines().any(|line| line.starts_with("copy_persistent ")),
        "{table}"
    );
    assert_eq!(read("records.csv").lines().count(), 7);

    // An earlier run's records are not overwritten.
    let error = misuse(&mut coalesce(&arguments));
    assert_eq!(
        error,
        format!(
            "error: {} holds the records of an earlier run: --replace removes them and what was written beside them, or name \
             another folder with --out\n",
            out.join("records.jsonl").display()
        )
    );
    assert_eq!(records(&read("records.jsonl")).len(), 6);
}

#[test]
fn replacing_an_earlier_run_removes_its_files_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().to_str().expect("UTF-8");
    let with = |arguments: &[&str]| {
        let all = [&["run", "--out", out, "--replace"][..], arguments, &SMALL].concat();
        outcome(&mut coalesce(&all))
    };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    fs::write(folder.path().join("notes.txt"), "mine").expect("a file of the user's");
    // Where there is nothing to replace, it is a run like any other.
    assert_eq!(with(&["copy"]).status, Some(0));
    assert_eq!(records(&read("records.jsonl")).len(), 6);
    // A run that comes to nothing leaves the earlier one.
    assert_eq!(with(&["copy", "--nx", "64"]).status, Some(2));
    assert_eq!((records(&read("records.jsonl")).len(), read("records.csv").lines().count()), (6, 7));
    assert_eq!(with(&["copy", "--kernel", "copy_scalar"]).status, Some(0));
    assert_eq!((records(&read("records.jsonl")).len(), read("records.csv").lines().count()), (1, 2));
    assert!(!read("table.txt").contains("copy_vector"));
    assert_eq!(read("notes.txt"), "mine");
    let Outcome { status, err, .. } = outcome(&mut coalesce(&["run", "--replace"]));
    assert_eq!(status, Some(2));
    assert!(err.contains("--replace removes what --out or --fleet wrote before"), "{err}");
}

/// Runs a command whose standard output nobody reads; its exit status and what it says on stderr.
fn unread(command: &mut Command) -> (Option<i32>, String) {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    (output.status.code(), String::from_utf8(output.stderr).expect("the program writes UTF-8"))
}

#[test]
fn the_output_folder_is_completed_though_nobody_reads_standard_output() {
    for format in ["json", "csv", "table"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().to_str().expect("UTF-8");
        let arguments = [&["run", "offset", "copy", "--out", out, "--format", format][..], &SMALL].concat();
        let (status, err) = unread(&mut coalesce(&arguments));
        assert_eq!(status, Some(0), "{err}");
        // The table's summary is for people, who get it even so.
        assert_eq!(err.contains("All 22 rows verified"), format == "table", "{format}: {err}");
        assert!(format == "table" || err.is_empty(), "{format}: {err}");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
        assert_eq!(records(&read("records.jsonl")).len(), 16 + 6);
        assert_eq!(read("records.csv").lines().count(), 1 + 16 + 6);
        assert!(read("table.txt").contains("copy_persistent"));
    }
}

#[test]
fn a_run_that_nobody_reads_ends_quietly_and_still_tells_wrong_from_right() {
    for format in ["json", "csv", "table"] {
        let arguments = [&["run", "copy", "--format", format][..], &SMALL].concat();
        assert_eq!(unread(&mut coalesce(&arguments)), (Some(0), String::new()), "{format}");
        let (status, err) = unread(coalesce(&arguments).env("FAKE_WRONG", "copy_vector"));
        // As JSON the run ends with the first record that cannot be printed, which is of another kernel.
        if format != "json" {
            assert_eq!(status, Some(1));
            assert!(err.contains("1 of 6 rows are INVALID"), "{err}");
        }
    }
}

#[test]
fn an_output_folder_that_cannot_be_written_to_is_found_first() {
    let mut command = coalesce(&["run", "--out", "/proc/results"]);
    let error = failure(command.env("FAKE_DEVICES", "0"));
    assert!(error.contains("cannot create the output folder /proc/results"), "{error}");
}

#[test]
fn a_refused_run_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (made, found) = (folder.path().join("results"), folder.path().to_path_buf());
    for out in [&made, &found] {
        failure(&mut coalesce(&["run", "--device", "cuda:9", "--out", out.to_str().expect("UTF-8")]));
        assert!(!out.join("records.jsonl").exists());
    }
    assert!(!made.exists() && found.exists());
}

#[test]
fn an_interrupted_run_keeps_its_records() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("results");
    let arguments = [&["run"][..], &KNOWN, &["--out", out.to_str().expect("UTF-8")], &SMALL].concat();
    let Outcome { status, err, out: printed } = outcome(coalesce(&arguments).env("FAKE_INTERRUPT", "20000"));
    assert_eq!(status, Some(130), "{err}");
    let kept = records(&fs::read_to_string(out.join("records.jsonl")).expect("the records")).len();
    assert!((1..36).contains(&kept), "{kept}");
    assert!(
        err.contains(&format!("interrupted: {kept} records were taken of 36 planned points, and kept")),
        "{err}"
    );
    assert!(printed.contains("offset"), "{printed}");
}

#[test]
fn a_run_that_is_interrupted_at_once_says_that_there_is_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("results");
    let arguments = [&["run"][..], &KNOWN, &["--out", out.to_str().expect("UTF-8")], &SMALL].concat();
    let Outcome { status, err, out: printed } = outcome(coalesce(&arguments).env("FAKE_INTERRUPT", "1"));
    assert_eq!((status, printed.as_str()), (Some(130), ""), "{err}");
    assert_eq!(err, "interrupted before there was a record of the 36 planned points\n");
    assert!(!out.exists());
}

#[test]
fn a_fault_on_the_device_names_the_kernel() {
    let arguments = [&["run", "stride", "--precision", "f32"][..], &SMALL].concat();
    let error = failure(coalesce(&arguments).env("FAKE_FAULT", "stride_f32"));
    assert!(error.contains("stride_f32 stride 1, 16384 bytes, block 256"), "{error}");
    assert!(error.contains("unspecified launch failure"), "{error}");
}

#[test]
fn a_fault_later_on_keeps_what_was_measured() {
    let arguments = [&["run", "offset", "stride", "--range", "1", "--format", "json"][..], &SMALL].concat();
    let Outcome { status, out, err } = outcome(coalesce(&arguments).env("FAKE_FAULT", "stride_f32"));
    assert_eq!(status, Some(1));
    assert_eq!(records(&out).len(), 2);
    assert!(err.starts_with("error: stride_f32 stride 1"), "{err}");
}

#[test]
fn more_memory_than_there_is_is_refused_beforehand() {
    let error = failure(&mut coalesce(&["run", "stride", "--bytes", "16MiB"]));
    assert!(error.contains("needs 516.0 MiB") && error.contains("144 MiB of its 144 MiB free"), "{error}");
    assert!(error.contains("fewer --bytes"), "{error}");
}

#[test]
fn sizes_that_do_not_fit_the_block_name_their_neighbours() {
    let error = misuse(&mut coalesce(&["run", "offset", "--bytes", "1000000", "--precision", "f64"]));
    assert_eq!(
        error,
        "error: `--bytes 1000000` is not a multiple of 2048, which offset needs with blocks of 256 threads; the nearest are \
         999424 (976 KiB) and 1001472 (978 KiB)\n"
    );
    let error = misuse(&mut coalesce(&["run", "copy", "--bytes", "17"]));
    assert_eq!(
        error,
        "error: `--bytes 17` is not a multiple of 16, which copy needs; the nearest are 16 and 32\n"
    );
    // The sizes suit everything that is asked for, and nothing else counts.
    let error = misuse(&mut coalesce(&[&["run"][..], &KNOWN, &["--bytes", "1"]].concat()));
    assert!(error.starts_with("error: `--bytes 1` is not a multiple of 2048, which "), "{error}");
    assert!(error.trim_end().ends_with("the nearest is 2048 (2 KiB)"), "{error}");
    for (arguments, size) in
        [(&[][..], "2048"), (&["--precision", "f32"], "1024"), (&["--kernel", "copy_scalar"], "16")]
    {
        let arguments =
            [&["run"][..], &KNOWN, &["--samples", "1", "--bytes", size, "--format", "csv"], arguments]
                .concat();
        let Outcome { status, err, .. } = outcome(&mut coalesce(&arguments));
        assert_eq!(status, Some(0), "{size}: {err}");
    }
    // A block that is no multiple of a warp is allowed, and noted.
    let arguments = ["run", "offset", "--bytes", "76800", "--block", "100", "--range", "0", "--samples", "1"];
    let Outcome { status, out, .. } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0));
    assert!(out.contains("100 threads per block (not a multiple of 32"), "{out}");
}

#[test]
fn ranges_that_make_no_sense_say_so() {
    let error = misuse(&mut coalesce(&["run", "stride", "--range", "0..=4"]));
    assert_eq!(
        error,
        "error: at a stride of 0 every thread updates the same element: strides begin at 1, as in --range 1..=32\n"
    );
    let error = misuse(&mut coalesce(&["run", "copy", "--range", "0..=4"]));
    assert!(error.contains("--range has nothing to act on"), "{error}");
    // Where no experiment is named, the one that no value suits is left out; a named one is not.
    let kernels = "offset_f32,offset_f64,stride_f32,copy_scalar";
    let arguments = [&["run", "--kernel", kernels, "--range", "0", "--format", "json"][..], &SMALL].concat();
    let Outcome { status, out, err } = outcome(&mut coalesce(&arguments));
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(err, "note: stride is left out: --range 0 has no value from 1 on\n");
    assert_eq!(records(&out).len(), 2 + 1);
    for arguments in
        [&["offset", "stride"][..], &["--kernel", "stride_f32"], &["--kernel", "stride_f32,copy_vector"]]
    {
        let error = misuse(&mut coalesce(&[&["run", "--range", "0"], arguments].concat()));
        assert!(error.contains("stride of 0"), "{error}");
    }
    // Shared with offset, the range 0..=32 stands for strides from 1 on.
    let records = run(&["offset", "stride", "--range", "0..=2", "--precision", "f32"]);
    assert_eq!(records.len(), 3 + 2);
}

#[test]
fn devices_that_are_not_there_are_named() {
    let error = failure(&mut coalesce(&["run", "--device", "cuda:9"]));
    assert!(error.contains("there is no device cuda:9: there is 1, cuda:0"), "{error}");
    let error = failure(coalesce(&["run", "--device", "cuda:2"]).env("FAKE_DEVICES", "2"));
    assert!(error.contains("there are 2, cuda:0 to cuda:1"), "{error}");
    let error = failure(coalesce(&["run", "--device", "cuda"]).env("FAKE_DEVICES", "0"));
    assert!(error.contains("NO_DEVICE") && error.contains("`--device sim:h200` runs everything"), "{error}");
}

#[test]
fn a_driver_that_is_named_and_not_there_is_an_error() {
    for device in ["auto", "cuda"] {
        let mut command = coalesce(&["run", "--device", device]);
        let error = failure(command.env("COALESCE_DRIVER", "/nowhere/libcuda.so.1"));
        assert!(error.contains("/nowhere/libcuda.so.1"), "{error}");
        assert!(
            error.contains("`--device sim:h200` runs everything") && error.contains("coalesce devices"),
            "{error}"
        );
    }
}

#[test]
fn without_a_gpu_a_simulated_one_takes_its_place_and_says_why() {
    let arguments =
        [&["run", "offset", "--range", "0", "--precision", "f32", "--format", "json"][..], &SMALL].concat();
    let Outcome { status, out, err } = outcome(coalesce(&arguments).env("FAKE_DEVICES", "0"));
    assert_eq!(status, Some(0), "{err}");
    let (start, end) = (
        "note: NVIDIA's driver ",
        "libcuda.so.1 finds no GPU, so this runs on a simulated H200: its times are modelled. `--device cuda` insists on a \
         GPU, `coalesce devices` lists the cards\n",
    );
    assert!(err.starts_with(start) && err.ends_with(end) && err.lines().count() == 1, "{err}");
    let record = &records(&out)[0];
    assert_eq!((&record["backend"], &record["verified"]), (&"modelled".into(), &true.into()));
    assert_eq!(record["device"]["card"], "h200");
    // With a GPU there is nothing to say.
    let Outcome { out, err, .. } = outcome(&mut coalesce(&arguments));
    assert_eq!((err.as_str(), &records(&out)[0]["backend"]), ("", &"measured".into()));
}

#[test]
fn modelled_times_do_not_pass_for_measured_ones() {
    let mut command = coalesce(&["run", "offset", "--range", "0"]);
    let error = failure(command.env("FAKE_NAME", "NVIDIA H200 (modelled)"));
    assert!(error.contains("libcuda.so.1 is Coalesce's simulated driver and not NVIDIA's"), "{error}");
}

#[test]
fn counters_of_a_gpu_are_not_the_simulators() {
    let error = misuse(&mut coalesce(&["run", "--counters"]));
    assert!(error.contains("cuda:0 is a GPU: `--device sim:h200` has counters"), "{error}");
}

#[test]
fn a_driver_too_old_for_the_kernels_names_both_versions() {
    let error = failure(coalesce(&["run"]).env("FAKE_VERSION", "9020"));
    assert!(error.contains("supports CUDA 9.2") && error.contains("needs a driver for CUDA"), "{error}");
    let error = failure(coalesce(&["run"]).env("FAKE_COMPUTE", "70"));
    assert!(error.contains("compute capability 7.0") && error.contains("compute_75"), "{error}");
}

#[test]
fn the_compilers_words_are_passed_on() {
    let error = failure(coalesce(&["run"]).env("FAKE_JIT_ERROR", "ptxas: line 7: no such instruction"));
    assert!(error.contains("the embedded PTX for compute_90"), "{error}");
    assert!(error.contains("ptxas: line 7: no such instruction"), "{error}");
}

/// The program on a card with as much shared memory per block as an H200 has.
fn roomy(arguments: &[&str]) -> Command {
    let mut command = coalesce(arguments);
    command.env("FAKE_SHARED", "232448");
    command
}

#[test]
fn a_kernel_for_one_architecture_is_loaded_on_that_one() {
    let arguments =
        ["run", "--kernel", "matmul_mma", "--size", "24x40x72", "--format", "json", "--samples", "2"];
    let Outcome { status, out, err } = outcome(&mut roomy(&arguments));
    assert_eq!(status, Some(0), "{err}");
    let record: Value = serde_json::from_str(&out).expect("one record");
    assert_eq!((&record["ptx"], &record["verified"]), (&"compute_90a".into(), &true.into()));
    assert_eq!(
        (&record["parameters"]["types"], &record["parameters"]["b"]),
        (&"bf16".into(), &"n x k".into())
    );
    let wrong = outcome(roomy(&arguments).env("FAKE_WRONG", "matmul_mma"));
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.out.contains("buffer 2: ") && wrong.out.contains(" instead of "), "{}", wrong.out);

    for (variable, value, says) in [
        (
            "FAKE_COMPUTE",
            "100",
            "kernels for compute_90a run on compute capability 9.0 alone, and Fake GPU 0 has 10.0",
        ),
        (
            "FAKE_VERSION",
            "12020",
            "PTX 8.3 for compute_90a needs a driver for CUDA 12.3 or newer, and this one supports CUDA 12.2",
        ),
    ] {
        let error = misuse(roomy(&arguments).env(variable, value));
        assert!(error.contains(&format!("matmul_mma cannot be launched: {says}")), "{error}");
        let rest = ["run", "matmul", "--kernel", "matmul_register", "--size", "24", "--format", "json"];
        assert_eq!(outcome(coalesce(&rest).env(variable, value)).status, Some(0), "{says}");
    }
}

#[test]
fn edited_kernels_for_one_architecture_are_compiled_apart() {
    let kernels = "matmul_mma,matmul_register";
    let arguments = ["run", "--kernel", kernels, "--size", "24x40x72", "--format", "json", "--once"];
    let (Outcome { status, out, err }, asked) = compiling(&mut roomy(&arguments));
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(asked, "compute_90 fill_f32 fill_f64 matmul_register\ncompute_90a matmul_mma\n");
    let ptx: Vec<Value> = records(&out).into_iter().map(|record| record["ptx"].clone()).collect();
    assert_eq!(ptx, ["compute_90", "compute_90a"]);
}

#[test]
fn slips_on_the_command_line_are_usage_errors() {
    for (arguments, hint) in [
        (&["run", "strid"][..], "stride"),
        (&["run", "--kernel", "copy_vecto"], "copy_vector"),
        (&["run", "--sample", "3"], "--samples"),
        (&["run", "--bytes", "0"], "zero"),
        (&["run", "--bytes", "-4MiB"], "negative"),
        (&["run", "--bytes", "1.5MiB"], "write 1536KiB for 1.5MiB"),
        (&["run", "--bytes", "4.0MiB"], "write 4MiB"),
        (&["run", "--bytes", "0.5MiB"], "write 512KiB for 0.5MiB"),
        (&["run", "--bytes", "99999999999GiB"], "1024 TiB"),
        (&["run", "--block", "2048"], "1..=1024"),
        (&["run", "--block", "0"], "1..=1024"),
        (&["run", "--block", "1.5"], "it has to be a whole number in 1..=1024"),
        (&["run", "--block", "-1"], "1..=1024"),
        (&["run", "--samples", "0"], "1..=500"),
        (&["run", "--samples", "many"], "it has to be a whole number in 1..=500"),
        (&["run", "--range", "5..2"], "empty"),
        (&["run", "--device", "gpu"], "cuda:N"),
        (&["run", "--precision", "f16"], "f32"),
        (&["run", "--format", "xml"], "json"),
        (&["compare"], "--reference <DIR>"),
        (&["compare", "--reference", "x", "--library", "cublas"], "cannot be used with"),
        (&["run", "--sustained", "0"], "it has to be seconds between 0.1 and 600"),
        (&["run", "--sustained", "5", "--once"], "cannot be used with"),
    ] {
        let Outcome { status, out, err } = outcome(&mut coalesce(arguments));
        assert_eq!(status, Some(2), "{arguments:?}: {err}");
        assert_eq!(out, "");
        assert!(err.contains(hint), "{arguments:?}: {err}");
    }
}

#[test]
fn names_that_do_not_exist_get_the_nearest_in_one_sentence() {
    for (arguments, sentence) in [
        (
            &["run", "--bite", "3"][..],
            "`coalesce run` has no option '--bite'; did you mean --bytes, --beta or --tile? `coalesce run --help` explains them all",
        ),
        (&["run", "--zzz"], "`coalesce run` has no option '--zzz'; `coalesce run --help` explains them all"),
        (&["rnu"], "there is no command 'rnu'; did you mean run? `coalesce --help` lists the commands"),
        (&["walk"], "there is no command 'walk'; `coalesce --help` lists the commands"),
        (
            &["run", "strid"],
            "there is no experiment 'strid'; did you mean stride? `coalesce list` names them all",
        ),
        (
            &["run", "--kernel", "copy_vecto"],
            "there is no kernel 'copy_vecto'; did you mean copy_vector? `coalesce list` names them all",
        ),
        (
            &["run", "--kernel", "stride"],
            "there is no kernel 'stride'; did you mean stride_f32 or stride_f64? `coalesce list` names them all",
        ),
        (
            &["compare", "--library", "cublass"],
            "--library takes no 'cublass'; did you mean cublas or cublaslt?",
        ),
        (&["compare", "--library", "mkl"], "--library takes no 'mkl'; its values are cublas and cublaslt"),
        (
            &["run", "--device", "h100"],
            "there is no device 'h100'; did you mean sim:h100? `coalesce devices` lists the GPUs and the cards",
        ),
    ] {
        assert_eq!(misuse(&mut coalesce(arguments)), format!("error: {sentence}\n"), "{arguments:?}");
    }
}

#[test]
fn names_in_the_list_are_names_in_records() {
    let Outcome { status, out, .. } =
        outcome(coalesce(&["list"]).env("COALESCE_DRIVER", "/nowhere/libcuda.so.1"));
    assert_eq!(status, Some(0));
    for record in run(&["offset", "stride", "copy", "--range", "1"]) {
        let kernel = record["kernel"].as_str().expect("a name");
        assert!(out.contains(kernel), "{kernel} is not listed");
    }
}

#[test]
fn devices_are_described() {
    let Outcome { status, out, .. } = outcome(coalesce(&["devices"]).env("FAKE_DEVICES", "2"));
    assert_eq!(status, Some(0));
    assert!(
        out.contains("cuda:1: Fake GPU 1\n    compute capability 9.0, 4 SMs\n    memory 144 MiB, L2 1 MiB\n"),
        "{out}"
    );
    assert!(
        out.contains(
            "    peak 20 GB/s (2 x 10 MHz x 8000 bits, from the driver)\n    kernels: compute_90, PTX "
        ),
        "{out}"
    );
}

/// A folder with PTX twins, as nvcc would have made them elsewhere.
fn twins(kernels: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let parameters = ".param .u64 a, .param .u32 s";
    let entries: String = kernels
        .iter()
        .map(|kernel| format!(".visible .entry {kernel}({parameters})\n{{ ret; }}\n"))
        .collect();
    let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{entries}");
    fs::write(folder.path().join("coalescing.ptx"), text).expect("the twins can be written");
    folder
}

fn compare(folder: &Path, arguments: &[&str]) -> Command {
    let folder = folder.to_str().expect("UTF-8");
    coalesce(&[&["compare", "--reference", folder], arguments, &SMALL].concat())
}

#[test]
fn twins_are_run_by_turns_and_compared() {
    let folder = twins(&["offset_f32", "stride_f32"]);
    let arguments = ["offset", "stride", "--range", "1..=3", "--format", "json"];
    let Outcome { status, out, err } = outcome(&mut compare(folder.path(), &arguments));
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("without a CUDA C++ twin, so not compared: offset_f64, stride_f64"), "{err}");
    assert!(err.contains("Rust/C++ time over 6 rows: median 1.000"), "{err}");
    let pairs = records(&out);
    assert_eq!(pairs.len(), 12);
    for pair in pairs.chunks(2) {
        assert_eq!((&pair[0]["language"], &pair[1]["language"]), (&"rust".into(), &"cuda-c++".into()));
        assert_eq!(pair[0]["parameters"], pair[1]["parameters"]);
        close(&pair[0]["ratio_to_reference"], 1.0);
        assert!(pair[1]["ratio_to_reference"].is_null() && pair[1]["ptx"].is_null());
        assert!(pair[0]["ratio_range"].is_null(), "three samples say nothing of it");
    }
    let folder_of_twins = folder.path().to_str().expect("UTF-8");
    let of_six = ["--bytes", "16KiB", "--samples", "6", "--range", "5", "--format", "json"];
    let of_six = [&["compare", "--reference", folder_of_twins, "offset"], &of_six[..]].concat();
    let pair = records(&outcome(&mut coalesce(&of_six)).out);
    close(&pair[0]["ratio_range"][0], 1.0);
    close(&pair[0]["ratio_range"][1], 1.0);
    assert!(pair[1]["ratio_range"].is_null(), "of the twin there is none");
    let Outcome { out, .. } = outcome(&mut compare(folder.path(), &["offset", "--range", "7"]));
    let row = out.lines().find(|line| line.starts_with("7 ")).expect("a row for offset 7");
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["7", "2.82", "2.82", "1.000"]);
}

#[test]
fn a_library_that_is_not_there_is_looked_for_by_name() {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    let product = ["compare", "--kernel", "matmul_register", "--size", "64x64x64"];
    let mut command = coalesce(&[&product[..], &["--library", "cublas,cublaslt"]].concat());
    // The fake driver's process cannot use a library that this machine may have.
    command.env("CUDA_PATH", nowhere.path()).env_remove("CUDA_HOME").env("LD_LIBRARY_PATH", "");
    if Path::new("/usr/local/cuda/lib64/libcublas.so.13").exists() {
        return eprintln!("cuBLAS is installed here, so nothing is missing");
    }
    let error = failure(&mut command);
    let looked = format!("nor in {}/lib64 nor in /usr/local/cuda/lib64. Install", nowhere.path().display());
    assert!(
        error.starts_with(
            "error: --library cublas: libcublas.so.13 and libcublas.so.12 are found neither by the"
        ),
        "{error}"
    );
    assert!(error.contains(&looked), "{error}");
}

#[test]
fn a_library_computes_products_on_a_gpu() {
    let error = misuse(&mut coalesce(&["compare", "offset", "copy", "--library", "cublas"]));
    assert!(error.starts_with("error: --library has nothing to compute in "), "{error}");
    assert!(error.contains("offset, copy") && error.contains("compare matmul --size"), "{error}");
    let scaled = ["compare", "--kernel", "matmul_register", "--alpha", "2", "--library", "cublas"];
    let error = misuse(&mut coalesce(&scaled));
    assert!(
        error.contains("matmul: it computes products of matrices, without --alpha and --beta"),
        "{error}"
    );
    let simulated = ["compare", "matmul", "--library", "cublas", "--device", "sim:h200"];
    let error = misuse(&mut coalesce(&simulated));
    assert!(error.contains("sim:h200 is simulated, which runs PTX alone: compare on a GPU"), "{error}");
}

#[test]
fn a_sustained_row_keeps_the_card_busy() {
    let rows = run(&["copy", "--kernel", "copy_scalar", "--sustained", "0.1"]);
    assert_eq!(rows[0]["timing"]["load"], "sustained");
    // 64 KiB at 20 GB/s and 10 us to begin: a sample of a burst has a hundred launches, one of 33 ms thousands.
    let burst = run(&["copy", "--kernel", "copy_scalar"]);
    assert_eq!(burst[0]["timing"]["load"], "burst");
    let launches = |row: &Value| row["timing"]["launches_per_sample"].as_u64().expect("a number");
    let (many, few) = (launches(&rows[0]), launches(&burst[0]));
    assert!(many > 10 * few, "{many} and {few}");
    assert!(rows[0]["conditions"].is_null(), "the fake card has no sensors");
    let unified = outcome(&mut coalesce(&["run", "unified", "--sustained", "1"]));
    assert_eq!(unified.status, Some(2), "{}", unified.err);
    assert!(unified.err.contains("--sustained cannot keep the card busy with unified"), "{}", unified.err);
    let error = misuse(&mut coalesce(&["run", "copy", "--sustained", "1", "--device", "sim:h200"]));
    assert!(error.contains("--sustained asks how a card fares at its power limit"), "{error}");
}

#[test]
fn a_run_says_why_it_has_no_clocks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let path = out.to_str().expect("UTF-8");
    let outcome = outcome(&mut coalesce(
        &[&["run", "offset", "--range", "1", "-v", "--out", path], &SMALL[..]].concat(),
    ));
    assert_eq!(outcome.status, Some(0), "{}", outcome.err);
    assert!(outcome.out.contains("\nno clocks, power or temperature: "), "{}", outcome.out);
    let run = fs::read_to_string(out.join("run.json")).expect("the run's record");
    assert!(run.contains("\"missing\""), "{run}");
}

#[test]
fn a_wrong_twin_spoils_its_row_alone() {
    let folder = twins(&["offset_f32", "stride_f32"]);
    let mut command = compare(folder.path(), &["--range", "1", "--format", "json"]);
    let Outcome { status, out, err } = outcome(command.env("FAKE_WRONG", "stride_f32"));
    assert_eq!(status, Some(1), "{err}");
    let verified: Vec<_> = records(&out).iter().map(|record| record["verified"] == true).collect();
    assert_eq!(verified, [true, true, false, false], "{err}");
}

#[test]
fn folders_without_twins_are_refused() {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let error = failure(&mut compare(empty.path(), &[]));
    assert!(error.contains("holds no .cu and no .ptx file"), "{error}");
    let error = failure(&mut compare(Path::new("/nowhere"), &[]));
    assert!(error.contains("cannot read the reference folder /nowhere"), "{error}");
}

#[test]
fn a_twin_with_other_parameters_than_its_kernel_is_refused() {
    let folder = twins(&["stride_f32", "copy_scalar"]);
    let error = failure(&mut compare(folder.path(), &[]));
    assert!(error.starts_with("error: cannot load the twins by the PTX files in "), "{error}");
    assert!(
        error.contains("`copy_scalar` takes (b64, b32), and the program's takes (b64, b64, b64)"),
        "{error}"
    );
}

/// A folder that looks like a toolkit to the program; its nvcc is this shell script.
fn toolkit(script: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let nvcc = folder.path().join("bin/nvcc");
    fs::create_dir(folder.path().join("bin")).expect("the toolkit can be written");
    fs::write(&nvcc, format!("#!/bin/sh\n{script}\n")).expect("the toolkit can be written");
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755))
        .expect("the compiler can be made executable");
    folder
}

#[test]
fn twins_are_compiled_for_the_device() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("coalescing.cu"), "// offset_f32").expect("the twin can be written");
    let toolkit = toolkit(
        r#"[ "$*" = --version ] && echo "Cuda compilation tools, release 12.8, V12.8.93" && exit
           [ "$1 $2 $3 $4 $5" = "-O3 -ptx -lineinfo -arch=compute_90 -o" ] || exit 3
           printf '.version 8.7\n.target sm_90\n.visible .entry offset_f32(.param .u64 a, .param .u32 s)\n{ ret; }\n' > "$6""#,
    );
    let mut command = compare(folder.path(), &["offset", "--range", "1", "--format", "json"]);
    let Outcome { status, out, err } = outcome(command.env("CUDA_HOME", toolkit.path()));
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(records(&out).len(), 2);
    assert!(err.contains("The twins: nvcc V12.8.93 -O3, compute_90."), "{err}");

    let mut command = compare(folder.path(), &["offset"]);
    let error = failure(command.env("CUDA_HOME", toolkit.path()).env("FAKE_VERSION", "12040"));
    assert!(error.contains("the twins are PTX 8.7, which needs a driver for CUDA 12.8"), "{error}");
}

#[test]
fn twins_for_one_architecture_are_compiled_for_it_and_only_if_their_kernels_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
    put("coalescing.cu", "// offset_f32; matmul_mma is in tensor.cu");
    put("tensor.cu", "extern \"C\" __global__ void __launch_bounds__(256, 2) matmul_mma(const void *a) {}");
    let toolkit = toolkit(
        r#"[ "$*" = --version ] && echo "Cuda compilation tools, release 12.8, V12.8.93" && exit
           [ "$4 $7" = "-arch=compute_90 ${7%/*}/coalescing.cu" ] || { echo "so tensor.cu is compiled" >&2; exit 3; }
           printf '.version 8.7\n.target sm_90\n.visible .entry offset_f32(.param .u64 a, .param .u32 s)\n{ ret; }\n' > "$6""#,
    );
    let mut command = compare(folder.path(), &["offset", "--range", "1", "--format", "json"]);
    let Outcome { status, err, .. } = outcome(command.env("CUDA_HOME", toolkit.path()));
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("The twins: nvcc V12.8.93 -O3, compute_90."), "{err}");

    let folder_of_twins = folder.path().to_str().expect("UTF-8");
    let product = ["compare", "--reference", folder_of_twins, "--kernel", "matmul_mma"];
    let error = failure(coalesce(&product).env("CUDA_HOME", toolkit.path()));
    assert!(error.contains("tensor.cu for compute_90a: so tensor.cu is compiled"), "{error}");
}

#[test]
fn compiled_twins_for_one_architecture_are_loaded_only_if_their_kernels_run() {
    let folder = twins(&["offset_f32", "stride_f32"]);
    let wrong = ".version 8.7\n.target sm_90a\n.visible .entry matmul_mma(.param .u64 a)\n{ ret; }\n";
    fs::write(folder.path().join("tensor.ptx"), wrong).expect("the twin can be written");
    let Outcome { status, err, .. } = outcome(&mut compare(folder.path(), &["offset", "--range", "1"]));
    assert_eq!(status, Some(0), "{err}");

    let folder_of_twins = folder.path().to_str().expect("UTF-8");
    let error =
        failure(&mut coalesce(&["compare", "--reference", folder_of_twins, "--kernel", "matmul_mma"]));
    assert!(error.contains("the module's kernel `matmul_mma` takes (b64), and"), "{error}");
}

#[test]
fn what_the_compiler_of_twins_says_is_passed_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("coalescing.cu"), "offset_f32").expect("the twin can be written");
    let toolkit = toolkit("echo 'coalescing.cu(1): error: expected a declaration' >&2; exit 2");
    let error = failure(compare(folder.path(), &["offset"]).env("CUDA_HOME", toolkit.path()));
    assert!(
        error.contains("coalescing.cu for compute_90: coalescing.cu(1): error: expected a declaration"),
        "{error}"
    );
}
