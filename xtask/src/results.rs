//! Tables for README.md and other pages, made from records alone: what stands there was measured or modelled, and anyone can
//! see by what.
//!
//! README.md holds blocks of the form
//!
//! ```text
//! <!-- results of `COMMAND`, kept in RECORDS -->
//! generated text
//! <!-- end of results -->
//! ```
//!
//! where RECORDS is the `records.jsonl` that COMMAND wrote, from the repository's root. [`splice`] replaces the text between
//! the marks.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A kind of block: how it begins and ends, and what makes the text between from records and the command that made them.
pub(crate) struct Block {
    /// In words, for errors.
    pub(crate) name: &'static str,
    /// What stands before the command.
    pub(crate) start: &'static str,
    /// The line at the end.
    pub(crate) end: &'static str,
    /// Makes the text.
    pub(crate) tables: fn(&[Value], &str) -> Result<String>,
}

/// The blocks of README.md.
pub(crate) const BLOCK: Block =
    Block { name: "results", start: "<!-- results of `", end: "<!-- end of results -->", tables };

const MIDDLE: &str = "`, kept in ";
const CLOSE: &str = " -->";

/// The values of a sweep that the table shows: both ends and where something happens.
const SHOWN: [(&str, &[u64]); 2] = [("offset", &[0, 1, 8, 16, 32]), ("stride", &[1, 2, 4, 8, 16, 32])];

/// Replaces the text of every block of this kind. `read` gives the text of a file of records by its name.
///
/// # Errors
/// A block does not end, its head is malformed, or its records cannot be read.
pub(crate) fn splice(kind: &Block, text: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let Block { name, start: opening, end: ending, tables } = kind;
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(opening) {
        let (before, block) = rest.split_at(start);
        let head = block.split_once(CLOSE).map(|(head, _)| head).unwrap_or(block);
        let Some((command, records)) = head[opening.len()..].split_once(MIDDLE) else {
            bail!(
                "a block of {name} must begin with {opening}COMMAND{MIDDLE}RECORDS{CLOSE}, not with {head}"
            );
        };
        let Some((_, after)) = block.split_once(ending) else {
            bail!("the block of {name} that begins with {head}{CLOSE} does not end: close it with {ending}");
        };
        let lines = read(records)?;
        let rows = lines
            .lines()
            .map(|line| {
                serde_json::from_str(line)
                    .with_context(|| format!("{records} has a line that is not a record"))
            })
            .collect::<Result<Vec<Value>>>()?;
        let tables = tables(&rows, command).with_context(|| format!("{records} cannot be shown"))?;
        let _ = write!(out, "{before}{head}{CLOSE}\n\n{tables}\n{ending}");
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn tables(rows: &[Value], command: &str) -> Result<String> {
    let first = rows.first().context("there are no records")?;
    if let Some(row) = rows.iter().find(|row| row["verified"] != true) {
        bail!("{} did not verify: a table shows verified rows only", row["kernel"]);
    }
    let bytes = first["parameters"]["bytes"].as_u64().context("a record has no size")?;
    let mut out = format!(
        "{} on an {} (driver for CUDA {}), {} MiB read and as many written, every element verified; by\n`{command}`.\n",
        if first["backend"] == "measured" { "Measured" } else { "Modelled" },
        text(&first["device"]["name"])?,
        text(&first["device"]["driver"])?,
        bytes >> 20,
    );
    out += "\n| copy | GB/s | of peak | of the driver's copy | time, Rust / CUDA C++ |\n| --- | --: | --: | --: | --: |\n";
    for row in rows.iter().filter(|row| row["experiment"] == "copy" && row["language"] != "cuda-c++") {
        let _ = writeln!(
            out,
            "| `{}` | {:.0} | {:.1}% | {:.1}% | {} |",
            text(&row["kernel"])?,
            number(&row["gb_per_s"])?,
            number(&row["percent_of_peak"])?,
            number(&row["percent_of_copy"])?,
            ratio(row),
        );
    }
    out +=
        "\n| | f32 GB/s | Rust / CUDA C++ | f64 GB/s | Rust / CUDA C++ |\n| --- | --: | --: | --: | --: |\n";
    for (experiment, values) in SHOWN {
        for &value in values {
            let mut cells = String::new();
            for precision in ["f32", "f64"] {
                let row = rows.iter().find(|row| {
                    row["experiment"] == experiment
                        && row["language"] == "rust"
                        && row["parameters"][experiment] == value
                        && row["parameters"]["precision"] == precision
                });
                match row {
                    Some(row) => {
                        let _ = write!(cells, " {:.0} | {} |", number(&row["gb_per_s"])?, ratio(row));
                    }
                    None => cells += " | |",
                }
            }
            let _ = writeln!(out, "| {experiment} {value} |{cells}");
        }
    }
    out += &summary(&rows.iter().collect::<Vec<_>>());
    Ok(out)
}

/// Summarises the ratios of all rows that have a twin in one sentence.
pub(crate) fn summary(rows: &[&Value]) -> String {
    let ratios = rows.iter().filter_map(|row| row["ratio_to_reference"].as_f64());
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else { return String::new() };
    let median = ratios[ratios.len() / 2];
    format!(
        "\nRust / C++ time ratio over {} rows: median {median:.3}, {least:.3} to {most:.3}.\n",
        ratios.len()
    )
}

/// Where a ratio of times counts as equal.
const EQUAL: std::ops::RangeInclusive<f64> = 0.98..=1.02;

/// A row's time over that of its twin, as text; where it is not [`EQUAL`], with its 95% interval, and where it is the middle of
/// several runs, with the least and the greatest. Nothing where it has none.
pub(crate) fn ratio(row: &Value) -> String {
    let Some(ratio) = row["ratio_to_reference"].as_f64() else { return String::new() };
    let bounds = |bounds: &Value| Some((bounds[0].as_f64()?, bounds[1].as_f64()?));
    let runs = &row["runs"];
    match (bounds(&runs["ratio_to_reference"]), bounds(&row["ratio_range"])) {
        (Some((least, most)), _) => format!("{ratio:.3} ({least:.2} to {most:.2} in {} runs)", runs["count"]),
        (None, Some((low, high))) if !EQUAL.contains(&ratio) => format!("{ratio:.3} ({low:.2} to {high:.2})"),
        _ => format!("{ratio:.3}"),
    }
}

fn number(value: &Value) -> Result<f64> {
    value.as_f64().context("a record lacks a figure")
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().context("a record lacks a name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(experiment: &str, language: &str, swept: Option<u64>, rate: f64, ratio: Option<f64>) -> Value {
        let mut row = json!({
            "experiment": experiment, "kernel": format!("{experiment}_f32"), "language": language, "backend": "measured",
            "device": {"name": "NVIDIA H200", "driver": "13.0"}, "parameters": {"precision": "f32", "bytes": 256 << 20},
            "gb_per_s": rate, "percent_of_peak": rate / 48.0, "percent_of_copy": rate / 42.0, "verified": true,
            "ratio_to_reference": ratio,
        });
        if let Some(value) = swept {
            row["parameters"][experiment] = json!(value);
        }
        row
    }

    fn lines(rows: &[Value]) -> String {
        rows.iter().map(|row| format!("{row}\n")).collect()
    }

    const README: &str = "before\n<!-- results of `cargo xtask compare`, kept in r.jsonl -->\nold\n<!-- end of results -->\nafter\n";

    #[test]
    fn a_block_is_made_from_its_records() {
        let rows = [
            row("copy", "rust", None, 4200.0, Some(1.001)),
            row("copy", "cuda-c++", None, 4204.0, None),
            row("stride", "rust", Some(8), 505.4, Some(0.99)),
        ];
        let read = |name: &str| {
            assert_eq!(name, "r.jsonl");
            Ok(lines(&rows))
        };
        let spliced = splice(&BLOCK, README, &read).expect("it is well formed");
        assert!(spliced.starts_with(
            "before\n<!-- results of `cargo xtask compare`, kept in r.jsonl -->\n\nMeasured on an"
        ));
        assert!(spliced.ends_with("\n<!-- end of results -->\nafter\n") && !spliced.contains("old"));
        assert!(spliced.contains("| `copy_f32` | 4200 | 87.5% | 100.0% | 1.001 |\n"), "{spliced}");
        assert!(spliced.contains("| stride 8 | 505 | 0.990 | | |\n"), "{spliced}");
        assert!(
            spliced.contains("\nRust / C++ time ratio over 2 rows: median 1.001, 0.990 to 1.001.\n"),
            "{spliced}"
        );
        assert_eq!(splice(&BLOCK, &spliced, &read).expect("it still is"), spliced);
    }

    #[test]
    fn rows_that_did_not_verify_are_not_shown() {
        let mut wrong = row("copy", "rust", None, 1.0, None);
        wrong["verified"] = json!(false);
        let error = splice(&BLOCK, README, &|_| Ok(lines(&[wrong.clone()]))).expect_err("it did not verify");
        assert!(format!("{error:#}").contains("did not verify"), "{error:#}");
    }

    #[test]
    fn malformed_blocks_are_named() {
        let read = |_: &str| Ok(String::new());
        let error =
            splice(&BLOCK, "<!-- results of `x` -->", &read).expect_err("no records are named").to_string();
        assert!(error.contains("must begin with"), "{error}");
        let error =
            splice(&BLOCK, "<!-- results of `x`, kept in y -->\n", &read).expect_err("no end").to_string();
        assert!(error.contains("does not end"), "{error}");
        assert_eq!(splice(&BLOCK, "no block", &read).expect("nothing to do"), "no block");
    }
}
