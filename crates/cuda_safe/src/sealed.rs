//! Seals that keep other crates from implementing traits that proofs rest on, and from calling internal functions.
//!
//! A trait with [`Sealed`] above it is implemented in this crate alone, since nothing else can name `Sealed`. A function of a
//! public trait that takes a [`Key`] is called from this crate alone, since nothing else can make one.

/// A trait above those that other crates cannot implement.
pub trait Sealed {}

/// A token that only this crate can create.
#[derive(Clone, Copy, Debug)]
pub struct Key(());

impl Key {
    /// The key.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self(())
    }
}
