//! Stores the state of L2 by regions of 2 MiB, in huge pages of the host.
//!
//! A request's lanes may lie anywhere, so the state of a group is a random access for the host too. In pages of 4 KiB each
//! such access would also miss the host's TLB, which takes longer than the access itself. So states are allocated by
//! *chunks* of one huge page, each of which holds 16 regions. The memory of a region that is dropped serves the next new
//! one: what it holds is older than the horizon, which is the same as nothing.

use super::group::GROUP_SHIFT;
use super::ticks::Touched;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::HashMap;
use std::num::NonZero;
use std::ptr::NonNull;

/// Groups per region, the unit in which state is allocated: 2 MiB.
pub(super) const REGION_GROUPS: usize = 1 << 11;

/// Log2 of the groups of a region.
pub(super) const REGION_SHIFT: u32 = REGION_GROUPS.trailing_zeros();

/// Log2 of the bytes of a region.
pub(super) const REGION_BYTES_SHIFT: u32 = REGION_SHIFT + GROUP_SHIFT;

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// States of a chunk.
const CHUNK_STATES: usize = HUGE_PAGE / size_of::<State>();

/// Regions of a chunk.
const CHUNK_REGIONS: usize = CHUNK_STATES / REGION_GROUPS;

/// Chunks without regions that are kept for new ones: 64 MiB of the host's memory.
const SPARE_CHUNKS: usize = 32;

/// Regions found without a look-up in the map: 512 MiB, as a rule.
const RECENT: usize = 256;

/// State of 32 sectors in L2. It fills a line of the host's cache, since a random access misses it for each.
///
/// A line's sectors mean something only if its last tick is not before the horizon.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct State {
    /// Tick of each line's last access; 0 if there was none.
    pub(super) touched: Touched,
    /// Sectors fetched from memory during this stay.
    pub(super) fetched: u32,
    /// Sectors written during this stay, which are written back at its end.
    pub(super) dirty: u32,
    /// Pages open for reads and for writes.
    pub(super) pages: [Pages; 2],
}

/// Pages of a group that are open; if a page has several groups, the first one's is the page's.
#[derive(Clone, Copy, Default)]
pub(super) struct Pages {
    /// The page window in which they were opened. In another one, none is open.
    pub(super) window: u32,
    /// A bit for each page, at its lowest sector.
    pub(super) open: u32,
}

/// The memory of one huge page for states.
///
/// It is held by a pointer, so that places in it stay valid while its owner moves.
struct Chunk(NonNull<State>);

const _: () = assert!(
    size_of::<State>().is_power_of_two()
        && CHUNK_STATES * size_of::<State>() == HUGE_PAGE
        && CHUNK_STATES.is_multiple_of(REGION_GROUPS)
);

// SAFETY: a chunk owns its memory, as a box would.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    const LAYOUT: Layout = match Layout::from_size_align(HUGE_PAGE, HUGE_PAGE) {
        Ok(layout) => layout,
        Err(_) => panic!("a huge page is a power of two"),
    };

    /// Allocates states without accesses.
    fn new() -> Self {
        // SAFETY: the size is not 0.
        let memory = unsafe { alloc(Self::LAYOUT) };
        let states = NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(Self::LAYOUT));
        #[cfg(target_os = "linux")]
        // SAFETY: the memory is this chunk's own and whole pages; the advice changes no content, and a failure does not
        // matter.
        unsafe {
            libc::madvise(memory.cast(), HUGE_PAGE, libc::MADV_HUGEPAGE);
        }
        // SAFETY: the memory is as long, and states are made of numbers, for which all zeros are a value.
        unsafe { memory.write_bytes(0, HUGE_PAGE) };
        Self(states)
    }

    /// Returns where a state is.
    fn at(&self, index: usize) -> StateAt {
        assert!(index < CHUNK_STATES, "state {index} is not in a chunk");
        // SAFETY: the chunk has this many states.
        StateAt(unsafe { self.0.add(index) })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout, and is released once.
        unsafe { dealloc(self.0.as_ptr().cast(), Self::LAYOUT) };
    }
}

/// The states of all regions that have been accessed.
pub(super) struct Regions {
    /// Chunks by the place of their first region; `None` for memory that has been released.
    chunks: Vec<Option<Chunk>>,
    /// The last tick of each region by its place; `None` where there is none.
    last: Vec<Option<u32>>,
    /// Places of chunks without a region.
    free: Vec<u32>,
    /// Place of each region by its number.
    places: HashMap<u64, u32>,
    /// The regions accessed last.
    recent: [Recent; RECENT],
}

/// A region that was accessed lately.
#[derive(Clone, Copy)]
struct Recent {
    number: u64,
    place: u32,
    /// The tick that has been noted as its last one.
    tick: u32,
    /// Where its first group is.
    first: StateAt,
}

const NONE: Recent = Recent { number: u64::MAX, place: 0, tick: 0, first: StateAt::NONE };

// SAFETY: the pointers in `recent` are to states that `chunks` owns.
unsafe impl Send for Regions {}
// SAFETY: as above.
unsafe impl Sync for Regions {}

/// Where the state of a group is. It holds until regions are dropped.
#[derive(Clone, Copy)]
pub(super) struct StateAt(NonNull<State>);

impl StateAt {
    /// The place of no group.
    pub(super) const NONE: Self = Self(NonNull::dangling());

    /// Returns where the group is that has the pages of this one: itself, or the first of a page of several.
    #[inline(always)]
    pub(super) fn first_of_page(self, page_shift: u32) -> Self {
        // States lie side by side, those of a region from a multiple of their size on.
        let bytes = size_of::<State>() << page_shift.saturating_sub(GROUP_SHIFT);
        Self(self.0.map_addr(|at| NonZero::new(at.get() & !(bytes - 1)).unwrap_or(at)))
    }

    /// Returns the address in the host's memory.
    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        self.0.addr().get() as u64
    }

    /// Returns the state.
    ///
    /// # Safety
    ///
    /// The place comes from [`Regions::find`], or is the [first of the page](Self::first_of_page) of such a one. While the result is in
    /// use, no region is dropped, and nothing else refers to the state.
    #[inline(always)]
    pub(super) unsafe fn state<'a>(self) -> &'a mut State {
        // SAFETY: as above.
        unsafe { &mut *self.0.as_ptr() }
    }
}

impl Regions {
    pub(super) fn new() -> Self {
        Self {
            chunks: Vec::new(),
            last: Vec::new(),
            free: Vec::new(),
            places: HashMap::new(),
            recent: [NONE; RECENT],
        }
    }

    /// Returns the number of regions.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Drops all regions and their memory.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Drops regions whose last tick is before the horizon.
    pub(super) fn drop_before(&mut self, horizon: u32) {
        for last in &mut self.last {
            *last = last.filter(|&last| last >= horizon);
        }
        self.places.retain(|_, &mut place| self.last[place as usize].is_some());
        self.recent = [NONE; RECENT];
        self.free.clear();
        let mut spare = 0;
        let chunks = (0..).step_by(CHUNK_REGIONS).zip(&mut self.chunks);
        for ((first, chunk), last) in chunks.zip(self.last.chunks(CHUNK_REGIONS)) {
            let is_spare = chunk.is_some() && last.iter().all(Option::is_none);
            spare += usize::from(is_spare);
            if is_spare && spare > SPARE_CHUNKS {
                *chunk = None;
            }
            if chunk.is_some() {
                let free = (first..).zip(last).filter(|(_, last)| last.is_none());
                self.free.extend(free.map(|(place, _)| place));
            }
        }
    }

    /// Returns where the state of a group is, of a region that is new if need be. Notes the current tick as the region's last one.
    #[inline(always)]
    pub(super) fn find(&mut self, group: u64, tick: u32) -> StateAt {
        let number = group >> REGION_SHIFT;
        // The high bits differ between allocations.
        let way = (number ^ number >> 8 ^ number >> 13) as usize % RECENT;
        let recent = &mut self.recent[way];
        if recent.number != number {
            self.recall(way, number, tick);
        } else if recent.tick != tick {
            recent.tick = tick;
            self.last[recent.place as usize] = Some(tick);
        }
        // SAFETY: the entry is of a region that has its memory, as entries are forgotten when regions are dropped, and a region has this
        // many states.
        StateAt(unsafe { self.recent[way].first.0.add(group as usize % REGION_GROUPS) })
    }

    /// Makes a region one of those accessed last.
    #[cold]
    fn recall(&mut self, way: usize, number: u64, tick: u32) {
        let place = self.find_region(number);
        let index = place as usize;
        self.last[index] = Some(tick);
        let first = match &self.chunks[index / CHUNK_REGIONS] {
            Some(chunk) => chunk.at(index % CHUNK_REGIONS * REGION_GROUPS),
            None => unreachable!("a region's memory is kept with it"),
        };
        self.recent[way] = Recent { number, place, tick, first };
    }

    #[cold]
    fn find_region(&mut self, number: u64) -> u32 {
        if let Some(&place) = self.places.get(&number) {
            return place;
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.add_chunk(),
        };
        self.last[place as usize] = Some(0);
        self.places.insert(number, place);
        place
    }

    /// Adds memory for regions, and returns the place of one.
    fn add_chunk(&mut self) -> u32 {
        let index = self.chunks.iter().position(Option::is_none).unwrap_or(self.chunks.len());
        if index == self.chunks.len() {
            self.chunks.push(None);
            self.last.resize(self.chunks.len() * CHUNK_REGIONS, None);
        }
        self.chunks[index] = Some(Chunk::new());
        let first = (index * CHUNK_REGIONS) as u32;
        self.free.extend((first + 1..first + CHUNK_REGIONS as u32).rev());
        first
    }

    /// Returns the states of a region's groups, if it has been accessed.
    pub(super) fn region(&mut self, number: u64) -> Option<&mut [State]> {
        let &place = self.places.get(&number)?;
        let chunk = self.chunks[place as usize / CHUNK_REGIONS].as_ref()?;
        let first = chunk.at(place as usize % CHUNK_REGIONS * REGION_GROUPS);
        // SAFETY: a region has this many states side by side, and nothing else refers to them while `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts_mut(first.0.as_ptr(), REGION_GROUPS) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_stay_while_they_are_touched() {
        let mut regions = Regions::new();
        let first_of = |number: u64| number << REGION_SHIFT;
        let count = 3 * CHUNK_REGIONS as u64;
        for number in 0..count {
            let at = regions.find(first_of(number) + 5, 1 + (number % 2) as u32);
            // SAFETY: it was just found.
            unsafe { at.state() }.fetched = number as u32;
        }
        regions.drop_before(2);
        assert_eq!(regions.len() as u64, count / 2);
        // The memory of those that were dropped serves others.
        for number in count..count + count / 2 {
            regions.find(first_of(number), 2);
        }
        assert_eq!((regions.len() as u64, regions.chunks.len()), (count, 3));
        for number in (1..count).step_by(2) {
            let at = regions.find(first_of(number) + 5, 2);
            // SAFETY: it was just found.
            assert_eq!(unsafe { at.state() }.fetched, number as u32);
            assert_eq!(regions.region(number).map(|states| states[5].fetched), Some(number as u32));
        }
        assert!(regions.region(0).is_none());
        regions.clear();
        assert_eq!(regions.len(), 0);
    }

    #[test]
    fn memory_beyond_the_spare_is_released() {
        let mut regions = Regions::new();
        let chunks = SPARE_CHUNKS + 2;
        for number in 0..(chunks * CHUNK_REGIONS) as u64 {
            regions.find(number << REGION_SHIFT, 0);
        }
        regions.drop_before(1);
        assert_eq!(regions.chunks.iter().flatten().count(), SPARE_CHUNKS);
        // Each place can be had again.
        for number in 0..(chunks * CHUNK_REGIONS) as u64 {
            let at = regions.find(number << REGION_SHIFT, 1);
            // SAFETY: it was just found.
            unsafe { at.state() }.dirty = 1;
        }
        assert_eq!(
            (regions.len(), regions.chunks.iter().flatten().count()),
            (chunks * CHUNK_REGIONS, chunks)
        );
    }
}
