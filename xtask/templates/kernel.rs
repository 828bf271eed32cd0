//! # name_of_lesson: a slice times a factor
//!
//! A kernel to start from. Say here what the access pattern is, what the hardware does with it, and what bandwidth to
//! expect: this comment is the lesson, and the program prints none of it.
//!
//! One element a thread, neighbours in memory for neighbours in a warp: a request of 32 lanes is four sectors of 32 bytes, and
//! every byte of them is used. Memory is all that there is to wait for, so the multiplication is free, and the
//! bandwidth is that of `copy_scalar`.
//!
//! # Launch
//! Any block, in x; a grid that covers the elements. Parameters: source (pointer and 64-bit length), destination, factor.
//! No dynamic shared memory.

use crate::position::grid_index;
use cuda_std::kernel;

/// `destination[i] = factor * source[i]`.
///
/// # Safety
/// `destination` points to at least `source.len()` elements that nothing else touches during the launch.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn name_of_lesson_f32(source: &[f32], destination: *mut f32, factor: f32) {
    let index = grid_index();
    if let Some(&value) = source.get(index) {
        // SAFETY: `index` is within `source`, and `destination` is as long and this thread's alone at `index`.
        unsafe { destination.add(index).write(factor * value) }
    }
}
