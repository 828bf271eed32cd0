//! What the kernels with a ring have in common: a tile of 128 x 256, loaded by one thread and multiplied by two warpgroups.
//!
//! A stage holds 128 bytes of K: two boxes of 64 rows of A, one for each warpgroup, and behind them 256 columns of B.

use super::tiles::Tiles;
use cuda_std::async_copy::Barrier;
use cuda_std::tensor::{
    Accumulator256, Consumer, Corner, Element, Filling, Map, Multiply, Packed128, Packed256, Producer, Ring,
    Sums128, Sums256, SwizzledTile, TensorMap, TransposedTile, decrease_registers,
};
use cuda_std::vector::F32x2;
use cuda_std::{GpuFloat, GridConstant, shared_array, thread, unroll};

/// Rows of C that a block computes at a time.
pub const ROWS: u32 = 128;
/// Columns of C that a block computes at a time.
pub const COLUMNS: u32 = 256;
/// Threads of a block: a warpgroup of which one thread loads, and two that multiply.
pub const THREADS: u32 = 384;
const STAGES: u32 = 4;
/// Bytes of 64 rows of a stage.
pub(super) const BOX: u32 = SwizzledTile::<64>::BYTES;
const STAGE: u32 = 6 * BOX;
/// B begins behind the two boxes of A.
pub(super) const B: u32 = 2 * BOX;
pub(super) type Stages = Ring<STAGES, STAGE>;
/// Dynamic shared memory of a launch: the stages, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 1024;

/// The ring from this address on, initialised for two warpgroups of each of `blocks` blocks; one thread of the block does it,
/// and all must meet before they use it. The maps are asked for first, since the first copy by a map waits a thousand cycles for
/// it.
///
/// # Safety
/// The address is a multiple of 1024 and the stages are there. Nothing uses the ring yet; a kernel calls this once.
#[inline(always)]
pub(super) unsafe fn ring<const MAPS: usize>(
    shared: u32,
    blocks: u32,
    maps: [GridConstant<'_, TensorMap>; MAPS],
) -> Stages {
    // SAFETY: promised by the caller.
    unsafe {
        let ring = Stages::new(shared, shared_array![Barrier; 2 * STAGES as usize]);
        if thread::thread_idx_x() == 0 {
            _ = maps.map(GridConstant::prefetch);
            ring.init(2 * blocks);
        }
        ring
    }
}

/// How B lies in shared memory.
pub trait Right: Copy {
    /// The tile at an address within shared memory.
    fn at(address: u32) -> Self;

    /// Loads 256 columns from `column` on, 128 bytes of K from `depth` on, of matrix `nth`.
    ///
    /// # Safety
    /// The map is of B as this type says. Nobody else loads this part of the stage.
    unsafe fn load(stage: &Filling<STAGE>, b: Map<'_>, column: u32, depth: u32, nth: impl Nth);
}

/// Which matrix of a stack is meant: a number, or nothing where there is no stack.
pub trait Nth: Copy + Default {
    /// The matrix of a tile that is numbered through all matrices, and its number in that matrix.
    fn of(tile: u32, tiles: Tiles) -> (Self, u32);

    /// The corner at this column and row of the matrix.
    fn at(self, column: u32, row: u32) -> impl Corner;
}

impl Nth for () {
    #[inline(always)]
    fn of(tile: u32, _: Tiles) -> (Self, u32) {
        ((), tile)
    }

    #[inline(always)]
    fn at(self, column: u32, row: u32) -> impl Corner {
        (column, row)
    }
}

impl Nth for u32 {
    #[inline(always)]
    fn of(tile: u32, tiles: Tiles) -> (Self, u32) {
        tiles.split(tile)
    }

    #[inline(always)]
    fn at(self, column: u32, row: u32) -> impl Corner {
        (column, row, self)
    }
}

/// B has a row for each column of C: boxes of 128 rows of 128 bytes.
impl Right for SwizzledTile<COLUMNS> {
    #[inline(always)]
    fn at(address: u32) -> Self {
        Self::at(address)
    }

    #[inline(always)]
    unsafe fn load(stage: &Filling<STAGE>, b: Map<'_>, column: u32, depth: u32, nth: impl Nth) {
        // SAFETY: promised by the caller: the two boxes fill the part.
        unsafe {
            stage.load::<128>(B, b, nth.at(depth, column));
            stage.load::<128>(B + 2 * BOX, b, nth.at(depth, column + 128));
        }
    }
}

/// B has K rows of columns, as people write it: boxes of 64 rows of 64 bf16.
impl Right for TransposedTile<COLUMNS> {
    #[inline(always)]
    fn at(address: u32) -> Self {
        Self::at(address)
    }

    #[inline(always)]
    unsafe fn load(stage: &Filling<STAGE>, b: Map<'_>, column: u32, depth: u32, nth: impl Nth) {
        unroll!(part in [0 1 2 3] {
            let number = part as u32;
            // SAFETY: promised by the caller: the four boxes fill the part.
            unsafe { stage.load::<64>(B + number * BOX, b, nth.at(column + 64 * number, depth)) };
        });
    }
}

/// Loads these steps of a tile whose first element is at this row and column, of matrix `nth`.
///
/// # Safety
/// One thread calls this; the maps are of A, with boxes of 128 rows of 128 bytes, and of B, as `R` says.
#[inline(always)]
pub(super) unsafe fn load<E: Element, R: Right>(
    ring: &mut Producer<STAGES, STAGE>,
    (a, b): (Map<'_>, Map<'_>),
    (row, column): (u32, u32),
    nth: impl Nth,
    steps: impl Iterator<Item = u32>,
) {
    for step in steps {
        let (stage, depth) = (ring.fill_or_trap(), step * E::DEPTH);
        // SAFETY: promised by the caller: together these are the stage.
        unsafe {
            stage.load::<ROWS>(0, a, nth.at(depth, row));
            R::load(&stage, b, column, depth, nth);
        }
    }
}

/// What the first warpgroup of a block does that goes from tile to tile: it gives registers back, and its first thread loads.
///
/// # Safety
/// All threads of the block's first warpgroup call this, once, with ring and maps as for [`load`]; the other two warpgroups take the registers.
#[inline(always)]
pub(super) unsafe fn load_tiles<E: Element, R: Right, N: Nth>(
    ring: Stages,
    (a, b): (GridConstant<'_, TensorMap>, GridConstant<'_, TensorMap>),
    tiles: Tiles,
    matrices: u32,
    steps: u32,
) {
    // SAFETY: promised by the caller.
    unsafe {
        decrease_registers::<40>();
        if thread::thread_idx_x() == 0 {
            let (maps, mut ring) = ((a.map(), b.map()), ring.producer());
            for tile in tiles.of_block_in(matrices) {
                let (nth, tile) = N::of(tile, tiles);
                let (row, column) = tiles.place(tile);
                load::<E, R>(&mut ring, maps, (row * ROWS, column * COLUMNS), nth, 0..steps);
            }
        }
    }
}

/// Multiplies the steps of a tile: the sums of the rows of warpgroup `half`, of two.
///
/// # Safety
/// All threads of the warpgroup call this together, and the producer loads as many steps.
#[inline(always)]
pub(super) unsafe fn multiply<E: Element, R: Right>(
    ring: &mut Consumer<STAGES, STAGE>,
    half: u32,
    steps: u32,
) -> Sums256
where
    Accumulator256: Multiply<E, R>,
{
    let mut sums = Accumulator256::zero();
    let mut last = None;
    // SAFETY: promised by the caller. A stage is released when all but the newest group of wgmma is complete, which is one of the
    // next stage.
    unsafe {
        for _ in 0..steps {
            let stage = ring.wait();
            sums.multiply::<1>(stage.tile(half * BOX), R::at(stage.address(B)));
            if let Some(done) = last.replace(stage) {
                done.release();
            }
        }
        let sums = sums.finish();
        if let Some(done) = last {
            done.release();
        }
        sums
    }
}

/// Writes a warpgroup's 64 rows of 128 results from registers, what C has of them. Each quad of lanes writes 16 neighbouring
/// bytes of a row: half a sector.
///
/// # Safety
/// `c` has `m` rows of `n` bf16, two a word; nothing else accesses the rows from `row` and the columns from `column` on. `lane`
/// is the thread's number in the warpgroup.
#[inline(always)]
pub(super) unsafe fn write(
    c: *mut u32,
    (m, n): (u32, u32),
    (row, column): (u32, u32),
    lane: u32,
    results: &Packed128,
) {
    let row = row + lane / 32 * 16 + lane % 32 / 4;
    let column = column + lane % 4 * 2;
    // SAFETY: a place is written only if C has it, and this thread alone has it.
    let put = |row: u32, column: u32, word: u32| unsafe {
        if row < m && column < n {
            c.add((row as usize * n as usize + column as usize) / 2).write(word);
        }
    };
    unroll!(eight in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
        put(row, column + 8 * eight as u32, results.0[2 * eight]);
        put(row + 8, column + 8 * eight as u32, results.0[2 * eight + 1]);
    });
}

/// [`write`] for 256 columns.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
pub(super) unsafe fn write_256(
    c: *mut u32,
    sizes: (u32, u32),
    (row, column): (u32, u32),
    lane: u32,
    results: &Packed256,
) {
    let [left, right] = results.halves();
    // SAFETY: promised by the caller.
    unsafe {
        write(c, sizes, (row, column), lane, &left);
        write(c, sizes, (row, column + 128), lane, &right);
    }
}

/// A matrix of f32 to which scaled sums are written.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    /// `m` rows of `n`.
    pub(super) c: *mut f32,
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) alpha: f32,
    pub(super) beta: f32,
}

impl Destination {
    /// Writes a warpgroup's 64 rows of 128 sums from registers, what C has of them. Each quad of lanes writes 32 neighbouring
    /// bytes of a row: a sector.
    ///
    /// # Safety
    /// C is there, `n` is even, and nothing else accesses the rows from `row` and the columns from `column` on. `lane` is the
    /// thread's number in the warpgroup.
    #[inline(always)]
    pub(super) unsafe fn write(self, (row, column): (u32, u32), lane: u32, sums: &Sums128) {
        let Self { c, m, n, alpha, beta } = self;
        let row = row + lane / 32 * 16 + lane % 32 / 4;
        let column = column + lane % 4 * 2;
        // SAFETY: a place is touched only if C has it, and this thread alone has it; pairs are aligned, because `n` is even.
        let put = |row: u32, column: u32, left: f32, right: f32| unsafe {
            if row < m && column < n {
                let place = c.add(row as usize * n as usize + column as usize).cast::<F32x2>();
                let [x, y] = if beta == 0.0 { [0.0; 2] } else { (*place).to_array().map(|old| beta * old) };
                place
                    .write(F32x2::new(GpuFloat::mul_add(alpha, left, x), GpuFloat::mul_add(alpha, right, y)));
            }
        };
        unroll!(eight in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            let column = column + 8 * eight as u32;
            put(row, column, sums.0[4 * eight], sums.0[4 * eight + 1]);
            put(row + 8, column, sums.0[4 * eight + 2], sums.0[4 * eight + 3]);
        });
    }
}
