//! # Streams: kernels side by side
//!
//! A launch of few blocks leaves most of a card idle. A *stream* is an order of work: what is queued on it begins when what is ahead
//! of it has ended. Between two streams there is no order, so the card may run their kernels at the same time.
//!
//! Three things limit how many run side by side:
//!
//! - *The host.* It hands over one launch after the other, each in two to five microseconds. A kernel that takes no longer has ended
//!   before the next one comes, however many streams there are. A graph with a branch for each stream is handed over at once, and
//!   its kernels still start one after the other, each in less than a microsecond.
//! - *Room.* Blocks of another kernel start where threads, registers and shared memory are left. A card has a largest number of
//!   grids besides: 128 from compute capability 7.0 on.
//! - *What they share.* Two kernels that both need all of the memory's bandwidth, or each cycle of the schedulers, take as long side
//!   by side as in a row.
//!
//! `stream_chain` is a chain of multiplications and additions, each of which waits four clock cycles for the one before. In grids of
//! one block, as many run side by side as the card has grids. A block of 256 threads on each multiprocessor leaves room for seven
//! more, but gives each scheduler two warps, which issue in half of its cycles: two such kernels run side by side in the time of
//! one, and more gain nothing.
//!
//! # Launch
//! Blocks are one-dimensional. `destination` has an element for each thread: thread `i` starts with `i`, and replaces its value
//! `steps` times by [`FACTOR`] times it, plus one, each rounded.

use cuda_safe::{EachThread, Out, Thread, kernel};

/// The factor of each step, just below 1, so that after [`STEPS`] steps it still shows where a value began.
pub const FACTOR: f32 = 0.999;

/// Steps of a launch that is measured: with 8 clock cycles each some 9 microseconds.
pub const STEPS: u32 = 2048;

/// Follows a chain of dependent steps.
// PTX: contains mul.rn.f32
// PTX: contains add.rn.f32
#[kernel]
pub fn stream_chain(thread: Thread, steps: u32, destination: Out<f32, EachThread>) {
    let mut value = thread.number() as f32;
    for _ in 0..steps {
        value = value * FACTOR + 1.0;
    }
    destination.put(thread.own(), value);
}
