//! Writes a group of findings in compute-sanitizer's words, with the source lines concerned.
//!
//! ```text
//! Error: Race reported between Write access at tile+line 57 of the PTX in src/tile.rs:38:5
//!     and Read access at tile+line 80 of the PTX in src/tile.rs:43:12 [3072 hazards]
//!     38 |     tile.put(own, value);
//!        | Write by thread (0,0,0) in block (0,0,0)
//!     43 |     sum += tile.at(left) + edge.at(right);
//!        | Read by thread (32,0,0) in block (0,0,0)
//!     RAW and WAR hazards in __shared__ memory, at 64 pairs of instructions
//!     A barrier that orders these lines orders this one too:
//!     39 |     edge.put(own, other);
//!     in 6 launches, the first of them tile 512 x 512
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::finding::{FindingKind, Hazard, Memory, RacingAccess, Severity};
use super::groups::Group;
use super::place::SourceLine;
use super::words::{self, plural};
use crate::ptx::Sources;

/// Returns the name of a launch, by its number.
type NameOf<'a> = dyn Fn(u64) -> Option<&'a str> + 'a;

/// Most further lines that are quoted.
const MOST_LINES: usize = 8;

/// Returns the group's text, without the prefix that a [`Report`](super::Report) puts before each line.
pub(super) fn text(group: &Group<'_>, name_of: &NameOf<'_>, sources: &Sources) -> String {
    let mut text = match &group.shown().finding.kind {
        FindingKind::Race { memory, first, second, .. } => race(group, *memory, [first, second], sources),
        _ => other(group, sources),
    };
    let kernels = group.kernels();
    if kernels.len() > 1 {
        let names: Vec<&str> = kernels.into_iter().collect();
        let _ = write!(text, "\n    in {} kernels: {}", names.len(), names.join(", "));
    }
    let known = group.findings().iter().chain(group.explained());
    // Of each finding only the first launch is known, and the number of launches.
    let first: BTreeSet<u64> = known.clone().filter_map(|known| known.launch).collect();
    let launches = known.map(|known| known.launches).max().unwrap_or(0).max(first.len() as u64);
    if let Some(&first) = first.first() {
        match name_of(first) {
            Some(name) if launches > 1 => {
                let _ = write!(text, "\n    in {launches} launches, the first of them {name}");
            }
            Some(name) => {
                let _ = write!(text, "\n    in the launch {name}");
            }
            None if launches > 1 => {
                let _ = write!(text, "\n    in {launches} launches, launch {first} first");
            }
            None => {}
        }
    }
    text
}

fn race(group: &Group<'_>, memory: Memory, sides: [&RacingAccess; 2], sources: &Sources) -> String {
    let shown = &group.shown().finding;
    let others = group.other_places();
    let [first, second] = sides;
    let mut text = String::new();
    let _ = words::first_side(&mut text, shown.severity, first);
    let _ = words::second_side(&mut text, second, group.accesses());
    let at = [first.place.line(), second.place.line()];
    let lines = at.into_iter().chain(others.iter().map(|place| place.line())).flatten();
    let width = width(lines.map(|line| line.line));
    for (number, side) in sides.into_iter().enumerate() {
        let quoted = quote(at[number], width, sources);
        let margin = if quoted.is_empty() { String::new() } else { format!("{:width$} | ", "") };
        // Two accesses at one line share its quotation.
        if number == 0 || at[0].map(key) != at[1].map(key) {
            text += &quoted;
        }
        let _ = write!(text, "\n    {margin}{} by {}", side.access.capitalised(), side.thread);
    }
    let hazards: BTreeSet<Hazard> = group
        .findings()
        .iter()
        .filter_map(|known| match known.finding.kind {
            FindingKind::Race { hazard, .. } => Some(hazard),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = hazards.into_iter().map(Hazard::name).collect();
    let pairs = group.findings().len() as u64;
    let _ = write!(
        text,
        "\n    {} hazards in {memory} memory, at {pairs} pair{} of instructions",
        names.join(" and "),
        plural(pairs)
    );
    if shown.severity == Severity::Warning {
        text += "\n    The threads are in one warp, which need not run in step";
    }
    if !others.is_empty() {
        let these = if others.len() == 1 { "this one" } else { "these" };
        let _ = write!(text, "\n    A barrier that orders those lines orders {these} too:");
        for place in others.iter().take(MOST_LINES) {
            match quote(place.line(), width, sources) {
                quoted if quoted.is_empty() => {
                    let _ = write!(text, "\n    {place}");
                }
                quoted => text += &quoted,
            }
        }
        if let Some(left @ 1..) = others.len().checked_sub(MOST_LINES) {
            let _ = write!(text, "\n    and {left} more line{}", plural(left as u64));
        }
    }
    let early: u64 = group.explained().iter().map(|known| known.finding.count).sum();
    if early > 0 {
        let _ = write!(text, "\n    {early} of the reads came before anything was written there");
    }
    text
}

fn other(group: &Group<'_>, sources: &Sources) -> String {
    let finding = &group.shown().finding;
    let mut text = String::new();
    let _ = words::headline(&mut text, &finding.kind);
    if let Some(place) = &finding.place {
        let _ = write!(text, "\n    at {place}");
        text += &quote(place.line(), width(place.line().map(|line| line.line)), sources);
    } else if let Some(kernel) = &finding.kernel {
        let _ = write!(text, "\n    at {kernel}");
    }
    if let Some(thread) = &finding.thread {
        let _ = write!(text, "\n    by {thread}");
    }
    let _ = words::details(&mut text, &finding.kind);
    if group.accesses() > 1 {
        let at =
            if finding.place.as_ref().is_some_and(|place| place.line().is_some()) { "line" } else { "place" };
        let _ = write!(text, "\n    and {} more of the same at this {at}", group.accesses() - 1);
    }
    text
}

/// Quotes a line with its number on a line of its own; returns an empty text if its file is not available.
fn quote(line: Option<&SourceLine>, width: usize, sources: &Sources) -> String {
    let text = line.and_then(|line| Some((line.line, sources.line(&line.file, line.line)?)));
    text.map_or_else(String::new, |(number, text)| format!("\n    {number:width$} | {text}"))
}

/// Returns the key by which lines are compared.
fn key(line: &SourceLine) -> (&str, u32) {
    (&line.file, line.line)
}

/// Returns the digits of the largest line number.
fn width(lines: impl IntoIterator<Item = u32>) -> usize {
    lines.into_iter().max().unwrap_or(0).to_string().len()
}
