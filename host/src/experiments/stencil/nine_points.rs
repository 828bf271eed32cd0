//! Works out the kernels' results a second time, to check them against: nine points in the kernels' order, each multiplication
//! fused with its addition.
//!
//! Most processors have an instruction for that, with which several points are worked out at once. On others `mul_add` calls the C
//! library, which takes many times as long. But an `f64` holds the product of two `f32` exactly, so that the sum alone is rounded
//! twice, to `f64` and to `f32`. That makes a difference only where the first rounding ends halfway between two numbers of `f32`,
//! which a look at its bits tells. So there a window is worked out in `f64` without branches, and again by the C library if one of
//! its sums was such a one.

use super::RADIUS;
use pattern::{fuses, wide};

/// The bits of an `f64` that `f32` lacks, in a sum halfway between two numbers of `f32`.
const HALFWAY: u64 = 1 << (f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS - 1);

/// Writes the result for each point. `source` begins with the halo before the first one.
pub(super) fn of_all(coefficients: [f32; RADIUS], source: &[f32], values: &mut [f32]) {
    if fuses() {
        wide(of_all_fused, (coefficients, source, values));
    } else {
        of_all_in_double(coefficients, source, values);
    }
}

/// Does so in instructions that multiply and add.
#[inline(always)]
fn of_all_fused((coefficients, source, values): ([f32; RADIUS], &[f32], &mut [f32])) {
    for (value, points) in values.iter_mut().zip(source.windows(2 * RADIUS + 1)) {
        *value = coefficients.iter().enumerate().fold(0.0, |sum, (nth, coefficient)| {
            coefficient.mul_add(points[RADIUS + nth + 1] - points[RADIUS - nth - 1], sum)
        });
    }
}

/// Does so without such instructions.
fn of_all_in_double(coefficients: [f32; RADIUS], source: &[f32], values: &mut [f32]) {
    values.fill(0.0);
    let mut twice = false;
    for (nth, &coefficient) in coefficients.iter().enumerate() {
        let (after, before) = (&source[RADIUS + nth + 1..], &source[RADIUS - nth - 1..]);
        for ((value, after), before) in values.iter_mut().zip(after).zip(before) {
            let sum = in_double(coefficient, after - before, *value);
            twice |= may_be_rounded_twice(sum);
            *value = sum as f32;
        }
    }
    if twice {
        for (value, points) in values.iter_mut().zip(source.windows(2 * RADIUS + 1)) {
            *value = of_one(coefficients, points);
        }
    }
}

/// Returns the result for the point in the middle.
pub(super) fn of_one(coefficients: [f32; RADIUS], points: &[f32]) -> f32 {
    coefficients.iter().enumerate().fold(0.0, |sum, (nth, coefficient)| {
        fused(*coefficient, points[RADIUS + nth + 1] - points[RADIUS - nth - 1], sum)
    })
}

/// Returns `a.mul_add(b, c)`, to the last bit, without a call of the C library where that is possible.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let sum = in_double(a, b, c);
    if may_be_rounded_twice(sum) { a.mul_add(b, c) } else { sum as f32 }
}

fn in_double(a: f32, b: f32, c: f32) -> f64 {
    f64::from(a) * f64::from(b) + f64::from(c)
}

/// Whether rounding to `f32` may give another number than rounding the exact sum once. Numbers of `f32` are as far apart as
/// assumed here unless they are subnormal.
fn may_be_rounded_twice(sum: f64) -> bool {
    let is_halfway = sum.to_bits() & (2 * HALFWAY - 1) == HALFWAY;
    let is_ordinary = (sum.abs() >= f64::from(f32::MIN_POSITIVE)) & (sum.abs() < f64::INFINITY);
    is_halfway | !is_ordinary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_is_rounded_once() {
        // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies halfway, and the addend on one side of it.
        let (a, tiny) = (1.0 + 2_f32.powi(-12), 2_f32.powi(-60));
        assert_eq!(fused(a, a, tiny), 1.0 + 2_f32.powi(-11) + f32::EPSILON);
        assert_eq!(fused(a, a, -tiny), 1.0 + 2_f32.powi(-11));
        let mut bits = 1_u32;
        let mut next = || {
            bits = bits.wrapping_mul(0x9E37_79B1).wrapping_add(0x7F4A_7C15);
            // Exponents near 1 and near those of subnormal products.
            let exponent = if bits & 1 == 0 { 120 + (bits >> 9 & 15) } else { 50 + (bits >> 9 & 31) };
            f32::from_bits(bits & 0x807F_FFFF | exponent << 23)
        };
        for _ in 0..200_000 {
            let [a, b, c] = [next(), next(), next()];
            assert_eq!(fused(a, b, c).to_bits(), a.mul_add(b, c).to_bits(), "{a:e} {b:e} {c:e}");
        }
    }

    #[test]
    fn a_window_is_its_points() {
        let coefficients = [0.8, -0.2, 4.0 / 105.0, -1.0 / 280.0];
        let mut source: Vec<f32> = (0..500).map(|index| (f64::from(index) * 0.1875).sin() as f32).collect();
        let of_each = |source: &[f32]| -> Vec<u32> {
            source.windows(2 * RADIUS + 1).map(|points| of_one(coefficients, points).to_bits()).collect()
        };
        type Work = fn([f32; RADIUS], &[f32], &mut [f32]);
        let by = |work: Work, source: &[f32]| -> Vec<u32> {
            let mut values = vec![f32::NAN; source.len() - 2 * RADIUS];
            work(coefficients, source, &mut values);
            values.iter().map(|value| value.to_bits()).collect()
        };
        let of_window = |source: &[f32]| -> Vec<u32> {
            let bits = by(of_all, source);
            assert_eq!(by(of_all_in_double, source), bits);
            bits
        };
        assert_eq!(of_window(&source), of_each(&source));
        // A difference of 0, one that is subnormal, and one that is no number.
        source[101] = source[99];
        source[203] = source[201] + 1e-40;
        assert_eq!(of_window(&source), of_each(&source));
        source[301] = f32::INFINITY;
        assert_eq!(of_window(&source), of_each(&source));
    }
}
