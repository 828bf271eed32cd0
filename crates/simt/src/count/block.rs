//! The memory that a block has touched: its hits in L1 and its requests to L2.
//!
//! It is a hash table of [groups](super::group) with linear probing, which never holds more than half of its slots. Adjacent blocks often
//! touch the same groups, so what they read and wrote stays in the table until it is drained into the list of what goes
//! on to L2; what a block has in L1 is forgotten when the next one begins, by the number of the block or by the
//! origin of the clocks, without touching the slots.
//!
//! For example, block 0 reads the sectors 0 to 3 of group 7 and block 1 the sectors 4 to 7: the table holds one slot with eight
//! sectors read, and L2 gets them as one group. Block 1 finds none of block 0's sectors in its L1.

use super::group::{EMPTY, FREE, GROUP_SHIFT, Group, Slot, Tally};
use super::prefetch;
use super::spilled::Spilled;
use super::takes::Takes;
use crate::coalescing::{Addresses, LANES};

/// Groups of one block, at first, before those that L1 has lost are forgotten.
const MOST_GROUPS: usize = 1 << 13;

/// Groups that the table keeps from block to block. More would leave the host's own caches.
const MOST_KEPT: usize = 1 << 9;

/// Warps of the largest block.
const WARPS: usize = 32;

const FEWEST_SLOTS: usize = 1 << 10;

/// Clocks at the start of the first block. A slot's first time is before.
const FIRST_ORIGIN: u32 = 1;

/// The origin at which clocks start from the first one again.
const LAST_ORIGIN: u32 = 1 << 24;

/// 2^32 over the golden ratio. Multiples of it spread adjacent groups evenly.
const GOLDEN: u32 = 0x9E37_79B1;

/// A hash table of groups. What blocks have read and written stays in it until it is drained, since adjacent blocks often
/// touch the same groups; what a block has in L1 is forgotten when the next one begins.
pub(super) struct BlockMemory {
    slots: Vec<Slot>,
    /// `32 - log2(slots.len())`, by which hashes become places.
    shift: u32,
    /// Indices of the slots in use.
    occupied: Vec<u32>,
    /// Number of the current block, not 0.
    block: u32,
    /// Groups that the current block has touched and not forgotten, at most: a group may count twice, if it was loaded
    /// through L1 and accessed past it.
    live: usize,
    /// The value of `live` at which groups are forgotten.
    most_live: usize,
    /// Progress of each warp, in sectors brought into L1, from `origin` on: see [`Slot::load`].
    clocks: [u32; WARPS],
    /// The clocks at the start of the current block, which are behind those of earlier ones.
    origin: u32,
    /// True if a warp of the current block has loaded through L1.
    loaded: bool,
    /// See [`L1::share`](super::l1::L1::share).
    share: u32,
    /// Of the current block.
    spilled: Spilled,
    /// Counts of all loads through L1, of all blocks.
    pub(super) tally: Tally,
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
            clocks: [FIRST_ORIGIN; WARPS],
            origin: FIRST_ORIGIN,
            loaded: false,
            share,
            spilled: Spilled::default(),
            tally: Tally::default(),
        };
        new.resize(FEWEST_SLOTS);
        new
    }

    fn resize(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        self.shift = 32 - slots.trailing_zeros();
    }

    /// Returns the slot in which a group is looked for first.
    #[inline(always)]
    fn home(&self, index: u64) -> usize {
        (((index ^ index >> 32) as u32).wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    /// Fetches the slot of an address's group into the host's innermost cache.
    #[inline(always)]
    pub(super) fn fetch(&self, address: u64) {
        self.fetch_slot(self.home(address >> GROUP_SHIFT));
    }

    #[inline(always)]
    fn fetch_slot(&self, at: usize) {
        prefetch::to_l1(self.slots.as_ptr().wrapping_add(at) as u64);
    }

    /// Returns true if the current block has touched the group of a slot.
    #[inline(always)]
    fn has_touched(&self, slot: &Slot) -> bool {
        (slot.time >= self.origin) | (slot.block == self.block)
    }

    /// Returns the slot of a group for a load through L1, a new one if needed. `hint` is the slot in which it probably is,
    /// and becomes the one in which it is.
    #[inline(always)]
    fn loaded_near(&mut self, hint: &mut u32, index: u64, list: &mut Vec<Group>) -> &mut Slot {
        let known = self.slots.get(*hint as usize);
        if known.is_none_or(|slot| slot.index != index || slot.time < self.origin) {
            *hint = self.find_loaded(index, list);
        }
        &mut self.slots[*hint as usize]
    }

    /// Does the same for an access past L1.
    #[inline(always)]
    fn accessed_near(&mut self, hint: &mut u32, index: u64, list: &mut Vec<Group>) -> &mut Slot {
        let known = self.slots.get(*hint as usize);
        if known.is_none_or(|slot| slot.index != index || slot.block != self.block) {
            *hint = self.find_accessed(index, list);
        }
        &mut self.slots[*hint as usize]
    }

    #[inline(never)]
    fn find_loaded(&mut self, index: u64, list: &mut Vec<Group>) -> u32 {
        let at = self.find_slot(index, list);
        self.slots[at].begin_loads(self.origin);
        at as u32
    }

    #[inline(never)]
    fn find_accessed(&mut self, index: u64, list: &mut Vec<Group>) -> u32 {
        let at = self.find_slot(index, list);
        self.slots[at].begin_accesses(self.block);
        at as u32
    }

    /// Returns the place of a group's slot, a new one if needed, and counts it as touched by the current block.
    #[inline(always)]
    fn find_slot(&mut self, index: u64, list: &mut Vec<Group>) -> usize {
        let mut at = self.find(index);
        let is_new = !self.has_touched(&self.slots[at]);
        if self.live >= self.most_live && is_new && self.is_full() {
            at = self.forget(index, list);
        }
        self.live += usize::from(is_new);
        at
    }

    /// Counts the groups that the current block has touched, and returns true if some have to be forgotten.
    #[cold]
    fn is_full(&mut self) -> bool {
        self.live = self.occupied.iter().filter(|&&at| self.has_touched(&self.slots[at as usize])).count();
        self.live >= self.most_live
    }

    /// Returns the place of a group's slot, a new one if it has none.
    #[inline(always)]
    fn find(&mut self, index: u64) -> usize {
        let mut at = place_of(&self.slots, self.home(index), index);
        if self.slots[at].index == index {
            return at;
        }
        if (self.occupied.len() + 1) * 2 > self.slots.len() {
            self.grow();
            at = self.free_slot(index);
        }
        self.insert(index, at);
        at
    }

    /// Puts a group that no block has touched into a free slot.
    #[inline(always)]
    fn insert(&mut self, index: u64, at: usize) {
        self.occupied.push(at as u32);
        self.slots[at] = Slot::new(index, self.block);
    }

    /// Doubles the table.
    #[cold]
    fn grow(&mut self) {
        let kept: Vec<Slot> = self.occupied.iter().map(|&at| self.slots[at as usize]).collect();
        self.fill(2 * self.slots.len(), kept);
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
            let in_l1 = slot.time >= self.origin && slot.cached != 0 && clock.abs_diff(slot.time) < share;
            if in_l1 {
                kept.push(slot);
            }
        }
        self.live = kept.len();
        while (self.live + 1) * 2 > self.most_live {
            self.most_live *= 2;
        }
        kept.push(Slot::new(index, self.block));
        self.fill(self.slots.len(), kept);
        self.occupied[self.occupied.len() - 1] as usize
    }

    fn free_slot(&self, index: u64) -> usize {
        place_of(&self.slots, self.home(index), index)
    }

    /// Makes room for the groups of a request, so that the table does not grow meanwhile. Returns false if some might have to
    /// be [forgotten](Self::forget).
    #[inline(always)]
    pub(super) fn reserve(&mut self) -> bool {
        if (self.occupied.len() + LANES) * 2 > self.slots.len() {
            self.grow();
        }
        self.live + LANES <= self.most_live || self.has_room()
    }

    #[cold]
    fn has_room(&mut self) -> bool {
        !self.is_full() && self.live + LANES <= self.most_live
    }

    /// Returns the slots in which a request's groups are looked for first, and fetches them.
    #[inline(always)]
    fn homes(&self, takes: &Takes) -> [u32; LANES] {
        let mut homes = [0; LANES];
        for (home, &group) in homes.iter_mut().zip(&takes.groups) {
            *home = self.home(group) as u32;
        }
        homes.iter().for_each(|&home| self.fetch_slot(home as usize));
        homes
    }

    /// Loads from the groups of a request through L1, in their order, and returns how many sectors miss. There is [room](Self::reserve)
    /// for them.
    ///
    /// The lanes' own data are fetched into the host's caches meanwhile, one line with each group: [all at once](prefetch::to_l1) would
    /// wait.
    #[inline(always)]
    pub(super) fn load_all(&mut self, clock: &mut u32, takes: &Takes, addresses: &Addresses) -> u32 {
        let homes = self.homes(takes);
        let (origin, share) = (self.origin, self.share);
        let Self { slots, occupied, block, .. } = self;
        let (slots, block) = (slots.as_mut_slice(), *block);
        let mut tally = Tally::default();
        let mut now = *clock;
        let (mut missed, mut new) = (0, 0);
        let count = takes.count.min(LANES);
        for lane in 0..count {
            prefetch::to_l2(addresses[lane]);
            let (index, sectors) = (takes.groups[lane], takes.sectors[lane]);
            let at = place_of(slots, homes[lane] as usize, index);
            let slot = &mut slots[at];
            if slot.index == FREE {
                // All miss, as if the slot were stale.
                let all = sectors.count_ones();
                now = now.saturating_add(all);
                missed += all;
                new += 1;
                *slot = Slot { cached: sectors, time: now, read: sectors, ..Slot::new(index, block) };
                occupied.push(at as u32);
            } else {
                new += u32::from(slot.time < origin);
                let (clock, of_group) = slot.load_scattered(now, sectors, (origin, share), &mut tally);
                now = clock;
                missed += of_group;
            }
        }
        addresses[count..].iter().copied().for_each(prefetch::to_l2);
        self.live += new as usize;
        self.count(tally, missed);
        *clock = now;
        missed
    }

    /// Accesses the groups of a request past L1, in their order. Returns how many sectors the block has written before. There is
    /// [room](Self::reserve) for them.
    #[inline(always)]
    pub(super) fn access_all(&mut self, takes: &Takes, reads: bool, writes: bool) -> u32 {
        let homes = self.homes(takes);
        let Self { slots, occupied, block, .. } = self;
        let (slots, block) = (slots.as_mut_slice(), *block);
        let (mut rewritten, mut new) = (0, 0);
        for ((&home, &index), &sectors) in
            homes.iter().zip(&takes.groups).zip(&takes.sectors).take(takes.count)
        {
            let at = place_of(slots, home as usize, index);
            let slot = &mut slots[at];
            if slot.index == FREE {
                *slot = Slot::new(index, block);
                occupied.push(at as u32);
            }
            new += u32::from(slot.block != block);
            slot.begin_accesses(block);
            rewritten += slot.access(sectors, reads, writes);
        }
        self.live += new as usize;
        let sectors = || takes.sectors[..takes.count].iter().map(|sectors| sectors.count_ones()).sum();
        self.stored(sectors, rewritten, [reads, writes]);
        rewritten
    }

    /// Loads sectors through L1 and returns how many miss: see [`Slot::load`].
    #[inline(always)]
    pub(super) fn load_cached(
        &mut self,
        clock: &mut u32,
        index: u64,
        sectors: u32,
        list: &mut Vec<Group>,
    ) -> u32 {
        let at = self.find_slot(index, list);
        let slot = &mut self.slots[at];
        slot.begin_loads(self.origin);
        let mut tally = Tally::default();
        let missed = slot.load(clock, sectors, self.share, &mut tally);
        self.count(tally, missed);
        missed
    }

    /// Counts look-ups of L1 in which `missed` sectors missed.
    #[inline(always)]
    fn count(&mut self, tally: Tally, missed: u32) {
        self.tally += tally;
        self.spilled.brought += u64::from(missed);
        if tally.far.any() {
            self.spilled.note(tally.far);
        }
    }

    /// Counts what is stored and was not before: stores take places in L1, atomics none.
    #[inline(always)]
    fn stored(&mut self, sectors: impl FnOnce() -> u32, rewritten: u32, [reads, writes]: [bool; 2]) {
        if writes && !reads {
            self.spilled.brought += u64::from(sectors() - rewritten);
        }
    }

    /// Accesses sectors past L1: see [`Slot::access`].
    #[inline(always)]
    pub(super) fn access(
        &mut self,
        index: u64,
        sectors: u32,
        [reads, writes]: [bool; 2],
        list: &mut Vec<Group>,
    ) -> u32 {
        let at = self.find_slot(index, list);
        let slot = &mut self.slots[at];
        slot.begin_accesses(self.block);
        let rewritten = slot.access(sectors, reads, writes);
        self.stored(|| sectors.count_ones(), rewritten, [reads, writes]);
        rewritten
    }

    /// Returns the clock of a warp.
    #[inline(always)]
    pub(super) fn clock(&mut self, warp: u32) -> &mut u32 {
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
        let mut tally = Tally::default();
        let slot = self.loaded_near(hint, index, list);
        let mut missed = slot.load(&mut clock, sectors as u32, share, &mut tally);
        if sectors >> 32 != 0 {
            let high = (sectors >> 32) as u32;
            missed += self.loaded_near(hint, index + 1, list).load(&mut clock, high, share, &mut tally);
        }
        self.count(tally, missed);
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
        let mut rewritten = self.accessed_near(hint, index, list).access(sectors as u32, reads, writes);
        if sectors >> 32 != 0 {
            let high = (sectors >> 32) as u32;
            rewritten += self.accessed_near(hint, index + 1, list).access(high, reads, writes);
        }
        self.stored(|| sectors.count_ones(), rewritten, [reads, writes]);
        rewritten
    }

    /// Returns the clock of the warp that has come farthest, from the block's beginning, if the block has loaded through L1.
    pub(super) fn clock_of_block(&self) -> Option<u32> {
        let last = || self.clocks.into_iter().fold(self.origin, u32::max);
        self.loaded.then(|| last() - self.origin)
    }

    /// Enters the counts of a block that repeats an earlier one: its groups, its look-ups and its [clock](Self::clock_of_block).
    #[inline(always)]
    pub(super) fn enter(&mut self, groups: impl Iterator<Item = Group>, tally: Tally, clock: Option<u32>) {
        for Group { index, read, written } in groups {
            let at = self.find(index);
            let slot = &mut self.slots[at];
            slot.read |= read & !slot.written;
            slot.written |= written;
        }
        self.tally += tally;
        if let Some(clock) = clock {
            self.loaded = true;
            self.clocks[0] = self.origin + clock;
        }
    }

    /// Ends the block. If `alone`, its groups are not merged with those of later blocks.
    pub(super) fn end_block(&mut self, alone: bool, list: &mut Vec<Group>) {
        self.block = self.block.wrapping_add(1);
        self.live = 0;
        self.most_live = MOST_GROUPS;
        let mut is_over = alone || self.occupied.len() > MOST_KEPT;
        if let Some(clock) = self.clock_of_block() {
            self.loaded = false;
            self.tally.spilled += self.spilled.end_block(clock);
            let last = self.origin + clock;
            is_over |= last >= LAST_ORIGIN;
            self.origin = if last < LAST_ORIGIN { last + 1 } else { FIRST_ORIGIN };
            self.clocks.fill(self.origin);
        }
        self.spilled = Spilled::default();
        if is_over {
            self.drain(list);
        }
    }

    /// Moves to the list what blocks have touched. Between blocks only.
    pub(super) fn drain(&mut self, list: &mut Vec<Group>) {
        list.reserve(self.occupied.len());
        for at in self.occupied.drain(..) {
            let slot = &mut self.slots[at as usize];
            push(list, slot);
            slot.index = FREE;
        }
        if self.slots.len() > 4 * MOST_GROUPS {
            self.resize(FEWEST_SLOTS);
        }
    }
}

/// Returns the place of a group's slot, or of the free one for it, where `home` is looked at first.
#[inline(always)]
fn place_of(slots: &[Slot], home: usize, index: u64) -> usize {
    let found = slots[home].index;
    if found == index || found == FREE { home } else { place_behind(slots, home, index) }
}

/// Does the same where the home has another group.
#[inline(never)]
fn place_behind(slots: &[Slot], home: usize, index: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = (home + 1) & mask;
    while slots[at].index != index && slots[at].index != FREE {
        at = (at + 1) & mask;
    }
    at
}

#[inline(always)]
fn push(list: &mut Vec<Group>, slot: &Slot) {
    if slot.read | slot.written != 0 {
        list.push(Group { index: slot.index, read: slot.read, written: slot.written });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::distinct::Pieces;
    use crate::count::request::{AnyLanes, Groups};
    use crate::count::sinks::CachedLoads;
    use crate::decode::Level;

    const SHARE: u32 = 300;

    /// Loads of several blocks, at random addresses. Returns what misses, and the groups that go on to L2.
    fn loaded(
        mut memory: BlockMemory,
        load: impl Fn(&mut CachedLoads<'_>, &AnyLanes<'_>),
    ) -> (Vec<u32>, Vec<Group>) {
        let (mut list, mut missed, mut seed) = (Vec::new(), Vec::new(), 1_u32);
        for block in 0..12 {
            for request in 0..150 {
                let addresses = [(); LANES].map(|()| {
                    seed = seed.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
                    u64::from(seed >> 8) % (1 << (10 + block % 4 * 3))
                });
                let pieces = Pieces::of(&addresses, u32::MAX, Level::detect());
                let mut loads = CachedLoads::new(&mut memory, &mut list, request % 7, false);
                load(&mut loads, &AnyLanes { addresses: &addresses, pieces });
                missed.push(loads.end());
            }
            memory.end_block(false, &mut list);
        }
        memory.drain(&mut list);
        list.sort_unstable();
        (missed, list)
    }

    #[test]
    fn a_request_loads_as_its_groups_do_one_by_one() {
        let all = loaded(BlockMemory::new(SHARE), |loads, lanes| lanes.load(loads));
        assert_eq!(all, loaded(BlockMemory::new(SHARE), |loads, lanes| lanes.each(loads)));
    }

    #[test]
    fn clocks_start_again_unnoticed() {
        let fresh = loaded(BlockMemory::new(SHARE), |loads, lanes| lanes.load(loads));
        // At the end of the first block, or of one of the next.
        for before in [1, 3 * 150 * 32] {
            let mut memory = BlockMemory::new(SHARE);
            memory.origin = LAST_ORIGIN - before;
            memory.clocks = [memory.origin; WARPS];
            let late = loaded(memory, |loads, lanes| lanes.load(loads));
            assert_eq!(late.0, fresh.0);
        }
    }
}
