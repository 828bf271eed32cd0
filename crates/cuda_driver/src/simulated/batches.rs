//! Batches: many copies or prefetches in one call, with attributes shared by runs of them.

use std::ffi::{c_int, c_uint};

use super::codes::{INVALID_VALUE, Outcome};
use super::contexts;
use super::copies::{Claim, piece};
use super::entry::{In, Out};
use super::managed::{Location, prefetch};
use super::operations::submit;
use super::registry::Handle;
use super::streams;

/// `CUmemcpyAttributes`. The source's access order and the preferred location are hints for asynchronous work; here the
/// work has run when the call returns.
#[derive(Clone, Copy)]
#[repr(C)]
struct CopyAttributes {
    order: c_int,
    source: Location,
    destination: Location,
    flags: c_uint,
}

const _: () = assert!(size_of::<CopyAttributes>() == 24);

/// Returns the value of each of `count` elements, where value `k` is for the elements from `firsts[k]` up to `firsts[k
/// + 1]`.
fn spread<T: Copy>(values: In<T>, firsts: In<usize>, runs: usize, count: usize) -> Outcome<Vec<T>> {
    let (values, firsts) = (values.all(runs)?, firsts.all(runs)?);
    let increases = firsts.windows(2).all(|pair| pair[0] < pair[1]);
    let covers = firsts.first() == Some(&0) && firsts.last().is_some_and(|last| *last < count);
    if !increases || !covers {
        return Err(INVALID_VALUE);
    }
    let ends = firsts[1..].iter().copied().chain([count]);
    let runs = values.iter().zip(firsts.iter().zip(ends));
    Ok(runs.flat_map(|(value, (first, end))| std::iter::repeat_n(*value, end - first)).collect())
}

/// Checks the stream of a batch: one that the program made, or its thread's default stream.
fn not_legacy(stream: Handle) -> Outcome {
    let current = contexts::current()?;
    let mut state = current.driver.state();
    let stream = streams::resolve(&mut state, &current, stream)?;
    if state.streams.get(stream)?.kind == streams::Kind::Legacy { Err(INVALID_VALUE) } else { Ok(()) }
}

/// `dsts`, `srcs` and `sizes`, then the attributes.
struct Copies {
    to: In<u64>,
    from: In<u64>,
    sizes: In<usize>,
    count: usize,
    attributes: In<CopyAttributes>,
    firsts: In<usize>,
    runs: usize,
}

impl Copies {
    /// Executes the copies. If one of them fails, passes its index to `failed`.
    fn run(&self, stream: Handle, mut failed: impl FnMut(usize)) -> Outcome {
        const KNOWN_FLAGS: c_uint = 1;
        not_legacy(stream)?;
        let attributes = spread(self.attributes, self.firsts, self.runs, self.count)?;
        let (to, from) = (self.to.all(self.count)?, self.from.all(self.count)?);
        let sizes = self.sizes.all(self.count)?;
        let is_known = |at: &CopyAttributes| (1..=3).contains(&at.order) && at.flags & !KNOWN_FLAGS == 0;
        if let Some(index) = attributes.iter().position(|attributes| !is_known(attributes)) {
            failed(index);
            return Err(INVALID_VALUE);
        }
        for (index, bytes) in sizes.into_iter().enumerate() {
            submit(stream, piece(to[index], Claim::Either, from[index], Claim::Either, bytes))
                .inspect_err(|_| failed(index))?;
        }
        Ok(())
    }
}

entry_points! {
    fn cuMemcpyBatchAsync(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: In<CopyAttributes>,
        firsts: In<usize>, runs: usize, failed: Out<usize>, stream: Handle,
    ) {
        failed.set_if_wanted(usize::MAX);
        let copies = Copies { to, from, sizes, count, attributes, firsts, runs };
        copies.run(stream, |index| failed.set_if_wanted(index))
    }

    // From CUDA 13: without the index of the failed copy.
    fn cuMemcpyBatchAsync_v2(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: In<CopyAttributes>,
        firsts: In<usize>, runs: usize, stream: Handle,
    ) {
        Copies { to, from, sizes, count, attributes, firsts, runs }.run(stream, |_| {})
    }

    fn cuMemPrefetchBatchAsync(
        addresses: In<u64>, sizes: In<usize>, count: usize, locations: In<Location>, firsts: In<usize>,
        runs: usize, flags: u64, stream: Handle,
    ) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        not_legacy(stream)?;
        let locations = spread(locations, firsts, runs, count)?;
        let (addresses, sizes) = (addresses.all(count)?, sizes.all(count)?);
        for (index, location) in locations.into_iter().enumerate() {
            prefetch(addresses[index], sizes[index], location.number()?, stream)?;
        }
        Ok(())
    }
}
