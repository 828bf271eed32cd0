//! Robust statistics: medians, deviations and lines that a few outliers do not move.

/// The factor by which the median absolute deviation of normally distributed values estimates their standard deviation:
/// 1 / Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Returns the median of `values`, which are reordered; `None` without any.
///
/// ```
/// assert_eq!(fleet::robust::median(&mut [4.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(fleet::robust::median(&mut [4.0, 1.0]), Some(2.5));
/// ```
pub fn median(values: &mut [f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the lower quartile of `values`, which are reordered: of up to four values the least one. `None` without any.
///
/// Values whose lower quartile is large are large in three of four, so that a few odd ones do not count.
pub fn lower_quartile(values: &mut [f64]) -> Option<f64> {
    let place = values.len().checked_sub(1)? / 4;
    let (_, quartile, _) = values.select_nth_unstable_by(place, f64::total_cmp);
    Some(*quartile)
}

/// Returns the quantile at `share` of `values`, which are reordered, between order statistics by their distance: type 7 of
/// Hyndman and Fan (1996). `None` without any.
pub fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let rank = share.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (rank.floor() as usize, rank.fract());
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    Some(if part == 0.0 { low } else { low + (high - low) * part })
}

/// The centre and the scale of a distribution, each of which half of the values may be outliers of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The median absolute deviation from it, times [`MAD_TO_SIGMA`].
    pub sigma: f64,
}

impl Spread {
    /// Sums values up; `None` without any.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut values = values.to_vec();
        let centre = median(&mut values)?;
        for value in &mut values {
            *value = (*value - centre).abs();
        }
        Some(Spread { median: centre, sigma: MAD_TO_SIGMA * median(&mut values)? })
    }

    /// The same with a scale of at least `sigma`.
    pub fn at_least(self, sigma: f64) -> Spread {
        Spread { sigma: self.sigma.max(sigma), ..self }
    }

    /// The modified z-score of Iglewicz and Hoaglin (1993): 0.6745 (x - median) / MAD.
    pub fn score(self, value: f64) -> f64 {
        (value - self.median) / self.sigma
    }
}

/// The slope of Tukey's resistant line through points `(x, y)`: the medians of the outer thirds decide.
///
/// A sixth of the points may be outliers (Johnstone and Velleman, 1985). The slope is bounded to `0.0..=1.0`; it is 0 with
/// fewer than nine points, and where x hardly varies.
pub fn resistant_slope(points: &[(f64, f64)]) -> f64 {
    const FEWEST: usize = 9;
    if points.len() < FEWEST {
        return 0.0;
    }
    let mut points = points.to_vec();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let third = points.len() / 3;
    let centre = |points: &[(f64, f64)]| {
        let mut x: Vec<f64> = points.iter().map(|point| point.0).collect();
        let mut y: Vec<f64> = points.iter().map(|point| point.1).collect();
        (median(&mut x).unwrap_or(0.0), median(&mut y).unwrap_or(0.0))
    };
    let (left, right) = (centre(&points[..third]), centre(&points[points.len() - third..]));
    let run = right.0 - left.0;
    if run > 1e-6 { ((right.1 - left.1) / run).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_order_statistics() {
        let mut values = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(quantile(&mut values, 0.0), Some(1.0));
        assert_eq!(quantile(&mut values, 1.0), Some(5.0));
        assert_eq!(quantile(&mut values, 0.625), Some(3.5));
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn the_lower_quartile_is_the_least_of_four() {
        assert_eq!(lower_quartile(&mut [9.0, 1.0]), Some(1.0));
        assert_eq!(lower_quartile(&mut [9.0, 3.0, 8.0, 7.0]), Some(3.0));
        assert_eq!(lower_quartile(&mut [9.0, 3.0, 8.0, 7.0, 6.0]), Some(6.0));
        assert_eq!(lower_quartile(&mut []), None);
    }

    /// The example of the modified z-score in the NIST/SEMATECH handbook's manner: the outlier does not hide itself.
    #[test]
    fn an_outlier_does_not_move_the_scale() {
        let values = [10.0, 10.1, 9.9, 10.2, 9.8, 20.0];
        let spread = Spread::of(&values).expect("there are values");
        assert!((spread.median - 10.05).abs() < 1e-12);
        assert!((spread.sigma - MAD_TO_SIGMA * 0.15).abs() < 1e-9, "{}", spread.sigma);
        assert!((spread.score(20.0) - 0.6745 * 9.95 / 0.15).abs() < 0.01, "{}", spread.score(20.0));
        assert_eq!(Spread::of(&[3.0, 3.0]).expect("two").at_least(0.5).score(4.0), 2.0);
    }

    #[test]
    fn a_line_resists_a_sixth_of_outliers() {
        let mut points: Vec<(f64, f64)> = (0..60).map(|x| (f64::from(x), 0.5 * f64::from(x) + 3.0)).collect();
        for nth in 0..9 {
            points[nth * 6].1 = 1000.0;
        }
        assert!((resistant_slope(&points) - 0.5).abs() < 0.05, "{}", resistant_slope(&points));
        assert_eq!(resistant_slope(&points[..8]), 0.0);
        assert_eq!(resistant_slope(&[(1.0, 2.0); 20]), 0.0);
    }
}
