//! What is known of one case on one device: a line of JSON.

use crate::cases::Group;
use anyhow::{Context, Result};
use cuda_driver::simulated::LaunchRecord;
use record::{Backend, Counted, Estimates, Method, Parts, Residence, Times, counters::LaunchCounters};
use serde::{Deserialize, Serialize};
use simt::{cards::Card, count::Modelled as _, model::LaunchTime};
use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
};

/// A case's time and what it follows from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) kernel: String,
    pub(crate) parameters: String,
    pub(crate) category: String,
    pub(crate) set: Group,
    /// The device's name, as its driver reports it.
    pub(crate) device: String,
    pub(crate) backend: Backend,
    /// Bytes of all buffers.
    pub(crate) footprint: u64,
    /// Where the buffers fit.
    pub(crate) residence: Residence,
    /// Times of one launch in milliseconds.
    pub(crate) times: Times,
    pub(crate) method: Method,
    pub(crate) launches_per_sample: u32,
    /// What is wrong with the result of the first launch; `None` for a right one.
    pub(crate) fault: Option<String>,
    /// Why the launch has no modelled time, where the model says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<String>,
    /// The simulator's counters of the launch; `None` on a GPU.
    pub(crate) counted: Option<Box<Counted>>,
}

impl Row {
    /// The kernel with its parameters, by which a measured row finds its simulated one.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.kernel, self.parameters)
    }

    /// The modelled time of one launch in seconds, by what the formula says now of the counters and by what the simulation said.
    pub(crate) fn modelled(&self, card: &Card) -> Option<Modelled> {
        let counted = self.counted.as_ref()?;
        let formula = counted.launch.time(card);
        let simulation = counted.estimates_us.map(|estimates| estimates.simulation * 1e-6);
        let both = formula.and_simulated(simulation).seconds;
        Some(Modelled { both, formula: formula.seconds, simulation })
    }
}

/// A launch's seconds by the models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modelled {
    /// By both together, or by the formula where the simulation does not know the kernel.
    pub(crate) both: f64,
    pub(crate) formula: f64,
    pub(crate) simulation: Option<f64>,
}

/// Counters of a launch on this card, without those of single instructions.
pub(crate) fn counted(record: &LaunchRecord, card: &Card) -> Counted {
    let launch = LaunchCounters { sites: Vec::new(), worst: Vec::new(), ..record.counters.clone() };
    let modelled_us = parts(&record.time);
    Counted {
        dram_bytes: launch.dram_bytes(card.dram_granule_bytes),
        modelled_us,
        bound: modelled_us.bound(),
        estimates_us: record.estimates.map(Estimates::of_seconds),
        lines: Vec::new(),
        launch,
    }
}

/// Pairs measured rows with simulated ones by kernel and parameters, without rows that failed verification. Rows without a modelled
/// time are among them.
pub(crate) fn paired(measured: Vec<Row>, simulated: &[Row]) -> Vec<(Row, Row)> {
    let pair = |measured: Row| {
        let same = |row: &&Row| row.label() == measured.label() && row.fault.is_none();
        let simulated = simulated.iter().find(same).filter(|_| measured.fault.is_none())?.clone();
        Some((measured, simulated))
    };
    measured.into_iter().filter_map(pair).collect()
}

/// The breakdown of a modelled time.
pub(crate) fn parts(time: &LaunchTime) -> Parts {
    Parts {
        launch: time.launch * 1e6,
        dram: time.dram * 1e6,
        l2: time.l2 * 1e6,
        on_chip: time.on_chip * 1e6,
        issue: time.issue * 1e6,
        latency: time.latency * 1e6,
        link: 0.0,
        migration: 0.0,
    }
}

/// Reads a file of rows.
///
/// # Errors
/// The file cannot be read, or a line is not a row.
pub(crate) fn read(path: &Path) -> Result<Vec<Row>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let parse = |(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{}:{}: not a row", path.display(), number + 1))
    };
    text.lines().enumerate().map(parse).collect()
}

/// A file that rows are added to, one by one.
pub(crate) struct Writer(BufWriter<fs::File>);

impl Writer {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn new(path: &Path) -> Result<Writer> {
        let file = fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Writer(BufWriter::new(file)))
    }

    /// Adds a row, which is in the file when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn add(&mut self, row: &Row) -> Result<()> {
        serde_json::to_writer(&mut self.0, row)?;
        self.0.write_all(b"\n")?;
        self.0.flush().context("cannot write the rows")
    }
}
