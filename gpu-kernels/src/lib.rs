//! Coalesce's kernels. Each file is one lesson in how a GPU's memory behaves; its opening comment says what the
//! access pattern is, what the hardware does with it, and what bandwidth to expect.
//!
//! The crate holds device code only and knows nothing of the program that runs it. `cuda_builder` compiles it to
//! PTX; a plain build for the host only checks it.
//!
//! A comment of the form `// PTX: contains ...` or `// PTX: lacks ...` above a kernel is a promise about the
//! instructions it becomes. The test command compiles the kernels and holds every one of them to it.

#![no_std]

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
pub mod unified;

mod position;
