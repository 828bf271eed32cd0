//! # Coalescing: what it costs to be misaligned, and what it costs to skip
//!
//! The 32 lanes of a warp issue a load together, and the memory system answers in *sectors* of 32 bytes, four to a
//! *line* of 128. How many sectors and lines a request touches, not how many bytes it asks for, decides what it costs.
//!
//! `offset` shifts the whole warp by `s` elements: `a[i + s] += 1`. Thirty-two `f32` are 128 bytes, which is one line
//! of four sectors when the warp starts on a line, and five sectors in two lines when it does not start on a sector.
//! The fifth is shared with the next warp, so on cards with a cache DRAM moves no more than before, and most of the loss
//! is won back. An H200 loses 6% in `f32` and 8% in `f64`, at every offset at which a warp straddles lines, also
//! where it touches no sector more than it must (`s` = 8): two lines are two look-ups in L1. The first cards
//! had no cache and no such mercy; they served a misaligned half-warp in sixteen separate transactions, an eighth of the
//! bandwidth.
//!
//! `stride` spreads the warp out: `a[i * s] += 1`. Up to `s` = 8 a warp of `f32` touches `4 * s` sectors and uses
//! `1 / s` of each, so the bandwidth that is of use falls as `1 / s`. From 8 on every lane has a sector of its own,
//! 32 a request, and an eighth of what is moved is of use. It falls on after that, because DRAM delivers at least two
//! neighbouring sectors on recent cards, so that from `s` = 16 half of what it delivers goes nowhere, and because
//! ever more pages have to be opened and translated. No cache saves a large stride: the neighbours that were fetched
//! are never asked for.
//!
//! With `f64` a lane fills twice as much of a sector: nine sectors instead of eight when misaligned, and a floor of
//! a quarter, reached at `s` = 4.
//!
//! Each thread updates one element. The launch has exactly as many threads as there are elements, as in the article
//! that this experiment comes from, so no kernel carries a remainder check.
//!
//! How an address is computed shows, since a thread does little else. `a.add(s).add(i)` leaves what is the same for a
//! whole block to the scalar unit and comes out half a per cent ahead of `a[i + s]` from nvcc; the same sum in 32 bits
//! is three instructions shorter, and two per cent slower: warps that reach their loads sooner do not get them sooner.

use crate::position::grid_index;
use cuda_std::kernel;

/// `a[i + s] += 1` in single precision, one thread an element.
///
/// # Safety
/// `a` points to at least `threads in the grid + s` elements, and nothing else touches them during the launch.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
// PTX: lacks setp
#[kernel]
pub unsafe fn offset_f32(a: *mut f32, s: u32) {
    // SAFETY: the launch covers `threads + s` elements, and every thread has an element of its own.
    unsafe { *a.add(s as usize).add(grid_index()) += 1.0 }
}

/// `a[i + s] += 1` in double precision, one thread an element.
///
/// # Safety
/// As for [`offset_f32`].
// PTX: contains ld.global.b64
// PTX: contains st.global.b64
// PTX: lacks setp
#[kernel]
pub unsafe fn offset_f64(a: *mut f64, s: u32) {
    // SAFETY: the launch covers `threads + s` elements, and every thread has an element of its own.
    unsafe { *a.add(s as usize).add(grid_index()) += 1.0 }
}

/// `a[i * s] += 1` in single precision, one thread an element.
///
/// # Safety
/// `a` points to at least `(threads in the grid - 1) * s + 1` elements, `s` is not 0, and nothing else touches them
/// during the launch.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
// PTX: lacks setp
#[kernel]
pub unsafe fn stride_f32(a: *mut f32, s: u32) {
    // SAFETY: the launch covers `(threads - 1) * s + 1` elements, and with `s` > 0 no two threads share one.
    unsafe { *a.add(grid_index() * s as usize) += 1.0 }
}

/// `a[i * s] += 1` in double precision, one thread an element.
///
/// # Safety
/// As for [`stride_f32`].
// PTX: contains ld.global.b64
// PTX: contains st.global.b64
// PTX: lacks setp
#[kernel]
pub unsafe fn stride_f64(a: *mut f64, s: u32) {
    // SAFETY: the launch covers `(threads - 1) * s + 1` elements, and with `s` > 0 no two threads share one.
    unsafe { *a.add(grid_index() * s as usize) += 1.0 }
}
