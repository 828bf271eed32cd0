//! The figures of a row, and the headings over them.

use super::{layout::INVALID, table::unique};
use record::{Backend, Measure, Record};

/// The least and the greatest of figures: infinity and 0 where there are none.
pub(crate) fn bounds(figures: impl Iterator<Item = f64>) -> [f64; 2] {
    figures.fold([f64::INFINITY, 0.0], |[least, greatest], figure| [least.min(figure), greatest.max(figure)])
}

/// A row's figure and the ends of its interval, of what it has: all that a scale has to hold.
pub(crate) fn reach(row: &Record, measure: Measure) -> impl Iterator<Item = f64> {
    measure.of(row).into_iter().chain(measure.interval(row).into_iter().flatten())
}

/// A column of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Column {
    /// The quantity that rows are compared by.
    Figure(Measure),
    /// Clock cycles per operation, by the kernel's own clock.
    Cycles,
    /// Operations per clock cycle and multiprocessor.
    PerClock,
    /// Bandwidth as a share of the peak.
    OfPeak,
    /// Bandwidth as a share of the copy.
    OfCopy,
    /// The median time.
    Milliseconds,
    /// The range of measured figures.
    Range,
    /// The interval of modelled figures.
    Interval,
    /// Bytes moved for each byte asked for, which modelled rows have.
    Moved,
    /// The median clock of the multiprocessors.
    SmClock,
    /// The mean power of the card.
    Power,
    /// Energy of a floating-point operation.
    Energy,
}

impl Column {
    /// The heading.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Column::Figure(measure) => measure.unit(),
            Column::Cycles => "cycles",
            Column::PerClock => "per clock\nand SM",
            Column::OfPeak => "%peak",
            Column::OfCopy => "%copy",
            Column::Milliseconds => "ms",
            Column::Range => "min..max",
            Column::Interval => "8 in 10",
            Column::Moved => "moved/\nasked",
            Column::SmClock => "SM\nMHz",
            Column::Power => "W",
            Column::Energy => "pJ/\nflop",
        }
    }

    /// The cell of a row; `None` where it has no such figure.
    pub(super) fn cell(self, row: &Record) -> Option<String> {
        let percent = |value: f64| format!("{value:.1}");
        let conditions = row.conditions.as_ref();
        match self {
            Column::Figure(measure) => measure.of(row).map(short),
            Column::Cycles => row.cycles().map(short),
            Column::PerClock => row.per_clock().map(short),
            Column::OfPeak => row.percent_of_peak.map(percent),
            Column::OfCopy => row.percent_of_copy.map(percent),
            Column::Milliseconds => row.time_ms.map(|times| match times.median {
                median @ ..10.0 => format!("{median:.4}"),
                median => format!("{median:.2}"),
            }),
            Column::Range => {
                let [low, high] = ranged(row).range(row)?;
                Some(format!("{}..{}", short(low), short(high)))
            }
            Column::Interval => interval(row, ranged(row)),
            Column::Moved => {
                let ratio = row.counters.as_ref().filter(|_| row.verified)?.moved_over_asked()?;
                Some(format!("{ratio:.2}"))
            }
            Column::SmClock => Some(format!("{:.0}", conditions?.sm_clock_mhz?.median)),
            Column::Power => Some(format!("{:.0}", conditions?.energy?.power_w)),
            Column::Energy => conditions?.energy?.picojoules_per_flop.map(short),
        }
    }
}

/// The measure whose range a row shows: of arithmetic it is the bandwidth.
fn ranged(row: &Record) -> Measure {
    match row.measure() {
        Measure::Arithmetic => Measure::Bandwidth,
        measure => measure,
    }
}

/// The interval of a modelled row's figure.
pub(super) fn interval(row: &Record, measure: Measure) -> Option<String> {
    let [low, high] = measure.interval(row)?;
    Some(format!("{}..{}", short(low), short(high)))
}

/// The columns of a table of these rows, without the card's state. Bandwidth has no place where all rows are about the time of
/// single operations.
pub(super) fn columns(rows: &[&Record]) -> Vec<Column> {
    let mut measures = unique(rows.iter().map(|row| row.measure()));
    measures.sort();
    let (operations, rates): (Vec<Measure>, Vec<Measure>) =
        measures.iter().partition(|measure| matches!(measure, Measure::Operations(_)));
    let mut columns: Vec<Column> = operations.into_iter().map(Column::Figure).collect();
    let bandwidth = measures.iter().any(|measure| measure.has_bandwidth()) || rows.is_empty();
    if bandwidth {
        columns.push(Column::Figure(Measure::Bandwidth));
    }
    columns.extend(rows.iter().any(|row| interval(row, ranged(row)).is_some()).then_some(Column::Interval));
    if bandwidth {
        columns.extend(rates.contains(&Measure::Arithmetic).then_some(Column::Figure(Measure::Arithmetic)));
        columns.extend([Column::OfPeak, Column::OfCopy]);
    }
    columns.extend(rows.iter().any(|row| row.cycles().is_some()).then_some(Column::Cycles));
    columns.extend(rows.iter().any(|row| row.per_clock().is_some()).then_some(Column::PerClock));
    columns.push(Column::Milliseconds);
    columns.push(match rows.first().map(|row| row.backend) {
        Some(Backend::Modelled) => Column::Moved,
        _ => Column::Range,
    });
    columns
}

/// The caption of a group of columns, which says whether its figures are modelled.
pub(super) fn caption(group: &str, backend: Backend) -> String {
    match (backend, group) {
        (Backend::Measured, group) => group.to_string(),
        (Backend::Modelled, "") => "modelled".to_string(),
        (Backend::Modelled, group) => format!("{group}\nmodelled"),
    }
}

/// The cells of a row in these columns; the first says so where the row is INVALID or was not timed.
pub(super) fn cells(row: &Record, columns: &[Column]) -> Vec<String> {
    let cell = |(place, column): (usize, &Column)| match (row.time_ms, place, column) {
        (Some(_), ..) | (None, 1.., Column::Moved) => column.cell(row).unwrap_or_default(),
        (None, 0, _) => without_figure(row),
        (None, ..) => String::new(),
    };
    columns.iter().enumerate().map(cell).collect()
}

/// Columns of the card's state during a row: those that any of the rows has.
pub(super) fn condition_columns(rows: &[&Record]) -> Vec<Column> {
    let has = |column: &Column| rows.iter().any(|row| column.cell(row).is_some());
    [Column::SmClock, Column::Power, Column::Energy].into_iter().filter(has).collect()
}

/// A figure of a row; a dash where nothing was timed.
pub(super) fn rate(row: &Record, measure: Measure) -> String {
    measure.of(row).map_or_else(|| without_figure(row), short)
}

fn without_figure(row: &Record) -> String {
    if row.verified { "-".to_string() } else { INVALID.to_string() }
}

/// A rate with three digits or more.
pub(super) fn short(rate: f64) -> String {
    match rate {
        ..0.1 => format!("{rate:.3}"),
        ..10.0 => format!("{rate:.2}"),
        ..100.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    }
}
