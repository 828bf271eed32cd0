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
//! Blocks that are resident at other times hit other places: of a sorted list, one after the other. So the rounds of the busiest slice are
//! those of the busiest in each span of time, added up. A span is the time of twice as many blocks as are resident, since a warp goes on, and
//! blocks end, while what they want added still waits.
//!
//! Counts are kept in tables of fixed size. A word of 4 bytes has the entry of its number modulo the table's length, and so
//! have a sector and a piece. The figures are exact while the counters that a launch hits lie within 256 KiB for words, 2 MiB
//! for sectors and 16 MiB for pieces. Beyond that those that are a multiple of these distances apart count together, so that
//! the figures are too large, at most by the operations divided among that many. They depend neither on the order of blocks nor
//! on the workers.

use super::contention::{Contention, PIECE_BYTES, WORD_BYTES};
use super::hidden::hidden;
use crate::coalescing::{Addresses, LANES, SECTOR_BYTES};
use crate::decode::Level;
use counters::HottestAtomics;

/// Entries of a table.
const ENTRIES: usize = 1 << 16;

/// Blocks of a span of time, in blocks that are resident at once.
pub(super) const BLOCKS_OF_SPAN: u64 = 2;

/// Slices of an H200's L2: 60 MiB in 6 parts, each with 16.
pub(crate) const SLICES: usize = 96;

/// Bytes of adjacent words that have entries of their own.
const SPAN: u64 = ENTRIES as u64 * WORD_BYTES;

/// [`Rounds::among`] counts this many rounds in any case.
const FEW_ROUNDS: usize = 4;

/// Marks of a request: more than lanes.
const LANE_MARKS: u64 = 64;

type Table = [u64; ENTRIES];

/// Marks of the words and the sectors that a request hits, where two of its words may have one entry.
///
/// A request has the marks from a multiple of [`LANE_MARKS`] on, behind those of earlier ones. A word's mark is that of the latest request
/// to hit it, plus its lanes there; a sector's is the largest of its words'.
#[derive(Default)]
struct Marks {
    words: Vec<u64>,
    sectors: Vec<u64>,
    /// First mark of the latest request.
    request: u64,
}

/// Counts of a run of blocks. Empty until the first atomic.
#[derive(Default)]
pub(super) struct Hottest {
    /// Lanes by word.
    words: Vec<u64>,
    /// Requests by sector.
    sectors: Vec<u64>,
    /// Rounds by piece.
    pieces: Vec<u64>,
    /// All rounds.
    rounds: u64,
    /// Rounds by slice, for each span of time in which there were any. The last one is the current one.
    slices: Vec<(u64, [u64; SLICES])>,
    marks: Marks,
}

/// Returns a table, which is made now if there is none.
#[inline(always)]
fn table(table: &mut Vec<u64>) -> &mut Table {
    if table.is_empty() {
        *table = vec![0; ENTRIES];
    }
    table.as_mut_slice().try_into().expect("tables have a fixed size")
}

/// Returns the slice of the piece at an address.
///
/// Which slice it is, is not documented. On an H200 two adjacent pieces are in two slices, four in the same two, and many pieces are spread
/// well (`coalesce run atomics`): so the first and the third of four share a slice and so do the second and the fourth, and fours are spread by
/// multiples of the golden ratio, which lie apart for any number of them.
#[inline(always)]
fn slice(address: u32) -> usize {
    const GOLDEN: u32 = 0x9E37_79B9;
    let number = address / PIECE_BYTES as u32 % ENTRIES as u32;
    let place = ((u64::from((number / 4).wrapping_mul(GOLDEN)) * SLICES as u64) >> 32) as usize;
    (place + number as usize % 2 * (SLICES / 2)) % SLICES
}

/// Returns the entry of the piece of this size at an address.
#[inline(always)]
fn entry(table: &mut Table, address: u32, bytes: u64) -> &mut u64 {
    &mut table[address as usize / bytes as usize % ENTRIES]
}

/// Returns the places of the ones of a mask, ascending.
fn ones(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (place < LANES).then_some(place)
    })
}

/// The rounds of a request by sector.
///
/// Round `k` of a sector takes place if `k` lanes or more meet at a word of it. For each round there is a mask with one bit for each sector
/// that takes it, at the sector's last address. For example, lanes that meet by 2, 1 and 3 at words of the same sector have the marks
/// `110010` of those that are not the first at their word, and `100000` of the third: rounds 1, 2 and 3 all have the bit `100000`.
struct Rounds {
    /// Masks by round; 0 from `count` on.
    sectors: [u32; LANES],
    count: usize,
}

impl Rounds {
    #[inline(always)]
    fn of(contention: &Contention) -> Self {
        let lanes = contention.lanes();
        let last = contention.new_sector >> 1 | (lanes ^ lanes >> 1);
        let others = lanes & !last;
        let mut rounds = Self { sectors: [0; LANES], count: 1 };
        rounds.sectors[0] = last;
        let mut met = contention.same_word;
        while met != 0 {
            // The sum carries to a sector's last address from any other one that is set.
            let any = (((met & others) + others) | met) & last;
            rounds.sectors[rounds.count % LANES] = any;
            rounds.count += 1;
            met &= met << 1;
        }
        rounds
    }

    /// Returns the rounds of the sectors at some addresses.
    #[inline(always)]
    fn among(&self, addresses: u32) -> u64 {
        let sum = |rounds: &[u32]| -> u64 {
            rounds.iter().map(|sectors| u64::from((sectors & addresses).count_ones())).sum()
        };
        // Usually there are few rounds, though how many cannot be predicted.
        let (first, others) = self.sectors.split_at(FEW_ROUNDS);
        sum(first) + if self.count > FEW_ROUNDS { sum(others) } else { 0 }
    }
}

impl Hottest {
    /// Counts a request in a span of time. The lanes of a `combined` one share an address, and count as one.
    #[inline(never)]
    pub(super) fn note(
        &mut self,
        span: u64,
        contention: &Contention,
        combined: bool,
        (addresses, active): (&Addresses, u32),
        level: Level,
    ) {
        if self.slices.last().is_none_or(|(last, _)| *last != span) {
            self.begin(span);
        }
        if combined {
            self.note_far(addresses, active & active.wrapping_neg());
        } else if u64::from(contention.span) < SPAN - WORD_BYTES {
            self.note_near(contention, level);
        } else {
            self.note_far(addresses, active);
        }
    }

    /// Moves a span's counts to the end of the list.
    #[cold]
    fn begin(&mut self, span: u64) {
        let known = self.slices.iter().position(|(other, _)| *other == span);
        let slices = known.map_or((span, [0; SLICES]), |at| self.slices.remove(at));
        self.slices.push(slices);
    }

    /// Returns the tables of words, sectors and pieces, and the rounds by slice of the span that was begun last.
    #[inline(always)]
    fn tables(&mut self) -> ([&mut Table; 3], &mut [u64; SLICES]) {
        let (_, slices) = self.slices.last_mut().expect("a span has begun");
        ([&mut self.words, &mut self.sectors, &mut self.pieces].map(table), slices)
    }

    /// Counts a request no two of whose words have one entry.
    #[inline(always)]
    fn note_near(&mut self, contention: &Contention, level: Level) {
        #[cfg(target_arch = "x86_64")]
        if level == Level::Avx2 {
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn note(hottest: &mut Hottest, contention: &Contention) {
                hottest.note_near_with(contention);
            }
            // SAFETY: this level is set only where the computer supports it.
            return unsafe { note(self, contention) };
        }
        let _ = level;
        self.note_near_with(contention);
    }

    #[inline(always)]
    fn note_near_with(&mut self, contention: &Contention) {
        let ([words, sectors, pieces], slices) = self.tables();
        let addresses = contention.addresses();
        for &address in addresses {
            *entry(words, address, WORD_BYTES) += 1;
        }
        for first in ones(contention.new_sector) {
            *entry(sectors, addresses[first % LANES], SECTOR_BYTES) += 1;
        }
        let rounds = Rounds::of(contention);
        let mut all_rounds = 0;
        let mut starts = contention.new_piece;
        while starts != 0 {
            let first = starts.trailing_zeros();
            starts &= starts - 1;
            // The addresses of the piece.
            let own = (starts & starts.wrapping_neg()).wrapping_sub(1) & u32::MAX << first;
            let rounds = rounds.among(own);
            let address = addresses[first as usize % LANES];
            *entry(pieces, address, PIECE_BYTES) += rounds;
            slices[slice(address)] += rounds;
            all_rounds += rounds;
        }
        self.rounds += all_rounds;
    }

    /// Counts a request with at least one active lane.
    #[inline(never)]
    fn note_far(&mut self, addresses: &Addresses, mut active: u32) {
        let mut marks = std::mem::take(&mut self.marks);
        let ([words, sectors, pieces], slices) = self.tables();
        let [of_words, of_sectors] = [&mut marks.words, &mut marks.sectors].map(table);
        marks.request += LANE_MARKS;
        let request = marks.request;
        let mut rounds = 0;
        while active != 0 {
            let address = addresses[active.trailing_zeros() as usize % LANES] as u32;
            active &= active - 1;
            // Without branches: whether lanes meet cannot be predicted.
            *entry(words, address, WORD_BYTES) += 1;
            let word = entry(of_words, address, WORD_BYTES);
            let met = hidden(u64::from(*word >= request));
            let mark = request + ((*word % LANE_MARKS) & met.wrapping_neg()) + 1;
            *word = mark;
            let largest = entry(of_sectors, address, SECTOR_BYTES);
            let before = *largest;
            let another = hidden(u64::from(mark > before));
            *largest = before + (mark.wrapping_sub(before) & another.wrapping_neg());
            *entry(sectors, address, SECTOR_BYTES) += u64::from(before < request);
            *entry(pieces, address, PIECE_BYTES) += another;
            slices[slice(address)] += another;
            rounds += another;
        }
        self.rounds += rounds;
        self.marks = marks;
    }

    /// Adds the counts of another run.
    pub(super) fn add(&mut self, other: Self) {
        if self.words.is_empty() {
            *self = other;
            return;
        }
        for (span, of_other) in &other.slices {
            self.begin(*span);
            let (_, own) = self.slices.last_mut().expect("the span has begun");
            own.iter_mut().zip(of_other).for_each(|(own, of_other)| *own += of_other);
        }
        self.rounds += other.rounds;
        let tables = [
            (&mut self.words, other.words),
            (&mut self.sectors, other.sectors),
            (&mut self.pieces, other.pieces),
        ];
        for (own, of_other) in tables.into_iter().flat_map(|(own, of_other)| own.iter_mut().zip(of_other)) {
            *own += of_other;
        }
    }

    /// Returns the rounds of the slice that has most of them in each span, added up.
    fn busiest_slices(&self) -> u64 {
        self.slices.iter().filter_map(|(_, slices)| slices.iter().max()).sum()
    }

    /// Returns the number of pieces as hot as the hottest, which has `most` rounds.
    fn alike(&self, most: u64) -> u64 {
        let square = |rounds: u64| u128::from(rounds).pow(2);
        // Whole numbers: a sum of rounded quotients may fall on the other side of a half.
        let sum: u128 = self.pieces.iter().copied().map(square).sum();
        (sum as f64 / square(most.max(1)) as f64).round() as u64
    }

    /// Returns the largest counts.
    pub(super) fn most(&self) -> HottestAtomics {
        let most = |table: &[u64]| table.iter().copied().max().unwrap_or(0);
        let rounds = most(&self.pieces);
        HottestAtomics {
            operations: most(&self.words),
            requests: most(&self.sectors),
            rounds,
            slice: self.busiest_slices(),
            alike: self.alike(rounds),
            all_rounds: self.rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(hottest: &mut Hottest, active: u32, combined: bool, addresses: Addresses) {
        let contention = Contention::of(&addresses, active, Level::detect());
        hottest.note(0, &contention, combined, (&addresses, active), Level::detect());
    }

    fn noted(hottest: &mut Hottest, active: u32, base: u64, step: u64) {
        note(hottest, active, false, std::array::from_fn(|lane| base + step * lane as u64));
    }

    fn most(hottest: &Hottest) -> [u64; 4] {
        let HottestAtomics { operations, requests, rounds, all_rounds, .. } = hottest.most();
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
        note(&mut hottest, u32::MAX, false, std::array::from_fn(|lane| 8192 + lane as u64 % 8 * 4));
        assert_eq!(most(&hottest), [34, 3, 37, 41]);
        // Lanes that are combined.
        note(&mut hottest, u32::MAX, true, [4096; LANES]);
        assert_eq!(most(&hottest), [35, 4, 38, 42]);
    }

    #[test]
    fn requests_far_apart_count_like_near_ones() {
        let (mut near, mut far) = (Hottest::default(), Hottest::default());
        near.begin(0);
        far.begin(0);
        for round in 0..200_u64 {
            let words = std::array::from_fn(|lane| (round + lane as u64 * (round % 7)) % 50 * 4);
            let active = (round as u32).wrapping_mul(0x9E37_79B1) | 1 << 31;
            for level in [Level::Portable, Level::detect()] {
                near.note_near(&Contention::of(&words, active, level), level);
                far.note_far(&words, active);
                assert_eq!(most(&near), most(&far));
            }
        }
    }

    #[test]
    fn pieces_are_spread_over_slices() {
        // Of pieces in a row, with two rounds each, the busiest slice has one, one, and two of 4 to 64; of 384, twice as many as all have.
        for (pieces, slice) in [(1, 2), (2, 2), (4, 4), (8, 4), (64, 4), (384, 16)] {
            let mut hottest = Hottest::default();
            (0..pieces).for_each(|piece| noted(&mut hottest, 0b11, 256 * piece, 0));
            let most = hottest.most();
            assert_eq!((most.slice, most.alike), (slice, pieces), "of {pieces}");
        }
        // A hot piece, and a cooler one in its slice.
        let mut hottest = Hottest::default();
        noted(&mut hottest, u32::MAX, 0, 0);
        noted(&mut hottest, 0b1111, 512, 0);
        let most = hottest.most();
        assert_eq!((most.rounds, most.slice, most.alike), (32, 36, 1));
        // In another span of time, other pieces are hit: one waits for the other.
        let contention = Contention::of(&[256; LANES], 0b11, Level::detect());
        hottest.note(1, &contention, false, (&[256; LANES], 0b11), Level::detect());
        hottest.note(0, &contention, false, (&[256; LANES], 0b11), Level::detect());
        assert_eq!((hottest.most().slice, hottest.slices.len()), (38, 2));
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
