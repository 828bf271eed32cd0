//! Turns an operation on one lane into an instruction of a warp: a loop over 32 lanes that the compiler vectorises,
//! compiled for any computer and for those with AVX2.
//!
//! All lanes are computed, inactive ones too, and only those of the active mask are written. So an operation must
//! return some value for arbitrary bits, and never panic. For example, four lanes of
//! `operation!(Add(a: u32, b: u32) -> u32 { a.wrapping_add(b) })`:
//!
//! ```text
//! a              1   2   3   4
//! b             10  20  30  40
//! a + b         11  22  33  44     for all lanes at once
//! active mask    1   0   1   0
//! written       11      33         lanes 1 and 3 keep what their register held
//! ```

use crate::decode::Level;
use crate::ptx::ScalarType;
use crate::registers::{Cell, Width};

use super::decoded::{Run, Slots};
use super::raw::{LowHalf, Raw};

/// A lane as an operation sees it: the register's bits in its type.
pub(super) trait Lane: Copy {
    type Raw: Raw;
    /// Type of the operand; None for `()`, an absent operand.
    const SCALAR: Option<ScalarType>;
    /// Width of the register, if it is not that of the type.
    const WIDTH: Option<Width> = match Self::SCALAR {
        None => None,
        Some(ScalarType::Pred) => Some(Width::Predicate),
        Some(
            ScalarType::B64
            | ScalarType::U64
            | ScalarType::S64
            | ScalarType::F64
            | ScalarType::Texture
            | ScalarType::Sampler
            | ScalarType::Surface,
        ) => Some(Width::Double),
        Some(ScalarType::B128) => Some(Width::Quad),
        Some(_) => Some(Width::Word),
    };

    fn from_raw(raw: Self::Raw) -> Self;

    fn into_raw(self) -> Self::Raw;
}

macro_rules! lanes {
    ($($lane:ty, $raw:ty, $scalar:ident, |$from:ident| $from_raw:expr, |$into:ident| $into_raw:expr;)*) => { $(
        impl Lane for $lane {
            type Raw = $raw;
            const SCALAR: Option<ScalarType> = Some(ScalarType::$scalar);

            #[inline(always)]
            fn from_raw($from: $raw) -> Self {
                $from_raw
            }

            #[inline(always)]
            fn into_raw(self) -> $raw {
                let $into = self;
                $into_raw
            }
        }
    )* };
}

lanes! {
    bool, bool, Pred, |raw| raw, |lane| lane;
    u8, u32, U8, |raw| raw as Self, |lane| u32::from(lane);
    i8, u32, S8, |raw| raw as Self, |lane| u32::from(lane as u8);
    u16, u32, U16, |raw| raw as Self, |lane| u32::from(lane);
    i16, u32, S16, |raw| raw as Self, |lane| u32::from(lane as u16);
    u32, u32, U32, |raw| raw, |lane| lane;
    i32, u32, S32, |raw| raw as Self, |lane| lane as u32;
    u64, u64, U64, |raw| raw, |lane| lane;
    i64, u64, S64, |raw| raw as Self, |lane| lane as u64;
    f32, u32, F32, |raw| Self::from_bits(raw), |lane| lane.to_bits();
    f64, u64, F64, |raw| Self::from_bits(raw), |lane| lane.to_bits();
    u128, u128, B128, |raw| raw, |lane| lane;
}

impl Lane for () {
    type Raw = ();
    const SCALAR: Option<ScalarType> = None;

    #[inline(always)]
    fn from_raw((): ()) {}

    #[inline(always)]
    fn into_raw(self) {}
}

/// A lane read from a wider register.
#[derive(Clone, Copy)]
pub(super) struct Low<T>(pub(super) T);

impl<T: Lane<Raw = u32>> Lane for Low<T> {
    type Raw = LowHalf;
    const SCALAR: Option<ScalarType> = T::SCALAR;
    const WIDTH: Option<Width> = Some(Width::Double);

    #[inline(always)]
    fn from_raw(raw: LowHalf) -> Self {
        Self(T::from_raw(raw.0))
    }

    #[inline(always)]
    fn into_raw(self) -> LowHalf {
        LowHalf(self.0.into_raw())
    }
}

/// The result of an operation: one lane's value, or two.
pub(super) trait Outcome {
    type First: Lane;
    type Second: Lane;

    fn split(self) -> (Self::First, Self::Second);
}

macro_rules! single_outcomes {
    ($($lane:ty)*) => { $(
        impl Outcome for $lane {
            type First = Self;
            type Second = ();

            #[inline(always)]
            fn split(self) -> (Self, ()) {
                (self, ())
            }
        }
    )* };
}

single_outcomes!(bool u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 u128);

impl<A: Lane, B: Lane> Outcome for (A, B) {
    type First = A;
    type Second = B;

    #[inline(always)]
    fn split(self) -> (A, B) {
        self
    }
}

/// An instruction's effect in one lane. Absent operands are `()`.
pub(super) trait Operation {
    type A: Lane;
    type B: Lane;
    type C: Lane;
    type D: Lane;
    type Result: Outcome;

    /// Computes one lane. `config` is the same in all lanes: bits of the opcode or an immediate.
    fn lane(a: Self::A, b: Self::B, c: Self::C, d: Self::D, config: u32) -> Self::Result;
}

/// Defines an [`Operation`]: `Name[generics](operands; config) -> result { computation }`.
macro_rules! operation {
    (@ $(#[$meta:meta])* $name:ident [$($generic:ident: $bound:path),*] $a:ident $A:ty, $b:pat, $B:ty, $c:pat, $C:ty, $d:pat, $D:ty, $config:pat, $R:ty, $body:block) => {
        $(#[$meta])*
        pub(super) struct $name<$($generic),*>(std::marker::PhantomData<($($generic,)*)>);

        impl<$($generic: $bound),*> $crate::alu::lanes::Operation for $name<$($generic),*> {
            type A = $A;
            type B = $B;
            type C = $C;
            type D = $D;
            type Result = $R;

            #[inline(always)]
            fn lane($a: $A, $b: $B, $c: $C, $d: $D, $config: u32) -> $R $body
        }
    };
    ($(#[$meta:meta])* $name:ident [$($g:ident: $bound:path),*] ($a:ident: $A:ty; $config:pat) -> $R:ty $body:block) => {
        operation!(@ $(#[$meta])* $name [$($g: $bound),*] $a $A, (), (), (), (), (), (), $config, $R, $body);
    };
    ($(#[$meta:meta])* $name:ident [$($g:ident: $bound:path),*] ($a:ident: $A:ty, $b:ident: $B:ty; $config:pat) -> $R:ty $body:block) => {
        operation!(@ $(#[$meta])* $name [$($g: $bound),*] $a $A, $b, $B, (), (), (), (), $config, $R, $body);
    };
    ($(#[$meta:meta])* $name:ident [$($g:ident: $bound:path),*] ($a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty; $config:pat) -> $R:ty $body:block) => {
        operation!(@ $(#[$meta])* $name [$($g: $bound),*] $a $A, $b, $B, $c, $C, (), (), $config, $R, $body);
    };
    ($(#[$meta:meta])* $name:ident [$($g:ident: $bound:path),*] ($a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $d:ident: $D:ty; $config:pat) -> $R:ty $body:block) => {
        operation!(@ $(#[$meta])* $name [$($g: $bound),*] $a $A, $b, $B, $c, $C, $d, $D, $config, $R, $body);
    };
    ($(#[$meta:meta])* $name:ident [$($g:ident: $bound:path),*] ($($operand:ident: $T:ty),*) -> $R:ty $body:block) => {
        operation!($(#[$meta])* $name [$($g: $bound),*] ($($operand: $T),*; _) -> $R $body);
    };
    ($(#[$meta:meta])* $name:ident ($($rest:tt)*) -> $R:ty $body:block) => {
        operation!($(#[$meta])* $name [] ($($rest)*) -> $R $body);
    };
}
pub(super) use operation;

/// Returns the bit that inverts a source or a result, both counted from 0: see [`Slots::config`].
pub(crate) const fn invert_source(index: usize) -> u32 {
    1 << (28 + index)
}

pub(super) const fn invert_result(index: usize) -> u32 {
    1 << (26 + index)
}

/// Returns the bit if it is to be set, else 0.
pub(super) fn flag(is_set: bool, bit: u32) -> u32 {
    if is_set { bit } else { 0 }
}

/// The bits of [`Slots::config`] that belong to the operation.
pub(super) const CONFIG_BITS: u32 = (1 << 26) - 1;

#[inline(always)]
unsafe fn body<O: Operation>(frame: *mut Cell, slots: &Slots, mask: u32) {
    type First<O> = <<<O as Operation>::Result as Outcome>::First as Lane>::Raw;
    type Second<O> = <<<O as Operation>::Result as Outcome>::Second as Lane>::Raw;
    let [a, b, c, d] = slots.sources;
    let config = slots.config;
    let inverted = |bit: u32| config & bit != 0;
    // SAFETY: decoding gave the operation columns of the widths that it asks for.
    unsafe {
        let a = <O::A as Lane>::Raw::column(frame, a, inverted(invert_source(0)));
        let b = <O::B as Lane>::Raw::column(frame, b, inverted(invert_source(1)));
        let c = <O::C as Lane>::Raw::column(frame, c, inverted(invert_source(2)));
        let d = <O::D as Lane>::Raw::column(frame, d, inverted(invert_source(3)));
        let mut first = First::<O>::buffer();
        let mut second = Second::<O>::buffer();
        for lane in 0..32 {
            let result = O::lane(
                Lane::from_raw(Raw::get(a, lane)),
                Lane::from_raw(Raw::get(b, lane)),
                Lane::from_raw(Raw::get(c, lane)),
                Lane::from_raw(Raw::get(d, lane)),
                config & CONFIG_BITS,
            );
            let (one, two) = result.split();
            First::<O>::put(&mut first, lane, one.into_raw());
            Second::<O>::put(&mut second, lane, two.into_raw());
        }
        let [one, two] = slots.results;
        First::<O>::store(&first, frame, one, mask, inverted(invert_result(0)));
        Second::<O>::store(&second, frame, two, mask, inverted(invert_result(1)));
    }
}

unsafe fn portable<O: Operation>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { body::<O>(frame, slots, mask) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
unsafe fn avx2<O: Operation>(frame: *mut Cell, slots: &Slots, mask: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe { body::<O>(frame, slots, mask) }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as avx2;

/// An operation's machine code, and the types of its operands.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) portable: Run,
    pub(super) avx2: Run,
    /// Types by which immediates are read; None for an absent operand.
    pub(super) source_types: [Option<ScalarType>; 4],
    pub(super) source_widths: [Option<Width>; 4],
    pub(super) result_types: [Option<ScalarType>; 2],
    pub(super) result_widths: [Option<Width>; 2],
}

impl Code {
    pub(super) const fn of<O: Operation>() -> Self {
        Self {
            portable: portable::<O>,
            avx2: avx2::<O>,
            source_types: [O::A::SCALAR, O::B::SCALAR, O::C::SCALAR, O::D::SCALAR],
            source_widths: [O::A::WIDTH, O::B::WIDTH, O::C::WIDTH, O::D::WIDTH],
            result_types: [<O::Result as Outcome>::First::SCALAR, <O::Result as Outcome>::Second::SCALAR],
            result_widths: [<O::Result as Outcome>::First::WIDTH, <O::Result as Outcome>::Second::WIDTH],
        }
    }

    pub(super) fn at(&self, level: Level) -> Run {
        match level {
            Level::Portable => self.portable,
            Level::Avx2 => self.avx2,
        }
    }

    /// Replaces the operands' types by `scalar`, such as `.f32` where only the bits count.
    pub(super) fn typed(mut self, scalar: ScalarType) -> Self {
        let types = self.source_types.iter_mut().zip(self.source_widths);
        let types = types.chain(self.result_types.iter_mut().zip(self.result_widths));
        for (named, width) in types {
            if width == Some(Width::of(scalar)) {
                *named = Some(scalar);
            }
        }
        self
    }

    pub(super) fn sources(&self) -> usize {
        self.source_widths.iter().flatten().count()
    }
}
