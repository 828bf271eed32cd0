//! Layouts, indices, prefix sums, histograms and atomics on a simulated card: that all verify, also at odd sizes, and what
//! their requests touch.

use crate::support::{
    coalesce,
    outcome::{Outcome, outcome},
    records::{number, records, refusal},
};
use serde_json::Value;

/// The one record of a kernel, with a parameter of this value where one is given.
fn of<'r>(records: &'r [Value], kernel: &str, parameter: Option<(&str, &str)>) -> &'r Value {
    let has = |record: &&Value| {
        parameter.is_none_or(|(name, value)| record["parameters"][name].as_str() == Some(value))
    };
    let mut found = records.iter().filter(|record| record["kernel"] == kernel).filter(has);
    let record = found.next().unwrap_or_else(|| panic!("no {kernel} {parameter:?}"));
    assert!(found.next().is_none(), "several of {kernel} {parameter:?}");
    record
}

/// A figure of the counters, 0 where it is left out.
fn count(record: &Value, field: &str) -> f64 {
    let pointer = format!("/counters/{}", field.replace('.', "/"));
    record.pointer(&pointer).and_then(Value::as_f64).unwrap_or(0.0)
}

fn sectors_per_load(record: &Value) -> f64 {
    count(record, "total.loads.sectors") / count(record, "total.loads.requests")
}

#[test]
fn one_field_of_a_structure_touches_the_sectors_of_all() {
    let records = records(&["layout", "--bytes", "64KiB"]);
    let sectors = |kernel| sectors_per_load(of(&records, kernel, None));
    assert_eq!((sectors("layout_aos3_one"), sectors("layout_soa3_one")), (12.0, 4.0));
    assert_eq!((sectors("layout_aos3_all"), sectors("layout_soa3_all")), (12.0, 4.0));
    assert_eq!((sectors("layout_aos4_one"), sectors("layout_vector_one")), (16.0, 16.0));
    let requests = |kernel| count(of(&records, kernel, None), "total.loads.requests") * 32.0 / 4096.0;
    assert_eq!((requests("layout_aos4_all"), requests("layout_vector_all")), (4.0, 1.0));
    assert_eq!((requests("layout_aos3_all"), requests("layout_padded_all")), (3.0, 1.0));
}

#[test]
fn whole_sectors_in_any_order_are_as_many_as_in_order() {
    let records = records(&["gather", "--bytes", "256KiB"]);
    let sectors = |kernel, order| sectors_per_load(of(&records, kernel, Some(("order", order))));
    for order in ["sorted", "blocks of 4096 B", "blocks of 128 B", "blocks of 32 B"] {
        assert_eq!(sectors("gather", order), 4.0, "{order}");
    }
    // Of the 32 words of a request at random among 8192 sectors, hardly any two are in one.
    let random = 2.0 * sectors("gather", "random") - 4.0;
    assert!((31.0..=32.0).contains(&random), "{random}");
    for kernel in ["scatter", "scatter_unchecked"] {
        let record = of(&records, kernel, Some(("order", "random")));
        let stored = count(record, "total.stores.sectors") / count(record, "total.stores.requests");
        assert!((31.0..=32.0).contains(&stored), "{kernel}: {stored}");
    }
}

#[test]
fn scans_verify_at_sizes_that_blocks_do_not_divide() {
    let kernels = ["scan_hillis_steele", "scan_blelloch", "scan_shuffle", "scan_apply", "scan_lookback"]
        .map(str::to_string);
    for (bytes, block) in [("16", "32"), ("16384", "64"), ("16400", "256"), ("300016", "1024")] {
        let records = records(&["scan", "--bytes", bytes, "--block", block]);
        let names: Vec<_> =
            records.iter().map(|record| record["kernel"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, kernels, "{bytes} in blocks of {block}");
    }
    let error = refusal(&["scan", "--kernel", "scan_blelloch", "--block", "96"]);
    assert!(error.contains("power of two"), "{error}");
}

#[test]
fn one_pass_reads_the_source_once() {
    // 128 blocks of 4096 elements.
    let records = records(&["scan", "--bytes", "2MiB", "--kernel", "scan_lookback"]);
    let record = of(&records, "scan_lookback", None);
    assert_eq!(count(record, "total.stores.bytes_requested"), (2 << 20) as f64 + 8.0 * 256.0);
    // Besides the source, each block but the first looks at states, 32 at a time.
    let looks = count(record, "total.loads.requests") - (2 << 20) as f64 / 512.0;
    assert!(looks >= 127.0, "{looks}");
}

#[test]
fn equal_bytes_meet_in_one_bin() {
    let records = records(&["histogram", "--bytes", "64KiB"]);
    let hottest = |kernel, input, field| {
        count(of(&records, kernel, Some(("input", input))), &format!("hottest.{field}"))
    };
    assert_eq!(hottest("histogram_global", "equal", "operations"), 65_536.0);
    assert_eq!(hottest("histogram_global", "equal", "requests"), 65_536.0 / 32.0);
    // 256 on average.
    assert!((256.0..400.0).contains(&hottest("histogram_global", "uniform", "operations")));
    // Sixteen blocks of 256 threads, each of which adds its bins once.
    assert_eq!(hottest("histogram_shared", "uniform", "operations"), 16.0);
    let ways = |kernel, input| {
        let record = of(&records, kernel, Some(("input", input)));
        count(record, "total.shared_atomics.wavefronts") / count(record, "total.shared_atomics.requests")
    };
    // Each lane adds 1, which the machine does at once for all lanes of one address.
    assert_eq!(ways("histogram_shared", "equal"), 1.0);
    assert_eq!(ways("histogram_match", "equal"), 1.0);
    assert!(ways("histogram_shared", "uniform") < 8.0);
}

#[test]
fn aggregation_leaves_one_operation_per_warp() {
    // Two blocks of 256 threads, eight operations each.
    let records = records(&["atomics", "--small", "--range", "1,32"]);
    let at = |kernel: &str, addresses: u64| {
        let swept = |record: &&Value| record["parameters"]["addresses"] == addresses;
        let record = records.iter().filter(|record| record["kernel"] == kernel).find(swept);
        let record = record.unwrap_or_else(|| panic!("no {kernel} at {addresses}"));
        (count(record, "hottest.operations"), count(record, "hottest.requests"))
    };
    for kernel in ["atomics_global_add_u32", "atomics_global_fetch_u32", "atomics_global_add_f32"] {
        assert_eq!(at(kernel, 1), (4096.0, 128.0), "{kernel}");
        assert_eq!(at(kernel, 32), (128.0, 128.0), "{kernel}");
    }
    for kernel in ["atomics_global_match_u32", "atomics_global_redux_u32", "atomics_global_tree_f32"] {
        assert_eq!(at(kernel, 1), (128.0, 128.0), "{kernel}");
    }
    assert_eq!(at("atomics_global_match_u32", 32), (128.0, 128.0));
    // 16 warps on 32 addresses: four sectors, of which each warp touches one.
    assert_eq!(at("atomics_global_redux_u32", 32), (8.0, 64.0));
    assert_eq!(at("atomics_shared_add_u32", 1), (0.0, 0.0));
    assert_eq!(number(&records[0], "operations.count"), 4096.0);
}

#[test]
fn the_checks_find_nothing() {
    let experiments = ["layout", "gather", "scan", "histogram", "atomics"];
    let mut command = coalesce(&["check"]);
    let Outcome { status, out, err } = outcome(command.args(experiments));
    assert_eq!(status, Some(0), "{out}{err}");
}
