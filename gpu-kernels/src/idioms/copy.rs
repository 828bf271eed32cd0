//! A copy, one element per thread, with checks and with types; see the [module above](super).

use cuda_safe::names::N;
use cuda_safe::{Checked, Each, EachThread, In, Out, Thread, kernel};

/// Copies with types: one comparison, which the task needs.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel]
pub fn typed_copy(thread: Thread, source: In<f32, Each<N>>, destination: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(source) {
        destination.put(i, source.at(i));
    }
}

/// Copies with checked indexing: two checks besides the comparison that the task needs.
// PTX: contains ld.global.nc.b32
// PTX: contains 3x setp
// PTX: contains trap
// PTX: allows trap because the checks are what this kernel shows
#[kernel]
pub fn checked_copy(thread: Thread, source: &[f32], destination: Checked<f32, EachThread>, n: usize) {
    let index = thread.number();
    if index < n {
        destination.put(thread.own(), source[index]);
    }
}

/// Copies with `get`: an element that either slice lacks is skipped.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel]
pub fn iterated_copy(thread: Thread, source: &[f32], destination: Checked<f32, EachThread>, n: usize) {
    // The slices carry their lengths, so `n` is not needed.
    let _ = n;
    if let Some(value) = source.get(thread.number()) {
        destination.try_put(thread.own(), *value);
    }
}

/// Copies with checked indexing, after an assertion from which the compiler proves the checks.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: contains trap
// PTX: allows trap because the assertion is what this kernel shows
#[kernel]
pub fn asserted_copy(thread: Thread, source: &[f32], destination: Checked<f32, EachThread>, n: usize) {
    assert!(n <= source.len() && n <= destination.len());
    let index = thread.number();
    if index < n {
        destination.put(thread.own(), source[index]);
    }
}
