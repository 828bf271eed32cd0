//! The host's access to device memory: reads, writes, fills and copies of ranges.

use super::allocation::rights;
use super::device::Memory;
use super::error::RangeError;
use super::racing;
use super::share::share;
use std::ops::Range;
use std::{ptr, slice};

/// Returns the host's pointer to a device address, which is the same number.
fn host(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address as usize)
}

impl Memory {
    /// Returns the rights of the allocation that contains a whole range.
    fn range(&self, address: u64, bytes: u64) -> Result<u32, RangeError> {
        let table = self.table();
        match table.containing(address) {
            Some(entry) if entry.allocation.contains(address, bytes) => Ok(entry.rights),
            // A copy of zero bytes is valid at any address, one past the end included.
            _ if bytes == 0 => Ok(0),
            _ => Err(RangeError { address, bytes, nearest: table.nearest(address) }),
        }
    }

    fn written(&self, address: u64, bytes: u64, may: u32) {
        if may & rights::TRACKED != 0 {
            self.shadow.mark(address, bytes);
        }
    }

    /// Copies device memory to the host.
    ///
    /// # Errors
    /// Fails if the range is not within one allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), RangeError> {
        self.range(address, into.len() as u64)?;
        let to = into.as_mut_ptr().expose_provenance() as u64;
        share(into.len() as u64, 1, |Range { start, end }| {
            // SAFETY: the range is within an allocation, and the slice is another one's.
            unsafe { racing::copy(address + start, to + start, end - start) };
        });
        Ok(())
    }

    /// Copies host memory to the device, constants included.
    ///
    /// # Errors
    /// Fails if the range is not within one allocation.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), RangeError> {
        let may = self.range(address, from.len() as u64)?;
        let source = from.as_ptr().expose_provenance() as u64;
        share(from.len() as u64, 1, |Range { start, end }| {
            // SAFETY: as in `read`.
            unsafe { racing::copy(source + start, address + start, end - start) };
        });
        self.written(address, from.len() as u64, may);
        Ok(())
    }

    /// Lends the host a range where it lies, to be read without a copy.
    ///
    /// # Errors
    /// Fails if the range is not within one allocation.
    ///
    /// # Safety
    /// Until `read` returns, nothing writes to the range, kernels included, and nothing frees it.
    pub unsafe fn read_in_place<R>(
        &self,
        address: u64,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, RangeError> {
        self.range(address, bytes)?;
        // SAFETY: the pages of an allocation are accessible and begin as zeros, and the caller keeps writers away.
        Ok(read(unsafe { slice::from_raw_parts(host(address), bytes as usize) }))
    }

    /// Lends the host a range where it lies, constants included, to be written without a copy. All of it counts as
    /// written.
    ///
    /// # Errors
    /// Fails if the range is not within one allocation.
    ///
    /// # Safety
    /// Until `write` returns, nothing else accesses the range, kernels included, and nothing frees it.
    pub unsafe fn write_in_place<R>(
        &self,
        address: u64,
        bytes: u64,
        write: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, RangeError> {
        let may = self.range(address, bytes)?;
        // SAFETY: as in `read_in_place`, and the caller keeps everything else away.
        let result = write(unsafe { slice::from_raw_parts_mut(host(address), bytes as usize) });
        self.written(address, bytes, may);
        Ok(result)
    }

    /// Writes `pattern` `count` times in a row.
    ///
    /// # Errors
    /// Fails if the range is not within one allocation.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), RangeError> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        let may = self.range(address, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        // Copies a buffer of whole patterns repeatedly, so that the memory is not read.
        let whole =
            pattern.repeat((4096 / pattern.len()).max(1).min(usize::try_from(count).unwrap_or(usize::MAX)));
        let source = whole.as_ptr().expose_provenance() as u64;
        share(bytes, whole.len() as u64, |Range { start, end }| {
            for done in (start..end).step_by(whole.len()) {
                // SAFETY: within the allocation, and `whole` is the host's own.
                unsafe { racing::copy(source, address + done, (whole.len() as u64).min(end - done)) };
            }
        });
        self.written(address, bytes, may);
        Ok(())
    }

    /// Copies within the device; the ranges may overlap.
    ///
    /// # Errors
    /// Fails if one of the ranges is not within one allocation.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), RangeError> {
        self.range(from, bytes)?;
        let may = self.range(to, bytes)?;
        if from < to && to - from < bytes {
            // Copy from the end, in pieces that do not overlap themselves.
            let piece = to - from;
            let mut left = bytes;
            while left > 0 {
                let now = piece.min(left);
                left -= now;
                // SAFETY: both within their allocations.
                unsafe { racing::copy(from + left, to + left, now) };
            }
        } else {
            let apart = if from >= to && from - to < bytes { bytes } else { 1 };
            share(bytes, apart, |Range { start, end }| {
                // SAFETY: both within their allocations; ranges that overlap are copied in one piece.
                unsafe { racing::copy(from + start, to + start, end - start) };
            });
        }
        self.written(to, bytes, may);
        Ok(())
    }
}
