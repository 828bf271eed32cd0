//! The interval of a ratio, from interleaved samples.

use record::median;

/// Between which bounds the ratio of two contenders' times lies, by what their samples say of it.
///
/// Their samples are interleaved, so each pair of samples has a ratio of its own. The bounds are those of the ordered ratios
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
