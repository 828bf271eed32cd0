//! # Shuffles: lanes that read each other's registers
//!
//! The 32 lanes of a warp can hand values to each other without any memory: an instruction in which every lane names the lane
//! whose value it wants. Four kinds of it name that lane differently:
//!
//! - `shuffle_idx_*`: lane number `operand` of the lane's segment: a broadcast.
//! - `shuffle_up_*`, `shuffle_down_*`: the lane `operand` below or above. One that finds none in its segment keeps
//!   its own value.
//! - `shuffle_xor_*`: the lane whose number differs in the bits of `operand`: pairs that exchange, a butterfly.
//!
//! The first kind takes a number of each lane's own, so that with one more instruction it rotates the segment:
//!
//! - `shuffle_wrap_*`: the lane `operand` above, and from the end on at the beginning.
//!
//! A *segment* is `width` neighbouring lanes, 2 to 32 and a power of two; shuffles stay in it, only that `xor` may also
//! read from a lower segment. All is the same for `i32` and `f32`: 32 bits are 32 bits.
//!
//! What shuffles are for is [`reduction`]: sums over a warp, a block, the grid.
//!
//! # Launch
//! All take `(source, destination, operand, width)`. The source has any length, and the destination the same.
//! Blocks are one-dimensional and whole warps, and the grid covers the length. In a last warp that the length does not fill, the
//! lanes past it take part with 0. With `i` the lane's place in its segment and `s` the segment's first element, all counted
//! from 0, `destination[s + i]` is the source's element
//!
//! | kernel | element | kept if |
//! | --- | --- | --- |
//! | `idx` | `s + operand % width` | never |
//! | `up` | `s + i - operand` | `i < operand` |
//! | `down` | `s + i + operand` | `i + operand >= width` |
//! | `xor` | (lane ^ operand) of the warp | that lane is in a higher segment |
//! | `wrap` | `s + (i + operand) % width` | never |
//!
//! Of `operand` the low five bits count.

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

/// Each lane gets the value of the lane `operand` above, counted on from the segment's beginning.
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

/// One element for each lane. Lanes past the source's end exchange a 0, because a shuffle needs all lanes of the warp.
#[inline(always)]
fn load<T: Value>(block: &mut Block<Warps>, source: In<T, Each<N>>) -> PerThread<T> {
    block.each(|thread| thread.index(source).map_or(T::default(), |mine| source.at(mine)))
}

/// Stores what came, in the lanes that the source has an element for.
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
