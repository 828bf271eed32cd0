//! Several cards of a machine side by side: a table per experiment with a column per card, and who is slow.

use super::{
    experiments,
    figures::short,
    layout::{INVALID, Table, wrapped},
    map::squares,
    style::{Ink, Style},
};
use crate::{Catalog, Picture};
use fleet::robust::Spread;
use record::{Bytes, Language, Record, Run};
use std::{collections::BTreeSet, fmt::Write};

/// Fewest cards of which one can be told to be odd.
const FEWEST: usize = 5;

/// The modified z-score from which on a card is odd, as Iglewicz and Hoaglin recommend.
const ODD: f64 = 3.5;

/// The least difference that matters, as a part of the time.
const MATTERS: f64 = 0.02;

/// The rows of some cards side by side.
pub fn side_by_side(cards: &[(&Run, &[Record])], catalog: &Catalog, style: Style) -> String {
    let mut text = String::new();
    for (nth, (run, _)) in cards.iter().enumerate() {
        let device = &run.device;
        let _ = writeln!(
            text,
            "card {nth}: cuda:{} {}, {}",
            device.ordinal,
            device.plain_name(),
            device.backend()
        );
    }
    let mut slow = vec![Slow::default(); cards.len()];
    let relative: Vec<Vec<Record>> =
        cards.iter().map(|(run, records)| seen_from(run.device.ordinal, records)).collect();
    for rows in experiments(&distinct(&relative)) {
        let Some(experiment) = rows.first().map(|row| row.experiment.as_str()) else { continue };
        let lesson = catalog.lesson(experiment);
        let summary = lesson.map(|lesson| format!(": {}", lesson.summary)).unwrap_or_default();
        let title = wrapped(&format!("{experiment}{summary}"), style.prose());
        let _ = writeln!(text, "\n{}\n", style.paint(Ink::Strong, &title));
        let mut rows = rows;
        if let Some(Picture::Matrix { to, from, .. }) = lesson.map(|lesson| lesson.picture) {
            let all = cards.iter().flat_map(|(_, records)| records.iter());
            let of_all: Vec<&Record> = all.filter(|row| row.experiment == experiment).collect();
            if let (Some(squares), _) = squares(&of_all, [to, from], style) {
                let faster = "Of a pair that two cards measured, the faster copy.";
                let _ = writeln!(text, "{squares}\n{}\n", style.paint(Ink::Faint, faster));
                rows.retain(|row| row.language != Language::Driver);
            }
            if rows.is_empty() {
                continue;
            }
        }
        let names = (0..cards.len()).map(|nth| format!("card {nth}"));
        let [kernel, unit, spread, slowest] = ["kernel", "unit", "spread", "slowest"].map(str::to_string);
        let header = [kernel, unit].into_iter().chain(names).chain([spread, slowest]);
        let mut table = Table::new(header.collect(), 2);
        let named = |row: &&Record| (row.kernel.clone(), row.parameters.label());
        let has_blocks = rows.iter().map(named).collect::<BTreeSet<_>>().len() < rows.len();
        let size = Bytes(rows[0].parameters.bytes).to_string();
        let of_one_size = rows.iter().all(|row| row.parameters.bytes == rows[0].parameters.bytes);
        if of_one_size {
            let _ = writeln!(text, "{}\n", style.paint(Ink::Faint, &size));
        }
        for row in rows {
            let of_cards: Vec<Option<&Record>> =
                relative.iter().map(|records| records.iter().find(|other| other.is_same_row(row))).collect();
            let mut cells = line(row, has_blocks, &of_cards, &mut slow);
            if of_one_size && let Some(short) = cells[0].strip_suffix(&format!(", {size}")) {
                cells[0] = short.to_string();
            }
            table.add(cells);
        }
        let _ = writeln!(text, "{}", table.stacked(style));
    }
    let _ = writeln!(text, "\n{}", wrapped(&verdict(cards, &slow), style.prose()));
    text
}

/// Returns the rows of a card with the cards in their parameters renamed from its point of view, so that rows of two cards
/// compare: `card 1` becomes `own` in the rows of card 1, and `next` in those of the other cards.
fn seen_from(ordinal: u32, records: &[Record]) -> Vec<Record> {
    let own = format!("card {ordinal}");
    let mut records = records.to_vec();
    for row in records.iter_mut().filter(|row| row.language != Language::Driver) {
        for value in row.parameters.more.values_mut() {
            let Some(name) = value.as_str().filter(|name| name.starts_with("card ")) else { continue };
            *value = if name == own { "own" } else { "next" }.into();
        }
    }
    records
}

/// Each row of any card once, by the first card that has it: of copies between cards, each card has its own pairs.
fn distinct(cards: &[Vec<Record>]) -> Vec<Record> {
    let mut distinct: Vec<Record> = Vec::new();
    for row in cards.iter().flatten() {
        if !distinct.iter().any(|known| known.is_same_row(row)) {
            distinct.push(row.clone());
        }
    }
    distinct
}

/// The rows in which a card is slow.
#[derive(Clone, Debug, Default)]
struct Slow {
    rows: usize,
    compared: usize,
    worst: f64,
    kernel: String,
}

/// A row of the table, with its block if rows differ in it; counts in which rows which card is slow.
fn line(row: &Record, has_blocks: bool, of_cards: &[Option<&Record>], slow: &mut [Slow]) -> Vec<String> {
    let parameters = [row.kernel.clone(), row.parameters.label()];
    let block = row.parameters.block.filter(|_| has_blocks).map(|block| format!("block {block}"));
    let label: Vec<String> =
        parameters.into_iter().chain(block).filter(|parameter| !parameter.is_empty()).collect();
    let figures = of_cards.iter().map(|record| match record {
        Some(record) if !record.verified => INVALID.to_string(),
        Some(record) => record.figure().map(short).unwrap_or_default(),
        None => String::new(),
    });
    let (spread, slowest) = compared(row, of_cards, slow).unwrap_or_default();
    let named = [label.join(", "), row.measure().unit().to_string()];
    named.into_iter().chain(figures).chain([spread, slowest]).collect()
}

/// How far the cards of a row differ, and the slowest card if it is odd; counts in which rows which card is slow. `None` where
/// fewer than two have a time.
fn compared(row: &Record, of_cards: &[Option<&Record>], slow: &mut [Slow]) -> Option<(String, String)> {
    let times: Vec<(usize, f64)> = of_cards
        .iter()
        .enumerate()
        .filter_map(|(nth, record)| Some((nth, record.as_ref()?.time_ms?.median.ln())))
        .collect();
    if times.len() < 2 {
        return None;
    }
    let &(slowest, longest) = times.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let shortest = times.iter().map(|(_, log)| *log).fold(f64::INFINITY, f64::min);
    for (nth, _) in &times {
        slow[*nth].compared += 1;
    }
    let spread = (longest - shortest).exp() - 1.0;
    let logs: Vec<f64> = times.iter().map(|(_, log)| *log).collect();
    let usual = Spread::of(&logs)?.at_least(MATTERS / 10.0);
    let (beyond, is_odd) = match times.len() {
        ..FEWEST => (spread, spread >= MATTERS),
        _ => {
            let beyond = (longest - usual.median).exp() - 1.0;
            (beyond, beyond >= MATTERS && usual.score(longest) > ODD)
        }
    };
    if is_odd {
        let of_card = &mut slow[slowest];
        of_card.rows += 1;
        if beyond > of_card.worst {
            (of_card.worst, of_card.kernel) = (beyond, row.kernel.clone());
        }
    }
    let odd = if is_odd { format!("card {slowest}") } else { String::new() };
    Some((format!("{:.1}%", 100.0 * spread), odd))
}

/// Which card is slow, in a sentence.
fn verdict(cards: &[(&Run, &[Record])], slow: &[Slow]) -> String {
    let compared = slow.iter().map(|slow| slow.compared).max().unwrap_or(0);
    if compared == 0 {
        return "The cards have no timed row in common.".to_string();
    }
    let mut sentences: Vec<String> = slow
        .iter()
        .enumerate()
        .filter(|(_, slow)| slow.rows > 0)
        .map(|(nth, slow)| {
            format!(
                "Card {nth} is the slowest in {} of {} rows, in {} by {:.1}%.",
                slow.rows,
                slow.compared,
                slow.kernel,
                100.0 * slow.worst
            )
        })
        .collect();
    if sentences.is_empty() {
        let all = match cards.len() {
            ..FEWEST => {
                format!("In all {compared} rows the cards are within {:.0}% of each other.", 100.0 * MATTERS)
            }
            _ => format!(
                "In none of {compared} rows is a card slower than the others by more than they differ."
            ),
        };
        sentences.push(all);
    } else if cards.len() < FEWEST {
        sentences.push(format!(
            "With {} cards a difference of {:.0}% is named; which card is odd can be told from {FEWEST} on.",
            cards.len(),
            100.0 * MATTERS
        ));
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::row as timed;
    use record::Precision;

    /// A row of a kernel that takes so long.
    fn row(ms: f64) -> Record {
        timed(0, Precision::F32, Some(ms))
    }

    #[test]
    fn what_each_does_with_the_next_is_one_row() {
        let of = |memory: &str| {
            let row = row(1.0);
            Record { parameters: row.parameters.clone().with("memory", memory), ..row }
        };
        let seen = [(0, of("card 1")), (1, of("card 0"))].map(|(ordinal, row)| seen_from(ordinal, &[row]));
        assert!(seen[0][0].is_same_row(&seen[1][0]));
        assert_eq!(seen[0][0].parameters.more["memory"], "next");
        assert_eq!(distinct(&seen).len(), 1);
        assert_eq!(seen_from(3, &[of("card 3")])[0].parameters.more["memory"], "own");
    }

    #[test]
    fn two_cards_differ_and_of_six_one_is_odd() {
        let mut slow = vec![Slow::default(); 6];
        let rows: Vec<Record> = [1.0, 1.1].map(row).to_vec();
        let cells = line(&rows[0], false, &[Some(&rows[0]), Some(&rows[1])], &mut slow);
        assert_eq!(cells[4..], ["10.0%", "card 1"]);
        let rows: Vec<Record> = [1.0, 1.001, 0.999, 1.002, 0.998, 1.05].map(row).to_vec();
        let of: Vec<Option<&Record>> = rows.iter().map(Some).collect();
        let cells = line(&rows[0], false, &of, &mut slow);
        assert_eq!(cells[8..], ["5.2%", "card 5"]);
        assert_eq!((slow[1].rows, slow[5].rows), (1, 1));
        assert!((slow[5].worst - 0.0495).abs() < 0.001, "{}", slow[5].worst);
        // Those that differ alike have none that is odd.
        let rows: Vec<Record> = [1.0, 1.02, 0.98, 1.04, 0.96, 1.05].map(row).to_vec();
        let of: Vec<Option<&Record>> = rows.iter().map(Some).collect();
        assert_eq!(line(&rows[0], false, &of, &mut slow)[8..], ["9.4%", ""]);
    }
}
