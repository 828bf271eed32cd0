//! What the simulator counted of one launch, made into what records carry.

use crate::simulated::{Card, LaunchRecord};
use record::{
    Bound, Counted, Line, Parts,
    counters::{Counts, LaunchCounters},
};
use simt::{count::Modelled, model::Level};
use std::sync::Arc;

/// The counters of a launch that was simulated on this card; with those of its lines, if they are wanted.
pub(crate) fn counted(record: &LaunchRecord, card: &Card, with_lines: bool) -> Counted {
    let microseconds = |seconds: f64| seconds * 1e6;
    let time = &record.time;
    let launch = LaunchCounters { sites: Vec::new(), ..record.counters.clone() };
    Counted {
        dram_bytes: launch.dram_read.bytes(card.dram_granule_bytes)
            + launch.dram_written.bytes(card.dram_granule_bytes),
        modelled_us: Parts {
            launch: microseconds(time.launch),
            dram: microseconds(time.dram),
            l2: microseconds(time.l2),
            on_chip: microseconds(time.on_chip),
            issue: microseconds(time.issue),
            latency: microseconds(time.latency),
            link: microseconds(record.link_seconds),
            migration: microseconds(record.migration.seconds),
        },
        bound: bound(record),
        lines: if with_lines { lines(record) } else { Vec::new() },
        launch,
    }
}

/// What takes longest.
fn bound(record: &LaunchRecord) -> Bound {
    let time = &record.time;
    let parts = [time.launch, time.dram, time.l2, time.on_chip, time.issue, time.latency];
    let on_card = parts.into_iter().fold(0.0, f64::max);
    if record.migration.seconds > on_card.max(record.link_seconds) {
        Bound::Migration
    } else if record.link_seconds > on_card {
        Bound::Link
    } else {
        of_level(time.bound())
    }
}

fn of_level(level: Level) -> Bound {
    match level {
        Level::Dram => Bound::Dram,
        Level::L2 => Bound::L2,
        Level::OnChip => Bound::OnChip,
        Level::Issue => Bound::Issue,
        Level::Latency => Bound::Latency,
        Level::Launch => Bound::Launch,
    }
}

/// Sums by line of the user's own source, in the order of files and lines.
fn lines(record: &LaunchRecord) -> Vec<Line> {
    let by_line = record.counters.by_line(record.sites());
    let line = |(place, counts): (Option<(Arc<str>, u32)>, Counts)| match place {
        Some((file, line)) => Line { file: file.to_string(), line, counts, worst: None },
        None => Line { file: String::new(), line: 0, counts, worst: None },
    };
    by_line.into_iter().map(line).collect()
}
