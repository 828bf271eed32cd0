//! The tables of docs/rust-tax.md: what each way of checking costs, from a run or a comparison of `idioms`.

use super::{RowsError, kernels};
use record::{Backend, Language, Record};
use std::fmt::Write;

/// A figure of a row, as text; `None` where the row has none.
type Figure<'a> = dyn Fn(&Record) -> Option<String> + 'a;

/// The ways in which each task is written.
const WAYS: [&str; 5] = ["checked", "iterated", "asserted", "unchecked", "typed"];

/// A table of time ratios to the unchecked kernel, to the twins where there are some, and of instructions where they were
/// counted.
pub(super) fn tables(rows: &str, command: &str) -> Result<String, RowsError> {
    let rows = record::read(rows)?;
    let rows: Vec<&Record> = rows.iter().filter(|row| row.experiment == "idioms").collect();
    let first = rows.first().ok_or(RowsError::None("idioms"))?;
    if let Some(row) = rows.iter().find(|row| !row.verified) {
        return Err(RowsError::Unverified(row.kernel.clone()));
    }
    let how = if first.backend == Backend::Measured { "Measured" } else { "Modelled" };
    let mut out = format!(
        "{how} for the {}, every element verified; by `{command}`.\n\n| task | figure | {} |\n| --- | --- |{}\n",
        first.device.plain_name(),
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
            let suits = |row: &&&Record| {
                row.language == Language::Rust
                    && row.parameters.more.get("way").is_some_and(|value| value == way)
                    && task(row).is_ok_and(|task| task == *name)
            };
            rows.iter().find(suits).copied()
        };
        let median = |row: &Record| Some(row.time_ms?.median);
        let unchecked = of("unchecked").and_then(median);
        let figures: [(&str, &Figure<'_>); 3] = [
            ("time / unchecked", &|row| Some(format!("{:.3}", median(row)? / unchecked?))),
            ("time / CUDA C++", &|row| Some(format!("{:.3}", row.ratio_to_reference?))),
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
    Ok(out.trim_end().to_string())
}

/// The task of a row and its size.
fn task(row: &Record) -> Result<String, RowsError> {
    let name = row.parameters.more.get("task").and_then(|task| task.as_str());
    let name = name.ok_or_else(|| RowsError::Lacks { kernel: row.kernel.clone(), what: "task" })?;
    let size = kernels::sides(&row.parameters).unwrap_or_else(|| row.parameters.elements.to_string());
    Ok(format!("{name}, {size}"))
}

/// Instructions of a warp for 32 elements, or for 32 terms of a product; `None` where they were not counted.
fn instructions(row: &Record) -> Option<f64> {
    let issued = row.counters.as_ref()?.launch.total.instructions as f64;
    let terms = row.parameters.more.get("k").and_then(|k| k.as_f64()).unwrap_or(1.0);
    Some(32.0 * issued / (row.parameters.elements as f64 * terms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diff::tests::row,
        testing::{c870, counted},
    };
    use record::{Parameters, counters::LaunchCounters};

    fn idiom(task: &str, way: &str, milliseconds: f64) -> Record {
        let mut launch = LaunchCounters::default();
        launch.total.instructions = 416;
        Record {
            experiment: "idioms".to_string(),
            kernel: format!("{way}_{task}"),
            backend: Backend::Modelled,
            device: c870(),
            parameters: Parameters { elements: 1024, ..Parameters::of_bytes(4096) }
                .with("task", task)
                .with("way", way),
            counters: Some(Box::new(counted(launch))),
            ..row(0, Some(milliseconds))
        }
    }

    fn made(rows: &[Record]) -> Result<String, RowsError> {
        let text: String = rows.iter().map(|row| record::line(row).expect("it is JSON")).collect();
        tables(&text, "cargo xtask run idioms")
    }

    #[test]
    fn each_task_has_its_ratios_and_counts() {
        let mut product = idiom("matmul", "unchecked", 0.5);
        product.parameters = product.parameters.with("m", 32).with("n", 32).with("k", 4);
        let checked = Record { ratio_to_reference: Some(1.5), ..idiom("copy", "checked", 0.3) };
        let text = made(&[checked, idiom("copy", "unchecked", 0.2), product]).expect("they are records");
        assert!(text.starts_with(
            "Modelled for the Tesla C870, every element verified; by `cargo xtask run idioms`."
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
        assert_eq!(
            made(&[row(0, Some(0.1))]).expect_err("of offset").to_string(),
            "it has no rows of idioms"
        );
        let wrong = Record { verified: false, ..idiom("copy", "checked", 0.3) };
        let error = made(&[wrong]).expect_err("it did not verify").to_string();
        assert!(error.starts_with("checked_copy did not verify"), "{error}");
    }
}
