//! The roofline: rate of arithmetic over arithmetic intensity, under what memory and the arithmetic units allow at most.

use super::{
    axes::{Axes, BELOW, margin},
    figure::{Column, Drawing, Figure, scrolling},
    number::{doubted, px, rate},
    scale::{Scale, spread},
    series::Look,
};
use maud::{Markup, html};
use record::{Backend, Measure, Record, Run};

/// The subject of the drawing.
pub(super) struct Roofline<'r> {
    /// The prefix of the figure's ids.
    pub id: String,
    /// Of which card, measured or modelled.
    pub whose: String,
    /// The run, which says the roofs.
    pub run: &'r Run,
    /// Rows of kernels with their labels.
    pub rows: Vec<(String, &'r Record)>,
}

/// A row's place: intensity and rate.
struct Point<'r> {
    label: &'r str,
    row: &'r Record,
    intensity: f64,
    /// In the figure's [`Unit`].
    rate: f64,
    /// Of a modelled rate, in the same unit.
    interval: Option<[f64; 2]>,
}

impl Point<'_> {
    /// The rate with its interval.
    fn text(&self) -> String {
        doubted(self.rate, self.interval)
    }
}

/// The unit of rates of arithmetic in a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Unit {
    name: &'static str,
    /// GFLOP/s.
    value: f64,
}

impl Unit {
    /// The unit for rates up to this one, in GFLOP/s.
    fn up_to(highest: f64) -> Unit {
        match highest {
            ..1e5 => Unit { name: "GFLOP/s", value: 1.0 },
            _ => Unit { name: "TFLOP/s", value: 1e3 },
        }
    }
}

/// A roof: a bandwidth that bounds by intensity, or a rate that bounds by itself.
struct Roof {
    name: &'static str,
    /// GB/s, or GFLOP/s.
    value: f64,
    slanted: bool,
    unit: Unit,
}

impl Roof {
    /// The rate that it allows, in the figure's unit.
    fn at(&self, intensity: f64) -> f64 {
        let allowed = if self.slanted { self.value * intensity } else { self.value };
        allowed / self.unit.value
    }

    fn text(&self) -> String {
        match self.slanted {
            true => format!("{} {} GB/s", self.name, rate(self.value)),
            false => format!("{} {} {}", self.name, rate(self.value / self.unit.value), self.unit.name),
        }
    }
}

impl Roofline<'_> {
    /// The figure; `None` where no row is about arithmetic.
    pub(super) fn figure(&self) -> Option<Figure> {
        let rates = self.rows.iter().filter_map(|(_, row)| row.gflop_per_s);
        let unit = Unit::up_to(rates.fold(0.0, f64::max));
        let points = self.points(unit);
        let first = points.first()?.row;
        let roofs = self.roofs(unit);
        let mut notes = vec![
            "Intensity is operations per byte that the kernel asks for. A point above the slanted roofs gets its data from \
             caches; one far below every roof waits for something else than memory or arithmetic."
                .to_string(),
        ];
        if !roofs.iter().any(|roof| !roof.slanted) {
            notes.push(
                "The driver does not report the peak rate of arithmetic, so that roof is not drawn."
                    .to_string(),
            );
        }
        let says = points.iter().map(|point| format!("{}: {} {}", point.label, point.text(), unit.name));
        Some(Figure {
            id: self.id.clone(),
            title: format!("Rate of arithmetic over arithmetic intensity, {}", self.whose),
            description: format!("Roofline, {}. {}.", first.backend, says.collect::<Vec<_>>().join("; ")),
            notes,
            drawings: Column::ALL.map(|column| drawing(column, first.backend, &points, &roofs, unit)).into(),
            table: table(&points, &roofs, unit),
        })
    }

    fn points(&self, unit: Unit) -> Vec<Point<'_>> {
        let point = |(label, row): &'_ (String, &'_ Record)| {
            Some((row.arithmetic_intensity?, row.gflop_per_s.filter(|rate| *rate > 0.0)?))
                .map(|(intensity, rate)| (label.clone(), intensity, rate))
        };
        self.rows
            .iter()
            .filter_map(|entry| {
                let (_, intensity, rate) = point(entry)?;
                let interval = Measure::Arithmetic.interval(entry.1);
                let interval = interval.map(|bounds| bounds.map(|bound| bound / unit.value));
                Some(Point { label: &entry.0, row: entry.1, intensity, rate: rate / unit.value, interval })
            })
            .collect()
    }

    fn roofs(&self, unit: Unit) -> Vec<Roof> {
        let copy = self.run.copy.map(|copy| Roof { name: "copy", value: copy.gb_per_s, slanted: true, unit });
        let peak = self.run.peak.as_ref();
        let peak = peak.map(|peak| Roof { name: "peak", value: peak.gb_per_s, slanted: true, unit });
        copy.into_iter().chain(peak).chain(self.compute(unit)).collect()
    }

    /// The peak rate of a simulated card in single precision: two operations per lane and issue.
    fn compute(&self, unit: Unit) -> Option<Roof> {
        let card = self.run.card.as_ref()?;
        let figure = |name: &str| card.get(name)?.as_f64();
        let lanes = figure("issue_per_clock")? * figure("warp_threads")?;
        let value = 2.0 * lanes * figure("multiprocessors")? * figure("clock_mhz")? / 1e3;
        Some(Roof { name: "f32 units", value, slanted: false, unit })
    }
}

fn drawing(column: Column, backend: Backend, points: &[Point<'_>], roofs: &[Roof], unit: Unit) -> Drawing {
    let wide = column == Column::Wide;
    let top = 26.0;
    let longest = points.iter().map(|point| point.label.chars().count()).max().unwrap_or(0) as f64;
    let (end, bottom) = (
        column.width() - if wide { (longest * 7.0 + 24.0).min(300.0) } else { 10.0 },
        top + if wide { 320.0 } else { 240.0 },
    );
    let intensities = || points.iter().map(|point| point.intensity);
    let rates = || points.iter().map(|point| point.rate);
    let low = intensities().fold(f64::INFINITY, f64::min).min(1.0) / 2.0;
    let high = intensities().fold(0.0, f64::max) * 2.0;
    let roof = |at: f64| roofs.iter().map(|roof| roof.at(at)).fold(f64::INFINITY, f64::min);
    let highest = roofs.iter().filter(|roof| !roof.slanted).map(|roof| roof.at(0.0)).fold(0.0, f64::max);
    let highest = highest.max(rates().fold(0.0, f64::max) * 4.0);
    let lowest = rates().fold(f64::INFINITY, f64::min).min(roof(low)) / 2.0;
    let y = Scale::logarithmic([lowest, highest * 1.5], [bottom, top]);
    let y_ticks = y.ticks(6);
    let left = margin(&y_ticks);
    let x = Scale::logarithmic([low, high], [left, end]);
    let axes = Axes {
        across: [left, end],
        down: [top, bottom],
        x: (&x, x.ticks(6), "operations per byte"),
        y: (&y, &y_ticks, unit.name),
        backend,
    };
    let legend = if wide { 0.0 } else { 20.0 * points.len() as f64 + 8.0 };
    let place = |point: &Point<'_>| (x.at(point.intensity), y.at(point.rate));
    let ends: Vec<f64> = points.iter().map(|point| place(point).1 + 4.0).collect();
    let label_places = spread(&ends, 16.0, [top + 4.0, bottom + 4.0]);
    let marks = html! {
        (axes.render())
        @for roof in roofs { (self::roof(roof, &x, &y)) }
        @for (nth, (point, label)) in points.iter().zip(&label_places).enumerate() {
            @let (at, value) = place(point);
            @let look = Look(nth);
            g class={"series " (look.class())} {
                @if wide {
                    polyline.leader points=(format!("{},{} {},{} {},{}", px(at + 5.0), px(value), px(end), px(label - 4.0), px(end + 6.0), px(label - 4.0))) {}
                    text class={"label " (look.class())} x=(px(end + 10.0)) y=(px(*label)) { (point.label) }
                } @else {
                    @let line = bottom + BELOW + 6.0 + 20.0 * nth as f64 + 8.0;
                    path.marker d=(look.marker(14.0, line)) {}
                    text.label x="26" y=(px(line + 4.0)) { (point.label) ", " (rate(point.rate)) }
                }
                path.marker d=(look.marker(at, value)) data-kernel=(point.row.kernel)
                    data-x=(point.intensity) data-y=(point.rate) {
                    title { (point.label) ": " (point.text()) " " (unit.name) " at " (rate(point.intensity)) " operations per byte" }
                }
            }
        }
    };
    Drawing { column, height: bottom + BELOW + legend, marks }
}

/// A roof as far as it is within the plot, named along its line.
fn roof(roof: &Roof, x: &Scale, y: &Scale) -> Markup {
    let ([low, high], [bottom, top]) = (x.ends(), y.ends());
    let (from, to) = if roof.slanted {
        ((bottom / roof.at(1.0)).clamp(low, high), (top / roof.at(1.0)).clamp(low, high))
    } else {
        (low, high)
    };
    let ends = [x.at(from), y.at(roof.at(from)), x.at(to), y.at(roof.at(to))];
    let slope = ((ends[3] - ends[1]) / (ends[2] - ends[0])).atan().to_degrees();
    // Peak above its line, copy below: the two run close together.
    let below = roof.name == "copy";
    let at = if roof.slanted {
        (ends[0] + 0.12 * (ends[2] - ends[0]), ends[1] + 0.12 * (ends[3] - ends[1]))
    } else {
        (ends[0] + 8.0, ends[1])
    };
    html! {
        line class={"ceiling " (roof.name.split(' ').next().unwrap_or_default())} data-line=(roof.name) data-y=(roof.value)
            x1=(px(ends[0])) y1=(px(ends[1])) x2=(px(ends[2])) y2=(px(ends[3])) {}
        text class={"label " (roof.name)} dy=(if below { "15" } else { "-6" })
            transform={"translate(" (px(at.0)) " " (px(at.1)) ") rotate(" (px(slope)) ")"} { (roof.text()) }
    }
}

fn table(points: &[Point<'_>], roofs: &[Roof], unit: Unit) -> Markup {
    let bound = |intensity: f64| roofs.iter().map(|roof| roof.at(intensity)).fold(f64::INFINITY, f64::min);
    let table = html! {
        table.numbers {
            thead { tr {
                th scope="col" { "Kernel" }
                th scope="col" { "operations per byte" }
                th scope="col" { (unit.name) }
                th scope="col" { "of its roof" }
            } }
            tbody { @for point in points { tr {
                th scope="row" { (point.label) }
                td { (rate(point.intensity)) }
                td { (point.text()) }
                td { @if bound(point.intensity).is_finite() { (super::number::percent(point.rate / bound(point.intensity))) } }
            } } }
        }
    };
    scrolling("Roofline as a table", &table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roofs_are_in_the_unit_of_the_rates() {
        let unit = Unit::up_to(873_917.0);
        assert_eq!((unit.name, Unit::up_to(47_405.0).name), ("TFLOP/s", "GFLOP/s"));
        let peak = Roof { name: "peak", value: 4800.0, slanted: true, unit };
        assert_eq!((peak.at(100.0), peak.text()), (480.0, "peak 4,800 GB/s".to_string()));
        let units = Roof { name: "f32 units", value: 67_000.0, slanted: false, unit };
        assert_eq!((units.at(100.0), units.text()), (67.0, "f32 units 67.0 TFLOP/s".to_string()));
    }
}
