//! What an allocation is, and what may be done with it.

use std::fmt;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The device's own: `cuMemAlloc`.
    Device,
    /// Of host and device: `cuMemAllocManaged`.
    Managed,
    /// The host's, for the device to reach: `cuMemHostAlloc`.
    Pinned,
    /// `.const` variables.
    Constant,
    /// `.global` variables.
    Module,
    /// Kernel parameters.
    Parameters,
    /// The host's, registered later: `cuMemHostRegister`.
    Registered,
    /// A kernel's own: `malloc` in device code.
    Heap,
}

impl Kind {
    /// Whether it takes of the device's memory; the others are the host's, or move between the two.
    pub fn on_device(self) -> bool {
        !matches!(self, Self::Managed | Self::Pinned | Self::Registered)
    }

    /// Whether kernels may write to it.
    pub fn writable(self) -> bool {
        !matches!(self, Self::Constant | Self::Parameters)
    }

    /// Whether its bytes count as written only once something wrote them. Host code writes to the others unseen.
    pub(super) fn tracked(self) -> bool {
        matches!(self, Self::Device | Self::Heap)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Device => "device memory",
            Self::Managed => "managed memory",
            Self::Pinned => "pinned host memory",
            Self::Constant => "constant memory",
            Self::Module => "module's variable",
            Self::Parameters => "kernel parameters",
            Self::Registered => "registered host memory",
            Self::Heap => "device heap memory",
        })
    }
}

/// A range of the device's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its first byte.
    pub address: u64,
    /// Its size, as asked for.
    pub bytes: u64,
    /// What it is for.
    pub kind: Kind,
    /// Counts the allocations of a [`Memory`](super::Memory), from 1: two at one address are told apart by it.
    pub id: u64,
}

impl Allocation {
    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.address + self.bytes
    }

    /// Whether all these bytes are within it.
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        address >= self.address
            && address - self.address <= self.bytes.saturating_sub(bytes)
            && bytes <= self.bytes
    }
}

/// What may be done with an allocation, and what must be kept up: bits.
pub(super) mod rights {
    /// Loads.
    pub(in super::super) const READ: u32 = 1;
    /// Stores and atomics.
    pub(in super::super) const WRITE: u32 = 2;
    /// Loads as constants.
    pub(in super::super) const CONSTANT: u32 = 4;
    /// Which bytes have been written is kept.
    pub(in super::super) const TRACKED: u32 = 8;
}
