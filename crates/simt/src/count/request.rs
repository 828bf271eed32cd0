//! The addresses of one request, in the forms that generations and patterns have, and the sectors that follow from them.
//!
//! | form | from | sectors found by |
//! | --- | --- | --- |
//! | [`Steady`] | evenly spaced lanes | arithmetic: lanes closer than a sector touch every sector in between |
//! | [`AnyLanes`] | arbitrary lanes | [`distinct`](super::distinct) |
//! | [`Transactions`] | half-warps of 1.x | the rules of [`coalescing`](crate::coalescing) |
//!
//! For example, 32 lanes of `f32` from address 16 on are `Steady { low: 16, high: 140, step: 4 }`: sectors 0 to 4, five of them,
//! in the lines 0 and 1. In their group they are the mask `0b11111`.

use super::distinct::Pieces;
use super::group::GROUP_SHIFT;
use super::sinks::{CachedLoads, Uncached};
use super::takes::Sink;
use crate::coalescing::{Addresses, LANES, LINE_BYTES, Request, SECTOR_BYTES, Traffic, Transactions};
use crate::observe::SteadyAccess;

const SECTOR_SHIFT: u32 = SECTOR_BYTES.trailing_zeros();
const LINE_SHIFT: u32 = LINE_BYTES.trailing_zeros();

/// A request's sectors, by groups of 32.
pub(super) trait Groups {
    /// Passes each group and its touched sectors to the sink. A group may come more than once.
    fn each(&self, sink: &mut impl Sink);

    /// Loads the groups through L1.
    #[inline(always)]
    fn load(&self, loads: &mut CachedLoads<'_>) {
        self.each(loads);
    }

    /// Accesses the groups past L1.
    #[inline(always)]
    fn access(&self, accesses: &mut Uncached<'_>) {
        self.each(accesses);
    }
}

/// Addresses at a constant distance, of 32 lanes or of fewer adjacent ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steady {
    /// Lowest address.
    pub(super) low: u64,
    /// Highest address.
    pub(super) high: u64,
    /// Distance between adjacent lanes in bytes, up or down.
    pub(super) step: u64,
    /// Number of lanes.
    pub(super) lanes: u32,
}

impl Steady {
    /// Returns the addresses from the first active lane's to the last one's, without gaps in between.
    #[inline(always)]
    pub(super) fn of(access: &SteadyAccess) -> Self {
        let (first, last) = (access.active.trailing_zeros() & 31, 31 - (access.active.leading_zeros() & 31));
        Self::between(access.address(first), access.address(last), access.step, last + 1 - first)
    }

    #[inline(always)]
    pub(super) fn between(first: u64, last: u64, step: u64, lanes: u32) -> Self {
        if step >> 63 == 0 {
            Self { low: first, high: last, step, lanes }
        } else {
            Self { low: last, high: first, step: step.wrapping_neg(), lanes }
        }
    }

    /// Returns how many pieces of `1 << shift` bytes, none smaller than a lane's access, the lanes touch.
    #[inline(always)]
    fn pieces(&self, shift: u32) -> u32 {
        // Lanes closer than a piece touch every piece in between.
        if self.step >> shift > 0 {
            self.lanes
        } else {
            ((self.high >> shift) - (self.low >> shift)) as u32 + 1
        }
    }

    /// Returns [`Coalescer::traffic`](crate::coalescing::Coalescer::traffic) for 5.0 and later.
    #[inline(always)]
    pub(super) fn traffic(&self, bytes: u32) -> Traffic {
        let sectors = self.pieces(SECTOR_SHIFT);
        Traffic {
            requests: 1,
            transactions: sectors,
            sectors,
            lines: self.pieces(LINE_SHIFT),
            bytes_moved: sectors * SECTOR_BYTES as u32,
            bytes_used: self.lanes * bytes,
        }
    }

    /// Returns the traffic on 2.x and 3.x for all 32 lanes. Up to 4 bytes per lane go at once, 8 by half-warps, 16 by
    /// quarters, in transactions of whole lines or of sectors.
    pub(super) fn traffic_in_parts(&self, bytes: u32, by_lines: bool) -> Traffic {
        let parts = (bytes / 4).max(1);
        let lanes = self.lanes / parts;
        let mut traffic = Traffic { bytes_used: self.lanes * bytes, requests: parts, ..Traffic::default() };
        for part in 0..parts {
            let low = self.low + u64::from(part * lanes) * self.step;
            let part = Self { low, high: low + u64::from(lanes - 1) * self.step, lanes, ..*self };
            let lines = part.pieces(LINE_SHIFT);
            traffic.lines += lines;
            traffic.transactions += if by_lines { lines } else { part.pieces(SECTOR_SHIFT) };
        }
        let transaction = if by_lines { LINE_BYTES } else { SECTOR_BYTES };
        traffic.bytes_moved = traffic.transactions * transaction as u32;
        traffic.sectors = traffic.bytes_moved / SECTOR_BYTES as u32;
        traffic
    }
}

impl Groups for Steady {
    #[inline(always)]
    fn each(&self, sink: &mut impl Sink) {
        let (first, last) = (self.low >> GROUP_SHIFT, self.high >> GROUP_SHIFT);
        let every = match self.step {
            0..=32 => u32::MAX,
            64 => 0x5555_5555 << (self.low >> 5 & 1),
            128 => 0x1111_1111 << (self.low >> 5 & 3),
            256 => 0x0101_0101 << (self.low >> 5 & 7),
            512 => 0x0001_0001 << (self.low >> 5 & 15),
            _ => {
                self.each_lane(sink);
                return;
            }
        };
        let mut from = u32::MAX << (self.low >> 5 & 31);
        for group in first..last {
            sink.take(group, every & from);
            from = u32::MAX;
        }
        sink.take(last, every & from & u32::MAX >> (31 - (self.high >> 5 & 31)));
    }
}

impl Steady {
    #[inline(always)]
    fn each_lane(&self, sink: &mut impl Sink) {
        let (mut group, mut sectors, mut address) = (self.low >> GROUP_SHIFT, 0_u32, self.low);
        for _ in 0..self.lanes {
            if address >> GROUP_SHIFT != group {
                sink.take(group, sectors);
                group = address >> GROUP_SHIFT;
                sectors = 0;
            }
            sectors |= 1 << (address >> 5 & 31);
            address += self.step;
        }
        sink.take(group, sectors);
    }
}

/// Returns the base and step of adjacent lanes' addresses if their distance is constant. Vectorises with the caller's
/// machine features.
#[inline(always)]
pub(super) fn spacing(addresses: &Addresses, active: u32) -> Option<(u64, u64)> {
    if active != u32::MAX {
        return spacing_of_some(addresses, active);
    }
    let step = addresses[1].wrapping_sub(addresses[0]);
    // The last lane tells most irregular requests apart. It is read as it was written, whereas neighbours are compared across what
    // was written at once, which waits until the host has completed all stores before.
    if addresses[LANES - 1].wrapping_sub(addresses[0]) != step.wrapping_mul(LANES as u64 - 1) {
        return None;
    }
    (!differs(addresses, step)).then_some((addresses[0], step))
}

/// Handles fewer than 32 lanes.
fn spacing_of_some(addresses: &Addresses, active: u32) -> Option<(u64, u64)> {
    let first = active.trailing_zeros() as usize;
    let lanes = (active >> first).trailing_ones();
    let last = first + lanes as usize - 1;
    if lanes != active.count_ones() {
        return None;
    }
    let step = if lanes == 1 { 0 } else { addresses[first + 1].wrapping_sub(addresses[first]) };
    let mut differs = 0;
    for lane in first + 1..=last {
        differs |= addresses[lane].wrapping_sub(addresses[lane - 1]) ^ step;
    }
    let base = addresses[first].wrapping_sub(step.wrapping_mul(first as u64));
    (differs == 0).then_some((base, step))
}

/// Returns true if the distance of some lanes is not `step`. Free of branches, so that it vectorises.
#[inline(always)]
fn differs(addresses: &Addresses, step: u64) -> bool {
    let mut differs = 0;
    for lane in 1..LANES {
        differs |= addresses[lane].wrapping_sub(addresses[lane - 1]) ^ step;
    }
    differs != 0
}

/// Arbitrary addresses.
pub(super) struct AnyLanes<'a> {
    pub(super) addresses: &'a Addresses,
    pub(super) pieces: Pieces,
}

impl Groups for AnyLanes<'_> {
    #[inline(always)]
    fn load(&self, loads: &mut CachedLoads<'_>) {
        if !self.are_scattered() || !loads.take_together(self.addresses, self.pieces.steps) {
            self.each(loads);
        }
    }

    #[inline(always)]
    fn access(&self, accesses: &mut Uncached<'_>) {
        if !self.are_scattered() || !accesses.take_together(self.addresses, self.pieces.steps) {
            self.each(accesses);
        }
    }

    #[inline(always)]
    fn each(&self, sink: &mut impl Sink) {
        let mut lanes = self.pieces.steps;
        let mut group = self.addresses[(lanes.trailing_zeros() & 31) as usize] >> GROUP_SHIFT;
        let mut sectors = 0_u32;
        while lanes != 0 {
            let address = self.addresses[lanes.trailing_zeros() as usize];
            lanes &= lanes - 1;
            if address >> GROUP_SHIFT != group {
                sink.take(group, sectors);
                group = address >> GROUP_SHIFT;
                sectors = 0;
            }
            sectors |= 1 << (address >> 5 & 31);
        }
        sink.take(group, sectors);
    }
}

impl AnyLanes<'_> {
    /// Returns true if the lanes' sectors are so many that they are better looked up together than one by one.
    #[inline(always)]
    pub(super) fn are_scattered(&self) -> bool {
        self.pieces.steps.count_ones() >= 12
    }

    /// Returns [`Coalescer::traffic`](crate::coalescing::Coalescer::traffic) of `bytes` used for 5.0 and later.
    #[inline(always)]
    pub(super) fn traffic(&self, bytes_used: u32) -> Traffic {
        let Pieces { sectors, lines, .. } = self.pieces;
        Traffic {
            requests: 1,
            transactions: sectors,
            sectors,
            lines,
            bytes_moved: sectors * SECTOR_BYTES as u32,
            bytes_used,
        }
    }
}

/// On 1.x, transactions are what touches memory.
impl Groups for Transactions {
    #[inline(always)]
    fn each(&self, sink: &mut impl Sink) {
        for transaction in self.iter() {
            // 32, 64 or 128 bytes, aligned to their size, so within one group.
            let sectors = u32::MAX >> (32 - transaction.bytes / 32);
            sink.take(transaction.address >> GROUP_SHIFT, sectors << (transaction.address >> 5 & 31));
        }
    }
}

/// Sums the pages that each half-warp touches beyond its first.
pub(super) fn scattered_pages(request: &Request<'_>, page_shift: u32) -> u64 {
    let halves = [request.active & 0xFFFF, request.active & 0xFFFF_0000];
    let pages = halves.map(|mut lanes| {
        let mut pages = [0; LANES];
        let mut count = 0;
        while lanes != 0 {
            let page = request.addresses[lanes.trailing_zeros() as usize] >> page_shift;
            lanes &= lanes - 1;
            if !pages[..count].contains(&page) {
                pages[count] = page;
                count += 1;
            }
        }
        count.saturating_sub(1) as u64
    });
    pages[0] + pages[1]
}
