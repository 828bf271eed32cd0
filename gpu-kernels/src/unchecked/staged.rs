//! # Asynchronous copies: bytes in flight without registers
//!
//! Memory answers after some hundred nanoseconds. To receive a bandwidth `b` at a latency `l`, a multiprocessor must have `b * l`
//! bytes in flight (Little's law): on an H200, 36 GB/s per multiprocessor at 800 ns are 29 KB. Each kernel here adds up an
//! array through a ring of stages in shared memory. While a stage is read, the copies of the other stages are on their way, so
//! `stages` times the bytes of a stage are in flight per block, and a launch has one block per multiprocessor. They differ in
//! what carries the bytes:
//!
//! - `async_plain`: loads and stores. A thread keeps a vector of each stage in registers until it stores it to shared memory, so
//!   a ring of eight takes 32 registers per thread, and the instructions of a load and a store for each vector.
//! - `async_copy`: `cp.async`. The value goes to shared memory without a register. Each thread still computes an address and
//!   issues an instruction for each of its vectors.
//! - `async_bulk`: `cp.async.bulk`. One thread asks the copy engine for a whole stage, whose bytes are counted at an `mbarrier`.
//! - `async_tensor`: `cp.async.bulk.tensor`. The same by a tensor map: the engine computes the addresses of a box of rows of 128
//!   bytes, and swizzles them.
//!
//! Expect bandwidth in proportion to the bytes in flight, until they are what Little's law asks for. From there on neither more
//! stages nor larger ones help. With the same bytes in flight the four differ by what they cost the threads, which shows
//! where stages are small.
//!
//! # Launch
//! All take `(source, sums, stages)`, but that `async_tensor` takes a tensor map of the source and its number of vectors: rows of
//! 32 `u32`, boxes of `block / 8` rows, swizzled by 128 bytes. Blocks are one-dimensional, of 128, 256, 512 or 1024 threads;
//! `stages` is 1, 2, 4 or 8. A stage is one vector of 16 bytes per thread of the block, and the source is a whole number of
//! stages, which the blocks of any grid take round-robin. `sums` has a `u32` per thread: the sum of all words of the vectors of
//! the thread opposite, counted from the block's end, so that each value passes through shared memory. Dynamic shared memory
//! follows from the contract.
//!
//! # Why unsafe
//! A tile of `cuda_safe` is written, then read, with a barrier between. Stages of a ring are written by copies that run beside
//! the threads, and which stage is where depends on a counter. No type here says that.

use core::cell::Cell;
use cuda_std::async_copy::{
    Barrier, bulk_to_shared, commit_group, copy_to_shared_past_l1, fence_async_proxy, fence_barrier_init,
    wait_group,
};
use cuda_std::shared::{self, dynamic_shared_mem};
use cuda_std::tensor::{Map, SwizzledTile, TensorMap, aligned_dynamic_shared};
use cuda_std::vector::U32x4;
use cuda_std::{GridConstant, kernel, shared_array, thread, unroll};

/// The most stages of a ring.
pub const MOST_STAGES: u32 = 8;

/// Bytes of a row of the tensor map.
pub const ROW: u32 = 128;

/// Bytes of a vector.
const VECTOR: u32 = 16;

/// Bytes by which the tensor kernel's ring may have to be moved to a multiple of 1024.
pub const ALIGNMENT: u32 = 1024;

/// Adds up the source by loads into registers and stores to shared memory.
///
/// # Safety
/// Nothing else accesses the sums during the launch.
// PTX: contains ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.shared.v4.b32 or st.shared.v2.b64
// PTX: lacks cp.async
#[kernel(
    arch = "90a",
    launch_bounds(1024),
    requires(
        source.len() % block.count() == 0,
        sums.len() == threads.count(),
        stages.is_power_of_two(),
        stages <= 8
    ),
    shared = block.count() * 32
)]
pub unsafe fn async_plain(source: &[U32x4], sums: &[Cell<u32>], stages: u32) {
    let walk = Walk::new(source.len());
    // SAFETY: the launch has two stages of shared memory.
    unsafe {
        sums.finish(match stages {
            1 => plain::<1>(source, walk),
            2 => plain::<2>(source, walk),
            4 => plain::<4>(source, walk),
            _ => plain::<8>(source, walk),
        });
    }
}

/// Adds up the source by `cp.async` of 16 bytes per thread.
///
/// # Safety
/// As for [`async_plain()`].
// PTX: contains cp.async.cg.shared.global
// PTX: contains cp.async.wait_group
// PTX: contains ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: lacks ld.global
#[kernel(
    arch = "90a",
    launch_bounds(1024),
    requires(
        source.len() % block.count() == 0,
        sums.len() == threads.count(),
        stages.is_power_of_two(),
        stages <= 8
    ),
    shared = block.count() * 16 * stages
)]
pub unsafe fn async_copy(source: &[U32x4], sums: &[Cell<u32>], stages: u32) {
    let walk = Walk::new(source.len());
    // SAFETY: the launch has the ring's shared memory.
    unsafe {
        sums.finish(match stages {
            1 => copied::<1>(source, walk),
            2 => copied::<2>(source, walk),
            4 => copied::<4>(source, walk),
            _ => copied::<8>(source, walk),
        });
    }
}

/// Adds up the source by bulk copies of a stage each.
///
/// # Safety
/// As for [`async_plain()`].
// PTX: contains cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
// PTX: contains mbarrier.try_wait.parity.shared::cta
// PTX: contains ld.shared.v4.b32 or ld.shared.v2.b64
// PTX: lacks ld.global
#[kernel(
    arch = "90a",
    launch_bounds(1024),
    requires(
        source.len() % block.count() == 0,
        sums.len() == threads.count(),
        stages.is_power_of_two(),
        stages <= 8
    ),
    shared = block.count() * 16 * stages
)]
pub unsafe fn async_bulk(source: &[U32x4], sums: &[Cell<u32>], stages: u32) {
    let walk = Walk::new(source.len());
    let ring = dynamic_shared_mem::<U32x4>();
    let opposite = walk.opposite() as usize;
    // SAFETY: the launch has the ring's shared memory; a stage is copied whole.
    unsafe {
        let fill = |slot: u32, step: u32, barrier: *const Barrier| {
            let from = source.as_ptr().add(walk.first(step));
            bulk_to_shared(ring.add((slot * walk.threads) as usize), from, walk.stage(), barrier);
        };
        sums.finish(announced(walk, stages, fill, |slot| {
            *ring.add((slot * walk.threads) as usize + opposite)
        }));
    }
}

/// Adds up the source by boxes of a tensor map.
///
/// # Safety
/// The map is of `vectors` vectors in rows of 32 `u32`, with boxes of `block / 8` rows, swizzled by 128 bytes. Nothing else
/// accesses the sums during the launch.
// PTX: contains cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// PTX: contains mbarrier.try_wait.parity.shared::cta
// PTX: lacks ld.global
#[kernel(
    arch = "90a",
    launch_bounds(1024),
    requires(
        vectors % block.count() == 0,
        sums.len() == threads.count(),
        stages.is_power_of_two(),
        stages <= 8
    ),
    shared = block.count() * 16 * stages + 1024
)]
pub unsafe fn async_tensor(
    source: GridConstant<'_, TensorMap>,
    sums: &[Cell<u32>],
    stages: u32,
    vectors: usize,
) {
    let walk = Walk::new(vectors);
    let (start, map) = (aligned_dynamic_shared(), source.map());
    let opposite = walk.opposite();
    // In the swizzle, unit u of row r is at u ^ (r % 8).
    let swizzled = opposite ^ (opposite / 8 % 8);
    // SAFETY: the launch has the ring's shared memory and what aligning it takes; a box is a stage.
    unsafe {
        let ring = dynamic_shared_mem::<u8>();
        let ring = ring.add((start - shared::address(ring)) as usize).cast::<U32x4>();
        let fill = |slot: u32, step: u32, barrier: *const Barrier| {
            let row = (walk.first(step) * VECTOR as usize / ROW as usize) as u32;
            let (to, barrier) = (start + slot * walk.stage(), shared::address(barrier));
            match walk.threads {
                128 => load::<16>(map, to, row, barrier),
                256 => load::<32>(map, to, row, barrier),
                512 => load::<64>(map, to, row, barrier),
                _ => load::<128>(map, to, row, barrier),
            }
        };
        sums.finish(announced(walk, stages, fill, |slot| {
            *ring.add((slot * walk.threads + swizzled) as usize)
        }));
    }
}

/// Starts to copy the box at a row to an address within shared memory.
///
/// # Safety
/// As for [`Map::load`].
#[inline(always)]
unsafe fn load<const ROWS: u32>(map: Map<'_>, to: u32, row: u32, barrier: u32) {
    // SAFETY: promised by the caller.
    unsafe { map.load(SwizzledTile::<ROWS>::at(to), (0, row), barrier) }
}

/// The stages that a block takes: every one that lies a grid further on.
#[derive(Clone, Copy)]
struct Walk {
    threads: u32,
    steps: u32,
}

impl Walk {
    /// The block's stages of a source of that many vectors.
    #[inline(always)]
    fn new(vectors: usize) -> Self {
        let (threads, block) = (thread::block_dim_x(), thread::block_idx_x());
        // A launch reads less than 2^32 stages.
        let stages = (vectors / threads as usize) as u32;
        let steps = if block < stages { (stages - block).div_ceil(thread::grid_dim_x()) } else { 0 };
        Self { threads, steps }
    }

    /// The first vector of a step's stage.
    #[inline(always)]
    fn first(self, step: u32) -> usize {
        // In 32 bits up to the product, since a thread computes this between the end of a stage and the copy of the next.
        let stage = thread::block_idx_x().wrapping_add(step.wrapping_mul(thread::grid_dim_x()));
        stage as usize * self.threads as usize
    }

    /// Bytes of a stage.
    #[inline(always)]
    fn stage(self) -> u32 {
        self.threads * VECTOR
    }

    /// The thread opposite, counted from the block's end.
    #[inline(always)]
    fn opposite(self) -> u32 {
        self.threads - 1 - thread::thread_idx_x()
    }
}

/// The sums, one per thread.
trait Sums {
    /// Writes the thread's sum.
    ///
    /// # Safety
    /// There is a sum for each thread of the grid.
    unsafe fn finish(&self, sum: u32);
}

impl Sums for [Cell<u32>] {
    #[inline(always)]
    unsafe fn finish(&self, sum: u32) {
        // SAFETY: promised by the caller.
        unsafe { self.get_unchecked(thread::index_1d() as usize).set(sum) }
    }
}

#[inline(always)]
fn words(vector: U32x4) -> u32 {
    vector.x.wrapping_add(vector.y).wrapping_add(vector.z.wrapping_add(vector.w))
}

/// The sum by loads of which `STAGES` are in flight. Two stages of shared memory take turns, so one barrier per step keeps
/// the writing of a stage from the reading of its last contents.
///
/// # Safety
/// As for [`async_plain()`].
#[inline(always)]
unsafe fn plain<const STAGES: u32>(source: &[U32x4], walk: Walk) -> u32 {
    let (own, opposite) = (thread::thread_idx_x() as usize, walk.opposite() as usize);
    let tiles = dynamic_shared_mem::<U32x4>();
    // SAFETY: a step below the block's is within the source; a tile has a vector per thread.
    unsafe {
        let load = |step: u32| match step < walk.steps {
            true => *source.get_unchecked(walk.first(step) + own),
            false => U32x4::new(0, 0, 0, 0),
        };
        let mut ahead = [U32x4::new(0, 0, 0, 0); MOST_STAGES as usize];
        unroll!(nth in [0 1 2 3 4 5 6 7] {
            if (nth as u32) < STAGES {
                ahead[nth] = load(nth as u32);
            }
        });
        let (mut sum, mut step) = (0_u32, 0);
        while step < walk.steps {
            unroll!(nth in [0 1 2 3 4 5 6 7] {
                let step = step + nth as u32;
                if (nth as u32) < STAGES && step < walk.steps {
                    let tile = tiles.add((step % 2 * walk.threads) as usize);
                    tile.add(own).write(ahead[nth]);
                    ahead[nth] = load(step + STAGES);
                    thread::sync_threads();
                    sum = sum.wrapping_add(words(*tile.add(opposite)));
                }
            });
            step += STAGES;
        }
        sum
    }
}

/// The sum by `cp.async` in a ring of `STAGES`.
///
/// # Safety
/// As for [`async_copy()`].
#[inline(always)]
unsafe fn copied<const STAGES: u32>(source: &[U32x4], walk: Walk) -> u32 {
    let (own, opposite) = (thread::thread_idx_x(), walk.opposite());
    let ring = dynamic_shared_mem::<U32x4>();
    // SAFETY: a step below the block's is within the source. A stage is refilled when all threads have read it. Each step
    // commits a group, an empty one at the end, so the newest STAGES - 1 groups are those of later steps.
    unsafe {
        let fill = |slot: u32, step: u32| {
            if step < walk.steps {
                let to = ring.add((slot * walk.threads + own) as usize);
                copy_to_shared_past_l1(to, source.as_ptr().add(walk.first(step) + own as usize));
            }
            commit_group();
        };
        for step in 0..STAGES {
            fill(step, step);
        }
        let mut sum = 0_u32;
        for step in 0..walk.steps {
            let slot = step % STAGES;
            match STAGES {
                1 => wait_group::<0>(),
                2 => wait_group::<1>(),
                4 => wait_group::<3>(),
                _ => wait_group::<7>(),
            }
            thread::sync_threads();
            sum = sum.wrapping_add(words(*ring.add((slot * walk.threads + opposite) as usize)));
            thread::sync_threads();
            fill(slot, step + STAGES);
        }
        sum
    }
}

/// The sum of stages that the copy engine fills: `fill(slot, step, barrier)` asks for a stage, and `read(slot)` is the
/// thread's vector of one.
///
/// # Safety
/// All threads of the block call this, once; `fill` copies the bytes of a stage and announces them at the barrier, and touches
/// nothing but the slot.
#[inline(always)]
unsafe fn announced(
    walk: Walk,
    stages: u32,
    fill: impl Fn(u32, u32, *const Barrier),
    read: impl Fn(u32) -> U32x4,
) -> u32 {
    let full = shared_array![Barrier; MOST_STAGES as usize];
    let is_first = thread::thread_idx_x() == 0;
    // SAFETY: one thread initialises the barriers and arrives at them. A stage is refilled when all threads have read it, and
    // their reads are ordered before the engine's write by the fence and the block's barrier.
    unsafe {
        let ask = |slot: u32, step: u32| {
            let barrier = full.add(slot as usize);
            Barrier::arrive_expect_bytes(barrier, walk.stage());
            fill(slot, step, barrier);
        };
        if is_first {
            for slot in 0..stages {
                Barrier::init(full.add(slot as usize), 1);
            }
            fence_barrier_init();
            for slot in 0..stages.min(walk.steps) {
                ask(slot, slot);
            }
        }
        thread::sync_threads();
        let (mut sum, mut slot, mut parity) = (0_u32, 0, 0);
        for step in 0..walk.steps {
            Barrier::wait_parity(full.add(slot as usize), parity);
            sum = sum.wrapping_add(words(read(slot)));
            fence_async_proxy();
            thread::sync_threads();
            if is_first && step + stages < walk.steps {
                ask(slot, step + stages);
            }
            slot += 1;
            if slot == stages {
                (slot, parity) = (0, parity ^ 1);
            }
        }
        sum
    }
}
