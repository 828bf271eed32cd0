//! Launches kernels by their own signature, through `cust`.
//!
//! `#[kernel]` makes a type of each kernel's name. With [`Launch`] in scope a launch reads like a call of the kernel:
//!
//! ```no_run
//! use cuda_launch::{Launch, Module, Shape};
//! use cuda_std::kernel;
//! use cust::memory::DeviceBuffer;
//! use cust::stream::Stream;
//!
//! // In a kernel crate. A safe kernel is launched in the same way, and without `unsafe`.
//! #[kernel]
//! pub unsafe fn scale(factor: f32, x: &[f32], y: *mut f32) { /* .. */ }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let ptx = "";
//! let module = Module::from_ptx(ptx)?;
//! let stream = Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None)?;
//! let x = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
//! let mut y = DeviceBuffer::from_slice(&[0.0_f32; 1000])?;
//! // SAFETY: `y` is as long as `x`.
//! unsafe { scale::launch_unchecked(&module, &stream, Shape::covering([1000, 1], [256, 1]), (2.0, &x, &mut y))? };
//! # Ok(())
//! # }
//! ```
//!
//! rustc checks the number, order and types of the arguments. The host checks the kernel's contract before the launch (see
//! [`cuda_std::launch`]). A module whose entry point has other parameters than the kernel is refused.
//!
//! | to | use |
//! | --- | --- |
//! | run a safe kernel and wait for it | [`Launch::launch`] |
//! | queue several safe kernels without waiting | [`scope()`] and [`Launch::enqueue`] |
//! | queue an unsafe kernel, or one whose buffers the caller keeps alive | [`Launch::launch_unchecked`] |
//! | launch in clusters, with priority, or overlapping with the kernel ahead | [`LaunchOptions`] in place of the [`Shape`] |
//! | launch the same kernel often | [`Module::kernel`] once, and the methods of [`Loaded`] |
//!
//! Arguments are borrowed `cust` buffers (`&DeviceBuffer`, `&mut UnifiedBuffer`, `&mut DeviceBox`), [`Parts`] of them, loans of a
//! [`Scope`], and values.
#![expect(single_use_lifetimes, reason = "an `impl Trait` argument cannot name an anonymous lifetime")]

mod argument;
mod error;
mod launch;
mod module;
mod options;
mod scope;

pub use argument::{IntoArgument, IntoArguments, Parts};
pub use cuda_std::launch::{
    Cluster, Kernel, Parameter, Pointer, PointerMut, Refusal, SafeKernel, Shape, Slice, SliceMut, Words,
};
pub use error::LaunchError;
pub use launch::Launch;
pub use module::{Loaded, Module, Signatures};
pub use options::LaunchOptions;
pub use scope::{InScope, Lent, Scope, Shared, scope};

/// The README's examples, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
