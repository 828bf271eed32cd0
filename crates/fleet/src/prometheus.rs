//! The report as a text file for the textfile collector of Prometheus's node exporter.

use crate::report::{Fault, Pattern, Report};
use std::fmt::Write;

/// Writes the report in Prometheus's text format (version 0.0.4).
///
/// | metric | meaning |
/// | --- | --- |
/// | `coalesce_fleet_cards` | cards that were judged |
/// | `coalesce_fleet_rows` | rows that were read |
/// | `coalesce_fleet_missing_ranks` | ranks without a record |
/// | `coalesce_fleet_troubles` | files, ranks and cards that could not be judged |
/// | `coalesce_card_slower_ratio` | of a card with a finding, by what part its rows take longer, by `component` and `pattern` |
/// | `coalesce_card_score` | its modified z-score |
/// | `coalesce_card_wrong` | 1 for a card whose results did not verify |
/// | `coalesce_row_sigma_ratio` | the robust standard deviation of a row over cards |
/// | `coalesce_row_median` | the median card's figure, in the unit of the label |
///
/// Cards without a finding have no series, so that a sound fleet of any size has a few lines.
pub fn prometheus(report: &Report) -> String {
    let mut out = String::new();
    let gauge = |out: &mut String, name: &str, help: &str| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
    };
    let mut single = |name: &str, help: &str, value: f64| {
        gauge(&mut out, name, help);
        let _ = writeln!(out, "{name} {value}");
    };
    single("coalesce_fleet_cards", "Cards that have records.", report.cards as f64);
    single("coalesce_fleet_rows", "Rows that were read.", report.rows_read as f64);
    single("coalesce_fleet_missing_ranks", "Ranks without a record.", f64::from(report.missing_ranks()));
    let troubles = report.troubles.iter().filter(|trouble| trouble.is_fault()).count();
    single("coalesce_fleet_troubles", "Files, ranks and cards that could not be judged.", troubles as f64);
    let of_cards = |out: &mut String, name: &str, value: &dyn Fn(f64, f64) -> f64| {
        for finding in &report.findings {
            let Fault::Slow(component) = finding.fault else { continue };
            let pattern = if finding.pattern == Pattern::Always { "always" } else { "at-times" };
            for card in &finding.cards {
                let _ = writeln!(
                    out,
                    "{name}{{host=\"{}\",card=\"{}\",uuid=\"{}\",component=\"{}\",pattern=\"{pattern}\"}} {}",
                    escaped(&card.host),
                    card.ordinal,
                    escaped(card.uuid.as_deref().unwrap_or_default()),
                    component.to_string().to_lowercase(),
                    value(finding.slower, finding.score),
                );
            }
        }
    };
    gauge(&mut out, "coalesce_card_slower_ratio", "By what part the rows of a slow card take longer.");
    of_cards(&mut out, "coalesce_card_slower_ratio", &|slower, _| slower);
    gauge(&mut out, "coalesce_card_score", "The modified z-score of a slow card.");
    of_cards(&mut out, "coalesce_card_score", &|_, score| score);
    gauge(&mut out, "coalesce_card_wrong", "1 for a card whose results did not verify.");
    for card in
        report.findings.iter().filter(|finding| finding.fault == Fault::Wrong).flat_map(|one| &one.cards)
    {
        let (host, uuid) = (escaped(&card.host), escaped(card.uuid.as_deref().unwrap_or_default()));
        let _ = writeln!(
            out,
            "coalesce_card_wrong{{host=\"{host}\",card=\"{}\",uuid=\"{uuid}\"}} 1",
            card.ordinal
        );
    }
    for (name, help) in [
        ("coalesce_row_sigma_ratio", "The robust standard deviation of a row over cards."),
        ("coalesce_row_median", "The median card's figure of a row."),
    ] {
        gauge(&mut out, name, help);
        for group in &report.groups {
            for row in &group.rows {
                let value = if name == "coalesce_row_median" { row.median } else { row.sigma };
                let _ = writeln!(
                    out,
                    "{name}{{device=\"{}\",version=\"{}\",experiment=\"{}\",kernel=\"{}\",parameters=\"{}\",unit=\"{}\"}} {value}",
                    escaped(&group.kind.device),
                    escaped(&group.kind.version),
                    escaped(&row.experiment),
                    escaped(&row.kernel),
                    escaped(&row.parameters),
                    row.unit,
                );
            }
        }
    }
    out
}

/// A label's value with its backslashes, quotes and ends of lines escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
