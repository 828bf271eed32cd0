//! One bit per byte of the device's memory: whether it has been written, for initcheck.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::reservation::Reservation;

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
    pub(super) fn each_word(&self, address: u64, bytes: u64, mut visit: impl FnMut(&AtomicU64, u64)) {
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
