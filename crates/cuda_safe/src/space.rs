//! Mappings from the places of a thread to the elements of an array.
//!
//! A kernel names a space in the type of each array that it goes through by its own position: `Out<f32, DownColumns<Nx,
//! Ny>>` is a matrix of `Nx` rows and `Ny` columns, written down its columns by neighbouring threads. A space maps
//! different places to different elements. Together with the [shape](crate::shape), which gives no place to two threads,
//! that is why no two threads write one element; and because the signature has both, no body can mix two maps.

use core::marker::PhantomData;

use crate::extent::Positive;
use crate::place::{Mine, Mine2, OfBlock, OfWarp, Own, Run, Run2};

/// A map from a thread's places to the elements of an array.
///
/// # Safety
/// [`element`](Space::element) gives different elements for different places, each within the array that the host admits
/// for this space.
pub unsafe trait Space: Copy + 'static {
    /// A place that a thread has to itself.
    type Place: Copy;

    /// The element's index.
    fn element(self, place: Self::Place) -> usize;

    /// The element's address in an array that begins at `first`.
    ///
    /// # Safety
    /// The array has the element.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn address<T>(self, first: *const T, place: Self::Place) -> *const T {
        // SAFETY: promised by the caller.
        unsafe { first.add(self.element(place)) }
    }
}

/// A space in which a thread has several places that lie a fixed distance apart.
///
/// # Safety
/// As for [`Space`]: the elements are those of the run's places, one by one.
pub unsafe trait RunSpace<R>: Space {
    /// The index of the run's first element, and the distance to the next.
    fn run(self, run: R) -> (usize, usize);
}

macro_rules! spaces {
    ($($(#[$documentation:meta])* [$($generics:tt)*] $name:ident, $type:ty, {$($fields:tt)*};)*) => {$(
        $(#[$documentation])*
        #[derive(Debug)]
        pub struct $name<$($generics)*> { $($fields)* }

        impl<$($generics)*> Clone for $type {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics)*> Copy for $type {}
    )*};
}

spaces! {
    /// The element of index `i` belongs to the thread that has index `i` below `N`.
    [N] Each, Each<N>, { name: PhantomData<fn() -> N> };
    /// One element for each thread of the launch.
    [] EachThread, EachThread, {};
    /// One element for each block of the launch.
    [] EachBlock, EachBlock, {};
    /// One element for each 32 of `N`.
    [N] EachWarp, EachWarp<N>, { name: PhantomData<fn() -> N> };
    /// Thread `i` has the element `i + S`.
    [S] Shifted, Shifted<S>, { shift: u32, name: PhantomData<fn() -> S> };
    /// Thread `i` has the element `i * S`, where `S` is a [`Positive`].
    [S] Strided, Strided<S>, { stride: u32, name: PhantomData<fn() -> S> };
    /// A matrix of `Rows` and `Columns`, row after row. Neighbours along x have neighbouring elements of a row.
    [Rows, Columns] AlongRows, AlongRows<Rows, Columns>, { columns: u32, names: PhantomData<fn() -> (Rows, Columns)> };
    /// A matrix of `Rows` and `Columns`, row after row. Neighbours along x have elements of one column, a row apart.
    [Rows, Columns] DownColumns, DownColumns<Rows, Columns>, { columns: u32, names: PhantomData<fn() -> (Rows, Columns)> };
}

/// The index of the element of a row and column in a matrix whose rows have `width` elements. The product is taken in
/// 64 bits, which is one multiplication on the GPU too.
#[inline(always)]
pub(crate) fn element(row: u32, width: u32, column: u32) -> usize {
    row as usize * width as usize + column as usize
}

// SAFETY: indices are different, and below N.
unsafe impl<N: 'static> Space for Each<N> {
    type Place = Mine<N>;

    #[inline(always)]
    fn element(self, place: Mine<N>) -> usize {
        place.get()
    }
}

// SAFETY: the elements of a run are those of its indices.
unsafe impl<N: 'static, const COUNT: usize> RunSpace<Run<N, COUNT>> for Each<N> {
    #[inline(always)]
    fn run(self, run: Run<N, COUNT>) -> (usize, usize) {
        (run.first, run.apart)
    }
}

// SAFETY: threads have different numbers.
unsafe impl Space for EachThread {
    type Place = Own;

    #[inline(always)]
    fn element(self, place: Own) -> usize {
        place.get()
    }
}

// SAFETY: blocks have different numbers.
unsafe impl Space for EachBlock {
    type Place = OfBlock;

    #[inline(always)]
    fn element(self, place: OfBlock) -> usize {
        place.get()
    }
}

// SAFETY: warps have different numbers.
unsafe impl<N: 'static> Space for EachWarp<N> {
    type Place = OfWarp<N>;

    #[inline(always)]
    fn element(self, place: OfWarp<N>) -> usize {
        place.get()
    }
}

// SAFETY: different numbers are different by as much when shifted.
unsafe impl<S: 'static> Space for Shifted<S> {
    type Place = Own;

    #[inline(always)]
    fn element(self, place: Own) -> usize {
        self.shift as usize + place.get()
    }

    // The sum of pointer and shift is the same for the whole block, and so is left to the scalar unit: half a per cent faster than
    // an index that is shifted.
    #[inline(always)]
    unsafe fn address<T>(self, first: *const T, place: Own) -> *const T {
        // SAFETY: promised by the caller.
        unsafe { first.add(self.shift as usize).add(place.get()) }
    }
}

// SAFETY: the stride is not 0, so different numbers have different products.
unsafe impl<S: 'static> Space for Strided<S> {
    type Place = Own;

    #[inline(always)]
    fn element(self, place: Own) -> usize {
        place.get() * self.stride as usize
    }
}

impl<R, C> AlongRows<R, C> {
    /// Elements of a row.
    #[inline(always)]
    pub(crate) fn columns(self) -> u32 {
        self.columns
    }
}

// SAFETY: a position has a row and a column of its own.
unsafe impl<R: 'static, C: 'static> Space for AlongRows<R, C> {
    type Place = Mine2<C, R>;

    #[inline(always)]
    fn element(self, place: Mine2<C, R>) -> usize {
        element(place.y().get(), self.columns, place.x().get())
    }
}

// SAFETY: a position has a row and a column of its own.
unsafe impl<R: 'static, C: 'static> Space for DownColumns<R, C> {
    type Place = Mine2<R, C>;

    #[inline(always)]
    fn element(self, place: Mine2<R, C>) -> usize {
        element(place.x().get(), self.columns, place.y().get())
    }
}

// SAFETY: positions along x are as far apart in a row as their elements.
unsafe impl<R: 'static, C: 'static, const COUNT: usize> RunSpace<Run2<C, R, COUNT>> for AlongRows<R, C> {
    #[inline(always)]
    fn run(self, run: Run2<C, R, COUNT>) -> (usize, usize) {
        (element(run.y, self.columns, run.x), run.apart as usize)
    }
}

// SAFETY: positions along x are rows, each as many elements behind the last as a row has.
unsafe impl<R: 'static, C: 'static, const COUNT: usize> RunSpace<Run2<R, C, COUNT>> for DownColumns<R, C> {
    #[inline(always)]
    fn run(self, run: Run2<R, C, COUNT>) -> (usize, usize) {
        (element(run.x, self.columns, run.y), element(run.apart, self.columns, 0))
    }
}

/// The number that a launch calls `Name`, as the kernel's entry point has it. `#[kernel]` implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "no parameter of the kernel is the number `{Name}`",
    label = "needs a parameter of type `Extent<{Name}>`"
)]
pub trait Has<Name> {
    fn value(&self) -> u32;
}

/// A launch with a parameter of the type `Parameter`, by its value. `#[kernel]` implements it for numbers of 32 bits.
///
/// It tells a [`Positive`] from an [`Extent`](crate::Extent), whatever the source calls them.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "no parameter of the kernel is a `{Parameter}`",
    label = "needs a parameter of type `{Parameter}`",
    note = "with a stride of 0 all threads would have the same element, so a stride is a `Positive`"
)]
pub trait Took<Parameter> {
    fn value(&self) -> u32;
}

/// A space as the entry point of a kernel makes it.
#[doc(hidden)]
pub trait FromLaunch<L>: Space {
    /// # Safety
    /// `launch` has the numbers of this launch, which the host checked.
    unsafe fn from_launch(launch: &L) -> Self;
}

macro_rules! from_launch {
    ($([$($generics:tt)*] $type:ty, where [$($bounds:tt)*], |$launch:ident| {$($fields:tt)*};)*) => {$(
        impl<L, $($generics)*> FromLaunch<L> for $type
        where
            $($bounds)*
        {
            #[inline(always)]
            unsafe fn from_launch($launch: &L) -> Self {
                let _ = $launch;
                Self { $($fields)* }
            }
        }
    )*};
}

from_launch! {
    [N: 'static] Each<N>, where [], |launch| { name: PhantomData };
    [] EachThread, where [], |launch| {};
    [] EachBlock, where [], |launch| {};
    [N: 'static] EachWarp<N>, where [], |launch| { name: PhantomData };
    [S: 'static] Shifted<S>, where [L: Has<S>], |launch| { shift: launch.value(), name: PhantomData };
    [S: 'static] Strided<S>, where [L: Took<Positive<S>>], |launch| { stride: launch.value(), name: PhantomData };
    [R: 'static, C: 'static] AlongRows<R, C>, where [L: Has<C>],
        |launch| { columns: launch.value(), names: PhantomData };
    [R: 'static, C: 'static] DownColumns<R, C>, where [L: Has<C>],
        |launch| { columns: launch.value(), names: PhantomData };
}

#[cfg(not(target_arch = "nvptx64"))]
pub use formula::{Formula, Needed, Size};

#[cfg(not(target_arch = "nvptx64"))]
mod formula {
    use super::*;
    use crate::extent::{Count, Plus};
    use alloc::format;
    use alloc::string::String;
    use cuda_std::launch::Shape;

    /// The number that a launch calls `Name`, as the host has it before the launch. `#[kernel]` implements it.
    pub trait Size<Name> {
        /// The name as people read it, such as `nx` or `source.len()`.
        fn name() -> String;

        /// The number.
        fn size(&self) -> u64;
    }

    impl<L: Size<N>, N, const MORE: usize> Size<Plus<N, MORE>> for L {
        fn name() -> String {
            format!("{} + {MORE}", <L as Size<N>>::name())
        }

        fn size(&self) -> u64 {
            // No array has 2^64 - 1 elements.
            Size::<N>::size(self).saturating_add(MORE as u64)
        }
    }

    impl<L, const LENGTH: usize> Size<Count<LENGTH>> for L {
        fn name() -> String {
            format!("{LENGTH}")
        }

        fn size(&self) -> u64 {
            LENGTH as u64
        }
    }

    /// The required length of an array.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Needed {
        /// Just as long.
        Exactly(u64),
        /// As long or longer.
        AtLeast(u64),
    }

    /// The required length of an array of this space, as a formula and a number.
    pub trait Formula<L>: Space {
        /// The length as people read it, such as `== nx * ny`.
        fn formula() -> String;

        /// The length in this launch; `None` if it is more than 64 bits hold.
        fn needed(launch: &L, shape: &Shape) -> Option<Needed>;
    }

    fn threads(shape: &Shape) -> Option<u64> {
        shape.blocks().checked_mul(shape.block_threads())
    }

    impl<L: Size<N>, N: 'static> Formula<L> for Each<N> {
        fn formula() -> String {
            format!("== {}", L::name())
        }

        fn needed(launch: &L, _: &Shape) -> Option<Needed> {
            Some(Needed::Exactly(launch.size()))
        }
    }

    impl<L> Formula<L> for EachThread {
        fn formula() -> String {
            "== threads.count()".into()
        }

        fn needed(_: &L, shape: &Shape) -> Option<Needed> {
            threads(shape).map(Needed::Exactly)
        }
    }

    impl<L> Formula<L> for EachBlock {
        fn formula() -> String {
            "== grid.count()".into()
        }

        fn needed(_: &L, shape: &Shape) -> Option<Needed> {
            Some(Needed::Exactly(shape.blocks()))
        }
    }

    impl<L: Size<N>, N: 'static> Formula<L> for EachWarp<N> {
        fn formula() -> String {
            format!("== ({}).div_ceil(32)", L::name())
        }

        fn needed(launch: &L, _: &Shape) -> Option<Needed> {
            Some(Needed::Exactly(launch.size().div_ceil(32)))
        }
    }

    impl<L: Size<S>, S: 'static> Formula<L> for Shifted<S> {
        fn formula() -> String {
            format!(">= threads.count() + {}", L::name())
        }

        fn needed(launch: &L, shape: &Shape) -> Option<Needed> {
            threads(shape)?.checked_add(launch.size()).map(Needed::AtLeast)
        }
    }

    impl<L: Size<S>, S: 'static> Formula<L> for Strided<S> {
        fn formula() -> String {
            format!(">= (threads.count() - 1) * {} + 1", L::name())
        }

        fn needed(launch: &L, shape: &Shape) -> Option<Needed> {
            let steps = threads(shape)?.saturating_sub(1);
            steps.checked_mul(launch.size())?.checked_add(1).map(Needed::AtLeast)
        }
    }

    macro_rules! matrices {
        ($($name:ident)*) => {$(
            impl<L: Size<R> + Size<C>, R: 'static, C: 'static> Formula<L> for $name<R, C> {
                fn formula() -> String {
                    format!("== {} * {}", <L as Size<R>>::name(), <L as Size<C>>::name())
                }

                fn needed(launch: &L, _: &Shape) -> Option<Needed> {
                    let rows = Size::<R>::size(launch);
                    rows.checked_mul(Size::<C>::size(launch)).map(Needed::Exactly)
                }
            }
        )*};
    }

    matrices! { AlongRows DownColumns }
}
