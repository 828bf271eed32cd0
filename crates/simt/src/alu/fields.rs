//! Bit fields: `bfe`, `bfi`, `bfind`, `fns`, `bmsk`, `szext`, `popc`, `clz`, `brev`; bytes: `prmt`, `dp4a`, `dp2a`.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Dot, FieldVerb};
use crate::ptx::op::words::{Overshift, Part, Permutation};

use super::form::{Decoded, Form};
use super::lanes::{Code, Lane, Outcome, flag, operation};

/// A register as a field of bits.
pub(super) trait Field: Lane + Outcome {
    const BITS: u32;

    fn extract(self, place: u32, length: u32) -> Self;
    fn insert(self, into: Self, place: u32, length: u32) -> Self;
    /// Returns the position of the highest bit that differs from the sign.
    fn highest(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn ones(self) -> u32;
    fn reversed(self) -> Self;
}

macro_rules! fields {
    ($($int:ty, $unsigned:ty, $signed:literal;)*) => { $(
        impl Field for $int {
            const BITS: u32 = <$int>::BITS;

            #[inline(always)]
            fn extract(self, place: u32, length: u32) -> Self {
                let (place, length) = if <$int>::BITS == 32 { (place & 0xFF, length & 0xFF) } else { (place, length) };
                const TOP: u32 = <$int>::BITS - 1;
                let moved = if $signed || place <= TOP { self >> place.min(TOP) } else { 0 };
                let up = TOP + 1 - length.min(TOP + 1);
                if length == 0 { 0 } else { moved << (up & TOP) >> (up & TOP) }
            }

            #[inline(always)]
            fn insert(self, into: Self, place: u32, length: u32) -> Self {
                let (place, length) = if <$int>::BITS == 32 { (place & 0xFF, length & 0xFF) } else { (place, length) };
                const TOP: u32 = <$int>::BITS - 1;
                let ones = if length > TOP { <$unsigned>::MAX } else { (1 << (length & TOP)) - 1 };
                let mask = if place > TOP { 0 } else { (ones << (place & TOP)) as Self };
                into & !mask | self << (place & TOP) & mask
            }

            #[inline(always)]
            fn highest(self) -> u32 {
                let flipped = if $signed { self ^ self >> (<$int>::BITS - 1) } else { self };
                (<$int>::BITS - 1).wrapping_sub(flipped.leading_zeros())
            }

            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                <$int>::leading_zeros(self)
            }

            #[inline(always)]
            fn ones(self) -> u32 {
                self.count_ones()
            }

            #[inline(always)]
            fn reversed(self) -> Self {
                self.reverse_bits()
            }
        }
    )* };
}

fields! { u32, u32, false; i32, u32, true; u64, u64, false; i64, u64, true; }

operation!(Extract[T: Field](a: T, b: u32, c: u32) -> T { a.extract(b, c) });
operation!(Insert[T: Field](a: T, b: T, c: u32, d: u32) -> T { a.insert(b, c, d) });
operation!(Highest[T: Field](a: T) -> u32 { a.highest() });
operation!(ShiftToHighest[T: Field](a: T) -> u32 {
    let highest = a.highest();
    if highest == u32::MAX { highest } else { T::BITS - 1 - highest }
});
operation!(LeadingZeros[T: Field](a: T) -> u32 { a.leading_zeros() });
operation!(Ones[T: Field](a: T) -> u32 { a.ones() });
operation!(Reverse[T: Field](a: T) -> T { a.reversed() });

operation!(NthSet(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    // The bits from the base on, in the direction of the offset.
    let mut rest = match offset {
        0 => mask & 1 << base,
        1.. => mask & u32::MAX << base,
        _ => mask & u32::MAX >> (31 - base),
    };
    let before = offset.unsigned_abs().saturating_sub(1);
    for _ in 0..before.min(32) {
        let lowest = rest & rest.wrapping_neg();
        let highest = if rest == 0 { 0 } else { 1 << (31 - rest.leading_zeros()) };
        rest &= !if offset > 0 { lowest } else { highest };
    }
    if rest == 0 {
        u32::MAX
    } else if offset < 0 {
        31 - rest.leading_zeros()
    } else {
        rest.trailing_zeros()
    }
});

// `b` ones from position `a` on.
operation!(Mask(a: u32, b: u32; clamps) -> u32 {
    let (start, length) = if clamps != 0 { (a, b) } else { (a & 31, b & 31) };
    let from = if start > 31 { 0 } else { u32::MAX << (start & 31) };
    let end = start.saturating_add(length);
    let beyond = if end > 31 { 0 } else { u32::MAX << (end & 31) };
    from & !beyond
});

operation!(ExtendUnsigned(a: u32, b: u32; clamps) -> u32 {
    let whole = clamps != 0 && b > 31;
    let rest = u32::MAX << (b & 31);
    if whole { a } else { a & !rest }
});
operation!(ExtendSigned(a: u32, b: u32; clamps) -> u32 {
    let whole = clamps != 0 && b > 31;
    let length = b & 31;
    let up = (32 - length) & 31;
    let extended = if length == 0 { 0 } else { ((a << up) as i32 >> up) as u32 };
    if whole { a } else { extended }
});

/// For each [`Permutation`], the bytes that it selects by the lowest two bits of its selector.
const PERMUTATIONS: [[u32; 4]; 6] = [
    [0x3210, 0x4321, 0x5432, 0x6543],
    [0x5670, 0x6701, 0x7012, 0x0123],
    [0x0000, 0x1111, 0x2222, 0x3333],
    [0x3210, 0x3211, 0x3222, 0x3333],
    [0x0000, 0x1110, 0x2210, 0x3210],
    [0x1010, 0x3232, 0x1010, 0x3232],
];

#[inline(always)]
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let mut result = 0;
    for byte in 0..4 {
        let choice = selector >> (4 * byte);
        let word = if choice & 4 != 0 { b } else { a };
        let chosen = word >> (8 * (choice & 3)) & 0xFF;
        let sign = 0u32.wrapping_sub(chosen >> 7) & 0xFF;
        result |= (if choice & 8 != 0 { sign } else { chosen }) << (8 * byte);
    }
    result
}

operation!(Permute(a: u32, b: u32, c: u32) -> u32 { permute(a, b, c) });
operation!(PermuteByMode(a: u32, b: u32, c: u32; mode) -> u32 {
    permute(a, b, PERMUTATIONS[mode as usize % PERMUTATIONS.len()][c as usize & 3])
});

/// Bits of the configuration of the dot products.
const FIRST_SIGNED: u32 = 1;
const SECOND_SIGNED: u32 = 2;
const UPPER: u32 = 4;

#[inline(always)]
fn part(word: u32, place: u32, bits: u32, is_signed: bool) -> i32 {
    let moved = (word >> place) << (32 - bits);
    if is_signed { moved as i32 >> (32 - bits) } else { (moved >> (32 - bits)) as i32 }
}

operation!(Dot4(a: u32, b: u32, c: u32; config) -> u32 {
    let mut sum = c;
    for byte in 0..4 {
        let one = part(a, 8 * byte, 8, config & FIRST_SIGNED != 0);
        let other = part(b, 8 * byte, 8, config & SECOND_SIGNED != 0);
        sum = sum.wrapping_add(one.wrapping_mul(other) as u32);
    }
    sum
});
operation!(Dot2(a: u32, b: u32, c: u32; config) -> u32 {
    let bytes = if config & UPPER != 0 { b >> 16 } else { b };
    let mut sum = c;
    for index in 0..2 {
        let one = part(a, 16 * index, 16, config & FIRST_SIGNED != 0);
        let other = part(bytes, 8 * index, 8, config & SECOND_SIGNED != 0);
        sum = sum.wrapping_add(one.wrapping_mul(other) as u32);
    }
    sum
});

pub(super) fn decode(
    form: &mut Form<'_>,
    verb: FieldVerb,
    overshift: Option<Overshift>,
    scalar: ScalarType,
) -> Decoded {
    use FieldVerb::{Bfe, Bfi, Bfind, BfindShift, Bmsk, Brev, Clz, Fns, Popc, Szext};
    use ScalarType::{B32, B64, S32, S64, U32, U64};
    let code = match (verb, scalar) {
        (Bfe, U32) => Code::of::<Extract<u32>>(),
        (Bfe, S32) => Code::of::<Extract<i32>>(),
        (Bfe, U64) => Code::of::<Extract<u64>>(),
        (Bfe, S64) => Code::of::<Extract<i64>>(),
        (Bfi, B32) => Code::of::<Insert<u32>>(),
        (Bfi, B64) => Code::of::<Insert<u64>>(),
        (BfindShift, U32) => Code::of::<ShiftToHighest<u32>>(),
        (BfindShift, S32) => Code::of::<ShiftToHighest<i32>>(),
        (BfindShift, U64) => Code::of::<ShiftToHighest<u64>>(),
        (BfindShift, S64) => Code::of::<ShiftToHighest<i64>>(),
        (Bfind, U32) => Code::of::<Highest<u32>>(),
        (Bfind, S32) => Code::of::<Highest<i32>>(),
        (Bfind, U64) => Code::of::<Highest<u64>>(),
        (Bfind, S64) => Code::of::<Highest<i64>>(),
        (Clz, B32) => Code::of::<LeadingZeros<u32>>(),
        (Clz, B64) => Code::of::<LeadingZeros<u64>>(),
        (Popc, B32) => Code::of::<Ones<u32>>(),
        (Popc, B64) => Code::of::<Ones<u64>>(),
        (Brev, B32) => Code::of::<Reverse<u32>>(),
        (Brev, B64) => Code::of::<Reverse<u64>>(),
        (Fns, B32) => Code::of::<NthSet>(),
        (Bmsk, B32) => Code::of::<Mask>(),
        (Szext, U32) => Code::of::<ExtendUnsigned>(),
        (Szext, S32) => Code::of::<ExtendSigned>(),
        _ => return form.unsupported(),
    };
    form.plain(code, u32::from(overshift == Some(Overshift::Clamp)))
}

pub(super) fn prmt(form: &mut Form<'_>, permutation: Option<Permutation>, scalar: ScalarType) -> Decoded {
    match permutation {
        _ if scalar != ScalarType::B32 => form.unsupported(),
        Some(permutation) => form.plain(Code::of::<PermuteByMode>(), permutation as u32),
        None => form.plain(Code::of::<Permute>(), 0),
    }
}

pub(super) fn dot(form: &mut Form<'_>, dot: &Dot) -> Decoded {
    let config = flag(dot.part == Some(Part::High), UPPER)
        | flag(dot.first_signed, FIRST_SIGNED)
        | flag(dot.second_signed, SECOND_SIGNED);
    match dot.products {
        4 => form.plain(Code::of::<Dot4>(), config),
        _ => form.plain(Code::of::<Dot2>(), config),
    }
}
