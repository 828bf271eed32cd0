//! Counts distinct pieces of a request's arbitrary addresses: sectors, lines, whole addresses, words of banks.
//!
//! With AVX2, the 32 lanes are sorted by a bitonic network, in four vectors of eight 32-bit keys. Element `i` of the
//! order is lane `i / 4` of vector `i % 4`, so that six of the fifteen steps exchange whole vectors. Neighbours are then
//! compared: each element that differs from the one before is a distinct piece. Addresses become keys by their distance
//! from the first one's group of 1 KiB, so that the low bits still say which sector of its line and group an address lies
//! in.
//!
//! For example, the lanes' sectors 7, 4, 7, 1 sort to 1, 4, 7, 7: three distinct sectors, in the lines 0, 1, 1, 1, of
//! which two are distinct.

use super::group::GROUP_SHIFT;
use super::turns::BANKS;
use crate::coalescing::{Addresses, AtomicConflicts, LANES, LINE_BYTES, Request, SECTOR_BYTES};
use crate::decode::Level;

/// The sectors and lines of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    /// Distinct sectors.
    pub(super) sectors: u32,
    /// Distinct lines.
    pub(super) lines: u32,
    /// Distinct lines of the tag bank that has most of them: see [`turns`](super::turns).
    pub(super) tags: u32,
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
    fn one_by_one(addresses: &Addresses, active: u32) -> Self {
        let mut packed = [0; LANES];
        let packed = sorted(addresses, active, &mut packed);
        let distinct = |bytes: u64| packed.chunk_by(move |a, b| a / bytes == b / bytes);
        let mut banks = [0; BANKS];
        distinct(LINE_BYTES).for_each(|line| banks[(line[0] / LINE_BYTES) as usize % BANKS] += 1);
        Self {
            sectors: distinct(SECTOR_BYTES).count() as u32,
            lines: banks.iter().sum(),
            tags: banks.into_iter().max().unwrap_or(0),
            steps: active,
        }
    }
}

/// Packs the active lanes' addresses, ascending.
fn sorted<'a>(addresses: &Addresses, active: u32, packed: &'a mut Addresses) -> &'a [u64] {
    let mut count = 0;
    for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
        packed[count] = addresses[lane];
        count += 1;
    }
    let packed = &mut packed[..count];
    packed.sort_unstable();
    packed
}

/// Returns [`AtomicConflicts::new`] of a request with at least one active lane.
#[inline(always)]
pub(super) fn conflicts(request: &Request<'_>, level: Level) -> AtomicConflicts {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: this level is set only where the computer supports it.
        if let Some(conflicts) = unsafe { wide::conflicts(request.addresses, request.active) } {
            return conflicts;
        }
    }
    let _ = level;
    AtomicConflicts::new(request)
}

/// Returns both [`Pieces::of`] and [`conflicts`] of a request with at least one active lane.
#[inline(always)]
pub(super) fn pieces_and_conflicts(request: &Request<'_>, level: Level) -> (Pieces, AtomicConflicts) {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 && request.active == u32::MAX {
        // SAFETY: this level is set only where the computer supports it.
        if let Some(both) = unsafe { wide::pieces_and_conflicts(request.addresses) } {
            return both;
        }
    }
    (Pieces::of(request.addresses, request.active, level), conflicts(request, level))
}

/// Returns the most distinct words of 4 bytes that lanes access in one of 32 banks. None without AVX2.
#[inline(always)]
pub(super) fn words_of_worst_bank(addresses: &Addresses, active: u32, level: Level) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: this level is set only where the computer supports it.
        return unsafe { wide::words_of_worst_bank(addresses, active) };
    }
    let _ = (addresses, active, level);
    None
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Addresses, AtomicConflicts, GROUP_SHIFT, Pieces};
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi32_si128, _mm256_alignr_epi8, _mm256_and_si256, _mm256_blend_epi32,
        _mm256_blendv_epi8, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256,
        _mm256_max_epu32, _mm256_min_epu32, _mm256_movemask_ps, _mm256_or_si256, _mm256_permute2x128_si256,
        _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_set1_epi64x,
        _mm256_setr_epi32, _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_shuffle_ps, _mm256_slli_epi32,
        _mm256_srl_epi64, _mm256_srli_epi32, _mm256_sub_epi64, _mm256_testz_si256, _pdep_u32, _pext_u32,
    };

    /// 32 keys.
    type Keys = [__m256i; 4];

    const SECTOR_SHIFT: u32 = 5;

    /// Returns the lanes' distances from 2^31 units before the first active lane's group, in units of `1 << shift`
    /// bytes. Inactive lanes get that lane's. None if a distance does not fit 32 bits.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn keys(addresses: &Addresses, active: u32, shift: u32) -> Option<Keys> {
        let first = addresses[(active.trailing_zeros() & 31) as usize];
        let base = (first >> GROUP_SHIFT << GROUP_SHIFT >> shift).wrapping_sub(1 << 31);
        let own = _mm256_set1_epi32((first >> shift).wrapping_sub(base) as i32);
        let (base, shift) = (_mm256_set1_epi64x(base as i64), _mm_cvtsi32_si128(shift as i32));
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let mut beyond = _mm256_setzero_si256();
        let mut keys = [beyond; 4];
        for (index, keys) in keys.iter_mut().enumerate() {
            let four = |index: usize| {
                // SAFETY: 32 addresses are eight vectors.
                let addresses =
                    unsafe { _mm256_loadu_si256(addresses.as_ptr().cast::<__m256i>().add(index)) };
                _mm256_castsi256_ps(_mm256_sub_epi64(_mm256_srl_epi64(addresses, shift), base))
            };
            let (a, b) = (four(2 * index), four(2 * index + 1));
            let high = _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(a, b));
            let low = _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(a, b));
            let (high, low) = (_mm256_permute4x64_epi64::<0xD8>(high), _mm256_permute4x64_epi64::<0xD8>(low));
            let lanes = _mm256_set1_epi32((active >> (8 * index)) as i32);
            let is_active = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bits), bits);
            beyond = _mm256_or_si256(beyond, _mm256_and_si256(high, is_active));
            *keys = _mm256_blendv_epi8(own, low, is_active);
        }
        (_mm256_testz_si256(beyond, beyond) == 1).then_some(keys)
    }

    /// Returns one bit per key, of those whose highest bit is set: those of each vector together.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn highest_bits(keys: &Keys) -> u32 {
        let bits = keys.map(|keys| _mm256_movemask_ps(_mm256_castsi256_ps(keys)) as u32);
        bits[0] | bits[1] << 8 | bits[2] << 16 | bits[3] << 24
    }

    /// Orders two vectors lane by lane.
    macro_rules! order {
        ($keys:ident, $a:literal, $b:literal) => {
            let (a, b) = ($keys[$a], $keys[$b]);
            ($keys[$a], $keys[$b]) = (_mm256_min_epu32(a, b), _mm256_max_epu32(a, b));
        };
    }

    /// Orders the elements of two vectors, those of the second permuted by an involution; `$high` are the lanes of the
    /// first that come later in the order than their partners.
    macro_rules! mirror {
        ($keys:ident, $a:literal, $b:literal, $permute:expr, $high:literal) => {
            let (a, b) = ($keys[$a], $permute($keys[$b]));
            let (least, most) = (_mm256_min_epu32(a, b), _mm256_max_epu32(a, b));
            $keys[$a] = _mm256_blend_epi32::<$high>(least, most);
            $keys[$b] = $permute(_mm256_blend_epi32::<$high>(most, least));
        };
    }

    /// Orders the elements of each vector with those of the same vector permuted.
    macro_rules! within {
        ($keys:ident, $permute:expr, $high:literal) => {
            $keys = $keys.map(|keys| {
                let other = $permute(keys);
                _mm256_blend_epi32::<$high>(_mm256_min_epu32(keys, other), _mm256_max_epu32(keys, other))
            });
        };
    }

    /// Sorts by a bitonic network. Element `i` of the result is lane `i / 4` of vector `i % 4`.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn sort(mut keys: Keys) -> Keys {
        // Lanes that differ in bit 0, bit 1, bits 0 and 1, and all three bits.
        let by_1 = |keys| _mm256_shuffle_epi32::<0xB1>(keys);
        let by_2 = |keys| _mm256_shuffle_epi32::<0x4E>(keys);
        let by_3 = |keys| _mm256_shuffle_epi32::<0x1B>(keys);
        let by_7 = |keys| _mm256_permute4x64_epi64::<0x4E>(_mm256_shuffle_epi32::<0x1B>(keys));
        macro_rules! finish {
            () => {
                order!(keys, 0, 2);
                order!(keys, 1, 3);
                order!(keys, 0, 1);
                order!(keys, 2, 3);
            };
        }
        // Runs of 2 and 4.
        order!(keys, 0, 1);
        order!(keys, 2, 3);
        order!(keys, 0, 3);
        order!(keys, 1, 2);
        order!(keys, 0, 1);
        order!(keys, 2, 3);
        // Of 8.
        mirror!(keys, 0, 3, by_1, 0xAA);
        mirror!(keys, 1, 2, by_1, 0xAA);
        finish!();
        // Of 16.
        mirror!(keys, 0, 3, by_3, 0xCC);
        mirror!(keys, 1, 2, by_3, 0xCC);
        within!(keys, by_1, 0xAA);
        finish!();
        // Of 32.
        mirror!(keys, 0, 3, by_7, 0xF0);
        mirror!(keys, 1, 2, by_7, 0xF0);
        within!(keys, by_2, 0xCC);
        within!(keys, by_1, 0xAA);
        finish!();
        keys
    }

    /// Returns one bit per element of sorted keys, set if it equals the one before: those of each vector together.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn repeated(keys: &Keys) -> u32 {
        let last = _mm256_permutevar8x32_epi32(keys[3], _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
        let before = [last, keys[0], keys[1], keys[2]];
        let same: Keys = std::array::from_fn(|index| _mm256_cmpeq_epi32(keys[index], before[index]));
        // The first element has none before it.
        highest_bits(&same) & !1
    }

    /// Puts one bit per element, those of each vector together, into the order of the elements.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn in_order(bits: u32) -> u32 {
        (0..4)
            .map(|vector| _pdep_u32(bits >> (8 * vector), 0x1111_1111 << vector))
            .fold(0, |all, bits| all | bits)
    }

    /// Returns the length of the longest run of ones.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn longest_run(mut bits: u32) -> u32 {
        let mut length = 0;
        while bits != 0 {
            bits &= bits << 1;
            length += 1;
        }
        length
    }

    /// Returns what [`Pieces::of`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    pub(super) fn pieces(addresses: &Addresses, active: u32) -> Option<Pieces> {
        let mut keys = keys(addresses, active, SECTOR_SHIFT)?;
        // Each lane's predecessor; lane 0 has itself.
        let mut before = keys;
        let mut previous = _mm256_permutevar8x32_epi32(keys[0], _mm256_setzero_si256());
        for (before, &keys) in before.iter_mut().zip(&keys) {
            let across = _mm256_permute2x128_si256::<0x21>(previous, keys);
            *before = _mm256_alignr_epi8::<12>(keys, across);
            previous = keys;
        }
        let same: Keys = std::array::from_fn(|index| _mm256_cmpeq_epi32(keys[index], before[index]));
        let ascends: Keys = std::array::from_fn(|index| {
            _mm256_cmpeq_epi32(_mm256_max_epu32(keys[index], before[index]), keys[index])
        });
        let same = highest_bits(&same);
        // A lane whose predecessor is inactive is a step of its own; so is the first.
        let steps = active & !(same & active << 1);
        let is_ascending = highest_bits(&ascends) == u32::MAX;
        let (sectors, same_line) = if is_ascending {
            let lines = |keys: Keys| keys.map(|keys| _mm256_srli_epi32::<2>(keys));
            let (here, there) = (lines(keys), lines(before));
            let same_line: Keys = std::array::from_fn(|index| _mm256_cmpeq_epi32(here[index], there[index]));
            (32 - (same & !1).count_ones(), highest_bits(&same_line) & !1)
        } else {
            keys = sort(keys);
            (32 - repeated(&keys).count_ones(), repeated(&keys.map(|keys| _mm256_srli_epi32::<2>(keys))))
        };
        Some(Pieces { sectors, steps, ..by_lines(&keys, same_line) })
    }

    /// Returns the lines and tags of sectors in ascending order. `same_line` has one bit per sector in the line of the one
    /// before, those of each vector together.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn by_lines(sectors: &Keys, same_line: u32) -> Pieces {
        // A line's two lowest bits are its tag bank.
        let low = highest_bits(&sectors.map(|sectors| _mm256_slli_epi32::<29>(sectors)));
        let high = highest_bits(&sectors.map(|sectors| _mm256_slli_epi32::<28>(sectors)));
        let of_bank = |low: u32, high: u32| (!same_line & low & high).count_ones();
        let tags =
            of_bank(low, high).max(of_bank(!low, high)).max(of_bank(low, !high)).max(of_bank(!low, !high));
        Pieces { sectors: 0, lines: 32 - same_line.count_ones(), tags, steps: 0 }
    }

    /// Returns what [`super::pieces_and_conflicts`] does for 32 lanes, all of them steps; None if the addresses are too far
    /// apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    pub(super) fn pieces_and_conflicts(addresses: &Addresses) -> Option<(Pieces, AtomicConflicts)> {
        let keys = sort(keys(addresses, u32::MAX, 0)?);
        let conflicts = conflicts_of(&keys);
        let sectors = keys.map(|keys| _mm256_srli_epi32::<5>(keys));
        let same_line = repeated(&sectors.map(|sectors| _mm256_srli_epi32::<2>(sectors)));
        let distinct = 32 - repeated(&sectors).count_ones();
        Some((Pieces { sectors: distinct, steps: u32::MAX, ..by_lines(&sectors, same_line) }, conflicts))
    }

    /// Returns the conflicts of 32 addresses in ascending order.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn conflicts_of(keys: &Keys) -> AtomicConflicts {
        let repeated = in_order(repeated(keys));
        AtomicConflicts { addresses: 32 - repeated.count_ones(), rounds: 1 + longest_run(repeated) }
    }

    /// Returns what [`AtomicConflicts::new`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn conflicts(addresses: &Addresses, active: u32) -> Option<AtomicConflicts> {
        let keys = keys(addresses, active, 0)?;
        if active != u32::MAX {
            // Inactive lanes stand for the first active one, so their number adds to that of its address.
            return None;
        }
        Some(conflicts_of(&sort(keys)))
    }

    /// Returns what [`super::words_of_worst_bank`] does; None if the addresses are too far apart.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn words_of_worst_bank(addresses: &Addresses, active: u32) -> Option<u32> {
        let words = keys(addresses, active, 2)?;
        // The bank becomes the highest bits, and the word's number in the bank the rest.
        let keys =
            words.map(|words| _mm256_or_si256(_mm256_slli_epi32::<27>(words), _mm256_srli_epi32::<5>(words)));
        let keys = sort(keys);
        let distinct = !in_order(repeated(&keys));
        let same_bank = in_order(repeated(&keys.map(|keys| _mm256_srli_epi32::<27>(keys))));
        // One bit per distinct word: whether it is in the bank of the word before.
        Some(1 + longest_run(_pext_u32(same_bank, distinct)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coalescing::Access;

    /// Addresses of many kinds: repeated, ascending, descending, by tiles, random, far apart.
    fn requests() -> impl Iterator<Item = (Addresses, u32)> {
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
            assert_eq!(
                conflicts(&request, level),
                AtomicConflicts::new(&request),
                "{addresses:x?} {active:x}"
            );
            if let Some(words) = words_of_worst_bank(&addresses, active, level) {
                let rule = crate::coalescing::BankRule::ThirtyTwo;
                assert_eq!(words, rule.wavefronts(&request).taken, "{addresses:x?} {active:x}");
            }
        }
    }
}
