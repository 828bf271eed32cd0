//! Records the order in which warps touch managed memory, so that their pages can be migrated while they wait.

use super::shape::{Placement, Range, place_of};
use crate::coalescing::Addresses;
use crate::model::unified::PAGE_BYTES;
use std::sync::Arc;

/// The pages that a warp touched, in order, without immediate repetitions.
///
/// Adjacent warps with the same sequence share a trail: what one of them waits for, all do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail(Box<[u32]>);

/// A step of a [`Trail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Number of the page in the launch: see [`numbered`].
    pub page: u32,
    /// True if it is written.
    pub written: bool,
    /// True if the request of the previous step touches this page too, so that both are requested together.
    pub with_previous: bool,
}

const WRITTEN: u32 = 1;
const WITH_PREVIOUS: u32 = 2;
const PAGE_SHIFT: u32 = 2;

impl Trail {
    /// Returns a step.
    pub fn touch(&self, step: usize) -> Option<Touch> {
        self.0.get(step).map(|&bits| Touch {
            page: bits >> PAGE_SHIFT,
            written: bits & WRITTEN != 0,
            with_previous: bits & WITH_PREVIOUS != 0,
        })
    }

    /// Returns all steps.
    pub fn touches(&self) -> impl Iterator<Item = Touch> {
        (0..self.0.len()).filter_map(|step| self.touch(step))
    }
}

impl FromIterator<Touch> for Trail {
    fn from_iter<T: IntoIterator<Item = Touch>>(touches: T) -> Self {
        let bits = touches.into_iter().map(|touch| {
            let with_previous = if touch.with_previous { WITH_PREVIOUS } else { 0 };
            touch.page << PAGE_SHIFT | with_previous | if touch.written { WRITTEN } else { 0 }
        });
        Self(bits.collect())
    }
}

/// Returns the managed ranges, each with the number of its first page. Pages of 64 KiB are counted from each range's
/// start and numbered through all ranges; the last page of a range may be shorter.
pub fn numbered(ranges: &[Range]) -> impl Iterator<Item = (u32, &Range)> {
    let managed = ranges.iter().filter(|range| range.placement == Placement::Managed);
    managed.scan(0_u32, |next, range| {
        let first = *next;
        let bytes = range.addresses.end.saturating_sub(range.addresses.start);
        // 30 bits of pages are 64 TiB, half of all addresses.
        *next = first + bytes.div_ceil(PAGE_BYTES) as u32;
        Some((first, range))
    })
}

/// A managed address range, and the number of its first page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    start: u64,
    end: u64,
    first: u32,
}

pub(super) fn managed(ranges: &[Range]) -> Arc<[Numbered]> {
    let entry = |(first, range): (u32, &Range)| Numbered {
        start: range.addresses.start,
        end: range.addresses.end,
        first,
    };
    numbered(ranges).map(entry).collect()
}

/// The trails of a run of blocks.
pub(super) struct Trails {
    managed: Arc<[Numbered]>,
    /// Index of the range touched last.
    last: usize,
    /// Steps of the current block's warps.
    warps: Vec<Vec<u32>>,
    /// Trails of ended blocks, with their window.
    pub(super) done: Vec<(u64, Trail)>,
}

impl Trails {
    pub(super) fn new(managed: Arc<[Numbered]>) -> Self {
        Self { managed, last: 0, warps: Vec::new(), done: Vec::new() }
    }

    /// Returns true if there is managed memory.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.managed.is_empty()
    }

    /// Returns the range that contains an address.
    fn find(&mut self, address: u64) -> Option<Numbered> {
        let within = |range: &Numbered| (range.start..range.end).contains(&address);
        if let Some(last) = self.managed.get(self.last).filter(|range| within(range)) {
            return Some(*last);
        }
        self.last = place_of(&self.managed, |range| range.start..range.end, address)?;
        Some(self.managed[self.last])
    }

    fn page(&mut self, address: u64) -> Option<u32> {
        self.find(address).map(|range| range.first + ((address - range.start) / PAGE_BYTES) as u32)
    }

    /// Records a warp's request by its lowest and its highest address. Returns false if these do not tell its pages.
    #[inline(always)]
    pub(super) fn note_span(&mut self, warp: u32, [low, high]: [u64; 2], written: bool) -> bool {
        if self.warps.len() <= warp as usize {
            self.warps.resize(warp as usize + 1, Vec::new());
        }
        let Some(range) = self.find(low) else {
            let next = self.managed.partition_point(|range| range.end <= low);
            return self.managed.get(next).is_none_or(|range| range.start > high);
        };
        let page = (low - range.start) / PAGE_BYTES;
        let is_one = high < range.end && (high - range.start) / PAGE_BYTES == page;
        if is_one {
            self.push(warp, range.first + page as u32, written);
        }
        is_one
    }

    /// Records a warp's request. No lane's access spans pages, since ranges are aligned to the size of accesses.
    #[inline(never)]
    pub(super) fn note(&mut self, warp: u32, addresses: &Addresses, active: u32, written: bool) {
        let lanes = (0..32).filter(|lane| active >> lane & 1 != 0).map(|lane| addresses[lane]);
        let (low, high) =
            lanes.clone().fold((u64::MAX, 0), |(low, high), address| (low.min(address), high.max(address)));
        if self.note_span(warp, [low, high], written) {
            return;
        }
        let mut pages: Vec<u32> = lanes.filter_map(|address| self.page(address)).collect();
        pages.sort_unstable();
        pages.dedup();
        match pages[..] {
            [] => {}
            [page] => self.push(warp, page, written),
            _ => {
                let bits = |(index, &page): (usize, &u32)| {
                    page << PAGE_SHIFT
                        | if index > 0 { WITH_PREVIOUS } else { 0 }
                        | if written { WRITTEN } else { 0 }
                };
                self.warps[warp as usize].extend(pages.iter().enumerate().map(bits));
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, warp: u32, page: u32, written: bool) {
        let written = if written { WRITTEN } else { 0 };
        let trail = &mut self.warps[warp as usize];
        match trail.last_mut() {
            Some(last) if *last >> PAGE_SHIFT == page => *last |= written,
            _ => trail.push(page << PAGE_SHIFT | written),
        }
    }

    /// Ends the block.
    pub(super) fn end_block(&mut self, window: u64) {
        for warp in self.warps.iter_mut().filter(|warp| !warp.is_empty()) {
            let known = self.done.last().is_some_and(|(of, trail)| *of == window && *trail.0 == warp[..]);
            if !known {
                self.done.push((window, Trail(warp.as_slice().into())));
            }
            warp.clear();
        }
    }
}
