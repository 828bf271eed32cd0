//! Computes the interval of a modelled time, from the errors that the model made for other kernels.
//!
//! A *residual* is a simulated over a measured time, of one kernel on one card. `residuals/own.jsonl` has those of this
//! repository's kernels on an H200, which `coalesce pages fidelity` writes, and `residuals/others.jsonl` those of kernels
//! that the model had never seen, unnamed: the unseen kernels of the program `fidelity`, which writes them. A kernel of `own.jsonl` on
//! that card is judged by its own residuals, if there are enough of them, or by those of all such kernels; every other
//! kernel by the unseen ones whose time has the same [bound](Bound), or by all unseen ones.
//!
//! The interval reaches from the 10th to the 90th percentile of the residuals, by rank `p (n + 1)` in the logarithm. If the
//! kernel is of their kind, that holds its measured time with a probability of 0.8, whatever their distribution. For
//! example, of nine residuals 0.5, 0.6, ..., 1.3 the ranks are 1 and 9: a modelled time of 1 ms becomes 1 / 1.3 = 0.77 to
//! 1 / 0.5 = 2 ms.

use crate::{Bound, Errors, ReadError, Times, read_lines};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The probability with which an interval holds the measured time.
pub const COVERAGE: f64 = 0.8;

/// The card of the residuals of `own.jsonl`.
pub const OWN_CARD: &str = "h200";

/// Fewest residuals that determine an interval: with fewer, the ranks are outside of them.
const LEAST: usize = 9;

/// The error of one kernel's modelled time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// The kernel, and the parameters that distinguish it from others. Unseen kernels are not named, so that nobody who
    /// changes the model learns where it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// What bounds its modelled time, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Simulated over measured time.
    pub ratio: f64,
}

/// The residuals of this repository's kernels, and of other people's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residuals {
    own: Vec<Residual>,
    others: Vec<Residual>,
}

static BUILT_IN: LazyLock<Residuals> = LazyLock::new(|| {
    let (own, others) = (include_str!("../residuals/own.jsonl"), include_str!("../residuals/others.jsonl"));
    Residuals::read(own, others).unwrap_or_else(|error| panic!("the residuals of this crate: {error}"))
});

impl Residuals {
    /// Returns the residuals of this crate's files.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads both files: a line of JSON for each kernel.
    ///
    /// # Errors
    /// The first line that is not a residual.
    pub fn read(own: &str, others: &str) -> Result<Self, ReadError> {
        Ok(Self { own: read_lines(own)?, others: read_lines(others)? })
    }

    /// The errors of the bandwidths of this repository's kernels, as docs/fidelity.md has them; `None` without residuals.
    pub fn own_errors(&self) -> Option<Errors> {
        Errors::among(self.own.iter().map(|residual| (1.0 / residual.ratio - 1.0).abs()).collect())
    }

    /// The errors of the times of kernels that the model had never seen.
    pub fn unseen_errors(&self) -> Option<Errors> {
        Errors::among(self.others.iter().map(|residual| (residual.ratio - 1.0).abs()).collect())
    }

    /// Whether this kernel was measured on this card, so that even what the model does not know of it is in its residuals.
    pub fn know(&self, card: &str, kernel: &str) -> bool {
        card == OWN_CARD && self.own.iter().any(|residual| residual.kernel.as_deref() == Some(kernel))
    }

    /// The interval of a kernel's time on a simulated card, in the unit of the modelled `time`; `None` without residuals.
    /// Without a kernel it is that of a copy by the driver, which is judged as our own kernels are.
    pub fn interval(&self, card: &str, kernel: Option<&str>, bound: Bound, time: f64) -> Option<[f64; 2]> {
        let ratios = |residuals: &[Residual], like: &dyn Fn(&Residual) -> bool| -> Vec<f64> {
            residuals.iter().filter(|residual| like(residual)).map(|residual| residual.ratio).collect()
        };
        let same = |residual: &Residual| residual.kernel.as_deref() == kernel;
        let kinds = if card == OWN_CARD && (kernel.is_none() || self.own.iter().any(same)) {
            [ratios(&self.own, &same), ratios(&self.own, &|_| true)]
        } else {
            let bound_alike = |residual: &Residual| residual.bound == Some(bound);
            [ratios(&self.others, &bound_alike), ratios(&self.others, &|_| true)]
        };
        let [low, high] = percentiles(kinds.into_iter().find(|ratios| ratios.len() >= LEAST)?);
        Some([time / high, time / low])
    }

    /// A time of 1 with its interval, as [`interval`](Self::interval) judges it: for a launch that was counted and not timed.
    pub fn of_untimed(&self, card: &str, kernel: Option<&str>, bound: Bound) -> Times {
        Times::modelled(1.0, self.interval(card, kernel, bound, 1.0))
    }
}

/// The percentiles that enclose [`COVERAGE`], of at least [`LEAST`] ratios.
fn percentiles(mut ratios: Vec<f64>) -> [f64; 2] {
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| {
        // Counted from 0, as the elements are.
        let rank = (share * (ratios.len() + 1) as f64 - 1.0).clamp(0.0, (ratios.len() - 1) as f64);
        let (below, above) = (ratios[rank.floor() as usize].ln(), ratios[rank.ceil() as usize].ln());
        (below + (above - below) * rank.fract()).exp()
    };
    let outside = (1.0 - COVERAGE) / 2.0;
    [at(outside), at(1.0 - outside)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residuals(bound: Option<Bound>, ratios: &[f64]) -> Vec<Residual> {
        let residual = |&ratio: &f64| Residual { kernel: Some("k".to_string()), bound, ratio };
        ratios.iter().map(residual).collect()
    }

    /// Compares to nine digits.
    #[track_caller]
    fn near(found: Option<[f64; 2]>, expected: [f64; 2]) {
        let found = found.expect("an interval");
        let close = found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 1e-9);
        assert!(close, "{found:?} is not {expected:?}");
    }

    const NINE: [f64; 9] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3];

    #[test]
    fn nine_residuals_span_the_interval() {
        let residuals = Residuals { own: Vec::new(), others: residuals(None, &NINE) };
        near(residuals.interval("h200", Some("any"), Bound::Dram, 2.0), [2.0 / 1.3, 4.0]);
        let untimed = residuals.of_untimed("h200", Some("any"), Bound::Dram);
        assert_eq!(untimed.median, 1.0);
        near(untimed.interval, [1.0 / 1.3, 2.0]);
        let fewer = Residuals { others: residuals.others[1..].to_vec(), ..residuals };
        assert_eq!(fewer.interval("h200", Some("any"), Bound::Dram, 2.0), None);
    }

    #[test]
    fn percentiles_lie_between_residuals() {
        // Rank 0.1 * 20 = 2 of 19, and rank 18: the second and the last but one.
        let ratios: Vec<f64> = (1..=19).map(f64::from).collect();
        let [low, high] = percentiles(ratios);
        assert!((low - 2.0).abs() < 1e-9 && (high - 18.0).abs() < 1e-9, "{low} to {high}");
        // Rank 0.1 * 15 = 1.5 of 14: halfway in the logarithm.
        let mut ratios = vec![4.0; 14];
        ratios[0] = 1.0;
        let [low, high] = percentiles(ratios);
        assert!((low - 2.0).abs() < 1e-9 && (high - 4.0).abs() < 1e-9, "{low} to {high}");
    }

    #[test]
    fn a_kernel_is_judged_by_its_kind() {
        let mut others = residuals(Some(Bound::Latency), &NINE);
        others.extend(residuals(Some(Bound::Dram), &[0.9; 9]));
        let mut own = residuals(None, &[1.0; 9]);
        own.push(Residual { kernel: Some("rare".to_string()), bound: None, ratio: 1.0 });
        let residuals = Residuals { own, others };
        let of = |card: &str, kernel: &str, bound| residuals.interval(card, Some(kernel), bound, 9.0);
        near(of("h200", "k", Bound::Latency), [9.0, 9.0]);
        assert!(
            residuals.know("h200", "rare")
                && !residuals.know("h100", "rare")
                && !residuals.know("h200", "new")
        );
        near(of("h200", "rare", Bound::Latency), [9.0, 9.0]);
        near(of("h200", "new", Bound::Latency), [9.0 / 1.3, 18.0]);
        near(of("h100", "k", Bound::Dram), [10.0, 10.0]);
        near(residuals.interval("h200", None, Bound::Link, 9.0), [9.0, 9.0]);
        // No unseen kernel is bound by the host link: all of them count.
        let [low, high] = of("h200", "new", Bound::Link).expect("an interval");
        assert!(low < 9.0 && high > 10.0, "{low} to {high}");
    }

    #[test]
    fn the_built_in_residuals_hold_most_of_themselves() {
        let built_in = Residuals::built_in();
        assert!(built_in.own.len() > 200 && built_in.others.len() > 15);
        for (card, name, residuals) in
            [("h200", "copy_vector", &built_in.own), ("h200", "a kernel of one's own", &built_in.others)]
        {
            // Too few kernels are bound by the link, so that all of them count.
            let [low, high] = built_in.interval(card, Some(name), Bound::Link, 1.0).expect("an interval");
            let held = residuals.iter().filter(|one| (low..=high).contains(&(1.0 / one.ratio))).count();
            let share = held as f64 / residuals.len() as f64;
            assert!((0.7..=0.9).contains(&share), "{name}: {share} in {low} to {high}");
        }
        assert!(Residuals::read("{}", "").is_err());
    }
}
