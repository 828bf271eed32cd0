//! The ticks at which the eight lines of a group were last touched, compared and set all at once.
//!
//! Results are masks of sectors: four bits per line.

/// Ticks of a group's lines.
pub(super) type Touched = [u32; 8];

/// Instructions that handle eight ticks.
pub(super) trait Ticks {
    /// Returns the sectors of the lines last touched before a tick.
    fn below(touched: &Touched, tick: u32) -> u32;

    /// Returns the sectors of the lines last touched in a tick.
    fn equal(touched: &Touched, tick: u32) -> u32;

    /// Sets the ticks of these lines, of which all sectors are given.
    fn set(touched: &mut Touched, lines: u32, tick: u32);
}

/// For any computer.
pub(super) struct Portable;

impl Ticks for Portable {
    fn below(touched: &Touched, tick: u32) -> u32 {
        sectors(touched, |touched| touched < tick)
    }

    fn equal(touched: &Touched, tick: u32) -> u32 {
        sectors(touched, |touched| touched == tick)
    }

    fn set(touched: &mut Touched, lines: u32, tick: u32) {
        for (line, touched) in touched.iter_mut().enumerate() {
            *touched = if lines >> (4 * line) & 1 == 1 { tick } else { *touched };
        }
    }
}

fn sectors(touched: &Touched, is_one: impl Fn(u32) -> bool) -> u32 {
    (0..8).filter(|&line| is_one(touched[line])).map(|line| 15 << (4 * line)).sum()
}

/// For computers with AVX2, BMI1 and BMI2. Only code compiled for these calls it.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Ticks for Avx2 {
    #[inline(always)]
    fn below(touched: &Touched, tick: u32) -> u32 {
        // SAFETY: callers are compiled for computers with AVX2 and BMI2 alone.
        unsafe { wide::below(touched, tick) }
    }

    #[inline(always)]
    fn equal(touched: &Touched, tick: u32) -> u32 {
        // SAFETY: as above.
        unsafe { wide::equal(touched, tick) }
    }

    #[inline(always)]
    fn set(touched: &mut Touched, lines: u32, tick: u32) {
        // SAFETY: as above.
        unsafe { wide::set(touched, lines, tick) };
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::Touched;
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
        _mm256_loadu_si256, _mm256_max_epu32, _mm256_movemask_ps, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_storeu_si256, _pdep_u32,
    };

    /// Returns four bits for each of eight lanes of all ones.
    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn sectors(lanes: __m256i) -> u32 {
        _pdep_u32(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u32, 0x1111_1111) * 15
    }

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn load(touched: &Touched) -> __m256i {
        // SAFETY: eight numbers of 32 bits are a vector.
        unsafe { _mm256_loadu_si256(touched.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    pub(super) fn below(touched: &Touched, tick: u32) -> u32 {
        let touched = load(touched);
        !sectors(_mm256_cmpeq_epi32(_mm256_max_epu32(touched, _mm256_set1_epi32(tick as i32)), touched))
    }

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    pub(super) fn equal(touched: &Touched, tick: u32) -> u32 {
        sectors(_mm256_cmpeq_epi32(load(touched), _mm256_set1_epi32(tick as i32)))
    }

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    pub(super) fn set(touched: &mut Touched, lines: u32, tick: u32) {
        let first = _mm256_setr_epi32(1, 1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28);
        let chosen = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(lines as i32), first), first);
        let set = _mm256_blendv_epi8(load(touched), _mm256_set1_epi32(tick as i32), chosen);
        // SAFETY: as in `load`.
        unsafe { _mm256_storeu_si256(touched.as_mut_ptr().cast(), set) };
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn eight_at_once_are_one_by_one() {
        if crate::decode::Level::detect() != crate::decode::Level::Avx2 {
            println!("this computer has no AVX2: nothing to compare");
            return;
        }
        let all = [[0; 8], [7; 8], [0, 1, 7, 8, 6, u32::MAX, 7, 1 << 31], [8, 7, 6, 5, 4, 3, 2, 1]];
        for touched in all {
            for tick in [0, 1, 6, 7, 8, 1 << 31, u32::MAX] {
                assert_eq!(
                    Avx2::below(&touched, tick),
                    Portable::below(&touched, tick),
                    "{touched:?} {tick}"
                );
                assert_eq!(
                    Avx2::equal(&touched, tick),
                    Portable::equal(&touched, tick),
                    "{touched:?} {tick}"
                );
                for lines in [0, 0xF, 0xF000_0000, 0x00F0_FF0F, u32::MAX] {
                    let (mut one, mut other) = (touched, touched);
                    Avx2::set(&mut one, lines, tick);
                    Portable::set(&mut other, lines, tick);
                    assert_eq!(one, other, "{touched:?} {lines:x} {tick}");
                }
            }
        }
        assert_eq!(Portable::below(&[0, 1, 7, 8, 6, 9, 7, 5], 7), 0xF00F_00FF);
    }
}
