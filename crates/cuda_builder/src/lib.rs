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
//! # Differences from Rust-CUDA
//!
//! - [`fma_contraction`](CudaBuilder::fma_contraction) is off unless asked for; Rust-CUDA and nvcc fuse by default. As everywhere
//!   in Rust, operations are rounded one by one, so that kernels compute what the same code computes on the host.
//!   Use `mul_add` where fusing is meant.
//! - [`override_libm`](CudaBuilder::override_libm) is off, and does nothing but warn when it is on: there is no `libdevice` to put in
//!   the place of `libm`, which is compiled from its source. `cuda_std`'s `GpuFloat` uses the GPU's own instructions where
//!   there are any.
//! - [`optix(true)`](CudaBuilder::optix) is an error.
//! - [`arches`](CudaBuilder::arches) and [`build_all`](CudaBuilder::build_all) make PTX for several architectures from one compile.
//!   `cfg(target_feature = "compute_..")` is then that of the lowest.
//! - The PTX version is not that of a toolkit, but one that old drivers load: 7.4 below compute capability 9.0, and 8.0 from
//!   there on (8.3 for 9.0a), or the first that has the architecture. [`ptx_version`](CudaBuilder::ptx_version) asks for another.
//! - [`debug`](CudaBuilder::debug) gives line tables at most: ptxas does not take the DWARF that LLVM writes. They say of each
//!   inlined instruction by which calls it came (`inlined_at`), from PTX 7.2 on.
//! - [`nvvm_opts(false)`](CudaBuilder::nvvm_opts) still optimises as far as memories need it.
//! - A panic is a trap without a message; what it would have printed is not compiled.
//! - The finished code is audited, and a build fails over what would fail, crawl or not load on the GPU: a function that nothing
//!   defines, a write to constant memory, a shared static behind a generic pointer, statics larger than their memory. Kernels that
//!   are safe functions are held to more, before optimisation: no static that can change, and no barrier that only some
//!   threads of a block reach.
//! - [`own_kernels`](CudaBuilder::own_kernels) makes PTX of the kernels that name their architecture, `#[kernel(arch = "90a")]`,
//!   without the others. A kernel is in no PTX for a device that lacks its instructions.
//! - [`target_dir`](CudaBuilder::target_dir) is where a build keeps its files; unless given, `cuda-builder` in the target folder.

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
mod inlined;
mod link;
mod llvm;
mod markers;
mod names;
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

/// The README's examples, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
