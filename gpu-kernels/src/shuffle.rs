//! # Shuffles: lanes that read each other's registers
//!
//! A shuffle moves values between the 32 lanes of a warp without any memory: each lane names the lane whose register it
//! reads. One instruction does what takes a store, a wait and a load through shared memory.
//!
//! The hardware has four kinds, which name the source lane differently:
//!
//! - `shuffle_idx_*`: the lane with number `operand` in the segment, which is a broadcast.
//! - `shuffle_up_*`, `shuffle_down_*`: the lane `operand` below or above. A lane without such a neighbour in its segment
//!   keeps its own value.
//! - `shuffle_xor_*`: the lane whose number differs in the bits of `operand`. Lanes exchange in pairs, as in a butterfly.
//!
//! In the first kind each lane may name a different number, so one more instruction makes it a rotation:
//!
//! - `shuffle_wrap_*`: the lane `operand` above, which wraps around at the segment's end.
//!
//! A *segment* is `width` neighbouring lanes, a power of two from 2 to 32. Shuffles stay within their segment; only `xor`
//! may also read from a lower one. `i32` and `f32` behave alike, since both have 32 bits.
//!
//! Sums over a warp, a block or the grid are what shuffles are mostly used for: see [`reduction`].
//!
//! # Launch
//! All take `(source, destination, operand, width)`. The source has any length, and the destination the same.
//! Blocks are one-dimensional and whole warps, and the grid covers the length. Lanes past the end of the source take part
//! with 0. Let `i` be the lane's number in its segment and `s` the segment's first element, both from 0. Then
//! `destination[s + i]` is this element of the source:
//!
//! | kernel | element | the lane keeps its own value if |
//! | --- | --- | --- |
//! | `idx` | `s + operand % width` | never |
//! | `up` | `s + i - operand` | `i < operand` |
//! | `down` | `s + i + operand` | `i + operand >= width` |
//! | `xor` | (lane ^ operand) of the warp | that lane is in a higher segment |
//! | `wrap` | `s + (i + operand) % width` | never |
//!
//! Only the low five bits of `operand` count.

pub mod reduction;

use cuda_safe::names::N;
use cuda_safe::shape::Warps;
use cuda_safe::{Bits, Block, Each, In, Lanes, Out, PerThread, ShuffleValue, Width, kernel};

/// A value that this lesson's kernels exchange.
pub trait Value: ShuffleValue + Bits + Default {}
impl Value for i32 {}
impl Value for f32 {}

/// Each lane gets the value of the lane with that index in its segment.
// PTX shuffle_idx_i32, shuffle_idx_f32: contains shfl.sync.idx.b32
// PTX shuffle_idx_i32, shuffle_idx_f32: lacks shared or bar
#[kernel(shuffle_idx_i32 = <i32>, shuffle_idx_f32 = <f32>)]
pub fn shuffle_idx<T: Value>(
    mut block: Block<Warps>,
    source: In<T, Each<N>>,
    destination: Out<T, Each<N>>,
    operand: u32,
    width: Width,
) {
    let values = load(&mut block, source);
    let values = block.broadcast(values, operand, width);
    store(&mut block, source, destination, values);
}

/// Each lane gets the value of the lane `operand` below.
// PTX shuffle_up_i32, shuffle_up_f32: contains shfl.sync.up.b32
// PTX shuffle_up_i32, shuffle_up_f32: lacks shared or bar
#[kernel(shuffle_up_i32 = <i32>, shuffle_up_f32 = <f32>)]
pub fn shuffle_up<T: Value>(
    mut block: Block<Warps>,
    source: In<T, Each<N>>,
    destination: Out<T, Each<N>>,
    operand: u32,
    width: Width,
) {
    let values = load(&mut block, source);
    let values = block.shuffle_up(values, operand, width);
    store(&mut block, source, destination, values);
}

/// Each lane gets the value of the lane `operand` above.
// PTX shuffle_down_i32, shuffle_down_f32: contains shfl.sync.down.b32
// PTX shuffle_down_i32, shuffle_down_f32: lacks shared or bar
#[kernel(shuffle_down_i32 = <i32>, shuffle_down_f32 = <f32>)]
pub fn shuffle_down<T: Value>(
    mut block: Block<Warps>,
    source: In<T, Each<N>>,
    destination: Out<T, Each<N>>,
    operand: u32,
    width: Width,
) {
    let values = load(&mut block, source);
    let values = block.shuffle_down(values, operand, width);
    store(&mut block, source, destination, values);
}

/// Each lane gets the value of the lane whose index differs in the bits of `operand`.
// PTX shuffle_xor_i32, shuffle_xor_f32: contains shfl.sync.bfly.b32
// PTX shuffle_xor_i32, shuffle_xor_f32: lacks shared or bar
#[kernel(shuffle_xor_i32 = <i32>, shuffle_xor_f32 = <f32>)]
pub fn shuffle_xor<T: Value>(
    mut block: Block<Warps>,
    source: In<T, Each<N>>,
    destination: Out<T, Each<N>>,
    operand: u32,
    width: Width,
) {
    let values = load(&mut block, source);
    let values = block.shuffle_xor(values, operand, width);
    store(&mut block, source, destination, values);
}

/// Each lane gets the value of the lane `operand` above; the count wraps around at the segment's end.
// PTX shuffle_wrap_i32, shuffle_wrap_f32: contains shfl.sync.idx.b32
// PTX shuffle_wrap_i32, shuffle_wrap_f32: lacks shared or bar
#[kernel(shuffle_wrap_i32 = <i32>, shuffle_wrap_f32 = <f32>)]
pub fn shuffle_wrap<T: Value>(
    mut block: Block<Warps>,
    source: In<T, Each<N>>,
    destination: Out<T, Each<N>>,
    operand: u32,
    width: Width,
) {
    let values = load(&mut block, source);
    let lanes = block.each(|thread| thread.lane_id().wrapping_add(operand));
    let values = block.shuffle_from(values, lanes, width);
    store(&mut block, source, destination, values);
}

/// Loads one element per lane. Lanes past the source's end exchange a 0, because a shuffle needs all lanes of the warp.
#[inline(always)]
fn load<T: Value>(block: &mut Block<Warps>, source: In<T, Each<N>>) -> PerThread<T> {
    block.each(|thread| thread.index(source).map_or(T::default(), |mine| source.at(mine)))
}

/// Stores each lane's value, if the source has an element for the lane.
#[inline(always)]
fn store<T: Value>(
    block: &mut Block<Warps>,
    source: In<T, Each<N>>,
    destination: Out<T, Each<N>>,
    values: PerThread<T>,
) {
    block.each(|thread| {
        if let Some(mine) = thread.index(source) {
            destination.put(mine, values.of(thread));
        }
    });
}
