//! Models reuse in L2 and traffic of the device memory behind it, from launch to launch.
//!
//! The model is a fully associative LRU cache of lines, with a coarse clock. A *tick* of that clock is one or more
//! *parts*, which are groups of a few blocks; it ends once 1/4096 of the cache's size has been touched in it. All
//! accesses in a tick count as simultaneous, so the order in which workers execute the blocks of a part does not change
//! the counters. For each tick the model keeps the bytes last touched in it (`held`). When their sum exceeds the
//! cache's size, the oldest ticks are dropped, and `horizon` moves to the first that is left. A line hits if its last
//! tick is not before the horizon.
//!
//! For example, a cache that holds two lines of 128 bytes:
//!
//! ```text
//!             held by tick          state
//! tick 1      {1: 256}              lines A and B touched
//! tick 2      {1: 128, 2: 128}      A touched again: its bytes move from tick 1 to tick 2
//! tick 3      {2: 128, 3: 128}      C touched: 384 bytes exceed 256, so tick 1 is dropped, and with it B; horizon 2
//! tick 4      reads A: hit (last tick 2); reads B: miss (last tick 1), fetched from device memory
//! ```
//!
//! Where L2 is made of two halves, lines are of four classes with capacities of their own ([`halves`](super::halves)), and each
//! class has a horizon, which lies behind the common one. A line that its class has lost stays in the sums until it is touched
//! again or its tick is dropped.
//!
//! Most launches find nearly all that they touch, or nearly nothing. For the former there is a [short way](L2State::renew), which does no more
//! than move a group's bytes to the current tick, and ends at the first group of which a sector is missing or becomes dirty. It is tried
//! where nearly all of the last list was there. For the latter there is [another](L2State::bring), for groups of which no line is there. It
//! is tried for every group but a read of one line, which has [its own](L2State::read_line).
//!
//! A dirty sector counts as one write to device memory per stay in L2, when it becomes dirty. Pages of device memory
//! count once per *page window*, which lasts until as much has come in as the cache holds.

use super::ahead::Ahead;
use super::group::{GROUP_SHIFT, Group, lines_of, whole_lines};
use super::halves::{CLASSES, capacity, class_of};
use super::held::Held;
use super::hidden::hidden;
use super::regions::{Pages, REGION_BYTES_SHIFT, REGION_GROUPS, REGION_SHIFT, Regions, StateAt};
use super::ticks::{Portable, Ticks, Touched};
use crate::cards::Card;
use crate::coalescing::LINE_BYTES;
use crate::decode::Level;
use counters::DramCounts;
use std::hint::select_unpredictable;
use std::ops::Range;

/// Ticks in which the cache's size is touched, as a rule.
const TICKS: u64 = 4096;

/// The short way pays if at most one group in this many misses.
const UNLIKELY: usize = 8;

/// Ticks after which the classes' horizons are found again.
const HORIZON_TICKS: u32 = 32;

/// State of a card's L2, which the next launch finds. A device keeps one and lends it to each launch's
/// [`CounterObservation`](super::CounterObservation).
///
/// A card of 1.x has no L2: its state holds nothing and serves to count each line and page once per window.
pub struct L2State {
    card: Card,
    regions: Regions,
    /// The current tick.
    now: u32,
    /// First tick whose lines may still be in the cache.
    horizon: u32,
    /// The same for each class of lines: lines of a class with a smaller capacity leave sooner.
    horizons: [u32; CLASSES],
    /// Bytes last touched in each tick from `horizon` to now.
    held: Held,
    /// Sum of `held`: bytes in the cache.
    holds: u64,
    /// Bytes that moved to this tick or came in during it.
    renewed: u64,
    /// Bytes that have come into the cache.
    brought: u64,
    /// Sectors of this launch that were written without having been read.
    unread: u64,
    /// The tick in which the classes' horizons were found.
    horizons_at: u32,
    page_window: u32,
    /// Value of `brought` at the start of the page window.
    page_window_start: u64,
    page_shift: u32,
    /// True if nearly all groups that were touched last were there, so that it pays to branch upon it.
    mostly_hit: bool,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other computers have one level"))]
    level: Level,
}

impl std::fmt::Debug for L2State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("L2State")
            .field("card", &self.card.key)
            .field("bytes", &self.card.l2_bytes)
            .field("brought", &self.brought)
            .field("regions", &self.regions.len())
            .finish()
    }
}

impl L2State {
    /// Creates the empty L2 of a card.
    pub fn new(card: Card) -> Self {
        // Pages larger than a region are counted by regions; no card has them.
        let page_shift = card.dram_page_bytes.trailing_zeros().min(REGION_BYTES_SHIFT);
        Self {
            card,
            regions: Regions::new(),
            now: 1,
            horizon: 1,
            held: Held::new(),
            horizons: [1; CLASSES],
            holds: 0,
            renewed: 0,
            brought: 0,
            unread: 0,
            horizons_at: 1,
            page_window: 1,
            page_window_start: 0,
            page_shift,
            mostly_hit: false,
            level: Level::detect(),
        }
    }

    /// Returns the card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Empties the cache, as after unrelated work.
    pub fn clear(&mut self) {
        self.regions.clear();
        self.held = Held::new();
        (self.holds, self.renewed) = (0, 0);
        (self.now, self.horizon, self.brought, self.page_window_start) = (1, 1, 0, 0);
        (self.horizons, self.horizons_at) = ([1; CLASSES], 1);
    }

    /// Evicts memory, in whole groups of 1 KiB, so that what comes to be there does not hit. A card without L2 holds nothing.
    pub fn forget(&mut self, range: Range<u64>) {
        if self.card.l2_bytes == 0 {
            return;
        }
        let (mut group, end) = (range.start >> GROUP_SHIFT, range.end.div_ceil(1 << GROUP_SHIFT));
        while group < end {
            let next = ((group >> REGION_SHIFT) + 1) << REGION_SHIFT;
            if let Some(states) = self.regions.region(group >> REGION_SHIFT) {
                for group in group..next.min(end) {
                    let state = &mut states[group as usize % REGION_GROUPS];
                    for (line, touched) in state.touched.iter_mut().enumerate() {
                        if *touched >= self.horizon {
                            let bytes = bytes_of((state.fetched | state.dirty) & 0xF << (4 * line));
                            *self.held.at(*touched) -= bytes;
                            self.holds -= bytes;
                        }
                        *touched = 0;
                    }
                }
            }
            group = next;
        }
    }

    /// Returns the sectors that became dirty in this launch without having been read during their stay.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// Begins a launch with a new page window.
    pub(super) fn begin_launch(&mut self) {
        self.unread = 0;
        if self.card.l2_bytes == 0 || self.now > u32::MAX / 2 {
            self.clear();
        }
        self.end_page_window();
    }

    /// Ends a launch and drops the state of regions without lines in the cache.
    pub(super) fn end_launch(&mut self) {
        self.end_part();
        self.regions.drop_before(self.horizon);
    }

    /// Ends a part, and with it the tick if enough has been touched in it. Evicts the oldest ticks beyond the cache's
    /// size.
    pub(super) fn end_part(&mut self) {
        if self.card.l2_bytes == 0 {
            return;
        }
        // If some lines stay long while others come and go, ticks become longer, so that few are kept.
        let ticks = u64::from(self.now - self.horizon) + 1;
        if self.renewed > self.card.l2_bytes / TICKS * (ticks / TICKS).max(1) {
            self.tick();
        }
        let most = capacity(&self.card, CLASSES - 1);
        while self.horizon < self.now {
            let oldest = *self.held.at(self.horizon);
            if self.holds <= most && oldest != 0 {
                break;
            }
            self.holds -= oldest;
            self.horizon += 1;
        }
        if self.now - self.horizons_at >= HORIZON_TICKS {
            self.find_horizons();
        }
        self.horizons = self.horizons.map(|horizon| horizon.max(self.horizon));
        // A DRAM page has been closed by then, for every block, those that stay resident throughout included.
        if self.brought - self.page_window_start >= self.card.l2_bytes {
            self.end_page_window();
        }
    }

    /// Finds how far back the lines of each class stay: as far as all lines touched since then fit into its capacity.
    fn find_horizons(&mut self) {
        self.horizons_at = self.now;
        let mut class = 0;
        let mut sum = 0;
        for tick in (self.horizon..self.now + 1).rev() {
            sum += *self.held.at(tick);
            while class < CLASSES && sum > capacity(&self.card, class) {
                // The newest tick stays in any case.
                self.horizons[class] = (tick + 1).min(self.now);
                class += 1;
            }
        }
        self.horizons[class..].fill(self.horizon);
    }

    fn tick(&mut self) {
        if self.now == u32::MAX {
            // This takes terabytes in one launch, and costs no more than another cold start.
            self.clear();
        }
        self.now += 1;
        self.held.begin(self.now, self.horizon);
        self.renewed = 0;
    }

    /// Ends a window of resident blocks. Without an L2, the next window reads everything again.
    pub(super) fn end_resident_window(&mut self) {
        if self.card.l2_bytes == 0 {
            self.end_page_window();
        }
    }

    fn end_page_window(&mut self) {
        self.page_window = self.page_window.wrapping_add(1);
        self.page_window_start = self.brought;
        if self.card.l2_bytes == 0 {
            // Without an L2, nothing stays.
            self.now += 1;
            self.horizon = self.now;
            self.horizons = [self.now; CLASSES];
        }
    }

    /// Accesses groups of sectors, and adds the resulting reads and writes of device memory.
    pub(super) fn touch(&mut self, groups: &[Group], read: &mut DramCounts, written: &mut DramCounts) {
        #[cfg(target_arch = "x86_64")]
        if self.level == Level::Avx2 {
            // SAFETY: this level is set only where the computer supports it.
            unsafe { self.touch_avx2(groups, read, written) };
            return;
        }
        self.touch_with::<Portable>(groups, read, written);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn touch_avx2(&mut self, groups: &[Group], read: &mut DramCounts, written: &mut DramCounts) {
        self.touch_with::<super::ticks::Avx2>(groups, read, written);
    }

    #[inline(always)]
    fn touch_with<T: Ticks>(&mut self, groups: &[Group], read: &mut DramCounts, written: &mut DramCounts) {
        match self.card.dram_granule_bytes {
            32 => self.touch_by::<T, 32>(groups, read, written),
            64 => self.touch_by::<T, 64>(groups, read, written),
            _ => self.touch_by::<T, 128>(groups, read, written),
        }
    }

    /// Accesses groups, whose states are found and fetched into the host's cache ahead.
    #[inline(always)]
    fn touch_by<T: Ticks, const GRANULE: u32>(
        &mut self,
        groups: &[Group],
        read: &mut DramCounts,
        written: &mut DramCounts,
    ) {
        let mut sums = Sums::default();
        let has_small_pages = self.page_shift <= GROUP_SHIFT && self.card.l2_bytes > 0;
        let mut hits = 0;
        let mut ahead = Ahead::new(groups, &mut self.regions, self.now);
        let mut at = 0;
        while at < groups.len() {
            if self.mostly_hit {
                let renewed = self.renew::<T>(&mut ahead, at, &mut sums);
                hits += renewed;
                at += renewed;
                if at == groups.len() {
                    break;
                }
            }
            let (place, group) = (ahead.place(at), groups[at]);
            ahead.pass(at, &mut self.regions, self.now);
            at += 1;
            let line = line_of(group.read);
            if has_small_pages && group.written == 0 && are_of(line, group.read) {
                hits += self.read_line::<GRANULE>(place, group, line, &mut sums);
            } else if !has_small_pages || !self.bring::<T, GRANULE>(place, group, &mut sums) {
                hits += self.touch_group::<T, GRANULE>(place, group, &mut sums);
            }
        }
        if !groups.is_empty() {
            self.mostly_hit = has_small_pages && (groups.len() - hits) * UNLIKELY <= groups.len();
        }
        self.add(&sums, read, written);
    }

    /// Adds the sums of one call to the counters and to the state.
    fn add(&mut self, sums: &Sums, read: &mut DramCounts, written: &mut DramCounts) {
        for (total, sum) in [(read, &sums.read), (written, &sums.written)] {
            total.granules += sum.granules;
            total.lines += sum.lines;
            total.pages += sum.pages;
        }
        self.brought += sums.new;
        self.unread += sums.unread;
        if self.card.l2_bytes > 0 {
            *self.held.at(self.now) += sums.renewed + sums.new;
            self.holds += sums.new;
            self.renewed += sums.renewed + sums.new;
        }
    }

    /// Renews the stay of groups, from an index up to the first group of which a sector misses or becomes dirty. Returns how many these are.
    ///
    /// It does as [`L2State::touch_group`] does, on a card with an L2 and with pages no larger than a group.
    #[inline(always)]
    fn renew<T: Ticks>(&mut self, ahead: &mut Ahead<'_>, from: usize, sums: &mut Sums) -> usize {
        let (now, horizons) = (self.now, self.horizons);
        // A line touched in this tick or later is there whatever its class is, which takes a hash to find.
        let latest = horizons.into_iter().fold(0, u32::max);
        let held = &mut self.held;
        let mut renewed = 0;
        let mut count = 0;
        for (at, group) in (from..).zip(&ahead.groups[from..]) {
            let place = ahead.place(at);
            // SAFETY: the place was found in this call of `touch`, which drops no region, and nothing else has the state meanwhile.
            let state = unsafe { place.state() };
            let horizon = || horizons[class_of(group.index)];
            if group.read & !(state.fetched | state.dirty) | group.written & !state.dirty != 0 {
                break;
            }
            let sectors = group.read | group.written;
            let first = line_of(sectors);
            let touched = &mut state.touched[first as usize];
            let tick = *touched;
            if are_of(first, sectors) {
                if tick < latest && tick < horizon() {
                    break;
                }
                *touched = now;
                let bytes = select_unpredictable(tick == now, 0, LINE_BYTES);
                *held.at(tick) -= bytes;
                renewed += bytes;
            } else {
                let before = state.touched;
                let lines = whole_lines(sectors);
                if T::below(&before, latest) & lines != 0 && T::below(&before, horizon()) & lines != 0 {
                    break;
                }
                T::set(&mut state.touched, lines, now);
                let moved = lines & !T::equal(&before, now);
                take_from(held, &before, moved, (tick, T::equal(&before, tick)));
                renewed += bytes_of(moved);
            }
            count += 1;
            ahead.pass(at, &mut self.regions, now);
        }
        sums.renewed += renewed;
        count
    }

    /// Does as [`L2State::touch_group`] does for sectors of one line that are read, on a card with an L2 and with pages no larger than
    /// a group: what a gather leaves, a group for each lane. Whether they are there cannot be predicted, so nothing branches upon it.
    /// Returns 1 if all sectors hit.
    #[inline(always)]
    fn read_line<const GRANULE: u32>(
        &mut self,
        place: StateAt,
        group: Group,
        line: u32,
        sums: &mut Sums,
    ) -> usize {
        let (now, oldest, page_shift, window) = (self.now, self.horizon, self.page_shift, self.page_window);
        let horizon = self.horizons[class_of(group.index)];
        // SAFETY: the place was found in this call of `touch`, which drops no region, and nothing else has the state meanwhile.
        let state = unsafe { place.state() };
        let sectors = 15 << (4 * line);
        let tick = std::mem::replace(&mut state.touched[line as usize], now);
        let stays = select_unpredictable(tick < horizon, !sectors, u32::MAX);
        let held = (state.fetched | state.dirty) & sectors;
        let held = select_unpredictable((tick < oldest) | (tick == now), 0, held);
        let moved = LINE_BYTES * hidden(u64::from(held != 0));
        let renewed = select_unpredictable(tick < horizon, 0, moved);
        let (fetched, dirty) = (state.fetched & stays, state.dirty & stays);
        let missing = group.read & !(fetched | dirty);
        let (granules, filled) = granules_of(missing, GRANULE);
        state.fetched = fetched | filled;
        state.dirty = dirty;
        let misses = hidden(u64::from(missing != 0));
        sums.read.granules += u64::from(granules.count_ones());
        sums.read.lines += misses & u64::from(fetched & sectors == 0);
        sums.read.pages += state.pages[0].open(missing, page_shift, window);
        sums.new += (misses & u64::from((fetched | dirty) & sectors == 0)) * LINE_BYTES;
        sums.renewed += renewed;
        *self.held.at(tick) -= moved;
        // What its class has lost was in the sums still.
        self.holds -= moved - renewed;
        (1 - misses) as usize
    }

    /// Brings in a group none of whose lines L2 counts any more. Returns false, and changes nothing, if it counts one.
    ///
    /// It does as [`L2State::touch_group`] does, on a card with an L2 and with pages no larger than a group. Lines from before the common
    /// horizon have no bytes in `held`, so there are none to move. A line that its class alone has lost still has, and takes the long way.
    /// In most launches either all groups are new or none is, so a branch is predicted.
    #[inline(always)]
    fn bring<T: Ticks, const GRANULE: u32>(&mut self, place: StateAt, group: Group, sums: &mut Sums) -> bool {
        // SAFETY: the place was found in this call of `touch`, which drops no region, and nothing else has the state meanwhile.
        let state = unsafe { place.state() };
        let lines = whole_lines(group.read | group.written);
        if lines & !T::below(&state.touched, self.horizon) != 0 {
            return false;
        }
        T::set(&mut state.touched, lines, self.now);
        let (granules, filled) = granules_of(group.read, GRANULE);
        state.fetched = state.fetched & !lines | filled;
        state.dirty = state.dirty & !lines | group.written;
        let [read, written] = &mut state.pages;
        sums.read.granules += u64::from(granules.count_ones());
        sums.read.lines += u64::from(lines_of(group.read).count_ones());
        sums.read.pages += read.open(group.read, self.page_shift, self.page_window);
        if group.written != 0 {
            sums.unread += u64::from((group.written & !filled).count_ones());
            sums.written.granules += u64::from(granules_of(group.written, GRANULE).0.count_ones());
            sums.written.lines += u64::from(lines_of(group.written).count_ones());
            sums.written.pages += written.open(group.written, self.page_shift, self.page_window);
        }
        sums.new += bytes_of(lines);
        true
    }

    /// Accesses a group. Returns 1 if all sectors hit, and none becomes dirty.
    #[inline(always)]
    fn touch_group<T: Ticks, const GRANULE: u32>(
        &mut self,
        place: StateAt,
        group: Group,
        sums: &mut Sums,
    ) -> usize {
        let (page_shift, window) = (self.page_shift, self.page_window);
        // SAFETY: the place was found in this call of `touch`, which drops no region, and nothing else has the state meanwhile.
        let state = unsafe { place.state() };

        let horizon = self.horizons[class_of(group.index)];
        let first_sectors = lines_of(group.read | group.written);
        let lines = first_sectors * 15;
        let has_l2 = u32::from(self.card.l2_bytes == 0).wrapping_sub(1);
        let held = (state.fetched | state.dirty) & lines & has_l2;
        let stays;
        if first_sectors & (first_sectors - 1) == 0 {
            let touched = &mut state.touched[first_sectors.trailing_zeros() as usize / 4];
            let tick = std::mem::replace(touched, self.now);
            stays = select_unpredictable(tick < horizon, !lines, u32::MAX);
            let counted = select_unpredictable(tick < self.horizon, 0, held);
            let moved = bytes_of(select_unpredictable(tick == self.now, 0, counted));
            let renewed = select_unpredictable(tick < horizon, 0, moved);
            *self.held.at(tick) -= moved;
            // What its class has lost was in the sums still.
            self.holds -= moved - renewed;
            sums.renewed += renewed;
        } else {
            let before = state.touched;
            stays = !(T::below(&before, horizon) & lines | T::below(&before, self.horizon));
            T::set(&mut state.touched, lines, self.now);
            let moved = held & !(T::below(&before, self.horizon) | T::equal(&before, self.now));
            let renewed = moved & stays;
            self.holds -= bytes_of(moved & !renewed);
            sums.renewed += bytes_of(renewed);
            let tick = before[first_sectors.trailing_zeros() as usize / 4];
            take_from(&mut self.held, &before, moved, (tick, T::equal(&before, tick)));
        }
        let (mut fetched, mut dirty) = (state.fetched & stays, state.dirty & stays);
        let mut present = fetched | dirty;
        let held_before = present;
        let missing = group.read & !present;
        let soiled = group.written & !dirty;
        // What may be nothing is counted all the same: whether it is cannot be predicted, but whether a group is read or
        // written.
        if group.read != 0 {
            let (granules, filled) = granules_of(missing, GRANULE);
            sums.read.granules += u64::from(granules.count_ones());
            sums.read.lines += u64::from((lines_of(missing) & !lines_of(fetched)).count_ones());
            fetched |= filled;
            present |= filled;
        }
        if group.written != 0 {
            sums.unread += u64::from((soiled & !fetched).count_ones());
            let before = granules_of(dirty, GRANULE).0;
            let granules = granules_of(soiled, GRANULE).0 & !before;
            sums.written.granules += u64::from(granules.count_ones());
            sums.written.lines += u64::from((lines_of(soiled) & !lines_of(dirty)).count_ones());
            dirty |= soiled;
            present |= soiled;
        }
        (state.fetched, state.dirty) = (fetched, dirty);
        sums.new += bytes_of(lines_of(present) & !lines_of(held_before));

        // Usually a group has several pages.
        let state = if page_shift <= GROUP_SHIFT {
            state
        } else {
            // SAFETY: it is in the same region, and the reference above is used no more.
            unsafe { place.first_of_page(page_shift).state() }
        };
        let [read, written] = &mut state.pages;
        if group.read != 0 {
            sums.read.pages += read.open(missing, page_shift, window);
        }
        if group.written != 0 {
            sums.written.pages += written.open(soiled, page_shift, window);
        }
        usize::from(missing | soiled == 0)
    }
}

/// Takes the bytes of some lines from the ticks in which they were last touched. Those with `of_tick` were last touched in `tick`, which are
/// usually all.
#[inline(always)]
fn take_from(held: &mut Held, touched: &Touched, mut moved: u32, (tick, of_tick): (u32, u32)) {
    *held.at(tick) -= bytes_of(moved & of_tick);
    moved &= !of_tick;
    while moved != 0 {
        let line = line_of(moved);
        *held.at(touched[line as usize]) -= bytes_of(moved & 15 << (4 * line));
        moved &= !(15 << (4 * line));
    }
}

/// What one call of [`L2State::touch`] adds up.
#[derive(Default)]
struct Sums {
    read: DramCounts,
    written: DramCounts,
    /// Bytes whose last tick was an earlier one.
    renewed: u64,
    /// Bytes that came in.
    new: u64,
    /// Sectors that were written without having been read.
    unread: u64,
}

/// Returns the bytes of the lines of which a mask has sectors: a line takes its whole place, even if one sector alone has come.
#[inline(always)]
fn bytes_of(sectors: u32) -> u64 {
    LINE_BYTES * u64::from(lines_of(sectors).count_ones())
}

/// Returns the line of the first sector of a mask.
#[inline(always)]
fn line_of(sectors: u32) -> u32 {
    sectors.trailing_zeros() / 4 % 8
}

/// Returns true if there are sectors, and all are of this line, which is the first that has any.
#[inline(always)]
fn are_of(line: u32, sectors: u32) -> bool {
    (sectors >> (4 * line)).wrapping_sub(1) < 15
}

/// Returns the granules of a mask of sectors, one bit each, and all sectors of these granules.
#[inline(always)]
fn granules_of(sectors: u32, granule_bytes: u32) -> (u32, u32) {
    match granule_bytes {
        32 => (sectors, sectors),
        64 => {
            let granules = (sectors | sectors >> 1) & 0x5555_5555;
            (granules, granules * 3)
        }
        _ => (lines_of(sectors), lines_of(sectors) * 15),
    }
}

impl Pages {
    /// Opens the pages of some sectors and returns how many are new in this page window.
    #[inline(always)]
    fn open(&mut self, sectors: u32, page_shift: u32, window: u32) -> u64 {
        let pages = pages_of(sectors, page_shift);
        let open = if self.window == window { self.open } else { 0 };
        *self = Self { window, open: open | pages };
        u64::from((pages & !open).count_ones())
    }
}

/// Returns the pages of a mask of sectors, one bit each, at the page's lowest sector.
#[inline(always)]
fn pages_of(sectors: u32, page_shift: u32) -> u32 {
    // Sectors of a page; all are one page's if it has a whole group.
    match 1_u32 << page_shift.min(GROUP_SHIFT) >> 5 {
        4 => lines_of(sectors),
        8 => {
            let pairs = lines_of(sectors);
            (pairs | pairs >> 4) & 0x0101_0101
        }
        16 => u32::from(sectors & 0xFFFF != 0) | u32::from(sectors >> 16 != 0) << 16,
        _ => u32::from(sectors != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of which most are read in one line, as those of a gather, and others written, read whole, or both.
    fn groups(seed: &mut u32, among: u64) -> Vec<Group> {
        let mut random = || {
            *seed = seed.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
            *seed >> 8
        };
        let group = |_| {
            let index = u64::from(random()) % among;
            let line = 15 << (random() % 8 * 4);
            let [some, kind] = [random(), random() % 60];
            let (read, written) = match kind {
                0 => (u32::MAX, 0),
                1 => (some, 0),
                2 => (0, line),
                3 => (line, some),
                4 => (line | line.rotate_left(4), 0),
                _ => (line & (1 << (some % 32) | line >> 2 | line << 3), 0),
            };
            Group { index, read, written }
        };
        (0..700).map(group).filter(|group| group.read | group.written != 0).collect()
    }

    /// Accesses groups as [`L2State::touch`] does, none of them by a short way.
    fn touch_long(state: &mut L2State, groups: &[Group], read: &mut DramCounts, written: &mut DramCounts) {
        let mut sums = Sums::default();
        for group in groups {
            let place = state.regions.find(group.index, state.now);
            let (group, sums) = (*group, &mut sums);
            match state.card.dram_granule_bytes {
                32 => state.touch_group::<Portable, 32>(place, group, sums),
                64 => state.touch_group::<Portable, 64>(place, group, sums),
                _ => state.touch_group::<Portable, 128>(place, group, sums),
            };
        }
        state.add(&sums, read, written);
    }

    /// Compares all ways on a card over 1200 lists. Returns how many of them were begun by the way for hits.
    fn compare_ways(card: &Card) -> u32 {
        let state = |level| L2State { level, ..L2State::new(card.clone()) };
        let [mut branching, mut portable, mut other, mut long] =
            [Level::detect(), Level::Portable, Level::detect(), Level::Portable].map(state);
        let (mut seed, mut branched) = (1, 0);
        for round in 0..1200_u32 {
            // All fit, then more than L2 holds, then few again.
            let among = [1024, 60_000, 512][round as usize / 400];
            let mut groups = groups(&mut seed, among);
            groups.truncate([700, 700, 700, 65, 64, 33, 32, 31, 1, 0][round as usize % 10]);
            branched += u32::from(branching.mostly_hit);
            other.mostly_hit = false;
            let states = [&mut branching, &mut portable, &mut other, &mut long];
            let mut touches = [L2State::touch, L2State::touch, L2State::touch, touch_long].into_iter();
            let counts = states.map(|state| {
                let (mut read, mut written) = (DramCounts::default(), DramCounts::default());
                let touch = touches.next().expect("one each");
                touch(state, &groups, &mut read, &mut written);
                state.end_part();
                if round % 100 == 99 {
                    state.forget(1000..700_000);
                    state.end_launch();
                    state.begin_launch();
                }
                let sums = [state.holds, state.brought, state.renewed, state.unread, state.now.into()];
                (read, written, sums, state.horizons)
            });
            assert!(counts.iter().all(|other| *other == counts[0]), "{} {round}: {counts:?}", card.name);
        }
        branched
    }

    #[test]
    fn short_ways_count_as_the_long_one_does() {
        // An L2 of two halves, and one that is whole.
        for key in ["h200", "v100"] {
            let card = crate::cards::find(key).expect("the card");
            for (dram_granule_bytes, dram_page_bytes) in [(32, 128), (64, 256), (128, 1024), (64, 4096)] {
                let card = Card { dram_granule_bytes, dram_page_bytes, l2_bytes: 12 << 20, ..card.clone() };
                let branched = compare_ways(&card);
                let has_short_ways = dram_page_bytes <= 1024;
                assert_eq!((200..1000).contains(&branched), has_short_ways, "{branched} of 1200 lists");
            }
        }
    }

    #[test]
    fn what_is_not_there_comes_in_by_a_short_way() {
        let mut state = L2State::new(crate::cards::find("h200").expect("the card"));
        let bring = |state: &mut L2State, read, written| {
            let place = state.regions.find(7, state.now);
            let mut sums = Sums::default();
            let came = state.bring::<Portable, 64>(place, Group { index: 7, read, written }, &mut sums);
            let new = sums.new;
            state.add(&sums, &mut DramCounts::default(), &mut DramCounts::default());
            (came, new, sums.read.granules, sums.written.granules)
        };
        // A sector of each of two lines, of which one is written as well.
        assert_eq!(bring(&mut state, 0x11, 0x1), (true, 256, 2, 1));
        // One of the two is there.
        assert_eq!(bring(&mut state, 0x110, 0), (false, 0, 0, 0));
        // What its class alone has lost is still in the sums.
        state.now = 10;
        state.horizons = [10; CLASSES];
        assert_eq!(bring(&mut state, 0x1, 0), (false, 0, 0, 0));
        // What was there is forgotten with its tick, dirty or not.
        state.horizon = 10;
        assert_eq!(bring(&mut state, 0x2, 0), (true, 128, 1, 0));
        let place = state.regions.find(7, 10);
        // SAFETY: it was just found.
        let found = unsafe { place.state() };
        assert_eq!((found.fetched & 0xF, found.dirty & 0xF, found.touched[0]), (0x3, 0, 10));
    }
}
