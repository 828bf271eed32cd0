//! Why a card is slow, in sentences: what its slow rows are, what is as of the others, its own ceiling, and what to do.

use super::cohort::{Cohort, Residuals};
use crate::{component::Component, robust::median};

impl Cohort<'_> {
    /// Why a card that is always slow points to this component.
    pub(super) fn why_always(&self, card: usize, of: &Residuals, slower: f64, all: &[Residuals]) -> String {
        let component = of.component;
        let mut words =
            format!("{} take {} longer than the median card's", component.rows(), percent(slower));
        if of.slope > 0.05 {
            words += &format!(" at its own clock ({:.2} of which is taken out)", of.slope);
        }
        let others: Vec<&str> = all
            .iter()
            .filter(|other| other.component != component && !other.of_cards[card].is_nan())
            .filter(|other| other.spread.score(other.of_cards[card]) <= self.thresholds.score)
            .map(|other| other.component.name())
            .collect();
        if !others.is_empty() {
            words += &format!(
                "; {} {} as of the others",
                listed(&others),
                if others.len() == 1 { "is" } else { "are" }
            );
        }
        if let Some(ceiling) = self.ceiling(card, component) {
            words += &format!("; {ceiling}");
        }
        if let (Component::Clocks, Some([low, high])) = (component, self.cards[card].clocks_mhz) {
            words += &format!("; its SM clock was {low:.0} to {high:.0} MHz");
        }
        format!("{words}: {}", component.advice())
    }

    pub(super) fn why_at_times(
        &self,
        card: usize,
        component: Component,
        slow: usize,
        passes: usize,
        slower: f64,
    ) -> String {
        let clock = match self.cards[card].clocks_mhz {
            Some([low, high]) if component == Component::Clocks && low < 0.98 * high => {
                format!("; its SM clock fell from {high:.0} to {low:.0} MHz")
            }
            _ => String::new(),
        };
        format!(
            "in {slow} of {passes} passes {} took {} longer than in its own other passes{clock}: {}",
            component.rows(),
            percent(slower),
            component.advice()
        )
    }

    /// Says which share of its own peak a card reaches in its fastest row of device memory, beside the median card.
    pub(super) fn ceiling(&self, card: usize, component: Component) -> Option<String> {
        if component != Component::Hbm {
            return None;
        }
        let fastest = self.places(component).into_iter().filter(|place| !self.key(*place).figure.is_time);
        let rate = |place: usize, log_ms: f64| self.key(place).figure.of(log_ms.exp());
        let place = fastest.max_by(|one, other| {
            rate(*one, self.centres[*one]).total_cmp(&rate(*other, self.centres[*other]))
        })?;
        let share = |card: usize| {
            let peak = self.cards[card].peak_gb_per_s?;
            Some(rate(place, f64::from(self.summaries[card].medians[place])) / peak)
        };
        let mut shares: Vec<f64> =
            (0..self.cards.len()).filter_map(share).filter(|share| !share.is_nan()).collect();
        let (own, usual) = (share(card).filter(|share| !share.is_nan())?, median(&mut shares)?);
        Some(format!(
            "{} reaches {:.1}% of the card's own peak, the median card {:.1}%",
            self.key(place).kernel,
            100.0 * own,
            100.0 * usual
        ))
    }
}

/// `5.1%`.
fn percent(part: f64) -> String {
    format!("{:.1}%", 100.0 * part)
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
