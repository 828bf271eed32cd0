//! `link` on simulated cards: every pair verified, with the times of the card's links.

use crate::support::{
    coalesce,
    outcome::{Outcome, outcome},
};
use serde_json::Value;

/// A row's ends and ways, and its GB/s.
fn row(record: &Value) -> (String, f64) {
    let text = |name: &str| record["parameters"][name].as_str().unwrap_or_default().to_string();
    assert_eq!(record["verified"], true, "{record}");
    let pair = format!("{} > {}, {}", text("from"), text("to"), text("ways"));
    (pair, record["gb_per_s"].as_f64().expect("a rate"))
}

fn rows(device: &str) -> (Vec<(String, f64)>, String) {
    let few =
        ["run", "link", "--kernel", "link_driver", "--bytes", "4MiB", "--format", "json", "--device", device];
    let Outcome { status, out, err } = outcome(&mut coalesce(&few));
    assert_eq!(status, Some(0), "{err}");
    let records = out.lines().map(|line| serde_json::from_str(line).expect("a record"));
    (records.map(|record: Value| row(&record)).collect(), err)
}

/// GB/s of 4 MiB that take a latency and then move at this rate.
fn rate(latency_us: f64, gb_per_s: f64) -> f64 {
    let bytes = f64::from(4 << 20);
    bytes / (latency_us * 1e3 + bytes / gb_per_s)
}

#[test]
fn two_cards_have_the_whole_matrix() {
    let (rows, err) = rows("sim:h200x2");
    let host = rate(2.54, 55.4);
    let link = rate(6.0, 397.0);
    let expected = [
        ("host > card 0, one", host),
        ("card 0 > host, one", host),
        ("host > card 0, both", 2.0 * host),
        ("card 1 > card 0, one", link),
        ("card 0 > card 1, one", link),
        ("card 0 > card 1, both", link * 784.0 / 397.0),
        ("host > card 1, one", host),
        ("card 1 > host, one", host),
        ("host > card 1, both", 2.0 * host),
        ("card 0 > card 1, one", link),
        ("card 1 > card 0, one", link),
        ("card 0 > card 1, both", link * 784.0 / 397.0),
    ];
    assert_eq!(rows.len(), expected.len());
    for ((pair, found), (known, wanted)) in rows.iter().zip(expected) {
        assert_eq!(pair, known);
        assert!((found / wanted - 1.0).abs() < 1e-3, "{pair}: {found}, and {wanted}");
    }
    // Of the machine's nodes, whatever they are, at most one note for both cards.
    let notes: Vec<&str> = err.lines().filter(|line| line.starts_with("note: link")).collect();
    assert!(notes.len() <= 1 && notes.iter().all(|note| note.contains("NUMA node")), "{err}");
}

#[test]
fn one_card_says_what_is_left_out() {
    let (rows, err) = rows("sim:h200");
    let pairs: Vec<&str> = rows.iter().map(|(pair, _)| pair.as_str()).collect();
    assert_eq!(pairs, ["host > card 0, one", "card 0 > host, one", "host > card 0, both"]);
    assert_eq!(
        err.matches("note: link: the driver shows one card, so pairs of cards, kernels on another card's memory and sums over cards")
            .count(),
        1,
        "{err}"
    );
}

#[test]
fn cards_without_a_link_copy_by_way_of_the_host() {
    let (rows, err) = rows("sim:t4x2");
    assert!(err.contains("note: link: card 0 cannot access the memory of card 1, so copies"), "{err}");
    let (pair, found) = &rows[3];
    assert_eq!(pair, "card 1 > card 0, one");
    // Two host links one after the other: 30 us and 12.35 GB/s each.
    let wanted = rate(60.0, 12.35 / 2.0);
    assert!((found / wanted - 1.0).abs() < 1e-3, "{found}, and {wanted}");
}

#[test]
fn the_cards_of_a_run_make_one_matrix_and_one_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let few = ["run", "link", "--bytes", "64KiB", "--device", "sim:h200x3", "--out"];
    let Outcome { status, out, err } = outcome(coalesce(&few).arg(folder.path()).env("COLUMNS", "80"));
    assert_eq!(status, Some(0), "{err}");
    let matrices: Vec<&str> = out.split("from \\ to").collect();
    assert_eq!(matrices.len(), 1 + 2, "one way and both ways: {out}");
    let figures = |matrix: &str, end: &str| {
        let line = matrix.lines().find(|line| line.starts_with(end)).unwrap_or_default();
        line.split_whitespace()
            .filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))
            .count()
    };
    // `card 0` itself is a number in each line.
    assert_eq!(
        ["host", "card 0", "card 1", "card 2"].map(|end| figures(matrices[1], end)),
        [3, 4, 4, 4],
        "{out}"
    );
    assert_eq!(
        ["host", "card 0", "card 1", "card 2"].map(|end| figures(matrices[2], end)),
        [3, 3, 2, 0],
        "{out}"
    );
    // What each card does with the next is one row, with a figure for each.
    let row = out.lines().find(|line| line.starts_with("stride_f32, memory next, stride 8")).expect("a row");
    assert_eq!(row.split("GB/s").nth(1).map(|figures| figures.split_whitespace().count()), Some(4), "{row}");
    assert!(out.contains("the cards are within 2% of each other"), "{out}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    for ways in ["one", "both"] {
        let title = format!("over to and from, ways {ways}, 3 x NVIDIA H200, modelled");
        assert!(page.contains(&title), "{title}");
    }
}

#[test]
fn counters_in_another_cards_memory_are_added_to() {
    let few =
        ["run", "link", "--kernel", "atomics_global_fetch_u32", "--format", "json", "--device", "sim:h200x2"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&few));
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("atomic operations on another card's memory have not been measured"), "{err}");
    let records: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    assert_eq!(records.len(), 2 * 4);
    for record in &records {
        assert_eq!((&record["verified"], &record["experiment"]), (&true.into(), &"link".into()), "{record}");
        assert!(
            record["counters"]["link"]["peer_sectors_written"].as_u64().is_some_and(|sectors| sectors > 0),
            "{record}"
        );
    }
}

#[test]
fn kernels_move_sectors_over_the_link() {
    let few = ["run", "link", "--kernel", "copy_scalar,copy_vector,offset_f32,stride_f32", "--bytes", "1MiB"];
    let Outcome { status, out, err } =
        outcome(coalesce(&few).args(["--format", "json", "--device", "sim:h200x2"]));
    assert_eq!(status, Some(0), "{err}");
    let records: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    assert_eq!(records.len(), 2 * (4 + 4 + 6));
    for record in &records {
        assert_eq!((&record["verified"], &record["residence"]), (&true.into(), &"peer".into()), "{record}");
    }
    let sectors = |kernel: &str, name: &str, value: Value| {
        let of = |record: &&Value| record["kernel"] == kernel && record["parameters"][name] == value;
        let link = &records.iter().find(of).expect("a row")["counters"]["link"];
        ["peer_sectors_read", "peer_sectors_written"].map(|count| link[count].as_u64().unwrap_or(0))
    };
    // 1 MiB is 32768 sectors.
    assert_eq!(sectors("copy_scalar", "from", "card 1".into()), [32_768, 0]);
    assert_eq!(sectors("copy_vector", "from", "card 0".into()), [0, 32_768]);
    assert_eq!(sectors("offset_f32", "offset", 8.into()), [32_768, 32_768]);
    // A block of 256 lanes has one sector more where it is misaligned.
    assert_eq!(sectors("offset_f32", "offset", 1.into()), [32_768 + 1024; 2]);
    for (stride, times) in [(1, 1), (2, 2), (8, 8), (32, 8)] {
        assert_eq!(sectors("stride_f32", "stride", stride.into()), [times * 32_768; 2], "{stride}");
    }
    // Of each word a masked sector and a request: what takes as long as 62.6 bytes of a copy at 397 GB/s.
    let record = records.iter().find(|record| record["parameters"]["stride"] == 32).expect("a row");
    let wanted = f64::from(1 << 18) * 62.6 / 397e3;
    let us = 1e3 * record["time_ms"]["median"].as_f64().expect("a time");
    assert!((us / wanted - 1.0).abs() < 0.05, "{us} us, and {wanted}");
    assert!(
        record["explanation"]
            .as_str()
            .is_some_and(|text| text.ends_with("bound by the link between the cards"))
    );
}

#[test]
fn a_chain_takes_the_latency_of_the_other_card() {
    let few = ["run", "link", "--kernel", "chase_l2", "--format", "json", "--device", "sim:h200x2"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&few));
    assert_eq!(status, Some(0), "{err}");
    let record: Value = serde_json::from_str(out.lines().next().expect("a row")).expect("a record");
    assert_eq!((&record["verified"], &record["parameters"]["memory"]), (&true.into(), &"card 1".into()));
    // That of the card's description.
    let ns = record["ns_per_operation"].as_f64().expect("a latency");
    assert!((ns / 853.0 - 1.0).abs() < 0.02, "{ns}");
}

/// The rows of `ring_add` on a number of simulated H200s.
fn sums(cards: u32, more: &[&str]) -> (Vec<Value>, String) {
    let device = format!("sim:h200x{cards}");
    let few = ["run", "link", "--kernel", "ring_add", "--format", "json", "--device", &device];
    let Outcome { status, out, err } = outcome(coalesce(&few).args(more));
    assert_eq!(status, Some(0), "{err}");
    let records: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    assert!(records.iter().all(|record| record["verified"] == true), "{out}");
    (records, err)
}

#[test]
fn a_sum_over_cards_is_right_on_each_and_has_two_rates() {
    for cards in [2_u32, 3] {
        let (records, err) = sums(cards, &["--bytes", "4MiB"]);
        // Of each card a step by itself, and the sum with chunks whole and in four pieces.
        assert_eq!(records.len(), 3 * cards as usize);
        assert_eq!(err.matches("sums over cards have not been measured yet").count(), 1, "{err}");
        let of_sums = records.iter().filter(|record| record["parameters"]["cards"] == cards);
        let mut pieces = Vec::new();
        for record in of_sums {
            let number = |value: &Value| value.as_f64().expect("a number");
            let bytes = number(&record["parameters"]["bytes"]);
            assert!(bytes <= f64::from(4 << 20) && bytes > f64::from(4 << 20) - 1024.0, "{bytes}");
            let algorithm = bytes / 1e6 / number(&record["time_ms"]["median"]);
            let bus = algorithm * 2.0 * f64::from(cards - 1) / f64::from(cards);
            let close =
                |found: &Value, wanted: f64| assert!((number(found) / wanted - 1.0).abs() < 1e-6, "{found}");
            close(&record["observed"]["algorithm_gb_per_s"], algorithm);
            close(&record["observed"]["bus_gb_per_s"], bus);
            close(&record["gb_per_s"], bus);
            // Not more than the link carries, and not the time of one card after the other.
            assert!(bus < 397.0 && bus > 397.0 / f64::from(cards), "{bus}");
            assert!(record["counters"].is_null(), "no launch stands for all of them");
            pieces.push(number(&record["parameters"]["pieces"]));
        }
        assert_eq!(pieces, [1.0, 4.0].repeat(cards as usize));
    }
}

#[test]
fn a_step_of_the_sum_moves_what_it_reads_over_the_link() {
    let (records, _) = sums(2, &["--bytes", "1MiB"]);
    let step = records.iter().find(|record| record["parameters"]["from"] == "card 1").expect("a row");
    let link = &step["counters"]["link"];
    // 1 MiB is 32768 sectors; the card's own arrays are not on the link.
    assert_eq!(
        (link["peer_sectors_read"].as_u64(), link["peer_sectors_written"].as_u64()),
        (Some(32_768), None)
    );
    assert_eq!(step["parameters"]["to"], "card 0");
}

#[test]
fn the_list_says_what_needs_several_cards() {
    let Outcome { out, .. } = outcome(&mut coalesce(&["list"]));
    let link =
        out.split("\nlink\n").nth(1).and_then(|rest| rest.split("\nlaunch\n").next()).unwrap_or_default();
    assert!(link.contains("\n    on several cards alone: ring_add"), "{out}");
    assert!(
        link.contains("kernels: link_driver, copy_scalar") && link.matches("ring_add").count() == 1,
        "{link}"
    );
}

#[test]
fn one_card_has_no_sum_and_cards_without_a_link_have_none() {
    let few = ["run", "link", "--bytes", "64KiB", "--format", "json", "--device"];
    for (device, says) in [
        ("sim:h200", "so pairs of cards, kernels on another card's memory and sums over cards are left out"),
        ("sim:t4x2", "form no ring in which each can access the next, so sums over cards are left out"),
    ] {
        let Outcome { status, out, err } = outcome(coalesce(&few).arg(device));
        assert_eq!(status, Some(0), "{err}");
        assert!(err.contains(says), "{err}");
        assert!(!out.contains("ring_add"), "{out}");
    }
}

#[test]
fn the_kernel_of_the_sum_is_checked_on_several_cards() {
    let few = ["check", "ring_add", "--device", "sim:h200x3"];
    let Outcome { status, out, err } = outcome(&mut coalesce(&few));
    assert_eq!(status, Some(0), "{out}{err}");
    // A step by itself, and the sum with chunks whole and in pieces.
    assert!(out.contains("no findings of 1 kernel in 3 launches on a simulated H200"), "{out}");
    let Outcome { status, err, .. } = outcome(&mut coalesce(&few[..2]));
    assert_eq!(status, Some(2), "{err}");
    assert!(
        err.contains(
            "ring_add sums over cards that can access each other's memory, and there are no such cards"
        ),
        "{err}"
    );
}
