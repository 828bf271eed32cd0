//! Tables for people, at most 100 columns wide: a head that says what ran where, a table an experiment, and notes.

use super::{
    counters::counters,
    figures::{EQUAL, Verdict, caption, columns, figures, pair, short, twin_columns},
    layout::{add, new, trimmed, under, wrapped},
    lessons::{further, told},
    remarks::{explanations, notes},
};
use crate::Catalog;
use comfy_table::Table;
use record::{Backend, Bytes, Language, Precision, Record, Run, median};
use serde_json::Value;
use std::{collections::BTreeSet, fmt::Write};

/// What the column of modelled rows means that measured ones do not have.
const MOVED: &str =
    "moved/asked: bytes that the requests in global memory move, over bytes that lanes ask for.";

/// What a table shows beside its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The counters of each row.
    pub counters: bool,
    /// With them, those of each line of the kernels' source.
    pub lines: bool,
    /// What explains each row.
    pub explanations: bool,
}

/// Everything that the records of a run say, as text, with what else is to be shown.
pub fn table(records: &[Record], run: &Run, catalog: &Catalog, shown: Shown) -> String {
    if records.is_empty() {
        return "no records\n".to_string();
    }
    let mut text = head(run);
    for rows in experiments(records) {
        text.push_str(&section(&rows, catalog, shown));
    }
    text
}

/// The rows of each experiment, in the order in which they come first.
pub fn experiments(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut experiments: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        match experiments.iter_mut().find(|rows| rows[0].experiment == record.experiment) {
            Some(rows) => rows.push(record),
            None => experiments.push(vec![record]),
        }
    }
    experiments
}

/// The rows of one experiment: its table, and below it how to read it and what is remarked about its rows.
pub fn section(rows: &[&Record], catalog: &Catalog, shown: Shown) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let name = &first.experiment;
    let lesson = catalog.lesson(name);
    let summary = lesson.map(|lesson| lesson.summary).unwrap_or_default();
    let mut text = format!("\n{name}: {summary}\n");
    let part_after_part = if is_side_by_side(rows) { parts(rows) } else { vec![rows.to_vec()] };
    for (number, part) in part_after_part.iter().enumerate() {
        let gap = if number == 0 { "" } else { "\n" };
        let table =
            if is_side_by_side(part) { side_by_side(first, part) } else { one_below_another(first, part) };
        let _ = writeln!(text, "{gap}{}\n\n{}", wrapped(&setting(part)), trimmed(&table));
    }
    if let Some(lesson) = lesson {
        let _ = writeln!(text, "\n{}", wrapped(lesson.reading));
    }
    if rows.iter().any(|row| row.counters.is_some()) {
        let _ = writeln!(text, "{}", wrapped(MOVED));
    }
    text.push_str(&notes(rows));
    text.push_str(&further(name, rows));
    if shown.explanations {
        text.push_str(&explanations(rows));
    }
    if shown.counters {
        text.push_str(&counters(rows, shown.lines));
    }
    text
}

/// How the Rust times of a comparison compare, in a sentence.
pub fn comparison(records: &[Record]) -> String {
    let ratios: Vec<f64> = records.iter().filter_map(|record| record.ratio_to_reference).collect();
    let Some(middle) = median(&ratios) else {
        return "No pair of rows verified, so there is no ratio.".to_string();
    };
    let worst = ratios.iter().copied().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(middle);
    let of = |wanted| records.iter().filter(|record| Verdict::of(record) == Some(wanted)).count();
    let unsettled = match of(Verdict::Unsettled) {
        0 => String::new(),
        rows => format!(", and {rows} more may be: their samples differ too much to tell"),
    };
    let modelled = match records.first().map(|record| record.backend) {
        Some(Backend::Modelled) => "modelled ",
        _ => "",
    };
    format!(
        "Rust/C++ {modelled}time over {} rows: median {middle:.3}, furthest from 1 {worst:.3}, {} of {} within {:.2} to {:.2}{unsettled}.",
        ratios.len(),
        of(Verdict::Equal),
        ratios.len(),
        EQUAL.start(),
        EQUAL.end(),
    )
}

/// What holds for all rows of a run.
pub fn head(run: &Run) -> String {
    let device = &run.device;
    let peak = match &run.peak {
        Some(peak) => format!("peak {:.0} GB/s ({})", peak.gb_per_s, peak.source),
        None => "peak unknown".to_string(),
    };
    let l2 = match device.l2_bytes {
        0 => "no L2".to_string(),
        bytes => format!("L2 {}", Bytes(bytes)),
    };
    let (how, driver, copy) = match device.backend() {
        Backend::Measured => ("measured on", format!("driver for CUDA {}", device.driver), ""),
        Backend::Modelled => ("modelled, not measured, for", "simulated driver".to_string(), ", modelled"),
    };
    let ptx = run.ptx.as_ref().map(|ptx| format!(", kernels as PTX for {ptx}")).unwrap_or_default();
    let mut text = format!(
        "{how} {} ({}, compute capability {}, {} SMs, {l2})\n{driver}{ptx}\n{peak}\n",
        device.plain_name(),
        device.selector(),
        device.compute_capability,
        device.multiprocessors,
    );
    if let Some(ceiling) = run.copy {
        let _ = writeln!(
            text,
            "copy {:.0} GB/s (the driver's own{copy}, {} from device to device, in this run)",
            ceiling.gb_per_s,
            Bytes(ceiling.bytes),
        );
    }
    if let Some((source, calibration)) = run.card_origin() {
        let _ = writeln!(text, "{}", wrapped(&format!("card: {source}. Calibration: {calibration}")));
    }
    text
}

/// What holds for all rows of an experiment.
fn setting(rows: &[&Record]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let same = |value: &dyn Fn(&Record) -> String| rows.iter().all(|row| value(row) == value(first));
    let mut parts = Vec::new();
    if same(&|row| format!("{:?}", (row.bytes.read, row.bytes.written))) {
        match (first.bytes.read, first.bytes.written) {
            (0, 0) => {}
            (read, 0) => parts.push(format!("{} read", Bytes(read))),
            (0, written) => parts.push(format!("{} written", Bytes(written))),
            (read, written) if read == written => parts.push(format!("{} read and written", Bytes(read))),
            (read, written) => parts.push(format!("{} read and {} written", Bytes(read), Bytes(written))),
        }
    }
    let varying = varying(rows);
    let kernel = rows.iter().find(|row| row.language != Language::Driver).unwrap_or(first);
    let fixed =
        kernel.parameters.more.iter().filter(|(name, _)| {
            !varying.contains(name) && !told(&kernel.experiment).contains(&name.as_str())
        });
    parts.extend(fixed.map(|(name, value)| format!("{name} {}", plain(value))));
    let block = rows
        .iter()
        .find_map(|row| row.parameters.block)
        .filter(|_| !varying.iter().any(|name| name == BLOCK));
    let samples = rows.iter().find_map(|row| row.time_ms).map(|times| times.samples);
    if let Some(block) = block {
        let idle = match block.count() % 32 {
            0 => "",
            _ => " (no multiple of 32: the last warp of each has idle lanes)",
        };
        parts.push(format!("{block} threads a block{idle}"));
    }
    match (first.backend, samples) {
        (_, None) if rows.iter().all(|row| row.verified) => {
            parts.push("launched once, not timed".to_string());
        }
        (_, None) => {}
        (Backend::Measured, Some(samples)) => parts.push(format!("median of {samples} samples")),
        (Backend::Modelled, Some(1)) => parts.push("modelled: one launch, after one to warm up".to_string()),
        (Backend::Modelled, Some(samples)) => {
            parts.push(format!("modelled: median of {samples} launches, after one to warm up"));
        }
    }
    parts.join(", ")
}

/// The parameter that is a block.
const BLOCK: &str = "block";

/// The names of the parameters in which rows of an experiment differ, other than the swept one and the element type.
fn varying(rows: &[&Record]) -> Vec<String> {
    let kernels: Vec<&&Record> = rows.iter().filter(|row| row.language != Language::Driver).collect();
    let mut names: Vec<&String> = kernels.iter().flat_map(|row| row.parameters.more.keys()).collect();
    names.sort();
    names.dedup();
    // What another table of the experiment tells is not told here.
    names.retain(|name| rows.iter().all(|row| !told(&row.experiment).contains(&name.as_str())));
    let differs =
        |value: &dyn Fn(&Record) -> Option<String>| kernels.iter().any(|row| value(row) != value(kernels[0]));
    let mut varying: Vec<String> = names
        .into_iter()
        .filter(|name| differs(&|row| row.parameters.more.get(*name).map(plain)))
        .cloned()
        .collect();
    if differs(&|row| row.parameters.block.map(|block| block.to_string())) {
        varying.push(BLOCK.to_string());
    }
    varying
}

/// The values of these parameters in a row.
fn values(row: &Record, names: &[String]) -> Vec<String> {
    let value = |name: &String| match name.as_str() {
        BLOCK => row.parameters.block.map(|block| block.to_string()).unwrap_or_default(),
        _ => row.parameters.more.get(name).map(plain).unwrap_or_default(),
    };
    names.iter().map(value).collect()
}

/// A value as people write it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Kernels and element types, each pair once, in the order in which they come first.
fn contestants<'r>(rows: &[&'r Record]) -> Vec<(&'r str, Option<Precision>)> {
    let mut contestants = Vec::new();
    for row in rows {
        if !contestants.contains(&row.contestant()) {
            contestants.push(row.contestant());
        }
    }
    contestants
}

/// Whether a table has the swept parameter down and the kernels across: at most two of them, and bandwidth alone.
fn is_side_by_side(rows: &[&Record]) -> bool {
    rows.iter().all(|row| row.parameters.swept.is_some() && row.gflop_per_s.is_none())
        && contestants(rows).len() <= 2
}

/// The rows apart by all parameters that are not swept.
fn parts<'r>(rows: &[&'r Record]) -> Vec<Vec<&'r Record>> {
    let names = varying(rows);
    let mut parts: Vec<(Vec<String>, Vec<&Record>)> = Vec::new();
    for row in rows {
        let key = values(row, &names);
        match parts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, part)) => part.push(row),
            None => parts.push((key, vec![row])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// What each row is called among the others: its kernel, and the parameters in which they differ.
pub(super) fn labels(rows: &[&Record]) -> Vec<String> {
    let names = varying(rows);
    let label = |row: &&Record| {
        let swept = row.parameters.swept.as_ref().map(|swept| swept.value.to_string());
        let more = names.iter().zip(values(row, &names)).filter(|(_, value)| !value.is_empty());
        let more = more.map(|(name, value)| if name == BLOCK { value } else { format!("{name} {value}") });
        std::iter::once(row.kernel.clone()).chain(swept).chain(more).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(label).collect()
}

/// A table with the swept parameter down and the kernels, by their element types, across; of twins, both languages.
fn side_by_side(first: &Record, rows: &[&Record]) -> Table {
    let contestants = contestants(rows);
    let twins = rows.iter().any(|row| row.language == Language::CudaCpp);
    let columns = if twins { twin_columns(false) } else { columns(first.backend) };
    let by_precision = contestants.iter().all(|(_, precision)| precision.is_some())
        && contestants
            .iter()
            .all(|(_, one)| contestants.iter().filter(|(_, other)| one == other).count() == 1);
    let swept = rows.iter().find_map(|row| row.parameters.swept.as_ref());
    let mut header = vec![swept.map(|swept| swept.name.clone()).unwrap_or_default()];
    for (kernel, precision) in &contestants {
        let name = match precision {
            Some(precision) if by_precision => precision.to_string(),
            _ => kernel.to_string(),
        };
        header.extend(under(&caption(&name, first.backend), &columns));
    }
    header.push("from".to_string());
    let mut table = new(header, 1);
    let mut swept: Vec<u64> =
        rows.iter().filter_map(|row| Some(row.parameters.swept.as_ref()?.value)).collect();
    let mut seen = BTreeSet::new();
    swept.retain(|value| seen.insert(*value));
    for value in swept {
        let mut cells = vec![value.to_string()];
        let mut residence: Vec<String> = Vec::new();
        for contestant in &contestants {
            let of = |language: Option<Language>| {
                rows.iter().copied().find(|row| {
                    row.parameters.swept.as_ref().is_some_and(|swept| swept.value == value)
                        && row.contestant() == *contestant
                        && language.is_none_or(|language| row.language == language)
                })
            };
            cells.extend(match (twins, of(None)) {
                (true, _) => pair(of(Some(Language::Rust)), of(Some(Language::CudaCpp)), false),
                (false, Some(row)) => figures(row),
                (false, None) => vec![String::new(); columns.len()],
            });
            residence.extend(of(None).map(|row| row.residence.to_string()));
        }
        residence.dedup();
        cells.push(residence.join("/"));
        add(&mut table, cells);
    }
    table
}

/// A table with the kernels down, and what tells their rows apart beside them; of twins, both languages.
fn one_below_another(first: &Record, rows: &[&Record]) -> Table {
    let names = varying(rows);
    let swept = rows.iter().find_map(|row| row.parameters.swept.as_ref()).map(|swept| swept.name.clone());
    let twins = rows.iter().any(|row| row.language == Language::CudaCpp);
    let flops = rows.iter().any(|row| row.gflop_per_s.is_some());
    let mut header = vec!["kernel".to_string()];
    header.extend(swept.clone());
    header.extend(names.iter().cloned());
    let identity = header.len();
    let of_row = |row: &Record| -> Vec<String> {
        let value = row.parameters.swept.as_ref().map(|swept| swept.value.to_string()).unwrap_or_default();
        let swept = swept.is_some().then_some(value);
        std::iter::once(row.kernel.clone()).chain(swept).chain(values(row, &names)).collect()
    };
    if twins {
        header.extend(under(&caption("", first.backend), &twin_columns(flops)));
        header.push("from".to_string());
        let mut table = new(header, 1);
        let mut seen = BTreeSet::new();
        for row in rows {
            let name = of_row(row);
            if !seen.insert(name.clone()) {
                continue;
            }
            let of =
                |language| rows.iter().copied().find(|row| of_row(row) == name && row.language == language);
            let mut cells = name.clone();
            cells.extend(pair(of(Language::Rust), of(Language::CudaCpp), flops));
            cells.push(row.residence.to_string());
            add(&mut table, cells);
        }
        return table;
    }
    let mut columns = columns(first.backend);
    if flops {
        columns.insert(1, "GFLOP/s");
    }
    header.extend(under(&caption("", first.backend), &columns));
    header.push("from".to_string());
    // Where there is more to tell of a row, what did not verify shows by its figures alone.
    let verified = identity == 1 && !flops;
    if verified {
        header.push("verified".to_string());
    }
    let mut table = new(header, 1);
    for row in rows {
        let mut cells = of_row(row);
        let mut figures = figures(row);
        if flops {
            figures.insert(1, row.gflop_per_s.map(short).unwrap_or_default());
        }
        cells.extend(figures);
        cells.push(row.residence.to_string());
        if verified {
            cells.push(if row.verified { "yes" } else { "no" }.to_string());
        }
        add(&mut table, cells);
    }
    table
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{c870, h200};
    use record::{
        Bound, BytesMoved, Ceiling, Counted, Method, Parameters, Parts, Peak, Residence, SCHEMA, Times,
        Timing, counters::LaunchCounters,
    };
    use std::collections::BTreeMap;

    /// The text of these records, of a run that knows where the figures of its card are from.
    fn shown(records: &[Record], shown: Shown) -> String {
        let mut run = Run::of(records).expect("there are records");
        run.card = run.device.card.is_some().then(|| {
            let fields = [("source", "data sheet; measured"), ("calibration", "none")];
            fields.map(|(name, text)| (name.to_string(), text.into())).into_iter().collect()
        });
        table(records, &run, &Catalog::default(), shown)
    }

    /// A row of `offset` on an H200; without a time it is INVALID.
    pub(crate) fn row(offset: u32, precision: Precision, milliseconds: Option<f64>) -> Record {
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
                block: Some([256, 1, 1].into()),
                ..Parameters::of_bytes(256 << 20)
            }
            .swept("offset", offset),
            bytes: BytesMoved { read: 256 << 20, written: 256 << 20, footprint: 256 << 20 },
            residence: Residence::Dram,
            samples_ms: Vec::new(),
            time_ms: milliseconds.map(|ms| Times { median: ms, min: ms * 0.99, max: ms * 1.01, samples: 11 }),
            gb_per_s,
            percent_of_peak: gb_per_s.map(|rate| rate / 49.17),
            percent_of_copy: gb_per_s.map(|rate| rate / 42.0),
            gflop_per_s: None,
            arithmetic_intensity: None,
            explanation: None,
            observed: BTreeMap::new(),
            verified: milliseconds.is_some(),
            note: milliseconds.is_none().then(|| "2 elements are wrong".to_string()),
            timing: Timing { method: Method::Launches, launches_per_sample: 11 },
            peak: Some(Peak { gb_per_s: 4917.0, source: "the driver".to_string() }),
            copy: Some(Ceiling { gb_per_s: 4200.0, bytes: 256 << 20 }),
            ratio_to_reference: None,
            ratio_range: None,
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
        let text = shown(&records, Shown::default());
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
    pub(crate) fn modelled(row: Record) -> Record {
        let mut launch = LaunchCounters { l2_sectors_read: 4096, ..LaunchCounters::default() };
        launch.total.instructions = 416;
        launch.total.loads.requests = 64;
        launch.total.loads.sectors = 1024;
        launch.total.loads.bytes_requested = 4096;
        launch.total.loads.bytes_moved = 32768;
        let parts = Parts {
            launch: 3.0,
            dram: 9.0,
            l2: 0.0,
            on_chip: 1.0,
            issue: 1.0,
            latency: 1.0,
            link: 0.0,
            migration: 0.0,
        };
        let counters =
            Counted { launch, dram_bytes: 32768, modelled_us: parts, bound: Bound::Dram, lines: Vec::new() };
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
        let text = shown(&records, Shown { counters: true, ..Shown::default() });
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
        assert!(!shown(&records, Shown::default()).contains("offset_f32 1 "));
    }

    #[test]
    fn a_comparison_is_summed_up() {
        let ratio = |ratio| Record { ratio_to_reference: Some(ratio), ..row(0, Precision::F32, Some(0.2)) };
        assert_eq!(
            comparison(&[ratio(1.0), ratio(0.9), ratio(1.01)]),
            "Rust/C++ time over 3 rows: median 1.000, furthest from 1 0.900, 2 of 3 within 0.98 to 1.02."
        );
        let unsettled = Record { ratio_range: Some([0.97, 1.4]), ..ratio(1.1) };
        let slower = Record { ratio_range: Some([1.03, 1.4]), ..ratio(1.1) };
        assert_eq!(
            comparison(&[unsettled, slower, ratio(1.01)]),
            "Rust/C++ time over 3 rows: median 1.100, furthest from 1 1.100, 1 of 3 within 0.98 to 1.02, and 1 more may \
             be: their samples differ too much to tell."
        );
        assert!(comparison(&[row(0, Precision::F32, None)]).contains("no ratio"));
        assert!(comparison(&[modelled(ratio(1.0))]).starts_with("Rust/C++ modelled time over 1 rows: "));
    }
}
