//! Extended-precision arithmetic, in steps that pass a carry: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Integer as Op, IntegerVerb};
use crate::ptx::op::words::Part;
use crate::registers::Width;

use super::form::{Decoded, Form, Parts};
use super::integer::Integer;
use super::lanes::{Code, Lane, Outcome, operation};

/// Adds and subtracts with a carry or borrow in and out.
pub(super) trait Limb: Lane + Outcome {
    fn add(self, other: Self, carry: bool) -> (Self, bool);
    fn sub(self, other: Self, borrow: bool) -> (Self, bool);
}

macro_rules! limbs {
    ($($int:ty, $unsigned:ty;)*) => { $(
        impl Limb for $int {
            #[inline(always)]
            fn add(self, other: Self, carry: bool) -> (Self, bool) {
                let (sum, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                let (sum, second) = sum.overflowing_add(carry.into());
                (sum as Self, first | second)
            }

            #[inline(always)]
            fn sub(self, other: Self, borrow: bool) -> (Self, bool) {
                let (rest, first) = (self as $unsigned).overflowing_sub(other as $unsigned);
                let (rest, second) = rest.overflowing_sub(borrow.into());
                (rest as Self, first | second)
            }
        }
    )* };
}

limbs! { u32, u32; i32, u32; u64, u64; i64, u64; }

// The names tell whether they use a carry in, a carry out, or both.
operation!(AddOut[T: Limb](a: T, b: T) -> (T, bool) { Limb::add(a, b, false) });
operation!(AddIn[T: Limb](a: T, b: T, carry: bool) -> T { Limb::add(a, b, carry).0 });
operation!(AddBoth[T: Limb](a: T, b: T, carry: bool) -> (T, bool) { Limb::add(a, b, carry) });
operation!(SubOut[T: Limb](a: T, b: T) -> (T, bool) { Limb::sub(a, b, false) });
operation!(SubIn[T: Limb](a: T, b: T, carry: bool) -> T { Limb::sub(a, b, carry).0 });
operation!(SubBoth[T: Limb](a: T, b: T, carry: bool) -> (T, bool) { Limb::sub(a, b, carry) });

/// A limb that can be multiplied.
pub(super) trait Factor: Limb + Integer {}
impl<T: Limb + Integer> Factor for T {}

/// Uses the upper half of the product instead of the lower.
const HIGH: u32 = 1;

#[inline(always)]
fn product<T: Factor>(a: T, b: T, config: u32) -> T {
    if config & HIGH != 0 { a.mul_high(b) } else { a.mul(b) }
}

operation!(MadOut[T: Factor](a: T, b: T, c: T; config) -> (T, bool) {
    Limb::add(product(a, b, config), c, false)
});
operation!(MadIn[T: Factor](a: T, b: T, c: T, carry: bool; config) -> T {
    Limb::add(product(a, b, config), c, carry).0
});
operation!(MadBoth[T: Factor](a: T, b: T, c: T, carry: bool; config) -> (T, bool) {
    Limb::add(product(a, b, config), c, carry)
});

pub(super) fn decode(form: &mut Form<'_>, op: &Op) -> Decoded {
    let Op { verb, scalar, carry_in: takes, carry_out: gives, .. } = *op;
    if op.saturates || op.packed || op.part == Some(Part::Wide) {
        return form.unsupported();
    }
    let config = if op.part == Some(Part::High) { HIGH } else { 0 };
    macro_rules! by_type {
        ($operation:ident) => {
            match scalar {
                ScalarType::U32 => Code::of::<$operation<u32>>(),
                ScalarType::S32 => Code::of::<$operation<i32>>(),
                ScalarType::U64 => Code::of::<$operation<u64>>(),
                ScalarType::S64 => Code::of::<$operation<i64>>(),
                _ => return form.unsupported(),
            }
        };
    }
    let code = match (verb, takes, gives) {
        (IntegerVerb::Add, false, true) => by_type!(AddOut),
        (IntegerVerb::Add, true, false) => by_type!(AddIn),
        (IntegerVerb::Add, true, true) => by_type!(AddBoth),
        (IntegerVerb::Sub, false, true) => by_type!(SubOut),
        (IntegerVerb::Sub, true, false) => by_type!(SubIn),
        (IntegerVerb::Sub, true, true) => by_type!(SubBoth),
        (IntegerVerb::Mad, false, true) => by_type!(MadOut),
        (IntegerVerb::Mad, true, false) => by_type!(MadIn),
        (IntegerVerb::Mad, true, true) => by_type!(MadBoth),
        _ => return form.unsupported(),
    };
    let numbers = if verb == IntegerVerb::Mad { 3 } else { 2 };
    let (result, sources) = form.result_and_sources(numbers)?;
    let mut parts = Parts::default();
    parts.config = config;
    for (index, operand) in sources.iter().enumerate() {
        let (slot, _) = form.source(operand, scalar, Width::of(scalar))?;
        parts.source(index, slot, false);
    }
    let carry = form.columns.carry();
    if takes {
        parts.source(numbers, carry, false);
    }
    let result = form.result(result, scalar, Width::of(scalar))?;
    parts.result(0, result);
    if gives {
        parts.result(1, carry);
    }
    Ok(parts.finish(code.at(form.level)))
}
