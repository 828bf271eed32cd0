//! The tables of docs/kernels.md: every kernel as it was measured, beside its twin.

use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::fidelity;
use crate::results::{self, Block};

/// The blocks of the page.
pub(crate) const BLOCK: Block =
    Block { name: "kernels", start: "<!-- kernels of `", end: "<!-- end of kernels -->", tables };

/// Parameters that another column or the page says, or that come with one that is said.
const UNSAID: [&str; 22] = [
    "bytes",
    "elements",
    "grid",
    "block",
    "precision",
    "nx",
    "ny",
    "m",
    "n",
    "k",
    "size",
    "class",
    "host_access",
    "loads",
    "stores",
    "space",
    "variable",
    "variable_bytes",
    "task",
    "way",
    "page",
    "budget",
];

/// A table an experiment, each row a kernel with its parameters.
fn tables(rows: &[Value], _command: &str) -> Result<String> {
    // The idioms are made to differ from their twins; docs/rust-tax.md has them.
    let rows: Vec<&Value> = rows.iter().filter(|row| row["experiment"] != "idioms").collect();
    let mut experiments: Vec<&str> = Vec::new();
    for row in &rows {
        let name = row["experiment"].as_str().context("a row names no experiment")?;
        if !experiments.contains(&name) {
            experiments.push(name);
        }
    }
    let mut out = String::new();
    for experiment in experiments {
        let rows: Vec<&Value> = rows.iter().copied().filter(|row| row["experiment"] == experiment).collect();
        // A rate of operations where all kernels have one.
        let kernels = || rows.iter().filter(|row| row["language"] != "driver");
        let (rate, unit) = match kernels().all(|row| row["gflop_per_s"].is_number()) {
            true => ("gflop_per_s", "GFLOP/s"),
            false => ("gb_per_s", "GB/s"),
        };
        let _ = writeln!(
            out,
            "### {experiment}\n\n| kernel | | Rust {unit} | of the copy | CUDA C++ {unit} | time, Rust / CUDA C++ |\n\
             | --- | --- | --: | --: | --: | --: |"
        );
        for row in rows.iter().filter(|row| row["language"] != "cuda-c++") {
            let twin =
                rows.iter().find(|other| other["language"] == "cuda-c++" && fidelity::is_same(row, other));
            let name = row["kernel"].as_str().context("a row names no kernel")?;
            let own = row[rate].as_f64().or(row["gb_per_s"].as_f64());
            let share = row["percent_of_copy"].as_f64().filter(|_| rate == "gb_per_s");
            let _ = writeln!(
                out,
                "| `{name}` | {} | {} | {} | {} | {} |",
                parameters(&row["parameters"]),
                figure(own.with_context(|| format!("{name} has no rate"))?),
                share.map_or_else(String::new, |share| format!("{share:.1}%")),
                twin.and_then(|twin| twin[rate].as_f64()).map_or_else(String::new, figure),
                results::ratio(row),
            );
        }
        out += "\n";
    }
    out += results::summary(&rows).trim_start();
    Ok(out.trim_end().to_owned())
}

/// A rate to three or four figures.
fn figure(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// What tells the row from others of its kernel, in words: sizes, block, and everything else by name.
pub(crate) fn parameters(parameters: &Value) -> String {
    let size = sides(parameters).or_else(|| {
        let bytes = parameters["bytes"].as_u64()?;
        Some(match bytes {
            _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
            _ => format!("{bytes} B"),
        })
    });
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let block =
        (!parameters["block"].is_null()).then(|| format!("blocks of {}", plain(&parameters["block"])));
    let more = parameters
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| !value.is_null() && !UNSAID.contains(&name.as_str()));
    let more = more.map(|(name, value)| format!("{name} {}", plain(value)));
    size.into_iter().chain(block).chain(more).collect::<Vec<_>>().join(", ")
}

/// The sides of the matrices that a row is about, `2048 x 2048`; `None` where it is about none.
pub(crate) fn sides(parameters: &Value) -> Option<String> {
    [&["nx", "ny"][..], &["m", "n", "k"]].into_iter().find_map(|names| {
        let sides: Option<Vec<String>> =
            names.iter().map(|&name| parameters[name].as_u64().map(|side| side.to_string())).collect();
        sides.map(|sides| sides.join(" x "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(kernel: &str, language: &str, rate: f64) -> Value {
        json!({
            "experiment": "transpose", "kernel": kernel, "language": language, "gb_per_s": rate, "percent_of_copy": rate / 42.0,
            "parameters": {"bytes": 16777216, "elements": 4194304, "block": "16x16", "grid": "128x128", "nx": 2048, "ny": 2048,
                           "precision": null, "padding": 1},
        })
    }

    #[test]
    fn each_kernel_has_its_twin_beside_it() {
        let mut rust = row("tile", "rust", 2100.0);
        rust["ratio_to_reference"] = json!(0.99);
        let rows = [rust, row("tile", "cuda-c++", 2079.0), row("vector", "rust", 4000.0)];
        let text = tables(&rows, "").unwrap();
        for line in [
            "| `tile` | 2048 x 2048, blocks of 16x16, padding 1 | 2100 | 50.0% | 2079 | 0.990 |",
            "| `vector` | 2048 x 2048, blocks of 16x16, padding 1 | 4000 | 95.2% |  |  |",
            "Rust / C++ time ratio over 1 rows: median 0.990, 0.990 to 0.990.",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn a_ratio_that_is_not_1_says_how_sure_it_is() {
        let mut rows = [1.015, 1.03].map(|ratio| {
            let mut row = row("tile", "rust", 2100.0);
            row["ratio_to_reference"] = json!(ratio);
            row["ratio_range"] = json!([0.914, 1.251]);
            row
        });
        rows[1]["kernel"] = json!("wide");
        let text = tables(&rows, "").unwrap();
        assert!(text.contains("| 1.015 |\n"), "{text}");
        assert!(text.contains("| 1.030 (0.91 to 1.25) |\n"), "{text}");
        rows[1]["runs"] = json!({"count": 9, "ratio_to_reference": [0.85, 1.16]});
        assert!(tables(&rows, "").unwrap().contains("| 1.030 (0.85 to 1.16 in 9 runs) |\n"));
    }

    #[test]
    fn products_are_rated_by_their_operations() {
        let mut product = row("matmul_naive", "rust", 20_000.0);
        product["gflop_per_s"] = json!(5137.4);
        product["parameters"] = json!({"bytes": 1, "m": 4, "n": 5, "k": 6});
        let text = tables(&[product], "").unwrap();
        assert!(text.contains("| Rust GFLOP/s |"), "{text}");
        assert!(text.ends_with("| `matmul_naive` | 4 x 5 x 6 | 5137 |  |  |  |"), "{text}");
    }

    #[test]
    fn a_row_without_a_rate_is_refused() {
        let mut wrong = row("tile", "rust", 1.0);
        wrong["gb_per_s"] = Value::Null;
        assert_eq!(tables(&[wrong], "").unwrap_err().to_string(), "tile has no rate");
    }
}
