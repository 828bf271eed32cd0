//! A kernel as the host sees it: its name, its arguments, and the contract of its launches.
//!
//! `#[kernel]`, compiled for the host, makes a type of the kernel's name and implements [`Kernel`] for it. This module
//! holds what that implementation is made of, and nothing that knows a driver: the crate `cuda_launch` launches such a
//! kernel through `cust`, and any other binding of the driver can do the same in a page:
//!
//! 1. take the caller's buffers as `K::Arguments` ([`Slice`], [`SliceMut`], [`Pointer`], [`PointerMut`] and values);
//! 2. call [`Kernel::pass`], which checks the contract and gives the [`Words`] to hand over and the shape to launch;
//! 3. launch the function [`Kernel::NAME`] with [`Words::pointers`].
//!
//! # Contracts
//! A contract is what the kernel relies on and cannot check itself: the shape of its blocks, lengths that belong
//! together, the dynamic shared memory. [`Kernel::contract`] lists it in words, [`Kernel::pass`] holds a launch to it, and a
//! launch that breaks it is a [`Refusal`] which names the kernel, what it needs and what it got.

mod arguments;
mod cluster;
mod quantity;
mod refusal;
mod shape;

pub use arguments::{Parameter, Pointer, PointerMut, Slice, SliceMut, Wire, Words};
pub use cluster::Cluster;
pub use quantity::{Count, Dimensions, Quantity};
pub use refusal::Refusal;
pub use shape::Shape;

use alloc::string::String;
use alloc::vec::Vec;

/// A kernel that the host can launch by its own signature. `#[kernel]` implements it for a type of the kernel's name.
pub trait Kernel: 'static {
    /// The name of the entry point in the module.
    const NAME: &'static str;

    /// The architecture in the kernel's attribute, `Some("compute_90a")` for `#[kernel(arch = "90a")]`: PTX for
    /// architectures that lack its instructions does not have the kernel.
    const ARCH: Option<&'static str> = None;

    /// One item for each of the kernel's parameters, in order.
    type Arguments<'a>;

    /// The parameters as the source declares them and as the module must have them.
    fn parameters() -> Vec<Parameter>;

    /// The clusters that each launch of the kernel has, by `#[kernel(cluster(..))]`; `None` if a launch may choose.
    fn cluster() -> Option<Cluster> {
        None
    }

    /// The contract of a launch, one clause per item; see [`Kernel::pass`].
    fn contract() -> Vec<String>;

    /// Checks a launch against the contract. Returns the words to hand to the driver, and the shape with the dynamic shared
    /// memory that the contract's formula gives for it.
    ///
    /// # Errors
    /// The launch breaks a clause of the contract.
    fn pass(arguments: Self::Arguments<'_>, shape: Shape) -> Result<(Words, Shape), Refusal>;
}

/// A kernel whose every launch that keeps the contract is sound: `#[kernel]` implements it for a safe `fn`.
///
/// # Safety
/// The kernel reads and writes what its arguments lend it and nothing else, and no two of its threads race.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is an unsafe kernel, which no safe launch runs",
    label = "an `unsafe fn`",
    note = "`launch_unchecked` runs it; what it relies on is in its own `# Safety`"
)]
pub unsafe trait SafeKernel: Kernel {}
