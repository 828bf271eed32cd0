//! What a floating-point operation should give, by comparing candidates with the exact result in wide fixed point.

use std::cmp::Ordering;

/// A binary format by its bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) bits: u32,
    pub(crate) fraction: u32,
    /// Results too small for a normal number, once they have the precision of one, are 0.
    pub(crate) flushes: bool,
}

pub(crate) const SINGLE: Format = Format { bits: 32, fraction: 23, flushes: false };
pub(crate) const DOUBLE: Format = Format { bits: 64, fraction: 52, flushes: false };
pub(crate) const HALF: Format = Format { bits: 16, fraction: 10, flushes: false };
pub(crate) const BRAIN: Format = Format { bits: 16, fraction: 7, flushes: false };

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
    Away,
}

pub(crate) const MODES: [(&str, Mode); 4] =
    [("rn", Mode::Nearest), ("rz", Mode::Zero), ("rm", Mode::Down), ("rp", Mode::Up)];

impl Format {
    fn exponent_bits(self) -> u32 {
        self.bits - 1 - self.fraction
    }

    pub(crate) fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    pub(crate) fn infinity(self) -> u64 {
        ((1 << self.exponent_bits()) - 1) << self.fraction
    }

    pub(crate) fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub(crate) fn is_infinite(self, bits: u64) -> bool {
        bits & !self.sign() == self.infinity()
    }

    pub(crate) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & !self.sign();
        magnitude != 0 && magnitude >> self.fraction == 0
    }

    pub(crate) fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    /// The magnitude as significand and exponent; infinity as the power of two that it stands for.
    pub(crate) fn parts(self, bits: u64) -> (u64, i32) {
        let magnitude = bits & !self.sign();
        let biased = (magnitude >> self.fraction) as i32;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let bias = (1 << (self.exponent_bits() - 1)) - 1;
        if biased == 0 {
            (fraction, 1 - bias - self.fraction as i32)
        } else {
            (fraction | 1 << self.fraction, biased - bias - self.fraction as i32)
        }
    }

    /// As an `f64`, which holds all these formats.
    pub(crate) fn value(self, bits: u64) -> f64 {
        let negative = if self.is_negative(bits) { -1.0 } else { 1.0 };
        if self.is_nan(bits) {
            return f64::NAN;
        }
        if self.is_infinite(bits) {
            return negative * f64::INFINITY;
        }
        let (significand, exponent) = self.parts(bits);
        // Two steps, so that no power of two is out of range.
        negative * significand as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
    }
}

/// `limbs * 2^-LOWEST`, without a sign.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Wide([u64; LIMBS]);

const LIMBS: usize = 70;
const LOWEST: i32 = 2240;

impl Wide {
    pub(crate) fn new(significand: u128, exponent: i32) -> Self {
        let mut limbs = [0; LIMBS];
        let place = u32::try_from(exponent + LOWEST).expect("a low exponent");
        let (limb, shift) = ((place / 64) as usize, place % 64);
        let (low, high) = (significand as u64, (significand >> 64) as u64);
        let parts = if shift == 0 {
            [low, high, 0]
        } else {
            [low << shift, low >> (64 - shift) | high << shift, high >> (64 - shift)]
        };
        for (index, part) in parts.into_iter().enumerate() {
            match limbs.get_mut(limb + index) {
                Some(place) => *place = part,
                None => assert_eq!(part, 0, "too large"),
            }
        }
        Self(limbs)
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|limb| *limb == 0)
    }

    fn add(&self, other: &Self) -> Self {
        let mut sum = [0; LIMBS];
        let mut carry = false;
        for (index, place) in sum.iter_mut().enumerate() {
            let (one, first) = self.0[index].overflowing_add(other.0[index]);
            let (two, second) = one.overflowing_add(carry.into());
            (*place, carry) = (two, first | second);
        }
        Self(sum)
    }

    fn sub(&self, other: &Self) -> Self {
        let mut rest = [0; LIMBS];
        let mut borrow = false;
        for (index, place) in rest.iter_mut().enumerate() {
            let (one, first) = self.0[index].overflowing_sub(other.0[index]);
            let (two, second) = one.overflowing_sub(borrow.into());
            (*place, borrow) = (two, first | second);
        }
        Self(rest)
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Below the least normal number once it is rounded to a normal number's precision.
fn is_tiny(format: Format, negative: bool, mode: Mode, compare: impl Fn(u128, i32) -> Ordering) -> bool {
    let (least, at) = format.parts(1 << format.fraction);
    let (least, below) = (u128::from(least), 2 * u128::from(least) - 1);
    if compare(least, at) != Ordering::Less {
        return false;
    }
    if compare(below, at - 1) != Ordering::Greater {
        return true;
    }
    match mode {
        // The least normal number is the even one.
        Mode::Nearest | Mode::Away => compare(2 * below + 1, at - 2) == Ordering::Less,
        Mode::Zero => true,
        Mode::Down => !negative,
        Mode::Up => negative,
    }
}

/// The bits of `format` that a number of the given sign rounds to. `compare` says how the exact magnitude compares with
/// `significand * 2^exponent`; `guess` is what it is near to.
fn rounded(
    format: Format,
    negative: bool,
    guess: u64,
    mode: Mode,
    compare: impl Fn(u128, i32) -> Ordering,
) -> u64 {
    if format.flushes && is_tiny(format, negative, mode, &compare) {
        return if negative { format.sign() } else { 0 };
    }
    let guess = guess & !format.sign();
    let candidates =
        [guess, guess.wrapping_sub(1), guess.wrapping_add(1), guess.wrapping_sub(2), guess.wrapping_add(2)];
    // The one at or below the exact number, next to which there is the one above it.
    let below = candidates.into_iter().find(|bits| {
        if *bits >= format.infinity() && *bits != format.infinity() {
            return false;
        }
        let (low, at) = format.parts(*bits);
        let is_below = compare(low.into(), at) != Ordering::Less;
        if *bits == format.infinity() {
            return is_below;
        }
        let (high, above) = format.parts(bits + 1);
        is_below && compare(high.into(), above) == Ordering::Less
    });
    let below = below.unwrap_or_else(|| panic!("{guess:#x} is not near"));
    let sign = if negative { format.sign() } else { 0 };
    let largest = format.infinity() - 1;
    let (significand, exponent) = format.parts(below.min(largest));
    let is_exact = below <= largest && compare(significand.into(), exponent) == Ordering::Equal;
    let up = match mode {
        _ if is_exact => false,
        Mode::Zero => false,
        Mode::Down => negative,
        Mode::Up => !negative,
        Mode::Nearest | Mode::Away => match compare(2 * u128::from(significand) + 1, exponent - 1) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => mode == Mode::Away || below & 1 != 0,
        },
    };
    // Above the largest, all of them are one unit above it.
    let below = below.min(largest);
    sign | (below + u64::from(up))
}

/// `a * b + c`, of numbers in `from` rounded to `format`, all finite. The guess is found by halving.
pub(crate) fn fma(from: Format, format: Format, [a, b, c]: [u64; 3], mode: Mode) -> u64 {
    let (product_significand, product_exponent) = {
        let ((a, at), (b, by)) = (from.parts(a), from.parts(b));
        (u128::from(a) * u128::from(b), at + by)
    };
    let (addend, at) = from.parts(c);
    let product = Wide::new(product_significand, product_exponent);
    let addend = Wide::new(addend.into(), at);
    let product_negative = from.is_negative(a) != from.is_negative(b);
    let addend_negative = from.is_negative(c);
    let (negative, exact) = if product_negative == addend_negative {
        (product_negative, product.add(&addend))
    } else if product >= addend {
        (product_negative, product.sub(&addend))
    } else {
        (addend_negative, addend.sub(&product))
    };
    if exact.is_zero() {
        let both = product_negative == addend_negative;
        let negative = if both { product_negative } else { mode == Mode::Down };
        return if negative { format.sign() } else { 0 };
    }
    let compare = |significand, exponent| exact.cmp(&Wide::new(significand, exponent));
    rounded(format, negative, halving(format, compare), mode, compare)
}

/// The largest magnitude that the number is not below.
fn halving(format: Format, compare: impl Fn(u128, i32) -> Ordering) -> u64 {
    let (mut low, mut high) = (0, format.infinity() + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let (significand, exponent) = format.parts(middle);
        if compare(significand.into(), exponent) == Ordering::Less {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

/// An integer, rounded.
pub(crate) fn integer(format: Format, value: i128, mode: Mode) -> u64 {
    if value == 0 {
        return 0;
    }
    let exact = Wide::new(value.unsigned_abs(), 0);
    let compare = |significand, exponent| exact.cmp(&Wide::new(significand, exponent));
    rounded(format, value < 0, halving(format, compare), mode, compare)
}

/// `a / b`, both finite and not 0.
pub(crate) fn div(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    let negative = format.is_negative(a) != format.is_negative(b);
    let (numerator, at) = format.parts(a);
    let (divisor, by) = format.parts(b);
    let numerator = Wide::new(numerator.into(), at);
    let compare = |significand: u128, exponent: i32| {
        numerator.cmp(&Wide::new(significand * u128::from(divisor), exponent + by))
    };
    rounded(format, negative, halving(format, compare), mode, compare)
}

/// The square root of a number above 0.
pub(crate) fn sqrt(format: Format, a: u64, mode: Mode) -> u64 {
    let (square, at) = format.parts(a);
    let square = Wide::new(square.into(), at);
    let compare =
        |significand: u128, exponent: i32| square.cmp(&Wide::new(significand * significand, 2 * exponent));
    rounded(format, false, halving(format, compare), mode, compare)
}

/// A number of one format in another.
pub(crate) fn convert(from: Format, to: Format, bits: u64, mode: Mode) -> u64 {
    let (significand, exponent) = from.parts(bits);
    if significand == 0 {
        return if from.is_negative(bits) { to.sign() } else { 0 };
    }
    let exact = Wide::new(significand.into(), exponent);
    let compare = |significand, exponent| exact.cmp(&Wide::new(significand, exponent));
    rounded(to, from.is_negative(bits), halving(to, compare), mode, compare)
}
