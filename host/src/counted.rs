//! Converts the simulator's counters of a launch into those of a record.

use crate::simulated::{Card, LaunchRecord};
use record::{
    Counted, Estimates, Line, Parts,
    counters::{Counts, LaunchCounters},
};
use simt::count::{Modelled, SourcePlace};

/// The counters of a launch that was simulated on this card, in total and by line of the source.
pub(crate) fn counted(record: &LaunchRecord, card: &Card) -> Counted {
    let microseconds = |seconds: f64| seconds * 1e6;
    let time = &record.time;
    let launch = LaunchCounters { sites: Vec::new(), worst: Vec::new(), ..record.counters.clone() };
    let modelled_us = Parts {
        launch: microseconds(time.launch),
        dram: microseconds(time.dram),
        l2: microseconds(time.l2),
        on_chip: microseconds(time.on_chip),
        issue: microseconds(time.issue),
        latency: microseconds(time.latency),
        link: microseconds(record.link_seconds),
        migration: microseconds(record.migration.seconds),
    };
    Counted {
        dram_bytes: launch.dram_bytes(card.dram_granule_bytes),
        modelled_us,
        bound: modelled_us.bound(),
        estimates_us: record.estimates.map(Estimates::of_seconds),
        lines: lines(record),
        launch,
    }
}

/// Sums by line of the user's own source, in the order of files and lines.
fn lines(record: &LaunchRecord) -> Vec<Line> {
    let sites = record.sites();
    let worst = record.counters.worst_by_line(sites);
    let line = |(place, counts): (SourcePlace, Counts)| {
        let worst = worst.get(&place).map(|&access| access.clone());
        let (file, line) = place.map_or_else(Default::default, |(file, line)| (file.to_string(), line));
        Line { file, line, counts, worst }
    };
    record.counters.by_line(sites).into_iter().map(line).collect()
}
