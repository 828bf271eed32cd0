//! # Through shared memory: both sides along the grain
//!
//! A block reads a tile of the source along its rows, keeps it in shared memory, and writes it along the rows of the
//! destination. Global memory sees whole lines on both sides; the turn happens in the tile, which a warp writes by rows
//! and reads by columns.
//!
//! Shared memory has no sectors but 32 banks, each a 4-byte word wide: word `w` is in bank `w % 32`, and lanes that want
//! different words of the same bank wait for one another. In a tile of 32 columns all words of a column are in one
//! bank, and a warp that reads a column takes 32 turns (`tile`). One unused word at the end of each row moves every row
//! on by a bank, and a column has one word in each (`tile_padded`). That single word doubles the bandwidth.
//!
//! - `tile`, `tile_padded`: tiles of 32 x 32; a block of 256 threads, whatever its shape, moves four rows at a time.
//! - `tile_padded_unrolled`: tiles of 64 x 32, eight loads in flight a thread instead of four.
//! - `tile_dynamic`: the tile is as the block is, of any shape, and so its size is only known at the launch. The padding
//!   is a parameter: 0 and 1 show the conflicts and their cure again.
//!
//! # Launch
//! | kernel | block | grid | dynamic shared bytes | parameters |
//! | --- | --- | --- | --- | --- |
//! | `tile`, `tile_padded` | 256 threads in any shape: 16 x 16, 32 x 8, .. | `ceil(nx / 32)` by `ceil(ny / 32)` | 0 | source, destination, nx, ny |
//! | `tile_padded_unrolled` | the same | `ceil(nx / 64)` by `ceil(ny / 32)` | 0 | the same |
//! | `tile_dynamic` | any, `bx` by `by` | `ceil(nx / bx)` by `ceil(ny / by)` | `by * (bx + padding) * 4` | source, destination, nx, ny, padding |
//!
//! `nx` and `ny` are any, at most 2^31. With a block of another size than 256 threads the first three leave parts out or
//! write outside the tile.

use crate::position::{block_index, element};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, shared_array, thread};

/// Rows and columns of a tile.
pub const TILE: u32 = 32;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Columns of the unrolled kernel's tile.
pub const WIDE: u32 = 2 * TILE;

/// Rows that a block moves at a time.
const ROWS: u32 = THREADS / TILE;

/// Transposes through a tile whose columns lie in one bank each.
///
/// # Safety
/// `source` has `nx * ny` elements, `destination` points to as many that nothing else touches during the launch, and blocks
/// have [`THREADS`] threads.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.shared.b32
// PTX: contains 4x ld.shared.b32
// PTX: contains 4x st.global.b32
#[kernel]
pub unsafe fn tile(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let tile = shared_array![f32; (TILE * TILE) as usize];
    // SAFETY: promised by the caller; the array has a tile's rows of 32 words.
    unsafe { through_tile::<TILE, TILE>(tile, source, destination, nx, ny) }
}

/// Transposes through a tile with one unused word at the end of each row.
///
/// # Safety
/// As for [`tile`].
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.shared.b32
// PTX: contains 4x ld.shared.b32
// PTX: contains 4x st.global.b32
#[kernel]
pub unsafe fn tile_padded(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let tile = shared_array![f32; (TILE * (TILE + 1)) as usize];
    // SAFETY: promised by the caller; the array has a tile's rows of 33 words.
    unsafe { through_tile::<TILE, { TILE + 1 }>(tile, source, destination, nx, ny) }
}

/// [`tile_padded`] with tiles twice as wide, and so twice as many loads in flight.
///
/// # Safety
/// As for [`tile`].
// PTX: contains 8x ld.global.nc.b32
// PTX: contains 8x st.shared.b32
// PTX: contains 8x ld.shared.b32
// PTX: contains 8x st.global.b32
#[kernel]
pub unsafe fn tile_padded_unrolled(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let tile = shared_array![f32; (TILE * (WIDE + 1)) as usize];
    // SAFETY: promised by the caller; the array has a tile's rows of 65 words.
    unsafe { through_tile::<WIDE, { WIDE + 1 }>(tile, source, destination, nx, ny) }
}

/// Transposes [`TILE`] rows and `WIDTH` columns through shared memory whose rows are `PITCH` words apart.
///
/// # Safety
/// As for [`tile`()], and `tile` points to `TILE * PITCH` words of shared memory.
#[inline(always)]
unsafe fn through_tile<const WIDTH: u32, const PITCH: u32>(
    tile: *mut f32,
    source: &[f32],
    destination: *mut f32,
    nx: u32,
    ny: u32,
) {
    let (lane, warp) = (block_index() % TILE, block_index() / TILE);
    let (left, top) = (thread::block_idx_x() * WIDTH, thread::block_idx_y() * TILE);

    // The thread's first element; its others are at distances that the compiler knows but for the factor `nx` or `ny`.
    let (x, y) = (left + lane, top + warp);
    let from = element(y, nx, x);
    let place = element(warp, PITCH, lane);
    for down in (0..TILE).step_by(ROWS as usize) {
        for right in (0..WIDTH).step_by(TILE as usize) {
            if x + right < nx && y + down < ny {
                // SAFETY: the element is within the matrix, and its place within the tile.
                unsafe {
                    let value = *source.get_unchecked(from + element(down, nx, right));
                    tile.add(place + element(down, PITCH, right)).write(value);
                }
            }
        }
    }
    thread::sync_threads();
    // Here each place is computed where it is used, and compilers leave each store with its load. Were all places known
    // before, they would bunch the loads; and where a load takes 32 turns, a bunch of them holds up those of the other
    // blocks that wait for DRAM, which costs `tile` 6% of its bandwidth.
    for right in (0..WIDTH).step_by(ROWS as usize) {
        let (x, y) = (right + warp, lane);
        if left + x < nx && top + y < ny {
            // SAFETY: the element is within the matrix, so the tile has it since the barrier, and its place in the
            // destination is this thread's alone.
            unsafe {
                let value = *tile.add((y * PITCH + x) as usize);
                destination.add(element(left + x, ny, top + y)).write(value);
            }
        }
    }
}

/// Transposes through a tile of the block's shape in dynamic shared memory, one element a thread.
///
/// The block's threads are counted through and laid out anew for the second half, `by` to a row: the tile's
/// transpose has other proportions than the block.
///
/// # Safety
/// `source` has `nx * ny` elements, `destination` points to as many that nothing else touches during the launch, and the
/// launch gives a block `by * (bx + padding)` words of dynamic shared memory.
// PTX: contains ld.global.nc.b32
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn tile_dynamic(source: &[f32], destination: *mut f32, nx: u32, ny: u32, padding: u32) {
    let tile = dynamic_shared_mem::<f32>();
    let (width, height) = (thread::block_dim_x(), thread::block_dim_y());
    let pitch = width + padding;
    let (left, top) = (thread::block_idx_x() * width, thread::block_idx_y() * height);

    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    if (left + x < nx) & (top + y < ny) {
        // SAFETY: the element is within the matrix, and x and y are within the tile.
        unsafe {
            let value = *source.get_unchecked(element(top + y, nx, left + x));
            tile.add((y * pitch + x) as usize).write(value);
        }
    }
    thread::sync_threads();
    let (x, y) = (block_index() / height, block_index() % height);
    if (left + x < nx) & (top + y < ny) {
        // SAFETY: the element is within the matrix, so the tile has it since the barrier, and its place in the destination
        // is this thread's alone.
        unsafe {
            let value = *tile.add((y * pitch + x) as usize);
            destination.add(element(left + x, ny, top + y)).write(value);
        }
    }
}
