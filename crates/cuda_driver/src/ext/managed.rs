//! Advice and prefetching for managed memory, with every advice and location of the driver API.

use std::ffi::{c_int, c_uint};

use super::raw::{self, CUdevice, CUdeviceptr, CUmemLocation, CUstream};
use super::{Check, Error, Result};
use crate::Code;
use crate::table::{Slot, is_filled};

/// A location of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Location {
    /// A device's memory.
    Device(CUdevice),
    /// The host's memory.
    Host,
    /// A NUMA node of the host; for drivers from CUDA 12.2 on.
    HostNuma(i32),
}

impl Location {
    /// Returns the form of the entry points from CUDA 12.2 on.
    fn new_form(self) -> CUmemLocation {
        match self {
            Location::Device(device) => CUmemLocation { kind: 1, id: device },
            Location::Host => CUmemLocation { kind: 2, id: 0 },
            Location::HostNuma(node) => CUmemLocation { kind: 3, id: node },
        }
    }

    /// Returns the form of the older entry points, in which the host is device -1.
    fn old_form(self) -> Option<CUdevice> {
        match self {
            Location::Device(device) => Some(device),
            Location::Host => Some(-1),
            Location::HostNuma(_) => None,
        }
    }
}

/// Advice about a range of managed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Advice {
    /// The range is mostly read: each reader gets a copy of its own.
    ReadMostly = 1,
    /// Withdraws [`Advice::ReadMostly`].
    NotReadMostly = 2,
    /// Pages should stay at the location.
    PreferredLocation = 3,
    /// Withdraws [`Advice::PreferredLocation`].
    NoPreferredLocation = 4,
    /// The location accesses the range: it keeps a mapping instead of faulting.
    AccessedBy = 5,
    /// Withdraws [`Advice::AccessedBy`].
    NotAccessedBy = 6,
}

/// Advises the driver about a range of managed memory. Advice without a location (read-mostly) ignores it.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the range is not managed memory; `CUDA_ERROR_INVALID_DEVICE`;
/// `CUDA_ERROR_NOT_SUPPORTED` for a NUMA node on an older driver.
///
/// # Safety
///
/// The range must be an allocation, or part of one, that lives during the call.
pub unsafe fn advise(pointer: CUdeviceptr, bytes: usize, advice: Advice, location: Location) -> Result<()> {
    if is_filled(Slot::cuMemAdvise_v2) {
        // SAFETY: the caller vouches for the range.
        return unsafe { raw::cuMemAdvise_v2(pointer, bytes, advice as c_int, location.new_form()) }
            .of("cuMemAdvise_v2");
    }
    let device = location.old_form().ok_or(unsupported("cuMemAdvise_v2"))?;
    // SAFETY: the caller vouches for the range.
    unsafe { raw::cuMemAdvise(pointer, bytes, advice as c_int, device) }.of("cuMemAdvise")
}

/// Migrates a range of managed memory to a location, in stream order.
///
/// # Errors
///
/// As of [`advise`].
///
/// # Safety
///
/// The stream must be alive, and the range must be an allocation, or part of one, that lives until the stream has done
/// it.
pub unsafe fn prefetch(
    pointer: CUdeviceptr,
    bytes: usize,
    location: Location,
    stream: CUstream,
) -> Result<()> {
    if is_filled(Slot::cuMemPrefetchAsync_v2) {
        const NO_FLAGS: c_uint = 0;
        // SAFETY: the caller vouches for range and stream.
        return unsafe { raw::cuMemPrefetchAsync_v2(pointer, bytes, location.new_form(), NO_FLAGS, stream) }
            .of("cuMemPrefetchAsync_v2");
    }
    let device = location.old_form().ok_or(unsupported("cuMemPrefetchAsync_v2"))?;
    // SAFETY: the caller vouches for range and stream.
    unsafe { raw::cuMemPrefetchAsync(pointer, bytes, device, stream) }.of("cuMemPrefetchAsync")
}

/// Returns the location to which the whole range was last prefetched; `None` if that is not one location.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_VALUE` if the range is not managed memory.
///
/// # Safety
///
/// The range must be an allocation, or part of one, that lives during the call.
pub unsafe fn last_prefetch_location(pointer: CUdeviceptr, bytes: usize) -> Result<Option<Location>> {
    const LAST_PREFETCH_LOCATION: c_int = 4;
    const HOST: c_int = -1;
    const NO_DEVICE: c_int = -2;
    let mut device: c_int = NO_DEVICE;
    // SAFETY: the attribute is one integer; the caller vouches for the range.
    unsafe {
        raw::cuMemRangeGetAttribute(
            (&raw mut device).cast(),
            size_of::<c_int>(),
            LAST_PREFETCH_LOCATION,
            pointer,
            bytes,
        )
    }
    .of("cuMemRangeGetAttribute")?;
    Ok(match device {
        HOST => Some(Location::Host),
        device if device >= 0 => Some(Location::Device(device)),
        _ => None,
    })
}

fn unsupported(function: &'static str) -> Error {
    Error { function, code: Code::NOT_SUPPORTED }
}
