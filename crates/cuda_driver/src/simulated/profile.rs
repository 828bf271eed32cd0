//! Writes the profile that [`PROFILE_VARIABLE`](super::PROFILE_VARIABLE) requests: a JSON object for each launch when
//! it ends, and a table of all at the end of the program. docs/profile.md describes both.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use simt::cards::Card;
use simt::count::{Counts, LaunchCounters, Metric, Modelled, SourcePlace};
use simt::model::Unknown;

use super::records::LaunchRecord;

/// The profile's file and the rows of its table.
#[derive(Debug)]
pub(super) struct Profile {
    path: PathBuf,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    launches: u64,
    /// Rows, by kernel and card.
    rows: BTreeMap<(String, String), Row>,
    failed: bool,
}

/// Sums over the launches of one kernel on one card.
#[derive(Clone, Debug, Default)]
struct Row {
    launches: u64,
    seconds: f64,
    /// Why a launch among them has no modelled time, if one has none.
    unknown: Option<Unknown>,
    counts: Counts,
    dram_bytes: u64,
}

impl Profile {
    /// Creates the file.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub(super) fn new(path: &Path) -> std::io::Result<Self> {
        let file = File::create(path)?;
        let written = Written { file, launches: 0, rows: BTreeMap::new(), failed: false };
        Ok(Self { path: path.to_owned(), written: Mutex::new(written) })
    }

    /// Writes a launch's record and adds it to the table.
    pub(super) fn add(&self, launch: &LaunchRecord, card: &Card) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.launches += 1;
        let unknown = Unknown::of(&launch.counters, launch.sites(), &launch.time, card);
        let line = format!("{}\n", record(written.launches, launch, unknown, card));
        if let Err(cause) = written.file.write_all(line.as_bytes())
            && !std::mem::replace(&mut written.failed, true)
        {
            let path = self.path.display();
            super::say(format_args!("the profile {path} is incomplete, since it cannot be written: {cause}"));
        }
        let row = written.rows.entry((launch.kernel.clone(), card.key.clone())).or_default();
        row.launches += 1;
        row.seconds += launch.seconds;
        row.unknown = row.unknown.or(unknown);
        row.counts += launch.counters.total;
        row.dram_bytes += launch.counters.dram_bytes(card.dram_granule_bytes);
    }

    /// Returns the table of all launches so far, by kernel.
    pub(super) fn table(&self) -> Table {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Table { path: self.path.clone(), rows: written.rows.clone() }
    }
}

fn named(metrics: Vec<Metric>) -> Map<String, Value> {
    metrics.into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect()
}

/// Writes counts without a fraction, and ratios with one.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 2f64.powi(53) { json!(value as i64) } else { json!(value) }
}

fn record(number: u64, launch: &LaunchRecord, unknown: Option<Unknown>, card: &Card) -> Value {
    let time = &launch.time;
    let nanoseconds = unknown.is_none().then_some(launch.seconds * 1e9);
    json!({
        "launch": number,
        "module": launch.loaded.number,
        "kernel": launch.kernel,
        "device": launch.device,
        "card": card.key,
        "card_name": card.name,
        "compute_capability": card.compute_capability.to_string(),
        "multiprocessors": card.multiprocessors,
        "l2_bytes": card.l2_bytes,
        "grid": launch.grid,
        "block": launch.block,
        "static_shared_bytes": launch.static_shared_bytes,
        "dynamic_shared_bytes": launch.dynamic_shared_bytes,
        "blocks_per_multiprocessor": launch.occupancy.blocks,
        "warps_per_multiprocessor": launch.occupancy.warps,
        "metrics": named(launch.counters.metrics()),
        "modelled": {
            "gpu__time_duration.sum": nanoseconds,
            "unknown": unknown.map(|unknown| unknown.to_string()),
            "seconds": {
                "launch": time.launch,
                "dram": time.dram,
                "l2": time.l2,
                "on_chip": time.on_chip,
                "issue": time.issue,
                "latency": time.latency,
                "host_link": launch.link_seconds,
                "migration": launch.migration.seconds,
            },
            "metrics": named(launch.counters.modelled_metrics(card.dram_granule_bytes)),
        },
        "counters": LaunchCounters { sites: Vec::new(), worst: Vec::new(), ..launch.counters.clone() },
        "dram_bytes": launch.counters.dram_bytes(card.dram_granule_bytes),
        "lines": lines(launch),
    })
}

/// Returns counts by source line, in the order of files and lines. Empty without line information.
fn lines(launch: &LaunchRecord) -> Vec<Value> {
    let counters = &launch.counters;
    let worst = counters.worst_by_line(launch.sites());
    let by_line = counters.by_line(launch.sites()).into_iter();
    let line = |(place, counts): (SourcePlace, Counts)| {
        let (file, line) = place.as_ref()?;
        let metrics = named(counts.metrics());
        let mut known = json!({ "file": &**file, "line": line, "metrics": metrics, "counts": counts });
        if let Some(worst) = worst.get(&place) {
            known["worst"] = json!(worst);
        }
        Some(known)
    };
    by_line.filter_map(line).collect()
}

/// A table of a program's launches: a row for each kernel on each card, the longest total time first.
#[derive(Clone, Debug)]
pub(super) struct Table {
    path: PathBuf,
    rows: BTreeMap<(String, String), Row>,
}

/// Most characters of a kernel's name in the table.
const WIDEST: usize = 48;

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u64 = self.rows.values().map(|row| row.launches).sum();
        let launches = if all == 1 { "launch" } else { "launches" };
        let path = self.path.display();
        writeln!(
            formatter,
            "==PROF== {all} {launches} on simulated cards, times modelled; a record of each in {path}"
        )?;
        if self.rows.is_empty() {
            return Ok(());
        }
        let timed = |row: &&Row| row.unknown.is_none();
        let seconds: f64 = self.rows.values().filter(timed).map(|row| row.seconds).sum();
        let names = self.rows.keys().map(|(kernel, _)| kernel.chars().count().min(WIDEST));
        let width = names.max().unwrap_or(0).max("kernel".len());
        writeln!(
            formatter,
            "{:<width$}  {:<8}  {:>8}  {:>12}  {:>6}  {:>12}  {:>10}  {:>10}  {:>12}  {:>12}",
            "kernel",
            "card",
            "launches",
            "modelled us",
            "share",
            "us/launch",
            "sect/ld",
            "sect/st",
            "conflicts",
            "DRAM MB"
        )?;
        let mut rows: Vec<_> = self.rows.iter().collect();
        // Those without a time come last.
        let order = |row: &Row| if row.unknown.is_none() { row.seconds } else { -1.0 };
        rows.sort_by(|(_, one), (_, other)| order(other).total_cmp(&order(one)));
        for &((kernel, card), row) in &rows {
            let shown = shortened(kernel);
            let time = |text: String| if row.unknown.is_some() { "-".to_owned() } else { text };
            let ratio = |requests: u64, ratio: f64| {
                if requests == 0 { "-".to_owned() } else { format!("{ratio:.2}") }
            };
            let Counts { loads, stores, .. } = row.counts;
            writeln!(
                formatter,
                "{shown:<width$}  {card:<8}  {:>8}  {:>12}  {:>6}  {:>12}  {:>10}  {:>10}  {:>12}  {:>12.2}",
                row.launches,
                time(format!("{:.2}", row.seconds * 1e6)),
                time(format!("{:.1}%", 100.0 * row.seconds / seconds)),
                time(format!("{:.2}", row.seconds * 1e6 / row.launches as f64)),
                ratio(loads.requests, loads.sectors_per_request()),
                ratio(stores.requests, stores.sectors_per_request()),
                row.counts.excess_wavefronts(),
                row.dram_bytes as f64 / 1e6,
            )?;
        }
        for ((kernel, _), Row { unknown, .. }) in rows {
            if let Some(unknown) = unknown {
                writeln!(formatter, "{}: {unknown}", shortened(kernel))?;
            }
        }
        Ok(())
    }
}

/// A kernel's name as the table shows it.
fn shortened(kernel: &str) -> String {
    if kernel.chars().count() > WIDEST {
        kernel.chars().take(WIDEST - 3).chain("...".chars()).collect()
    } else {
        kernel.to_owned()
    }
}

/// Returns the table of all launches so far; None if no profile is requested.
pub(super) fn table() -> Option<Table> {
    Some(super::driver::driver().ok()?.profile.as_ref()?.table())
}
