//! Logic and shifts: `and`, `or`, `xor`, `not`, `cnot`, `lop3`, `shl`, `shr`, `shf`.

use crate::ptx::op::arithmetic::LogicVerb;
use crate::ptx::op::words::{Combine, Overshift};
use crate::ptx::{Immediate, Operand, ScalarType};

use super::form::{Decoded, Form};
use super::integer::by_type;
use super::lanes::{Code, Lane, Outcome, operation};

/// A lane as bits.
pub(super) trait Bits: Lane + Outcome {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn is_zero(self) -> bool;
    fn one() -> Self;
}

macro_rules! bits {
    ($($int:ty, $zero:literal, $one:literal;)*) => { $(
        impl Bits for $int {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn not(self) -> Self {
                !self
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self == $zero
            }

            #[inline(always)]
            fn one() -> Self {
                $one
            }
        }
    )* };
}

bits! { bool, false, true; u16, 0, 1; u32, 0, 1; u64, 0, 1; }

/// Shifts by any amount. An amount of the width or above shifts out all bits; a signed right shift leaves copies of the
/// sign.
pub(super) trait Shift: Lane + Outcome {
    fn left(self, amount: u32) -> Self;
    fn right(self, amount: u32) -> Self;
}

macro_rules! shifts {
    ($($int:ty, $signed:literal;)*) => { $(
        impl Shift for $int {
            #[inline(always)]
            fn left(self, amount: u32) -> Self {
                if amount < Self::BITS { self << (amount & (Self::BITS - 1)) } else { 0 }
            }

            #[inline(always)]
            fn right(self, amount: u32) -> Self {
                if $signed {
                    self >> (if amount < Self::BITS { amount } else { Self::BITS - 1 })
                } else if amount < Self::BITS {
                    self >> (amount & (Self::BITS - 1))
                } else {
                    0
                }
            }
        }
    )* };
}

shifts! { u16, false; u32, false; u64, false; i16, true; i32, true; i64, true; }

operation!(And[T: Bits](a: T, b: T) -> T { a.and(b) });
operation!(Or[T: Bits](a: T, b: T) -> T { a.or(b) });
operation!(Xor[T: Bits](a: T, b: T) -> T { a.xor(b) });
operation!(Not[T: Bits](a: T) -> T { a.not() });
operation!(ShiftLeft[T: Shift](a: T, b: u32) -> T { a.left(b) });
operation!(ShiftRight[T: Shift](a: T, b: u32) -> T { a.right(b) });

operation!(IsZero[T: Bits](a: T) -> T { if a.is_zero() { T::one() } else { a.and(a.not()) } });

/// Returns the upper half of `((b:a) << c)` and the lower half of `((b:a) >> c)`. With `clamps`, amounts above 32 count
/// as 32.
#[inline(always)]
fn funnel(a: u32, b: u32, c: u32, clamps: bool) -> (u64, u32) {
    (u64::from(b) << 32 | u64::from(a), if clamps { c.min(32) } else { c & 31 })
}

operation!(FunnelLeft(a: u32, b: u32, c: u32; clamps) -> u32 {
    let (both, amount) = funnel(a, b, c, clamps != 0);
    (both << amount >> 32) as u32
});
operation!(FunnelRight(a: u32, b: u32, c: u32; clamps) -> u32 {
    let (both, amount) = funnel(a, b, c, clamps != 0);
    (both >> amount) as u32
});

/// Computes any function of three bits from its eight results: bit `4a + 2b + c` of the table.
#[inline(always)]
fn look_up(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let all = |bit: u32| 0u32.wrapping_sub(table >> bit & 1);
    let choose = |by: u32, one: u32, zero: u32| zero ^ by & (one ^ zero);
    let by_c = |bit: u32| choose(c, all(bit + 1), all(bit));
    choose(a, choose(b, by_c(6), by_c(4)), choose(b, by_c(2), by_c(0)))
}

operation!(LookUp(a: u32, b: u32, c: u32; table) -> u32 { look_up(a, b, c, table) });

/// In the configuration of `lop3` with a predicate: set for `.and`, clear for `.or`.
const WITH_AND: u32 = 1 << 8;

operation!(LookUpAndTest(a: u32, b: u32, c: u32, q: bool; config) -> (u32, bool) {
    let found = look_up(a, b, c, config);
    let test = found != 0;
    (found, if config & WITH_AND != 0 { test & q } else { test | q })
});

macro_rules! by_bits {
    ($scalar:expr, $operation:ident) => {
        by_type!($scalar, $operation, Pred: bool, B16: u16, B32: u32, B64: u64)
    };
}

pub(super) fn decode(form: &mut Form<'_>, verb: LogicVerb, scalar: ScalarType) -> Decoded {
    let code = match verb {
        LogicVerb::And => by_bits!(scalar, And),
        LogicVerb::Or => by_bits!(scalar, Or),
        LogicVerb::Xor => by_bits!(scalar, Xor),
        LogicVerb::Not => by_bits!(scalar, Not),
        LogicVerb::Cnot => by_type!(scalar, IsZero, B16: u16, B32: u32, B64: u64),
        LogicVerb::Shl => by_type!(scalar, ShiftLeft, B16: u16, B32: u32, B64: u64),
        LogicVerb::Shr => by_type!(
            scalar, ShiftRight, B16: u16, B32: u32, B64: u64, U16: u16, U32: u32, U64: u64, S16: i16, S32: i32,
            S64: i64
        ),
    };
    match code {
        Some(code) => form.plain(code, 0),
        None => form.unsupported(),
    }
}

pub(super) fn funnel_shift(
    form: &mut Form<'_>,
    left: bool,
    overshift: Overshift,
    scalar: ScalarType,
) -> Decoded {
    if scalar != ScalarType::B32 {
        return form.unsupported();
    }
    let clamps = overshift == Overshift::Clamp;
    let code = if left { Code::of::<FunnelLeft>() } else { Code::of::<FunnelRight>() };
    form.plain(code, clamps.into())
}

/// Decodes `lop3.b32 d, a, b, c, table` and `lop3.or.b32 d|p, a, b, c, table, q`.
pub(super) fn lop3(form: &mut Form<'_>, combine: Option<Combine>, scalar: ScalarType) -> Decoded {
    if scalar != ScalarType::B32 || combine == Some(Combine::Xor) {
        return form.unsupported();
    }
    let has_predicate = combine.is_some();
    form.expect_operands(if has_predicate { 6 } else { 5 })?;
    let operands = form.operands();
    let Operand::Immediate(Immediate::Integer { bits: table @ 0..256, .. }) = operands[4] else {
        return form.wrong("the table is not a number from 0 to 255");
    };
    let table = table as u32;
    let (result, [a, b, c]) = (&operands[0], [&operands[1], &operands[2], &operands[3]]);
    if !has_predicate {
        return form.assemble(Code::of::<LookUp>(), &[result], &[a, b, c], table);
    }
    let Operand::Pair(pair) = result else { return form.wrong("has two results, as in d|p") };
    let [found, test] = &**pair;
    let config = table | if combine == Some(Combine::And) { WITH_AND } else { 0 };
    form.assemble(Code::of::<LookUpAndTest>(), &[found, test], &[a, b, c, &operands[5]], config)
}
