//! Launches that begin before the kernel ahead of them has ended (programmatic dependent launch, sm_90).
//!
//! A kernel ends with its slowest block, and the next one begins with its fixed costs: blocks are placed, tables are read, barriers are
//! initialised. Both leave multiprocessors idle. A launch that *overlaps* (`cuda_launch`'s `LaunchOptions::overlapping`) may
//! do the second during the first:
//!
//! ```text
//! kernel A    ── work ── launch_dependents ── last writes ─┐
//! kernel B                 └─ prologue ── wait_for_predecessor ── work that needs A's writes ──
//! ```
//!
//! - A says with [`launch_dependents`] that its multiprocessors may take B's blocks. Without, they come when A's blocks end.
//! - B waits with [`wait_for_predecessor`] until A has ended and its writes are visible. It is this and not A's call that orders
//!   memory: nothing that A writes may be read before, and nothing that A uses may be written.
//!
//! Launched without overlap, both calls do nothing.
//!
//! What the kernel ahead writes is taken as `*const T`. A `&[T]` promises that nothing writes it during the launch, which the kernel
//! ahead then does; and the compiler, relying on it, may read elements before the wait.
//!
//! ```no_run
//! use cuda_std::{dependent, kernel, thread};
//!
//! /// `y[i] += factors[i] * x[i]`, of which `factors` is the host's and `x` the preceding kernel's.
//! ///
//! /// # Safety
//! /// `x` and `y` are as long as `factors`.
//! #[kernel(arch = "90")]
//! pub unsafe fn scaled(factors: &[f32], x: *const f32, y: *mut f32) {
//!     let index = thread::index_1d() as usize;
//!     let factor = factors.get(index);
//!     dependent::wait_for_predecessor();
//!     if let Some(factor) = factor {
//!         // SAFETY: both are as long as `factors`.
//!         unsafe { *y.add(index) += factor * *x.add(index) }
//!     }
//!     dependent::launch_dependents();
//! }
//! # fn main() {}
//! ```

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;

/// Waits until the kernels that this one overlaps have ended and their writes are visible to the calling thread
/// (`griddepcontrol.wait`, sm_90).
///
/// The compiler moves no access through a raw pointer across it, and may move those through a `&[T]`.
#[gpu_only]
#[inline(always)]
pub fn wait_for_predecessor() {
    // SAFETY: waits for work that does not wait for this kernel.
    unsafe { asm!("griddepcontrol.wait;", options(nostack, preserves_flags)) }
}

/// Allows the blocks of an overlapping launch behind this kernel to start (`griddepcontrol.launch_dependents`, sm_90): they do
/// once each block of this kernel has called it or ended.
///
/// A block's first call counts, by whichever thread. It says nothing about memory: the kernel behind waits for this one's end.
#[gpu_only]
#[inline(always)]
pub fn launch_dependents() {
    // SAFETY: what starts is a launch that has promised to wait.
    unsafe { asm!("griddepcontrol.launch_dependents;", options(nostack, preserves_flags)) }
}
