//! Coalesce's kernels. Each file is one lesson in how a GPU's memory behaves; its opening comment says what the
//! access pattern is, what the hardware does with it, and what bandwidth to expect.
//!
//! Kernels are safe Rust: their types, from [`cuda_safe`], prove that no two threads write one element, that no access is
//! out of bounds and that no tile is read before its barrier. The few that are not are in [`unchecked`], each with its reason.
//!
//! The crate holds device code only and knows nothing of the program that runs it. `cuda_builder` compiles it to PTX; a
//! plain build for the host has a type of each kernel's name, by which a host launches it.
//!
//! A comment of the form `// PTX: contains ...` or `// PTX: lacks ...` above a kernel is a promise about the
//! instructions it becomes. The test command compiles the kernels and holds every one of them to it.

#![no_std]
#![deny(unsafe_code)]

pub mod coalescing;
pub mod constant;
pub mod copy;
pub mod fill;
pub mod idioms;
pub mod matmul;
pub mod shuffle;
pub mod stencil;
pub mod storage;
pub mod transpose;
pub mod unchecked;
pub mod unified;
