//! Compiles a Rust kernel crate to PTX with stock rustc and the LLVM inside its toolchain.
//!
//! ```no_run
//! // build.rs of the host program
//! use cuda_builder::CudaBuilder;
//!
//! CudaBuilder::new("kernels").copy_to("target/kernels.ptx").build().unwrap();
//! ```
//!
//! No CUDA toolkit, no second LLVM, no nightly: rustc compiles the crate, and the `core` it needs, to bitcode for its own
//! `nvptx64-nvidia-cuda` target, and everything after that happens in this process through the libLLVM that rustc
//! itself runs on. The names are those of Rust-CUDA's `cuda_builder`, so that a build script written for it builds
//! unchanged.
//!
//! # The way of a kernel
//!
//! 1. A nested cargo compiles the crate, its dependencies, `core` and `alloc` to rlibs of unoptimised bitcode.
//! 2. The crate and what it needs of the rlibs become one module.
//! 3. What the source could not say to rustc is put in: statics move to shared or constant memory, read-only
//!    parameters and launch bounds become attributes, everything the host does not call is hidden.
//! 4. For each architecture, LLVM optimises a copy; the audit looks for code that would fail or crawl on the GPU; the NVPTX
//!    back end writes PTX.
//!
//! Nothing of this depends on `cuda_std`: the marks that step 3 acts on are statics in sections whose names begin with `.cuda.`,
//! which any crate can write.
//!
//! # Floating point
//!
//! As everywhere in Rust, operations are rounded one by one: `a * b + c` is not fused unless
//! [`fma_contraction`](CudaBuilder::fma_contraction) asks for it. (nvcc and Rust-CUDA fuse by default.)

#![allow(
    clippy::mutable_key_type,
    reason = "LLVM's values are hashed by their address, which does not change"
)]

mod allocator;
mod arch;
mod archive;
mod audit;
mod build;
mod builder;
mod cargo;
mod crate_attributes;
mod environment;
mod error;
mod link;
mod llvm;
mod markers;
mod passes;
mod pipeline;
pub mod ptx;
mod stamp;
pub mod toolchain;

#[cfg(test)]
mod testing;

pub use arch::{NvvmArch, UnknownArch};
pub use audit::{DRIVER_FUNCTIONS, Finding};
pub use build::{Artifact, Build};
pub use builder::{CudaBuilder, DebugInfo, EmitOption};
pub use error::CudaBuilderError;
