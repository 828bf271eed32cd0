//! Writes what a judgement found into docs/fidelity.md, between two markers, and draws the errors' distribution.

use crate::{
    cases::Group,
    judge::{Pair, errors_of, of_group, reasons},
};
use anyhow::{Context, Result};
use std::{fmt::Write, fs, path::Path};

const BEGIN: &str = "<!-- foreign -->";
const END: &str = "<!-- end of foreign -->";

/// Rows of the table of the worst.
const WORST: usize = 10;

/// The largest error of the picture; larger ones are drawn at its edge.
const WIDEST: f64 = 1.0;

/// Colours of the groups' curves.
const COLOURS: [&str; Group::ALL.len()] = ["#888888", "#2e8b57", "#c8641e", "#1f6fb4"];

/// Replaces the part between the markers of a page. Rows of the unseen kernels are named only if they are to be revealed.
///
/// # Errors
/// The page cannot be read or written, or lacks the markers.
pub(crate) fn write(page: &Path, (pairs, untimed): (&[Pair], &[Pair]), reveal: bool) -> Result<()> {
    let old = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let (before, rest) =
        old.split_once(BEGIN).with_context(|| format!("{} lacks {BEGIN}", page.display()))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{} lacks {END}", page.display()))?;
    let new = format!("{before}{BEGIN}\n\n{}\n{END}{after}", text(pairs, untimed, reveal));
    fs::write(page, new).with_context(|| format!("cannot write {}", page.display()))
}

fn text(pairs: &[Pair], untimed: &[Pair], reveal: bool) -> String {
    let mut text = String::from(
        "| kernels | rows | median error | a tenth are off by more than |\n| --- | --: | --: | --: |\n",
    );
    // Writing to a string cannot fail.
    for group in Group::ALL {
        if let Some(errors) = errors_of(&of_group(pairs, group)) {
            let (median, p90) = (errors.median_in_words(), errors.p90_in_words());
            let _ = writeln!(text, "| {group} | {} | {median} | {p90} |", errors.count);
        }
    }
    for group in Group::ALL {
        for (why, count) in reasons(untimed, group) {
            let rows = if count == 1 { "row has" } else { "rows have" };
            let _ = writeln!(text, "\nOf the {group} kernels {count} more {rows} {why}.");
        }
    }
    for group in Group::ALL.into_iter().filter(|group| reveal || group.is_open()) {
        let mut worst = of_group(pairs, group);
        if worst.is_empty() {
            continue;
        }
        // A time that is half of the measured one is as far off as one that is twice as long.
        worst.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        let _ = writeln!(
            text,
            "\nThe worst of the {group} kernels:\n\n| kernel | category | parameters | measured us | simulated / measured |\n| --- | --- | --- | --: | --: |"
        );
        for Pair { measured, ratio, .. } in worst.into_iter().take(WORST) {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {:.1} | {ratio:.2} |",
                measured.kernel,
                measured.category,
                measured.parameters,
                measured.times.median * 1e3
            );
        }
    }
    text
}

/// Draws, for each group, the share of rows over the error that they do not exceed.
///
/// # Errors
/// The picture cannot be written.
pub(crate) fn draw(picture: &Path, pairs: &[Pair]) -> Result<()> {
    let (width, height, left, bottom) = (640.0, 360.0, 60.0, 310.0);
    let x = |error: f64| left + error.min(WIDEST) / WIDEST * (width - left - 20.0);
    let y = |share: f64| bottom - share * (bottom - 20.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for tenth in 0..=10 {
        let share = f64::from(tenth) / 10.0;
        if tenth % 2 == 0 {
            let (at, label) = (y(share), tenth * 10);
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}%</text>",
                x(WIDEST),
                left - 8.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}%</text>",
            x(share * WIDEST),
            bottom + 18.0,
            tenth * 10
        );
    }
    for (row, (group, colour)) in Group::ALL.into_iter().zip(COLOURS).enumerate() {
        let mut errors: Vec<f64> = of_group(pairs, group).iter().map(|pair| pair.error()).collect();
        if errors.is_empty() {
            continue;
        }
        errors.sort_by(f64::total_cmp);
        let mut path = format!("M{:.1} {:.1}", x(0.0), y(0.0));
        for (at, error) in errors.iter().enumerate() {
            let _ = write!(path, "H{:.1}V{:.1}", x(*error), y((at + 1) as f64 / errors.len() as f64));
        }
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\" text-anchor=\"end\">{group}, {} rows</text>",
            x(WIDEST) - 10.0,
            y(0.22) + 18.0 * row as f64,
            errors.len()
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">error of the modelled time, at most</text>\n</svg>",
        x(WIDEST / 2.0),
        bottom + 40.0
    );
    fs::write(picture, svg).with_context(|| format!("cannot write {}", picture.display()))
}
