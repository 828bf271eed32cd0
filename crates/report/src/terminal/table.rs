//! Tables of rows: a swept parameter down and up to two kernels across, or one row below another.

use super::{
    figures::{Column, caption, cells as row_cells, columns, condition_columns},
    layout::{Table, under},
    ratios::{pair, twin_columns},
    setting::{residence, values, varying},
    style::Style,
};
use record::{Backend, Language, Measure, Precision, Record};

/// The rows as a table. `all` are all of the experiment: they decide what tells rows apart.
pub(super) fn tabulated(rows: &[&Record], all: &[&Record], style: Style) -> String {
    table(rows, all, Vec::new()).text(style)
}

/// The same with the card's state during each row.
pub(super) fn tabulated_with_conditions(rows: &[&Record], style: Style) -> String {
    table(rows, rows, condition_columns(rows)).text(style)
}

fn table(rows: &[&Record], all: &[&Record], conditions: Vec<Column>) -> Table {
    if is_side_by_side(all) {
        side_by_side(rows, conditions)
    } else {
        one_below_another(rows, all, conditions)
    }
}

/// Whether a table has the swept parameter down and the kernels across: at most two of them, and one figure that is not
/// arithmetic.
pub(super) fn is_side_by_side(rows: &[&Record]) -> bool {
    let measure = common(rows);
    rows.iter().all(|row| row.parameters.swept.is_some() && Some(row.measure()) == measure)
        && measure != Some(Measure::Arithmetic)
        && contestants(rows).len() <= 2
}

/// The quantity that rows are compared by: of several the one that is not bandwidth. `None` without rows.
pub(super) fn common(rows: &[&Record]) -> Option<Measure> {
    rows.iter().map(|row| row.measure()).max()
}

/// The rows apart by all parameters that are not swept.
pub(super) fn parts<'r>(rows: &[&'r Record]) -> Vec<Vec<&'r Record>> {
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

/// Kernels and element types, each pair once, in the order in which they come first.
fn contestants<'r>(rows: &[&'r Record]) -> Vec<(&'r str, Option<Precision>)> {
    unique(rows.iter().map(|row| row.contestant()))
}

/// The values, each once, in the order in which they come first.
pub(crate) fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// The swept value of a row.
pub(super) fn swept(row: &Record) -> Option<u64> {
    row.parameters.swept.as_ref().map(|swept| swept.value)
}

/// The name of the swept parameter, where there is one.
pub(super) fn swept_name(rows: &[&Record]) -> Option<String> {
    rows.iter().find_map(|row| row.parameters.swept.as_ref()).map(|swept| swept.name.clone())
}

/// The figures of a table in groups of columns, each under a caption, and what may be left out of them.
struct Figures {
    /// The measure of kernels and their twins, where the rows are pairs.
    twins: Option<Measure>,
    columns: Vec<Column>,
    residence: bool,
}

impl Figures {
    fn of(rows: &[&Record], conditions: Vec<Column>) -> Figures {
        let twins = rows.iter().any(|row| row.language == Language::CudaCpp);
        let twins = common(rows).filter(|_| twins);
        let columns = match twins {
            Some(_) => Vec::new(),
            None => columns(rows).into_iter().chain(conditions).collect(),
        };
        Figures { twins, columns, residence: residence(rows).is_none() }
    }

    /// The headings of a group.
    fn headings(&self) -> Vec<String> {
        match self.twins {
            Some(measure) => twin_columns(measure),
            None => self.columns.iter().map(|column| column.heading().to_string()).collect(),
        }
    }

    /// Names what a table may lack: what follows from other columns first.
    fn expend(&self, table: &mut Table, first: usize, groups: usize) {
        const ORDER: [(Column, &str); 5] = [
            (Column::Milliseconds, "ms"),
            (Column::OfPeak, "%peak"),
            (Column::Range, "min..max"),
            (Column::Moved, "moved/asked"),
            (Column::Interval, "8 in 10"),
        ];
        for (wanted, name) in ORDER {
            let place = self.columns.iter().position(|column| *column == wanted);
            let of_group = |group: usize| place.map(|place| first + group * self.columns.len() + place);
            table.may_lack(name, (0..groups).filter_map(of_group).collect());
        }
        if self.residence {
            table.may_lack("from", vec![first + groups * self.columns.len()]);
        }
    }
}

/// A table with the swept parameter down and the kernels, by their element types, across; of twins, both languages.
fn side_by_side(rows: &[&Record], conditions: Vec<Column>) -> Table {
    let contestants = contestants(rows);
    let of_table = Figures::of(rows, conditions);
    let headings = of_table.headings();
    let backend = rows.first().map_or(Backend::Measured, |row| row.backend);
    let by_precision = contestants.iter().all(|(_, precision)| precision.is_some())
        && unique(contestants.iter().map(|(_, precision)| precision)).len() == contestants.len();
    let mut header = vec![swept_name(rows).unwrap_or_default()];
    for (kernel, precision) in &contestants {
        let name = match precision {
            Some(precision) if by_precision => precision.to_string(),
            _ => kernel.to_string(),
        };
        header.extend(under(&caption(&name, backend), &headings));
    }
    if of_table.residence {
        header.push("from".to_string());
    }
    let mut table = Table::new(header, 1);
    of_table.expend(&mut table, 1, contestants.len());
    for value in unique(rows.iter().filter_map(|row| swept(row))) {
        let mut cells = vec![value.to_string()];
        let mut residence: Vec<String> = Vec::new();
        for contestant in &contestants {
            let of = |language: Option<Language>| {
                rows.iter().copied().find(|row| {
                    swept(row) == Some(value)
                        && row.contestant() == *contestant
                        && language.is_none_or(|language| row.language == language)
                })
            };
            cells.extend(match (of_table.twins, of(None)) {
                (Some(measure), _) => pair(of(Some(Language::Rust)), of(Some(Language::CudaCpp)), measure),
                (None, Some(row)) => row_cells(row, &of_table.columns),
                (None, None) => vec![String::new(); of_table.columns.len()],
            });
            residence.extend(of(None).map(|row| row.residence.to_string()));
        }
        if of_table.residence {
            residence.dedup();
            cells.push(residence.join("/"));
        }
        table.add(cells);
    }
    table
}

/// A table with the kernels down, and what tells their rows apart beside them; of twins, both languages.
fn one_below_another(rows: &[&Record], all: &[&Record], conditions: Vec<Column>) -> Table {
    let names = varying(all);
    let swept_name = swept_name(all);
    let of_table = Figures::of(rows, conditions);
    let mut header = vec!["kernel".to_string()];
    header.extend(swept_name.clone());
    header.extend(names.iter().cloned());
    let identity = header.len();
    let backend = rows.first().map_or(Backend::Measured, |row| row.backend);
    header.extend(under(&caption("", backend), &of_table.headings()));
    if of_table.residence {
        header.push("from".to_string());
    }
    let mut table = Table::new(header, 1);
    of_table.expend(&mut table, identity, 1);
    let of_row = |row: &Record| -> Vec<String> {
        let value = swept(row).map(|value| value.to_string()).unwrap_or_default();
        let swept = swept_name.is_some().then_some(value);
        std::iter::once(row.kernel.clone()).chain(swept).chain(values(row, &names)).collect()
    };
    let mut seen = Vec::new();
    for row in rows {
        let name = of_row(row);
        let mut cells = name.clone();
        if let Some(measure) = of_table.twins {
            if seen.contains(&name) {
                continue;
            }
            let of =
                |language| rows.iter().copied().find(|row| of_row(row) == name && row.language == language);
            cells.extend(pair(of(Language::Rust), of(Language::CudaCpp), measure));
            seen.push(name);
        } else {
            cells.extend(row_cells(row, &of_table.columns));
        }
        if of_table.residence {
            cells.push(row.residence.to_string());
        }
        table.add(cells);
    }
    table
}
