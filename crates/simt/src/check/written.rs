//! Records which bytes of a block's shared memory have been written.

use crate::coalescing::{Addresses, LANES};

/// One bit per byte, up to the last one written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    bits: Vec<u64>,
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

    /// Returns the lanes that would read a byte that has not been written.
    pub(super) fn missing(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        (0..LANES).filter(|lane| active >> lane & 1 != 0).fold(0, |missing, lane| {
            let (cell, mask) = cell(addresses[lane], bytes);
            let written = self.bits.get(cell).copied().unwrap_or(0);
            missing | u32::from(written & mask != mask) << lane
        })
    }
}

/// Returns the cell and the mask of an access. Accesses are aligned, so each lies within 64 bytes.
fn cell(address: u64, bytes: u32) -> (usize, u64) {
    ((address / 64) as usize, (u64::MAX >> (64 - bytes)) << (address % 64))
}
