//! A sorting network for the 32 addresses of a request, and what neighbours in the order tell, with AVX2.
//!
//! The lanes are sorted by a bitonic network, in four vectors of eight 32-bit keys. Element `i` of the order is lane `i / 4` of
//! vector `i % 4`, so that six of the fifteen steps exchange whole vectors. Addresses become keys by their distance from
//! the first one's group of 1 KiB, so that the low bits still say which sector of its line and group an address lies in.
//!
//! For example, the addresses 96, 4, 100 and 4 of a request sort to 4, 4, 96, 100: the second repeats the one before.

use super::group::GROUP_SHIFT;
use crate::coalescing::Addresses;
use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_and_si256, _mm256_blend_epi32, _mm256_blendv_epi8,
    _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_max_epu32,
    _mm256_min_epu32, _mm256_movemask_ps, _mm256_or_si256, _mm256_permute4x64_epi64,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_shuffle_ps, _mm256_srl_epi64, _mm256_srli_epi32,
    _mm256_storeu2_m128i, _mm256_sub_epi64, _mm256_testz_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _pdep_u32,
};

/// 32 keys.
pub(super) type Keys = [__m256i; 4];

/// Returns the lanes' distances from 2^31 units before the first active lane's group, in units of `1 << shift`
/// bytes. Inactive lanes get that lane's, or, if they are to come `LAST`, the highest key, which no other may have then.
/// None if a distance does not fit 32 bits.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn keys<const LAST: bool>(addresses: &Addresses, active: u32, shift: u32) -> Option<Keys> {
    let first = addresses[(active.trailing_zeros() & 31) as usize];
    let base = (first >> GROUP_SHIFT << GROUP_SHIFT >> shift).wrapping_sub(1 << 31);
    let own = if LAST { -1 } else { (first >> shift).wrapping_sub(base) as i32 };
    let own = _mm256_set1_epi32(own);
    let (base, shift) = (_mm256_set1_epi64x(base as i64), _mm_cvtsi32_si128(shift as i32));
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let mut beyond = _mm256_setzero_si256();
    let mut keys = [beyond; 4];
    for (index, keys) in keys.iter_mut().enumerate() {
        let four = |index: usize| {
            // SAFETY: 32 addresses are eight vectors.
            let addresses = unsafe { _mm256_loadu_si256(addresses.as_ptr().cast::<__m256i>().add(index)) };
            _mm256_castsi256_ps(_mm256_sub_epi64(_mm256_srl_epi64(addresses, shift), base))
        };
        let (a, b) = (four(2 * index), four(2 * index + 1));
        let high = _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(a, b));
        let low = _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(a, b));
        let (high, low) = (_mm256_permute4x64_epi64::<0xD8>(high), _mm256_permute4x64_epi64::<0xD8>(low));
        let lanes = _mm256_set1_epi32((active >> (8 * index)) as i32);
        let is_active = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bits), bits);
        let high = if LAST { _mm256_or_si256(high, _mm256_cmpeq_epi32(low, own)) } else { high };
        beyond = _mm256_or_si256(beyond, _mm256_and_si256(high, is_active));
        *keys = _mm256_blendv_epi8(own, low, is_active);
    }
    (_mm256_testz_si256(beyond, beyond) == 1).then_some(keys)
}

/// Returns one bit per key, of those whose highest bit is set: those of each vector together.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn highest_bits(keys: &Keys) -> u32 {
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
pub(super) fn sort(mut keys: Keys) -> Keys {
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

/// Returns for each element of sorted keys the one before; for the first the last.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn before(keys: &Keys) -> Keys {
    let last = _mm256_permutevar8x32_epi32(keys[3], _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    [last, keys[0], keys[1], keys[2]]
}

/// Returns all ones for each element that equals the one before. The first has none before it.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn repeats(keys: &Keys, before: &Keys) -> Keys {
    let mut same: Keys = std::array::from_fn(|index| _mm256_cmpeq_epi32(keys[index], before[index]));
    same[0] = _mm256_and_si256(same[0], _mm256_setr_epi32(0, -1, -1, -1, -1, -1, -1, -1));
    same
}

/// Returns keys without their lowest bits.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn shifted<const BITS: i32>(keys: &Keys) -> Keys {
    keys.map(|keys| _mm256_srli_epi32::<BITS>(keys))
}

/// Counts the elements that are all ones, the others being 0.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn count(same: &Keys) -> u32 {
    highest_bits(same).count_ones()
}

/// Returns one bit per element of sorted keys, set if it equals the one before: those of each vector together.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn repeated(keys: &Keys) -> u32 {
    highest_bits(&repeats(keys, &before(keys)))
}

/// Puts one bit per element, those of each vector together, into the order of the elements.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn in_order(bits: u32) -> u32 {
    (0..4)
        .map(|vector| _pdep_u32(bits >> (8 * vector), 0x1111_1111 << vector))
        .fold(0, |all, bits| all | bits)
}

/// Returns the elements in their order.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn elements(keys: &Keys) -> [u32; 32] {
    let [a, b, c, d] = *keys;
    let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
    let (later_low, later_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    let fours = [
        _mm256_unpacklo_epi64(low, high),
        _mm256_unpackhi_epi64(low, high),
        _mm256_unpacklo_epi64(later_low, later_high),
        _mm256_unpackhi_epi64(later_low, later_high),
    ];
    let mut elements = [0; 32];
    for (index, four) in fours.into_iter().enumerate() {
        let (first, second) = elements.split_at_mut(16);
        // SAFETY: four elements from a multiple of four below 16 on are within each half.
        unsafe {
            _mm256_storeu2_m128i(
                second.as_mut_ptr().add(4 * index).cast(),
                first.as_mut_ptr().add(4 * index).cast(),
                four,
            );
        }
    }
    elements
}
