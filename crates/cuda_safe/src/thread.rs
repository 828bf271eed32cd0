//! One thread: where it may be asked which it is.

use core::marker::PhantomData;

use cuda_std::{thread, warp};

use crate::extent::{Bounds, Extent};
use crate::place::{Mine, Mine2, OfBlock, OfWarp, Own, Proof, Run, Run2};
use crate::sealed::Key;
use crate::shape::{
    AlongX, Diagonal, Fixed, Line, Linear, Planar, Plane, Runs, Shape, Square, Unrolled, WarpRuns, WholeWarps,
};

/// One thread of a launch.
///
/// A kernel that takes a `Thread` as its first parameter is the code of one thread and has no barriers. In a kernel that
/// takes a [`Block`](crate::Block), closures get one. Only it tells what differs between threads.
#[derive(Debug)]
pub struct Thread<S = Line>(PhantomData<(S, *mut ())>);

impl<S: Shape> Thread<S> {
    /// # Safety
    /// This is the code of one thread of a launch of this shape.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S: AlongX> Thread<S> {
    /// The thread's number in the grid, in 64 bits, so that no grid makes it wrap.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> usize {
        S::number(Key::new())
    }

    /// The thread's number in its block.
    #[inline(always)]
    #[must_use]
    pub fn x(&self) -> u32 {
        thread::thread_idx_x()
    }

    /// The number of the thread's block in the grid.
    #[inline(always)]
    #[must_use]
    pub fn block_number(&self) -> usize {
        thread::block_idx_x() as usize
    }

    /// The thread's place in what has one for each thread.
    #[inline(always)]
    #[must_use]
    pub fn own(&self) -> Own {
        // SAFETY: it is this thread's number.
        unsafe { Own::new(self.number()) }
    }

    /// The block's place in what has one for each block: in the block's first thread, and in no other.
    #[inline(always)]
    #[must_use]
    pub fn of_block(&self) -> Option<OfBlock> {
        // SAFETY: it is the block's number, and one thread of the block gets it.
        if self.x() == 0 { Some(unsafe { OfBlock::new(thread::block_idx_x() as usize) }) } else { None }
    }

    /// The thread's lane in its warp, 0 to 31.
    #[inline(always)]
    #[must_use]
    pub fn lane(&self) -> u32 {
        thread::thread_idx_x() % 32
    }
}

impl<S: Shape> Thread<S> {
    /// The thread's index, if `all` has an element there. One comparison, and nothing that has the same length needs
    /// another.
    #[inline(always)]
    #[must_use]
    pub fn index<N>(&self, all: impl Bounds<N>) -> Option<Mine<N>>
    where
        S: Linear,
    {
        let index = self.number();
        // SAFETY: it was just compared.
        if all.has(index) { Some(unsafe { Mine::new(index) }) } else { None }
    }

    /// The thread's index and every `threads`-th from there on, while `all` has elements there.
    #[inline(always)]
    pub fn grid_stride<N>(&self, all: impl Bounds<N> + Copy) -> impl Iterator<Item = Mine<N>>
    where
        S: Linear,
    {
        let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
        core::iter::successors(Some(self.number()), move |index| Some(index + threads))
            .take_while(move |&index| all.has(index))
            // SAFETY: it was just compared.
            .map(|index| unsafe { Mine::new(index) })
    }
}

impl<S: WholeWarps> Thread<S> {
    /// The thread's lane in its warp, from the register that holds it.
    #[inline(always)]
    #[must_use]
    pub fn lane_id(&self) -> u32 {
        warp::lane_id()
    }

    /// The warp's place in an array with one element per 32 elements of `all`. The warp's first thread has it, if `all`
    /// has any of the warp's elements.
    #[inline(always)]
    #[must_use]
    pub fn of_warp<N>(&self, all: impl Bounds<N>) -> Option<OfWarp<N>>
    where
        S: Linear,
    {
        let index = self.number();
        // SAFETY: it is the warp's number, since blocks are whole warps, and one thread of the warp gets it.
        if warp::lane_id() == 0 && all.has(index) { Some(unsafe { OfWarp::new(index / 32) }) } else { None }
    }
}

impl<const COUNT: usize> Thread<Runs<COUNT>> {
    /// The thread's `COUNT` indices, if `all` has all of them; else those that it has.
    ///
    /// # Errors
    /// Not all of them are there: the iterator gives those that are.
    #[inline(always)]
    pub fn run<N>(&self, all: impl Bounds<N>) -> Result<Run<N, COUNT>, impl Iterator<Item = Mine<N>>> {
        let apart = thread::block_dim_x() as usize;
        let first = thread::block_idx_x() as usize * apart * COUNT + thread::thread_idx_x() as usize;
        if all.has(first + (COUNT - 1) * apart) {
            // SAFETY: the last one is below the length, and so are those before it.
            Ok(unsafe { Run::new(first, apart) })
        } else {
            Err((0..COUNT - 1).filter_map(move |turn| {
                let index = first + turn * apart;
                // SAFETY: it was just compared.
                if all.has(index) { Some(unsafe { Mine::new(index) }) } else { None }
            }))
        }
    }
}

impl<const COUNT: usize> Thread<WarpRuns<COUNT>> {
    /// The thread's `COUNT` indices, if `all` has all of them; else those that it has.
    ///
    /// # Errors
    /// Not all of them are there.
    #[inline(always)]
    pub fn run<N, B: Bounds<N>>(&self, all: B) -> Result<Run<N, COUNT>, Rest<N, B, COUNT>> {
        let number = self.number();
        let first = number / 32 * 32 * COUNT + number % 32;
        if all.has(first + (COUNT - 1) * 32) {
            // SAFETY: the last one is below the length, and so are those before it; warps have different runs.
            Ok(unsafe { Run::new(first, 32) })
        } else {
            Err(Rest { first, all, thread: PhantomData })
        }
    }
}

/// Those of a thread's indices that are below the length, if not all of them are; see [`Thread::run`].
#[derive(Debug)]
pub struct Rest<N, B, const COUNT: usize> {
    first: usize,
    all: B,
    thread: Proof<N>,
}

impl<N, B: Bounds<N>, const COUNT: usize> Rest<N, B, COUNT> {
    /// The index with this number among the thread's, if it is below the length.
    ///
    /// # Panics
    /// The thread has fewer indices. The check is gone where the compiler knows the number.
    #[inline(always)]
    #[must_use]
    pub fn nth(&self, nth: usize) -> Option<Mine<N>> {
        assert!(nth < COUNT);
        let index = self.first + nth * 32;
        // SAFETY: it was just compared; it is one of the thread's run, and warps have different runs.
        if self.all.has(index) { Some(unsafe { Mine::new(index) }) } else { None }
    }
}

impl Planar for Plane {
    // The order in which the factors are read decides which of them ptxas keeps in uniform registers, and kernels differ in
    // what suits them: with this order, none is more than 1.3% behind its fastest.
    #[inline(always)]
    fn position(_: Key) -> (u32, u32) {
        (
            thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x(),
            thread::block_dim_y() * thread::block_idx_y() + thread::thread_idx_y(),
        )
    }
}

impl<const DIVIDES: bool> Planar for Diagonal<DIVIDES> {
    #[inline(always)]
    fn position(_: Key) -> (u32, u32) {
        let (width, height) = (thread::grid_dim_x(), thread::grid_dim_y());
        let (across, down) = (thread::block_idx_x(), thread::block_idx_y());
        let (x, y) = if width == height {
            let x = across + down;
            let x = if DIVIDES {
                x % width
            } else if x < width {
                x
            } else {
                x - width
            };
            (x, across)
        } else {
            let number = down * width + across;
            ((number / height + number % height) % width, number % height)
        };
        (
            x * thread::block_dim_x() + thread::thread_idx_x(),
            y * thread::block_dim_y() + thread::thread_idx_y(),
        )
    }
}

impl<const X: u32, const Y: u32> Planar for Fixed<X, Y> {
    #[inline(always)]
    fn position(_: Key) -> (u32, u32) {
        (
            thread::block_idx_x() * X + thread::thread_idx_x(),
            thread::block_idx_y() * Y + thread::thread_idx_y(),
        )
    }
}

impl Planar for Square {
    #[inline(always)]
    fn position(_: Key) -> (u32, u32) {
        let width = thread::block_dim_x();
        (
            thread::block_idx_x() * width + thread::thread_idx_x(),
            thread::block_idx_y() * width + thread::thread_idx_y(),
        )
    }
}

impl<S: Shape> Thread<S> {
    /// The thread's position if it is within both extents: `x` below `nx`, `y` below `ny`. No later access by it compares
    /// again.
    #[inline(always)]
    #[must_use]
    pub fn position<X, Y>(&self, nx: Extent<X>, ny: Extent<Y>) -> Option<Mine2<X, Y>>
    where
        S: Planar,
    {
        let (x, y) = S::position(Key::new());
        // SAFETY: they were just compared.
        if x < nx.get() && y < ny.get() { Some(unsafe { Mine2::new(x, y) }) } else { None }
    }

    /// The thread's position, wherever it is.
    #[inline(always)]
    #[must_use]
    pub fn coordinates(&self) -> (u32, u32)
    where
        S: Planar,
    {
        S::position(Key::new())
    }
}

impl<const COUNT: usize> Thread<Unrolled<COUNT>> {
    /// The thread's `COUNT` positions along x, if all are within the extents; else those that are.
    ///
    /// # Errors
    /// Not all of them are there: the iterator gives those that are.
    #[inline(always)]
    pub fn run<X, Y>(
        &self,
        nx: Extent<X>,
        ny: Extent<Y>,
    ) -> Result<Run2<X, Y, COUNT>, impl Iterator<Item = Mine2<X, Y>>> {
        let apart = thread::block_dim_x();
        let x = thread::block_idx_x() * apart * COUNT as u32 + thread::thread_idx_x();
        let y = thread::block_dim_y() * thread::block_idx_y() + thread::thread_idx_y();
        if x + (COUNT as u32 - 1) * apart < nx.get() && y < ny.get() {
            // SAFETY: the last one is within, and so are those before it.
            Ok(unsafe { Run2::new(x, y, apart) })
        } else {
            let mut column = x;
            Err(core::iter::from_fn(move || {
                if column < nx.get() && y < ny.get() {
                    // SAFETY: they were just compared.
                    let mine = unsafe { Mine2::new(column, y) };
                    column += apart;
                    Some(mine)
                } else {
                    None
                }
            }))
        }
    }
}

impl<const X: u32, const Y: u32> Thread<Fixed<X, Y>> {
    /// The thread's place in its block along x, below `X`.
    #[inline(always)]
    #[must_use]
    pub fn x(&self) -> u32 {
        thread::thread_idx_x()
    }

    /// The thread's place in its block along y, below `Y`.
    #[inline(always)]
    #[must_use]
    pub fn y(&self) -> u32 {
        thread::thread_idx_y()
    }
}

impl Thread<Square> {
    /// The thread's place in its block along x.
    #[inline(always)]
    #[must_use]
    pub fn x(&self) -> u32 {
        thread::thread_idx_x()
    }

    /// The thread's place in its block along y.
    #[inline(always)]
    #[must_use]
    pub fn y(&self) -> u32 {
        thread::thread_idx_y()
    }
}
