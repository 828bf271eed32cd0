//! Bars: rates of kernels side by side, against the copy ceiling and the peak. Each is a table whose middle column is drawn.

use super::{number, series};
use crate::terminal::reach;
use maud::{Markup, html};
use record::{Backend, Measure, Record, Residence};

/// A chart of bars.
pub(super) struct Bars<'r> {
    /// The caption: what is compared, of which card, measured or modelled.
    pub title: String,
    /// The quantity that a bar's length shows.
    pub measure: Measure,
    /// All rows of the lesson or the run, for their ceilings and twins.
    pub rows: &'r [&'r Record],
    /// The bars in groups, each with a heading that may be empty.
    pub groups: Vec<(Markup, Vec<(String, &'r Record)>)>,
    /// Whether kernels have a section that a bar's name can lead to.
    pub linked: &'r dyn Fn(&str) -> bool,
}

/// Ends of the axis, and what is drawn across all bars.
struct Axis {
    end: f64,
    copy: Option<f64>,
    peak: Option<f64>,
}

impl Axis {
    /// A place on the axis in per cent of its length.
    fn at(&self, value: f64) -> f64 {
        100.0 * (value / self.end).clamp(0.0, 1.0)
    }

    /// The places of the ceilings, for the style sheet.
    fn style(&self) -> String {
        let place = |name: &str, value: Option<f64>| {
            value.map(|value| format!("--{name}-at:{:.2}%;", self.at(value))).unwrap_or_default()
        };
        place("copy", self.copy) + &place("peak", self.peak)
    }
}

impl Bars<'_> {
    /// The chart as an element; nothing without bars.
    pub(super) fn render(&self) -> Markup {
        let Some(first) = self.groups.iter().find_map(|(_, bars)| bars.first()).map(|(_, row)| *row) else {
            return html! {};
        };
        let axis = self.axis(first);
        let modelled = first.backend == Backend::Modelled;
        let class = if modelled { "bars modelled" } else { "bars" };
        let twins = self.groups.iter().flat_map(|(_, bars)| bars);
        let twins = twins.filter(|(_, row)| series::twin(self.rows, row).is_some()).count();
        html! {
            figure.chart {
                figcaption { (self.title) }
                table class=(class) style=(axis.style()) role="table" {
                    thead role="rowgroup" { tr role="row" {
                        th scope="col" role="columnheader" { "Kernel" }
                        th.axis scope="col" role="columnheader" { (self.header(&axis)) }
                        th.value scope="col" role="columnheader" {
                            (self.measure.unit()) @if modelled { ", modelled" }
                        }
                        @if axis.copy.is_some() { th.part scope="col" role="columnheader" { "of copy" } }
                    } }
                    @for (heading, bars) in &self.groups {
                        tbody role="rowgroup" {
                            @if !heading.0.is_empty() {
                                tr.group role="row" { th colspan="4" scope="colgroup" role="columnheader" { (heading) } }
                            }
                            @for (label, row) in bars { (self.bar(label, row, &axis)) }
                        }
                    }
                }
                p.note {
                    @if modelled { "Modelled figures are hatched. " }
                    @if self.shown().any(|row| self.measure.interval(row).is_some()) {
                        "Whiskers: of ten such kernels, eight are measured within; where two overlap, either kernel may be the faster. "
                    }
                    @if !modelled { "Bars are medians; whiskers run from the slowest sample to the fastest. " }
                    @if self.groups.iter().flat_map(|(_, bars)| bars).any(|(_, row)| row.residence != Residence::Dram) {
                        "L2: the data stays in the L2 cache from one launch to the next. "
                    }
                    @if twins > 0 { "A diamond is the C++ twin of the kernel. " }
                    @if axis.peak.is_some_and(|peak| self.values().any(|value| value > peak * 1.1)) {
                        "A bar that ends in an arrow is served on chip, faster than device memory. "
                    }
                }
            }
        }
    }

    /// The rows that have a bar.
    fn shown(&self) -> impl Iterator<Item = &Record> {
        self.groups.iter().flat_map(|(_, bars)| bars).map(|(_, row)| *row)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.shown().filter_map(|row| self.measure.of(row))
    }

    fn axis(&self, row: &Record) -> Axis {
        let highest = self.shown().flat_map(|row| reach(row, self.measure)).fold(0.0, f64::max);
        match self.measure {
            Measure::Bandwidth => {
                let copy = row.copy.map(|copy| copy.gb_per_s);
                let peak = row.peak.as_ref().map(|peak| peak.gb_per_s);
                let ceiling = peak.or(copy);
                // Bars far below the ceilings are compared with each other.
                let ceiling = ceiling.filter(|ceiling| *ceiling < 20.0 * highest);
                let end = ceiling.map_or(highest, |ceiling| ceiling.max(highest.min(1.1 * ceiling)));
                let seen = |value: &f64| *value <= end * 1.001;
                Axis { end: end * 1.02, copy: copy.filter(seen), peak: peak.filter(seen) }
            }
            Measure::Arithmetic | Measure::Operations(_) => {
                Axis { end: highest * 1.02, copy: None, peak: None }
            }
        }
    }

    fn header(&self, axis: &Axis) -> Markup {
        let names = [("copy", axis.copy), ("peak", axis.peak)];
        html! {
            span.ends {
                span { "0" }
                @for (name, value) in names {
                    @if let Some(value) = value {
                        span class={"at " (name)} data-line=(name) data-y=(value) style={"left:" (axis.at(value)) "%"} {
                            (name) " " (number::rate(value))
                        }
                    }
                }
            }
        }
    }

    fn bar(&self, label: &str, row: &Record, axis: &Axis) -> Markup {
        let value = self.measure.of(row);
        let beyond = value.is_some_and(|value| value > axis.end);
        let remark = remark(row);
        let ends = self.measure.range(row).or_else(|| self.measure.interval(row));
        let width = |value: f64| format!("{:.2}", axis.at(value));
        html! {
            tr role="row" {
                th scope="row" role="rowheader" {
                    @if (self.linked)(&row.kernel) { a href={"#kernel-" (row.kernel)} { (label) } } @else { (label) }
                    @if !remark.is_empty() { " " span.remark { (remark) } }
                }
                td.track role="cell" {
                    @if let Some(value) = value {
                        span class=(if beyond { "bar beyond" } else { "bar" }) style={"width:" (width(value)) "%"}
                            data-kernel=(row.kernel) data-x=(label) data-y=(value) {}
                        @if let Some([low, high]) = ends.filter(|_| !beyond) {
                            span class=(if high > axis.end { "whisker open" } else { "whisker" })
                                data-low=(low) data-high=(high) style={"left:" (width(low)) "%;width:" (format!("{:.2}", axis.at(high) - axis.at(low))) "%"} {}
                        }
                    }
                    @if let Some(twin) = series::twin(self.rows, row).and_then(|twin| self.measure.of(twin)) {
                        span.twin style={"left:" (width(twin)) "%"} data-twin=(row.kernel) data-y=(twin)
                            title={"C++ twin: " (number::rate(twin)) " " (self.measure.unit())} {}
                    }
                }
                td.value role="cell" {
                    @match value {
                        Some(value) => { (number::rate(value)) },
                        None if row.verified => { "—" },
                        None => { strong.invalid { "INVALID" } },
                    }
                }
                @if axis.copy.is_some() {
                    td.part role="cell" { @if let Some(part) = row.percent_of_copy { (number::in_column(part)) } }
                }
            }
        }
    }
}

/// A remark that a reader needs to compare a row with others.
pub(super) fn remark(row: &Record) -> String {
    let unfilled = row.unfilled().map(|unfilled| unfilled.to_string());
    let place = match row.residence {
        Residence::Dram => None,
        Residence::Mixed => Some("partly L2".to_string()),
        Residence::Host => Some("host memory".to_string()),
        Residence::Peer => Some("another card's memory".to_string()),
        Residence::Constant => Some("constant cache".to_string()),
        other => Some(other.to_string()),
    };
    place.into_iter().chain(unfilled).collect::<Vec<_>>().join(", ")
}
