//! The function whose derivative the stencil takes, on a grid: `sin(x)` at `x = index * STEP`.
//!
//! It is worked out in double precision from two tables, since there may be a hundred million of them. A value depends
//! on its index alone, and not on which others are worked out with it.

use super::RADIUS;
use crate::verify::Tolerance;
use pattern::wide;
use std::sync::LazyLock;

/// From one point of the grid to the next. It has two bits, so that a product with an index is exact, and a period is
/// 33.5 points: no block, warp or line is a whole number of them.
pub(super) const STEP: f64 = 3.0 / 16.0;

/// How far a derivative may be from the cosine. The method leaves out terms of `STEP^8 / 630`, a few 10^-9; the rest is
/// rounding: the values are known to 3 * 10^-8 and the coefficients multiply that by 11.
pub(super) const TOLERANCE: Tolerance = Tolerance { absolute: 2e-6, relative: 0.0 };

/// Coefficients of the first derivative to the eighth order, for a step of 1.
const DERIVATIVE: [f64; RADIUS] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];

/// Points from one entry of the first table to the next, which is the length of the second.
const TURN: u64 = 1024;

/// The coefficients that make the stencil the derivative.
pub(super) fn coefficients() -> [f32; RADIUS] {
    DERIVATIVE.map(|coefficient| (coefficient / STEP) as f32)
}

/// Sines and cosines of the first [`TURN`] points.
static TABLE: LazyLock<(Vec<f64>, Vec<f64>)> =
    LazyLock::new(|| (0..TURN).map(|index| (index as f64 * STEP).sin_cos()).unzip());

/// Writes the sine of the points from `first` on.
pub(super) fn sine(first: u64, values: &mut [f32]) {
    wide(sines, (first, values));
}

#[inline(always)]
fn sines((first, values): (u64, &mut [f32])) {
    let (sines, cosines) = &*TABLE;
    each_turn(first, values, |(sine, cosine), within, values| {
        for ((value, s), c) in values.iter_mut().zip(&sines[within..]).zip(&cosines[within..]) {
            *value = (sine * c + cosine * s) as f32;
        }
    });
}

/// Writes the cosine of the points from `first` on.
pub(super) fn cosine(first: u64, values: &mut [f32]) {
    wide(cosines, (first, values));
}

#[inline(always)]
fn cosines((first, values): (u64, &mut [f32])) {
    let (sines, cosines) = &*TABLE;
    each_turn(first, values, |(sine, cosine), within, values| {
        for ((value, s), c) in values.iter_mut().zip(&sines[within..]).zip(&cosines[within..]) {
            *value = (cosine * c - sine * s) as f32;
        }
    });
}

/// Hands out the values turn by turn: with the sine and cosine where the turn begins, and how far into it.
#[inline(always)]
fn each_turn<T>(first: u64, mut values: &mut [T], mut write: impl FnMut((f64, f64), usize, &mut [T])) {
    let mut index = first;
    while !values.is_empty() {
        let within = index % TURN;
        let length = ((TURN - within) as usize).min(values.len());
        let (here, rest) = values.split_at_mut(length);
        write(((index - within) as f64 * STEP).sin_cos(), within as usize, here);
        index += length as u64;
        values = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_function_wherever_a_window_begins() {
        for first in [0, 1, 1023, 1024, 5000, (1 << 27) - 3, 1 << 36] {
            let (mut sines, mut cosines) = ([0_f32; 2100], [0_f32; 2100]);
            sine(first, &mut sines);
            cosine(first, &mut cosines);
            for offset in [0, 1, 30, 1000, 1024, 2099] {
                let x = (first + offset as u64) as f64 * STEP;
                assert!((f64::from(sines[offset]) - x.sin()).abs() < 4e-8, "{first} + {offset}");
                assert!((f64::from(cosines[offset]) - x.cos()).abs() < 4e-8, "{first} + {offset}");
                let mut alone = [0_f32];
                sine(first + offset as u64, &mut alone);
                assert_eq!(alone[0].to_bits(), sines[offset].to_bits());
            }
        }
    }

    #[test]
    fn no_two_neighbours_or_rows_are_alike() {
        let mut values = [0_f32; 70_000];
        sine(0, &mut values);
        for distance in [1, 2, 4, 8, 32, 64, 256, 1024, 2048, 65_536] {
            let alike = values
                .windows(distance + 1)
                .filter(|window| f64::from((window[0] - window[distance]).abs()) < TOLERANCE.absolute);
            // Two points on either side of a crest may be, but not many.
            assert!(alike.count() < values.len() / 100, "at distance {distance}");
        }
    }
}
