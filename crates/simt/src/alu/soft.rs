//! Exact arithmetic on binary floating-point numbers of any format up to `f64`, rounded once, in any direction.
//!
//! A finite number is an integer of up to 128 bits times a power of two. Bits shifted out at the low end set the lowest
//! bit (a sticky bit). That suffices for correct rounding if it lies two bits or more below the format's last place.
//!
//! `rustc_apfloat` 0.2.3 gives the same bits for sums, products, quotients, fused products and conversions (`alu_soft` of the
//! simulator's tests), but for what overflows `e4m3` downwards. It has no square root, no `tf32` and no flush by the value before
//! rounding (`.ftz`), so that [`Exact`] and [`Format`] would stay beside it. Its time over ours, per lane, on an AMD EPYC
//! (`cargo bench -p simt --bench floats`, medians):
//!
//! | | f16 | f32 | f64 | bf16 | e4m3 |
//! | --- | --- | --- | --- | --- | --- |
//! | sum | 1.86 | 1.86 | 1.86 | | |
//! | product | 1.71 | 1.68 | 1.65 | | |
//! | fused product | 1.50 | 1.49 | 1.50 | | |
//! | quotient | 1.81 | 1.59 | 5.84 | | |
//! | conversion of an f32 | 1.63 | | 1.39 | 1.07 | 1.17 |
//!
//! In the two conversions in which it is nearly as fast, nothing of ours would go but a constant each.

use crate::ptx::op::words::Rounding;

/// Returns the rounding of a number of the configuration.
#[inline(always)]
pub(super) fn rounding_of(number: u32) -> Rounding {
    match number & 7 {
        1 => Rounding::Zero,
        2 => Rounding::Down,
        3 => Rounding::Up,
        4 => Rounding::NearestAway,
        _ => Rounding::NearestEven,
    }
}

/// The layout of a format: sign, exponent, fraction, from the top.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of the significand, the hidden one included.
    precision: u32,
    /// Exponent of the smallest normal number.
    least_exponent: i32,
    /// Position of the sign.
    sign: u32,
    /// Bits of the largest finite number.
    largest: u64,
    infinity: u64,
    nan: u64,
}

/// `.f32`
pub const SINGLE: Format = Format {
    precision: 24,
    least_exponent: -126,
    sign: 31,
    largest: 0x7F7F_FFFF,
    infinity: 0x7F80_0000,
    nan: 0x7FFF_FFFF,
};
/// `.f64`
pub const DOUBLE: Format = Format {
    precision: 53,
    least_exponent: -1022,
    sign: 63,
    largest: 0x7FEF_FFFF_FFFF_FFFF,
    infinity: 0x7FF0_0000_0000_0000,
    nan: 0xFFF8_0000_0000_0000,
};
/// `.f16`
pub const HALF: Format =
    Format { precision: 11, least_exponent: -14, sign: 15, largest: 0x7BFF, infinity: 0x7C00, nan: 0x7FFF };
/// `.bf16`
pub const BRAIN: Format =
    Format { precision: 8, least_exponent: -126, sign: 15, largest: 0x7F7F, infinity: 0x7F80, nan: 0x7FFF };
/// `.tf32` without the 13 zeros below it.
pub(super) const TENSOR: Format = Format {
    precision: 11,
    least_exponent: -126,
    sign: 18,
    largest: 0x3_FBFF,
    infinity: 0x3_FC00,
    nan: 0x3_FFFF,
};
/// `.e4m3` has no infinity: overflow gives NaN unless it saturates, and the largest number is 448.
pub const E4M3: Format =
    Format { precision: 4, least_exponent: -6, sign: 7, largest: 0x7E, infinity: 0x7F, nan: 0x7F };
/// `.e5m2`: the largest number is 57344.
pub const E5M2: Format =
    Format { precision: 3, least_exponent: -14, sign: 7, largest: 0x7B, infinity: 0x7C, nan: 0x7F };

/// `significand * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    negative: bool,
    exponent: i32,
    significand: u128,
}

/// A number, before it is rounded to a format.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// No number.
    Nan,
    /// Infinity.
    Infinite {
        /// Its sign.
        negative: bool,
    },
    /// A finite number.
    Finite(Exact),
}

impl Exact {
    const fn zero(negative: bool) -> Self {
        Self { negative, exponent: 0, significand: 0 }
    }

    /// Shifts a significand that is not 0 so that its highest bit is at the given position.
    fn lifted(self, place: u32) -> Self {
        let shift = place as i32 - (127 - self.significand.leading_zeros() as i32);
        let significand = if shift >= 0 {
            self.significand << shift
        } else {
            shift_right_sticky(self.significand, -shift as u32)
        };
        Self { significand, exponent: self.exponent - shift, ..self }
    }
}

fn shift_right_sticky(significand: u128, shift: u32) -> u128 {
    if shift >= 128 {
        return u128::from(significand != 0);
    }
    let lost = significand & ((1 << shift) - 1) != 0;
    significand >> shift | u128::from(lost)
}

impl Value {
    /// Returns an integer's value.
    pub fn from_integer(value: i128) -> Self {
        Self::Finite(Exact { negative: value < 0, exponent: 0, significand: value.unsigned_abs() })
    }

    /// Negates.
    pub fn negated(self) -> Self {
        match self {
            Self::Nan => Self::Nan,
            Self::Infinite { negative } => Self::Infinite { negative: !negative },
            Self::Finite(exact) => Self::Finite(Exact { negative: !exact.negative, ..exact }),
        }
    }

    /// Adds. `rounding` only selects the sign of an exact zero.
    pub fn add(self, other: Self, rounding: Rounding) -> Self {
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) => Self::Nan,
            (Self::Infinite { negative }, Self::Infinite { negative: too }) if negative != too => Self::Nan,
            (Self::Infinite { .. }, _) => self,
            (_, Self::Infinite { .. }) => other,
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(add_exact(a, b, rounding)),
        }
    }

    /// Multiplies.
    pub fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) => Self::Nan,
            (Self::Infinite { negative }, Self::Infinite { negative: too }) => {
                Self::Infinite { negative: negative != too }
            }
            (Self::Infinite { negative }, Self::Finite(exact))
            | (Self::Finite(exact), Self::Infinite { negative }) => {
                if exact.significand == 0 {
                    Self::Nan
                } else {
                    Self::Infinite { negative: negative != exact.negative }
                }
            }
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(Exact {
                negative: a.negative != b.negative,
                exponent: a.exponent + b.exponent,
                significand: a.significand * b.significand,
            }),
        }
    }

    /// Divides.
    pub fn over(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) | (Self::Infinite { .. }, Self::Infinite { .. }) => Self::Nan,
            (Self::Infinite { negative }, Self::Finite(exact)) => {
                Self::Infinite { negative: negative != exact.negative }
            }
            (Self::Finite(exact), Self::Infinite { negative }) => {
                Self::Finite(Exact::zero(negative != exact.negative))
            }
            (Self::Finite(a), Self::Finite(b)) => {
                let negative = a.negative != b.negative;
                match (a.significand, b.significand) {
                    (0, 0) => Self::Nan,
                    (0, _) => Self::Finite(Exact::zero(negative)),
                    (_, 0) => Self::Infinite { negative },
                    _ => {
                        let a = a.lifted(127);
                        let quotient = a.significand / b.significand;
                        let lost = a.significand % b.significand != 0;
                        Self::Finite(Exact {
                            negative,
                            exponent: a.exponent - b.exponent,
                            significand: quotient | u128::from(lost),
                        })
                    }
                }
            }
        }
    }

    pub(super) fn sqrt(self) -> Self {
        match self {
            Self::Nan | Self::Infinite { negative: true } => Self::Nan,
            Self::Infinite { .. } => self,
            Self::Finite(exact) if exact.significand == 0 => self,
            Self::Finite(exact) if exact.negative => Self::Nan,
            Self::Finite(exact) => {
                let mut exact = exact.lifted(125);
                if exact.exponent & 1 != 0 {
                    exact = exact.lifted(124);
                }
                let root = exact.significand.isqrt();
                let lost = root * root != exact.significand;
                Self::Finite(Exact {
                    negative: false,
                    exponent: exact.exponent / 2,
                    significand: root | u128::from(lost),
                })
            }
        }
    }
}

fn add_exact(a: Exact, b: Exact, rounding: Rounding) -> Exact {
    match (a.significand, b.significand) {
        (0, 0) => Exact::zero(if a.negative == b.negative { a.negative } else { rounding == Rounding::Down }),
        (0, _) => b,
        (_, 0) => a,
        _ => {
            let (a, b) = (a.lifted(125), b.lifted(125));
            let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
            let small_significand =
                shift_right_sticky(small.significand, (large.exponent - small.exponent) as u32);
            if large.negative == small.negative {
                return Exact { significand: large.significand + small_significand, ..large };
            }
            let exponent = large.exponent;
            match large.significand.cmp(&small_significand) {
                std::cmp::Ordering::Equal => Exact::zero(rounding == Rounding::Down),
                std::cmp::Ordering::Greater => {
                    Exact { significand: large.significand - small_significand, ..large }
                }
                std::cmp::Ordering::Less => Exact {
                    negative: small.negative,
                    exponent,
                    significand: small_significand - large.significand,
                },
            }
        }
    }
}

impl Format {
    /// Returns the canonical NaN.
    pub(super) fn nan(&self) -> u64 {
        self.nan
    }

    /// Reads a number's bits.
    pub fn read(&self, bits: u64) -> Value {
        let negative = bits >> self.sign & 1 != 0;
        let magnitude = bits & ((1 << self.sign) - 1);
        if magnitude > self.largest {
            let is_infinite = magnitude == self.infinity && self.infinity != self.nan;
            return if is_infinite { Value::Infinite { negative } } else { Value::Nan };
        }
        let fraction_bits = self.precision - 1;
        let biased = magnitude >> fraction_bits;
        let fraction = magnitude & ((1 << fraction_bits) - 1);
        let (significand, biased) =
            if biased == 0 { (fraction, 1) } else { (fraction | 1 << fraction_bits, biased) };
        let exponent = biased as i32 - 1 + self.least_exponent - fraction_bits as i32;
        Value::Finite(Exact { negative, exponent, significand: significand.into() })
    }

    /// Returns the magnitude's bits, without a limit on the exponent, of a number that is not 0.
    fn magnitude(&self, exact: Exact, rounding: Rounding) -> u128 {
        let exact = exact.lifted(126);
        // The exponent of the last place, and its distance above the significand's lowest bit.
        let last = (exact.exponent + 126).max(self.least_exponent) - (self.precision as i32 - 1);
        let shift = (last - exact.exponent) as u32;
        let (kept, lost, half) = match shift {
            0..128 => {
                (exact.significand >> shift, exact.significand & ((1 << shift) - 1), 1u128 << (shift - 1))
            }
            _ => (0, 1, 2),
        };
        let up = match rounding {
            Rounding::NearestEven => lost > half || lost == half && kept & 1 != 0,
            Rounding::NearestAway => lost >= half,
            Rounding::Zero => false,
            Rounding::Down => exact.negative && lost != 0,
            Rounding::Up => !exact.negative && lost != 0,
        };
        // A carry out of the fraction increments the exponent, as it should.
        let steps = (last + self.precision as i32 - 1 - self.least_exponent) as u128;
        (steps << (self.precision - 1)) + kept + u128::from(up)
    }

    /// Rounds to this format. Overflow gives infinity or, depending on the rounding, the largest number.
    pub fn round(&self, value: Value, rounding: Rounding) -> u64 {
        let exact = match value {
            Value::Nan => return self.nan,
            Value::Infinite { negative } => return self.infinity | u64::from(negative) << self.sign,
            Value::Finite(exact) => exact,
        };
        let sign = u64::from(exact.negative) << self.sign;
        if exact.significand == 0 {
            return sign;
        }
        let magnitude = self.magnitude(exact, rounding);
        // An exponent beyond all formats would run into the sign.
        let magnitude = u64::try_from(magnitude).unwrap_or(u64::MAX);
        if magnitude <= self.largest {
            return sign | magnitude;
        }
        let stays_finite = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => false,
            Rounding::Zero => true,
            Rounding::Down => !exact.negative,
            Rounding::Up => exact.negative,
        };
        sign | if stays_finite { self.largest } else { self.infinity }
    }

    /// Rounds as [`Format::round`] does, but flushes to 0 below the smallest normal number at the format's precision.
    pub(super) fn round_flushing(&self, value: Value, rounding: Rounding) -> u64 {
        let unbounded = Self { least_exponent: -(1 << 12), ..*self };
        if let Value::Finite(exact) = value
            && exact.significand != 0
        {
            // The exponent field after rounding, relative to a lower least exponent.
            let least = (self.least_exponent - unbounded.least_exponent + 1) as u128;
            if unbounded.magnitude(exact, rounding) < least << (self.precision - 1) {
                return u64::from(exact.negative) << self.sign;
            }
        }
        self.round(value, rounding)
    }

    /// Rounds as [`Format::round`] does, but saturates: overflow and infinity give the largest number.
    pub(super) fn round_saturating(&self, value: Value, rounding: Rounding) -> u64 {
        let bits = self.round(value, rounding);
        let sign = bits & 1 << self.sign;
        let is_nan = matches!(value, Value::Nan);
        if !is_nan && bits ^ sign > self.largest { sign | self.largest } else { bits }
    }
}

#[inline(always)]
pub(super) fn single(value: f32) -> Value {
    SINGLE.read(value.to_bits().into())
}

#[inline(always)]
pub(super) fn double(value: f64) -> Value {
    DOUBLE.read(value.to_bits())
}
