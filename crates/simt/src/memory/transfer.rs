//! The host's access to device memory: reads, writes, fills and copies of ranges.

use super::allocation::rights;
use super::device::Memory;
use super::error::RangeError;
use super::racing;

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
        // SAFETY: the range is within an allocation, and the slice is another one's.
        unsafe { racing::copy(address, into.as_mut_ptr().expose_provenance() as u64, into.len() as u64) };
        Ok(())
    }

    /// Copies host memory to the device, constants included.
    ///
    /// # Errors
    /// Fails if the range is not within one allocation.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), RangeError> {
        let may = self.range(address, from.len() as u64)?;
        // SAFETY: as in `read`.
        unsafe { racing::copy(from.as_ptr().expose_provenance() as u64, address, from.len() as u64) };
        self.written(address, from.len() as u64, may);
        Ok(())
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
        let mut done = 0;
        while done < bytes {
            let now = (whole.len() as u64).min(bytes - done);
            // SAFETY: within the allocation, and `whole` is the host's own.
            unsafe { racing::copy(source, address + done, now) };
            done += now;
        }
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
            // SAFETY: both within their allocations.
            unsafe { racing::copy(from, to, bytes) };
        }
        self.written(to, bytes, may);
        Ok(())
    }
}
