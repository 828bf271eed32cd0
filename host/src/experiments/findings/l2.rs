//! The finding of `l2`.

use super::{doubt, list, number, rate, sentence, timed};
use record::Record;

/// What policies keep, what is fetched for a sector, and what parts of sectors cost.
pub(in super::super) fn l2(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let text = |row: &Record, name: &str| {
        row.parameters.more.get(name).and_then(serde_json::Value::as_str).map(str::to_string)
    };
    sentence([kept(&rows, &number, &text), fetched(&rows, &number), stored(&rows, &text)])
}

type Number<'a> = &'a dyn Fn(&Record, &str) -> Option<u64>;
type Text<'a> = &'a dyn Fn(&Record, &str) -> Option<String>;

/// At the largest table, the rate with each policy over that without.
fn kept(rows: &[&Record], number: Number<'_>, text: Text<'_>) -> Option<String> {
    let share = rows.iter().filter_map(|row| number(row, "table_share")).max()?;
    let at: Vec<(String, &Record)> = rows
        .iter()
        .filter(|row| number(row, "table_share") == Some(share))
        .filter_map(|row| Some((text(row, "policy")?, *row)))
        .collect();
    let (_, without) = at.iter().find(|(policy, _)| policy == "none")?;
    let with: Vec<String> = at
        .iter()
        .filter(|(policy, _)| policy != "none")
        .map(|(policy, row)| {
            format!("{:.2} times ({policy}){}", rate(row) / rate(without), doubt(row, without))
        })
        .collect();
    (!with.is_empty())
        .then(|| format!("beside a table of {share}% of L2, policies read {} the bytes of none", list(&with)))
}

/// The bytes that DRAM moves for each sector that is used, from the rates of sectors.
fn fetched(rows: &[&Record], number: Number<'_>) -> Option<String> {
    let at = |distance: u64| {
        let of = |row: &&&Record| row.kernel == "l2_fetch" && number(row, "distance") == Some(distance);
        rows.iter().find(of).copied()
    };
    let dense = at(32)?;
    let bytes = |distance: u64| {
        let row = at(distance)?;
        Some(format!("{:.0} at {distance}{}", 32.0 * rate(dense) / rate(row), doubt(dense, row)))
    };
    let bytes: Vec<String> = [64, 128, 256].into_iter().filter_map(bytes).collect();
    (!bytes.is_empty()).then(|| {
        format!(
            "a sector costs as much as these bytes side by side, by the bytes from one used sector to the next: {}",
            list(&bytes)
        )
    })
}

/// The rate of stores of parts over that of whole lines.
fn stored(rows: &[&Record], text: Text<'_>) -> Option<String> {
    let at = |stored: &str| rows.iter().find(|row| text(row, "stored").as_deref() == Some(stored)).copied();
    let whole = at("32 of 32 bytes")?;
    let part = |stored: &str| {
        let row = at(stored)?;
        Some(format!("{:.2} for {stored}{}", rate(row) / rate(whole), doubt(row, whole)))
    };
    let parts: Vec<String> = ["16 of 32 bytes", "4 of 32 bytes", "64 of 128 bytes", "32 of 128 bytes"]
        .into_iter()
        .filter_map(part)
        .collect();
    (!parts.is_empty())
        .then(|| format!("stores reach these shares of the rate of whole lines: {}", list(&parts)))
}
