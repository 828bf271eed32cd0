//! Counters as tables: a row a record, or a row a line of source.

use super::{
    Shown,
    layout::{Table, wrapped},
    setting::labels,
    style::Style,
};
use record::{Counted, Record, counters::Counts};
use std::fmt::Write;

/// How to read the tables.
const READING: &str = "Per launch: warp instructions, load requests to global memory, and the 32-byte sectors of loads and stores, in \
                       total and per request, counted by the rules of the card's compute capability. used: the share of the moved \
                       bytes that lanes asked for. The traffic of L2 and DRAM, and the bound, are modelled.";

/// The table of counters with one row per launch, and the tables of its source lines. Empty if no row has counters.
pub(super) fn counters(rows: &[&Record], shown: Shown) -> String {
    let style = shown.style;
    let counted: Vec<(&Record, &Counted)> =
        rows.iter().filter_map(|row| Some((*row, row.counters.as_deref()?))).collect();
    let Some((first, _)) = counted.first() else { return String::new() };
    let records: Vec<&Record> = counted.iter().map(|(record, _)| *record).collect();
    let names = labels(&records);
    let all: Vec<Columns> =
        counted.iter().map(|(record, counters)| Columns::of_launch(record, counters)).collect();
    let swept = first.parameters.swept.as_ref().map_or("kernel", |_| "kernel, value");
    let mut text =
        format!("\n{}\n\n{}\n", wrapped(READING, style.prose()), tabulate(swept, names.clone(), &all, style));
    for ((_, counters), name) in counted.iter().zip(&names) {
        if counters.lines.is_empty() || !shown.lines {
            continue;
        }
        let names = counters.lines.iter().map(|line| place(&line.file, line.line)).collect();
        let lines: Vec<Columns> = counters.lines.iter().map(|line| Columns::of(&line.counts)).collect();
        let _ = write!(text, "\n{name} line by line\n\n{}\n", tabulate("line", names, &lines, style));
    }
    text
}

/// The last two parts of a path and the line.
fn place(file: &str, line: u32) -> String {
    if file.is_empty() {
        return "no source line".to_string();
    }
    let parts: Vec<&str> = file.rsplit(['/', '\\']).take(2).collect();
    format!("{}:{line}", parts.into_iter().rev().collect::<Vec<_>>().join("/"))
}

/// The cells of a row under their headings. Where no row of a table has anything in a column, the column is left out.
struct Columns(Vec<(&'static str, String)>);

impl Columns {
    fn of_launch(record: &Record, counters: &Counted) -> Columns {
        let mut columns = Columns::of(&counters.launch.total).0;
        let sectors = counters.launch.l2_sectors_read + counters.launch.l2_sectors_written;
        // Without an L2 they are what DRAM moves.
        let sectors = if record.device.l2_bytes == 0 { 0 } else { sectors };
        columns.push(("L2\nMB", megabytes(sectors * 32)));
        columns.push(("DRAM\nMB", megabytes(counters.dram_bytes)));
        columns.push(("\nbound", counters.bound.to_string()));
        Columns(columns)
    }

    fn of(counts: &Counts) -> Columns {
        let global = counts.global();
        let shared = counts.shared();
        let each = |part: u64, whole: u64| {
            if whole == 0 { String::new() } else { format!("{:.2}", part as f64 / whole as f64) }
        };
        let used = if global.bytes_moved == 0 {
            String::new()
        } else {
            percent(global.bytes_requested, global.bytes_moved)
        };
        Columns(vec![
            ("warp\ninstr.", number(counts.instructions)),
            ("load\nrequests", number(counts.loads.requests)),
            ("\nsectors", number(counts.loads.sectors)),
            ("\neach", each(counts.loads.sectors, counts.loads.requests)),
            ("store\nsectors", number(counts.stores.sectors)),
            ("\neach", each(counts.stores.sectors, counts.stores.requests)),
            ("atomic\nrequests", number(counts.atomics.requests)),
            ("\nused", used),
            ("shared\nwavefronts", number(shared.wavefronts)),
            ("\nat best", number(shared.ideal)),
            ("constant\nreplays", number(counts.constant.replays)),
            ("divergent\nbranches", number(counts.divergent_branches)),
        ])
    }
}

fn tabulate(first: &str, names: Vec<String>, rows: &[Columns], style: Style) -> String {
    let Some(Columns(headings)) = rows.first() else { return String::new() };
    let kept: Vec<usize> =
        (0..headings.len()).filter(|&column| rows.iter().any(|row| !row.0[column].1.is_empty())).collect();
    let header = std::iter::once(first.to_string())
        .chain(kept.iter().map(|&column| headings[column].0.to_string()))
        .collect();
    let mut table = Table::new(header, 1);
    for (name, row) in names.into_iter().zip(rows) {
        table.add(std::iter::once(name).chain(kept.iter().map(|&column| row.0[column].1.clone())).collect());
    }
    table.stacked(style)
}

/// A count; nothing for none.
fn number(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

fn megabytes(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!("{:.1}", bytes as f64 / 1e6) }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_by_the_end_of_its_path() {
        assert_eq!(place("/home/me/coalesce/gpu-kernels/src/copy.rs", 40), "src/copy.rs:40");
        assert_eq!(place("copy.rs", 40), "copy.rs:40");
        assert_eq!(place("", 0), "no source line");
    }

    #[test]
    fn columns_that_nothing_is_in_are_left_out() {
        let mut counts = Counts { instructions: 416, ..Counts::default() };
        counts.loads.requests = 32;
        counts.loads.sectors = 160;
        counts.loads.bytes_requested = 4096;
        counts.loads.bytes_moved = 5120;
        let text =
            tabulate("kernel", vec!["offset_f32 1".to_string()], &[Columns::of(&counts)], Style::default());
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["kernel", "instr.", "requests", "sectors", "each", "used"]);
        assert_eq!(rows[3], ["offset_f32", "1", "416", "32", "160", "5.00", "80.0%"]);
    }
}
