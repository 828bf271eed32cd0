//! Tables of rows: a swept parameter down and up to two kernels across, or one row below another.

use super::{
    figures::{caption, columns, condition_columns, conditions, figures, short},
    layout::{Table, under},
    ratios::{pair, twin_columns},
    setting::{residence, values, varying},
    style::Style,
};
use record::{Backend, Language, Precision, Record};

/// The rows as a table. `all` are all of the experiment: they decide what tells rows apart.
pub(super) fn tabulated(rows: &[&Record], all: &[&Record], style: Style) -> String {
    table(rows, all, Vec::new()).text(style)
}

/// The same with the card's state during each row.
pub(super) fn tabulated_with_conditions(rows: &[&Record], style: Style) -> String {
    table(rows, rows, condition_columns(rows)).text(style)
}

fn table(rows: &[&Record], all: &[&Record], conditions: Vec<&'static str>) -> Table {
    if is_side_by_side(all) {
        side_by_side(rows, conditions)
    } else {
        one_below_another(rows, all, conditions)
    }
}

/// Whether a table has the swept parameter down and the kernels across: at most two of them, and bandwidth alone.
pub(super) fn is_side_by_side(rows: &[&Record]) -> bool {
    rows.iter().all(|row| row.parameters.swept.is_some() && row.gflop_per_s.is_none())
        && contestants(rows).len() <= 2
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
pub(super) fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// The swept value of a row.
fn swept(row: &Record) -> Option<u64> {
    row.parameters.swept.as_ref().map(|swept| swept.value)
}

/// The name of the swept parameter, where there is one.
fn swept_name(rows: &[&Record]) -> Option<String> {
    rows.iter().find_map(|row| row.parameters.swept.as_ref()).map(|swept| swept.name.clone())
}

/// The figures of a table in groups of columns, each under a caption, and what may be left out of them.
struct Figures {
    twins: bool,
    columns: Vec<&'static str>,
    /// Those of the columns that have the card's state.
    conditions: Vec<&'static str>,
    residence: bool,
}

impl Figures {
    fn of(rows: &[&Record], flops: bool, conditions: Vec<&'static str>) -> Figures {
        let twins = rows.iter().any(|row| row.language == Language::CudaCpp);
        let mut names = match rows.first() {
            Some(first) if !twins => columns(first.backend),
            _ => twin_columns(flops),
        };
        if flops && !twins {
            names.insert(1, "GFLOP/s");
        }
        let conditions = if twins { Vec::new() } else { conditions };
        names.extend(&conditions);
        Figures { twins, columns: names, conditions, residence: residence(rows).is_none() }
    }

    /// The cells of a row that stands by itself.
    fn cells(&self, row: &Record) -> Vec<String> {
        let conditions = self.conditions.iter().map(|column| conditions(row, column).unwrap_or_default());
        figures(row).into_iter().chain(conditions).collect()
    }

    /// Names what a table may lack: what follows from other columns first.
    fn expend(&self, table: &mut Table, first: usize, groups: usize) {
        const ORDER: [(&str, &str); 4] =
            [("ms", "ms"), ("%peak", "%peak"), ("min..max", "min..max"), ("moved/\nasked", "moved/asked")];
        for (heading, name) in ORDER {
            let place = self.columns.iter().position(|column| *column == heading);
            let of_group = |group: usize| place.map(|place| first + group * self.columns.len() + place);
            table.may_lack(name, (0..groups).filter_map(of_group).collect());
        }
        if self.residence {
            table.may_lack("from", vec![first + groups * self.columns.len()]);
        }
    }
}

/// A table with the swept parameter down and the kernels, by their element types, across; of twins, both languages.
fn side_by_side(rows: &[&Record], conditions: Vec<&'static str>) -> Table {
    let contestants = contestants(rows);
    let of_table = Figures::of(rows, false, conditions);
    let backend = rows.first().map_or(Backend::Measured, |row| row.backend);
    let by_precision = contestants.iter().all(|(_, precision)| precision.is_some())
        && unique(contestants.iter().map(|(_, precision)| precision)).len() == contestants.len();
    let mut header = vec![swept_name(rows).unwrap_or_default()];
    for (kernel, precision) in &contestants {
        let name = match precision {
            Some(precision) if by_precision => precision.to_string(),
            _ => kernel.to_string(),
        };
        header.extend(under(&caption(&name, backend), &of_table.columns));
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
                (true, _) => pair(of(Some(Language::Rust)), of(Some(Language::CudaCpp)), false),
                (false, Some(row)) => of_table.cells(row),
                (false, None) => vec![String::new(); of_table.columns.len()],
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
fn one_below_another(rows: &[&Record], all: &[&Record], conditions: Vec<&'static str>) -> Table {
    let names = varying(all);
    let swept_name = swept_name(all);
    let flops = rows.iter().any(|row| row.gflop_per_s.is_some());
    let of_table = Figures::of(rows, flops, conditions);
    let mut header = vec!["kernel".to_string()];
    header.extend(swept_name.clone());
    header.extend(names.iter().cloned());
    let identity = header.len();
    let backend = rows.first().map_or(Backend::Measured, |row| row.backend);
    header.extend(under(&caption("", backend), &of_table.columns));
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
        if of_table.twins {
            if seen.contains(&name) {
                continue;
            }
            let of =
                |language| rows.iter().copied().find(|row| of_row(row) == name && row.language == language);
            cells.extend(pair(of(Language::Rust), of(Language::CudaCpp), flops));
            seen.push(name);
        } else {
            let mut figures = of_table.cells(row);
            if flops {
                figures.insert(1, row.gflop_per_s.map(short).unwrap_or_default());
            }
            cells.extend(figures);
        }
        if of_table.residence {
            cells.push(row.residence.to_string());
        }
        table.add(cells);
    }
    table
}
