//! # Transfer: copies between host and device
//!
//! A copy over the host link takes a fixed time `a` and then moves at the link's bandwidth `b`: `T = a + V / b` for `V` bytes. Its
//! rate is `V / (a + V / b)`, half of `b` where `V = a b`. On a link of 55 GB/s with 2 us per copy that is 110 KB: below it
//! copies are latency-bound, and many small ones should be one large one.
//!
//! What `a` and `b` are depends on the host's memory:
//!
//! - *Pinned* memory has fixed physical pages, which the device's copy engine reads by itself.
//! - *Pageable* memory, what `malloc` and `Vec` give, may be moved by the operating system at any time. The driver copies it
//!   through pinned buffers of its own, piece by piece, by the host's processor.
//! - *Write-combined* memory is pinned, and not cached by the host's processor. The device then need not ask that cache. The host
//!   reads it very slowly, so it is for data that the host only writes.
//! - *Managed* memory is wherever its pages are. Here the host wrote it last.
//!
//! The link has wires for each direction and the device a copy engine for each, so copies in both directions, on two streams,
//! run at the same time. They also run beside kernels. A program that copies in, computes and copies out should therefore divide
//! its data: while the kernel works on one part, the next one comes in and the last one goes out. `transfer_increment` is the
//! kernel of such a pipeline. More parts overlap more, and each costs `a` again.
//!
//! # Launch
//! `transfer_increment` takes `(a, length)` and any one-dimensional launch with a thread for each element: `a[i] += 1`.

use cuda_safe::names::N;
use cuda_safe::{Each, Length, Out, Thread, kernel};

/// Adds one to each element of a part of the data.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub fn transfer_increment(thread: Thread, a: Out<f32, Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |a| a + 1.0);
    }
}
