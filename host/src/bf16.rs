//! bfloat16 numbers as buffers hold them: the upper half of a single-precision number.

use cust::memory::bytemuck::{Pod, Zeroable};
use std::fmt;

/// A bfloat16 number. Equality is of bits.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Bf16(u16);

// SAFETY: it is a `u16`, of which zero is a value.
unsafe impl Zeroable for Bf16 {}
// SAFETY: it is a `u16`: no padding, and every pattern of bits is a value.
unsafe impl Pod for Bf16 {}

impl Bf16 {
    /// The nearest bfloat16 number, of two equally near ones the one whose last bit is 0. NaNs stay NaNs.
    pub(crate) fn nearest(number: f32) -> Bf16 {
        let bits = number.to_bits();
        if number.is_nan() {
            return Bf16((bits >> 16) as u16 | 0x40);
        }
        let half_less_one = 0x7fff + (bits >> 16 & 1);
        Bf16(((bits + half_less_one) >> 16) as u16)
    }

    /// The same number in single precision.
    pub(crate) fn single(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl fmt::Debug for Bf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.single(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_exact_up_to_256_and_round_to_even_above() {
        for number in -256..=256_i16 {
            assert_eq!(Bf16::nearest(number.into()).single(), f32::from(number));
        }
        let nearest = |number: f32| Bf16::nearest(number).single();
        // From 256 to 512 every second number; 257 and 259 are halfway.
        assert_eq!([257.0, 258.0, 259.0, -259.0].map(nearest), [256.0, 258.0, 260.0, -260.0]);
        assert_eq!([4111.0, 4112.0, 4113.0, 4144.0].map(nearest), [4096.0, 4096.0, 4128.0, 4160.0]);
        assert_eq!(nearest(f32::MAX), f32::INFINITY);
        assert!(nearest(f32::NAN).is_nan() && nearest(f32::from_bits(0x7f80_0001)).is_nan());
        assert_eq!(format!("{:?}", Bf16::nearest(-3.0)), "-3.0");
    }
}
