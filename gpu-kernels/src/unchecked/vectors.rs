//! # Sixteen bytes per lane on both sides
//!
//! A padded tile moves whole lines without bank conflicts, and still reaches a sixth less than a copy: four bytes per lane need
//! four times the instructions of sixteen. These kernels move 16 bytes per lane on both sides, as a copy does. The difficulty
//! is that four neighbours in a row of the source are in four rows of the destination.
//!
//! Each lane therefore loads a block of 4 x 4 elements, as four vectors from four rows, and transposes it in its registers.
//! That costs nothing, since only the registers' names change. The lane then holds four vectors of the destination, but
//! neighbouring lanes hold vectors that are rows apart, which is wrong for the stores. So the lanes exchange their vectors
//! through shared memory, in units of 16 bytes.
//!
//! Shared memory serves 16-byte accesses to eight lanes at a time. They cover all 32 banks if their vectors have eight
//! different indices modulo 8. Padding achieves that for one of the two accesses; a *swizzle* achieves it for both, and costs
//! no memory. It combines a vector's index within its row, by exclusive or, with the number of the block of four rows that
//! it is in. Eight neighbours then have eight different indices, down columns as well as along rows.
//!
//! - `tile_vector`: tiles of 64 x 64, which is 256 bytes per row on either side. Blocks take the tiles along the rows, in the
//!   order of their numbers. Blocks that run at the same time read whole rows, and write scattered pieces of 256 bytes.
//! - `tile_vector_down`: blocks take the tiles down the columns, so the reads are scattered instead. DRAM handles that
//!   better: reads wait in a queue that can be reordered, whereas stores complete as soon as L2 has them, and go to DRAM in
//!   the order in which L2 evicts them. On an H200, at 16384 x 16384, this is the difference between 95% and 97% of the
//!   driver's copy.
//!
//! These did not help: 128 bytes per row on one side for 512 on the other (87% to 91%); larger tiles; more or fewer blocks at
//! a time; loads that are not kept in L1 and stores that are marked as not read again, alone or together; bulk copies to and from
//! shared memory.
//!
//! # Launch
//! | kernel | block | grid |
//! | --- | --- | --- |
//! | `tile_vector` | 256 threads in any shape | `ceil(nx / 64)` by `ceil(ny / 64)` |
//! | `tile_vector_down` | the same | `ceil(ny / 64)` by `ceil(nx / 64)` |
//!
//! Parameters are source, destination, nx, ny, without dynamic shared memory. `nx` and `ny` are any, at most 2^31. Tiles
//! inside the matrix are moved by vectors if `nx` and `ny` are multiples of 4; all others go element by element.
//! Both arrays begin at a multiple of 16 bytes, as every allocation does.

use super::position::{block_index, element};
use cuda_std::vector::F32x4;
use cuda_std::{kernel, shared_array, thread};

/// Rows and columns of a tile.
pub const SIDE: u32 = 64;

/// Blocks of 4 x 4 elements in a row of the tile, and in a column.
const BLOCKS: u32 = SIDE / 4;

/// Vectors of a tile; a thread has 4 of them.
const VECTORS: usize = (SIDE * SIDE / 4) as usize;

/// Transposes, with blocks taking the tiles along the rows.
///
/// # Safety
/// `source` has `nx * ny` elements, `destination` points to as many that nothing else accesses during the launch, both are
/// aligned to 16 bytes, and blocks have 256 threads.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
// PTX: lacks div or rem
#[kernel(requires(block.count() == 256, source.len() == nx * ny))]
pub unsafe fn tile_vector(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; VECTORS];
    // SAFETY: promised by the caller.
    unsafe {
        Tile::new(nx, ny, thread::block_idx_x(), thread::block_idx_y()).turn(exchange, source, destination);
    }
}

/// Transposes, with blocks taking the tiles down the columns.
///
/// # Safety
/// As for [`tile_vector()`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.shared.v4.b32 or st.shared.v2.b64
// PTX: contains 4x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
// PTX: lacks div or rem
#[kernel(requires(block.count() == 256, source.len() == nx * ny))]
pub unsafe fn tile_vector_down(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let exchange = shared_array![F32x4; VECTORS];
    // SAFETY: promised by the caller.
    unsafe {
        Tile::new(nx, ny, thread::block_idx_y(), thread::block_idx_x()).turn(exchange, source, destination);
    }
}

/// A tile, moved by a block of 256 threads.
struct Tile {
    nx: u32,
    ny: u32,
    /// The tile's first column.
    left: u32,
    /// The tile's first row.
    top: u32,
    /// Whether the tile moves by vectors: it is inside the matrix, and the rows of both matrices are aligned.
    vectors: bool,
}

/// A block of 4 x 4 elements, identified by its first.
#[derive(Clone, Copy)]
struct Corner {
    /// The block's column and row among the tile's blocks.
    across: u32,
    down: u32,
    /// The element's column and row in the matrix.
    column: u32,
    row: u32,
    /// The element's index in the source, or in the destination.
    index: usize,
}

impl Tile {
    #[inline(always)]
    fn new(nx: u32, ny: u32, column: u32, row: u32) -> Self {
        let (left, top) = (column * SIDE, row * SIDE);
        let vectors = (left + SIDE <= nx) & (top + SIDE <= ny) & ((nx | ny).is_multiple_of(4));
        Self { nx, ny, left, top, vectors }
    }

    /// Transposes the tile.
    ///
    /// # Safety
    /// As for [`tile_vector()`], and `exchange` points to [`VECTORS`] vectors of shared memory.
    #[inline(always)]
    unsafe fn turn(self, exchange: *mut F32x4, source: &[f32], destination: *mut f32) {
        let thread = block_index();
        // Lanes are neighbours along the source's rows in loads, and along its columns in stores. Both corners are computed here,
        // so that no arithmetic is left between the barrier and the stores.
        let (along, across) = (thread % BLOCKS, thread / BLOCKS);
        let loads = self.corner(along, across, |row, column| element(row, self.nx, column));
        let stores = self.corner(across, along, |row, column| element(column, self.ny, row));
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

    /// The block of 4 x 4 elements in column `across` and row `down` of the tile's blocks. `index(row, column)` is an element's
    /// index in its matrix.
    #[inline(always)]
    fn corner(&self, across: u32, down: u32, index: impl Fn(u32, u32) -> usize) -> Corner {
        let (column, row) = (self.left + across * 4, self.top + down * 4);
        Corner { across, down, column, row, index: index(row, column) }
    }

    /// Loads 4 x 4 elements as rows and leaves them in shared memory as columns.
    #[inline(always)]
    unsafe fn load_vectors(&self, exchange: *mut F32x4, source: &[f32], corner: Corner) {
        // SAFETY: the block of elements is within the matrix, four aligned elements are a vector, and the places are within
        // the tile and no other vector's.
        unsafe {
            let first = source.as_ptr().add(corner.index);
            let rows =
                [0, 1, 2, 3].map(|nth| (*first.add(nth * self.nx as usize).cast::<F32x4>()).to_array());
            for nth in 0..4 {
                let column = rows.map(|row| row[nth as usize]);
                exchange.add(corner.place(nth)).write(F32x4::from_array(column));
            }
        }
    }

    /// Stores a transposed block of 4 x 4 elements: four rows of the destination.
    #[inline(always)]
    unsafe fn store_vectors(&self, exchange: *mut F32x4, destination: *mut f32, corner: Corner) {
        // SAFETY: as for the loads, and what is stored is this thread's alone.
        unsafe {
            let first = destination.add(corner.index);
            let columns = [0, 1, 2, 3].map(|nth| *exchange.add(corner.place(nth)));
            for (nth, column) in columns.into_iter().enumerate() {
                first.add(nth * self.ny as usize).cast::<F32x4>().write(column);
            }
        }
    }

    /// [`load_vectors`](Self::load_vectors) element by element, for those inside the matrix.
    #[inline(always)]
    unsafe fn load_elements(&self, exchange: *mut F32x4, source: &[f32], corner: Corner) {
        for (x, y) in block_of_elements() {
            if corner.column + x < self.nx && corner.row + y < self.ny {
                // SAFETY: the element is within the matrix, and the place within the tile and no other element's.
                unsafe {
                    let value = *source.get_unchecked(corner.index + element(y, self.nx, x));
                    exchange.add(corner.place(x)).cast::<f32>().add(y as usize).write(value);
                }
            }
        }
    }

    /// [`store_vectors`](Self::store_vectors) element by element, for those inside the matrix.
    #[inline(always)]
    unsafe fn store_elements(&self, exchange: *mut F32x4, destination: *mut f32, corner: Corner) {
        for (x, y) in block_of_elements() {
            if corner.column + x < self.nx && corner.row + y < self.ny {
                // SAFETY: the element is within the matrix and this thread's alone; its place was written before the barrier.
                unsafe {
                    let value = *exchange.add(corner.place(x)).cast::<f32>().add(y as usize);
                    destination.add(corner.index + element(x, self.ny, y)).write(value);
                }
            }
        }
    }
}

impl Corner {
    /// The index in shared memory of the `nth` vector of the transposed block, with the swizzle.
    #[inline(always)]
    fn place(self, nth: u32) -> usize {
        ((self.across * 4 + nth) * BLOCKS + (self.down ^ (self.across % 8))) as usize
    }
}

/// Column and row of each element of a block of 4 x 4.
#[inline(always)]
fn block_of_elements() -> impl Iterator<Item = (u32, u32)> {
    (0..16).map(|nth| (nth / 4, nth % 4))
}
