//! A struct that host and kernel share.
#![expect(unsafe_code, reason = "that a struct is plain bits is promised by an unsafe impl")]

use cuda_safe::names::N;
use cuda_safe::{Bits, Each, In, Out, Thread, kernel};

/// `scale x + shift`. `repr(C)`, so that both sides lay it out alike.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Affine {
    /// What x is multiplied by.
    pub scale: f32,
    /// What is added.
    pub shift: f32,
}

// SAFETY: two numbers of four bytes: no padding, no pointers, and any bits are a value.
unsafe impl Bits for Affine {}

/// `y = scale x + shift`, with both in one argument.
#[kernel]
pub fn apply(thread: Thread, map: Affine, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) {
        y.put(i, map.scale * x.at(i) + map.shift);
    }
}
