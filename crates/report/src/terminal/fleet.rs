//! A fleet in the terminal: the cards that need a look and why, what keeps others from being judged, and distributions.

use super::{
    figures::short,
    layout::{Table, hanging, wrapped},
    style::{Ink, Style},
};
use fleet::{FEWEST_CARDS, Fault, Finding, Group, Pattern, Report};
use std::{collections::BTreeMap, fmt::Write};

/// Findings of each fault that are shown without `--verbose`.
const SHOWN: usize = 5;

/// The report as text.
pub fn fleet(report: &Report, verbose: bool, style: Style) -> String {
    let mut text = String::new();
    let runs = match &report.runs[..] {
        [] => String::new(),
        [one] if !one.is_empty() => format!(" of run {one}"),
        several => format!(" of {} runs", several.len()),
    };
    let head = format!(
        "{} cards, {} rows{runs}, from {} files",
        grouped(report.cards as u64),
        grouped(report.rows_read),
        grouped(report.files as u64)
    );
    let _ = writeln!(text, "{}", style.paint(Ink::Strong, &head));
    for group in &report.groups {
        let _ = writeln!(text, "\n{}\n", wrapped(&title(group), style.prose()));
        if group.cards >= FEWEST_CARDS && !group.components.is_empty() {
            let _ = writeln!(text, "{}", components(group).text(style));
        }
        if verbose {
            let _ = writeln!(text, "\n{}", rows(group).text(style));
        }
    }
    if !report.findings.is_empty() {
        let _ = writeln!(text, "\n{}", style.paint(Ink::Strong, "Cards that need a look"));
        text.push_str(&findings(report, if verbose { usize::MAX } else { SHOWN }, style));
    }
    if !report.troubles.is_empty() {
        let _ = writeln!(text, "\n{}\n", style.paint(Ink::Strong, "Records"));
        for trouble in &report.troubles {
            let mark = if trouble.is_fault() { "!" } else { "-" };
            let _ = writeln!(
                text,
                "{mark} {}",
                hanging(&trouble.to_string(), style.prose().saturating_sub(2), 2)
            );
        }
    }
    let _ = writeln!(text, "\n{}", style.paint(Ink::Strong, &wrapped(&fleet_verdict(report), style.prose())));
    text
}

/// The report in one sentence.
pub fn fleet_verdict(report: &Report) -> String {
    let faults = report.troubles.iter().filter(|trouble| trouble.is_fault()).count();
    let records = match faults {
        0 => String::new(),
        1 => "one thing is wrong with the records".to_string(),
        count => format!("{} things are wrong with the records", grouped(count as u64)),
    };
    let cards = grouped(report.cards as u64);
    if report.findings.is_empty() {
        return match faults {
            0 => format!("no card of {cards} is slow"),
            _ => format!("no card of {cards} is slow, but {records}"),
        };
    }
    let mut by_fault: BTreeMap<Fault, usize> = BTreeMap::new();
    for finding in &report.findings {
        *by_fault.entry(finding.fault).or_default() += finding.cards.len();
    }
    let each: Vec<String> =
        by_fault.iter().map(|(fault, count)| format!("{fault} {}", grouped(*count as u64))).collect();
    let faulty = report.faulty().len();
    let need = if faulty == 1 { "needs" } else { "need" };
    let rest = if faults == 0 { String::new() } else { format!("; {records}") };
    format!("{} of {cards} cards {need} a look ({}){rest}", grouped(faulty as u64), each.join(", "))
}

/// The cards of a kind, in a sentence.
fn title(group: &Group) -> String {
    let kind = &group.kind;
    let version = if kind.version.is_empty() { String::new() } else { format!(", version {}", kind.version) };
    format!(
        "{} {} with {} SMs, {}{version}: {} rows, {}",
        grouped(group.cards as u64),
        kind.device,
        kind.multiprocessors,
        kind.backend,
        group.rows.len(),
        if group.passes == 1 { "1 pass".to_string() } else { format!("{} passes", group.passes) },
    )
}

/// The findings, those of one fault together below the reason of the worst of them.
fn findings(report: &Report, shown: usize, style: Style) -> String {
    let mut alike: Vec<Vec<&Finding>> = Vec::new();
    let same = |one: &Finding, other: &Finding| {
        one.fault == other.fault && (one.pattern == Pattern::Always) == (other.pattern == Pattern::Always)
    };
    for finding in &report.findings {
        match alike.iter_mut().find(|group| same(group[0], finding)) {
            Some(group) => group.push(finding),
            None => alike.push(vec![finding]),
        }
    }
    let mut text = String::new();
    for group in alike {
        text.push('\n');
        for finding in group.iter().take(shown) {
            let _ = writeln!(text, "{}", style.paint(Ink::Warm, &heading(finding)));
        }
        if group.len() > shown {
            let rest = grouped((group.len() - shown) as u64);
            let _ = writeln!(text, "and {rest} more, which --verbose and the page show");
        }
        let of = if group.len() > 1 { "the first: " } else { "" };
        let reason = format!("{of}{}", group[0].reason);
        let _ = writeln!(text, "    {}", hanging(&reason, style.prose().saturating_sub(4), 4));
    }
    text
}

/// A finding's first line.
fn heading(finding: &Finding) -> String {
    let who = match (&finding.host, &finding.cards[..]) {
        (Some(host), cards) => format!("{host} ({} cards)", cards.len()),
        (None, [card, ..]) => card.to_string(),
        (None, []) => String::new(),
    };
    match finding.fault {
        Fault::Wrong => format!("{who}: WRONG results"),
        Fault::Slow(component) => format!(
            "{who}: {component}, {:.1}% slower, {} (score {:.1})",
            100.0 * finding.slower,
            finding.pattern,
            finding.score
        ),
    }
}

/// How cards differ in each component.
fn components(group: &Group) -> Table {
    let header =
        ["component", "rows", "sigma of\ncards", "slow\nfrom", "clock\ntaken out"].map(str::to_string);
    let mut table = Table::new(header.to_vec(), 1);
    for component in &group.components {
        table.add(vec![
            component.component.to_string(),
            component.rows.to_string(),
            format!("{:.2}%", 100.0 * component.sigma),
            format!("{:.1}%", 100.0 * component.limit),
            format!("{:.2}", component.slope),
        ]);
    }
    table
}

/// How cards differ in each row.
fn rows(group: &Group) -> Table {
    let header =
        ["kernel", "unit", "points to", "cards", "median", "sigma", "p1", "p99", "slowest", "by", "card"];
    let mut table = Table::new(header.map(str::to_string).to_vec(), 3);
    for row in &group.rows {
        let [first, .., last] = row.quantiles;
        table.add(vec![
            format!("{}, {}", row.kernel, row.parameters),
            row.unit.to_string(),
            row.component.map(|component| component.to_string()).unwrap_or_default(),
            grouped(row.cards as u64),
            short(row.median),
            format!("{:.2}%", 100.0 * row.sigma),
            short(first),
            short(last),
            short(row.slowest.figure),
            format!("{:.1}%", 100.0 * row.slowest.slower),
            row.slowest.card.to_string(),
        ]);
    }
    table.may_lack("quantiles", vec![6, 7]);
    table.may_lack("cards", vec![3]);
    table
}

/// A whole number with commas between thousands.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
