//! What Nsight Compute wrote of a run, joined with the run's own records.
//!
//! `ncu --csv --page raw` writes a line a launch in the order of the launches, and does not say with which arguments. The
//! run's records say that, in the same order, so the n-th kernel row has the n-th group of launches. Every row must have
//! the same number of launches; the last of each group counts, which found the caches as its row leaves them.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

/// Lines for `counters.jsonl`: each row of `records` with the counters of one of its launches.
///
/// # Errors
/// The launches are not a whole number for each row, or a row's kernel is not the launches'.
pub(crate) fn join(csv: &str, records: &[Value], run: Option<&[String]>) -> Result<Vec<Value>> {
    let launches = launches(csv)?;
    let rows: Vec<&Value> = records.iter().filter(|row| row["language"] == "rust").collect();
    if rows.is_empty() || launches.is_empty() || !launches.len().is_multiple_of(rows.len()) {
        bail!("{} launches cannot be divided evenly among {} rows", launches.len(), rows.len());
    }
    let each = launches.len() / rows.len();
    let mut joined = Vec::new();
    for (row, group) in rows.iter().zip(launches.chunks(each)) {
        let kernel = row["kernel"].as_str().context("a record names no kernel")?;
        if let Some((other, _)) = group.iter().find(|(name, _)| name != kernel) {
            bail!("expected a launch of `{kernel}`, found one of `{other}`: the records are of another run");
        }
        let (_, counters) = group.last().context("each row has launches")?;
        let mut line = json!({
            "experiment": row["experiment"], "kernel": kernel, "parameters": row["parameters"], "hardware": counters,
        });
        if let Some(run) = run {
            line["run"] = run.into();
        }
        joined.push(line);
    }
    Ok(joined)
}

/// Kernel and counters of each launch.
fn launches(csv: &str) -> Result<Vec<(String, Map<String, Value>)>> {
    let mut lines = csv.lines().filter(|line| !line.starts_with("==") && !line.is_empty()).map(fields);
    let header = lines.next().context("the file is empty")?;
    let kernel = header.iter().position(|name| name == "Kernel Name");
    let kernel =
        kernel.context("the file has no column \"Kernel Name\"; write it with `ncu --csv --page raw`")?;
    let is_counter = |name: &str| {
        name.contains("__") && (name.ends_with(".sum") || name == "launch__registers_per_thread")
    };
    let mut launches = Vec::new();
    // The line behind the header has the units.
    for line in lines.skip(1) {
        let name = line.get(kernel).context("a line ends before its kernel's name")?;
        let mut counters = Map::new();
        for (column, value) in header.iter().zip(&line).filter(|(column, _)| is_counter(column)) {
            if let Ok(value) = value.replace(',', "").parse::<u64>() {
                let _ = counters.insert(column.clone(), json!(value));
            }
        }
        // What ncu itself moved is none of the kernel's doing.
        counters.retain(|name, _| !name.starts_with("profiler__") && !name.starts_with("gpu__"));
        launches.push((name.clone(), counters));
    }
    Ok(launches)
}

/// The fields of a line of CSV, all of them in quotes.
fn fields(line: &str) -> Vec<String> {
    let line = line.strip_prefix('"').unwrap_or(line);
    let line = line.strip_suffix('"').unwrap_or(line);
    line.split("\",\"").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "==PROF== Connected\n\
        \"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\"\n\
        \"\",\"\",\"byte\",\"ns\"\n\
        \"0\",\"a\",\"1,024\",\"5\"\n\
        \"1\",\"a\",\"2,048\",\"5\"\n\
        \"2\",\"b\",\"7\",\"5\"\n\
        \"3\",\"b\",\"8\",\"5\"\n";

    fn record(kernel: &str, language: &str) -> Value {
        json!({"experiment": "e", "kernel": kernel, "language": language, "parameters": {"bytes": 1}})
    }

    #[test]
    fn each_row_gets_the_last_of_its_launches() {
        let records = [record("a", "rust"), record("copy_driver", "driver"), record("b", "rust")];
        let rows = join(CSV, &records, None).expect("two launches a row");
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0]["hardware"], json!({"dram__bytes_read.sum": 2048}));
        assert_eq!(
            (&rows[1]["kernel"], &rows[1]["hardware"]),
            (&json!("b"), &json!({"dram__bytes_read.sum": 8}))
        );
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let error =
            join(CSV, &[record("a", "rust"), record("c", "rust")], None).expect_err("b is not c").to_string();
        assert_eq!(error, "expected a launch of `c`, found one of `b`: the records are of another run");
        let three = [record("a", "rust"), record("b", "rust"), record("b", "rust")];
        assert!(join(CSV, &three, None).is_err());
    }
}
