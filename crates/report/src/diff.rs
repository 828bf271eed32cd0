//! Two runs, row by row: which rows became slower, faster, wrong, and how sure that is.
//!
//! Rows of A and B belong together where experiment, kernel, language and parameters are the same; the grid may differ,
//! since it follows the card. Each pair has the ratio of its median times, B over A, with an interval that holds it with a
//! probability of 95% (see `diff/interval.rs`). A change counts as certain where the interval excludes 1, and changes are sorted by
//! the bound nearest 1: what a row has certainly lost or won. Two modelled times differ for certain where their intervals do not
//! overlap. Of 100 rows that did not change, up to 5 show a certain change
//! all the same, most of them tiny; [`Comparison::slower_by`] passes over these by a threshold.
//!
//! ```
//! # fn f(a: &(record::Run, Vec<record::Record>), b: &(record::Run, Vec<record::Record>)) {
//! use report::diff::{Comparison, Side};
//!
//! let comparison = Comparison::of(Side::new("before", a), Side::new("after", b));
//! print!("{}", comparison.text(false));
//! let fails = !comparison.slower_by(0.02).is_empty();
//! # let _ = fails; }
//! ```

mod html;
mod interval;
mod names;
#[cfg(test)]
pub(crate) mod tests;
mod text;

use record::{Backend, DeviceInfo, Language, Load, Measure, Parameters, Record, Run, median};
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of a comparison's form in JSON.
pub const DIFF_SCHEMA: &str = "coalesce.diff/1";

/// How far from 1 the ratio of rows may be that count as the same, with the whole of its interval.
const SAME: f64 = 0.02;

/// Distance from 1 at which a ratio of modelled times counts as a change: the model gives the same time each time. Where the
/// intervals overlap, it is a change of the model's time alone.
const EXACT: f64 = 1e-9;

/// One of the two runs.
#[derive(Clone, Copy, Debug)]
pub struct Side<'r> {
    /// Its name: the path of its records.
    pub name: &'r str,
    /// The fields that all its rows share.
    pub run: &'r Run,
    /// Its rows.
    pub records: &'r [Record],
}

impl<'r> Side<'r> {
    /// A run as [`record::load`] gives it.
    pub fn new(name: &'r str, (run, records): &'r (Run, Vec<Record>)) -> Side<'r> {
        Side { name, run, records }
    }
}

/// The change of a row, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It verified in A and is INVALID in B.
    Broken,
    /// It is slower in B: the whole interval is above 1.
    Slower,
    /// It is faster in B: the whole interval is below 1.
    Faster,
    /// It is modelled in one run and measured in the other: the ratio is the model's error.
    Modelled,
    /// It is modelled in both, and the intervals of its times overlap: a GPU may have them in the other order.
    Doubtful,
    /// The interval contains 1 and exceeds 2% on one side of it, or there are too few samples for one.
    Unclear,
    /// It is INVALID in both.
    Invalid,
    /// It was INVALID in A and verifies in B.
    Mended,
    /// It verifies in both, and one of them was not timed.
    Untimed,
    /// The whole interval is within 2% of 1.
    Same,
    /// It is in B alone.
    New,
    /// It is in A alone.
    Gone,
}

/// A row of A and its like in B, or one that has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair<'r> {
    /// Its change.
    pub change: Change,
    /// The experiment.
    pub experiment: &'r str,
    /// The kernel.
    pub kernel: &'r str,
    /// The language of the kernel.
    pub language: Language,
    /// The parameters, of B where it has the row.
    pub parameters: &'r Parameters,
    /// The parameters in which the row differs from others of both runs, as text.
    #[serde(skip)]
    pub label: String,
    /// The median time in A, in milliseconds; `None` where the row is INVALID, not timed or not there.
    pub ms_a: Option<f64>,
    /// The median time in B.
    pub ms_b: Option<f64>,
    /// The unit of the rows' figures, such as `ns/load`; `None` where they are about bytes or arithmetic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// The figure in A, in that unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure_a: Option<f64>,
    /// The figure in B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure_b: Option<f64>,
    /// `ms_b` over `ms_a`.
    pub ratio: Option<f64>,
    /// Bounds of the ratio at 95% confidence; `None` with fewer than seven samples, as of modelled times.
    pub ratio_range: Option<[f64; 2]>,
}

/// One of the runs of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Head<'r> {
    /// Its name.
    pub name: &'r str,
    /// The device.
    pub device: &'r DeviceInfo,
    /// Whether its times are measured or modelled.
    pub backend: Backend,
    /// How long its rows kept the card busy; `None` where they differ, and where none says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How many rows it has.
    pub rows: usize,
}

/// Two runs, row by row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison<'r> {
    /// [`DIFF_SCHEMA`].
    pub schema: &'static str,
    /// The first run.
    pub a: Head<'r>,
    /// The second run.
    pub b: Head<'r>,
    /// How many rows changed how.
    pub counts: BTreeMap<Change, usize>,
    /// All rows, what matters most first.
    pub rows: Vec<Pair<'r>>,
}

impl<'r> Comparison<'r> {
    /// Pairs the rows of two runs and judges them.
    pub fn of(a: Side<'r>, b: Side<'r>) -> Comparison<'r> {
        let mut left: Vec<&Record> = a.records.iter().collect();
        let mut pairs: Vec<(Option<&Record>, Option<&Record>)> = Vec::new();
        for row in b.records {
            // Of several alike the first that is left: they came in the same order.
            let like = left.iter().position(|other| is_alike(row, other)).map(|at| left.remove(at));
            pairs.push((like, Some(row)));
        }
        pairs.extend(left.into_iter().map(|row| (Some(row), None)));
        let of_pair = |row: &(Option<&'r Record>, Option<&'r Record>)| row.1.or(row.0);
        let labels = names::labels(&pairs.iter().filter_map(of_pair).collect::<Vec<_>>());
        let mut rows: Vec<Pair<'_>> =
            pairs.iter().zip(labels).filter_map(|((a, b), label)| pair(*a, *b, label)).collect();
        // Stable, so that rows that matter alike stay in the order in which they ran.
        rows.sort_by(|one, other| {
            let size = |pair: &Pair<'_>| pair.certain().ln().abs();
            one.change.cmp(&other.change).then(size(other).total_cmp(&size(one)))
        });
        let head = |side: Side<'r>| Head {
            name: side.name,
            device: &side.run.device,
            backend: side.run.device.backend(),
            load: load(side.records),
            rows: side.records.len(),
        };
        Comparison { schema: DIFF_SCHEMA, a: head(a), b: head(b), counts: counts(&rows), rows }
    }

    /// Keeps some rows alone.
    pub fn retain(&mut self, wanted: impl Fn(&Pair<'_>) -> bool) {
        self.rows.retain(wanted);
        self.counts = counts(&self.rows);
    }

    /// How many rows changed in this way.
    pub fn count(&self, change: Change) -> usize {
        self.counts.get(&change).copied().unwrap_or_default()
    }

    /// How many rows are in both runs.
    pub fn shared(&self) -> usize {
        self.rows.len() - self.count(Change::New) - self.count(Change::Gone)
    }

    /// The rows that fail a check at this threshold: slower in B by more than this part of their time, for certain or in the model,
    /// and those that no longer verify.
    ///
    /// A modelled time fails even where the intervals overlap: the two versions of a kernel share most of the model's error, and
    /// a check that waits for twice the time would find nothing.
    pub fn slower_by(&self, threshold: f64) -> Vec<&Pair<'r>> {
        let fails = |pair: &&Pair<'_>| match pair.change {
            Change::Broken => true,
            Change::Slower | Change::Doubtful => pair.certain() > 1.0 + threshold,
            _ => false,
        };
        self.rows.iter().filter(fails).collect()
    }

    /// In which respects the runs differ, other than in their times; each a sentence.
    pub fn differences(&self) -> Vec<String> {
        let (a, b) = (&self.a, &self.b);
        let mut differences = Vec::new();
        if a.backend != b.backend {
            let (model, gpu) = if a.backend == Backend::Modelled { ("A", "B") } else { ("B", "A") };
            differences.push(format!(
                "{model} is modelled and {gpu} measured: B/A tells how far the model is off, not what changed."
            ));
        }
        if a.device.plain_name() != b.device.plain_name() {
            differences.push("The cards differ.".to_string());
        }
        if a.backend == b.backend && a.device.driver != b.device.driver {
            differences
                .push(format!("The drivers differ: CUDA {} and {}.", a.device.driver, b.device.driver));
        }
        let loads = [("A", "B", a.load, b.load), ("B", "A", b.load, a.load)];
        for (burst, sustained, one, other) in loads {
            if matches!((one, other), (Some(Load::Burst | Load::Rested), Some(Load::Sustained))) {
                differences.push(format!(
                    "{burst} was measured in bursts and {sustained} at sustained load: clocks and temperature differ."
                ));
            }
        }
        differences
    }

    /// The median of the modelled times' errors without their signs, and the one that 90% of them do not exceed; `None`
    /// where nothing is modelled in one run and measured in the other.
    pub fn model_error(&self) -> Option<[f64; 2]> {
        let modelled_in_a = self.a.backend == Backend::Modelled;
        let error = |pair: &Pair<'_>| {
            let ratio = pair.ratio.filter(|_| pair.change == Change::Modelled)?;
            Some((if modelled_in_a { 1.0 / ratio } else { ratio } - 1.0).abs())
        };
        let mut errors: Vec<f64> = self.rows.iter().filter_map(error).collect();
        errors.sort_by(f64::total_cmp);
        let most = errors.get((errors.len() * 9).div_ceil(10).checked_sub(1)?)?;
        Some([median(&errors)?, *most])
    }

    /// The comparison as one line of JSON, with its end.
    ///
    /// # Errors
    /// A figure is no number that JSON has.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// The comparison for a terminal of 80 columns, at most a screen of it unless all rows are wanted.
    pub fn text(&self, all: bool) -> String {
        text::text(self, all)
    }

    /// The comparison as a `<section>` of a page.
    pub fn html(&self) -> String {
        html::section(self)
    }
}

impl Pair<'_> {
    /// The ratio as far as it is certain: the bound nearest 1; 1 where there is none, or 1 lies between them.
    pub fn certain(&self) -> f64 {
        match (self.change, self.ratio_range) {
            (Change::Slower, Some([low, _])) => low,
            (Change::Faster, Some([_, high])) => high,
            _ => self.ratio.unwrap_or(1.0),
        }
    }
}

/// How long all these rows kept the card busy; `None` where they differ, and where none says.
fn load(records: &[Record]) -> Option<Load> {
    let mut loads = records.iter().filter_map(|row| row.timing.load);
    let first = loads.next()?;
    loads.all(|load| load == first).then_some(first)
}

/// How many rows changed how.
fn counts(rows: &[Pair<'_>]) -> BTreeMap<Change, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row.change).or_default() += 1;
    }
    counts
}

/// Whether two rows belong together. The grid of a persistent kernel follows the card.
fn is_alike(one: &Record, other: &Record) -> bool {
    let (a, b) = (&one.parameters, &other.parameters);
    (&one.experiment, &one.kernel, one.language) == (&other.experiment, &other.kernel, other.language)
        && (a.precision, a.bytes, a.elements, a.block) == (b.precision, b.bytes, b.elements, b.block)
        && (&a.swept, &a.more) == (&b.swept, &b.more)
}

/// Judges a row; `None` without one.
fn pair<'r>(a: Option<&'r Record>, b: Option<&'r Record>, label: String) -> Option<Pair<'r>> {
    let row = b.or(a)?;
    let ms =
        |row: Option<&Record>| Some(row?.time_ms.filter(|_| row.is_some_and(|row| row.verified))?.median);
    let (ms_a, ms_b) = (ms(a), ms(b));
    let ratio = ms_a.zip(ms_b).map(|(a, b)| b / a);
    let ratio_range = a.zip(b).filter(|_| ratio.is_some()).and_then(|(a, b)| interval::of_ratio(a, b));
    let change = match (a, b) {
        (None, _) => Change::New,
        (_, None) => Change::Gone,
        (Some(a), Some(b)) => match (a.verified, b.verified, ratio) {
            (true, false, _) => Change::Broken,
            (false, false, _) => Change::Invalid,
            (false, true, _) => Change::Mended,
            (true, true, None) => Change::Untimed,
            (true, true, Some(_)) if a.backend != b.backend => Change::Modelled,
            (true, true, Some(ratio)) if a.backend == Backend::Modelled => match (ratio - 1.0).abs() {
                ..EXACT => Change::Same,
                _ if a.time_ms.zip(b.time_ms).is_some_and(|(a, b)| a.is_open(&b)) => Change::Doubtful,
                _ => judged([ratio; 2]),
            },
            (true, true, Some(_)) => ratio_range.map_or(Change::Unclear, judged),
        },
    };
    let Record { experiment, kernel, language, parameters, .. } = row;
    let language = *language;
    // Between a model and a GPU there is nothing to be sure of.
    let ratio_range = ratio_range.filter(|_| change != Change::Modelled);
    let operations = Some(row.measure()).filter(|measure| matches!(measure, Measure::Operations(_)));
    let figure = |row: Option<&Record>| operations?.of(row.filter(|row| row.verified)?);
    let unit = operations.map(Measure::unit);
    let (figure_a, figure_b) = (figure(a), figure(b));
    Some(Pair {
        change,
        experiment,
        kernel,
        language,
        parameters,
        label,
        ms_a,
        ms_b,
        unit,
        figure_a,
        figure_b,
        ratio,
        ratio_range,
    })
}

/// The verdict of an interval.
fn judged([low, high]: [f64; 2]) -> Change {
    match () {
        () if low > 1.0 => Change::Slower,
        () if high < 1.0 => Change::Faster,
        () if low >= 1.0 - SAME && high <= 1.0 + SAME => Change::Same,
        () => Change::Unclear,
    }
}
