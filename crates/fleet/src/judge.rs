//! Judges the cards of a fleet by each other, by themselves over passes, and by their own ceilings.
//!
//! # The arithmetic
//!
//! Let `x[c,k,p]` be the logarithm of the time that card `c` took for row `k` in pass `p`. Logarithms turn ratios into
//! differences: 0.05 is 5% slower, whatever the row.
//!
//! 1. A card's time of a row is the median over its passes, `m[c,k]`. A fault that shows in every pass is in it; one that
//!    shows in a few is not.
//! 2. `r[c,k] = m[c,k] - median over cards of m[.,k]` is how much slower the card is than the median card of its kind.
//! 3. Each row is bound by one [`Component`], as far as that can be told. `a[c,g]` is the median of `r[c,k]` over the rows
//!    `k` of component `g`. For clocks it is `q[c]`.
//! 4. Cards of one kind differ in the clocks that power and heat allow, by far more than a lost channel of memory costs. So
//!    the clock is taken out: `e[c,g] = a[c,g] - b[g] q[c]`, with the slope `b[g]` of Tukey's
//!    [resistant line](crate::robust::resistant_slope) through all cards' points `(q, a)`. L2, which has the SMs' clock,
//!    has a slope near 1, device memory one near 0. With a slope of 1 that is the ratio of two of the card's own rows, in
//!    which the clock cancels.
//! 5. `e[c,g]` has the modified z-score of Iglewicz and Hoaglin (*How to Detect and Handle Outliers*, 1993):
//!    `0.6745 (e - median) / MAD`. A card is slow in `g` if its score is above [`Thresholds::score`] and it is slower by at
//!    least [`Thresholds::slower`]. Scales are at least [`Thresholds::floor`], so that identical cards do not become outliers
//!    by the last digit.
//! 6. Over passes a card is its own reference: `d[c,g,p]` is the lower quartile over the rows of `g` of
//!    `x[c,k,p] - m[c,k]`: three of four rows have to be slow, and all of up to four. The clock is taken out of a pass as it
//!    is out of a card, so that L2 is not blamed for a clock that drops. Its scale is the median over cards of each card's MAD.
//!    A pass is slow if its score is above [`Thresholds::pass_score`] and it is slower by at least
//!    [`Thresholds::pass_slower`]. At least three rows have to say so, in one pass or in several: two rows of one
//!    pass are disturbed by chance in one of some hundred thousand passes.
//!
//! # Example
//!
//! An HBM channel fails: the copies take 5% longer. The card's clock is 6% above the median, so in rows bound by clocks it
//! is among the fastest, and in L2 as well (slope 1, `e` = 0). Copies hardly follow the clock (slope 0.1):
//! `e = 0.05 - 0.1 * (-0.06) = 0.056`. Cards differ by 0.5% in this component, and the score is 11.

mod cohort;
mod distribution;
mod reasons;

use crate::{
    component::Component,
    data::{Card, Kind},
    read::{Ranks, Records},
    report::{Fault, Finding, Group, Pattern, Report},
    robust::{Spread, median},
    trouble::Trouble,
};
use cohort::{Cohort, Residuals};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The limits beyond which a card is slow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// The modified z-score among cards.
    pub score: f64,
    /// The least slowdown that matters, as a part of the time.
    pub slower: f64,
    /// The score of a pass among the card's own.
    pub pass_score: f64,
    /// The least slowdown of a pass that matters.
    pub pass_slower: f64,
    /// The least scale: differences below it are noise.
    pub floor: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { score: 5.0, slower: 0.005, pass_score: 12.0, pass_slower: 0.03, floor: 0.0005 }
    }
}

/// Fewest cards of a kind that are judged by each other.
pub const FEWEST_CARDS: usize = 5;

/// Fewest passes of a card that are judged by each other.
const FEWEST_PASSES: usize = 3;

/// Fewest slow rows that make a card slow at times.
const FEWEST_SLOW: usize = 3;

/// Judges all cards.
pub fn judge(records: &Records, thresholds: Thresholds) -> Report {
    let mut report = Report::of(records, thresholds);
    report.troubles.extend(missing_ranks(&records.runs));
    report.troubles.extend(shared_cards(&records.runs));
    let mut by_kind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (nth, card) in records.cards.iter().enumerate() {
        if card.clocks_are_set {
            let mhz = card.clocks_mhz.map(|[_, high]| high);
            report.troubles.push(Trouble::ClocksSet { card: card.name.clone(), mhz });
        }
        by_kind.entry(usize::from(card.kind)).or_default().push(nth);
    }
    report.troubles.extend(several(records, &by_kind));
    let mut by_kind: Vec<(usize, Vec<usize>)> = by_kind.into_iter().collect();
    by_kind.sort_by_key(|(_, cards)| std::cmp::Reverse(cards.len()));
    for (kind, cards) in by_kind {
        let judged = Judged::of(records, &records.kinds[kind], &cards, thresholds);
        report.troubles.extend(judged.troubles);
        report.groups.push(judged.group);
        report.findings.extend(judged.findings);
    }
    report.findings.extend(invalid(records));
    report.finish()
}

/// Rows that did not verify, by card.
fn invalid(records: &Records) -> impl Iterator<Item = Finding> {
    let wrong = records.cards.iter().filter(|card| !card.invalid.is_empty());
    wrong.map(|card| {
        let rows: std::collections::BTreeSet<u16> = card.invalid.iter().copied().collect();
        let first = rows.first().map(|row| records.rows[usize::from(*row)].kernel.clone()).unwrap_or_default();
        Finding {
            cards: vec![card.name.clone()],
            host: None,
            fault: Fault::Wrong,
            pattern: Pattern::Always,
            slower: 0.0,
            score: 0.0,
            reason: format!(
                "{} did not verify (first {first}): its results are wrong, so none of its figures counts. Take it out of \
                 service, and read `nvidia-smi -q -d ECC` and `dmesg`",
                if rows.len() == 1 { "1 row".to_string() } else { format!("{} rows", rows.len()) },
            ),
        }
    })
}

fn missing_ranks(runs: &BTreeMap<String, Ranks>) -> Vec<Trouble> {
    let missing = |(run, of_run): (&String, &Ranks)| {
        // Without a number of ranks, those below the highest one have to be there.
        let ranks = of_run.ranks.or_else(|| of_run.seen.last().map(|last| last + 1))?;
        let mut missing: Vec<[u32; 2]> = Vec::new();
        for rank in (0..ranks).filter(|rank| !of_run.seen.contains(rank)) {
            match missing.last_mut() {
                Some([_, last]) if *last + 1 == rank => *last = rank,
                _ => missing.push([rank; 2]),
            }
        }
        let is_numbered = !of_run.seen.is_empty() || of_run.ranks.is_some_and(|ranks| ranks > 1);
        (is_numbered && !missing.is_empty()).then(|| Trouble::MissingRanks {
            run: run.clone(),
            ranks,
            missing,
        })
    };
    runs.iter().filter_map(missing).collect()
}

fn shared_cards(runs: &BTreeMap<String, Ranks>) -> Vec<Trouble> {
    let mut shared = Vec::new();
    for (run, of_run) in runs {
        let mut cards: Vec<_> = of_run.by_card.iter().filter(|(_, ranks)| ranks.len() > 1).collect();
        cards.sort();
        shared.extend(cards.into_iter().map(|((host, _), ranks)| Trouble::Shared {
            run: run.clone(),
            host: host.clone(),
            ranks: ranks.iter().copied().collect(),
        }));
    }
    shared
}

/// Says that there are several kinds, or several versions.
fn several(records: &Records, by_kind: &BTreeMap<usize, Vec<usize>>) -> Vec<Trouble> {
    let counts = |name: &dyn Fn(&Kind) -> String| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (kind, cards) in by_kind {
            *counts.entry(name(&records.kinds[*kind])).or_default() += cards.len();
        }
        let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, cards)| std::cmp::Reverse(*cards));
        counts
    };
    let kinds =
        counts(&|kind| format!("{} with {} SMs, {}", kind.device, kind.multiprocessors, kind.backend));
    let versions = counts(&|kind| kind.version.clone());
    let mut several = Vec::new();
    if kinds.len() > 1 {
        several.push(Trouble::SeveralKinds { kinds });
    }
    if versions.len() > 1 {
        several.push(Trouble::SeveralVersions { versions });
    }
    several
}

/// The cards of one kind, judged.
struct Judged {
    group: Group,
    findings: Vec<Finding>,
    troubles: Vec<Trouble>,
}

impl Judged {
    fn of(records: &Records, kind: &Kind, numbers: &[usize], thresholds: Thresholds) -> Judged {
        let all = numbers.iter().map(|&number| &records.cards[number]);
        let cards: Vec<&Card> = all.filter(|card| !card.clocks_are_set && !card.values.is_empty()).collect();
        let cohort = Cohort::of(records, cards, thresholds);
        let mut troubles = cohort.incomplete();
        let enough = cohort.cards.len() >= FEWEST_CARDS;
        if !enough && !cohort.cards.is_empty() {
            troubles.push(Trouble::TooFew { kind: kind.clone(), cards: cohort.cards.len() });
        }
        let residuals = cohort.residuals();
        let mut findings = Vec::new();
        if enough {
            findings.extend(cohort.slow_always(&residuals));
        }
        findings.extend(cohort.slow_at_times(&residuals));
        let findings = by_host(findings, &cohort.cards);
        let group = Group {
            kind: kind.clone(),
            cards: cohort.cards.len(),
            passes: cohort.most_passes(),
            rows: cohort.rows(),
            components: cohort.components(&residuals),
        };
        Judged { group, findings, troubles }
    }
}

impl Cohort<'_> {
    /// Cards that are slower than the others in every pass.
    fn slow_always(&self, residuals: &[Residuals]) -> Vec<Slow> {
        let mut slow = Vec::new();
        for of in residuals {
            for (card, &residual) in of.of_cards.iter().enumerate() {
                let (score, slower) = (of.spread.score(residual), residual - of.spread.median);
                if score > self.thresholds.score && slower >= self.thresholds.slower {
                    let slower = slower.exp() - 1.0;
                    let reason = self.why_always(card, of, slower, residuals);
                    let (component, pattern) = (of.component, Pattern::Always);
                    slow.push(Slow { card, component, pattern, slower, score, reason });
                }
            }
        }
        slow
    }

    /// Cards that are slower than themselves in some passes.
    fn slow_at_times(&self, residuals: &[Residuals]) -> Vec<Slow> {
        let mut slow = Vec::new();
        for of in residuals {
            let component = of.component;
            let rows = self.places(component).len();
            // Those above the lower quartile, in each slow pass.
            let agreeing = rows - rows.saturating_sub(1) / 4;
            let deviations: Vec<Vec<f64>> =
                self.summaries.par_iter().map(|summary| summary.deviations(component, of.slope)).collect();
            let scale = |passes: &Vec<f64>| {
                Spread::of(passes).filter(|_| passes.len() >= FEWEST_PASSES).map(|spread| spread.sigma)
            };
            let mut scales: Vec<f64> = deviations.par_iter().filter_map(scale).collect();
            let Some(sigma) = median(&mut scales) else { continue };
            let sigma = sigma.max(self.thresholds.floor);
            let least = (self.thresholds.pass_score * sigma).max(self.thresholds.pass_slower);
            for (card, passes) in deviations.iter().enumerate().filter(|(_, all)| all.len() >= FEWEST_PASSES)
            {
                let mut beyond: Vec<f64> =
                    passes.iter().copied().filter(|deviation| *deviation > least).collect();
                if beyond.len() * agreeing < FEWEST_SLOW {
                    continue;
                }
                let Some(middle) = median(&mut beyond) else { continue };
                let pattern = Pattern::AtTimes { slow: beyond.len(), passes: passes.len() };
                let (score, slower) = (middle / sigma, middle.exp() - 1.0);
                let reason = self.why_at_times(card, component, beyond.len(), passes.len(), slower);
                slow.push(Slow { card, component, pattern, slower, score, reason });
            }
        }
        slow
    }
}

/// A card that is slow in a component.
struct Slow {
    card: usize,
    component: Component,
    pattern: Pattern,
    slower: f64,
    score: f64,
    reason: String,
}

/// Joins findings of all cards of a machine into one: the machine is to blame. A slow host always is.
fn by_host(slow: Vec<Slow>, cards: &[&Card]) -> Vec<Finding> {
    let mut of_host: HashMap<&str, usize> = HashMap::new();
    for card in cards {
        *of_host.entry(&card.name.host).or_default() += 1;
    }
    let mut together: BTreeMap<(Component, bool, &str), Vec<Slow>> = BTreeMap::new();
    for one in slow {
        let always = one.pattern == Pattern::Always;
        together.entry((one.component, always, &cards[one.card].name.host)).or_default().push(one);
    }
    let mut findings = Vec::new();
    for ((component, _, host), group) in together {
        let fault = Fault::Slow(component);
        let name = |slow: &Slow| cards[slow.card].name.clone();
        let whole = group.len() > 1 && group.len() == of_host.get(host).copied().unwrap_or(0);
        if whole || (component == Component::Host && group.len() > 1) {
            let mut slower: Vec<f64> = group.iter().map(|slow| slow.slower).collect();
            let Some(worst) = group.iter().max_by(|one, other| one.score.total_cmp(&other.score)) else {
                continue;
            };
            findings.push(Finding {
                cards: group.iter().map(name).collect(),
                host: Some(host.to_string()),
                fault,
                pattern: worst.pattern,
                slower: median(&mut slower).unwrap_or(0.0),
                score: worst.score,
                reason: format!("{} of its cards alike: {}", group.len(), worst.reason),
            });
        } else {
            findings.extend(group.iter().map(|slow| Finding {
                cards: vec![name(slow)],
                host: None,
                fault,
                pattern: slow.pattern,
                slower: slow.slower,
                score: slow.score,
                reason: slow.reason.clone(),
            }));
        }
    }
    findings
}
