//! What the simulator counted of one launch, as records carry it.

use crate::simulated::{Card, LaunchRecord};
use serde::{Deserialize, Serialize};
use simt::model::Level;
use std::{fmt, sync::Arc};

pub(crate) use simt::count::{Counts, LaunchCounters, MemoryCounts};

/// The counters of one launch of a row. Counts follow the rules of the card's compute capability and are exact as far
/// as those are; what L2 and device memory moved, and the times, are modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// The counters, without those of single instructions.
    #[serde(flatten)]
    pub launch: LaunchCounters,
    /// Bytes that device memory moved, read and written.
    pub dram_bytes: u64,
    /// Where the modelled time goes.
    pub modelled_us: Parts,
    /// The part that is longest.
    pub bound: Bound,
    /// The counters of each line of the kernel's source, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
}

/// What each level alone would take, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    /// Starting the kernel.
    pub launch: f64,
    /// Device memory.
    pub dram: f64,
    /// The second-level cache.
    pub l2: f64,
    /// Shared memory and L1.
    pub on_chip: f64,
    /// Issuing instructions.
    pub issue: f64,
    /// Waiting, for data or for blocks to start.
    pub latency: f64,
    /// The host link, for what is read and written where the host has it.
    #[serde(default)]
    pub link: f64,
    /// Moving pages of managed memory, which comes on top of all others.
    #[serde(default)]
    pub migration: f64,
}

/// A level that a launch may spend its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    /// Device memory.
    Dram,
    /// The second-level cache.
    L2,
    /// Shared memory and L1.
    OnChip,
    /// Issuing instructions.
    Issue,
    /// Waiting.
    Latency,
    /// Starting the kernel.
    Launch,
    /// The host link.
    Link,
    /// Moving pages.
    Migration,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Bound::Dram => "DRAM",
            Bound::L2 => "L2",
            Bound::OnChip => "on chip",
            Bound::Issue => "issue",
            Bound::Latency => "latency",
            Bound::Launch => "launch",
            Bound::Link => "host link",
            Bound::Migration => "moving pages",
        })
    }
}

/// The counters of a line of source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// The file, as far as it is of use to name it.
    pub file: String,
    /// The line, from 1; 0 for what no line is known of.
    pub line: u32,
    /// Its counters.
    pub counts: Counts,
}

impl Counters {
    /// Of a launch that was simulated on this card; with those of its lines, if they are wanted.
    pub(crate) fn of(record: &LaunchRecord, card: &Card, with_lines: bool) -> Counters {
        let microseconds = |seconds: f64| seconds * 1e6;
        let time = &record.time;
        let launch = LaunchCounters { sites: Vec::new(), ..record.counters.clone() };
        Counters {
            dram_bytes: launch.dram_read.bytes(card) + launch.dram_written.bytes(card),
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

    /// Bytes that global memory's requests moved for each byte that lanes asked for; `None` where they asked for none.
    pub(crate) fn moved_over_asked(&self) -> Option<f64> {
        let global = self.launch.total.global();
        (global.bytes_requested > 0).then(|| global.bytes_moved as f64 / global.bytes_requested as f64)
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
        time.bound().into()
    }
}

impl From<Level> for Bound {
    fn from(level: Level) -> Bound {
        match level {
            Level::Dram => Bound::Dram,
            Level::L2 => Bound::L2,
            Level::OnChip => Bound::OnChip,
            Level::Issue => Bound::Issue,
            Level::Latency => Bound::Latency,
            Level::Launch => Bound::Launch,
        }
    }
}

/// Sums by line of the user's own source, in the order of files and lines.
fn lines(record: &LaunchRecord) -> Vec<Line> {
    let by_line = record.counters.by_line(record.sites());
    let line = |(place, counts): (Option<(Arc<str>, u32)>, Counts)| match place {
        Some((file, line)) => Line { file: file.to_string(), line, counts },
        None => Line { file: String::new(), line: 0, counts },
    };
    by_line.into_iter().map(line).collect()
}
