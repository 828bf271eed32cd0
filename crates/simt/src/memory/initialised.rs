//! Records which bytes have been written: one bit per byte, for initcheck.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::allocation::rights;
use super::device::Memory;
use super::reservation::Reservation;
use crate::coalescing::Addresses;

/// The bits, an eighth of the device's address range; a byte's bit is found by arithmetic. Allocations are multiples of
/// 64 bytes apart, so no two share a word of bits.
#[derive(Debug)]
pub(super) struct Shadow {
    bits: Reservation,
    /// Device address of the first bit.
    origin: u64,
}

impl Shadow {
    pub(super) fn new(origin: u64, bytes: u64) -> io::Result<Self> {
        Ok(Self { bits: Reservation::new(bytes / 8)?, origin })
    }

    /// Prepares the bits of an allocation, all of which is unwritten.
    pub(super) fn begin(&self, address: u64, bytes: u64) -> io::Result<()> {
        let first = self.bits.base() + (address - self.origin) / 8;
        let size = bytes.div_ceil(64) * 8;
        self.bits.open(first, size)?;
        self.bits.discard(first, size);
        self.each_word(address, bytes, |word, mask| {
            if word.load(Ordering::Relaxed) & mask != 0 {
                word.fetch_and(!mask, Ordering::Relaxed);
            }
        });
        Ok(())
    }

    /// Marks bytes as written.
    pub(super) fn mark(&self, address: u64, bytes: u64) {
        self.each_word(address, bytes, |word, mask| {
            if mask == u64::MAX {
                word.store(mask, Ordering::Relaxed);
            } else if word.load(Ordering::Relaxed) & mask != mask {
                word.fetch_or(mask, Ordering::Relaxed);
            }
        });
    }

    /// Returns true if all of these bytes have been written.
    pub(super) fn all(&self, address: u64, bytes: u64) -> bool {
        let mut all = true;
        self.each_word(address, bytes, |word, mask| all &= word.load(Ordering::Relaxed) & mask == mask);
        all
    }

    /// Passes the words of a prepared range to `visit`, each with the mask of bits in the range.
    #[inline]
    fn each_word(&self, address: u64, bytes: u64, mut visit: impl FnMut(&AtomicU64, u64)) {
        let (mut bit, end) = (address - self.origin, address - self.origin + bytes);
        while bit < end {
            let next = (bit | 63) + 1;
            let until = next.min(end);
            let mask = (u64::MAX >> (64 - (until - bit))) << (bit & 63);
            let word = (self.bits.base() + bit / 64 * 8) as usize as *mut u64;
            // SAFETY: the word is in the reservation, aligned, accessible since `begin`, and accessed atomically only.
            visit(unsafe { AtomicU64::from_ptr(word) }, mask);
            bit = until;
        }
    }
}

impl Memory {
    /// Marks bytes of a tracked allocation as written.
    pub(super) fn mark_written(&self, address: u64, bytes: u64) {
        self.shadow.mark(address, bytes);
    }

    /// Returns the lanes of a load that read an unwritten byte. Known only of allocations made while
    /// [`Memory::track_initialisation`] was on.
    pub fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        let table = self.table();
        let bytes = u64::from(bytes);
        let mut last: Option<super::table::Entry> = None;
        (0..32).filter(|lane| active >> lane & 1 == 1).fold(0, |lanes, lane| {
            let address = addresses[lane];
            if last.is_none_or(|entry| !entry.allocation.contains(address, bytes)) {
                last = table.containing(address).copied();
            }
            let unwritten = last.is_some_and(|entry| {
                entry.rights & rights::TRACKED != 0
                    && entry.allocation.contains(address, bytes)
                    && !self.shadow.all(address, bytes)
            });
            lanes | u32::from(unwritten) << lane
        })
    }

    /// Returns the offset of a tracked allocation's first unwritten byte and the number of unwritten bytes; None if
    /// there are none or it is not tracked.
    pub fn unwritten(&self, address: u64) -> Option<(u64, u64)> {
        let table = self.table();
        let entry = table.containing(address).filter(|entry| entry.rights & rights::TRACKED != 0)?;
        let (start, bytes) = (entry.allocation.address, entry.allocation.bytes);
        let (mut first, mut count, mut offset) = (None, 0, 0);
        self.shadow.each_word(start, bytes, |word, mask| {
            let missing = mask & !word.load(Ordering::Relaxed);
            if missing != 0 && first.is_none() {
                first = Some(offset + u64::from(missing.trailing_zeros()) - u64::from(mask.trailing_zeros()));
            }
            count += u64::from(missing.count_ones());
            offset += u64::from(mask.count_ones());
        });
        first.map(|first| (first, count))
    }
}
