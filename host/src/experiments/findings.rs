//! The finding of each experiment, in a sentence with figures from the rows themselves.
//!
//! A finding says only what its rows show: a clause whose rows are missing is left out, and without any clause there is no
//! finding. Rows that are INVALID, untimed or of a C++ twin have no part in it.

pub(super) mod atomics;
pub(super) mod banks;
pub(super) mod cluster;
pub(super) mod coalescing;
pub(super) mod constant;
pub(super) mod copy;
pub(super) mod gather;
pub(super) mod histogram;
pub(super) mod idioms;
pub(super) mod instructions;
pub(super) mod l2;
pub(super) mod latency;
pub(super) mod layout;
pub(super) mod link;
pub(super) mod matmul;
pub(super) mod mountain;
pub(super) mod occupancy;
pub(super) mod scan;
pub(super) mod shuffle;
pub(super) mod staged;
pub(super) mod starts;
pub(super) mod stencil;
pub(super) mod storage;
pub(super) mod streams;
pub(super) mod transfer;
pub(super) mod transpose;
pub(super) mod unified;

use record::{Language, Record};

/// The rows of Rust kernels that verified and were timed.
fn timed<'r>(rows: &[&'r Record]) -> Vec<&'r Record> {
    let counts = |row: &&Record| row.verified && row.language == Language::Rust && row.gb_per_s.is_some();
    rows.iter().copied().filter(counts).collect()
}

/// Of these the rows of the largest size, where there are several.
fn largest<'r>(rows: &[&'r Record]) -> Vec<&'r Record> {
    let rows = timed(rows);
    let most = rows.iter().map(|row| row.parameters.bytes).max();
    rows.into_iter().filter(|row| Some(row.parameters.bytes) == most).collect()
}

/// The rows of Rust kernels that verified, whose figure is about operations.
fn of_operations<'r>(rows: &[&'r Record]) -> Vec<&'r Record> {
    let counts = |row: &&Record| row.verified && row.language == Language::Rust && row.operations.is_some();
    rows.iter().copied().filter(counts).collect()
}

/// A parameter that is a number.
fn number(row: &Record, name: &str) -> Option<u64> {
    row.parameters.more.get(name)?.as_u64()
}

/// Whether launches were handed over in this way.
fn is_handed(row: &Record, handed: &str) -> bool {
    row.parameters.more.get("handed").and_then(serde_json::Value::as_str) == Some(handed)
}

/// Bandwidth; 0 for a row without.
fn rate(row: &Record) -> f64 {
    row.gb_per_s.unwrap_or_default()
}

/// The row with the most bandwidth.
fn fastest<'r>(rows: impl IntoIterator<Item = &'r Record>) -> Option<&'r Record> {
    rows.into_iter().max_by(|one, other| rate(one).total_cmp(&rate(other)))
}

/// The fastest row of a kernel.
fn of<'r>(rows: &[&'r Record], kernel: &str) -> Option<&'r Record> {
    fastest(rows.iter().copied().filter(|row| row.kernel == kernel))
}

/// How many times as fast one row of kernels is as another.
fn speedup(fast: &Record, slow: &Record) -> f64 {
    rate(fast) / rate(slow)
}

/// Words behind a comparison of two modelled rows whose intervals overlap: a GPU may have them in the other order. Nothing behind others.
fn doubt(one: &Record, other: &Record) -> &'static str {
    if one.measure().is_open(one, other) { IN_DOUBT } else { "" }
}

/// The words of [`doubt`].
const IN_DOUBT: &str = " (within the model's doubt)";

/// Whether a row is apart from those of other kernels by more than the model's doubt, so that it is the first or the last of them.
fn stands_out(row: &Record, rows: &[&Record]) -> bool {
    let mut others = rows.iter().filter(|other| other.kernel != row.kernel);
    others.all(|other| !row.measure().is_open(row, other))
}

/// A share as text: `3.9%`, `12.5%`, `53%`.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let text = if percent < 19.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// A row's share of the driver's copy, as text.
fn of_copy(row: &Record) -> Option<String> {
    Some(percent(row.percent_of_copy? / 100.0))
}

/// "a, b and c".
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The clauses as one sentence, which begins with a capital unless it begins with a kernel's name; `None` without any.
fn sentence(clauses: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    let text = clauses.join("; ");
    let (first, rest) = (text.chars().next()?, text.get(1..)?);
    let is_name = text.split(' ').next().is_some_and(|word| word.contains('_'));
    Some(if is_name { format!("{text}.") } else { format!("{}{rest}.", first.to_ascii_uppercase()) })
}

#[cfg(test)]
mod tests;
