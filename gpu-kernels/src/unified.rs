//! # Unified memory: what the order of reading does to pages that are somewhere else
//!
//! Memory that host and device share has to be somewhere, and each page is either near or far. Three ways through one
//! allocation decide how much of a page is used while it is near, and how many pages are wanted at the same time:
//!
//! - `grid_stride`: all blocks together read one stretch of memory, then the next: few pages at a time, each whole.
//! - `block_stride`: each block reads a slice of its own from front to back: as many pages at a time as there are
//!   blocks, each whole in the end.
//! - `random_warp`: each warp reads 128 bytes of some page, then of some other: every page at any time, and of each that
//!   comes over one part in 16,384 of 2 MiB is used before another is wanted. With pages that migrate on a fault this
//!   is where bandwidth falls by orders of magnitude; read from where they lie, 128 bytes are a full request.
//!
//! In the first two a barrier after each step keeps the warps of a block together, as in the article. Each thread adds up what it
//! reads and stores once, so that nothing can be left out.
//!
//! `grid_stride_write`, `block_stride_write`, `random_warp_write` go the same ways with stores: each element becomes a number
//! that says where it is, the lower 20 bits of its index, as `f32`.
//!
//! `grid_stride_vector` is the first as one would write it for memory that is near: 16 bytes a lane, four loads in flight, no
//! barriers.
//!
//! Memory that stays on the host is read at the same rate by all orders that use whole segments. On an H200 (PCIe 5.0, 16 lanes)
//! that is 51 GB/s, 93% of what the copy engine gets, and nothing in a kernel changes it: 4 to 16 bytes a lane, one to sixteen
//! loads in flight, a few blocks or all that the card holds, hints to fetch 128 or 256 bytes into L2, bulk copies of 256 bytes to
//! 32 KiB, bulk prefetches, host memory that is write-combined or in pages of 2 MiB. The link is full then: a copy beside the
//! kernel takes its time from it. A kernel's answers have 128 bytes, each with its header; the copy engine's have more.
//!
//! # Launch
//! One-dimensional blocks of whole warps, 128 threads in the article; as many blocks as the card holds at a time. No
//! dynamic shared memory. The kernels that read have a destination of one `f32` for each thread of the grid, and each
//! thread writes its sum there.
//!
//! | kernel | parameters | what thread `t` of `T` (in block `b` of `B`, with number `i` of `N`) takes, in this order |
//! | --- | --- | --- |
//! | `grid_stride` | source, destination | elements `t`, `t + T`, .. |
//! | `block_stride` | source, destination, slice | of the elements from `b * slice`, those at `i`, `i + N`, .. below `slice` and the source's length |
//! | `random_warp` | source, destination, pages, page, steps, seed | in each of `steps`: element `t % 32` of a segment, see [`Walk`] |
//! | `grid_stride_vector` | source, destination | vectors `(t / 32) * 128 + t % 32 + 32 j` for j in 0..4, then the same `4 T` further; the sum is taken as said there |
//! | `.._write` | destination, length, and then as above, without source | the same |
//!
//! `slice`, and `length` in the writing kernels, are 64-bit counts of elements; blocks times slice is at least the length.
//! `page` is the elements of a page, a multiple of 32, and `pages` how many the allocation has: the source has
//! `pages * page` elements.

use crate::position::grid_index;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::integer::multiply_high;
use cuda_std::vector::F32x4;
use cuda_std::{kernel, thread};

/// Elements of a segment: 128 bytes, one for each lane.
pub const SEGMENT: u32 = 32;

/// Vectors that a thread of `grid_stride_vector` has in flight.
pub const IN_FLIGHT: usize = 4;

/// A warp's random walk over segments, as a linear congruential generator says.
///
/// The warp with number `w` in the grid starts with the state `(seed + w) * 2654435761`. Each step draws twice: the state becomes
/// `state * 1664525 + 1013904223`, all modulo 2^32, and the number drawn below `n` is `state * n / 2^32`. The first is
/// the page, the second the segment in the page. All lanes of a warp draw the same.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    state: u32,
    pages: u32,
    /// Segments of a page.
    segments: u32,
}

impl Walk {
    /// The walk of one warp over `pages` of `page` elements each.
    #[inline(always)]
    #[must_use]
    pub fn new(seed: u32, warp: u32, pages: u32, page: u32) -> Self {
        let state = seed.wrapping_add(warp).wrapping_mul(2_654_435_761);
        Self { state, pages, segments: page / SEGMENT }
    }

    /// The first element of the next segment.
    #[inline(always)]
    pub fn next_segment(&mut self) -> u64 {
        let page = self.draw(self.pages);
        let segment = self.draw(self.segments);
        (u64::from(page) * u64::from(self.segments) + u64::from(segment)) * u64::from(SEGMENT)
    }

    #[inline(always)]
    fn draw(&mut self, below: u32) -> u32 {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        multiply_high(self.state, below)
    }
}

/// What the writing kernels put at an index.
#[inline(always)]
#[must_use]
pub fn value_at(index: u64) -> f32 {
    (index as u32 & 0xf_ffff) as f32
}

/// Reads with all blocks side by side.
///
/// # Safety
/// `destination` points to an element for each thread of the grid, which nothing else touches during the launch.
// PTX: contains ld.global.nc.b32
// PTX: contains bar.sync or barrier.sync
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn grid_stride(source: &[f32], destination: *mut f32) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut sum = 0.0;
    // The block's first element, so that all its threads leave the loop, and meet at the barrier, together.
    let mut first = thread::block_idx_x() as usize * thread::block_dim_x() as usize;
    while first < source.len() {
        if let Some(value) = source.get(first + thread::thread_idx_x() as usize) {
            sum += value;
        }
        thread::sync_threads();
        first += threads;
    }
    // SAFETY: promised by the caller.
    unsafe { destination.add(grid_index()).write(sum) }
}

/// Reads with a slice for each block.
///
/// # Safety
/// As for [`grid_stride`].
// PTX: contains ld.global.nc.b32
// PTX: contains bar.sync or barrier.sync
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn block_stride(source: &[f32], destination: *mut f32, slice: usize) {
    let mut sum = 0.0;
    let mut first = thread::block_idx_x() as usize * slice;
    let end = source.len().min(first + slice);
    while first < end {
        let index = first + thread::thread_idx_x() as usize;
        if index < end {
            // SAFETY: the index is within the source.
            sum += unsafe { *source.get_unchecked(index) };
        }
        thread::sync_threads();
        first += thread::block_dim_x() as usize;
    }
    // SAFETY: promised by the caller.
    unsafe { destination.add(grid_index()).write(sum) }
}

/// Reads 128 bytes of random pages.
///
/// # Safety
/// As for [`grid_stride`], and `source` has `pages * page` elements, `page` being a multiple of [`SEGMENT`].
// PTX: contains ld.global.nc.b32
// PTX: contains mul.hi.u32 or mul.wide.u32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn random_warp(
    source: &[f32],
    destination: *mut f32,
    pages: u32,
    page: u32,
    steps: u32,
    seed: u32,
) {
    let lane = (thread::thread_idx_x() % 32) as usize;
    let mut walk = Walk::new(seed, (grid_index() / 32) as u32, pages, page);
    let mut sum = 0.0;
    for _ in 0..steps {
        // SAFETY: the segment is within a page, and the page within the source.
        sum += unsafe { *source.get_unchecked(walk.next_segment() as usize + lane) };
    }
    // SAFETY: promised by the caller.
    unsafe { destination.add(grid_index()).write(sum) }
}

/// Writes with all blocks side by side.
///
/// # Safety
/// `destination` points to `length` elements that nothing else touches during the launch.
// PTX: contains st.global.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub unsafe fn grid_stride_write(destination: *mut f32, length: usize) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut first = thread::block_idx_x() as usize * thread::block_dim_x() as usize;
    while first < length {
        let index = first + thread::thread_idx_x() as usize;
        if index < length {
            // SAFETY: the index is within the destination and this thread's alone.
            unsafe { destination.add(index).write(value_at(index as u64)) }
        }
        thread::sync_threads();
        first += threads;
    }
}

/// Writes with a slice for each block.
///
/// # Safety
/// As for [`grid_stride_write`].
// PTX: contains st.global.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub unsafe fn block_stride_write(destination: *mut f32, length: usize, slice: usize) {
    let start = thread::block_idx_x() as usize * slice;
    let end = length.min(start + slice);
    // The range divides once to know how many turns there will be, and the loop then only counts them down.
    for first in (start..end).step_by(thread::block_dim_x() as usize) {
        let index = first + thread::thread_idx_x() as usize;
        if index < end {
            // SAFETY: the index is within the destination and in this block's slice, and this thread's alone there.
            unsafe { destination.add(index).write(value_at(index as u64)) }
        }
        thread::sync_threads();
    }
}

/// Writes 128 bytes of random pages. Warps may meet in a segment; they write the same there, and by atomic stores, so that
/// no two of them race.
///
/// # Safety
/// `destination` points to `pages * page` elements that nothing else touches during the launch, and `page` is a multiple of
/// [`SEGMENT`]. `length` is not used: it stands where the other kernels have it.
// PTX: contains st.relaxed.sys.global.b32
// PTX: contains mul.hi.u32 or mul.wide.u32
#[kernel]
pub unsafe fn random_warp_write(
    destination: *mut f32,
    length: usize,
    pages: u32,
    page: u32,
    steps: u32,
    seed: u32,
) {
    let _ = length;
    let lane = u64::from(thread::thread_idx_x() % 32);
    let mut walk = Walk::new(seed, (grid_index() / 32) as u32, pages, page);
    for _ in 0..steps {
        let index = walk.next_segment() + lane;
        // SAFETY: the segment is within a page, and the page within the destination, which is only written atomically.
        let place = unsafe { AtomicU32::from_ptr(destination.add(index as usize).cast()) };
        place.store(value_at(index).to_bits(), Relaxed);
    }
}

/// Reads with all blocks side by side, 16 bytes a lane and four loads in flight.
///
/// A warp has 128 vectors in a row, and each lane every 32nd of them. A lane's sum is that of its four vectors' components, each
/// `(x + y) + (z + w)`, one vector after the other. At the source's end vectors are added one by one in the same order.
///
/// # Safety
/// As for [`grid_stride`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.b32
// PTX: lacks bar
#[kernel]
pub unsafe fn grid_stride_vector(source: &[F32x4], destination: *mut f32) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut sum = 0.0;
    let mut first = grid_index() / 32 * 32 * IN_FLIGHT + grid_index() % 32;
    while first + (IN_FLIGHT - 1) * 32 < source.len() {
        // SAFETY: the last of the vectors is within the source, and so are those before it.
        let vectors: [F32x4; IN_FLIGHT] =
            core::array::from_fn(|turn| unsafe { *source.get_unchecked(first + turn * 32) });
        sum = vectors.into_iter().fold(sum, |sum, vector| sum + sum_of_vector(vector));
        first += IN_FLIGHT * threads;
    }
    for turn in 0..IN_FLIGHT {
        if let Some(vector) = source.get(first + turn * 32) {
            sum += sum_of_vector(*vector);
        }
    }
    // SAFETY: promised by the caller.
    unsafe { destination.add(grid_index()).write(sum) }
}

#[inline(always)]
fn sum_of_vector(vector: F32x4) -> f32 {
    (vector.x + vector.y) + (vector.z + vector.w)
}
