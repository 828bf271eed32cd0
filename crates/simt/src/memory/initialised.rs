//! Records which bytes of global memory have been written, for initcheck.

use std::sync::atomic::Ordering;

use super::allocation::{Allocation, rights};
use super::device::Memory;
use super::lanes;
use super::table::Entry;
use crate::coalescing::{Addresses, LANES};
use crate::observe::{Rows, SteadyAccess};

/// The allocation in which bytes were found the last time.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastAllocation {
    allocation: Option<Allocation>,
    is_tracked: bool,
    /// Removals until then: it holds while there are no more.
    removals: u64,
}

impl Memory {
    /// Marks bytes of a tracked allocation as written.
    pub(super) fn mark_written(&self, address: u64, bytes: u64) {
        self.shadow.mark(address, bytes);
    }

    /// Marks as written what all lanes of a warp store to a tracked allocation, evenly spaced or within rows.
    pub(crate) fn record(&self, access: &SteadyAccess, rows: Option<Rows>) {
        let bytes = u64::from(access.bytes);
        match rows {
            None if access.step == bytes => self.mark_written(access.base, bytes * LANES as u64),
            Some(Rows { log, pitch }) if access.step == bytes => {
                for row in 0..LANES as u64 >> log {
                    self.mark_written(access.base.wrapping_add(pitch.wrapping_mul(row)), bytes << log);
                }
            }
            _ => self.record_lanes(&access.addresses_in(rows), u32::MAX, bytes),
        }
    }

    /// Marks as written what lanes of a warp store to a tracked allocation.
    pub(crate) fn record_lanes(&self, addresses: &Addresses, active: u32, bytes: u64) {
        lanes::each(active).for_each(|lane| self.mark_written(addresses[lane], bytes));
    }

    /// Marks the allocation that contains an address as written, because others than this device's kernels write to it
    /// unobserved from now on.
    pub fn assume_written(&self, address: u64) {
        let found = self.table().containing(address).copied();
        if let Some(entry) = found.filter(|entry| entry.rights & rights::TRACKED != 0) {
            self.shadow.mark(entry.allocation.address, entry.allocation.bytes);
        }
    }

    /// Returns the lanes of a load that read an unwritten byte. Known only of allocations made while
    /// [`Memory::track_initialisation`] was on.
    #[doc(hidden)]
    pub fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        let table = self.table();
        let bytes = u64::from(bytes);
        let mut last: Option<Entry> = None;
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

    /// Returns true if all of these bytes are of one allocation, and written if it is tracked. `last` is where the caller found
    /// bytes the last time.
    pub(crate) fn is_initialised(&self, address: u64, bytes: u64, last: &mut LastAllocation) -> bool {
        let is_in = |allocation: &Allocation| allocation.contains(address, bytes);
        if !last.allocation.as_ref().is_some_and(is_in) || last.removals != self.removals() {
            let table = self.table();
            let Some(entry) = table.containing(address).filter(|entry| is_in(&entry.allocation)) else {
                return false;
            };
            *last = LastAllocation {
                allocation: Some(entry.allocation),
                is_tracked: entry.rights & rights::TRACKED != 0,
                // Under the table's lock, so that the count matches the entry.
                removals: self.removals(),
            };
        }
        !last.is_tracked || self.shadow.all(address, bytes)
    }

    /// Returns the offset of a tracked allocation's first unwritten byte and the number of unwritten bytes; None if
    /// there are none or it is not tracked.
    #[doc(hidden)]
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
