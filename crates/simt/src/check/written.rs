//! Records which bytes of a block's shared memory have been written.

use crate::coalescing::{Addresses, LANES};

/// One bit per byte, up to the last one written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    bits: Vec<u64>,
    /// Words of bits from the start on that are all written.
    full: usize,
}

impl Written {
    /// Marks the bytes that these lanes write as written.
    pub(super) fn write(&mut self, addresses: &Addresses, active: u32, bytes: u32) {
        for lane in (0..LANES).filter(|lane| active >> lane & 1 != 0) {
            let end = (addresses[lane] + u64::from(bytes)).div_ceil(64) as usize;
            if end > self.bits.len() {
                self.bits.resize(end, 0);
            }
            let (cell, mask) = cell(addresses[lane], bytes);
            self.bits[cell] |= mask;
        }
    }

    /// Marks these bytes, from the first one on, as written.
    pub(super) fn write_range(&mut self, (start, bytes): (u64, u64)) {
        let end = (start + bytes).div_ceil(64) as usize;
        if end > self.bits.len() {
            self.bits.resize(end, 0);
        }
        cells(start, bytes).for_each(|(cell, mask)| self.bits[cell] |= mask);
        while self.bits.get(self.full) == Some(&u64::MAX) {
            self.full += 1;
        }
    }

    /// Forgets what has been written, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bits.clear();
        self.full = 0;
    }

    /// Returns true if it is known that all bytes before this one have been written.
    #[inline]
    pub(super) fn has_all_before(&self, end: u64) -> bool {
        end <= 64 * self.full as u64
    }

    /// Returns true if all of these bytes have been written.
    #[inline]
    pub(super) fn has(&self, (start, bytes): (u64, u64)) -> bool {
        if start % 64 + bytes <= 64 {
            let (cell, mask) = cell(start, bytes as u32);
            return self.bits.get(cell).is_some_and(|bits| bits & mask == mask);
        }
        cells(start, bytes).all(|(cell, mask)| self.bits.get(cell).is_some_and(|bits| bits & mask == mask))
    }

    /// Returns the lanes that would read a byte that has not been written.
    pub(super) fn missing(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        (0..LANES).filter(|lane| active >> lane & 1 != 0).fold(0, |missing, lane| {
            let (cell, mask) = cell(addresses[lane], bytes);
            let written = self.bits.get(cell).copied().unwrap_or(0);
            missing | u32::from(written & mask != mask) << lane
        })
    }
}

/// Returns the cells and masks of a range.
fn cells(start: u64, bytes: u64) -> impl Iterator<Item = (usize, u64)> {
    (start / 64..(start + bytes).div_ceil(64)).map(move |cell| {
        let first = start.max(cell * 64) - cell * 64;
        let last = (start + bytes).min(cell * 64 + 64) - cell * 64;
        (cell as usize, (u64::MAX >> (64 - (last - first))) << first)
    })
}

/// Returns the cell and the mask of an access. Accesses are aligned, so each lies within 64 bytes.
fn cell(address: u64, bytes: u32) -> (usize, u64) {
    ((address / 64) as usize, (u64::MAX >> (64 - bytes)) << (address % 64))
}

#[cfg(test)]
mod tests {
    use super::Written;

    #[test]
    fn a_range_is_written_if_each_of_its_bytes_is() {
        let mut written = Written::default();
        written.write_range((60, 72));
        assert!(written.has((60, 72)) && written.has((64, 64)) && written.has((131, 1)));
        assert!(!written.has((59, 2)) && !written.has((128, 5)) && !written.has((400, 4)));
        written.write(&[132; 32], 1, 4);
        assert!(written.has((60, 76)));
        assert!(!written.has_all_before(1));
        written.write_range((0, 60));
        assert!(written.has_all_before(128) && !written.has_all_before(129));
        written.clear();
        assert!(!written.has_all_before(1) && !written.has((0, 1)));
    }
}
