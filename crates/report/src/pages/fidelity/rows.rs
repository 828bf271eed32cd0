//! Rows that an H200 measured or counted, and the command lines that simulate the same.

use super::FidelityError;
use crate::pages::kernels;
use record::{Hardware, Kept, Parameters, Spread, median};
use std::collections::{BTreeMap, BTreeSet};

/// The kept rows of several runs of one command line as one: each figure is the median of the runs, and `runs` says how
/// many there were and between what rates and ratios they lay. For rows that vary from run to run more than within one.
///
/// # Errors
/// A row is missing from a run.
pub fn middle(mut runs: Vec<Vec<Kept>>) -> Result<Vec<Kept>, FidelityError> {
    let mut rows = runs.pop().unwrap_or_default();
    if runs.is_empty() {
        return Ok(rows);
    }
    for row in &mut rows {
        let of = |run: &Vec<Kept>| run.iter().find(|other| row.is_same_row(other)).cloned();
        let missing =
            || FidelityError::NotInAll(format!("`{}`, {}", row.kernel, kernels::parameters(&row.parameters)));
        let mut same = runs.iter().map(of).collect::<Option<Vec<Kept>>>().ok_or_else(missing)?;
        same.push(row.clone());
        let values = |of: fn(&Kept) -> Option<f64>| same.iter().filter_map(of).collect::<Vec<f64>>();
        let bounds = |of| {
            let values = values(of);
            let least = values.iter().copied().reduce(f64::min)?;
            Some([least, values.iter().copied().reduce(f64::max)?]).filter(|_| values.len() > 1)
        };
        row.runs = Some(Spread {
            count: same.len(),
            gb_per_s: bounds(|row| row.gb_per_s),
            ratio_to_reference: bounds(|row| row.ratio_to_reference),
        });
        row.gb_per_s = median(&values(|row| row.gb_per_s));
        row.gflop_per_s = median(&values(|row| row.gflop_per_s));
        row.figure = median(&values(|row| row.figure));
        row.percent_of_copy = median(&values(|row| row.percent_of_copy));
        row.ms = median(&values(|row| row.ms));
        row.ratio_to_reference = median(&values(|row| row.ratio_to_reference));
        // It is of one run alone.
        row.ratio_range = None;
    }
    Ok(rows)
}

/// One run of the program: its options, the experiments, and the kernels whose rows are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The options.
    pub options: Vec<String>,
    /// The experiments.
    pub experiments: Vec<String>,
    /// The kernels.
    pub kernels: Vec<String>,
    /// The size of all rows together, by which long runs are told from short ones.
    pub bytes: u64,
}

/// The fields that determine the command line of a row.
pub trait Made {
    /// The row's experiment, kernel and parameters, and the options that make it where they are more than its size.
    fn by(&self) -> (&str, &str, &Parameters, Option<&[String]>);
}

impl Made for Kept {
    fn by(&self) -> (&str, &str, &Parameters, Option<&[String]>) {
        (&self.experiment, &self.kernel, &self.parameters, self.run.as_deref())
    }
}

impl Made for Hardware {
    fn by(&self) -> (&str, &str, &Parameters, Option<&[String]>) {
        (&self.experiment, &self.kernel, &self.parameters, self.run.as_deref())
    }
}

/// The command lines that make the same rows again. A row that does not say what it was run with was run with its size alone,
/// and of a sweep with the values that the rows have: a run by itself visits fewer.
pub fn command_lines(rows: &[impl Made]) -> Vec<CommandLine> {
    #[derive(Default)]
    struct Wanted<'r> {
        experiments: BTreeSet<&'r str>,
        kernels: BTreeSet<&'r str>,
        values: BTreeSet<u64>,
        bytes: u64,
    }
    // Sweeps of different parameters have different ranges.
    let mut lines: BTreeMap<(Vec<String>, Option<&str>), Wanted<'_>> = BTreeMap::new();
    for (experiment, kernel, parameters, run) in rows.iter().map(Made::by) {
        let of_size = || vec!["--bytes".to_string(), parameters.bytes.to_string()];
        let swept = parameters.swept.as_ref().filter(|_| run.is_none());
        let key = (run.map_or_else(of_size, <[String]>::to_vec), swept.map(|swept| swept.name.as_str()));
        let wanted = lines.entry(key).or_default();
        let _ = wanted.experiments.insert(experiment);
        let _ = wanted.kernels.insert(kernel);
        wanted.values.extend(swept.map(|swept| swept.value));
        wanted.bytes = wanted.bytes.saturating_add(parameters.bytes);
    }
    let line = |((mut options, _), Wanted { experiments, kernels, values, bytes }): (
        (Vec<String>, _),
        Wanted<'_>,
    )| {
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(u64::to_string).collect();
            options.extend(["--range".to_string(), values.join(",")]);
        }
        let names = |names: BTreeSet<&str>| names.into_iter().map(str::to_string).collect();
        CommandLine { options, experiments: names(experiments), kernels: names(kernels), bytes }
    };
    lines.into_iter().map(line).collect()
}

/// Puts rows in the place of those that are the same, and what is new behind all others.
pub fn merged<T: Clone>(old: Vec<T>, new: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let renewed = |row: T| new.iter().find(|other| same(&row, other)).cloned().unwrap_or(row);
    let mut all: Vec<T> = old.into_iter().map(renewed).collect();
    for row in new {
        if !all.iter().any(|other| same(row, other)) {
            all.push(row.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::row;
    use record::Language;

    fn kept(kernel: &str, run: Option<&[&str]>) -> Kept {
        Kept {
            kernel: kernel.to_string(),
            parameters: Parameters::of_bytes(4096),
            run: run.map(|words| words.iter().map(ToString::to_string).collect()),
            ..Kept::of(&row(0, None))
        }
    }

    #[test]
    fn several_runs_have_a_middle() {
        let run = |rate: f64, ratio: f64| {
            let rust = Kept {
                gb_per_s: Some(rate),
                ratio_to_reference: Some(ratio),
                ratio_range: Some([0.9, 1.1]),
                ..kept("a", None)
            };
            let twin = Kept { language: Language::CudaCpp, gb_per_s: Some(10.0 * rate), ..kept("a", None) };
            vec![rust, twin]
        };
        let rows = middle(vec![run(3.0, 1.5), run(1.0, 1.0), run(2.0, 0.5)]).expect("all have all rows");
        assert_eq!((rows[0].gb_per_s, rows[0].ratio_to_reference), (Some(2.0), Some(1.0)));
        let spread = Spread { count: 3, gb_per_s: Some([1.0, 3.0]), ratio_to_reference: Some([0.5, 1.5]) };
        assert_eq!((rows[0].runs, rows[0].ratio_range), (Some(spread), None));
        let spread = Spread { count: 3, gb_per_s: Some([10.0, 30.0]), ratio_to_reference: None };
        assert_eq!((rows.len(), rows[1].gb_per_s, rows[1].runs), (2, Some(20.0), Some(spread)));

        // Of an even number it is between the two in the middle; one run stays as it is.
        let two = middle(vec![run(1.0, 1.0), run(2.0, 1.0)]).expect("both have all rows");
        assert_eq!(two[0].gb_per_s, Some(1.5));
        assert_eq!(middle(vec![run(1.0, 1.0)]).expect("one run"), run(1.0, 1.0));
        let mut short = run(1.0, 1.0);
        short.truncate(1);
        let error = middle(vec![short, run(1.0, 1.0)]).expect_err("the twin is missing").to_string();
        assert_eq!(error, "`a`, 4 KiB is not in all of the runs");
    }

    #[test]
    fn rows_of_one_command_line_are_run_together() {
        let swept =
            |value| Kept { parameters: Parameters::of_bytes(4096).swept("offset", value), ..kept("d", None) };
        let rows = [
            kept("b", None),
            kept("a", None),
            swept(8),
            kept("c", Some(&["--small"])),
            kept("a", None),
            swept(0),
        ];
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            command_lines(&rows),
            [
                CommandLine {
                    options: words(&["--bytes", "4096"]),
                    experiments: words(&["offset"]),
                    kernels: words(&["a", "b"]),
                    bytes: 3 * 4096,
                },
                CommandLine {
                    options: words(&["--bytes", "4096", "--range", "0,8"]),
                    experiments: words(&["offset"]),
                    kernels: words(&["d"]),
                    bytes: 2 * 4096,
                },
                CommandLine {
                    options: words(&["--small"]),
                    experiments: words(&["offset"]),
                    kernels: words(&["c"]),
                    bytes: 4096,
                },
            ]
        );
    }

    #[test]
    fn a_row_takes_the_place_of_its_like() {
        let of = |kernel: &str, language, rate| Kept { language, gb_per_s: Some(rate), ..kept(kernel, None) };
        let (rust, twin) = (Language::Rust, Language::CudaCpp);
        let old = vec![of("a", rust, 1.0), of("a", twin, 2.0), of("b", rust, 3.0)];
        let all = merged(old, &[of("c", rust, 5.0), of("a", rust, 4.0)], Kept::is_same_row);
        let expected = [("a", rust, 4.0), ("a", twin, 2.0), ("b", rust, 3.0), ("c", rust, 5.0)];
        assert_eq!(all, expected.map(|(kernel, language, rate)| of(kernel, language, rate)));
    }
}
