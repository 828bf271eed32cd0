//! What a run came to, in a few lines: for each experiment its rows and the best and the worst of them, and what to look at
//! next. As everything rendered it is made from records alone.

use super::{
    figures::short,
    layout::{add, new, trimmed, wrapped},
    table::labels,
};
use comfy_table::CellAlignment::{self, Left, Right};
use record::{Backend, Language, Record};
use std::fmt::Write;

/// The summary of a run of several experiments; nothing for one alone, whose table says it all.
pub fn summary(records: &[Record]) -> String {
    let mut experiments: Vec<&str> = Vec::new();
    for record in records {
        if !experiments.contains(&record.experiment.as_str()) {
            experiments.push(&record.experiment);
        }
    }
    let Some(first) = records.first().filter(|_| experiments.len() > 1) else { return String::new() };
    let header = ["summary", "rows", "best", "", "worst", ""].map(str::to_string).to_vec();
    let mut table = new(header, 0);
    for name in &experiments {
        let rows: Vec<&Record> = records.iter().filter(|record| record.experiment == *name).collect();
        add(&mut table, line(name, &rows));
    }
    for (number, alignment) in ALIGNMENTS.into_iter().enumerate() {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(alignment);
        }
    }
    let mut text = format!("\n{}\n", trimmed(&table));
    let labelled: Vec<(String, &Record)> = experiments
        .iter()
        .flat_map(|name| {
            let rows: Vec<&Record> = records.iter().filter(|record| record.experiment == *name).collect();
            labels(&rows).into_iter().zip(rows)
        })
        .collect();
    let _ = writeln!(text, "{}", wrapped(&verdict(first, &labelled)));
    let _ = writeln!(text, "{}", wrapped(&next(first, &labelled)));
    text
}

/// Of the columns: names to the left, numbers to the right.
const ALIGNMENTS: [CellAlignment; 6] = [Left, Right, Left, Right, Left, Right];

/// The longest label of a row in the table, in letters.
const LABEL: usize = 26;

/// An experiment's line.
fn line(name: &str, rows: &[&Record]) -> Vec<String> {
    let verified = rows.iter().filter(|row| row.verified).count();
    let count =
        if verified == rows.len() { verified.to_string() } else { format!("{verified} of {}", rows.len()) };
    let mut line = vec![name.to_string(), count];
    // The driver's own work is what kernels are held against, not one of them.
    let kernels = || labels(rows).into_iter().zip(rows).filter(|(_, row)| row.language == Language::Rust);
    // Where all are about arithmetic, its rate is what counts; where some are, they are another matter than the rest.
    let arithmetic = kernels().all(|(_, row)| row.arithmetic_intensity.is_some());
    let rate = |row: &Record| match row.arithmetic_intensity {
        _ if arithmetic => row.gflop_per_s,
        Some(_) => None,
        None => row.gb_per_s,
    };
    let mut rated: Vec<(f64, String)> =
        kernels().filter_map(|(label, row)| Some((rate(row)?, label))).collect();
    rated.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let unit = if arithmetic { "GFLOP/s" } else { "GB/s" };
    for (rate, label) in rated.first().into_iter().chain(rated.last().filter(|_| rated.len() > 1)) {
        line.push(cut(label));
        line.push(format!("{} {unit}", short(*rate)));
    }
    line.resize(ALIGNMENTS.len(), String::new());
    line
}

/// A label as far as there is room for it.
fn cut(label: &str) -> String {
    if label.chars().count() <= LABEL {
        return label.to_string();
    }
    label.chars().take(LABEL - 2).chain("..".chars()).collect()
}

/// What the rows are and whether they are right, in a sentence.
fn verdict(first: &Record, rows: &[(String, &Record)]) -> String {
    let wrong: Vec<&String> = rows.iter().filter(|(_, row)| !row.verified).map(|(label, _)| label).collect();
    let how = match first.backend {
        Backend::Measured => "measured on",
        Backend::Modelled => "modelled for",
    };
    let device = first.device.plain_name();
    match wrong.first() {
        None => format!("All {} rows verified, every element of them; {how} {device}.", rows.len()),
        Some(label) => format!(
            "{} of {} rows are INVALID, the first of them {label}; {how} {device}.",
            wrong.len(),
            rows.len(),
        ),
    }
}

/// What to do with it, by what it is.
fn next(first: &Record, rows: &[(String, &Record)]) -> String {
    if let Some((_, row)) = rows.iter().find(|(_, row)| !row.verified) {
        return format!("Next: `coalesce check {}` looks for what went wrong, access by access.", row.kernel);
    }
    // The row that gets least of what the copy gets: the one that has most to explain.
    let part =
        |row: &Record| row.percent_of_copy.filter(|_| row.language == Language::Rust && about_bytes(row));
    let parts = rows.iter().filter_map(|(label, row)| Some((part(row)?, label, row)));
    let mut text = String::from("Next: ");
    if let Some((percent, label, row)) = parts.min_by(|(one, ..), (other, ..)| one.total_cmp(other)) {
        let how = match first.backend {
            Backend::Measured => format!("`--explain --kernel {}` says why", row.kernel),
            Backend::Modelled => {
                format!("`--counters lines --kernel {}` shows why, line by line", row.kernel)
            }
        };
        let _ = write!(text, "{label} gets {percent:.1}% of the copy: {how}; ");
    }
    text + "one experiment's name runs it alone, --full at the articles' sizes."
}

/// Whether a row moves enough for its rate to be that of memory, not that of starting a kernel.
fn about_bytes(row: &Record) -> bool {
    const LEAST: u64 = 1 << 20;
    row.arithmetic_intensity.is_none() && row.bytes.read + row.bytes.written >= LEAST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::table::tests::{modelled, row};
    use record::Precision;

    fn named(experiment: &str, kernel: &str, milliseconds: Option<f64>) -> Record {
        let row = row(0, Precision::F32, milliseconds);
        let parameters = record::Parameters { swept: None, ..row.parameters };
        Record { experiment: experiment.to_string(), kernel: kernel.to_string(), parameters, ..row }
    }

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn one_experiment_needs_no_summary() {
        assert_eq!(summary(&[]), "");
        assert_eq!(
            summary(&[named("copy", "copy_scalar", Some(0.2)), named("copy", "copy_vector", Some(0.1))]),
            ""
        );
    }

    #[test]
    fn each_experiment_has_its_best_and_worst() {
        let records = [
            named("copy", "copy_scalar", Some(0.2)),
            named("copy", "copy_vector", Some(0.125)),
            row(0, Precision::F32, Some(0.2)),
            row(8, Precision::F32, Some(0.4)),
            Record { language: Language::Driver, ..named("copy", "copy_driver", Some(0.1)) },
        ];
        let text = summary(&records);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(words(lines[1]), ["summary", "rows", "best", "worst"]);
        assert_eq!(
            words(lines[3]),
            ["copy", "3", "copy_vector", "4295", "GB/s", "copy_scalar", "2684", "GB/s"]
        );
        assert_eq!(
            words(lines[4]),
            ["offset", "2", "offset_f32", "0", "2684", "GB/s", "offset_f32", "8", "1342", "GB/s"]
        );
        assert_eq!(lines[5], "All 5 rows verified, every element of them; measured on NVIDIA H200.");
        assert!(
            lines[6].starts_with(
                "Next: offset_f32 8 gets 32.0% of the copy: `--explain --kernel offset_f32` says why; "
            ),
            "{text}"
        );
        assert!(text.lines().count() <= 9 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn arithmetic_is_rated_by_itself_or_not_at_all() {
        let product = |kernel: &str, gflop_per_s: f64| Record {
            gflop_per_s: Some(gflop_per_s),
            arithmetic_intensity: Some(4.0),
            ..named("matmul", kernel, Some(0.2))
        };
        let mut rows =
            vec![product("matmul_naive", 4200.0), product("matmul_tiled_with_a_long_name_indeed", 9000.0)];
        let of = |rows: &[Record]| line("matmul", &rows.iter().collect::<Vec<_>>())[1..].join("|");
        assert_eq!(of(&rows), "2|matmul_tiled_with_a_long..|9000 GFLOP/s|matmul_naive|4200 GFLOP/s");
        rows.push(named("matmul", "copy", Some(0.2)));
        assert_eq!(of(&rows), "3|copy|2684 GB/s||");
    }

    #[test]
    fn what_is_wrong_comes_first() {
        let records = [named("copy", "copy_scalar", Some(0.2)), modelled(row(3, Precision::F64, None))];
        let text = summary(&records);
        assert!(text.contains("1 of 2 rows are INVALID, the first of them offset_f64 3; "), "{text}");
        assert!(
            text.ends_with(
                "Next: `coalesce check offset_f64` looks for what went wrong, access by access.\n"
            )
        );
        let line = text.lines().find(|line| line.starts_with("offset")).unwrap_or_default();
        assert_eq!(words(line), ["offset", "0", "of", "1"]);
    }
}
