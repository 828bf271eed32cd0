//! The tables of README.md: the copy beside the driver's own, and where sweeps turn.

use super::{RowsError, figure};
use record::{Backend, Language, Precision, Record, Spread};
use std::fmt::Write;

/// The values of a sweep that the table shows: both ends and where something happens.
const SHOWN: [(&str, &[u64]); 2] = [("offset", &[0, 1, 8, 16, 32]), ("stride", &[1, 2, 4, 8, 16, 32])];

/// The range in which a ratio of times counts as equal.
const EQUAL: std::ops::RangeInclusive<f64> = 0.98..=1.02;

/// A table of the copies and one of the sweeps, from records.
pub(super) fn tables(rows: &str, command: &str) -> Result<String, RowsError> {
    let rows = record::read(rows)?;
    let first = rows.first().ok_or(RowsError::None("anything"))?;
    if let Some(row) = rows.iter().find(|row| !row.verified) {
        return Err(RowsError::Unverified(row.kernel.clone()));
    }
    let mut out = format!(
        "{} on an {} (driver for CUDA {}), {} MiB read and as many written, every element verified; by\n`{command}`.\n",
        if first.backend == Backend::Measured { "Measured" } else { "Modelled" },
        first.device.name,
        first.device.driver,
        first.parameters.bytes >> 20,
    );
    out += "\n| copy | GB/s | of peak | of the driver's copy | time, Rust / CUDA C++ |\n| --- | --: | --: | --: | --: |\n";
    for row in rows.iter().filter(|row| row.experiment == "copy" && row.language != Language::CudaCpp) {
        let of = |what, value| figure(&row.kernel, what, value);
        let _ = writeln!(
            out,
            "| `{}` | {:.0} | {:.1}% | {:.1}% | {} |",
            row.kernel,
            of("bandwidth", row.gb_per_s)?,
            of("share of the peak", row.percent_of_peak)?,
            of("share of the copy", row.percent_of_copy)?,
            of_record(row),
        );
    }
    out += "\n| point | f32 GB/s | Rust / CUDA C++ | f64 GB/s | Rust / CUDA C++ |\n| --- | --: | --: | --: | --: |\n";
    for (experiment, values) in SHOWN {
        for &value in values {
            let mut cells = String::new();
            for precision in [Precision::F32, Precision::F64] {
                let row = rows.iter().find(|row| {
                    row.experiment == experiment
                        && row.language == Language::Rust
                        && row.parameters.swept.as_ref().is_some_and(|swept| swept.value == value)
                        && row.parameters.precision == Some(precision)
                });
                match row {
                    Some(row) => {
                        let rate = figure(&row.kernel, "bandwidth", row.gb_per_s)?;
                        let _ = write!(cells, " {rate:.0} | {} |", of_record(row));
                    }
                    None => cells += " | |",
                }
            }
            let _ = writeln!(out, "| {experiment} {value} |{cells}");
        }
    }
    Ok(out + &summary(rows.iter().filter_map(|row| row.ratio_to_reference)))
}

/// Summarises the ratios of all rows that have a twin in one sentence.
pub(super) fn summary(ratios: impl Iterator<Item = f64>) -> String {
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else { return String::new() };
    let median = ratios[ratios.len() / 2];
    format!(
        "\nRust / C++ time ratio over {} rows: median {median:.3}, {least:.3} to {most:.3}.\n",
        ratios.len()
    )
}

fn of_record(row: &Record) -> String {
    ratio(row.ratio_to_reference, row.ratio_range, None)
}

/// A time over that of the twin, as text; where it is not [`EQUAL`], with its 95% interval, and where it is the middle of
/// several runs, with the least and the greatest. Nothing where there is none.
pub(super) fn ratio(ratio: Option<f64>, range: Option<[f64; 2]>, runs: Option<Spread>) -> String {
    let Some(ratio) = ratio else { return String::new() };
    let runs = runs.and_then(|runs| Some((runs.ratio_to_reference?, runs.count)));
    match (runs, range) {
        (Some(([least, most], count)), _) => format!("{ratio:.3} ({least:.2} to {most:.2} in {count} runs)"),
        (None, Some([low, high])) if !EQUAL.contains(&ratio) => format!("{ratio:.3} ({low:.2} to {high:.2})"),
        _ => format!("{ratio:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::row;

    fn measured(experiment: &str, language: Language, rate: f64, ratio: Option<f64>) -> Record {
        Record {
            experiment: experiment.to_string(),
            kernel: format!("{experiment}_f32"),
            language,
            gb_per_s: Some(rate),
            percent_of_peak: Some(rate / 48.0),
            percent_of_copy: Some(rate / 42.0),
            ratio_to_reference: ratio,
            ..row(8, Some(0.1))
        }
    }

    fn text(rows: &[Record]) -> String {
        rows.iter().map(|row| record::line(row).expect("it is JSON")).collect()
    }

    #[test]
    fn copies_and_sweeps_have_a_table_each() {
        let mut stride = measured("stride", Language::Rust, 505.4, Some(0.99));
        stride.parameters = stride.parameters.swept("stride", 8);
        let rows = [
            measured("copy", Language::Rust, 4200.0, Some(1.001)),
            measured("copy", Language::CudaCpp, 4204.0, None),
            stride,
        ];
        let made = tables(&text(&rows), "cargo xtask compare").expect("they are verified");
        assert!(made.starts_with(
            "Measured on an NVIDIA H200 (driver for CUDA 13.0), 256 MiB read and as many written, every element verified; \
             by\n`cargo xtask compare`.\n"
        ));
        assert!(made.contains("| `copy_f32` | 4200 | 87.5% | 100.0% | 1.001 |\n"), "{made}");
        assert!(made.contains("| stride 8 | 505 | 0.990 | | |\n"), "{made}");
        assert!(
            made.ends_with("\nRust / C++ time ratio over 2 rows: median 1.001, 0.990 to 1.001.\n"),
            "{made}"
        );
    }

    #[test]
    fn rows_that_did_not_verify_are_not_shown() {
        let error = tables(&text(&[row(0, None)]), "x").expect_err("it did not verify").to_string();
        assert_eq!(error, "offset_f32 did not verify: a table shows verified rows only");
        assert_eq!(tables("", "x").expect_err("no rows").to_string(), "it has no rows of anything");
    }

    #[test]
    fn a_ratio_that_is_not_1_says_how_sure_it_is() {
        let range = Some([0.914, 1.251]);
        assert_eq!(ratio(Some(1.015), range, None), "1.015");
        assert_eq!(ratio(Some(1.03), range, None), "1.030 (0.91 to 1.25)");
        let runs = Spread { count: 9, gb_per_s: None, ratio_to_reference: Some([0.85, 1.16]) };
        assert_eq!(ratio(Some(1.03), range, Some(runs)), "1.030 (0.85 to 1.16 in 9 runs)");
        assert_eq!(ratio(None, range, None), "");
    }
}
