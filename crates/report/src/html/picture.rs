//! Charts as a picture of their own, for a document or a talk.

use super::{
    Report, STYLE,
    figure::{Column, Drawing, Figure, definitions},
    lesson,
    number::px,
};
use maud::{PreEscaped, html};

/// Room around each chart, and for the words above it.
const GAP: f64 = 28.0;
const HEAD: f64 = 44.0;

/// A figure's drawing for narrow columns.
fn narrow(figure: &Figure) -> Option<&Drawing> {
    figure.drawings.iter().find(|drawing| drawing.column == Column::Narrow)
}

/// The charts of some lessons as one SVG: a row for each lesson, a column for each run. `None` where none of the lessons is drawn as
/// curves or a roofline.
///
/// The picture follows the reader's light or dark theme and needs nothing beside it.
pub fn picture(report: &Report<'_>, lessons: &[&str]) -> Option<String> {
    let sections = lesson::sections(report);
    let wanted = lessons.iter().filter_map(|name| sections.iter().find(|section| section.name == *name));
    let rows: Vec<Vec<Figure>> = wanted
        .map(|section| {
            let runs = section.runs();
            let mut figures = section.squares(&runs);
            figures.extend(runs.iter().flat_map(|(nth, run, rows)| section.figures(*nth, run, rows)));
            figures
        })
        .filter(|figures| !figures.is_empty())
        .collect();
    let width = rows.iter().map(Vec::len).max()? as f64 * (Column::Narrow.width() + GAP) + GAP;
    let mut tops = vec![GAP];
    for row in &rows {
        let tallest = row.iter().filter_map(narrow).map(|drawing| drawing.height).fold(0.0, f64::max);
        tops.push(tops[tops.len() - 1] + HEAD + tallest + GAP);
    }
    let height = tops[rows.len()];
    let charts = html! {
        @for (row, top) in rows.iter().zip(&tops) {
            @for (nth, figure) in row.iter().enumerate() {
                @let left = px(GAP + nth as f64 * (Column::Narrow.width() + GAP));
                @let (what, whose) = figure.title.split_once(", ").unwrap_or((&figure.title, ""));
                text.title x=(left) y=(px(top + 12.0)) { (what) }
                text x=(left) y=(px(top + 29.0)) { (whose) }
                @if let Some(drawing) = narrow(figure) {
                    svg x=(left) y=(px(top + HEAD)) width=(drawing.column.width()) height=(px(drawing.height))
                        viewBox={"0 0 " (drawing.column.width()) " " (px(drawing.height))} { (drawing.marks) }
                }
            }
        }
    };
    let says: Vec<&str> = rows.iter().flatten().map(|figure| figure.description.as_str()).collect();
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" width=(px(width)) height=(px(height))
            viewBox={"0 0 " (px(width)) " " (px(height))} {
            title { (rows.iter().flatten().map(|figure| figure.title.as_str()).collect::<Vec<_>>().join("; ")) }
            desc { (says.join(" ")) }
            style { (PreEscaped(STYLE)) }
            rect.paper width="100%" height="100%" {}
            (definitions())
            (charts)
        }
    };
    Some(picture.into_string())
}
