//! Arrays that a kernel reads.

use core::marker::PhantomData;

use cuda_std::access::{Access, load_read_only, load_read_only_no_allocate};
use cuda_std::thread;

use crate::bits::Bits;
use crate::block::{Inside, Whole};
use crate::extent::{Below, Bounds, Count, Extent, Plus};
use crate::place::Mine;
use crate::sealed::Sealed;
use crate::shape::{Linear, OneBlock, TILE_WARPS, Tiles, WholeWarps};
use crate::space::{AlongRows, Each, EachThread, RunSpace, Space, element};
use crate::thread::Thread;
use crate::tile::{Corner, Step};
use crate::unroll::repeat;

/// An array that nothing writes during the launch, read by a thread's places as the space `S` says. Loads go through the
/// read-only path (`ld.global.nc`).
#[derive(Debug)]
pub struct In<T, S> {
    first: *const T,
    length: usize,
    space: S,
}

impl<T, S: Space> Clone for In<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space> Copy for In<T, S> {}

impl<T: Bits, S: Space> In<T, S> {
    /// # Safety
    /// `length` elements from `first` on are there and not written during the launch, as many as the host admits for `space`.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *const T, length: usize, space: S) -> Self {
        Self { first, length, space }
    }

    /// The element that belongs to a place.
    #[inline(always)]
    #[must_use]
    pub fn at(self, place: S::Place) -> T {
        // SAFETY: the space has an element for the place, and the array has it.
        unsafe { *self.space.address(self.first, place) }
    }

    /// The elements that belong to a run of places, all loaded before the first is used.
    #[inline(always)]
    #[must_use]
    pub fn run<R, const COUNT: usize>(self, run: R) -> [T; COUNT]
    where
        S: RunSpace<R>,
        R: Counted<COUNT>,
    {
        let (first, apart) = self.space.run(run);
        // SAFETY: the array has all elements of the run.
        core::array::from_fn(|nth| unsafe { *self.first.add(first + nth * apart) })
    }

    /// The element that belongs to a place, loaded without keeping it in L1 (`ld.global.nc.L1::no_allocate`).
    #[inline(always)]
    #[must_use]
    pub fn stream(self, place: S::Place) -> T
    where
        T: Access,
    {
        // SAFETY: the array has the element, and nothing writes it during the launch.
        unsafe { load_read_only_no_allocate(self.space.address(self.first, place)) }
    }

    /// The element with this index, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn get(self, index: usize) -> Option<T> {
        // SAFETY: it was just compared.
        if index < self.length { Some(unsafe { *self.first.add(index) }) } else { None }
    }

    /// Elements.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "kernels compare indices with it")]
    pub fn len(self) -> usize {
        self.length
    }
}

/// An [`In`] whose loads keep their order among the kernel's stores.
///
/// Nothing tells the compilers that no store goes to this array, though none does, so they move no load in front of a
/// store. Loads are plain (`ld.global`), not those of the read-only path.
#[derive(Debug)]
pub struct InOrder<T, S>(In<T, S>);

impl<T, S: Space> Clone for InOrder<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space> Copy for InOrder<T, S> {}

impl<T: Bits, S: Space> InOrder<T, S> {
    /// # Safety
    /// As for [`In::new`].
    #[inline(always)]
    pub(crate) unsafe fn new(first: *const T, length: usize, space: S) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { In::new(first, length, space) })
    }

    /// The element that belongs to a place.
    #[inline(always)]
    #[must_use]
    pub fn at(self, place: S::Place) -> T {
        self.0.at(place)
    }

    /// The element that belongs to the `nth` place of a run.
    ///
    /// # Panics
    /// The run has fewer places. The check is gone where the compiler knows the number.
    #[inline(always)]
    #[must_use]
    pub fn nth<R, const COUNT: usize>(self, run: R, nth: usize) -> T
    where
        S: RunSpace<R>,
        R: Counted<COUNT>,
    {
        assert!(nth < COUNT);
        let (first, apart) = self.0.space.run(run);
        // SAFETY: the array has all elements of the run.
        unsafe { *self.0.first.add(first + nth * apart) }
    }
}

/// A run of `COUNT` places.
pub trait Counted<const COUNT: usize>: Sealed {}
impl<N, const COUNT: usize> Sealed for crate::place::Run<N, COUNT> {}
impl<X, Y, const COUNT: usize> Sealed for crate::place::Run2<X, Y, COUNT> {}
impl<N, const COUNT: usize> Counted<COUNT> for crate::place::Run<N, COUNT> {}
impl<X, Y, const COUNT: usize> Counted<COUNT> for crate::place::Run2<X, Y, COUNT> {}

// SAFETY: the host admits an array of exactly N elements.
unsafe impl<T: Bits, N: 'static> Bounds<N> for In<T, Each<N>> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }
}

impl<T: Bits, const LENGTH: usize> In<T, Each<Count<LENGTH>>> {
    /// The element with this index.
    ///
    /// # Panics
    /// There is none. The check is gone where the compiler sees that the index is in bounds.
    #[inline(always)]
    #[must_use]
    pub fn nth(self, index: usize) -> T {
        assert!(index < LENGTH);
        // SAFETY: the host admits an array of exactly LENGTH elements.
        unsafe { *self.first.add(index) }
    }
}

impl<T: Bits> In<T, EachThread> {
    /// The elements of the thread's warp, from the first lane's to the last one's.
    #[inline(always)]
    pub fn of_warp<const THREADS: u32>(self, thread: &Thread<OneBlock<THREADS>>) -> impl Iterator<Item = T> {
        const { assert!(THREADS.is_multiple_of(32), "the block is whole warps") };
        let first = thread.x() as usize / 32 * 32;
        // SAFETY: the host admits an array with an element for each thread, and the warp's threads are all there.
        (first..first + 32).map(move |index| unsafe { *self.first.add(index) })
    }
}

/// A stencil's source: `MORE` elements longer than what is computed from it.
#[derive(Debug)]
pub struct Padded<T, N, const MORE: usize>(In<T, Each<Plus<N, MORE>>>);

impl<T, N: 'static, const MORE: usize> Clone for Padded<T, N, MORE> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, N: 'static, const MORE: usize> Copy for Padded<T, N, MORE> {}

impl<T: Bits, N: 'static, const MORE: usize> In<T, Each<Plus<N, MORE>>> {
    /// The array as one that bounds the indices below `N`: those from which `MORE` further ones are there.
    #[inline(always)]
    #[must_use]
    pub fn inner(self) -> Padded<T, N, MORE> {
        Padded(self)
    }
}

// SAFETY: the host admits an array of exactly N + MORE elements.
unsafe impl<T: Bits, N: 'static, const MORE: usize> Bounds<N> for Padded<T, N, MORE> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.0.length.saturating_sub(MORE)
    }

    // The host admits no array that is shorter than MORE, but LLVM does not know that.
    #[inline(always)]
    fn has(&self, index: usize) -> bool {
        index + MORE < self.0.length
    }
}

impl<T: Bits, N: 'static, const MORE: usize> In<T, Each<Plus<N, MORE>>> {
    /// The element `further` behind that of a thread's index.
    ///
    /// # Panics
    /// `further` is more than `MORE`. The check is gone where the compiler knows the number.
    #[inline(always)]
    #[must_use]
    pub fn behind(self, mine: Mine<N>, further: usize) -> T {
        assert!(further <= MORE);
        // SAFETY: the index is below N.
        unsafe { *self.first.add(mine.get() + further) }
    }
}

impl<T: Bits, N: 'static, const MORE: usize> In<T, Each<Plus<N, MORE>>> {
    /// One of the `MORE` elements behind those of the block's threads, for the first `MORE` threads of the block. A
    /// [`Halo`](crate::tile::Halo) has it behind the cells of the threads.
    #[inline(always)]
    #[must_use]
    pub fn behind_block<S: Linear>(self, thread: &Thread<S>) -> Option<T> {
        if (thread.x() as usize) < MORE {
            self.get(thread.number() + thread::block_dim_x() as usize)
        } else {
            None
        }
    }

    /// [`behind_block`](In::behind_block) in a block whose indices are all below the length.
    #[inline(always)]
    #[must_use]
    pub fn behind_inside<S: Linear>(self, thread: &Thread<S>, _: Inside<N>) -> Option<T> {
        let index = thread.number() + thread::block_dim_x() as usize;
        // SAFETY: the last thread's index is below N, and this one at most MORE behind it.
        if (thread.x() as usize) < MORE { Some(unsafe { *self.first.add(index) }) } else { None }
    }
}

impl<T: Bits, N: 'static> In<T, Each<N>> {
    /// The elements of a thread when each warp takes `32 * COUNT` in a row, then those one grid further on.
    ///
    /// The distances of a thread's elements are known to the compiler then, and cost no arithmetic.
    #[inline(always)]
    #[must_use]
    pub fn by_warps<S: WholeWarps, const COUNT: usize>(self, thread: &Thread<S>) -> ByWarps<T, COUNT> {
        const {
            assert!(
                COUNT > 0 && COUNT <= 1 << 16,
                "a thread reads at least one element at a time, and 65536 at most"
            );
        };
        let index = thread.number();
        ByWarps {
            array: self.first,
            length: self.length,
            first: index / 32 * 32 * COUNT + index % 32,
            threads: thread::grid_dim_x() as usize * thread::block_dim_x() as usize,
        }
    }
}

/// The elements of a thread, see [`In::by_warps`].
#[derive(Debug)]
pub struct ByWarps<T, const COUNT: usize> {
    array: *const T,
    length: usize,
    first: usize,
    threads: usize,
}

impl<T: Bits, const COUNT: usize> ByWarps<T, COUNT> {
    /// The next `COUNT` elements, if all of them are there, all loaded before the first is used.
    #[inline(always)]
    pub fn whole(&mut self) -> Option<[T; COUNT]> {
        if self.first + (COUNT - 1) * 32 < self.length {
            let first = self.first;
            self.first += COUNT * self.threads;
            // SAFETY: the last one is within, and so are those before it.
            Some(core::array::from_fn(|nth| unsafe { *self.array.add(first + nth * 32) }))
        } else {
            None
        }
    }

    /// The thread's elements behind the last whole run.
    #[inline(always)]
    pub fn rest(self) -> impl Iterator<Item = T> {
        (0..COUNT).filter_map(move |nth| {
            let index = self.first + nth * 32;
            // SAFETY: it was just compared.
            if index < self.length { Some(unsafe { *self.array.add(index) }) } else { None }
        })
    }
}

impl<T: Bits, R: 'static, C: 'static> In<T, AlongRows<R, C>> {
    /// The matrix from a corner on: what a thread of a [`Tiles`] block loads.
    #[inline(always)]
    #[must_use]
    pub fn from(self, corner: Corner, columns: Extent<C>, rows: Extent<R>) -> From<T, R, C> {
        // A pointer instead of an index, from which LLVM would compute a product in each step.
        let first = self.first.wrapping_add(element(corner.y, columns.get(), corner.x));
        From { first, corner, columns, rows }
    }
}

/// A matrix seen from a corner; see [`In::from`].
#[derive(Debug)]
pub struct From<T, R, C> {
    first: *const T,
    corner: Corner,
    columns: Extent<C>,
    rows: Extent<R>,
}

impl<T: Bits, R, C> From<T, R, C> {
    /// The element a step away from the corner, if the matrix has it.
    #[inline(always)]
    #[must_use]
    pub fn get<const WIDTH: u32>(&self, step: Step<WIDTH>) -> Option<T> {
        let (right, down) = (step.right, step.down);
        if self.corner.x + right < self.columns.get() && self.corner.y + down < self.rows.get() {
            // SAFETY: the element is within the matrix.
            Some(unsafe { *self.first.add(element(down, self.columns.get(), right)) })
        } else {
            None
        }
    }
}

impl<T: Bits, R, C> From<T, R, C> {
    /// The elements of all steps, loaded before the first is used, of a tile that is all within the matrix.
    ///
    /// # Panics
    /// `COUNT` is not the number of steps: the compiler says so.
    #[inline(always)]
    #[must_use]
    pub fn all<const WIDTH: u32, const COUNT: usize>(
        &self,
        _: &Thread<Tiles<WIDTH>>,
        _: Whole<C, R>,
    ) -> [T; COUNT] {
        const { assert!(COUNT == (WIDTH / TILE_WARPS) as usize, "one element for each step") };
        core::array::from_fn(|nth| {
            let step = Step::<WIDTH>::number(nth as u32);
            // SAFETY: steps stay in the block's tile, which is within the matrix.
            unsafe { *self.first.add(element(step.down, self.columns.get(), step.right)) }
        })
    }
}

/// A matrix of `Rows` and `Columns` in row-major order, constant during the launch, read at any row and column.
#[derive(Debug)]
pub struct Matrix<T, Rows, Columns> {
    first: *const T,
    columns: u32,
    names: PhantomData<fn() -> (Rows, Columns)>,
}

impl<T, R, C> Clone for Matrix<T, R, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, R, C> Copy for Matrix<T, R, C> {}

impl<T: Bits, R, C> Matrix<T, R, C> {
    /// # Safety
    /// `R` times `C` elements from `first` on are there and not written during the launch.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *const T, columns: u32) -> Self {
        Self { first, columns, names: PhantomData }
    }

    /// The element of a row and column.
    #[inline(always)]
    #[must_use]
    pub fn at(self, row: Below<R>, column: Below<C>) -> T {
        // SAFETY: the matrix has that row and column.
        unsafe { *self.first.add(element(row.get(), self.columns, column.get())) }
    }

    /// A row, element by element.
    #[inline(always)]
    #[must_use]
    pub fn row(self, row: Below<R>) -> Strip<T, C> {
        let first = self.first.wrapping_add(element(row.get(), self.columns, 0));
        Strip { next: first, apart: 1, name: PhantomData }
    }

    /// A column, element by element.
    #[inline(always)]
    #[must_use]
    pub fn column(self, column: Below<C>) -> Strip<T, R> {
        let first = self.first.wrapping_add(column.get() as usize);
        Strip { next: first, apart: self.columns as usize, name: PhantomData }
    }

    /// The element of a row and column, if the matrix has them.
    #[inline(always)]
    #[must_use]
    pub fn get(self, row: u32, column: u32, rows: Extent<R>, columns: Extent<C>) -> Option<T> {
        if (row < rows.get()) & (column < columns.get()) {
            // SAFETY: they were just compared.
            Some(unsafe { *self.first.add(element(row, self.columns, column)) })
        } else {
            None
        }
    }
}

/// A row or column of a matrix, of `Length` elements.
#[derive(Clone, Copy, Debug)]
pub struct Strip<T, Length> {
    next: *const T,
    apart: usize,
    name: PhantomData<fn() -> Length>,
}

/// Steps of [`Strip::fold_with`] between two tests of the loop.
const AT_A_TIME: u32 = 32;

impl<T: Bits + Access, Length> Strip<T, Length> {
    /// Goes through two strips side by side: `step` gets what it returned before and an element of each.
    ///
    /// 32 steps at a time, which leaves little beside the loads but the addition to the address of the strip whose elements
    /// are not neighbours.
    #[inline(always)]
    pub fn fold_with<U: Bits + Access, A>(
        mut self,
        mut other: Strip<U, Length>,
        length: Extent<Length>,
        start: A,
        step: impl Fn(A, T, U) -> A,
    ) -> A {
        let mut state = start;
        let mut left = length.get();
        // SAFETY: as many steps are taken as both strips have elements.
        unsafe {
            while left >= AT_A_TIME {
                state = repeat::<AT_A_TIME, _>(state, |state, _| step(state, self.take(), other.take()));
                left -= AT_A_TIME;
            }
            while left > 0 {
                state = step(state, self.take(), other.take());
                left -= 1;
            }
        }
        state
    }

    /// # Safety
    /// There is another element.
    #[inline(always)]
    unsafe fn take(&mut self) -> T {
        // By name, since LLVM does not trace a pointer that far back to read-only memory.
        // SAFETY: promised by the caller; nothing writes the matrix during the launch.
        let value = unsafe { load_read_only(self.next) };
        self.next = self.next.wrapping_add(self.apart);
        value
    }
}
