//! Shared memory in phases.
//!
//! A [`Tile`] is shared memory of the block, and its type says what may be done with it:
//!
//! - [`Fresh`]: [`Block::write`](crate::Block::write) lets each thread write its own cells; the tile is then
//! - [`Written`]: nothing may be done with it before the barrier, [`Block::sync`](crate::Block::sync), which makes it
//! - [`Full`]: all threads may read all of it, until the next barrier makes it [`Fresh`] again.
//!
//! Each step takes the tile and gives it back in its new state, so an old state cannot be used: reading before the barrier
//! is a method that [`Written`] does not have. Which cells are a thread's own is what the [`Layout`] says.
//!
//! What no thread has written holds some value: any bits are one ([`Bits`]).

use core::marker::PhantomData;

use cuda_std::thread;

use crate::bits::Bits;
use crate::block::Whole;
use crate::extent::{Below, Extent};
use crate::output::Out;
use crate::place::Mine2;
use crate::sealed::{Key, Sealed};
use crate::shape::{BlockTiles, Fixed, Linear, OneBlock, Square, TILE_ROWS, TILE_WARPS, Tiles, WholeWarps};
use crate::space::{AlongRows, Has, element};
use crate::thread::Thread;
use crate::unroll::repeat;

/// May be written, each thread its own cells.
#[derive(Debug)]
pub enum Fresh {}

/// Has been written; waits for the barrier.
#[derive(Debug)]
pub enum Written {}

/// Has been written by some threads while others read it ([`Block::halve`](crate::Block::halve)); waits for the barrier.
#[derive(Debug)]
pub enum Halved {}

/// May be read by all.
#[derive(Debug)]
pub enum Full {}

impl Sealed for Fresh {}
impl Sealed for Full {}

/// A state in which each thread may write its own cells of a tile.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` tile cannot be written: other threads may still be reading or writing it",
    label = "this tile is `{Self}`, and not `Fresh`",
    note = "a tile is `Fresh` when the kernel begins, and after the `block.sync(tile)` that ends the reading of it"
)]
pub trait CanWrite: Sealed {}
impl CanWrite for Fresh {}

/// A state in which all threads may read all of a tile.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` tile cannot be read: other threads may still be writing it",
    label = "this tile is `{Self}`, and not `Full`",
    note = "`block.write(tile, ..)` has the threads write it, `block.sync(tile)` waits for them, and the tile that comes back \
            can be read"
)]
pub trait CanRead: Sealed {}
impl CanRead for Full {}

/// Shared memory of the block, laid out as `L` and in the state `State`; see the [module](self).
#[derive(Debug)]
pub struct Tile<T, L, State = Fresh> {
    first: *mut T,
    state: PhantomData<(L, State)>,
}

impl<T: Bits, L: Layout> Tile<T, L, Fresh> {
    /// # Safety
    /// The layout's cells are there from `first` on in shared memory, and this is the only tile there.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *mut T) -> Self {
        Self { first, state: PhantomData }
    }
}

impl<T, L, State> Tile<T, L, State> {
    #[inline(always)]
    pub(crate) fn cells(&self) -> Cells<'_, T, L> {
        Cells { first: self.first, layout: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn into_state<Next>(self) -> Tile<T, L, Next> {
        Tile { first: self.first, state: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn pointer(&self) -> *mut T {
        self.first
    }
}

/// The cells of a tile while threads write them, each its own.
#[derive(Debug)]
pub struct Cells<'a, T, L> {
    first: *mut T,
    layout: PhantomData<(&'a mut T, L)>,
}

impl<T, L> Cells<'_, T, L> {
    #[inline(always)]
    pub(crate) fn pointer(&self) -> *mut T {
        self.first
    }
}

/// Tiles at a barrier: what was written becomes full, what was full becomes fresh. A tuple shares one barrier.
#[diagnostic::on_unimplemented(
    message = "a barrier does nothing for `{Self}`",
    label = "neither a tile that was written nor one that was read",
    note = "a `Fresh` tile is written first, with `block.write(tile, ..)`; several tiles are a tuple of two: `(a, (b, c))`"
)]
pub trait Turn: Sealed {
    /// The tiles behind the barrier.
    type Next;

    #[doc(hidden)]
    fn turn(self, _: Key) -> Self::Next;
}

impl<T, L, State> Sealed for Tile<T, L, State> {}
impl<A: Turn, B: Turn> Sealed for (A, B) {}

impl<T, L> Turn for Tile<T, L, Written> {
    type Next = Tile<T, L, Full>;

    #[inline(always)]
    fn turn(self, _: Key) -> Self::Next {
        self.into_state()
    }
}

impl<T, L> Turn for Tile<T, L, Halved> {
    type Next = Tile<T, L, Full>;

    #[inline(always)]
    fn turn(self, _: Key) -> Self::Next {
        self.into_state()
    }
}

impl<T, L> Turn for Tile<T, L, Full> {
    type Next = Tile<T, L, Fresh>;

    #[inline(always)]
    fn turn(self, _: Key) -> Self::Next {
        self.into_state()
    }
}

impl<A: Turn, B: Turn> Turn for (A, B) {
    type Next = (A::Next, B::Next);

    #[inline(always)]
    fn turn(self, key: Key) -> Self::Next {
        (self.0.turn(key), self.1.turn(key))
    }
}

/// The number of a tile's cells, and each thread's own among them. All layouts are defined in this module.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout of a tile",
    label = "not a layout",
    note = "the layouts are in `cuda_safe::tile`: `Rows`, `PerPosition`, `EachThreads`, `Halo` and others"
)]
pub trait Layout: Sealed + 'static {
    /// The cells, where the compiler knows how many; 0 for a tile in dynamic shared memory.
    const CELLS: usize;
}

/// A layout whose cells can be counted in a launch with the numbers `L`.
pub trait Dynamic<L>: Layout {
    /// The cells of a tile in dynamic shared memory, with blocks of this shape; 0 for a static tile.
    #[must_use]
    fn cells(launch: &L, block: [u32; 3]) -> usize;

    /// The same as people read it.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    fn formula() -> alloc::string::String;
}

/// A layout whose size the compiler knows.
macro_rules! in_static_memory {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Sealed for $type {}

        impl<L, $($generics)*> Dynamic<L> for $type {
            #[inline(always)]
            fn cells(_: &L, _: [u32; 3]) -> usize {
                0
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn formula() -> alloc::string::String {
                alloc::string::String::new()
            }
        }
    )*};
}

in_static_memory! {
    [const WIDTH: u32, const PITCH: u32] Rows<WIDTH, PITCH>;
    [const X: u32, const Y: u32] PerPosition<X, Y>;
    [] EachWarps;
    [const THREADS: u32] EachOf<THREADS>;
}

/// A layout whose size follows from the block.
macro_rules! in_dynamic_memory {
    ($([$($generics:tt)*] $type:ty, [$($bounds:tt)*], |$launch:ident, $block:ident| $cells:expr, $formula:expr;)*) => {$(
        impl<$($generics)*> Sealed for $type {}

        impl<L, $($generics)*> Dynamic<L> for $type
        where
            $($bounds)*
        {
            #[inline(always)]
            fn cells($launch: &L, $block: [u32; 3]) -> usize {
                let _ = $launch;
                $cells
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn formula() -> alloc::string::String {
                $formula.into()
            }
        }
    )*};
}

in_dynamic_memory! {
    [] SquareCells, [], |launch, block| block[0] as usize * block[1] as usize, "block.x * block.y";
    [] EachThreads, [], |launch, block| block[0] as usize, "block.x";
    [const RADIUS: usize] Halo<RADIUS>, [], |launch, block| block[0] as usize + 2 * RADIUS,
        alloc::format!("block.x + {}", 2 * RADIUS);
    [Padding: 'static] PaddedBlock<Padding>, [L: Has<Padding>],
        |launch, block| block[1] as usize * (block[0] as usize + launch.value() as usize),
        "block.y * (block.x + padding)";
}

impl Layout for SquareCells {
    const CELLS: usize = 0;
}

impl Layout for EachThreads {
    const CELLS: usize = 0;
}

impl<const RADIUS: usize> Layout for Halo<RADIUS> {
    const CELLS: usize = {
        assert!(RADIUS <= 1 << 16, "a halo of more than 65536 cells fits in no shared memory");
        0
    };
}

impl<Padding: 'static> Layout for PaddedBlock<Padding> {
    const CELLS: usize = 0;
}

/// 32 rows of `WIDTH` cells, `PITCH` cells apart, for blocks of [`Tiles<WIDTH>`]. A thread's own cells are those of
/// [`Thread::corner`] and the steps from there.
#[derive(Debug)]
pub enum Rows<const WIDTH: u32, const PITCH: u32> {}

impl<const WIDTH: u32, const PITCH: u32> Layout for Rows<WIDTH, PITCH> {
    const CELLS: usize = {
        assert!(PITCH >= WIDTH, "the rows of a tile are at least as far apart as they are wide");
        assert!(WIDTH.is_multiple_of(32), "a tile is a whole number of warps wide");
        (TILE_ROWS * PITCH) as usize
    };
}

/// One cell for each thread of a block of [`Fixed<X, Y>`], row by row.
#[derive(Debug)]
pub enum PerPosition<const X: u32, const Y: u32> {}

impl<const X: u32, const Y: u32> Layout for PerPosition<X, Y> {
    const CELLS: usize = (X * Y) as usize;
}

/// One cell for each thread of a [`Square`] block, row by row, in dynamic shared memory.
#[derive(Debug)]
pub enum SquareCells {}

/// One cell for each warp, written by its first lane.
#[derive(Debug)]
pub enum EachWarps {}

/// The most warps that a block has.
const MOST_WARPS: u32 = 32;

impl Layout for EachWarps {
    const CELLS: usize = MOST_WARPS as usize;
}

/// One cell for each thread of a block along x, in dynamic shared memory.
#[derive(Debug)]
pub enum EachThreads {}

/// One cell for each of the `THREADS` of [`OneBlock<THREADS>`].
#[derive(Debug)]
pub enum EachOf<const THREADS: u32> {}

impl<const THREADS: u32> Layout for EachOf<THREADS> {
    const CELLS: usize = THREADS as usize;
}

/// One cell for each thread of a block along x, and `RADIUS` more on either side, in dynamic shared memory.
#[derive(Debug)]
pub enum Halo<const RADIUS: usize> {}

/// One cell per thread of a [`BlockTiles`] block, row by row, in dynamic shared memory. `Padding` more follow each row.
#[derive(Debug)]
pub struct PaddedBlock<Padding>(PhantomData<Padding>);

// ------------------------------------------------------------------------------------------ one cell for each thread

impl<T: Bits, const X: u32, const Y: u32> Cells<'_, T, PerPosition<X, Y>> {
    /// Writes the thread's own cell.
    #[inline(always)]
    pub fn set(&self, thread: &Thread<Fixed<X, Y>>, value: T) {
        // SAFETY: the host holds blocks to X by Y, so the cell is the thread's own.
        unsafe { self.first.add((thread.y() * X + thread.x()) as usize).write(value) }
    }
}

impl<T: Bits, const X: u32, const Y: u32, State> Tile<T, PerPosition<X, Y>, State> {
    /// `COUNT` cells of the thread's row, from `first` on.
    ///
    /// # Panics
    /// A row is shorter. The check is gone where the compiler knows `first`.
    #[inline(always)]
    #[must_use]
    pub fn row<const COUNT: usize>(&self, thread: &Thread<Fixed<X, Y>>, first: usize) -> [T; COUNT]
    where
        State: CanRead,
    {
        assert!(COUNT <= X as usize && first <= X as usize - COUNT);
        // SAFETY: the row is the thread's, below Y.
        let row = unsafe { self.first.add((thread.y() * X) as usize + first) };
        // SAFETY: the cells are within the tile, which nobody writes in this state.
        core::array::from_fn(|nth| unsafe { *row.add(nth) })
    }

    /// `COUNT` cells of the thread's column, from `first` on.
    ///
    /// # Panics
    /// A column is shorter. The check is gone where the compiler knows `first`.
    #[inline(always)]
    #[must_use]
    pub fn column<const COUNT: usize>(&self, thread: &Thread<Fixed<X, Y>>, first: usize) -> [T; COUNT]
    where
        State: CanRead,
    {
        assert!(COUNT <= Y as usize && first <= Y as usize - COUNT);
        // SAFETY: the column is the thread's, below X.
        let column = unsafe { self.first.add(thread.x() as usize + first * X as usize) };
        // SAFETY: the cells are within the tile, which nobody writes in this state.
        core::array::from_fn(|nth| unsafe { *column.add(nth * X as usize) })
    }
}

impl<T: Bits> Cells<'_, T, SquareCells> {
    /// Writes the thread's own cell.
    #[inline(always)]
    pub fn set(&self, thread: &Thread<Square>, value: T) {
        // SAFETY: the cell is the thread's own.
        unsafe { self.first.add((thread.y() * thread::block_dim_x() + thread.x()) as usize).write(value) }
    }
}

impl<T: Bits, State> Tile<T, SquareCells, State> {
    /// The thread's row.
    #[inline(always)]
    #[must_use]
    pub fn row(&self, thread: &Thread<Square>) -> Line<'_, T>
    where
        State: CanRead,
    {
        let side = thread::block_dim_x();
        // SAFETY: the row is the thread's, within the tile.
        let first = unsafe { self.first.add((thread.y() * side) as usize) };
        Line { first, apart: 1, tile: PhantomData }
    }

    /// The thread's column.
    #[inline(always)]
    #[must_use]
    pub fn column(&self, thread: &Thread<Square>) -> Line<'_, T>
    where
        State: CanRead,
    {
        let side = thread::block_dim_x();
        // SAFETY: the column is the thread's, within the tile.
        let first = unsafe { self.first.add(thread.x() as usize) };
        Line { first, apart: side, tile: PhantomData }
    }
}

/// A row or column of a [`Square`] block's tile, as long as a side of the block.
#[derive(Debug)]
pub struct Line<'a, T> {
    first: *const T,
    apart: u32,
    tile: PhantomData<&'a T>,
}

impl<T: Bits> Line<'_, T> {
    /// Goes through two lines side by side: `step` gets what it returned before and a cell of each.
    ///
    /// Sixteen steps at a time, then four, then one. Cells are counted in 32 bits: pointers that are moved on from step to
    /// step are 64 bits wide to ptxas, and cost the product of tiles as wide as the block 3 to 6% (H200).
    #[inline(always)]
    pub fn fold_with<A>(&self, other: &Line<'_, T>, start: A, step: impl Fn(A, T, T) -> A) -> A {
        let (mut at, mut other_at) = (0, 0);
        let mut take = |state: A| {
            // SAFETY: as many steps are taken as a side of the block is long, and so are both lines, within tiles that
            // nobody writes in this state.
            let next =
                unsafe { step(state, *self.first.add(at as usize), *other.first.add(other_at as usize)) };
            at += self.apart;
            other_at += other.apart;
            next
        };
        let mut state = start;
        let mut left = thread::block_dim_x();
        while left >= 16 {
            state = repeat::<16, _>(state, |state, _| take(state));
            left -= 16;
        }
        while left >= 4 {
            state = repeat::<4, _>(state, |state, _| take(state));
            left -= 4;
        }
        while left > 0 {
            state = take(state);
            left -= 1;
        }
        state
    }
}

impl<T: Bits> Cells<'_, T, EachWarps> {
    /// Writes the warp's cell, in the warp's first lane.
    #[inline(always)]
    pub fn set<S: WholeWarps>(&self, thread: &Thread<S>, value: T) {
        if thread.lane_id() == 0 {
            // SAFETY: the cell is the first lane's of this warp alone; a block has at most 32 warps.
            unsafe { self.first.add((thread.x() / 32) as usize).write(value) }
        }
    }
}

impl<T: Bits, State> Tile<T, EachWarps, State> {
    /// The cell of the block's warp with the number of this thread's lane, if the block has that warp.
    #[inline(always)]
    #[must_use]
    pub fn at_lane<S: WholeWarps>(&self, thread: &Thread<S>) -> Option<T>
    where
        State: CanRead,
    {
        let lane = thread.lane_id();
        // SAFETY: a lane is below 32, and nobody writes the tile in this state.
        (lane < thread::block_dim_x() / 32).then(|| unsafe { *self.first.add(lane as usize) })
    }
}

impl<T: Bits> Cells<'_, T, EachThreads> {
    /// Writes the thread's own cell.
    #[inline(always)]
    pub fn set<S: Linear>(&self, thread: &Thread<S>, value: T) {
        // SAFETY: the cell is the thread's own.
        unsafe { self.first.add(thread.x() as usize).write(value) }
    }
}

impl<T: Bits, const THREADS: u32> Cells<'_, T, EachOf<THREADS>> {
    /// Writes the thread's own cell.
    #[inline(always)]
    pub fn set(&self, thread: &Thread<OneBlock<THREADS>>, value: T) {
        // SAFETY: the host holds the block to this many threads, so the cell is the thread's own.
        unsafe { self.first.add(thread.x() as usize).write(value) }
    }
}

impl<T: Bits, const THREADS: u32, State> Tile<T, EachOf<THREADS>, State> {
    /// The cell of the thread opposite, counted from the end.
    #[inline(always)]
    #[must_use]
    pub fn opposite(&self, thread: &Thread<OneBlock<THREADS>>) -> T
    where
        State: CanRead,
    {
        // SAFETY: the host holds the block to this many threads; nobody writes the tile in this state.
        unsafe { *self.first.add((THREADS - 1 - thread.x()) as usize) }
    }

    /// The cell with this index.
    ///
    /// # Panics
    /// The index is not below `THREADS`. The check is gone where the compiler sees that it is.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, index: usize) -> T
    where
        State: CanRead,
    {
        assert!(index < THREADS as usize);
        // SAFETY: the tile has a cell for each thread; nobody writes it in this state.
        unsafe { *self.first.add(index) }
    }
}

impl<T: Bits, State> Tile<T, EachThreads, State> {
    /// The cell of the thread opposite, counted from the end of a block of `THREADS`.
    #[inline(always)]
    #[must_use]
    pub fn opposite<const THREADS: u32>(&self, thread: &Thread<OneBlock<THREADS>>) -> T
    where
        State: CanRead,
    {
        // SAFETY: the host holds the block to this many threads; nobody writes the tile in this state.
        unsafe { *self.first.add((THREADS - 1 - thread.x()) as usize) }
    }
}

impl<T: Bits> Tile<T, EachThreads, Written> {
    /// The tile as [`Block::halve`](crate::Block::halve) leaves it, for a loop of halvings to begin with.
    #[inline(always)]
    #[must_use]
    pub fn before_halves(self) -> Tile<T, EachThreads, Halved> {
        self.into_state()
    }
}

impl<T: Bits, const RADIUS: usize> Cells<'_, T, Halo<RADIUS>> {
    /// Writes the thread's own cell: the first of the points that its result is made of.
    #[inline(always)]
    pub fn set<S: Linear>(&self, thread: &Thread<S>, value: T) {
        // SAFETY: the first cells are one for each thread.
        unsafe { self.first.add(thread.x() as usize).write(value) }
    }

    /// Writes one of the `2 * RADIUS` cells behind those of the threads; each of the first threads has one.
    #[inline(always)]
    pub fn set_behind<S: Linear>(&self, thread: &Thread<S>, value: Option<T>) {
        let x = thread.x() as usize;
        if x < 2 * RADIUS
            && let Some(value) = value
        {
            // SAFETY: the cells behind those of the threads are one each for the first threads. A block of fewer threads
            // leaves some unwritten.
            unsafe { self.first.add(thread::block_dim_x() as usize + x).write(value) }
        }
    }
}

impl<T: Bits, const RADIUS: usize, State> Tile<T, Halo<RADIUS>, State> {
    /// The values `distance` further on and `distance` before the thread's own.
    ///
    /// # Panics
    /// `distance` is more than `RADIUS`. The check is gone where the compiler knows the number.
    #[inline(always)]
    #[must_use]
    pub fn around<S: Linear>(&self, thread: &Thread<S>, distance: usize) -> (T, T)
    where
        State: CanRead,
    {
        assert!(distance <= RADIUS);
        // SAFETY: the cells are within the tile, which nobody writes in this state.
        unsafe {
            let here = self.first.add(thread.x() as usize + RADIUS);
            (*here.add(distance), *here.sub(distance))
        }
    }
}

// ------------------------------------------------------------------------------------- tiles that a block turns round

/// A thread's first element of the tile that its block moves.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    pub(crate) x: u32,
    pub(crate) y: u32,
}

/// The way from a thread's first element of a tile to another of its elements.
#[derive(Clone, Copy, Debug)]
pub struct Step<const WIDTH: u32> {
    pub(crate) right: u32,
    pub(crate) down: u32,
}

impl<const WIDTH: u32> Step<WIDTH> {
    /// The step with this number, row by row.
    #[inline(always)]
    pub(crate) fn number(nth: u32) -> Self {
        let across = const { WIDTH / 32 };
        Self { right: nth % across * 32, down: nth / across * TILE_WARPS }
    }
}

/// A cell of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Cell<const WIDTH: u32> {
    x: u32,
    y: u32,
}

impl<const WIDTH: u32> Thread<Tiles<WIDTH>> {
    /// The thread's number in its block when x runs fastest, below 256. LLVM is not told that: it would turn sums into
    /// disjoint ors, and form a product for each element.
    #[inline(always)]
    fn in_block(&self) -> u32 {
        thread::thread_idx_y() * thread::block_dim_x() + thread::thread_idx_x()
    }

    #[inline(always)]
    fn lane(&self) -> u32 {
        self.in_block() % 32
    }

    #[inline(always)]
    fn warp(&self) -> u32 {
        self.in_block() / 32
    }

    /// The thread's first element of the tile: its warp's row, its lane's column.
    #[inline(always)]
    #[must_use]
    pub fn corner(&self) -> Corner {
        Corner {
            x: thread::block_idx_x() * WIDTH + self.lane(),
            y: thread::block_idx_y() * TILE_ROWS + self.warp(),
        }
    }

    /// The steps to all elements of the tile that the thread loads, the first being none at all.
    #[inline(always)]
    pub fn steps(&self) -> impl Iterator<Item = Step<WIDTH>> {
        (0..WIDTH / TILE_WARPS).map(Step::number)
    }

    /// The columns of the tile in which the thread has an element, when a warp goes down a column.
    #[inline(always)]
    #[must_use]
    pub fn turns(&self) -> core::ops::Range<u32> {
        0..WIDTH / TILE_WARPS
    }

    /// The thread's element of its `turn`-th column, if the matrix has it. Returns its place in the transpose, where
    /// the lanes of the warp are neighbours, and its cell in the tile.
    #[inline(always)]
    #[must_use]
    pub fn turned<X, Y>(
        &self,
        turn: u32,
        nx: Extent<X>,
        ny: Extent<Y>,
    ) -> Option<(Mine2<Y, X>, Cell<WIDTH>)> {
        assert!(turn < WIDTH / TILE_WARPS);
        let (left, top) = (thread::block_idx_x() * WIDTH, thread::block_idx_y() * TILE_ROWS);
        let (x, y) = (turn * TILE_WARPS + self.warp(), self.lane());
        if left + x < nx.get() && top + y < ny.get() {
            // SAFETY: they were just compared; each element of a tile belongs to one thread of its block in one turn.
            Some((unsafe { Mine2::new(top + y, left + x) }, Cell { x, y }))
        } else {
            None
        }
    }
}

impl<const WIDTH: u32> Thread<Tiles<WIDTH>> {
    /// The thread's cell of its `turn`-th column.
    ///
    /// # Panics
    /// The thread has fewer. The check is gone where the compiler knows the number.
    #[inline(always)]
    #[must_use]
    pub fn cell(&self, turn: u32) -> Cell<WIDTH> {
        assert!(turn < WIDTH / TILE_WARPS);
        Cell { x: turn * TILE_WARPS + self.warp(), y: self.lane() }
    }
}

impl<T: Bits, X: 'static, Y: 'static> Out<T, AlongRows<X, Y>> {
    /// The transpose from a thread's first element on, of a tile that is all within the matrix.
    #[inline(always)]
    #[must_use]
    pub fn turned<const WIDTH: u32>(
        self,
        thread: &Thread<Tiles<WIDTH>>,
        _: Whole<X, Y>,
    ) -> OutTurned<T, WIDTH> {
        let (left, top) = (thread::block_idx_x() * WIDTH, thread::block_idx_y() * TILE_ROWS);
        let columns = self.space().columns();
        let index = element(left + thread.warp(), columns, top) + thread.lane() as usize;
        // SAFETY: the tile is within the matrix.
        OutTurned { first: unsafe { self.first().add(index) }, columns }
    }
}

/// A transpose from a thread's first element on; see [`Out::turned`].
#[derive(Debug)]
pub struct OutTurned<T, const WIDTH: u32> {
    first: *mut T,
    columns: u32,
}

impl<T: Bits, const WIDTH: u32> OutTurned<T, WIDTH> {
    /// Writes the thread's element of its `turn`-th column.
    ///
    /// # Panics
    /// The thread has fewer. The check is gone where the compiler knows the number.
    #[inline(always)]
    pub fn put(&self, turn: u32, value: T) {
        assert!(turn < WIDTH / TILE_WARPS);
        // SAFETY: the element is within the matrix, and this thread's alone: a tile's elements are dealt to its block's threads,
        // one turn after the other.
        unsafe { self.first.add(element(turn * TILE_WARPS, self.columns, 0)).write(value) }
    }
}

impl<T: Bits, const WIDTH: u32, const PITCH: u32> Cells<'_, T, Rows<WIDTH, PITCH>> {
    /// The tile from the thread's first cell on.
    #[inline(always)]
    #[must_use]
    pub fn from(&self, thread: &Thread<Tiles<WIDTH>>) -> CellsFrom<'_, T, WIDTH, PITCH> {
        // SAFETY: the cell is within the tile.
        let first = unsafe { self.first.add(element(thread.warp(), PITCH, thread.lane())) };
        CellsFrom { first, tile: PhantomData }
    }
}

/// A tile from a thread's first cell on.
#[derive(Debug)]
pub struct CellsFrom<'a, T, const WIDTH: u32, const PITCH: u32> {
    first: *mut T,
    tile: PhantomData<&'a mut T>,
}

impl<T: Bits, const WIDTH: u32, const PITCH: u32> CellsFrom<'_, T, WIDTH, PITCH> {
    /// Writes the cells of all steps.
    ///
    /// # Panics
    /// `COUNT` is not the number of steps: the compiler says so.
    #[inline(always)]
    pub fn set_all<const COUNT: usize>(&self, thread: &Thread<Tiles<WIDTH>>, values: [T; COUNT]) {
        const { assert!(COUNT == (WIDTH / TILE_WARPS) as usize, "one value for each step") };
        for (step, value) in thread.steps().zip(values) {
            self.set(step, value);
        }
    }

    /// Writes the cell a step away.
    #[inline(always)]
    pub fn set(&self, step: Step<WIDTH>, value: T) {
        // SAFETY: steps stay in the tile, and lead different threads to different cells.
        unsafe { self.first.add(element(step.down, PITCH, step.right)).write(value) }
    }
}

impl<T: Bits, const WIDTH: u32, const PITCH: u32, State> Tile<T, Rows<WIDTH, PITCH>, State> {
    /// The value of a cell.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, cell: Cell<WIDTH>) -> T
    where
        State: CanRead,
    {
        // SAFETY: the cell is within the tile, which nobody writes in this state.
        unsafe { *self.first.add((cell.y * PITCH + cell.x) as usize) }
    }
}

// --------------------------------------------------------------------------------- tiles of the shape of the block

/// A cell of a tile with a row for each row of the block.
#[derive(Clone, Copy, Debug)]
pub struct BlockCell {
    x: u32,
    y: u32,
}

impl Thread<BlockTiles> {
    /// The thread's position, row by row, if it is within both extents; where it is in the source.
    #[inline(always)]
    #[must_use]
    pub fn loads<X, Y>(&self, nx: Extent<X>, ny: Extent<Y>) -> Option<(Below<X>, Below<Y>)> {
        let x = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        let y = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
        if (x < nx.get()) & (y < ny.get()) {
            // SAFETY: they were just compared.
            Some(unsafe { (Below::new(x), Below::new(y)) })
        } else {
            None
        }
    }

    /// The thread's element after a transpose of the tile, if the matrix has it. Threads are numbered row by row and
    /// laid out again down the columns. Returns the place in the transpose, and the cell in the tile.
    #[inline(always)]
    #[must_use]
    pub fn turned<X, Y>(&self, nx: Extent<X>, ny: Extent<Y>) -> Option<(Mine2<Y, X>, BlockCell)> {
        let (width, height) = (thread::block_dim_x(), thread::block_dim_y());
        let (left, top) = (thread::block_idx_x() * width, thread::block_idx_y() * height);
        let number = thread::thread_idx_y() * width + thread::thread_idx_x();
        let (x, y) = (number / height, number % height);
        if (left + x < nx.get()) & (top + y < ny.get()) {
            // SAFETY: they were just compared, and different threads have different numbers.
            Some((unsafe { Mine2::new(top + y, left + x) }, BlockCell { x, y }))
        } else {
            None
        }
    }
}

impl<T: Bits, P> Cells<'_, T, PaddedBlock<P>> {
    /// Writes the thread's own cell.
    #[inline(always)]
    pub fn set(&self, _: &Thread<BlockTiles>, padding: Extent<P>, value: T) {
        let pitch = thread::block_dim_x() + padding.get();
        // SAFETY: the tile has a row of `pitch` cells for each row of the block, and the cell is the thread's own.
        unsafe {
            self.first.add((thread::thread_idx_y() * pitch + thread::thread_idx_x()) as usize).write(value);
        }
    }
}

impl<T: Bits, P, State> Tile<T, PaddedBlock<P>, State> {
    /// The value of a cell.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, cell: BlockCell, padding: Extent<P>) -> T
    where
        State: CanRead,
    {
        let pitch = thread::block_dim_x() + padding.get();
        // SAFETY: the cell is within the tile, which nobody writes in this state.
        unsafe { *self.first.add((cell.y * pitch + cell.x) as usize) }
    }
}
