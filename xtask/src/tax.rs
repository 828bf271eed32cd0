//! The Rust tax, for docs/rust-tax.md: what each way of checking costs, made from records alone.
//!
//! The page holds blocks of the form
//!
//! ```text
//! <!-- Rust tax of `COMMAND`, kept in RECORDS -->
//! generated text
//! <!-- end of Rust tax -->
//! ```
//!
//! where RECORDS is the `records.jsonl` that COMMAND wrote, from the repository's root: a run or a comparison of `idioms`.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::measured;
use crate::results::Block;

/// The blocks of the page.
pub(crate) const BLOCK: Block =
    Block { name: "Rust tax", start: "<!-- Rust tax of `", end: "<!-- end of Rust tax -->", tables };

/// A figure of a row, as text; `None` where the row has none.
type Figure<'a> = dyn Fn(&Value) -> Option<String> + 'a;

/// The ways in which each task is written.
const WAYS: [&str; 5] = ["checked", "iterated", "asserted", "unchecked", "typed"];

/// A table of time ratios to the unchecked kernel, to the twins where there are some, and of instructions where they were
/// counted.
fn tables(rows: &[Value], command: &str) -> Result<String> {
    let rows: Vec<&Value> = rows.iter().filter(|row| row["experiment"] == "idioms").collect();
    let first = rows.first().context("there are no records of idioms")?;
    if let Some(row) = rows.iter().find(|row| row["verified"] != true) {
        bail!("{} did not verify: a table shows verified rows only", row["kernel"]);
    }
    let device = first["device"]["name"].as_str().context("a record has no device")?;
    let how = if first["backend"] == "measured" { "Measured" } else { "Modelled" };
    let mut out = format!(
        "{how} for an {}, every element verified; by `{command}`.\n\n| task | | {} |\n| --- | --- |{}\n",
        device.trim_end_matches(" (modelled)"),
        WAYS.join(" | "),
        " --: |".repeat(WAYS.len()),
    );
    let mut tasks: Vec<String> = Vec::new();
    for row in &rows {
        let task = task(row)?;
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    for name in &tasks {
        let of = |way: &str| {
            let suits = |row: &&&Value| {
                row["language"] == "rust"
                    && row["parameters"]["way"] == way
                    && task(row).is_ok_and(|task| task == *name)
            };
            rows.iter().find(suits).copied()
        };
        let unchecked = of("unchecked").and_then(|row| row["time_ms"]["median"].as_f64());
        let figures: [(&str, &Figure<'_>); 3] = [
            ("time / unchecked", &|row| {
                Some(format!("{:.3}", row["time_ms"]["median"].as_f64()? / unchecked?))
            }),
            ("time / CUDA C++", &|row| Some(format!("{:.3}", row["ratio_to_reference"].as_f64()?))),
            ("instructions", &|row| Some(format!("{:.1}", instructions(row)?))),
        ];
        for (what, figure) in figures {
            let cells: Vec<Option<String>> = WAYS.iter().map(|way| of(way).and_then(figure)).collect();
            if cells.iter().any(Option::is_some) {
                let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
                let _ = writeln!(out, "| {name} | {what} | {} |", cells.join(" | "));
            }
        }
    }
    Ok(out.trim_end().to_owned())
}

/// The task of a row and its size.
fn task(row: &Value) -> Result<String> {
    let parameters = &row["parameters"];
    let name = parameters["task"].as_str().context("a record of idioms has no task")?;
    let size = measured::sides(parameters)
        .or_else(|| parameters["elements"].as_u64().map(|elements| elements.to_string()));
    Ok(format!("{name}, {}", size.context("a record of idioms has no size")?))
}

/// Instructions of a warp for 32 elements, or for 32 terms of a product; `None` where they were not counted.
fn instructions(row: &Value) -> Option<f64> {
    let issued = row["counters"]["total"]["instructions"].as_f64()?;
    let elements = row["parameters"]["elements"].as_f64()?;
    Some(32.0 * issued / (elements * row["parameters"]["k"].as_f64().unwrap_or(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(task: &str, way: &str, milliseconds: f64) -> Value {
        json!({
            "experiment": "idioms", "kernel": format!("{way}_{task}"), "language": "rust", "backend": "modelled",
            "device": {"name": "NVIDIA H200 (modelled)"}, "verified": true, "time_ms": {"median": milliseconds},
            "parameters": {"task": task, "way": way, "elements": 1024}, "counters": {"total": {"instructions": 416}},
            "ratio_to_reference": null,
        })
    }

    #[test]
    fn each_task_has_its_ratios_and_counts() {
        let mut product = row("matmul", "unchecked", 0.5);
        for (name, size) in [("m", 32), ("n", 32), ("k", 4)] {
            product["parameters"][name] = json!(size);
        }
        let mut checked = row("copy", "checked", 0.3);
        checked["ratio_to_reference"] = json!(1.5);
        let rows = [checked, row("copy", "unchecked", 0.2), product];
        let text = tables(&rows, "cargo xtask run idioms").expect("they are records");
        assert!(text.starts_with(
            "Modelled for an NVIDIA H200, every element verified; by `cargo xtask run idioms`."
        ));
        for line in [
            "| copy, 1024 | time / unchecked | 1.500 |  |  | 1.000 |  |",
            "| copy, 1024 | time / CUDA C++ | 1.500 |  |  |  |  |",
            "| copy, 1024 | instructions | 13.0 |  |  | 13.0 |  |",
            "| matmul, 32 x 32 x 4 | instructions |  |  |  | 3.2 |  |",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn what_is_no_record_of_idioms_is_refused() {
        assert!(tables(&[json!({"experiment": "copy"})], "x").is_err());
        let mut wrong = row("copy", "checked", 0.3);
        wrong["verified"] = json!(false);
        let error = tables(&[wrong], "x").unwrap_err().to_string();
        assert!(error.contains("checked_copy\" did not verify"), "{error}");
    }
}
