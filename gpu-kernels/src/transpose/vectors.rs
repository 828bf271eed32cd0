//! # Sixteen bytes a lane, both ways
//!
//! A padded tile moves whole lines and has no bank conflicts, and still stays a sixth below a copy: four bytes a lane
//! take four times the instructions that the bytes need. Sixteen bytes a lane on both sides is a copy's access; but four
//! neighbours in a row of the source are in four rows of the destination, so a lane has to hold four rows of them.
//!
//! Each lane therefore loads a block of 4 x 4 elements, as four vectors from four rows, and turns it in its registers,
//! which costs nothing: the vectors are put together from other registers. Now it holds four vectors of the destination.
//! Only their place is wrong for the stores: lanes that are neighbours hold vectors that are rows apart. Shared memory
//! deals them out anew, in units of 16 bytes.
//!
//! Sixteen bytes a lane are served to eight lanes at a time, which cover all 32 banks if their vectors lie in eight
//! different places modulo 8. Padding would do for one of the two accesses. The other way is a *swizzle*: a vector's place
//! within its row is exclusive-ored with the number of the block of four rows that it is in. Eight neighbours have
//! eight different places then, down the columns as along the rows, and no byte is spent.
//!
//! - `tile_vector`: tiles of 64 x 64: 256 bytes at a time are neighbours on either side.
//! - `tile_vector_wide`, `tile_vector_tall`: 128 x 32 and 32 x 128: 512 bytes on one side, 128 on the other.
//! - `tile_vector_streaming`: as `tile_vector`, with loads that stay out of L1 and stores marked as not to be read again.
//! - `tile_vector_grouped`: as `tile_vector`, in another order: blocks work through [`GROUP`] rows of tiles at a
//!   time, column by column, so that those that run at the same time are near one another on both sides.
//!
//! # Launch
//! | kernel | block | grid |
//! | --- | --- | --- |
//! | `tile_vector`, `_streaming`, `_grouped` | 256 threads in any shape | `ceil(nx / 64)` by `ceil(ny / 64)` |
//! | `tile_vector_wide` | the same | `ceil(nx / 128)` by `ceil(ny / 32)` |
//! | `tile_vector_tall` | the same | `ceil(nx / 32)` by `ceil(ny / 128)` |
//!
//! Parameters are source, destination, nx, ny, without dynamic shared memory. `nx` and `ny` are any, at most 2^31. Tiles
//! that the matrix fills are moved by vectors if `nx` and `ny` are multiples of 4; all others go element by element.
//! Both arrays begin at a multiple of 16 bytes, as every allocation does.

use crate::position::{block_index, element};
use core::num::NonZero;
use cuda_std::access::{load_read_only_no_allocate, store_streaming};
use cuda_std::vector::F32x4;
use cuda_std::{kernel, shared_array, thread};

/// Elements of a tile; a thread has 16 of them.
pub const AREA: u32 = 64 * 64;

/// Rows of tiles that `tile_vector_grouped` works through at a time.
pub const GROUP: u32 = 32;

/// Transposes 64 x 64 tiles.
///
/// # Safety
/// `source` has `nx * ny` elements, `destination` points to as many that nothing else touches during the launch, both are
/// aligned to 16 bytes, and blocks have 256 threads.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
// PTX: lacks div or rem
#[kernel]
pub unsafe fn tile_vector(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; (AREA / 4) as usize];
    let tile = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: promised by the caller.
    unsafe { Tile::<64, 64, false>::new(nx, ny, tile).turn(exchange, source, destination) }
}

/// Transposes tiles of 128 columns and 32 rows.
///
/// # Safety
/// As for [`tile_vector`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
// PTX: lacks div or rem
#[kernel]
pub unsafe fn tile_vector_wide(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; (AREA / 4) as usize];
    let tile = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: promised by the caller.
    unsafe { Tile::<128, 32, false>::new(nx, ny, tile).turn(exchange, source, destination) }
}

/// Transposes tiles of 32 columns and 128 rows.
///
/// # Safety
/// As for [`tile_vector`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
// PTX: lacks div or rem
#[kernel]
pub unsafe fn tile_vector_tall(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; (AREA / 4) as usize];
    let tile = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: promised by the caller.
    unsafe { Tile::<32, 128, false>::new(nx, ny, tile).turn(exchange, source, destination) }
}

/// [`tile_vector`] past L1, with stores that are evicted first.
///
/// # Safety
/// As for [`tile_vector`].
// PTX: contains 4x ld.global.nc.L1::no_allocate.v4.b32
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.cs.v4.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn tile_vector_streaming(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; (AREA / 4) as usize];
    let tile = (thread::block_idx_x(), thread::block_idx_y());
    // SAFETY: promised by the caller.
    unsafe { Tile::<64, 64, true>::new(nx, ny, tile).turn(exchange, source, destination) }
}

/// [`tile_vector`] with blocks in groups.
///
/// # Safety
/// As for [`tile_vector`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub unsafe fn tile_vector_grouped(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; (AREA / 4) as usize];
    // SAFETY: promised by the caller; the groups give no tile to two blocks.
    unsafe { Tile::<64, 64, false>::new(nx, ny, grouped_tile()).turn(exchange, source, destination) }
}

/// The column and row of this block's tile when blocks go down the columns of [`GROUP`] rows of tiles, then of the next;
/// the last group has the rows that are left.
#[inline(always)]
fn grouped_tile() -> (u32, u32) {
    let (width, height) = (thread::grid_dim_x(), thread::grid_dim_y());
    let first = thread::block_idx_y() / GROUP * GROUP;
    // SAFETY: the block's own row is among them.
    let rows = unsafe { NonZero::new_unchecked(GROUP.min(height - first)) };
    let nth = (thread::block_idx_y() - first) * width + thread::block_idx_x();
    (nth / rows, first + nth % rows)
}

/// A tile of `WIDTH` columns and `HEIGHT` rows, moved by a block of [`AREA`] / 16 threads.
struct Tile<const WIDTH: u32, const HEIGHT: u32, const STREAMING: bool> {
    nx: u32,
    ny: u32,
    /// The tile's first column.
    left: u32,
    /// The tile's first row.
    top: u32,
    /// Whether vectors will do: the matrix fills the tile, and its rows and those of the transpose are aligned.
    vectors: bool,
}

impl<const WIDTH: u32, const HEIGHT: u32, const STREAMING: bool> Tile<WIDTH, HEIGHT, STREAMING> {
    /// Vectors in a row of the tile, and in a column.
    const ACROSS: u32 = WIDTH / 4;
    const DOWN: u32 = HEIGHT / 4;

    #[inline(always)]
    fn new(nx: u32, ny: u32, (column, row): (u32, u32)) -> Self {
        const { assert!(WIDTH * HEIGHT == AREA && Self::ACROSS >= 8 && Self::DOWN >= 8) };
        let (left, top) = (column * WIDTH, row * HEIGHT);
        let vectors = (left + WIDTH <= nx) & (top + HEIGHT <= ny) & ((nx | ny).is_multiple_of(4));
        Self { nx, ny, left, top, vectors }
    }

    /// Where in shared memory the `nth` vector lies that a block of 4 x 4 elements becomes, seen from the block in column
    /// `across` and row `down` of the tile's blocks.
    #[inline(always)]
    fn place(across: u32, down: u32, nth: u32) -> usize {
        ((across * 4 + nth) * Self::DOWN + (down ^ (across % 8))) as usize
    }

    /// Transposes the tile.
    ///
    /// # Safety
    /// As for [`tile_vector`], and `exchange` points to [`AREA`] elements of shared memory.
    #[inline(always)]
    unsafe fn turn(self, exchange: *mut F32x4, source: &[f32], destination: *mut f32) {
        let thread = block_index();
        // Loads have neighbours along the source's rows, stores along its columns.
        let loads = (thread % Self::ACROSS, thread / Self::ACROSS);
        let stores = (thread / Self::DOWN, thread % Self::DOWN);
        // SAFETY: promised by the caller; the tile fits in the matrix where vectors are used.
        unsafe {
            if self.vectors {
                self.load_vectors(exchange, source, loads);
                thread::sync_threads();
                self.store_vectors(exchange, destination, stores);
            } else {
                self.load_elements(exchange, source, loads);
                thread::sync_threads();
                self.store_elements(exchange, destination, stores);
            }
        }
    }

    /// Loads 4 x 4 elements as rows and leaves them in shared memory as columns.
    #[inline(always)]
    unsafe fn load_vectors(&self, exchange: *mut F32x4, source: &[f32], (across, down): (u32, u32)) {
        // SAFETY: the block of elements is within the matrix, four aligned elements are a vector, and the places are within
        // the tile and no other vector's.
        unsafe {
            let first = source.as_ptr().add(element(self.top + down * 4, self.nx, self.left + across * 4));
            let rows = [0, 1, 2, 3].map(|nth| {
                let vector = first.add(nth * self.nx as usize).cast::<F32x4>();
                if STREAMING { load_read_only_no_allocate(vector).to_array() } else { (*vector).to_array() }
            });
            for nth in 0..4 {
                let column = rows.map(|row| row[nth as usize]);
                exchange.add(Self::place(across, down, nth)).write(F32x4::from_array(column));
            }
        }
    }

    /// Stores what a block of 4 x 4 elements has become: four rows of the transpose.
    #[inline(always)]
    unsafe fn store_vectors(&self, exchange: *mut F32x4, destination: *mut f32, (across, down): (u32, u32)) {
        // SAFETY: as for the loads, and what is stored is this thread's alone.
        unsafe {
            let first = destination.add(element(self.left + across * 4, self.ny, self.top + down * 4));
            let columns = [0, 1, 2, 3].map(|nth| *exchange.add(Self::place(across, down, nth)));
            for (nth, column) in columns.into_iter().enumerate() {
                let vector = first.add(nth * self.ny as usize).cast::<F32x4>();
                if STREAMING { store_streaming(vector, column) } else { vector.write(column) }
            }
        }
    }

    /// [`load_vectors`](Self::load_vectors), element by element, of those that the matrix has.
    #[inline(always)]
    unsafe fn load_elements(&self, exchange: *mut F32x4, source: &[f32], (across, down): (u32, u32)) {
        for (x, y) in block_of_elements() {
            let (column, row) = (self.left + across * 4 + x, self.top + down * 4 + y);
            if column < self.nx && row < self.ny {
                // SAFETY: the element is within the matrix, and the place within the tile and no other element's.
                unsafe {
                    let value = *source.get_unchecked(element(row, self.nx, column));
                    exchange.add(Self::place(across, down, x)).cast::<f32>().add(y as usize).write(value);
                }
            }
        }
    }

    /// [`store_vectors`](Self::store_vectors), element by element, of those that the matrix has.
    #[inline(always)]
    unsafe fn store_elements(&self, exchange: *mut F32x4, destination: *mut f32, (across, down): (u32, u32)) {
        for (x, y) in block_of_elements() {
            let (column, row) = (self.left + across * 4 + x, self.top + down * 4 + y);
            if column < self.nx && row < self.ny {
                // SAFETY: the element is within the matrix and this thread's alone; its place was written before the barrier.
                unsafe {
                    let value = *exchange.add(Self::place(across, down, x)).cast::<f32>().add(y as usize);
                    destination.add(element(column, self.ny, row)).write(value);
                }
            }
        }
    }
}

/// Column and row of each element of a block of 4 x 4.
#[inline(always)]
fn block_of_elements() -> impl Iterator<Item = (u32, u32)> {
    (0..16).map(|nth| (nth / 4, nth % 4))
}
