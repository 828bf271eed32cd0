//! The memory that a block has touched: its hits in L1 and its requests to L2.

use super::request::{Sink, whole_lines};

/// Log2 of the bytes of a group, the unit of the table: 32 sectors, one bit each in a mask.
pub(super) const GROUP_SHIFT: u32 = 10;

/// Groups that the table holds before it is emptied into the list.
const MOST_GROUPS: usize = 1 << 13;

const FEWEST_SLOTS: usize = 1 << 8;

const FREE: u64 = u64::MAX;

/// A group of sectors that a block has accessed. Sectors that it wrote before it read them do not count as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// Address over 1024.
    pub(super) index: u64,
    /// Sectors read, a bit each.
    pub(super) read: u32,
    /// Sectors written, a bit each.
    pub(super) written: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    index: u64,
    read: u32,
    written: u32,
    /// Sectors in L1, as of `time`.
    cached: u32,
    time: u32,
}

const EMPTY: Slot = Slot { index: FREE, read: 0, written: 0, cached: 0, time: 0 };

/// A hash table of groups, emptied at the end of a block.
pub(super) struct BlockMemory {
    slots: Vec<Slot>,
    /// `64 - log2(slots.len())`.
    shift: u32,
    /// Indices of the slots in use.
    occupied: Vec<u32>,
    /// Progress of each warp, in sectors brought into L1: see [`load_cached`](Self::load_cached).
    clocks: Vec<u32>,
    /// See [`L1::share`](super::l1::L1::share).
    share: u32,
}

impl BlockMemory {
    pub(super) fn new(share: u32) -> Self {
        let mut new = Self { slots: Vec::new(), shift: 0, occupied: Vec::new(), clocks: Vec::new(), share };
        new.resize(FEWEST_SLOTS);
        new
    }

    fn resize(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        self.shift = 64 - slots.trailing_zeros();
    }

    /// Returns the slot of a group, a new one if needed.
    #[inline(always)]
    fn slot(&mut self, index: u64, list: &mut Vec<Group>) -> &mut Slot {
        let mask = self.slots.len() - 1;
        let mut at = (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        loop {
            let found = self.slots[at & mask].index;
            if found == index {
                return &mut self.slots[at & mask];
            }
            if found == FREE {
                return self.insert(index, at & mask, list);
            }
            at += 1;
        }
    }

    #[inline(always)]
    fn insert(&mut self, index: u64, at: usize, list: &mut Vec<Group>) -> &mut Slot {
        let mut at = at;
        if (self.occupied.len() + 1) * 2 > self.slots.len() {
            at = self.make_room(index, list);
        }
        self.occupied.push(at as u32);
        self.slots[at] = Slot { index, ..EMPTY };
        &mut self.slots[at]
    }

    /// Grows the table, or at its full size empties it into the list, except for sectors in L1. Returns the group's
    /// slot.
    #[cold]
    fn make_room(&mut self, index: u64, list: &mut Vec<Group>) -> usize {
        let mut kept: Vec<Slot> = self.occupied.iter().map(|&at| self.slots[at as usize]).collect();
        if self.occupied.len() >= MOST_GROUPS {
            for slot in &mut kept {
                push(list, slot);
                (slot.read, slot.written) = (0, 0);
            }
            let (clock, share) = (self.clocks.iter().copied().max().unwrap_or(0), self.share);
            kept.retain(|slot| slot.cached != 0 && clock.abs_diff(slot.time) < share);
        }
        let mut slots = self.slots.len();
        while (kept.len() + 1) * 4 > slots {
            slots *= 2;
        }
        self.resize(slots);
        self.occupied.clear();
        for slot in kept {
            let at = self.free_slot(slot.index);
            self.slots[at] = slot;
            self.occupied.push(at as u32);
        }
        self.free_slot(index)
    }

    fn free_slot(&self, index: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize & mask;
        while self.slots[at].index != FREE {
            at = (at + 1) & mask;
        }
        at
    }

    /// Loads sectors through L1 and returns how many miss.
    ///
    /// On a card the warps of a block run side by side, but here one may run far ahead of the next. So each warp has a
    /// clock of its own, which advances by the sectors that it misses, and to the time of the sectors that it hits. A
    /// warp that follows another one thus hits what that one loaded when it was at the same point.
    #[inline(always)]
    fn load_cached(&mut self, warp: u32, index: u64, sectors: u32, list: &mut Vec<Group>) -> u32 {
        let warp = warp as usize;
        if warp >= self.clocks.len() {
            self.clocks.resize(warp + 1, 0);
        }
        let (clock, share) = (self.clocks[warp], self.share);
        let slot = self.slot(index, list);
        if clock.abs_diff(slot.time) >= share {
            slot.cached = 0;
        }
        let missed = sectors & !slot.cached;
        let now = if missed == sectors { clock } else { clock.max(slot.time) };
        slot.cached |= sectors;
        slot.read |= missed & !slot.written;
        let count = missed.count_ones();
        let now = now.saturating_add(count);
        slot.time = now;
        self.clocks[warp] = now;
        count
    }

    /// Accesses sectors past L1 and returns how many of them the block has written before. Those are not read from
    /// memory.
    #[inline(always)]
    fn access(&mut self, index: u64, sectors: u32, reads: bool, writes: bool, list: &mut Vec<Group>) -> u32 {
        let slot = self.slot(index, list);
        let rewritten = (slot.written & sectors).count_ones();
        slot.read |= if reads { sectors & !slot.written } else { 0 };
        slot.written |= if writes { sectors } else { 0 };
        rewritten
    }

    /// Ends the block: moves what it touched to the list.
    pub(super) fn end(&mut self, list: &mut Vec<Group>) {
        for &at in &self.occupied {
            let slot = &mut self.slots[at as usize];
            push(list, slot);
            slot.index = FREE;
        }
        self.occupied.clear();
        self.clocks.clear();
        if self.slots.len() > 4 * MOST_GROUPS {
            self.resize(FEWEST_SLOTS);
        }
    }
}

#[inline(always)]
fn push(list: &mut Vec<Group>, slot: &Slot) {
    if slot.read | slot.written != 0 {
        list.push(Group { index: slot.index, read: slot.read, written: slot.written });
    }
}

/// A sink for loads through L1.
pub(super) struct CachedLoads<'a> {
    pub(super) memory: &'a mut BlockMemory,
    pub(super) list: &'a mut Vec<Group>,
    /// Warp that loads.
    pub(super) warp: u32,
    /// True if L1 is filled by lines.
    pub(super) lines: bool,
    /// Sectors that missed.
    pub(super) missed: u32,
}

impl Sink for CachedLoads<'_> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        let sectors = if self.lines { whole_lines(sectors) } else { sectors };
        self.missed += self.memory.load_cached(self.warp, group, sectors, self.list);
    }
}

/// A sink for accesses that bypass L1.
pub(super) struct Uncached<'a> {
    pub(super) memory: &'a mut BlockMemory,
    pub(super) list: &'a mut Vec<Group>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Sectors that the block has written before, counted each time.
    pub(super) rewritten: u32,
    /// Sectors accessed, counted each time.
    pub(super) taken: u32,
}

impl Sink for Uncached<'_> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        self.taken += sectors.count_ones();
        self.rewritten += self.memory.access(group, sectors, self.reads, self.writes, self.list);
    }
}
