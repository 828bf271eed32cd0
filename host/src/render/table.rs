//! Tables for people, at most 100 columns wide: a head that says what ran where, a table an experiment, and notes.

use super::counters::counters;
use crate::{
    device::Backend,
    experiments,
    measure::median,
    record::{Language, Record},
    sizes::Bytes,
};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};
use std::fmt::Write;

/// Where a ratio of Rust to C++ counts as equal.
const EQUAL: std::ops::RangeInclusive<f64> = 0.98..=1.02;

/// Stands where a wrong result would have had a figure.
const INVALID: &str = "INVALID";

/// What the column of modelled rows means that measured ones do not have.
const MOVED: &str =
    "moved/asked: bytes that the requests in global memory move, over bytes that lanes ask for.";

/// Everything that the records say, as text; with the counters, if they are wanted.
pub(crate) fn table(records: &[Record], with_counters: bool) -> String {
    let Some(first) = records.first() else { return "no records\n".to_string() };
    let mut text = head(first, records);
    let mut names: Vec<&str> = Vec::new();
    for record in records {
        if !names.contains(&record.experiment.as_str()) {
            names.push(&record.experiment);
        }
    }
    for name in names {
        let rows: Vec<&Record> = records.iter().filter(|record| record.experiment == name).collect();
        let experiment = experiments::by_name(name);
        let summary = experiment.map(|experiment| experiment.summary()).unwrap_or_default();
        let _ = write!(text, "\n{name}: {summary}\n{}\n", setting(&rows));
        let table = if rows.iter().any(|row| row.language == Language::CudaCpp) {
            twins(first, &rows)
        } else if rows.iter().any(|row| row.parameters.swept.is_some()) {
            sweep(first, &rows)
        } else {
            kernels(first, &rows)
        };
        let _ = writeln!(text, "\n{}", trimmed(&table));
        if let Some(experiment) = experiment {
            let _ = writeln!(text, "\n{}", wrapped(experiment.reading()));
        }
        if rows.iter().any(|row| row.counters.is_some()) {
            let _ = writeln!(text, "{}", wrapped(MOVED));
        }
        text.push_str(&notes(&rows));
        if with_counters {
            text.push_str(&counters(&rows));
        }
    }
    text
}

/// How the Rust times of a comparison compare, in a sentence.
pub(crate) fn comparison(records: &[Record]) -> String {
    let ratios: Vec<f64> = records.iter().filter_map(|record| record.ratio_to_reference).collect();
    let Some(middle) = median(&ratios) else {
        return "No pair of rows verified, so there is no ratio.".to_string();
    };
    let worst = ratios.iter().copied().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(middle);
    let equal = ratios.iter().filter(|ratio| EQUAL.contains(ratio)).count();
    let modelled = match records.first().map(|record| record.backend) {
        Some(Backend::Modelled) => "modelled ",
        _ => "",
    };
    format!(
        "Rust/C++ {modelled}time over {} rows: median {middle:.3}, furthest from 1 {worst:.3}, {equal} of {} within {:.2} to {:.2}.",
        ratios.len(),
        ratios.len(),
        EQUAL.start(),
        EQUAL.end(),
    )
}

/// What holds for all rows.
fn head(record: &Record, records: &[Record]) -> String {
    let device = &record.device;
    let ptx = records.iter().find_map(|record| record.ptx.as_deref());
    let peak = match &record.peak {
        Some(peak) => format!("peak {:.0} GB/s ({})", peak.gb_per_s, peak.source),
        None => "peak unknown".to_string(),
    };
    let l2 = match device.l2_bytes {
        0 => "no L2".to_string(),
        bytes => format!("L2 {}", Bytes(bytes)),
    };
    let (how, driver, copy) = match record.backend {
        Backend::Measured => ("measured on", format!("driver for CUDA {}", device.driver), ""),
        Backend::Modelled => ("modelled, not measured, for", "simulated driver".to_string(), ", modelled"),
    };
    let ptx = ptx.map(|ptx| format!(", kernels as PTX for {ptx}")).unwrap_or_default();
    let mut text = format!(
        "{how} {} ({}, compute capability {}, {} SMs, {l2})\n{driver}{ptx}\n{peak}\ncopy {:.0} GB/s (the driver's own{copy}, \
         {} from device to device, in this run)\n",
        device.plain_name(),
        device.selector(),
        device.compute_capability,
        device.multiprocessors,
        record.copy.gb_per_s,
        Bytes(record.copy.bytes),
    );
    if let Some(card) = &device.card {
        let _ = writeln!(
            text,
            "{}",
            wrapped(&format!("card: {}. Calibration: {}", card.source, card.calibration))
        );
    }
    text
}

/// What holds for all rows of an experiment.
fn setting(rows: &[&Record]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let block = rows.iter().find_map(|row| row.parameters.block);
    let samples = rows.iter().find_map(|row| row.time_ms).map(|times| times.samples);
    let mut text = format!("{} read and written", Bytes(first.parameters.bytes));
    if let Some(block) = block {
        let _ = write!(text, ", {block} threads a block");
        if block % 32 != 0 {
            text.push_str(" (no multiple of 32: the last warp of each has idle lanes)");
        }
    }
    match (first.backend, samples) {
        (_, None) => {}
        (Backend::Measured, Some(samples)) => {
            let _ = write!(text, ", median of {samples} samples");
        }
        (Backend::Modelled, Some(1)) => text.push_str(", modelled: one launch, after one to warm up"),
        (Backend::Modelled, Some(samples)) => {
            let _ = write!(text, ", modelled: median of {samples} launches, after one to warm up");
        }
    }
    text
}

/// A table with the swept parameter down and the element types across.
fn sweep(first: &Record, rows: &[&Record]) -> Table {
    let groups = groups(rows);
    let mut header = vec![swept_name(rows)];
    for group in &groups {
        header.extend(under(&caption(group, first.backend), &columns(first.backend)));
    }
    header.push("from".to_string());
    let mut table = new(header, 1);
    for index in indices(rows) {
        let mut cells = vec![index.1];
        let mut residence: Vec<String> = Vec::new();
        for group in &groups {
            match rows.iter().find(|row| row.place() == index.0 && &row.group() == group) {
                None => cells.extend(vec![String::new(); 5]),
                Some(row) => {
                    cells.extend(figures(row));
                    residence.push(row.residence.to_string());
                }
            }
        }
        residence.dedup();
        cells.push(residence.join("/"));
        add(&mut table, cells);
    }
    table
}

/// A table with the kernels down.
fn kernels(first: &Record, rows: &[&Record]) -> Table {
    let mut header = vec!["kernel".to_string()];
    header.extend(under(&caption("", first.backend), &columns(first.backend)));
    header.extend(["from", "verified"].map(str::to_string));
    let mut table = new(header, 1);
    for row in rows {
        let mut cells = vec![row.kernel.clone()];
        cells.extend(figures(row));
        cells.push(row.residence.to_string());
        cells.push(if row.verified { "yes" } else { "no" }.to_string());
        add(&mut table, cells);
    }
    table
}

/// A table of Rust beside C++.
fn twins(first: &Record, rows: &[&Record]) -> Table {
    let groups = groups(rows);
    let mut header = vec![swept_name(rows)];
    for group in &groups {
        header.extend(under(&caption(group, first.backend), &["Rust GB/s", "C++ GB/s", "Rust/C++ time"]));
    }
    header.push("from".to_string());
    let mut table = new(header, 1);
    for index in indices(rows) {
        let mut cells = vec![index.1];
        let mut residence = String::new();
        for group in &groups {
            let of = |language: Language| {
                let suits = |row: &&&Record| {
                    row.place() == index.0 && &row.group() == group && row.language == language
                };
                rows.iter().find(suits)
            };
            let rate = |row: Option<&&Record>| row.map(|row| rate(row)).unwrap_or_default();
            let rust = of(Language::Rust);
            residence = rust.map(|row| row.residence.to_string()).unwrap_or(residence);
            let ratio = rust
                .and_then(|row| row.ratio_to_reference)
                .map(|ratio| format!("{ratio:.3}{}", if EQUAL.contains(&ratio) { " " } else { "!" }));
            cells.extend([rate(rust), rate(of(Language::CudaCpp)), ratio.unwrap_or_default()]);
        }
        cells.push(residence);
        add(&mut table, cells);
    }
    table
}

impl Record {
    /// What the row stands at in a table: the swept value, or the kernel.
    fn place(&self) -> String {
        match &self.parameters.swept {
            Some(swept) => swept.value.to_string(),
            None => self.kernel.clone(),
        }
    }

    /// The columns that the row belongs to.
    fn group(&self) -> String {
        self.parameters.precision.map(|precision| precision.to_string()).unwrap_or_default()
    }
}

/// The headings over [`figures`].
fn columns(backend: Backend) -> [&'static str; 5] {
    match backend {
        Backend::Measured => ["GB/s", "%peak", "%copy", "ms", "min..max"],
        Backend::Modelled => ["GB/s", "%peak", "%copy", "ms", "moved/\nasked"],
    }
}

/// What stands over a group of columns: modelled figures say so there.
fn caption(group: &str, backend: Backend) -> String {
    match (backend, group) {
        (Backend::Measured, group) => group.to_string(),
        (Backend::Modelled, "") => "modelled".to_string(),
        (Backend::Modelled, group) => format!("{group}\nmodelled"),
    }
}

/// Rate, its parts of peak and copy, median time, and the range of measured rates or what modelled ones moved.
fn figures(row: &Record) -> [String; 5] {
    let Some(times) = row.time_ms else { return [INVALID, "", "", "", ""].map(str::to_string) };
    let percent = |value: Option<f64>| value.map(|value| format!("{value:.1}")).unwrap_or_default();
    let moved = (row.bytes.read + row.bytes.written) as f64 / 1e6;
    [
        rate(row),
        percent(row.percent_of_peak),
        percent(row.percent_of_copy),
        if times.median < 10.0 { format!("{:.4}", times.median) } else { format!("{:.2}", times.median) },
        match row.backend {
            Backend::Measured => format!("{}..{}", short(moved / times.max), short(moved / times.min)),
            Backend::Modelled => {
                let ratio = row.counters.as_ref().and_then(|counters| counters.moved_over_asked());
                ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
            }
        },
    ]
}

fn rate(row: &Record) -> String {
    row.gb_per_s.map_or_else(|| INVALID.to_string(), short)
}

/// A rate with three digits or more.
fn short(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// The places in the order in which they come first, and how they are shown.
fn indices(rows: &[&Record]) -> Vec<(String, String)> {
    let mut indices: Vec<(String, String)> = Vec::new();
    for row in rows {
        let place = row.place();
        if !indices.iter().any(|(known, _)| *known == place) {
            indices.push((place.clone(), place));
        }
    }
    indices
}

fn groups(rows: &[&Record]) -> Vec<String> {
    let mut groups: Vec<String> = rows.iter().map(|row| row.group()).collect();
    groups.dedup();
    groups.sort();
    groups.dedup();
    groups
}

fn swept_name(rows: &[&Record]) -> String {
    let swept = rows.iter().find_map(|row| row.parameters.swept.as_ref());
    swept.map(|swept| swept.name.clone()).unwrap_or_else(|| "kernel".to_string())
}

/// Headings of a group's columns, with the group's caption above the first. All end on the same line.
fn under(caption: &str, columns: &[&str]) -> Vec<String> {
    let above = if caption.is_empty() { 0 } else { caption.lines().count() };
    let heading = |(number, column): (usize, &&str)| match number {
        0 if above > 0 => format!("{caption}\n{column}"),
        _ => {
            let more = column.matches('\n').count();
            format!("{}{column}", "\n".repeat(above.saturating_sub(more)))
        }
    };
    columns.iter().enumerate().map(heading).collect()
}

pub(super) fn new(header: Vec<String>, left: usize) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        column.set_cell_alignment(if number < left { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

pub(super) fn add(table: &mut Table, cells: Vec<String>) {
    table.add_row(cells.into_iter().map(Cell::new).collect::<Vec<_>>());
}

/// Without spaces at the ends of lines.
pub(super) fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// Notes under a table: each wrong row by itself, each other remark once with the number of rows that it is about.
fn notes(rows: &[&Record]) -> String {
    let verified = rows.iter().filter(|row| row.verified).count();
    let mut text = format!("{verified} of {} rows verified, every element of every buffer.\n", rows.len());
    let mut remarks: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        let Some(note) = row.note.as_deref() else { continue };
        if !row.verified {
            let swept =
                row.parameters.swept.as_ref().map(|swept| format!(", {} {}", swept.name, swept.value));
            let line =
                format!("{INVALID}: {} ({}{}): {note}", row.kernel, row.language, swept.unwrap_or_default());
            let _ = writeln!(text, "{}", wrapped(&line));
            continue;
        }
        for remark in note.split("; ") {
            match remarks.iter_mut().find(|(known, _)| *known == remark) {
                Some(known) => known.1 += 1,
                None => remarks.push((remark, 1)),
            }
        }
    }
    for (note, count) in remarks {
        let _ = writeln!(text, "{}", wrapped(&format!("{count} of {} rows: {note}.", rows.len())));
    }
    text
}

/// Broken into lines of at most 100 columns.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.len() - 1;
        if !lines[line].is_empty() && lines[line].chars().count() + 1 + word.chars().count() > 100 {
            lines.push(word.to_string());
        } else {
            if !lines[line].is_empty() {
                lines[line].push(' ');
            }
            lines[line].push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counters::{Bound, Counters, LaunchCounters, Parts},
        device::tests::{c870, h200},
        experiments::{BytesMoved, Precision},
        measure::{Method, Times},
        record::{Ceiling, Parameters, Peak, Residence, SCHEMA, Timing},
    };

    fn row(offset: u32, precision: Precision, milliseconds: Option<f64>) -> Record {
        let moved = 512.0 * 1.048_576;
        let gb_per_s = milliseconds.map(|milliseconds| moved / milliseconds);
        Record {
            schema: SCHEMA.to_string(),
            experiment: "offset".to_string(),
            kernel: format!("offset_{precision}"),
            language: Language::Rust,
            backend: Backend::Measured,
            device: h200(),
            ptx: Some("compute_90".to_string()),
            parameters: Parameters {
                precision: Some(precision),
                block: Some(256),
                ..Parameters::of_bytes(256 << 20)
            }
            .swept("offset", offset),
            bytes: BytesMoved { read: 256 << 20, written: 256 << 20, footprint: 256 << 20 },
            residence: Residence::Dram,
            time_ms: milliseconds.map(|ms| Times { median: ms, min: ms * 0.99, max: ms * 1.01, samples: 11 }),
            gb_per_s,
            percent_of_peak: gb_per_s.map(|rate| rate / 49.17),
            percent_of_copy: gb_per_s.map(|rate| rate / 42.0),
            verified: milliseconds.is_some(),
            note: milliseconds.is_none().then(|| "2 elements are wrong".to_string()),
            timing: Timing { method: Method::Launches, launches_per_sample: 11 },
            peak: Some(Peak { gb_per_s: 4917.0, source: "the driver".to_string() }),
            copy: Ceiling { gb_per_s: 4200.0, bytes: 256 << 20 },
            ratio_to_reference: None,
            counters: None,
        }
    }

    #[test]
    fn two_precisions_stand_side_by_side_within_100_columns() {
        let records = [
            row(0, Precision::F32, Some(0.1958)),
            row(1, Precision::F32, None),
            row(0, Precision::F64, Some(0.1411)),
            row(1, Precision::F64, Some(3.2541)),
        ];
        let text = table(&records, false);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 100), "{widest:?} columns:\n{text}");
        let cells = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
            line.split_whitespace().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            cells("0 "),
            [
                "0",
                "2742",
                "55.8",
                "65.3",
                "0.1958",
                "2715..2770",
                "3805",
                "77.4",
                "90.6",
                "0.1411",
                "3767..3843",
                "DRAM"
            ]
        );
        assert_eq!(cells("1 ")[..3], ["1", "INVALID", "165"]);
        assert!(text.contains("INVALID: offset_f32 (rust, offset 1): 2 elements are wrong\n"), "{text}");
    }

    /// The row as a C870's model gives it, at eight bytes moved for one asked.
    fn modelled(row: Record) -> Record {
        let mut launch = LaunchCounters { l2_sectors_read: 4096, ..LaunchCounters::default() };
        launch.total.instructions = 416;
        launch.total.loads.requests = 64;
        launch.total.loads.sectors = 1024;
        launch.total.loads.bytes_requested = 4096;
        launch.total.loads.bytes_moved = 32768;
        let parts = Parts { launch: 3.0, dram: 9.0, l2: 0.0, on_chip: 1.0, issue: 1.0, latency: 1.0 };
        let counters =
            Counters { launch, dram_bytes: 32768, modelled_us: parts, bound: Bound::Dram, lines: Vec::new() };
        Record {
            backend: Backend::Modelled,
            device: c870(),
            time_ms: row.time_ms.map(|times| Times { samples: 1, ..times }),
            timing: Timing { method: Method::Modelled, launches_per_sample: 1 },
            counters: Some(Box::new(counters)),
            ..row
        }
    }

    #[test]
    fn modelled_figures_say_so_and_how_much_was_moved() {
        let records =
            [Precision::F32, Precision::F64].map(|precision| modelled(row(1, precision, Some(0.1958))));
        let text = table(&records, true);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 100), "{widest:?} columns:\n{text}");
        assert!(
            text.starts_with(
                "modelled, not measured, for Tesla C870 (sim:c870, compute capability 1.0, 16 SMs, no L2)\nsimulated driver"
            ),
            "{text}"
        );
        assert!(text.contains("GB/s (the driver's own, modelled, 256 MiB"), "{text}");
        assert!(text.contains(", modelled: one launch, after one to warm up\n"), "{text}");
        let heading = text.lines().find(|line| line.starts_with("offset ")).expect("the headings");
        assert_eq!(heading.split_whitespace().collect::<Vec<_>>(), ["offset", "f32", "f64", "from"]);
        let heading = text.lines().find(|line| line.trim().starts_with("modelled ")).expect("the headings");
        assert_eq!(
            heading.split_whitespace().collect::<Vec<_>>(),
            ["modelled", "moved/", "modelled", "moved/"],
            "{text}"
        );
        assert!(text.contains("card: data sheet; ") && text.contains("Calibration: "), "{text}");
        let row = text.lines().find(|line| line.starts_with("1 ")).expect("a row for offset 1");
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!((cells.len(), cells[5], cells[10]), (12, "8.00", "8.00"), "{row}");
        let row = text.lines().find(|line| line.starts_with("offset_f32 1 ")).expect("its counters");
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells, ["offset_f32", "1", "416", "64", "1024", "16.00", "12.5%", "0.0", "DRAM"]);
        assert!(!table(&records, false).contains("offset_f32 1 "));
    }

    #[test]
    fn a_comparison_is_summed_up() {
        let ratio = |ratio| Record { ratio_to_reference: Some(ratio), ..row(0, Precision::F32, Some(0.2)) };
        assert_eq!(
            comparison(&[ratio(1.0), ratio(0.9), ratio(1.01)]),
            "Rust/C++ time over 3 rows: median 1.000, furthest from 1 0.900, 2 of 3 within 0.98 to 1.02."
        );
        assert!(comparison(&[row(0, Precision::F32, None)]).contains("no ratio"));
        assert!(comparison(&[modelled(ratio(1.0))]).starts_with("Rust/C++ modelled time over 1 rows: "));
    }
}
