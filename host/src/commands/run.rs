//! `coalesce run` and `coalesce compare`: the whole way from options to records and what is shown of them.

use super::{
    cards,
    diff::Baseline,
    rank, report,
    session::{Ended, Measured, Session, Sink as _},
};
use crate::{
    cli::{Format, Options, Reference},
    device::{self, DeviceChoice},
    interrupt,
    mistakes::refused,
    output::{self, Output},
};
use ::report::{
    html::RunRecords,
    terminal::{self, layout::wrapped},
};
use anyhow::{Result, anyhow};
use record::Record;
use std::{io, process::ExitCode};

/// Runs what the options name, beside what they are to be compared with.
///
/// # Errors
/// Anything that ends a run early: each error says what, why and what to do.
pub(crate) fn run(options: &Options, reference: Reference<'_>) -> Result<ExitCode> {
    if options.fleet.is_some() {
        if !matches!(reference, Reference::None) {
            return Err(refused(anyhow!(
                "--fleet measures a card among many, and `coalesce compare` kernels on one card: use `coalesce run --fleet`"
            )));
        }
        return rank::run(options);
    }
    if options.replace && options.out.is_none() {
        return Err(refused(anyhow!(
            "--replace removes what --out or --fleet wrote before: name one of them as well"
        )));
    }
    if let DeviceChoice::Several(_) = options.device {
        return cards::run(options, reference);
    }
    let baseline = options.baseline.as_deref().map(Baseline::load).transpose()?;
    let mut output = Output::open(options)?;
    let driver = device::bind(&options.device)?;
    let ordinal = device::ordinals(&options.device, None)?[0];
    let session = Session { options, reference, driver: &driver, passes: 1, probe: false };
    let measured = match session.measure(ordinal, &mut output) {
        Ok(Ended::Done(measured)) => measured,
        Ok(Ended::Interrupted { planned }) => return interrupted(&mut output, planned),
        Err(error) => {
            // Rows measured before the failure are shown; the failure decides the exit status.
            if !output.records().is_empty()
                && let Err(unwritten) = output.finish()
            {
                eprintln!("note: {unwritten:#}");
            }
            return Err(error);
        }
    };
    output.finish()?;
    let Measured { run, simulated, origin } = *measured;
    if let Some(origin) = origin.filter(|_| output.wanted()) {
        let comparison = format!("{} {origin}", terminal::comparison(output.records()));
        eprintln!("{}", wrapped(&comparison, output::style(&io::stderr()).width));
    }

    // Rows without times make no pictures and no summary, and programs that read records look at neither.
    if output.wanted() && !options.once && (options.out.is_some() || options.format == Format::Table) {
        let simulated = simulated.map(|simulated| simulated.rows).unwrap_or_default();
        if let Some(folder) = options.out.as_deref().filter(|_| !simulated.is_empty()) {
            report::keep_simulated(&simulated, folder)?;
        }
        let page = report::place(options.out.as_deref());
        let records = output.records().to_vec();
        report::write(vec![RunRecords { run: run.clone(), records, simulated }], &page)?;
        if options.format == Format::Table {
            eprint!("{}", output.summary(&page));
        }
        if options.open {
            report::open(&page)?;
        }
    }
    let slower = match &baseline {
        Some(baseline) => baseline.compare(&run, output.records(), options)?,
        None => ExitCode::SUCCESS,
    };
    Ok(if verified(output.records()) { slower } else { ExitCode::FAILURE })
}

/// Whether all rows verified; says on stderr how many did not.
pub(super) fn verified(records: &[Record]) -> bool {
    let invalid = records.iter().filter(|record| !record.verified).count();
    if invalid > 0 {
        eprintln!("error: {invalid} of {} rows are INVALID: the result in memory was wrong", records.len());
    }
    invalid == 0
}

/// Ends an interrupted run: what was measured is kept and shown.
pub(super) fn interrupted(output: &mut Output, planned: usize) -> Result<ExitCode> {
    let planned = format!("{planned} planned point{}", if planned == 1 { "" } else { "s" });
    match output.records().len() {
        0 => eprintln!("interrupted before there was a record of the {planned}"),
        kept => {
            output.finish()?;
            let are = if kept == 1 { "record was" } else { "records were" };
            eprintln!("interrupted: {kept} {are} taken of {planned}, and kept");
        }
    }
    Ok(ExitCode::from(interrupt::EXIT_STATUS))
}
