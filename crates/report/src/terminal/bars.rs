//! Bars in a terminal: one line a row, in eighths of a character, against the copy ceiling.

use super::{
    figures::{interval, rate, short},
    layout::{INVALID, cut, hanging},
    setting::{named, values, varying},
    style::{Ink, Style},
    table::{swept, swept_name, unique},
};
use record::{Backend, Language, Measure, Record};
use std::fmt::Write;

/// Columns of the narrowest screen whose bars have intervals beside them.
const ROOMY: usize = 72;

/// The most bars of a picture.
pub(super) const MOST: usize = 20;

/// The widest picture.
const WIDEST: usize = 120;

/// The longest label, as a part of the line.
const LABEL: usize = 3;

/// The shortest bar of 100%.
const SHORTEST: usize = 6;

/// A ceiling that is more than this many times the longest bar is told, not drawn.
const FAR: f64 = 4.0;

/// A bar.
struct Bar {
    label: String,
    /// `None` where the row is wrong or was not timed.
    rate: Option<f64>,
    /// The text after the bar.
    figures: [String; 2],
}

/// The rows that stand for all, and the parameters of `by` that tell them apart: of each kernel and of each value of these
/// parameters the row of the largest size, and of these the fastest; what the driver does itself is one of the kernels. A wrong
/// row comes before all others. Where that is more than a picture holds, the last of the parameters do not count.
pub(super) fn representatives<'r, 'b>(
    rows: &[&'r Record],
    by: &'b [&'b str],
) -> (Vec<&'r Record>, &'b [&'b str]) {
    let names = telling(rows, by);
    let key = |row: &Record| (row.kernel.clone(), row.parameters.precision, values(row, &names));
    let own: Vec<&Record> = rows.iter().copied().filter(|row| row.language != Language::CudaCpp).collect();
    let merit = |row: &Record| {
        let figure = row.figure().unwrap_or(0.0);
        if row.measure().is_time() { -figure } else { figure }
    };
    let rank = |row: &Record| (!row.verified, row.moved(), merit(row));
    let best = unique(own.iter().map(|row| key(row))).into_iter().filter_map(|wanted| {
        let same = own.iter().copied().filter(|row| key(row) == wanted);
        same.reduce(|best, row| if rank(row) > rank(best) { row } else { best })
    });
    let best: Vec<&Record> = best.collect();
    match by.split_last() {
        Some((_, fewer)) if best.len() > MOST => representatives(rows, fewer),
        _ => (best, by),
    }
}

/// The parameters among `by` in which the rows differ, the swept one included.
fn telling(rows: &[&Record], by: &[&str]) -> Vec<String> {
    let name = swept_name(rows).filter(|_| unique(rows.iter().filter_map(|row| swept(row))).len() > 1);
    varying(rows).into_iter().chain(name).filter(|name| by.contains(&name.as_str())).collect()
}

/// The label of each bar: its kernel, and the parameters in which the kernel's bars differ.
fn labels(rows: &[&Record], by: &[&str]) -> Vec<String> {
    let names = telling(rows, by);
    let label = |row: &&Record| {
        let same = || rows.iter().filter(|other| other.kernel == row.kernel);
        let precisions = unique(same().map(|row| row.parameters.precision));
        let precision = row.parameters.precision.filter(|_| precisions.len() > 1);
        let more = names.iter().filter_map(|name| {
            let value = |row: &Record| values(row, std::slice::from_ref(name)).concat();
            let several = unique(same().map(|row| value(row))).len() > 1;
            (several && !value(row).is_empty()).then(|| named(name, &value(row)))
        });
        let precision = precision.map(|precision| precision.to_string());
        std::iter::once(row.kernel.clone()).chain(precision).chain(more).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(label).collect()
}

/// Bars of these rows, told apart by the parameters `by`, on a scale for each quantity that they are compared by.
pub(super) fn bars(rows: &[&Record], by: &[&str], style: Style) -> String {
    let mut measures = unique(rows.iter().map(|row| row.measure()));
    measures.sort();
    let of = |measure| rows.iter().copied().filter(|row| row.measure() == measure).collect::<Vec<_>>();
    let groups = measures.into_iter().map(|measure| group(&of(measure), by, measure, style));
    groups.collect::<Vec<_>>().join("\n")
}

/// Bars on one scale.
fn group(rows: &[&Record], by: &[&str], measure: Measure, style: Style) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let told = |row: &Record| interval(row, measure).filter(|_| style.width >= ROOMY);
    let bar = |(row, label): (&&Record, String)| {
        let beside = match measure {
            Measure::Bandwidth => row.percent_of_copy.map(|part| format!("{part:.1}%")),
            Measure::Arithmetic => row.arithmetic_intensity.filter(|_| row.verified).map(short),
            Measure::Operations(_) => row.cycles().or(row.per_clock()).map(short),
        };
        let interval = told(row).map(|interval| format!(" ({interval})"));
        let figures = [rate(row, measure) + &interval.unwrap_or_default(), beside.unwrap_or_default()];
        Bar { label, rate: measure.of(row), figures }
    };
    let bars: Vec<Bar> = rows.iter().zip(labels(rows, by)).map(bar).collect();
    let backend = if first.backend == Backend::Modelled { "modelled" } else { "" };
    let beside = match measure {
        Measure::Bandwidth => "of copy",
        Measure::Arithmetic => "flop/byte",
        Measure::Operations(_) if rows.iter().any(|row| row.cycles().is_some()) => "cycles",
        Measure::Operations(_) if rows.iter().any(|row| row.per_clock().is_some()) => "per clock and SM",
        Measure::Operations(_) => "",
    };
    let copy = first.copy.filter(|_| measure == Measure::Bandwidth).map(|copy| copy.gb_per_s);
    let intervals = rows.iter().any(|row| told(row).is_some());
    let unit = if intervals { format!("{} (8 in 10)", measure.unit()) } else { measure.unit().to_string() };
    drawn(&bars, [backend, &unit, beside], copy, style)
}

fn drawn(bars: &[Bar], headings: [&str; 3], copy: Option<f64>, style: Style) -> String {
    let width = style.width.min(WIDEST);
    let length = |text: &str| text.chars().count();
    let label = bars
        .iter()
        .map(|bar| length(&bar.label))
        .chain([length(headings[0])])
        .max()
        .unwrap_or(0)
        .min(width / LABEL + 4);
    let figure = |place: usize| {
        let figures = bars.iter().map(|bar| bar.figures[place].as_str()).chain([headings[place + 1]]);
        figures.map(length).max().unwrap_or(0)
    };
    let (first, second) = (figure(0), figure(1));
    let room = width.saturating_sub(label + first + second + 5).max(SHORTEST);
    let longest = bars.iter().filter_map(|bar| bar.rate).fold(0.0, f64::max);
    let mark = copy.filter(|copy| *copy <= FAR * longest);
    let scale = mark.unwrap_or(0.0).max(longest).max(f64::MIN_POSITIVE);
    // The last eighth of the ceiling's own bar ends on its mark.
    let mark = mark.map(|copy| ((copy / scale * room as f64).ceil() as usize).clamp(1, room) - 1);
    let line = style.either('┊', '|');
    let above = match (copy, mark) {
        (Some(copy), Some(mark)) => {
            let name = format!("copy {copy:.0} {line}");
            let (before, after) =
                (format!("{name:>end$}", end = mark + 1), format!("{:mark$}{line} copy {copy:.0}", ""));
            if length(&before) == mark + 1 { before } else { after }
        }
        _ => String::new(),
    };

    let mut text = String::new();
    let heading =
        format!("{:label$} {above:room$}  {:>first$}  {:>second$}", headings[0], headings[1], headings[2]);
    let _ = writeln!(text, "{}", style.paint(Ink::Faint, heading.trim_end()));
    for bar in bars.iter().take(MOST) {
        let name = cut(&bar.label, label);
        let filled = bar.rate.map(|rate| filled(rate / scale * room as f64, style)).unwrap_or_default();
        let used = filled.chars().count();
        let rest: String = (used..room).map(|column| if Some(column) == mark { line } else { ' ' }).collect();
        let [one, two] = &bar.figures;
        let one = format!("{one:>first$}").replace(INVALID, &style.paint(Ink::Wrong, INVALID));
        let bar = format!("{}{}", style.paint(Ink::Series(0), &filled), style.paint(Ink::Faint, &rest));
        let _ = writeln!(text, "{}", format!("{name:label$} {bar}  {one}  {two:>second$}").trim_end());
    }
    if bars.len() > MOST {
        let _ = writeln!(text, "{} more; -v shows all.", bars.len() - MOST);
    }
    if let Some(copy) = copy.filter(|_| mark.is_none()) {
        let beyond = hanging(&format!("The copy ceiling, {copy:.0} GB/s, is beyond this scale."), width, 0);
        let _ = writeln!(text, "{}", style.paint(Ink::Faint, &beyond));
    }
    text
}

/// A bar of this many characters, and eighths of one.
fn filled(length: f64, style: Style) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !style.unicode {
        return "#".repeat(length.round() as usize);
    }
    let eighths = (length * 8.0).round() as usize;
    let eighths = if length > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row;
    use record::Precision;

    fn three() -> Vec<Bar> {
        [
            ("copy_driver", Some(4267.0), "4267", "100.0%"),
            ("copy_scalar", Some(2714.0), "2714", "63.6%"),
            ("copy_vector", None, "INVALID", ""),
        ]
        .map(|(label, rate, one, two)| Bar {
            label: label.to_string(),
            rate,
            figures: [one.to_string(), two.to_string()],
        })
        .into()
    }

    #[test]
    fn three_bars() {
        let headings = ["", "GB/s", "of copy"];
        let of = |width: usize, unicode: bool, copy: f64| {
            drawn(&three(), headings, Some(copy), Style { width, unicode, colour: false })
        };
        assert_eq!(of(80, true, 4267.0), WIDE);
        assert_eq!(of(40, true, 4267.0), NARROW);
        assert_eq!(of(60, false, 42670.0), ASCII);
    }

    const WIDE: &str = concat!(
        "                                                   copy 4267 ┊     GB/s  of copy\n",
        "copy_driver ██████████████████████████████████████████████████     4267   100.0%\n",
        "copy_scalar ███████████████████████████████▊                 ┊     2714    63.6%\n",
        "copy_vector                                                  ┊  INVALID\n",
    );

    const NARROW: &str = concat!(
        "                     ┊ copy 4267     GB/s  of copy\n",
        "copy_driver ██████████     4267   100.0%\n",
        "copy_scalar ██████▍  ┊     2714    63.6%\n",
        "copy_vector          ┊  INVALID\n",
    );

    const ASCII: &str = concat!(
        "                                               GB/s  of copy\n",
        "copy_driver ##############################     4267   100.0%\n",
        "copy_scalar ###################                2714    63.6%\n",
        "copy_vector                                 INVALID\n",
        "The copy ceiling, 42670 GB/s, is beyond this scale.\n",
    );

    #[test]
    fn each_kernel_has_the_fastest_row_of_its_largest_size() {
        let of = |kernel: &str, bytes: u64, block: u32, milliseconds: f64| {
            let mut row = row(0, Precision::F32, Some(milliseconds));
            row.kernel = kernel.to_string();
            row.bytes.read = bytes;
            row.parameters.swept = None;
            row.parameters.block = Some([block, 1, 1].into());
            row
        };
        let rows =
            [of("a", 1, 32, 0.1), of("a", 2 << 30, 32, 0.4), of("a", 2 << 30, 64, 0.3), of("b", 1, 32, 0.2)];
        let rows: Vec<&Record> = rows.iter().collect();
        let labels = |by: &[&str]| {
            let (rows, by) = representatives(&rows, by);
            labels(&rows, by)
        };
        assert_eq!(labels(&[]), ["a", "b"]);
        assert_eq!(representatives(&rows, &[]).0[0].parameters.block, Some([64, 1, 1].into()));
        assert_eq!(labels(&["block"]), ["a block 32", "a block 64", "b"]);
        // More than a picture holds are one of each kernel.
        let many: Vec<Record> = (1..=24).map(|warps| of("a", 1, 32 * warps, 0.1)).collect();
        let (kept, by) = representatives(&many.iter().collect::<Vec<_>>(), &["block"]);
        assert_eq!((kept.len(), by), (1, &[][..]));
    }
}
