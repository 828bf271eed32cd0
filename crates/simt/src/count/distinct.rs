//! Counts distinct pieces of a request's arbitrary addresses: sectors, lines, words of banks.
//!
//! With AVX2, the lanes' words are sorted by a [network](super::network), unless they ascend as they are. Neighbours are then compared:
//! each element that differs from the one before is a distinct piece. One order serves for words, sectors and lines, which are words without
//! their low bits; the distinct words are counted by [bank](super::banks).
//!
//! For example, the lanes' sectors 7, 4, 7, 1 sort to 1, 4, 7, 7: three distinct sectors, in the lines 0, 1, 1, 1, of
//! which two are distinct.

use super::banks;
use crate::coalescing::{Addresses, LANES, LINE_BYTES, SECTOR_BYTES};
use crate::decode::Level;

/// The sectors and lines of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    /// Distinct sectors.
    pub(super) sectors: u32,
    /// Distinct lines.
    pub(super) lines: u32,
    /// Most distinct words of 4 bytes in one of 32 banks.
    pub(super) of_bank: u32,
    /// Active lanes, but for some whose sector is that of the lane before.
    pub(super) steps: u32,
}

impl Pieces {
    /// Finds the pieces of a request with at least one active lane.
    #[inline(always)]
    pub(super) fn of(addresses: &Addresses, active: u32, level: Level) -> Self {
        #[cfg(target_arch = "x86_64")]
        if level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            if let Some(pieces) = unsafe { wide::pieces(addresses, active) } {
                return pieces;
            }
        }
        let _ = level;
        Self::one_by_one(addresses, active)
    }

    #[inline(never)]
    pub(super) fn one_by_one(addresses: &Addresses, active: u32) -> Self {
        let mut packed = [0; LANES];
        let packed = sorted(addresses, active, &mut packed);
        let distinct = |bytes: u64| packed.chunk_by(move |a, b| a / bytes == b / bytes);
        Self {
            sectors: distinct(SECTOR_BYTES).count() as u32,
            lines: distinct(LINE_BYTES).count() as u32,
            of_bank: banks::one_by_one(addresses, active),
            steps: active,
        }
    }
}

/// Packs the active lanes' addresses, ascending.
pub(super) fn sorted<'a>(addresses: &Addresses, active: u32, packed: &'a mut Addresses) -> &'a [u64] {
    let mut count = 0;
    for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
        packed[count] = addresses[lane];
        count += 1;
    }
    let packed = &mut packed[..count];
    packed.sort_unstable();
    packed
}

/// Returns the length of the longest run of ones.
#[inline(always)]
pub(super) fn longest_run(mut bits: u32) -> u32 {
    let mut length = 0;
    while bits != 0 {
        bits &= bits << 1;
        length += 1;
    }
    length
}

/// Returns one bit per active lane, from the lowest on.
#[inline(always)]
pub(super) fn packed_lanes(active: u32) -> u32 {
    u32::MAX >> (LANES as u32 - active.count_ones())
}

/// Returns the most distinct words of 4 bytes that lanes access in one of 32 banks, and the most lanes at one word. None
/// without AVX2.
#[inline(always)]
pub(super) fn worst_bank_and_word(addresses: &Addresses, active: u32, level: Level) -> Option<[u32; 2]> {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: this level is set only where the computer supports it.
        return unsafe { wide::worst_bank_and_word(addresses, active) };
    }
    let _ = (addresses, active, level);
    None
}

/// Returns how many distinct addresses a request has, with at least one active lane.
#[inline(always)]
pub(super) fn distinct_addresses(addresses: &Addresses, active: u32, level: Level) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: this level is set only where the computer supports it.
        if let Some(distinct) = unsafe { wide::distinct_addresses(addresses, active) } {
            return distinct;
        }
    }
    let _ = level;
    let mut packed = [0; LANES];
    sorted(addresses, active, &mut packed).chunk_by(|a, b| a == b).count() as u32
}

#[cfg(target_arch = "x86_64")]
pub(super) mod wide {
    use super::{Addresses, Pieces, longest_run, packed_lanes};
    use crate::count::banks::wide::most_of_one;
    use crate::count::network::{
        Keys, before, count, highest_bits, in_order, keys, repeated, repeats, shifted, sort,
    };
    use std::arch::x86_64::{
        _mm256_alignr_epi8, _mm256_cmpeq_epi32, _mm256_max_epu32, _mm256_or_si256, _mm256_permute2x128_si256,
        _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setzero_si256,
    };

    /// Log2 of the bytes of a word.
    const WORD_SHIFT: u32 = 2;

    /// Returns what [`Pieces::of`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    pub(super) fn pieces(addresses: &Addresses, active: u32) -> Option<Pieces> {
        let mut words = keys::<false>(addresses, active, WORD_SHIFT)?;
        // Each lane's predecessor; lane 0 has itself.
        let mut previous = words;
        let mut last = _mm256_permutevar8x32_epi32(words[0], _mm256_setzero_si256());
        for (previous, &words) in previous.iter_mut().zip(&words) {
            let across = _mm256_permute2x128_si256::<0x21>(last, words);
            *previous = _mm256_alignr_epi8::<12>(words, across);
            last = words;
        }
        let same = highest_bits(&repeats(&shifted::<3>(&words), &shifted::<3>(&previous)));
        // A lane whose predecessor is inactive is a step of its own; so is the first.
        let steps = active & !(same & active << 1);
        let ascends: Keys = std::array::from_fn(|index| {
            _mm256_cmpeq_epi32(_mm256_max_epu32(words[index], previous[index]), words[index])
        });
        if highest_bits(&ascends) != u32::MAX {
            words = sort(words);
            previous = before(&words);
        }
        let same_sector = repeats(&shifted::<3>(&words), &shifted::<3>(&previous));
        let same_line = repeats(&shifted::<5>(&words), &shifted::<5>(&previous));
        Some(Pieces {
            sectors: 32 - count(&same_sector),
            lines: 32 - count(&same_line),
            of_bank: most_of_one(&words, &repeats(&words, &previous)),
            steps,
        })
    }

    /// Returns what [`super::distinct_addresses`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn distinct_addresses(addresses: &Addresses, active: u32) -> Option<u32> {
        // Inactive lanes repeat an active one's address.
        let keys = sort(keys::<false>(addresses, active, 0)?);
        Some(32 - repeated(&keys).count_ones())
    }

    /// Returns what [`super::worst_bank_and_word`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn worst_bank_and_word(addresses: &Addresses, active: u32) -> Option<[u32; 2]> {
        let words = sort(keys::<true>(addresses, active, WORD_SHIFT)?);
        let same = repeats(&words, &before(&words));
        // Inactive lanes come last, with the highest key, and are no words.
        let none = words.map(|words| _mm256_cmpeq_epi32(words, _mm256_set1_epi32(-1)));
        let left_out: Keys = std::array::from_fn(|index| _mm256_or_si256(same[index], none[index]));
        let met = in_order(highest_bits(&same)) & packed_lanes(active);
        Some([most_of_one(&words, &left_out), 1 + longest_run(met)])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::coalescing::{Access, AtomicConflicts, BankRule, Request};

    /// Addresses of many kinds: repeated, ascending, descending, by tiles, random, far apart.
    pub(in crate::count) fn requests() -> impl Iterator<Item = (Addresses, u32)> {
        let mut seed = 0x2545_F491_4F6C_DD1D_u64;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        (0..4000_u64).map(move |round| {
            let base = 0x7F00_0000_0000 + random() % 4096 * 4;
            let span = [64, 256, 4096, 1 << 20, 1 << 34, 1 << 44][round as usize % 6];
            let pitch = random() % 5000 * 4;
            let addresses = std::array::from_fn(|lane| {
                let lane = lane as u64;
                base + match round / 6 % 5 {
                    0 => random() % span / 4 * 4,
                    1 => lane % 16 * 4 + lane / 16 * pitch,
                    2 => (31 - lane) * pitch,
                    3 => lane * 4 / (1 + round % 7) * 4,
                    _ => random() % 3 * pitch,
                }
            });
            let active = match round % 4 {
                0 => random() as u32 | 1 << (round % 32),
                1 => u32::MAX >> (round / 4 % 32),
                _ => u32::MAX,
            };
            (addresses, active)
        })
    }

    #[test]
    fn vectors_count_what_is_counted_one_by_one() {
        let level = Level::detect();
        for (addresses, active) in requests() {
            let found = Pieces::of(&addresses, active, level);
            let expected = Pieces::one_by_one(&addresses, active);
            assert_eq!(found.steps & !active, 0);
            assert_eq!(Pieces { steps: active, ..found }, expected, "{addresses:x?} {active:x}");
            // The sectors come to the same, in the same order, if only steps are looked at.
            let sectors = |lanes: u32| {
                let mut sectors: Vec<u64> = (0..LANES)
                    .filter(|lane| lanes >> lane & 1 == 1)
                    .map(|lane| addresses[lane] / SECTOR_BYTES)
                    .collect();
                sectors.dedup();
                sectors
            };
            assert_eq!(sectors(found.steps), sectors(active), "{addresses:x?} {active:x}");
            let request = Request { addresses: &addresses, active, bytes: 4, access: Access::Store };
            let expected =
                [BankRule::ThirtyTwo.wavefronts(&request).taken, AtomicConflicts::new(&request).rounds];
            let distinct = distinct_addresses(&addresses, active, level);
            assert_eq!(distinct, AtomicConflicts::new(&request).addresses, "{addresses:x?} {active:x}");
            if let Some(found) = worst_bank_and_word(&addresses, active, level) {
                assert_eq!(found, expected, "{addresses:x?} {active:x}");
            }
        }
    }
}
