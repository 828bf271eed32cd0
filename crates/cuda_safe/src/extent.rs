//! Lengths that a launch agrees on, each by a name that is a type.
//!
//! `Extent<Nx>` is the one number that `Nx` stands for in a launch. Everything declared with the name `Nx`, a matrix of
//! `Nx` columns or an array of `Nx` elements, has this length: the host checks it before the launch. So one comparison with an
//! extent gives an index ([`Below`]) that is within all of them, and no later access has to compare again.
//!
//! Any type can be a name. The usual ones are in [`names`]; they mean what the kernel at hand lets them mean.

use core::marker::PhantomData;

use crate::shape::Fixed;
use crate::thread::Thread;

/// Names for lengths. None of them has a value: they only tell lengths apart.
pub mod names {
    /// Elements of an array.
    #[derive(Debug)]
    pub enum N {}

    /// Rows of a product.
    #[derive(Debug)]
    pub enum M {}

    /// The length that a product sums over.
    #[derive(Debug)]
    pub enum K {}

    /// Columns of a matrix.
    #[derive(Debug)]
    pub enum Nx {}

    /// Rows of a matrix.
    #[derive(Debug)]
    pub enum Ny {}

    /// A distance in elements.
    #[derive(Debug)]
    pub enum S {}
}

/// `Length` and `MORE`.
#[derive(Debug)]
pub struct Plus<Length, const MORE: usize>(PhantomData<Length>);

/// The number `LENGTH`, which needs no parameter: an array of this length has just as many elements.
#[derive(Debug)]
pub enum Count<const LENGTH: usize> {}

/// A length of the launch, in 32 bits; see the [module](self).
#[derive(Debug)]
pub struct Extent<Name>(u32, PhantomData<fn() -> Name>);

/// A length of the launch that is not 0, in 32 bits; see the [module](self).
#[derive(Debug)]
pub struct Positive<Name>(u32, PhantomData<fn() -> Name>);

/// A length of whole segments of 32 elements, one per lane of a warp, and not 0; see the [module](self).
#[derive(Debug)]
pub struct Segmented<Name>(u32, PhantomData<fn() -> Name>);

/// A length of the launch, in 64 bits; see the [module](self).
#[derive(Debug)]
pub struct Length<Name>(usize, PhantomData<fn() -> Name>);

/// A number below an extent.
#[derive(Debug)]
pub struct Below<Name>(u32, PhantomData<fn() -> Name>);

macro_rules! copies {
    ($($name:ident)*) => {$(
        impl<Name> Clone for $name<Name> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<Name> Copy for $name<Name> {}
    )*};
}

copies! { Extent Positive Segmented Length Below }

impl<Name> Extent<Name> {
    /// # Safety
    /// All of the launch has this one value by this name.
    #[inline(always)]
    pub(crate) unsafe fn new(value: u32) -> Self {
        Self(value, PhantomData)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// The value as an index, if it is one.
    #[inline(always)]
    #[must_use]
    pub fn check(self, value: u32) -> Option<Below<Name>> {
        if value < self.0 { Some(Below(value, PhantomData)) } else { None }
    }
}

impl<Name> Extent<Name> {
    /// The indices from 0 on, `COUNT` at a time as long as there are as many.
    #[inline(always)]
    #[must_use]
    pub fn chunks<const COUNT: u32>(self) -> Chunks<Name, COUNT> {
        Chunks { extent: self, next: 0 }
    }
}

impl<Name> Extent<Name> {
    /// Divides the extent into parts of `W`, each with a proof that it is below the extent. `None` if `W` does not
    /// divide it.
    #[inline(always)]
    #[must_use]
    pub fn whole_parts<const W: u32>(self) -> Option<impl Iterator<Item = Part<Name, W>>> {
        if self.0.is_multiple_of(W) {
            Some(self.parts::<W>().map(|first| Part(first, PhantomData)))
        } else {
            None
        }
    }

    /// The first number of each part of `W`, the last of which may be shorter.
    #[inline(always)]
    pub fn parts<const W: u32>(self) -> impl Iterator<Item = u32> {
        const { assert!(W > 0, "a part has a length") };
        // SAFETY: an extent is at most 2^31, so that the sum does not wrap; and LLVM, which then knows, moves a pointer along
        // where it would multiply for each part.
        core::iter::successors(Some(0_u32), |first| Some(unsafe { first.unchecked_add(W) }))
            .take_while(move |&first| first < self.0)
    }
}

/// `W` consecutive indices below an extent.
#[derive(Debug)]
pub struct Part<Name, const W: u32>(u32, PhantomData<fn() -> Name>);

impl<Name, const W: u32> Clone for Part<Name, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<Name, const W: u32> Copy for Part<Name, W> {}

impl<Name, const W: u32> Part<Name, W> {
    /// The index in the part of the thread's place along x.
    #[inline(always)]
    #[must_use]
    pub fn x<const Y: u32>(self, thread: &Thread<Fixed<W, Y>>) -> Below<Name> {
        // SAFETY: the sum is below the extent.
        Below(unsafe { self.0.unchecked_add(thread.x()) }, PhantomData)
    }

    /// The index in the part of the thread's place along y.
    #[inline(always)]
    #[must_use]
    pub fn y<const X: u32>(self, thread: &Thread<Fixed<X, W>>) -> Below<Name> {
        // SAFETY: the sum is below the extent.
        Below(unsafe { self.0.unchecked_add(thread.y()) }, PhantomData)
    }
}

/// The indices below an extent in groups of `COUNT`; see [`Extent::chunks`].
#[derive(Debug)]
pub struct Chunks<Name, const COUNT: u32> {
    extent: Extent<Name>,
    next: u32,
}

impl<Name, const COUNT: u32> Chunks<Name, COUNT> {
    /// The next `COUNT` indices, if there are as many.
    #[inline(always)]
    pub fn whole(&mut self) -> Option<Group<Name, COUNT>> {
        if self.extent.0 - self.next >= COUNT {
            let first = self.next;
            self.next += COUNT;
            Some(Group(first, PhantomData))
        } else {
            None
        }
    }

    /// The indices that are left.
    #[inline(always)]
    pub fn rest(self) -> impl Iterator<Item = Below<Name>> {
        (self.next..self.extent.0).map(|value| Below(value, PhantomData))
    }
}

/// `COUNT` consecutive indices below an extent.
#[derive(Debug)]
pub struct Group<Name, const COUNT: u32>(u32, PhantomData<fn() -> Name>);

impl<Name, const COUNT: u32> Group<Name, COUNT> {
    /// The index with this number in the group.
    ///
    /// # Panics
    /// The group has fewer. The check is gone where the compiler knows the number.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, number: u32) -> Below<Name> {
        assert!(number < COUNT);
        Below(self.0 + number, PhantomData)
    }
}

impl<Name> Positive<Name> {
    /// # Safety
    /// All of the launch has this one value by this name, and it is not 0.
    #[inline(always)]
    pub(crate) unsafe fn new(value: u32) -> Self {
        Self(value, PhantomData)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// Draws an index from a random number of 32 bits. All are equally likely to within one part in 2^32 / length.
    ///
    /// It is the upper half of the product of both, which is below the length whatever the number is.
    #[inline(always)]
    #[must_use]
    pub fn draw(self, random: u32) -> Below<Name> {
        Below(cuda_std::integer::multiply_high(random, self.0), PhantomData)
    }
}

impl<Name> Segmented<Name> {
    /// # Safety
    /// All of the launch has this one value by this name, and it is a multiple of 32 and not 0.
    #[inline(always)]
    pub(crate) unsafe fn new(value: u32) -> Self {
        Self(value, PhantomData)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// A segment drawn by a random number; see [`Positive::draw`].
    #[inline(always)]
    #[must_use]
    pub fn draw(self, random: u32) -> Group<Name, 32> {
        Group(cuda_std::integer::multiply_high(random, self.0 / 32) * 32, PhantomData)
    }
}

impl<Name> Length<Name> {
    /// # Safety
    /// All of the launch has this one value by this name.
    #[inline(always)]
    pub(crate) unsafe fn new(value: usize) -> Self {
        Self(value, PhantomData)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

impl<Name> Below<Name> {
    /// # Safety
    /// The value is below the extent of this name.
    #[inline(always)]
    pub(crate) unsafe fn new(value: u32) -> Self {
        Self(value, PhantomData)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Something that tells how many elements `Name` stands for: an extent, a length, or an array of as many.
///
/// # Safety
/// [`length`](Bounds::length) is at most the launch's length of this name, and [`has`](Bounds::has) true only of indices
/// below it.
pub unsafe trait Bounds<Name> {
    /// The length.
    fn length(&self) -> usize;

    /// True if `index` is below the length.
    #[inline(always)]
    fn has(&self, index: usize) -> bool {
        index < self.length()
    }
}

// SAFETY: an extent is the launch's length of its name.
unsafe impl<Name> Bounds<Name> for Extent<Name> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.0 as usize
    }
}

// SAFETY: a length is the launch's length of its name.
unsafe impl<Name> Bounds<Name> for Length<Name> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.0
    }
}
