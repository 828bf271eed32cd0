//! # Histogram: many threads, few counters
//!
//! A histogram of bytes has 256 bins, and every thread adds to all of them. The bins are where threads meet, and the kernels
//! differ in how many threads meet where:
//!
//! - `histogram_global`: all threads of the card in one set of counters. Each atomic goes to L2, where those to one address
//!   are added one after the other.
//! - `histogram_shared`: a block has a set of its own in shared memory, and adds it to the result when it is done. Atomics of
//!   shared memory are executed in the SM. Lanes of a warp that hit one bin still wait for one another.
//! - `histogram_warps`: each warp has a set, so that warps of a block do not meet either.
//! - `histogram_match`: lanes with the same byte find one another by `match.any`, and one of them adds their number. What
//!   it costs does not depend on the data, and pays off only where the data is skewed.
//! - `histogram_threads`: each thread counts in bytes of its own, without any atomic. 128 threads take 32 KiB. A byte
//!   overflows after 255, so a thread takes 240 bytes of the source before all are summed up.
//!
//! The input decides which of them is best. If all bytes are random, a warp's 32 lanes hit about 30 different bins. If all are
//! equal, 32 lanes hit one: atomics of shared memory then take 32 turns, unless the hardware joins them, and every thread
//! of the card waits for one address in L2.
//!
//! # Launch
//! Blocks and grids are one-dimensional. Blocks are whole warps, at most 256 threads for `histogram_warps` and exactly 128
//! for `histogram_threads`, whose grid has a thread for each 240 bytes. The source is read in vectors of 16 bytes. Kernels
//! add to the bins, which the host sets to 0 first.

use cuda_safe::names::N;
use cuda_safe::shape::Warps;
use cuda_safe::spread::{Bytes, Spread};
use cuda_safe::unroll::repeat;
use cuda_safe::vector::U32x4;
use cuda_safe::{Atomics, Block, Count, Each, In, Thread, Tile, Votes, kernel};

/// Bins: one for each value of a byte.
pub const BINS: usize = 256;

/// The most warps of a block of `histogram_warps`.
pub const WARPS: usize = 8;

/// Threads of a block of `histogram_threads`.
pub const THREADS: usize = 128;

/// Vectors that a thread of `histogram_threads` counts: as many as fit in counters of a byte.
pub const VECTORS: usize = 15;

/// Counts bytes in global memory.
// PTX: contains 16x red.relaxed.gpu.global.add.u32
// PTX: lacks atom
#[kernel(requires(bins.len() == 256))]
pub fn histogram_global(thread: Thread, source: In<U32x4, Each<N>>, bins: Atomics<u32, Count<BINS>>) {
    for i in thread.grid_stride(source) {
        for_each_byte(source.at(i), |byte| count(bins, byte, 1));
    }
}

/// Counts bytes in the shared memory of each block.
// PTX: contains 16x red.relaxed.cta.shared.add.u32
// PTX: contains red.relaxed.gpu.global.add.u32
#[kernel(requires(bins.len() == 256))]
pub fn histogram_shared(
    mut block: Block<Warps>,
    tile: Tile<u32, Spread<BINS>>,
    source: In<U32x4, Each<N>>,
    bins: Atomics<u32, Count<BINS>>,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, 0));
    let tile = block.open(tile);
    block.each(|thread| {
        for i in thread.grid_stride(source) {
            for_each_byte(source.at(i), |byte| {
                if let Some(cell) = tile.at(byte) {
                    cell.add(1);
                }
            });
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| tile.own(thread).for_each(|(bin, sum)| count(bins, bin, sum)));
}

/// Counts bytes in shared memory, with a set of counters for each warp.
// PTX: contains 16x red.relaxed.cta.shared.add.u32
// PTX: contains red.relaxed.gpu.global.add.u32
#[kernel(requires(bins.len() == 256, block.x <= 256))]
pub fn histogram_warps(
    mut block: Block<Warps>,
    tile: Tile<u32, Spread<{ BINS * WARPS }>>,
    source: In<U32x4, Each<N>>,
    bins: Atomics<u32, Count<BINS>>,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, 0));
    let tile = block.open(tile);
    block.each(|thread| {
        let first = thread.x() as usize / 32 * BINS;
        for i in thread.grid_stride(source) {
            for_each_byte(source.at(i), |byte| {
                if let Some(cell) = tile.at(first + byte) {
                    cell.add(1);
                }
            });
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        // The cells of the first set stand for the bins.
        for (bin, first) in tile.own(thread).take_while(|(bin, _)| *bin < BINS) {
            let others = (1..WARPS).filter_map(|warp| tile.get(warp * BINS + bin));
            count(bins, bin, others.fold(first, u32::wrapping_add));
        }
    });
}

/// Counts bytes in shared memory, once for all lanes of a warp with the same byte.
// PTX: contains 16x match.any.sync.b32
// PTX: contains 16x red.relaxed.cta.shared.add.u32
#[kernel(requires(bins.len() == 256))]
pub fn histogram_match(
    mut block: Block<Warps>,
    tile: Tile<u32, Spread<BINS>>,
    source: In<U32x4, Each<N>>,
    bins: Atomics<u32, Count<BINS>>,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, 0));
    let tile = block.open(tile);
    for chunk in block.grid_stride(source) {
        let vectors = block.each(|thread| chunk.of(thread).map(|i| source.at(i)));
        repeat::<16, _>((), |(), nth| {
            // Threads past the end have a byte that there is no bin for.
            let bytes =
                block.map(vectors, |_, vector| vector.map_or(u32::MAX, |vector| byte(vector, nth) as u32));
            let peers = block.match_any(bytes);
            block.map(bytes.zip(peers), |thread, (byte, peers)| {
                if thread.lane() == peers.trailing_zeros()
                    && let Some(cell) = tile.at(byte as usize)
                {
                    cell.add(peers.count_ones());
                }
            });
        });
    }
    let tile = block.sync(tile);
    block.each(|thread| tile.own(thread).for_each(|(bin, sum)| count(bins, bin, sum)));
}

/// Counts bytes in counters of each thread's own.
// PTX: contains ld.shared.b8
// PTX: contains st.shared.b8
// PTX: contains red.relaxed.gpu.global.add.u32
// PTX: lacks red.relaxed.cta.shared
#[kernel(requires(bins.len() == 256, block.x == 128))]
pub fn histogram_threads(
    mut block: Block<Warps>,
    tile: Tile<u8, Bytes<BINS>>,
    source: In<U32x4, Each<N>>,
    bins: Atomics<u32, Count<BINS>>,
) {
    let tile = block.write(tile, |thread, cells| {
        let Some(mut own) = cells.own(thread) else { return };
        own.fill(0);
        let x = thread.x() as usize;
        let first = (thread.number() - x) * VECTORS + x;
        for nth in 0..VECTORS {
            if let Some(vector) = source.get(first + nth * THREADS) {
                for_each_byte(vector, |byte| own.count(byte));
            }
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        for bin in [thread.x() as usize, thread.x() as usize + THREADS] {
            if let Some(sum) = tile.total(thread, bin) {
                count(bins, bin, sum);
            }
        }
    });
}

/// Adds to a bin in global memory.
#[inline(always)]
fn count(bins: Atomics<u32, Count<BINS>>, bin: usize, sum: u32) {
    if let Some(bin) = bins.at(bin) {
        bin.add(sum);
    }
}

/// Takes each of a vector's sixteen bytes.
#[inline(always)]
fn for_each_byte(vector: U32x4, mut take: impl FnMut(usize)) {
    repeat::<16, _>((), |(), nth| take(byte(vector, nth)));
}

/// A byte of a vector, by its number below 16.
#[inline(always)]
fn byte(vector: U32x4, nth: u32) -> usize {
    let word = match nth / 4 {
        0 => vector.x,
        1 => vector.y,
        2 => vector.z,
        _ => vector.w,
    };
    (word >> (nth % 4 * 8) & 0xff) as usize
}
