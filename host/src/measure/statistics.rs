//! What is kept of a point's samples.

use serde::{Deserialize, Serialize};

/// Times of one launch over a point's samples, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Times {
    /// The middle one; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// How many there are.
    pub samples: usize,
}

impl Times {
    /// Sums samples up; `None` where there are none.
    pub(crate) fn of(samples: &[f64]) -> Option<Times> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Times { median: median_of_sorted(&sorted)?, min, max, samples: sorted.len() })
    }

    /// GB/s (10^9 bytes a second) if `bytes` take `milliseconds`.
    pub(crate) fn gb_per_s(bytes: u64, milliseconds: f64) -> f64 {
        bytes as f64 / 1e6 / milliseconds
    }
}

/// Between which bounds the ratio of two contenders' times lies, by what their samples say of it.
///
/// They were sampled by turns, so each pair of samples has a ratio of its own. The bounds are those of the ordered ratios
/// that enclose the median of all ratios there could be with a probability of at least 95%, whatever they are distributed
/// like: with `k` of `n` cut off on each side, the median is missed with the probability `2 P(B < k)`, B being the number of
/// heads in `n` tosses of a coin. They are widened where they do not hold the ratio of the median times, which is what is
/// reported. `None` below six samples, of which no two enclose it as surely.
pub(crate) fn ratio_range(samples: &[f64], reference: &[f64]) -> Option<[f64; 2]> {
    let mut ratios: Vec<f64> = samples.iter().zip(reference).map(|(one, other)| one / other).collect();
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len();
    let mut cut = 0;
    let (mut ways, mut below) = (1.0, 0.5_f64.powi(count as i32));
    while 2.0 * below <= 0.05 {
        cut += 1;
        ways *= (count - cut + 1) as f64 / cut as f64;
        below += ways * 0.5_f64.powi(count as i32);
    }
    let (low, high) = (*ratios.get(cut.checked_sub(1)?)?, *ratios.get(count - cut)?);
    let ratio = median(samples)? / median(reference)?;
    Some([low.min(ratio), high.max(ratio)])
}

/// The middle of some values; of an even number, the mean of the two in the middle. `None` where there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[middle - 1], upper) } else { upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let times = Times::of(&[3.0, 1.0, 2.0]);
        assert_eq!(times, Some(Times { median: 2.0, min: 1.0, max: 3.0, samples: 3 }));
        let times = Times::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!(times, Some(Times { median: 2.5, min: 1.0, max: 4.0, samples: 4 }));
        assert_eq!(Times::of(&[]), None);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_range_of_a_ratio_holds_its_median() {
        let even = |count: usize| vec![2.0; count];
        let rising = |count: usize| (1..=count).map(|sample| 2.0 * sample as f64).collect::<Vec<_>>();
        // Ratios of 1 to n. Cut off on each side, by tables of the binomial distribution for 95%: none of 5, all but the
        // outermost from 6 on, one more from 9 on, 12, 15, 17.
        for (count, low) in
            [(6, 1.0), (8, 1.0), (9, 2.0), (11, 2.0), (12, 3.0), (15, 4.0), (17, 5.0), (100, 40.0)]
        {
            let high = count as f64 + 1.0 - low;
            assert_eq!(ratio_range(&rising(count), &even(count)), Some([low, high]), "{count} samples");
        }
        assert_eq!(ratio_range(&rising(5), &even(5)), None);
        assert_eq!(ratio_range(&[], &[]), None);
        // Both rise together: each pair says the same, and so do the medians.
        assert_eq!(ratio_range(&rising(11), &rising(11)), Some([1.0, 1.0]));
        // Both have the same times in another order: the medians are equal, the pairs are not.
        let mut falling = rising(11);
        falling.reverse();
        let range = ratio_range(&rising(11), &falling).expect("a range");
        assert!(range[0] < 0.3 && range[1] > 3.0, "{range:?}");
    }

    #[test]
    fn bandwidth_is_decimal() {
        // 512 MiB in 0.2 ms.
        assert!((Times::gb_per_s(536_870_912, 0.2) - 2684.35456).abs() < 1e-9);
    }
}
