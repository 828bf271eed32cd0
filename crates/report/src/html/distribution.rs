//! Draws the distribution of clock cycles over a row's operations, if each was timed by itself.

use super::{
    axes::{Axes, BELOW, margin},
    figure::{Column, Drawing, Figure, scrolling},
    number::{count, percent, px},
    scale::Scale,
};
use maud::html;
use record::{Backend, Record};

/// Share of the operations that the axis has room for: a few take many times as long as the others.
const SHOWN: f64 = 0.995;

/// The subject of the drawing.
pub(super) struct Distribution<'r> {
    /// The prefix of the figure's ids.
    id: String,
    /// The row's label.
    label: String,
    /// Of which card.
    whose: String,
    /// Operations by clock cycles: the least cycles of each bin, and its operations.
    bins: Vec<[u64; 2]>,
    row: &'r Record,
}

impl<'r> Distribution<'r> {
    /// That of a row; `None` if its operations were not timed one by one.
    pub(super) fn of(id: String, label: String, whose: String, row: &'r Record) -> Option<Self> {
        let bins: Vec<[u64; 2]> = serde_json::from_value(row.observed.get("histogram")?.clone()).ok()?;
        (bins.len() > 1).then_some(Self { id, label, whose, bins, row })
    }

    /// The figure.
    pub(super) fn figure(&self) -> Figure {
        let all: u64 = self.bins.iter().map(|[_, operations]| operations).sum();
        let mut seen = 0;
        let within = self.bins.iter().take_while(|[_, operations]| {
            let before = seen;
            seen += operations;
            (before as f64) < SHOWN * all as f64
        });
        let bins: Vec<[u64; 2]> = within.copied().collect();
        let shown: u64 = bins.iter().map(|[_, operations]| operations).sum();
        let highest = bins.iter().max_by_key(|[_, operations]| operations).copied().unwrap_or_default();
        let share = |operations: u64| operations as f64 / all as f64;
        let mut notes = Vec::new();
        if let ([.., [last, _]], true) = (&self.bins[..], shown < all) {
            notes.push(format!(
                "{} of {} loads took longer, up to {last} cycles.",
                count(all - shown),
                count(all)
            ));
        }
        Figure {
            id: self.id.clone(),
            title: format!("{}: loads by clock cycles, {}", self.label, self.whose),
            description: format!(
                "Share of {} loads by clock cycles. Most, {}, took {} cycles.",
                count(all),
                percent(share(highest[1])),
                highest[0]
            ),
            notes,
            drawings: Column::ALL.map(|column| self.drawing(column, &bins, share(highest[1]), all)).into(),
            table: scrolling(
                "Loads by clock cycles",
                &html! {
                    table {
                        thead { tr { th scope="col" { "Cycles, from" } th scope="col" { "Loads" } } }
                        tbody { @for [from, operations] in &self.bins { tr { td { (from) } td { (count(*operations)) } } } }
                    }
                },
            ),
        }
    }

    fn drawing(&self, column: Column, bins: &[[u64; 2]], highest: f64, all: u64) -> Drawing {
        let width = bins.windows(2).map(|pair| pair[1][0] - pair[0][0]).min().unwrap_or(1);
        let (top, bottom) = (26.0, if column == Column::Wide { 226.0 } else { 186.0 });
        let y = Scale::linear([0.0, 100.0 * highest], [bottom, top]);
        let y_ticks = y.ticks(5);
        let (left, end) = (margin(&y_ticks), column.width() - 10.0);
        let ends = [bins[0][0], bins[bins.len() - 1][0] + width].map(|cycles| cycles as f64);
        let x = Scale::linear(ends, [left + 4.0, end - 4.0]);
        let ticks = x.ticks(if column == Column::Wide { 10 } else { 5 });
        let axes = Axes {
            across: [left, end],
            down: [top, bottom],
            x: (&x, ticks, "clock cycles"),
            y: (&y, &y_ticks, "% of loads"),
            backend: Backend::Measured,
        };
        let marks = html! {
            (axes.render())
            @for [from, operations] in bins {
                @let share = 100.0 * *operations as f64 / all as f64;
                @let (start, stop) = (x.at(*from as f64), x.at((from + width) as f64));
                rect.step data-kernel=(self.row.kernel) data-x=(from) data-y=(operations)
                    x=(px(start)) width=(px(stop - start)) y=(px(y.at(share))) height=(px(bottom - y.at(share))) {}
            }
        };
        Drawing { column, height: bottom + BELOW, marks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row;
    use record::Precision;

    fn figure(histogram: serde_json::Value) -> Option<Figure> {
        let mut row = row(0, Precision::F32, None);
        row.observed.insert("histogram".to_string(), histogram);
        let of = Distribution::of("id".into(), "chase, 16 MiB".into(), "a card".into(), &row);
        of.map(|distribution| distribution.figure())
    }

    #[test]
    fn bins_are_bars_and_stragglers_are_told() {
        let figure = figure(serde_json::json!([[256, 600], [264, 300], [304, 97], [900, 3]])).expect("bins");
        assert_eq!(figure.title, "chase, 16 MiB: loads by clock cycles, a card");
        assert_eq!(figure.notes, ["3 of 1,000 loads took longer, up to 900 cycles."]);
        let marks = figure.drawings[0].marks.clone().into_string();
        let bars = marks.matches("<rect class=\"step\"").count();
        assert_eq!((bars, marks.contains("data-x=\"304\" data-y=\"97\"")), (3, true), "{marks}");
        // The highest bar is as high as the plot.
        assert!(marks.contains("y=\"26\" height=\"200\""), "{marks}");
    }

    #[test]
    fn one_bin_is_no_distribution() {
        assert!(figure(serde_json::json!([[256, 600]])).is_none());
        assert!(figure(serde_json::json!("none")).is_none());
    }
}
