//! Sums up how far modelled times are off.

use crate::median;

/// Median and 90th percentile of the magnitudes of errors, as parts of what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Number of errors.
    pub count: usize,
    /// Their median.
    pub median: f64,
    /// The least error that nine in ten do not exceed.
    pub p90: f64,
}

impl Errors {
    /// The errors with these magnitudes; `None` of none.
    pub fn among(mut errors: Vec<f64>) -> Option<Errors> {
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        let p90 = *errors.get((count * 9).div_ceil(10).checked_sub(1)?)?;
        Some(Errors { count, median: median(&errors)?, p90 })
    }

    /// The median as it is written: `10.3%`.
    pub fn median_in_words(&self) -> String {
        format!("{:.1}%", 100.0 * self.median)
    }

    /// The 90th percentile as it is written: `33%`.
    pub fn p90_in_words(&self) -> String {
        format!("{:.0}%", 100.0 * self.p90)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_in_ten_do_not_exceed_the_percentile() {
        let errors = Errors::among((1..=10).rev().map(|tenth| f64::from(tenth) / 100.0).collect());
        let errors = errors.expect("there are ten");
        assert_eq!((errors.count, errors.p90), (10, 0.09));
        assert_eq!((errors.median_in_words(), errors.p90_in_words()), ("5.5%".to_string(), "9%".to_string()));
        assert_eq!(Errors::among(Vec::new()), None);
    }
}
