//! The figures of a row, and the headings over them.

use super::layout::INVALID;
use record::{Backend, Record};

/// The headings over [`figures`].
pub(super) fn columns(backend: Backend) -> Vec<&'static str> {
    match backend {
        Backend::Measured => vec!["GB/s", "%peak", "%copy", "ms", "min..max"],
        Backend::Modelled => vec!["GB/s", "%peak", "%copy", "ms", "moved/\nasked"],
    }
}

/// The caption of a group of columns, which says whether its figures are modelled.
pub(super) fn caption(group: &str, backend: Backend) -> String {
    match (backend, group) {
        (Backend::Measured, group) => group.to_string(),
        (Backend::Modelled, "") => "modelled".to_string(),
        (Backend::Modelled, group) => format!("{group}\nmodelled"),
    }
}

/// Rate, its parts of peak and copy, median time, and the range of measured rates or what modelled ones moved.
pub(super) fn figures(row: &Record) -> Vec<String> {
    let moved_over_asked = || {
        let ratio = row.counters.as_ref().and_then(|counters| counters.moved_over_asked());
        ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
    };
    let Some(times) = row.time_ms else {
        let last = if row.verified { moved_over_asked() } else { String::new() };
        let none = String::new;
        return vec![rate(row), none(), none(), none(), last];
    };
    let percent = |value: Option<f64>| value.map(|value| format!("{value:.1}")).unwrap_or_default();
    let moved = (row.bytes.read + row.bytes.written) as f64 / 1e6;
    vec![
        rate(row),
        percent(row.percent_of_peak),
        percent(row.percent_of_copy),
        if times.median < 10.0 { format!("{:.4}", times.median) } else { format!("{:.2}", times.median) },
        match row.backend {
            Backend::Measured => format!("{}..{}", short(moved / times.max), short(moved / times.min)),
            Backend::Modelled => moved_over_asked(),
        },
    ]
}

/// Headings of the card's state during a row, of those columns that any of the rows has.
pub(super) fn condition_columns(rows: &[&Record]) -> Vec<&'static str> {
    let any = |has: &dyn Fn(&Record) -> bool| rows.iter().any(|row| has(row));
    [
        (SM_CLOCK, any(&|row| conditions(row, SM_CLOCK).is_some())),
        (POWER, any(&|row| conditions(row, POWER).is_some())),
        (ENERGY, any(&|row| conditions(row, ENERGY).is_some())),
    ]
    .into_iter()
    .filter_map(|(column, known)| known.then_some(column))
    .collect()
}

/// The clock of the multiprocessors: the median of a row's readings.
const SM_CLOCK: &str = "SM\nMHz";

/// The mean power of the card.
const POWER: &str = "W";

/// Energy of a floating-point operation.
const ENERGY: &str = "pJ/\nflop";

/// The cell of a row in one of the [`condition_columns`]; `None` where it is not known.
pub(super) fn conditions(row: &Record, column: &str) -> Option<String> {
    let conditions = row.conditions.as_ref()?;
    match column {
        SM_CLOCK => conditions.sm_clock_mhz.map(|clock| format!("{:.0}", clock.median)),
        POWER => conditions.energy.map(|energy| format!("{:.0}", energy.power_w)),
        ENERGY => conditions.energy?.picojoules_per_flop.map(short),
        _ => None,
    }
}

/// Bandwidth; a dash where nothing was timed.
pub(super) fn rate(row: &Record) -> String {
    match row.gb_per_s {
        Some(rate) => short(rate),
        None if row.verified => "-".to_string(),
        None => INVALID.to_string(),
    }
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
