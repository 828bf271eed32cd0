//! Simulated fleets with known faults: what is found, what is not, and what the report says of it.

use fleet::{
    Component, Fault, Pattern, Records, Report, Thresholds, judge, prometheus,
    simulate::{Fleet, Injected, Spreads},
};
use std::collections::BTreeSet;

fn judged(fleet: &Fleet) -> Report {
    let texts: Vec<(String, String)> = fleet.files().collect();
    of_texts(&texts)
}

fn of_texts(texts: &[(String, String)]) -> Report {
    let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
    judge(&Records::of_texts(texts), Thresholds::default())
}

/// The ranks with a finding, each with its component.
fn found(report: &Report) -> BTreeSet<(u32, Fault)> {
    let of = |finding: &fleet::Finding| {
        let fault = finding.fault;
        finding.cards.iter().filter_map(|card| card.rank).map(move |rank| (rank, fault)).collect::<Vec<_>>()
    };
    report.findings.iter().flat_map(of).collect()
}

/// The faults that were put in.
fn injected(fleet: &Fleet) -> BTreeSet<(u32, Fault)> {
    let of = |rank| fleet.fault(rank).map(|fault| (rank, Fault::Slow(fault.component())));
    (0..fleet.cards).filter_map(of).collect()
}

#[test]
fn every_fault_is_found_and_nothing_else() {
    let fleet = Fleet { cards: 128, ..Fleet::default() }.with_faults(2);
    assert_eq!(injected(&fleet).len(), 4 * 2 + 8);
    let report = judged(&fleet);
    assert_eq!(found(&report), injected(&fleet));
    assert_eq!(report.rows_read, 128 * 48 * 11);
    for finding in &report.findings {
        let at_times = matches!(finding.pattern, Pattern::AtTimes { slow: 1..=12, passes: 48 });
        assert_eq!(at_times, finding.fault == Fault::Slow(Component::Clocks), "{finding:?}");
    }
}

#[test]
fn the_clock_of_a_card_hides_nothing_and_blames_nobody() {
    let spreads = Spreads { clock: 0.2, ..Spreads::default() };
    let fleet = Fleet { cards: 120, passes: 8, spreads, ..Fleet::default() };
    let fleet = fleet.with_fault(17, Injected::HbmLoss).with_fault(44, Injected::L2Slice);
    let report = judged(&fleet);
    assert_eq!(found(&report), injected(&fleet));
    let of = |component| {
        report.groups[0].components.iter().find(|of| of.component == component).expect("its rows")
    };
    let (hbm, l2, link) = (of(Component::Hbm), of(Component::L2), of(Component::Link));
    assert!(
        (hbm.slope - 0.1).abs() < 0.02 && (l2.slope - 1.0).abs() < 0.02 && link.slope < 0.02,
        "{hbm:?} {l2:?}"
    );
    assert!((hbm.sigma - 0.005).abs() < 0.001, "{}", hbm.sigma);
}

#[test]
fn a_sound_fleet_has_no_finding() {
    let report = judged(&Fleet { cards: 160, passes: 8, seed: 3, ..Fleet::default() });
    assert_eq!(report.findings, []);
    assert!(report.is_sound());
}

/// Half of the cards of one kind are slower than the others: then the others are fast, and none is an outlier.
#[test]
fn too_many_slow_cards_are_the_usual_ones() {
    let mut fleet = Fleet { cards: 40, passes: 4, ..Fleet::default() };
    for rank in 0..24 {
        fleet = fleet.with_fault(rank, Injected::LinkAtHalf);
    }
    let report = judged(&fleet);
    assert_eq!(found(&report), BTreeSet::new());
    let link = report.groups[0].rows.iter().find(|row| row.kernel == "transfer_driver").expect("a row");
    assert!(link.quantiles[5] / link.median > 1.8, "the distribution shows it: {link:?}");
}

#[test]
fn runs_of_the_same_cards_add_up() {
    let fleet = Fleet { cards: 24, passes: 3, ..Fleet::default() };
    let mut texts: Vec<(String, String)> = fleet.files().collect();
    let first = of_texts(&texts);
    let second = Fleet { seed: 1, ..fleet };
    texts.extend(
        second
            .files()
            .map(|(name, text)| (name, text.replace("\"run\":\"simulated\"", "\"run\":\"tuesday\""))),
    );
    let both = of_texts(&texts);
    assert_eq!((first.cards, first.groups[0].passes, first.runs.len()), (24, 3, 1));
    assert_eq!((both.cards, both.groups[0].passes, both.runs.len()), (24, 6, 2));
    assert!(both.is_sound(), "{:?}", both.troubles);
}

#[test]
fn the_order_of_files_does_not_matter() {
    let fleet = Fleet { cards: 48, passes: 4, ..Fleet::default() }.with_fault(5, Injected::LinkAtHalf);
    let texts: Vec<(String, String)> = fleet.files().collect();
    let backwards: Vec<(String, String)> = texts.iter().rev().cloned().collect();
    let json = |texts: &[(String, String)]| of_texts(texts).json().expect("it is JSON");
    assert_eq!(json(&texts), json(&backwards));
    // And neither does it whether a file holds one rank or all.
    let all =
        vec![("all.jsonl".to_string(), texts.iter().map(|(_, text)| text.as_str()).collect::<String>())];
    assert_eq!(json(&texts).replace("\"files\":48", "\"files\":1"), json(&all));
}

#[test]
fn metrics_are_prometheus_text() {
    let fleet = Fleet { cards: 48, passes: 4, ..Fleet::default() }.with_fault(5, Injected::LinkAtHalf);
    let text = prometheus(&judged(&fleet));
    let mut described = BTreeSet::new();
    for line in text.lines() {
        if let Some(of) = line.strip_prefix("# TYPE ") {
            assert!(
                of.ends_with(" gauge") && described.insert(of.trim_end_matches(" gauge").to_string()),
                "{line}"
            );
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = series.split('{').next().expect("a name");
            assert!(described.contains(name), "{line} has no type before it");
        }
    }
    let slow: Vec<&str> =
        text.lines().filter(|line| line.starts_with("coalesce_card_slower_ratio{")).collect();
    assert_eq!(slow.len(), 1);
    assert!(
        slow[0].contains("host=\"node00000\",card=\"5\"") && slow[0].contains("component=\"link\""),
        "{slow:?}"
    );
}
