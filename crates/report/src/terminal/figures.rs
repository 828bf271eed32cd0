//! The figures of a row, and the headings over them.

use record::{Backend, Record};

/// Where a ratio of Rust to C++ counts as equal.
pub(super) const EQUAL: std::ops::RangeInclusive<f64> = 0.98..=1.02;

/// Stands where a wrong result would have had a figure.
pub(super) const INVALID: &str = "INVALID";

/// The headings over [`figures`].
pub(super) fn columns(backend: Backend) -> Vec<&'static str> {
    match backend {
        Backend::Measured => vec!["GB/s", "%peak", "%copy", "ms", "min..max"],
        Backend::Modelled => vec!["GB/s", "%peak", "%copy", "ms", "moved/\nasked"],
    }
}

/// What stands over a group of columns: modelled figures say so there.
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
fn rate(row: &Record) -> String {
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

/// The headings over [`pair`].
pub(super) fn twin_columns(flops: bool) -> Vec<&'static str> {
    match flops {
        false => vec!["Rust GB/s", "C++ GB/s", "Rust/C++ time"],
        true => vec!["Rust GFLOP/s", "C++ GFLOP/s", "Rust/C++ time"],
    }
}

/// Rates of a kernel and its twin, and the ratio of their times with its [mark](Verdict::mark).
pub(super) fn pair(rust: Option<&Record>, cpp: Option<&Record>, flops: bool) -> Vec<String> {
    let rate = |row: Option<&Record>| match row {
        Some(row) if flops && row.verified => row.gflop_per_s.map_or_else(|| rate(row), short),
        row => row.map(rate).unwrap_or_default(),
    };
    let ratio =
        rust.and_then(|row| Some(format!("{:.3}{}", row.ratio_to_reference?, Verdict::of(row)?.mark())));
    vec![rate(rust), rate(cpp), ratio.unwrap_or_default()]
}

/// What the ratio of a kernel's time to its twin's says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is within [`EQUAL`].
    Equal,
    /// It is not, but its samples differ among themselves so much that it might be.
    Unsettled,
    /// It is not.
    Different,
}

impl Verdict {
    /// Of a row; `None` without a ratio.
    pub(super) fn of(row: &Record) -> Option<Verdict> {
        let ratio = row.ratio_to_reference?;
        let [low, high] = row.ratio_range.unwrap_or([ratio; 2]);
        Some(if EQUAL.contains(&ratio) {
            Verdict::Equal
        } else if low <= *EQUAL.end() && high >= *EQUAL.start() {
            Verdict::Unsettled
        } else {
            Verdict::Different
        })
    }

    /// What stands behind the ratio.
    fn mark(self) -> char {
        match self {
            Verdict::Equal => ' ',
            Verdict::Unsettled => '~',
            Verdict::Different => '!',
        }
    }
}
