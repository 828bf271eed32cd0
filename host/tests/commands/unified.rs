//! Unified memory on the simulated driver, from arguments to records: what the article found, at a thousandth of its size.

use crate::support::coalesce;
use crate::support::outcome::{Outcome, misuse, outcome};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// The memory that counts as the card's: two of the blocks of 2 MiB in which the driver evicts.
const BUDGET: u64 = 4 * MIB;

/// The records of a run, every one verified.
fn run(card: &str, arguments: &[&str]) -> Vec<Value> {
    let device = format!("sim:{card}");
    let all =
        [&["run", "unified", "--device", &device, "--budget", "4MiB", "--format", "json"][..], arguments]
            .concat();
    let Outcome { status, out, err } = outcome(&mut coalesce(&all));
    assert_eq!(status, Some(0), "{all:?}: {err}");
    let records: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect();
    for record in &records {
        assert_eq!(
            (&record["verified"], &record["timing"]["launches_per_sample"]),
            (&true.into(), &1.into())
        );
    }
    records
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// The row of a kernel, a placement and a factor.
fn row<'r>(records: &'r [Value], kernel: &str, placement: &str, factor: f64) -> &'r Value {
    let is = |record: &&Value| {
        let parameters = &record["parameters"];
        record["kernel"] == kernel && parameters["placement"] == placement && parameters["factor"] == factor
    };
    records.iter().find(is).unwrap_or_else(|| panic!("no row of {kernel}, {placement}, {factor}"))
}

#[test]
fn the_article_s_findings() {
    let records = run("h200", &[]);
    assert_eq!(records.len(), 1 + 36);
    let rate = |kernel: &str, placement: &str, factor: f64| {
        number(&row(&records, kernel, placement, factor)["gb_per_s"])
    };
    for kernel in ["grid_stride", "block_stride", "random_warp"] {
        for factor in [0.5, 1.0, 1.5, 2.0] {
            let row = |placement| row(&records, kernel, placement, factor);
            let bytes = (factor * BUDGET as f64) as u64;
            assert_eq!(row("partition")["parameters"]["bytes"], bytes);

            // On demand, all of it comes, and what does not fit leaves.
            let observed = &row("on-demand")["observed"];
            assert_eq!((count(&observed["on_card_before"]), count(&observed["bytes_over_link"])), (0, 0));
            let after = count(&observed["on_card_after"]);
            // Blocks leave whole, and of what random access wants a part comes: so not all of the budget is in use then.
            if kernel == "random_warp" && factor > 1.0 {
                assert!(after > BUDGET / 4 && after <= BUDGET, "{factor}: {after}");
            } else {
                assert_eq!(after, bytes.min(BUDGET), "{kernel} {factor}");
            }
            assert!(count(&observed["bytes_to_card"]) >= bytes && count(&observed["faults"]) > 0);
            assert_eq!(count(&observed["bytes_to_card"]) - count(&observed["bytes_evicted"]), after);
            assert!(number(&observed["migration_us"]) < 1e3 * number(&row("on-demand")["time_ms"]["median"]));

            // Pinned, nothing moves, and each byte that is read goes over the link.
            let pinned = row("zero-copy");
            assert_eq!(
                (&pinned["observed"]["faults"], &pinned["observed"]["on_card_after"]),
                (&0.into(), &Value::Null)
            );
            // (A block that comes by the same place twice finds it in L1.)
            let (read, crossed) =
                (count(&pinned["bytes"]["read"]), count(&pinned["observed"]["bytes_over_link"]));
            assert!(crossed <= read && crossed as f64 > 0.99 * read as f64, "{crossed} {read}");
            assert_eq!(pinned["counters"]["bound"], "link");

            // Partitioned, nothing moves either, and the card has what fits.
            let dealt = &row("partition")["observed"];
            assert_eq!((count(&dealt["faults"]), count(&dealt["on_card_before"])), (0, bytes.min(BUDGET)));
            assert_eq!(dealt["on_card_before"], dealt["on_card_after"]);
            let over_link =
                count(&dealt["bytes_over_link"]) as f64 / count(&row("partition")["bytes"]["read"]) as f64;
            let with_host = 1.0 - 1.0 / factor.max(1.0);
            assert!((over_link - with_host).abs() < 0.05, "{kernel} {factor}: {over_link}");
        }
        // Pinned memory beats faulting where the allocation does not fit, and partitioning it beats both.
        for factor in [1.5, 2.0] {
            let [faulting, pinned, dealt] =
                ["on-demand", "zero-copy", "partition"].map(|placement| rate(kernel, placement, factor));
            assert!(pinned > 1.5 * faulting && dealt > 1.5 * pinned, "{kernel}: {faulting} {pinned} {dealt}");
        }
        // Pinned memory does not care how much there is.
        let (half, double) = (rate(kernel, "zero-copy", 0.5), rate(kernel, "zero-copy", 2.0));
        assert!((half / double - 1.0).abs() < 0.1, "{half} {double}");
        // Partitioning degrades with what is left to the link: of 1.5 times the budget a third, of twice the half of it.
        let (third, half) = (rate(kernel, "partition", 1.5), rate(kernel, "partition", 2.0));
        assert!((third / half - 1.5).abs() < 0.15, "{third} {half}");
        assert!(rate(kernel, "partition", 1.0) > 3.0 * third);
    }
    // Random faults beyond what fits fall apart: each page moves again and again, for 128 bytes at a time.
    let together = rate("random_warp", "on-demand", 1.0);
    for factor in [1.5, 2.0] {
        assert!(rate("random_warp", "on-demand", factor) < 0.3 * together);
        assert!(rate("random_warp", "on-demand", factor) < 0.5 * rate("grid_stride", "on-demand", factor));
    }
    assert!(100.0 * rate("random_warp", "on-demand", 2.0) < rate("random_warp", "partition", 1.0));
    let random = row(&records, "random_warp", "on-demand", 2.0);
    assert!(count(&random["observed"]["bytes_to_card"]) > 4 * count(&random["bytes"]["read"]), "{random}");
    assert_eq!(random["counters"]["bound"], "migration");
    let explanation = random["explanation"].as_str().expect("a sentence");
    assert!(
        explanation.contains(" page faults in ") && explanation.contains(" to the card and evict "),
        "{explanation}"
    );
    // A launch starts from the same state each time, so the same row gives the same figures, up to what others have left in L2.
    let again = run("h200", &["--pattern", "random-warp", "--placement", "on-demand", "--factor", "2"]);
    let ratio = number(&again[0]["time_ms"]["median"]) / number(&random["time_ms"]["median"]);
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert_eq!(again[0]["observed"], random["observed"]);
}

#[test]
fn the_more_pages_the_deeper_the_fall() {
    // Each warp wants a page of its own, whichever it drew: the share of a page that is used falls with their number.
    let rate = |budget: &str| {
        let all = [
            "run",
            "unified",
            "--device",
            "sim:h200",
            "--format",
            "json",
            "--pattern",
            "random-warp",
            "--placement",
            "on-demand",
            "--factor",
            "2",
            "--budget",
            budget,
        ];
        let Outcome { status, out, err } = outcome(&mut coalesce(&all));
        assert_eq!(status, Some(0), "{err}");
        number(&serde_json::from_str::<Value>(out.trim()).expect("a record")["gb_per_s"])
    };
    let (small, large) = (rate("4MiB"), rate("16MiB"));
    assert!(large < 0.8 * small, "{small} {large}");
}

#[test]
fn writes_and_other_placements() {
    let records = run(
        "v100",
        &[
            "--kernel",
            "grid_stride_write",
            "--kernel",
            "random_warp_write",
            "--kernel",
            "grid_stride_vector",
            "--factor",
            "1.5",
            "--placement",
            "on-demand,prefetched,zero-copy-hints,partition,partition-prefetch",
            "--page",
            "64KiB",
        ],
    );
    assert_eq!(records.len(), 15);
    for kernel in ["grid_stride_write", "random_warp_write", "grid_stride_vector"] {
        let observed = |placement| &row(&records, kernel, placement, 1.5)["observed"];
        let bytes = |placement, field: &str| count(&observed(placement)[field]);
        assert_eq!(bytes("on-demand", "on_card_before"), 0);
        assert_eq!(bytes("prefetched", "on_card_before"), BUDGET, "what fits");
        assert!(bytes("prefetched", "faults") > 0, "what did not fit");
        assert_eq!((bytes("zero-copy-hints", "faults"), bytes("zero-copy-hints", "on_card_after")), (0, 0));
        for placement in ["partition", "partition-prefetch"] {
            assert_eq!((bytes(placement, "faults"), bytes(placement, "on_card_after")), (0, BUDGET));
            assert!(bytes(placement, "bytes_over_link") > 0);
        }
        let writes = kernel.ends_with("write");
        let moved = &row(&records, kernel, "partition", 1.5)["bytes"];
        assert_eq!(count(&moved["read"]) == 0, writes, "{moved}");
    }
}

#[test]
fn pages_of_4_kib_are_dealt_out_too() {
    let records = run(
        "h200",
        &["--pattern", "grid-stride", "--placement", "partition", "--factor", "1.5,2", "--page", "4KiB"],
    );
    for (record, bytes) in records.iter().zip([6 * MIB, 8 * MIB]) {
        let observed = &record["observed"];
        assert_eq!((count(&observed["faults"]), count(&observed["on_card_after"])), (0, BUDGET));
        assert_eq!(count(&observed["bytes_over_link"]), bytes - BUDGET);
    }
}

#[test]
fn cards_before_pages_moved_have_pinned_memory() {
    for card in ["c2050", "k40c"] {
        let records = run(card, &["--factor", "2"]);
        // Beside the driver's own copy from pinned memory.
        assert_eq!((records.len(), &records[0]["kernel"]), (1 + 3, &"host_copy_driver".into()));
        assert!(records[1..].iter().all(|record| record["parameters"]["placement"] == "zero-copy"));
    }
}

#[test]
fn what_cannot_be_run_says_what_can() {
    let refused = |arguments: &[&str]| {
        misuse(&mut coalesce(&[&["run", "unified", "--device", "sim:h200"][..], arguments].concat()))
    };
    let error = refused(&["--budget", "1TiB"]);
    assert!(
        error.contains("a budget of 1 TiB is more than the 139.8 GiB") && error.contains("has free"),
        "{error}"
    );
    let error = refused(&["--factor", "1,65"]);
    assert!(error.contains("a factor of 65 is out of range: it goes up to 64"), "{error}");
    let error = refused(&["--factor", "0.01", "--budget", "1MiB"]);
    assert!(error.contains("less than half a page of 2 MiB: use a larger --factor"), "{error}");
    let error = refused(&["--block", "100"]);
    assert!(error.contains("blocks of whole warps"), "{error}");
    let usage = |arguments: &[&str]| {
        let all = [&["run", "unified", "--device", "sim:h200"][..], arguments].concat();
        let Outcome { status, out, err } = outcome(&mut coalesce(&all));
        assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
        err
    };
    assert!(usage(&["--page", "8KiB"]).contains("a page has 4KiB, 64KiB or 2MiB"));
    assert!(usage(&["--factor", "-1"]).contains("it has to be a number above 0"));
}
