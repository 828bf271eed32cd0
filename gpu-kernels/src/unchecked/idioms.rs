//! The idioms in unsafe code; see [`crate::idioms`].
//!
//! Outputs are slices of `Cell`, which all threads may share. A `&mut [f32]` would promise that no other thread has it, which
//! is false in a kernel. A `Cell`'s `set` is a plain store. The launch contract says that threads write different elements.

use super::position::{block_index, element, grid_index, grid_position};
use core::cell::Cell;
use cuda_std::{GpuFloat, kernel, shared_array, thread};

/// Copies without checks, except the comparison that the task needs.
///
/// # Safety
/// Nothing else accesses the destination during the launch, and both slices have `n` elements.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel(requires(source.len() == n, destination.len() == n))]
pub unsafe fn unchecked_copy(source: &[f32], destination: &[Cell<f32>], n: usize) {
    let index = grid_index();
    if index < n {
        // SAFETY: the index is below `n`, and both slices have that many elements.
        unsafe { destination.get_unchecked(index).set(*source.get_unchecked(index)) }
    }
}

/// Multiplies without checks. Loads without checks between them can be issued together, and the compiler does so once the
/// source computes two products at a time.
///
/// # Safety
/// Nothing else accesses `c` during the launch, and the slices have `m * k`, `k * n` and `m * n` elements.
// PTX: contains 4x ld.global.nc.b32
// PTX: lacks trap
#[kernel(requires(a.len() == m * k, b.len() == k * n, c.len() == m * n))]
pub unsafe fn unchecked_matmul(a: &[f32], b: &[f32], c: &[Cell<f32>], m: u32, n: u32, k: u32) {
    let (column, row) = grid_position();
    if row < m && column < n {
        // SAFETY: row, column and `nth` are within the matrices.
        unsafe {
            let sum = dot_product(k, |nth| {
                (*b.get_unchecked(element(nth, n, column)), *a.get_unchecked(element(row, k, nth)))
            });
            c.get_unchecked(element(row, n, column)).set(sum);
        }
    }
}

/// Sums `length` products, whose factors are `factors(n)`, two at a time.
#[inline(always)]
fn dot_product(length: u32, factors: impl Fn(u32) -> (f32, f32)) -> f32 {
    let add = |sum, (one, other)| GpuFloat::mul_add(other, one, sum);
    let (mut sum, mut nth) = (0.0, 0);
    while length - nth >= 2 {
        let (first, second) = (factors(nth), factors(nth + 1));
        sum = add(add(sum, first), second);
        nth += 2;
    }
    while nth < length {
        sum = add(sum, factors(nth));
        nth += 1;
    }
    sum
}

/// Rows and columns of a tile.
const TILE: usize = 32;

/// Rows that a block moves at a time.
const ROWS: usize = 8;

/// A tile in shared memory, with one unused word at the end of each row.
type Tile = [[Cell<f32>; TILE + 1]; TILE];

/// A thread's position: its lane and warp, and the tile's first column and row.
struct Place {
    lane: usize,
    warp: usize,
    left: u32,
    top: u32,
}

impl Place {
    #[inline(always)]
    fn new() -> Self {
        let (lane, warp) = (block_index() as usize % TILE, block_index() as usize / TILE);
        Self {
            lane,
            warp,
            left: thread::block_idx_x() * TILE as u32,
            top: thread::block_idx_y() * TILE as u32,
        }
    }

    /// The element that the thread loads in a step: row and column in the tile, then in the matrix.
    #[inline(always)]
    fn load(&self, step: usize) -> (usize, usize, u32, u32) {
        let (y, x) = (step * ROWS + self.warp, self.lane);
        (y, x, self.top + y as u32, self.left + x as u32)
    }

    /// The element that the thread stores in a step: row and column in the tile, then in the matrix.
    #[inline(always)]
    fn store(&self, step: usize) -> (usize, usize, u32, u32) {
        let (y, x) = (self.lane, step * ROWS + self.warp);
        (y, x, self.top + y as u32, self.left + x as u32)
    }
}

/// Declares a tile in the calling kernel.
macro_rules! tile {
    () => {{
        let storage = shared_array![f32; TILE * (TILE + 1)].cast::<Tile>();
        // SAFETY: the array is exactly such a tile. The content is undefined at first, but any bits are an `f32`, and the
        // kernels store what they load.
        unsafe { &*storage }
    }};
}

/// Transposes with checked indexing.
///
/// # Safety
/// Nothing else accesses the destination during the launch, and blocks have 256 threads.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains trap
// PTX: allows trap because the checks are what this kernel shows
#[kernel(requires(block.count() == 256, source.len() == nx * ny, destination.len() == nx * ny))]
pub unsafe fn checked_transpose(source: &[f32], destination: &[Cell<f32>], nx: u32, ny: u32) {
    let tile: &Tile = tile!();
    let place = Place::new();
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.load(step);
        if row < ny && column < nx {
            tile[y][x].set(source[element(row, nx, column)]);
        }
    }
    thread::sync_threads();
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.store(step);
        if row < ny && column < nx {
            destination[element(column, ny, row)].set(tile[y][x].get());
        }
    }
}

/// Transposes with `get`: missing elements are skipped.
///
/// # Safety
/// As for [`checked_transpose()`].
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.global.b32
// PTX: lacks trap
#[kernel(requires(block.count() == 256, source.len() == nx * ny, destination.len() == nx * ny))]
pub unsafe fn iterated_transpose(source: &[f32], destination: &[Cell<f32>], nx: u32, ny: u32) {
    let tile: &Tile = tile!();
    let place = Place::new();
    let within = |y: usize, x: usize| tile.get(y).and_then(|row| row.get(x));
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.load(step);
        if row < ny
            && column < nx
            && let (Some(value), Some(cell)) = (source.get(element(row, nx, column)), within(y, x))
        {
            cell.set(*value);
        }
    }
    thread::sync_threads();
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.store(step);
        if row < ny
            && column < nx
            && let (Some(cell), Some(target)) = (within(y, x), destination.get(element(column, ny, row)))
        {
            target.set(cell.get());
        }
    }
}

/// Transposes with checked indexing, after assertions. They remove the tile's checks. Those of the matrices stay, because
/// their indices are products.
///
/// # Safety
/// As for [`checked_transpose()`].
// PTX: contains 4x ld.global.nc.b32
// PTX: contains trap
// PTX: allows trap because the assertions are what this kernel shows
#[kernel(requires(block.count() == 256, source.len() == nx * ny, destination.len() == nx * ny))]
pub unsafe fn asserted_transpose(source: &[f32], destination: &[Cell<f32>], nx: u32, ny: u32) {
    let tile: &Tile = tile!();
    let place = Place::new();
    assert!(place.warp < ROWS);
    assert!(source.len() == element(ny, nx, 0) && destination.len() == source.len());
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.load(step);
        if row < ny && column < nx {
            tile[y][x].set(source[element(row, nx, column)]);
        }
    }
    thread::sync_threads();
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.store(step);
        if row < ny && column < nx {
            destination[element(column, ny, row)].set(tile[y][x].get());
        }
    }
}

/// Transposes without checks, except those at the matrix's edges.
///
/// # Safety
/// As for [`checked_transpose()`], and both slices have `nx * ny` elements.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.global.b32
// PTX: lacks trap
#[kernel(requires(block.count() == 256, source.len() == nx * ny, destination.len() == nx * ny))]
pub unsafe fn unchecked_transpose(source: &[f32], destination: &[Cell<f32>], nx: u32, ny: u32) {
    let tile: &Tile = tile!();
    let place = Place::new();
    // The other elements are at distances from the first. By index the compiler would compute a product for each.
    let (y, x, row, column) = place.load(0);
    let first = source.as_ptr().wrapping_add(element(row, nx, column));
    for down in (0..TILE).step_by(ROWS) {
        if column < nx && row + (down as u32) < ny {
            // SAFETY: the element is within the matrix, and with 256 threads y and x are within the tile.
            unsafe {
                let value = *first.add(down * nx as usize);
                tile.get_unchecked(y + down).get_unchecked(x).set(value);
            }
        }
    }
    thread::sync_threads();
    for step in 0..TILE / ROWS {
        let (y, x, row, column) = place.store(step);
        if row < ny && column < nx {
            // SAFETY: as above.
            unsafe {
                let value = tile.get_unchecked(y).get_unchecked(x).get();
                destination.get_unchecked(element(column, ny, row)).set(value);
            }
        }
    }
}
