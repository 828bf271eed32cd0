//! # Scan: prefix sums
//!
//! An inclusive prefix sum gives each element the sum of all elements up to and including its own. Each result depends on
//! all earlier elements, yet the work can be shared. The kernels show how a block does it, and how blocks do it together.
//!
//! Within a block, each kernel of this group scans the elements of each block by themselves:
//!
//! - `scan_hillis_steele` (Hillis and Steele 1986): in step `d` each thread adds the value `2^d` before its own. It takes
//!   `log2 n` steps and `n log2 n` additions, with a barrier in each.
//! - `scan_blelloch` (Blelloch 1990): sums go up a balanced tree and prefixes down again. It takes `2 n` additions, but twice
//!   as many steps, in most of which most threads have nothing to do, and its pairs lie powers of two apart, which is a
//!   bank conflict.
//! - `scan_shuffle`: Hillis and Steele within each warp by shuffles, without shared memory; then once more over the warps'
//!   sums. One barrier.
//!
//! Across blocks, these kernels scan the whole array. Each thread has sixteen elements, each block 4096:
//!
//! - `scan_apply` is the last of three kernels (reduce, then scan). `scan_sums` sums each block, `scan_offsets` scans the
//!   sums in one block, and `scan_apply` scans each block from its offset on. The source is read twice: three accesses per
//!   element.
//! - `scan_lookback` is a single pass (Merrill and Garland 2016). A block publishes its own sum, looks back over the sums of
//!   the blocks before it until it finds a prefix that is already complete, and publishes its own prefix. Two accesses per
//!   element, as in a copy: what is left to lose is waiting.
//!
//! # Why the look-back ends, and why it needs no fence
//! A block waits for blocks before it. The hardware starts blocks in the order of their numbers and lets those that run go
//! on, so the lowest block that has not finished waits for none. Programs on which more depends take the number from an
//! atomic counter; the libraries of NVIDIA rely on the order as well.
//!
//! A block's state, whether the number is a sum or a prefix and the number itself, is one word of 64 bits. Who sees the state
//! thus sees the number, and relaxed accesses are enough. With two words the state would have to be written with release
//! and read with acquire.
//!
//! # Launch
//! Blocks and grids are one-dimensional. Blocks are whole warps, powers of two for `scan_blelloch`, and 256 threads for the
//! scans of the whole array. `scan_offsets` has one block. Sums wrap at 2^32.

use cuda_safe::names::{K, N};
use cuda_safe::shape::{WarpRuns, Warps, WholeWarps};
use cuda_safe::tile::{EachThreads, EachWarps};
use cuda_safe::unroll::repeat;
use cuda_safe::vector::U32x4;
use cuda_safe::{
    Atomics, Block, Each, EachBlock, In, Lanes, Out, PerThread, Thread, Tile, Votes, Width, kernel,
};

/// Vectors of four elements per thread, of the scans of the whole array.
pub const VECTORS: usize = 4;

/// The same in 32 bits.
const ROWS: u32 = VECTORS as u32;

/// Threads of a block of these scans.
pub const THREADS: u32 = 256;

/// Elements of a block of these scans.
pub const PER_BLOCK: usize = THREADS as usize * VECTORS * 4;

/// Scans each block's elements in `log2` steps.
// PTX: contains ld.global.nc.b32
// PTX: contains ld.shared.b32
// PTX: contains st.shared.b32
// PTX: contains st.global.b32
// PTX: lacks shfl
#[kernel]
pub fn scan_hillis_steele(
    mut block: Block<Warps>,
    tile: Tile<u32, EachThreads>,
    other: Tile<u32, EachThreads>,
    source: In<u32, Each<N>>,
    destination: Out<u32, Each<N>>,
) {
    let mut sums = block.each(|thread| source.get(thread.number()).unwrap_or(0));
    let tile = block.write(tile, |thread, cells| cells.set(thread, sums.of(thread)));
    // One tile is read while the other is written, so that a step has one barrier.
    let (mut full, mut fresh) = (block.sync(tile), other);
    let mut distance = 1;
    while distance < block.threads() {
        sums = block.map(sums, |thread, sum| {
            full.before(thread, distance).map_or(sum, |before| before.wrapping_add(sum))
        });
        let written = block.write(fresh, |thread, cells| cells.set(thread, sums.of(thread)));
        (fresh, full) = block.sync((full, written));
        distance *= 2;
    }
    store(&mut block, source, destination, sums);
}

/// Scans each block's elements by a balanced tree.
// PTX: contains ld.global.nc.b32
// PTX: contains ld.shared.b32
// PTX: contains st.shared.b32
// PTX: contains st.global.b32
// PTX: lacks shfl
#[kernel(requires(block.x.is_power_of_two()))]
pub fn scan_blelloch(
    mut block: Block<Warps>,
    tile: Tile<u32, EachThreads>,
    source: In<u32, Each<N>>,
    destination: Out<u32, Each<N>>,
) {
    let values = block.each(|thread| source.get(thread.number()).unwrap_or(0));
    let tile = block.write(tile, |thread, cells| cells.set(thread, values.of(thread)));
    let mut tile = block.sync(tile);
    let half = block.threads() / 2;
    let mut distance = 1;
    // Up: the right cell of each pair becomes the sum of both.
    while distance < half {
        let halved = block.pairs(tile, distance, |left, right| (left, left.wrapping_add(right)));
        tile = block.sync(halved);
        distance *= 2;
    }
    // Down: the left cell takes the prefix of the pair, the right one adds what was left of it. At the root it is 0.
    let halved = block.pairs(tile, half, |left, _| (0, left));
    tile = block.sync(halved);
    while distance > 1 {
        distance /= 2;
        let halved = block.pairs(tile, distance, |left, prefix| (prefix, prefix.wrapping_add(left)));
        tile = block.sync(halved);
    }
    let sums = block.map(values, |thread, value| tile.own(thread).wrapping_add(value));
    store(&mut block, source, destination, sums);
}

/// Scans each block's elements by shuffles.
// PTX: contains ld.global.nc.b32
// PTX: contains 10x shfl.sync.up.b32
// PTX: contains st.global.b32
#[kernel]
pub fn scan_shuffle(
    mut block: Block<Warps>,
    tile: Tile<u32, EachWarps>,
    source: In<u32, Each<N>>,
    destination: Out<u32, Each<N>>,
) {
    let values = block.each(|thread| source.get(thread.number()).unwrap_or(0));
    let sums = scan_of_warp(&mut block, values);
    let totals = block.broadcast(sums, 31, Width::WARP);
    let (before, _) = warps_before(&mut block, tile, totals);
    let sums = block.map(sums.zip(before), |_, (sum, before)| sum.wrapping_add(before));
    store(&mut block, source, destination, sums);
}

/// Stores each thread's sum, if it has an element.
#[inline(always)]
fn store(
    block: &mut Block<Warps>,
    source: In<u32, Each<N>>,
    destination: Out<u32, Each<N>>,
    sums: PerThread<u32>,
) {
    block.each(|thread| {
        if let Some(i) = thread.index(source) {
            destination.put(i, sums.of(thread));
        }
    });
}

/// The sum of each block's 4096 elements.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.b32
#[kernel(requires(block.x == 256))]
pub fn scan_sums(
    mut block: Block<WarpRuns<VECTORS>>,
    tile: Tile<u32, EachWarps>,
    source: In<U32x4, Each<N>>,
    sums: Out<u32, EachBlock>,
) {
    let vectors = load(&mut block, source);
    let sum = block.map(vectors, |_, vectors| {
        repeat::<ROWS, _>(0_u32, |sum, row| sum.wrapping_add(vectors[row as usize][3]))
    });
    let sum = block.sum(sum);
    let (_, total) = warps_before(&mut block, tile, sum);
    block.each(|thread| {
        if let Some(block) = thread.of_block() {
            sums.put(block, total.of(thread));
        }
    });
}

/// The sum of all blocks before each, by one block.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel(requires(grid.count() == 1))]
pub fn scan_offsets(
    mut block: Block<Warps>,
    mut tile: Tile<u32, EachWarps>,
    sums: In<u32, Each<K>>,
    offsets: Out<u32, Each<K>>,
) {
    let mut carry = block.each(|_| 0_u32);
    for chunk in block.grid_stride(sums) {
        let values = block.each(|thread| chunk.of(thread).map_or(0, |i| sums.at(i)));
        let scanned = scan_of_warp(&mut block, values);
        let totals = block.broadcast(scanned, 31, Width::WARP);
        let (before, total, fresh) = warps_before_again(&mut block, tile, totals);
        tile = fresh;
        block.each(|thread| {
            if let Some(i) = chunk.of(thread) {
                let inclusive = scanned.of(thread).wrapping_add(before.of(thread));
                offsets.put(i, carry.of(thread).wrapping_add(inclusive).wrapping_sub(values.of(thread)));
            }
        });
        carry = block.map(carry.zip(total), |_, (carry, total)| carry.wrapping_add(total));
    }
}

/// Scans each block's 4096 elements from its offset on.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
#[kernel(requires(block.x == 256, offsets.len() == grid.count()))]
pub fn scan_apply(
    mut block: Block<WarpRuns<VECTORS>>,
    tile: Tile<u32, EachWarps>,
    source: In<U32x4, Each<N>>,
    offsets: In<u32, Each<K>>,
    destination: Out<U32x4, Each<N>>,
) {
    let vectors = load(&mut block, source);
    let (firsts, total) = scan_of_rows(&mut block, vectors);
    let (before, _) = warps_before(&mut block, tile, total);
    let before = block
        .map(before, |thread, before| before.wrapping_add(offsets.get(thread.block_number()).unwrap_or(0)));
    finish(&mut block, source, destination, vectors, firsts, before);
}

/// Sets the state of all blocks to none, before [`scan_lookback()`].
// PTX: contains st.global.b64
#[kernel]
pub fn scan_clear(thread: Thread, states: Out<u64, Each<K>>, length: cuda_safe::Length<K>) {
    if let Some(i) = thread.index(length) {
        states.put(i, 0);
    }
}

/// The state of a block that has published the sum of its own elements, above the sum.
const SUM: u64 = 1 << 32;

/// The state of a block that has published the sum of all elements up to its last, above the sum.
const PREFIX: u64 = 2 << 32;

/// Scans the array in one pass.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 4x st.global.v4.b32 or st.global.v2.b64
// PTX: contains ld.relaxed.gpu.global.b64
// PTX: contains 2x st.relaxed.gpu.global.b64
#[kernel(requires(block.x == 256, states.len() == grid.count()))]
pub fn scan_lookback(
    mut block: Block<WarpRuns<VECTORS>>,
    tile: Tile<u32, EachWarps>,
    shared: Tile<u32, EachWarps>,
    source: In<U32x4, Each<N>>,
    states: Atomics<u64, K>,
    destination: Out<U32x4, Each<N>>,
) {
    let vectors = load(&mut block, source);
    let (firsts, total_of_warp) = scan_of_rows(&mut block, vectors);
    let (before, total) = warps_before(&mut block, tile, total_of_warp);
    let prefix = block.first_warp_or(0, |warp| {
        warp.each(|thread| {
            let state = if thread.block_number() == 0 { PREFIX } else { SUM };
            publish(thread, states, state | u64::from(total.of(thread)));
        });
        let mut prefix = warp.each(|_| 0_u32);
        // The lanes look at the 32 blocks before this one, the nearest first; then at the 32 before those.
        let mut back = warp.each(|thread| thread.lane() as usize + 1);
        loop {
            let has_block = warp.map(back, |thread, back| back <= thread.block_number());
            if !warp.any(has_block) {
                break;
            }
            let found = warp.each(|thread| look(thread, states, back.of(thread)));
            let complete = warp.map(found, |_, state| state >= PREFIX);
            let complete = warp.ballot(complete);
            // Blocks beyond the nearest complete prefix are part of it.
            let sums = warp.map(found.zip(complete), |thread, (state, complete)| {
                let nearest = complete.trailing_zeros();
                if thread.lane() <= nearest { state as u32 } else { 0 }
            });
            let sum = warp.sum(sums);
            prefix = warp.map(prefix.zip(sum), |_, (prefix, sum)| prefix.wrapping_add(sum));
            back = warp.map(back.zip(complete), |_, (back, complete)| match complete {
                0 => back + 32,
                _ => usize::MAX,
            });
        }
        warp.each(|thread| {
            let all = prefix.of(thread).wrapping_add(total.of(thread));
            publish(thread, states, PREFIX | u64::from(all));
        });
        prefix
    });
    let shared = block.write(shared, |thread, cells| cells.set(thread, prefix.of(thread)));
    let shared = block.sync(shared);
    let first = block.each(|thread| shared.at_lane(thread).unwrap_or(0));
    let first = block.broadcast(first, 0, Width::WARP);
    let before = block.map(before.zip(first), |_, (before, first)| before.wrapping_add(first));
    finish(&mut block, source, destination, vectors, firsts, before);
}

/// Publishes the state of the thread's block, by one thread.
#[inline(always)]
fn publish<S: WholeWarps>(thread: &Thread<S>, states: Atomics<u64, K>, state: u64) {
    if thread.lane() == 0
        && let Some(mine) = states.at(thread.block_number())
    {
        mine.store(state);
    }
}

/// Waits for the state of the block that lies `back` before the thread's own. Before the first block all is complete.
#[inline(always)]
fn look<S: WholeWarps>(thread: &Thread<S>, states: Atomics<u64, K>, back: usize) -> u64 {
    let Some(other) = thread.block_number().checked_sub(back).and_then(|number| states.at(number)) else {
        return PREFIX;
    };
    loop {
        let state = other.load(thread);
        if state != 0 {
            return state;
        }
    }
}

/// A thread's vectors, each with its running sums: the last of them is the vector's sum.
type Vectors = [[u32; 4]; VECTORS];

/// Loads a thread's vectors, zeros past the end, and sums up within each.
#[inline(always)]
fn load(block: &mut Block<WarpRuns<VECTORS>>, source: In<U32x4, Each<N>>) -> PerThread<Vectors> {
    block.each(|thread| {
        let mut vectors = [[0; 4]; VECTORS];
        match thread.run(source) {
            Ok(run) => vectors = source.run(run).map(running),
            Err(rest) => repeat::<ROWS, _>((), |(), row| {
                if let Some(i) = rest.nth(row as usize) {
                    vectors[row as usize] = running(source.at(i));
                }
            }),
        }
        vectors
    })
}

/// The running sums of a vector.
#[inline(always)]
fn running(vector: U32x4) -> [u32; 4] {
    let two = vector.x.wrapping_add(vector.y);
    let three = two.wrapping_add(vector.z);
    [vector.x, two, three, three.wrapping_add(vector.w)]
}

/// The sum of the warp's elements before each of a thread's vectors, and the warp's total.
#[inline(always)]
fn scan_of_rows<L: Lanes>(
    lanes: &mut L,
    vectors: PerThread<Vectors>,
) -> (PerThread<[u32; VECTORS]>, PerThread<u32>) {
    let firsts = lanes.map(vectors, |_, _| [0; VECTORS]);
    let total = lanes.map(vectors, |_, _| 0_u32);
    repeat::<ROWS, _>((firsts, total), |(firsts, total), row| {
        let row = row as usize;
        let sums = lanes.map(vectors, |_, vectors| vectors[row][3]);
        let scanned = scan_of_warp(lanes, sums);
        let last = lanes.broadcast(scanned, 31, Width::WARP);
        let before = lanes.map(scanned.zip(sums).zip(total), |_, ((scanned, sum), total)| {
            scanned.wrapping_sub(sum).wrapping_add(total)
        });
        let firsts = lanes.map(firsts.zip(before), |_, (mut firsts, before)| {
            firsts[row] = before;
            firsts
        });
        (firsts, lanes.map(total.zip(last), |_, (total, last)| total.wrapping_add(last)))
    })
}

/// Stores a thread's vectors, given the sums before them in the warp and the sum before the warp.
#[inline(always)]
fn finish(
    block: &mut Block<WarpRuns<VECTORS>>,
    source: In<U32x4, Each<N>>,
    destination: Out<U32x4, Each<N>>,
    vectors: PerThread<Vectors>,
    firsts: PerThread<[u32; VECTORS]>,
    before: PerThread<u32>,
) {
    block.each(|thread| {
        let (vectors, firsts, before) = (vectors.of(thread), firsts.of(thread), before.of(thread));
        let vector = |nth: usize| {
            let [x, y, z, w] = vectors[nth].map(|sum| sum.wrapping_add(firsts[nth]).wrapping_add(before));
            U32x4::new(x, y, z, w)
        };
        match thread.run(source) {
            Ok(run) => destination.put_run(run, [vector(0), vector(1), vector(2), vector(3)]),
            Err(rest) => repeat::<ROWS, _>((), |(), row| {
                if let Some(i) = rest.nth(row as usize) {
                    destination.put(i, vector(row as usize));
                }
            }),
        }
    });
}

/// The sums of each warp's values up to each lane.
#[inline(always)]
fn scan_of_warp<L: Lanes>(lanes: &mut L, values: PerThread<u32>) -> PerThread<u32> {
    repeat::<5, _>(values, |sums, nth| {
        let distance = 1 << nth;
        let below = lanes.shuffle_up(sums, distance, Width::WARP);
        lanes.map(
            sums.zip(below),
            |thread, (sum, below)| {
                if thread.lane() >= distance { sum.wrapping_add(below) } else { sum }
            },
        )
    })
}

/// From each warp's total, which all its threads have: the sum of the warps before it, and of all.
#[inline(always)]
fn warps_before<S: WholeWarps>(
    block: &mut Block<S>,
    tile: Tile<u32, EachWarps>,
    totals: PerThread<u32>,
) -> (PerThread<u32>, PerThread<u32>) {
    let tile = block.write(tile, |thread, cells| cells.set(thread, totals.of(thread)));
    let tile = block.sync(tile);
    let of_lanes = block.each(|thread| tile.at_lane(thread).unwrap_or(0));
    sums_of_warps(block, of_lanes)
}

/// The same, with the tile behind a barrier, to be used again.
#[inline(always)]
fn warps_before_again<S: WholeWarps>(
    block: &mut Block<S>,
    tile: Tile<u32, EachWarps>,
    totals: PerThread<u32>,
) -> (PerThread<u32>, PerThread<u32>, Tile<u32, EachWarps>) {
    let tile = block.write(tile, |thread, cells| cells.set(thread, totals.of(thread)));
    let tile = block.sync(tile);
    let of_lanes = block.each(|thread| tile.at_lane(thread).unwrap_or(0));
    let tile = block.sync(tile);
    let (before, total) = sums_of_warps(block, of_lanes);
    (before, total, tile)
}

/// From the total of the warp with the number of each lane: the sum before the thread's warp, and of all.
#[inline(always)]
fn sums_of_warps<S: WholeWarps>(
    block: &mut Block<S>,
    of_lanes: PerThread<u32>,
) -> (PerThread<u32>, PerThread<u32>) {
    let scanned = scan_of_warp(block, of_lanes);
    let exclusive = block.map(scanned.zip(of_lanes), |_, (sum, own)| sum.wrapping_sub(own));
    let warp = block.each(|thread| thread.x() / 32);
    (block.shuffle_from(exclusive, warp, Width::WARP), block.broadcast(scanned, 31, Width::WARP))
}
