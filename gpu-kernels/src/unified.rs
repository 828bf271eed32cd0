//! # Unified memory: how the access order decides what pages cost
//!
//! Host and device share managed memory, and each of its pages is on one side. A kernel that touches a page on the other side
//! makes it migrate, or reads it over the link. What that costs depends on the access order: on how much of a page is used
//! while it is on the card, and on how many pages are needed at the same time.
//!
//! Three kernels read one allocation in three orders:
//!
//! - `grid_stride`: all blocks read one stretch of memory together, then the next. Few pages are needed at a time, and each is
//!   used whole.
//! - `block_stride`: each block reads a slice of its own from front to back. As many pages are needed at a time as there are
//!   blocks, and each is used whole in the end.
//! - `random_warp`: each warp reads 128 bytes of a random page, then of another. All pages are needed all the time, and of a
//!   page of 2 MiB that migrates, 1/16384 is used before the warp moves on. With pages that migrate on a fault,
//!   bandwidth falls by orders of magnitude. With pages that stay where they are, 128 bytes are a full request.
//!
//! In the first two kernels a barrier after each step keeps the warps of a block together, as in the article. Each thread
//! sums what it reads and stores the sum once, so that the compiler cannot drop a load.
//!
//! `grid_stride_write`, `block_stride_write` and `random_warp_write` store in the same orders. Each element gets a value that
//! encodes its position: the lower 20 bits of its index, as `f32`.
//!
//! `grid_stride_vector` is `grid_stride` as one would write it for memory on the card: 16 bytes per lane, four loads in
//! flight, no barriers.
//!
//! All orders that use whole segments read host memory at the same rate. On an H200 (PCIe 5.0, 16 lanes) that is 51 GB/s,
//! 93% of what the copy engine reaches. Nothing in the kernel changes it: 4 to 16 bytes per lane, one to sixteen loads in
//! flight, a few blocks or all that the card holds, hints to fetch 128 or 256 bytes into L2, bulk copies of 256 bytes to 32
//! KiB, bulk prefetches, write-combined host memory, or host memory in pages of 2 MiB. The link is the limit: a copy that runs
//! beside the kernel slows it down. Each packet that answers a kernel carries 128 bytes and a header; the copy engine's
//! packets carry more.
//!
//! # Launch
//! Blocks are one-dimensional and whole warps, 128 threads in the article; the grid has as many blocks as the card holds at a
//! time. The kernels that read have a destination of one `f32` per thread of the grid, where each thread writes its sum.
//!
//! | kernel | what thread `t` of `T` (in block `b` of `B`, with number `i` of `N`) takes, in this order |
//! | --- | --- |
//! | `grid_stride` | elements `t`, `t + T`, .. |
//! | `block_stride` | of the elements from `b * slice`, those at `i`, `i + N`, .. below `slice` and the source's length |
//! | `random_warp` | in each of `steps`: element `t % 32` of a segment, see [`Walk`] |
//! | `grid_stride_vector` | vectors `(t / 32) * 128 + t % 32 + 32 j` for j in 0..4, then the same `4 T` further; the kernel's comment gives the order of the sum |
//! | `.._write` | the same |
//!
//! Blocks times `slice` is at least the length. `page` is the number of elements per page, a multiple of 32, and `pages` the
//! number of pages in the allocation.

use cuda_safe::names::N;
use cuda_safe::shape::{Sliced, Warps};
use cuda_safe::unroll::repeat;
use cuda_safe::vector::F32x4;
use cuda_safe::{
    Atomics, Block, Each, EachThread, In, Length, Matrix, Out, PerBlock, Positive, Segmented, Thread, kernel,
};

/// Elements of a segment: 128 bytes, one for each lane.
pub const SEGMENT: u32 = 32;

/// Loads in flight per thread of `random_warp`, each from a segment of its own.
const WALKS_IN_FLIGHT: u32 = 16;

/// The number of pages in the allocation.
#[derive(Debug)]
pub enum Pages {}

/// The number of elements per page.
#[derive(Debug)]
pub enum Page {}

/// Vectors in flight per thread of `grid_stride_vector`.
pub const IN_FLIGHT: usize = 4;

/// A warp's random walk over segments, drawn by a linear congruential generator.
///
/// The warp with number `w` in the grid starts with the state `(seed + w) * 2654435761`. Each step draws twice: the state becomes
/// `state * 1664525 + 1013904223`, all modulo 2^32, and the number drawn below `n` is `state * n / 2^32`. The first is
/// the page, the second the segment in the page. All lanes of a warp draw the same.
#[derive(Clone, Copy, Debug)]
pub struct Walk(u32);

impl Walk {
    /// The walk of one warp.
    #[inline(always)]
    #[must_use]
    pub fn new(seed: u32, warp: u32) -> Self {
        Self(seed.wrapping_add(warp).wrapping_mul(2_654_435_761))
    }

    /// The next state.
    #[inline(always)]
    pub fn draw(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }
}

/// The value that the writing kernels store at an index.
#[inline(always)]
#[must_use]
pub fn value_at(index: u64) -> f32 {
    (index as u32 & 0xf_ffff) as f32
}

/// Reads with all blocks side by side, one stretch of memory after the other.
// PTX: contains ld.global.nc.b32
// PTX: contains bar.sync or barrier.sync
// PTX: contains st.global.b32
#[kernel]
pub fn grid_stride(mut block: Block<Warps>, source: In<f32, Each<N>>, destination: Out<f32, EachThread>) {
    let mut sum = block.each(|_| 0.0);
    for chunk in block.grid_stride(source) {
        sum = block.map(sum, |thread, sum| sum + chunk.of(thread).map_or(0.0, |mine| source.at(mine)));
        block.barrier();
    }
    block.each(|thread| destination.put(thread.own(), sum.of(thread)));
}

/// Reads with a slice for each block.
// PTX: contains ld.global.nc.b32
// PTX: contains bar.sync or barrier.sync
// PTX: contains st.global.b32
#[kernel]
pub fn block_stride(
    mut block: Block<Sliced>,
    source: In<f32, Each<N>>,
    destination: Out<f32, EachThread>,
    slice: PerBlock,
) {
    let mut sum = block.each(|_| 0.0);
    for chunk in block.slice(source, slice) {
        sum = block.map(sum, |thread, sum| sum + chunk.of(thread).map_or(0.0, |mine| source.at(mine)));
        block.barrier();
    }
    block.each(|thread| destination.put(thread.own(), sum.of(thread)));
}

/// Reads 128 bytes of random pages. Page and segment are drawn below their numbers, so neither needs a bounds check.
// PTX: contains ld.global.nc.b32
// PTX: contains mul.hi.u32 or mul.wide.u32
// PTX: contains st.global.b32
#[kernel]
pub fn random_warp(
    thread: Thread<Warps>,
    source: Matrix<f32, Pages, Page>,
    destination: Out<f32, EachThread>,
    pages: Positive<Pages>,
    page: Segmented<Page>,
    steps: u32,
    seed: u32,
) {
    let mut walk = Walk::new(seed, (thread.number() / 32) as u32);
    let mut next = || {
        let row = pages.draw(walk.draw());
        let segment = page.draw(walk.draw());
        source.at(row, segment.at(thread.lane()))
    };
    // The walk does not depend on the values it reads, so many loads can be in flight.
    let (mut sum, mut left) = (0.0, steps);
    while left >= WALKS_IN_FLIGHT {
        sum = repeat::<WALKS_IN_FLIGHT, _>(sum, |sum, _| sum + next());
        left -= WALKS_IN_FLIGHT;
    }
    for _ in 0..left {
        sum += next();
    }
    destination.put(thread.own(), sum);
}

/// Writes with all blocks side by side.
// PTX: contains st.global.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub fn grid_stride_write(mut block: Block<Warps>, destination: Out<f32, Each<N>>, length: Length<N>) {
    for chunk in block.grid_stride(length) {
        block.each(|thread| {
            if let Some(mine) = chunk.of(thread) {
                destination.put(mine, value_at(mine.get() as u64));
            }
        });
        block.barrier();
    }
}

/// Writes with a slice for each block.
// PTX: contains st.global.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub fn block_stride_write(
    mut block: Block<Sliced>,
    destination: Out<f32, Each<N>>,
    length: Length<N>,
    slice: PerBlock,
) {
    for chunk in block.slice(length, slice) {
        block.each(|thread| {
            if let Some(mine) = chunk.of(thread) {
                destination.put(mine, value_at(mine.get() as u64));
            }
        });
        block.barrier();
    }
}

/// Writes 128 bytes of random pages. Two warps may write one segment: they write the same values, by atomic stores, so they do
/// not race.
// PTX: contains st.relaxed.sys.global.b32
// PTX: contains mul.hi.u32 or mul.wide.u32
#[kernel(requires(destination.len() == pages * page))]
pub fn random_warp_write(
    thread: Thread<Warps>,
    destination: Atomics<f32, N>,
    pages: Positive<Pages>,
    page: Segmented<Page>,
    steps: u32,
    seed: u32,
) {
    let mut walk = Walk::new(seed, (thread.number() / 32) as u32);
    for _ in 0..steps {
        let row = pages.draw(walk.draw());
        let segment = page.draw(walk.draw());
        let index = u64::from(row.get()) * u64::from(page.get()) + u64::from(segment.at(thread.lane()).get());
        destination.store(index as usize, value_at(index));
    }
}

/// Reads with all blocks side by side, 16 bytes per lane and four loads in flight.
///
/// A warp takes 128 consecutive vectors, and each lane every 32nd of them. A lane adds its four vectors one after the other, each
/// as `(x + y) + (z + w)`. At the source's end it adds single vectors in the same order.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.b32
// PTX: lacks bar
#[kernel]
pub fn grid_stride_vector(
    thread: Thread<Warps>,
    source: In<F32x4, Each<N>>,
    destination: Out<f32, EachThread>,
) {
    let mut vectors = source.by_warps::<_, IN_FLIGHT>(&thread);
    let mut sum = 0.0;
    while let Some(vectors) = vectors.whole() {
        sum = vectors.into_iter().fold(sum, |sum, vector| sum + sum_of_vector(vector));
    }
    sum = vectors.rest().fold(sum, |sum, vector| sum + sum_of_vector(vector));
    destination.put(thread.own(), sum);
}

#[inline(always)]
fn sum_of_vector(vector: F32x4) -> f32 {
    (vector.x + vector.y) + (vector.z + vector.w)
}
