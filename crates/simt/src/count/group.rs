//! Groups of 32 sectors: which of them a block has in L1, and which it has read and written.
//!
//! L1 is modelled by clocks. Each warp has one, which counts the sectors that it has brought in; a group has the time at
//! which it was loaded last. Once a warp has brought in as many sectors since then as a block has of L1, its *share*, the
//! group is no longer there. The field's name for this is an LRU stack distance, taken here from the number of
//! misses in between.
//!
//! For example, with a share of 1000 sectors, warp 0 loads a group at time 0 (4 of 32 sectors, its clock goes to 4) and again at
//! time 900: all 4 hit, and the group's time becomes 904, as if they had missed. At time 1904 they miss. A warp 1 that has only come to 10
//! by then and loads the same group hits too, because the distance is taken either way, and goes on from the group's time: it
//! runs beside warp 0 on a card, and is behind only because the simulator executes it later.
//!
//! A clock knows nothing of what other warps bring in meanwhile, or of what is stored, which takes places in L1 as well. So hits far
//! behind are [set apart](Tally::far), and at the end of the block those count as spilled that L1 had no room for
//! ([`spilled`](super::spilled)).

use super::hidden::hidden;
use super::spilled::{self, Far};
use std::hint::select_unpredictable;
use std::ops::AddAssign;

/// Log2 of the bytes of a group, the unit of the table: 32 sectors, one bit each in a mask.
pub(super) const GROUP_SHIFT: u32 = 10;

/// Most sectors of a group that a request wants whose lanes are side by side: two lines.
const WALK: u32 = 8;

/// The index of a slot without a group.
pub(super) const FREE: u64 = u64::MAX;

/// Returns the lines of a mask of a group's sectors, one bit each, at the line's lowest sector.
#[inline(always)]
pub(super) fn lines_of(sectors: u32) -> u32 {
    let pairs = sectors | sectors >> 1;
    (pairs | pairs >> 2) & 0x1111_1111
}

/// Returns all sectors of the lines of a mask of sectors.
#[inline(always)]
pub(super) fn whole_lines(sectors: u32) -> u32 {
    lines_of(sectors) * 15
}

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

/// A group in the table.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Slot {
    /// Sectors in L1, as of `time`.
    pub(super) cached: u32,
    /// When a block last loaded the group through L1; before [`BlockMemory`](super::block::BlockMemory)'s origin if that was an earlier block.
    pub(super) time: u32,
    /// Sectors read and written since the table was drained.
    pub(super) read: u32,
    pub(super) written: u32,
    /// Sectors that a block has written.
    pub(super) own: u32,
    /// The block that last accessed the group past L1, by its number in the table's life.
    pub(super) block: u32,
    pub(super) index: u64,
}

/// Counts of what loads through L1 find no more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Sectors of groups that a block loads again after L1 has lost them.
    pub(super) lost: u64,
    /// Sectors that hit far behind, of this look-up.
    pub(super) far: Far,
    /// Sectors that hit here and would not beside other warps' data.
    pub(super) spilled: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.spilled += other.spilled;
    }
}

pub(super) const EMPTY: Slot =
    Slot { index: FREE, read: 0, written: 0, block: 0, own: 0, cached: 0, time: 0 };

impl Slot {
    /// Returns the slot of a group that no block has touched. `block` is the current one.
    #[inline(always)]
    pub(super) fn new(index: u64, block: u32) -> Self {
        Self { index, block: block.wrapping_sub(1), ..EMPTY }
    }

    /// Forgets what an earlier block loaded. Without branches: whether a block comes to a group for the first time cannot be
    /// predicted.
    #[inline(always)]
    pub(super) fn begin_loads(&mut self, origin: u32) {
        self.cached = select_unpredictable(self.time < origin, 0, self.cached);
        self.time = select_unpredictable(self.time < origin, origin, self.time);
    }

    /// Forgets what an earlier block wrote.
    #[inline(always)]
    pub(super) fn begin_accesses(&mut self, block: u32) {
        self.own = select_unpredictable(self.block == block, self.own, 0);
        self.block = block;
    }

    /// Loads sectors through L1 and returns how many miss. What an earlier block loaded has been forgotten.
    ///
    /// On a card the warps of a block run side by side, but here one may run far ahead of the next. So each warp has a
    /// clock of its own, which advances by the sectors that it misses, and to the time of the sectors that it hits. A
    /// warp that follows another one thus hits what that one loaded when it was at the same point.
    #[inline(always)]
    pub(super) fn load(&mut self, clock: &mut u32, sectors: u32, share: u32, tally: &mut Tally) -> u32 {
        // A branch, so that what follows need not wait for the clock.
        let distance = clock.abs_diff(self.time);
        if spilled::is_far(distance, share) && self.cached != 0 {
            *clock = look_far(self, *clock, sectors, (distance, share), tally);
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

    /// Does as [`Slot::begin_loads`] and [`Slot::load`] do, but branches only upon evictions and upon hits of what a faster
    /// warp has loaded. This is for scattered requests, of which nothing else can be predicted. Returns the warp's clock behind it and
    /// the sectors that missed.
    #[inline(always)]
    pub(super) fn load_scattered(
        &mut self,
        mut clock: u32,
        sectors: u32,
        (origin, share): (u32, u32),
        tally: &mut Tally,
    ) -> (u32, u32) {
        let is_stale = self.time < origin;
        let distance = clock.abs_diff(select_unpredictable(is_stale, clock, self.time));
        if spilled::is_far(distance, share) {
            clock = look_far(self, clock, sectors, (distance, share), tally);
        }
        let cached = select_unpredictable(is_stale, 0, self.cached);
        let missed = sectors & !cached;
        let since = hidden(u64::from(select_unpredictable(missed == sectors, 0, self.time))) as u32;
        let count = missed.count_ones();
        let now = since.max(clock).saturating_add(count);
        self.cached = cached | sectors;
        self.read |= missed & !self.written;
        self.time = now;
        (now, count)
    }

    /// Accesses sectors past L1 and returns how many of them the block has written before. Those are not read from
    /// memory. What an earlier block wrote has been forgotten.
    #[inline(always)]
    pub(super) fn access(&mut self, sectors: u32, reads: bool, writes: bool) -> u32 {
        let rewritten = (self.own & sectors).count_ones();
        self.read |= if reads { sectors & !self.written } else { 0 };
        let written = if writes { sectors } else { 0 };
        self.written |= written;
        self.own |= written;
        rewritten
    }
}

/// Looks up these sectors of a group that was loaded long ago, which beyond the share L1 has lost. Returns the warp's clock.
///
/// Where a warp walks through data again, all that it comes to lies as far behind as the whole is long, which takes a clock that goes on.
/// A group has one time for all its sectors, which is new after this, so that the request for the lowest of them stands for all.
#[cold]
#[inline(never)]
fn look_far(
    slot: &mut Slot,
    clock: u32,
    sectors: u32,
    (distance, share): (u32, u32),
    tally: &mut Tally,
) -> u32 {
    let cached = slot.cached;
    let is_walk = sectors & sectors >> 1 & sectors >> 2 & sectors >> 3 != 0 && sectors.count_ones() <= WALK;
    let counted = match (is_walk, sectors & cached & cached.wrapping_neg() != 0) {
        (true, true) => cached.count_ones(),
        (true, false) => 0,
        (false, _) => (cached & sectors).count_ones(),
    };
    if distance >= share {
        slot.cached = 0;
        tally.lost += u64::from(counted);
    } else if clock > slot.time {
        tally.far.note(distance, share, counted);
        return clock.saturating_add(if is_walk { counted } else { 0 });
    }
    clock
}
