//! The cards of one kind: their medians, and how far each is from the others in each component.

use super::Thresholds;
use crate::{
    component::Component,
    data::{Card, RowKey},
    read::Records,
    robust::{Spread, lower_quartile, median, resistant_slope},
    trouble::Trouble,
};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// The medians of a card, and its deviations over passes.
pub(super) struct Summary {
    /// The median over passes by row; NaN where the card lacks it.
    pub(super) medians: Vec<f32>,
    /// By pass and component, the deviations from the card's medians; NaN where a pass lacks the rows.
    pub(super) passes: Vec<[f32; Component::ALL.len()]>,
    pub(super) rows: usize,
}

/// The cards of one kind while they are judged.
pub(super) struct Cohort<'r> {
    pub(super) records: &'r Records,
    /// The rows that any of the cards has, in the report's order.
    pub(super) rows: Vec<u16>,
    pub(super) cards: Vec<&'r Card>,
    pub(super) summaries: Vec<Summary>,
    /// By row, the median over cards.
    pub(super) centres: Vec<f64>,
    pub(super) thresholds: Thresholds,
}

/// The deviation of each card from the median of a component's rows, with its clock taken out.
pub(super) struct Residuals {
    pub(super) component: Component,
    pub(super) slope: f64,
    /// By card; NaN where it lacks the rows.
    pub(super) of_cards: Vec<f64>,
    pub(super) spread: Spread,
}

impl<'r> Cohort<'r> {
    pub(super) fn of(records: &'r Records, cards: Vec<&'r Card>, thresholds: Thresholds) -> Cohort<'r> {
        let mut is_there = vec![false; records.rows.len()];
        for value in cards.iter().flat_map(|card| &card.values) {
            is_there[usize::from(value.row)] = true;
        }
        let mut rows: Vec<u16> =
            (0..records.rows.len() as u16).filter(|row| is_there[usize::from(*row)]).collect();
        let order = |row: &u16| {
            let row = &records.rows[usize::from(*row)];
            (row.component.map_or(usize::MAX, Component::number), &row.experiment, &row.kernel, &row.label)
        };
        rows.sort_by(|one, other| order(one).cmp(&order(other)));
        let mut places = vec![usize::MAX; records.rows.len()];
        for (place, row) in rows.iter().enumerate() {
            places[usize::from(*row)] = place;
        }
        let components: Vec<Option<Component>> =
            rows.iter().map(|row| records.rows[usize::from(*row)].component).collect();
        let summaries: Vec<Summary> =
            cards.par_iter().map(|card| summary(card, &places, &components)).collect();
        let centre = |place: usize| {
            let values = summaries.iter().map(|summary| f64::from(summary.medians[place]));
            median(&mut values.filter(|value| !value.is_nan()).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let centres = (0..rows.len()).into_par_iter().map(centre).collect();
        Cohort { records, rows, cards, summaries, centres, thresholds }
    }

    pub(super) fn key(&self, place: usize) -> &'r RowKey {
        &self.records.rows[usize::from(self.rows[place])]
    }

    /// The places of a component's rows.
    pub(super) fn places(&self, component: Component) -> Vec<usize> {
        (0..self.rows.len()).filter(|place| self.key(*place).component == Some(component)).collect()
    }

    /// By card the median deviation from the median card over a component's rows; NaN where it has none of them.
    pub(super) fn deviations(&self, component: Component) -> Vec<f64> {
        let places = self.places(component);
        let of_card = |summary: &Summary| {
            let all = places.iter().map(|&place| f64::from(summary.medians[place]) - self.centres[place]);
            median(&mut all.filter(|value| !value.is_nan()).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        self.summaries.par_iter().map(of_card).collect()
    }

    pub(super) fn residuals(&self) -> Vec<Residuals> {
        let clocks = self.deviations(Component::Clocks);
        let of = |component: Component| {
            let deviations = self.deviations(component);
            let points: Vec<(f64, f64)> = clocks
                .iter()
                .copied()
                .zip(deviations.iter().copied())
                .filter(|(clock, deviation)| !clock.is_nan() && !deviation.is_nan())
                .collect();
            let slope = if component == Component::Clocks { 0.0 } else { resistant_slope(&points) };
            let without_clock = |(&deviation, &clock): (&f64, &f64)| {
                if slope == 0.0 || clock.is_nan() { deviation } else { deviation - slope * clock }
            };
            let of_cards: Vec<f64> = deviations.iter().zip(&clocks).map(without_clock).collect();
            let there: Vec<f64> = of_cards.iter().copied().filter(|value| !value.is_nan()).collect();
            let spread = Spread::of(&there)?.at_least(self.thresholds.floor);
            Some(Residuals { component, slope, of_cards, spread })
        };
        Component::ALL.into_iter().filter_map(of).collect()
    }

    /// Cards with fewer rows than most have.
    pub(super) fn incomplete(&self) -> Vec<Trouble> {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        let all = |card: usize| {
            self.summaries[card].rows + self.cards[card].invalid.len() + self.cards[card].untimed as usize
        };
        for card in 0..self.cards.len() {
            *counts.entry(all(card)).or_default() += 1;
        }
        let most = counts.iter().max_by_key(|(rows, cards)| (**cards, **rows)).map_or(0, |(rows, _)| *rows);
        let short = (0..self.cards.len()).filter(|&card| all(card) < most);
        let trouble = |card: usize| Trouble::Incomplete {
            card: self.cards[card].name.clone(),
            rows: all(card),
            expected: most,
        };
        short.map(trouble).collect()
    }

    pub(super) fn most_passes(&self) -> usize {
        self.summaries.iter().map(|summary| summary.passes.len()).max().unwrap_or(0)
    }
}

/// The medians of a card over its passes, and the deviations of its passes.
pub(super) fn summary(card: &Card, places: &[usize], components: &[Option<Component>]) -> Summary {
    let mut by_row: Vec<Vec<f64>> = vec![Vec::new(); components.len()];
    let mut by_pass: BTreeMap<u16, Vec<(usize, f64)>> = BTreeMap::new();
    for value in &card.values {
        let (place, log) = (places[usize::from(value.row)], f64::from(value.log_ms));
        by_row[place].push(log);
        by_pass.entry(value.pass).or_default().push((place, log));
    }
    let medians: Vec<f64> = by_row.iter_mut().map(|values| median(values).unwrap_or(f64::NAN)).collect();
    let of_pass = |values: &Vec<(usize, f64)>| {
        let mut deviations: [Vec<f64>; Component::ALL.len()] = Default::default();
        for &(place, log) in values {
            if let Some(component) = components[place] {
                deviations[component.number()].push(log - medians[place]);
            }
        }
        deviations.map(|mut all| lower_quartile(&mut all).map_or(f32::NAN, |quartile| quartile as f32))
    };
    let passes = by_pass.values().map(of_pass).collect();
    Summary {
        medians: medians.into_iter().map(|median| median as f32).collect(),
        passes,
        rows: card.values.len(),
    }
}

impl Summary {
    /// The deviations of the passes in a component, with the part `slope` of the clock's taken out.
    pub(super) fn deviations(&self, component: Component, slope: f64) -> Vec<f64> {
        let of_pass = |pass: &[f32; Component::ALL.len()]| {
            let [own, clock] = [component, Component::Clocks].map(|of| f64::from(pass[of.number()]));
            if slope == 0.0 || clock.is_nan() { own } else { own - slope * clock }
        };
        self.passes.iter().map(of_pass).filter(|deviation| !deviation.is_nan()).collect()
    }
}
