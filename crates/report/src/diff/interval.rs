//! The interval of a ratio of two medians, from independent samples of both.
//!
//! A median lies between the k-th smallest and the k-th largest of n samples unless fewer than k of them fall on one side
//! of it, which has the probability `P(B < k)` for each side, B being the number of heads in n tosses of a coin: whatever
//! the times are distributed like (Thompson 1936; Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*,
//! section 3.6). Two runs are independent of each other, so intervals that hold their medians with a probability of
//! `sqrt(0.95)` each hold both with 0.95, and the ratio of the medians then lies between the quotients of opposite bounds.
//! No assumption is made about the runs having the same distribution, as Hodges and Lehmann's shift would need.
//!
//! With 11 samples, a run's usual number, the second smallest and the second largest enclose the median with 0.988.

use record::Record;

/// The probability with which an interval holds the ratio of the medians.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Bounds of the ratio of the median time of `b` to that of `a`; `None` where one has fewer than seven samples.
pub(super) fn of_ratio(a: &Record, b: &Record) -> Option<[f64; 2]> {
    let ([low_a, high_a], [low_b, high_b]) = (of_median(a)?, of_median(b)?);
    Some([low_b / high_a, high_b / low_a])
}

/// Bounds of a row's median time. Where its samples were not kept, the shortest and the longest are the bounds.
fn of_median(row: &Record) -> Option<[f64; 2]> {
    let times = row.time_ms?;
    let cut = cut(times.samples)?;
    let mut samples = row.samples_ms.clone();
    samples.sort_by(f64::total_cmp);
    match samples.len() == times.samples {
        true => Some([*samples.get(cut - 1)?, *samples.get(samples.len() - cut)?]),
        false => Some([times.min, times.max]),
    }
}

/// The greatest k for which the k-th smallest and the k-th largest of `count` samples enclose the median surely enough.
fn cut(count: usize) -> Option<usize> {
    let missed = 1.0 - CONFIDENCE.sqrt();
    let all = 0.5_f64.powi(i32::try_from(count).ok()?);
    let (mut cut, mut ways, mut below) = (0, 1.0, all);
    while 2.0 * below <= missed {
        cut += 1;
        ways *= (count - cut + 1) as f64 / cut as f64;
        below += ways * all;
    }
    (cut > 0).then_some(cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::row;
    use record::Times;

    #[test]
    fn order_statistics_are_those_of_tables() {
        // 2 P(B < k) <= 1 - sqrt(0.95) = 0.0253: of 6 even the outermost miss too often (0.0313), of 7 they do (0.0156).
        let cuts = [6, 7, 10, 11, 12, 13, 20, 100, 500].map(cut);
        let expected = [None, Some(1), Some(2), Some(2), Some(2), Some(3), Some(5), Some(39), Some(225)];
        assert_eq!(cuts, expected);
    }

    #[test]
    fn the_ratio_lies_between_quotients_of_opposite_bounds() {
        let of = |samples: &[f64]| Record {
            time_ms: Times::of(samples),
            samples_ms: samples.to_vec(),
            ..row(0, Some(1.0))
        };
        let rising: Vec<f64> = (10..21).map(f64::from).collect();
        let (a, b) = (of(&rising), of(&rising.iter().map(|time| 2.0 * time).collect::<Vec<_>>()));
        assert_eq!(of_ratio(&a, &b), Some([2.0 * 11.0 / 19.0, 2.0 * 19.0 / 11.0]));
        // Records of before samples were kept have the outermost ones.
        let old = Record { samples_ms: Vec::new(), ..b };
        assert_eq!(of_ratio(&a, &old), Some([2.0 * 10.0 / 19.0, 2.0 * 20.0 / 11.0]));
        assert_eq!(of_ratio(&of(&rising[..6]), &a), None);
    }
}
