//! The address, the sector and the 256 bytes of global memory that atomics of a launch hit most.
//!
//! L2 is made of slices, over which addresses are spread in pieces of a few hundred bytes. A slice carries out atomics in
//! *rounds*: in one round each word of one sector is changed by one lane at most. So a warp's request takes, of each sector
//! that it hits, as many rounds as lanes meet at the word of it where most do. Rounds in one place follow one another wherever
//! they come from, and bound a launch's time from below. On an H200 (`coalesce run atomics`) a round takes 0.59 ns:
//!
//! ```text
//! lanes of a warp add to     rounds     measured per warp
//!  1 word                    32         23.7 ns: a single word is a little slower, 0.74 ns a round
//!  8 words, one sector        4          2.37 ns
//! 32 words, four sectors      4          2.37 ns
//! ```
//!
//! Lanes of an atomic that ptxas [combines](crate::exec::SiteInfo::combined) count as one.
//!
//! Counts are kept in tables of fixed size. A word of 4 bytes has the entry of its number modulo the table's length, and so
//! have a sector and a piece. The figures are exact while the counters that a launch hits lie within 256 KiB for words, 2 MiB
//! for sectors and 16 MiB for pieces. Beyond that those that are a multiple of these distances apart count together, so that
//! the figures are too large, at most by the operations divided among that many. They depend neither on the order of blocks nor
//! on the workers.

use super::hidden::hidden;
use crate::coalescing::SECTOR_BYTES;
use counters::HottestAtomics;

/// Entries of a table.
const ENTRIES: usize = 1 << 16;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// Bytes that lie in one slice of L2: on an H200 atomics to 64 adjacent words are as fast as those to 8, and to 128 twice as fast.
const PIECE_BYTES: u64 = 256;

/// Marks of a request: more than lanes.
const LANE_MARKS: u64 = 64;

/// Count of a word or a sector, and its mark.
///
/// A request has the marks from a multiple of [`LANE_MARKS`] on, behind those of earlier ones. A word's mark is that of the latest request
/// to hit it, plus its lanes there; a sector's is the largest of its words'.
type Place = [u64; 2];
type Table<T> = [T; ENTRIES];
const COUNT: usize = 0;
const MARK: usize = 1;

/// Counts of a run of blocks. Empty until the first atomic.
#[derive(Default)]
pub(super) struct Hottest {
    words: Vec<Place>,
    sectors: Vec<Place>,
    /// Rounds by piece.
    pieces: Vec<u64>,
    /// All rounds.
    rounds: u64,
    /// First mark of the latest request.
    request: u64,
}

impl Hottest {
    /// Counts a request with at least one active lane. The lanes of a `combined` one share an address, and count as one.
    #[inline(never)]
    pub(super) fn note(&mut self, active: u32, combined: bool, address: impl Fn(u32) -> u64) {
        if self.words.is_empty() {
            self.words = vec![[0; 2]; ENTRIES];
            self.sectors = vec![[0; 2]; ENTRIES];
            self.pieces = vec![0; ENTRIES];
        }
        let (Ok(words), Ok(sectors), Ok(pieces)) = (
            <&mut Table<Place>>::try_from(self.words.as_mut_slice()),
            <&mut Table<Place>>::try_from(self.sectors.as_mut_slice()),
            <&mut Table<u64>>::try_from(self.pieces.as_mut_slice()),
        ) else {
            unreachable!("tables have a fixed size")
        };
        self.request += LANE_MARKS;
        let request = self.request;
        let mut lanes = if combined { active & active.wrapping_neg() } else { active };
        while lanes != 0 {
            let address = address(lanes.trailing_zeros());
            lanes &= lanes - 1;
            // Without branches: whether lanes meet cannot be predicted.
            let word = &mut words[(address / WORD_BYTES) as usize % ENTRIES];
            let met = hidden(u64::from(word[MARK] >= request));
            let mark = request + ((word[MARK] % LANE_MARKS) & met.wrapping_neg()) + 1;
            *word = [word[COUNT] + 1, mark];
            let sector = &mut sectors[(address / SECTOR_BYTES) as usize % ENTRIES];
            let before = sector[MARK];
            let another = hidden(u64::from(mark > before));
            let largest = before + (mark.wrapping_sub(before) & another.wrapping_neg());
            *sector = [sector[COUNT] + u64::from(before < request), largest];
            pieces[(address / PIECE_BYTES) as usize % ENTRIES] += another;
            self.rounds += another;
        }
    }

    /// Adds the counts of another run.
    pub(super) fn add(&mut self, other: Self) {
        if self.words.is_empty() {
            *self = other;
            return;
        }
        self.rounds += other.rounds;
        let places = [(&mut self.words, other.words), (&mut self.sectors, other.sectors)];
        for (own, of_other) in places.into_iter().flat_map(|(own, of_other)| own.iter_mut().zip(of_other)) {
            own[COUNT] += of_other[COUNT];
        }
        for (own, of_other) in self.pieces.iter_mut().zip(other.pieces) {
            *own += of_other;
        }
    }

    /// Returns the largest counts.
    pub(super) fn most(&self) -> HottestAtomics {
        let most = |places: &[Place]| places.iter().map(|place| place[COUNT]).max().unwrap_or(0);
        HottestAtomics {
            operations: most(&self.words),
            requests: most(&self.sectors),
            rounds: self.pieces.iter().copied().max().unwrap_or(0),
            all_rounds: self.rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(hottest: &mut Hottest, active: u32, base: u64, step: u64) {
        hottest.note(active, false, |lane| base + step * u64::from(lane));
    }

    fn most(hottest: &Hottest) -> [u64; 4] {
        let HottestAtomics { operations, requests, rounds, all_rounds } = hottest.most();
        [operations, requests, rounds, all_rounds]
    }

    #[test]
    fn lanes_count_at_their_word_and_a_request_once_per_sector() {
        let mut hottest = Hottest::default();
        assert_eq!(hottest.most(), HottestAtomics::default());
        noted(&mut hottest, u32::MAX, 4096, 0);
        assert_eq!(most(&hottest), [32, 1, 32, 32]);
        // Eight words in each of four sectors, of which the first was hit before.
        noted(&mut hottest, u32::MAX, 4096, 4);
        assert_eq!(most(&hottest), [33, 2, 36, 36]);
        noted(&mut hottest, 0b11, 4096, 8);
        assert_eq!(most(&hottest), [34, 3, 37, 37]);
        // Four lanes at each of eight words, in another piece.
        hottest.note(u32::MAX, false, |lane| 8192 + u64::from(lane % 8) * 4);
        assert_eq!(most(&hottest), [34, 3, 37, 41]);
        // Lanes that are combined.
        hottest.note(u32::MAX, true, |_| 4096);
        assert_eq!(most(&hottest), [35, 4, 38, 42]);
    }

    #[test]
    fn runs_add_up() {
        let (mut one, mut other) = (Hottest::default(), Hottest::default());
        noted(&mut one, 0b1111, 64, 0);
        noted(&mut other, 0b11, 64, 0);
        noted(&mut other, 0b11, 128, 0);
        one.add(other);
        one.add(Hottest::default());
        assert_eq!(most(&one), [6, 2, 8, 8]);
    }
}
