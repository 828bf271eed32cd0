//! What a buffer must hold after its launches, and the comparison with what it does hold: every element, bit by bit.

use cust::memory::bytemuck::{self, Pod};
use rayon::prelude::*;
use std::fmt;

/// Elements whose expected values are worked out at a time, to be compared from the first-level cache.
const WINDOW: usize = 2048;

/// Bytes that one task compares.
const TASK_BYTES: usize = 256 << 10;

/// A rule for the contents of a buffer.
pub(crate) struct Expected {
    element_bytes: usize,
    check: Box<Check>,
}

/// From the first element's index, the number of launches and the bytes found to what is wrong with them.
type Check = dyn Fn(u64, u64, &[u8]) -> Option<Findings> + Send + Sync;

impl Expected {
    /// Each element is exactly, NaNs and signed zeros included, what `fill` writes for its index.
    ///
    /// `fill` is given the index of a window's first element, the number of launches that the buffer went through,
    /// and the window to write.
    pub(crate) fn exactly<T: Pod + fmt::Debug>(
        fill: impl Fn(u64, u64, &mut [T]) + Send + Sync + 'static,
    ) -> Expected {
        let element_bytes = size_of::<T>();
        let check = move |first: u64, launches: u64, found: &[u8]| {
            let mut findings: Option<Findings> = None;
            let mut window = [T::zeroed(); WINDOW];
            let mut first = first;
            for found in found.chunks(WINDOW * element_bytes) {
                let expected = &mut window[..found.len() / element_bytes];
                fill(first, launches, expected);
                if bytemuck::cast_slice::<T, u8>(expected) != found {
                    findings = merge(findings, differences(first, expected, found));
                }
                first += expected.len() as u64;
            }
            findings
        };
        Expected { element_bytes, check: Box::new(check) }
    }

    /// Compares `found`, which begins at the element with the index `first`, after `launches` launches. `None` is a
    /// clean bill.
    pub(crate) fn check(&self, first: u64, launches: u64, found: &[u8]) -> Option<Findings> {
        (self.check)(first, launches, found)
    }

    /// As [`check`](Self::check) on all processors, for a piece that begins `start` bytes into the buffer.
    pub(crate) fn check_in_parallel(&self, start: u64, launches: u64, found: &[u8]) -> Option<Findings> {
        let task = TASK_BYTES / self.element_bytes * self.element_bytes;
        let first = start / self.element_bytes as u64;
        let elements = (task / self.element_bytes) as u64;
        found
            .par_chunks(task)
            .enumerate()
            .map(|(number, piece)| self.check(first + number as u64 * elements, launches, piece))
            .reduce(|| None, merge)
    }
}

/// What is wrong with a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Findings {
    /// How many elements are wrong.
    pub count: u64,
    /// The one with the lowest index.
    pub first: Mismatch,
}

/// An element that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Its index.
    pub index: u64,
    /// What it must be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { index, expected, found } = &self.first;
        let noun = if self.count == 1 { "element is" } else { "elements are" };
        write!(f, "{} {noun} wrong, the first at index {index}: {found} instead of {expected}", self.count)
    }
}

/// Two findings as one.
pub(crate) fn merge(a: Option<Findings>, b: Option<Findings>) -> Option<Findings> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let count = a.count + b.count;
            let first = if a.first.index <= b.first.index { a.first } else { b.first };
            Some(Findings { count, first })
        }
        (a, b) => a.or(b),
    }
}

/// Goes through a window that is known to differ.
fn differences<T: Pod + fmt::Debug>(first: u64, expected: &[T], found: &[u8]) -> Option<Findings> {
    let mut count = 0;
    let mut first_mismatch = None;
    for (offset, (expected, found)) in expected.iter().zip(found.chunks_exact(size_of::<T>())).enumerate() {
        if bytemuck::bytes_of(expected) != found {
            count += 1;
            first_mismatch.get_or_insert_with(|| Mismatch {
                index: first + offset as u64,
                expected: format!("{expected:?}"),
                found: format!("{:?}", bytemuck::pod_read_unaligned::<T>(found)),
            });
        }
    }
    first_mismatch.map(|first| Findings { count, first })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Expected {
        Expected::exactly(|first, launches, values: &mut [f32]| {
            for (offset, value) in values.iter_mut().enumerate() {
                *value = (first + offset as u64 + launches) as f32;
            }
        })
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn every_element_counts_and_the_first_is_named() {
        let mut values: Vec<f32> = (0..200_000).map(|index| (index + 3) as f32).collect();
        assert_eq!(ramp().check_in_parallel(0, 3, &bytes(&values)), None);

        values[199_999] = f32::NAN;
        values[150_000] = 0.0;
        values[70_001] = -1.0;
        let findings = ramp().check_in_parallel(0, 3, &bytes(&values)).expect("three are wrong");
        assert_eq!(findings.count, 3);
        assert_eq!(
            findings.to_string(),
            "3 elements are wrong, the first at index 70001: -1.0 instead of 70004.0"
        );
    }

    #[test]
    fn a_piece_knows_where_it_begins() {
        let values: Vec<f32> = (1000..1100).map(|index| index as f32).collect();
        assert_eq!(ramp().check_in_parallel(4000, 0, &bytes(&values)), None);
        assert!(ramp().check_in_parallel(4004, 0, &bytes(&values)).is_some());
    }

    #[test]
    fn equality_is_of_bits() {
        let zero = Expected::exactly(|_, _, values: &mut [f32]| values.fill(0.0));
        assert!(zero.check(0, 1, &bytes(&[-0.0])).is_some());
        let nan = Expected::exactly(|_, _, values: &mut [f32]| values.fill(f32::NAN));
        assert_eq!(nan.check(0, 1, &bytes(&[f32::NAN])), None);
    }
}
