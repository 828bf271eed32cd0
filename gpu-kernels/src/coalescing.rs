//! # Coalescing: what misalignment and strides cost
//!
//! The 32 lanes of a warp issue a load together, as one request. The memory system answers in *sectors* of 32 bytes, four
//! to a *line* of 128. What a request costs depends on the sectors and lines it touches, not on the bytes it asks for.
//!
//! `offset` shifts the warp by `s` elements: `a[i + s] += 1`. A warp of `f32` covers 128 bytes: four sectors of one line if
//! it starts at a line, five sectors in two lines if it starts inside a sector. Where there is a cache, the next warp
//! shares the fifth sector, so DRAM moves the same bytes and the loss is small: 6% in `f32` and 8% in `f64` on an H200. That
//! is a second look-up in L1, since it occurs at `s` = 8 too, where the warp straddles two lines without an extra sector.
//!
//! The first CUDA cards had no cache. They split a misaligned half-warp into sixteen transactions and delivered an eighth
//! of the bandwidth.
//!
//! `stride` spreads the warp out: `a[i * s] += 1`. Up to `s` = 8 a warp of `f32` touches `4 * s` sectors and uses `1 / s`
//! of each, so effective bandwidth falls as `1 / s`. From `s` = 8 on each lane has a sector of its own: 32 per request,
//! with an eighth of each used. A cache does not help, because no lane asks for the neighbours that were fetched.
//!
//! Beyond `s` = 8 effective bandwidth still falls, for two reasons. Recent cards fetch at least two neighbouring sectors
//! from DRAM, so from `s` = 16 on half of what DRAM delivers is unused. And more pages must be opened and translated.
//!
//! An `f64` fills twice as much of a sector. A misaligned warp touches nine sectors instead of eight. From `s` = 4 on each
//! lane has a sector of its own, with a quarter of it used.
//!
//! Each thread updates one element. The launch has exactly as many threads as elements, so no kernel needs a bounds check.
//!
//! How the address is computed matters, because a thread does little else. `a + s`, and then `+ i`, leaves the part that is
//! the same for a whole block to the scalar unit, and is half a per cent faster than `a[i + s]` from nvcc. The same sum in
//! 32 bits is three instructions shorter and two per cent slower: a warp that reaches its load sooner does not get its data
//! sooner.

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
