//! # Reductions: sums by shuffles and through shared memory
//!
//! A warp sums 32 values in five steps; each step adds the values of lanes half as far apart as the step before. By shuffle a
//! step is two instructions on registers. Through shared memory it is a store, a wait, a load and an addition, and the
//! block must reserve memory for it.
//!
//! - `reduce_warp_shuffle`, `reduce_warp_shared`: one sum per 32 elements.
//! - `reduce_block_shuffle`, `reduce_block_shared`: one sum per block. By shuffle, each warp computes its sum and leaves it
//!   in shared memory, and the first warp adds those sums. That takes one barrier; shared memory alone takes one per
//!   halving.
//!
//! With one 4-byte load per thread, all of these are bound by their loads, not by their sums. To reach the bandwidth of
//! memory, a thread must read more, in wider accesses, before any exchange:
//!
//! - `reduce_vector`: four 16-byte vectors per thread in a grid that covers the source, then one atomic addition per block.
//! - `reduce_persistent`: as many blocks as the card holds at a time, which stride through the source with four vectors in
//!   flight, then one atomic addition per block: a few hundred in all.
//!
//! Sums are of `i32` and wrap, so every order of addition gives the same result.
//!
//! # Launch
//! All take `(source, destination)`. Blocks are one-dimensional and whole warps, 32 to 1024 threads.
//!
//! | kernel | source | destination | grid | dynamic shared bytes |
//! | --- | --- | --- | --- | --- |
//! | `reduce_warp_shuffle` | `i32`, any length | a sum per warp: `ceil(length / 32)` | covers the length | 0 |
//! | `reduce_warp_shared` | the same | the same | the same | `block * 4` |
//! | `reduce_block_shuffle` | the same | a sum per block: the grid's size | the same | 0 |
//! | `reduce_block_shared` | the same | the same | the same | `block * 4` |
//! | `reduce_vector` | vectors of 4 `i32`, any length | one sum, added to what is there | `ceil(vectors / (4 * block))` | 0 |
//! | `reduce_persistent` | the same | the same | any: SMs times blocks that fit on one | 0 |
//!
//! In the first four kernels the last warp or block may reach past the end; missing elements count as 0.

use cuda_safe::names::N;
use cuda_safe::shape::Warps;
use cuda_safe::tile::{EachThreads, EachWarps};
use cuda_safe::vector::I32x4;
use cuda_safe::{
    Block, Contained, Each, EachBlock, EachWarp, In, Lanes, Out, PerThread, Sum, Thread, Tile, Width, kernel,
};

/// Vectors in flight per thread of `reduce_vector` and `reduce_persistent`.
pub const IN_FLIGHT: usize = 4;

/// Sums each warp's elements by shuffles.
// PTX: contains ld.global.nc.b32
// PTX: contains 5x shfl.sync.down.b32
// PTX: lacks shared or bar
#[kernel]
pub fn reduce_warp_shuffle(
    mut block: Block<Warps>,
    source: In<i32, Each<N>>,
    destination: Out<i32, EachWarp<N>>,
) {
    let values = load(&mut block, source);
    let sum = sum_of_warp(&mut block, values);
    block.each(|thread| {
        if let Some(warp) = thread.of_warp(source) {
            destination.put(warp, sum.of(thread));
        }
    });
}

/// Sums each warp's elements in shared memory.
// PTX: contains ld.global.nc.b32
// PTX: contains 5x st.shared.b32
// PTX: contains bar.warp.sync
// PTX: lacks shfl or bar.sync or barrier.sync
#[kernel]
pub fn reduce_warp_shared(
    mut block: Block<Warps>,
    tile: Tile<i32, EachThreads>,
    source: In<i32, Each<N>>,
    destination: Out<i32, EachWarp<N>>,
) {
    let mut sum = load(&mut block, source);
    let mut tile = block.write(tile, |thread, cells| cells.set(thread, sum.of(thread)));
    for distance in [16, 8, 4, 2, 1] {
        (tile, sum) = block.halve_warps(tile, sum, distance, i32::wrapping_add);
    }
    block.each(|thread| {
        if let Some(warp) = thread.of_warp(source) {
            destination.put(warp, sum.of(thread));
        }
    });
}

/// Sums each block's elements by shuffles: first within warps, then over the warps' sums.
// PTX: contains ld.global.nc.b32
// PTX: contains 10x shfl.sync.down.b32
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
#[kernel]
pub fn reduce_block_shuffle(
    mut block: Block<Warps>,
    tile: Tile<i32, EachWarps>,
    source: In<i32, Each<N>>,
    destination: Out<i32, EachBlock>,
) {
    let values = load(&mut block, source);
    sum_of_block(&mut block, tile, values, |thread, sum| {
        if let Some(block) = thread.of_block() {
            destination.put(block, sum);
        }
    });
}

/// Sums each block's elements in shared memory.
// PTX: contains ld.global.nc.b32
// PTX: contains ld.shared.b32
// PTX: contains st.shared.b32
// PTX: lacks shfl
#[kernel]
pub fn reduce_block_shared(
    mut block: Block<Warps>,
    tile: Tile<i32, EachThreads>,
    source: In<i32, Each<N>>,
    destination: Out<i32, EachBlock>,
) {
    let mut sum = load(&mut block, source);
    let tile = block.write(tile, |thread, cells| cells.set(thread, sum.of(thread)));
    let mut tile = tile.before_halves();
    // Half of the least power of two that is not below the number of threads. `halve` skips pairs with a missing thread.
    let mut distance = block.threads().next_power_of_two() / 2;
    while distance > 0 {
        let full = block.sync(tile);
        (tile, sum) = block.halve(full, sum, distance, i32::wrapping_add);
        distance /= 2;
    }
    block.each(|thread| {
        if let Some(block) = thread.of_block() {
            destination.put(block, sum.of(thread));
        }
    });
}

/// Sums the source: four vectors per thread, then the block, then one atomic addition.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 10x shfl.sync.down.b32
// PTX: contains red*.global*.add or atom*.global*.add
#[kernel]
pub fn reduce_vector(
    mut block: Block<Warps>,
    tile: Tile<i32, EachWarps>,
    source: In<I32x4, Each<N>>,
    destination: Sum<i32>,
) {
    let sum = block.each(|thread| {
        let mut vectors = source.by_warps::<_, IN_FLIGHT>(thread);
        if let Some(vectors) = vectors.whole() {
            return vectors.into_iter().fold(0, add_vector);
        }
        vectors.rest().fold(0, add_vector)
    });
    sum_of_block(&mut block, tile, sum, |thread, sum| {
        if thread.x() == 0 {
            destination.add(sum);
        }
    });
}

/// Sums the source with any number of blocks. Each warp takes 128 consecutive vectors, then those one grid further on.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 10x shfl.sync.down.b32
// PTX: contains red*.global*.add or atom*.global*.add
#[kernel]
pub fn reduce_persistent(
    mut block: Block<Warps>,
    tile: Tile<i32, EachWarps>,
    source: In<I32x4, Each<N>>,
    destination: Sum<i32>,
) {
    let sum = block.each(|thread| {
        let mut vectors = source.by_warps::<_, IN_FLIGHT>(thread);
        let mut sum = 0_i32;
        while let Some(vectors) = vectors.whole() {
            sum = sum.wrapping_add(vectors.into_iter().fold(0, add_vector));
        }
        sum.wrapping_add(vectors.rest().fold(0, add_vector))
    });
    sum_of_block(&mut block, tile, sum, |thread, sum| {
        if thread.x() == 0 {
            destination.add(sum);
        }
    });
}

/// Loads one element per thread, 0 past the source's end.
#[inline(always)]
fn load(block: &mut Block<Warps>, source: In<i32, Each<N>>) -> PerThread<i32> {
    block.each(|thread| source.get(thread.number()).unwrap_or(0))
}

#[inline(always)]
fn add_vector(sum: i32, vector: I32x4) -> i32 {
    sum.wrapping_add(vector.x.wrapping_add(vector.y).wrapping_add(vector.z.wrapping_add(vector.w)))
}

/// Sums each warp into its lane 0; other lanes hold partial sums.
#[inline(always)]
fn sum_of_warp<L: Lanes>(lanes: &mut L, sum: PerThread<i32>) -> PerThread<i32> {
    halve(lanes, sum, [16, 8, 4, 2, 1])
}

/// Adds to each lane the value of the lane above it, at one distance after the other.
#[inline(always)]
fn halve<L: Lanes, const STEPS: usize>(
    lanes: &mut L,
    mut sum: PerThread<i32>,
    distances: [u32; STEPS],
) -> PerThread<i32> {
    for distance in distances {
        let above = lanes.shuffle_down(sum, distance, Width::WARP);
        sum = lanes.map(sum.zip(above), |_, (sum, above)| sum.wrapping_add(above));
    }
    sum
}

/// Calls `take` in the block's first warp. Its first thread has the block's sum; other threads have partial sums.
#[inline(always)]
fn sum_of_block(
    block: &mut Block<Warps>,
    tile: Tile<i32, EachWarps>,
    values: PerThread<i32>,
    take: impl Fn(&Thread<Warps>, i32) + Contained,
) {
    let sum = sum_of_warp(block, values);
    let tile = block.write(tile, |thread, cells| cells.set(thread, sum.of(thread)));
    let tile = block.sync(tile);
    let warps = block.threads() / 32;
    block.first_warp(|warp| {
        let mut sums = warp.each(|thread| tile.at_lane(thread).unwrap_or(0));
        // With up to eight warps, lanes from 8 on hold zeros.
        if warps > 8 {
            sums = halve(warp, sums, [16, 8]);
        }
        let sum = halve(warp, sums, [4, 2, 1]);
        warp.each(|thread| take(thread, sum.of(thread)));
    });
}
