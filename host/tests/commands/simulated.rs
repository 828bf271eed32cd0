//! Real command lines on the simulated driver, from arguments to what is printed. The transaction counts are those of the
//! CUDA C Programming Guide's rules by compute capability, worked out by hand for one warp of 32 lanes.

use crate::support::coalesce;
use crate::support::edited::compiling;
use crate::support::outcome::{Outcome, failure, misuse, outcome};
use record::doubt::Residuals;
use serde_json::Value;
use std::{fs, path::Path};

/// Warps of a launch in f32 at 32 KiB, the size that takes a fraction of a second; twice as many half-warps.
const WARPS: u64 = 256;

/// The records of a run on a simulated card.
fn run(card: &str, arguments: &[&str]) -> Vec<Value> {
    let device = format!("sim:{card}");
    let bytes: &[&str] = if arguments.contains(&"--bytes") { &[] } else { &["--bytes", "32KiB"] };
    let all = [&["run", "--device", &device, "--format", "json"][..], arguments, bytes].concat();
    let Outcome { status, out, err } = outcome(&mut coalesce(&all));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{all:?}");
    out.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Requests, sectors and bytes moved of the loads of a row; those of the stores are the same in these kernels.
fn loads(record: &Value) -> (u64, u64, u64) {
    let total = &record["counters"]["total"];
    let of = |kind: &str| {
        let counts = &total[kind];
        (count(&counts["requests"]), count(&counts["sectors"]), count(&counts["bytes_moved"]))
    };
    assert_eq!(of("loads"), of("stores"), "{record}");
    of("loads")
}

#[test]
fn a_record_of_a_simulated_card_says_that_it_is_modelled() {
    let records = run("h200", &["offset", "--precision", "f32", "--range", "1"]);
    assert_eq!(records.len(), 1);
    let record = &records[0];
    assert_eq!((&record["backend"], &record["verified"]), (&"modelled".into(), &true.into()));
    assert_eq!(record["timing"]["method"], "modelled");
    assert_eq!(
        (&record["timing"]["launches_per_sample"], &record["time_ms"]["samples"]),
        (&1.into(), &1.into())
    );
    let device = &record["device"];
    assert_eq!(
        (&device["name"], &device["compute_capability"]),
        (&"NVIDIA H200 (modelled)".into(), &"9.0".into())
    );
    assert_eq!(device["card"], "h200");
    assert_eq!(record["peak"]["gb_per_s"], 4814.304);
    assert_eq!(record["peak"]["source"], "from the card's description");
    assert_eq!(record["ptx"], "compute_90");

    let counters = &record["counters"];
    assert_eq!(loads(record), (WARPS, 5 * WARPS, 5 * 32 * WARPS));
    assert_eq!(counters["total"]["loads"]["lines"], 2 * WARPS);
    assert_eq!(counters["total"]["loads"]["bytes_requested"], 32 << 10);
    assert_eq!((&counters["blocks"], &counters["warps"]), (&32.into(), &WARPS.into()));
    assert!(counters["sites"].is_null() && counters["worst"].is_null(), "those of instructions are not kept");
    // Both requests are one line's: the load, which is the first of the equally dear, one element behind a line's start.
    let lines = counters["lines"].as_array().expect("lines");
    let worst: Vec<&Value> =
        lines.iter().map(|line| &line["worst"]).filter(|worst| !worst.is_null()).collect();
    assert_eq!(worst.len(), 1, "{lines:?}");
    let expected: Vec<u64> = (1..=32).map(|element| 4 * element).collect();
    assert_eq!((&worst[0]["kind"], &worst[0]["lanes"]), (&"global-load".into(), &expected.into()));
    assert_eq!((&worst[0]["sectors"], &worst[0]["block"]), (&5.into(), &vec![0; 3].into()));
    // The time between the events is the model's, which the launch's parts make up.
    let parts = &counters["modelled_us"];
    let largest = ["launch", "dram", "l2", "on_chip", "issue", "latency"].map(|part| number(&parts[part]));
    let largest = largest.into_iter().fold(0.0, f64::max);
    let total = 1e3 * number(&record["time_ms"]["median"]);
    assert!(total > largest && total < 6.0 * largest, "{total} of {parts}");
}

#[test]
fn every_field_is_documented() {
    let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/records.md");
    let documentation = fs::read_to_string(documentation).expect("the documentation of records");
    for record in run("c1060", &["offset", "stride", "copy", "--range", "1", "--counters", "lines"]) {
        let fields = record.as_object().expect("an object");
        let inner = fields.values().filter_map(Value::as_object).flat_map(|object| object.keys());
        for field in fields.keys().chain(inner) {
            assert!(documentation.contains(&format!("`{field}`")), "{field} is not documented");
        }
    }
}

#[test]
fn the_driver_s_copy_is_modelled_and_has_no_counters() {
    let records = run("a100-80", &["copy"]);
    assert_eq!(records.len(), 6);
    assert_eq!((&records[0]["kernel"], &records[0]["language"]), (&"copy_driver".into(), &"driver".into()));
    assert_eq!(records[0]["backend"], "modelled");
    assert!(records[0]["counters"].is_null() && !records[1]["counters"].is_null());
    assert!(number(&records[0]["copy"]["gb_per_s"]) > 1000.0);
}

/// Transactions, sectors and bytes of a warp of f32, by compute capability: the tables of the guide.
#[test]
fn offsets_on_cards_without_a_cache_cost_sixteen_transactions_or_segments() {
    // Half-warps on 1.x: one transaction of 64 bytes where aligned, 16 of 32 where not.
    for record in run("c870", &["offset", "--precision", "f32"]) {
        let offset = count(&record["parameters"]["offset"]);
        let bytes = if offset.is_multiple_of(16) { 64 } else { 16 * 32 };
        assert_eq!(loads(&record), (2 * WARPS, 2 * WARPS * bytes / 32, 2 * WARPS * bytes), "offset {offset}");
    }
    // On 1.3 as few segments as will do.
    for record in run("c1060", &["offset", "--precision", "f32"]) {
        let offset = count(&record["parameters"]["offset"]);
        let bytes = match offset % 16 {
            0 => 128,
            8 => 192,
            _ => 224,
        };
        assert_eq!(loads(&record).2, WARPS * bytes, "offset {offset}");
    }
    // On 2.0 whole lines of L1 are loaded, and stores go by sectors.
    for record in run("c2050", &["offset", "--precision", "f32"]) {
        let offset = count(&record["parameters"]["offset"]);
        let total = &record["counters"]["total"];
        let lines = if offset.is_multiple_of(32) { 1 } else { 2 };
        assert_eq!(total["loads"]["bytes_moved"], WARPS * 128 * lines, "offset {offset}");
        let sectors = if offset.is_multiple_of(8) { 4 } else { 5 };
        assert_eq!(total["stores"]["sectors"], WARPS * sectors, "offset {offset}");
    }
}

#[test]
fn strides_cost_what_the_tables_say() {
    let strides = ["stride", "--precision", "f32", "--range", "1,2,3,4,8,16,24,32"];
    let moved = |card: &str| -> Vec<u64> {
        let records = run(card, &strides);
        records
            .iter()
            .map(|record| count(&record["counters"]["total"]["loads"]["bytes_moved"]) / WARPS)
            .collect()
    };
    assert_eq!(moved("c870"), [128, 1024, 1024, 1024, 1024, 1024, 1024, 1024]);
    assert_eq!(moved("c1060"), [128, 256, 384, 512, 1024, 2048, 1536, 1024]);
    assert_eq!(moved("c2050"), [128, 256, 384, 512, 1024, 2048, 3072, 4096]);
    assert_eq!(moved("h200"), [128, 256, 384, 512, 1024, 1024, 1024, 1024]);
}

#[test]
fn doubles_fill_twice_as_much_of_a_sector() {
    let warps = WARPS / 2;
    for record in run("h200", &["offset", "--precision", "f64"]) {
        let offset = count(&record["parameters"]["offset"]);
        let sectors = if offset.is_multiple_of(4) { 8 } else { 9 };
        assert_eq!(loads(&record), (warps, sectors * warps, sectors * 32 * warps), "offset {offset}");
    }
    for record in run("h200", &["stride", "--precision", "f64"]) {
        let stride = count(&record["parameters"]["stride"]);
        assert_eq!(loads(&record).1, (8 * stride).min(32) * warps, "stride {stride}");
    }
}

/// Bandwidth by the modelled time, less that of starting the kernel, which counts at so small a size.
fn rates(card: &str, experiment: &str, range: &str) -> Vec<f64> {
    let records = run(card, &[experiment, "--precision", "f32", "--range", range, "--bytes", "1MiB"]);
    let seconds = |record: &Value| {
        number(&record["time_ms"]["median"]) / 1e3
            - number(&record["counters"]["modelled_us"]["launch"]) / 1e6
    };
    records.iter().map(|record| 2.0 * 1048.576e-6 / seconds(record)).collect()
}

#[test]
fn the_first_article_s_findings_come_out_of_the_models() {
    let near = |rate: f64, expected: f64| (rate - expected).abs() <= 0.1 * expected;
    let of = |card: &str| {
        let rates = rates(card, "offset", "0,1,8,16,17,32");
        rates.iter().map(|rate| rate / rates[0]).collect::<Vec<_>>()
    };
    let c870 = of("c870");
    for (place, expected) in [(1, 0.125), (2, 0.125), (3, 1.0), (4, 0.125), (5, 1.0)] {
        assert!(near(c870[place], expected), "C870: {c870:?}");
    }
    let c1060 = of("c1060");
    for (place, expected) in [(1, 0.571), (2, 0.667), (3, 1.0), (4, 0.571), (5, 1.0)] {
        assert!(near(c1060[place], expected), "C1060: {c1060:?}");
    }
    let c2050 = of("c2050");
    assert!(c2050.iter().all(|share| *share > 0.9), "C2050: {c2050:?}");
    // Strides above 1 on the first card, whatever they are, and the way down on the others.
    let strides = rates("c870", "stride", "1,2,8,32");
    for rate in &strides[1..] {
        assert!(near(rate / strides[0], 0.125), "C870: {strides:?}");
    }
    for card in ["c1060", "c2050"] {
        let strides = rates(card, "stride", "1,2,4,8");
        assert!(strides.windows(2).all(|pair| pair[1] < 0.75 * pair[0]), "{card}: {strides:?}");
    }
}

#[test]
fn counters_are_shown_by_launch_and_by_line() {
    let arguments =
        ["run", "stride", "--device", "sim:h200", "--precision", "f32", "--range", "2", "--bytes", "32KiB"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&[&arguments[..], &["--counters"]].concat()));
    assert_eq!(status, Some(0), "{err}");
    let row = out.lines().find(|line| line.starts_with("stride_f32 2 ")).unwrap_or_else(|| panic!("{out}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[3..9], ["256", "2048", "8.00", "2048", "8.00", "50.0%"], "{row}");
    assert!(!out.contains("coalescing.rs"), "{out}");

    let Outcome { out, .. } = outcome(&mut coalesce(&[&arguments[..], &["--counters", "lines"]].concat()));
    // The access is in cuda_safe; it counts for the line of the kernel that asks for it.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-kernels/src/coalescing.rs");
    let source = fs::read_to_string(source).expect("the kernels' source");
    let kernel = source.lines().position(|text| text.starts_with("pub fn stride<")).expect("stride");
    let start = format!("src/coalescing.rs:{} ", kernel + 2);
    let row =
        out.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {start}: {out}"));
    assert!(row.contains(" 256 ") && row.contains(" 2048 "), "{row}");
}

#[test]
fn tables_say_modelled_and_fit_in_the_width() {
    let arguments =
        ["run", "offset", "stride", "copy", "--device", "sim:c870", "--bytes", "32KiB", "--counters"];
    for width in [40, 80, 140] {
        for more in [&[][..], &["-v"]] {
            let mut command = coalesce(&[&arguments[..], more].concat());
            let Outcome { status, out, err } = outcome(command.env("COLUMNS", width.to_string()));
            assert_eq!(status, Some(0), "{err}");
            for line in out.lines() {
                assert!(line.chars().count() <= width, "{} columns: {line}", line.chars().count());
            }
        }
    }
    let Outcome { out, .. } = outcome(&mut coalesce(&arguments));
    let own = Residuals::built_in().own_errors().expect("there are residuals").median_in_words();
    let head = format!(
        "Tesla C870 (sim:c870, compute capability 1.0, 16 SMs, no L2)\nmodelled, not measured: times are off by {own} in \
         the median on this repository's\n"
    );
    assert!(out.starts_with(&head), "{out}");
    assert!(out.contains("\npeak 77 GB/s, copy "), "{out}");
    assert_eq!(out.matches("GB/s, modelled\n").count(), 2, "{out}");
    assert!(out.contains("\nmodelled "), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(
        "rows: a real card of capability 1.0 could not load PTX for compute_75 (the simulator runs any)."
    ));
    assert!(words.contains(
        "8 of 16 rows: a real card of capability 1.0 has no double precision (the simulator has)."
    ));
    let row = out.lines().find(|line| line.starts_with("31 ")).expect("a row for offset 31");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells.len(), cells[4], cells[8]), (9, "8.00", "4.00"), "{row}");
}

#[test]
fn csv_has_backend_and_counters() {
    let arguments =
        ["run", "offset", "--device", "sim:c870", "--precision", "f32", "--range", "1", "--bytes", "32KiB"];
    let Outcome { status, out, .. } =
        outcome(&mut coalesce(&[&arguments[..], &["--format", "csv"]].concat()));
    assert_eq!(status, Some(0));
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let row = reader.records().next().expect("a row").expect("a sound row");
    let cell = |name: &str| {
        let column = header.iter().position(|column| column == name).unwrap_or_else(|| panic!("no {name}"));
        row[column].to_string()
    };
    assert_eq!((cell("backend"), cell("selector")), ("modelled".to_string(), "sim:c870".to_string()));
    assert_eq!((cell("method"), cell("ptx")), ("modelled".to_string(), "compute_75".to_string()));
    assert_eq!((cell("load_requests"), cell("load_sectors")), ("512".to_string(), "8192".to_string()));
    assert_eq!(
        (cell("store_bytes_requested"), cell("store_bytes_moved")),
        ("32768".to_string(), "262144".to_string())
    );
    assert_eq!(cell("bound"), "DRAM");
}

#[test]
fn the_same_run_gives_the_same_figures() {
    let figures = || {
        let records = run("v100", &["offset", "copy", "--range", "0..=2", "--samples", "3"]);
        let of = |record: &Value| (record["time_ms"].clone(), record["counters"].clone());
        records.iter().map(of).collect::<Vec<_>>()
    };
    let first = figures();
    assert_eq!(first, figures());
    assert!(first.iter().all(|(time, _)| time["samples"] == 3));
}

#[test]
fn defaults_are_beyond_l2_where_the_lesson_is_about_dram() {
    let of = |experiment: &str, kernel: &str, device: &str, more: &[&str]| {
        let arguments =
            ["run", experiment, "--kernel", kernel, "--once", "--format", "json", "--device", device];
        let Outcome { status, out, err } = outcome(&mut coalesce(&[&arguments[..], more].concat()));
        assert_eq!(status, Some(0), "{err}");
        let record: Value = serde_json::from_str(out.trim()).expect("a record");
        (count(&record["parameters"]["bytes"]) >> 20, record["residence"].clone(), err)
    };
    let one = &["--range", "1"];
    let (dram, quiet) = (Value::from("DRAM"), String::new);
    assert_eq!(of("offset", "offset_f64", "sim:h200", one), (256, dram.clone(), quiet()));
    assert_eq!(of("copy", "copy_vector", "sim:h200", &[]), (128, dram.clone(), quiet()));
    assert_eq!(of("offset", "offset_f64", "sim:c870", one), (32, dram.clone(), quiet()));
    // A grid of 1.x and 2.x has 65535 blocks at most, and the default keeps to that.
    let (mebibytes, ..) = of("offset", "offset_f32", "sim:c2050", &["--range", "1", "--block", "32"]);
    assert_eq!(mebibytes, 4);
    let (mebibytes, residence, note) = of("stride", "stride_f32", "sim:h200", &["--range", "8"]);
    assert_eq!((mebibytes, residence), (32, dram));
    assert!(note.starts_with("note: stride touches about the same memory at every stride"), "{note}");
}

#[test]
fn limits_of_old_cards_are_named() {
    let error = misuse(&mut coalesce(&["run", "offset", "--device", "sim:c2050", "--bytes", "128MiB"]));
    assert!(error.contains("131072 blocks, and a grid of Tesla C2050 has at most 65535"), "{error}");
    let error = misuse(&mut coalesce(&[
        "run", "offset", "--device", "sim:c870", "--block", "1024", "--bytes", "4MiB",
    ]));
    assert!(error.contains("Tesla C870 takes 1 to 512 threads per block"), "{error}");
}

#[test]
fn more_memory_than_there_is_is_refused_beforehand() {
    let error = failure(&mut coalesce(&["run", "copy", "--device", "sim:h200", "--bytes", "1TiB"]));
    assert!(error.contains("needs 2.0 TiB") || error.contains("blocks"), "{error}");
    let arguments = ["run", "copy", "--device", "sim:h200", "--kernel", "copy_persistent", "--bytes", "1TiB"];
    let error = failure(&mut coalesce(&arguments));
    assert!(error.contains("needs 2") && error.contains("the simulated card has 139.8 GiB"), "{error}");
    assert!(error.contains("fewer --bytes"), "{error}");
    // A card with more memory than any computer: what is missing is the computer's.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let card = folder.path().join("huge.toml");
    fs::write(&card, "extends = \"h200\"\nmemory_bytes = 17592186044416\n").expect("the card can be written");
    let device = format!("sim:{}", card.display());
    let arguments = ["run", "--kernel", "copy_persistent", "--device", &device, "--bytes", "4TiB"];
    let error = failure(&mut coalesce(&arguments));
    assert!(error.contains("this machine's own memory, which can spare "), "{error}");
}

#[test]
fn cards_that_do_not_exist_get_the_nearest() {
    let own = "a card of your own is a file, as in sim:my-card.toml, and `coalesce devices h200` prints one to start from";
    for (device, says) in [
        (
            "sim:h20",
            format!(
                "there is no simulated card 'h20'; did you mean h200? `coalesce devices` lists the cards; {own}"
            ),
        ),
        (
            "sim:",
            format!("sim: needs the name of a card behind it, as in sim:h200; `coalesce devices` lists the cards; {own}"),
        ),
        (
            "sim:nowhere/my.toml",
            "cannot read the card file nowhere/my.toml: No such file or directory (os error 2)".to_string(),
        ),
        (
            "gpu",
            "there is no device 'gpu'; write auto, cuda, cuda:N, sim:CARD or sim:FILE.toml, as `coalesce devices` lists them"
                .to_string(),
        ),
    ] {
        for command in ["run", "check"] {
            let Outcome { status, out, err } = outcome(&mut coalesce(&[command, "--device", device]));
            assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
            assert_eq!(err, format!("error: {says}\n"));
        }
    }
}

#[test]
fn a_card_of_ones_own_is_run_and_its_mistakes_have_a_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mine.toml");
    let device = format!("sim:{}", file.display());
    let offset = ["run", "offset", "--device", &device, "--precision", "f32", "--range", "0"];
    let run = |text: &str| {
        fs::write(&file, text).expect("the card can be written");
        outcome(&mut coalesce(&[&offset[..], &["--bytes", "32KiB", "--format", "json"]].concat()))
    };
    // What `coalesce devices` prints is a card, and a changed figure changes the result.
    let printed = outcome(&mut coalesce(&["devices", "c1060"]));
    assert_eq!(printed.status, Some(0), "{}", printed.err);
    let slow = run(&printed.out.replace("dram_gb_per_s = 102.4", "dram_gb_per_s = 10.24"));
    let slow: Value = serde_json::from_str(&slow.out).expect("a record");
    let fast: Value = serde_json::from_str(&run(&printed.out).out).expect("a record");
    assert_eq!((&slow["peak"]["gb_per_s"], &fast["peak"]["gb_per_s"]), (&10.24.into(), &102.4.into()));
    let rate = |record: &Value| number(&record["gb_per_s"]);
    assert!(rate(&slow) < 0.8 * rate(&fast), "{} and {}", rate(&slow), rate(&fast));

    for (text, says) in [
        (
            "extends = \"h200\"\ndram_shar = 1\n",
            ":2:1: there is no field 'dram_shar'; did you mean dram_share? `coalesce devices h200` prints a card with all of its fields",
        ),
        ("extends = \"h200\"\nl2_bytes = -1\n", ":2:12: "),
        (
            "extends = \"h200\"\nwarp_threads = 64\n",
            ":2:16: warp_threads: 64 lanes a warp: all cards have 32",
        ),
        ("key = \"mine\"\n", ": without extends = \"...\" a card needs every value, and lacks "),
    ] {
        let Outcome { status, err, .. } = run(text);
        assert_eq!(status, Some(2), "{err}");
        assert!(err.starts_with(&format!("error: {}{says}", file.display())), "{err}");
        assert_eq!(err.trim_end().lines().count(), 1, "one paragraph: {err}");
    }
}

#[test]
fn devices_lists_cards_with_their_figures_and_prints_one() {
    let Outcome { status, out, err } =
        outcome(coalesce(&["devices"]).env("COALESCE_DRIVER", "/nowhere/libcuda.so.1"));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(
        out.starts_with("no GPU: the driver library that COALESCE_DRIVER names, /nowhere/libcuda.so.1, "),
        "{out}"
    );
    let row = out.lines().find(|line| line.starts_with("sim:c870 ")).expect("a row for the C870");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells,
        ["sim:c870", "Tesla", "C870", "1.0", "16", "1350", "1.5", "GiB", "none", "76.8", "3.2"]
    );
    for key in [
        "c1060", "c2050", "m2090", "k40c", "v100", "t4", "rtx3090", "a100-40", "a100-80", "h100", "rtx4090",
        "l4", "h200", "b200", "rtx5090",
    ] {
        assert!(
            out.contains(&format!("\nsim:{key} ")) && out.contains(&format!("\n{key}: ")),
            "{key}: {out}"
        );
    }
    let Outcome { status, out, .. } = outcome(&mut coalesce(&["devices", "m2090"]));
    assert_eq!(status, Some(0));
    assert!(out.contains("\nkey = \"m2090\"\n") && out.contains("\nmultiprocessors = 16\n"), "{out}");
    assert!(out.contains("\n# Transpose: a copy gets 125.2 of 177.6 GB/s.\ndram_share = 0.72\n"), "{out}");
    let Outcome { status, err, .. } = outcome(&mut coalesce(&["devices", "m2091"]));
    assert_eq!(status, Some(2));
    assert_eq!(
        err,
        "error: there is no simulated card 'm2091'; did you mean m2090? `coalesce devices` lists the cards\n"
    );
}

/// A twin of `offset_f32` in PTX by hand: its elements start `more` behind where they should, and all are the same one
/// where `shared`.
fn offset_f32(more: u32, shared: bool) -> String {
    let index = if shared { "mov.u32 %r5, 0;" } else { "mad.lo.u32 %r5, %r2, %r3, %r4;" };
    format!(
        ".version 7.4\n.target sm_75\n.address_size 64\n\
         .visible .entry offset_f32(.param .u64 a, .param .u32 s)\n{{\n\
         .reg .b32 %r<7>;\n.reg .b64 %rd<5>;\n.reg .f32 %f<3>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [s];\ncvta.to.global.u64 %rd2, %rd1;\n\
         mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n{index}\n\
         add.u32 %r6, %r5, %r1;\nmul.wide.u32 %rd3, %r6, 4;\nadd.u64 %rd4, %rd2, %rd3;\n\
         ld.global.f32 %f1, [%rd4+{}];\nadd.f32 %f2, %f1, 0f3F800000;\nst.global.f32 [%rd4+{}], %f2;\nret;\n}}\n",
        4 * more,
        4 * more,
    )
}

fn check_ptx(text: &str, arguments: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("twin.ptx");
    fs::write(&file, text).expect("the twin can be written");
    let file = file.to_str().expect("UTF-8");
    outcome(&mut coalesce(&[&["check", "offset_f32", "--ptx", file, "--range", "0..=2"], arguments].concat()))
}

#[test]
fn clean_kernels_pass_every_check() {
    let Outcome { status, out, err } = outcome(&mut coalesce(&[
        "check",
        "offset",
        "stride",
        "copy",
        "--range",
        "0..=3,16,31",
        "--bytes",
        "16KiB",
    ]));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("========= ERROR SUMMARY: 0 errors\n"), "{out}");
    assert!(
        out.contains("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"),
        "{out}"
    );
    assert!(
        out.ends_with("no findings of 9 kernels in 27 launches on a simulated H200 (sim:h200)\n"),
        "{out}"
    );
    let Outcome { status, out, .. } = outcome(&mut coalesce(&[
        "check",
        "copy",
        "stride_f64",
        "--range",
        "1",
        "--tool",
        "racecheck",
        "--device",
        "sim:c870",
    ]));
    assert_eq!(status, Some(0), "{out}");
    assert!(
        !out.contains("ERROR SUMMARY") && out.contains("no findings of 6 kernels in 6 launches"),
        "{out}"
    );
    assert!(out.contains("on a simulated Tesla C870 (sim:c870)"), "{out}");
}

#[test]
fn what_is_wrong_is_found_and_fails() {
    let Outcome { status, out, err } = check_ptx(&offset_f32(0, false), &[]);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");

    // One element too far: out of bounds by four bytes for the last thread, at each of three offsets.
    let Outcome { status, out, .. } = check_ptx(&offset_f32(1, false), &[]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("========= Invalid __global__ read of size 4 bytes\n"), "{out}");
    assert!(out.contains("by thread (255,0,0) in block (63,0,0)"), "{out}");
    assert!(
        out.ends_with("1 finding, 3 accesses, of 1 kernel in 3 launches on a simulated H200 (sim:h200)\n"),
        "{out}"
    );

    // All threads at one element.
    let Outcome { status, out, .. } = check_ptx(&offset_f32(0, true), &["--tool", "racecheck"]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("Race reported between") && !out.contains("RACECHECK SUMMARY: 0 hazards"), "{out}");
    // Without that check it is a wrong result all the same.
    let Outcome { status, out, .. } = check_ptx(&offset_f32(0, true), &["--tool", "memcheck"]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("INVALID: offset_f32 offset 0, 65536 bytes, block 256: buffer 0: "), "{out}");
    assert!(
        out.contains("no findings, but 3 launches with wrong results, of 1 kernel in 3 launches"),
        "{out}"
    );
}

/// The tiles of `transpose` as they are compiled, but for the barrier between writing a tile and reading it. Files are named
/// from the checkout's root on.
const WITHOUT_BARRIER: &str = include_str!("../fixtures/tile_without_barrier.ptx");

/// Checks it in a folder with these lines of its source.
fn check_without_barrier(lines: &[(usize, &str)], arguments: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("tiles.ptx"), WITHOUT_BARRIER).expect("the kernels can be written");
    if let Some((last, _)) = lines.last() {
        let source = folder.path().join("gpu-kernels/src/transpose/tiles.rs");
        fs::create_dir_all(source.parent().expect("a folder")).expect("the folder can be made");
        let mut text = vec![""; *last];
        for (number, line) in lines {
            text[number - 1] = line;
        }
        fs::write(source, text.join("\n")).expect("the source can be written");
    }
    let check =
        ["check", "tile", "tile_padded", "--ptx", "tiles.ptx", "--nx", "64", "--ny", "64", "--block", "32x8"];
    outcome(coalesce(&[&check[..], arguments].concat()).current_dir(folder.path()))
}

#[test]
fn a_missing_barrier_is_one_finding() {
    let statements =
        ["                cells.set(step, value);", "                destination.put(mine, tile.at(cell));"];
    let lines = [(80, statements[0]), (91, statements[1])];
    let tools = ["--tool", "racecheck,initcheck"];
    let Outcome { status, out, err } = check_without_barrier(&lines, &tools);
    assert_eq!((status, err.as_str()), (Some(1), ""), "{out}");
    assert_eq!(
        out,
        "========= COMPUTE-SANITIZER (simulated: racecheck,initcheck)\n\
         ========= Error: Race reported between Read access at tile+line 188 of the PTX in \
         gpu-kernels/src/transpose/tiles.rs:91:44\n\
         =========     and Write access at tile+line 110 of the PTX in gpu-kernels/src/transpose/tiles.rs:80:23 [7936 hazards]\n\
         =========     91 |                 destination.put(mine, tile.at(cell));\n\
         =========        | Read by thread (1,0,0) in block (0,0,0)\n\
         =========     80 |                 cells.set(step, value);\n\
         =========        | Write by thread (0,1,0) in block (0,0,0)\n\
         =========     RAW and WAR hazards in __shared__ memory, at 88 pairs of instructions\n\
         =========     3584 of the reads came before anything was written there\n\
         =========     in 2 kernels: tile, tile_padded\n\
         =========     in 2 launches, the first of them tile nx 64, ny 64, 16384 bytes, block 32x8\n\
         =========\n\
         ========= ERROR SUMMARY: 3584 errors\n\
         ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n\
         INVALID: tile nx 64, ny 64, 16384 bytes, block 32x8: buffer 1: 1792 elements are wrong, the first at index 1: NaN \
         instead of 180574.0\n\
         INVALID: 2 launches in all; `--verbose` lists them\n\
         `--verbose` shows all 96 findings, one for each instruction or pair of them\n\
         1 finding, 7936 accesses, of 2 kernels in 2 launches on a simulated H200 (sim:h200)\n"
    );
    // Where the source is not, its lines are named and the rest is the same.
    let Outcome { out: bare, .. } = check_without_barrier(&[], &tools);
    let unquoted = out.replace("=========        | ", "=========     ");
    let rest = unquoted.lines().filter(|line| !line.contains(" | "));
    assert_eq!(bare.lines().collect::<Vec<_>>(), rest.collect::<Vec<_>>());
}

#[test]
fn all_findings_are_shown_where_that_is_asked_for() {
    let Outcome { status, out, .. } = check_without_barrier(&[], &["--tool", "racecheck", "--verbose"]);
    assert_eq!(status, Some(1), "{out}");
    assert_eq!(out.matches("Race reported between").count(), 88, "{out}");
    assert!(
        out.contains("========= RACECHECK SUMMARY: 88 hazards displayed (64 errors, 24 warnings)\n"),
        "{out}"
    );
    assert!(out.contains("\nlaunch 2 is tile_padded nx 64, ny 64, 16384 bytes, block 32x8\n"), "{out}");
    assert_eq!(out.matches("\nINVALID: ").count(), 2, "{out}");
    let last = "1 finding, 7936 accesses, of 2 kernels in 2 launches on a simulated H200 (sim:h200)\n";
    assert!(out.ends_with(last), "{out}");
}

#[test]
fn checks_are_the_simulator_s_and_say_so() {
    for device in ["cuda", "auto"] {
        let error = misuse(&mut coalesce(&["check", "--device", device]));
        assert!(
            error.contains("checks are made by the simulated driver, on machines with a GPU too"),
            "{error}"
        );
    }
    let Outcome { status, err, .. } = outcome(&mut coalesce(&["check", "offset", "--tool", "memchek"]));
    assert_eq!(status, Some(2));
    assert_eq!(err, "error: --tool takes no 'memchek'; did you mean memcheck?\n");
    let Outcome { status, out, err } = check_ptx(".version 7.4\n.target sm_75\n.address_size 64\n", &[]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.ends_with("twin.ptx has none of the kernels asked for; it has no kernel\n"), "{err}");
}

#[test]
fn ptx_that_is_wrong_is_refused_with_its_line() {
    for (text, says) in [
        (
            offset_f32(0, false).replace("add.f32 %f2, %f1, 0f3F800000;", "add.f32 %f2, %f9, 0f3F800000;"),
            "%f9",
        ),
        (offset_f32(0, false).replace("mul.wide.u32", "tensor.magic.u32"), "tensor.magic.u32"),
        (offset_f32(0, false).replace("ret;\n}\n", ""), "line"),
    ] {
        let Outcome { status, out, err } = check_ptx(&text, &[]);
        assert_eq!((status, out.as_str()), (Some(1), ""), "{err}");
        let last = err.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: ") && last.contains("twin.ptx") && last.contains(says), "{err}");
    }
}

#[test]
fn twins_are_compared_on_a_simulated_card_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("coalescing.ptx"), offset_f32(0, false)).expect("the twins can be written");
    let folder = folder.path().to_str().expect("UTF-8");
    let compare = ["compare", "offset", "--reference", folder, "--device", "sim:h200", "--precision", "f32"];
    let arguments = [&compare[..], &["--range", "1", "--bytes", "1MiB", "--format", "json"]].concat();
    let Outcome { status, out, err } =
        outcome(coalesce(&arguments).env("CUDA_HOME", "/nowhere").env("PATH", "/nowhere"));
    assert_eq!(status, Some(0), "{err}");
    let records: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!((&records[0]["language"], &records[1]["language"]), (&"rust".into(), &"cuda-c++".into()));
    assert!(records.iter().all(|record| record["backend"] == "modelled" && record["verified"] == true));
    assert!(
        (number(&records[0]["ratio_to_reference"]) - 1.0).abs() < 0.1,
        "{}",
        records[0]["ratio_to_reference"]
    );
    assert_eq!(loads(&records[0]), loads(&records[1]));
}

#[test]
fn edited_kernels_are_compiled_for_the_run_and_no_others() {
    let arguments = [
        "run",
        "copy",
        "--kernel",
        "copy_scalar",
        "--bytes",
        "32KiB",
        "--device",
        "sim:a100-80",
        "--format",
        "json",
    ];
    let (Outcome { status, out, err }, asked) = compiling(&mut coalesce(&arguments));
    assert_eq!(status, Some(0), "{err}");
    let record: Value = serde_json::from_str(out.trim()).expect("one record");
    assert_eq!((&record["verified"], &record["ptx"]), (&true.into(), &"compute_80".into()));
    assert_eq!(asked, "compute_80 copy_scalar fill_f32 fill_f64\n");
}

#[test]
fn edited_kernels_that_do_not_compile_end_the_run() {
    let arguments = ["run", "copy", "--bytes", "32KiB", "--device", "sim:h200"];
    let error = failure(coalesce(&arguments).env("COALESCE_KERNEL_BUILDER", "/bin/false"));
    assert!(error.contains("the edited kernels did not compile"), "{error}");
}

#[test]
fn compiled_code_is_kept_for_later_processes() {
    if std::env::var_os("COALESCE_LLVM").is_some_and(|path| path.is_empty()) {
        eprintln!("left out: an empty COALESCE_LLVM says that nothing compiles kernels");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let code = folder.path().join("code");
    let printed = |arguments: &[&str], code: &Path| {
        let mut command = coalesce(arguments);
        command.env("COALESCE_TIER", "compiled").env("COALESCE_CODE", code);
        let Outcome { status, out, err } = outcome(&mut command);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{arguments:?}");
        out
    };
    let copies = ["run", "copy", "--device", "sim:h200", "--bytes", "64KiB", "--format", "json"];
    let files = || {
        let files = fs::read_dir(&code).expect("the folder is made");
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        files.into_iter().map(|path| (fs::read(&path).expect("a file"), path)).collect::<Vec<_>>()
    };
    let first = printed(&copies, &code);
    let kept = files();
    // At least a kernel for each row but the driver's own copy.
    assert!(kept.len() + 1 >= first.lines().count(), "{} files", kept.len());
    assert!(first.lines().count() > 1);
    assert_eq!((printed(&copies, &code), files()), (first.clone(), kept.clone()));
    // What is damaged is made and kept again.
    for (content, path) in &kept {
        fs::write(path, &content[..content.len() - 1]).expect("written");
    }
    assert_eq!((printed(&copies, &code), files()), (first.clone(), kept));
    assert_eq!(printed(&copies, Path::new("")), first);
    let says = |code: &Path, words: &str| {
        let devices = printed(&["devices"], code);
        assert!(devices.contains(words), "{devices}");
    };
    says(&code, &format!("code kept in {}", code.display()));
    says(Path::new(""), "no code kept: COALESCE_CODE is empty");
    let file = &files()[0].1;
    says(file, &format!("no code kept: {}: ", file.display()));
}
