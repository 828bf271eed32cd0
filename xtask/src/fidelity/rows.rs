//! Rows that an H200 measured or counted, and the command lines that simulate the same.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// What of a record is kept of a row that is only compared: what tells it from others, and how fast it was.
const KEPT: [&str; 12] = [
    "experiment",
    "kernel",
    "language",
    "backend",
    "parameters",
    "gb_per_s",
    "gflop_per_s",
    "percent_of_copy",
    "residence",
    "ratio_to_reference",
    "ratio_range",
    "copy",
];

/// A row for the files that are kept: a few fields of its record, the options it was run with, and whether it is one that
/// nobody simulates.
pub(crate) fn kept(row: &Value, run: Option<&[String]>, only_measured: bool) -> Value {
    let mut kept: Map<String, Value> = KEPT
        .iter()
        .filter(|name| !row[**name].is_null())
        .map(|name| ((*name).to_owned(), row[*name].clone()))
        .collect();
    if let Some(median) = row["time_ms"]["median"].as_f64() {
        let _ = kept.insert("ms".to_owned(), median.into());
    }
    if let Some(run) = run {
        let _ = kept.insert("run".to_owned(), run.into());
    }
    if only_measured {
        let _ = kept.insert("only_measured".to_owned(), true.into());
    }
    Value::Object(kept)
}

/// One run of the program: its options, the experiments, and the kernels whose rows are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) options: Vec<String>,
    pub(crate) experiments: Vec<String>,
    pub(crate) kernels: Vec<String>,
}

/// The runs that make the same rows again. A row that does not say what it was run with was run with its size alone.
pub(crate) fn runs(rows: &[Value]) -> Result<Vec<Run>> {
    let mut runs: BTreeMap<Vec<String>, [BTreeSet<String>; 2]> = BTreeMap::new();
    for row in rows {
        let options = match row["run"].as_array() {
            Some(words) => words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
            None => {
                let bytes = row["parameters"]["bytes"].as_u64().context("a row has no size")?;
                vec!["--bytes".to_owned(), bytes.to_string()]
            }
        };
        let names = runs.entry(options).or_default();
        for (set, field) in names.iter_mut().zip(["experiment", "kernel"]) {
            let name = row[field].as_str().with_context(|| format!("a row has no {field}: {row}"))?;
            let _ = set.insert(name.to_owned());
        }
    }
    let run = |(options, [experiments, kernels]): (Vec<String>, [BTreeSet<String>; 2])| Run {
        options,
        experiments: experiments.into_iter().collect(),
        kernels: kernels.into_iter().collect(),
    };
    Ok(runs.into_iter().map(run).collect())
}

/// Puts rows in place of those with the same kernel, language and parameters, or behind all others.
pub(crate) fn merged(old: Vec<Value>, new: &[Value]) -> Vec<Value> {
    let same = |a: &Value, b: &Value| {
        ["experiment", "kernel", "language", "parameters"].iter().all(|field| a[*field] == b[*field])
    };
    let mut all: Vec<Value> =
        old.into_iter().filter(|row| !new.iter().any(|other| same(row, other))).collect();
    all.extend_from_slice(new);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(kernel: &str, run: Option<&[&str]>) -> Value {
        let mut row = json!({"experiment": "e", "kernel": kernel, "parameters": {"bytes": 4096}});
        if let Some(run) = run {
            row["run"] = json!(run);
        }
        row
    }

    #[test]
    fn rows_of_one_command_line_are_run_together() {
        let rows = [row("b", None), row("a", None), row("c", Some(&["--small"])), row("a", None)];
        let runs = runs(&rows).unwrap();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            runs,
            [
                Run {
                    options: words(&["--bytes", "4096"]),
                    experiments: words(&["e"]),
                    kernels: words(&["a", "b"])
                },
                Run { options: words(&["--small"]), experiments: words(&["e"]), kernels: words(&["c"]) },
            ]
        );
        assert!(super::runs(&[json!({"experiment": "e", "kernel": "k", "parameters": {}})]).is_err());
    }

    #[test]
    fn little_is_kept_of_a_row() {
        let record = json!({
            "experiment": "e", "kernel": "k", "parameters": {"bytes": 1}, "gb_per_s": 2.5,
            "time_ms": {"median": 0.5, "min": 0.4}, "counters": {"total": 1}, "gflop_per_s": null,
        });
        assert_eq!(
            kept(&record, Some(&["--small".to_owned()]), false),
            json!({
                "experiment": "e", "kernel": "k", "parameters": {"bytes": 1}, "gb_per_s": 2.5, "ms": 0.5, "run": ["--small"],
            })
        );
    }

    #[test]
    fn what_is_only_measured_says_so() {
        let kept = kept(&json!({"kernel": "k"}), None, true);
        assert_eq!(kept, json!({"kernel": "k", "only_measured": true}));
    }

    #[test]
    fn a_row_takes_the_place_of_its_like() {
        let of = |kernel: &str, language: &str, rate: f64| json!({"kernel": kernel, "language": language, "parameters": {"bytes": 1}, "gb_per_s": rate});
        let old = vec![of("a", "rust", 1.0), of("a", "cuda-c++", 2.0), of("b", "rust", 3.0)];
        let all = merged(old, &[of("a", "rust", 4.0)]);
        assert_eq!(all, [of("a", "cuda-c++", 2.0), of("b", "rust", 3.0), of("a", "rust", 4.0)]);
    }
}
