//! # name_of_lesson: a slice times a factor
//!
//! A kernel to start from. Say here what the access pattern is, what the hardware does with it, and what bandwidth to
//! expect: this comment is the lesson, and the program prints none of it.
//!
//! One element per thread, neighbours in memory for neighbours in a warp: a request of 32 lanes is four sectors of 32 bytes,
//! and every byte of them is used. The kernel is bound by memory, so the multiplication is free, and the bandwidth is that
//! of `copy_scalar`.
//!
//! # Launch
//! Any block, in x; a grid that covers the elements.

use cuda_safe::names::N;
use cuda_safe::{Each, In, Out, Thread, kernel};

/// `destination[i] = factor * source[i]`.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel(requires(threads.x >= source.len()))]
pub fn name_of_lesson_f32(
    thread: Thread,
    source: In<f32, Each<N>>,
    destination: Out<f32, Each<N>>,
    factor: f32,
) {
    if let Some(i) = thread.index(source) {
        destination.put(i, factor * source.at(i));
    }
}
