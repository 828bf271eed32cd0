//! Kernels that call device functions on inputs and store the results, for the host to check. See Cargo.toml.
//!
//! Each kernel's documentation says how its results lie; the host's test of the same topic (tests/gpu) computes them
//! by its own definition and passes buffers of that size.
#![no_std]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "a kernel here is nothing but device functions on the host's buffers"
)]
#![allow(clippy::missing_safety_doc, reason = "each one's contract is that of the host's test")]

#[cfg(feature = "devices")]
mod access;
#[cfg(feature = "floats")]
mod approx;
#[cfg(feature = "devices")]
mod async_copy;
#[cfg(feature = "devices")]
mod atomic;
#[cfg(feature = "floats")]
mod float;
#[cfg(feature = "floats")]
mod intrinsics;
#[cfg(feature = "devices")]
mod memory;
#[cfg(feature = "texts")]
mod text;
#[cfg(feature = "devices")]
mod thread;
#[cfg(feature = "devices")]
mod vector;
#[cfg(feature = "devices")]
mod warp;

/// The thread's place in a one-dimensional launch, by which it finds its element.
fn place() -> usize {
    cuda_std::thread::index_1d() as usize
}
