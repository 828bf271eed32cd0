//! The parameters in which a lesson's rows differ, and the style of each series of a chart.

use super::number::place;
use crate::matrix::Matrix;
use record::{Bytes, Language, Measure, Record, shown};

/// A curve or a bar's group: rows of one kernel that share all parameters but those that are drawn.
#[derive(Clone, Debug)]
pub(super) struct Series<'r> {
    /// The label: the kernel and the parameters in which the series differ.
    pub label: String,
    /// The kernel.
    pub kernel: &'r str,
    /// Places along the axis, in order, and the rows there.
    pub points: Vec<(f64, &'r Record)>,
}

/// The series of rows over a parameter; rows that are not of a kernel's own, are compared by another quantity, did not verify
/// or lack the parameter are left out.
pub(super) fn over<'r>(
    rows: &[&'r Record],
    measure: Measure,
    parameter: &str,
    by: &[&str],
) -> Vec<Series<'r>> {
    let rows: Vec<&Record> = ours(rows).into_iter().filter(|row| row.measure() == measure).collect();
    let names = distinguishing(&rows, Some(parameter), by, |_, _| true);
    let mut series: Vec<Series<'r>> = Vec::new();
    for row in rows {
        let (Some(x), true) = (number(row, parameter), row.figure().is_some()) else { continue };
        let label = label(row, &names);
        match series.iter_mut().find(|series| series.label == label) {
            Some(series) => series.points.push((x, row)),
            None => series.push(Series { label, kernel: &row.kernel, points: vec![(x, row)] }),
        }
    }
    for one in &mut series {
        one.points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    series
}

/// The cells of a map: rows of one kernel over two parameters, or of kernels that share no cell.
#[derive(Clone, Debug)]
pub(super) struct Cells<'r> {
    /// The label: the kernel and the parameters in which the maps differ; empty for several kernels together.
    pub label: String,
    /// The values of the parameter across, in order.
    pub across: Vec<String>,
    /// The values of the parameter down, in order.
    pub down: Vec<String>,
    /// Rows with the numbers of their column and of their line.
    pub rows: Vec<(usize, usize, &'r Record)>,
}

/// The maps of rows over two parameters, as [`over`]; those of one column or one line are left out.
pub(super) fn cells<'r>(rows: &[&'r Record], measure: Measure, x: &str, y: &str) -> Vec<Cells<'r>> {
    let has = |row: &&Record| number(row, x).is_some() && number(row, y).is_some();
    let rows: Vec<&Record> =
        ours(rows).into_iter().filter(|row| row.measure() == measure && has(row)).collect();
    let apart = |one: &Record, other: &Record| number(one, y) == number(other, y);
    let names = distinguishing(&rows, Some(x), &[], apart);
    let mut maps: Vec<Cells<'r>> = Vec::new();
    let ascending = |name: &str| {
        let mut values: Vec<f64> = rows.iter().filter_map(|row| number(row, name)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (numbers_across, numbers_down) = (ascending(x), ascending(y));
    let texts =
        |name, values: &[f64]| values.iter().map(|value| place(name, *value)).collect::<Vec<String>>();
    let (across, down) = (texts(x, &numbers_across), texts(y, &numbers_down));
    for row in &rows {
        let nth = |values: &[f64], name| values.iter().position(|value| Some(*value) == number(row, name));
        let (Some(nth_x), Some(nth_y)) = (nth(&numbers_across, x), nth(&numbers_down, y)) else { continue };
        let label = label(row, &names);
        let cell = (nth_x, nth_y, *row);
        match maps.iter_mut().find(|map| map.label == label) {
            Some(map) => map.rows.push(cell),
            None => maps.push(Cells { label, across: across.clone(), down: down.clone(), rows: vec![cell] }),
        }
    }
    // Kernels that share no cell make one map together.
    let mut places: Vec<(usize, usize)> =
        maps.iter().flat_map(|map| map.rows.iter().map(|(x, y, _)| (*x, *y))).collect();
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    if maps.len() > 1 && places.len() == count {
        let rows = maps.drain(..).flat_map(|map| map.rows).collect();
        maps = vec![Cells { label: String::new(), across, down, rows }];
    }
    maps.retain(|map| map.across.len() > 1 && map.down.len() > 1);
    maps
}

/// The cells of a matrix of ends.
impl<'r> From<Matrix<'r>> for Cells<'r> {
    fn from(Matrix { label, ends, rows }: Matrix<'r>) -> Self {
        Cells { label, across: ends.clone(), down: ends, rows }
    }
}

/// Rows with their labels, each telling its row from all others.
pub(super) fn labelled<'r>(rows: &[&'r Record], by: &[&str]) -> Vec<(String, &'r Record)> {
    let rows = ours(rows);
    let names = distinguishing(&rows, None, by, |_, _| true);
    rows.into_iter().map(|row| (label(row, &names), row)).collect()
}

/// Rows of the laboratory's own kernels, and of what the driver does itself: twins share their place.
fn ours<'r>(rows: &[&'r Record]) -> Vec<&'r Record> {
    rows.iter().copied().filter(|row| row.language != Language::CudaCpp).collect()
}

/// The row of the C++ twin with the same parameters.
pub(super) fn twin<'r>(rows: &[&'r Record], row: &Record) -> Option<&'r Record> {
    let same = |other: &&&Record| {
        other.language == Language::CudaCpp
            && other.kernel == row.kernel
            && other.parameters == row.parameters
    };
    rows.iter().find(same).copied().filter(|_| row.language == Language::Rust)
}

/// The value of a parameter as a number.
pub(super) fn number(row: &Record, name: &str) -> Option<f64> {
    let parameters = &row.parameters;
    if let Some(swept) = parameters.swept.as_ref().filter(|swept| swept.name == name) {
        return Some(swept.value as f64);
    }
    match name {
        "bytes" => Some(parameters.bytes as f64),
        "elements" => Some(parameters.elements as f64),
        "block" => parameters.block.map(|block| block.count() as f64),
        _ => parameters.more.get(name)?.as_f64(),
    }
}

/// The value of a parameter as people read it; empty where the row has none.
pub(super) fn text(row: &Record, name: &str) -> String {
    let parameters = &row.parameters;
    match name {
        "precision" => parameters.precision.map(|precision| precision.to_string()).unwrap_or_default(),
        "block" => parameters.block.map(|block| block.to_string().replace('x', "×")).unwrap_or_default(),
        "bytes" => Bytes(parameters.bytes).to_string(),
        _ => match (&parameters.swept, parameters.more.get(name)) {
            (Some(swept), _) if swept.name == name => swept.value.to_string(),
            (_, Some(value)) => shown(name, value),
            _ => String::new(),
        },
    }
}

/// All parameters that rows of a lesson have, the swept one first and sizes last.
pub(super) fn parameters(rows: &[&Record]) -> Vec<String> {
    let swept = rows.iter().filter_map(|row| row.parameters.swept.as_ref().map(|swept| swept.name.clone()));
    let more = rows.iter().flat_map(|row| row.parameters.more.keys().cloned());
    let always = ["precision", "block", "bytes"].map(str::to_string);
    let mut names: Vec<String> = Vec::new();
    for name in swept.chain(more).chain(always) {
        if !names.contains(&name) && rows.iter().any(|row| !text(row, &name).is_empty()) {
            names.push(name);
        }
    }
    names
}

/// The parameters that a label needs for no two rows of one kernel to share a place: those of `by` that vary, and of
/// the others as few as do. Rows share a place where `over` has one value and `here` holds.
fn distinguishing(
    rows: &[&Record],
    over: Option<&str>,
    by: &[&str],
    here: impl Fn(&Record, &Record) -> bool,
) -> Vec<String> {
    let varies = |name: &&&str| rows.iter().any(|row| text(row, name) != text(rows[0], name));
    let mut names: Vec<String> = by.iter().filter(varies).map(|name| (*name).to_string()).collect();
    let same = |one: &Record, other: &Record, names: &[String]| {
        one.kernel == other.kernel
            && over.is_none_or(|over| text(one, over) == text(other, over))
            && here(one, other)
            && names.iter().all(|name| text(one, name) == text(other, name))
    };
    for name in parameters(rows) {
        if names.contains(&name) || over == Some(name.as_str()) {
            continue;
        }
        let tells = |(nth, one): (usize, &&Record)| {
            rows[..nth].iter().any(|other| same(one, other, &names) && text(one, &name) != text(other, &name))
        };
        if rows.iter().enumerate().any(tells) {
            names.push(name);
        }
    }
    names
}

/// The kernel and the values of the named parameters, each said in as few words as are clear.
fn label(row: &Record, names: &[String]) -> String {
    let mut label = row.kernel.clone();
    for name in names {
        let value = text(row, name);
        // `offset_f32` says its element type.
        if value.is_empty() || (name == "precision" && row.kernel.ends_with(&value)) {
            continue;
        }
        label.push_str(", ");
        if value.parse::<f64>().is_ok() {
            label.push_str(name);
            label.push(' ');
        }
        label.push_str(&value);
    }
    label
}

/// How a series is drawn. Neighbours differ in colour, in dashes and in the marker, so that each alone tells them apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look(pub usize);

impl Look {
    /// The class that gives the colour.
    pub(super) fn class(self) -> String {
        format!("s{}", self.0 % 6)
    }

    /// The dash pattern of its line.
    pub(super) fn dashes(self) -> &'static str {
        ["none", "7 4", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2", "3 6"][self.0 % 7]
    }

    /// The path of its marker around a point.
    pub(super) fn marker(self, x: f64, y: f64) -> String {
        let at = |steps: &[(f64, f64)]| {
            let corners = steps.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy));
            format!("M{}Z", corners.collect::<Vec<_>>().join("L"))
        };
        match self.0 % 5 {
            0 => format!("M{:.1},{y:.1}a3,3 0 1 0 6,0a3,3 0 1 0 -6,0Z", x - 3.0),
            1 => at(&[(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)]),
            2 => at(&[(0.0, -4.0), (3.8, 3.0), (-3.8, 3.0)]),
            3 => at(&[(0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0)]),
            _ => at(&[(0.0, 4.0), (3.8, -3.0), (-3.8, -3.0)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row;
    use record::{Parameters, Precision};

    fn of(kernel: &str, block: [u32; 3], nx: u64) -> Record {
        let row = row(0, Precision::F32, Some(1.0));
        let parameters =
            Parameters { swept: None, precision: None, block: Some(block.into()), ..row.parameters.clone() };
        Record { kernel: kernel.to_string(), parameters: parameters.with("nx", nx), ..row }
    }

    fn labels(rows: &[Record], by: &[&str]) -> Vec<String> {
        labelled(&rows.iter().collect::<Vec<_>>(), by).into_iter().map(|(label, _)| label).collect()
    }

    #[test]
    fn labels_say_what_tells_rows_apart_and_no_more() {
        let (square, flat) = ([16, 16, 1], [256, 1, 1]);
        assert_eq!(labels(&[of("a", square, 64), of("b", square, 64)], &["nx"]), ["a", "b"]);
        assert_eq!(labels(&[of("a", square, 64), of("a", flat, 64)], &[]), ["a, 16×16", "a, block 256"]);
        assert_eq!(labels(&[of("a", square, 64), of("b", square, 32)], &["nx"]), ["a, nx 64", "b, nx 32"]);
        assert_eq!(labels(&[of("a", square, 64), of("b", square, 32)], &[]), ["a", "b"]);
    }

    #[test]
    fn kernels_that_share_no_cell_make_one_map() {
        let at = |kernel: &str, width: u64, nx: u64| {
            let row = of(kernel, [32, 1, 1], nx);
            Record { parameters: row.parameters.clone().with("width", width), ..row }
        };
        let rows = [at("a", 4, 1), at("a", 4, 2), at("b", 8, 1), at("b", 8, 2)];
        let maps = |rows: &[Record]| -> Vec<(String, usize)> {
            let maps = cells(&rows.iter().collect::<Vec<_>>(), Measure::Bandwidth, "nx", "width");
            maps.into_iter().map(|map| (map.label, map.rows.len())).collect()
        };
        assert_eq!(maps(&rows), [(String::new(), 4)]);
        let both = [rows.to_vec(), vec![at("b", 4, 1)]].concat();
        assert_eq!(maps(&both), [("a".to_string(), 2), ("b".to_string(), 3)]);
        assert!(maps(&rows[..2]).is_empty());
    }

    #[test]
    fn series_are_in_order_along_their_parameter() {
        let rows = [
            row(8, Precision::F32, Some(2.0)),
            row(0, Precision::F32, Some(1.0)),
            row(1, Precision::F64, None),
        ];
        let series = over(&rows.iter().collect::<Vec<_>>(), Measure::Bandwidth, "offset", &[]);
        let places: Vec<(&str, Vec<f64>)> = series
            .iter()
            .map(|one| (one.label.as_str(), one.points.iter().map(|(x, _)| *x).collect()))
            .collect();
        assert_eq!(places, [("offset_f32", vec![0.0, 8.0])]);
    }
}
