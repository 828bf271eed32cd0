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
