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
    let time = |task: &str, way: &str| {
        let suits = |row: &&&Record| text(row, "task") == task && text(row, "way") == way;
        rows.iter().rfind(suits).and_then(|row| row.time_ms).map(|times| times.median)
    };
    let over = |way: &str| -> Vec<(String, String)> {
        let ratio = |task: &String| {
            let ratio = time(task, way)? / time(task, "unchecked")?;
            Some((task.clone(), format!("{ratio:.2}")))
        };
        tasks.iter().filter_map(ratio).collect()
    };
    let (checked, typed) = (over("checked"), over("typed"));
    if checked.is_empty() {
        return None;
    }
    let (names, ratios): (Vec<String>, Vec<String>) = checked.into_iter().unzip();
    let typed: Vec<String> = typed.into_iter().map(|(_, ratio)| ratio).collect();
    let typed = match typed.len() == names.len() {
        true => format!(", typed indices {}", list(&typed)),
        false => String::new(),
    };
    Some(format!(
        "Checked indexing takes {} times as long as unchecked in {}{typed}.",
        list(&ratios),
        list(&names),
    ))
}
