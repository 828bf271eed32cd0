//! The summary of a run: the finding of each experiment, a next step, and the files that were written.
//! As everything rendered it is made from records alone.

use super::{
    Shown, experiments,
    figures::short,
    layout::{cut, wrapped},
    setting::labels,
    style::Ink,
};
use crate::Catalog;
use record::{Backend, Language, Measure, Record};
use std::fmt::Write;

/// Something that a run has left behind for later: what it is, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name in a word, such as `records`.
    pub what: &'static str,
    /// The path.
    pub path: String,
}

/// The end of a run: of several experiments a line or two on each, and where everything was written.
pub fn summary(records: &[Record], catalog: &Catalog, written: &[Written], shown: Shown) -> String {
    let (style, width) = (shown.style, shown.style.prose());
    let experiments = experiments(records);
    let mut text = String::new();
    if let [first, _, ..] = &experiments[..] {
        let label = experiments.iter().map(|rows| rows[0].experiment.len()).max().unwrap_or(0);
        let _ = writeln!(text, "\n{}", style.paint(Ink::Strong, &cut(&title(first[0]), width)));
        for rows in &experiments {
            let name = &rows[0].experiment;
            let finding = catalog.lesson(name).and_then(|lesson| (lesson.finding)(rows));
            let line = finding.or_else(|| extremes(rows)).unwrap_or_else(|| "no row has a rate".to_string());
            let line = wrapped(&line, width.saturating_sub(label + 2));
            let line = line.replace('\n', &format!("\n{:indent$}", "", indent = label + 2));
            let _ = writeln!(text, "{name:label$}  {line}");
        }
        let labelled: Vec<(String, &Record)> =
            experiments.iter().flat_map(|rows| labels(rows).into_iter().zip(rows.iter().copied())).collect();
        let _ = writeln!(text, "{}", wrapped(&verdict(&labelled), width));
        let _ = writeln!(text, "{}", wrapped(&next(first[0], &labelled), width));
    }
    let what = written.iter().map(|written| written.what.len()).max().unwrap_or(0);
    // Paths are not broken: they are to be copied.
    for Written { what: name, path } in written {
        let _ = writeln!(text, "{name:what$}  {path}");
    }
    text
}

/// The heading of the lines.
fn title(first: &Record) -> String {
    match first.backend {
        Backend::Measured => format!("summary, measured on {}", first.device.plain_name()),
        Backend::Modelled => format!("summary, modelled for {}", first.device.plain_name()),
    }
}

/// The best and the worst of the kernels that fill the card; `None` where none has a rate.
fn extremes(rows: &[&Record]) -> Option<String> {
    // The driver's own work is what kernels are held against, not one of them.
    let kernels = || labels(rows).into_iter().zip(rows).filter(|(_, row)| row.language == Language::Rust);
    // Where all are compared by one quantity, that is what counts; where some are, they are another matter than the rest.
    let mut measures = kernels().map(|(_, row)| row.measure());
    let first = measures.next()?;
    let measure = if measures.all(|other| other == first) { first } else { Measure::Bandwidth };
    let rate = |row: &Record| measure.of(row).filter(|_| row.measure() == measure);
    let rated: Vec<(f64, String, &Record)> =
        kernels().filter_map(|(label, row)| Some((rate(row)?, label, *row))).collect();
    let mut crowned: Vec<&(f64, String, &Record)> =
        rated.iter().filter(|(_, _, row)| row.unfilled().is_none()).collect();
    crowned.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    if measure.is_time() {
        crowned.reverse();
    }
    let told =
        |(rate, label, _): &(f64, String, &Record)| format!("{label} {} {}", short(*rate), measure.unit());
    match &crowned[..] {
        [] if rated.is_empty() => None,
        [] => {
            Some("every kernel has fewer blocks than the card has SMs, so no rate is the card's".to_string())
        }
        [only] => Some(told(only)),
        [best, .., worst] if measure.is_open(best.2, worst.2) => {
            Some(format!("from {} to {}, within the model's doubt", told(worst), told(best)))
        }
        [best, rest @ .., worst] => {
            // Neither is alone where its neighbour may be ahead of it.
            let open = |one: &Record, other: Option<&&(f64, String, &Record)>| {
                other.is_some_and(|(.., other)| measure.is_open(one, other))
            };
            let best_of = if open(best.2, rest.first()) { "among the best" } else { "best" };
            let worst_of = if open(worst.2, rest.last()) { "among the worst" } else { "worst" };
            Some(format!("{best_of} {}, {worst_of} {}", told(best), told(worst)))
        }
    }
}

/// The number of rows and whether they verified, in a sentence.
fn verdict(rows: &[(String, &Record)]) -> String {
    let wrong: Vec<&String> = rows.iter().filter(|(_, row)| !row.verified).map(|(label, _)| label).collect();
    match wrong.first() {
        None => format!("All {} rows verified, every element of every result.", rows.len()),
        Some(label) => {
            format!("{} of {} rows are INVALID, the first of them {label}.", wrong.len(), rows.len())
        }
    }
}

/// The next command to run.
fn next(first: &Record, rows: &[(String, &Record)]) -> String {
    if let Some((_, row)) = rows.iter().find(|(_, row)| !row.verified) {
        return format!("Next: `coalesce check {}` checks its accesses one by one.", row.kernel);
    }
    // The row that gets least of what the copy gets: the one that has most to explain.
    let part = |row: &Record| {
        row.percent_of_copy
            .filter(|_| row.language == Language::Rust && about_bytes(row) && row.unfilled().is_none())
    };
    let parts = rows.iter().filter_map(|(label, row)| Some((part(row)?, label, row)));
    let mut text = String::from("Next: ");
    if let Some((percent, label, row)) = parts.min_by(|(one, ..), (other, ..)| one.total_cmp(other)) {
        let how = match first.backend {
            Backend::Measured => format!("`--explain --kernel {}` says why", row.kernel),
            Backend::Modelled => {
                format!("`--counters lines --kernel {}` shows why, line by line", row.kernel)
            }
        };
        let _ = write!(text, "{label} reaches {percent:.1}% of the copy: {how}; ");
    }
    text + "-v shows all rows, --full runs the articles' sizes, an experiment's name runs it alone."
}

/// Whether a row moves enough for its rate to be that of memory, not that of starting a kernel.
fn about_bytes(row: &Record) -> bool {
    const LEAST: u64 = 1 << 20;
    row.measure() == Measure::Bandwidth && row.bytes.read + row.bytes.written >= LEAST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Lesson, Picture,
        terminal::tests::{modelled, row},
    };
    use record::Precision;

    fn named(experiment: &str, kernel: &str, milliseconds: Option<f64>) -> Record {
        let row = row(0, Precision::F32, milliseconds);
        let parameters = record::Parameters { swept: None, ..row.parameters };
        Record { experiment: experiment.to_string(), kernel: kernel.to_string(), parameters, ..row }
    }

    fn of(records: &[Record], written: &[Written]) -> String {
        summary(records, &Catalog::default(), written, Shown::default())
    }

    #[test]
    fn one_experiment_needs_no_summary_but_says_where_it_is() {
        assert_eq!(of(&[], &[]), "");
        let one = [named("copy", "copy_scalar", Some(0.2)), named("copy", "copy_vector", Some(0.1))];
        assert_eq!(of(&one, &[]), "");
        let written = [("report", "results/report.html"), ("records", "results/records.jsonl")];
        let written = written.map(|(what, path)| Written { what, path: path.to_string() });
        assert_eq!(of(&one, &written), "report   results/report.html\nrecords  results/records.jsonl\n");
    }

    #[test]
    fn each_experiment_has_its_finding_or_its_best_and_worst() {
        let records = [
            named("copy", "copy_scalar", Some(0.2)),
            named("copy", "copy_vector", Some(0.125)),
            row(0, Precision::F32, Some(0.2)),
            row(8, Precision::F32, Some(0.4)),
            Record { language: Language::Driver, ..named("copy", "copy_driver", Some(0.1)) },
        ];
        let lesson = Lesson {
            name: "offset",
            summary: "",
            reading: "",
            prose: String::new(),
            articles: &[],
            picture: Picture::Bars { by: &[] },
            finding: |rows| {
                Some(format!(
                    "A warp that starts {} elements off its alignment takes twice as long.",
                    rows.len() * 4
                ))
            },
        };
        let catalog = Catalog { lessons: vec![lesson], kernels: Vec::new() };
        assert_eq!(
            summary(&records, &catalog, &[], Shown::default()),
            "\nsummary, measured on NVIDIA H200\n\
             copy    best copy_vector 4295 GB/s, worst copy_scalar 2684 GB/s\n\
             offset  A warp that starts 8 elements off its alignment takes twice as long.\n\
             All 5 rows verified, every element of every result.\n\
             Next: offset_f32 8 reaches 32.0% of the copy: `--explain --kernel offset_f32`\n\
             says why; -v shows all rows, --full runs the articles' sizes, an experiment's\n\
             name runs it alone.\n"
        );
    }

    #[test]
    fn arithmetic_is_rated_by_itself_or_not_at_all() {
        let product = |kernel: &str, gflop_per_s: f64| Record {
            gflop_per_s: Some(gflop_per_s),
            arithmetic_intensity: Some(4.0),
            ..named("matmul", kernel, Some(0.2))
        };
        let mut rows = vec![product("matmul_naive", 4200.0), product("matmul_tiled", 9000.0)];
        let of = |rows: &[Record]| extremes(&rows.iter().collect::<Vec<_>>());
        assert_eq!(
            of(&rows).as_deref(),
            Some("best matmul_tiled 9000 GFLOP/s, worst matmul_naive 4200 GFLOP/s")
        );
        rows.push(named("matmul", "copy", Some(0.2)));
        assert_eq!(of(&rows).as_deref(), Some("copy 2684 GB/s"));
    }

    #[test]
    fn within_the_doubt_of_the_model_none_is_best() {
        // Intervals from half to twice the time.
        let of = |times: &[(&str, f64)]| {
            let row =
                |(kernel, milliseconds): &(&str, f64)| modelled(named("copy", kernel, Some(*milliseconds)));
            let rows: Vec<Record> = times.iter().map(row).collect();
            extremes(&rows.iter().collect::<Vec<_>>())
        };
        assert_eq!(
            of(&[("a", 0.2), ("b", 0.6)]).as_deref(),
            Some("from b 895 GB/s to a 2684 GB/s, within the model's doubt")
        );
        assert_eq!(
            of(&[("a", 0.2), ("b", 0.6), ("c", 4.0)]).as_deref(),
            Some("among the best a 2684 GB/s, worst c 134 GB/s")
        );
        assert_eq!(of(&[("a", 0.2), ("c", 4.0)]).as_deref(), Some("best a 2684 GB/s, worst c 134 GB/s"));
    }

    #[test]
    fn kernels_that_leave_multiprocessors_empty_are_not_crowned() {
        let with_blocks = |kernel: &str, milliseconds: f64, blocks: u32| {
            let mut row = named("matmul", kernel, Some(milliseconds));
            row.parameters.grid = Some([blocks, 1, 1].into());
            row
        };
        let rows =
            [with_blocks("fast", 0.1, 125), with_blocks("middle", 0.2, 132), with_blocks("slow", 0.8, 4)];
        let of = |rows: &[Record]| extremes(&rows.iter().collect::<Vec<_>>());
        assert_eq!(of(&rows).as_deref(), Some("middle 2684 GB/s"));
        let none = "every kernel has fewer blocks than the card has SMs, so no rate is the card's";
        assert_eq!(of(&rows[2..]).as_deref(), Some(none));
        assert_eq!(of(&[named("copy", "copy", None)]), None);
    }

    #[test]
    fn what_is_wrong_comes_first() {
        let records = [named("copy", "copy_scalar", Some(0.2)), modelled(row(3, Precision::F64, None))];
        let text = of(&records, &[]);
        assert!(
            text.contains(
                "offset  no row has a rate\n1 of 2 rows are INVALID, the first of them offset_f64 3.\n"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("Next: `coalesce check offset_f64` checks its accesses one by one.\n"),
            "{text}"
        );
    }
}
