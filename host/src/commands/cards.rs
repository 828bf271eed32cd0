//! `coalesce run` on several devices of a machine: one after the other, and their figures side by side.

use super::{
    report,
    run::verified,
    session::{Ended, Measured, Session, Sink},
};
use crate::{
    catalog,
    cli::{Format, Options, Reference},
    device::{self, Driver, Gpu},
    interrupt,
    mistakes::refused,
    output::{self, Output},
};
use ::report::{html::RunRecords, terminal};
use anyhow::{Context, Result, anyhow};
use record::{Record, Run};
use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

/// Runs on each of the devices that the options name.
///
/// # Errors
/// Anything that ends a run early; or options that are for a single device.
pub(super) fn run(options: &Options, reference: Reference<'_>) -> Result<ExitCode> {
    if !matches!(reference, Reference::None) {
        options.device.single("compare")?;
    }
    if options.baseline.is_some() {
        return Err(refused(anyhow!(
            "--baseline compares one device with its earlier run: name it, as in --device cuda:0, or compare two folders with \
             `coalesce diff`"
        )));
    }
    let driver = device::bind(&options.device)?;
    let ordinals = device::ordinals(&options.device, None)?;
    eprintln!(
        "note: {} cards are measured one after the other: they share the machine's power and the host's links",
        ordinals.len()
    );
    let mut runs = Vec::new();
    for ordinal in ordinals {
        let Some(run) = one(options, &driver, ordinal)? else {
            eprintln!("interrupted: {} of the cards were measured, and their records are kept", runs.len());
            return Ok(ExitCode::from(interrupt::EXIT_STATUS));
        };
        runs.push(run);
    }
    print(options, &runs)?;
    let records: Vec<Record> = runs.iter().flat_map(|run| run.records.iter().cloned()).collect();
    if !options.once && (options.out.is_some() || options.format == Format::Table) {
        let page = report::place(options.out.as_deref());
        report::write(runs, &page)?;
        if options.format == Format::Table {
            eprintln!("report: {}", page.display());
        }
        if options.open {
            report::open(&page)?;
        }
    }
    Ok(if verified(&records) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs on one of the devices; `None` if the user interrupted.
fn one(options: &Options, driver: &Driver, ordinal: u32) -> Result<Option<RunRecords>> {
    let name = format!("card-{ordinal}");
    // Each card's folder is that of a run of its own.
    let out = options.out.as_deref().map(|out| out.join(&name));
    let own = Options { out, ..options.clone() };
    let session = Session { options: &own, reference: Reference::None, driver, passes: 1, probe: false };
    let lines = options.format == Format::Json;
    let mut sink = OfCard { output: Output::open(&own)?.silent(), lines };
    let ended = session.measure(ordinal, &mut sink).with_context(|| format!("device {ordinal}"));
    if !sink.output.records().is_empty() {
        sink.output.finish()?;
    }
    let Ended::Done(measured) = ended? else { return Ok(None) };
    let Measured { run, simulated, .. } = *measured;
    let simulated = simulated.map(|simulated| simulated.rows).unwrap_or_default();
    if let Some(folder) = own.out.as_deref().filter(|_| !simulated.is_empty()) {
        report::keep_simulated(&simulated, Path::new(folder))?;
    }
    Ok(Some(RunRecords { run, records: sink.output.records().to_vec(), simulated }))
}

/// Prints all cards' rows: side by side, or as CSV. JSON is printed row by row.
fn print(options: &Options, runs: &[RunRecords]) -> Result<()> {
    let text = match options.format {
        Format::Json => return Ok(()),
        Format::Csv => {
            let records: Vec<Record> = runs.iter().flat_map(|run| run.records.iter().cloned()).collect();
            record::csv(&records)?
        }
        Format::Table => {
            let cards: Vec<(&Run, &[Record])> = runs.iter().map(|run| (&run.run, &run.records[..])).collect();
            terminal::side_by_side(&cards, catalog::catalog(), output::style(&io::stdout()))
        }
    };
    io::stdout().lock().write_all(text.as_bytes()).context("cannot write to standard output")
}

/// The records of one of several cards.
struct OfCard {
    output: Output,
    /// Whether records are printed as they come.
    lines: bool,
}

impl Sink for OfCard {
    fn begin(&mut self, run: &Run, gpu: &Gpu) -> Result<()> {
        self.output.begin(run, gpu)
    }

    fn add(&mut self, record: Record) -> Result<()> {
        if self.lines {
            let line = record::line(&record).context("the record cannot be written as JSON")?;
            io::stdout().lock().write_all(line.as_bytes()).context("cannot write to standard output")?;
        }
        self.output.add(record)
    }
}
