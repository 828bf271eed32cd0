//! How tables and text are laid out: columns without lines between them, in at most 100 columns of a terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};

/// An empty table; the columns from `left` on are aligned to the right.
pub fn new(header: Vec<String>, left: usize) -> Table {
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

/// Adds a row.
pub fn add(table: &mut Table, cells: Vec<String>) {
    table.add_row(cells.into_iter().map(Cell::new).collect::<Vec<_>>());
}

/// Without spaces at the ends of lines.
pub fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// Headings of a group's columns, with the group's caption above the first. All end on the same line.
pub fn under(caption: &str, columns: &[&str]) -> Vec<String> {
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

/// Broken into lines of at most 100 columns.
pub fn wrapped(text: &str) -> String {
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
