//! Compiles a Rust kernel crate to PTX with stock rustc and the LLVM inside its toolchain.
//!
//! ```no_run
//! // build.rs of the host program
//! use cuda_builder::CudaBuilder;
//!
//! CudaBuilder::new("kernels").copy_to("target/kernels.ptx").build().unwrap();
//! ```
//!
//! It needs no CUDA toolkit, no second LLVM and no nightly compiler. rustc compiles the crate and its `core` to bitcode for its
//! own `nvptx64-nvidia-cuda` target. The remaining steps run in this process, through the libLLVM that rustc itself uses. The
//! names are those of Rust-CUDA's `cuda_builder`, so that a build script written for it builds unchanged.
//!
//! # The steps of a build
//!
//! 1. A nested cargo compiles the crate, its dependencies, `core` and `alloc` to rlibs of unoptimised bitcode.
//! 2. The crate and the code that it uses of the rlibs are linked into one module.
//! 3. The module gets the properties that rustc cannot express: statics move to shared or constant memory, read-only
//!    parameters and launch bounds become attributes, and all symbols that the host does not use are hidden.
//! 4. For each architecture, LLVM optimises a copy, the audit looks for code that would fail or be very slow on the GPU, and
//!    the NVPTX back end writes PTX.
//!
//! None of these steps depends on `cuda_std`. Step 3 reads marks: statics in sections whose names begin with `.cuda.`, which any
//! crate can define.
//!
//! # Differences from Rust-CUDA
//!
//! - [`fma_contraction`](CudaBuilder::fma_contraction) is off by default; Rust-CUDA and nvcc fuse by default. As everywhere
//!   in Rust, each operation is rounded, so that kernels compute the same results as on the host. Use `mul_add` to fuse.
//! - [`override_libm`](CudaBuilder::override_libm) is off, and only warns when it is on: there is no `libdevice` to replace
//!   `libm`, which is compiled from source. `cuda_std`'s `GpuFloat` uses the GPU's own instructions where they exist.
//! - [`optix(true)`](CudaBuilder::optix) is an error.
//! - [`arches`](CudaBuilder::arches) and [`build_all`](CudaBuilder::build_all) make PTX for several architectures from one compile.
//!   `cfg(target_feature = "compute_..")` is then that of the lowest.
//! - The PTX version does not follow a toolkit, so that old drivers load it: 7.4 below compute capability 9.0 and 8.0 from 9.0
//!   on (8.3 for 9.0a), or the first version that has the architecture. [`ptx_version`](CudaBuilder::ptx_version) sets another.
//! - [`debug`](CudaBuilder::debug) gives line tables at most: ptxas does not accept the DWARF that LLVM writes. From PTX 7.2 on
//!   they name the calls through which each instruction was inlined (`inlined_at`).
//! - [`nvvm_opts(false)`](CudaBuilder::nvvm_opts) still optimises (`O1`) as far as accesses to shared and constant statics need.
//! - A panic is a trap without a message; its formatting code is not compiled. Where ptxas would never let the lanes of a warp meet
//!   again because of it, it is a `brkpt`, for which ptxas writes the same machine instruction.
//! - Atomics of `cuda_std` on a pointer that a kernel is given name global memory, as LLVM's own accesses to it do. ptxas then makes a
//!   reduction of one whose old value is not used, by which kernels that L2's atomics bound took 0.71 to 0.8 of the time on an H200.
//! - The finished code is audited. The build refuses code that would not load, would fail or would be very slow on the GPU: an
//!   undefined function, a write to constant memory, a shared static behind a generic pointer, statics larger than their memory,
//!   an instruction of a warp or block (`bar.sync`, `wgmma`) that optimisation copied to both sides of a branch.
//!   Kernels that are safe functions follow further rules, which are checked before optimisation: no mutable static, and no
//!   barrier that only some threads of a block reach.
//! - [`own_kernels`](CudaBuilder::own_kernels) makes PTX of the kernels that name their architecture, `#[kernel(arch = "90a")]`,
//!   without the others. No PTX contains a kernel whose instructions its devices lack.
//! - [`target_dir`](CudaBuilder::target_dir) is the folder for the build's files, by default `cuda-builder` in the target folder.

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
mod panics;
mod passes;
mod pipeline;
mod stamp;
pub mod toolchain;

#[cfg(test)]
mod testing;

pub use arch::{NvvmArch, UnknownArch};
pub use audit::{DRIVER_FUNCTIONS, Finding};
pub use build::{Artifact, Build};
pub use builder::{CudaBuilder, DebugInfo, EmitOption};
pub use error::CudaBuilderError;
pub use ptx;

/// The README's examples, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
