//! # Filling a buffer with values that say where they are
//!
//! Not a lesson but what makes the lessons honest: before a kernel is measured, its buffers are filled so that an
//! element that is skipped, written twice or taken from a wrong place shows when the result is checked.
//!
//! The value at index `i` is the upper 20 bits of `fold(i) * 2654435761 + seed`, modulo 2^32, where `fold` is the
//! exclusive or of the two halves of the 64-bit index. The factor is 2^32 divided by the golden ratio, which sends
//! neighbours far apart. Twenty bits are a whole number that `f32` holds exactly and goes on to hold exactly while
//! millions of launches add one to it.

use crate::position::grid_stride;
use cuda_std::kernel;

/// The value at `index`, below 2^20.
#[inline(always)]
fn value(index: u64, seed: u32) -> u32 {
    let folded = index as u32 ^ (index >> 32) as u32;
    folded.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 12
}

/// Fills `a` with the pattern in single precision; any grid will do.
///
/// # Safety
/// `a` points to `length` elements that nothing else touches during the launch.
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn fill_f32(a: *mut f32, length: u64, seed: u32) {
    for index in grid_stride(length as usize) {
        // SAFETY: `index` is below `length`, and no two threads of a grid-stride loop share one.
        unsafe { a.add(index).write(value(index as u64, seed) as f32) }
    }
}

/// Fills `a` with the pattern in double precision; any grid will do.
///
/// # Safety
/// As for [`fill_f32`].
// PTX: contains st.global.b64
#[kernel]
pub unsafe fn fill_f64(a: *mut f64, length: u64, seed: u32) {
    for index in grid_stride(length as usize) {
        // SAFETY: `index` is below `length`, and no two threads of a grid-stride loop share one.
        unsafe { a.add(index).write(f64::from(value(index as u64, seed))) }
    }
}
