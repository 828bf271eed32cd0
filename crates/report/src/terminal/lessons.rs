//! What single experiments have to show besides the table that all have.

use super::{
    layout::{Table, wrapped},
    style::Style,
};
use record::{Language, Record};
use serde_json::Value;

/// A table of rows that have certain parameters.
struct Further {
    /// The parameters without which a row has no place in the table.
    needs: &'static [&'static str],
    /// The parameters that it shows: the table that all rows have leaves them out.
    told: &'static [&'static str],
    /// Writes it.
    text: fn(&[&Record], Style) -> String,
}

/// The tables that there are.
static TABLES: [Further; 2] = [
    Further {
        needs: &["class", "space", "host_access"],
        told: &["class", "host_access", "loads", "space", "stores", "variable", "variable_bytes"],
        text: storage,
    },
    Further { needs: &["task", "way"], told: &["task", "way", "nx", "ny", "m", "n", "k"], text: tax },
];

impl Further {
    /// The table that a row has a place in.
    fn of(row: &Record) -> Option<&'static Self> {
        let has = |name: &&str| row.parameters.more.contains_key(*name);
        TABLES.iter().find(|table| table.needs.iter().all(has))
    }
}

/// The further table of an experiment's rows, with an empty line before it; nothing where they have none.
pub(super) fn further(rows: &[&Record], style: Style) -> String {
    let table = rows.iter().find_map(|row| Further::of(row));
    table.map_or_else(String::new, |table| (table.text)(rows, style))
}

/// Parameters of a row that its further table shows.
pub(super) fn told(row: &Record) -> &'static [&'static str] {
    Further::of(row).map_or(&[], |table| table.told)
}

/// A parameter as text; nothing where the row has none.
fn parameter(row: &Record, name: &str) -> String {
    match row.parameters.more.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Where each variable lives, by the PTX.
fn storage(rows: &[&Record], style: Style) -> String {
    let header = ["class", "variable", "state\nspace", "bytes", "loads", "stores", "the host,\nby name"];
    let mut table = Table::new(header.map(str::to_string).to_vec(), header.len());
    table.may_lack("variable", vec![1]);
    let mut arch = None;
    for row in rows.iter().filter(|row| row.language == Language::Rust) {
        arch = arch.or(row.ptx.as_deref());
        let or_launch = |text: String| if text.is_empty() { "at launch".to_string() } else { text };
        table.add(vec![
            parameter(row, "class"),
            parameter(row, "variable"),
            format!(".{}", parameter(row, "space")),
            or_launch(parameter(row, "variable_bytes")),
            parameter(row, "loads").replace(' ', "\n"),
            parameter(row, "stores").replace(' ', "\n"),
            parameter(row, "host_access"),
        ]);
    }
    let Some(arch) = arch else { return String::new() };
    format!("\nAs the PTX for {arch} has it:\n\n{}\n", table.text(style))
}

/// The ways in which the tasks of `idioms` are written; the last is what the others are held against.
const WAYS: [&str; 5] = ["typed", "checked", "iterated", "asserted", "unchecked"];

/// How to read the table.
const TAX: &str = "The Rust tax. time: that of each way over that of `unchecked`, which checks nothing but what it has to; \
                   to C++: over that of the CUDA C++ twin; instr.: instructions per warp for 32 elements, in a product for 32 \
                   multiplications.";

/// The meaning of the mark on ratios of modelled times.
const OPEN: &str = "~: within the model's doubt of both times.";

/// The rows of one task at one size.
struct Task<'r> {
    name: String,
    rows: Vec<&'r Record>,
}

impl<'r> Task<'r> {
    /// The row of the kernel that is written in this way.
    fn row(&self, way: &str) -> Option<&'r Record> {
        let suits = |row: &&&'r Record| row.language == Language::Rust && parameter(row, "way") == way;
        self.rows.iter().find(suits).copied()
    }

    /// What this gives for each way, as text.
    fn each(&self, figure: impl Fn(&Record) -> Option<String>) -> Vec<String> {
        WAYS.iter().map(|way| self.row(way).and_then(&figure).unwrap_or_default()).collect()
    }
}

/// Times over those of the unchecked kernel, and over the twin's where there is one; instructions where they are counted.
fn tax(rows: &[&Record], style: Style) -> String {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for row in rows {
        let name = task(row);
        match tasks.iter_mut().find(|task| task.name == name) {
            Some(task) => task.rows.push(row),
            None => tasks.push(Task { name, rows: vec![row] }),
        }
    }
    let mut header = vec![String::new()];
    header.extend(WAYS.iter().map(|way| (*way).to_string()));
    let mut table = Table::new(header, 1);
    for task in &tasks {
        let unchecked = task.row("unchecked");
        let over = |row: &Record| {
            let ratio = row.time_ms?.median / unchecked?.time_ms?.median;
            let open = ratio != 1.0 && row.measure().is_open(row, unchecked?);
            Some(format!("{ratio:.3}{}", if open { "~" } else { "" }))
        };
        let figures = [
            ("time", task.each(over)),
            ("to C++", task.each(|row| Some(format!("{:.3}", row.ratio_to_reference?)))),
            ("instr.", task.each(|row| Some(format!("{:.1}", instructions(row)?)))),
        ];
        for (name, cells) in figures {
            if cells.iter().any(|cell| !cell.is_empty()) {
                table.add(std::iter::once(format!("{}: {name}", task.name)).chain(cells).collect());
            }
        }
    }
    if table.is_empty() {
        return String::new();
    }
    let table = table.text(style);
    let reading = if table.contains('~') { format!("{TAX} {OPEN}") } else { TAX.to_string() };
    format!("\n{}\n\n{table}\n", wrapped(&reading, style.prose()))
}

/// The task and its size.
fn task(row: &Record) -> String {
    format!("{} {}", parameter(row, "task"), parameter(row, "size"))
}

/// Instructions of a warp for 32 elements, or for 32 terms of a product.
fn instructions(row: &Record) -> Option<f64> {
    let issued = row.counters.as_ref()?.launch.total.instructions;
    let terms = row.parameters.more.get("k").and_then(Value::as_u64).unwrap_or(1);
    Some(32.0 * issued as f64 / (row.parameters.elements as f64 * terms as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::setting::tests::{modelled, row};
    use record::{Parameters, Precision};

    /// A row of `idioms` with 416 instructions of warps.
    fn idiom(way: &str, milliseconds: f64, parameters: Parameters) -> Record {
        let row = modelled(row(0, Precision::F32, Some(milliseconds)));
        Record {
            experiment: "idioms".to_string(),
            kernel: format!("{way}_task"),
            parameters: Parameters { elements: 1024, ..parameters.with("way", way) },
            ..row
        }
    }

    fn lines(text: &str) -> Vec<Vec<&str>> {
        text.lines().map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn the_tax_is_a_ratio_and_a_count_a_task() {
        let copy = || Parameters::of_bytes(4096).with("task", "copy").with("size", "1024");
        let product = || {
            Parameters::of_bytes(4096)
                .with("task", "matmul")
                .with("size", "32x32x4")
                .with("m", 32)
                .with("n", 32)
                .with("k", 4)
        };
        let mut records = [
            idiom("checked", 0.3, copy()),
            idiom("unchecked", 0.2, copy()),
            idiom("unchecked", 0.4, product()),
        ];
        records[0].ratio_to_reference = Some(1.51);
        let text = further(&records.iter().collect::<Vec<_>>(), Style::default());
        let rows = lines(&text);
        let starting =
            |start: &[&str]| rows.iter().find(|row| row.starts_with(start)).cloned().unwrap_or_default();
        assert_eq!(starting(&["copy", "1024:", "time"])[3..], ["1.500~", "1.000"]);
        assert!(text.replace('\n', " ").contains("~: within the model's doubt of both times."), "{text}");
        assert_eq!(starting(&["copy", "1024:", "to", "C++"])[4..], ["1.510"]);
        assert_eq!(starting(&["copy", "1024:", "instr."])[3..], ["13.0", "13.0"]);
        assert_eq!(starting(&["matmul", "32x32x4:", "instr."])[3..], ["3.2"]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn storage_is_shown_as_the_ptx_has_it() {
        let base = row(0, Precision::F32, Some(0.2));
        let parameters = Parameters::of_bytes(1024)
            .with("class", "constant")
            .with("space", "const")
            .with("variable", "STORAGE_CONSTANT")
            .with("variable_bytes", 16)
            .with("loads", "ld.const.b32")
            .with("stores", "")
            .with("host_access", "copies it");
        let record = Record { parameters, ..base };
        let text = further(&[&record], Style::default());
        assert!(text.starts_with("\nAs the PTX for compute_90 has it:\n"), "{text}");
        let last: Vec<&str> = text.lines().last().unwrap_or_default().split_whitespace().collect();
        assert_eq!(last[..5], ["constant", "STORAGE_CONSTANT", ".const", "16", "ld.const.b32"]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(further(&[&row(0, Precision::F32, Some(0.2))], Style::default()), "");
    }
}
