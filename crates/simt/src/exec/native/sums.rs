//! Holds back what a loop's `red.add` adds to global memory, and adds it later, a sum for each address.
//!
//! Workers that add to the same lines take these from each other's caches, at ten times the price of the addition. A worker
//! whose code adds in a loop therefore keeps a sum for each address, in a table, and adds the sums to memory when code
//! returns or executes what may tell that they are missing: an access to the same allocation, and anything that has an order
//! or a result, which the interpreter's function executes. Until then no thread can tell the delay from that of a relaxed
//! operation on its way through a GPU's memory.
//!
//! For example, 32 lanes that count the bytes 7, 7, 9, .. in counters of 32 bits from 0x1000 on:
//!
//! ```text
//! slot of 0x101C: address 0x101C, sum 2      slot of 0x1024: address 0x1024, sum 1
//! the next 32 bytes                          the sums grow; memory is not touched
//! code returns                               atomicrmw add 0x101C, 2; add 0x1024, 1; the table is empty
//! ```

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Slots of the table, in order of addresses in units of four bytes, again and again.
const SLOTS: usize = 1024;

/// Bit of the number of an allocation that is set for elements of 64 bits.
pub(super) const IS_WIDE: u64 = 1;

/// Sums of one allocation and one width.
#[derive(Default)]
pub(super) struct Sums {
    /// The table; empty until the first addition.
    slots: Vec<Slot>,
    /// Slots with an address.
    taken: Vec<u16>,
}

/// A sum, wrapped around in 64 bits; at address 0 there is none.
#[derive(Clone, Copy, Default)]
struct Slot {
    address: u64,
    sum: u64,
}

impl Slot {
    /// Adds the sum to memory.
    ///
    /// # Safety
    /// The address is that of a word of this width, which other threads access by atomic operations.
    unsafe fn settle(self, is_wide: bool) {
        let address = self.address as usize;
        // SAFETY: the caller's promise.
        unsafe {
            if is_wide {
                let word = AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address));
                word.fetch_add(self.sum, Ordering::Relaxed);
            } else {
                let word = AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(address));
                word.fetch_add(self.sum as u32, Ordering::Relaxed);
            }
        }
    }
}

impl Sums {
    /// # Safety
    /// As for [`Slot::settle`], of this address and all that were added since the sums were settled.
    #[inline(always)]
    unsafe fn add(&mut self, address: u64, value: u64, is_wide: bool) {
        let at = (address >> 2) as usize % SLOTS;
        let slot = &mut self.slots[at];
        if slot.address == address {
            slot.sum = slot.sum.wrapping_add(value);
            return;
        }
        let before = std::mem::replace(slot, Slot { address, sum: value });
        if before.address == 0 {
            self.taken.push(at as u16);
        } else {
            // SAFETY: the caller's promise.
            unsafe { before.settle(is_wide) };
        }
    }

    /// Adds the values of a mask's lanes at the listed addresses, which are in one allocation.
    ///
    /// # Safety
    /// The addresses are checked, the values have the width, and all sums since they were settled have it too.
    pub(super) unsafe fn add_lanes(
        &mut self,
        addresses: &[u64; 32],
        values: *const (),
        is_wide: bool,
        mask: u32,
    ) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
        }
        let (mut address, mut sum) = (0, 0_u64);
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            // SAFETY: the caller's promise.
            let value = unsafe {
                match is_wide {
                    true => *values.cast::<u64>().add(lane),
                    false => u64::from(*values.cast::<u32>().add(lane)),
                }
            };
            let next = addresses[lane];
            if next == address {
                sum = sum.wrapping_add(value);
                continue;
            }
            if address != 0 {
                // SAFETY: the caller's promise.
                unsafe { self.add(address, sum, is_wide) };
            }
            (address, sum) = (next, value);
        }
        // SAFETY: the caller's promise.
        unsafe { self.add(address, sum, is_wide) };
    }

    /// Adds all sums to memory.
    ///
    /// # Safety
    /// As for [`Slot::settle`], of all addresses that were added since the sums were settled.
    pub(super) unsafe fn settle(&mut self, is_wide: bool) {
        for at in self.taken.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { std::mem::take(&mut self.slots[usize::from(at)]).settle(is_wide) };
        }
    }
}
