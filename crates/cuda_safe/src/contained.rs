//! Bounds on the captures of a thread's code, so that nothing it computes gets out of it.
//!
//! The code of a block is the same for all of its threads only while it sees nothing that differs between them. What differs
//! exists in closures, which the block hands out to its threads; a closure that could leave such a value behind, in a
//! `Cell` or through a `&mut`, would let the block branch on it, and a barrier behind that branch would hang. [`Contained`]
//! is implemented for all types but those.
//!
//! It is an auto trait, which needs features of rustc that are not stable: only the device build has it, where each kernel
//! must compile in the end. On the host all types are [`Contained`].

#[cfg(target_arch = "nvptx64")]
mod device;

#[cfg(target_arch = "nvptx64")]
pub use device::Contained;

/// Values that a thread's code may capture: on the host, everything.
///
/// # Safety
/// As the module says, on the device.
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait Contained {}

// SAFETY: no kernel runs on the host.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl<T: ?Sized> Contained for T {}
