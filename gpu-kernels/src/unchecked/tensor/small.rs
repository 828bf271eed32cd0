//! # Small products: what a launch costs
//!
//! 1024 x 1024 x 1024 is 2 us of work for the tensor cores, if all of them have some. In tiles of 128 x 256 it is 32 blocks for
//! 132 multiprocessors; in tiles of 128 x 64 it is 128. Each block has one tile, 24 KiB to load a step, and everything
//! in shared memory at once: eight stages hold half of K. What is left is what happens once, and each part of it is as long as
//! several steps:
//!
//! - *Maps.* They are parameters of the launch, which needs no fence in the kernel; the copy engine's first use of one waits a
//!   thousand cycles for it, so the first thing that a block does is to ask for it.
//! - *No cluster.* Two blocks that load half of B each, for both, read a sixth less from L2, but they start and meet later: a launch by
//!   itself takes 4% longer. One that overlaps the launch ahead hides that, and takes 2% less.
//! - *The end.* Nobody loads into the last stages again, so nobody releases them.
//! - *Results* go to C without the copy engine (`rows.rs`).
//! - *The launch.* It allows the next launch to place its blocks as soon as these end, and waits for the one before only when it
//!   loads: [`dependent`]. That matters if the launch is an overlapping one.
//!
//! [`matmul_between()`] is the same in tiles of 128 x 144, of which 1536 x 1536 x 1536 has 132, one for each multiprocessor of an
//! H200: as tiles of 128 x 64 they would be 288, two waves and a bit. All blocks ask L2 for the same lines at the same time,
//! and that helps; those of a second wave no longer do, and take up to a third longer.

use super::pipeline::BOX;
use super::rows::{self, Rows};
use core::hint;
use cuda_std::async_copy::Barrier;
use cuda_std::tensor::{
    Accumulator64, Accumulator144, Bf16, Multiply, Ring, SwizzledTile, TensorMap, aligned_dynamic_shared,
};
use cuda_std::vector::U32x4;
use cuda_std::{GridConstant, dependent, kernel, shared_array, thread, unroll};

/// Rows of C that a block computes.
pub const ROWS: u32 = 128;
/// Columns of C that a block of `matmul_small` computes.
pub const COLUMNS: u32 = 64;
/// Columns of C that a block of `matmul_between` computes.
pub const COLUMNS_BETWEEN: u32 = 144;
/// Threads of a block: two warpgroups that multiply, and a warp of which one thread loads.
pub const THREADS: u32 = 288;
/// The first thread of the warp that loads.
const LOADER: u32 = 256;
/// B begins behind the two boxes of A.
const B: u32 = 2 * BOX;
type Stages = Ring<8, { B + SwizzledTile::<COLUMNS>::BYTES }>;
type StagesBetween = Ring<6, { B + SwizzledTile::<COLUMNS_BETWEEN>::BYTES }>;
/// Dynamic shared memory of a launch: the stages, a buffer for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 2 * BOX + 1024;
/// The same of `matmul_between`.
pub const SHARED_BETWEEN: u32 = StagesBetween::BYTES + 2 * BOX + 1024;

/// Sums of 64 rows and `COLUMNS` columns that go to C by a buffer of 64 x 64.
trait Sums<const COLUMNS: u32>: Multiply<Bf16, SwizzledTile<COLUMNS>> {
    const ZERO: Self;

    /// Waits for the sums and stores them at this column and row, 64 columns after 64.
    ///
    /// # Safety
    /// All threads of the warpgroup call this together, `lane` being the calling one's number in it. The buffer is theirs alone; the
    /// rest as for [`Rows::copy`].
    unsafe fn store(self, c: Rows, buffer: u32, lane: u32, at: (u32, u32));
}

macro_rules! sums {
    ($accumulator:ident, $columns:expr, [$($part:literal)*]) => {
        impl Sums<{ $columns }> for $accumulator {
            const ZERO: Self = Self::zero();

            #[inline(always)]
            unsafe fn store(self, c: Rows, buffer: u32, lane: u32, (x, y): (u32, u32)) {
                // SAFETY: promised by the caller; a warp reads its rows of the buffer before it writes them again.
                unsafe {
                    let packed = self.finish().pack();
                    unroll!(part in [$($part)*] {
                        const LEFT: u32 = $columns - 64 * part as u32;
                        packed.store::<part>(SwizzledTile::at(buffer), lane);
                        c.copy::<{ if LEFT < 64 { LEFT } else { 64 } }>(buffer, lane / 32, (x + 64 * part as u32, y));
                    });
                }
            }
        }
    };
}
sums!(Accumulator64, COLUMNS, [0]);
sums!(Accumulator144, COLUMNS_BETWEEN, [0 1 2]);

/// `C = A * B^T`, `COLUMNS` columns of C a block.
///
/// # Safety
/// As for the kernels below; the barriers are in shared memory and nothing else uses them.
#[inline(always)]
unsafe fn product<S: Sums<COLUMNS>, const COLUMNS: u32, const STAGES: u32, const STAGE: u32>(
    [a, b]: [GridConstant<'_, TensorMap>; 2],
    c: Rows,
    k: u32,
    barriers: *const Barrier,
) {
    let thread = thread::thread_idx_x();
    // First of all: the addresses below are 40 instructions, behind which the maps would be fetched later.
    if thread == LOADER {
        a.prefetch();
        b.prefetch();
    }
    let shared = aligned_dynamic_shared();
    let (x, y) = (thread::block_idx_x() * COLUMNS, thread::block_idx_y() * ROWS);
    let steps = k.div_ceil(64);
    // SAFETY: the launch has the shared memory. One thread initialises the ring and fills it, and an elected thread of each of two
    // warpgroups releases. Nothing fills the last stages again. No size is 0.
    unsafe {
        let warp = rows::warp();
        let ring = Ring::<STAGES, STAGE>::new(shared, barriers);
        if thread == LOADER {
            ring.init(2);
        }
        dependent::launch_dependents();
        thread::sync_threads();
        dependent::wait_for_predecessor();
        if warp == LOADER / 32 {
            if thread == LOADER {
                let (a, b, mut ring) = (a.map(), b.map(), ring.producer());
                for step in 0..steps {
                    let stage = ring.fill_or_trap();
                    stage.load::<ROWS>(0, a, (step * 64, y));
                    stage.load::<COLUMNS>(B, b, (step * 64, x));
                }
            }
        } else {
            let (half, lane) = (warp / 4, thread % 128);
            let mut ring = ring.consumer(lane == 0);
            let mut sums = S::ZERO;
            let mut last = None;
            // Without a path around the loop ptxas sees that nothing but `wgmma` touches the sums.
            hint::assert_unchecked(steps != 0);
            for step in 0..steps {
                let stage = ring.wait();
                sums.multiply::<1>(stage.tile(half * BOX), stage.tile::<COLUMNS>(B));
                if let Some(done) = last.replace(stage)
                    && step - 1 + STAGES < steps
                {
                    done.release();
                }
            }
            let buffer = rows::buffer(shared + Ring::<STAGES, STAGE>::BYTES, half, 1);
            sums.store(c, buffer, lane, (x, y + half * 64));
        }
    }
}

/// `C = A * B^T`, tiles of 128 x 64 by a block each.
///
/// # Safety
/// The maps are of A (`m` rows of `k`) and B (`n` rows of `k`) in bf16, with boxes of 128 and 64 rows of 64, swizzled by 128
/// bytes. `c` has `m` rows of `n`, eight bf16 an element, `n` being a multiple of 8; nothing else writes A and B or accesses C
/// during the launch. Blocks have 288 threads in x and [`SHARED`] bytes of dynamic shared memory; the grid has a column of blocks for
/// each column of tiles, and a row for each row of tiles. No size is 0; sizes are below 2^31.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// PTX: contains 2x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: lacks barrier.cluster
// PTX: contains 2x prefetch.tensormap
// PTX: lacks fence.proxy.tensormap
// PTX: contains 4x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 4x st.global.v4.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(288, 1))]
pub unsafe fn matmul_small(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut U32x4,
    m: u32,
    n: u32,
    k: u32,
) {
    let barriers = shared_array![Barrier; 2 * 8];
    // SAFETY: promised by the caller.
    unsafe {
        product::<Accumulator64, COLUMNS, 8, { Stages::BYTES / 8 }>([a, b], Rows { c, m, n }, k, barriers);
    }
}

/// `C = A * B^T`, tiles of 128 x 144 by a block each.
///
/// # Safety
/// As for [`matmul_small()`], with boxes of 144 rows of B and [`SHARED_BETWEEN`] bytes of dynamic shared memory.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n144k16.f32.bf16.bf16
// PTX: contains 2x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: lacks barrier.cluster
// PTX: contains 9x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(288, 1))]
pub unsafe fn matmul_between(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut U32x4,
    m: u32,
    n: u32,
    k: u32,
) {
    let barriers = shared_array![Barrier; 2 * 6];
    // SAFETY: promised by the caller.
    unsafe {
        product::<Accumulator144, COLUMNS_BETWEEN, 6, { StagesBetween::BYTES / 6 }>(
            [a, b],
            Rows { c, m, n },
            k,
            barriers,
        );
    }
}
