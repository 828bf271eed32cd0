//! The finding of `idioms`.

use super::{list, timed};
use record::Record;

/// The time ratios of checked indexing and of typed indices to unchecked code, per task.
pub(in super::super) fn idioms(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let text = |row: &Record, name: &str| {
        row.parameters.more.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_string()
    };
    let mut tasks: Vec<String> = Vec::new();
    for row in &rows {
        let task = text(row, "task");
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    // Of several sizes the last, which is the largest.
    let row = |task: &str, way: &str| {
        let suits = |row: &&&Record| text(row, "task") == task && text(row, "way") == way;
        rows.iter().rfind(suits).copied()
    };
    let time = |row: &Record| row.time_ms.map(|times| times.median);
    let over = |way: &str| -> Vec<(String, String)> {
        let ratio = |task: &String| {
            let (own, unchecked) = (row(task, way)?, row(task, "unchecked")?);
            let doubt = if own.measure().is_open(own, unchecked) { "~" } else { "" };
            Some((task.clone(), format!("{:.2}{doubt}", time(own)? / time(unchecked)?)))
        };
        tasks.iter().filter_map(ratio).collect()
    };
    let (checked, typed) = (over("checked"), over("typed"));
    if checked.is_empty() {
        return None;
    }
    let (names, ratios): (Vec<String>, Vec<String>) = checked.into_iter().unzip();
    let mut typed_ratios: Vec<String> = typed.into_iter().map(|(_, ratio)| ratio).collect();
    if typed_ratios.len() != names.len() {
        typed_ratios.clear();
    }
    let typed = match &typed_ratios[..] {
        [] => String::new(),
        ratios => format!(", typed indices {}", list(ratios)),
    };
    let is_open = ratios.iter().chain(&typed_ratios).any(|ratio| ratio.ends_with('~'));
    let doubt = if is_open { "; ~: within the model's doubt" } else { "" };
    Some(format!(
        "Checked indexing takes {} times as long as unchecked in {}{typed}{doubt}.",
        list(&ratios),
        list(&names),
    ))
}
