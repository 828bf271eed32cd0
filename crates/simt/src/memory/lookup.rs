//! Checks the bounds, alignment and rights of a request's lanes.
//!
//! Almost every request lies in the allocation that its instruction hit last time. So a [`LookupCache`] keeps that
//! allocation per instruction, and the lowest and the highest address of the lanes decide for all 32 of them. Only if
//! they do not fit are lanes checked one by one against the table of allocations, which finds the first faulting lane.
//! For example, the cache has an allocation of 256 bytes at 0x1000, and lane `k` loads 4 bytes:
//!
//! ```text
//! at 0x1000 + 4k   lowest 0x1000, highest 0x107c   within: the request is valid
//! at 0x1084 + 4k   lowest 0x1084, highest 0x1100   not within: lanes 0 to 30 are found valid, and lane 31 faults,
//!                                                  1 byte after the nearest allocation
//! ```

use super::allocation::rights;
use super::device::Memory;
use super::lanes::{self, Prepared};
use super::plain::{Plain, PlainSpace};
use super::table::Table;
use crate::fault::FaultKind;
use crate::observe::{Operation, Site, Space};

/// Entries of a [`LookupCache`].
const ENTRIES: usize = 16;

/// A cache of the allocations that a worker's instructions last hit. Each instruction has an entry, shared with those
/// whose site is a multiple of 16 away.
///
/// Keep one per thread that executes blocks, from warp to warp and from block to block, since a new one starts empty.
/// It is valid for one [`Memory`] and notices frees; for another memory, create a new one.
#[derive(Clone, Debug)]
pub struct LookupCache {
    entries: [Cached; ENTRIES],
    removals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Cached {
    start: u64,
    bytes: u64,
    rights: u32,
}

impl Default for LookupCache {
    fn default() -> Self {
        Self::new()
    }
}

impl LookupCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self { entries: [Cached { start: 0, bytes: 0, rights: 0 }; ENTRIES], removals: u64::MAX }
    }

    /// Returns the rights of the allocation that the instruction last hit, if that contains all lanes' bytes. Only
    /// alignment remains to be checked then.
    #[inline(always)]
    pub(super) fn hit(
        &self,
        memory: &Memory,
        site: Site,
        prepared: &Prepared,
        bytes: u32,
        needed: u32,
    ) -> Option<u32> {
        let cached = &self.entries[site.0 as usize % ENTRIES];
        let reach = prepared.highest.wrapping_sub(cached.start);
        // The lowest is not before the start, and the highest ends before the end.
        let inside = prepared.lowest >= cached.start
            && reach < cached.bytes
            && cached.bytes - reach >= u64::from(bytes)
            && cached.rights & needed == needed;
        (inside && self.removals == memory.removals()).then_some(cached.rights)
    }

    /// Returns the first and the last address that the instruction may access without a further check, in the allocation
    /// that it last hit. None if there is no such allocation. True if the caller has to [record](Memory::record) what the
    /// instruction stores there.
    pub(crate) fn bounds(&self, memory: &Memory, site: Site, plain: &Plain<'_>) -> Option<([u64; 2], bool)> {
        let needed = match (plain.is_load, plain.space) {
            (true, PlainSpace::Constant) => rights::READ | rights::CONSTANT,
            (true, _) => rights::READ,
            (false, _) => rights::WRITE,
        };
        let cached = &self.entries[site.0 as usize % ENTRIES];
        let records = !plain.is_load && cached.rights & rights::TRACKED != 0;
        let is_usable = cached.rights & needed == needed
            && cached.bytes >= u64::from(plain.bytes)
            && self.removals == memory.removals();
        is_usable.then(|| ([cached.start, cached.start + (cached.bytes - u64::from(plain.bytes))], records))
    }

    fn remember(&mut self, memory: &Memory, site: Site, cached: Cached) {
        let removals = memory.removals();
        if self.removals != removals {
            *self = Self::new();
            self.removals = removals;
        }
        self.entries[site.0 as usize % ENTRIES] = cached;
    }
}

/// A fault of an access, with the first lane concerned. Lanes below it have not accessed memory either.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessFault {
    /// The faulting lane.
    pub lane: u32,
    /// Kind of the fault.
    pub kind: FaultKind,
}

impl AccessFault {
    /// Returns the fault of a lane whose operands the instruction cannot execute with.
    pub(super) fn illegal(lane: usize, what: String) -> Self {
        Self { lane: lane as u32, kind: FaultKind::Illegal(what) }
    }
}

/// An instruction's request in one space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) space: Space,
    pub(super) operation: Operation,
    pub(super) bytes: u32,
    /// Rights that it needs.
    pub(super) needed: u32,
}

impl Wanted {
    fn out_of_bounds(&self, lane: usize, address: u64, table: Option<&Table>) -> AccessFault {
        let nearest = table.and_then(|table| table.nearest(address));
        let Self { space, operation, bytes, .. } = *self;
        AccessFault {
            lane: lane as u32,
            kind: FaultKind::OutOfBounds { space, operation, address, bytes, nearest },
        }
    }

    fn misaligned(&self, lane: usize, address: u64) -> AccessFault {
        let Self { space, operation, bytes, .. } = *self;
        AccessFault { lane: lane as u32, kind: FaultKind::Misaligned { space, operation, address, bytes } }
    }

    /// Checks offsets in shared or local memory of `limit` bytes, lane by lane, after the fast check has failed.
    #[cold]
    pub(super) fn offsets(&self, prepared: &Prepared, mask: u32, limit: u64) -> Result<(), AccessFault> {
        let bytes = u64::from(self.bytes);
        for lane in lanes::each(mask) {
            let offset = prepared.addresses[lane];
            if !offset.is_multiple_of(bytes) {
                return Err(self.misaligned(lane, offset));
            }
            if offset >= limit || limit - offset < bytes {
                return Err(self.out_of_bounds(lane, offset, None));
            }
        }
        Ok(())
    }

    /// Checks offsets in the shared memory of another block, of `limit` bytes. Faults name addresses from `origin` on.
    pub(super) fn remote_offsets(
        &self,
        prepared: &Prepared,
        mask: u32,
        limit: u64,
        origin: u64,
    ) -> Result<(), AccessFault> {
        self.offsets(prepared, mask, limit).map_err(|mut fault| {
            if let FaultKind::OutOfBounds { address, .. } | FaultKind::Misaligned { address, .. } =
                &mut fault.kind
            {
                *address += origin;
            }
            fault
        })
    }

    /// Checks addresses in global memory, lane by lane, after the fast check has failed. Returns the union of
    /// the rights of all allocations hit.
    #[cold]
    #[inline(never)]
    pub(super) fn addresses(
        &self,
        memory: &Memory,
        cache: &mut LookupCache,
        site: Site,
        prepared: &Prepared,
        mask: u32,
    ) -> Result<u32, AccessFault> {
        let bytes = u64::from(self.bytes);
        // Read before the table: a free in between makes the cache stale, not wrong.
        let table = memory.table();
        let mut hit: Option<Cached> = None;
        let mut all = 0;
        for lane in lanes::each(mask) {
            let address = prepared.addresses[lane];
            if !address.is_multiple_of(bytes) {
                return Err(self.misaligned(lane, address));
            }
            let within = |cached: &Cached| {
                address.wrapping_sub(cached.start) < cached.bytes
                    && cached.bytes - (address - cached.start) >= bytes
            };
            if !hit.as_ref().is_some_and(within) {
                let entry = table.reaching(address).map(|entry| Cached {
                    start: entry.allocation.address,
                    bytes: entry.reach,
                    rights: entry.rights,
                });
                let Some(cached) = entry.filter(within) else {
                    return Err(self.out_of_bounds(lane, address, Some(&table)));
                };
                hit = Some(cached);
                if cached.rights & self.needed != self.needed {
                    return Err(match self.needed & !cached.rights {
                        rights::WRITE => AccessFault {
                            lane: lane as u32,
                            kind: FaultKind::ReadOnly { address, bytes: self.bytes },
                        },
                        _ => self.out_of_bounds(lane, address, Some(&table)),
                    });
                }
                all |= cached.rights;
            }
        }
        if let Some(cached) = hit {
            // Under the table's lock, so that the count of removals matches the result.
            cache.remember(memory, site, cached);
        }
        Ok(all)
    }
}
