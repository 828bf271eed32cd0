//! A comparison in a terminal: a screen of what matters, the largest certain change first.

use super::{Change, Comparison, Head, Pair};
use record::Backend;
use std::fmt::Write;

/// The groups of rows with figures: what became of them, the heading, and how many are shown unless all are wanted.
pub(super) const GROUPS: [(Change, &str, usize); 10] = [
    (Change::Broken, "INVALID in B, verified in A", 4),
    (Change::Slower, "slower in B", 6),
    (Change::Faster, "faster in B", 4),
    (Change::Modelled, "modelled against measured, the furthest first", 10),
    (Change::Doubtful, "modelled times that differ by less than the model's doubt", 4),
    (Change::Unclear, "unclear: the interval contains 1 and exceeds 2% on one side, or there is none", 3),
    (Change::Invalid, "INVALID in both", 1),
    (Change::Mended, "INVALID in A, verified in B", 1),
    (Change::Untimed, "not timed in both", 0),
    (Change::Same, "the same within 2%", 0),
];

/// The longest label of a row, in letters, unless all rows are wanted.
const LABEL: usize = 34;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// The whole text.
pub(super) fn text(comparison: &Comparison<'_>, all: bool) -> String {
    let mut text = format!("{}{}", head("A", &comparison.a), head("B", &comparison.b));
    for difference in comparison.differences() {
        let _ = writeln!(text, "{}", wrapped(&difference));
    }
    let rows = |change| comparison.rows.iter().filter(move |row: &&Pair<'_>| row.change == change);
    let shown = |most: usize| if all { usize::MAX } else { most };
    let width = GROUPS.iter().flat_map(|&(change, _, most)| rows(change).take(shown(most)));
    let width = width.map(|row| label(row, all).chars().count()).max().unwrap_or_default();
    if width > 0 {
        let [a, b, ratio] = headings(comparison);
        let _ = writeln!(text, "\n  {:width$} {a:>9} {b:>9} {ratio:>7}  95% interval", "");
    }
    for (change, heading, most) in GROUPS {
        let count = comparison.count(change);
        if count == 0 || shown(most) == 0 {
            continue;
        }
        let _ = writeln!(text, "{heading}");
        for row in rows(change).take(shown(most)) {
            let label = label(row, all);
            let _ = writeln!(text, "  {label:width$} {}", figures(row).join(" ").trim_end());
        }
        if count > shown(most) {
            let _ = writeln!(text, "  ... and {} more (-v shows them)", count - most);
        }
    }
    for (change, heading) in [(Change::New, "new in B"), (Change::Gone, "missing in B")] {
        let names: Vec<String> = rows(change).map(|row| row.label.clone()).collect();
        if !names.is_empty() {
            let listed = names.iter().take(shown(3)).cloned().collect::<Vec<_>>().join(", ");
            let more = names.len().saturating_sub(shown(3));
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let _ = writeln!(text, "{}", wrapped(&format!("{heading}: {listed}{more}")));
        }
    }
    let _ = writeln!(text, "\n{}", wrapped(&summary(comparison)));
    text
}

/// A run in one line.
fn head(letter: &str, head: &Head<'_>) -> String {
    let device = head.device;
    let driver = match head.backend {
        Backend::Measured => format!("driver for CUDA {}", device.driver),
        Backend::Modelled => "simulated driver".to_string(),
    };
    let (name, card, selector) = (head.name, device.plain_name(), device.selector());
    let line =
        format!("{letter}  {name}: {card} ({selector}), {}, {driver}, {} rows", head.backend, head.rows);
    wrapped(&line).replace('\n', "\n   ").replacen(' ', "  ", 1) + "\n"
}

/// The result of a comparison, in a sentence.
pub(super) fn summary(comparison: &Comparison<'_>) -> String {
    let words = [
        (Change::Broken, "no longer verified"),
        (Change::Slower, "slower"),
        (Change::Faster, "faster"),
        (Change::Modelled, "modelled against measured"),
        (Change::Doubtful, "within the model's doubt"),
        (Change::Same, "the same within 2%"),
        (Change::Unclear, "unclear"),
        (Change::Invalid, "INVALID in both"),
        (Change::Mended, "verified again"),
        (Change::Untimed, "not timed"),
        (Change::New, "new"),
        (Change::Gone, "gone"),
    ];
    let counts = words.iter().filter(|(change, _)| comparison.count(*change) > 0);
    let counts: Vec<String> =
        counts.map(|(change, word)| format!("{} {word}", comparison.count(*change))).collect();
    let error = comparison.model_error().map(|[middle, most]| {
        format!(
            " The model's times are off by {:.1}% in the median, 90% of them by at most {:.1}%.",
            100.0 * middle,
            100.0 * most
        )
    });
    format!("{} rows in both runs: {}.{}", comparison.shared(), counts.join(", "), error.unwrap_or_default())
}

/// The label of a row, as far as there is room for it.
fn label(row: &Pair<'_>, all: bool) -> String {
    let unit = row.unit.map(|unit| format!(" [{unit}]")).unwrap_or_default();
    let room = LABEL.saturating_sub(unit.chars().count());
    if all || row.label.chars().count() <= room {
        return with_unit(row);
    }
    row.label.chars().take(room.saturating_sub(2)).chain("..".chars()).collect::<String>() + &unit
}

/// The headings over both figures and the ratio: times, unless a row has a figure of its own with its unit behind its name.
pub(super) fn headings(comparison: &Comparison<'_>) -> [&'static str; 3] {
    match comparison.rows.iter().any(|row| row.unit.is_some()) {
        true => ["A", "B", "B/A ms"],
        false => ["A ms", "B ms", "B/A"],
    }
}

/// The label of a row with the unit of its figures, if they are not times.
pub(super) fn with_unit(row: &Pair<'_>) -> String {
    row.unit.map_or_else(|| row.label.clone(), |unit| format!("{} [{unit}]", row.label))
}

/// Both times, or the figures that rows have instead, the ratio of the times and its interval.
pub(super) fn figures(row: &Pair<'_>) -> [String; 4] {
    let invalid_in = |changes: &[Change]| changes.contains(&row.change);
    let figure = |figure: Option<f64>, invalid: bool| match figure {
        _ if invalid => format!("{:>9}", "INVALID"),
        Some(figure) if figure < 10.0 => format!("{figure:>9.4}"),
        Some(figure) => format!("{figure:>9.2}"),
        None => format!("{:>9}", "-"),
    };
    let (a, b) = if row.unit.is_some() { (row.figure_a, row.figure_b) } else { (row.ms_a, row.ms_b) };
    [
        figure(a, invalid_in(&[Change::Invalid, Change::Mended])),
        figure(b, invalid_in(&[Change::Invalid, Change::Broken])),
        row.ratio.map_or_else(|| format!("{:>7}", ""), |ratio| format!("{ratio:>7.3}")),
        row.ratio_range.map(|[low, high]| format!(" {low:.3} to {high:.3}")).unwrap_or_default(),
    ]
}

/// Broken into lines.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines.join("\n")
}
