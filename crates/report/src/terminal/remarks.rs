//! The text below a table: remarks on its rows, and their explanations.

use super::{
    Shown,
    layout::{INVALID, hanging, wrapped},
    ratios::{EQUAL, Verdict},
    setting::labels,
    style::{Ink, Style},
};
use record::{Backend, Language, Record};
use std::fmt::Write;

/// Notes under a table: each wrong row by itself, each other remark once with the number of rows that it is about.
pub(super) fn notes(rows: &[&Record], shown: Shown) -> String {
    let (style, width) = (shown.style, shown.style.prose());
    let verified = rows.iter().filter(|row| row.verified).count();
    let all = if shown.verbose { "" } else { "; -v shows them all" };
    let line = format!("{verified} of {} rows verified, every element of every buffer{all}.", rows.len());
    let mut text = format!("{}\n", wrapped(&line, width));
    let mut remarks: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        let Some(note) = row.note.as_deref() else { continue };
        if !row.verified {
            let swept =
                row.parameters.swept.as_ref().map(|swept| format!(", {} {}", swept.name, swept.value));
            let more = row
                .parameters
                .more
                .iter()
                .map(|(name, value)| format!(", {name} {}", record::shown(name, value)));
            let which: String = swept.into_iter().chain(more).collect();
            let line = format!("{INVALID}: {} ({}{which}): {note}", row.kernel, row.language);
            let line = hanging(&line, width, 2).replace(INVALID, &style.paint(Ink::Wrong, INVALID));
            let _ = writeln!(text, "{line}");
            continue;
        }
        for remark in note.split("; ") {
            match remarks.iter_mut().find(|(known, _)| *known == remark) {
                Some(known) => known.1 += 1,
                None => remarks.push((remark, 1)),
            }
        }
    }
    for (note, count) in remarks {
        let _ = writeln!(text, "{}", wrapped(&format!("{count} of {} rows: {note}.", rows.len()), width));
    }
    let equal = format!("{:.2} to {:.2}", EQUAL.start(), EQUAL.end());
    for (verdict, meaning) in [
        (Verdict::Different, format!("!: the ratio of the times is not within {equal}.")),
        (
            Verdict::Unsettled,
            format!(
                "~: the ratio is not within {equal}, but {}",
                match rows.first().map(|row| row.backend) {
                    Some(Backend::Modelled) => "it may be, within the model's doubt of both times.",
                    _ =>
                        "samples differ so much that its 95% interval reaches into it; --samples takes more.",
                }
            ),
        ),
    ] {
        if rows.iter().any(|row| Verdict::of(row) == Some(verdict)) {
            let _ = writeln!(text, "{}", wrapped(&meaning, width));
        }
    }
    text
}

/// The explanations of the rows, each sentence once after the rows to which it applies.
pub(super) fn explanations(rows: &[&Record], style: Style) -> String {
    let twins = rows.iter().any(|row| row.language == Language::CudaCpp);
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for (row, label) in rows.iter().zip(labels(rows)) {
        let Some(explanation) = row.explanation.as_deref() else { continue };
        let label = if twins { format!("{label} ({})", row.language) } else { label };
        match told.iter_mut().find(|(known, _)| *known == explanation) {
            Some((_, labels)) => labels.push(label),
            None => told.push((explanation, vec![label])),
        }
    }
    let mut text = String::new();
    for (explanation, labels) in told {
        let which = match &labels[..] {
            [first, .., last] if labels.len() > 4 => format!("{first} .. {last} ({} rows)", labels.len()),
            labels => labels.join(", "),
        };
        let _ = writeln!(text, "{}", hanging(&format!("{which}: {explanation}."), style.prose(), 2));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}
