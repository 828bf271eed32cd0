//! The code of a whole block: where barriers and the exchange between threads belong.
//!
//! A kernel that takes a [`Block`] is not one thread's code but the block's. Everything that it sees (parameters, the
//! block's place, what it computes from them) is the same for all threads of the block, and so is every branch that it
//! takes. Work for the threads stands in closures that it hands to them, [`each`](Block::each) and
//! [`write`](Block::write); what a closure returns comes back as a [`PerThread`] value, which the block can keep and hand on
//! but not look into. So a branch that only some threads take cannot contain a barrier: its condition would be a
//! `PerThread<bool>`, which `if` does not accept.
//!
//! ```compile_fail
//! use cuda_safe::{Block, shape::Warps};
//!
//! fn kernel(mut block: Block<Warps>) {
//!     let some = block.each(|thread| thread.x() < 3);
//!     if some {
//!         block.barrier();
//!     }
//! }
//! ```

use core::fmt;
use core::marker::PhantomData;

use cuda_std::thread;
use cuda_std::warp::{self, WarpShuffleValue};

use crate::bits::Bits;
use crate::contained::Contained;
use crate::extent::{Bounds, Extent};
use crate::parameter::{PerBlock, Width};
use crate::place::{Mine, Mine2};
use crate::sealed::{Key, Sealed};
use crate::shape::{
    Fixed, Linear, Planar, Shape, Sliced, Square, TILE_ROWS, Tiles, Warps, WholeWarps, block_start,
};
use crate::thread::Thread;
use crate::tile::{CanWrite, Cells, EachThreads, Full, Halved, Layout, Tile, Turn, Written};

/// The whole block, whose code this is; see the [module](self).
#[derive(Debug)]
pub struct Block<S>(PhantomData<(S, *mut ())>);

/// A value for each thread of the block, which only that thread can look at.
pub struct PerThread<T>(T);

impl<T: Copy> Clone for PerThread<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy> Copy for PerThread<T> {}

/// Says nothing of the value, which the block's code must not see.
impl<T> fmt::Debug for PerThread<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PerThread(..)")
    }
}

impl<T: Copy> PerThread<T> {
    /// The thread's own value.
    #[inline(always)]
    pub fn of<S>(&self, _: &Thread<S>) -> T {
        self.0
    }

    /// What `code` makes of each thread's value.
    #[inline(always)]
    pub(crate) fn then<R>(self, code: impl FnOnce(T) -> R) -> PerThread<R> {
        PerThread(code(self.0))
    }

    /// The value, which the caller knows to be the same for all threads that run this code.
    #[inline(always)]
    pub(crate) fn uniform(self) -> T {
        self.0
    }

    /// Both values of each thread.
    #[inline(always)]
    #[must_use]
    pub fn zip<U: Copy>(self, other: PerThread<U>) -> PerThread<(T, U)> {
        PerThread((self.0, other.0))
    }
}

impl<S: Shape> Block<S> {
    /// # Safety
    /// This is the code of all threads of a block of this shape.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(PhantomData)
    }

    /// Has each thread run `code`.
    #[inline(always)]
    pub fn each<R, F>(&mut self, code: F) -> PerThread<R>
    where
        F: Fn(&Thread<S>) -> R + Contained,
    {
        // SAFETY: the block's code is run by its threads.
        PerThread(code(&unsafe { Thread::new() }))
    }

    /// Has each thread run `code` with its own value.
    #[inline(always)]
    pub fn map<T, R, F>(&mut self, values: PerThread<T>, code: F) -> PerThread<R>
    where
        F: Fn(&Thread<S>, T) -> R + Contained,
    {
        // SAFETY: the block's code is run by its threads.
        PerThread(code(&unsafe { Thread::new() }, values.0))
    }

    /// Has each thread write its own cells of a tile.
    #[inline(always)]
    pub fn write<T, L, State, F>(&mut self, tile: Tile<T, L, State>, code: F) -> Tile<T, L, Written>
    where
        T: Bits,
        L: Layout,
        State: CanWrite,
        F: Fn(&Thread<S>, Cells<'_, T, L>) + Contained,
    {
        // SAFETY: the block's code is run by its threads.
        code(&unsafe { Thread::new() }, tile.cells());
        tile.into_state()
    }

    /// Waits until all threads of the block arrive. Tiles that were written can then be read, and tiles that were read
    /// can be written again.
    #[inline(always)]
    pub fn sync<T: Turn>(&mut self, tiles: T) -> T::Next {
        thread::sync_threads();
        tiles.turn(Key::new())
    }

    /// A barrier, which all threads of the block reach.
    #[inline(always)]
    pub fn barrier(&mut self) {
        thread::sync_threads();
    }

    /// True for all threads if `says` is true in any of them. Waits at a barrier; the result is uniform over the block.
    #[inline(always)]
    #[must_use]
    pub fn any(&mut self, says: PerThread<bool>) -> bool {
        thread::sync_threads_or(u32::from(says.0)) != 0
    }

    /// True for all threads if `says` is true in all of them. Waits at a barrier; the result is uniform over the block.
    #[inline(always)]
    #[must_use]
    pub fn all(&mut self, says: PerThread<bool>) -> bool {
        thread::sync_threads_and(u32::from(says.0)) != 0
    }
}

/// Consecutive indices for the threads of a block, one each: see [`Block::grid_stride`] and [`Block::slice`].
#[derive(Debug)]
pub struct Chunk<S, N> {
    first: usize,
    end: usize,
    names: PhantomData<fn() -> (S, N)>,
}

impl<S, N> Clone for Chunk<S, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, N> Copy for Chunk<S, N> {}

impl<S: Shape, N> Chunk<S, N> {
    /// The thread's index in the chunk, if it is below the length.
    #[inline(always)]
    #[must_use]
    pub fn of(self, _: &Thread<S>) -> Option<Mine<N>> {
        let index = self.first + thread::thread_idx_x() as usize;
        // SAFETY: the end is at most the length, and chunks give no index to two threads.
        if index < self.end { Some(unsafe { Mine::new(index) }) } else { None }
    }
}

impl<S: Linear> Block<S> {
    /// The chunks of a grid-stride loop: the block's first one and every one that lies a grid further on. All threads of the
    /// block leave the loop together, so it may contain a barrier.
    #[inline(always)]
    pub fn grid_stride<N, B: Bounds<N>>(&self, all: B) -> impl Iterator<Item = Chunk<S, N>> + use<S, N, B> {
        let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
        let first = block_start();
        let end = all.length();
        core::iter::successors(Some(first), move |first| Some(first + threads))
            .take_while(move |&first| first < end)
            .map(move |first| Chunk { first, end, names: PhantomData })
    }

    /// Threads of the block.
    #[inline(always)]
    #[must_use]
    pub fn threads(&self) -> u32 {
        thread::block_dim_x()
    }
}

impl Block<Sliced> {
    /// The chunks of the block's own slice, which begins behind those of the blocks before it.
    #[inline(always)]
    pub fn slice<N, B: Bounds<N>>(
        &self,
        all: B,
        slice: PerBlock,
    ) -> impl Iterator<Item = Chunk<Sliced, N>> + use<N, B> {
        let first = thread::block_idx_x() as usize * slice.get();
        let end = all.length().min(first + slice.get());
        let threads = thread::block_dim_x() as usize;
        core::iter::successors(Some(first), move |first| Some(first + threads))
            .take_while(move |&first| first < end)
            .map(move |first| Chunk { first, end, names: PhantomData })
    }
}

/// A proof that all of the block's tile is within the extents `X` and `Y`.
#[derive(Debug)]
pub struct Whole<X, Y>(PhantomData<fn() -> (X, Y)>);

impl<X, Y> Clone for Whole<X, Y> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<X, Y> Copy for Whole<X, Y> {}

impl<const WIDTH: u32> Block<Tiles<WIDTH>> {
    /// A proof that the block's tile lies within the extents, so that no element needs a bounds check.
    #[inline(always)]
    #[must_use]
    pub fn whole<X, Y>(&self, nx: Extent<X>, ny: Extent<Y>) -> Option<Whole<X, Y>> {
        let right = (thread::block_idx_x() + 1) * WIDTH;
        let bottom = (thread::block_idx_y() + 1) * TILE_ROWS;
        if right <= nx.get() && bottom <= ny.get() { Some(Whole(PhantomData)) } else { None }
    }
}

/// A proof that the indices of all threads of the block are below `N`.
#[derive(Debug)]
pub struct Inside<N>(PhantomData<fn() -> N>);

impl<N> Clone for Inside<N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Inside<N> {}

impl<N> Inside<N> {
    /// The thread's index.
    #[inline(always)]
    #[must_use]
    pub fn index<S: Linear>(self, thread: &Thread<S>) -> Mine<N> {
        // SAFETY: the index is below N.
        unsafe { Mine::new(thread.number()) }
    }
}

impl<S: Linear> Block<S> {
    /// A proof that the indices of all the block's threads are below the length. None needs a bounds check.
    #[inline(always)]
    #[must_use]
    pub fn inside<N>(&self, all: impl Bounds<N>) -> Option<Inside<N>> {
        let threads = thread::block_dim_x() as usize;
        if all.has(block_start() + threads - 1) { Some(Inside(PhantomData)) } else { None }
    }
}

/// A proof that the positions of all threads of the block are within the extents `X` and `Y`.
#[derive(Debug)]
pub struct Inside2<X, Y>(PhantomData<fn() -> (X, Y)>);

impl<X, Y> Clone for Inside2<X, Y> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<X, Y> Copy for Inside2<X, Y> {}

impl<X, Y> Inside2<X, Y> {
    /// The thread's position.
    #[inline(always)]
    #[must_use]
    pub fn position<S: Planar>(self, _: &Thread<S>) -> Mine2<X, Y> {
        let (x, y) = S::position(Key::new());
        // SAFETY: the position is within both extents.
        unsafe { Mine2::new(x, y) }
    }
}

impl<const X: u32, const Y: u32> Block<Fixed<X, Y>> {
    /// A proof that the positions of all the block's threads lie within the extents. None needs a bounds check.
    #[inline(always)]
    #[must_use]
    pub fn inside<Nx, Ny>(&self, nx: Extent<Nx>, ny: Extent<Ny>) -> Option<Inside2<Nx, Ny>> {
        let right = (thread::block_idx_x() + 1) * X;
        let bottom = (thread::block_idx_y() + 1) * Y;
        if right <= nx.get() && bottom <= ny.get() { Some(Inside2(PhantomData)) } else { None }
    }
}

impl Block<Square> {
    /// Threads along a side of the block.
    #[inline(always)]
    #[must_use]
    pub fn side(&self) -> u32 {
        thread::block_dim_x()
    }
}

/// Threads in whole warps that run together, so that lanes can exchange values: a [`Block`] or a [`Warp`].
pub trait Lanes: Sealed {
    /// The layout of the threads.
    type Shape: WholeWarps;

    /// Has each thread make a value of its own value.
    fn map<T, R, F>(&mut self, values: PerThread<T>, code: F) -> PerThread<R>
    where
        F: Fn(&Thread<Self::Shape>, T) -> R + Contained;

    /// Each thread's value from the lane `distance` above, within segments of `width` lanes. A lane that finds none there keeps
    /// its own (`shfl.sync.down`). Of `distance` the low five bits count.
    #[inline(always)]
    fn shuffle_down<T: WarpShuffleValue>(
        &mut self,
        values: PerThread<T>,
        distance: u32,
        width: Width,
    ) -> PerThread<T> {
        // SAFETY: whole warps call this together.
        PerThread(unsafe { warp::warp_shuffle_down(FULL, values.0, distance, width.get()) }.0)
    }

    /// Each thread's value from the lane `distance` below; see [`shuffle_down`](Lanes::shuffle_down) (`shfl.sync.up`).
    #[inline(always)]
    fn shuffle_up<T: WarpShuffleValue>(
        &mut self,
        values: PerThread<T>,
        distance: u32,
        width: Width,
    ) -> PerThread<T> {
        // SAFETY: whole warps call this together.
        PerThread(unsafe { warp::warp_shuffle_up(FULL, values.0, distance, width.get()) }.0)
    }

    /// Each thread's value from the lane whose number differs in the bits of `bits` (`shfl.sync.bfly`).
    #[inline(always)]
    fn shuffle_xor<T: WarpShuffleValue>(
        &mut self,
        values: PerThread<T>,
        bits: u32,
        width: Width,
    ) -> PerThread<T> {
        // SAFETY: whole warps call this together.
        PerThread(unsafe { warp::warp_shuffle_xor(FULL, values.0, bits, width.get()) }.0)
    }

    /// Each thread's value from the lane of its segment that it names itself, modulo `width` (`shfl.sync.idx`).
    #[inline(always)]
    fn shuffle_from<T: WarpShuffleValue>(
        &mut self,
        values: PerThread<T>,
        lanes: PerThread<u32>,
        width: Width,
    ) -> PerThread<T> {
        // SAFETY: whole warps call this together.
        PerThread(unsafe { warp::warp_shuffle_idx(FULL, values.0, lanes.0, width.get()) }.0)
    }

    /// Each thread's value from one lane of its segment, modulo `width` (`shfl.sync.idx`): a broadcast.
    #[inline(always)]
    fn broadcast<T: WarpShuffleValue>(
        &mut self,
        values: PerThread<T>,
        lane: u32,
        width: Width,
    ) -> PerThread<T> {
        self.shuffle_from(values, PerThread(lane), width)
    }
}

/// The mask of a whole warp.
pub(crate) const FULL: u32 = u32::MAX;

impl<S: WholeWarps> Sealed for Block<S> {}
impl<S: WholeWarps> Sealed for Warp<S> {}

impl<S: WholeWarps> Lanes for Block<S> {
    type Shape = S;

    #[inline(always)]
    fn map<T, R, F>(&mut self, values: PerThread<T>, code: F) -> PerThread<R>
    where
        F: Fn(&Thread<S>, T) -> R + Contained,
    {
        Block::map(self, values, code)
    }
}

/// The first warp of the block, whose code this is.
#[derive(Debug)]
pub struct Warp<S = Warps>(PhantomData<(S, *mut ())>);

impl<S: WholeWarps> Warp<S> {
    /// Has each thread of the warp run `code`.
    #[inline(always)]
    pub fn each<R, F>(&mut self, code: F) -> PerThread<R>
    where
        F: Fn(&Thread<S>) -> R + Contained,
    {
        // SAFETY: the warp's code is run by its threads.
        PerThread(code(&unsafe { Thread::new() }))
    }
}

impl<S: WholeWarps> Lanes for Warp<S> {
    type Shape = S;

    #[inline(always)]
    fn map<T, R, F>(&mut self, values: PerThread<T>, code: F) -> PerThread<R>
    where
        F: Fn(&Thread<S>, T) -> R + Contained,
    {
        // SAFETY: the warp's code is run by its threads.
        PerThread(code(&unsafe { Thread::new() }, values.0))
    }
}

impl<S: WholeWarps> Block<S> {
    /// Has the first warp run `code`. A kernel that ends with it lets the other warps go.
    #[inline(always)]
    pub fn first_warp<F>(&mut self, code: F)
    where
        F: Fn(&mut Warp<S>) + Contained,
    {
        if thread::thread_idx_x() / 32 == 0 {
            code(&mut Warp(PhantomData));
        }
    }

    /// Has the first warp run `code`, which gives its threads a value. The other threads get `otherwise`.
    #[inline(always)]
    pub fn first_warp_or<T, F>(&mut self, otherwise: T, code: F) -> PerThread<T>
    where
        T: Copy,
        F: Fn(&mut Warp<S>) -> PerThread<T> + Contained,
    {
        if thread::thread_idx_x() / 32 == 0 { code(&mut Warp(PhantomData)) } else { PerThread(otherwise) }
    }
}

impl Block<Warps> {
    /// Performs one step of a tree reduction. Each of the first `distance` threads combines its value with the cell of
    /// the thread `distance` further on, if the block has that one, and writes the result to its own cell. A tile and
    /// the threads' values hold the same before and after.
    ///
    /// Reads and writes fall in different halves, so one barrier per halving is enough.
    #[inline(always)]
    pub fn halve<T, F>(
        &mut self,
        tile: Tile<T, EachThreads, Full>,
        values: PerThread<T>,
        distance: u32,
        combine: F,
    ) -> (Tile<T, EachThreads, Halved>, PerThread<T>)
    where
        T: Bits,
        F: Fn(T, T) -> T + Contained,
    {
        let (x, threads) = (thread::thread_idx_x(), thread::block_dim_x());
        let mut value = values.0;
        // A subtraction, since a sum could overflow: the distance is any number.
        if x < distance && distance < threads - x {
            // SAFETY: both cells are the tile's. This one is the thread's own; the other belongs to a thread that is not
            // below `distance`, which writes nothing here.
            unsafe {
                let cell = tile.pointer().add(x as usize);
                value = combine(value, *cell.add(distance as usize));
                cell.write(value);
            }
        }
        (tile.into_state(), PerThread(value))
    }

    /// [`halve`](Block::halve) for each warp by itself, behind a barrier of the warp: `distance` is at most 16.
    ///
    /// # Panics
    /// `distance` is more than 16. The check is gone where the compiler knows the number.
    #[inline(always)]
    pub fn halve_warps<T, F>(
        &mut self,
        tile: Tile<T, EachThreads, Written>,
        values: PerThread<T>,
        distance: u32,
        combine: F,
    ) -> (Tile<T, EachThreads, Written>, PerThread<T>)
    where
        T: Bits,
        F: Fn(T, T) -> T + Contained,
    {
        assert!(distance <= 16);
        let mut value = values.0;
        // SAFETY: whole warps call this together. Both cells are of this warp; the other belongs to a lane that is not below
        // `distance`, which writes nothing before the warp's next barrier.
        unsafe {
            warp::sync_warp(FULL);
            if warp::lane_id() < distance {
                let cell = tile.pointer().add(thread::thread_idx_x() as usize);
                value = combine(value, *cell.add(distance as usize));
                cell.write(value);
            }
        }
        (tile, PerThread(value))
    }
}
