//! The memory that a block has touched: its hits in L1 and its requests to L2.

use super::request::{Sink, whole_lines};

/// Log2 of the bytes of a group, the unit of the table: 32 sectors, one bit each in a mask.
pub(super) const GROUP_SHIFT: u32 = 10;

/// Groups of one block, at first, before those that L1 has lost are forgotten.
const MOST_GROUPS: usize = 1 << 13;

/// Groups that the table keeps from block to block. More would leave the host's own caches.
const MOST_KEPT: usize = 1 << 10;

/// Warps of the largest block.
const WARPS: usize = 32;

const FEWEST_SLOTS: usize = 1 << 10;

const FREE: u64 = u64::MAX;

/// A group of sectors that a block has accessed, or several blocks of one part. Sectors that were written before they
/// were read do not count as read.
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
#[repr(align(32))]
struct Slot {
    index: u64,
    /// Sectors read and written since the table was drained.
    read: u32,
    written: u32,
    /// The block to which the rest belongs, by its number in the table's life.
    block: u32,
    /// Sectors that this block has written.
    own: u32,
    /// Sectors in L1, as of `time`.
    cached: u32,
    time: u32,
}

const EMPTY: Slot = Slot { index: FREE, read: 0, written: 0, block: 0, own: 0, cached: 0, time: 0 };

impl Slot {
    /// Loads sectors through L1 and returns how many miss.
    ///
    /// On a card the warps of a block run side by side, but here one may run far ahead of the next. So each warp has a
    /// clock of its own, which advances by the sectors that it misses, and to the time of the sectors that it hits. A
    /// warp that follows another one thus hits what that one loaded when it was at the same point.
    #[inline(always)]
    fn load(&mut self, clock: &mut u32, sectors: u32, share: u32) -> u32 {
        // A branch, so that what follows need not wait for the clock.
        if clock.abs_diff(self.time) >= share {
            evict(self);
        }
        let missed = sectors & !self.cached;
        let since = if missed == sectors { 0 } else { self.time };
        let now = since.max(*clock);
        self.cached |= sectors;
        self.read |= missed & !self.written;
        let count = missed.count_ones();
        let now = now.saturating_add(count);
        self.time = now;
        *clock = now;
        count
    }

    /// Accesses sectors past L1 and returns how many of them the block has written before. Those are not read from
    /// memory.
    #[inline(always)]
    fn access(&mut self, sectors: u32, reads: bool, writes: bool) -> u32 {
        let rewritten = (self.own & sectors).count_ones();
        self.read |= if reads { sectors & !self.written } else { 0 };
        let written = if writes { sectors } else { 0 };
        self.written |= written;
        self.own |= written;
        rewritten
    }
}

/// A hash table of groups. What blocks have read and written stays in it until it is drained, since adjacent blocks often
/// touch the same groups; what a block has in L1 is forgotten when the next one begins.
pub(super) struct BlockMemory {
    slots: Vec<Slot>,
    /// `64 - log2(slots.len())`, for the table's even places as hashes with their lowest bit cleared.
    shift: u32,
    /// Indices of the slots in use.
    occupied: Vec<u32>,
    /// Number of the current block, not 0.
    block: u32,
    /// Groups that the current block has touched and not forgotten.
    live: usize,
    /// The value of `live` at which groups are forgotten.
    most_live: usize,
    /// Progress of each warp, in sectors brought into L1: see [`Slot::load`].
    clocks: [u32; WARPS],
    /// True if a warp of the current block has loaded through L1.
    loaded: bool,
    /// See [`L1::share`](super::l1::L1::share).
    share: u32,
}

impl BlockMemory {
    pub(super) fn new(share: u32) -> Self {
        let mut new = Self {
            slots: Vec::new(),
            shift: 0,
            occupied: Vec::new(),
            block: 1,
            live: 0,
            most_live: MOST_GROUPS,
            clocks: [0; WARPS],
            loaded: false,
            share,
        };
        new.resize(FEWEST_SLOTS);
        new
    }

    fn resize(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        self.shift = 64 - slots.trailing_zeros();
    }

    /// Returns the first of the two slots in which a group is looked for.
    #[inline(always)]
    fn home(&self, index: u64) -> usize {
        (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize & (self.slots.len() - 2)
    }

    /// Returns the slot of a group, a new one if needed, as the current block knows it. `hint` is the slot in which it
    /// probably is, and becomes the one in which it is.
    #[inline(always)]
    fn slot_near(&mut self, hint: &mut u32, index: u64, list: &mut Vec<Group>) -> &mut Slot {
        let known = self.slots.get(*hint as usize);
        if known.is_none_or(|slot| slot.index != index || slot.block != self.block) {
            *hint = self.find_far(index, list);
        }
        &mut self.slots[*hint as usize]
    }

    /// Returns the slot of a group, a new one if needed, as the current block knows it.
    #[inline(always)]
    fn slot(&mut self, index: u64, list: &mut Vec<Group>) -> &mut Slot {
        let at = self.find_slot(index, list);
        &mut self.slots[at]
    }

    #[inline(never)]
    fn find_far(&mut self, index: u64, list: &mut Vec<Group>) -> u32 {
        self.find_slot(index, list) as u32
    }

    #[inline(always)]
    fn find_slot(&mut self, index: u64, list: &mut Vec<Group>) -> usize {
        let home = self.home(index);
        // Selected, not branched upon: which of the two it is cannot be predicted.
        let mut at = home + usize::from(self.slots[home + 1].index == index);
        if self.slots[at].index != index {
            at = self.find(index, home);
        }
        let is_stale = self.slots[at].block != self.block;
        if self.live >= self.most_live && is_stale {
            at = self.forget(index, list);
        }
        self.live += usize::from(is_stale);
        let slot = &mut self.slots[at];
        slot.block = self.block;
        // Nor can it be predicted whether the block comes to a group for the first time.
        let keep = u32::from(is_stale).wrapping_sub(1);
        slot.own &= keep;
        slot.cached &= keep;
        slot.time &= keep;
        at
    }

    /// Returns the slot of a group that is in neither of its first two, or inserts it.
    #[inline(never)]
    fn find(&mut self, index: u64, home: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = home;
        while self.slots[at].index != FREE {
            at = (at + 1) & mask;
            if self.slots[at].index == index {
                return at;
            }
        }
        if (self.occupied.len() + 1) * 2 > self.slots.len() {
            at = self.grow(index);
        }
        self.occupied.push(at as u32);
        self.slots[at] = Slot { index, block: self.block.wrapping_sub(1), ..EMPTY };
        at
    }

    /// Doubles the table and returns the free slot for a new group.
    #[cold]
    fn grow(&mut self, index: u64) -> usize {
        let kept: Vec<Slot> = self.occupied.iter().map(|&at| self.slots[at as usize]).collect();
        self.fill(2 * self.slots.len(), kept);
        self.free_slot(index)
    }

    /// Fills an empty table of this size.
    fn fill(&mut self, slots: usize, kept: Vec<Slot>) {
        self.resize(slots);
        self.occupied.clear();
        for slot in kept {
            let at = self.free_slot(slot.index);
            self.slots[at] = slot;
            self.occupied.push(at as u32);
        }
    }

    /// Drains the table within a block: keeps only groups with sectors in L1, and this new one, whose slot it returns.
    #[cold]
    fn forget(&mut self, index: u64, list: &mut Vec<Group>) -> usize {
        let (clock, share) = (self.clocks.into_iter().max().unwrap_or(0), self.share);
        let mut kept = Vec::new();
        for &at in &self.occupied {
            let mut slot = self.slots[at as usize];
            push(list, &slot);
            (slot.read, slot.written, slot.own) = (0, 0, 0);
            let in_l1 = slot.block == self.block && slot.cached != 0 && clock.abs_diff(slot.time) < share;
            if in_l1 {
                kept.push(slot);
            }
        }
        self.live = kept.len();
        while (self.live + 1) * 2 > self.most_live {
            self.most_live *= 2;
        }
        kept.push(Slot { index, block: self.block.wrapping_sub(1), ..EMPTY });
        self.fill(self.slots.len(), kept);
        self.occupied[self.occupied.len() - 1] as usize
    }

    fn free_slot(&self, index: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(index);
        while self.slots[at].index != FREE {
            at = (at + 1) & mask;
        }
        at
    }

    /// Loads sectors through L1 and returns how many miss: see [`Slot::load`].
    #[inline(always)]
    fn load_cached(&mut self, clock: &mut u32, index: u64, sectors: u32, list: &mut Vec<Group>) -> u32 {
        let share = self.share;
        self.slot(index, list).load(clock, sectors, share)
    }

    /// Returns the clock of a warp.
    #[inline(always)]
    fn clock(&mut self, warp: u32) -> &mut u32 {
        self.loaded = true;
        &mut self.clocks[warp as usize % WARPS]
    }

    /// Loads sectors of a group and of the next, in the lower and upper half of `sectors`, through L1. Returns how many
    /// miss.
    #[inline(always)]
    pub(super) fn load_near(
        &mut self,
        hint: &mut u32,
        warp: u32,
        index: u64,
        sectors: u64,
        list: &mut Vec<Group>,
    ) -> u32 {
        let share = self.share;
        let mut clock = *self.clock(warp);
        let mut missed = self.slot_near(hint, index, list).load(&mut clock, sectors as u32, share);
        if sectors >> 32 != 0 {
            missed += self.slot_near(hint, index + 1, list).load(&mut clock, (sectors >> 32) as u32, share);
        }
        *self.clock(warp) = clock;
        missed
    }

    /// Accesses sectors of a group and of the next, in the lower and upper half of `sectors`, past L1. Returns how many
    /// of them the block has written before.
    #[inline(always)]
    pub(super) fn access_near(
        &mut self,
        hint: &mut u32,
        index: u64,
        sectors: u64,
        [reads, writes]: [bool; 2],
        list: &mut Vec<Group>,
    ) -> u32 {
        let mut rewritten = self.slot_near(hint, index, list).access(sectors as u32, reads, writes);
        if sectors >> 32 != 0 {
            let high = (sectors >> 32) as u32;
            rewritten += self.slot_near(hint, index + 1, list).access(high, reads, writes);
        }
        rewritten
    }

    /// Ends the block. If `alone`, its groups are not merged with those of later blocks.
    pub(super) fn end_block(&mut self, alone: bool, list: &mut Vec<Group>) {
        self.block = self.block.wrapping_add(1);
        self.live = 0;
        self.most_live = MOST_GROUPS;
        if std::mem::take(&mut self.loaded) {
            self.clocks.fill(0);
        }
        if alone || self.occupied.len() > MOST_KEPT {
            self.drain(list);
        }
    }

    /// Moves to the list what blocks have touched. Between blocks only.
    pub(super) fn drain(&mut self, list: &mut Vec<Group>) {
        for &at in &self.occupied {
            let slot = &mut self.slots[at as usize];
            push(list, slot);
            slot.index = FREE;
        }
        self.occupied.clear();
        if self.slots.len() > 4 * MOST_GROUPS {
            self.resize(FEWEST_SLOTS);
        }
    }
}

/// Empties a group's part of L1.
#[cold]
#[inline(never)]
fn evict(slot: &mut Slot) {
    slot.cached = 0;
}

#[inline(always)]
fn push(list: &mut Vec<Group>, slot: &Slot) {
    if slot.read | slot.written != 0 {
        list.push(Group { index: slot.index, read: slot.read, written: slot.written });
    }
}

/// A sink for loads through L1.
pub(super) struct CachedLoads<'a> {
    memory: &'a mut BlockMemory,
    list: &'a mut Vec<Group>,
    /// Clock of the warp that loads: see [`CachedLoads::new`].
    clock: u32,
    warp: u32,
    /// True if L1 is filled by lines.
    lines: bool,
    /// Sectors that missed.
    missed: u32,
}

impl<'a> CachedLoads<'a> {
    /// Begins a load of a warp. Its clock is put back by [`CachedLoads::end`].
    #[inline(always)]
    pub(super) fn new(memory: &'a mut BlockMemory, list: &'a mut Vec<Group>, warp: u32, lines: bool) -> Self {
        let clock = *memory.clock(warp);
        Self { memory, list, lines, missed: 0, clock, warp }
    }

    /// Ends the load and returns the sectors that missed.
    #[inline(always)]
    pub(super) fn end(self) -> u32 {
        *self.memory.clock(self.warp) = self.clock;
        self.missed
    }
}

impl Sink for CachedLoads<'_> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        let sectors = if self.lines { whole_lines(sectors) } else { sectors };
        self.missed += self.memory.load_cached(&mut self.clock, group, sectors, self.list);
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
        self.rewritten += self.memory.slot(group, self.list).access(sectors, self.reads, self.writes);
    }
}
