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
//! 32 per request, and an eighth of what is moved is of use. It falls on after that, because DRAM delivers at least two
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
//! How an address is computed shows, since a thread does little else. `a + s`, and then `+ i`, leaves what is the same for a
//! whole block to the scalar unit and comes out half a per cent ahead of `a[i + s]` from nvcc; the same sum in 32 bits
//! is three instructions shorter, and two per cent slower: warps that reach their loads sooner do not get them sooner.

use cuda_safe::names::S;
use cuda_safe::{Extent, Number, Out, Positive, Shifted, Strided, Thread, kernel};

/// `a[i + s] += 1`, one thread per element.
// PTX offset_f32: contains ld.global.b32
// PTX offset_f32: contains st.global.b32
// PTX offset_f64: contains ld.global.b64
// PTX offset_f64: contains st.global.b64
// PTX offset_f32, offset_f64: lacks setp
#[kernel(offset_f32 = <f32>, offset_f64 = <f64>)]
pub fn offset<T: Number>(thread: Thread, a: Out<T, Shifted<S>>, s: Extent<S>) {
    a.update(thread.own(), |a| a + T::ONE);
}

/// `a[i * s] += 1`, one thread per element.
// PTX stride_f32: contains ld.global.b32
// PTX stride_f32: contains st.global.b32
// PTX stride_f64: contains ld.global.b64
// PTX stride_f64: contains st.global.b64
// PTX stride_f32, stride_f64: lacks setp
#[kernel(stride_f32 = <f32>, stride_f64 = <f64>)]
pub fn stride<T: Number>(thread: Thread, a: Out<T, Strided<S>>, s: Positive<S>) {
    a.update(thread.own(), |a| a + T::ONE);
}
