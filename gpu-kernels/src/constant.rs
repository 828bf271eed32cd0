//! # Constant memory: one address at a time
//!
//! Constant memory serves one address per request. If all lanes of a warp ask for the same word, they get it as fast as
//! from a register. If they ask for different words, the request is replayed once for each word. So constant memory suits
//! what all threads need at the same time, and a table that lanes index differently is up to 32 times slower there.
//!
//! It is 64 KiB of device memory behind a small cache of its own. Two kernels compare it with L1:
//!
//! - `constant_broadcast`: each lane walks through [`CONSTANT_TABLE`]. A request asks for 1, 2, 4, 8, 16 or 32 different
//!   words.
//! - `read_only_broadcast`: the same walk through a table in global memory, by the read-only path. L1 serves different
//!   words of one line together, so the number of different words makes no difference. A table that lanes index differently
//!   belongs there.
//!
//! The sums are of `u32` and wrap, so the order of addition does not matter.
//!
//! # Launch
//! Blocks and grids are one-dimensional, of any size. The destination has one `u32` per thread. `distinct` is 1, 2, 4, 8,
//! 16 or 32, and `steps` any multiple of 32. The thread with lane `l` writes the sum over `s` in `0..steps` of
//! `table[s % 1024 + l % distinct]`. The table has 1056 words, which the host writes before the launch. In each step a
//! warp's request asks for `distinct` consecutive words.

use cuda_safe::integer::opaque;
use cuda_safe::unroll::repeat;
use cuda_safe::{Count, Each, EachThread, In, Out, Thread, constant, kernel};

/// Number of start words that the walk takes, one after the other, before it begins again.
pub const PERIOD: usize = 1024;

/// Words in the table: 32 different ones follow the last start.
pub const TABLE: usize = PERIOD + 32;

/// Steps per iteration of the loop: enough that loads take the time, not the loop.
pub const UNROLLED: u32 = 32;

constant! {
    /// The table of `constant_broadcast`, which the host writes before a launch.
    pub static CONSTANT_TABLE: [u32; TABLE] = [0; TABLE];
}

/// Sums words of constant memory, `distinct` different ones per request.
// PTX: contains 32x ld.const.b32
// PTX: contains st.global.b32
// PTX: lacks ld.global
#[kernel(requires(distinct.is_power_of_two() && distinct <= 32))]
pub fn constant_broadcast(thread: Thread, destination: Out<u32, EachThread>, distinct: u32, steps: u32) {
    // Each word has an address of its own. Because `step` is a multiple of 32, the compiler would derive all of them from one
    // address, and the requests would follow one another 11% more slowly on an H200.
    let words = |step, lane| {
        let word = |nth| CONSTANT_TABLE.at(place(opaque(step) + nth, lane));
        repeat::<UNROLLED, _>(0, |sum: u32, nth| sum.wrapping_add(word(nth)))
    };
    destination.put(thread.own(), walk(&thread, distinct, steps, words));
}

/// Sums words of global memory in the same way.
// PTX: contains 32x ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks ld.const
#[kernel(requires(distinct.is_power_of_two() && distinct <= 32))]
pub fn read_only_broadcast(
    thread: Thread,
    table: In<u32, Each<Count<TABLE>>>,
    destination: Out<u32, EachThread>,
    distinct: u32,
    steps: u32,
) {
    let words = |step, lane| {
        let first = place(step, lane);
        // The last word comes first, because ptxas then places sums closer to their loads: 4% faster from 8 distinct words on (H200).
        repeat::<UNROLLED, _>(0_u32, |sum, nth| {
            sum.wrapping_add(table.nth(first + (UNROLLED - 1 - nth) as usize))
        })
    };
    destination.put(thread.own(), walk(&thread, distinct, steps, words));
}

/// The table's index that a lane reads at a step, below [`TABLE`].
#[inline(always)]
fn place(step: u32, lane: u32) -> usize {
    (step % PERIOD as u32 + lane) as usize
}

/// Sums the words of all steps; `words(step, lane)` sums [`UNROLLED`] steps from `step` on. Each iteration has a sum of its
/// own, which is added at the end, so that it does not wait for the iteration before.
#[inline(always)]
fn walk(thread: &Thread, distinct: u32, steps: u32, words: impl Fn(u32, u32) -> u32) -> u32 {
    let lane = thread.lane() & (distinct - 1);
    let mut sum = 0_u32;
    let mut step = 0;
    while step < steps {
        sum = sum.wrapping_add(words(step, lane));
        step += UNROLLED;
    }
    sum
}
