//! # Reductions: sums by shuffles against sums by shared memory
//!
//! A warp of 32 values is summed in five steps, each of which adds the values of lanes half as far apart. By
//! shuffle a step is two instructions on registers. Through shared memory it is a store, a wait, a load and an
//! addition, and the block has to set memory aside for it.
//!
//! - `reduce_warp_shuffle`, `reduce_warp_shared`: one sum for each 32 elements.
//! - `reduce_block_shuffle`, `reduce_block_shared`: one sum a block. By shuffle the warps sum for themselves, leave one value
//!   each in shared memory, and the first warp sums those: one barrier, where shared memory alone takes one
//!   for each halving.
//!
//! With one 4-byte load a thread, all of these are held up by their loads and not by their sums. To reach the memory's
//! bandwidth a thread reads more, in wider pieces, before anything is exchanged:
//!
//! - `reduce_vector`: four 16-byte vectors a thread in a grid that covers the source, then one atomic addition a block.
//! - `reduce_persistent`: as many blocks as the card holds at a time, which stride through the source with four vectors in
//!   flight, then one atomic addition a block: a few hundred in all.
//!
//! Sums are of `i32` and wrap, so that each order of addition gives the same.
//!
//! # Launch
//! All take `(source, destination)`. Blocks are one-dimensional and whole warps, 32 to 1024 threads.
//!
//! | kernel | source | destination | grid | dynamic shared bytes |
//! | --- | --- | --- | --- | --- |
//! | `reduce_warp_shuffle` | `i32`, any length | a sum a warp: `ceil(length / 32)` | covers the length | 0 |
//! | `reduce_warp_shared` | the same | the same | the same | `block * 4` |
//! | `reduce_block_shuffle` | the same | a sum a block: the grid's size | the same | 0 |
//! | `reduce_block_shared` | the same | the same | the same | `block * 4` |
//! | `reduce_vector` | vectors of 4 `i32`, any length | one sum, added to what is there | `ceil(vectors / (4 * block))` | 0 |
//! | `reduce_persistent` | the same | the same | any: SMs times blocks that fit on one | 0 |
//!
//! In the first four the last warp or block may be partly past the end; those elements count as 0.

use super::WARP;
use crate::position::grid_index;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::vector::I32x4;
use cuda_std::warp::{lane_id, sync_warp, warp_shuffle_down};
use cuda_std::{kernel, shared_array, thread};

/// Vectors that a thread of `reduce_vector` and `reduce_persistent` has in flight.
pub const IN_FLIGHT: usize = 4;

/// Sums each warp's elements by shuffles.
///
/// # Safety
/// `destination` points to a sum for each warp that has an element, which nothing else touches during the launch; blocks
/// are whole warps.
// PTX: contains ld.global.nc.b32
// PTX: contains 5x shfl.sync.down.b32
// PTX: lacks shared or bar
#[kernel]
pub unsafe fn reduce_warp_shuffle(source: &[i32], destination: *mut i32) {
    let index = grid_index();
    let sum = sum_of_warp(source.get(index).copied().unwrap_or(0));
    if lane_id() == 0 && index < source.len() {
        // SAFETY: the warp has an element, so the destination has its sum.
        unsafe { destination.add(index / 32).write(sum) }
    }
}

/// Sums each warp's elements in shared memory.
///
/// # Safety
/// As for [`reduce_warp_shuffle`], and the launch gives a block a word of dynamic shared memory for each thread.
// PTX: contains ld.global.nc.b32
// PTX: contains 5x st.shared.b32
// PTX: contains bar.warp.sync
// PTX: lacks shfl or bar.sync or barrier.sync
#[kernel]
pub unsafe fn reduce_warp_shared(source: &[i32], destination: *mut i32) {
    let index = grid_index();
    let lane = lane_id();
    // SAFETY: a lane has its own word, and reads another's of the same warp only after all lanes are there.
    unsafe {
        let word = dynamic_shared_mem::<i32>().add(thread::thread_idx_x() as usize);
        let mut sum = source.get(index).copied().unwrap_or(0);
        word.write(sum);
        for distance in [16, 8, 4, 2, 1] {
            sync_warp(WARP);
            if lane < distance {
                sum = sum.wrapping_add(*word.add(distance as usize));
                word.write(sum);
            }
        }
        if lane == 0 && index < source.len() {
            destination.add(index / 32).write(sum);
        }
    }
}

/// Sums each block's elements: warps by shuffles, then their sums by shuffles.
///
/// # Safety
/// `destination` points to a sum for each block, which nothing else touches during the launch; blocks are whole warps.
// PTX: contains ld.global.nc.b32
// PTX: contains 10x shfl.sync.down.b32
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
#[kernel]
pub unsafe fn reduce_block_shuffle(source: &[i32], destination: *mut i32) {
    let sum = sum_of_block(source.get(grid_index()).copied().unwrap_or(0));
    if thread::thread_idx_x() == 0 {
        // SAFETY: the destination has a sum for each block.
        unsafe { destination.add(thread::block_idx_x() as usize).write(sum) }
    }
}

/// Sums each block's elements in shared memory.
///
/// # Safety
/// As for [`reduce_block_shuffle`], and the launch gives a block a word of dynamic shared memory for each thread.
// PTX: contains ld.global.nc.b32
// PTX: contains ld.shared.b32
// PTX: contains st.shared.b32
// PTX: lacks shfl
#[kernel]
pub unsafe fn reduce_block_shared(source: &[i32], destination: *mut i32) {
    let words = dynamic_shared_mem::<i32>();
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: a thread has its own word, and reads another's only after a barrier.
    unsafe {
        let word = words.add(thread as usize);
        let mut sum = source.get(grid_index()).copied().unwrap_or(0);
        word.write(sum);
        // Half of a power of two that is not below the number of threads: those past it are in no pair.
        let mut distance = threads.next_power_of_two() / 2;
        while distance > 0 {
            thread::sync_threads();
            if thread < distance && thread + distance < threads {
                sum = sum.wrapping_add(*word.add(distance as usize));
                word.write(sum);
            }
            distance /= 2;
        }
        if thread == 0 {
            destination.add(thread::block_idx_x() as usize).write(sum);
        }
    }
}

/// Sums everything: four vectors a thread, then the block, then one atomic addition.
///
/// # Safety
/// `destination` points to a sum that is only added to atomically during the launch; blocks are whole warps.
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 10x shfl.sync.down.b32
// PTX: contains red*.global*.add or atom*.global*.add
#[kernel]
pub unsafe fn reduce_vector(source: &[I32x4], destination: *mut i32) {
    let first = first_vector();
    let sum = if first + LAST < source.len() {
        // SAFETY: the last of the vectors is within the source, and so are those before it.
        unsafe { sum_of_vectors(source, first) }
    } else {
        sum_of_rest(source, first)
    };
    // SAFETY: promised by the caller.
    unsafe { add_to(destination, sum) }
}

/// Sums everything with as many blocks as the launch has: each warp takes 128 vectors in a row, then
/// those one grid further on.
///
/// # Safety
/// As for [`reduce_vector`].
// PTX: contains 4x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 10x shfl.sync.down.b32
// PTX: contains red*.global*.add or atom*.global*.add
#[kernel]
pub unsafe fn reduce_persistent(source: &[I32x4], destination: *mut i32) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut sum = 0_i32;
    let mut first = first_vector();
    while first + LAST < source.len() {
        // SAFETY: the last of the vectors is within the source, and so are those before it.
        sum = sum.wrapping_add(unsafe { sum_of_vectors(source, first) });
        first += IN_FLIGHT * threads;
    }
    let sum = sum.wrapping_add(sum_of_rest(source, first));
    // SAFETY: promised by the caller.
    unsafe { add_to(destination, sum) }
}

/// From a thread's first vector to its last. A warp has `32 * IN_FLIGHT` vectors in a row, and a thread every 32nd of
/// them: distances that the compiler knows are part of the load instructions, and cost no arithmetic.
const LAST: usize = (IN_FLIGHT - 1) * 32;

/// The index of this thread's first vector.
#[inline(always)]
fn first_vector() -> usize {
    let index = grid_index();
    index / 32 * 32 * IN_FLIGHT + index % 32
}

/// The sum of a thread's vectors, all loaded before the first is added.
///
/// # Safety
/// All of them are within the source.
#[inline(always)]
unsafe fn sum_of_vectors(source: &[I32x4], first: usize) -> i32 {
    // SAFETY: promised by the caller.
    let vectors: [I32x4; IN_FLIGHT] =
        core::array::from_fn(|turn| unsafe { *source.get_unchecked(first + turn * 32) });
    vectors.into_iter().fold(0, |sum: i32, vector| sum.wrapping_add(sum_of_vector(vector)))
}

/// The sum of those of a thread's vectors that the source has.
#[inline(always)]
fn sum_of_rest(source: &[I32x4], first: usize) -> i32 {
    let mut sum = 0_i32;
    for turn in 0..IN_FLIGHT {
        if let Some(vector) = source.get(first + turn * 32) {
            sum = sum.wrapping_add(sum_of_vector(*vector));
        }
    }
    sum
}

#[inline(always)]
fn sum_of_vector(vector: I32x4) -> i32 {
    vector.x.wrapping_add(vector.y).wrapping_add(vector.z.wrapping_add(vector.w))
}

/// The sum over the warp, in lane 0; other lanes have sums of parts. All lanes call it together.
#[inline(always)]
fn sum_of_warp(mut sum: i32) -> i32 {
    for distance in [16, 8, 4, 2, 1] {
        // SAFETY: whole warps call this together.
        sum = sum.wrapping_add(unsafe { warp_shuffle_down(WARP, sum, distance, 32) }.0);
    }
    sum
}

/// The sum over the block, in thread 0. All threads call it together, once in a kernel.
#[inline(always)]
fn sum_of_block(value: i32) -> i32 {
    // One for each of the 32 warps that a block has at most.
    let sums = shared_array![i32; 32];
    let warp = thread::thread_idx_x() / 32;
    let sum = sum_of_warp(value);
    // SAFETY: each warp writes its own word, and they are read after the barrier.
    unsafe {
        if lane_id() == 0 {
            sums.add(warp as usize).write(sum);
        }
        thread::sync_threads();
        if warp == 0 {
            let there = lane_id() < thread::block_dim_x() / 32;
            sum_of_warp(if there { *sums.add(lane_id() as usize) } else { 0 })
        } else {
            0
        }
    }
}

/// Adds the block's sum of `value` to the destination.
///
/// # Safety
/// `destination` is only added to atomically during the launch.
#[inline(always)]
unsafe fn add_to(destination: *mut i32, value: i32) {
    let sum = sum_of_block(value);
    if thread::thread_idx_x() == 0 {
        // SAFETY: promised by the caller.
        let _ = unsafe { AtomicI32::from_ptr(destination) }.fetch_add(sum, Relaxed);
    }
}
