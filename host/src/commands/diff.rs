//! `coalesce diff`, and the comparison at the end of `coalesce run --baseline`.

use crate::cli::{DiffFormat, DiffOptions, Format, Options};
use anyhow::{Context, Result, bail};
use record::{Bytes, Record, Run};
use report::diff::{Change, Comparison, Side};
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

/// Compares the two runs that the options name.
///
/// # Errors
/// One of them cannot be read, or they have no row in common.
pub(crate) fn run(options: &DiffOptions) -> Result<ExitCode> {
    let name = |path: &Path| path.display().to_string();
    let (name_a, name_b) = (name(&options.a), name(&options.b));
    let (a, b) = (record::load(&options.a)?, record::load(&options.b)?);
    let comparison = compared(Side::new(&name_a, &a), Side::new(&name_b, &b))?;
    let text = match options.format {
        DiffFormat::Text => comparison.text(options.verbose),
        DiffFormat::Json => comparison.json().context("the comparison cannot be written as JSON")?,
    };
    if let Some(path) = &options.out {
        fs::write(path, report::html::comparison(&comparison)).with_context(|| {
            format!("cannot write the page {}. Name another file with --out", path.display())
        })?;
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(judged(&comparison, options.threshold))
}

/// The run that another is compared with when it is done.
pub(crate) struct Baseline {
    name: String,
    run: Run,
    records: Vec<Record>,
}

impl Baseline {
    /// Reads the records of the earlier run, so that a wrong path is found before anything runs.
    ///
    /// # Errors
    /// There are none at this path.
    pub(crate) fn load(path: &Path) -> Result<Baseline> {
        let (run, records) = record::load(path).context("there is no baseline")?;
        Ok(Baseline { name: path.display().to_string(), run, records })
    }

    /// Prints what has changed since: behind the tables, or, where standard output carries data, on stderr.
    ///
    /// # Errors
    /// The runs have no row in common, or nothing can be printed.
    pub(crate) fn compare(&self, run: &Run, records: &[Record], options: &Options) -> Result<ExitCode> {
        let a = Side { name: &self.name, run: &self.run, records: &self.records };
        let mut comparison = compared(a, Side { name: "this run", run, records })?;
        // Rows that this run was not asked for do not count as missing.
        let all = options.experiments.is_empty() && options.kernels.is_empty() && options.range.is_none();
        comparison.retain(|row| all || row.change != Change::Gone);
        let text = format!("\n{}", comparison.text(false));
        match options.format {
            Format::Table => io::stdout().lock().write_all(text.as_bytes())?,
            Format::Json | Format::Csv => io::stderr().lock().write_all(text.as_bytes())?,
        }
        Ok(judged(&comparison, options.threshold))
    }
}

/// The comparison of two runs that have rows in common.
fn compared<'r>(a: Side<'r>, b: Side<'r>) -> Result<Comparison<'r>> {
    let comparison = Comparison::of(a, b);
    if comparison.shared() == 0 {
        let sizes = |side: Side<'_>| {
            let sizes: BTreeSet<u64> = side.records.iter().map(|row| row.parameters.bytes).collect();
            let (least, most) = (sizes.first().copied().unwrap_or(0), sizes.last().copied().unwrap_or(0));
            let most = if most > least { format!(" to {}", Bytes(most)) } else { String::new() };
            format!("{} ({}{most})", side.name, Bytes(least))
        };
        bail!(
            "{} and {} have no row in common: rows belong together where experiment, kernel, language and parameters are the \
             same. Run both with the same experiments and the same --bytes",
            sizes(a),
            sizes(b),
        );
    }
    Ok(comparison)
}

/// The exit status, after saying on stderr why it is not 0.
fn judged(comparison: &Comparison<'_>, threshold: Option<f64>) -> ExitCode {
    let Some(threshold) = threshold else { return ExitCode::SUCCESS };
    let slower = comparison.slower_by(threshold);
    let Some(worst) = slower.first() else { return ExitCode::SUCCESS };
    let count = match slower.len() {
        1 => "1 row is".to_string(),
        count => format!("{count} rows are"),
    };
    let doubtful = slower.iter().filter(|row| row.change == Change::Doubtful).count();
    let doubt = match doubtful {
        0 => String::new(),
        doubtful => format!(" ({doubtful} within the model's doubt)"),
    };
    eprintln!(
        "error: {count} slower by more than {}%{doubt}, or INVALID; the worst is {}",
        100.0 * threshold,
        worst.label
    );
    ExitCode::FAILURE
}
