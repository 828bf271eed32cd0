//! # An even last wave
//!
//! 5120 x 5120 are 800 tiles of 128 x 256: six waves of 132, and eight tiles more, for which 124 multiprocessors wait. This
//! kernel is [`overlapped`] with as much work for each of them (*stream-K*, of Osama and others, 2023):
//!
//! - *Shares.* Blocks compute whole waves of tiles as `matmul_overlapped` does. The tiles before these are one list of steps, and
//!   each block takes an equal share of it (`shares.rs`). A share begins and ends within tiles, so a tile may have two parts, of two blocks.
//! - *Handing over.* A block that begins in the midst of a tile computes its part first and writes the sums to memory, 128 KiB.
//!   The block that has the rest computes that last, adds those sums and stores the results.
//! - *Nobody waits.* Between the two lies at least a tile. And what a block waits for comes from one with a lower number, which
//!   began no later: blocks that cannot all run at once still end.
//! - *In step.* A part's steps are chosen so that at any time all blocks are at one of two places along K. Blocks that are at as
//!   many places as there are blocks took 1.5 tiles' time longer, since L2 then serves each by itself.
//!
//! On an H200 that makes 5120 13% faster and 3072 18%. At 8192, fifteen and a half waves, it saves 2% of the clocks and no time:
//! there power limits, and multiprocessors that wait let the others run at a higher clock.

use super::overlapped::{self, compute};
use super::pipeline::{self, Stages};
use super::results::Results;
use super::shares::{Parts, Sums};
use super::tiles::Tiles;
use core::sync::atomic::Ordering;
use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::tensor::{
    Bf16, Sums256, SwizzledTile, TensorMap, aligned_dynamic_shared, decrease_registers, increase_registers,
    sync_warpgroup,
};
use cuda_std::vector::F32x4;
use cuda_std::{GridConstant, kernel, thread, unroll};

pub use super::overlapped::{COLUMNS, ROWS, SHARED, THREADS};

/// Bytes of sums that a block hands over.
pub const HANDED_OVER: u32 = ROWS * COLUMNS * 4;

/// Sums on their way from one block to another: of each block two halves of a tile, and for each a word that says that they
/// are there.
#[derive(Clone, Copy)]
struct Exchange {
    sums: *mut F32x4,
    arrived: *mut u32,
    /// The warpgroup's number, of two, and the thread's in it.
    half: u32,
    lane: u32,
}

impl Exchange {
    /// This thread's first vector of a block's sums.
    #[inline(always)]
    fn place(self, block: u32) -> *mut F32x4 {
        self.sums.wrapping_add((((block * 2 + self.half) * 32) * 128 + self.lane) as usize)
    }

    /// Hands over the sums of the warpgroup of `block`, which calls this.
    ///
    /// # Safety
    /// All threads of the warpgroup call this together, once in a launch; barrier `half + 1` is theirs. Sums and words are there for
    /// as many blocks as the launch has.
    #[inline(always)]
    unsafe fn give(self, block: u32, sums: &Sums256) {
        let place = self.place(block);
        // SAFETY: promised by the caller. The word is written when all threads' sums are.
        unsafe {
            unroll!(four in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
                let of = 4 * four;
                place.add(four * 128).write(F32x4::new(sums.0[of], sums.0[of + 1], sums.0[of + 2], sums.0[of + 3]));
            });
            sync_warpgroup(self.half + 1);
            if self.lane == 0 {
                atomic_store_32_device(
                    self.arrived.add((block * 2 + self.half) as usize),
                    Ordering::Release,
                    1,
                );
            }
        }
    }

    /// Adds what `block` hands over, and takes its word back.
    ///
    /// # Safety
    /// As for [`give`](Self::give), and `block` does give.
    #[inline(always)]
    unsafe fn add(self, block: u32, sums: &mut Sums256) {
        let place = self.place(block);
        // SAFETY: promised by the caller. One thread waits for the word, and then all go on.
        unsafe {
            if self.lane == 0 {
                let arrived = self.arrived.add((block * 2 + self.half) as usize);
                while atomic_load_32_device(arrived, Ordering::Acquire) == 0 {}
                atomic_store_32_device(arrived, Ordering::Relaxed, 0);
            }
            sync_warpgroup(self.half + 1);
            unroll!(four in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
                let [x, y, z, w] = place.add(four * 128).read().to_array();
                let of = 4 * four;
                sums.0[of] += x;
                sums.0[of + 1] += y;
                sums.0[of + 2] += z;
                sums.0[of + 3] += w;
            });
        }
    }
}

/// `C = A * B^T` by a block for each multiprocessor, which all have as much to do.
///
/// # Safety
/// As for [`matmul_overlapped`](super::overlapped). `sums` has [`HANDED_OVER`] bytes for each block, and `arrived` two words, which
/// are 0 and will be; nothing else accesses them during the launch. All tiles together have fewer than 2^32 steps of 64.
// PTX: contains 20x wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// PTX: contains 3x cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains 32x stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains st.release.gpu.global.b32
// PTX: contains ld.acquire.gpu.global.b32
// PTX: allows trap because a loader that waits for ever would take the device with it
#[kernel(arch = "90a", launch_bounds(384, 1))]
#[expect(clippy::too_many_arguments, reason = "the arguments of BLAS, and memory to hand sums over")]
pub unsafe fn matmul_even(
    a: GridConstant<'_, TensorMap>,
    b: GridConstant<'_, TensorMap>,
    c: GridConstant<'_, TensorMap>,
    sums: *mut F32x4,
    arrived: *mut u32,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
) {
    let shared = aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let steps = overlapped::steps::<Bf16>(k);
    // SAFETY: the launch has the shared memory. One thread fills the ring and an elected thread of each of two warpgroups releases
    // its stages. Each warpgroup has a barrier, two buffers and its half of the sums of its own. No size is 0.
    unsafe {
        let ring = pipeline::ring(shared, 1, [a, b, c]);
        thread::sync_threads();
        let tiles = Tiles::new(m.div_ceil(ROWS), n.div_ceil(COLUMNS), group);
        // Shares are counted from the last block on: what a block waits for comes from the one before it.
        let blocks = thread::grid_dim_x();
        let share = blocks - 1 - thread::block_idx_x();
        let parts = Parts::new(tiles.count(), steps, share, blocks);
        if warpgroup == 0 {
            decrease_registers::<40>();
            if lane == 0 {
                let (maps, mut ring) = ((a.map(), b.map()), ring.producer());
                for part in parts {
                    let (row, column) = tiles.place(part.tile);
                    let (corner, numbers) = ((row * ROWS, column * COLUMNS), part.numbers(steps));
                    pipeline::load::<Bf16, SwizzledTile<COLUMNS>>(&mut ring, maps, corner, (), numbers);
                }
            }
        } else {
            increase_registers::<232>();
            let half = warpgroup - 1;
            let ring = ring.consumer(lane == 0);
            let results = Results::new(c.map(), shared + Stages::BYTES, half, lane);
            let exchange = Exchange { sums, arrived, half, lane };
            let parts = parts.map(|part| {
                let (row, column) = tiles.place(part.tile);
                ((column * COLUMNS, row * ROWS + half * 64, ()), part.steps, part.sums)
            });
            compute::<Bf16, SwizzledTile<COLUMNS>, (), _, _, _>(
                (ring, |stage| stage.release()),
                results,
                half,
                parts,
                |mut sums, _, what| {
                    if what == Sums::Given {
                        exchange.give(share, &sums);
                    } else if what == Sums::Added {
                        exchange.add(share + 1, &mut sums);
                    }
                    (sums.pack(), what != Sums::Given)
                },
            );
        }
    }
}
