//! The parameters that an experiment's rows share, and those that differ.

use super::{lessons::told, library::is_beside_library};
use record::{Backend, Bytes, Language, Load, Measure, Operation, Record, Residence, SIZES, shown};

/// The line of conditions that all rows of an experiment share.
pub(super) fn setting(rows: &[&Record]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let same = |value: &dyn Fn(&Record) -> String| rows.iter().all(|row| value(row) == value(first));
    let mut parts = Vec::new();
    if same(&|row| format!("{:?}", (row.bytes.read, row.bytes.written))) {
        match (first.bytes.read, first.bytes.written) {
            (0, 0) => {}
            (read, 0) => parts.push(format!("{} read", Bytes(read))),
            (0, written) => parts.push(format!("{} written", Bytes(written))),
            // A halo or a remainder makes no difference that counts.
            (read, written) if read.abs_diff(written) < read / 1000 || read == written => {
                parts.push(format!("{} read and written", Bytes(read.min(written))));
            }
            (read, written) => parts.push(format!("{} read and {} written", Bytes(read), Bytes(written))),
        }
    }
    let varying = varying(rows);
    let kernel = rows.iter().find(|row| row.language != Language::Driver).unwrap_or(first);
    let fixed = kernel
        .parameters
        .more
        .iter()
        .filter(|(name, _)| !varying.contains(name) && !told(kernel).contains(&name.as_str()));
    parts.extend(fixed.map(|(name, value)| named(name, &shown(name, value))));
    let block = rows
        .iter()
        .find_map(|row| row.parameters.block)
        .filter(|_| !varying.iter().any(|name| name == BLOCK));
    let samples = rows.iter().find_map(|row| row.time_ms).map(|times| times.samples);
    if let Some(block) = block {
        let idle = match block.count() % 32 {
            0 => "",
            _ => " (not a multiple of 32: the last warp of each block has idle lanes)",
        };
        parts.push(format!("{block} threads per block{idle}"));
    }
    if samples.is_some() {
        use Operation::{Barrier, Dependent, Instruction, Launch};
        let without_data =
            matches!(first.measure(), Measure::Operations(Launch | Dependent | Barrier | Instruction));
        parts.extend(residence(rows).filter(|_| !without_data).map(|residence| match residence {
            Residence::Mixed => "partly from L2".to_string(),
            Residence::Host => "from the host".to_string(),
            Residence::Peer => "in another card's memory".to_string(),
            Residence::Constant => "from the constant cache".to_string(),
            Residence::L1 | Residence::L2 | Residence::Dram => format!("from {residence}"),
        }));
    }
    match (first.backend, samples) {
        (_, None) if rows.iter().all(|row| row.verified) => {
            parts.push("launched once, not timed".to_string());
        }
        (_, None) => {}
        (Backend::Measured, Some(samples)) => {
            parts.push(format!("median of {samples} samples"));
            parts.extend(load(rows).map(str::to_string));
        }
        (Backend::Modelled, Some(1)) => parts.push("modelled: one launch".to_string()),
        (Backend::Modelled, Some(samples)) => {
            parts.push(format!("modelled: median of {samples} launches"));
        }
    }
    parts.join(", ")
}

/// How long the card was kept busy, where that matters: a burst beside a library, a rest, and any sustained load.
fn load(rows: &[&Record]) -> Option<&'static str> {
    let any = |wanted| rows.iter().any(|row| row.timing.load == Some(wanted));
    if any(Load::Rested) {
        return Some("each sample after a rest");
    }
    match (any(Load::Sustained), is_beside_library(rows) && any(Load::Burst)) {
        (true, _) => Some("sustained"),
        (false, true) => Some("in bursts"),
        (false, false) => None,
    }
}

/// The residence of all these rows; `None` if they differ.
pub(super) fn residence(rows: &[&Record]) -> Option<Residence> {
    let first = rows.first()?.residence;
    rows.iter().all(|row| row.residence == first).then_some(first)
}

/// The parameter that is a block.
pub(super) const BLOCK: &str = "block";

/// The names of the parameters in which rows of an experiment differ, other than the swept one and the element type.
pub(crate) fn varying(rows: &[&Record]) -> Vec<String> {
    let is_kernel = |row: &&&Record| row.language != Language::Driver;
    let kernels: Vec<&&Record> = rows.iter().filter(is_kernel).collect();
    // Work of the driver's that stands beside kernels has none of their parameters.
    let has_any = |row: &&&Record| is_kernel(row) || !row.parameters.more.is_empty();
    let described: Vec<&&Record> = rows.iter().filter(has_any).collect();
    let mut names: Vec<&String> = described.iter().flat_map(|row| row.parameters.more.keys()).collect();
    names.sort();
    names.dedup();
    // What another table of the experiment tells is not told here.
    names.retain(|name| rows.iter().all(|row| !told(row).contains(&name.as_str())));
    let differs = |rows: &[&&Record], value: &dyn Fn(&Record) -> Option<String>| {
        rows.iter().any(|row| value(row) != value(rows[0]))
    };
    let mut varying: Vec<String> = names
        .into_iter()
        .filter(|name| differs(&described, &|row| row.parameters.more.get(*name).map(ToString::to_string)))
        .cloned()
        .collect();
    if differs(&kernels, &|row| row.parameters.block.map(|block| block.to_string())) {
        varying.push(BLOCK.to_string());
    }
    varying
}

/// The value of a parameter in a row, as text.
pub(super) fn at(row: &Record, over: &str) -> Option<String> {
    let swept =
        row.parameters.swept.as_ref().filter(|swept| swept.name == over).map(|swept| swept.value.to_string());
    let more = || row.parameters.more.get(over).map(|value| shown(over, value));
    swept.or_else(more).or_else(|| match over {
        BLOCK => row.parameters.block.map(|block| block.to_string()),
        "bytes" => Some(Bytes(row.parameters.bytes).to_string()),
        _ => None,
    })
}

/// The values of these parameters in a row, as they are shown.
pub(crate) fn values(row: &Record, names: &[String]) -> Vec<String> {
    names.iter().map(|name| at(row, name).unwrap_or_default()).collect()
}

/// A parameter and its value: a word or a shape speaks for itself, a number does not.
pub(super) fn named(name: &str, value: &str) -> String {
    let number = value.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    if number || SIZES.contains(&name) { format!("{name} {value}") } else { value.to_string() }
}

/// The label of each row: its kernel, and the parameters in which the rows differ.
pub(super) fn labels(rows: &[&Record]) -> Vec<String> {
    let names = varying(rows);
    let label = |row: &&Record| {
        let swept = row.parameters.swept.as_ref().map(|swept| swept.value.to_string());
        let more = names.iter().zip(values(row, &names)).filter(|(_, value)| !value.is_empty());
        let more = more.map(|(name, value)| named(name, &value));
        std::iter::once(row.kernel.clone()).chain(swept).chain(more).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(label).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{c870, h200};
    use record::{
        Bound, BytesMoved, Ceiling, Counted, Method, Parameters, Parts, Peak, Precision, SCHEMA, Times,
        Timing, counters::LaunchCounters,
    };
    use std::collections::BTreeMap;

    /// A row of `offset` on an H200; without a time it is INVALID.
    pub(crate) fn row(offset: u32, precision: Precision, milliseconds: Option<f64>) -> Record {
        let moved = 512.0 * 1.048_576;
        let gb_per_s = milliseconds.map(|milliseconds| moved / milliseconds);
        Record {
            schema: SCHEMA.to_string(),
            experiment: "offset".to_string(),
            kernel: format!("offset_{precision}"),
            language: Language::Rust,
            backend: Backend::Measured,
            device: h200(),
            ptx: Some("compute_90".to_string()),
            parameters: Parameters {
                precision: Some(precision),
                block: Some([256, 1, 1].into()),
                ..Parameters::of_bytes(256 << 20)
            }
            .swept("offset", offset),
            bytes: BytesMoved { read: 256 << 20, written: 256 << 20, footprint: 256 << 20 },
            residence: Residence::Dram,
            samples_ms: Vec::new(),
            time_ms: milliseconds.map(|ms| Times {
                median: ms,
                min: ms * 0.99,
                max: ms * 1.01,
                samples: 11,
                interval: None,
            }),
            gb_per_s,
            percent_of_peak: gb_per_s.map(|rate| rate / 49.17),
            percent_of_copy: gb_per_s.map(|rate| rate / 42.0),
            gflop_per_s: None,
            arithmetic_intensity: None,
            operations: None,
            ns_per_operation: None,
            gop_per_s: None,
            explanation: None,
            observed: BTreeMap::new(),
            verified: milliseconds.is_some(),
            note: milliseconds.is_none().then(|| "2 elements are wrong".to_string()),
            timing: Timing { method: Method::Launches, launches_per_sample: 11, load: Some(Load::Burst) },
            peak: Some(Peak { gb_per_s: 4917.0, source: "the driver".to_string() }),
            copy: Some(Ceiling { gb_per_s: 4200.0, bytes: 256 << 20 }),
            ratio_to_reference: None,
            ratio_range: None,
            reference: None,
            conditions: None,
            counters: None,
            origin: None,
        }
    }

    /// The row as a C870's model gives it, at eight bytes moved for one asked.
    pub(crate) fn modelled(row: Record) -> Record {
        let mut launch = LaunchCounters { l2_sectors_read: 4096, ..LaunchCounters::default() };
        launch.total.instructions = 416;
        launch.total.loads.requests = 64;
        launch.total.loads.sectors = 1024;
        launch.total.loads.bytes_requested = 4096;
        launch.total.loads.bytes_moved = 32768;
        let parts =
            Parts { launch: 3.0, dram: 9.0, on_chip: 1.0, issue: 1.0, latency: 1.0, ..Parts::default() };
        let counters = Counted {
            launch,
            dram_bytes: 32768,
            modelled_us: parts,
            bound: Bound::Dram,
            estimates_us: None,
            lines: Vec::new(),
        };
        Record {
            backend: Backend::Modelled,
            device: c870(),
            time_ms: row.time_ms.map(|times| {
                let interval = Some([times.median * 0.5, times.median * 2.0]);
                Times { samples: 1, interval, ..times }
            }),
            timing: Timing { method: Method::Modelled, launches_per_sample: 1, load: None },
            counters: Some(Box::new(counters)),
            ..row
        }
    }
}
