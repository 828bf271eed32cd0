//! `coalesce fleet`: the slow cards among many, from the records of their ranks.

use super::report::open;
use crate::{cli::FleetOptions, output};
use anyhow::{Context, Result};
use fleet::{Records, Report, Thresholds, judge, prometheus};
use report::terminal;
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The page's name in the folder of a fleet.
const PAGE: &str = "fleet.html";

/// Judges the cards whose records are in the folder.
///
/// # Errors
/// There are no records, or a file cannot be written.
pub(crate) fn run(options: &FleetOptions) -> Result<ExitCode> {
    let usual = Thresholds::default();
    let FleetOptions { score, slower, pass_slower, .. } = *options;
    let thresholds = Thresholds { score, slower, pass_slower, ..usual };
    let report = judge(&Records::read(&options.folder)?, thresholds);
    let page = page(options);
    fs::write(&page, ::report::html::fleet(&report))
        .with_context(|| format!("cannot write the page {}. Name another file with --out", page.display()))?;
    if let Some(path) = &options.prometheus {
        replace(path, &prometheus(&report))?;
    }
    let text = match options.json {
        true => report.json().context("the report cannot be written as JSON")?,
        false => {
            let style = output::style(&io::stdout());
            format!("{}page: {}\n", terminal::fleet(&report, options.verbose, style), page.display())
        }
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    if options.open {
        open(&page)?;
    }
    Ok(status(&report))
}

/// The page's path.
fn page(options: &FleetOptions) -> PathBuf {
    match &options.out {
        Some(path) => path.clone(),
        None if options.folder.is_dir() => options.folder.join(PAGE),
        None => options.folder.with_file_name(PAGE),
    }
}

/// Writes a file that others read at any time: they see the one before or this one, and no part of it.
fn replace(path: &Path, text: &str) -> Result<()> {
    let cannot =
        || format!("cannot write the metrics {}. Name another file with --prometheus", path.display());
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    fs::write(&part, text).with_context(cannot)?;
    fs::rename(&part, path).with_context(cannot)
}

/// The exit status, after saying on stderr why it is not 0.
fn status(report: &Report) -> ExitCode {
    if report.is_sound() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {}", terminal::fleet_verdict(report));
    ExitCode::FAILURE
}
