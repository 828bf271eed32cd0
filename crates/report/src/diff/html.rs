//! A comparison as a section of a page: a summary, and a table with a group of rows for each kind of change.

use super::{
    Change, Comparison, Pair,
    text::{GROUPS, figures, headings, summary, with_unit},
};
use std::fmt::Write;

/// The section. Rows that stayed the same are there as well, in a table that is folded.
pub(super) fn section(comparison: &Comparison<'_>) -> String {
    let (a, b) = (&comparison.a, &comparison.b);
    let mut out = format!(
        "<section id=\"diff\" class=\"diff\">\n<h2>{} against {}</h2>\n<p>A is {}, B is {}. {} {}</p>\n",
        escaped(b.name),
        escaped(a.name),
        escaped(&format!("{} on {}, {}", a.name, a.device.plain_name(), a.backend)),
        escaped(&format!("{} on {}, {}", b.name, b.device.plain_name(), b.backend)),
        escaped(&comparison.differences().join(" ")),
        escaped(&summary(comparison)),
    );
    let folded = |change| matches!(change, Change::Same | Change::New | Change::Gone);
    let groups = || {
        let more = [(Change::New, "new in B"), (Change::Gone, "missing in B")];
        GROUPS.into_iter().map(|(change, heading, _)| (change, heading)).chain(more)
    };
    out.push_str(&table(comparison, groups().filter(|(change, _)| !folded(*change))));
    let rest = table(comparison, groups().filter(|(change, _)| folded(*change)));
    if !rest.is_empty() {
        let _ =
            write!(out, "<details><summary>Unchanged, new and missing rows</summary>\n{rest}</details>\n");
    }
    out.push_str("</section>\n");
    out
}

/// A table of these groups; nothing where no row is in one.
fn table(comparison: &Comparison<'_>, groups: impl Iterator<Item = (Change, &'static str)>) -> String {
    let mut body = String::new();
    for (change, heading) in groups.filter(|(change, _)| comparison.count(*change) > 0) {
        let _ = writeln!(
            body,
            "<tbody>\n<tr><th colspan=\"5\" scope=\"rowgroup\">{}</th></tr>",
            escaped(heading)
        );
        for row in comparison.rows.iter().filter(|row| row.change == change) {
            body.push_str(&line(row));
        }
        body.push_str("</tbody>\n");
    }
    if body.is_empty() {
        return body;
    }
    let [a, b, ratio] = headings(comparison);
    let heads = ["row", a, b, ratio, "95% interval"].map(|head| format!("<th scope=\"col\">{head}</th>"));
    format!(
        "<table>\n<caption>Median times of both runs and their ratio</caption>\n<thead><tr>{}</tr></thead>\n{body}</table>\n",
        heads.concat()
    )
}

/// A row of a table, with its figures as attributes.
fn line(row: &Pair<'_>) -> String {
    let cells = figures(row).map(|figure| format!("<td>{}</td>", escaped(figure.trim())));
    let ratio = row.ratio.map(|ratio| format!(" data-ratio=\"{ratio}\"")).unwrap_or_default();
    format!(
        "<tr data-experiment=\"{}\" data-kernel=\"{}\"{ratio}><th scope=\"row\">{}</th>{}</tr>\n",
        escaped(row.experiment),
        escaped(row.kernel),
        escaped(&with_unit(row)),
        cells.concat()
    )
}

/// Text for an element or an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
