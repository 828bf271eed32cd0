//! Findings that one change of the source would mend are shown as one.

use simt::check::{Check, Checks, Report};
use simt::observe::Operation::{Load, Store};

use crate::check_events::{Events, GLOBAL, SHARED};
use crate::check_lab::{BYTES, all};

/// Two warps write a tile at line `store` and read what the other wrote at line `load`, without a barrier. The tile is at
/// `address`.
fn no_barrier(events: &mut Events, warp: u32, tiles: &[(u32, u32, u64)]) {
    let own = |address: u64| move |lane: u64| address + 128 * u64::from(warp) + 4 * lane;
    let other = |address: u64| move |lane: u64| address + 128 * u64::from(1 - warp) + 4 * lane;
    for (store, _, address) in tiles {
        events.access(0, warp, *store, SHARED, Store, 4, own(*address));
    }
    for (_, load, address) in tiles {
        events.access(0, warp, *load, SHARED, Load, 4, other(*address));
    }
}

fn report(events: Events, checks: Checks) -> Report {
    let mut report = Report::new(checks);
    report.launch(events.findings());
    report
}

#[test]
fn races_that_one_barrier_would_order_are_one_finding() {
    let racecheck = Checks::from(Check::Racecheck);
    let mut events = Events::new(racecheck, [1, 1, 1], [64, 1, 1]);
    let tiles = [(1, 3, 0), (2, 4, 256)];
    no_barrier(&mut events, 0, &tiles);
    no_barrier(&mut events, 1, &tiles);
    let mut report = report(events, racecheck);
    assert_eq!((report.findings().len(), report.groups().len(), report.groups()[0].accesses()), (4, 1, 128));
    assert_eq!(
        report.to_string(),
        "========= COMPUTE-SANITIZER (simulated: racecheck)\n\
         ========= Error: Race reported between Read access at kernel+line 3 of the PTX in src/lib.rs:30:5\n\
         =========     and Write access at kernel+line 1 of the PTX in src/lib.rs:10:5 [128 hazards]\n\
         =========     Read by thread (0,0,0) in block (0,0,0)\n\
         =========     Write by thread (32,0,0) in block (0,0,0)\n\
         =========     RAW and WAR hazards in __shared__ memory, at 4 pairs of instructions\n\
         =========     A barrier that orders those lines orders these too:\n\
         =========     kernel+line 2 of the PTX in src/lib.rs:20:5\n\
         =========     kernel+line 4 of the PTX in src/lib.rs:40:5\n\
         =========\n\
         ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
    );
    report.show_all();
    let text = report.to_string();
    assert_eq!(text.matches("Error: Race reported between").count(), 4, "{text}");
    assert!(text.ends_with("RACECHECK SUMMARY: 4 hazards displayed (4 errors, 0 warnings)\n"), "{text}");
}

#[test]
fn two_missing_barriers_are_two_findings() {
    let racecheck = Checks::from(Check::Racecheck);
    let mut events = Events::new(racecheck, [1, 1, 1], [64, 1, 1]);
    for warp in [0, 1] {
        no_barrier(&mut events, warp, &[(1, 4, 0), (2, 3, 256)]);
        no_barrier(&mut events, warp, &[(5, 6, 512)]);
    }
    let report = report(events, racecheck);
    let groups = report.groups();
    let lines = |number: usize| {
        let mut lines: Vec<u32> = groups[number]
            .findings()
            .iter()
            .flat_map(|known| {
                let first = known.finding.place.as_ref().and_then(|place| place.line());
                first.map(|line| line.line)
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    };
    // The first access of each pair: warp 0 reads before warp 1 writes, and writes before warp 1 reads.
    assert_eq!((groups.len(), lines(0), lines(1)), (2, vec![10, 20, 30, 40], vec![50, 60]));
}

#[test]
fn races_in_global_memory_are_told_apart_by_their_lines() {
    let racecheck = Checks::from(Check::Racecheck);
    let mut events = Events::new(racecheck, [2, 1, 1], [32, 1, 1]);
    events.access(0, 0, 1, GLOBAL, Store, 4, |lane| 0x1000 + 4 * lane);
    events.access(0, 0, 2, GLOBAL, Store, 4, |lane| 0x2000 + 4 * lane);
    events.end(0);
    events.access(1, 0, 3, GLOBAL, Load, 4, |lane| 0x1000 + 4 * lane);
    events.access(1, 0, 4, GLOBAL, Load, 4, |lane| 0x2000 + 4 * lane);
    assert_eq!(report(events, racecheck).groups().len(), 2);
}

#[test]
fn a_missing_barrier_is_one_finding_with_its_lines_quoted() {
    let lab = all();
    let (data, out) = (lab.zeros(BYTES), lab.empty(BYTES));
    let mut report = Report::new(Checks::ALL);
    report.named_launch(
        "read_after_write, 2 blocks",
        lab.launch("read_after_write", 2, &[data.into(), out.into()]),
    );
    // Both orders of the race, and the reads of the warp that came before the other had written.
    assert_eq!((report.findings().len(), report.groups().len()), (3, 1));
    // `*tile.add(..) = ..` and the line after it, the first of the file.
    let source: Vec<&str> = include_str!("../faulty/src/racecheck.rs").lines().collect();
    let store = source.iter().position(|line| line.contains("*tile.add(here()) = ")).unwrap();
    let load = (store..).find(|line| source[*line].contains("*out.add(place()) = ")).unwrap();
    let quoted_line = |line: usize| format!("=========     {} | {}", line + 1, source[line]);
    let text = report.to_string();
    let quoted: Vec<&str> = text.lines().skip(3).take(8).collect();
    assert_eq!(
        quoted,
        [
            quoted_line(load),
            "=========        | Read by thread (0,0,0) in block (0,0,0)".to_owned(),
            quoted_line(store),
            "=========        | Write by thread (32,0,0) in block (0,0,0)".to_owned(),
            "=========     RAW and WAR hazards in __shared__ memory, at 2 pairs of instructions".to_owned(),
            "=========     64 of the reads came before anything was written there".to_owned(),
            "=========     in the launch read_after_write, 2 blocks".to_owned(),
            "=========".to_owned(),
        ]
    );
    assert!(
        text.starts_with(
            "========= COMPUTE-SANITIZER (simulated: memcheck,racecheck,initcheck,synccheck)\n\
             ========= Error: Race reported between Read access at read_after_write+line "
        ),
        "{text}"
    );
}
