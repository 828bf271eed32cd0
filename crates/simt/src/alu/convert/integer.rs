//! Conversions `cvt` to integers.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::Convert;
use crate::ptx::op::words::Rounding;
use crate::registers::Width;

use super::modifiers::{WHOLE, config_of};
use crate::alu::form::{Decoded, Form, Parts};
use crate::alu::half::{Brain, Half, Small};
use crate::alu::lanes::{Code, Lane, Outcome, flag, operation};
use crate::alu::single::{FLUSH, flush};

/// An integer to convert from: its value, in two's complement.
pub(super) trait Whole: Lane {
    fn value(self) -> u64;
}

/// An integer to convert to: the low bits of a value.
pub(super) trait Cut: Lane + Outcome {
    fn cut(value: u64) -> Self;
}

macro_rules! whole {
    ($($int:ty)*) => { $(
        impl Whole for $int {
            #[inline(always)]
            fn value(self) -> u64 {
                self as u64
            }
        }
    )* };
}

whole!(u8 i8 u16 i16 u32 i32 u64);

macro_rules! cut {
    ($($int:ty)*) => { $(
        impl Cut for $int {
            #[inline(always)]
            fn cut(value: u64) -> Self {
                value as Self
            }
        }
    )* };
}

cut!(u8 u16 u32 u64);

operation!(Extend[S: Whole, D: Cut](a: S) -> D { D::cut(a.value()) });

/// Positions of sizes in the configuration: of the source, the result and the result's register.
const SOURCE: u32 = 0;
const RESULT: u32 = 8;
const REGISTER: u32 = 16;
const SOURCE_SIGNED: u32 = 1 << 23;
const RESULT_SIGNED: u32 = 1 << 24;
const SATURATES: u32 = 1 << 25;

#[inline(always)]
fn general(raw: u64, config: u32) -> u64 {
    let bits = |place: u32| config >> place & 0x7F;
    let read = |raw: u64, bits: u32, is_signed: bool| {
        let up = (64 - bits) & 63;
        if is_signed { i128::from((raw << up) as i64 >> up) } else { i128::from(raw << up >> up) }
    };
    let mut value = read(raw, bits(SOURCE), config & SOURCE_SIGNED != 0);
    let is_signed = config & RESULT_SIGNED != 0;
    if config & SATURATES != 0 {
        let largest = (1i128 << (bits(RESULT) - u32::from(is_signed))) - 1;
        let least = if is_signed { -largest - 1 } else { 0 };
        value = value.clamp(least, largest);
    }
    let value = read(value as u64, bits(RESULT), is_signed) as u64;
    let up = (64 - bits(REGISTER)) & 63;
    value << up >> up
}

// General conversions: any sizes, saturation, and registers wider than their type.
operation!(General32(a: u32; config) -> u32 { general(a.into(), config) as u32 });
operation!(General32To64(a: u32; config) -> u64 { general(a.into(), config) });
operation!(General64To32(a: u64; config) -> u32 { general(a, config) as u32 });
operation!(General64(a: u64; config) -> u64 { general(a, config) });

fn is_signed(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

pub(super) fn between(form: &mut Form<'_>, to: ScalarType, from: ScalarType, op: &Convert) -> Decoded {
    // A whole number rounds to itself; old code writes `.rzi` nevertheless.
    if op.rounding.is_some() || op.flushes || op.relu || op.finite {
        return form.unsupported();
    }
    let (result, sources) = form.result_and_sources(1)?;
    let (source, _) = form.any_source(&sources[0], from)?;
    let destination = form.columns.result(result, to)?;
    if [source.width, destination.width].iter().any(|width| !matches!(width, Width::Word | Width::Double)) {
        return form.wrong("converts registers of 8 to 64 bits");
    }
    let bits = |scalar: ScalarType| scalar.size().unwrap_or(0) * 8;
    // Width to which the sign is extended if the result's type is narrower than its register.
    let register = match destination.width {
        Width::Double => 64,
        _ => form.columns.register_bits(result).unwrap_or(bits(to).max(16)).max(bits(to)).min(32),
    };
    let fits = source.width == Width::of(from) && destination.width == Width::of(to);
    let extends_sign = is_signed(to) && register != bits(to);
    let mut parts = Parts::default();
    let code = match fits && !op.saturates && !extends_sign {
        true => simple(to, from),
        false => None,
    };
    let code = code.unwrap_or_else(|| {
        parts.config = (bits(from) << SOURCE)
            | (bits(to) << RESULT)
            | (register << REGISTER)
            | flag(is_signed(from), SOURCE_SIGNED)
            | flag(is_signed(to), RESULT_SIGNED)
            | flag(op.saturates, SATURATES);
        match (source.width, destination.width) {
            (Width::Word, Width::Word) => Code::of::<General32>(),
            (Width::Word, _) => Code::of::<General32To64>(),
            (_, Width::Word) => Code::of::<General64To32>(),
            _ => Code::of::<General64>(),
        }
    });
    parts.source(0, source, false);
    parts.result(0, destination);
    Ok(parts.finish(code.at(form.level)))
}

fn simple(to: ScalarType, from: ScalarType) -> Option<Code> {
    macro_rules! from {
        ($to:ty) => {
            match from {
                ScalarType::U8 => Code::of::<Extend<u8, $to>>(),
                ScalarType::S8 => Code::of::<Extend<i8, $to>>(),
                ScalarType::U16 => Code::of::<Extend<u16, $to>>(),
                ScalarType::S16 => Code::of::<Extend<i16, $to>>(),
                ScalarType::U32 => Code::of::<Extend<u32, $to>>(),
                ScalarType::S32 => Code::of::<Extend<i32, $to>>(),
                ScalarType::U64 | ScalarType::S64 => Code::of::<Extend<u64, $to>>(),
                _ => return None,
            }
        };
    }
    Some(match to.size()? {
        1 => from!(u8),
        2 => from!(u16),
        4 => from!(u32),
        _ => from!(u64),
    })
}

/// A float to convert to a whole number.
pub(super) trait Fraction: Lane {
    type Wide: Copy;

    fn wide(self, flushes: bool) -> Self::Wide;
    fn whole(value: Self::Wide, how: u32) -> Self::Wide;
}

/// Rounds to a whole number in the direction of a [`Rounding`]'s number.
macro_rules! whole_of {
    ($value:expr, $how:expr) => {
        match $how {
            0 => $value.round_ties_even(),
            1 => $value.trunc(),
            2 => $value.floor(),
            3 => $value.ceil(),
            _ => $value,
        }
    };
}
pub(super) use whole_of;

macro_rules! fraction {
    ($float:ty, $wide:ty, |$value:ident, $flushes:ident| $widened:expr) => {
        impl Fraction for $float {
            type Wide = $wide;

            #[inline(always)]
            fn wide(self, $flushes: bool) -> $wide {
                let $value = self;
                $widened
            }

            #[inline(always)]
            fn whole(value: $wide, how: u32) -> $wide {
                whole_of!(value, how)
            }
        }
    };
}

fraction!(f32, f32, |value, flushes| if flushes { flush(value) } else { value });
fraction!(f64, f64, |value, _flushes| value);
fraction!(Half, f32, |value, flushes| if flushes { value.flushed().widen() } else { value.widen() });
fraction!(Brain, f32, |value, _flushes| value.widen());

/// Defines an integer that is sign-extended to a register wider than its type.
macro_rules! filled {
    ($(#[$doc:meta])* $name:ident($int:ty), $scalar:ident, $wide:ty, $register:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name($int);

        impl Lane for $name {
            type Raw = u32;
            const SCALAR: Option<ScalarType> = Some(ScalarType::$scalar);

            #[inline(always)]
            fn from_raw(raw: u32) -> Self {
                Self(raw as $int)
            }

            #[inline(always)]
            fn into_raw(self) -> u32 {
                u32::from(<$wide>::from(self.0) as $register)
            }
        }

        impl Outcome for $name {
            type First = Self;
            type Second = ();

            #[inline(always)]
            fn split(self) -> (Self, ()) {
                (self, ())
            }
        }
    };
}

filled! {
    /// An `s8`, sign-extended to a 16-bit register.
    Byte(i8), S8, i16, u16
}
filled! {
    /// An `s8`, sign-extended to a 32-bit register.
    ByteInWord(i8), S8, i32, u32
}
filled! {
    /// An `s16`, sign-extended to a 32-bit register.
    ShortInWord(i16), S16, i32, u32
}

/// An integer to convert from a float: the nearest value in range. NaN becomes 0, or the value with only the highest
/// bit set if either side has 64 bits.
pub(super) trait FromFloat<F: Fraction>: Lane + Outcome {
    fn from_float(value: F::Wide) -> Self;
}

macro_rules! from_float {
    ($($int:ty, $bits:ty, $wrap:expr;)*) => { $(
        impl FromFloat<f32> for $int {
            #[inline(always)]
            fn from_float(value: f32) -> Self {
                let nan: $bits = if <$bits>::BITS == 64 { 1 << (<$bits>::BITS - 1) } else { 0 };
                $wrap(if value.is_nan() { nan } else { value as $bits })
            }
        }

        impl FromFloat<Half> for $int {
            #[inline(always)]
            fn from_float(value: f32) -> Self {
                <Self as FromFloat<f32>>::from_float(value)
            }
        }

        impl FromFloat<Brain> for $int {
            #[inline(always)]
            fn from_float(value: f32) -> Self {
                <Self as FromFloat<f32>>::from_float(value)
            }
        }

        impl FromFloat<f64> for $int {
            #[inline(always)]
            fn from_float(value: f64) -> Self {
                let nan: $bits = 1 << (<$bits>::BITS - 1);
                $wrap(if value.is_nan() { nan } else { value as $bits })
            }
        }
    )* };
}

from_float! {
    u8, u8, std::convert::identity;
    Byte, i8, Byte;
    ByteInWord, i8, ByteInWord;
    ShortInWord, i16, ShortInWord;
    u16, u16, std::convert::identity;
    i16, i16, std::convert::identity;
    u32, u32, std::convert::identity;
    i32, i32, std::convert::identity;
    u64, u64, std::convert::identity;
    i64, i64, std::convert::identity;
}

macro_rules! conversions {
    ($($truncate:ident, $round:ident, $float:ty;)*) => { $(
        operation!($truncate[I: FromFloat<$float>](a: $float) -> I { I::from_float(a.wide(false)) });
        operation!($round[I: FromFloat<$float>](a: $float; config) -> I {
            I::from_float(<$float>::whole(a.wide(config & FLUSH != 0), config >> WHOLE & 7))
        });
    )* };
}

conversions! {
    TruncateSingle, RoundSingle, f32;
    TruncateDouble, RoundDouble, f64;
    TruncateHalf, RoundHalf, Half;
    TruncateBrain, RoundBrain, Brain;
}

pub(super) fn from_float(form: &mut Form<'_>, to: ScalarType, from: ScalarType, op: &Convert) -> Decoded {
    let Some(whole) = op.whole else { return form.unsupported() };
    let may_flush = matches!(from, ScalarType::F32 | ScalarType::F16);
    if op.rounding.is_some()
        || whole == Rounding::NearestAway
        || op.relu
        || op.finite
        || op.flushes && !may_flush
    {
        return form.unsupported();
    }
    let (result, _) = form.result_and_sources(1)?;
    // If a register is wider than the result's type, the sign is extended.
    let register = form.columns.register_bits(result);
    macro_rules! to {
        ($operation:ident) => {
            match to {
                ScalarType::U8 => Code::of::<$operation<u8>>(),
                ScalarType::S8 if register == Some(32) => Code::of::<$operation<ByteInWord>>(),
                ScalarType::S8 => Code::of::<$operation<Byte>>(),
                ScalarType::U16 => Code::of::<$operation<u16>>(),
                ScalarType::S16 if register == Some(32) => Code::of::<$operation<ShortInWord>>(),
                ScalarType::S16 => Code::of::<$operation<i16>>(),
                ScalarType::U32 => Code::of::<$operation<u32>>(),
                ScalarType::S32 => Code::of::<$operation<i32>>(),
                ScalarType::U64 => Code::of::<$operation<u64>>(),
                _ => Code::of::<$operation<i64>>(),
            }
        };
    }
    // Flushing does not change a number that is truncated to a whole one.
    let truncates = whole == Rounding::Zero;
    let code = match (from, truncates) {
        (ScalarType::F32, true) => to!(TruncateSingle),
        (ScalarType::F32, false) => to!(RoundSingle),
        (ScalarType::F64, true) => to!(TruncateDouble),
        (ScalarType::F64, false) => to!(RoundDouble),
        (ScalarType::F16, true) => to!(TruncateHalf),
        (ScalarType::F16, false) => to!(RoundHalf),
        (_, true) => to!(TruncateBrain),
        (_, false) => to!(RoundBrain),
    };
    form.plain(code, config_of(op))
}
