//! Which addresses are in use, were, or are free.

use std::collections::{BTreeMap, VecDeque};

use super::allocation::{Allocation, Kind, rights};
use crate::fault::{Nearest, Place};

/// Allocations begin at multiples of this, as `cuMemAlloc` promises.
const ALIGNMENT: u64 = 256;
/// Between an allocation's end and the next one's beginning there are at least so many bytes that are nobody's.
const GAP: u64 = 256;
/// NVIDIA's driver gives out memory in granules of so many bytes. One that begins at a multiple of [`ALIGNMENT`] ends
/// within [`GAP`], so that what kernels reach of two allocations never overlaps.
pub(super) const GRANULE: u64 = ALIGNMENT + GAP;
/// Allocations from this size on begin at multiples of a large page of the device.
const LARGE: u64 = 1 << 20;
/// A large page of the device.
const LARGE_ALIGNMENT: u64 = 2 << 20;
/// Freed allocations that are remembered, the latest.
const REMEMBERED: usize = 4096;

/// An allocation in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) allocation: Allocation,
    /// Bytes from its beginning that kernels may touch: its own, and the rest of its last granule where bounds are not
    /// exact.
    pub(super) reach: u64,
    pub(super) rights: u32,
}

/// All of a device's addresses.
#[derive(Debug)]
pub(super) struct Table {
    live: BTreeMap<u64, Entry>,
    freed: BTreeMap<u64, Allocation>,
    freed_order: VecDeque<(u64, u64)>,
    /// Beginnings and sizes of ranges to allocate from, none touching another.
    free: BTreeMap<u64, u64>,
    /// Where the last allocation's gap ended: the search goes on from here, so that what was freed is not soon
    /// allocated again, and an access to it is found to be one.
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

    /// From now on, kernels may touch the whole of an allocation's last granule of so many bytes, up to [`GRANULE`].
    pub(super) fn round_up_to(&mut self, granule: u64) {
        self.granule = granule.min(GRANULE);
    }

    /// Bytes in use of the device's own.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Entry> {
        self.live.values()
    }

    /// The one that this address is in.
    #[inline]
    pub(super) fn containing(&self, address: u64) -> Option<&Entry> {
        let (_, entry) = self.live.range(..=address).next_back()?;
        (address - entry.allocation.address < entry.allocation.bytes).then_some(entry)
    }

    /// The one that kernels reach at this address.
    #[inline]
    pub(super) fn reaching(&self, address: u64) -> Option<&Entry> {
        let (_, entry) = self.live.range(..=address).next_back()?;
        (address - entry.allocation.address < entry.reach).then_some(entry)
    }

    /// Any that shares a byte with the range.
    pub(super) fn overlapping(&self, address: u64, bytes: u64) -> Option<&Entry> {
        let last = address.saturating_add(bytes - 1);
        let (_, entry) = self.live.range(..=last).next_back()?;
        (entry.allocation.end() > address).then_some(entry)
    }

    /// Takes addresses; none if no range is left that is large enough.
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

    /// Enters a range that is not of this table's own addresses, or that has just been taken of them.
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

    /// The entry that begins at this very address.
    pub(super) fn starting(&self, address: u64) -> Option<&Entry> {
        self.live.get(&address)
    }

    /// Takes an entry out; its addresses are free again unless they are not of this table's own.
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

    /// The freed one that this address was in.
    pub(super) fn freed_containing(&self, address: u64) -> Option<Allocation> {
        let (_, freed) = self.freed.range(..=address).next_back()?;
        freed.contains(address, 1).then_some(*freed)
    }

    /// Forgets what was freed between these addresses: they are in use again.
    pub(super) fn forget(&mut self, address: u64, end: u64) {
        let before = self.freed.range(..address).next_back().filter(|(_, freed)| freed.end() > address);
        let stale: Vec<u64> =
            before.into_iter().chain(self.freed.range(address..end)).map(|(start, _)| *start).collect();
        for start in stale {
            self.freed.remove(&start);
        }
    }

    /// The allocation closest to an access that is not within one. Of two equally close ones, that in use.
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
