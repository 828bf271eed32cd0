//! Kernels beside their CUDA C++ twins: rates, ratios of times, and what a ratio says.

use super::{figures::rate, library};
use record::{Backend, Measure, Record, median};

/// The range in which a ratio of Rust to C++ counts as equal.
pub(super) const EQUAL: std::ops::RangeInclusive<f64> = 0.98..=1.02;

/// The headings over [`pair`].
pub(super) fn twin_columns(measure: Measure) -> Vec<String> {
    let unit = measure.unit();
    vec![format!("Rust\n{unit}"), format!("C++\n{unit}"), "Rust/C++\ntime".to_string()]
}

/// Figures of a kernel and its twin, and the ratio of their times with its [mark](Verdict::mark).
pub(super) fn pair(rust: Option<&Record>, cpp: Option<&Record>, measure: Measure) -> Vec<String> {
    let figure = |row: Option<&Record>| match row {
        Some(row) if measure.of(row).is_some() => rate(row, measure),
        row => row.map(|row| rate(row, Measure::Bandwidth)).unwrap_or_default(),
    };
    let ratio =
        rust.and_then(|row| Some(format!("{:.3}{}", row.ratio_to_reference?, Verdict::of(row)?.mark())));
    vec![figure(rust), figure(cpp), ratio.unwrap_or_default()]
}

/// The verdict on the ratio of a kernel's time to its twin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is within [`EQUAL`].
    Equal,
    /// It is not, but it might be: the spread of its samples reaches into it, or the model's doubt of both times.
    Unsettled,
    /// It is not.
    Different,
}

impl Verdict {
    /// Of a row; `None` without a twin.
    pub(super) fn of(row: &Record) -> Option<Verdict> {
        // A library is not meant to be the same program.
        let ratio = row.ratio_to_reference.filter(|_| row.reference.is_none())?;
        let [low, high] = row.ratio_range.or_else(|| in_doubt(row, ratio)).unwrap_or([ratio; 2]);
        Some(if EQUAL.contains(&ratio) {
            Verdict::Equal
        } else if low <= *EQUAL.end() && high >= *EQUAL.start() {
            Verdict::Unsettled
        } else {
            Verdict::Different
        })
    }

    /// The mark after the ratio.
    fn mark(self) -> char {
        match self {
            Verdict::Equal => ' ',
            Verdict::Unsettled => '~',
            Verdict::Different => '!',
        }
    }
}

/// Bounds of the ratio of a modelled time to its twin's, whose time is as doubtful; `None` of a measured one.
fn in_doubt(row: &Record, ratio: f64) -> Option<[f64; 2]> {
    let [low, high] = row.time_ms?.interval?;
    Some([ratio * low / high, ratio * high / low])
}

/// How the Rust times of a comparison compare, with those of twins in a sentence, with a library's in one for each product.
pub fn comparison(records: &[Record]) -> String {
    if let Some(comparison) = library::comparison(records) {
        return comparison;
    }
    let ratios: Vec<f64> = records.iter().filter_map(|record| record.ratio_to_reference).collect();
    let Some(middle) = median(&ratios) else {
        return "No pair of rows verified, so there is no ratio.".to_string();
    };
    let worst = ratios.iter().copied().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(middle);
    let of = |wanted| records.iter().filter(|record| Verdict::of(record) == Some(wanted)).count();
    let modelled = match records.first().map(|record| record.backend) {
        Some(Backend::Modelled) => "modelled ",
        _ => "",
    };
    let unsettled = match of(Verdict::Unsettled) {
        0 => String::new(),
        rows if modelled.is_empty() => {
            format!(", and {rows} more may be: their samples differ too much to tell")
        }
        rows => format!(", and {rows} more may be, within the model's doubt"),
    };
    format!(
        "Rust/C++ {modelled}time over {} rows: median {middle:.3}, furthest from 1 {worst:.3}, {} of {} within {:.2} to {:.2}{unsettled}.",
        ratios.len(),
        of(Verdict::Equal),
        ratios.len(),
        EQUAL.start(),
        EQUAL.end(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::setting::tests::{modelled, row};
    use record::Precision;

    #[test]
    fn a_comparison_is_summed_up() {
        let ratio = |ratio| Record { ratio_to_reference: Some(ratio), ..row(0, Precision::F32, Some(0.2)) };
        assert_eq!(
            comparison(&[ratio(1.0), ratio(0.9), ratio(1.01)]),
            "Rust/C++ time over 3 rows: median 1.000, furthest from 1 0.900, 2 of 3 within 0.98 to 1.02."
        );
        let unsettled = Record { ratio_range: Some([0.97, 1.4]), ..ratio(1.1) };
        let slower = Record { ratio_range: Some([1.03, 1.4]), ..ratio(1.1) };
        assert_eq!(
            comparison(&[unsettled, slower, ratio(1.01)]),
            "Rust/C++ time over 3 rows: median 1.100, furthest from 1 1.100, 1 of 3 within 0.98 to 1.02, and 1 more may \
             be: their samples differ too much to tell."
        );
        assert!(comparison(&[row(0, Precision::F32, None)]).contains("no ratio"));
        // A modelled time from half to twice of it, as its twin's: the ratio may be a quarter of 3.
        assert_eq!(
            comparison(&[modelled(ratio(3.0)), modelled(ratio(5.0)), modelled(ratio(1.0))]),
            "Rust/C++ modelled time over 3 rows: median 3.000, furthest from 1 5.000, 1 of 3 within 0.98 to 1.02, and 1 \
             more may be, within the model's doubt."
        );
        assert!(comparison(&[modelled(ratio(1.0))]).starts_with("Rust/C++ modelled time over 1 rows: "));
    }
}
