//! An experiment on a screen: what it is about, its picture, what the picture shows, and the rows that carry it.

use super::{
    Shown,
    bars::{bars, representatives},
    carrying::{MOST, carrying},
    counters::counters,
    layout::{hanging, wrapped},
    lessons::further,
    library::{self, is_beside_library},
    map::{map, squares},
    remarks::{explanations, notes},
    series::Curves,
    setting::setting,
    style::{Ink, Style},
    table::{is_side_by_side, parts, swept, tabulated, tabulated_with_conditions, unique},
};
use crate::{Catalog, Lesson, Picture, literature, pages::atlas::Beside};
use record::{Language, Record};
use std::fmt::Write;

/// The meaning of the column that only modelled rows have.
const MOVED: &str =
    "moved/asked: bytes that the requests in global memory move, over bytes that lanes ask for.";

/// The head of what others have measured.
const OTHERS: &str = "Beside what others have measured (docs/h200-atlas.md has the sources, and why an H200 differs from them):";

/// The meaning of the interval of modelled figures.
const EIGHT_IN_TEN: &str = "8 in 10: of ten such kernels, eight are measured within this interval.";

/// Why a figure is not within its interval.
const OUTSIDE: &str = " A figure lies outside where nine in ten of these were measured slower than modelled, or nine in ten faster.";

/// The rows of one experiment: its picture, its finding and the rows that carry it, or its whole table where
/// [all](Shown::verbose) is to be shown; below it what is remarked about its rows.
pub fn section(rows: &[&Record], catalog: &Catalog, shown: Shown) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let (name, style) = (&first.experiment, shown.style);
    let lesson = catalog.lesson(name);
    let title = match lesson {
        Some(lesson) => format!("{name}: {}", lesson.summary),
        None => name.clone(),
    };
    let mut text = String::from("\n");
    paragraph(&mut text, Ink::Strong, &title, style);
    let rows_shown =
        if shown.verbose { whole(&mut text, rows, style) } else { brief(&mut text, rows, lesson, style) };
    let reading = lesson.map(|lesson| match (lesson.finding)(rows) {
        Some(finding) if shown.verbose => format!("{finding} {}", lesson.reading),
        Some(finding) => finding,
        None => lesson.reading.to_string(),
    });
    if let Some(reading) = reading {
        text.push('\n');
        paragraph(&mut text, if shown.verbose { Ink::Plain } else { Ink::Strong }, &reading, style);
    }
    if let Some(rows) = rows_shown.filter(|text| !text.is_empty()) {
        let _ = writeln!(text, "\n{rows}");
    }
    let modelled = || {
        rows.iter().filter_map(|row| row.time_ms).filter_map(|times| Some((times.median, times.interval?)))
    };
    if modelled().next().is_some() {
        let is_outside = |(time, [low, high]): (f64, [f64; 2])| time < low || high < time;
        let outside = if modelled().any(is_outside) { OUTSIDE } else { "" };
        let _ = writeln!(text, "{}", wrapped(&format!("{EIGHT_IN_TEN}{outside}"), style.prose()));
    }
    if shown.verbose && rows.iter().any(|row| row.counters.is_some()) {
        let _ = writeln!(text, "{}", wrapped(MOVED, style.prose()));
    }
    if shown.verbose {
        text.push_str(&others(rows, style));
    }
    text.push('\n');
    text.push_str(&notes(rows, shown));
    text.push_str(&further(rows, style));
    if shown.explanations {
        text.push_str(&explanations(rows, style));
    }
    if shown.counters {
        text.push_str(&counters(rows, shown));
    }
    text
}

/// Lists the published figures of what these rows measure beside their own; empty if there are none.
fn others(rows: &[&Record], style: Style) -> String {
    let lines = literature::beside(rows);
    let line = |Beside { name, published, here, model }: &Beside| {
        let known = |who: &str, figure: &Option<String>| {
            figure.as_ref().map(|figure| format!("{who} {figure}, ")).unwrap_or_default()
        };
        let (here, model) = (known("here", here), known("model of an H200", model));
        hanging(&format!("- {name}: {here}{model}others {published}"), style.prose(), 2) + "\n"
    };
    match lines.is_empty() {
        true => String::new(),
        false => {
            format!("\n{}\n{}", wrapped(OTHERS, style.prose()), lines.iter().map(line).collect::<String>())
        }
    }
}

fn paragraph(text: &mut String, ink: Ink, words: &str, style: Style) {
    for line in wrapped(words, style.prose()).lines() {
        let _ = writeln!(text, "{}", style.paint(ink, line));
    }
}

/// Appends all rows, the rows of one setting in a table of their own where kernels stand side by side.
fn whole(text: &mut String, rows: &[&Record], style: Style) -> Option<String> {
    if is_beside_library(rows) {
        return beside_library(text, rows, style);
    }
    let part_after_part = if is_side_by_side(rows) { parts(rows) } else { vec![rows.to_vec()] };
    for (number, part) in part_after_part.iter().enumerate() {
        text.push_str(if number == 0 { "" } else { "\n" });
        paragraph(text, Ink::Faint, &setting(part), style);
        let _ = writeln!(text, "\n{}", tabulated_with_conditions(part, style));
    }
    None
}

/// Appends the setting and the picture; returns the few rows that go below the finding.
fn brief(text: &mut String, rows: &[&Record], lesson: Option<&Lesson>, style: Style) -> Option<String> {
    if is_beside_library(rows) {
        return beside_library(text, rows, style);
    }
    if rows.iter().any(|row| row.language == Language::CudaCpp) {
        paragraph(text, Ink::Faint, &setting(rows), style);
        return Some(pairs(rows, style));
    }
    let timed = rows.iter().any(|row| row.time_ms.is_some());
    let mut others = rows.to_vec();
    if let Some(Picture::Matrix { to, from, .. }) = lesson.map(|lesson| lesson.picture).filter(|_| timed) {
        let (squares, rest) = squares(rows, [to, from], style);
        if let Some(squares) = squares {
            paragraph(text, Ink::Faint, &setting(rows), style);
            let _ = write!(text, "\n{squares}");
            if rest.is_empty() {
                return None;
            }
            text.push('\n');
            others = rest;
        }
    }
    let rows = &others[..];
    let (curves, by) = match lesson.map(|lesson| lesson.picture) {
        Some(Picture::Curve { over, by, .. }) if timed => (Curves::of(rows, over, by), by),
        Some(Picture::Bars { by } | Picture::Matrix { by, .. }) => (None, by),
        _ => (None, &[][..]),
    };
    if let Some(Picture::Map { x, y }) = lesson.map(|lesson| lesson.picture).filter(|_| timed)
        && let Some(map) = map(rows, x, y, style)
    {
        paragraph(text, Ink::Faint, &setting(rows), style);
        let _ = write!(text, "\n{map}");
        return None;
    }
    if let Some(curves) = curves {
        let drawn: Vec<&Record> =
            curves.series.iter().flat_map(|series| series.rows.iter().copied()).collect();
        paragraph(text, Ink::Faint, &setting(&drawn), style);
        let _ = write!(text, "\n{}", curves.plot(style));
        if curves.left_out > 0 {
            let left_out = format!("{} more curves; -v shows all rows.", curves.left_out);
            paragraph(text, Ink::Faint, &left_out, style);
        }
        return Some(few(&curves, &drawn, style));
    }
    let over = match lesson.map(|lesson| lesson.picture) {
        Some(Picture::Curve { over, .. }) => Some(over),
        _ => None,
    };
    // Values too few for a curve have bars of their own.
    let with_over: Vec<&str> = by.iter().copied().chain(over).collect();
    let (mut chosen, mut told) = representatives(rows, &with_over);
    if over.is_some() && told.len() < by.len() {
        // What tells curves apart is what they are about: of all kernels the first shows it, beside what the driver does itself.
        let first = rows.iter().find(|row| row.language == Language::Rust).map(|row| &row.kernel);
        let kept = |row: &&Record| row.language == Language::Driver || Some(&row.kernel) == first;
        (chosen, told) = representatives(&rows.iter().copied().filter(kept).collect::<Vec<_>>(), by);
    }
    paragraph(text, Ink::Faint, &setting(&chosen), style);
    if timed && chosen.iter().any(|row| row.time_ms.is_some()) {
        let _ = write!(text, "\n{}", bars(&chosen, told, style));
        return None;
    }
    let chosen: Vec<&Record> = chosen.into_iter().take(MOST).collect();
    Some(tabulated(&chosen, &chosen, style))
}

/// Appends kernels and a library's functions, one below another.
fn beside_library(text: &mut String, rows: &[&Record], style: Style) -> Option<String> {
    paragraph(text, Ink::Faint, &setting(rows), style);
    let _ = writeln!(text, "\n{}", library::table(rows, style));
    None
}

/// The rows of curves that carry them.
fn few(curves: &Curves<'_>, drawn: &[&Record], style: Style) -> String {
    if is_side_by_side(drawn) && parts(drawn).len() == 1 {
        return tabulated(&ascending(drawn, &carrying(&curves.series, swept)), drawn, style);
    }
    let rows = carrying(&curves.series, std::ptr::from_ref);
    let kept = drawn.iter().copied().filter(|row| rows.contains(&std::ptr::from_ref(*row)));
    tabulated(&kept.collect::<Vec<_>>(), drawn, style)
}

/// The pairs of a kernel and its twin whose times are furthest apart; of kernels side by side all pairs at these values.
fn pairs(rows: &[&Record], style: Style) -> String {
    let distance = |row: &&Record| row.ratio_to_reference.map_or(0.0, |ratio| ratio.ln().abs());
    let mut furthest: Vec<&Record> =
        rows.iter().copied().filter(|row| row.language == Language::Rust).collect();
    furthest.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    if is_side_by_side(rows) && parts(rows).len() == 1 {
        let mut values = unique(furthest.iter().map(|row| swept(row)));
        values.truncate(MOST);
        return tabulated(&ascending(rows, &values), rows, style);
    }
    furthest.truncate(MOST);
    let of_pair = |row: &&Record| {
        furthest.iter().any(|rust| rust.kernel == row.kernel && rust.parameters == row.parameters)
    };
    tabulated(&rows.iter().copied().filter(of_pair).collect::<Vec<_>>(), rows, style)
}

/// The rows at these values of the swept parameter, ascending.
fn ascending<'r>(rows: &[&'r Record], values: &[Option<u64>]) -> Vec<&'r Record> {
    let mut kept: Vec<&Record> = rows.iter().copied().filter(|row| values.contains(&swept(row))).collect();
    kept.sort_by_key(|row| swept(row));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{
        table,
        tests::{modelled, row},
    };
    use record::{Conditions, Energy, Precision, Readings, Run};

    fn lesson(name: &'static str, picture: Picture, finding: fn(&[&Record]) -> Option<String>) -> Catalog {
        let (summary, reading) = ("what it is about", "How to read it.");
        let lesson = Lesson { name, summary, reading, prose: String::new(), articles: &[], picture, finding };
        Catalog { lessons: vec![lesson], kernels: Vec::new() }
    }

    /// Offsets 0 to 9 in both precisions; the fourth in f32 is INVALID.
    fn offsets() -> Vec<Record> {
        let of = |precision, aligned: f64| {
            (0..10).map(move |offset| {
                let milliseconds = if offset % 8 == 0 { aligned } else { 1.1 * aligned };
                let right = offset != 4 || precision == Precision::F64;
                row(offset, precision, right.then_some(milliseconds))
            })
        };
        of(Precision::F32, 0.2).chain(of(Precision::F64, 0.14)).collect()
    }

    const CURVE: Picture = Picture::Curve { over: "offset", by: &[], sectors: false };

    fn shown(records: &[Record], catalog: &Catalog, shown: Shown) -> String {
        let text = section(&records.iter().collect::<Vec<_>>(), catalog, shown);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= shown.style.width), "{widest:?} columns:\n{text}");
        text
    }

    #[test]
    fn two_values_of_a_curve_are_bars() {
        let mut two = offsets();
        two.retain(|row| row.parameters.swept.as_ref().is_some_and(|swept| swept.value < 2));
        two.retain(|row| row.parameters.precision == Some(Precision::F32));
        let text = shown(&two, &lesson("offset", CURVE, |_| None), Shown::default());
        let bars: Vec<&str> = text.lines().filter(|line| line.contains(" offset ")).collect();
        assert!(
            bars.len() == 2 && bars[0].contains(" offset 0 ") && bars[1].contains(" offset 1 "),
            "{text}"
        );
    }

    #[test]
    fn a_curve_is_a_screen() {
        let finding = |rows: &[&Record]| Some(format!("The finding of {} rows.", rows.len()));
        let text = shown(&offsets(), &lesson("offset", CURVE, finding), Shown::default());
        assert_eq!(text, SCREEN);
    }

    const SCREEN: &str = concat!(
        "\n",
        "offset: what it is about\n",
        "256 MiB read and written, 256 threads per block, from DRAM, median of 11 samples\n",
        "\n",
        "GB/s\n",
        "5000 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ peak 4917\n",
        "     │──────────────────────────────────────────────────────────────── copy 4200\n",
        "4000 ┤△⢄⣀⡀                                                 ⢀⣀⡠△⠤⣀⣀\n",
        "     │   ⠈⠉⠉⠒△⠒⠒⠒⠒⠒⠒△⠒⠒⠒⠒⠒⠒△⠒⠒⠒⠒⠒⠒△⠒⠒⠒⠒⠒⠒△⠒⠒⠒⠒⠒⠒△⠒⠒⠒⠒⠒⠒△⠒⠉⠉⠁      ⠉⠉⠑△ △ f64\n",
        "3000 ┤\n",
        "     │●⠉⠒⠒⠒⠢⠤●⠤⠤⠤⠤⠤⠤●⠤⠤⠤⠤⠤⠤●             ●⠤⠤⠤⠤⠤⠤●⠤⠤⠤⠤⠤⠤●⠤⠔⠒⠒⠒⠉●⠉⠑⠒⠒⠒⠤● ● f32\n",
        "2000 ┤\n",
        "     │\n",
        "1000 ┤\n",
        "     │\n",
        "     │\n",
        "   0 └────────────────────────────────────────────────────────────────\n",
        "      0      1      2      3      4      5      6      7      8      9 offset\n",
        "\n",
        "The finding of 20 rows.\n",
        "\n",
        "         f32                             f64\n",
        "offset  GB/s  %peak  %copy    min..max  GB/s  %peak  %copy    min..max\n",
        "──────────────────────────────────────────────────────────────────────\n",
        "0       2684   54.6   63.9  2658..2711  3835   78.0   91.3  3797..3874\n",
        "1       2440   49.6   58.1  2416..2465  3486   70.9   83.0  3452..3521\n",
        "7       2440   49.6   58.1  2416..2465  3486   70.9   83.0  3452..3521\n",
        "8       2684   54.6   63.9  2658..2711  3835   78.0   91.3  3797..3874\n",
        "9       2440   49.6   58.1  2416..2465  3486   70.9   83.0  3452..3521\n",
        "Left out at 80 columns: ms.\n",
        "\n",
        "19 of 20 rows verified, every element of every buffer; -v shows them all.\n",
        "INVALID: offset_f32 (rust, offset 4): 2 elements are wrong\n",
    );

    #[test]
    fn all_rows_are_shown_where_that_is_asked_for() {
        let verbose = Shown { verbose: true, style: Style::FILE, ..Shown::default() };
        let text = shown(&offsets(), &lesson("offset", CURVE, |_| None), verbose);
        let cells = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
            line.split_whitespace().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(cells("offset ")[..6], ["offset", "GB/s", "%peak", "%copy", "ms", "min..max"]);
        let all = [
            "0",
            "2684",
            "54.6",
            "63.9",
            "0.2000",
            "2658..2711",
            "3835",
            "78.0",
            "91.3",
            "0.1400",
            "3797..3874",
        ];
        assert_eq!(cells("0 "), all);
        assert_eq!(cells("4 ")[..3], ["4", "INVALID", "3486"]);
        assert!(text.contains("\nHow to read it.\n"), "{text}");
        assert!(text.contains("\n19 of 20 rows verified, every element of every buffer.\n"), "{text}");
        assert!(text.contains("\nINVALID: offset_f32 (rust, offset 4): 2 elements are wrong\n"), "{text}");
        // In 80 columns it lacks what follows from the rest.
        let narrow = shown(&offsets(), &Catalog::default(), Shown { verbose: true, ..Shown::default() });
        assert!(narrow.contains("\nLeft out at 80 columns: ms.\n"), "{narrow}");
    }

    #[test]
    fn all_figures_have_the_clocks_and_the_power_that_are_known() {
        let readings = |value| Readings::of(&[value]);
        let energy = Some(Energy::of(650.0, 1.0, 0.2, Some(1_000_000_000)));
        let state = Conditions { sm_clock_mhz: readings(1755.0), energy, ..Conditions::default() };
        let mut records = offsets();
        records[0].conditions = Some(state);
        let verbose = Shown { verbose: true, style: Style::FILE, ..Shown::default() };
        let text = shown(&records, &lesson("offset", CURVE, |_| None), verbose);
        let row = text.lines().find(|line| line.starts_with("0 ")).unwrap_or_default();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[3..8], ["2658..2711", "1755", "650", "130", "3835"], "{text}");
        let brief = shown(&records, &lesson("offset", CURVE, |_| None), Shown::default());
        assert!(!brief.contains("1755"), "{brief}");
    }

    #[test]
    fn modelled_figures_say_so() {
        let records: Vec<Record> = offsets().into_iter().map(modelled).collect();
        let catalog = lesson("offset", CURVE, |_| None);
        let brief = shown(&records, &catalog, Shown::default());
        assert!(brief.contains(", modelled: one launch\n\nGB/s, modelled\n"), "{brief}");
        let all = Shown { verbose: true, counters: true, ..Shown::default() };
        let text = shown(&records, &catalog, all);
        let heading = text.lines().find(|line| line.trim().starts_with("modelled ")).unwrap_or_default();
        assert_eq!(
            heading.split_whitespace().collect::<Vec<_>>(),
            ["modelled", "moved/", "modelled", "moved/"],
            "{text}"
        );
        let cells = |start: &str| {
            let line = text.lines().rfind(|line| line.starts_with(start)).unwrap_or_default();
            line.split_whitespace().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(cells("1 ")[4..6], ["8.00", "3486"]);
        assert_eq!(
            cells("offset_f32 1 "),
            ["offset_f32", "1", "416", "64", "1024", "16.00", "12.5%", "0.0", "DRAM"]
        );
        assert!(!brief.contains("offset_f32 1 "), "{brief}");
        let run = Run::of(&records).expect("there are records");
        assert!(table(&records, &run, &catalog, Shown::default()).contains("\nmodelled, not measured: "));
    }

    #[test]
    fn a_short_sweep_has_bars_and_no_times_no_picture() {
        let catalog = lesson("offset", CURVE, |_| None);
        let two = [row(0, Precision::F32, Some(0.2)), row(0, Precision::F64, Some(0.14))];
        let text = shown(&two, &catalog, Shown::default());
        assert!(text.contains("\noffset_f32 ███") && !text.contains("\nGB/s"), "{text}");
        let untimed = [Record { time_ms: None, gb_per_s: None, ..row(0, Precision::F32, Some(0.2)) }];
        let text = shown(&untimed, &catalog, Shown::default());
        assert!(text.contains(", launched once, not timed\n") && !text.contains('█'), "{text}");
        assert!(text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == ["0", "-"]), "{text}");
    }

    #[test]
    fn pairs_that_differ_most_are_shown_of_a_comparison() {
        let mut records = Vec::new();
        for offset in 0..20u32 {
            let ratio = if offset == 13 { 1.2 } else { 1.0 + f64::from(offset) / 1000.0 };
            let rust = row(offset, Precision::F32, Some(0.2 * ratio));
            records.push(Record { ratio_to_reference: Some(ratio), ..rust });
            records.push(Record { language: Language::CudaCpp, ..row(offset, Precision::F32, Some(0.2)) });
        }
        let text = shown(&records, &lesson("offset", CURVE, |_| None), Shown::default());
        let rows: Vec<&str> =
            text.lines().filter(|line| line.starts_with(|letter: char| letter.is_ascii_digit())).collect();
        assert_eq!(rows[2].split_whitespace().collect::<Vec<_>>(), ["13", "2237", "2684", "1.200!"]);
        assert_eq!(rows.len(), 8 + 2, "eight pairs, the setting and the count:\n{text}");
        assert!(text.contains("\n!: the ratio of the times is not within 0.98 to 1.02.\n"), "{text}");
    }
}
