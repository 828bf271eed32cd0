//! Kernels that do with a device function what the host can check: they take inputs and write down results, and judge
//! nothing. See Cargo.toml.
//!
//! Each kernel's documentation says how its results lie; the host's test of the same topic (tests/gpu) computes them
//! by its own definition and passes buffers of that size.
#![no_std]
#![allow(unsafe_op_in_unsafe_fn, reason = "a kernel here is nothing but device functions on the host's buffers")]
#![allow(clippy::missing_safety_doc, reason = "each one's contract is that of the host's test")]

mod access;
mod approx;
mod async_copy;
mod atomic;
mod float;
mod memory;
mod text;
mod thread;
mod vector;
mod warp;

/// The thread's place in a one-dimensional launch, by which it finds its element.
fn place() -> usize {
    cuda_std::thread::index_1d() as usize
}
