//! The address and the sector of global memory that atomics of a launch hit most.
//!
//! Atomic operations on one address follow one another wherever they come from, so the address that is hit most bounds a
//! launch's time from below. The unit that executes them takes a request's lanes in one sector together, so the requests of
//! a sector are counted as well.
//!
//! Counts are kept in tables of fixed size. A word of 4 bytes has the entry of its number modulo the table's length, and so
//! has a sector. The figures are exact while the counters that a launch hits lie within 256 KiB for words and 2 MiB for
//! sectors. Beyond that words that are a multiple of these distances apart count together, so that the figures are too large,
//! at most by the operations divided among that many. They depend neither on the order of blocks nor on the workers.

use crate::coalescing::SECTOR_BYTES;
use counters::HottestAtomics;

/// Entries of a table.
const ENTRIES: usize = 1 << 16;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// Counts of a run of blocks. Empty until the first atomic.
#[derive(Default)]
pub(super) struct Hottest {
    /// Operations of lanes, by word.
    operations: Vec<u64>,
    /// Requests, by sector, and the last one that touched it.
    requests: Vec<(u64, u64)>,
    /// Requests so far.
    request: u64,
}

impl Hottest {
    /// Counts a request with at least one active lane.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, active: u32, address: impl Fn(u32) -> u64) {
        if self.operations.is_empty() {
            self.operations = vec![0; ENTRIES];
            self.requests = vec![(0, 0); ENTRIES];
        }
        self.request += 1;
        let mut lanes = active;
        while lanes != 0 {
            let address = address(lanes.trailing_zeros());
            lanes &= lanes - 1;
            self.operations[(address / WORD_BYTES) as usize % ENTRIES] += 1;
            let (requests, last) = &mut self.requests[(address / SECTOR_BYTES) as usize % ENTRIES];
            *requests += u64::from(*last != self.request);
            *last = self.request;
        }
    }

    /// Adds the counts of another run.
    pub(super) fn add(&mut self, other: Self) {
        if self.operations.is_empty() {
            *self = other;
            return;
        }
        for (own, of_other) in self.operations.iter_mut().zip(other.operations) {
            *own += of_other;
        }
        for (own, of_other) in self.requests.iter_mut().zip(other.requests) {
            own.0 += of_other.0;
        }
    }

    /// Returns the largest counts.
    pub(super) fn most(&self) -> HottestAtomics {
        HottestAtomics {
            operations: self.operations.iter().copied().max().unwrap_or(0),
            requests: self.requests.iter().map(|(requests, _)| *requests).max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(hottest: &mut Hottest, active: u32, base: u64, step: u64) {
        hottest.note(active, |lane| base + step * u64::from(lane));
    }

    #[test]
    fn lanes_count_at_their_word_and_a_request_once_per_sector() {
        let mut hottest = Hottest::default();
        assert_eq!(hottest.most(), HottestAtomics::default());
        noted(&mut hottest, u32::MAX, 4096, 0);
        assert_eq!(hottest.most(), HottestAtomics { operations: 32, requests: 1 });
        // Eight words in each of four sectors, of which the first was hit before.
        noted(&mut hottest, u32::MAX, 4096, 4);
        assert_eq!(hottest.most(), HottestAtomics { operations: 33, requests: 2 });
        noted(&mut hottest, 0b11, 4096, 8);
        assert_eq!(hottest.most(), HottestAtomics { operations: 34, requests: 3 });
    }

    #[test]
    fn runs_add_up() {
        let (mut one, mut other) = (Hottest::default(), Hottest::default());
        noted(&mut one, 0b1111, 64, 0);
        noted(&mut other, 0b11, 64, 0);
        noted(&mut other, 0b11, 128, 0);
        one.add(other);
        one.add(Hottest::default());
        assert_eq!(one.most(), HottestAtomics { operations: 6, requests: 2 });
    }
}
