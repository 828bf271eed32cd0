//! Weak loads and stores, and reductions, as the compiled tier sees them.

use super::windows::AddressSpace;
use crate::observe::Operation;
use crate::ptx::op::words::Update;
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

impl PlainSpace {
    /// Returns the memory that an instruction names; None for local memory.
    pub(super) fn of(space: AddressSpace) -> Option<Self> {
        Some(match space {
            AddressSpace::Global => Self::Global,
            AddressSpace::Generic => Self::Generic,
            AddressSpace::Constant => Self::Constant,
            // Compiled code executes clusters of one block alone, whose other addresses are out of bounds.
            AddressSpace::Shared | AddressSpace::Cluster => Self::Shared,
            AddressSpace::Local => return None,
        })
    }
}

/// A relaxed operation on an integer in memory, without a result, whose operands may be combined in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) update: Update,
    pub(crate) is_signed: bool,
}

/// A weak load or store, or a reduction, as the compiled tier executes it.
#[derive(Clone, Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) is_load: bool,
    /// The operation by which the element is added to memory; None for a load or a store.
    pub(crate) reduction: Option<Reduction>,
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
    pub(crate) fn operation(&self) -> Operation {
        match (self.reduction, self.is_load) {
            (Some(_), _) => Operation::Reduction,
            (None, true) => Operation::Load,
            (None, false) => Operation::Store,
        }
    }

    pub(crate) fn is_generic(&self) -> bool {
        self.space == PlainSpace::Generic
    }
}
