//! Curves: a quantity over a parameter; of bandwidth under the copy ceiling and the peak.

use super::{
    axes::{Axes, BELOW, margin},
    band::{Bands, Place},
    figure::{Column, Drawing, Figure, scrolling},
    number::{self, doubted, place, px, rate},
    scale::{Scale, spread},
    sectors::expected,
    series::{Look, Series},
};
use maud::{Markup, html};
use record::{Backend, Measure, Record};

/// The subject of the drawing.
pub(super) struct Curves<'r> {
    /// The prefix of the figure's ids.
    pub id: String,
    /// The quantity.
    pub measure: Measure,
    /// The subject of the drawing.
    pub subject: String,
    /// Of which card, measured or modelled.
    pub whose: String,
    /// The parameter along the axis.
    pub over: &'static str,
    /// The curves.
    pub series: Vec<Series<'r>>,
    /// Whether the curve that sectors predict is drawn behind each.
    pub sectors: bool,
    /// Rows of the simulated card, for the curve by sectors.
    pub simulated: &'r [Record],
    /// The lowest and the highest figure of all charts that are read together, intervals included.
    pub bounds: [f64; 2],
}

/// The meaning of bands and parentheses.
const BANDS: &str = "Bands, and figures in parentheses: of ten such kernels, eight are measured within. A curve beside its band has an \
                     error that such kernels share; one without a band has an interval narrower than its line.";

/// Lines across the drawing: the copy ceiling and the peak.
struct Line {
    name: &'static str,
    value: f64,
}

/// A label beside the end of a line.
struct Label {
    y: f64,
    class: String,
    text: String,
}

impl Curves<'_> {
    /// The figure; `None` without points.
    pub(super) fn figure(&self) -> Option<Figure> {
        let first = self.rows().next()?;
        let backend = first.backend;
        let lines = self.lines(first);
        let mut notes = Vec::new();
        if self.sectors {
            notes.push(
                "Faint dotted curves: what the bytes that a warp's requests move predict from the series' best point. A \
                 curve above its own shares sectors through a cache; one below pays for more than bytes."
                    .to_string(),
            );
        }
        for line in
            self.ceilings(first).iter().filter(|line| !lines.iter().any(|drawn| drawn.name == line.name))
        {
            notes.push(format!("The {} of {} GB/s is far above this axis.", line.name, rate(line.value)));
        }
        if backend == Backend::Measured
            && self.rows().any(|row| row.time_ms.is_some_and(|times| times.samples > 1))
        {
            notes
                .push("Points are medians, whiskers run from the slowest sample to the fastest.".to_string());
        }
        if self.has_intervals() {
            notes.push(BANDS.to_string());
        }
        Some(Figure {
            id: self.id.clone(),
            title: format!("{} over {}, {}", self.subject, self.over, self.whose),
            description: self.description(backend),
            notes,
            drawings: Column::ALL.map(|column| self.drawing(column, backend, &lines)).into(),
            table: self.table(),
        })
    }

    fn rows(&self) -> impl Iterator<Item = &Record> {
        self.series.iter().flat_map(|series| series.points.iter().map(|(_, row)| *row))
    }

    /// Whether any figure is modelled and has an interval.
    fn has_intervals(&self) -> bool {
        self.rows().any(|row| self.measure.interval(row).is_some())
    }

    /// Ceilings as far as the curves come near them.
    fn lines(&self, row: &Record) -> Vec<Line> {
        let highest = self.bounds[1];
        self.ceilings(row).into_iter().filter(|line| line.value < 12.0 * highest).collect()
    }

    fn ceilings(&self, row: &Record) -> Vec<Line> {
        let copy = row.copy.map(|copy| Line { name: "copy", value: copy.gb_per_s });
        let peak = row.peak.as_ref().map(|peak| Line { name: "peak", value: peak.gb_per_s });
        let bandwidth = self.measure == Measure::Bandwidth;
        copy.into_iter().chain(peak).filter(|_| bandwidth).collect()
    }

    /// Ranges of each curve in words.
    fn description(&self, backend: Backend) -> String {
        let ranges = self.series.iter().filter_map(|series| {
            let ((first_x, first), (last_x, last)) = (series.points.first()?, series.points.last()?);
            let unit = self.measure.unit();
            Some(format!(
                "{}: {} {unit} at {} {}, {} {unit} at {}",
                series.label,
                doubted(self.measure.of(first)?, self.measure.interval(first)),
                self.over,
                place(self.over, *first_x),
                doubted(self.measure.of(last)?, self.measure.interval(last)),
                place(self.over, *last_x),
            ))
        });
        let (name, unit) = (self.measure.name(), self.measure.unit());
        format!("{name} in {unit}, {backend}. {}.", ranges.collect::<Vec<_>>().join("; "))
    }

    fn drawing(&self, column: Column, backend: Backend, lines: &[Line]) -> Drawing {
        let (width, plot_height) = (column.width(), if column == Column::Wide { 320.0 } else { 220.0 });
        let top = 26.0;
        let names = self.series.iter().map(|series| series.label.chars().count());
        let longest = names.max().unwrap_or(0).max(14) as f64;
        let right = if column == Column::Wide { (longest * 6.6 + 22.0).clamp(110.0, 230.0) } else { 10.0 };
        let legend = if column == Column::Wide { 0.0 } else { 20.0 * self.series.len() as f64 + 8.0 };
        let (bottom, end) = (top + plot_height, width - right);
        let y = self.y_scale(lines, [bottom, top]);
        let y_ticks = y.ticks(6);
        let left = margin(&y_ticks);
        let x = self.x_scale([left + 12.0, end - 12.0]);
        let axes = Axes {
            across: [left, end],
            down: [top, bottom],
            x: (&x, self.x_ticks(&x, column), self.over),
            y: (&y, &y_ticks, self.measure.unit()),
            backend,
        };
        let marks = html! {
            (axes.render())
            @for line in lines {
                line class={"ceiling " (line.name)} data-line=(line.name) data-y=(line.value)
                    x1=(px(left)) x2=(px(end)) y1=(px(y.at(line.value))) y2=(px(y.at(line.value))) {}
            }
            @for (nth, series) in self.series.iter().enumerate() { (self.bands(series, Look(nth), &x, &y)) }
            @for (nth, series) in self.series.iter().enumerate() { (self.curve(series, Look(nth), &x, &y)) }
            @if column == Column::Wide {
                (labels(&self.labels(lines, &y), end + 8.0, [top + 4.0, bottom + 4.0]))
            } @else {
                (captions(lines, &y, end))
                (self.legend(bottom + BELOW + 6.0))
            }
        };
        Drawing { column, height: bottom + BELOW + legend, marks }
    }

    fn x_scale(&self, places: [f64; 2]) -> Scale {
        let values = || self.series.iter().flat_map(|series| series.points.iter().map(|(x, _)| *x));
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let doubled = |x: f64| x > 0.0 && x.log2().fract() == 0.0;
        if low > 0.0 && (high >= 64.0 * low || high >= 8.0 * low && values().all(doubled)) {
            Scale::logarithmic([low, high], places)
        } else {
            Scale::linear([low, high], places)
        }
    }

    fn x_ticks(&self, scale: &Scale, column: Column) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.series.iter().flat_map(|series| series.points.iter().map(|(x, _)| *x)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let wanted = if column == Column::Wide { 10 } else { 6 };
        if values.len() <= wanted.min(6) {
            values
        } else if values.iter().all(|value| value.fract() == 0.0) {
            scale.binary_ticks(wanted)
        } else {
            scale.ticks(wanted)
        }
    }

    /// From 0 where the curves can be told apart so, else by logarithms.
    fn y_scale(&self, lines: &[Line], places: [f64; 2]) -> Scale {
        let [lowest, highest] = self.bounds;
        let highest = lines.iter().map(|line| line.value).fold(highest, f64::max);
        // Rates near 0 are alike to a reader; of times each decade counts.
        let decades = if self.measure == Measure::Bandwidth { 100.0 } else { 10.0 };
        if !self.sectors && lowest > 0.0 && highest > decades * lowest {
            Scale::logarithmic([lowest / 1.5, highest * 1.5], places)
        } else {
            Scale::linear([0.0, highest * 1.06], places)
        }
    }

    /// The intervals of a modelled curve, which lie below all curves.
    fn bands(&self, series: &Series<'_>, look: Look, x: &Scale, y: &Scale) -> Markup {
        let rated = series.points.iter().filter(|(_, row)| self.measure.of(row).is_some());
        let bounds = |row: &Record| self.measure.interval(row).map(|bounds| bounds.map(|bound| y.at(bound)));
        let places: Vec<Place> = rated.map(|(at, row)| (x.at(*at), bounds(row))).collect();
        let Bands { outlines, alone } = Bands::of(&places);
        if outlines.is_empty() && alone.is_empty() {
            return html! {};
        }
        html! {
            g class={"series " (look.class())} data-band=(series.label) {
                @for outline in outlines {
                    polygon.band stroke-dasharray=(look.dashes()) points=(outline) {}
                }
                @for (at, [low, high]) in alone {
                    line.whisker x1=(px(at)) x2=(px(at)) y1=(px(low)) y2=(px(high)) {}
                }
            }
        }
    }

    fn curve(&self, series: &Series<'_>, look: Look, x: &Scale, y: &Scale) -> Markup {
        let points: Vec<(f64, f64, &Record)> =
            series.points.iter().filter_map(|(at, row)| Some((*at, self.measure.of(row)?, *row))).collect();
        let places = |points: &mut dyn Iterator<Item = (f64, f64)>| {
            points
                .map(|(at, value)| format!("{},{}", px(x.at(at)), px(y.at(value))))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let predicted = if self.sectors { expected(&series.points, self.simulated) } else { Vec::new() };
        html! {
            g class={"series " (look.class())} {
                @if !predicted.is_empty() {
                    polyline.expected points=(places(&mut predicted.iter().copied())) {}
                    @for (at, value) in &predicted {
                        circle.expected cx=(px(x.at(*at))) cy=(px(y.at(*value))) r="0.1"
                            data-expected=(series.kernel) data-x=(at) data-y=(value) {}
                    }
                }
                polyline.curve stroke-dasharray=(look.dashes())
                    points=(places(&mut points.iter().map(|(at, value, _)| (*at, *value)))) {}
                @for (at, value, row) in &points {
                    @if let Some([low, high]) = self.measure.range(row) {
                        line.whisker x1=(px(x.at(*at))) x2=(px(x.at(*at))) y1=(px(y.at(low))) y2=(px(y.at(high))) {}
                    }
                    @let interval = self.measure.interval(row);
                    path.marker d=(look.marker(x.at(*at), y.at(*value)))
                        data-kernel=(series.kernel) data-x=(at) data-y=(value)
                        data-low=[interval.map(|[low, _]| low)] data-high=[interval.map(|[_, high]| high)] {
                        title { (series.label) ", " (self.over) " " (place(self.over, *at)) ": "
                            (doubted(*value, interval)) " " (self.measure.unit()) }
                    }
                }
            }
        }
    }

    /// Labels of curves at their ends, and of the ceilings.
    fn labels(&self, lines: &[Line], y: &Scale) -> Vec<Label> {
        let ceilings = lines.iter().map(|line| Label {
            y: y.at(line.value),
            class: format!("label {}", line.name),
            text: format!("{} {}", line.name, rate(line.value)),
        });
        let curves = self.series.iter().enumerate().filter_map(|(nth, series)| {
            let value = series.points.iter().rev().find_map(|(_, row)| self.measure.of(row))?;
            let look = Look(nth);
            Some(Label {
                y: y.at(value),
                class: format!("label {}", look.class()),
                text: series.label.clone(),
            })
        });
        ceilings.chain(curves).collect()
    }

    fn legend(&self, top: f64) -> Markup {
        html! {
            @for (nth, series) in self.series.iter().enumerate() {
                @let look = Look(nth);
                @let y = top + 20.0 * nth as f64 + 8.0;
                g class={"series " (look.class())} {
                    line.curve x1="8" x2="44" y1=(px(y)) y2=(px(y)) stroke-dasharray=(look.dashes()) {}
                    path.marker d=(look.marker(26.0, y)) {}
                    text.label x="52" y=(px(y + 4.0)) { (series.label) }
                }
            }
        }
    }

    /// A line for each place along the axis, a column for each curve.
    fn table(&self) -> Markup {
        let mut places: Vec<f64> =
            self.series.iter().flat_map(|series| series.points.iter().map(|(x, _)| *x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let value = |series: &Series<'_>, place: f64| {
            let found = series.points.iter().find(|(x, _)| *x == place);
            let figure =
                |(_, row): &(f64, &Record)| Some((self.measure.of(row)?, self.measure.interval(row)));
            found.and_then(figure)
        };
        let intervals = if self.has_intervals() { " (8 in 10)" } else { "" };
        let table = html! {
            table.numbers {
                thead { tr {
                    th scope="col" { (self.over) }
                    @for series in &self.series { th scope="col" { (series.label) span.unit { " " (self.measure.unit()) (intervals) } } }
                } }
                tbody {
                    @for place in &places {
                        tr {
                            th scope="row" { (number::place(self.over, *place)) }
                            @for series in &self.series { td {
                                @if let Some((figure, interval)) = value(series, *place) {
                                    (rate(figure))
                                    @if let Some([low, high]) = interval { span.unit { " " (rate(low)) "–" (rate(high)) } }
                                }
                            } }
                        }
                    }
                }
            }
        };
        scrolling(&format!("{} over {}", self.subject, self.over), &table)
    }
}

/// Labels in the right margin, moved apart.
fn labels(labels: &[Label], x: f64, bounds: [f64; 2]) -> Markup {
    let places: Vec<f64> = labels.iter().map(|label| label.y + 4.0).collect();
    html! {
        @for (label, y) in labels.iter().zip(spread(&places, 16.0, bounds)) {
            text class=(label.class) x=(px(x)) y=(px(y)) { (label.text) }
        }
    }
}

/// Names of the ceilings on their lines, where there is no margin for them.
fn captions(lines: &[Line], y: &Scale, end: f64) -> Markup {
    html! {
        @for line in lines {
            text class={"label end " (line.name)} x=(px(end - 4.0)) y=(px(y.at(line.value) + if line.name == "copy" { 13.0 } else { -5.0 })) {
                (line.name) " " (rate(line.value))
            }
        }
    }
}
