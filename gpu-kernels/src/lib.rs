//! Coalesce's kernels. Each file is one lesson in how a GPU's memory behaves. Its opening comment describes the access
//! pattern, what the hardware does with it, and what bandwidth to expect.
//!
//! Kernels are safe Rust. Their types, from [`cuda_safe`], prove that no two threads write one element, that no access is
//! out of bounds and that no tile is read before its barrier. The few unsafe kernels are in [`unchecked`], each with its
//! reason.
//!
//! The crate holds device code only and knows nothing of the program that runs it. `cuda_builder` compiles it to PTX. A
//! plain build for the host has a type of each kernel's name, by which a host launches it.
//!
//! A comment of the form `// PTX: contains ...` or `// PTX: lacks ...` above a kernel is a promise about its instructions.
//! The test command compiles the kernels and checks every promise.

#![no_std]
#![deny(unsafe_code)]

pub mod atomics;
pub mod banks;
pub mod coalescing;
pub mod constant;
pub mod copy;
pub mod fill;
pub mod gather;
pub mod histogram;
pub mod idioms;
pub mod launch;
pub mod layout;
pub mod link;
pub mod matmul;
pub mod mountain;
pub mod occupancy;
pub mod scan;
pub mod shuffle;
pub mod stencil;
pub mod storage;
pub mod streams;
pub mod transfer;
pub mod transpose;
pub mod unchecked;
pub mod unified;
