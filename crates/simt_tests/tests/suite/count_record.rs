//! Counters as records keep them, and by line of the source.

use crate::count_drive::{launch, shape, waits_before};
use simt::cards::find;
use simt::count::{Counts, L2State, LaunchCounters, LaunchShape, Modelled};
use simt::exec::{SiteInfo, SourceLine};
use simt::observe::{Operation, Space};
use simt::ptx::op::Op;

fn counters() -> LaunchCounters {
    let card = find("h200").unwrap();
    let shape = LaunchShape { facts: waits_before(2), ..shape(&card, 64, 256) };
    let finished = launch(shape, L2State::new(card), &[], |block| {
        for warp in 0..8 {
            let first = (block.block * 8 + u64::from(warp)) * 32;
            block.issue(warp, 0, 3);
            block.load(warp, 1, 4, |lane| (1 << 30) + (first + lane) * 4);
            block.access(warp, 2, Space::Shared, Operation::Store, 4, |lane| lane * 8);
            block.store(warp, 4, 4, |lane| (1 << 31) + (first + lane) * 8);
        }
    });
    finished.counters
}

#[test]
fn json_and_back() {
    let counters = counters();
    let text = serde_json::to_string(&counters).unwrap();
    assert_eq!(serde_json::from_str::<LaunchCounters>(&text).unwrap(), counters);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["total"]["loads"]["sectors"], 4 * 512);
    assert_eq!(value["total"]["stores"]["sectors"], 8 * 512);
    assert_eq!(value["total"]["shared_stores"]["wavefronts"], 2 * 512);
    assert_eq!(value["dram_read"]["granules"], 1024);
    assert_eq!(value["l2_sectors_written"], 8 * 512);
    assert_eq!(value["sites"][1]["site"], 1);
    assert_eq!(value["sites"][1]["loads"]["requests"], 512);
    // What counted nothing is not written.
    assert_eq!(value["total"].get("atomics"), None);
    assert_eq!(value["total"]["loads"].get("straddling"), None);
    assert_eq!(value.get("link"), None);
    assert_eq!(value["sites"].as_array().unwrap().len(), 4, "nothing at site 3");
    // A record without sites.
    let short = LaunchCounters { sites: Vec::new(), ..counters };
    let text = serde_json::to_string(&short).unwrap();
    assert!(!text.contains("\"sites\""));
    assert_eq!(serde_json::from_str::<LaunchCounters>(&text).unwrap(), short);
    assert!(serde_json::from_str::<Counts>(r#"{"sector": 1}"#).is_err(), "a misspelt name");
}

#[test]
fn sums() {
    let counters = counters();
    let all: Counts = counters.sites.iter().map(|site| site.counts).sum();
    assert_eq!(all, counters.total);
    assert_eq!((all + all).instructions, 2 * all.instructions);
    assert_eq!((all + all).loads.bytes_requested, 2 * 512 * 128);
    assert_eq!(all.global().requests, 1024);
    assert_eq!(counters.round_trips, 1.0);
    assert_eq!((counters.warps, counters.blocks, counters.resident_warps), (512, 64, 64));
}

#[test]
fn by_line_of_the_source() {
    let counters = counters();
    let line = |file: &str, line| SourceLine { file: file.into(), line, column: 1, function: None };
    let site = |opcode: &str, source: Vec<SourceLine>| {
        let op = Op::read(opcode).expect("an opcode");
        SiteInfo { source, ..SiteInfo::alone("kernel".into(), opcode, op, 10) }
    };
    let sites = [
        site("add.s64", vec![line("src/kernel.rs", 7)]),
        site("ld.global.b32", vec![line("/rustc/abc/library/core/src/ptr.rs", 99), line("src/kernel.rs", 8)]),
        site("st.shared.b32", vec![line("src/kernel.rs", 8)]),
        site("bar.sync", vec![line("src/kernel.rs", 9)]),
        site("st.global.b32", Vec::new()),
    ];
    let lines = counters.by_line(&sites);
    let of = |line: u32| lines[&Some(("src/kernel.rs".into(), line))];
    assert_eq!(lines.len(), 3);
    assert_eq!(of(7).instructions, 3 * 512);
    assert_eq!((of(8).loads.requests, of(8).shared_stores.requests, of(8).instructions), (512, 512, 1024));
    assert_eq!(lines[&None].stores.requests, 512);
    let by_parity = counters.grouped(|site| site % 2);
    assert_eq!(by_parity[&0] + by_parity[&1], counters.total);
}
