//! # One warpgroup loads, two multiply
//!
//! In [`warpgroup`](super::warpgroup) the warps that multiply also ask for the next boxes. Here the block is divided: one
//! thread fills a ring of stages and does nothing else, and two warpgroups read it. The loader runs ahead as far as the ring
//! is long, whatever the others do. Two warpgroups multiply 64 rows each by the same 256 columns of B, so B is loaded once
//! for 128 rows, and while one issues instructions the other's are on the tensor cores.
//!
//! What still waits: a block computes one tile. Its first loads and its stores are not hidden by anything, and a
//! multiprocessor has shared memory for one such block only.

use super::pipeline;
use super::tiles::Tiles;
use cuda_std::tensor::{
    Bf16, SwizzledTile, TensorMap, aligned_dynamic_shared, decrease_registers, increase_registers,
};
use cuda_std::{GridConstant, kernel, thread};

pub use super::pipeline::{COLUMNS, ROWS, SHARED, THREADS};

/// `C = A * B^T`, 128 x 256 of C a block.
///
/// # Safety
/// The maps are of A (`m` rows of `k`) and B (`n` rows of `k`) in bf16, with boxes of 128 rows of 64, swizzled by 128 bytes. `c`
/// has `m` rows of `n`, two bf16 a word, and nothing else accesses it during the launch. Blocks have 384 threads in x and
/// [`SHARED`] bytes of dynamic shared memory. No size and no `group` is 0; sizes are below 2^31, and there are as many blocks as
/// tiles.
// PTX: contains 4x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 64x st.global.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
pub unsafe fn matmul_ring(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: *mut u32,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    // SAFETY: no size is 0.
    let tiles = unsafe { Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group) };
    let (row, column) = tiles.place(thread::block_idx_x());
    let (row, column) = (row * ROWS, column * COLUMNS);
    let steps = k.div_ceil(64);
    // SAFETY: the launch has the shared memory. One thread fills, and an elected thread of each of two warpgroups releases.
    unsafe {
        let ring = pipeline::ring(aligned_dynamic_shared(), 1, [a, b]);
        thread::sync_threads();
        if warpgroup == 0 {
            decrease_registers::<40>();
            if lane == 0 {
                let maps = (a.map(), b.map());
                pipeline::load::<Bf16, SwizzledTile<COLUMNS>>(
                    &mut ring.producer(),
                    maps,
                    (row, column),
                    (),
                    0..steps,
                );
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let mut ring = ring.consumer(lane == 0);
            let sums = pipeline::multiply::<Bf16, SwizzledTile<COLUMNS>>(&mut ring, half, steps);
            pipeline::write_256(c, (m, n), (row + half * 64, column), lane, &sums.pack());
        }
    }
}
