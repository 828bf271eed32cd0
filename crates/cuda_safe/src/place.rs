//! Proofs that a thread has a place in an output to itself. Only a [`Thread`](crate::Thread) makes them.
//!
//! They can be copied, but not leave their thread: they are neither `Sync` nor [`Bits`](crate::Bits), so no static, no
//! shared memory and no output takes one.

use core::marker::PhantomData;

use crate::extent::Below;

/// Names without values, and neither `Send` nor `Sync`.
pub(crate) type Proof<Names> = PhantomData<(fn() -> Names, *mut ())>;

/// An index below the length `N` that only this thread has.
#[derive(Debug)]
pub struct Mine<N>(usize, Proof<N>);

/// The number of this thread in the grid.
#[derive(Debug)]
pub struct Own(usize, Proof<()>);

/// The number of this thread's block in the grid, in one thread of the block.
#[derive(Debug)]
pub struct OfBlock(usize, Proof<()>);

/// The number of this thread's warp in the grid, held by one thread of the warp; it is below `N`.
#[derive(Debug)]
pub struct OfWarp<N>(usize, Proof<N>);

/// A position, `x` below the extent `X` and `y` below `Y`, that only this thread has.
#[derive(Debug)]
pub struct Mine2<X, Y>(u32, u32, Proof<(X, Y)>);

/// `COUNT` indices below the length `N` that only this thread has.
#[derive(Debug)]
pub struct Run<N, const COUNT: usize> {
    pub(crate) first: usize,
    pub(crate) apart: usize,
    proof: Proof<N>,
}

/// `COUNT` positions along x that only this thread has, all within the extents `X` and `Y`.
#[derive(Debug)]
pub struct Run2<X, Y, const COUNT: usize> {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) apart: u32,
    proof: Proof<(X, Y)>,
}

macro_rules! copies {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Clone for $type {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics)*> Copy for $type {}
    )*};
}

copies! {
    [] Own;
    [] OfBlock;
    [N] OfWarp<N>;
    [N] Mine<N>;
    [X, Y] Mine2<X, Y>;
    [N, const COUNT: usize] Run<N, COUNT>;
    [X, Y, const COUNT: usize] Run2<X, Y, COUNT>;
}

impl<N> Mine<N> {
    /// # Safety
    /// The index is below `N`, and no other thread gets it.
    #[inline(always)]
    pub(crate) unsafe fn new(index: usize) -> Self {
        Self(index, PhantomData)
    }

    /// The index.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

macro_rules! numbers {
    ($([$($generics:tt)*] $type:ty, $which:literal;)*) => {$(
        impl<$($generics)*> $type {
            /// # Safety
            #[doc = concat!("It is the number of ", $which, ", and no other thread gets it.")]
            #[inline(always)]
            pub(crate) unsafe fn new(number: usize) -> Self {
                Self(number, PhantomData)
            }

            /// The number.
            #[inline(always)]
            #[must_use]
            pub fn get(self) -> usize {
                self.0
            }
        }
    )*};
}

numbers! {
    [] Own, "this thread";
    [] OfBlock, "this thread's block";
    [N] OfWarp<N>, "this thread's warp";
}

impl<X, Y> Mine2<X, Y> {
    /// # Safety
    /// The position is within both extents, and no other thread gets it.
    #[inline(always)]
    pub(crate) unsafe fn new(x: u32, y: u32) -> Self {
        Self(x, y, PhantomData)
    }

    /// The position along x.
    #[inline(always)]
    #[must_use]
    pub fn x(self) -> Below<X> {
        // SAFETY: it is within the extent.
        unsafe { Below::new(self.0) }
    }

    /// The position along y.
    #[inline(always)]
    #[must_use]
    pub fn y(self) -> Below<Y> {
        // SAFETY: it is within the extent.
        unsafe { Below::new(self.1) }
    }
}

impl<N, const COUNT: usize> Run<N, COUNT> {
    /// # Safety
    /// The `COUNT` indices from `first` on, `apart` from each other, are below `N`, and no other thread gets them.
    #[inline(always)]
    pub(crate) unsafe fn new(first: usize, apart: usize) -> Self {
        Self { first, apart, proof: PhantomData }
    }
}

impl<X, Y, const COUNT: usize> Run2<X, Y, COUNT> {
    /// # Safety
    /// The `COUNT` positions from (x, y) on, `apart` from each other along x, are within the extents, and no other thread
    /// gets them.
    #[inline(always)]
    pub(crate) unsafe fn new(x: u32, y: u32, apart: u32) -> Self {
        Self { x, y, apart, proof: PhantomData }
    }
}
