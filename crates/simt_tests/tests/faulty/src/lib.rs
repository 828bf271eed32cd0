//! One planted fault a kernel, and beside each kernel one that differs by the repair only. See Cargo.toml.
//!
//! The findings are written on the lines that cause them, and before each kernel stands how to launch it: see
//! `suite/findings.rs`. Kernels whose names end in `_fixed` have no fault, and checks must be silent on them.
#![no_std]
#![feature(asm_experimental_arch)]
#![allow(unsafe_op_in_unsafe_fn, reason = "a kernel here is little but an unsafe access")]
#![allow(clippy::missing_safety_doc, reason = "faults have no contract")]

mod clean;
mod initcheck;
mod memcheck;
mod racecheck;
mod synccheck;

use cuda_std::thread;

/// The thread's index in its block, which is one-dimensional.
#[inline(always)]
fn here() -> usize {
    thread::thread_idx_x() as usize
}

/// The thread's index in the launch, which is one-dimensional.
#[inline(always)]
fn place() -> usize {
    thread::index_1d() as usize
}
