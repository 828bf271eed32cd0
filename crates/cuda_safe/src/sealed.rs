//! What other crates cannot do: implement a trait that proofs rest on, or call a function that is the library's own.
//!
//! A trait with [`Sealed`] above it is implemented in this crate alone, since nothing else can name `Sealed`. A function of a
//! public trait that takes a [`Key`] is called from this crate alone, since nothing else can make one.

/// A trait above those that other crates cannot implement.
pub trait Sealed {}

/// What only this crate can pass.
#[derive(Clone, Copy, Debug)]
pub struct Key(());

impl Key {
    /// The key.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self(())
    }
}
