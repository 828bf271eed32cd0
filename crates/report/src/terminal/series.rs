//! Rows as curves: which rows make a curve, what the curves are called, and where along the axis their points are.

use super::{
    plot::{Ceiling, Curve, Plot, Position},
    setting::{BLOCK, at, named, values, varying},
    style::Style,
    table::{common, unique},
};
use record::{Backend, Language, Measure, Record};

/// The most curves in a plot.
const MOST: usize = 6;

/// The fewest points that make a curve.
const FEWEST: usize = 3;

/// Steps along the axis that differ by more than this are drawn as equal ones, as those of 1, 2, 4, 8, 16, 32.
const UNEVEN: f64 = 8.0;

/// Rows that make a curve, in ascending order.
pub(super) struct Series<'r> {
    /// The parameters in which it differs from the other curves.
    pub label: String,
    /// The rows.
    pub rows: Vec<&'r Record>,
}

/// The curves of a quantity over a parameter.
pub(super) struct Curves<'r> {
    /// The quantity.
    measure: Measure,
    /// The drawn curves.
    pub series: Vec<Series<'r>>,
    /// The parameter.
    over: &'static str,
    /// How many there are that are not drawn.
    pub left_out: usize,
}

impl<'r> Curves<'r> {
    /// Of rows, over a parameter; `by` are the other parameters that tell curves apart. `None` where no curve has three
    /// points. Rows that are compared by another quantity than most have no curve.
    pub(super) fn of(rows: &[&'r Record], over: &'static str, by: &[&str]) -> Option<Curves<'r>> {
        let measure = common(rows)?;
        let rust = rows.iter().filter(|row| {
            row.language == Language::Rust && row.measure() == measure && at(row, over).is_some()
        });
        let rust: Vec<&Record> = rust.copied().collect();
        let mut names = varying(&rust);
        names.retain(|name| name != over);
        // The order in which the lesson has them is the one in which they are told.
        names.sort_by_key(|name| by.iter().position(|known| known == name).unwrap_or(by.len()));
        let key = |row: &Record| (row.kernel.clone(), row.parameters.precision, values(row, &names));
        let all = unique(rust.iter().map(|row| key(row)));
        let mut drawn = all.clone();
        if drawn.len() > MOST {
            let first = all.first().map(|(kernel, ..)| kernel.clone());
            drawn.retain(|(kernel, ..)| Some(kernel) == first.as_ref());
            drawn.truncate(MOST);
        }
        let several = |count: usize| count > 1;
        let kernels = several(unique(drawn.iter().map(|(kernel, ..)| kernel)).len());
        let precisions = several(unique(drawn.iter().map(|(_, precision, _)| precision)).len());
        // Kernels of their own for each element type are told by that alone.
        let by_precision =
            unique(drawn.iter().map(|(_, precision, _)| precision)).len() == drawn.len() && precisions;
        let label = |(kernel, precision, values): &(String, Option<record::Precision>, Vec<String>)| {
            let mut parts = Vec::new();
            parts.extend((kernels && !by_precision).then(|| kernel.clone()));
            parts.extend(precision.filter(|_| precisions).map(|precision| precision.to_string()));
            for (place, (name, value)) in names.iter().zip(values).enumerate() {
                let differs = several(unique(drawn.iter().map(|(.., values)| &values[place])).len());
                parts.extend(differs.then(|| named(name, value)));
            }
            if parts.is_empty() { kernel.clone() } else { parts.join(" ") }
        };
        let series = drawn.iter().map(|wanted| {
            let mut rows: Vec<&Record> = rust.iter().copied().filter(|row| key(row) == *wanted).collect();
            rows.sort_by(|one, other| number(one, over).total_cmp(&number(other, over)));
            Series { label: label(wanted), rows }
        });
        let curves = Curves { measure, series: series.collect(), over, left_out: all.len() - drawn.len() };
        let longest = curves.series.iter().map(|series| series.rated().count()).max().unwrap_or(0);
        (longest >= FEWEST).then_some(curves)
    }

    /// The curves, the copy ceiling and the peak as a plot.
    pub(super) fn plot(&self, style: Style) -> String {
        let rows = || self.series.iter().flat_map(|series| series.rows.iter().copied());
        let mut places: Vec<(f64, String)> =
            rows().filter_map(|row| Some((number(row, self.over), at(row, self.over)?))).collect();
        places.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let places = unique(places.into_iter());
        let steps = places.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let (least, most) =
            steps.fold((f64::MAX, 0.0f64), |(least, most), step| (least.min(step), most.max(step)));
        let (low, high) = (places[0].0, places[places.len() - 1].0);
        let even = (high - low).is_normal() && most <= UNEVEN * least;
        let whole = places.iter().all(|(value, _)| value.fract() == 0.0);
        let position = |(place, (value, label)): (usize, &(f64, String))| Position {
            x: if even {
                (value - low) / (high - low)
            } else {
                place as f64 / (places.len() - 1).max(1) as f64
            },
            label: label.clone(),
            ordinal: if even && whole { *value as usize } else { place },
        };
        let place_of = |row: &Record| {
            let text = at(row, self.over)?;
            places.iter().position(|(_, known)| *known == text)
        };
        let curve = |series: &Series<'_>| Curve {
            label: series.label.clone(),
            points: series
                .rows
                .iter()
                .filter_map(|row| Some((place_of(row)?, self.measure.of(row))))
                .collect(),
            intervals: series
                .rows
                .iter()
                .filter_map(|row| Some((place_of(row)?, self.measure.interval(row)?)))
                .collect(),
        };
        let first = rows().next();
        let ceilings = first.filter(|_| self.measure == Measure::Bandwidth);
        let peak = ceilings
            .and_then(|row| row.peak.as_ref())
            .map(|peak| Ceiling { name: "peak", value: peak.gb_per_s });
        let copy =
            ceilings.and_then(|row| row.copy).map(|copy| Ceiling { name: "copy", value: copy.gb_per_s });
        let modelled = first.is_some_and(|row| row.backend == Backend::Modelled);
        Plot {
            unit: format!("{}{}", self.measure.unit(), if modelled { ", modelled" } else { "" }),
            logarithmic: self.measure != Measure::Bandwidth,
            over: self.over.to_string(),
            positions: places.iter().enumerate().map(position).collect(),
            curves: self.series.iter().map(curve).collect(),
            ceilings: peak.into_iter().chain(copy).collect(),
        }
        .text(style)
    }
}

impl<'r> Series<'r> {
    /// The rows that have a figure, with it.
    pub(super) fn rated(&self) -> impl Iterator<Item = (&'r Record, f64)> {
        self.rows.iter().filter_map(|row| Some((*row, row.figure()?)))
    }
}

/// The value of a parameter in a row as a number to sort by: of a size its bytes, of a block its threads, of other texts nothing.
pub(super) fn number(row: &Record, over: &str) -> f64 {
    match over {
        "bytes" => row.parameters.bytes as f64,
        BLOCK => row.parameters.block.map_or(0.0, |block| block.count() as f64),
        _ => {
            let number = row.parameters.more.get(over).and_then(serde_json::Value::as_f64);
            number.or_else(|| at(row, over)?.parse().ok()).unwrap_or(0.0)
        }
    }
}
