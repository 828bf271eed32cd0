//! How warps go about in the host's memory: which pages they want, for the card has to find the addresses of pinned ones
//! before it can ask the host for them, and what crosses the ends of lines, which go over the link one by one.

use super::shape::{Placement, Range};
use crate::coalescing::Addresses;
use std::collections::BTreeSet;
use std::ops;
use std::sync::Arc;

/// Log2 of the bytes of a page, as far as translation is concerned.
const PAGE_SHIFT: u32 = 21;

/// Requests of each warp of the first window that are looked at for what is wanted at once.
const STEPS: usize = 32;

/// Addresses of the host's memory.
#[derive(Clone, Debug)]
pub(super) struct OfHost {
    addresses: ops::Range<u64>,
    /// It is no managed memory.
    pinned: bool,
}

/// What of these ranges is the host's.
pub(super) fn of_host(ranges: &[Range]) -> Arc<[OfHost]> {
    let of_host = ranges.iter().filter(|range| range.placement != Placement::Managed);
    let known = |range: &Range| OfHost {
        addresses: range.addresses.clone(),
        pinned: range.placement == Placement::Host,
    };
    of_host.map(known).collect()
}

/// What blocks want of the host's memory.
pub(super) struct HostPages {
    ranges: Arc<[OfHost]>,
    /// The request under way is to the host's memory.
    here: bool,
    /// Requests that [straddle](crate::coalescing::Traffic::straddles) lines: loads, stores.
    pub(super) split: [u64; 2],
    /// Of the block under way, by warp: the page that it was at last, and how many requests it has had.
    warps: Vec<(u64, usize)>,
    /// Requests that went to another page than their warp's last.
    pub(super) changes: u64,
    /// The pages that warps of the first window wanted in their first request, in their second, and so on.
    pub(super) steps: Vec<BTreeSet<u64>>,
}

impl HostPages {
    pub(super) fn new(ranges: Arc<[OfHost]>) -> Self {
        Self { ranges, here: false, split: [0; 2], warps: Vec::new(), changes: 0, steps: Vec::new() }
    }

    /// Whether there is memory of the host's.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// A warp's request, of which the first lane's address stands for all.
    #[inline(never)]
    pub(super) fn note(&mut self, window: u64, warp: u32, addresses: &Addresses, active: u32) {
        let address = addresses[(active.trailing_zeros() & 31) as usize];
        let at = self.ranges.partition_point(|range| range.addresses.end <= address);
        let range = self.ranges.get(at).filter(|range| address >= range.addresses.start);
        self.here = range.is_some();
        if range.is_none_or(|range| !range.pinned) {
            return;
        }
        let warp = warp as usize;
        if self.warps.len() <= warp {
            self.warps.resize(warp + 1, (u64::MAX, 0));
        }
        let page = address >> PAGE_SHIFT;
        let (last, step) = &mut self.warps[warp];
        self.changes += u64::from(std::mem::replace(last, page) != page);
        if window == 0 && *step < STEPS {
            if self.steps.len() <= *step {
                self.steps.resize(*step + 1, BTreeSet::new());
            }
            self.steps[*step].insert(page);
        }
        *step += 1;
    }

    /// The request that was noted last straddles lines.
    #[inline(always)]
    pub(super) fn note_split(&mut self, store: bool) {
        self.split[usize::from(store)] += u64::from(self.here);
    }

    /// The block has ended.
    pub(super) fn end_block(&mut self) {
        self.warps.clear();
    }

    /// What another has noted is noted here too.
    pub(super) fn add(&mut self, other: &Self) {
        self.changes += other.changes;
        self.split = std::array::from_fn(|way| self.split[way] + other.split[way]);
        self.steps.resize(self.steps.len().max(other.steps.len()), BTreeSet::new());
        self.steps.iter_mut().zip(&other.steps).for_each(|(all, pages)| all.extend(pages));
    }

    /// The most pages that are wanted in one step.
    pub(super) fn at_once(&self) -> u64 {
        self.steps.iter().map(|pages| pages.len() as u64).max().unwrap_or(0)
    }
}
