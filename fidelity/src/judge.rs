//! Compares measured with simulated rows: the ratio of each case but those of the unseen kernels, and the errors of each group.
//!
//! Rows of the unseen kernels stay unnamed unless they are asked for: who changes the model must not know where it fails there.

use crate::{
    cases::Group,
    page,
    row::{self, Row},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use record::{Errors, doubt::Residual};
use simt::{
    cards::{self, Card},
    count::Modelled,
};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

#[derive(Args)]
pub(crate) struct Options {
    /// Rows of a GPU
    measured: PathBuf,
    /// Rows of a simulated card; their times are computed again from their counters, by the model as it is
    simulated: PathBuf,
    /// The card whose constants the times are computed with: a built-in one, or a file with other constants of the time model.
    /// Without it, the card that was simulated
    #[arg(long)]
    card: Option<String>,
    /// Shows one group alone
    #[arg(long)]
    set: Option<Group>,
    /// Shows the model's terms beside each ratio
    #[arg(long)]
    terms: bool,
    /// Names the rows of the unseen kernels too, here and in the page; without it only their number and errors are told, so that
    /// the model is not changed for them. Once looked at, they judge no more
    #[arg(long)]
    reveal: bool,
    /// Writes the errors of each group into this page, between its markers
    #[arg(long)]
    page: Option<PathBuf>,
    /// Writes the ratios of the unseen kernels into this file, by which the doubt of other kernels' times is judged:
    /// crates/record/residuals/others.jsonl
    #[arg(long)]
    residuals: Option<PathBuf>,
    /// Draws the distribution of the errors into this file, as SVG
    #[arg(long)]
    picture: Option<PathBuf>,
}

/// A case in both files.
pub(crate) struct Pair {
    pub(crate) measured: Row,
    pub(crate) simulated: Row,
    /// Modelled over measured time.
    pub(crate) ratio: f64,
    /// The same by the formula alone, and by the simulation where it knows the kernel.
    by: [f64; 2],
}

impl Pair {
    /// The error's magnitude: 0.25 for a ratio of 0.75 or 1.25.
    pub(crate) fn error(&self) -> f64 {
        (self.ratio - 1.0).abs()
    }
}

/// The errors of these pairs; `None` of no pairs.
pub(crate) fn errors_of(pairs: &[&Pair]) -> Option<Errors> {
    Errors::among(pairs.iter().map(|pair| pair.error()).collect())
}

/// The two models, in the order of [`Pair::by`].
const MODELS: [&str; 2] = ["formula", "simulation"];

impl Options {
    /// The card of these simulated rows, or the one that was asked for.
    fn card(&self, simulated: &[Row]) -> Result<Card> {
        match &self.card {
            Some(path) if path.ends_with(".toml") => {
                let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
                Ok(cards::from_toml(&text)?)
            }
            Some(key) => Ok(cards::find(key)?),
            None => {
                let device = &simulated.first().context("the simulated file has no rows")?.device;
                let known =
                    cards::all().into_iter().find(|card| device.trim_end_matches(" (modelled)") == card.name);
                known.with_context(|| format!("'{device}' is no built-in card: name its file with --card"))
            }
        }
    }
}

/// Pairs rows of both files by kernel and parameters; rows that failed verification count nowhere. Returns also the card whose
/// constants the simulated times are computed with.
pub(crate) fn pairs(options: &Options) -> Result<(Vec<Pair>, Card)> {
    let (measured, simulated) = (row::read(&options.measured)?, row::read(&options.simulated)?);
    let card = options.card(&simulated)?;
    let pair = |(measured, simulated): (Row, Row)| {
        let modelled = simulated.modelled(&card)?;
        let over_measured = |seconds: f64| seconds * 1e3 / measured.times.median;
        let by = [modelled.formula, modelled.simulation.unwrap_or(modelled.formula)].map(over_measured);
        let ratio = over_measured(modelled.both);
        Some(Pair { simulated, measured, ratio, by })
    };
    let mut pairs: Vec<Pair> = row::paired(measured, &simulated).into_iter().filter_map(pair).collect();
    if pairs.is_empty() {
        bail!("the two files have no case in common");
    }
    pairs.retain(|pair| options.set.is_none_or(|set| pair.measured.set == set));
    Ok((pairs, card))
}

pub(crate) fn judge(options: &Options) -> Result<()> {
    let (pairs, card) = pairs(options)?;
    let (untimed, mut pairs): (Vec<Pair>, Vec<Pair>) =
        pairs.into_iter().partition(|pair| pair.simulated.unknown.is_some());
    pairs.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    match told(options, (&pairs, &untimed), &card, &mut io::stdout().lock()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        told => told.context("cannot write the rows")?,
    }
    if let Some(file) = &options.page {
        page::write(file, (&pairs, &untimed), options.reveal)?;
    }
    if let Some(file) = &options.residuals {
        write_residuals(file, &pairs, &card)?;
    }
    if let Some(file) = &options.picture {
        page::draw(file, &pairs)?;
    }
    Ok(())
}

/// Writes the ratio of each row, and the errors of each group.
fn told(
    options: &Options,
    (pairs, untimed): (&[Pair], &[Pair]),
    card: &Card,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "ratio  measured us  set     category    kernel")?;
    for pair in pairs.iter().filter(|pair| options.reveal || pair.measured.set.is_open()) {
        let Row { kernel, parameters, category, set, .. } = &pair.measured;
        let microseconds = pair.measured.times.median * 1e3;
        writeln!(
            out,
            "{:5.2}  {microseconds:11.2}  {set:6}  {category:10}  {kernel} {parameters}",
            pair.ratio
        )?;
        if let Some(counted) = pair.simulated.counted.as_ref().filter(|_| options.terms) {
            let parts = row::parts(&counted.launch.time(card));
            writeln!(
                out,
                "       dram {:.2}  l2 {:.2}  on chip {:.2}  issue {:.2}  latency {:.2} us; formula {:.2}, simulation {:.2}",
                parts.dram, parts.l2, parts.on_chip, parts.issue, parts.latency, pair.by[0], pair.by[1]
            )?;
        }
    }
    for group in Group::ALL {
        if let Some(errors) = errors_of(&of_group(pairs, group)) {
            writeln!(
                out,
                "{group}: {} rows, median error {:.1}%, a tenth are off by more than {:.1}%",
                errors.count,
                100.0 * errors.median,
                100.0 * errors.p90
            )?;
        }
        for (model, name) in MODELS.into_iter().enumerate() {
            let error = |pair: &&Pair| (pair.by[model] - 1.0).abs();
            if let Some(errors) = Errors::among(of_group(pairs, group).iter().map(error).collect()) {
                writeln!(
                    out,
                    "{group}, by the {name} alone: median error {:.1}%, a tenth are off by more than {:.1}%",
                    100.0 * errors.median,
                    100.0 * errors.p90
                )?;
            }
        }
        for (why, count) in reasons(untimed, group) {
            writeln!(out, "{group}: {count} more rows have {why}")?;
        }
    }
    Ok(())
}

/// Returns the rows of a group.
pub(crate) fn of_group(pairs: &[Pair], group: Group) -> Vec<&Pair> {
    pairs.iter().filter(|pair| pair.measured.set == group).collect()
}

/// Returns why rows of a group have no modelled time, each with the number of such rows.
pub(crate) fn reasons(untimed: &[Pair], group: Group) -> BTreeMap<&str, usize> {
    let mut reasons = BTreeMap::new();
    for pair in of_group(untimed, group) {
        *reasons.entry(pair.simulated.unknown.as_deref().unwrap_or_default()).or_default() += 1;
    }
    reasons
}

/// Writes how the unseen kernels fared: a line of JSON for each row, without its name and sorted by its content.
fn write_residuals(file: &Path, pairs: &[Pair], card: &Card) -> Result<()> {
    let line = |pair: &Pair| {
        let time = pair.simulated.counted.as_ref().map(|counted| counted.launch.time(card));
        record::sorted_line(&Residual {
            kernel: None,
            bound: time.map(|time| row::parts(&time).bound()),
            ratio: (pair.ratio * 1e4).round() / 1e4,
        })
    };
    let mut lines =
        of_group(pairs, Group::Unseen).into_iter().map(line).collect::<Result<Vec<String>, _>>()?;
    lines.sort_unstable();
    let lines = lines.concat();
    fs::write(file, lines).with_context(|| format!("cannot write {}", file.display()))
}
