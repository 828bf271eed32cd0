//! Curves in a terminal: a plot of a few lines with an axis on the left, ceilings as lines across, and each curve with a mark
//! of its own, so that it is told from the others without colour.

use super::{
    canvas::Canvas,
    height::Height,
    layout::{cut, wrapped},
    style::{Ink, Style},
};

/// Lines between the axes.
const HEIGHT: usize = 11;

/// The widest plot: curves get no clearer beyond.
const WIDEST: usize = 120;

/// The longest label that stands beside a plot; with longer ones all stand below.
const BESIDE: usize = 16;

/// The part of a character's height that an interval has to cover to be drawn there.
const COVERED: f64 = 0.5;

/// Columns between two marks of a curve.
const APART: f64 = 6.0;

/// A plot.
pub(super) struct Plot {
    /// The unit of the vertical axis, such as GB/s.
    pub unit: String,
    /// Whether values that span more than a decade are drawn by their logarithms.
    pub logarithmic: bool,
    /// The quantity on the horizontal axis.
    pub over: String,
    /// The positions of points on the horizontal axis, ascending.
    pub positions: Vec<Position>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Lines across, from the highest to the lowest.
    pub ceilings: Vec<Ceiling>,
}

/// A place along the axis at the bottom.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    /// How far along, from 0 to 1.
    pub x: f64,
    /// The text below.
    pub label: String,
    /// Its value where the axis is one of whole numbers, else its number: where not all labels have room, those of even
    /// ordinals go first.
    pub ordinal: usize,
}

/// A curve of a plot.
pub(super) struct Curve {
    /// Its name.
    pub label: String,
    /// Its points, by the number of their position, which ascends; `None` where there ought to be one, which parts the curve.
    pub points: Vec<(usize, Option<f64>)>,
    /// The bounds of the intervals of its modelled points, by the same numbers.
    pub intervals: Vec<(usize, [f64; 2])>,
}

/// A line across a plot.
pub(super) struct Ceiling {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

/// The marks of curves: with Unicode and without.
const MARKS: [(char, char); 6] = [('●', 'o'), ('△', 'x'), ('■', '#'), ('○', '+'), ('▲', '*'), ('□', '@')];

impl Plot {
    /// The plot in at most the lines of this style, each with its end.
    pub(super) fn text(&self, style: Style) -> String {
        let values = || self.curves.iter().flat_map(|curve| &curve.points).filter_map(|(_, y)| *y);
        let (lowest, highest) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        // What lies far above all curves would press them down.
        let (within, beyond): (Vec<&Ceiling>, Vec<&Ceiling>) =
            self.ceilings.iter().partition(|ceiling| ceiling.value <= 2.5 * highest);
        let above = self.curves.iter().flat_map(|curve| &curve.intervals).map(|(_, [_, high])| *high);
        let highest = within.iter().map(|ceiling| ceiling.value).chain(above).fold(highest, f64::max);
        let height = match self.logarithmic {
            true => Height::by_decades(lowest, highest),
            false => Height::linear(highest),
        };
        let mark = |number: usize| {
            let (unicode, ascii) = MARKS[number % MARKS.len()];
            style.either(unicode, ascii)
        };

        let names: Vec<String> =
            self.curves.iter().enumerate().map(|(n, curve)| format!("{} {}", mark(n), curve.label)).collect();
        let beside = names.iter().all(|name| name.chars().count() <= BESIDE);
        let line_of = |y: f64| (HEIGHT - 1).saturating_sub((height.at(y) * HEIGHT as f64) as usize);
        let mut labels: Vec<(usize, String, Ink)> = within
            .chunk_by(|one, other| line_of(one.value) == line_of(other.value))
            .map(|same| {
                let names: Vec<&str> = same.iter().map(|ceiling| ceiling.name).collect();
                let text = match same {
                    [only] => format!("{} {:.0}", only.name, only.value),
                    _ => names.join(", "),
                };
                (line_of(same[0].value), text, Ink::Faint)
            })
            .collect();
        if beside {
            let ends = self.curves.iter().zip(&names).enumerate();
            labels.extend(ends.filter_map(|(number, (curve, name))| {
                Some((
                    line_of(curve.points.iter().rev().find_map(|(_, y)| *y)?),
                    name.clone(),
                    Ink::Series(number),
                ))
            }));
        }
        let (ticks, floor) = (height.ticks(), height.floor());
        let left = ticks.iter().map(|(_, text)| text.len()).chain([floor.len()]).max().unwrap_or(0);
        let right = labels.iter().map(|(_, text, _)| text.chars().count() + 1).max().unwrap_or(0);
        let width = style.width.min(WIDEST).saturating_sub(left + 2 + right).max(10);

        let mut canvas = Canvas::new(width, HEIGHT, style);
        for ceiling in &within {
            let glyph = match ceiling.name {
                "peak" => style.either('╌', '.'),
                _ => style.either('─', '-'),
            };
            (0..width).for_each(|column| canvas.glyph(column, line_of(ceiling.value), glyph, Ink::Faint));
        }
        let shade = style.either('░', ':');
        let mut has_band = false;
        for (number, curve) in self.curves.iter().enumerate() {
            for (column, line) in self.band(curve, width, &height) {
                has_band |= canvas.shade(column, line, shade, Ink::Series(number));
            }
        }
        let (across, down) = canvas.dots();
        let dot = |(position, y): (usize, Option<f64>)| {
            let y = y?;
            let x = self.positions.get(position).map_or(0.0, |position| position.x);
            let y = (down - 1).saturating_sub((height.at(y) * down as f64) as usize);
            Some(((x * (across - 1) as f64).round() as usize, y))
        };
        for (number, curve) in self.curves.iter().enumerate() {
            for pair in curve.points.windows(2) {
                if let (Some(from), Some(to)) = (dot(pair[0]), dot(pair[1])) {
                    canvas.line(from, to, Ink::Series(number));
                }
            }
        }
        for (number, curve) in self.curves.iter().enumerate() {
            // Marks of several curves stand at different points, lest one hides the other where the curves coincide.
            let gap = width as f64 / curve.points.len().max(1) as f64;
            let every = (APART / gap).ceil().max(1.0) as usize;
            let first = if every > 1 { number * every / self.curves.len() } else { 0 };
            for place in curve.points.iter().skip(first).step_by(every).filter_map(|point| dot(*point)) {
                canvas.glyph_at(place, mark(number), Ink::Series(number));
            }
        }

        let labels = apart(labels);
        let axis = style.either(('┤', '│', '└', '─'), ('+', '|', '+', '-'));
        let mut text = format!("{}\n", style.paint(Ink::Faint, &self.unit));
        for (line, drawn) in canvas.lines().into_iter().enumerate() {
            let tick = ticks.iter().find(|(value, _)| line_of(*value) == line && *value > 0.0);
            let (number, bar) = tick.map_or(("", axis.1), |(_, number)| (number.as_str(), axis.0));
            let label = labels.iter().find(|(at, ..)| *at == line);
            let label =
                label.map(|(_, text, ink)| format!(" {}", style.paint(*ink, text))).unwrap_or_default();
            let edge = style.paint(Ink::Faint, &format!("{number:>left$} {bar}"));
            text.push_str(format!("{edge}{drawn}{label}").trim_end());
            text.push('\n');
        }
        let line: String = std::iter::repeat_n(axis.3, width).collect();
        text.push_str(&style.paint(Ink::Faint, &format!("{floor:>left$} {}{line}", axis.2)));
        text.push('\n');
        text.push_str(&style.paint(Ink::Faint, &format!("{:left$}  {}", "", self.below(width, right))));
        text.push('\n');
        let mut notes: Vec<String> = if beside { Vec::new() } else { names };
        let beyond = beyond
            .iter()
            .map(|ceiling| format!("{} {:.0} GB/s is above this scale", ceiling.name, ceiling.value));
        notes.extend(beyond);
        notes.extend(has_band.then(|| format!("{shade} the interval of a figure, 8 in 10")));
        if !notes.is_empty() {
            text.push_str(&wrapped(&notes.join(", "), style.prose()));
            text.push('\n');
        }
        text
    }

    /// The characters, by column and line, that a curve's intervals cover from point to point, at least by [`COVERED`].
    fn band(&self, curve: &Curve, width: usize, height: &Height) -> Vec<(usize, usize)> {
        let column = |position: usize| {
            let x = self.positions.get(position).map_or(0.0, |position| position.x);
            (x * width.saturating_sub(1) as f64).round() as usize
        };
        // Of the line n from the top, the part that lies between two heights.
        let covered = |line: usize, [low, high]: [f64; 2]| {
            let floor = (HEIGHT - 1 - line) as f64;
            (high * HEIGHT as f64).min(floor + 1.0) - (low * HEIGHT as f64).max(floor)
        };
        let mut cells = Vec::new();
        for pair in curve.intervals.windows(2) {
            let ((from, from_bounds), (to, to_bounds)) = (pair[0], pair[1]);
            // A point without an interval parts the band.
            if curve.points.iter().any(|(position, _)| *position > from && *position < to) {
                continue;
            }
            let (start, end) = (column(from), column(to));
            for column in start..=end {
                let share = (column - start) as f64 / (end - start).max(1) as f64;
                let bounds = [0, 1].map(|bound| {
                    let (one, other) = (height.at(from_bounds[bound]), height.at(to_bounds[bound]));
                    one + (other - one) * share
                });
                cells.extend(
                    (0..HEIGHT).filter(|line| covered(*line, bounds) >= COVERED).map(|line| (column, line)),
                );
            }
        }
        cells
    }

    /// The labels below the axis: the first position, those whose ordinal is a multiple of 1, of 2, of 4, .., as many as there
    /// is room for, the last one if it fits, and the axis's name.
    fn below(&self, width: usize, right: usize) -> String {
        let mut line =
            (0..usize::BITS).find_map(|power| self.labels(1 << power, width, right)).unwrap_or_default();
        let used = line.iter().rposition(|letter| *letter != ' ').map_or(0, |last| last + 2);
        line.resize(used, ' ');
        // Of a name that is cut to less than three letters nothing is left but the mark of the cut.
        let room = (width + right).saturating_sub(used);
        if room > 2 {
            line.extend(cut(&self.over, room).chars());
        }
        line.into_iter().collect::<String>().trim_end().to_string()
    }

    /// The labels of every n-th position; `None` where they are too close to each other.
    fn labels(&self, every: usize, width: usize, right: usize) -> Option<Vec<char>> {
        let mut line: Vec<char> = vec![' '; width + right];
        let mut put = |position: &Position| {
            let length = position.label.chars().count();
            let middle = (position.x * width.saturating_sub(1) as f64).round() as usize;
            // Without names beside the axis nothing fits behind its end.
            let end = (width + 1).min(line.len());
            let start = middle.saturating_sub(length / 2).min(end.saturating_sub(length));
            let free = start.saturating_sub(2)..(start + length + 2).min(line.len());
            let room = line[free].iter().all(|letter| *letter == ' ');
            if room {
                line.splice(start..start + length, position.label.chars());
            }
            room
        };
        let (last, others) = self.positions.split_last()?;
        let chosen =
            |(number, position): &(usize, &Position)| *number == 0 || position.ordinal.is_multiple_of(every);
        let fits = others.iter().enumerate().filter(chosen).all(|(_, position)| put(position));
        put(last);
        fits.then_some(line)
    }
}

/// Labels in lines of their own, moved as little as goes.
fn apart(mut labels: Vec<(usize, String, Ink)>) -> Vec<(usize, String, Ink)> {
    labels.sort_by_key(|(line, ..)| *line);
    for number in 1..labels.len() {
        labels[number].0 = labels[number].0.max(labels[number - 1].0 + 1);
    }
    let mut lowest = HEIGHT;
    for label in labels.iter_mut().rev() {
        label.0 = label.0.min(lowest.saturating_sub(1));
        lowest = label.0;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(second: bool) -> Plot {
        let of = |label: &str, points: &[(usize, Option<f64>)]| Curve {
            label: label.to_string(),
            points: points.to_vec(),
            intervals: Vec::new(),
        };
        let all = [2700.0, 1400.0, 700.0, 350.0, 180.0].map(Some);
        let mut curves = vec![of("f32", &all.into_iter().enumerate().collect::<Vec<_>>())];
        if second {
            curves.push(of(
                "f64",
                &[(0, Some(3700.0)), (1, Some(1900.0)), (2, Some(1000.0)), (3, None), (4, Some(300.0))],
            ));
        }
        Plot {
            unit: "GB/s".to_string(),
            logarithmic: false,
            over: "stride".to_string(),
            positions: (0..5)
                .map(|ordinal| Position {
                    x: ordinal as f64 / 4.0,
                    label: (1 << ordinal).to_string(),
                    ordinal,
                })
                .collect(),
            curves,
            ceilings: vec![Ceiling { name: "peak", value: 4917.0 }, Ceiling { name: "copy", value: 4267.0 }],
        }
    }

    fn shown(plot: &Plot, width: usize, unicode: bool) -> String {
        let text = plot.text(Style { width, unicode, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        text
    }

    #[test]
    fn curves_of_five_points() {
        assert_eq!(shown(&plot(true), 80, true), WIDE);
        assert_eq!(shown(&plot(true), 40, true), NARROW);
        assert_eq!(shown(&plot(false), 60, false), ASCII);
    }

    #[test]
    fn intervals_are_shaded_where_they_are_higher_than_half_a_line() {
        let mut plot = plot(false);
        plot.ceilings.clear();
        // A line is 1/11 of 2754: 250 GB/s.
        plot.curves[0].intervals =
            vec![(0, [2000.0, 2700.0]), (1, [1000.0, 1500.0]), (3, [340.0, 360.0]), (4, [0.0, 1000.0])];
        assert_eq!(shown(&plot, 60, true), BANDS);
    }

    #[test]
    fn labels_end_with_the_axis_where_no_name_is_beside_it() {
        let mut plot = plot(true);
        plot.ceilings.clear();
        // Names longer than the width go below.
        plot.curves.iter_mut().for_each(|curve| curve.label = "x".repeat(24));
        plot.positions[4].label = "262144".to_string();
        let text = shown(&plot, 40, false);
        assert!(text.lines().any(|line| line.ends_with("262144")), "{text}");
    }

    const WIDE: &str = concat!(
        "GB/s\n",
        "5000 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ peak 4917\n",
        "     │──────────────────────────────────────────────────────────────── copy 4267\n",
        "4000 ┤△\n",
        "     │⠈⠑⠢⢄⡀\n",
        "3000 ┤    ⠈⠑⠢⢄⡀\n",
        "     │●⠒⠢⠤⣀⡀  ⠈⠑⠢⢄⡀\n",
        "2000 ┤     ⠈⠉⠒⠤⢄⣀ ⠈⠑⠢⢄△\n",
        "     │           ⠉⠑⠒⠤⢄●⡉⠉⠒⠒⠤⠤⣀⣀\n",
        "1000 ┤                 ⠈⠉⠉⠒⠒⠒⠤⠤⢍⣉⣒⠒⠤⠤⣀△\n",
        "     │                            ⠉⠉⠉⠒●⠒⠒⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀                    ● f32\n",
        "     │                                             ⠉⠉●⠉⠉⠉⠑⠒⠒⠒⠒⠒⠒⠒⠢⠤⠤⠤△ △ f64\n",
        "   0 └────────────────────────────────────────────────────────────────\n",
        "      1               2               4              8              16 stride\n",
    );

    const BANDS: &str = concat!(
        "GB/s\n",
        "     │●⢄\n",
        "2500 ┤░░⠉⠢⡀\n",
        "     │░░░░⠈⠢⣀\n",
        "2000 ┤  ░░░░░⠑⢄\n",
        "     │     ░░░░⠑⠤⡀\n",
        "1500 ┤        ░░░⠈●⠤⣀\n",
        "     │           ░░  ⠉⠒⠤⣀⡀\n",
        "1000 ┤                   ⠈⠑⠢⢄⡀                     ░░░\n",
        "     │                       ⠈●⠒⠒⠤⠤⣀⣀         ░░░░░░░░\n",
        " 500 ┤                               ⠉⠉⠒⠒●⠤⢄⣀⣀⣀⡀░░░░░░\n",
        "     │                                         ⠈⠉⠉⠉⠑⠒● ● f32\n",
        "   0 └────────────────────────────────────────────────\n",
        "      1           2           4          8          16 str..\n",
        "░ the interval of a figure, 8 in 10\n",
    );

    const NARROW: &str = concat!(
        "GB/s\n",
        "5000 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ peak 4917\n",
        "     │──────────────────────── copy 4267\n",
        "4000 ┤⡀\n",
        "     │⠈⢆\n",
        "3000 ┤  ⠱⡀\n",
        "     │●⢄ ⠈⢆\n",
        "2000 ┤  ⠑⠤⡀⠱△\n",
        "     │    ⠈⠢⡈⠑⠤⡀\n",
        "1000 ┤      ⠈⠑⠢⢌⡑⠤⡀\n",
        "     │          ⠈⠑●⠤⠤⣀⣀        ● f32\n",
        "     │                 ⠉⠉⠒⠒⠒⠤● △ f64\n",
        "   0 └────────────────────────\n",
        "      1     2     4    8    16 stride\n",
    );

    const ASCII: &str = concat!(
        "GB/s\n",
        "5000 +............................................ peak 4917\n",
        "     |-------------------------------------------- copy 4267\n",
        "4000 +\n",
        "     |\n",
        "3000 +\n",
        "     |o..\n",
        "2000 +   ......\n",
        "     |         ..o..\n",
        "1000 +              ......\n",
        "     |                    ..o....\n",
        "     |                           .....o..........o o f32\n",
        "   0 +--------------------------------------------\n",
        "      1          2          4         8         16 stride\n",
    );

    #[test]
    fn ceilings_far_above_or_side_by_side_are_told() {
        let mut far = plot(false);
        far.ceilings[0].value = 49170.0;
        let text = shown(&far, 80, true);
        assert!(
            text.contains(" copy 4267\n") && text.ends_with("\npeak 49170 GB/s is above this scale\n"),
            "{text}"
        );
        let mut close = plot(false);
        close.ceilings[0].value = 4300.0;
        assert!(shown(&close, 80, true).contains("─ peak, copy\n"), "{text}");
        close.curves[0].label = "constant_broadcast".to_string();
        assert!(shown(&close, 80, true).ends_with("\n● constant_broadcast\n"));
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let labels = |lines: &[usize]| {
            let labels = lines.iter().map(|line| (*line, String::new(), Ink::Plain)).collect();
            apart(labels).into_iter().map(|(line, ..)| line).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[3, 3, 4]), [3, 4, 5]);
        assert_eq!(labels(&[10, 10]), [9, 10]);
        assert_eq!(labels(&[0, 5]), [0, 5]);
    }
}
