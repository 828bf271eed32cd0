//! Times of a row's samples, and how they were taken.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Times of one launch over a row's samples, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The middle one; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The number of samples.
    pub samples: usize,
    /// Bounds that hold the measured time of [such a kernel](crate::doubt) with a probability of
    /// [`COVERAGE`](crate::doubt::COVERAGE); `None` where times are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Times {
    /// Sums samples up; `None` where there are none.
    pub fn of(samples: &[f64]) -> Option<Times> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Times { median: median_of_sorted(&sorted)?, min, max, samples: sorted.len(), interval: None })
    }

    /// One modelled time with its interval.
    pub fn modelled(milliseconds: f64, interval: Option<[f64; 2]>) -> Times {
        Times { median: milliseconds, min: milliseconds, max: milliseconds, samples: 1, interval }
    }

    /// The factor by which the measured time may be above or below the modelled one, whichever is more: 1.5 for 1 ms from 0.8 to 1.5 ms.
    /// `None` where times are measured.
    pub fn factor(&self) -> Option<f64> {
        let [low, high] = self.interval?;
        Some((high / self.median).max(self.median / low).max(1.0))
    }

    /// Whether the intervals of two modelled times overlap, so that either may be the shorter when measured; false where one has none.
    pub fn is_open(&self, other: &Times) -> bool {
        self.interval.zip(other.interval).is_some_and(|(one, other)| overlap(one, other))
    }

    /// GB/s (10^9 bytes per second) if `bytes` take `milliseconds`.
    pub fn gb_per_s(bytes: u64, milliseconds: f64) -> f64 {
        bytes as f64 / 1e6 / milliseconds
    }
}

/// Whether two intervals have a value in common.
pub(crate) fn overlap([low, high]: [f64; 2], [other_low, other_high]: [f64; 2]) -> bool {
    low <= other_high && other_low <= high
}

/// The median of some values; of an even number, the mean of the two in the middle. `None` where there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[middle - 1], upper) } else { upper })
}

/// The method that a time was taken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The way in which the launches of a sample were handed to the device.
    pub method: Method,
    /// Launches between the two events of a sample.
    pub launches_per_sample: u32,
    /// How long the card was kept busy; `None` where nothing is measured, and in records from before there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// How long a card is kept busy with a row, which decides at which clocks and temperature it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Samples of milliseconds: the clocks are those that the card begins with.
    Burst,
    /// The same, each after the card has rested.
    Rested,
    /// Samples that together last as long as the user asked for: the clocks are those that power and heat allow.
    Sustained,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Load::Burst => "burst",
            Load::Rested => "rested",
            Load::Sustained => "sustained",
        })
    }
}

/// A way of handing a sample's launches to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Queued one by one behind a lead-in.
    Launches,
    /// Recorded as a graph, and launched by one call behind a lead-in.
    Graph,
    /// Queued one by one although they are short, because the driver cannot record them as a graph. The time includes
    /// launch overhead.
    LaunchesWithoutGraph,
    /// One launch by itself, since something that is not timed has to come before each: the time holds launch overhead.
    Prepared,
    /// One launch, not timed.
    Once,
    /// One launch on a simulated card, whose time the model tells.
    Modelled,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Launches => "launches",
            Method::Graph => "graph",
            Method::LaunchesWithoutGraph => "launches-without-graph",
            Method::Prepared => "prepared",
            Method::Once => "once",
            Method::Modelled => "modelled",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let times = Times::of(&[3.0, 1.0, 2.0]);
        assert_eq!(times, Some(Times { median: 2.0, min: 1.0, max: 3.0, samples: 3, interval: None }));
        let times = Times::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!(times, Some(Times { median: 2.5, min: 1.0, max: 4.0, samples: 4, interval: None }));
        assert_eq!(Times::of(&[]), None);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_factor_is_that_of_the_further_bound() {
        let of = |interval| Times { interval, ..Times::of(&[2.0]).expect("a sample") }.factor();
        assert_eq!([of(None), of(Some([1.0, 3.0])), of(Some([1.6, 5.0]))], [None, Some(2.0), Some(2.5)]);
        // An interval beside the time, as of kernels whose times all are too long.
        assert_eq!(of(Some([0.5, 1.0])), Some(4.0));
    }

    #[test]
    fn times_are_open_where_their_intervals_overlap() {
        let of = |interval| Times { interval, ..Times::of(&[2.0]).expect("a sample") };
        let time = of(Some([1.5, 2.5]));
        assert!(time.is_open(&of(Some([2.5, 3.0]))) && time.is_open(&of(Some([1.0, 4.0]))));
        assert!(!time.is_open(&of(Some([2.6, 3.0]))) && !time.is_open(&of(Some([1.0, 1.4]))));
        assert!(!time.is_open(&of(None)) && !of(None).is_open(&time));
    }

    #[test]
    fn bandwidth_is_decimal() {
        // 512 MiB in 0.2 ms.
        assert!((Times::gb_per_s(536_870_912, 0.2) - 2684.35456).abs() < 1e-9);
    }
}
