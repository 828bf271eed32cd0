//! Counts kernels' accesses to the host's memory that cost the link more than their bytes.
//!
//! Two effects matter. The card has to translate the addresses of pinned memory before it can send a request to the
//! host, and its TLB reaches a limited number of pages of 2 MiB: each request to another page than the warp's last may miss.
//! And requests that straddle lines go over the link in parts. For the model, a launch's misses are `changes`, and the
//! number of pages in use at a time is sampled from the first window: the most distinct pages that its warps access in
//! their n-th requests, for n below 32. For example, 1000 warps that each start in a page of their own have 1000 pages
//! in use.

use super::shape::{Placement, Range, place_of};
use std::collections::BTreeSet;
use std::ops;
use std::sync::Arc;

/// Log2 of the bytes of a page, the unit of translation.
const PAGE_SHIFT: u32 = 21;

/// Requests of each warp of the first window that are sampled.
const STEPS: usize = 32;

/// An address range of the host's memory.
#[derive(Clone, Debug)]
pub(super) struct OfHost {
    addresses: ops::Range<u64>,
    /// True if it is pinned, not managed.
    pinned: bool,
}

/// Returns those of the ranges that are in the host's memory.
pub(super) fn of_host(ranges: &[Range]) -> Arc<[OfHost]> {
    let of_host =
        ranges.iter().filter(|range| matches!(range.placement, Placement::Host | Placement::Linked));
    let known = |range: &Range| OfHost {
        addresses: range.addresses.clone(),
        pinned: range.placement == Placement::Host,
    };
    of_host.map(known).collect()
}

/// Counters of accesses to the host's memory.
pub(super) struct HostPages {
    ranges: Arc<[OfHost]>,
    /// True if the current request is to the host's memory.
    here: bool,
    /// Requests that [straddle](crate::coalescing::Traffic::straddles) lines: loads, stores.
    pub(super) split: [u64; 2],
    /// For each warp of the current block, its last page and its number of requests.
    warps: Vec<(u64, usize)>,
    /// Requests to another page than their warp's last.
    pub(super) changes: u64,
    /// Distinct pages that warps of the first window access in their first request, in their second, and so on.
    pub(super) steps: Vec<BTreeSet<u64>>,
}

impl HostPages {
    pub(super) fn new(ranges: Arc<[OfHost]>) -> Self {
        Self { ranges, here: false, split: [0; 2], warps: Vec::new(), changes: 0, steps: Vec::new() }
    }

    /// Returns true if a range of the host's memory is known.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Notes a request of a warp; the address of its first active lane stands for all.
    #[inline(never)]
    pub(super) fn note(&mut self, window: u64, warp: u32, address: u64) {
        let range =
            place_of(&self.ranges, |range| range.addresses.clone(), address).map(|at| &self.ranges[at]);
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

    /// Notes that the current request is to the card's own memory.
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        self.here = false;
    }

    /// Notes that the current request straddles lines.
    #[inline(always)]
    pub(super) fn note_split(&mut self, store: bool) {
        self.split[usize::from(store)] += u64::from(self.here);
    }

    /// Ends the block.
    pub(super) fn end_block(&mut self) {
        self.warps.clear();
    }

    /// Adds the counters of another worker.
    pub(super) fn add(&mut self, other: &Self) {
        self.changes += other.changes;
        self.split = std::array::from_fn(|way| self.split[way] + other.split[way]);
        self.steps.resize(self.steps.len().max(other.steps.len()), BTreeSet::new());
        self.steps.iter_mut().zip(&other.steps).for_each(|(all, pages)| all.extend(pages));
    }

    /// Returns the most pages that are in use in one step.
    pub(super) fn at_once(&self) -> u64 {
        self.steps.iter().map(|pages| pages.len() as u64).max().unwrap_or(0)
    }
}
