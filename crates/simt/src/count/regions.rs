//! Stores the state of L2 by regions of 2 MiB, in huge pages of the host.
//!
//! A request's lanes may lie anywhere, so the state of a group is a random access for the host too. In pages of 4 KiB each
//! such access would also miss the host's TLB, which takes longer than the access itself. So states are allocated by
//! *chunks* of one huge page, each of which holds 16 regions. The memory of a region that is dropped serves the next new
//! one: what it holds is older than the horizon, which is the same as nothing.

use super::group::GROUP_SHIFT;
use super::ticks::Touched;
use std::collections::HashMap;

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
const NONE: (u64, u32) = (u64::MAX, 0);

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

#[repr(C, align(2097152))]
struct Chunk([State; CHUNK_STATES]);

impl Chunk {
    /// Allocates states without accesses.
    fn new() -> Box<Self> {
        const { assert!(align_of::<Self>() == HUGE_PAGE && size_of::<Self>() == HUGE_PAGE) };
        let mut chunk = Box::<Self>::new_uninit();
        #[cfg(target_os = "linux")]
        // SAFETY: the memory is this box's own and whole pages; the advice changes no content, and a failure does not
        // matter.
        unsafe {
            libc::madvise(chunk.as_mut_ptr().cast(), HUGE_PAGE, libc::MADV_HUGEPAGE);
        }
        // SAFETY: a chunk is made of numbers, for which all zeros are a value.
        unsafe {
            chunk.as_mut_ptr().write_bytes(0, 1);
            chunk.assume_init()
        }
    }
}

/// The states of all regions that have been accessed.
pub(super) struct Regions {
    /// Chunks by the place of their first region; `None` for memory that has been released.
    chunks: Vec<Option<Box<Chunk>>>,
    /// The last tick of each region by its place; `None` where there is none.
    last: Vec<Option<u32>>,
    /// Places of chunks without a region.
    free: Vec<u32>,
    /// Place of each region by its number.
    places: HashMap<u64, u32>,
    /// The same for the regions accessed last.
    recent: [(u64, u32); RECENT],
}

/// Where the state of a group is. It holds until regions are dropped.
#[derive(Clone, Copy, Default)]
pub(super) struct StateAt(u32);

impl StateAt {
    /// Returns where the group is that has the pages of this one: itself, or the first of a page of several.
    #[inline(always)]
    pub(super) fn first_of_page(self, page_shift: u32) -> Self {
        let shift = page_shift.saturating_sub(GROUP_SHIFT);
        Self(self.0 >> shift << shift)
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

    /// Returns where the state of a group is, of a region that is new if need be.
    #[inline(always)]
    pub(super) fn find(&mut self, group: u64) -> StateAt {
        let number = group >> REGION_SHIFT;
        // The high bits differ between allocations.
        let way = (number ^ number >> 8 ^ number >> 13) as usize % RECENT;
        if self.recent[way].0 != number {
            self.recent[way] = (number, self.find_region(number));
        }
        StateAt(self.recent[way].1 << REGION_SHIFT | (group as u32 & (REGION_GROUPS as u32 - 1)))
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

    /// Returns the state of a group.
    #[inline(always)]
    pub(super) fn state(&mut self, at: StateAt) -> &mut State {
        let at = at.0 as usize;
        match &mut self.chunks[at / CHUNK_STATES] {
            Some(chunk) => &mut chunk.0[at % CHUNK_STATES],
            None => unreachable!("a region's memory is kept with it"),
        }
    }

    /// Notes the current tick as a region's last one.
    #[inline(always)]
    pub(super) fn note(&mut self, at: StateAt, tick: u32) {
        self.last[(at.0 >> REGION_SHIFT) as usize] = Some(tick);
    }

    /// Returns the states of a region's groups, if it has been accessed.
    pub(super) fn region(&mut self, number: u64) -> Option<&mut [State]> {
        let &place = self.places.get(&number)?;
        let first = place as usize % CHUNK_REGIONS * REGION_GROUPS;
        let chunk = self.chunks[place as usize / CHUNK_REGIONS].as_mut()?;
        Some(&mut chunk.0[first..first + REGION_GROUPS])
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
            let at = regions.find(first_of(number) + 5);
            regions.note(at, 1 + (number % 2) as u32);
            regions.state(at).fetched = number as u32;
        }
        regions.drop_before(2);
        assert_eq!(regions.len() as u64, count / 2);
        // The memory of those that were dropped serves others.
        for number in count..count + count / 2 {
            regions.find(first_of(number));
        }
        assert_eq!((regions.len() as u64, regions.chunks.len()), (count, 3));
        for number in (1..count).step_by(2) {
            let at = regions.find(first_of(number) + 5);
            assert_eq!(regions.state(at).fetched, number as u32);
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
            regions.find(number << REGION_SHIFT);
        }
        regions.drop_before(1);
        assert_eq!(regions.chunks.iter().flatten().count(), SPARE_CHUNKS);
        // Each place can be had again.
        for number in 0..(chunks * CHUNK_REGIONS) as u64 {
            let at = regions.find(number << REGION_SHIFT);
            regions.state(at).dirty = 1;
        }
        assert_eq!(
            (regions.len(), regions.chunks.iter().flatten().count()),
            (chunks * CHUNK_REGIONS, chunks)
        );
    }
}
