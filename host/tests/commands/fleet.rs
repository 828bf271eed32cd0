//! `coalesce run --fleet` and `coalesce fleet`: from a scheduler's variables to the verdict, with records that are whole and
//! records that are not.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, failure, misuse, outcome};
use fleet::simulate::{Fleet, Injected};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Variables of the schedulers that these tests may run under themselves.
const SCHEDULERS: [&str; 12] = [
    "OMPI_COMM_WORLD_RANK",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURMD_NODENAME",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_JOBID",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "JOB_COMPLETION_INDEX",
    "NODE_NAME",
    "HOSTNAME",
];

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A rank's command line, with these variables of its scheduler.
fn rank(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
    let few = ["run", "copy", "--device", "sim:h200", "--bytes", "64KiB", "--fleet", text(folder)];
    let mut command = coalesce(&[&few[..], arguments].concat());
    for variable in SCHEDULERS {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied());
    command
}

/// The records of a file.
fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

/// The files of 16 simulated H200s in two machines, each changed.
fn files(folder: &Path, fleet: &Fleet, change: impl Fn(u32, String) -> Option<String>) {
    for rank in 0..fleet.cards {
        if let Some(text) = change(rank, fleet.file(rank)) {
            fs::write(folder.join(format!("rank-{rank:05}.jsonl")), text).expect("a file");
        }
    }
}

fn small() -> Fleet {
    Fleet { cards: 16, passes: 4, ..Fleet::default() }
}

/// The verdict on a folder: exit status, and the report as JSON.
fn judged(folder: &Path) -> (Option<i32>, Value, String) {
    let Outcome { status, out, err } = outcome(&mut coalesce(&["fleet", text(folder), "--json"]));
    (status, serde_json::from_str(&out).unwrap_or_else(|_| panic!("no JSON: {out}{err}")), err)
}

/// The kinds of troubles in a report.
fn troubles(report: &Value) -> Vec<&str> {
    let troubles = report["troubles"].as_array().expect("a list");
    troubles.iter().filter_map(|trouble| trouble["trouble"].as_str()).collect()
}

#[test]
fn each_rank_writes_a_file_under_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in ["0", "1", "2"] {
        let slurm = [
            ("SLURM_PROCID", number),
            ("SLURM_STEP_NUM_TASKS", "3"),
            ("SLURM_LOCALID", number),
            ("SLURM_JOB_ID", "77"),
            ("SLURM_STEP_ID", "0"),
            ("SLURMD_NODENAME", "node1"),
        ];
        let Outcome { status, out, err } = outcome(&mut rank(folder.path(), &slurm, &["--passes", "2"]));
        assert_eq!((status, out.as_str()), (Some(0), ""), "{err}");
        let file = folder.path().join(format!("slurm-77.0/rank-0000{number}.jsonl"));
        assert!(
            err.starts_with(&format!(
                "rank {number} of 3 (Slurm) on node1: cuda:0, NVIDIA H200 (modelled): 12 rows"
            )),
            "{err}"
        );
        assert!(err.trim_end().ends_with(text(&file)), "{err}");
        let records = records(&file);
        let passes: Vec<&Value> = records.iter().map(|record| &record["origin"]["pass"]).collect();
        assert_eq!(passes, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        let origin = &records[0]["origin"];
        assert_eq!(
            (&origin["run"], &origin["host"], &origin["ranks"]),
            (&"slurm-77.0".into(), &"node1".into(), &3.into())
        );
        assert_eq!(records[0]["counters"], Value::Null);
    }
    // Three cards are too few to be judged by each other, which is no fault.
    let (status, report, err) = judged(folder.path());
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!((&report["cards"], &report["rows_read"]), (&3.into(), &36.into()));
    assert_eq!(troubles(&report), ["too-few"]);
}

#[test]
fn a_health_check_needs_no_words_and_an_earlier_run_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = || {
        let mut command = coalesce(&[
            "run",
            "--device",
            "sim:h200",
            "--small",
            "--fleet",
            text(folder.path()),
            "--run-id",
            "check",
        ]);
        for variable in SCHEDULERS {
            command.env_remove(variable);
        }
        command.env("NODE_NAME", "gpu-7");
        command
    };
    let Outcome { status, err, .. } = outcome(&mut check());
    assert_eq!(status, Some(0), "{err}");
    let records = records(&folder.path().join("check/gpu-7.jsonl"));
    let kernels: Vec<&str> = records.iter().filter_map(|record| record["kernel"].as_str()).collect();
    assert_eq!(
        kernels,
        [
            "copy_driver",
            "copy_streaming",
            "l2_store",
            "mountain",
            "transfer_driver",
            "transfer_driver",
            "banks_4",
            "banks_8",
            "chase_shared",
            "launch_empty",
            "launch_parameters_64",
        ]
    );
    let err = misuse(&mut check());
    assert!(
        err.contains(
            "check/gpu-7.jsonl holds the records of an earlier run with this name: --replace removes them"
        ),
        "{err}"
    );
    assert_eq!(outcome(check().arg("--replace")).status, Some(0));
}

#[test]
fn what_a_rank_cannot_do_is_said_with_its_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let err = misuse(&mut rank(folder.path(), &[("PMI_RANK", "0")], &[]));
    assert!(err.contains("PMI does not tell the name of the run") && err.contains("--run-id"), "{err}");
    let ranks = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_NAMESPACE", "9")];
    let mut command = rank(folder.path(), &ranks, &["--device", "cuda"]);
    command.env("COALESCE_DRIVER", "/nonexistent/libcuda.so.1");
    let err = outcome(&mut command).err;
    assert!(err.contains("the argument '--device <DEVICE>' cannot be used multiple times"), "{err}");
    let mut command = coalesce(&["run", "copy", "--device", "cuda", "--fleet", text(folder.path())]);
    command.envs(ranks).env("COALESCE_DRIVER", "/nonexistent/libcuda.so.1");
    let err = failure(&mut command);
    assert!(
        err.starts_with("error: rank 1 of 2 (Open MPI) on ") && err.contains("/nonexistent/libcuda.so.1"),
        "{err}"
    );
    if cfg!(not(feature = "mpi")) {
        let err = misuse(&mut rank(folder.path(), &ranks, &["--together"]));
        assert!(err.contains("built without") && err.contains("--features mpi"), "{err}");
    }
    let err = misuse(&mut coalesce(&["compare", "copy", "--reference", ".", "--fleet", text(folder.path())]));
    assert!(err.contains("use `coalesce run --fleet`"), "{err}");
    let err = misuse(&mut coalesce(&["run", "copy", "--replace"]));
    assert!(err.contains("--replace removes what --out or --fleet wrote before"), "{err}");
}

#[test]
fn a_sound_fleet_is_sound_and_a_slow_card_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path(), &small(), |_, text| Some(text));
    let metrics = folder.path().join("coalesce.prom");
    let arguments = ["fleet", text(folder.path()), "--prometheus", text(&metrics)];
    let Outcome { status, out, err } = outcome(&mut coalesce(&arguments));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.starts_with("16 cards, 704 rows of run simulated, from 16 files\n"), "{out}");
    assert!(out.contains("no card of 16 is slow\n"), "{out}");
    assert!(fs::read_to_string(&metrics).expect("metrics").contains("\ncoalesce_fleet_cards 16\n"));

    let fleet = small().with_fault(5, Injected::LinkAtHalf);
    files(folder.path(), &fleet, |_, text| Some(text));
    let Outcome { status, out, err } = outcome(&mut coalesce(&[&arguments[..], &["--verbose"]].concat()));
    assert_eq!((status, err.as_str()), (Some(1), "error: 1 of 16 cards needs a look (link 1)\n"), "{out}");
    let line = out.lines().find(|line| line.starts_with("node00000 cuda:5 (rank 5): link, "));
    assert!(line.is_some_and(|line| line.contains("% slower, always (score ")), "{out}");
    assert!(out.contains("nvidia-smi -q -d PCIE"), "{out}");
    let metrics = fs::read_to_string(&metrics).expect("metrics");
    let of_card = "coalesce_card_slower_ratio{host=\"node00000\",card=\"5\",uuid=\"GPU-00000005-0000-0000-0000-000000000000\",\
                   component=\"link\",pattern=\"always\"} ";
    assert!(metrics.lines().any(|line| line.starts_with(of_card)), "{metrics}");
    let page = fs::read_to_string(folder.path().join("fleet.html")).expect("a page");
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("data-fault=\"link\" data-cards=\"1\""),
        "{page}"
    );
}

#[test]
fn a_slow_host_is_named_and_not_its_cards_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet { cards: 64, passes: 8, ..Fleet::default() }.with_fault(8, Injected::SlowHost);
    files(folder.path(), &fleet, |_, text| Some(text));
    let (status, report, _) = judged(folder.path());
    assert_eq!(status, Some(1));
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((&findings[0]["host"], &findings[0]["fault"]), (&"node00001".into(), &"host".into()));
    assert_eq!(findings[0]["cards"].as_array().map(Vec::len), Some(8));
}

#[test]
fn a_rank_that_died_and_a_file_cut_off_are_named_and_the_rest_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = small().with_fault(5, Injected::LinkAtHalf);
    files(folder.path(), &fleet, |rank, text| match rank {
        // Killed before it wrote, between two rows, within a row, before the first row.
        3 | 9 | 10 => None,
        4 => Some(text.lines().take(20).map(|line| format!("{line}\n")).collect()),
        6 => Some(text[..text.len() - 100].to_string()),
        7 => Some(String::new()),
        8 => Some(text.replacen("\"verified\":true", "\"verified\":tru", 1)),
        _ => Some(text),
    });
    let (status, report, err) = judged(folder.path());
    assert_eq!(status, Some(1));
    assert_eq!(err, "error: 1 of 12 cards needs a look (link 1); 7 things are wrong with the records\n");
    let mut kinds = troubles(&report);
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["cut-off", "damaged", "empty", "incomplete", "incomplete", "incomplete", "missing-ranks"]
    );
    let of = |kind: &str| {
        let all = report["troubles"].as_array().expect("a list");
        all.iter().find(|trouble| trouble["trouble"] == kind).expect("it is there")
    };
    assert_eq!(of("missing-ranks")["missing"], serde_json::json!([[3, 3], [7, 7], [9, 10]]));
    assert_eq!(of("cut-off")["rows"], 43);
    assert_eq!(of("damaged")["line"], 1);
    let out = outcome(&mut coalesce(&["fleet", text(folder.path())])).out;
    assert!(out.contains("ranks 3, 7 and 9 to 10 of 16, 4 in all, have no record in run simulated"), "{out}");
    assert!(out.contains("node00000 cuda:4 (rank 4) has 20 of 44 rows: its process ended early"), "{out}");
    assert!(out.contains("rank-00006.jsonl ends within a line: its writer was killed"), "{out}");
    assert!(out.contains("rank-00007.jsonl is empty"), "{out}");
}

#[test]
fn two_kinds_two_versions_and_set_clocks_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet { cards: 24, ..small() }.with_fault(5, Injected::LinkAtHalf);
    files(folder.path(), &fleet, |rank, text| {
        Some(match rank {
            // Slower cards of another kind are not outliers of this one.
            16..20 => text
                .replace("\"NVIDIA H200\"", "\"NVIDIA H100 80GB HBM3\"")
                .replace("\"median\":0.1", "\"median\":0.2"),
            20 => text.replace("\"version\":\"0.1.0\"", "\"version\":\"0.0.9\""),
            21 => text.replace("\"power_limit_w\"", "\"limited_by\":[\"clock-setting\"],\"power_limit_w\""),
            _ => text,
        })
    });
    let (status, report, err) = judged(folder.path());
    assert_eq!(status, Some(1), "{report}");
    assert_eq!(err, "error: 1 of 24 cards needs a look (link 1); one thing is wrong with the records\n");
    assert_eq!(
        troubles(&report),
        ["clocks-set", "several-kinds", "several-versions", "too-few", "too-few"],
        "{report}"
    );
    let out = outcome(&mut coalesce(&["fleet", text(folder.path())])).out;
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "somebody set the clocks of node00002 cuda:5 (rank 21) at ",
        "there are 2 kinds of cards, each judged by itself: NVIDIA H200 with 132 SMs, measured (20 cards) and NVIDIA H100 80GB \
         HBM3 with 132 SMs, measured (4 cards)",
        "2 versions of the program measured, and the cards of each are judged by themselves: 0.1.0 (23 cards) and 0.0.9 (1 card)",
        "there are only 4 cards of NVIDIA H100 80GB HBM3 by version 0.1.0: too few to be judged by each other",
    ] {
        assert!(out.contains(sentence), "{sentence}: {out}");
    }
}

#[test]
fn wrong_results_and_shared_cards_are_faults() {
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path(), &small(), |rank, text| {
        Some(match rank {
            2 => text.replacen("\"verified\":true", "\"verified\":false", 2),
            // Two ranks of one card.
            9 => text.replace("GPU-00000009", "GPU-00000008").replace("\"ordinal\":1", "\"ordinal\":0"),
            _ => text,
        })
    });
    let (status, report, err) = judged(folder.path());
    assert_eq!((status, report["findings"][0]["fault"].as_str()), (Some(1), Some("wrong")), "{report}");
    assert!(err.starts_with("error: 1 of 15 cards needs a look (WRONG 1); "), "{err}");
    assert!(
        report["findings"][0]["reason"]
            .as_str()
            .is_some_and(|reason| reason.starts_with("2 rows did not verify"))
    );
    assert!(troubles(&report).contains(&"shared"), "{report}");
}

#[test]
fn a_folder_without_records_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let err = failure(&mut coalesce(&["fleet", text(folder.path())]));
    assert!(err.contains("there are no records in ") && err.contains("coalesce run --fleet"), "{err}");
    let err = failure(&mut coalesce(&["fleet", "/nonexistent"]));
    assert!(
        err.contains("cannot list /nonexistent: name a folder that `coalesce run --fleet` wrote into"),
        "{err}"
    );
}

#[test]
fn several_cards_stand_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let few = ["run", "copy", "--bytes", "64KiB", "--device", "sim:h200x3"];
    let mut command = coalesce(&[&few[..], &["--out", text(folder.path())]].concat());
    let Outcome { status, out, err } = outcome(command.env("COLUMNS", "120"));
    assert_eq!(status, Some(0), "{err}");
    assert!(
        err.starts_with("note: 3 cards are measured one after the other: they share the machine's power"),
        "{err}"
    );
    assert!(out.contains("card 2: cuda:2 NVIDIA H200, modelled\n"), "{out}");
    let header = out.lines().find(|line| line.starts_with("kernel")).expect("a table");
    let words: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(words, ["kernel", "unit", "card", "0", "card", "1", "card", "2", "spread", "slowest"]);
    assert!(out.trim_end().ends_with("In all 6 rows the cards are within 2% of each other."), "{out}");
    for card in 0..3 {
        let records = records(&folder.path().join(format!("card-{card}/records.jsonl")));
        assert_eq!((records.len(), &records[0]["device"]["ordinal"]), (6, &card.into()));
    }
    assert!(folder.path().join("report.html").is_file());
    let json = outcome(&mut coalesce(&[&few[..], &["--format", "json"]].concat())).out;
    assert_eq!(json.lines().count(), 18);

    let err = misuse(&mut coalesce(&["explain", "copy_vector", "--device", "sim:h200x2"]));
    assert!(err.contains("`coalesce explain` takes one: name it"), "{err}");
    let err = misuse(&mut coalesce(&["run", "copy", "--device", "sim:h200x65"]));
    assert!(err.contains("sim:h200x65 is 65 cards; 1 to 64 can be simulated at once"), "{err}");
}
