//! Integer arithmetic: `add`, `sub`, `mul`, `mad`, `mul24`, `mad24`, `sad`, `div`, `rem`, `min`, `max`, `abs`, `neg`.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Integer as Op, IntegerVerb};
use crate::ptx::op::words::Part;

use super::form::{Decoded, Form};
use super::lanes::{Code, Lane, Outcome, operation};
use super::packed::Twice;

/// A lane as an integer.
pub(super) trait Integer: Lane + Outcome + Ord {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Returns the upper half of the product.
    fn mul_high(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    /// Returns the distance of two numbers as bits: unsigned even for signed numbers.
    fn distance(self, other: Self) -> Self;
    fn zero() -> Self;
}

macro_rules! integers {
    ($($int:ident, $unsigned:ident, $wide:ident;)*) => { $(
        impl Integer for $int {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn mul_high(self, other: Self) -> Self {
                ($wide::from(self) * $wide::from(other) >> Self::BITS) as Self
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other == 0 { $unsigned::MAX as Self } else { self.wrapping_div(other) }
            }

            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                if other == 0 { $unsigned::MAX as Self } else { self.wrapping_rem(other) }
            }

            #[inline(always)]
            fn distance(self, other: Self) -> Self {
                if self < other { other.wrapping_sub(self) } else { self.wrapping_sub(other) }
            }

            #[inline(always)]
            fn zero() -> Self {
                0
            }
        }
    )* };
}

integers! {
    u16, u16, u32;
    i16, u16, i32;
    u32, u32, u64;
    i32, u32, i64;
    u64, u64, u128;
    i64, u64, i128;
}

/// An integer with a type of twice its width for products.
pub(super) trait Widen: Integer {
    type Product: Integer;

    fn product(self, other: Self) -> Self::Product;
}

macro_rules! widen {
    ($($int:ident, $wide:ident;)*) => { $(
        impl Widen for $int {
            type Product = $wide;

            #[inline(always)]
            fn product(self, other: Self) -> $wide {
                $wide::from(self).wrapping_mul($wide::from(other))
            }
        }
    )* };
}

widen! { u16, u32; i16, i32; u32, u64; i32, i64; }

operation!(Add[T: Integer](a: T, b: T) -> T { a.add(b) });
operation!(Sub[T: Integer](a: T, b: T) -> T { a.sub(b) });
operation!(AddSaturating(a: i32, b: i32) -> i32 { a.saturating_add(b) });
operation!(SubSaturating(a: i32, b: i32) -> i32 { a.saturating_sub(b) });
operation!(Mul[T: Integer](a: T, b: T) -> T { a.mul(b) });
operation!(MulHigh[T: Integer](a: T, b: T) -> T { a.mul_high(b) });
operation!(MulWide[T: Widen](a: T, b: T) -> T::Product { a.product(b) });
operation!(Mad[T: Integer](a: T, b: T, c: T) -> T { a.mul(b).add(c) });
operation!(MadHigh[T: Integer](a: T, b: T, c: T) -> T { a.mul_high(b).add(c) });
operation!(MadHighSaturating(a: i32, b: i32, c: i32) -> i32 { a.mul_high(b).saturating_add(c) });
operation!(MadWide[T: Widen](a: T, b: T, c: T::Product) -> T::Product { a.product(b).add(c) });
operation!(Div[T: Integer](a: T, b: T) -> T { a.div(b) });
operation!(Rem[T: Integer](a: T, b: T) -> T { a.rem(b) });
operation!(Min[T: Integer](a: T, b: T) -> T { if a < b { a } else { b } });
operation!(Max[T: Integer](a: T, b: T) -> T { if a > b { a } else { b } });
operation!(MinRelu[T: Integer](a: T, b: T) -> T { relu(if a < b { a } else { b }) });
operation!(MaxRelu[T: Integer](a: T, b: T) -> T { relu(if a > b { a } else { b }) });
operation!(Abs[T: Integer](a: T) -> T { if a < T::zero() { T::zero().sub(a) } else { a } });
operation!(Neg[T: Integer](a: T) -> T { T::zero().sub(a) });
operation!(Sad[T: Integer](a: T, b: T, c: T) -> T { c.add(a.distance(b)) });

#[inline(always)]
fn relu<T: Integer>(value: T) -> T {
    if value < T::zero() { T::zero() } else { value }
}

/// Returns the product of the lowest 24 bits of each.
#[inline(always)]
fn product24(a: u32, b: u32, is_signed: bool) -> u64 {
    if is_signed {
        (i64::from((a as i32) << 8 >> 8) * i64::from((b as i32) << 8 >> 8)) as u64
    } else {
        u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF)
    }
}

operation!(Mul24Low(a: u32, b: u32) -> u32 { product24(a, b, false) as u32 });
operation!(Mul24LowSigned(a: u32, b: u32) -> u32 { product24(a, b, true) as u32 });
operation!(Mul24High(a: u32, b: u32) -> u32 { (product24(a, b, false) >> 16) as u32 });
operation!(Mul24HighSigned(a: u32, b: u32) -> u32 { (product24(a, b, true) >> 16) as u32 });
operation!(Mad24Low(a: u32, b: u32, c: u32) -> u32 { (product24(a, b, false) as u32).wrapping_add(c) });
operation!(Mad24LowSigned(a: u32, b: u32, c: u32) -> u32 { (product24(a, b, true) as u32).wrapping_add(c) });
operation!(Mad24High(a: u32, b: u32, c: u32) -> u32 { ((product24(a, b, false) >> 16) as u32).wrapping_add(c) });
operation!(Mad24HighSigned(a: u32, b: u32, c: u32) -> u32 {
    ((product24(a, b, true) >> 16) as u32).wrapping_add(c)
});
operation!(Mad24HighSaturating(a: u32, b: u32, c: i32) -> i32 {
    ((product24(a, b, true) >> 16) as i32).saturating_add(c)
});

/// Selects the operation for each type that it takes.
macro_rules! by_type {
    ($scalar:expr, $operation:ident, $($variant:ident: $int:ty),*) => {
        match $scalar {
            $(ScalarType::$variant => Some(Code::of::<$operation<$int>>()),)*
            _ => None,
        }
    };
}
pub(super) use by_type;

/// Selects among integers of 16, 32 and 64 bits, signed and unsigned.
macro_rules! by_number {
    ($scalar:expr, $operation:ident) => {
        by_type!($scalar, $operation, U16: u16, S16: i16, U32: u32, S32: i32, U64: u64, S64: i64)
    };
}

macro_rules! by_signed {
    ($scalar:expr, $operation:ident) => {
        by_type!($scalar, $operation, S16: i16, S32: i32, S64: i64)
    };
}

macro_rules! by_narrow {
    ($scalar:expr, $operation:ident) => {
        by_type!($scalar, $operation, U16: u16, S16: i16, U32: u32, S32: i32)
    };
}

pub(super) fn decode(form: &mut Form<'_>, op: &Op) -> Decoded {
    let scalar = op.scalar;
    let code = match op.verb {
        _ if op.packed => packed(op),
        IntegerVerb::Mul | IntegerVerb::Mad => product(op),
        IntegerVerb::Mul24 | IntegerVerb::Mad24 => product24_code(op),
        IntegerVerb::Add | IntegerVerb::Sub | IntegerVerb::Min | IntegerVerb::Max => simple(op),
        IntegerVerb::Div => by_number!(scalar, Div),
        IntegerVerb::Rem => by_number!(scalar, Rem),
        IntegerVerb::Abs => by_signed!(scalar, Abs),
        IntegerVerb::Neg => by_signed!(scalar, Neg),
        IntegerVerb::Sad => by_number!(scalar, Sad),
    };
    match code {
        Some(code) => form.plain(code, 0),
        None => form.unsupported(),
    }
}

fn product(op: &Op) -> Option<Code> {
    let scalar = op.scalar;
    match (op.verb, op.part?, op.saturates) {
        (IntegerVerb::Mul, Part::Low, false) => by_number!(scalar, Mul),
        (IntegerVerb::Mul, Part::High, false) => by_number!(scalar, MulHigh),
        (IntegerVerb::Mul, Part::Wide, false) => by_narrow!(scalar, MulWide),
        (_, Part::Low, false) => by_number!(scalar, Mad),
        (_, Part::High, false) => by_number!(scalar, MadHigh),
        (_, Part::Wide, false) => by_narrow!(scalar, MadWide),
        (IntegerVerb::Mad, Part::High, true) if scalar == ScalarType::S32 => {
            Some(Code::of::<MadHighSaturating>())
        }
        _ => None,
    }
}

fn product24_code(op: &Op) -> Option<Code> {
    let is_signed = match op.scalar {
        ScalarType::S32 => true,
        ScalarType::U32 => false,
        _ => return None,
    };
    Some(match (op.verb, op.part?, op.saturates, is_signed) {
        (IntegerVerb::Mul24, Part::Low, false, true) => Code::of::<Mul24LowSigned>(),
        (IntegerVerb::Mul24, Part::Low, false, false) => Code::of::<Mul24Low>(),
        (IntegerVerb::Mul24, Part::High, false, true) => Code::of::<Mul24HighSigned>(),
        (IntegerVerb::Mul24, Part::High, false, false) => Code::of::<Mul24High>(),
        (IntegerVerb::Mad24, Part::Low, false, true) => Code::of::<Mad24LowSigned>(),
        (IntegerVerb::Mad24, Part::Low, false, false) => Code::of::<Mad24Low>(),
        (IntegerVerb::Mad24, Part::High, false, true) => Code::of::<Mad24HighSigned>(),
        (IntegerVerb::Mad24, Part::High, false, false) => Code::of::<Mad24High>(),
        (IntegerVerb::Mad24, Part::High, true, true) => Code::of::<Mad24HighSaturating>(),
        _ => return None,
    })
}

/// Two numbers of 16 bits in a register.
fn packed(op: &Op) -> Option<Code> {
    let is_signed = op.scalar == ScalarType::S16;
    Some(match (op.verb, is_signed, op.relu, op.saturates) {
        (IntegerVerb::Add, _, false, false) => Code::of::<Twice<Add<u16>>>(),
        (IntegerVerb::Sub, _, false, false) => Code::of::<Twice<Sub<u16>>>(),
        (IntegerVerb::Min, false, false, _) => Code::of::<Twice<Min<u16>>>(),
        (IntegerVerb::Max, false, false, _) => Code::of::<Twice<Max<u16>>>(),
        (IntegerVerb::Min, true, false, _) => Code::of::<Twice<Min<i16>>>(),
        (IntegerVerb::Max, true, false, _) => Code::of::<Twice<Max<i16>>>(),
        (IntegerVerb::Min, true, true, _) => Code::of::<Twice<MinRelu<i16>>>(),
        (IntegerVerb::Max, true, true, _) => Code::of::<Twice<MaxRelu<i16>>>(),
        _ => return None,
    })
}

fn simple(op: &Op) -> Option<Code> {
    use ScalarType::{S32, S64, U32, U64};
    let scalar = op.scalar;
    match (op.verb, op.saturates, op.relu, scalar) {
        (IntegerVerb::Add, true, false, S32) => Some(Code::of::<AddSaturating>()),
        (IntegerVerb::Sub, true, false, S32) => Some(Code::of::<SubSaturating>()),
        (IntegerVerb::Add, false, false, U32 | S32) => Some(Code::of::<Add<u32>>().typed(scalar)),
        (IntegerVerb::Add, false, false, U64 | S64) => Some(Code::of::<Add<u64>>().typed(scalar)),
        (IntegerVerb::Add, false, false, _) => by_type!(scalar, Add, U16: u16, S16: i16),
        (IntegerVerb::Sub, false, false, U32 | S32) => Some(Code::of::<Sub<u32>>().typed(scalar)),
        (IntegerVerb::Sub, false, false, U64 | S64) => Some(Code::of::<Sub<u64>>().typed(scalar)),
        (IntegerVerb::Sub, false, false, _) => by_type!(scalar, Sub, U16: u16, S16: i16),
        (IntegerVerb::Min, false, true, S32) => Some(Code::of::<MinRelu<i32>>()),
        (IntegerVerb::Max, false, true, S32) => Some(Code::of::<MaxRelu<i32>>()),
        (IntegerVerb::Min, false, false, _) => by_number!(scalar, Min),
        (IntegerVerb::Max, false, false, _) => by_number!(scalar, Max),
        _ => None,
    }
}
