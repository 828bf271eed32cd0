//! Layouts of threads: which work falls to which thread.
//!
//! A kernel's first parameter is a [`Thread`](crate::Thread) or a [`Block`](crate::Block) of one of these shapes. The shape
//! is the one place that deals work out: it maps each thread of the launch to positions, no two threads to the same one.
//! A kernel has one shape, so whatever it writes by its position it writes without a race. The host refuses a launch that
//! does not have the shape.

use core::marker::PhantomData;

use cuda_std::thread;

use crate::sealed::{Key, Sealed};

#[cfg(not(target_arch = "nvptx64"))]
use {alloc::format, alloc::string::String, cuda_std::launch};

/// A layout of threads. All there are stand in this module.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout of threads",
    label = "not a shape",
    note = "the shapes are in `cuda_safe::shape`: `Line`, `Warps`, `Plane`, `Fixed<16, 16>` and others"
)]
pub trait Shape: Sealed + 'static {
    /// True if the shape's constants are valid; checked by `#[kernel]`.
    #[doc(hidden)]
    const IS_POSSIBLE: bool = true;

    /// The launch that the shape requires, as in "blocks of 256 threads".
    #[cfg(not(target_arch = "nvptx64"))]
    fn needs() -> String;

    /// True if the launch meets the requirement.
    #[cfg(not(target_arch = "nvptx64"))]
    fn fits(shape: &launch::Shape) -> bool;
}

/// All threads along x: thread `i` has the positions `i`, `i + threads`, `i + 2 threads`, and so on.
#[derive(Debug)]
pub enum Line {}

/// A [`Line`] whose blocks are whole warps.
#[derive(Debug)]
pub enum Warps {}

/// All threads along x in whole warps, with `COUNT` positions each. A warp has `32 * COUNT` positions in a row, and a thread
/// every 32nd of them.
#[derive(Debug)]
pub enum WarpRuns<const COUNT: usize> {}

/// A [`Line`] of a single block of `THREADS`.
#[derive(Debug)]
pub enum OneBlock<const THREADS: u32> {}

/// All threads along x, with `COUNT` positions each. A block has `COUNT` times its threads in a row, and a thread every
/// `block`-th of them, so that each access of a warp is one row of neighbours.
#[derive(Debug)]
pub enum Runs<const COUNT: usize> {}

/// All threads along x, and a slice of consecutive positions for each block, as long as the kernel says.
#[derive(Debug)]
pub enum Sliced {}

/// A plane: the thread at (x, y) of the grid has position (x, y).
#[derive(Debug)]
pub enum Plane {}

/// A plane in which each thread has `COUNT` positions along x, a block's width apart.
#[derive(Debug)]
pub enum Unrolled<const COUNT: usize> {}

/// A [`Plane`] whose blocks run along diagonals. Blocks that run at the same time are in different rows and in
/// different columns.
///
/// In a square grid block (bx, by) works at (bx + by, bx), modulo the grid's width. In any other grid the blocks are
/// numbered row by row first, so that no place is given twice.
///
/// In a square grid, `DIVIDES` says how the modulo is taken: by a remainder, or by a comparison and a subtraction. The
/// places are the same.
#[derive(Debug)]
pub enum Diagonal<const DIVIDES: bool> {}

/// A [`Plane`] with blocks of exactly `X` by `Y` threads.
#[derive(Debug)]
pub enum Fixed<const X: u32, const Y: u32> {}

/// A [`Plane`] with square blocks of any size.
#[derive(Debug)]
pub enum Square {}

/// Tiles of `WIDTH` columns and 32 rows, each moved by a block of 256 threads in any shape. Block (bx, by) has the tile
/// in column bx and row by; each warp has a row of the tile at a time, later a column.
#[derive(Debug)]
pub struct Tiles<const WIDTH: u32>(PhantomData<()>);

/// Tiles of the shape of any block: one element per thread, row by row and later down the columns.
#[derive(Debug)]
pub enum BlockTiles {}

/// Warps of a [`Tiles`] block, which are the rows that it moves at a time.
pub(crate) const TILE_WARPS: u32 = 8;

/// Rows of a [`Tiles`] tile.
pub(crate) const TILE_ROWS: u32 = 32;

/// Shapes whose threads are all along x.
#[diagnostic::on_unimplemented(
    message = "the threads of a `{Self}` are not all along x, so they have no number",
    label = "a shape of more than one dimension, or with an order of its own"
)]
pub trait AlongX: Shape {
    /// The thread's number in the grid, in 64 bits, so that no grid makes it wrap.
    #[doc(hidden)]
    #[inline(always)]
    fn number(_: Key) -> usize {
        // The block's shape is read before its place, see `Plane`: 1% of a copy.
        thread::block_dim_x() as usize * thread::block_idx_x() as usize + thread::thread_idx_x() as usize
    }
}

/// The number of the block's first thread.
#[inline(always)]
pub(crate) fn block_start() -> usize {
    thread::block_dim_x() as usize * thread::block_idx_x() as usize
}

impl AlongX for Line {}
impl AlongX for Warps {}
impl AlongX for Sliced {}
impl<const COUNT: usize> AlongX for Runs<COUNT> {}
impl<const COUNT: usize> AlongX for WarpRuns<COUNT> {}

impl<const THREADS: u32> AlongX for OneBlock<THREADS> {
    #[inline(always)]
    fn number(_: Key) -> usize {
        thread::thread_idx_x() as usize
    }
}

/// Shapes in which a thread has one index, or every `threads`-th from there on.
#[diagnostic::on_unimplemented(
    message = "a thread of a `{Self}` does not have one index",
    label = "deals its work out in another way than `Line`, `Warps` and `OneBlock`"
)]
pub trait Linear: AlongX {}
impl Linear for Line {}
impl Linear for Warps {}
impl<const THREADS: u32> Linear for OneBlock<THREADS> {}

/// Shapes whose blocks are whole warps, all along x.
#[diagnostic::on_unimplemented(
    message = "the blocks of a `{Self}` may not be whole warps",
    label = "take `Warps`, or `WarpRuns` for several positions per thread"
)]
pub trait WholeWarps: AlongX {}
impl WholeWarps for Warps {}
impl<const COUNT: usize> WholeWarps for WarpRuns<COUNT> {}

/// Shapes in which a thread has one position (x, y).
#[diagnostic::on_unimplemented(
    message = "a thread of a `{Self}` does not have one position (x, y)",
    label = "deals its work out in another way than `Plane`, `Diagonal`, `Fixed` and `Square`"
)]
pub trait Planar: Shape {
    /// The position.
    #[doc(hidden)]
    fn position(_: Key) -> (u32, u32);
}

/// The most places that a thread of [`Runs`] or [`Unrolled`] has. No position is then too large for its type.
const MOST_PLACES: usize = 1 << 16;

/// True if a thread can have `count` places.
const fn are_places(count: usize) -> bool {
    count > 0 && count <= MOST_PLACES
}

/// True if the lanes of warps can be distributed over a tile `width` columns wide.
const fn are_columns(width: u32) -> bool {
    width > 0 && width.is_multiple_of(32)
}

macro_rules! sealed {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Sealed for $type {}
    )*};
}

sealed! {
    [] Line;
    [] Warps;
    [const THREADS: u32] OneBlock<THREADS>;
    [const COUNT: usize] Runs<COUNT>;
    [const COUNT: usize] WarpRuns<COUNT>;
    [] Sliced;
    [] Plane;
    [const COUNT: usize] Unrolled<COUNT>;
    [const DIVIDES: bool] Diagonal<DIVIDES>;
    [const X: u32, const Y: u32] Fixed<X, Y>;
    [] Square;
    [] BlockTiles;
    [const WIDTH: u32] Tiles<WIDTH>;
}

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use super::*;

    /// True if positions along both axes, `per_thread` for each thread, stay below 2^32.
    fn flat(shape: &launch::Shape, per_thread: [u64; 2]) -> bool {
        let reach =
            |axis: usize| u64::from(shape.grid[axis]) * u64::from(shape.block[axis]) * per_thread[axis];
        shape.grid[2] == 1 && shape.block[2] == 1 && reach(0) < 1 << 32 && reach(1) < 1 << 32
    }

    fn line(shape: &launch::Shape) -> bool {
        shape.grid[1..] == [1, 1] && shape.block[1..] == [1, 1]
    }

    impl Shape for Line {
        fn needs() -> String {
            "blocks and a grid along x alone".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            line(shape)
        }
    }

    impl Shape for Warps {
        fn needs() -> String {
            "blocks of whole warps (multiples of 32 threads) along x alone".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            line(shape) && shape.block[0].is_multiple_of(32)
        }
    }

    impl<const COUNT: usize> Shape for WarpRuns<COUNT> {
        const IS_POSSIBLE: bool = are_places(COUNT);

        fn needs() -> String {
            Warps::needs()
        }

        fn fits(shape: &launch::Shape) -> bool {
            Warps::fits(shape)
        }
    }

    impl<const THREADS: u32> Shape for OneBlock<THREADS> {
        fn needs() -> String {
            format!("one block of {THREADS} threads along x")
        }

        fn fits(shape: &launch::Shape) -> bool {
            shape.grid == [1, 1, 1] && shape.block == [THREADS, 1, 1]
        }
    }

    impl<const COUNT: usize> Shape for Runs<COUNT> {
        const IS_POSSIBLE: bool = are_places(COUNT);

        fn needs() -> String {
            "blocks and a grid along x alone".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            line(shape)
        }
    }

    impl Shape for Sliced {
        fn needs() -> String {
            "blocks and a grid along x alone".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            line(shape)
        }
    }

    impl Shape for Plane {
        fn needs() -> String {
            "blocks and a grid along x and y, with less than 2^32 threads along each".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            flat(shape, [1, 1])
        }
    }

    impl<const COUNT: usize> Shape for Unrolled<COUNT> {
        const IS_POSSIBLE: bool = are_places(COUNT);

        fn needs() -> String {
            format!(
                "blocks and a grid along x and y, with less than 2^32 / {COUNT} threads along x and 2^32 along y"
            )
        }

        fn fits(shape: &launch::Shape) -> bool {
            flat(shape, [COUNT as u64, 1])
        }
    }

    impl<const DIVIDES: bool> Shape for Diagonal<DIVIDES> {
        fn needs() -> String {
            "blocks and a grid along x and y, with less than 2^32 threads along each and 2^31 blocks".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            flat(shape, [1, 1]) && shape.blocks() < 1 << 31
        }
    }

    impl<const X: u32, const Y: u32> Shape for Fixed<X, Y> {
        fn needs() -> String {
            format!("blocks of {X}x{Y} threads and a grid along x and y")
        }

        fn fits(shape: &launch::Shape) -> bool {
            shape.block == [X, Y, 1] && flat(shape, [1, 1])
        }
    }

    impl Shape for Square {
        fn needs() -> String {
            "square blocks, as in 16x16, and a grid along x and y".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            shape.block[0] == shape.block[1] && flat(shape, [1, 1])
        }
    }

    impl Shape for BlockTiles {
        fn needs() -> String {
            "blocks and a grid along x and y, with less than 2^32 threads along each".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            flat(shape, [1, 1])
        }
    }

    impl<const WIDTH: u32> Shape for Tiles<WIDTH> {
        const IS_POSSIBLE: bool = are_columns(WIDTH);

        fn needs() -> String {
            "blocks of 256 threads, as in 16x16 or 32x8, and a grid along x and y".into()
        }

        fn fits(shape: &launch::Shape) -> bool {
            let reach = |axis: usize, side: u32| u64::from(shape.grid[axis]) * u64::from(side);
            shape.block_threads() == 256
                && shape.block[2] == 1
                && shape.grid[2] == 1
                && reach(0, WIDTH) < 1 << 32
                && reach(1, TILE_ROWS) < 1 << 32
        }
    }
}

#[cfg(target_arch = "nvptx64")]
mod device {
    use super::*;

    impl Shape for Line {}
    impl Shape for Warps {}
    impl<const COUNT: usize> Shape for WarpRuns<COUNT> {
        const IS_POSSIBLE: bool = are_places(COUNT);
    }
    impl<const THREADS: u32> Shape for OneBlock<THREADS> {}
    impl<const COUNT: usize> Shape for Runs<COUNT> {
        const IS_POSSIBLE: bool = are_places(COUNT);
    }
    impl Shape for Sliced {}
    impl Shape for Plane {}
    impl<const COUNT: usize> Shape for Unrolled<COUNT> {
        const IS_POSSIBLE: bool = are_places(COUNT);
    }
    impl<const DIVIDES: bool> Shape for Diagonal<DIVIDES> {}
    impl<const X: u32, const Y: u32> Shape for Fixed<X, Y> {}
    impl Shape for Square {}
    impl Shape for BlockTiles {}
    impl<const WIDTH: u32> Shape for Tiles<WIDTH> {
        const IS_POSSIBLE: bool = are_columns(WIDTH);
    }
}
