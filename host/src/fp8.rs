//! FP8 numbers as buffers hold them: a sign, an exponent and two or three bits of the mantissa in a byte.

use cust::memory::bytemuck::{Pod, Zeroable};
use std::fmt;

/// An FP8 number with `MANTISSA` bits of the mantissa and `7 - MANTISSA` of the exponent. Equality is of bits.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Fp8<const MANTISSA: u32>(u8);

/// Four bits of the exponent, three of the mantissa: up to 448, without infinities.
pub(crate) type E4m3 = Fp8<3>;

/// Five bits of the exponent, two of the mantissa: the upper half of an IEEE half-precision number, up to 57344.
pub(crate) type E5m2 = Fp8<2>;

// SAFETY: it is a `u8`, of which zero is a value.
unsafe impl<const MANTISSA: u32> Zeroable for Fp8<MANTISSA> {}
// SAFETY: it is a `u8`: no padding, and every pattern of bits is a value.
unsafe impl<const MANTISSA: u32> Pod for Fp8<MANTISSA> {}

/// The NaN that conversions make.
const NAN: u8 = 0x7f;

impl<const MANTISSA: u32> Fp8<MANTISSA> {
    /// What the exponent of a normal number is stored with added.
    const BIAS: i32 = (1 << (6 - MANTISSA)) - 1;
    /// The bits of the largest number. With three bits of the mantissa only one pattern lies above, a NaN.
    const LARGEST: u8 = if MANTISSA == 3 { 0x7e } else { 0x7b };

    /// The nearest FP8 number, of two equally near ones the one whose last bit is 0. What is beyond the largest number becomes
    /// the largest one, as by `cvt.satfinite` of the PTX ISA. NaNs stay NaNs.
    pub(crate) fn nearest(number: f32) -> Self {
        if number.is_nan() {
            return Fp8(NAN);
        }
        let sign = if number.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = number.abs().min(Fp8::<MANTISSA>(Self::LARGEST).single());
        // Subnormal numbers have the steps of the least normal ones.
        let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(1 - Self::BIAS);
        let step = f32::from_bits((exponent - MANTISSA as i32 + 127) as u32 * (1 << 23));
        let steps = (magnitude / step).round_ties_even() as u8;
        // A normal number has 2^MANTISSA steps or more, which count one exponent up; a carry counts another.
        Fp8(sign | ((((exponent + Self::BIAS - 1) as u8) << MANTISSA) + steps))
    }

    /// The same number in single precision.
    pub(crate) fn single(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 >> 7) << 31, self.0 & 0x7f);
        let unsigned = match magnitude {
            _ if magnitude <= Self::LARGEST => {
                // The power of two makes up for the difference of the biases, of subnormal numbers too.
                let scale = f32::from_bits(((127 - Self::BIAS + 127) as u32) << 23);
                f32::from_bits(u32::from(magnitude) << (23 - MANTISSA)) * scale
            }
            0x7c => f32::INFINITY,
            _ => f32::NAN,
        };
        f32::from_bits(unsigned.to_bits() | sign)
    }
}

impl<const MANTISSA: u32> fmt::Debug for Fp8<MANTISSA> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.single(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a pattern, by the definition; `None` for a NaN.
    fn defined(bits: u8, mantissa: u32) -> Option<f64> {
        let bias = if mantissa == 3 { 7 } else { 15 };
        let sign = if bits >> 7 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from((bits & 0x7f) >> mantissa);
        let fraction = f64::from(bits & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
        match (mantissa, exponent) {
            (3, 15) if fraction == 0.875 => None,
            (2, 31) if fraction == 0.0 => Some(sign * f64::INFINITY),
            (2, 31) => None,
            (_, 0) => Some(sign * fraction * 2_f64.powi(1 - bias)),
            _ => Some(sign * (1.0 + fraction) * 2_f64.powi(exponent - bias)),
        }
    }

    /// All patterns against the definition and back, and what lies halfway between neighbours.
    fn all<const MANTISSA: u32>() {
        for bits in 0..=u8::MAX {
            let number = Fp8::<MANTISSA>(bits);
            let Some(value) = defined(bits, MANTISSA) else {
                assert!(number.single().is_nan(), "{bits:#x}");
                assert_eq!(Fp8::<MANTISSA>::nearest(number.single()), Fp8(NAN));
                continue;
            };
            assert_eq!(f64::from(number.single()).to_bits(), value.to_bits(), "{bits:#x}");
            let largest = Fp8::<MANTISSA>::LARGEST;
            if bits & 0x7f > largest {
                assert_eq!(Fp8::<MANTISSA>::nearest(number.single()), Fp8(bits & 0x80 | largest));
                continue;
            }
            assert_eq!(Fp8::<MANTISSA>::nearest(number.single()), number, "{bits:#x}");
            if bits & 0x7f < largest {
                let next = Fp8::<MANTISSA>(bits + 1);
                let halfway = f32::midpoint(number.single(), next.single());
                let even = if bits & 1 == 0 { number } else { next };
                assert_eq!(Fp8::nearest(halfway), even, "{bits:#x}");
                let [below, above] = [halfway.next_down(), halfway.next_up()].map(Fp8::<MANTISSA>::nearest);
                let expected = if bits >> 7 == 0 { [number, next] } else { [next, number] };
                assert_eq!([below, above], expected, "{bits:#x}");
            }
        }
    }

    #[test]
    fn all_256_patterns_are_the_numbers_of_the_definition() {
        all::<3>();
        all::<2>();
    }

    #[test]
    fn whole_numbers_up_to_7_are_exact() {
        for number in -7..=7_i8 {
            let number = f32::from(number);
            assert_eq!([E4m3::nearest(number).single(), E5m2::nearest(number).single()], [number; 2]);
        }
        assert_eq!([E4m3::nearest(17.0).single(), E5m2::nearest(9.0).single()], [16.0, 8.0]);
        assert_eq!(format!("{:?} {:?}", E4m3::nearest(-3.0), E5m2::nearest(6.0)), "-3.0 6.0");
    }

    #[test]
    fn what_is_too_large_becomes_the_largest_number() {
        let e4m3 = [448.0, 464.0, f32::MAX, f32::NEG_INFINITY].map(|number| E4m3::nearest(number).single());
        assert_eq!(e4m3, [448.0, 448.0, 448.0, -448.0]);
        let e5m2 = [57_344.0, 61_440.0, f32::INFINITY].map(|number| E5m2::nearest(number).single());
        assert_eq!(e5m2, [57_344.0; 3]);
        assert_eq!((E4m3::nearest(f32::NAN), E4m3::nearest(1e-30)), (Fp8(NAN), Fp8(0)));
    }
}
