//! Describes how cards differ in each row and in each component, whether any is slow or not.

use super::cohort::{Cohort, Residuals};
use crate::{
    report::{CardReport, Histogram, RowReport},
    robust::{Spread, quantile},
};
use rayon::prelude::*;

impl Cohort<'_> {
    /// The distribution of each row.
    pub(super) fn rows(&self) -> Vec<RowReport> {
        (0..self.rows.len()).into_par_iter().filter_map(|place| self.row(place)).collect()
    }

    pub(super) fn row(&self, place: usize) -> Option<RowReport> {
        let key = self.key(place);
        let mut logs: Vec<(f64, usize)> = (0..self.cards.len())
            .map(|card| (f64::from(self.summaries[card].medians[place]), card))
            .filter(|(log, _)| !log.is_nan())
            .collect();
        let values: Vec<f64> = logs.iter().map(|(log, _)| *log).collect();
        let spread = Spread::of(&values)?.at_least(self.thresholds.floor);
        logs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let &(slowest, card) = logs.last()?;
        let mut sorted = values;
        let figure = |log: f64| key.figure.of(log.exp());
        let mut at = |share: f64| quantile(&mut sorted, share).map(figure);
        Some(RowReport {
            experiment: key.experiment.clone(),
            kernel: key.kernel.clone(),
            parameters: key.label.clone(),
            component: key.component,
            unit: key.figure.unit,
            cards: logs.len(),
            median: figure(spread.median),
            sigma: spread.sigma,
            // Of the slowest to the fastest cards, whether the figure is a time or a rate.
            quantiles: [at(0.99)?, at(0.95)?, at(0.75)?, at(0.25)?, at(0.05)?, at(0.01)?],
            slowest: CardReport {
                card: self.cards[card].name.clone(),
                figure: figure(slowest),
                slower: (slowest - spread.median).exp() - 1.0,
                score: spread.score(slowest),
            },
        })
    }

    /// The distribution of each component over cards.
    pub(super) fn components(&self, residuals: &[Residuals]) -> Vec<Histogram> {
        let of = |of: &Residuals| {
            let values: Vec<f64> = of.of_cards.iter().copied().filter(|value| !value.is_nan()).collect();
            let slower = |value: f64| (value - of.spread.median).exp() - 1.0;
            let limit = self.thresholds.score * of.spread.sigma;
            Histogram {
                component: of.component,
                slope: of.slope,
                sigma: of.spread.sigma,
                limit: limit.max(self.thresholds.slower).exp() - 1.0,
                rows: self.places(of.component).len(),
                bins: Histogram::bins(
                    &values.iter().copied().map(slower).collect::<Vec<_>>(),
                    of.spread.sigma,
                ),
                beyond: of
                    .of_cards
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| of.spread.score(**value).abs() > Histogram::REACH)
                    .map(|(card, value)| (self.cards[card].name.clone(), slower(*value)))
                    .collect(),
            }
        };
        residuals.iter().map(of).collect()
    }
}
