//! The frame of a plot: its ticks, their lines and numbers, and the hatching that modelled figures stand on.

use super::{
    number::{place, px, tick},
    scale::Scale,
};
use maud::{Markup, html};
use record::Backend;

/// Space below a plot for the numbers along the axis and what they are.
pub(super) const BELOW: f64 = 46.0;

/// A plot's frame.
pub(super) struct Axes<'a> {
    /// The plot's ends to the left and to the right.
    pub across: [f64; 2],
    /// Its upper and lower ends.
    pub down: [f64; 2],
    /// The scale along it, its ticks, and the parameter that it shows.
    pub x: (&'a Scale, Vec<f64>, &'a str),
    /// The scale up it, its ticks, and their unit.
    pub y: (&'a Scale, &'a [f64], &'a str),
    /// Whether the figures are modelled.
    pub backend: Backend,
}

/// The room that the numbers up the axis take to the left of the plot.
pub(super) fn margin(ticks: &[f64]) -> f64 {
    let longest = ticks.iter().map(|value| tick(*value).chars().count()).max().unwrap_or(1);
    16.0 + 7.2 * longest as f64
}

impl Axes<'_> {
    /// The frame as elements of a drawing.
    pub(super) fn render(&self) -> Markup {
        let ([left, right], [top, bottom]) = (self.across, self.down);
        let ((x, x_ticks, over), (y, y_ticks, unit)) = (&self.x, &self.y);
        let modelled = self.backend == Backend::Modelled;
        html! {
            @if modelled {
                rect.hatched x=(px(left)) y=(px(top)) width=(px(right - left)) height=(px(bottom - top)) {}
            }
            text.unit x="2" y="14" { (unit) @if modelled { ", modelled" } }
            @for value in *y_ticks {
                @let at = px(y.at(*value));
                line.grid x1=(px(left)) x2=(px(right)) y1=(at) y2=(at) {}
                text.tick.end x=(px(left - 8.0)) y=(px(y.at(*value) + 4.0)) { (tick(*value)) }
            }
            @for value in x_ticks {
                @let at = px(x.at(*value));
                line.notch x1=(at) x2=(at) y1=(px(bottom)) y2=(px(bottom + 5.0)) {}
                text.tick.middle x=(at) y=(px(bottom + 19.0)) { (place(over, *value)) }
            }
            text.unit.middle x=(px(f64::midpoint(left, right))) y=(px(bottom + 38.0)) { (over) }
        }
    }
}
