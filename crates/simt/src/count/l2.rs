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
//! A dirty sector counts as one write to device memory per stay in L2, when it becomes dirty. Pages of device memory
//! count once per *page window*, which lasts until as much has come in as the cache holds.

use super::block::{GROUP_SHIFT, Group};
use super::ticks::{self, Portable, Ticks};
use crate::cards::Card;
use crate::decode::Level;
use counters::DramCounts;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Groups per region, the unit in which state is allocated: 2 MiB.
const REGION_GROUPS: usize = 1 << 11;
const REGION_SHIFT: u32 = REGION_GROUPS.trailing_zeros();

/// Ticks in which the cache's size is touched, as a rule.
const TICKS: u64 = 4096;

/// Regions found without a look-up in the map: 512 MiB, as a rule.
const RECENT: usize = 256;
const NONE: (u64, u32) = (u64::MAX, 0);

/// Groups that are looked up before they are touched.
const AHEAD: usize = 16;

/// Classes of lines by the capacity that they find.
const CLASSES: usize = 4;

/// Ticks after which the classes' horizons are found again.
const HORIZON_TICKS: u32 = 32;

/// Copies of a line in an L2 of two halves, on average: a multiprocessor keeps in its own half what has its home in the other,
/// so half of the lines are there twice.
const COPIES: f64 = 1.5;

/// Returns the bytes after which a line of a class has left the cache.
///
/// The cache is not one list: lines meet in sets, some of which are fuller than others. Around the mean the capacities of the
/// four classes lie evenly from 0.7 to 1.3, so that hits become fewer gradually as a footprint grows past the cache. So it is
/// modelled where L2 is made of two halves, each beside half of the multiprocessors; on other cards all classes are alike.
fn capacity(card: &Card, class: usize) -> u64 {
    if !has_halves(card) {
        return card.l2_bytes;
    }
    (card.l2_bytes as f64 * (0.7 + 0.2 * class as f64) / COPIES) as u64
}

/// Returns true for a card whose L2 has two halves: A100, H100, H200 and B200.
fn has_halves(card: &Card) -> bool {
    matches!((card.compute_capability.major, card.compute_capability.minor), (8..=10, 0))
}

/// Returns the class of a group's lines, by a hash of its number (Fibonacci hashing).
#[inline(always)]
fn class_of(group: u64) -> usize {
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize
}

/// A mask with one bit for each line of a group, at its lowest sector.
const LINES: u32 = 0x1111_1111;

/// State of 32 sectors in L2. It fills a line of the host's cache, since a random access misses it for each.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct State {
    /// Tick of each line's last access; 0 if there was none.
    touched: [u32; 8],
    /// Sectors fetched from memory during this stay.
    fetched: u32,
    /// Sectors written during this stay, which are written back at its end.
    dirty: u32,
    /// Pages open for reads and for writes.
    pages: [Pages; 2],
}

/// Pages of a group that are open; if a page has several groups, the first one's is the page's.
#[derive(Clone, Copy, Default)]
struct Pages {
    /// The page window in which they were opened. In another one, none is open.
    window: u32,
    /// A bit for each page, at its lowest sector.
    open: u32,
}

struct Region {
    number: u64,
    groups: Vec<State>,
    last: u32,
}

/// State of a card's L2, which the next launch finds. A device keeps one and lends it to each launch's
/// [`CounterObservation`](super::CounterObservation).
///
/// A card of 1.x has no L2: its state holds nothing and serves to count each line and page once per window.
pub struct L2State {
    card: Card,
    regions: Vec<Region>,
    /// Index of each region by its number.
    places: HashMap<u64, u32>,
    /// The same for the regions accessed last.
    recent: [(u64, u32); RECENT],
    /// The current tick.
    now: u32,
    /// First tick whose lines may still be in the cache.
    horizon: u32,
    /// The same for each class of lines: lines of a class with a smaller capacity leave sooner.
    horizons: [u32; CLASSES],
    /// Bytes last touched in each tick from `horizon` to now.
    held: VecDeque<u64>,
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
        let page_shift = card.dram_page_bytes.trailing_zeros().min(REGION_SHIFT + GROUP_SHIFT);
        Self {
            card,
            regions: Vec::new(),
            places: HashMap::new(),
            recent: [NONE; RECENT],
            now: 1,
            horizon: 1,
            horizons: [1; CLASSES],
            held: VecDeque::from([0]),
            holds: 0,
            renewed: 0,
            brought: 0,
            unread: 0,
            horizons_at: 1,
            page_window: 1,
            page_window_start: 0,
            page_shift,
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
        self.index();
        self.held.clear();
        self.held.push_back(0);
        (self.holds, self.renewed) = (0, 0);
        (self.now, self.horizon, self.brought, self.page_window_start) = (1, 1, 0, 0);
        (self.horizons, self.horizons_at) = ([1; CLASSES], 1);
    }

    /// Evicts freed memory, in whole groups of 1 KiB, so that new allocations there do not hit.
    pub fn forget(&mut self, range: Range<u64>) {
        let (mut group, end) = (range.start >> GROUP_SHIFT, range.end.div_ceil(1 << GROUP_SHIFT));
        while group < end {
            let next = ((group >> REGION_SHIFT) + 1) << REGION_SHIFT;
            if let Some(&place) = self.places.get(&(group >> REGION_SHIFT)) {
                let region = &mut self.regions[place as usize];
                for group in group..next.min(end) {
                    let state = &mut region.groups[group as usize % REGION_GROUPS];
                    for (line, touched) in state.touched.iter_mut().enumerate() {
                        if *touched >= self.horizon {
                            let bytes = bytes_of((state.fetched | state.dirty) & 0xF << (4 * line));
                            self.held[(*touched - self.horizon) as usize] -= bytes;
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
        let horizon = self.horizon;
        let before = self.regions.len();
        self.regions.retain(|region| region.last >= horizon);
        if self.regions.len() != before {
            self.index();
        }
    }

    /// Rebuilds the index of regions.
    fn index(&mut self) {
        self.recent = [NONE; RECENT];
        self.places = (0..).zip(&self.regions).map(|(place, region)| (region.number, place)).collect();
    }

    /// Returns the index of a region.
    #[inline(always)]
    fn region(&mut self, number: u64) -> usize {
        // The high bits differ between allocations.
        let way = (number ^ number >> 8 ^ number >> 13) as usize % RECENT;
        if self.recent[way].0 != number {
            self.recent[way] = (number, self.find_region(number));
        }
        self.recent[way].1 as usize
    }

    #[cold]
    fn find_region(&mut self, number: u64) -> u32 {
        *self.places.entry(number).or_insert_with(|| {
            self.regions.push(Region { number, groups: vec![State::default(); REGION_GROUPS], last: 0 });
            self.regions.len() as u32 - 1
        })
    }

    /// Ends a part, and with it the tick if enough has been touched in it. Evicts the oldest ticks beyond the cache's
    /// size.
    pub(super) fn end_part(&mut self) {
        if self.card.l2_bytes == 0 {
            return;
        }
        // If some lines stay long while others come and go, ticks become longer, so that few are kept.
        let ticks = self.held.len() as u64;
        if self.renewed > self.card.l2_bytes / TICKS * (ticks / TICKS).max(1) {
            self.tick();
        }
        let most = capacity(&self.card, CLASSES - 1);
        while self.held.len() > 1 && (self.holds > most || self.held[0] == 0) {
            self.holds -= self.held.pop_front().unwrap_or(0);
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
        for (tick, bytes) in (self.horizon..self.now + 1).zip(&self.held).rev() {
            sum += bytes;
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
        self.held.push_back(0);
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
        self.touch_with::<ticks::Avx2>(groups, read, written);
    }

    #[inline(always)]
    fn touch_with<T: Ticks>(&mut self, groups: &[Group], read: &mut DramCounts, written: &mut DramCounts) {
        match self.card.dram_granule_bytes {
            32 => self.touch_by::<T, 32>(groups, read, written),
            64 => self.touch_by::<T, 64>(groups, read, written),
            _ => self.touch_by::<T, 128>(groups, read, written),
        }
    }

    /// Looks up the regions of some groups and fetches their state into the host's cache before it is needed.
    #[inline(always)]
    fn touch_by<T: Ticks, const GRANULE: u32>(
        &mut self,
        groups: &[Group],
        read: &mut DramCounts,
        written: &mut DramCounts,
    ) {
        let mut sums = Sums::default();
        let mut regions = [0; AHEAD];
        let ahead = groups.len().min(AHEAD);
        for (region, group) in regions.iter_mut().zip(&groups[..ahead]) {
            *region = self.look_up::<T>(group);
        }
        for (at, &group) in groups.iter().enumerate() {
            let region = regions[at % AHEAD];
            if let Some(later) = groups.get(at + AHEAD) {
                regions[at % AHEAD] = self.look_up::<T>(later);
            }
            self.touch_group::<T, GRANULE>(region, group, &mut sums);
        }
        for (total, sum) in [(read, sums.read), (written, sums.written)] {
            total.granules += sum.granules;
            total.lines += sum.lines;
            total.pages += sum.pages;
        }
        self.brought += sums.new;
        self.unread += sums.unread;
        if self.card.l2_bytes > 0 {
            *newest(&mut self.held) += sums.renewed + sums.new;
            self.holds += sums.new;
            self.renewed += sums.renewed + sums.new;
        }
    }

    /// Returns the index of a group's region, after a fetch of the group's state.
    #[inline(always)]
    fn look_up<T: Ticks>(&mut self, group: &Group) -> usize {
        let region = self.region(group.index >> REGION_SHIFT);
        let place = group.index as usize % REGION_GROUPS;
        T::fetch(&self.regions[region].groups[place]);
        region
    }

    #[inline(always)]
    fn touch_group<T: Ticks, const GRANULE: u32>(&mut self, region: usize, group: Group, sums: &mut Sums) {
        let (page_shift, window) = (self.page_shift, self.page_window);
        let region = &mut self.regions[region];
        region.last = self.now;
        let place = group.index as usize % REGION_GROUPS;
        let page = first_group(place, page_shift);
        let state = &mut region.groups[place];

        let lines = lines_of(group.read | group.written) * 15;
        let before = state.touched;
        let stays = !T::below(&before, self.horizons[class_of(group.index)]);
        let counted = !T::below(&before, self.horizon);
        T::set(&mut state.touched, lines, self.now);
        // What its class has lost is in the sums of the ticks still.
        let mut lost = (state.fetched | state.dirty) & counted & !stays;
        while lost != 0 {
            let tick = before[lost.trailing_zeros() as usize / 4];
            let alike = T::equal(&before, tick);
            self.held[(tick - self.horizon) as usize] -= bytes_of(lost & alike);
            self.holds -= bytes_of(lost & alike);
            lost &= !alike;
        }
        let (mut fetched, mut dirty) = (state.fetched & stays, state.dirty & stays);

        let mut present = fetched | dirty;
        let held_before = present;
        // Most groups that come in are new.
        if present & lines != 0 && self.card.l2_bytes > 0 {
            let mut renewed = present & lines & !T::equal(&before, self.now);
            sums.renewed += bytes_of(renewed);
            // Usually all lines were last touched in the same tick.
            while renewed != 0 {
                let tick = before[renewed.trailing_zeros() as usize / 4];
                let alike = T::equal(&before, tick);
                self.held[(tick - self.horizon) as usize] -= bytes_of(renewed & alike);
                renewed &= !alike;
            }
        }
        let missing = group.read & !present;
        let soiled = group.written & !dirty;
        if missing != 0 {
            let (granules, filled) = granules_of(missing, GRANULE);
            sums.read.granules += u64::from(granules.count_ones());
            sums.read.lines += u64::from((lines_of(missing) & !lines_of(fetched)).count_ones());
            fetched |= filled;
            present |= filled;
        }
        if soiled != 0 {
            sums.unread += u64::from((soiled & !fetched).count_ones());
            let before = granules_of(dirty, GRANULE).0;
            let granules = granules_of(soiled, GRANULE).0 & !before;
            sums.written.granules += u64::from(granules.count_ones());
            sums.written.lines += u64::from((lines_of(soiled) & !lines_of(dirty)).count_ones());
            dirty |= soiled;
            present |= soiled;
        }
        (state.fetched, state.dirty) = (fetched, dirty);
        sums.new += bytes_of(present & !held_before);

        let [read, written] = &mut region.groups[page].pages;
        if missing != 0 {
            sums.read.pages += read.open(missing, page_shift, window);
        }
        if soiled != 0 {
            sums.written.pages += written.open(soiled, page_shift, window);
        }
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

/// Returns the bytes of a mask of sectors.
#[inline(always)]
fn bytes_of(sectors: u32) -> u64 {
    32 * u64::from(sectors.count_ones())
}

/// Returns the bytes of the current tick, which is always in the list.
#[inline(always)]
fn newest(held: &mut VecDeque<u64>) -> &mut u64 {
    let last = held.len() - 1;
    &mut held[last]
}

/// Returns the lines of a mask of sectors, one bit each.
#[inline(always)]
fn lines_of(sectors: u32) -> u32 {
    let pairs = sectors | sectors >> 1;
    (pairs | pairs >> 2) & LINES
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

/// Returns the group that has the pages of another: itself, or the first of a page of several.
#[inline(always)]
fn first_group(group: usize, page_shift: u32) -> usize {
    let shift = page_shift.saturating_sub(GROUP_SHIFT);
    group >> shift << shift
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
