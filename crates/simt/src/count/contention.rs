//! The addresses of an atomic's request in ascending order, and where lanes meet.
//!
//! For example, lanes that add to the words at 8, 64, 8 and 12 have the order 8, 8, 12, 64: three distinct words, of which the
//! first is that of two lanes, in two sectors.

use super::distinct::{Pieces, longest_run, packed_lanes, sorted};
use crate::coalescing::{Addresses, AtomicConflicts, LANES, SECTOR_BYTES};
use crate::decode::Level;

/// Bytes of a word.
pub(super) const WORD_BYTES: u64 = 4;

/// Bytes of a piece, which lies in one slice of L2: on an H200 atomics to 64 adjacent words are as fast as those to 8, and to 128 twice as
/// fast.
pub(super) const PIECE_BYTES: u64 = 256;

/// The addresses of a request with at least one active lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contention {
    /// The lower halves of the active lanes' addresses, ascending; all others mean nothing.
    addresses: [u32; LANES],
    /// Active lanes.
    count: usize,
    /// Bytes from the first address to the last one; the highest number if there are more.
    pub(super) span: u32,
    /// One bit per address: whether it is in the word of the one before.
    pub(super) same_word: u32,
    /// One bit per address: whether it is the first of its sector.
    pub(super) new_sector: u32,
    /// One bit per address: whether it is the first of its [piece](PIECE_BYTES).
    pub(super) new_piece: u32,
    pub(super) conflicts: AtomicConflicts,
    pub(super) pieces: Pieces,
}

impl Contention {
    /// Sorts the addresses of a request with at least one active lane.
    #[inline(always)]
    pub(super) fn of(addresses: &Addresses, active: u32, level: Level) -> Self {
        #[cfg(target_arch = "x86_64")]
        if level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            if let Some(contention) = unsafe { wide::contention(addresses, active) } {
                return contention;
            }
        }
        let _ = level;
        Self::one_by_one(addresses, active)
    }

    #[inline(never)]
    fn one_by_one(addresses: &Addresses, active: u32) -> Self {
        let mut packed = [0; LANES];
        let packed = sorted(addresses, active, &mut packed);
        let same = |bytes: u64| {
            let pairs = packed.windows(2).zip(1..);
            pairs.fold(0, |same, (pair, at)| same | u32::from(pair[0] / bytes == pair[1] / bytes) << at)
        };
        let count = packed.len();
        let mut low = [0; LANES];
        low.iter_mut().zip(packed).for_each(|(low, address)| *low = *address as u32);
        Self {
            addresses: low,
            count,
            span: u32::try_from(packed[count - 1] - packed[0]).unwrap_or(u32::MAX),
            same_word: same(WORD_BYTES),
            new_sector: !same(SECTOR_BYTES) & packed_lanes(active),
            new_piece: !same(PIECE_BYTES) & packed_lanes(active),
            conflicts: conflicts(same(1), active),
            pieces: Pieces::one_by_one(addresses, active),
        }
    }

    /// Returns the lower halves of the active lanes' addresses, ascending.
    #[inline(always)]
    pub(super) fn addresses(&self) -> &[u32] {
        &self.addresses[..self.count.min(LANES)]
    }

    /// Returns one bit per address.
    #[inline(always)]
    pub(super) fn lanes(&self) -> u32 {
        u32::MAX >> (LANES - self.count)
    }
}

/// Returns the conflicts of a request, of whose addresses in ascending order these are the same as the one before.
#[inline(always)]
fn conflicts(same: u32, active: u32) -> AtomicConflicts {
    AtomicConflicts { addresses: active.count_ones() - same.count_ones(), rounds: 1 + longest_run(same) }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Addresses, Contention, Pieces, conflicts, packed_lanes};
    use crate::count::banks::wide::most_of_one;
    use crate::count::group::GROUP_SHIFT;
    use crate::count::network::{
        Keys, before, count, elements, highest_bits, in_order, keys, repeated, repeats, shifted, sort,
    };
    use std::arch::x86_64::{_mm256_add_epi32, _mm256_cmpeq_epi32, _mm256_or_si256, _mm256_set1_epi32};

    /// Returns what [`Contention::of`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    pub(super) fn contention(addresses: &Addresses, active: u32) -> Option<Contention> {
        let keys = sort(keys::<true>(addresses, active, 0)?);
        let first = addresses[(active.trailing_zeros() & 31) as usize];
        // Keys are distances from 2^31 bytes before the group.
        let base = (first >> GROUP_SHIFT << GROUP_SHIFT) as u32 ^ 1 << 31;
        let base = _mm256_set1_epi32(base as i32);
        let lanes = packed_lanes(active);
        let same = in_order(repeated(&keys)) & lanes;
        // Inactive lanes come last, with the highest key, and are no pieces.
        let none = keys.map(|keys| _mm256_cmpeq_epi32(keys, _mm256_set1_epi32(-1)));
        let or_none =
            |same: Keys| -> Keys { std::array::from_fn(|index| _mm256_or_si256(same[index], none[index])) };
        let again = |units: Keys| or_none(repeats(&units, &before(&units)));
        let words = shifted::<2>(&keys);
        let same_word = again(words);
        let same_sector = again(shifted::<5>(&keys));
        let same_line = again(shifted::<7>(&keys));
        let same_piece = again(shifted::<8>(&keys));
        let addresses = elements(&keys.map(|keys| _mm256_add_epi32(keys, base)));
        let active_lanes = active.count_ones();
        Some(Contention {
            span: addresses[(active_lanes as usize - 1) & 31].wrapping_sub(addresses[0]),
            addresses,
            count: active_lanes as usize,
            same_word: in_order(highest_bits(&same_word)) & lanes,
            new_sector: !in_order(highest_bits(&same_sector)),
            new_piece: !in_order(highest_bits(&same_piece)),
            conflicts: conflicts(same, active),
            pieces: Pieces {
                sectors: 32 - count(&same_sector),
                lines: 32 - count(&same_line),
                of_bank: most_of_one(&words, &same_word),
                steps: active,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::distinct::tests::requests;

    #[test]
    fn vectors_find_what_is_found_one_by_one() {
        for (addresses, active) in requests() {
            let mut found = Contention::of(&addresses, active, Level::detect());
            found.addresses[found.count..].fill(0);
            assert_eq!(found, Contention::one_by_one(&addresses, active), "{addresses:x?} {active:x}");
        }
    }

    #[test]
    fn lanes_meet_at_words_and_sectors() {
        let mut addresses = [0; LANES];
        addresses[..5].copy_from_slice(&[8, 64, 8, 12, 10]);
        let contention = Contention::of(&addresses, 0b11111, Level::detect());
        assert_eq!(contention.addresses(), [8, 8, 10, 12, 64]);
        assert_eq!((contention.same_word, contention.new_sector), (0b00110, 0b10001));
        assert_eq!(contention.span, 56);
        assert_eq!(contention.conflicts, AtomicConflicts { addresses: 4, rounds: 2 });
        assert_eq!(contention.new_piece, 0b00001);
        assert_eq!(contention.pieces, Pieces { sectors: 2, lines: 1, of_bank: 1, steps: 0b11111 });
    }
}
