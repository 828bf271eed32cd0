//! The values that inputs hold; each is a function of its position. An element that is misplaced, left out, or left
//! from an earlier run therefore shows. gpu-kernels' `fill.rs` writes them on the device; this is the same rule,
//! written down a second time for the host to check against.
//!
//! A value is a whole number below 2^20, so that in f32 a sum with any number of launches below 2^23 is exact.
//!
//! A crate of its own, so that it is optimised in builds that are not: verification calculates every value again.

mod wide;

pub use wide::{fuses, wide};

use std::ops::AddAssign;

/// Shifts the whole pattern; the same for every buffer of a run.
pub const SEED: u32 = 0x9E37_79B9;

/// The number of launches that can each add one to a value before single precision rounds.
pub const MOST_LAUNCHES: u64 = 1 << 23;

/// The value at `index`, as a whole number below 2^20.
#[inline(always)]
pub fn value(index: u64, seed: u32) -> u32 {
    let folded = index as u32 ^ (index >> 32) as u32;
    folded.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 12
}

/// An element type that the pattern can be written in.
pub trait Element: Copy + Send {
    /// A whole number below 2^20.
    fn from_value(value: u32) -> Self;

    /// Writes the pattern's values from index `first` on, of every `step`-th index.
    fn fill_by(first: u64, step: u64, seed: u32, values: &mut [Self]);

    /// Adds a whole number to every `step`-th value, the first included.
    fn add_by(step: usize, addend: i64, values: &mut [Self]);
}

macro_rules! elements {
    ($($element:ty: $from_value:expr;)*) => {$(
        impl Element for $element {
            #[inline(always)]
            fn from_value(value: u32) -> $element {
                $from_value(value)
            }

            // Not generic, so that it is compiled here and not where it is called.
            fn fill_by(first: u64, step: u64, seed: u32, values: &mut [$element]) {
                wide(fill_every, (first, step, seed, values));
            }

            fn add_by(step: usize, addend: i64, values: &mut [$element]) {
                wide(add_every, (step, addend as $element, values));
            }
        }
    )*};
}

elements! {
    // Through i32, which is below 2^20 all the same, because processors convert it in one vector instruction.
    f32: |value| value as i32 as f32;
    f64: |value| f64::from(value as i32);
}

/// Writes the pattern's values from index `first` on.
pub fn fill<T: Element>(first: u64, seed: u32, values: &mut [T]) {
    T::fill_by(first, 1, seed, values);
}

#[inline(always)]
fn fill_every<T: Element>((first, step, seed, values): (u64, u64, u32, &mut [T])) {
    if step == 1 { fill_window(first, seed, values) } else { fill_steps(first, step, seed, values) }
}

#[inline(always)]
fn add_every<T: Element + AddAssign>((step, addend, values): (usize, T, &mut [T])) {
    if step == 1 {
        values.iter_mut().for_each(|value| *value += addend);
    } else {
        values.iter_mut().step_by(step).for_each(|value| *value += addend);
    }
}

#[inline(always)]
fn fill_window<T: Element>(first: u64, seed: u32, values: &mut [T]) {
    // Within a window that does not cross a multiple of 2^32 the upper half of the index is one number, and the loop
    // is arithmetic on 32-bit lanes.
    let upper = (first >> 32) as u32;
    if (first + values.len() as u64) >> 32 == u64::from(upper) {
        let lower = first as u32;
        for (offset, element) in values.iter_mut().enumerate() {
            let folded = lower.wrapping_add(offset as u32) ^ upper;
            *element = T::from_value(folded.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 12);
        }
    } else {
        fill_steps(first, 1, seed, values);
    }
}

#[inline(always)]
fn fill_steps<T: Element>(first: u64, step: u64, seed: u32, values: &mut [T]) {
    for (offset, element) in values.iter_mut().enumerate() {
        *element = T::from_value(value(first + offset as u64 * step, seed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_rule() {
        // 2654435761 = 0x9E3779B1.
        assert_eq!(value(0, 0), 0);
        assert_eq!(value(1, 0), 0x9E377);
        assert_eq!(value(2, 0), 0x3C6EF);
        assert_eq!(value(1 << 32, 0), value(1, 0));
        assert_eq!(value(0, 0xFFFF_FFFF), 0xFFFFF);
    }

    #[test]
    fn a_filled_window_equals_its_values() {
        for first in [0, 17, (1 << 32) - 3, (1 << 32) + 5, (5 << 32) - 1] {
            let mut single = [0f32; 9];
            let mut double = [0f64; 9];
            fill(first, SEED, &mut single);
            fill(first, SEED, &mut double);
            for offset in 0..9 {
                let expected = value(first + offset as u64, SEED);
                assert_eq!(
                    (single[offset], double[offset]),
                    (expected as f32, f64::from(expected)),
                    "{first} + {offset}"
                );
            }
        }
    }

    #[test]
    fn steps_take_every_so_manieth_value() {
        let mut values = [0f32; 5];
        f32::fill_by((1 << 32) - 7, 3, SEED, &mut values);
        for (nth, found) in values.into_iter().enumerate() {
            assert_eq!(found, value((1 << 32) - 7 + 3 * nth as u64, SEED) as f32);
        }
    }

    #[test]
    fn every_so_manieth_value_is_added_to() {
        let mut values = [1.0f64; 7];
        f64::add_by(3, 5, &mut values);
        assert_eq!(values, [6.0, 1.0, 1.0, 6.0, 1.0, 1.0, 6.0]);
        f64::add_by(1, 1, &mut values[5..]);
        assert_eq!(values[5..], [2.0, 7.0]);
    }

    #[test]
    fn neighbours_and_rows_differ() {
        for distance in [1u64, 2, 8, 32, 256, 1024, 4096, 1 << 20, 1 << 26] {
            let equal =
                (0..1000).filter(|&index| value(index, SEED) == value(index + distance, SEED)).count();
            assert_eq!(equal, 0, "at distance {distance}");
        }
    }

    #[test]
    fn sums_stay_exact_in_single_precision() {
        let largest = (1u64 << 20) - 1 + MOST_LAUNCHES;
        assert_eq!(largest as f32 as u64, largest);
        assert!(largest < 1 << 24);
    }
}
