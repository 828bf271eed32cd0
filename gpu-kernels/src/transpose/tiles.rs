//! # Transpose through shared memory: rows on both sides
//!
//! A block reads a tile of the source along its rows, keeps it in shared memory, and writes it along the rows of the
//! destination. Global memory is accessed in whole lines on both sides. The transposition happens in the tile, which a warp
//! writes by rows and reads by columns.
//!
//! Shared memory has no sectors. It has 32 banks of 4-byte words: word `w` is in bank `w % 32`, and lanes that want
//! different words of one bank are served one after the other. In a tile of 32 columns all words of a column are in one
//! bank, so a request for a column takes 32 wavefronts (`tile`). One unused word at the end of each row shifts every row by
//! one bank, and a column then has one word in each bank (`tile_padded`). That single word doubles the bandwidth.
//!
//! - `tile`, `tile_padded`: tiles of 32 x 32. A block of 256 threads, whatever its shape, moves eight rows at a time.
//! - `tile_padded_unrolled`: tiles of 64 x 32, with eight loads in flight per thread instead of four.
//! - `tile_dynamic`: the tile has the block's shape, whatever it is, so its size is known only at the launch. The padding is a
//!   parameter: 0 shows the bank conflicts, and 1 removes them.
//!
//! A tile is a parameter of the kernel. Each thread writes its own cells, and the barrier (`sync`) turns it into a tile that
//! all threads may read. Any other order is a compile error: see [`tile`](cuda_safe::tile).
//!
//! # Launch
//! | kernel | block | grid | dynamic shared bytes |
//! | --- | --- | --- | --- |
//! | `tile`, `tile_padded` | 256 threads in any shape: 16 x 16, 32 x 8, .. | `ceil(nx / 32)` by `ceil(ny / 32)` | 0 |
//! | `tile_padded_unrolled` | the same | `ceil(nx / 64)` by `ceil(ny / 32)` | 0 |
//! | `tile_dynamic` | any, `bx` by `by` | `ceil(nx / bx)` by `ceil(ny / by)` | `by * (bx + padding) * 4` |
//!
//! `nx` and `ny` are any.

use cuda_safe::block::Whole;
use cuda_safe::names::{Nx, Ny};
use cuda_safe::shape::{BlockTiles, Tiles};
use cuda_safe::tile::{Full, PaddedBlock, Rows, Written};
use cuda_safe::{AlongRows, Block, Extent, In, Matrix, Out, Tile, kernel};

/// Rows and columns of a tile.
pub const TILE: u32 = 32;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Columns of the unrolled kernel's tile.
pub const WIDE: u32 = 2 * TILE;

/// Words from one row of a padded tile to the next: one of them is unused.
pub const PADDED: u32 = TILE + 1;

/// Words from one row of the wide padded tile to the next.
pub const WIDE_PADDED: u32 = WIDE + 1;

/// Columns of `tile_dynamic`'s tile that no thread uses.
#[derive(Debug)]
pub enum Padding {}

/// Transposes through a tile whose columns lie in one bank each.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.shared.b32
// PTX: contains 4x ld.shared.b32
// PTX: contains 4x st.global.b32
#[kernel]
pub fn tile(
    mut block: Block<Tiles<TILE>>,
    tile: Tile<f32, Rows<TILE, TILE>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    turn(&mut block, tile, source, destination, nx, ny);
}

/// Transposes `WIDTH` columns and [`TILE`] rows, comparing each element with the edges of the matrix.
#[inline(always)]
pub(crate) fn turn<const WIDTH: u32, const PITCH: u32>(
    block: &mut Block<Tiles<WIDTH>>,
    tile: Tile<f32, Rows<WIDTH, PITCH>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let tile = load(block, tile, source, nx, ny);
    let tile = block.sync(tile);
    store(block, tile, destination, nx, ny);
}

/// Loads a tile along the rows of the source, from the thread's first element on.
#[inline(always)]
fn load<const WIDTH: u32, const PITCH: u32>(
    block: &mut Block<Tiles<WIDTH>>,
    tile: Tile<f32, Rows<WIDTH, PITCH>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) -> Tile<f32, Rows<WIDTH, PITCH>, Written> {
    block.write(tile, |thread, cells| {
        let (source, cells) = (source.from(thread.corner(), nx, ny), cells.from(thread));
        for step in thread.steps() {
            if let Some(value) = source.get(step) {
                cells.set(step, value);
            }
        }
    })
}

/// Loads a tile inside the matrix: all `LOADS` elements of a thread before it stores the first.
#[inline(always)]
fn load_whole<const LOADS: usize, const WIDTH: u32, const PITCH: u32>(
    block: &mut Block<Tiles<WIDTH>>,
    tile: Tile<f32, Rows<WIDTH, PITCH>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
    whole: Whole<Nx, Ny>,
) -> Tile<f32, Rows<WIDTH, PITCH>, Written> {
    block.write(tile, |thread, cells| {
        let values: [f32; LOADS] = source.from(thread.corner(), nx, ny).all(thread, whole);
        cells.from(thread).set_all(thread, values);
    })
}

/// Stores a tile's columns along the rows of the destination.
///
/// Each index is computed where it is used, so that the compiler leaves each store beside its load. If all were known before,
/// it would group the loads. In `tile`, where a load takes 32 wavefronts, such a group delays the loads of other blocks and
/// costs 6% of the bandwidth. In `tile_padded_unrolled`, with eight loads per thread, the last of them arrive late for the
/// stores, which costs 5% at 2048 x 2048.
#[inline(always)]
fn store<const WIDTH: u32, const PITCH: u32>(
    block: &mut Block<Tiles<WIDTH>>,
    tile: Tile<f32, Rows<WIDTH, PITCH>, Full>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    block.each(|thread| {
        for turn in thread.turns() {
            if let Some((mine, cell)) = thread.turned(turn, nx, ny) {
                destination.put(mine, tile.at(cell));
            }
        }
    });
}

/// Stores the columns of a tile inside the matrix.
#[inline(always)]
fn store_whole<const WIDTH: u32, const PITCH: u32>(
    block: &mut Block<Tiles<WIDTH>>,
    tile: Tile<f32, Rows<WIDTH, PITCH>, Full>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    whole: Whole<Nx, Ny>,
) {
    block.each(|thread| {
        let destination = destination.turned(thread, whole);
        for turn in thread.turns() {
            destination.put(turn, tile.at(thread.cell(turn)));
        }
    });
}

/// Transposes through a tile with one unused word at the end of each row. A tile inside the matrix is moved without comparing
/// indices. All its loads come before the first store to shared memory, because that store waits for its load.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.shared.b32
// PTX: contains 4x ld.shared.b32
// PTX: contains 4x st.global.b32
#[kernel]
pub fn tile_padded(
    mut block: Block<Tiles<TILE>>,
    tile: Tile<f32, Rows<TILE, PADDED>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    match block.whole(nx, ny) {
        Some(whole) => {
            let tile = load_whole::<4, _, _>(&mut block, tile, source, nx, ny, whole);
            let tile = block.sync(tile);
            store_whole(&mut block, tile, destination, whole);
        }
        None => turn(&mut block, tile, source, destination, nx, ny),
    }
}

/// [`tile_padded()`] with tiles twice as wide, and so twice as many loads in flight.
// PTX: contains 8x ld.global.nc.b32
// PTX: contains 8x st.shared.b32
// PTX: contains 8x ld.shared.b32
// PTX: contains 8x st.global.b32
#[kernel]
pub fn tile_padded_unrolled(
    mut block: Block<Tiles<WIDE>>,
    tile: Tile<f32, Rows<WIDE, WIDE_PADDED>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let tile = match block.whole(nx, ny) {
        Some(whole) => load_whole::<8, _, _>(&mut block, tile, source, nx, ny, whole),
        None => load(&mut block, tile, source, nx, ny),
    };
    let tile = block.sync(tile);
    store(&mut block, tile, destination, nx, ny);
}

/// Transposes through a tile of the block's shape in dynamic shared memory, one element per thread.
///
/// The second half arranges the block's threads differently, `by` to a row, because the transposed tile has `by` columns.
// PTX: contains ld.global.nc.b32
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
// PTX: contains st.global.b32
#[kernel]
pub fn tile_dynamic(
    mut block: Block<BlockTiles>,
    tile: Tile<f32, PaddedBlock<Padding>>,
    source: Matrix<f32, Ny, Nx>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
    padding: Extent<Padding>,
) {
    let tile = block.write(tile, |thread, cells| {
        if let Some((x, y)) = thread.loads(nx, ny) {
            cells.set(thread, padding, source.at(y, x));
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        if let Some((mine, cell)) = thread.turned(nx, ny) {
            destination.put(mine, tile.at(cell, padding));
        }
    });
}
