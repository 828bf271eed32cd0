//! Nsight Compute's counters of a run, joined with the run's own records.
//!
//! `ncu --csv --page raw` writes a line a launch in the order of the launches, and does not say with which arguments. The
//! run's records say that, in the same order, so the n-th kernel row has the n-th group of launches. Every row must have
//! the same number of launches; the last of each group counts, which found the caches as its row leaves them.

use record::{Hardware, Language, Record};
use std::collections::BTreeMap;

/// Why a file of Nsight Compute's and records do not belong together.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NcuError {
    /// The file has no line.
    #[error("the file is empty")]
    Empty,
    /// The file was written in another form.
    #[error("the file has no column \"Kernel Name\"; write it with `ncu --csv --page raw`")]
    NoKernels,
    /// A line is cut short.
    #[error("a line ends before its kernel's name")]
    Short,
    /// The launches are not the same number for each row.
    #[error("{launches} launches cannot be divided evenly among {rows} rows")]
    Uneven {
        /// The launches in the file.
        launches: usize,
        /// The rows of kernels.
        rows: usize,
    },
    /// A launch is of another kernel than its row.
    #[error("expected a launch of `{expected}`, found one of `{found}`: the records are of another run")]
    Other {
        /// The row's kernel.
        expected: String,
        /// The launch's.
        found: String,
    },
}

/// Each row of a kernel among the records with the counters of one of its launches.
///
/// # Errors
/// The launches are not a whole number for each row, or a row's kernel is not the launches'.
pub fn join(csv: &str, records: &[Record], run: Option<&[String]>) -> Result<Vec<Hardware>, NcuError> {
    let launches = launches(csv)?;
    let rows: Vec<&Record> = records.iter().filter(|row| row.language == Language::Rust).collect();
    if rows.is_empty() || launches.is_empty() || !launches.len().is_multiple_of(rows.len()) {
        return Err(NcuError::Uneven { launches: launches.len(), rows: rows.len() });
    }
    let each = launches.len() / rows.len();
    let mut joined = Vec::new();
    for (row, group) in rows.iter().zip(launches.chunks(each)) {
        if let Some((other, _)) = group.iter().find(|(name, _)| *name != row.kernel) {
            return Err(NcuError::Other { expected: row.kernel.clone(), found: other.clone() });
        }
        joined.extend(group.last().map(|(_, counters)| Hardware {
            experiment: row.experiment.clone(),
            kernel: row.kernel.clone(),
            parameters: row.parameters.clone(),
            hardware: counters.clone(),
            run: run.map(<[String]>::to_vec),
        }));
    }
    Ok(joined)
}

/// A launch's kernel and its counters.
type Launch = (String, BTreeMap<String, u64>);

/// The launches of a file, in order.
fn launches(csv: &str) -> Result<Vec<Launch>, NcuError> {
    let mut lines = csv.lines().filter(|line| !line.starts_with("==") && !line.is_empty()).map(fields);
    let header = lines.next().ok_or(NcuError::Empty)?;
    let kernel = header.iter().position(|name| *name == "Kernel Name").ok_or(NcuError::NoKernels)?;
    // What ncu itself moved is none of the kernel's doing.
    let is_counter = |name: &str| {
        (name.contains("__") && name.ends_with(".sum") || name == "launch__registers_per_thread")
            && !name.starts_with("profiler__")
            && !name.starts_with("gpu__")
    };
    // The line behind the header has the units.
    let launch = |line: Vec<&str>| {
        let name = line.get(kernel).ok_or(NcuError::Short)?;
        let counters = header.iter().zip(&line).filter(|(column, _)| is_counter(column));
        let counter = |(column, value): (&&str, &&str)| {
            Some(((*column).to_string(), value.replace(',', "").parse().ok()?))
        };
        Ok(((*name).to_string(), counters.filter_map(counter).collect()))
    };
    lines.skip(1).map(launch).collect()
}

/// The fields of a line of CSV, all of them in quotes.
fn fields(line: &str) -> Vec<&str> {
    let line = line.strip_prefix('"').unwrap_or(line);
    line.strip_suffix('"').unwrap_or(line).split("\",\"").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::row;

    const CSV: &str = "==PROF== Connected\n\
        \"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\"\n\
        \"\",\"\",\"byte\",\"ns\"\n\
        \"0\",\"a\",\"1,024\",\"5\"\n\
        \"1\",\"a\",\"2,048\",\"5\"\n\
        \"2\",\"b\",\"7\",\"5\"\n\
        \"3\",\"b\",\"8\",\"5\"\n";

    fn of(kernel: &str, language: Language) -> Record {
        Record { kernel: kernel.to_string(), language, ..row(0, None) }
    }

    #[test]
    fn each_row_gets_the_last_of_its_launches() {
        let records = [of("a", Language::Rust), of("copy_driver", Language::Driver), of("b", Language::Rust)];
        let rows = join(CSV, &records, None).expect("two launches per row");
        let counted: Vec<(&str, u64)> =
            rows.iter().map(|row| (row.kernel.as_str(), row.hardware["dram__bytes_read.sum"])).collect();
        assert_eq!(counted, [("a", 2048), ("b", 8)]);
        assert_eq!(rows[0].hardware.len(), 1);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let error = join(CSV, &[of("a", Language::Rust), of("c", Language::Rust)], None);
        assert_eq!(
            error.expect_err("b is not c").to_string(),
            "expected a launch of `c`, found one of `b`: the records are of another run"
        );
        let three = ["a", "b", "b"].map(|kernel| of(kernel, Language::Rust));
        assert_eq!(join(CSV, &three, None), Err(NcuError::Uneven { launches: 4, rows: 3 }));
        assert_eq!(join("\"ID\"\n", &three, None), Err(NcuError::NoKernels));
    }
}
