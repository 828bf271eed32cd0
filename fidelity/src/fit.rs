//! Fits constants of the time model to measured rows.
//!
//! The loss is the sum over kernels of the mean over a kernel's rows of ln(1 + (e / 0.07)^2), where e is the logarithm of modelled
//! over measured time: near the truth it is a sum of squares, and far from it a kernel that the model cannot describe counts little
//! more than one that it describes badly. [`Fit::descend`] changes one constant after the other by a factor, keeps what helps, and
//! makes the factors smaller until nothing helps.
//!
//! Rows of the unseen kernels are left out.

use crate::{
    cases,
    row::{self, Row},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use record::{Errors, Estimates, Record, counters::LaunchCounters};
use simt::{
    cards::{self, Card},
    count::Modelled as _,
    model::Unknown,
};
use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

#[derive(Args)]
pub(crate) struct Options {
    /// A card, and rows measured and simulated on it: h200=MEASURED,SIMULATED. The files are those of `fidelity --out` or the
    /// records of `coalesce run`; what the simulation of a multiprocessor said stays as it is. The constants belong to the first card;
    /// others scale theirs alike. With h200=MEASURED alone the cases
    /// are executed on the simulated card, and a multiprocessor is simulated again for each change of a constant
    #[arg(required = true)]
    data: Vec<String>,
    /// The constants to fit, by their names in a card file
    #[arg(long, value_delimiter = ',')]
    free: Vec<String>,
    /// Other values to begin with, as in sharpness=3
    #[arg(long, value_delimiter = ',')]
    set: Vec<String>,
    /// The relative error at which the loss turns from a parabola into a logarithm
    #[arg(long, default_value_t = 0.07)]
    scale: f64,
    /// Names the rows that are off by more than this, in percent
    #[arg(long)]
    worst: Option<f64>,
}

/// One measured launch with its simulation.
struct Point {
    kernel: String,
    name: String,
    seconds: f64,
    modelled: Modelled,
}

/// The modelled seconds of a launch on a card.
type Modelled = Box<dyn Fn(&Card) -> f64 + Send + Sync>;

/// Rows of one card.
struct Set {
    label: String,
    card: Card,
    /// The same by the names of its figures.
    figures: toml::Table,
    points: Vec<Point>,
}

impl Set {
    fn read(argument: &str) -> Result<Set> {
        let (card, files) = argument.split_once('=').with_context(|| format!("'{argument}' has no '='"))?;
        let (measured, points) = match files.split_once(',') {
            Some((measured, simulated)) => {
                (measured, read_points(Path::new(measured), Path::new(simulated))?)
            }
            None => (files, execute(card, Path::new(files))?),
        };
        if points.is_empty() {
            bail!("{files} has no row of an open case, or the two files have none in common");
        }
        let card = cards::find(card)?;
        Ok(Set { label: measured.to_owned(), figures: card.to_toml().parse()?, card, points })
    }

    /// The value of a constant on the card.
    fn constant(&self, name: &str) -> Result<f64> {
        let value = self.figures.get(name).with_context(|| format!("a card has no constant '{name}'"))?;
        let number = value.as_float().or_else(|| value.as_integer().map(|value| value as f64));
        number.with_context(|| format!("'{name}' is no number"))
    }

    /// The card with each constant multiplied by its factor.
    fn scaled(&self, names: &[String], factors: &[f64]) -> Result<Card> {
        let mut figures = self.figures.clone();
        for (name, factor) in names.iter().zip(factors) {
            figures.insert(name.clone(), toml::Value::Float(self.constant(name)? * factor));
        }
        Ok(cards::from_toml(&figures.to_string())?)
    }

    /// Magnitudes of the rows' relative errors.
    fn relative(&self, card: &Card) -> Vec<f64> {
        self.errors(card).map(|(_, error)| (error.exp() - 1.0).abs()).collect()
    }

    /// Logarithm of modelled over measured time of each row.
    fn errors<'a>(&'a self, card: &'a Card) -> impl Iterator<Item = (&'a Point, f64)> {
        let next = AtomicUsize::new(0);
        let errors: Vec<OnceLock<f64>> = self.points.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(point) = self.points.get(index) else { break };
                let _ = errors[index].set(((point.modelled)(card) / point.seconds).ln());
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        let errors = errors.into_iter().map(|error| error.into_inner().unwrap_or(f64::NAN));
        self.points.iter().zip(errors)
    }

    fn loss(&self, card: &Card, scale: f64) -> f64 {
        let mut kernels: HashMap<&str, (f64, f64)> = HashMap::new();
        for (point, error) in self.errors(card) {
            let (sum, count) = kernels.entry(&point.kernel).or_default();
            *sum += (error / scale).powi(2).ln_1p();
            *count += 1.0;
        }
        let mut means: Vec<f64> = kernels.into_values().map(|(sum, count)| sum / count).collect();
        means.sort_by(f64::total_cmp);
        means.iter().sum()
    }
}

/// Pairs the rows of two files, without those that failed verification and those of the unseen kernels.
fn read_points(measured: &Path, simulated: &Path) -> Result<Vec<Point>> {
    let text = fs::read_to_string(measured).with_context(|| format!("cannot read {}", measured.display()))?;
    if text.contains("coalesce.record/") {
        return Ok(pair_records(&record::read(&text)?, &record::read(&fs::read_to_string(simulated)?)?));
    }
    let open = row::read(measured)?.into_iter().filter(|row| row.set.is_open()).collect();
    let point = |(measured, simulated): (Row, Row)| {
        if simulated.unknown.is_some() {
            return None;
        }
        let counted = simulated.counted?;
        Some(Point {
            name: measured.label(),
            kernel: measured.kernel,
            seconds: measured.times.median * 1e-3,
            modelled: modelled(counted.launch, counted.estimates_us),
        })
    };
    Ok(row::paired(open, &row::read(simulated)?).into_iter().filter_map(point).collect())
}

/// Pairs records of the same rows, without those for which the model has no time.
fn pair_records(measured: &[Record], simulated: &[Record]) -> Vec<Point> {
    let point = |record: &Record| {
        let same = |other: &&Record| other.is_same_row(record) && other.time_ms.is_some();
        let counted = simulated.iter().find(same)?.counters.as_ref()?;
        let kernel = format!("{} {}", record.experiment, record.kernel);
        let parameters = serde_json::to_string(&record.parameters).unwrap_or_default();
        Some(Point {
            name: format!("{kernel} {parameters}"),
            kernel,
            seconds: record.time_ms.as_ref()?.median * 1e-3,
            modelled: modelled(counted.launch.clone(), counted.estimates_us),
        })
    };
    measured.iter().filter_map(point).collect()
}

/// The seconds of a launch by the model's formula, together with what the simulation said of it.
fn modelled(counters: LaunchCounters, estimates: Option<Estimates>) -> Modelled {
    Box::new(move |card| {
        let simulated = estimates.map(|estimates| estimates.simulation * 1e-6);
        counters.time(card).and_simulated(simulated).seconds
    })
}

/// Executes the open cases that were measured, and keeps their traces.
fn execute(card: &str, measured: &Path) -> Result<Vec<Point>> {
    let rows: Vec<Row> = row::read(measured)?.into_iter().filter(|row| row.set.is_open()).collect();
    let found = cards::find(card)?;
    let mut points = Vec::new();
    let plans = cases::all().into_iter().filter(|plan| plan.group.is_open()).collect();
    crate::simulate(card, plans, |plan, launch| {
        let row = rows.iter().find(|row| row.kernel == plan.kernel && row.parameters == plan.parameters);
        let unknown = Unknown::of(&launch.counters, launch.sites(), &launch.time, &found);
        let Some(row) = row.filter(|row| row.fault.is_none() && unknown.is_none()) else { return };
        points.push(Point {
            name: row.label(),
            kernel: row.kernel.clone(),
            seconds: row.times.median * 1e-3,
            modelled: Box::new(move |card| {
                let simulated = launch.simulated_time(card);
                let sampled_loads = simulated.map(|simulated| simulated.loads).unwrap_or_default();
                let counters = LaunchCounters { sampled_loads, ..launch.counters.clone() };
                let seconds = simulated.map(|simulated| simulated.time.seconds);
                counters.time(card).and_simulated(seconds).seconds
            }),
        });
    })?;
    Ok(points)
}

/// The constants to fit, by name, and the rows to fit them to.
struct Fit<'a> {
    sets: &'a [Set],
    names: &'a [String],
    scale: f64,
}

impl Fit<'_> {
    fn loss(&self, factors: &[f64]) -> Result<f64> {
        self.sets.iter().map(|set| Ok(set.loss(&set.scaled(self.names, factors)?, self.scale))).sum()
    }

    /// Changes one factor after the other as long as the loss falls.
    fn descend(&self) -> Result<Vec<f64>> {
        let mut factors = vec![1.0; self.names.len()];
        let mut least = self.loss(&factors)?;
        let mut step = FIRST_STEP;
        while step > LAST_STEP {
            let before = least;
            for index in 0..factors.len() {
                for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                    // As far as it helps.
                    loop {
                        let mut changed = factors.clone();
                        changed[index] *= factor;
                        // A card refuses values that are impossible.
                        let Ok(loss) = self.loss(&changed) else { break };
                        if loss >= least {
                            break;
                        }
                        (factors, least) = (changed, loss);
                    }
                }
            }
            if before - least < LEAST_GAIN {
                step /= 2.0;
            }
        }
        Ok(factors)
    }
}

/// Share by which a constant changes at first, and below which nothing is tried.
const FIRST_STEP: f64 = 0.2;
const LAST_STEP: f64 = 0.004;

/// Fall of the loss in a round that is worth another with the same step.
const LEAST_GAIN: f64 = 0.05;

pub(crate) fn fit(options: &Options) -> Result<()> {
    let mut sets = options.data.iter().map(|argument| Set::read(argument)).collect::<Result<Vec<_>>>()?;
    for assignment in &options.set {
        let (name, value) =
            assignment.split_once('=').with_context(|| format!("'{assignment}' is not NAME=VALUE"))?;
        let value: f64 = value.parse().with_context(|| format!("'{value}' is no number"))?;
        let factor = value / sets[0].constant(name)?;
        for set in &mut sets {
            set.card = set.scaled(&[name.to_owned()], &[factor])?;
            set.figures = set.card.to_toml().parse()?;
        }
    }
    let fit = Fit { sets: &sets, names: &options.free, scale: options.scale };
    let begun = fit.loss(&vec![1.0; options.free.len()])?;
    let factors = fit.descend()?;
    println!("loss {begun:.2} -> {:.2}", fit.loss(&factors)?);
    for (name, factor) in options.free.iter().zip(&factors) {
        let value = sets[0].constant(name)?;
        println!("{name} = {:.5}  # {value}", value * factor);
    }
    for set in &sets {
        let card = set.scaled(&options.free, &factors)?;
        let text = |card: &Card| {
            let Errors { median, p90, .. } = Errors::among(set.relative(card)).expect("a set has rows");
            format!("{:.1}/{:.1}%", 100.0 * median, 100.0 * p90)
        };
        println!("{}: {} rows, {} -> {}", set.label, set.points.len(), text(&set.card), text(&card));
        let Some(worst) = options.worst else { continue };
        let mut rows: Vec<_> = set.errors(&card).map(|(point, error)| (error.exp(), point)).collect();
        rows.retain(|(ratio, _)| (ratio - 1.0).abs() > worst / 100.0);
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (ratio, point) in rows {
            println!("  {ratio:.2}  {:10.2} us  {}", point.seconds * 1e6, point.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches that issue, and launches that start blocks, on a card whose constants are these multiples of the H200's.
    fn set(names: &[String], factors: &[f64]) -> Set {
        let card = cards::find("h200").expect("a card");
        let figures = card.to_toml().parse().expect("a card file");
        let mut set = Set { label: "rows".to_owned(), card, figures, points: Vec::new() };
        let measured = set.scaled(names, factors).expect("a card");
        let launches = (1..20_u64).flat_map(|size| {
            let instructions = LaunchCounters { issue_slots: size << 20, ..LaunchCounters::default() };
            [instructions, LaunchCounters { blocks: size << 10, ..LaunchCounters::default() }]
        });
        set.points = launches
            .enumerate()
            .map(|(number, counters)| Point {
                kernel: number.to_string(),
                name: number.to_string(),
                seconds: counters.time(&measured).seconds,
                modelled: modelled(counters, None),
            })
            .collect();
        set
    }

    #[test]
    fn constants_are_found_again_by_the_times_that_follow_from_them() {
        let names = ["launch_us", "block_clocks"].map(str::to_owned);
        let sets = [set(&names, &[1.5, 0.7])];
        let found = Fit { sets: &sets, names: &names, scale: 0.07 }.descend().expect("a fit");
        assert!((found[0] / 1.5 - 1.0).abs() < 0.02 && (found[1] / 0.7 - 1.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn what_a_card_does_not_have_is_named() {
        let error = set(&[], &[]).constant("lunch_us").expect_err("no such constant");
        assert_eq!(error.to_string(), "a card has no constant 'lunch_us'");
    }
}
