//! Records which bytes of global memory have been written, for initcheck.
//!
//! Each byte has a bit. Lanes at scattered addresses would each look up their own, which misses the host's caches. But most allocations that
//! are read are written as a whole before, and what is written stays so. So an allocation is looked through once, and known as whole from then
//! on. This costs as much as some look-ups of lanes: it is done after that many of them, and again after that many more if a byte was missing.

use std::sync::atomic::{AtomicU64, Ordering};

use super::allocation::{Allocation, rights};
use super::device::Memory;
use super::lanes;
use super::table::Entry;
use crate::coalescing::{Addresses, LANES};
use crate::observe::{Rows, SteadyAccess};

/// Number of allocations remembered as fully written.
const KNOWN: usize = 64;

/// Bytes of an allocation that are looked through, 64 words of bits, for each look-up of a lane.
const BYTES_A_LANE: u64 = 4096;

/// Bytes that are looked through before it is asked whether all were written.
const AT_ONCE: u64 = 1 << 20;

/// Allocations of which every byte has been written.
#[derive(Debug)]
pub(super) struct Whole {
    /// Numbers of allocations, each in the slot of its lowest bits; 0 marks an empty slot.
    known: [AtomicU64; KNOWN],
    /// Look-ups that have not been spent on looking allocations through. An evenly spaced access is one.
    lanes: AtomicU64,
}

impl Default for Whole {
    fn default() -> Self {
        Self { known: [const { AtomicU64::new(0) }; KNOWN], lanes: AtomicU64::new(0) }
    }
}

/// The allocation in which bytes were found the last time.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastAllocation {
    allocation: Option<Allocation>,
    is_tracked: bool,
    /// True once it is known that every byte is written.
    is_whole: bool,
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
        self.find_allocation(address, bytes, last)
            && (self.is_known(1, last) || self.shadow.all(address, bytes))
    }

    /// Returns true if all of these bytes are of one allocation that is not tracked, or known as fully written. `lanes` is the number of
    /// look-ups that the caller makes otherwise.
    pub(crate) fn is_whole(&self, address: u64, bytes: u64, lanes: u32, last: &mut LastAllocation) -> bool {
        self.find_allocation(address, bytes, last) && self.is_known(lanes, last)
    }

    /// Returns true if the last allocation is not tracked, or known as fully written.
    fn is_known(&self, lanes: u32, last: &mut LastAllocation) -> bool {
        if last.is_tracked && !last.is_whole {
            last.is_whole = last.allocation.is_some_and(|allocation| self.look_through(&allocation, lanes));
        }
        !last.is_tracked || last.is_whole
    }

    /// Finds the allocation with all of these bytes, if there is one.
    fn find_allocation(&self, address: u64, bytes: u64, last: &mut LastAllocation) -> bool {
        let is_in = |allocation: &Allocation| allocation.contains(address, bytes);
        if last.allocation.as_ref().is_some_and(is_in) && last.removals == self.removals() {
            return true;
        }
        let table = self.table();
        let Some(entry) = table.containing(address).filter(|entry| is_in(&entry.allocation)) else {
            return false;
        };
        *last = LastAllocation {
            allocation: Some(entry.allocation),
            is_tracked: entry.rights & rights::TRACKED != 0,
            is_whole: false,
            // Under the table's lock, so that the count matches the entry.
            removals: self.removals(),
        };
        true
    }

    /// Returns true if a tracked allocation is known as fully written. Looks it through if enough lanes have been looked up.
    fn look_through(&self, allocation: &Allocation, lanes: u32) -> bool {
        let Allocation { address, bytes, id, .. } = *allocation;
        let known = &self.whole.known[id as usize % KNOWN];
        if known.load(Ordering::Relaxed) == id {
            return true;
        }
        // Of workers that count at once, one may be left out.
        let looked_up = self.whole.lanes.load(Ordering::Relaxed) + u64::from(lanes);
        self.whole.lanes.store(looked_up, Ordering::Relaxed);
        if looked_up.saturating_mul(BYTES_A_LANE) < bytes {
            return false;
        }
        let cost = (bytes / BYTES_A_LANE).max(1);
        self.whole.lanes.store(looked_up.saturating_sub(cost), Ordering::Relaxed);
        let is_written = |start: u64| self.shadow.all(address + start, AT_ONCE.min(bytes - start));
        let is_whole = (0..bytes).step_by(AT_ONCE as usize).all(is_written);
        if is_whole {
            known.store(id, Ordering::Relaxed);
        }
        is_whole
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Kind;

    #[test]
    fn an_allocation_is_whole_once_each_byte_is_written() {
        let memory = Memory::new(1 << 30).expect("address space");
        memory.track_initialisation(true);
        let bytes = 4 * AT_ONCE + 4;
        let address = memory.allocate(bytes, Kind::Device).expect("memory");
        let known = |address, lanes| memory.is_whole(address + 64, 8, lanes, &mut LastAllocation::default());
        memory.write(address, &vec![1; bytes as usize - 1]).expect("it is allocated");
        assert!((0..100).all(|_| !known(address, 32)), "the last byte is missing");
        memory.write(address + bytes - 1, &[1]).expect("it is allocated");
        let requests = (0..100).find(|_| known(address, 32)).expect("it is looked through in the end");
        assert!(u64::from(requests as u32) * 32 * BYTES_A_LANE < 2 * bytes, "after {requests} requests");
        assert!(known(address, 0), "it is known then");
        assert!(
            !memory.is_whole(address + bytes - 4, 8, 32, &mut LastAllocation::default()),
            "beyond the end"
        );
        // Another one, which nobody has written, at whatever address.
        memory.free(address).expect("it is allocated");
        let address = memory.allocate(bytes, Kind::Device).expect("memory");
        assert!((0..100).all(|_| !known(address, 32)));
        assert!(!memory.is_initialised(address, 4, &mut LastAllocation::default()));
        // What is not tracked counts as written.
        memory.track_initialisation(false);
        let address = memory.allocate(64, Kind::Device).expect("memory");
        assert!(memory.is_whole(address, 64, 0, &mut LastAllocation::default()));
    }

    #[test]
    fn a_remembered_allocation_is_forgotten_with_it() {
        let memory = Memory::new(1 << 30).expect("address space");
        memory.track_initialisation(true);
        let address = memory.allocate(256, Kind::Device).expect("memory");
        memory.write(address, &[1; 256]).expect("it is allocated");
        let mut last = LastAllocation::default();
        assert!(memory.is_initialised(address, 256, &mut last) && last.is_whole);
        memory.free(address).expect("it is allocated");
        assert!(!memory.is_initialised(address, 256, &mut last));
    }
}
