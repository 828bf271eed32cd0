//! Tests of `cuda_std`'s device functions, on the device of the bound driver.
//!
//! Each test launches kernels of `kernels` and compares every element that they write with a definition written here, from
//! the PTX manual or from `std`, not with what the kernels' library says. Each runs on the PTX for compute capability 7.5
//! and, where the device has it, on that for 9.0.
//!
//! Ignored without being asked for, since they need a GPU: `cargo test -p cuda_std_device_tests --test gpu --
//! --ignored`. With `COALESCE_SIMULATE=h200` in the environment they run on the simulated driver.

#[macro_use]
mod device;

mod access;
mod approx;
mod async_copy;
mod atomic;
mod atomic_order;
mod float;
mod float_inputs;
mod intrinsics;
mod memory;
mod text;
mod thread;
mod warp;
