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
//! The first kind takes any number a lane, so that with one more instruction it turns the segment:
//!
//! - `shuffle_wrap_*`: the lane `operand` above, and from the end on at the beginning.
//!
//! A *segment* is `width` neighbouring lanes, 2 to 32 and a power of two; shuffles stay in it, only that `xor` may also
//! read from a lower segment. All is the same for `i32` and `f32`: 32 bits are 32 bits.
//!
//! What shuffles are for is [`reduction`]: sums over a warp, a block, the grid.
//!
//! # Launch
//! All take `(source, destination, operand, width)`. The source is a slice of any length, and the destination as long.
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

use crate::position::grid_index;
use cuda_std::kernel;
use cuda_std::warp::{
    WarpShuffleValue, lane_id, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};

/// The mask of a whole warp.
pub const WARP: u32 = u32::MAX;

/// A kernel for each kind of shuffle and type.
macro_rules! shuffles {
    ($($(#[$documentation:meta])* $name:ident, $type:ty, $shuffle:ident;)*) => {$(
        $(#[$documentation])*
        ///
        /// # Safety
        /// `destination` points to as many elements as `source` has, which nothing else touches during the launch; `width`
        /// is 2, 4, 8, 16 or 32, and blocks are whole warps.
        #[kernel]
        pub unsafe fn $name(source: &[$type], destination: *mut $type, operand: u32, width: u32) {
            // SAFETY: the width is promised by the caller, and whole warps are in the shuffle.
            let exchange = |value| unsafe {
                core::hint::assert_unchecked(width.is_power_of_two() && width <= 32);
                $shuffle(WARP, value, operand, width).0
            };
            // SAFETY: promised by the caller.
            unsafe { each_lane(source, destination, exchange) }
        }
    )*};
}

// PTX shuffle_idx_i32, shuffle_idx_f32: contains shfl.sync.idx.b32
// PTX shuffle_up_i32, shuffle_up_f32: contains shfl.sync.up.b32
// PTX shuffle_down_i32, shuffle_down_f32: contains shfl.sync.down.b32
// PTX shuffle_xor_i32, shuffle_xor_f32: contains shfl.sync.bfly.b32
// PTX shuffle_wrap_i32, shuffle_wrap_f32: contains shfl.sync.idx.b32
// PTX shuffle_idx_i32, shuffle_up_i32, shuffle_down_i32, shuffle_xor_i32, shuffle_wrap_i32: lacks shared or bar
// PTX shuffle_idx_f32, shuffle_up_f32, shuffle_down_f32, shuffle_xor_f32, shuffle_wrap_f32: lacks shared or bar
shuffles! {
    /// Each lane gets the value of the lane with that index in its segment.
    shuffle_idx_i32, i32, warp_shuffle_idx;
    /// Each lane gets the value of the lane that many below.
    shuffle_up_i32, i32, warp_shuffle_up;
    /// Each lane gets the value of the lane that many above.
    shuffle_down_i32, i32, warp_shuffle_down;
    /// Each lane gets the value of the lane whose index differs in those bits.
    shuffle_xor_i32, i32, warp_shuffle_xor;
    /// Each lane gets the value of the lane that many above, counted on from the segment's beginning.
    shuffle_wrap_i32, i32, warp_shuffle_wrap;
    /// Each lane gets the value of the lane with that index in its segment.
    shuffle_idx_f32, f32, warp_shuffle_idx;
    /// Each lane gets the value of the lane that many below.
    shuffle_up_f32, f32, warp_shuffle_up;
    /// Each lane gets the value of the lane that many above.
    shuffle_down_f32, f32, warp_shuffle_down;
    /// Each lane gets the value of the lane whose index differs in those bits.
    shuffle_xor_f32, f32, warp_shuffle_xor;
    /// Each lane gets the value of the lane that many above, counted on from the segment's beginning.
    shuffle_wrap_f32, f32, warp_shuffle_wrap;
}

/// The value of the lane that is `distance` further on in the segment, which begins anew at its end.
///
/// # Safety
/// As for [`warp_shuffle_idx`].
#[inline(always)]
unsafe fn warp_shuffle_wrap<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    distance: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: promised by the caller.
    unsafe { warp_shuffle_idx(mask, value, lane_id().wrapping_add(distance), width) }
}

/// Loads an element a lane, exchanges it, and stores what came. Lanes past the source's end exchange a 0, because a shuffle
/// needs all lanes that its mask names.
///
/// # Safety
/// `destination` points to as many elements as `source` has, which nothing else touches during the launch.
#[inline(always)]
unsafe fn each_lane<T: WarpShuffleValue + Default>(
    source: &[T],
    destination: *mut T,
    exchange: impl FnOnce(T) -> T,
) {
    let index = grid_index();
    let there = index < source.len();
    // SAFETY: the index is within the source.
    let value = exchange(if there { unsafe { *source.get_unchecked(index) } } else { T::default() });
    if there {
        // SAFETY: the index is within the destination and this thread's alone.
        unsafe { destination.add(index).write(value) }
    }
}
