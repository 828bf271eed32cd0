//! Errors of device memory, as the host sees them.

use super::allocation::Allocation;
use crate::fault::{Nearest, Place};

/// Why an allocation failed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The operating system refuses the address space.
    #[error(
        "cannot reserve {bytes} bytes of address space for the simulated device: {source}; give it less memory, or raise `ulimit -v`"
    )]
    Reserve {
        /// Bytes requested.
        bytes: u64,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The device has too little memory left.
    #[error(
        "out of device memory: {wanted} bytes wanted, {used} of {capacity} in use; free something or allocate less"
    )]
    OutOfMemory {
        /// Bytes requested.
        wanted: u64,
        /// Bytes in use.
        used: u64,
        /// Size of the device's memory in bytes.
        capacity: u64,
    },
    /// The simulated device has enough memory, but the host has not.
    #[error(
        "the simulated device has the memory, this computer does not: {wanted} bytes wanted, {available} available \
         of {total}; use smaller buffers, or simulate on a computer with more memory"
    )]
    HostMemory {
        /// Bytes of this allocation.
        wanted: u64,
        /// Bytes available on the host now.
        available: u64,
        /// Memory of the host in bytes.
        total: u64,
    },
    /// No free range of addresses is large enough.
    #[error("no {wanted} consecutive bytes of device addresses are left; free something")]
    AddressSpace {
        /// Bytes requested.
        wanted: u64,
    },
    /// The allocation has 0 bytes.
    #[error("an allocation of 0 bytes was asked for; at least 1 is needed")]
    Zero,
    /// A host range overlaps one that is registered or allocated.
    #[error(
        "host range {address:#x} of {bytes} bytes overlaps the {} at {:#x} of {} bytes; release that first",
        .other.kind, .other.address, .other.bytes
    )]
    Overlap {
        /// Address of the range.
        address: u64,
        /// Size in bytes.
        bytes: u64,
        /// The allocation that it overlaps.
        other: Allocation,
    },
    /// The operating system refuses to make reserved pages accessible.
    #[error(
        "the operating system refuses {bytes} bytes of memory: {source}; free something or allocate less"
    )]
    Refused {
        /// Bytes requested.
        bytes: u64,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

/// Why a free failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreeError {
    /// The address was never allocated.
    #[error("{address:#x} was never allocated")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// The allocation has been freed before.
    #[error("{:#x}, {} bytes, was freed before", .0.address, .0.bytes)]
    AlreadyFreed(Allocation),
    /// The address is not the start of its allocation; only that can be freed.
    #[error("{address:#x} lies within the allocation at {:#x} of {} bytes; free that", .allocation.address, .allocation.bytes)]
    Inside {
        /// The address.
        address: u64,
        /// The allocation that contains it.
        allocation: Allocation,
    },
}

/// Why the host cannot access a range of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RangeError {
    /// Address of the range.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The nearest allocation.
    pub nearest: Option<Nearest>,
}

impl std::fmt::Display for RangeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { address, bytes, nearest } = self;
        write!(formatter, "{bytes} bytes at {address:#x} are not within one allocation")?;
        let Some(Nearest { address, bytes, place, freed }) = nearest else { return Ok(()) };
        let what = if *freed { "freed allocation" } else { "nearest allocation" };
        match place {
            Place::Before(distance) => write!(formatter, ", {distance} bytes before the {what}")?,
            Place::Inside(offset) => write!(formatter, ", {offset} bytes into the {what}")?,
            Place::After(distance) => write!(formatter, ", {distance} bytes after the {what}")?,
        }
        write!(formatter, " at {address:#x} of {bytes} bytes")
    }
}
