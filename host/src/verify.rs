//! The expected contents of a buffer, compared with its contents after the launches, bit by bit.

use crate::experiments::Precision;
use cust::memory::bytemuck::{self, Pod};
use pattern::{SEED, wide};
use rayon::prelude::*;
use std::fmt;

/// Elements whose expected values are worked out at a time, to be compared from the first-level cache.
const WINDOW: usize = 2048;

/// Bytes that one task compares.
const TASK_BYTES: usize = 256 << 10;

/// A rule for the contents of a buffer.
pub(crate) enum Expected {
    /// Each element is what a function says: see [`Expected::exactly`] and [`Expected::within`].
    Elements {
        /// Bytes of an element.
        element_bytes: usize,
        /// The comparison.
        check: Box<Check>,
        /// Makes elements that are right what they were before the launches, where the rule says how.
        restore: Option<Box<Restore>>,
    },
    /// Whatever this finds right. It is given the number of the first byte, which is a multiple of 256 KiB, the launches that
    /// the buffer went through, and the bytes from there on.
    Computed(Box<Check>),
}

/// From the index of what comes first (an element, or in [`Expected::Computed`] a byte), the number of launches and the bytes
/// found to what is wrong with them.
type Check = dyn Fn(u64, u64, &[u8]) -> Option<Findings> + Send + Sync;

/// Changes elements, from the index of the first and the number of launches behind them.
type Restore = dyn Fn(u64, u64, &mut [u8]) + Send + Sync;

/// How far a number may be from what it should be: by `absolute`, and by `relative` times the magnitude of what it
/// should be, both together. A NaN is never near anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    /// In the number's own unit.
    pub absolute: f64,
    /// As a part of the number's magnitude.
    pub relative: f64,
}

impl Tolerance {
    /// Whether `found` is near enough to `expected`.
    pub(crate) fn admits(self, expected: f64, found: f64) -> bool {
        // Equal infinities differ by NaN. Without a branch, so that loops over it vectorise.
        (found == expected) | ((found - expected).abs() <= self.absolute + self.relative * expected.abs())
    }
}

/// A floating-point element.
pub(crate) trait Real: Pod + fmt::Debug {
    /// In double precision.
    fn double(self) -> f64;
}

impl Real for f32 {
    fn double(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn double(self) -> f64 {
        self
    }
}

impl Expected {
    /// Each element is exactly, NaNs and signed zeros included, what `fill` writes for its index.
    ///
    /// `fill` is given the index of a window's first element, the number of launches that the buffer went through,
    /// and the window to write.
    pub(crate) fn exactly<T: Pod + fmt::Debug>(
        fill: impl Fn(u64, u64, &mut [T]) + Send + Sync + 'static,
    ) -> Expected {
        Expected::by_windows(fill, |first, expected: &[T], found| {
            if bytemuck::cast_slice::<T, u8>(expected) == found {
                return None;
            }
            let same = |expected: &T, found: &T| bytemuck::bytes_of(expected) == bytemuck::bytes_of(found);
            differences(first, expected, found, same)
        })
    }

    /// Each element is exactly what the pattern has at its index after `add` has added the number of launches wherever it does.
    ///
    /// `add` is given the index of a window's first element, the number to add, and the window. Adding the negated number
    /// restores the pattern, because sums are exact.
    pub(crate) fn added<T: pattern::Element + Pod + fmt::Debug>(
        add: impl Fn(u64, i64, &mut [T]) + Clone + Send + Sync + 'static,
    ) -> Expected {
        let back = add.clone();
        let mut expected = Expected::exactly(move |first, launches, values: &mut [T]| {
            pattern::fill(first, SEED, values);
            add(first, launches as i64, values);
        });
        if let Expected::Elements { restore, .. } = &mut expected {
            *restore = Some(Box::new(move |first, launches, found| {
                back(first, -(launches as i64), bytemuck::cast_slice_mut(found));
            }));
        }
        expected
    }

    /// Each element is within `tolerance` of what `fill` writes for its index; `fill` is called as by
    /// [`exactly`](Self::exactly).
    pub(crate) fn within<T: Real>(
        tolerance: Tolerance,
        fill: impl Fn(u64, u64, &mut [T]) + Send + Sync + 'static,
    ) -> Expected {
        Expected::by_windows(fill, move |first, expected: &[T], found| {
            let admits = |expected: &T, found: &T| tolerance.admits(expected.double(), found.double());
            let pairs = expected.iter().zip(found.chunks_exact(size_of::<T>()));
            let all = pairs.fold(true, |all, (expected, found)| {
                all & admits(expected, &bytemuck::pod_read_unaligned(found))
            });
            if all { None } else { differences(first, expected, found, admits) }
        })
    }

    /// The result of `differ` for each window that `fill` writes and the bytes found there.
    fn by_windows<T: Pod>(
        fill: impl Fn(u64, u64, &mut [T]) + Send + Sync + 'static,
        differ: impl Fn(u64, &[T], &[u8]) -> Option<Findings> + Send + Sync + 'static,
    ) -> Expected {
        let element_bytes = size_of::<T>();
        let check = move |mut first: u64, launches: u64, found: &[u8]| {
            let mut findings: Option<Findings> = None;
            let mut window = [T::zeroed(); WINDOW];
            for found in found.chunks(WINDOW * element_bytes) {
                let expected = &mut window[..found.len() / element_bytes];
                wide(|expected| fill(first, launches, expected), &mut *expected);
                findings = merge(findings, differ(first, expected, found));
                first += expected.len() as u64;
            }
            findings
        };
        Expected::Elements { element_bytes, check: Box::new(check), restore: None }
    }

    /// Compares `found`, which begins at the element with the index `first`, after `launches` launches. `None` is a
    /// clean bill.
    ///
    /// For [`Expected::Computed`] the index is a byte's.
    pub(crate) fn check(&self, first: u64, launches: u64, found: &[u8]) -> Option<Findings> {
        match self {
            Expected::Elements { check, .. } | Expected::Computed(check) => check(first, launches, found),
        }
    }

    /// As [`check`](Self::check) on all processors, for a piece that begins `start` bytes into the buffer.
    pub(crate) fn check_in_parallel(&self, start: u64, launches: u64, found: &[u8]) -> Option<Findings> {
        let pieces = found.par_chunks(self.task_bytes()).enumerate();
        let check = |(number, piece)| self.check(self.first_of_task(start, number), launches, piece);
        pieces.map(check).reduce(|| None, merge)
    }

    /// Whether [`check_and_restore`](Self::check_and_restore) restores the pattern in this precision.
    pub(crate) fn restores(&self, precision: Precision) -> bool {
        matches!(self, Expected::Elements { restore: Some(_), .. })
            && self.element_bytes() as u64 == precision.size()
    }

    /// As [`check_in_parallel`](Self::check_in_parallel) for a whole buffer, and makes what is right the pattern again while
    /// the processor's cache has it.
    pub(crate) fn check_and_restore(&self, launches: u64, found: &mut [u8]) -> Option<Findings> {
        let check = |(number, piece): (usize, &mut [u8])| {
            let first = self.first_of_task(0, number);
            let findings = self.check(first, launches, piece);
            if let (None, Expected::Elements { restore: Some(restore), .. }) = (&findings, self) {
                restore(first, launches, piece);
            }
            findings
        };
        found.par_chunks_mut(self.task_bytes()).enumerate().map(check).reduce(|| None, merge)
    }

    fn element_bytes(&self) -> usize {
        match self {
            Expected::Elements { element_bytes, .. } => *element_bytes,
            Expected::Computed(_) => 1,
        }
    }

    /// Bytes that one task compares: whole elements.
    fn task_bytes(&self) -> usize {
        TASK_BYTES / self.element_bytes() * self.element_bytes()
    }

    /// The index of the first element of a task, of a piece that begins `start` bytes into the buffer.
    fn first_of_task(&self, start: u64, number: usize) -> u64 {
        (start + (number * self.task_bytes()) as u64) / self.element_bytes() as u64
    }
}

/// A fault of a buffer.
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
    /// The expected value.
    pub expected: String,
    /// The value found.
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

/// Compares the elements in `found`, which begins at the element with the index `first`, with what `element` says of each.
#[cfg(test)]
pub(crate) fn compare<T: Pod + fmt::Debug>(
    first: u64,
    found: &[u8],
    element: impl Fn(u64) -> T,
    same: impl Fn(&T, &T) -> bool,
) -> Option<Findings> {
    let mut findings: Option<Findings> = None;
    for (nth, found) in found.chunks_exact(size_of::<T>()).enumerate() {
        let index = first + nth as u64;
        findings = merge(findings, differences(index, &[element(index)], found, &same));
    }
    findings
}

/// The elements of a window that are not as they should be.
fn differences<T: Pod + fmt::Debug>(
    first: u64,
    expected: &[T],
    found: &[u8],
    same: impl Fn(&T, &T) -> bool,
) -> Option<Findings> {
    let mut count = 0;
    let mut first_mismatch = None;
    for (offset, (expected, found)) in expected.iter().zip(found.chunks_exact(size_of::<T>())).enumerate() {
        let found = bytemuck::pod_read_unaligned::<T>(found);
        if !same(expected, &found) {
            count += 1;
            first_mismatch.get_or_insert_with(|| Mismatch {
                index: first + offset as u64,
                expected: format!("{expected:?}"),
                found: format!("{found:?}"),
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
    fn what_is_right_becomes_the_pattern_again() {
        let rule = Expected::added(|first, addend, values: &mut [f32]| {
            <f32 as pattern::Element>::add_by(3, addend, &mut values[((3 - first % 3) % 3) as usize..]);
        });
        let mut before = vec![0_f32; 200_000];
        pattern::fill(0, SEED, &mut before);
        let mut values = before.clone();
        values.iter_mut().step_by(3).for_each(|value| *value += 7.0);
        assert!(rule.restores(Precision::F32) && !rule.restores(Precision::F64));
        assert!(!ramp().restores(Precision::F32));
        assert_eq!(rule.check_and_restore(7, bytemuck::cast_slice_mut(&mut values)), None);
        assert_eq!(values, before);

        values[150_001] += 7.0;
        let findings = rule.check_and_restore(0, bytemuck::cast_slice_mut(&mut values));
        let findings = findings.expect("it is not to be touched");
        assert_eq!((findings.count, findings.first.index), (1, 150_001));
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

    #[test]
    fn a_tolerance_is_absolute_and_relative_and_no_nan_is_near() {
        let near = Tolerance { absolute: 0.5, relative: 0.125 };
        assert!(near.admits(8.0, 9.5) && near.admits(-8.0, -9.5) && !near.admits(8.0, 9.625));
        assert!(near.admits(f64::INFINITY, f64::INFINITY) && !near.admits(f64::NAN, f64::NAN));
        assert!(!near.admits(1.0, f64::NAN));

        let rule = Expected::within(near, |first, _, values: &mut [f32]| {
            for (offset, value) in values.iter_mut().enumerate() {
                *value = (first + offset as u64) as f32;
            }
        });
        let mut values: Vec<f32> = (0..5000).map(|index| index as f32 * 1.1).collect();
        assert_eq!(rule.check_in_parallel(0, 1, &bytes(&values)), None);
        values[4000] = 4600.0;
        values[4500] = f32::NAN;
        let findings = rule.check_in_parallel(0, 1, &bytes(&values)).expect("two are too far off");
        assert_eq!((findings.count, findings.first.index), (2, 4000));
        assert_eq!((findings.first.expected.as_str(), findings.first.found.as_str()), ("4000.0", "4600.0"));
    }

    #[test]
    fn a_computed_rule_is_given_bytes_by_their_number() {
        let rule = Expected::Computed(Box::new(|start, launches, found| {
            compare(start / 4, found, |index| index as u32 * launches as u32, |a: &u32, b| a == b)
        }));
        let mut values: Vec<u8> = (0..300_000_u32).flat_map(|index| (3 * index).to_le_bytes()).collect();
        assert_eq!(rule.check_in_parallel(0, 3, &values), None);
        assert_eq!(rule.check_in_parallel(400_000, 3, &values[400_000..]), None);
        values[4 * 200_000] ^= 1;
        let findings = rule.check_in_parallel(0, 3, &values).expect("one is wrong");
        assert_eq!(
            findings.to_string(),
            "1 element is wrong, the first at index 200000: 600001 instead of 600000"
        );
    }
}
