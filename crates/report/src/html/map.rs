//! Heat maps: the rows' figures over two parameters, a cell for each pair of their values.
//!
//! A cell's colour is a share of the page's hue, from nearly none for the least figure to a half for the greatest, in proportion
//! or by logarithms where figures span more than a decade. The figure itself stands in the cell where it has room.

use super::{
    figure::{Column, Drawing, Figure, scrolling},
    number::{doubted, px, rate},
    series::Cells,
};
use maud::{Markup, html};
use record::{Backend, Measure};

/// The subject of the drawing.
pub(super) struct Map<'r> {
    /// The prefix of the figure's ids.
    pub id: String,
    /// The quantity.
    pub measure: Measure,
    /// Of which card, measured or modelled.
    pub whose: String,
    /// The parameters of the columns and of the rows.
    pub over: [&'static str; 2],
    /// The cells, of one kernel.
    pub cells: Cells<'r>,
    /// The least and the greatest figure of all maps that are read together.
    pub bounds: [f64; 2],
    /// Whether the figures are measured or modelled.
    pub backend: Backend,
}

/// Steps of the legend's strip.
const STEPS: usize = 24;

/// Pixels of a letter.
const LETTER: f64 = 7.2;

impl Map<'_> {
    /// The figure.
    pub(super) fn figure(&self) -> Figure {
        let (measure, [x, y]) = (self.measure, self.over);
        let [low, high] = self.bounds.map(rate);
        let unit = measure.unit();
        let intervals = self.cells.rows.iter().any(|(.., row)| measure.interval(row).is_some());
        let modelled = match (self.backend, intervals) {
            (Backend::Measured, _) => "",
            (Backend::Modelled, false) => " Figures are modelled.",
            (Backend::Modelled, true) => {
                " Figures are modelled; tooltips and the table of all rows have their intervals."
            }
        };
        Figure {
            id: self.id.clone(),
            title: format!("{}{} over {x} and {y}, {}", measure.name(), self.of(), self.whose),
            description: format!("{} in {unit}, {}: {low} to {high}.", measure.name(), self.backend),
            notes: vec![format!(
                "Each cell is a row, in {unit}; darker is more, by {}.{modelled}",
                self.scale()
            )],
            drawings: Column::ALL.map(|column| self.drawing(column)).into(),
            table: self.table(),
        }
    }

    /// Whose figures they are, where that is one kernel.
    fn of(&self) -> String {
        let label = &self.cells.label;
        if label.is_empty() { String::new() } else { format!(" of {label}") }
    }

    fn is_logarithmic(&self) -> bool {
        let [low, high] = self.bounds;
        low > 0.0 && high > 10.0 * low
    }

    fn scale(&self) -> &'static str {
        if self.is_logarithmic() { "logarithms" } else { "proportion" }
    }

    /// The strength of a figure's colour.
    fn strength(&self, figure: f64) -> f64 {
        let [low, high] = self.bounds;
        let share = match self.is_logarithmic() {
            true => (figure / low).ln() / (high / low).ln(),
            false => figure / high.max(f64::MIN_POSITIVE),
        };
        strength(share.clamp(0.0, 1.0))
    }

    fn drawing(&self, column: Column) -> Drawing {
        let [x_name, y_name] = self.over;
        let (across, down) = (&self.cells.across, &self.cells.down);
        let longest = down.iter().map(|name| name.chars().count()).max().unwrap_or(1);
        let left = (16.0 + LETTER * longest as f64).max(14.0 + LETTER * y_name.chars().count() as f64);
        let width = ((column.width() - left - 4.0) / across.len() as f64).min(72.0);
        let height = if column == Column::Wide { 28.0 } else { 22.0 };
        let top = 44.0;
        let at = |nth_x: usize, nth_y: usize| (left + nth_x as f64 * width, top + nth_y as f64 * height);
        let bottom = top + height * down.len() as f64;
        // As many numbers along the top as do not touch.
        let widest = across.iter().map(|name| name.chars().count()).max().unwrap_or(1);
        let every = ((LETTER * widest as f64 + 6.0) / width).ceil().max(1.0) as usize;
        let figures = self.cells.rows.iter().filter_map(|(.., row)| self.measure.of(row));
        let longest = figures.map(|figure| rate(figure).chars().count()).max().unwrap_or(0);
        let legible = width >= LETTER * longest as f64 + 4.0;
        let marks = html! {
            text.unit x="2" y="14" { (self.measure.unit()) @if self.backend == Backend::Modelled { ", modelled" } }
            text.unit.middle x=(px(left + width * across.len() as f64 / 2.0)) y="14" { (x_name) }
            text.unit x="2" y=(px(top - 8.0)) { (y_name) }
            @for (nth, name) in across.iter().enumerate().filter(|(nth, _)| nth.is_multiple_of(every)) {
                text.tick.middle x=(px(at(nth, 0).0 + width / 2.0)) y=(px(top - 8.0)) { (name) }
            }
            @for (nth, name) in down.iter().enumerate() {
                text.tick.end x=(px(left - 8.0)) y=(px(at(0, nth).1 + height / 2.0 + 4.0)) { (name) }
            }
            @for (nth_x, nth_y, row) in &self.cells.rows {
                @let (x, y) = at(*nth_x, *nth_y);
                @if let Some(figure) = self.measure.of(row) {
                    rect.cell x=(px(x)) y=(px(y)) width=(px(width)) height=(px(height))
                        fill-opacity=(format!("{:.2}", self.strength(figure)))
                        data-kernel=(row.kernel) data-x=(across[*nth_x]) data-y=(figure) {
                        title { (x_name) " " (across[*nth_x]) ", " (y_name) " "
                            (down[*nth_y]) ": "
                            (doubted(figure, self.measure.interval(row))) " " (self.measure.unit()) }
                    }
                }
            }
            @if self.backend == Backend::Modelled {
                rect.hatched x=(px(left)) y=(px(top)) width=(px(width * across.len() as f64)) height=(px(bottom - top)) {}
            }
            @for (nth_x, nth_y, row) in &self.cells.rows {
                @let (x, y) = at(*nth_x, *nth_y);
                @let (x, y) = (px(x + width / 2.0), px(y + height / 2.0 + 4.0));
                @match self.measure.of(row) {
                    Some(figure) if legible => { text.figure.middle x=(x) y=(y) { (rate(figure)) } },
                    Some(_) => {},
                    None => { text.invalid.middle x=(x) y=(y) { "!" } },
                }
            }
            (self.legend(left, bottom + 14.0, (column.width() - left - 4.0).min(300.0)))
        };
        Drawing { column, height: bottom + 48.0, marks }
    }

    /// The strip of colours with the figures at its ends.
    fn legend(&self, left: f64, top: f64, width: f64) -> Markup {
        let [low, high] = self.bounds;
        let low = if self.is_logarithmic() { low } else { 0.0 };
        let step = width / STEPS as f64;
        html! {
            @for nth in 0..STEPS {
                rect.step x=(px(left + nth as f64 * step)) y=(px(top)) width=(px(step)) height="8"
                    fill-opacity=(format!("{:.2}", strength(nth as f64 / (STEPS - 1) as f64))) {}
            }
            text.tick x=(px(left)) y=(px(top + 23.0)) { (rate(low)) }
            text.tick.end x=(px(left + width)) y=(px(top + 23.0)) { (rate(high)) " " (self.measure.unit()) }
        }
    }

    fn table(&self) -> Markup {
        let [x_name, y_name] = self.over;
        let (across, down) = (&self.cells.across, &self.cells.down);
        let cell = |x: usize, y: usize| {
            let row = self.cells.rows.iter().find(|(nth_x, nth_y, _)| (*nth_x, *nth_y) == (x, y));
            row.and_then(|(_, _, row)| self.measure.of(row)).map(rate).unwrap_or_default()
        };
        let table = html! {
            table.numbers {
                thead { tr {
                    th scope="col" { (y_name) " \\ " (x_name) }
                    @for name in across { th scope="col" { (name) } }
                } }
                tbody {
                    @for (nth_y, name) in down.iter().enumerate() {
                        tr {
                            th scope="row" { (name) }
                            @for nth_x in 0..across.len() { td { (cell(nth_x, nth_y)) } }
                        }
                    }
                }
            }
        };
        scrolling(&format!("{}{} over {x_name} and {y_name}", self.measure.name(), self.of()), &table)
    }
}

/// The opacity of a cell: never so strong that a figure in the page's ink is not legible on it.
fn strength(share: f64) -> f64 {
    0.05 + 0.5 * share
}
