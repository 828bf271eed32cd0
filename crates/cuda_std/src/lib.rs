//! The device's standard library: thread indices, shared memory, atomics, shuffles, barriers, floating point and printing.
//!
//! The public names and signatures are Rust-CUDA's (`cuda_std` 0.2 and its later git versions, whose union this is), over
//! the `nvptx64-nvidia-cuda` target of stock rustc. It adds modules that Rust-CUDA lacks, for the access patterns that decide
//! bandwidth: [`access`] (read-only, streaming and cache-hinted loads and stores), [`vector`] (values that move as one 8- or
//! 16-byte access), [`async_copy`] (asynchronous copies), [`tensor`] (tensor cores, tensor maps, clusters), [`dependent`]
//! (launches that overlap with the kernel ahead), [`GridConstant`] (parameters by reference) and [`approx`] (the special function
//! unit).
//!
//! # Where the functions run
//! On `nvptx64`, each function is the instruction or the few instructions that its documentation names. Other targets have
//! the same items, so that a kernel crate is a normal dependency of the host program. There a device function panics with
//! its name and "is only on the GPU". Pure helpers (float functions, vector values, shuffle control words) work on both
//! sides.
//!
//! # Convergence
//! Barriers, shuffles, votes, matches and reductions are NVVM intrinsics of LLVM, which it treats as convergent: it neither
//! duplicates them nor moves them into a branch that fewer threads take. Inline assembly is used for instructions that
//! need not be convergent, and in [`tensor`], where `cuda_builder` marks it and checks that
//! optimisation left no copies on both sides of a branch.
#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_unadjusted, asm_experimental_arch, freeze, link_llvm_intrinsics, repr_simd, rustc_attrs),
    allow(internal_features)
)]
#![allow(
    unexpected_cfgs,
    reason = "`compute_90` and the like are target features that only cuda_builder names"
)]

extern crate alloc;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

#[doc(hidden)]
#[path = "kernel.rs"]
pub mod __kernel;
pub mod access;
pub mod approx;
pub mod async_copy;
pub mod atomic;
pub mod cfg;
pub mod dependent;
pub mod float;
pub mod float_ext;
mod grid_constant;
pub mod integer;
mod intrinsic;
pub mod intrinsics;
pub mod io;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
pub mod mem;
pub mod misc;
#[cfg(target_arch = "nvptx64")]
mod panic;
pub mod prelude;
pub mod ptr;
pub mod shared;
pub mod tensor;
pub mod thread;
pub mod vector;
pub mod warp;

pub use core::{assert_eq, assert_ne};
pub use cuda_std_macros::*;
pub use float::GpuFloat;
pub use float_ext::*;
#[cfg(not(feature = "glam-0-33"))]
pub use glam;
#[cfg(feature = "glam-0-33")]
pub use glam_by_type as glam;
pub use grid_constant::GridConstant;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
#[cfg(feature = "vek")]
pub use vek;

// The feature `cuda` of glam promises these alignments. Without it the device, which has no SIMD, would align them otherwise.
const _: () = {
    use core::mem::align_of;
    assert!(align_of::<glam::Vec2>() == 8 && align_of::<glam::Vec3>() == 4 && align_of::<glam::Vec4>() == 16);
    assert!(
        align_of::<glam::Vec3A>() == 16 && align_of::<glam::Quat>() == 16 && align_of::<glam::Mat4>() == 16
    );
    assert!(align_of::<glam::UVec2>() == 8 && align_of::<glam::UVec4>() == 16);
    assert!(align_of::<glam::DVec2>() == 16 && align_of::<glam::DVec4>() == 16);
};

/// The README's examples, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
