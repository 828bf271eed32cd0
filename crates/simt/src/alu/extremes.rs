//! `min` and `max` of floats: a number wins over a NaN, and -0.0 is below +0.0.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Float as Op, FloatVerb};

use super::double::quiet;
use super::form::{Decoded, Form};
use super::half::{Brain, Half, Small};
use super::lanes::{Code, Lane, Outcome, flag, operation};
use super::packed::Twice;
use super::single::{FLUSH, NAN, flush};

/// Bits of the configuration, besides [`FLUSH`].
pub(super) const MAXIMUM: u32 = 2;
pub(super) const NAN_WINS: u32 = 4;
pub(super) const ABSOLUTE: u32 = 8;
const XOR_SIGN: u32 = 16;

/// A float with a minimum and a maximum.
pub(super) trait Float: Lane + Outcome {
    fn is_no_number(self) -> bool;
    fn canonical_nan() -> Self;
    /// Returns the NaN for two NaN operands.
    fn nan_of(self, _other: Self) -> Self {
        Self::canonical_nan()
    }
    /// Orders numbers, with -0.0 before +0.0.
    fn below(self, other: Self) -> bool;
    fn without_sign(self) -> Self;
    fn sign(self) -> bool;
    fn negated(self) -> Self;
    fn flushed(self) -> Self;
}

macro_rules! float {
    ($float:ty, $int:ty, $nan:expr, $flushed:expr, |$one:ident, $other:ident| $nan_of:expr) => {
        impl Float for $float {
            #[inline(always)]
            fn is_no_number(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn canonical_nan() -> Self {
                $nan
            }

            #[inline(always)]
            fn nan_of(self, $other: Self) -> Self {
                let $one = self;
                $nan_of
            }

            #[inline(always)]
            fn below(self, other: Self) -> bool {
                self < other || self == other && self.sign() && !other.sign()
            }

            #[inline(always)]
            fn without_sign(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn sign(self) -> bool {
                (self.to_bits() as $int) < 0
            }

            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                $flushed(self)
            }
        }
    };
}

float!(f32, i32, NAN, flush, |_one, _other| NAN);
float!(f64, i64, f64::NAN, std::convert::identity, |_one, other| quiet(other));

macro_rules! small {
    ($($small:ty)*) => { $(
        impl Float for $small {
            #[inline(always)]
            fn is_no_number(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn canonical_nan() -> Self {
                Self::nan()
            }

            #[inline(always)]
            fn below(self, other: Self) -> bool {
                // Inverting the bits of negative numbers puts all bit patterns in ascending order.
                let key = |bits: u16| (bits as i16) ^ ((bits as i16 >> 15) & 0x7FFF);
                key(self.bits()) < key(other.bits())
            }

            #[inline(always)]
            fn without_sign(self) -> Self {
                Self::from_bits(self.bits() & 0x7FFF)
            }

            #[inline(always)]
            fn sign(self) -> bool {
                self.bits() & 0x8000 != 0
            }

            #[inline(always)]
            fn negated(self) -> Self {
                Self::from_bits(self.bits() ^ 0x8000)
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                Small::flushed(self)
            }
        }
    )* };
}

small!(Half Brain);

#[inline(always)]
fn choose<T: Float>(a: T, b: T, maximum: bool) -> T {
    let takes_a = if maximum { b.below(a) } else { a.below(b) };
    let number = if takes_a { a } else { b };
    let other = if b.is_no_number() { a } else { number };
    let chosen = if a.is_no_number() { b } else { other };
    if chosen.is_no_number() { a.nan_of(b) } else { chosen }
}

operation!(Min[T: Float](a: T, b: T) -> T { choose(a, b, false) });
operation!(Max[T: Float](a: T, b: T) -> T { choose(a, b, true) });

#[inline(always)]
pub(super) fn modified<T: Float>(a: T, b: T, config: u32) -> T {
    let prepare = |value: T| {
        let value = if config & FLUSH != 0 { value.flushed() } else { value };
        if config & ABSOLUTE != 0 { value.without_sign() } else { value }
    };
    let chosen = choose(prepare(a), prepare(b), config & MAXIMUM != 0);
    let is_nan = config & NAN_WINS != 0 && (a.is_no_number() || b.is_no_number());
    let chosen = if is_nan { T::canonical_nan() } else { chosen };
    let turns = config & XOR_SIGN != 0 && a.sign() != b.sign() && !chosen.is_no_number();
    if turns { chosen.negated() } else { chosen }
}

operation!(Modified[T: Float](a: T, b: T; config) -> T { modified(a, b, config) });
operation!(OfThree[T: Float](a: T, b: T, c: T; config) -> T { modified(modified(a, b, config), c, config) });

pub(super) fn decode(form: &mut Form<'_>, op: &Op) -> Decoded {
    let scalar = op.scalar;
    let is_maximum = op.verb == FloatVerb::Max;
    let config = flag(is_maximum, MAXIMUM)
        | flag(op.flushes, FLUSH)
        | flag(op.nan_wins, NAN_WINS)
        | flag(op.absolute, ABSOLUTE)
        | flag(op.xor_sign, XOR_SIGN);
    if op.pairs || op.xor_sign && !op.absolute {
        return form.unsupported();
    }
    let has_three = form.operands().len() == 4;
    let only_absolute = config & (ABSOLUTE | XOR_SIGN) == ABSOLUTE;
    let is_brain = matches!(scalar, ScalarType::Bf16 | ScalarType::Bf16x2);
    if only_absolute != has_three && only_absolute
        || has_three && (scalar != ScalarType::F32 || config & XOR_SIGN != 0)
        || is_brain && config & FLUSH != 0
        || scalar == ScalarType::F64 && config & !MAXIMUM != 0
    {
        return form.unsupported();
    }
    let is_plain = config & !MAXIMUM == 0 && !has_three;
    let code = match scalar {
        ScalarType::F32 if has_three => Code::of::<OfThree<f32>>(),
        ScalarType::F32 if is_plain && is_maximum => Code::of::<Max<f32>>(),
        ScalarType::F32 if is_plain => Code::of::<Min<f32>>(),
        ScalarType::F32 => Code::of::<Modified<f32>>(),
        ScalarType::F64 if is_maximum => Code::of::<Max<f64>>(),
        ScalarType::F64 => Code::of::<Min<f64>>(),
        ScalarType::F16 => Code::of::<Modified<Half>>(),
        ScalarType::Bf16 => Code::of::<Modified<Brain>>(),
        ScalarType::F16x2 => Code::of::<Twice<Modified<Half>>>().typed(scalar),
        ScalarType::Bf16x2 => Code::of::<Twice<Modified<Brain>>>().typed(scalar),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}
