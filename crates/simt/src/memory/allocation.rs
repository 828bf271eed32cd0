//! Allocations, and the rights of kernels to them.

use std::fmt;

/// Purpose of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Device memory: `cuMemAlloc`.
    Device,
    /// Managed memory of host and device: `cuMemAllocManaged`.
    Managed,
    /// Pinned memory of the host, mapped to the device: `cuMemHostAlloc`.
    Pinned,
    /// `.const` variables.
    Constant,
    /// `.global` variables.
    Module,
    /// Kernel parameters.
    Parameters,
    /// Memory of the host, registered later: `cuMemHostRegister`.
    Registered,
    /// Heap memory of kernels: `malloc` in device code.
    Heap,
}

impl Kind {
    /// Returns true if it takes device memory; the other kinds are in the host's memory or migrate.
    pub fn on_device(self) -> bool {
        !matches!(self, Self::Managed | Self::Pinned | Self::Registered)
    }

    /// Returns true if kernels may write to it.
    pub(crate) fn writable(self) -> bool {
        !matches!(self, Self::Constant | Self::Parameters)
    }

    /// Returns true if its bytes are uninitialised until written. Host code can write to the other kinds unobserved.
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

/// A range of device addresses in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of its first byte.
    pub address: u64,
    /// Size in bytes, as requested.
    pub bytes: u64,
    /// Purpose.
    pub kind: Kind,
    /// Number of the allocation in its [`Memory`](super::Memory), from 1. It distinguishes two at the same address.
    pub id: u64,
}

impl Allocation {
    /// Returns the address after its last byte.
    pub fn end(&self) -> u64 {
        self.address + self.bytes
    }

    /// Returns true if it contains all of these bytes.
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        address >= self.address
            && address - self.address <= self.bytes.saturating_sub(bytes)
            && bytes <= self.bytes
    }
}

/// Rights to an allocation, and its tracking, as bits.
pub(super) mod rights {
    /// May be loaded.
    pub(in super::super) const READ: u32 = 1;
    /// May be stored to and updated atomically.
    pub(in super::super) const WRITE: u32 = 2;
    /// May be loaded as constants.
    pub(in super::super) const CONSTANT: u32 = 4;
    /// Records which bytes have been written.
    pub(in super::super) const TRACKED: u32 = 8;
}
