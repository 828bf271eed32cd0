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

/// Figures of a kept row of which several runs have a middle.
const FIGURES: [&str; 5] = ["gb_per_s", "gflop_per_s", "percent_of_copy", "ms", "ratio_to_reference"];

/// The kept rows of several runs of one command line as one: each figure is the median of the runs, and `runs` says how
/// many there were and between what rates and ratios they lay. For rows that vary from run to run more than within one.
///
/// # Errors
/// A row is missing from a run.
pub(crate) fn middle(mut runs: Vec<Vec<Value>>) -> Result<Vec<Value>> {
    let mut rows = runs.pop().unwrap_or_default();
    if runs.is_empty() {
        return Ok(rows);
    }
    for row in &mut rows {
        let of = |run: &Vec<Value>| run.iter().find(|other| is_same_row(row, other)).cloned();
        let same = runs.iter().map(of).collect::<Option<Vec<Value>>>();
        let mut same = same
            .with_context(|| format!("{} {} is not in all of the runs", row["kernel"], row["parameters"]))?;
        same.push(row.clone());
        let mut between = Map::new();
        let _ = between.insert("count".to_owned(), same.len().into());
        for name in FIGURES {
            let mut values: Vec<f64> = same.iter().filter_map(|row| row[name].as_f64()).collect();
            values.sort_by(f64::total_cmp);
            let [least, .., most] = values[..] else { continue };
            row[name] = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]).into();
            if ["gb_per_s", "ratio_to_reference"].contains(&name) {
                let _ = between.insert(name.to_owned(), vec![least, most].into());
            }
        }
        if let Some(row) = row.as_object_mut() {
            // It is of one run alone.
            let _ = row.remove("ratio_range");
            let _ = row.insert("runs".to_owned(), Value::Object(between));
        }
    }
    Ok(rows)
}

/// Whether two rows are of the same kernel, parameters and language.
fn is_same_row(row: &Value, other: &Value) -> bool {
    super::is_same(row, other)
        && row["language"] == other["language"]
        && row["experiment"] == other["experiment"]
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

/// Puts rows in the place of those with the same kernel, language and parameters, and what is new behind all others.
pub(crate) fn merged(old: Vec<Value>, new: &[Value]) -> Vec<Value> {
    let renewed = |row: Value| new.iter().find(|other| is_same_row(&row, other)).cloned().unwrap_or(row);
    let mut all: Vec<Value> = old.into_iter().map(renewed).collect();
    for row in new {
        if !all.iter().any(|other| is_same_row(row, other)) {
            all.push(row.clone());
        }
    }
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
    fn several_runs_have_a_middle() {
        let run = |rate: f64, ratio: f64| {
            let mut rust = row("a", None);
            rust["language"] = json!("rust");
            rust["gb_per_s"] = json!(rate);
            rust["ratio_to_reference"] = json!(ratio);
            rust["ratio_range"] = json!([0.9, 1.1]);
            let mut twin = row("a", None);
            twin["language"] = json!("cuda-c++");
            twin["gb_per_s"] = json!(10.0 * rate);
            vec![rust, twin]
        };
        let rows = middle(vec![run(3.0, 1.5), run(1.0, 1.0), run(2.0, 0.5)]).unwrap();
        assert_eq!((&rows[0]["gb_per_s"], &rows[0]["ratio_to_reference"]), (&json!(2.0), &json!(1.0)));
        assert_eq!(
            rows[0]["runs"],
            json!({"count": 3, "gb_per_s": [1.0, 3.0], "ratio_to_reference": [0.5, 1.5]})
        );
        assert!(rows[0]["ratio_range"].is_null());
        assert_eq!((rows.len(), &rows[1]["gb_per_s"]), (2, &json!(20.0)));
        assert_eq!(rows[1]["runs"], json!({"count": 3, "gb_per_s": [10.0, 30.0]}));

        // Of an even number it is between the two in the middle; one run stays as it is.
        assert_eq!(middle(vec![run(1.0, 1.0), run(2.0, 1.0)]).unwrap()[0]["gb_per_s"], json!(1.5));
        assert_eq!(middle(vec![run(1.0, 1.0)]).unwrap(), run(1.0, 1.0));
        let mut short = run(1.0, 1.0);
        short.truncate(1);
        assert!(
            middle(vec![short, run(1.0, 1.0)]).unwrap_err().to_string().contains("not in all of the runs")
        );
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
        let all = merged(old, &[of("c", "rust", 5.0), of("a", "rust", 4.0)]);
        let [a, twin, b, c] =
            [("a", "rust", 4.0), ("a", "cuda-c++", 2.0), ("b", "rust", 3.0), ("c", "rust", 5.0)];
        assert_eq!(all, [a, twin, b, c].map(|(kernel, language, rate)| of(kernel, language, rate)));
    }
}
