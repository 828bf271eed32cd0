//! Packed operations: two values in one register, computed separately: `.u16x2`, `.f16x2`, `.f32x2`.

use super::lanes::{Lane, Operation, Outcome};

/// A type of which two share a register.
pub(super) trait Halves: Lane {
    type Both: Lane;

    fn low(both: Self::Both) -> Self;
    fn high(both: Self::Both) -> Self;
    fn join(low: Self, high: Self) -> Self::Both;
}

macro_rules! halves {
    ($($half:ty, $both:ty, $bits:literal, $unsigned:ty;)*) => { $(
        impl Halves for $half {
            type Both = $both;

            #[inline(always)]
            fn low(both: $both) -> Self {
                both as $unsigned as Self
            }

            #[inline(always)]
            fn high(both: $both) -> Self {
                (both >> $bits) as $unsigned as Self
            }

            #[inline(always)]
            fn join(low: Self, high: Self) -> $both {
                <$both>::from(low as $unsigned) | <$both>::from(high as $unsigned) << $bits
            }
        }
    )* };
}

halves! { u16, u32, 16, u16; i16, u32, 16, u16; }

impl Halves for f32 {
    type Both = u64;

    #[inline(always)]
    fn low(both: u64) -> Self {
        Self::from_bits(both as u32)
    }

    #[inline(always)]
    fn high(both: u64) -> Self {
        Self::from_bits((both >> 32) as u32)
    }

    #[inline(always)]
    fn join(low: Self, high: Self) -> u64 {
        u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
    }
}

impl Halves for () {
    type Both = ();

    #[inline(always)]
    fn low((): ()) {}

    #[inline(always)]
    fn high((): ()) {}

    #[inline(always)]
    fn join((): (), (): ()) {}
}

/// An operation on both halves.
pub(super) struct Twice<O>(std::marker::PhantomData<O>);

impl<O> Operation for Twice<O>
where
    O: Operation<A: Halves, B: Halves, C: Halves, D: Halves>,
    O::Result: Halves<Both: Outcome>,
{
    type A = <O::A as Halves>::Both;
    type B = <O::B as Halves>::Both;
    type C = <O::C as Halves>::Both;
    type D = <O::D as Halves>::Both;
    type Result = <O::Result as Halves>::Both;

    #[inline(always)]
    fn lane(a: Self::A, b: Self::B, c: Self::C, d: Self::D, config: u32) -> Self::Result {
        let low = O::lane(Halves::low(a), Halves::low(b), Halves::low(c), Halves::low(d), config);
        let high = O::lane(Halves::high(a), Halves::high(b), Halves::high(c), Halves::high(d), config);
        Halves::join(low, high)
    }
}
