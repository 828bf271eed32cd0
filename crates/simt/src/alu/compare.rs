//! Comparisons: `setp` and `set`.

use std::marker::PhantomData;

use crate::decode::Level;
use crate::ptx::op::arithmetic::Compare;
use crate::ptx::op::words::{Combine, Comparison as Test};
use crate::ptx::{Operand, ScalarType};
use crate::registers::{Cell, Width};

use super::decoded::{Run, Slots};
use super::form::{Decoded, Form, Parts};
use super::half::{Brain, Half, Small};
use super::lanes::{Lane, invert_source};
use super::raw::Raw;
use super::single::flush;

/// Bits of the configuration.
const NEGATE: u32 = 1;
const FLUSH: u32 = 2;
const COMBINE: u32 = 4;
const AND: u32 = 4;
const OR: u32 = 8;
const XOR: u32 = 12;
const SECOND: u32 = 16;
/// Set if results are numbers; the value for "true" is in the last of the slots' sources.
const NUMBERS: u32 = 32;

/// A comparison of two lanes. The other ones negate it or exchange its operands.
trait Comparison {
    type Operand: Lane;

    fn test(a: Self::Operand, b: Self::Operand, flushes: bool) -> bool;
}

struct Equal<T>(PhantomData<T>);
struct Less<T>(PhantomData<T>);
struct LessOrEqual<T>(PhantomData<T>);
/// Tests that two numbers differ and neither is a NaN.
struct LessOrGreater<T>(PhantomData<T>);
/// Tests that neither is a NaN.
struct Ordered<T>(PhantomData<T>);

/// A type that can be compared. Floats flush subnormals first if `.ftz` is set.
trait Comparable: Lane {
    type Value: PartialOrd;

    fn value(self, flushes: bool) -> Self::Value;
}

macro_rules! comparable {
    ($($int:ty)*) => { $(
        impl Comparable for $int {
            type Value = Self;

            #[inline(always)]
            fn value(self, _: bool) -> Self {
                self
            }
        }
    )* };
}

comparable!(u16 i16 u32 i32 u64 i64 f64);

impl Comparable for f32 {
    type Value = Self;

    #[inline(always)]
    fn value(self, flushes: bool) -> Self {
        if flushes { flush(self) } else { self }
    }
}

impl Comparable for Half {
    type Value = f32;

    #[inline(always)]
    fn value(self, flushes: bool) -> f32 {
        if flushes { self.flushed().widen() } else { self.widen() }
    }
}

impl Comparable for Brain {
    type Value = f32;

    #[inline(always)]
    fn value(self, _: bool) -> f32 {
        self.widen()
    }
}

macro_rules! comparisons {
    ($($name:ident, |$a:ident, $b:ident| $test:expr;)*) => { $(
        impl<T: Comparable> Comparison for $name<T> {
            type Operand = T;

            #[inline(always)]
            fn test(a: T, b: T, flushes: bool) -> bool {
                let ($a, $b) = (a.value(flushes), b.value(flushes));
                $test
            }
        }
    )* };
}

comparisons! {
    Equal, |a, b| a == b;
    Less, |a, b| a < b;
    LessOrEqual, |a, b| a <= b;
    LessOrGreater, |a, b| (a < b) | (a > b);
    Ordered, |a, b| a.partial_cmp(&b).is_some();
}

/// Returns the lanes for which the comparison holds.
#[inline(always)]
unsafe fn passing<C: Comparison>(
    frame: *mut Cell,
    slots: &Slots,
    of: impl Fn(<C::Operand as Lane>::Raw) -> C::Operand,
) -> u32 {
    // SAFETY: decoding gave the comparison columns of the width that it asks for.
    unsafe {
        let a = <C::Operand as Lane>::Raw::column(frame, slots.sources[0], false);
        let b = <C::Operand as Lane>::Raw::column(frame, slots.sources[1], false);
        let flushes = slots.config & FLUSH != 0;
        let mut bits = 0u32;
        for lane in 0..32 {
            let passes = C::test(of(Raw::get(a, lane)), of(Raw::get(b, lane)), flushes);
            bits |= if passes { 1 << lane } else { 0 };
        }
        if slots.config & NEGATE != 0 { !bits } else { bits }
    }
}

/// Combines the result with a third operand, if there is one, and writes it.
#[inline(always)]
unsafe fn write(frame: *mut Cell, slots: &Slots, mask: u32, bits: u32, negated: u32) {
    // SAFETY: decoding gave columns of these widths.
    unsafe {
        let combined = |bits: u32| {
            let config = slots.config;
            let third = bool::column(frame, slots.sources[2], config & invert_source(2) != 0);
            match config & XOR {
                AND => bits & third,
                OR => bits | third,
                _ => bits ^ third,
            }
        };
        let (mut first, mut second) = (bits, negated);
        if slots.config & (COMBINE | OR) != 0 {
            (first, second) = (combined(first), combined(second));
        }
        if slots.config & NUMBERS != 0 {
            let value = slots.sources[3];
            let mut words = u32::buffer();
            for (lane, word) in words.iter_mut().enumerate() {
                *word = if first & 1 << lane != 0 { value } else { 0 };
            }
            u32::store(&words, frame, slots.results[0], mask, false);
            return;
        }
        bool::store(&first, frame, slots.results[0], mask, false);
        if slots.config & SECOND != 0 {
            bool::store(&second, frame, slots.results[1], mask, false);
        }
    }
}

#[inline(always)]
unsafe fn body<C: Comparison>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        let bits = passing::<C>(frame, slots, C::Operand::from_raw);
        write(frame, slots, mask, bits, !bits);
    }
}

unsafe fn portable<C: Comparison>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { body::<C>(frame, slots, mask) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
unsafe fn avx2<C: Comparison>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { body::<C>(frame, slots, mask) }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as avx2;

/// A value that is half of a word; both halves are compared.
trait HalfOfWord: Lane<Raw = u32> {}
impl HalfOfWord for Half {}
impl HalfOfWord for Brain {}

/// Executes `setp` and `set` of two packed values: the first result is of the low ones, the second of the high ones.
#[inline(always)]
unsafe fn packed_body<C: Comparison<Operand: HalfOfWord>>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        let low = passing::<C>(frame, slots, |raw| Lane::from_raw(raw & 0xFFFF));
        let high = passing::<C>(frame, slots, |raw| Lane::from_raw(raw >> 16));
        if slots.config & NUMBERS == 0 {
            write(frame, slots, mask, low, high);
            return;
        }
        let value = slots.sources[3];
        let third = match slots.config & XOR {
            0 => 0,
            _ => bool::column(frame, slots.sources[2], slots.config & invert_source(2) != 0),
        };
        let combined = |bits: u32| match slots.config & XOR {
            0 => bits,
            AND => bits & third,
            OR => bits | third,
            _ => bits ^ third,
        };
        let (low, high) = (combined(low), combined(high));
        let mut words = u32::buffer();
        for (lane, word) in words.iter_mut().enumerate() {
            *word = if low & 1 << lane != 0 { value } else { 0 };
            *word |= if high & 1 << lane != 0 { value << 16 } else { 0 };
        }
        u32::store(&words, frame, slots.results[0], mask, false);
    }
}

unsafe fn packed<C: Comparison<Operand: HalfOfWord>>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { packed_body::<C>(frame, slots, mask) }
}

/// The machine code for a type: portable, AVX2.
type Pair = (Run, Run);

fn pair<C: Comparison>() -> Pair {
    (portable::<C>, avx2::<C>)
}

fn packed_pair<C: Comparison<Operand: HalfOfWord>>() -> Pair {
    (packed::<C>, packed::<C>)
}

/// A comparison expressed by a basic one.
struct Meaning {
    basic: Basic,
    negated: bool,
    exchanged: bool,
    /// True if only unsigned numbers have it, or only floats.
    unsigned_only: bool,
    float_only: bool,
}

#[derive(Clone, Copy)]
enum Basic {
    Equal,
    Less,
    LessOrEqual,
    LessOrGreater,
    Ordered,
}

/// Integers and floats differ in the effect of negation on NaN, so some comparisons are negated for integers but not
/// for floats.
fn meaning(test: Test, is_float: bool) -> Option<Meaning> {
    use Basic::{Equal, Less, LessOrEqual, LessOrGreater, Ordered};
    let of = |basic, negated, exchanged| Meaning {
        basic,
        negated,
        exchanged,
        unsigned_only: false,
        float_only: false,
    };
    let unsigned = |meaning| Meaning { unsigned_only: true, ..meaning };
    let float = |meaning| Meaning { float_only: true, ..meaning };
    Some(match (test, is_float) {
        (Test::Equal, _) => of(Equal, false, false),
        (Test::NotEqual, true) => of(LessOrGreater, false, false),
        (Test::NotEqual, false) => of(Equal, true, false),
        (Test::Less, _) => of(Less, false, false),
        (Test::Greater, _) => of(Less, false, true),
        (Test::LessOrEqual, true) => of(LessOrEqual, false, false),
        (Test::GreaterOrEqual, true) => of(LessOrEqual, false, true),
        (Test::LessOrEqual, false) => of(Less, true, true),
        (Test::GreaterOrEqual, false) => of(Less, true, false),
        (Test::Lower, false) => unsigned(of(Less, false, false)),
        (Test::Higher, false) => unsigned(of(Less, false, true)),
        (Test::LowerOrSame, false) => unsigned(of(Less, true, true)),
        (Test::HigherOrSame, false) => unsigned(of(Less, true, false)),
        (Test::EqualOrNan, _) => float(of(LessOrGreater, true, false)),
        (Test::NotEqualOrNan, _) => float(of(Equal, true, false)),
        (Test::LessOrNan, _) => float(of(LessOrEqual, true, true)),
        (Test::GreaterOrNan, _) => float(of(LessOrEqual, true, false)),
        (Test::LessOrEqualOrNan, _) => float(of(Less, true, true)),
        (Test::GreaterOrEqualOrNan, _) => float(of(Less, true, false)),
        (Test::Number, _) => float(of(Ordered, false, false)),
        (Test::Nan, _) => float(of(Ordered, true, false)),
        _ => return None,
    })
}

fn code(basic: Basic, scalar: ScalarType) -> Option<Pair> {
    macro_rules! float {
        ($pair:ident, $float:ty) => {
            match basic {
                Basic::Equal => $pair::<Equal<$float>>(),
                Basic::Less => $pair::<Less<$float>>(),
                Basic::LessOrEqual => $pair::<LessOrEqual<$float>>(),
                Basic::LessOrGreater => $pair::<LessOrGreater<$float>>(),
                Basic::Ordered => $pair::<Ordered<$float>>(),
            }
        };
    }
    use ScalarType::{B16, B32, B64, S16, S32, S64, U16, U32, U64};
    Some(match (scalar, basic) {
        (ScalarType::F32, _) => float!(pair, f32),
        (ScalarType::F64, _) => float!(pair, f64),
        (ScalarType::F16, _) => float!(pair, Half),
        (ScalarType::Bf16, _) => float!(pair, Brain),
        (ScalarType::F16x2, _) => float!(packed_pair, Half),
        (ScalarType::Bf16x2, _) => float!(packed_pair, Brain),
        (B16 | U16 | S16, Basic::Equal) => pair::<Equal<u16>>(),
        (B32 | U32 | S32, Basic::Equal) => pair::<Equal<u32>>(),
        (B64 | U64 | S64, Basic::Equal) => pair::<Equal<u64>>(),
        (U16, Basic::Less) => pair::<Less<u16>>(),
        (U32, Basic::Less) => pair::<Less<u32>>(),
        (U64, Basic::Less) => pair::<Less<u64>>(),
        (S16, Basic::Less) => pair::<Less<i16>>(),
        (S32, Basic::Less) => pair::<Less<i32>>(),
        (S64, Basic::Less) => pair::<Less<i64>>(),
        _ => return None,
    })
}

fn is_float(scalar: ScalarType) -> bool {
    use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    matches!(scalar, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
}

/// Returns true if decoding exchanges the operands: the first source's column is that of the second operand.
pub(crate) fn exchanges(op: &Compare) -> bool {
    meaning(op.test, is_float(op.scalar)).is_some_and(|meaning| meaning.exchanged)
}

/// Decodes `setp` and `set`.
pub(super) fn decode(form: &mut Form<'_>, op: &Compare) -> Decoded {
    let Compare { flushes, scalar, number, .. } = *op;
    let combine = op.combine.map(|combine| match combine {
        Combine::And => AND,
        Combine::Or => OR,
        Combine::Xor => XOR,
    });
    if flushes && !matches!(scalar, ScalarType::F32 | ScalarType::F16 | ScalarType::F16x2) {
        return form.unsupported();
    }
    let is_float = is_float(scalar);
    let Some(meaning) = meaning(op.test, is_float) else { return form.unsupported() };
    let is_unsigned = matches!(scalar, ScalarType::U16 | ScalarType::U32 | ScalarType::U64);
    if meaning.float_only && !is_float || meaning.unsigned_only && !is_unsigned {
        return form.unsupported();
    }
    let Some((portable, avx2)) = code(meaning.basic, scalar) else { return form.unsupported() };
    let (result, sources) = form.result_and_sources(2 + usize::from(combine.is_some()))?;
    let mut parts = Parts::default();
    parts.config |= if meaning.negated { NEGATE } else { 0 };
    parts.config |= if flushes { FLUSH } else { 0 };
    parts.config |= combine.unwrap_or(0);
    for (index, operand) in sources[..2].iter().enumerate() {
        let (slot, _) = form.source(operand, scalar, Width::of(scalar))?;
        parts.source(if meaning.exchanged { 1 - index } else { index }, slot, false);
    }
    if combine.is_some() {
        let (slot, inverted) = form.source(&sources[2], ScalarType::Pred, Width::Predicate)?;
        parts.source(2, slot, inverted);
    }
    if let Some(number) = number {
        use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, S32, U16, U32};
        let is_packed = matches!(scalar, F16x2 | Bf16x2);
        let value = match (number, is_packed) {
            (U32 | S32, false) => u32::MAX,
            (F32, false) => 1f32.to_bits(),
            (U16, false) | (U32 | S32, true) => 0xFFFF,
            (F16, false) | (F16x2, true) => 0x3C00,
            (Bf16, false) | (Bf16x2, true) => 0x3F80,
            _ => return form.unsupported(),
        };
        parts.config |= NUMBERS;
        parts.immediate(3, value);
        let slot = form.result(result, number, Width::Word)?;
        parts.result(0, slot);
    } else {
        let is_packed = matches!(scalar, ScalarType::F16x2 | ScalarType::Bf16x2);
        let pair = match result {
            Operand::Pair(pair) => Some(&**pair),
            _ if is_packed => return form.wrong("compares two pairs, and has one result"),
            _ => None,
        };
        let first = pair.map_or(result, |[first, _]| first);
        let slot = form.result(first, ScalarType::Pred, Width::Predicate)?;
        parts.result(0, slot);
        if let Some([_, second]) = pair {
            let slot = form.result(second, ScalarType::Pred, Width::Predicate)?;
            parts.result(1, slot);
            parts.config |= SECOND;
        }
    }
    Ok(parts.finish(match form.level {
        Level::Portable => portable,
        Level::Avx2 => avx2,
    }))
}
