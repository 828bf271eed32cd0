//! The report on a fleet: findings, distributions and troubles, as types that are written as JSON.

use crate::{
    component::Component,
    data::{CardName, Kind},
    judge::Thresholds,
    read::Records,
    trouble::Trouble,
};
use serde::Serialize;
use std::collections::BTreeSet;

/// The name and version of [`Report`]'s JSON.
pub const SCHEMA: &str = "coalesce.fleet/1";

/// A fleet, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The runs whose records were read.
    pub runs: Vec<String>,
    /// Files that were read.
    pub files: usize,
    /// Rows that were read: of a card, a kernel with its parameters, and a pass.
    pub rows_read: u64,
    /// Cards that have rows.
    pub cards: usize,
    /// The limits beyond which a card is slow.
    pub thresholds: Thresholds,
    /// Cards that are slow or wrong, the worst first.
    pub findings: Vec<Finding>,
    /// Troubles that keep cards or rows from being judged.
    pub troubles: Vec<Trouble>,
    /// The cards of each kind, the most frequent kind first.
    pub groups: Vec<Group>,
}

/// A card, or all cards of a machine, with a fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The cards.
    pub cards: Vec<CardName>,
    /// The machine, where all of its cards have the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The fault.
    pub fault: Fault,
    /// Whether it shows in every pass.
    pub pattern: Pattern,
    /// By what part of their time the rows take longer.
    pub slower: f64,
    /// The modified z-score: among cards, or of a card's passes among its own.
    pub score: f64,
    /// What the finding follows from, and what to do.
    pub reason: String,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Results are wrong.
    Wrong,
    /// A component is slow.
    #[serde(untagged)]
    Slow(Component),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Wrong => f.pad("WRONG"),
            Fault::Slow(component) => component.fmt(f),
        }
    }
}

/// When a fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// In every pass.
    Always,
    /// In some passes.
    AtTimes {
        /// Passes in which it shows.
        slow: usize,
        /// All passes of the card.
        passes: usize,
    },
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pattern::Always => f.pad("always"),
            Pattern::AtTimes { slow, passes } => f.pad(&format!("{slow} of {passes} passes")),
        }
    }
}

/// The cards of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The kind.
    pub kind: Kind,
    /// Cards that are compared with each other.
    pub cards: usize,
    /// The most passes that a card has.
    pub passes: usize,
    /// The distribution of each row over cards.
    pub rows: Vec<RowReport>,
    /// The distribution of each component over cards.
    pub components: Vec<Histogram>,
}

/// The distribution of a row over cards, each with the median over its passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowReport {
    /// The experiment.
    pub experiment: String,
    /// The kernel.
    pub kernel: String,
    /// What tells the row from others of the kernel.
    pub parameters: String,
    /// The component that bounds it.
    pub component: Option<Component>,
    /// The unit of the figures.
    pub unit: &'static str,
    /// Cards that have the row.
    pub cards: usize,
    /// The median card's figure.
    pub median: f64,
    /// The robust standard deviation over cards, as a part of the time.
    pub sigma: f64,
    /// The figures of the cards that 1, 5, 25, 75, 95 and 99% of the cards are slower than.
    pub quantiles: [f64; 6],
    /// The slowest card.
    pub slowest: CardReport,
}

/// A card within a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CardReport {
    /// The card.
    pub card: CardName,
    /// Its figure.
    pub figure: f64,
    /// By what part of the median card's time it takes longer.
    pub slower: f64,
    /// Its modified z-score.
    pub score: f64,
}

/// The distribution of a component over cards: by how much each is slower than the median card, its clock taken out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// The component.
    pub component: Component,
    /// The share of the card's clock that is taken out.
    pub slope: f64,
    /// The robust standard deviation over cards.
    pub sigma: f64,
    /// The slowdown beyond which a card is slow.
    pub limit: f64,
    /// The rows that the component bounds.
    pub rows: usize,
    /// Cards in bins of half a standard deviation, from [`REACH`](Self::REACH) of them below the median to as many above.
    pub bins: Vec<u32>,
    /// The cards outside of these bins.
    pub beyond: Vec<(CardName, f64)>,
}

impl Histogram {
    /// Standard deviations that the bins reach to each side.
    pub const REACH: f64 = 6.0;
    /// Bins per standard deviation.
    const PER_SIGMA: f64 = 2.0;

    pub(crate) fn bins(slower: &[f64], sigma: f64) -> Vec<u32> {
        let mut bins = vec![0; (2.0 * Self::REACH * Self::PER_SIGMA) as usize];
        for slower in slower {
            let place = ((slower / sigma + Self::REACH) * Self::PER_SIGMA).floor();
            if let Some(bin) = (place >= 0.0).then(|| bins.get_mut(place as usize)).flatten() {
                *bin += 1;
            }
        }
        bins
    }
}

impl Report {
    pub(crate) fn of(records: &Records, thresholds: Thresholds) -> Report {
        Report {
            schema: SCHEMA,
            runs: records.runs.keys().cloned().collect(),
            files: records.files,
            rows_read: records.rows_read,
            cards: records.cards.len(),
            thresholds,
            findings: Vec::new(),
            troubles: records.troubles.clone(),
            groups: Vec::new(),
        }
    }

    /// Sorts findings: wrong results first, then by the slowdown.
    pub(crate) fn finish(mut self) -> Report {
        self.findings.sort_by(|one, other| {
            let wrong = |finding: &Finding| finding.fault != Fault::Wrong;
            (wrong(one).cmp(&wrong(other)))
                .then(other.slower.total_cmp(&one.slower))
                .then_with(|| one.cards.cmp(&other.cards))
        });
        self.troubles.sort_by_key(|trouble| !trouble.is_fault());
        self
    }

    /// Cards with a finding.
    pub fn faulty(&self) -> BTreeSet<&CardName> {
        self.findings.iter().flat_map(|finding| &finding.cards).collect()
    }

    /// Whether no card has a finding and every rank's records are whole.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && !self.troubles.iter().any(Trouble::is_fault)
    }

    /// Ranks without a record, over all runs.
    pub fn missing_ranks(&self) -> u32 {
        self.troubles.iter().map(Trouble::missing).sum()
    }

    /// The report as one JSON object with its newline.
    ///
    /// # Errors
    /// A figure is no number that JSON has.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }
}
