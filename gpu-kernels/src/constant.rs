//! # Constant memory: one address for the warp, or one after the other
//!
//! Constant memory is 64 KiB of device memory behind a small cache of its own, built for what all threads need at the
//! same time: one address per request. If all lanes ask for the same word, the cache delivers it to all of them at once, as
//! fast as a register is read. If they ask for different words the request is replayed, once for each of them,
//! and a table that lanes look up by their own values is up to 32 times slower.
//!
//! - `constant_broadcast`: each lane walks through [`CONSTANT_TABLE`], 1, 2, 4, 8, 16 or 32 different words at a time.
//! - `read_only_broadcast`: the same walk through a table in global memory, by the read-only path. L1 serves
//!   different words of a line together, so it does not mind; the table that lanes look up differently belongs there.
//!
//! The sums are of `u32` and wrap, so that the order of addition cannot matter.
//!
//! # Launch
//! One-dimensional blocks and grids of any size; the destination has one `u32` for each thread. `distinct` is 1, 2, 4, 8, 16 or
//! 32, `steps` any multiple of 32. The thread with lane `l` writes the sum over `s` in `0..steps` of
//! `table[s % 1024 + l % distinct]`; the table has 1056 words, which the host writes before the launch. The request of a
//! warp in one step asks for `distinct` words in a row.

use cuda_safe::integer::opaque;
use cuda_safe::unroll::repeat;
use cuda_safe::{Count, Each, EachThread, In, Out, Thread, constant, kernel};

/// Words that the walk starts at, one after the other, before it begins again.
pub const PERIOD: usize = 1024;

/// Words in the table: from the last start there are 32 different ones.
pub const TABLE: usize = PERIOD + 32;

/// Steps of one iteration of the loop, so that it is the loads that are measured.
pub const UNROLLED: u32 = 32;

constant! {
    /// The table of `constant_broadcast`, which the host writes before a launch.
    pub static CONSTANT_TABLE: [u32; TABLE] = [0; TABLE];
}

/// Sums up words of constant memory, `distinct` different ones for each request of a warp.
// PTX: contains 32x ld.const.b32
// PTX: contains st.global.b32
// PTX: lacks ld.global
#[kernel(requires(distinct.is_power_of_two() && distinct <= 32))]
pub fn constant_broadcast(thread: Thread, destination: Out<u32, EachThread>, distinct: u32, steps: u32) {
    // Each word by an address of its own. That `step` is a multiple of 32 would make one address of all, from which the
    // requests then follow one another more slowly: 11% on an H200.
    let words = |step, lane| {
        let word = |nth| CONSTANT_TABLE.at(place(opaque(step) + nth, lane));
        repeat::<UNROLLED, _>(0, |sum: u32, nth| sum.wrapping_add(word(nth)))
    };
    destination.put(thread.own(), walk(&thread, distinct, steps, words));
}

/// Sums up words of global memory in the same way.
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
        // The last word first: ptxas then has the sums follow their loads more closely, 4% faster from 8 distinct words on (H200).
        repeat::<UNROLLED, _>(0_u32, |sum, nth| {
            sum.wrapping_add(table.nth(first + (UNROLLED - 1 - nth) as usize))
        })
    };
    destination.put(thread.own(), walk(&thread, distinct, steps, words));
}

/// Where a lane is in the table at a step, below [`TABLE`].
#[inline(always)]
fn place(step: u32, lane: u32) -> usize {
    (step % PERIOD as u32 + lane) as usize
}

/// The sum of the words of all steps; `words(step, lane)` is that of [`UNROLLED`] steps from `step` on. They are summed by
/// themselves and added at the end, so that they wait for one another only, and not for the iteration before.
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
