//! The table of addresses: in use, freed, or free.
//!
//! Allocations are apart by a gap, so that an access just beyond one is in none, and freed addresses are not soon in use
//! again, so that an access to freed memory is recognised as such. The search for free addresses therefore continues
//! where the last one ended (*next fit*) and starts from the beginning only at the end. For example, from an address B on:
//!
//! ```text
//! allocate 100 bytes     at B         256 bytes by the alignment, and a gap of 256
//! allocate 1000 bytes    at B + 512   1024 bytes, and a gap
//! free B                              remembered as freed
//! allocate 100 bytes     at B + 1792  not at B
//! load from B + 4                     faults, "4 bytes inside the nearest allocation", a freed one
//! ```

use std::collections::{BTreeMap, VecDeque};

use super::allocation::{Allocation, Kind, rights};
use crate::fault::{Nearest, Place};

/// Alignment of allocations, as `cuMemAlloc` promises.
const ALIGNMENT: u64 = 256;
/// Unused bytes between allocations, at least.
const GAP: u64 = 256;
/// Granule of NVIDIA's driver in bytes. One that begins at a multiple of [`ALIGNMENT`] ends within [`GAP`], so the
/// bytes of two allocations that kernels can reach never overlap.
pub(super) const GRANULE: u64 = ALIGNMENT + GAP;
/// Size from which allocations are aligned to large pages.
const LARGE: u64 = 1 << 20;
/// Size of a large page of the device.
const LARGE_ALIGNMENT: u64 = 2 << 20;
/// Number of freed allocations that are remembered, the latest ones.
const REMEMBERED: usize = 4096;

/// A live allocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) allocation: Allocation,
    /// Bytes from its start that kernels may touch: its own, and the rest of its last granule if bounds are not exact.
    pub(super) reach: u64,
    pub(super) rights: u32,
}

/// The table of a device's addresses.
#[derive(Debug)]
pub(super) struct Table {
    live: BTreeMap<u64, Entry>,
    freed: BTreeMap<u64, Allocation>,
    freed_order: VecDeque<(u64, u64)>,
    /// Start and size of free ranges, which do not touch each other.
    free: BTreeMap<u64, u64>,
    /// End of the last allocation's gap, where the search continues. So freed addresses are not soon allocated again,
    /// and accesses to them are recognised.
    cursor: u64,
    used: u64,
    count: u64,
    granule: u64,
}

impl Table {
    pub(super) fn new(base: u64, bytes: u64) -> Self {
        let (start, bytes) = (base + LARGE_ALIGNMENT, bytes - LARGE_ALIGNMENT);
        Self {
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            freed_order: VecDeque::new(),
            free: BTreeMap::from([(start, bytes)]),
            cursor: start,
            used: 0,
            count: 0,
            granule: 1,
        }
    }

    /// Lets kernels touch the last granule of later allocations, of up to [`GRANULE`] bytes, completely.
    pub(super) fn round_up_to(&mut self, granule: u64) {
        self.granule = granule.min(GRANULE);
    }

    /// Returns the device memory in use, in bytes.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Entry> {
        self.live.values()
    }

    /// Returns the allocation that contains an address.
    #[inline]
    pub(super) fn containing(&self, address: u64) -> Option<&Entry> {
        let (_, entry) = self.live.range(..=address).next_back()?;
        (address - entry.allocation.address < entry.allocation.bytes).then_some(entry)
    }

    /// Returns the allocation that kernels reach at an address.
    #[inline]
    pub(super) fn reaching(&self, address: u64) -> Option<&Entry> {
        let (_, entry) = self.live.range(..=address).next_back()?;
        (address - entry.allocation.address < entry.reach).then_some(entry)
    }

    /// Returns an allocation that overlaps the range.
    pub(super) fn overlapping(&self, address: u64, bytes: u64) -> Option<&Entry> {
        let last = address.saturating_add(bytes - 1);
        let (_, entry) = self.live.range(..=last).next_back()?;
        (entry.allocation.end() > address).then_some(entry)
    }

    /// Allocates addresses; None if no free range is large enough.
    pub(super) fn allocate(&mut self, bytes: u64, kind: Kind, tracked: bool) -> Option<Entry> {
        let alignment = if bytes >= LARGE { LARGE_ALIGNMENT } else { ALIGNMENT };
        let taken = bytes.checked_next_multiple_of(ALIGNMENT)?.checked_add(GAP)?;
        let fits = |start: u64, size: u64, from: u64| {
            let address = start.max(from).next_multiple_of(alignment);
            (address.checked_add(taken)? <= start + size).then_some((start, address))
        };
        let before = self.free.range(..self.cursor).next_back().map(|(start, size)| (*start, *size));
        let (start, address) = before
            .and_then(|(start, size)| fits(start, size, self.cursor))
            .or_else(|| self.free.range(self.cursor..).find_map(|(start, size)| fits(*start, *size, 0)))
            .or_else(|| self.free.iter().find_map(|(start, size)| fits(*start, *size, 0)))?;
        let size = self.free.remove(&start).expect("found there just now");
        if address > start {
            self.free.insert(start, address - start);
        }
        let end = address + taken;
        if start + size > end {
            self.free.insert(end, start + size - end);
        }
        self.cursor = end;
        self.forget(address, end);
        Some(self.insert(address, bytes, kind, tracked))
    }

    /// Inserts a range of other addresses than this table's own, or one that has just been allocated from them.
    pub(super) fn insert(&mut self, address: u64, bytes: u64, kind: Kind, tracked: bool) -> Entry {
        self.count += 1;
        let allocation = Allocation { address, bytes, kind, id: self.count };
        let mut may = rights::READ;
        may |= if kind.writable() { rights::WRITE } else { 0 };
        may |= if kind == Kind::Constant { rights::CONSTANT } else { 0 };
        may |= if tracked { rights::TRACKED } else { 0 };
        let reach = if kind == Kind::Registered { bytes } else { bytes.next_multiple_of(self.granule) };
        let entry = Entry { allocation, reach, rights: may };
        self.live.insert(address, entry);
        self.used += if kind.on_device() { bytes } else { 0 };
        entry
    }

    /// Returns the allocation that starts at exactly this address.
    pub(super) fn starting(&self, address: u64) -> Option<&Entry> {
        self.live.get(&address)
    }

    /// Removes an allocation; its addresses are free again if they are this table's own.
    pub(super) fn remove(&mut self, address: u64) -> Option<Entry> {
        let entry = self.live.remove(&address)?;
        let Allocation { address, bytes, kind, id } = entry.allocation;
        self.used -= if kind.on_device() { bytes } else { 0 };
        self.freed.insert(address, entry.allocation);
        self.freed_order.push_back((address, id));
        if self.freed_order.len() > REMEMBERED {
            let (oldest, id) = self.freed_order.pop_front().expect("more than none");
            if self.freed.get(&oldest).is_some_and(|freed| freed.id == id) {
                self.freed.remove(&oldest);
            }
        }
        if kind != Kind::Registered {
            let (mut start, mut end) = (address, address + bytes.next_multiple_of(ALIGNMENT) + GAP);
            if let Some((before, size)) =
                self.free.range(..start).next_back().map(|(start, size)| (*start, *size))
                && before + size == start
            {
                self.free.remove(&before);
                start = before;
            }
            if let Some(size) = self.free.remove(&end) {
                end += size;
            }
            self.free.insert(start, end - start);
        }
        Some(entry)
    }

    /// Returns the freed allocation that contained an address.
    pub(super) fn freed_containing(&self, address: u64) -> Option<Allocation> {
        let (_, freed) = self.freed.range(..=address).next_back()?;
        freed.contains(address, 1).then_some(*freed)
    }

    /// Forgets freed allocations between these addresses, which are in use again.
    pub(super) fn forget(&mut self, address: u64, end: u64) {
        let before = self.freed.range(..address).next_back().filter(|(_, freed)| freed.end() > address);
        let stale: Vec<u64> =
            before.into_iter().chain(self.freed.range(address..end)).map(|(start, _)| *start).collect();
        for start in stale {
            self.freed.remove(&start);
        }
    }

    /// Returns the allocation closest to an invalid access; of two equally close ones, the live one.
    pub(super) fn nearest(&self, address: u64) -> Option<Nearest> {
        let live =
            |address| self.live.range(..=address).next_back().map(|(_, entry)| (entry.allocation, false));
        let live_after = self.live.range(address..).next().map(|(_, entry)| (entry.allocation, false));
        let freed = |address| self.freed.range(..=address).next_back().map(|(_, freed)| (*freed, true));
        let freed_after = self.freed.range(address..).next().map(|(_, freed)| (*freed, true));
        let candidates = [live(address), live_after, freed(address), freed_after];
        let place = |allocation: &Allocation| {
            if address < allocation.address {
                let distance = allocation.address - address;
                (distance, Place::Before(distance))
            } else if address < allocation.end() {
                (0, Place::Inside(address - allocation.address))
            } else {
                let distance = address - allocation.end() + 1;
                (distance, Place::After(distance))
            }
        };
        let nearest = candidates.into_iter().flatten().min_by_key(|(allocation, _)| place(allocation).0)?;
        let (allocation, freed) = nearest;
        Some(Nearest {
            address: allocation.address,
            bytes: allocation.bytes,
            place: place(&allocation).1,
            freed,
        })
    }
}
