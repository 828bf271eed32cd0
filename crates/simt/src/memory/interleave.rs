//! Converts between vectors of lanes, as in memory, and columns of elements, as in registers, by AVX2.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_storeu_si128, _mm256_and_si256, _mm256_blendv_epi8,
    _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_permute4x64_epi64, _mm256_set_epi32,
    _mm256_set_epi64x, _mm256_set_m128i, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_slli_epi32,
    _mm256_slli_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

/// Transposes two 4 x 4 matrices of words; its own inverse.
#[target_feature(enable = "avx2")]
#[inline]
fn turn(rows: [__m256i; 4]) -> [__m256i; 4] {
    let [a, b, c, d] = rows;
    let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab_low, cd_low),
        _mm256_unpackhi_epi64(ab_low, cd_low),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Splits lanes of `N` elements of `E` bytes into columns: two or four of 4, or two of 8.
///
/// # Safety
/// `from` has the bytes of 32 lanes, and each of the first `N` pointers of `into` has room for a column; the computer
/// has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn split<const E: usize, const N: usize>(from: *const u8, into: [*mut u8; 4]) {
    let (wide, narrow) = (from.cast::<__m256i>(), from.cast::<__m128i>());
    let to: [*mut __m256i; 4] = into.map(|column| column.cast());
    // SAFETY: all within the 32 lanes.
    unsafe {
        match (E, N) {
            (4, 4) => {
                for eight in 0..4 {
                    let row = |lane: usize| {
                        let low = narrow.add(8 * eight + lane);
                        _mm256_set_m128i(_mm_loadu_si128(low.add(4)), _mm_loadu_si128(low))
                    };
                    let columns = turn([row(0), row(1), row(2), row(3)]);
                    for (to, column) in to.iter().zip(columns) {
                        _mm256_storeu_si256(to.add(eight), column);
                    }
                }
            }
            (4, 2) => {
                for eight in 0..4 {
                    let low = _mm256_loadu_si256(wide.add(2 * eight));
                    let high = _mm256_loadu_si256(wide.add(2 * eight + 1));
                    // Lanes 0 1 4 5 and 2 3 6 7: elements of one column come together in two steps.
                    let first = _mm256_permute2x128_si256::<0x20>(low, high);
                    let second = _mm256_permute2x128_si256::<0x31>(low, high);
                    let even = _mm256_unpacklo_epi32(first, second);
                    let odd = _mm256_unpackhi_epi32(first, second);
                    _mm256_storeu_si256(to[0].add(eight), _mm256_unpacklo_epi32(even, odd));
                    _mm256_storeu_si256(to[1].add(eight), _mm256_unpackhi_epi32(even, odd));
                }
            }
            _ => {
                for four in 0..8 {
                    let low = _mm256_loadu_si256(wide.add(2 * four));
                    let high = _mm256_loadu_si256(wide.add(2 * four + 1));
                    let first = _mm256_unpacklo_epi64(low, high);
                    let second = _mm256_unpackhi_epi64(low, high);
                    _mm256_storeu_si256(to[0].add(four), _mm256_permute4x64_epi64::<0xD8>(first));
                    _mm256_storeu_si256(to[1].add(four), _mm256_permute4x64_epi64::<0xD8>(second));
                }
            }
        }
    }
}

/// Joins columns into lanes, of the same shapes.
///
/// # Safety
/// Each of the first `N` pointers of `from` has a column of 32 lanes, and `to` has room for all of them; the computer
/// has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn join<const E: usize, const N: usize>(from: [*const u8; 4], to: *mut u8) {
    let (wide, narrow) = (to.cast::<__m256i>(), to.cast::<__m128i>());
    let from: [*const __m256i; 4] = from.map(|column| column.cast());
    // SAFETY: all within the 32 lanes.
    unsafe {
        match (E, N) {
            (4, 4) => {
                for eight in 0..4 {
                    let rows = turn(from.map(|column| _mm256_loadu_si256(column.add(eight))));
                    for (lane, row) in rows.into_iter().enumerate() {
                        let low = narrow.add(8 * eight + lane);
                        _mm_storeu_si128(low, _mm256_castsi256_si128(row));
                        _mm_storeu_si128(low.add(4), _mm256_extracti128_si256::<1>(row));
                    }
                }
            }
            (4, 2) => {
                for eight in 0..4 {
                    let first = _mm256_loadu_si256(from[0].add(eight));
                    let second = _mm256_loadu_si256(from[1].add(eight));
                    let low = _mm256_unpacklo_epi32(first, second);
                    let high = _mm256_unpackhi_epi32(first, second);
                    _mm256_storeu_si256(wide.add(2 * eight), _mm256_permute2x128_si256::<0x20>(low, high));
                    _mm256_storeu_si256(
                        wide.add(2 * eight + 1),
                        _mm256_permute2x128_si256::<0x31>(low, high),
                    );
                }
            }
            _ => {
                for four in 0..8 {
                    let first = _mm256_loadu_si256(from[0].add(four));
                    let second = _mm256_loadu_si256(from[1].add(four));
                    let low = _mm256_unpacklo_epi64(first, second);
                    let high = _mm256_unpackhi_epi64(first, second);
                    _mm256_storeu_si256(wide.add(2 * four), _mm256_permute2x128_si256::<0x20>(low, high));
                    _mm256_storeu_si256(wide.add(2 * four + 1), _mm256_permute2x128_si256::<0x31>(low, high));
                }
            }
        }
    }
}

/// Sets the lanes of a mask in a column of 32-bit lanes.
///
/// # Safety
/// There are 32 lanes at both; the computer has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn set_words(column: *mut u8, values: *const u8, mask: u32) {
    let (column, values) = (column.cast::<__m256i>(), values.cast::<__m256i>());
    let lanes = _mm256_set1_epi32(mask as i32);
    let mut bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    // SAFETY: all within the 32 lanes.
    unsafe {
        for eight in 0..4 {
            let value = _mm256_loadu_si256(values.add(eight));
            let active = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bit), bit);
            let kept = _mm256_loadu_si256(column.add(eight));
            _mm256_storeu_si256(column.add(eight), _mm256_blendv_epi8(kept, value, active));
            bit = _mm256_slli_epi32::<8>(bit);
        }
    }
}

/// Sets the lanes of a mask in a column of 64-bit lanes.
///
/// # Safety
/// There are 32 lanes at both; the computer has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) unsafe fn set_doubles(column: *mut u8, values: *const u8, mask: u32) {
    let (column, values) = (column.cast::<__m256i>(), values.cast::<__m256i>());
    let lanes = _mm256_set1_epi64x(i64::from(mask));
    let mut bit = _mm256_set_epi64x(8, 4, 2, 1);
    // SAFETY: all within the 32 lanes.
    unsafe {
        for four in 0..8 {
            let value = _mm256_loadu_si256(values.add(four));
            let active = _mm256_cmpeq_epi64(_mm256_and_si256(lanes, bit), bit);
            let kept = _mm256_loadu_si256(column.add(four));
            _mm256_storeu_si256(column.add(four), _mm256_blendv_epi8(kept, value, active));
            bit = _mm256_slli_epi64::<4>(bit);
        }
    }
}
