//! # Fill: values that encode their position
//!
//! These kernels are no lesson; they make verification strict. Before a kernel is measured, its buffers are filled so that
//! an element that is skipped, written twice or read from a wrong position shows when the result is checked.
//!
//! The value at index `i` is the upper 20 bits of `fold(i) * 2654435761 + seed`, modulo 2^32, where `fold` is the
//! exclusive or of the two halves of the 64-bit index. The factor is 2^32 divided by the golden ratio, which maps
//! neighbouring indices to distant values. `f32` holds a number of 20 bits exactly, and still does after millions of
//! launches have added one to it.

use cuda_safe::names::N;
use cuda_safe::{Each, Length, Number, Out, Thread, kernel};

/// The value at `index`, below 2^20.
#[inline(always)]
fn value(index: u64, seed: u32) -> u32 {
    let folded = index as u32 ^ (index >> 32) as u32;
    folded.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 12
}

/// Fills `a` with the pattern, with a grid of any size.
// PTX fill_f32: contains st.global.b32
// PTX fill_f64: contains st.global.b64
#[kernel(fill_f32 = <f32>, fill_f64 = <f64>)]
pub fn fill<T: Number>(thread: Thread, a: Out<T, Each<N>>, length: Length<N>, seed: u32) {
    for i in thread.grid_stride(length) {
        a.put(i, T::from_u32(value(i.get() as u64, seed)));
    }
}
