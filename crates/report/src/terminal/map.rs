//! A grid of figures over two parameters, each shaded by its size.

use super::{
    figures::{bounds, rate, short},
    layout::Table,
    series::number,
    setting::at,
    setting::{named, values, varying},
    style::{Ink, Style},
    table::{common, unique},
};
use crate::matrix::{self, matrices};
use record::{Backend, Language, Measure, Record};

/// The kernels that a screen holds a grid of.
const MOST: usize = 3;

/// Shades from the least figure to the greatest.
const SHADES: [(char, char); 5] = [(' ', ' '), ('░', '.'), ('▒', ':'), ('▓', '*'), ('█', '#')];

/// A grid of all kernels, or where they share cells of each, of the rows that have both parameters; `None` where there is not one grid of two columns.
pub(super) fn map(rows: &[&Record], x: &str, y: &str, style: Style) -> Option<String> {
    let measure = common(rows)?;
    let placed = |row: &&&Record| {
        let has = |name| at(row, name).is_some();
        row.language == Language::Rust && row.measure() == measure && has(x) && has(y)
    };
    let rows: Vec<&Record> = rows.iter().filter(placed).copied().collect();
    let names: Vec<String> = varying(&rows).into_iter().filter(|name| name != x && name != y).collect();
    let key = |row: &Record| (row.kernel.clone(), values(row, &names));
    let bounds = bounds(rows.iter().filter_map(|row| measure.of(row)));
    let mut grids = Vec::new();
    // Kernels that share no cell make one grid together.
    let cells = unique(rows.iter().map(|row| (at(row, x), at(row, y))));
    let together = cells.len() == rows.len();
    if together {
        grids.extend(grid(&rows, [x, y], measure, bounds, style).map(|grid| (String::new(), grid)));
    }
    for wanted in unique(rows.iter().filter(|_| !together).map(|row| key(row))) {
        let rows: Vec<&Record> = rows.iter().copied().filter(|row| key(row) == wanted).collect();
        let title: Vec<String> =
            names.iter().zip(&wanted.1).map(|(name, value)| named(name, value)).collect();
        let title = [vec![wanted.0], title].concat().join(" ");
        grids.extend(grid(&rows, [x, y], measure, bounds, style).map(|grid| (title, grid)));
    }
    let backend = if rows.first()?.backend == Backend::Modelled { ", modelled" } else { "" };
    let head = format!("{}{backend}: {x} across, {y} down", measure.unit());
    let mut text = format!("{}\n", style.paint(Ink::Faint, &head));
    for (title, grid) in grids.iter().take(MOST) {
        let title = if title.is_empty() { String::new() } else { style.paint(Ink::Faint, title) + "\n" };
        text += &format!("\n{title}{grid}\n");
    }
    if grids.len() > MOST {
        text += &format!("{} more kernels; -v shows all rows.\n", grids.len() - MOST);
    }
    text += &intervals(&rows, measure).map(|line| style.paint(Ink::Faint, &line) + "\n").unwrap_or_default();
    (!grids.is_empty()).then_some(text)
}

/// A line on how far the intervals of modelled figures reach, all rows together; `None` where no row has one.
fn intervals(rows: &[&Record], measure: Measure) -> Option<String> {
    let relative = rows.iter().filter_map(|row| {
        let figure = measure.of(row)?;
        Some(measure.interval(row)?.map(|bound| bound / figure))
    });
    let widest = |[low, high]: [f64; 2], [least, most]: [f64; 2]| [low.min(least), high.max(most)];
    let [low, high] = relative.reduce(widest)?;
    Some(format!("8 in 10 within {low:.2} to {high:.2} times the figure; -v shows each interval."))
}

/// Matrices of what moves from one end to another, where there are any, and the rows that are in none.
pub(super) fn squares<'r>(
    rows: &[&'r Record],
    over: [&'static str; 2],
    style: Style,
) -> (Option<String>, Vec<&'r Record>) {
    let (matrices, others) = matrices(rows, over);
    let Some((.., first)) = matrices.first().and_then(|matrix| matrix.rows.first()) else {
        return (None, others);
    };
    let (measure, bounds, [to, from]) = (first.measure(), matrix::bounds(&matrices), over);
    let backend = if first.backend == Backend::Modelled { ", modelled" } else { "" };
    let head = format!("{}{backend}: {from} down, {to} across", measure.unit());
    let mut text = format!("{}\n", style.paint(Ink::Faint, &head));
    for matrix in &matrices {
        let header = std::iter::once(format!("{from} \\ {to}")).chain(matrix.ends.iter().cloned());
        let mut table = Table::new(header.collect(), 1);
        for (y, end) in matrix.ends.iter().enumerate() {
            let cell = |x: usize| {
                let here = matrix.rows.iter().find(|(of_x, of_y, _)| (*of_x, *of_y) == (x, y));
                here.map(|(.., row)| figure(row, measure, bounds, style)).unwrap_or_default()
            };
            let cells: Vec<String> = (0..matrix.ends.len()).map(cell).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                table.add(std::iter::once(end.clone()).chain(cells).collect());
            }
        }
        let title = if matrix.label.is_empty() {
            String::new()
        } else {
            style.paint(Ink::Faint, &matrix.label) + "\n"
        };
        text += &format!("\n{title}{}\n", table.stacked(style));
    }
    (Some(text), others)
}

/// A figure with its shade, or why there is none.
fn figure(row: &Record, measure: Measure, bounds: [f64; 2], style: Style) -> String {
    match measure.of(row) {
        Some(figure) => format!("{}{}", short(figure), shade(figure, bounds, style)),
        None => rate(row, measure),
    }
}

/// The values of a parameter, ascending, with their texts.
fn places(rows: &[&Record], name: &str) -> Vec<String> {
    let mut places: Vec<(f64, String)> =
        rows.iter().filter_map(|row| Some((number(row, name), at(row, name)?))).collect();
    places.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    unique(places.into_iter().map(|(_, text)| text))
}

fn grid(
    rows: &[&Record],
    [x, y]: [&str; 2],
    measure: Measure,
    bounds: [f64; 2],
    style: Style,
) -> Option<String> {
    let (across, down) = (places(rows, x), places(rows, y));
    if across.len() < 2 {
        return None;
    }
    let cell = |x_text: &String, y_text: &String| {
        let here =
            |row: &&&Record| at(row, x).as_ref() == Some(x_text) && at(row, y).as_ref() == Some(y_text);
        rows.iter().find(here).map(|row| figure(row, measure, bounds, style)).unwrap_or_default()
    };
    let header: Vec<String> = std::iter::once(y.to_string()).chain(across.iter().cloned()).collect();
    let mut table = Table::new(header, 1);
    // Every second column goes first where there is no room for all, the first and the last excepted.
    let mut step = 2;
    while step < across.len() {
        let odd = (1..across.len() - 1).filter(|place| place % step == step / 2);
        table.may_lack("columns between", odd.map(|place| place + 1).collect());
        step *= 2;
    }
    for y_text in &down {
        table.add(std::iter::once(y_text.clone()).chain(across.iter().map(|x| cell(x, y_text))).collect());
    }
    Some(table.text(style))
}

/// The shade of a figure: by logarithms where figures span more than a decade.
fn shade(figure: f64, [low, high]: [f64; 2], style: Style) -> char {
    let share = match low > 0.0 && high > 10.0 * low {
        true => (figure / low).ln() / (high / low).ln(),
        false => figure / high.max(f64::MIN_POSITIVE),
    };
    let (unicode, ascii) = SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
    style.either(unicode, ascii)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row;
    use record::{Parameters, Precision};

    fn of(stride: u64, footprint: u64, gb_per_s: Option<f64>) -> Record {
        let row = row(0, Precision::F32, gb_per_s.map(|_| 1.0));
        let parameters = Parameters { swept: None, precision: None, ..row.parameters.clone() };
        let parameters = parameters.with("stride", stride).with("footprint", footprint);
        Record { kernel: "mountain".to_string(), parameters, gb_per_s, ..row }
    }

    #[test]
    fn figures_stand_where_their_parameters_say() {
        let rows = [
            of(8, 1 << 20, Some(400.0)),
            of(1, 1 << 20, Some(4000.0)),
            of(1, 1 << 10, Some(8000.0)),
            of(8, 1 << 10, None),
        ];
        let rows: Vec<&Record> = rows.iter().collect();
        let text = map(&rows, "stride", "footprint", Style::default()).expect("two columns");
        assert_eq!(
            text,
            "GB/s: stride across, footprint down\n\n\
             footprint      1        8\n\
             ─────────────────────────\n\
             1 KiB      8000█  INVALID\n\
             1 MiB      4000▓     400\n"
        );
        assert!(map(&rows[1..3], "stride", "footprint", Style::default()).is_none());
        let unknown = map(&rows, "stride", "width", Style::default());
        assert_eq!(unknown, None);
    }

    #[test]
    fn modelled_figures_say_how_far_their_intervals_reach() {
        let doubted = |stride, interval: [f64; 2]| {
            let row = of(stride, 1 << 20, Some(4000.0));
            let time_ms = row.time_ms.map(|times| record::Times { interval: Some(interval), ..times });
            Record { backend: Backend::Modelled, time_ms, ..row }
        };
        // A time of 1 ms from 0.8 to 1 ms, and from 0.9 to 2 ms.
        let rows = [doubted(1, [0.8, 1.0]), doubted(2, [0.9, 2.0])];
        let text = map(&rows.iter().collect::<Vec<_>>(), "stride", "footprint", Style::default());
        let text = text.expect("two columns");
        assert!(
            text.ends_with("\n8 in 10 within 0.50 to 1.25 times the figure; -v shows each interval.\n"),
            "{text}"
        );
    }
}
