//! # One warpgroup, fed by the copy engine
//!
//! `wgmma` reads both operands from shared memory: no lane holds a fragment of A or B, and no instruction loads one. What is
//! left for the 128 threads is to say where tiles lie, and to wait. Their first thread also asks for the boxes of the tensor
//! maps, [`STAGES`]` - 1` steps ahead; a box that lies outside the matrix, or in part, is filled with zeros.
//!
//! The results are stored from registers: each quad of lanes writes 16 neighbouring bytes of a row, half a sector. While it
//! stores, the block does not multiply, and there is one block on a multiprocessor: compare
//! [`overlapped`](super::overlapped).

use super::tiles::Tiles;
use cuda_std::async_copy::Barrier;
use cuda_std::tensor::{
    Accumulator256, Bf16, Multiply, Ring, SwizzledTile, TensorMap, aligned_dynamic_shared,
};
use cuda_std::{GridConstant, kernel, shared_array, thread};

/// Rows of C that a block computes.
pub const ROWS: u32 = 64;
/// Columns of C that a block computes.
pub const COLUMNS: u32 = 256;
/// Columns of A and B that are multiplied at a time: 128 bytes.
pub const DEPTH: u32 = 64;
/// Stages of the ring.
pub const STAGES: u32 = 4;
/// Bytes of a stage's part of A.
const A: u32 = SwizzledTile::<ROWS>::BYTES;
type Stages = Ring<STAGES, { A + SwizzledTile::<COLUMNS>::BYTES }>;
/// Dynamic shared memory of a launch: the stages, and what aligning them takes.
pub const SHARED: u32 = Stages::BYTES + 1024;

/// `C = A * B^T`, 64 x 256 of C a block.
///
/// # Safety
/// The maps are of A (`m` rows of `k`) and B (`n` rows of `k`) in bf16, with boxes of 64 and 256 rows of 64, swizzled by 128
/// bytes. `c` has `m` rows of `n`, two bf16 a word, and nothing else accesses it during the launch. Blocks have 128 threads in x and
/// [`SHARED`] bytes of dynamic shared memory. No size and no
/// `group` is 0; sizes are below 2^31, and there are as many blocks as tiles.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 64x st.global.b32
#[kernel(arch = "90a", launch_bounds(128, 1))]
pub unsafe fn matmul_wgmma(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut u32,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let thread = thread::thread_idx_x();
    let first = thread == 0;
    // SAFETY: no size is 0.
    let tiles = unsafe { Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group) };
    let (row, column) = tiles.place(thread::block_idx_x());
    let (y, x) = (row * ROWS, column * COLUMNS);
    let steps = k.div_ceil(DEPTH);
    // SAFETY: the launch has the shared memory. The ring is initialised by one thread before all use it; that thread fills it, and
    // speaks for the one group that reads it. A stage is released when all but the newest group of wgmma is complete,
    // which is one of the next stage.
    unsafe {
        let ring = Stages::new(aligned_dynamic_shared(), shared_array![Barrier; 2 * STAGES as usize]);
        if first {
            a.prefetch();
            b.prefetch();
            ring.init(1);
        }
        thread::sync_threads();
        let (a, b) = (a.map(), b.map());
        let (mut producer, mut consumer) = (ring.producer(), ring.consumer(first));
        let mut load = |step: u32| {
            if first && step < steps {
                let stage = producer.fill();
                stage.load::<ROWS>(0, a, (step * DEPTH, y));
                stage.load::<COLUMNS>(A, b, (step * DEPTH, x));
            }
        };
        for step in 0..STAGES - 1 {
            load(step);
        }
        let mut sums = Accumulator256::zero();
        let mut last = None;
        for step in 0..steps {
            let stage = consumer.wait();
            Multiply::<Bf16, _>::multiply::<1>(&mut sums, stage.tile(0), stage.tile::<COLUMNS>(A));
            if let Some(done) = last.replace(stage) {
                done.release();
            }
            // Into the stage that was just released, or, in the first step, the last that was never used.
            load(step + STAGES - 1);
        }
        super::pipeline::write_256(c, (m, n), (y, x), thread, &sums.finish().pack());
    }
}
