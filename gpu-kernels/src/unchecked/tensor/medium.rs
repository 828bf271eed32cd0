//! # Products of one wave: store half while the other half is multiplied
//!
//! 2048 x 2048 x 2048 is 128 tiles of 256 x 128: one for each of 132 multiprocessors but four. No tile follows during which
//! [`overlapped`](super::overlapped) would store results, so a block of it ends with a store of 64 KiB that nothing hides: 2600 of 38 000
//! cycles on an H200.
//!
//! Here each of two warpgroups has two accumulators, 64 x 128 of C each. Both take a step's part of B while it is there, up to the
//! last [`LAST`] steps. These stay in the ring: the first accumulator goes through all of them, then the second, and while
//! the tensor cores are busy with the second the threads store the first.
//!
//! ```text
//! stage       .. 27 27 28 28 | 29 30 31 | 29 30 31 |
//! accumulator ..  1  2  1  2 |  1  1  1 |  2  2  2 |
//! stored                                |  1 1 1 1 | 2 2 2 2
//! ```
//!
//! Launch, maps and stores are those of [`small`](super::small).

use super::pipeline::BOX;
use super::rows::{self, Rows};
use cuda_std::async_copy::Barrier;
use cuda_std::tensor::{
    Accumulator128, Bf16, Multiply, Packed128, Ring, Stage, SwizzledTile, TensorMap, aligned_dynamic_shared,
};
use cuda_std::vector::U32x4;
use cuda_std::{GridConstant, dependent, kernel, shared_array, thread};

pub use super::small::THREADS;

/// Rows of C that a block computes.
pub const ROWS: u32 = 256;
/// Columns of C that a block computes.
pub const COLUMNS: u32 = 128;
/// Steps at the end that the accumulators take one after the other.
pub const LAST: u32 = 3;
/// The first thread of the warp that loads.
const LOADER: u32 = 256;
const STAGES: u32 = 4;
/// B begins behind the four boxes of A.
const B: u32 = 4 * BOX;
const STAGE: u32 = 6 * BOX;
type Stages = Ring<STAGES, STAGE>;
/// Dynamic shared memory of a launch: the stages, two buffers for each of two warpgroups, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 4 * BOX + 1024;

/// `C = A * B^T`, tiles of 256 x 128 by a block each.
///
/// # Safety
/// As for [`matmul_small`](super::small), with boxes of 256 rows of A and 128 of B, and [`SHARED`] bytes of dynamic shared
/// memory.
// PTX: contains wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// PTX: contains 2x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 2x prefetch.tensormap
// PTX: contains wgmma.wait_group.sync.aligned 3
// PTX: contains 16x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 16x st.global.v4.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(288, 1))]
pub unsafe fn matmul_medium(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut U32x4,
    m: u32,
    n: u32,
    k: u32,
) {
    let thread = thread::thread_idx_x();
    if thread == LOADER {
        a.prefetch();
        b.prefetch();
    }
    let shared = aligned_dynamic_shared();
    let (x, y) = (thread::block_idx_x() * COLUMNS, thread::block_idx_y() * ROWS);
    // What lies outside of A and B is zeros.
    let steps = k.div_ceil(64).max(LAST);
    // SAFETY: the launch has the shared memory. One thread initialises the ring and fills it, and an elected thread of each of two
    // warpgroups releases. Nothing fills the last stages again. No size is 0.
    unsafe {
        let warp = rows::warp();
        let ring = Stages::new(shared, shared_array![Barrier; 2 * STAGES as usize]);
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
            let upper = |stage: &Stage<STAGE>| (stage.tile(half * 2 * BOX), stage.tile::<COLUMNS>(B));
            let lower = |stage: &Stage<STAGE>| (stage.tile(half * 2 * BOX + BOX), stage.tile::<COLUMNS>(B));
            let (mut first, mut second) = (Accumulator128::zero(), Accumulator128::zero());
            let mut last = None;
            for _ in 0..steps - LAST {
                let stage = ring.wait();
                multiply::<1>(&mut first, upper(&stage));
                if let Some(done) = last.take() {
                    Stage::release(done);
                }
                multiply::<1>(&mut second, lower(&stage));
                last = Some(stage);
            }
            let stage0 = ring.wait();
            multiply::<1>(&mut first, upper(&stage0));
            if let Some(done) = last {
                done.release();
            }
            let stage1 = ring.wait();
            multiply::<2>(&mut first, upper(&stage1));
            let stage2 = ring.wait();
            multiply::<3>(&mut first, upper(&stage2));
            multiply::<3>(&mut second, lower(&stage0));
            multiply::<3>(&mut second, lower(&stage1));
            multiply::<3>(&mut second, lower(&stage2));
            let (c, buffer) = (Rows { c, m, n }, rows::buffer(shared + Stages::BYTES, half, 2));
            let y = y + half * 128;
            store(c, &first.finish_before::<LAST>().pack(), buffer, lane, (x, y));
            store(c, &second.finish().pack(), buffer, lane, (x, y + 64));
        }
    }
}

/// Adds the product of 64 rows and the columns of B to sums, and leaves `PENDING` such groups unfinished.
///
/// # Safety
/// As for [`Multiply::multiply`].
#[inline(always)]
unsafe fn multiply<const PENDING: u32>(
    sums: &mut Accumulator128,
    (a, b): (SwizzledTile<64>, SwizzledTile<COLUMNS>),
) {
    // SAFETY: promised by the caller.
    unsafe { Multiply::<Bf16, _>::multiply::<PENDING>(sums, a, b) }
}

/// Stores 64 rows of 128 results of a warpgroup, by two buffers of its own.
///
/// # Safety
/// As for [`Rows::copy`].
#[inline(always)]
unsafe fn store(c: Rows, results: &Packed128, buffer: u32, lane: u32, (x, y): (u32, u32)) {
    // SAFETY: promised by the caller.
    unsafe {
        results.store::<0>(SwizzledTile::at(buffer), lane);
        results.store::<1>(SwizzledTile::at(buffer + BOX), lane);
        c.copy::<64>(buffer, lane / 32, (x, y));
        c.copy::<64>(buffer + BOX, lane / 32, (x + 64, y));
    }
}
