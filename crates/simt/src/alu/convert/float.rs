//! Conversions `cvt` to floats.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::Convert as Op;
use crate::ptx::op::words::Rounding;

use super::integer::whole_of;
use super::modifiers::{FINITE, PLAIN, WHOLE, config_of};
use crate::alu::double::quiet;
use crate::alu::form::{Decoded, Form};
use crate::alu::half::{Brain, Half, Small};
use crate::alu::lanes::{Code, Lane, Outcome, operation};
use crate::alu::single::{self, FLUSH, RELU, ROUNDING, SATURATE, canonical, flush};
use crate::alu::small;
use crate::alu::soft::{BRAIN, DOUBLE, Format, HALF, SINGLE, Value, double as exact, rounding_of};

/// A float to convert from. All values are exact in an `f64`.
pub(super) trait Source: Lane {
    /// True for `f32`, the only type with `.ftz`.
    const IS_SINGLE: bool = false;
    /// True for `f64`, whose NaN is passed on to any format.
    const IS_DOUBLE: bool = false;

    fn widened(self) -> f64;
    fn flushed(self) -> Self;
}

/// A float to convert to.
pub(super) trait Target: Source + Outcome {
    const FORMAT: Format;

    fn from_format(bits: u64) -> Self;
    fn nearest(value: f64) -> Self;
    /// Returns a NaN with the upper bits of this one, quiet.
    fn of_nan(value: f64) -> Self;
    /// Applies `.ftz`, `.sat` and `.relu` to a result.
    fn modified(self, config: u32) -> Self;
}

impl Source for f32 {
    const IS_SINGLE: bool = true;

    #[inline(always)]
    fn widened(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn flushed(self) -> Self {
        flush(self)
    }
}

impl Source for f64 {
    const IS_DOUBLE: bool = true;

    #[inline(always)]
    fn widened(self) -> f64 {
        self
    }

    #[inline(always)]
    fn flushed(self) -> Self {
        self
    }
}

impl Target for f32 {
    const FORMAT: Format = SINGLE;

    #[inline(always)]
    fn of_nan(value: f64) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 63) as u32;
        Self::from_bits(sign << 31 | 0x7FC0_0000 | (bits >> 29) as u32 & 0x7F_FFFF)
    }

    #[inline(always)]
    fn from_format(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }

    #[inline(always)]
    fn nearest(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn modified(self, config: u32) -> Self {
        let value = single::result(self, config);
        if config & RELU != 0 && value.is_sign_negative() && !value.is_nan() { 0.0 } else { value }
    }
}

impl Target for f64 {
    const FORMAT: Format = DOUBLE;

    #[inline(always)]
    fn of_nan(value: f64) -> Self {
        quiet(value)
    }

    #[inline(always)]
    fn from_format(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    #[inline(always)]
    fn nearest(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn modified(self, config: u32) -> Self {
        if config & SATURATE == 0 {
            self
        } else if self > 0.0 {
            self.min(1.0)
        } else {
            0.0
        }
    }
}

macro_rules! small {
    ($($small:ty, $format:expr;)*) => { $(
        impl Source for $small {
            #[inline(always)]
            fn widened(self) -> f64 {
                self.widen().into()
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                Small::flushed(self)
            }
        }

        impl Target for $small {
            const FORMAT: Format = $format;

            #[inline(always)]
            fn of_nan(value: f64) -> Self {
                let bits = value.to_bits();
                let fraction_bits = Self::INFINITY.trailing_zeros();
                let fraction = (bits >> (52 - fraction_bits)) as u16 & ((1 << fraction_bits) - 1);
                let quiet = 1 << (fraction_bits - 1);
                <Self as Small>::from_bits((bits >> 48) as u16 & 0x8000 | Self::INFINITY | quiet | fraction)
            }

            #[inline(always)]
            fn from_format(bits: u64) -> Self {
                <Self as Small>::from_bits(bits as u16)
            }

            #[inline(always)]
            fn nearest(value: f64) -> Self {
                Self::narrow_double(value)
            }

            #[inline(always)]
            fn modified(self, config: u32) -> Self {
                small::result(self, config & !FLUSH)
            }
        }
    )* };
}

small! { Half, HALF; Brain, BRAIN; }

/// The NaN of `f32` as an `f64`, by its bits, since the compiler may change a NaN that it converts.
const CANONICAL_WIDENED: f64 = f64::from_bits(0x7FFF_FFFF_E000_0000);

/// Converts with any modifiers.
#[inline(always)]
pub(super) fn converted<S: Source, D: Target>(source: S, config: u32) -> D {
    let flushes = config & FLUSH != 0;
    let source = if flushes && S::IS_SINGLE { source.flushed() } else { source };
    let value = whole_of!(source.widened(), config >> WHOLE & 7);
    if value.is_nan() && config & SATURATE == 0 {
        // Flushing turns a NaN of `f32` into the canonical one first.
        let canonical = if flushes && S::IS_SINGLE { CANONICAL_WIDENED } else { value };
        return if S::IS_DOUBLE || D::IS_DOUBLE {
            D::of_nan(canonical)
        } else {
            D::from_format(D::FORMAT.nan())
        };
    }
    let rounding = rounding_of(config >> ROUNDING);
    let result = if config & FINITE != 0 {
        D::from_format(D::FORMAT.round_saturating(exact(value), rounding))
    } else if rounding != Rounding::NearestEven || flushes && D::IS_SINGLE {
        D::from_format(match flushes && D::IS_SINGLE {
            true => D::FORMAT.round_flushing(exact(value), rounding),
            false => D::FORMAT.round(exact(value), rounding),
        })
    } else {
        D::nearest(value)
    };
    result.modified(config)
}

operation!(Convert[S: Source, D: Target](a: S; config) -> D { converted(a, config) });

// Common conversions.
operation!(SingleToDouble(a: f32) -> f64 { if a.is_nan() { f64::of_nan(f64::from(a)) } else { a.into() } });
operation!(DoubleToSingle(a: f64) -> f32 { if a.is_nan() { f32::of_nan(a) } else { a as f32 } });
operation!(HalfToSingle(a: Half) -> f32 { canonical(a.widen()) });
operation!(SingleToHalf(a: f32) -> Half { Half::narrow(a) });
operation!(BrainToSingle(a: Brain) -> f32 { a.widen() });
operation!(Same(a: u32) -> u32 { a });
operation!(SameDouble(a: u64) -> u64 { a });
operation!(SingleToBrain(a: f32) -> Brain { Brain::narrow(a) });
operation!(WholeSingle(a: f32; config) -> f32 { canonical(whole_of!(a, config >> WHOLE & 7)) });
operation!(WholeDouble(a: f64; config) -> f64 {
    if a.is_nan() { quiet(a) } else { whole_of!(a, config >> WHOLE & 7) }
});

pub(super) fn between(form: &mut Form<'_>, to: ScalarType, from: ScalarType, op: &Op) -> Decoded {
    use ScalarType::{Bf16, F16, F32, F64};
    let narrows = matches!((to, from), (F16 | Bf16, F32 | F64) | (F32, F64) | (F16, Bf16) | (Bf16, F16));
    let to_small = matches!(to, F16 | Bf16);
    let is_far = op.rounding == Some(Rounding::NearestAway) || op.whole == Some(Rounding::NearestAway);
    if narrows != op.rounding.is_some()
        || is_far
        || op.whole.is_some() && to != from
        || (op.relu || op.finite) && !(to_small && from == F32)
        || op.flushes && ![to, from].contains(&F32) && ![to, from].contains(&F16)
    {
        return form.unsupported();
    }
    let is_nearest = matches!(op.rounding, None | Some(Rounding::NearestEven));
    let is_plain = is_nearest && config_of(&Op { rounding: None, ..*op }) == PLAIN;
    let only_whole = op.whole.is_some() && config_of(&Op { whole: None, ..*op }) == PLAIN;
    macro_rules! to {
        ($from:ty) => {
            match to {
                F16 => Code::of::<Convert<$from, Half>>(),
                Bf16 => Code::of::<Convert<$from, Brain>>(),
                F32 => Code::of::<Convert<$from, f32>>(),
                _ => Code::of::<Convert<$from, f64>>(),
            }
        };
    }
    let code = match (to, from) {
        (F64, F32) if is_plain => Code::of::<SingleToDouble>(),
        (F32, F64) if is_plain => Code::of::<DoubleToSingle>(),
        (F32, F16) if is_plain => Code::of::<HalfToSingle>(),
        (F16, F32) if is_plain => Code::of::<SingleToHalf>(),
        (F32, Bf16) if is_plain => Code::of::<BrainToSingle>(),
        (Bf16, F32) if is_plain => Code::of::<SingleToBrain>(),
        (F32, F32) if is_plain => Code::of::<Same>().typed(F32),
        (F64, F64) if is_plain => Code::of::<SameDouble>().typed(F64),
        (F32, F32) if only_whole => Code::of::<WholeSingle>(),
        (F64, F64) if only_whole => Code::of::<WholeDouble>(),
        (_, F16) => to!(Half),
        (_, Bf16) => to!(Brain),
        (_, F32) => to!(f32),
        _ => to!(f64),
    };
    form.plain(code, config_of(op))
}

/// An integer to convert from.
pub(super) trait Number: Lane {
    fn number(self) -> i128;
}

/// An integer that machine instructions convert to the nearest `f32` and `f64`.
pub(super) trait Nearest: Number {
    fn single(self) -> f32;
    fn double(self) -> f64;
}

macro_rules! numbers {
    ($($int:ty)*) => { $(
        impl Number for $int {
            #[inline(always)]
            fn number(self) -> i128 {
                self.into()
            }
        }

        impl Nearest for $int {
            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn double(self) -> f64 {
                self as f64
            }
        }
    )* };
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64);

operation!(NumberToSingle[S: Nearest](a: S) -> f32 { a.single() });
operation!(NumberToDouble[S: Nearest](a: S) -> f64 { a.double() });
// Numbers of up to 32 bits, which are exact in an `f64`.
operation!(NumberToHalf[S: Nearest](a: S) -> Half { Half::narrow_double(a.double()) });
operation!(NumberToBrain[S: Nearest](a: S) -> Brain { Brain::narrow_double(a.double()) });

operation!(FromNumber[S: Number, D: Target](a: S; config) -> D {
    let rounding = rounding_of(config >> ROUNDING);
    D::from_format(D::FORMAT.round(Value::from_integer(a.number()), rounding)).modified(config)
});

pub(super) fn from_integer(form: &mut Form<'_>, to: ScalarType, from: ScalarType, op: &Op) -> Decoded {
    use ScalarType::{Bf16, F16, F32, F64};
    let Some(rounding) = op.rounding else { return form.unsupported() };
    if rounding == Rounding::NearestAway || op.whole.is_some() || op.flushes || op.relu || op.finite {
        return form.unsupported();
    }
    let is_plain = rounding == Rounding::NearestEven && !op.saturates;
    macro_rules! from {
        ($operation:ident $(, $to:ty)?) => {
            match from {
                ScalarType::U8 => Code::of::<$operation<u8 $(, $to)?>>(),
                ScalarType::S8 => Code::of::<$operation<i8 $(, $to)?>>(),
                ScalarType::U16 => Code::of::<$operation<u16 $(, $to)?>>(),
                ScalarType::S16 => Code::of::<$operation<i16 $(, $to)?>>(),
                ScalarType::U32 => Code::of::<$operation<u32 $(, $to)?>>(),
                ScalarType::S32 => Code::of::<$operation<i32 $(, $to)?>>(),
                ScalarType::U64 => Code::of::<$operation<u64 $(, $to)?>>(),
                _ => Code::of::<$operation<i64 $(, $to)?>>(),
            }
        };
    }
    let is_long = matches!(from, ScalarType::U64 | ScalarType::S64);
    let code = match (to, is_plain) {
        (F32, true) => from!(NumberToSingle),
        (F64, true) => from!(NumberToDouble),
        (F16, true) if !is_long => from!(NumberToHalf),
        (Bf16, true) if !is_long => from!(NumberToBrain),
        (F16, _) => from!(FromNumber, Half),
        (Bf16, _) => from!(FromNumber, Brain),
        (F32, _) => from!(FromNumber, f32),
        _ => from!(FromNumber, f64),
    };
    form.plain(code, config_of(op))
}
