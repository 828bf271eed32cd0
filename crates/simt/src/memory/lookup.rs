//! Whether the lanes of a request may access what they want to: bounds, alignment, rights.

use super::allocation::rights;
use super::device::Memory;
use super::lanes::{self, Prepared};
use super::table::Table;
use crate::fault::FaultKind;
use crate::observe::{Operation, Site, Space};

/// Entries of a [`LookupCache`].
const ENTRIES: usize = 16;

/// The allocations that a worker's instructions last hit: each instruction has an entry, shared with those whose site
/// is a multiple of 16 apart.
///
/// It is best kept by whoever executes blocks one after another, from warp to warp and from block to block, for a new
/// one has to learn the allocations again. It is good for one [`Memory`] and notices what is freed; for another
/// memory, begin a new one.
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
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self { entries: [Cached { start: 0, bytes: 0, rights: 0 }; ENTRIES], removals: u64::MAX }
    }

    /// The rights of the allocation that the instruction last hit, if that holds all lanes' bytes. All but alignment
    /// is known to be in order then.
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

    fn remember(&mut self, memory: &Memory, site: Site, cached: Cached) {
        let removals = memory.removals();
        if self.removals != removals {
            *self = Self::new();
            self.removals = removals;
        }
        self.entries[site.0 as usize % ENTRIES] = cached;
    }
}

/// What ends a launch, and the first lane that it happened to. Lanes below it have not been performed either.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessFault {
    /// The lane.
    pub lane: u32,
    /// What.
    pub kind: FaultKind,
}

/// What a memory instruction wants of one space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) space: Space,
    pub(super) operation: Operation,
    pub(super) bytes: u32,
    /// The rights that it takes.
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

    /// Of shared or local memory of `limit` bytes, where the quick check has failed.
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

    /// Of global memory, where the quick check has failed: lane by lane. All rights of all allocations that are hit.
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
        // Read before the table: what is freed in between makes the cache stale, not wrong.
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
            // Under the table's lock, so that the count of removals belongs to what was found.
            cache.remember(memory, site, cached);
        }
        Ok(all)
    }
}
