//! The page of a fleet: the cards that need a look, how cards differ by component and by row, and the records.

use super::{
    figure::{self, Column, Drawing, Figure, scrolling},
    number::{count, px, rate},
    scale::Scale,
    whole,
};
use crate::terminal::fleet_verdict;
use fleet::{Fault, Finding, Group, Histogram, Report};
use maud::{Markup, PreEscaped, html};

/// The style of what this page alone draws; the pictures of the documentation hold the style of all.
const STYLE: &str = include_str!("fleet.css");

/// Findings that the page lists; a fleet in which more cards are slow has another problem.
const LISTED: usize = 2000;

/// The height of a histogram's bars.
const BARS: f64 = 130.0;

/// The height of a row in the chart of rows.
const ROW: f64 = 24.0;

/// The page as one text of HTML.
pub fn fleet(report: &Report) -> String {
    let title = format!("Fleet of {} cards", count(report.cards as u64));
    let body = html! {
        style { (PreEscaped(STYLE)) }
        a.skip href="#main" { "Skip to the findings" }
        (figure::definitions())
        header.top { p.brand { "Coalesce" } h1 { (title) } }
        main #main {
            section aria-labelledby="overview-title" {
                h2 #overview-title { "Which cards are slow" }
                p.finding { (fleet_verdict(report)) "." }
                (facts(report))
                (findings(report))
            }
            @if !report.troubles.is_empty() {
                section aria-labelledby="records-title" {
                    h2 #records-title { "Records" }
                    ul.findings { @for trouble in &report.troubles {
                        li class=[trouble.is_fault().then_some("invalid")] { (trouble) }
                    } }
                }
            }
            @for (nth, group) in report.groups.iter().enumerate().filter(|(_, group)| group.cards > 0) {
                (self::group(group, nth))
            }
        }
        footer { p { "Made by Coalesce from records alone. A card is slow in a component if its modified z-score (Iglewicz and
            Hoaglin) is above " (report.thresholds.score) " and its rows take at least "
            (percent(report.thresholds.slower)) " longer than the median card's, its clock taken out." } }
    };
    whole(&title, &body)
}

fn percent(part: f64) -> String {
    format!("{:.1}%", 100.0 * part)
}

fn facts(report: &Report) -> Markup {
    let slow = report.faulty().len();
    html! {
        dl.facts {
            div { dt { "Cards" } dd { span.figure { (count(report.cards as u64)) } } }
            div { dt { "Need a look" } dd { span.figure { (count(slow as u64)) } } }
            div { dt { "Ranks without records" } dd { span.figure { (count(u64::from(report.missing_ranks()))) } } }
            div { dt { "Rows read" } dd { span.figure { (count(report.rows_read)) }
                span.note { "a card, a kernel and a pass each" } } }
        }
    }
}

fn findings(report: &Report) -> Markup {
    if report.findings.is_empty() {
        return html! {};
    }
    let table = html! {
        table.numbers {
            thead { tr {
                th scope="col" { "Card" } th scope="col" { "Points to" } th scope="col" { "Slower" }
                th scope="col" { "When" } th scope="col" { "Score" } th.words scope="col" { "Why, and what to do" }
            } }
            tbody { @for finding in report.findings.iter().take(LISTED) { (self::finding(finding)) } }
        }
    };
    let rest = report.findings.len().saturating_sub(LISTED);
    html! {
        (scrolling("Cards that need a look", &table))
        @if rest > 0 { p.note { "And " (count(rest as u64)) " more; " code { "--json" } " has them all." } }
    }
}

fn finding(finding: &Finding) -> Markup {
    let wrong = finding.fault == Fault::Wrong;
    html! {
        tr data-fault=(finding.fault) data-cards=(finding.cards.len()) {
            th scope="row" {
                @match (&finding.host, finding.cards.first()) {
                    (Some(host), _) => { (host) ", " (finding.cards.len()) " cards" }
                    (None, Some(card)) => (card),
                    (None, None) => {},
                }
            }
            td { @if wrong { strong.invalid { (finding.fault) } } @else { (finding.fault) } }
            td { @if !wrong { (percent(finding.slower)) } }
            td { (finding.pattern) }
            td { @if !wrong { (format!("{:.1}", finding.score)) } }
            td.words { (finding.reason) }
        }
    }
}

/// The cards of one kind.
fn group(group: &Group, nth: usize) -> Markup {
    let kind = &group.kind;
    let version = if kind.version.is_empty() { String::new() } else { format!(", version {}", kind.version) };
    html! {
        section aria-labelledby={"group-" (nth)} {
            h2 id={"group-" (nth)} { (count(group.cards as u64)) " " (kind.device) }
            p.setting { (kind.multiprocessors) " SMs, " (kind.backend) (version) ", " (group.passes)
                @if group.passes == 1 { " pass" } @else { " passes" } }
            div.charts { @for component in &group.components {
                (histogram(component, group, &format!("group-{nth}-{}", component.component)).render())
            } }
            @if let Some(rows) = rows(group, &format!("group-{nth}-rows")) { (rows.render()) }
        }
    }
}

/// How cards differ in a component.
fn histogram(of: &Histogram, group: &Group, id: &str) -> Figure {
    let table = html! {
        table.numbers {
            thead { tr { th scope="col" { "Slower by" } th scope="col" { "Cards" } } }
            tbody {
                @for (nth, cards) in of.bins.iter().enumerate().filter(|(_, cards)| **cards > 0) {
                    tr { th scope="row" { (percent(bin(of, nth))) " to " (percent(bin(of, nth + 1))) } td { (cards) } }
                }
                @for (card, slower) in of.beyond.iter().take(200) { tr { th scope="row" { (card) } td { (percent(*slower)) } } }
            }
        }
    };
    let clock = if of.slope > 0.05 {
        format!(", {:.2} of the card's clock taken out", of.slope)
    } else {
        String::new()
    };
    Figure {
        id: id.to_string(),
        title: format!("{}: how {} cards differ", of.component, count(group.cards as u64)),
        description: format!(
            "Cards by their slowdown in {}; standard deviation {:.2}%, {} cards beyond six of them.",
            of.component.rows(),
            100.0 * of.sigma,
            of.beyond.len()
        ),
        notes: vec![format!(
            "By how much {} take longer than the median card's{clock}; bars by the square root of their cards, a dot for each \
             card beyond six standard deviations ({:.2}% each), by logarithms.",
            of.component.rows(),
            100.0 * of.sigma
        )],
        drawings: vec![drawing(of)],
        table: scrolling("Cards by slowdown", &table),
    }
}

/// The slowdown at which a bin begins.
fn bin(of: &Histogram, nth: usize) -> f64 {
    (nth as f64 / of.bins.len() as f64 * 2.0 - 1.0) * Histogram::REACH * of.sigma
}

fn drawing(of: &Histogram) -> Drawing {
    let width = Column::Middle.width();
    let (top, reach) = (28.0, Histogram::REACH * of.sigma);
    let bottom = top + BARS;
    // The last quarter is for cards that are far beyond.
    let inner = Scale::linear([-reach, reach], [8.0, width * 0.72]);
    let farthest = of.beyond.iter().map(|(_, slower)| *slower).fold(reach * 10.0, f64::max);
    let outer = Scale::logarithmic([reach, farthest * 1.1], [width * 0.74, width - 8.0]);
    let most = f64::from(of.bins.iter().copied().max().unwrap_or(1).max(1));
    let step = (inner.at(reach) - inner.at(-reach)) / of.bins.len() as f64;
    let at = |slower: f64| if slower <= reach { inner.at(slower) } else { outer.at(slower) };
    let marks = html! {
        @for (nth, cards) in of.bins.iter().enumerate().filter(|(_, cards)| **cards > 0) {
            @let height = BARS * (f64::from(*cards) / most).sqrt();
            rect.cards x=(px(inner.at(-reach) + nth as f64 * step)) y=(px(bottom - height)) width=(px(step)) height=(px(height))
                data-x=(bin(of, nth)) data-y=(cards) {
                title { (percent(bin(of, nth))) ": " (cards) " cards" }
            }
        }
        line.notch x1="8" x2=(px(width - 8.0)) y1=(px(bottom)) y2=(px(bottom)) {}
        @for tick in [-reach, 0.0, reach] {
            text.tick.middle x=(px(at(tick).max(22.0))) y=(px(bottom + 18.0)) { (format!("{:.1}%", 100.0 * tick)) }
        }
        text.tick.end x=(px(width - 6.0)) y=(px(bottom + 18.0)) { (format!("{:.0}%", 100.0 * farthest)) }
        line.limit x1=(px(at(of.limit))) x2=(px(at(of.limit))) y1=(px(top - 10.0)) y2=(px(bottom)) {}
        text.limit-name.end x=(px(at(of.limit) - 5.0)) y="16" { "slow from " (percent(of.limit)) }
        @for (nth, (card, slower)) in of.beyond.iter().enumerate().filter(|(_, (_, slower))| *slower > 0.0) {
            // Cards of about the same slowdown stand above each other.
            circle.odd cx=(px(at(*slower))) cy=(px(bottom - 8.0 - (nth * 11 % 110) as f64)) r="4" data-x=(slower) {
                title { (card) ": " (percent(*slower)) }
            }
        }
        text.unit.middle x=(px(width * 0.36)) y=(px(bottom + 36.0)) { "slower than the median card" }
    };
    Drawing { column: Column::Middle, height: bottom + 44.0, marks }
}

/// How cards differ in each row: from the 1st to the 99th percentile.
fn rows(group: &Group, id: &str) -> Option<Figure> {
    // Very many rows are read as a table.
    const DRAWN: usize = 60;
    let shown: Vec<_> = group.rows.iter().take(DRAWN).collect();
    let width = Column::Wide.width();
    let slower = |row: &fleet::RowReport, figure: f64| {
        if row.unit.contains("/s") { row.median / figure - 1.0 } else { figure / row.median - 1.0 }
    };
    let widest = shown
        .iter()
        .flat_map(|row| row.quantiles.map(|figure| slower(row, figure).abs()))
        .fold(0.01, f64::max);
    let scale = Scale::linear([-widest * 1.05, widest * 1.05], [250.0, width - 90.0]);
    let height = |nth: usize| 34.0 + ROW * nth as f64;
    let bottom = height(shown.len());
    let marks = html! {
        text.unit.end x=(px(width - 4.0)) y="14" { "slowest" }
        text.unit.middle x=(px(scale.at(0.0))) y="14" { "slower than the median card" }
        @for tick in scale.ticks(6) {
            line.grid x1=(px(scale.at(tick))) x2=(px(scale.at(tick))) y1="22" y2=(px(bottom)) {}
            text.tick.middle x=(px(scale.at(tick))) y=(px(bottom + 16.0)) { (percent(tick)) }
        }
        @for (nth, row) in shown.iter().enumerate() {
            @let [p99, _, p75, p25, _, p1] = row.quantiles.map(|figure| scale.at(slower(row, figure)));
            @let y = height(nth) + 8.0;
            text.tick.end x="238" y=(px(y + 4.0)) { (cut(row)) }
            line.range x1=(px(p1)) x2=(px(p99)) y1=(px(y)) y2=(px(y)) {}
            rect.cards x=(px(p25)) y=(px(y - 6.0)) width=(px((p75 - p25).max(1.5))) height="12" data-kernel=(row.kernel) data-y=(row.sigma) {
                title { (row.kernel) ", " (row.parameters) ": median " (rate(row.median)) " " (row.unit) ", sigma " (percent(row.sigma)) }
            }
            text.figure.end x=(px(width - 4.0)) y=(px(y + 4.0)) { (percent(row.slowest.slower)) }
        }
    };
    let table = html! {
        table.numbers {
            thead { tr {
                th scope="col" { "Row" } th scope="col" { "Unit" } th scope="col" { "Points to" } th scope="col" { "Cards" }
                th scope="col" { "Median" } th scope="col" { "Sigma" } th scope="col" { "Slowest 1%" } th scope="col" { "Fastest 1%" }
                th scope="col" { "Slowest" } th scope="col" { "Slowest card" } th scope="col" { "Score" }
            } }
            tbody { @for row in &group.rows { tr {
                th scope="row" { (row.kernel) ", " (row.parameters) }
                td { (row.unit) }
                td { @if let Some(component) = row.component { (component) } }
                td { (count(row.cards as u64)) } td { (rate(row.median)) } td { (format!("{:.2}%", 100.0 * row.sigma)) }
                td { (rate(row.quantiles[0])) } td { (rate(row.quantiles[5])) }
                td { (rate(row.slowest.figure)) } td { (row.slowest.card) } td { (format!("{:.1}", row.slowest.score)) }
            } } }
        }
    };
    (!shown.is_empty()).then(|| Figure {
        id: id.to_string(),
        title: format!("How cards differ in each row, of {} {}", count(group.cards as u64), group.kind.device),
        description: "The slowdown of cards against the median card, row by row.".to_string(),
        notes: vec![
            "Lines run from the fastest to the slowest hundredth of the cards, boxes over the middle half. Clocks are in it: \
             rows that follow the clock differ as clocks do."
                .to_string(),
        ],
        drawings: vec![Drawing { column: Column::Wide, height: bottom + 28.0, marks }],
        table: scrolling("How cards differ in each row", &table),
    })
}

/// A row's name where there is little room.
fn cut(row: &fleet::RowReport) -> String {
    const ROOM: usize = 34;
    let name = match row.parameters.as_str() {
        "" => row.kernel.clone(),
        parameters => format!("{}, {parameters}", row.kernel),
    };
    if name.chars().count() <= ROOM {
        name
    } else {
        name.chars().take(ROOM - 2).chain("..".chars()).collect()
    }
}
