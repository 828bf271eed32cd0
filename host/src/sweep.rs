//! The values that a sweep visits: `0..=32`, `0..32`, `4`, `1,2,4,8`, and lists of these.

use std::{fmt, str::FromStr};

/// More values than this are a slip of the finger, not a sweep.
const LONGEST: usize = 4096;

/// The values of a swept parameter, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    values: Vec<u32>,
}

impl Sweep {
    /// Every value from `first` to `last`, both included.
    pub(crate) fn inclusive(first: u32, last: u32) -> Sweep {
        Sweep { values: (first..=last).collect() }
    }

    /// These values, of which there is one at least.
    pub(crate) fn of(values: &[u32]) -> Sweep {
        Sweep { values: values.to_vec() }
    }

    /// The values from `least` on; `None` if that leaves none.
    pub(crate) fn at_least(&self, least: u32) -> Option<Sweep> {
        let values: Vec<u32> = self.values.iter().copied().filter(|&value| value >= least).collect();
        (!values.is_empty()).then_some(Sweep { values })
    }

    /// The values.
    pub(crate) fn values(&self) -> &[u32] {
        &self.values
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Sweep, String> {
        let mut values = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, end) = match part.split_once("..") {
                None => {
                    let value = number(part)?;
                    (value, u64::from(value) + 1)
                }
                Some((first, last)) => match last.strip_prefix('=') {
                    Some(last) => (number(first)?, u64::from(number(last)?) + 1),
                    None => (number(first)?, u64::from(number(last)?)),
                },
            };
            let first = u64::from(first);
            if end <= first {
                return Err(format!(
                    "the range {part} is empty; the smaller number comes first, and A..=B includes B"
                ));
            }
            if (end - first) as usize + values.len() > LONGEST {
                return Err(format!("more than {LONGEST} values; list the ones of interest, as in 1,2,4,8"));
            }
            // Both ends come from 32-bit numbers, so every value fits.
            values.extend((first..end).map(|value| value as u32));
        }
        Ok(Sweep { values })
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse().map_err(|_| match text {
        "" => "a number is missing; write 0..=32, 0..32, 4 or 1,2,4,8".to_string(),
        _ => format!(
            "'{text}' is not a whole number from 0 to {}; write 0..=32, 0..32, 4 or 1,2,4,8",
            u32::MAX
        ),
    })
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.values[0], self.values[self.values.len() - 1]);
        let consecutive = self.values.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
        if consecutive && self.values.len() > 1 {
            return write!(f, "{first}..={last}");
        }
        let values: Vec<String> = self.values.iter().map(u32::to_string).collect();
        f.write_str(&values.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<u32> {
        text.parse::<Sweep>().unwrap_or_else(|error| panic!("{text}: {error}")).values
    }

    #[test]
    fn ranges_and_lists_give_their_values() {
        assert_eq!(values("0..=3"), [0, 1, 2, 3]);
        assert_eq!(values("0..3"), [0, 1, 2]);
        assert_eq!(values("4"), [4]);
        assert_eq!(values("8,4,2,1"), [8, 4, 2, 1]);
        assert_eq!(values("0..=1, 16, 30..32"), [0, 1, 16, 30, 31]);
        assert_eq!(values("4294967295"), [u32::MAX]);
    }

    #[test]
    fn what_is_no_sweep_says_why() {
        for (text, why) in [
            ("", "missing"),
            ("..=4", "missing"),
            ("4..4", "empty"),
            ("5..=2", "empty"),
            ("-1", "'-1'"),
            ("1.5", "'1.5'"),
            ("4294967296", "'4294967296'"),
            ("0..=99999", "more than 4096"),
        ] {
            let error = text.parse::<Sweep>().expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn values_below_the_least_are_left_out() {
        let sweep = Sweep::inclusive(0, 3);
        assert_eq!(sweep.at_least(1), Some(Sweep::inclusive(1, 3)));
        assert_eq!(sweep.at_least(0).as_ref(), Some(&sweep));
        assert_eq!(sweep.at_least(4), None);
    }

    #[test]
    fn a_sweep_prints_as_it_is_written() {
        for text in ["0..=32", "4", "1,2,4,8"] {
            assert_eq!(text.parse::<Sweep>().map(|sweep| sweep.to_string()), Ok(text.to_string()));
        }
    }
}
