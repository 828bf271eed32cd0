//! Weak loads and stores, as the compiled tier sees them.

use crate::registers::Slot;

/// The memory of a [`Plain`] access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainSpace {
    Global,
    /// Global memory in the common case; generic addresses may also lie in other memories.
    Generic,
    Constant,
    Shared,
}

/// A weak load or store, as the compiled tier executes it.
#[derive(Clone, Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) is_load: bool,
    pub(crate) space: PlainSpace,
    /// Bytes per lane, of all elements.
    pub(crate) bytes: u32,
    /// Registers of the elements.
    pub(crate) elements: &'a [Slot],
    /// Bits of the register that a signed element's sign fills; 0 if it does not.
    pub(crate) sign_bits: u8,
    pub(crate) address: Slot,
    /// Offset added in each lane; modulo 2^32 for a 32-bit register of a shared address.
    pub(crate) offset: i64,
    pub(crate) read_only: bool,
    pub(crate) past_l1: bool,
}

impl Plain<'_> {
    pub(crate) fn is_generic(&self) -> bool {
        self.space == PlainSpace::Generic
    }
}
