//! What can go wrong with the device's memory, seen from the host.

use super::allocation::Allocation;
use crate::fault::{Nearest, Place};

/// Why memory could not be had.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The operating system gives no address space.
    #[error(
        "cannot reserve {bytes} bytes of address space for the simulated device: {source}; give it less memory, or raise `ulimit -v`"
    )]
    Reserve {
        /// Bytes wanted.
        bytes: u64,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The device has not that much left.
    #[error(
        "out of device memory: {wanted} bytes wanted, {used} of {capacity} in use; free something or allocate less"
    )]
    OutOfMemory {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes that the device has.
        capacity: u64,
    },
    /// The simulated device has it, but the computer that simulates it has not.
    #[error(
        "the simulated device has the memory, this computer does not: {wanted} bytes wanted, {available} available \
         of {total}; use smaller buffers, or simulate on a computer with more memory"
    )]
    HostMemory {
        /// Bytes wanted, of this allocation.
        wanted: u64,
        /// Bytes that the computer could give now.
        available: u64,
        /// Bytes that it has.
        total: u64,
    },
    /// All addresses are in use, or in pieces too small.
    #[error("no {wanted} consecutive bytes of device addresses are left; free something")]
    AddressSpace {
        /// Bytes wanted.
        wanted: u64,
    },
    /// Nothing was asked for.
    #[error("an allocation of 0 bytes was asked for; at least 1 is needed")]
    Zero,
    /// A host range that is known already, in whole or in part.
    #[error(
        "host range {address:#x} of {bytes} bytes overlaps the {} at {:#x} of {} bytes; release that first",
        .other.kind, .other.address, .other.bytes
    )]
    Overlap {
        /// The range's first byte.
        address: u64,
        /// Its size.
        bytes: u64,
        /// What it overlaps.
        other: Allocation,
    },
    /// The operating system does not make reserved pages usable.
    #[error(
        "the operating system refuses {bytes} bytes of memory: {source}; free something or allocate less"
    )]
    Refused {
        /// Bytes wanted.
        bytes: u64,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// Why an address could not be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreeError {
    /// Nothing is or was there.
    #[error("{address:#x} was never allocated")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// Something was there.
    #[error("{:#x}, {} bytes, was freed before", .0.address, .0.bytes)]
    AlreadyFreed(Allocation),
    /// It lies behind the beginning of an allocation: only that may be freed.
    #[error("{address:#x} lies within the allocation at {:#x} of {} bytes; free that", .allocation.address, .allocation.bytes)]
    Inside {
        /// The address.
        address: u64,
        /// What it lies in.
        allocation: Allocation,
    },
}

/// Why a range of device memory could not be read or written by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RangeError {
    /// The range's first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// What is near it.
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
