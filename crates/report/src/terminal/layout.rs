//! How tables and prose are laid out: columns without lines between them, never wider than the reader's lines.
//!
//! A table that is too wide first lacks the columns that it [may lack](Table::may_lack), in the order in which they were
//! named, and says so below; then the widest cells are broken. One whose columns all count is [stacked](Table::stacked): the
//! columns that do not fit are a second table below the first.

use super::style::{Ink, Style};
use std::fmt::Write;

/// Stands where a wrong result would have had a figure.
pub(super) const INVALID: &str = "INVALID";

/// Columns between two columns.
const GAP: usize = 2;

/// The narrowest that a cell is broken to.
const NARROW: usize = 8;

/// The width to which the first column of a stacked table is broken, if that makes room for another column.
const NAME: usize = 36;

/// A table: headings of one or several lines, and rows of cells.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<String>,
    left: usize,
    rows: Vec<Vec<String>>,
    expendable: Vec<(&'static str, Vec<usize>)>,
}

impl Table {
    /// An empty table; the columns from `left` on are aligned to the right.
    pub fn new(header: Vec<String>, left: usize) -> Table {
        Table { header, left, rows: Vec::new(), expendable: Vec::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Names columns that are left out where the table is too wide, before those that are named later.
    pub fn may_lack(&mut self, name: &'static str, columns: Vec<usize>) {
        if !columns.is_empty() {
            self.expendable.push((name, columns));
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table within the lines of this style, without the end of its last line; below it, what it lacks.
    pub fn text(&self, style: Style) -> String {
        let mut columns: Vec<usize> = (0..self.header.len()).collect();
        let mut lacking = Vec::new();
        for (name, expendable) in &self.expendable {
            if total(&self.widths(&columns)) <= style.width {
                break;
            }
            columns.retain(|column| !expendable.contains(column));
            lacking.push(*name);
        }
        let mut text = self.of(&columns, style);
        if !lacking.is_empty() {
            let lacking = format!("Left out at {} columns: {}.", style.width, lacking.join(", "));
            let _ = write!(text, "\n{}", style.paint(Ink::Faint, &wrapped(&lacking, style.prose())));
        }
        text
    }

    /// All columns within the lines of this style: where they do not fit side by side, in tables below one another, each of
    /// which starts with the columns that are aligned to the left.
    pub fn stacked(&self, style: Style) -> String {
        let first: Vec<usize> = (0..self.left.min(self.header.len())).collect();
        let mut parts = vec![first.clone()];
        for column in first.len()..self.header.len() {
            let last = parts.len() - 1;
            let wider: Vec<usize> = parts[last].iter().copied().chain([column]).collect();
            // Names are broken before figures go to another table.
            let mut widths = self.widths(&wider);
            widths[0] = widths[0].min(NAME);
            if total(&widths) > style.width && parts[last].len() > first.len() {
                parts.push(first.iter().copied().chain([column]).collect());
            } else {
                parts[last] = wider;
            }
        }
        parts.iter().map(|part| self.of(part, style)).collect::<Vec<_>>().join("\n\n")
    }

    /// The widths of columns, of headings and cells as they are.
    fn widths(&self, columns: &[usize]) -> Vec<usize> {
        let width = |column: &usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(*column)).chain([&self.header[*column]]);
            cells.flat_map(|cell| cell.lines()).map(|line| line.chars().count()).max().unwrap_or(0)
        };
        columns.iter().map(width).collect()
    }

    /// These columns; where they are too wide, the widest of them with its cells broken.
    fn of(&self, columns: &[usize], style: Style) -> String {
        let mut widths = self.widths(columns);
        while let excess @ 1.. = total(&widths).saturating_sub(style.width) {
            let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROW) else { break };
            *widest = widest.saturating_sub(excess).max(NARROW);
        }
        let mut lines = self.lines(columns, &widths, &self.header, true);
        lines.push(style.either("─", "-").repeat(total(&widths)));
        for row in &self.rows {
            lines.extend(self.lines(columns, &widths, row, false));
        }
        lines.join("\n").replace(INVALID, &style.paint(Ink::Wrong, INVALID))
    }

    /// A row's lines. Headings stand at the bottom of theirs, cells at the top.
    fn lines(&self, columns: &[usize], widths: &[usize], cells: &[String], bottom: bool) -> Vec<String> {
        let cell =
            |(column, width): (&usize, &usize)| broken(cells.get(*column).map_or("", String::as_str), *width);
        let cells: Vec<Vec<String>> = columns.iter().zip(widths).map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let mut line = String::new();
            for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let above = if bottom { height - cell.len() } else { 0 };
                let text =
                    number.checked_sub(above).and_then(|number| cell.get(number)).map_or("", String::as_str);
                let gap = if place == 0 { 0 } else { GAP };
                let _ = match columns[place] < self.left {
                    true => write!(line, "{:gap$}{text:<width$}", ""),
                    false => write!(line, "{:gap$}{text:>width$}", ""),
                };
            }
            line.trim_end().to_string()
        };
        (0..height).map(line).collect()
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// A cell's lines, each within a number of columns.
fn broken(cell: &str, width: usize) -> Vec<String> {
    cell.lines()
        .flat_map(|line| {
            if line.chars().count() <= width {
                return vec![line.to_string()];
            }
            wrapped(line, width)
                .lines()
                .flat_map(|line| {
                    let letters: Vec<char> = line.chars().collect();
                    letters.chunks(width.max(1)).map(|chunk| chunk.iter().collect()).collect::<Vec<String>>()
                })
                .collect()
        })
        .collect()
}

/// Headings of a group's columns, with the group's caption above the first.
pub(super) fn under(caption: &str, columns: &[String]) -> Vec<String> {
    let heading = |(number, column): (usize, &String)| match number {
        0 if !caption.is_empty() => format!("{caption}\n{column}"),
        _ => column.clone(),
    };
    columns.iter().enumerate().map(heading).collect()
}

/// A paragraph broken into lines of at most `width` columns, without the end of the last.
pub fn wrapped(text: &str, width: usize) -> String {
    hanging(text, width, 0)
}

/// A paragraph as [`wrapped`], with all lines but the first indented.
pub fn hanging(text: &str, width: usize, indent: usize) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            let _ = write!(wrapped, "\n{:indent$}", "");
            column = indent;
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
    wrapped
}

/// A text as far as there is room for it, with two dots for the rest.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    text.chars().take(width.saturating_sub(2)).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(width: usize) -> Style {
        Style { width, ..Style::default() }
    }

    fn table() -> Table {
        let header = ["kernel", "f32\nGB/s", "%copy", "ms"].map(str::to_string).to_vec();
        let mut table = Table::new(header, 1);
        table.add(["copy_scalar", "2714", "66.5", "0.1978"].map(str::to_string).to_vec());
        table.add(["copy_vector", "INVALID", "", ""].map(str::to_string).to_vec());
        table.may_lack("ms", vec![3]);
        table.may_lack("%copy", vec![2]);
        table
    }

    #[test]
    fn a_table_has_headings_at_the_bottom_and_figures_to_the_right() {
        let expected = "                 f32
kernel          GB/s  %copy      ms
───────────────────────────────────
copy_scalar     2714   66.5  0.1978
copy_vector  INVALID";
        assert_eq!(table().text(narrow(40)), expected);
        let ascii = table().text(Style { unicode: false, ..narrow(40) });
        assert_eq!(ascii, expected.replace('─', "-"));
        let coloured = table().text(Style { colour: true, ..narrow(40) });
        assert_eq!(coloured, expected.replace("INVALID", "\x1b[1;31mINVALID\x1b[0m"));
    }

    #[test]
    fn what_does_not_fit_is_left_out_in_order_or_broken() {
        let expected = "                 f32
kernel          GB/s  %copy
───────────────────────────
copy_scalar     2714   66.5
copy_vector  INVALID
Left out at 34 columns: ms.";
        assert_eq!(table().text(narrow(34)), expected);
        let expected = "              f32
kernel       GB/s
─────────────────
copy_sca     2714
lar
copy_vec  INVALID
tor
Left out at 17
columns: ms,
%copy.";
        assert_eq!(table().text(narrow(17)), expected);
    }

    #[test]
    fn columns_that_all_count_are_stacked() {
        let expected = "                 f32
kernel          GB/s
────────────────────
copy_scalar     2714
copy_vector  INVALID

kernel       %copy      ms
──────────────────────────
copy_scalar   66.5  0.1978
copy_vector";
        assert_eq!(table().stacked(narrow(26)), expected);
        assert_eq!(table().stacked(narrow(40)), table().text(narrow(40)));
    }

    #[test]
    fn prose_is_wrapped_and_labels_are_cut() {
        assert_eq!(wrapped("one  two three\nfour", 9), "one two\nthree\nfour");
        assert_eq!(hanging("one two three", 9, 2), "one two\n  three");
        assert_eq!(wrapped("", 9), "");
        assert_eq!((cut("copy_scalar", 6), cut("copy", 6)), ("copy..".to_string(), "copy".to_string()));
    }
}
