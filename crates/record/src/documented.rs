//! Holds docs/records.md to the types: every field is documented, and every documented field is one.

use crate::{RUN_SCHEMA, Record, Run, Sensors, csv, read};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

/// A record with every field that may be absent, of a simulated card.
const RECORD: &str = r#"{"schema":"coalesce.record/1","experiment":"offset","kernel":"offset_f32","language":"rust",
    "backend":"modelled","device":{"ordinal":0,"name":"NVIDIA H200 (modelled)","compute_capability":"9.0","driver":"13.0",
    "memory_bytes":1,"l2_bytes":1,"multiprocessors":132,"max_threads_per_block":1024,"max_grid":1,"max_grid_y":65535,
    "max_shared_per_block":1,"memory_clock_khz":1,"memory_bus_bits":1,"card":"h200"},"ptx":"compute_90","parameters":
    {"precision":"f32","bytes":4096,"elements":1024,"block":256,"grid":4,"swept":"offset","offset":3},"bytes":{"read":1,
    "written":1,"footprint":1},"residence":"L2","time_ms":{"median":1.0,"min":1.0,"max":1.0,"samples":2,"interval":[1.0,1.0]},"samples_ms":
    [1.0,1.0],"gb_per_s":1.0,"percent_of_peak":1.0,"percent_of_copy":1.0,"gflop_per_s":1.0,"arithmetic_intensity":1.0,
    "operations":{"kind":"load","count":1},"ns_per_operation":1.0,"gop_per_s":1.0,"verified":true,"note":"n","explanation":"e","observed":{"faults":1},"timing":{"method":"modelled",
    "launches_per_sample":1,"load":"sustained"},"peak":{"gb_per_s":1.0,"source":"s"},"copy":{"gb_per_s":1.0,"bytes":1},"ratio_to_reference":1.0,
    "ratio_range":[1.0,1.0],"reference":"cublas_sgemm","conditions":{"sm_clock_mhz":{"median":1.0,"min":1.0,"max":1.0,
    "count":1},"memory_clock_mhz":{"median":1.0,"min":1.0,"max":1.0,"count":1},"temperature_c":{"median":1.0,"min":1.0,
    "max":1.0,"count":1},"limited_by":["power-cap"],"power_limit_w":700.0,"energy":{"power_w":1.0,"metered_s":1.0,
    "launch_j":1.0,"picojoules_per_flop":1.0}},"counters":{"blocks":1,"warps":1,"resident_blocks":1,"resident_warps":1,"residency":{"registers":1,
    "shared_bytes":0,"most_warps":64,"by_warps":1,"by_blocks":1,"limiter":"warps"},"windows":1,
    "round_trips":1.0,"copy_requests":1,"indexed_loads":1,"indexed_stores":1,"idle_requests":1,"chained_loads":1.0,"chained_on_chip":1.0,"dependency_clocks":1.0,"issue_slots":1,"integer_slots":1,"multiply_slots":1,"special_slots":1,
    "double_slots":1,"shuffle_slots":1,"imbalance":1.0,"longest_warp":1.0,"pace":1.0,"phased":false,"total":{"instructions":1,"loads":{"requests":1}},
    "l2_sectors_read":1,"l2_sectors_written":1,"l2_sectors_unread":1,"l2_sectors_shared":1,"l2_sectors_merged":1,"l2_sectors_spilled":1,"l2_sectors_again":1,"sampled_loads":{"requests":8,"hits":4},"float_atomics":1,"reduced_sectors":1,"dram_read":{"granules":1,"lines":1,"pages":1},"dram_written":{"granules":1,
    "lines":1,"pages":1},"camping_read":1.0,"camping_written":1.0,"hottest":{"operations":1,"requests":1,"rounds":1,"slice":1,"alike":1,"all_rounds":1},"looped":{"wavefronts":1,"operations":1,"wide_operations":1},"shared_swaps":1,"matched_values":1,"cluster_requests":1,"cluster_bytes":4,"link":{"sectors_read":1,"sectors_written":1},
    "managed_pages":1,"managed_blocks":1,"dram_bytes":1,"modelled_us":{"launch":1.0,"dram":1.0,"l2":1.0,"on_chip":1.0,
    "issue":1.0,"latency":1.0,"link":1.0,"migration":1.0},"bound":"launch","estimates_us":{"formula":1.0,"simulation":1.0},"lines":[{"file":"f","line":1,"counts":{},
    "worst":{"site":1,"kind":"global-load","bytes":4,"lanes":[0,null],"sectors":1,"wavefronts":0,"block":[0,0,0],
    "warp":0}}]},"origin":{"run":"slurm-1.0","rank":0,"ranks":2,"host":"h","uuid":"GPU-1","pass":1,"passes":1,"version":"0.1.0"}}"#;

fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/records.md");
    fs::read_to_string(path).expect("the documentation of records")
}

pub(crate) fn record() -> Record {
    read(&RECORD.replace('\n', "")).expect("a record").remove(0)
}

/// The names in the first column of the first table behind a heading or a sentence.
fn documented(text: &str, behind: &str) -> BTreeSet<String> {
    let (_, section) = text.split_once(behind).unwrap_or_else(|| panic!("no {behind:?} in docs/records.md"));
    let rows =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = rows.skip(2).filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_string)).collect()
}

/// The names of an object's fields.
fn fields(value: &impl serde::Serialize) -> BTreeSet<String> {
    match serde_json::to_value(value).expect("it is JSON") {
        Value::Object(fields) => fields.into_iter().map(|(name, _)| name).collect(),
        other => panic!("{other} is no object"),
    }
}

#[test]
fn fields_are_those_of_the_documentation() {
    let (text, record) = (documentation(), record());
    assert_eq!(documented(&text, "\n## Fields\n"), fields(&record));
    assert_eq!(documented(&text, "\n### `device`\n"), fields(&record.device));
    assert_eq!(documented(&text, "\n### `origin`\n"), fields(&record.origin));
    let counters = record.counters.as_ref().expect("a modelled row has counters");
    assert_eq!(documented(&text, "\n### `counters`\n"), fields(counters));
    let conditions = record.conditions.as_ref().expect("this row has them");
    assert_eq!(documented(&text, "\n### `conditions`\n"), fields(conditions));
    assert_eq!(documented(&text, "\n`energy` is metered"), fields(&conditions.energy));
    assert_eq!(documented(&text, "\n`worst` is the line's"), fields(&counters.lines[0].worst));
    let parameters = documented(&text, "\n### `parameters`\n");
    for fixed in ["precision", "bytes", "elements", "block", "grid", "swept"] {
        assert!(parameters.contains(fixed), "{fixed} is not documented");
    }
}

#[test]
fn a_run_has_the_documented_fields() {
    let record = record();
    let run = Run {
        schema: RUN_SCHEMA.to_string(),
        card: Some(serde_json::Map::new()),
        sensors: Some(Sensors::Nvml("580.159.04".to_string())),
        ..Run::of(std::slice::from_ref(&record)).expect("a record")
    };
    assert_eq!(documented(&documentation(), "\n## The run\n"), fields(&run));
}

/// A column has the name of the field, or is told in the table of columns.
#[test]
fn columns_are_fields_or_documented() {
    let (text, record) = (documentation(), record());
    let columns = csv(&[]).expect("a header");
    let columns: BTreeSet<&str> = columns.trim_end().split(',').collect();
    let told = documented(&text, "\n## CSV and Parquet\n");
    let same: BTreeSet<String> =
        [fields(&record), fields(&record.device), fields(&record.parameters), fields(&record.origin)]
            .into_iter()
            .chain(record.counters.iter().map(fields))
            .flatten()
            .collect();
    for column in &columns {
        assert!(told.contains(*column) || same.contains(*column), "the column {column} is not documented");
    }
    for name in &told {
        assert!(columns.contains(name.as_str()), "{name} is documented and no column");
    }
}
