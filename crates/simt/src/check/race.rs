//! Implements racecheck: finds conflicting accesses to one byte that happens-before does not order.
//!
//! Two accesses *conflict* if they touch one byte, at least one writes, and not both are strong. They *race* if neither
//! *happens before* the other: the least partial order that contains the program order of each thread and an edge for
//! each synchronisation (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 1978). It is
//! a property of what synchronises, not of time. So a missing barrier is found in whichever order the simulator executes
//! warps, and although the values came out right. Edges are those of this execution: if a lock is taken in another
//! order, it orders other accesses.
//!
//! # Vector clocks
//!
//! Happens-before is decided by *vector clocks*. Each warp counts its own synchronisations, and keeps in a row what it
//! knows of every warp's count. To synchronise is to take the maximum of two rows. An access is stamped with its warp's
//! own count. It happens before the next access of warp `a` if `a` knows a count that is no smaller. One stamp is
//! enough, instead of the whole row: this is the *epoch* of FastTrack (Flanagan and Freund, PLDI 2009), which makes the
//! test a comparison of two numbers. As there, each word of memory keeps only those earlier accesses that may still
//! race ([`history`]). What differs is the unit: a warp of 32 lanes has one clock, since its lanes mostly synchronise
//! together, and a second, smaller order is kept within the warp ([`clocks`]). Blocks are ordered by releases through
//! memory alone, which are compared when a conflict is found ([`order`]).
//!
//! For example, warp 0 stores to a shared word and warp 1 loads it. The rows begin as (1, 0) for warp 0 and (0, 1) for
//! warp 1: each row is what the warp knows of (warp 0, warp 1). The store is stamped with warp 0's clock, 1.
//!
//! ```text
//! without a barrier:  warp 1 knows 0 of warp 0; 0 < 1, so the load races
//! with bar.sync:      both rows become their maximum, (1, 1); then each warp's own clock advances: (2, 1) and (1, 2).
//!                     warp 1 knows 1 of warp 0; 1 >= 1, so the load is ordered after the store
//! a second store:     is stamped with 2, of which warp 1 does not know: it races with a load before the next barrier
//! ```
//!
//! # The edges of happens-before
//!
//! - A block's barrier orders the warps that take part. `bar.arrive` counts as if it waited.
//! - A warp barrier orders its lanes, and so does every other `.sync` instruction. Two instructions of one warp that
//!   race for lack of one are a warning, since they would not race if the lanes ran in step. Lanes of one store that
//!   write one byte are an error: which of them wins is undefined, and Rust has no benign races.
//! - Atomics and other strong accesses do not race with each other.
//! - Lanes of one warp synchronise as warps do, through shared memory too if a fence precedes the strong write. So a
//!   lock that one lane releases and another acquires orders what they do while they hold it.
//! - Through shared memory, a strong access that reads what a strong access wrote is ordered after it, `mbarrier`
//!   included. Through global memory it is if a fence precedes the strong write.
//! - Blocks are ordered by nothing else. NVIDIA's racecheck does not watch global memory.
//!
//! # Clusters
//!
//! In a launch with clusters of several blocks, only accesses of one block are compared, in global memory and in its own
//! shared memory. Its accesses to the shared memory of other blocks, and theirs to its own, are not watched. What a block's
//! warps do may be ordered by way of another block, through an `mbarrier` of that one or a word in its shared memory. So
//! each time that a block goes on after others of its cluster were executed, all that it has done is taken to happen before
//! what it does next. The check misses races across such a point, and reports no pair that is ordered.

mod clocks;
mod handed_on;
mod hazards;
mod history;
mod known;
mod line;
mod mark;
mod order;
mod pages;
mod scattered;
mod word;

use std::collections::HashMap;

use super::pieces::Pieces;
use crate::coalescing::{Addresses, LANES};
use crate::observe::{Access, At, Operation, Rows, Space, SteadyAccess};

pub(super) use clocks::Clocks;
use clocks::Row;
use handed_on::HandedOn;
use hazards::Hazards;
pub(super) use hazards::{FoundHazard, Party};
use history::History;
use line::Run;
use mark::{ATOMIC, Mark, READ, STRONG, WRITE};
use order::Released;

/// Races of a launch: the history of global memory, releases to other blocks, and hazards found.
#[derive(Debug, Default)]
pub(super) struct Races {
    global: History,
    released: Released,
    hazards: Hazards,
}

/// Races of one block: the history of its shared memory and what its threads released there.
#[derive(Debug, Default)]
pub(super) struct BlockRaces {
    shared: History,
    handed_on: HandedOn,
    /// What lanes of a warp released to other lanes of it, by (word is global, word, warp).
    between_lanes: HashMap<(bool, u64, u32), Row>,
    seen: Vec<u32>,
}

impl BlockRaces {
    /// Takes note that a barrier of the whole block is complete.
    pub(super) fn pass_barrier(&mut self) {
        self.shared.pass_barrier();
    }

    /// Forgets all accesses, and keeps the memory for another block.
    pub(super) fn clear(&mut self) {
        self.shared.forget_all();
        self.handed_on.clear();
        self.between_lanes.clear();
    }
}

impl Races {
    /// Adds the hazards that were found apart, in blocks of the same launch.
    pub(super) fn absorb(&mut self, other: Self) {
        self.hazards.absorb(other.hazards);
    }

    /// Checks an access of a warp against the history, then adds it there.
    pub(super) fn access(
        &mut self,
        at: At,
        access: &Access<'_>,
        clocks: &mut Clocks,
        block: &mut BlockRaces,
    ) {
        let kind = match access.operation {
            Operation::Load => READ,
            Operation::Store => WRITE,
            Operation::Atomic | Operation::Reduction => WRITE | STRONG | ATOMIC,
        } | if access.strong { STRONG } else { 0 };
        let global = match access.space {
            Space::Global => true,
            Space::Shared => false,
            // What other blocks of a cluster do there is not compared with it.
            Space::Cluster | Space::Local | Space::Constant => return,
        };
        let has_fenced = clocks.has_fenced_lanes(at.warp());
        // Global words, and lanes, release only after a fence: while there was none, there is nothing to acquire or to release.
        if kind & STRONG != 0 && (!global || !self.released.is_empty() || has_fenced) {
            // Acquire before the check, so that this access is ordered too.
            for lane in lanes(access.active) {
                let word = access.addresses[lane] >> 2;
                if global {
                    self.released.take_over(word, clocks, at.warp());
                } else if let Some(known) = block.handed_on.get(word) {
                    clocks.learn(at.warp(), known);
                }
                if has_fenced && let Some(row) = block.between_lanes.get(&(global, word, at.warp())) {
                    clocks.learn_lanes(at.warp(), 1 << lane, row);
                }
            }
        }
        let overlaps = kind & (WRITE | STRONG) == WRITE && self.within_store(at, access, global);
        let mut mark = mark(at, kind, clocks);
        let active = if !overlaps && access.bytes >= 4 {
            self.certain(access, mark, clocks, block)
        } else {
            access.active
        };
        let history = if global { &mut self.global } else { &mut block.shared };
        for lane in lanes(active) {
            block.seen.clear();
            mark.lanes = 1 << lane;
            for (word, bytes) in words(access.addresses[lane], access.bytes) {
                mark.bytes = bytes;
                for before in history.marks(word) {
                    if !before.conflicts(&mark) {
                        continue;
                    }
                    let Some(order) = self.released.unordered(clocks, before, at.warp(), lane) else {
                        continue;
                    };
                    if block.seen.contains(&before.site) {
                        continue;
                    }
                    block.seen.push(before.site);
                    let common = u64::from((before.bytes & bytes).trailing_zeros());
                    let first =
                        Party { block: u64::from(before.block), lane: order.lane, ..Party::of(before) };
                    let second = Party { block: at.block, lane: lane as u32, ..Party::of(&mark) };
                    self.hazards.add(first, second, global, (word << 2) + common, order.same_warp);
                }
            }
        }
        let settled = clocks.settled(at.warp());
        for lane in lanes(active) {
            mark.lanes = 1 << lane;
            for (word, bytes) in words(access.addresses[lane], access.bytes) {
                mark.bytes = bytes;
                history.add(word, mark, settled);
            }
        }
        if kind & STRONG != 0 && kind & WRITE != 0 && (!global || has_fenced) {
            for lane in lanes(access.active) {
                let word = access.addresses[lane] >> 2;
                if global {
                    self.released.hand_on(word, clocks, at.warp());
                } else {
                    clocks.hand_on(at.warp(), block.handed_on.at(word, clocks.warps()));
                }
                if let Some(row) = clocks.fenced_lanes(at.warp(), 1 << lane) {
                    let known = block.between_lanes.entry((global, word, at.warp())).or_default();
                    clocks::join(known, &row);
                }
            }
            if !global {
                clocks.advance(at.warp());
            }
        }
    }

    /// Checks and adds the accesses of lanes that certainly race with nothing before. Returns the other lanes.
    fn certain(&mut self, access: &Access<'_>, mark: Mark, clocks: &Clocks, block: &mut BlockRaces) -> u32 {
        let settled = clocks.settled(mark.warp.into());
        let history = if access.space == Space::Global { &mut self.global } else { &mut block.shared };
        let words = (access.bytes / 4) as u8;
        let first_words = access.addresses.map(|address| address >> 2);
        let mark = Mark { bytes: 0xf, ..mark };
        let mut active = access.active;
        if mark.kind == READ {
            active = history.list_lanes(&first_words, (active, words), mark, settled);
        }
        let is_ordered = |before: &Mark, next: &Mark| is_ordered(clocks, before, next);
        history.add_lanes(&first_words, (active, words), mark, settled, is_ordered)
    }

    /// Checks an access whose lanes are evenly spaced, within rows if there are such, and which has these pieces, and adds it: as
    /// [`access`](Self::access) does.
    pub(super) fn steady(
        &mut self,
        at: At,
        access: &SteadyAccess,
        (rows, pieces): (Option<Rows>, Option<&Pieces>),
        clocks: &mut Clocks,
        block: &mut BlockRaces,
    ) {
        let kind = match access.operation {
            Operation::Load => READ,
            _ => WRITE,
        };
        let mut left = access.active;
        let is_plain = !access.strong
            && matches!(access.operation, Operation::Load | Operation::Store)
            && matches!(access.space, Space::Global | Space::Shared);
        if is_plain && let Some(pieces) = pieces {
            let mark = mark(at, kind, clocks);
            let settled = clocks.settled(at.warp());
            let history = if access.space == Space::Global { &mut self.global } else { &mut block.shared };
            left = 0;
            if kind == READ && history.list(pieces, mark, settled) {
                return;
            }
            for piece in pieces.clone() {
                for (word, run, lanes) in Run::all_of(piece) {
                    let mark = Mark { lanes, bytes: 0xf, ..mark };
                    let is_ordered = |before: &Mark, next: &Mark| is_ordered(clocks, before, next);
                    if !history.add_run(word, run, mark, settled, is_ordered) {
                        left |= piece.all;
                    }
                }
            }
        }
        if left != 0 {
            let addresses = access.addresses_in(rows);
            self.access(at, &Access { active: left, ..access.with(&addresses) }, clocks, block);
        }
    }

    /// Reports lanes of one store that write one byte; returns whether there are any.
    fn within_store(&mut self, at: At, access: &Access<'_>, global: bool) -> bool {
        let Some((lane, other, address)) = overlap(access.addresses, access.active, access.bytes) else {
            return false;
        };
        let party = |lane| Party { block: at.block, warp: at.warp(), lane, site: at.site(), kind: WRITE };
        self.hazards.add(party(lane), party(other), global, address, false);
        true
    }

    /// Returns the hazards in the order of their second accesses.
    pub(super) fn hazards(&self) -> Vec<&FoundHazard> {
        self.hazards.found()
    }
}

/// Returns the mark of a warp's next access, without lanes and bytes.
fn mark(at: At, kind: u8, clocks: &Clocks) -> Mark {
    Mark {
        site: at.site().0,
        clock: clocks.clock(at.warp()),
        sync: clocks.sync(at.warp()),
        lanes: 0,
        block: at.block as u32,
        warp: at.warp() as u8,
        bytes: 0,
        kind,
        unused: 0,
    }
}

/// Returns true if it is certain that an earlier access happens before the next one, whichever the lanes are.
fn is_ordered(clocks: &Clocks, before: &Mark, next: &Mark) -> bool {
    let (warp, other) = (u32::from(next.warp), u32::from(before.warp));
    if before.block != next.block {
        false
    } else if warp == other {
        let is_one_lane = next.lanes.is_power_of_two() && before.lanes == next.lanes;
        before.sync < clocks.settled(warp) || is_one_lane
    } else {
        clocks.knows(warp, other, before.clock)
    }
}

/// Returns the lanes of a mask, lowest first.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// Splits an access into words of four bytes, each with a mask of the bytes that it touches.
fn words(address: u64, bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    let end = address + u64::from(bytes);
    (address >> 2..end.div_ceil(4)).map(move |word| {
        let first = address.saturating_sub(word << 2).min(4);
        let last = (end - (word << 2)).min(4);
        (word, (0xf_u8 << first) & !(0xf_u8.checked_shl(last as u32).unwrap_or(0)) & 0xf)
    })
}

/// Returns two lanes that touch one byte, and the byte's address.
fn overlap(addresses: &Addresses, active: u32, bytes: u32) -> Option<(u32, u32, u64)> {
    let mut order = [(0_u64, 0_u32); LANES];
    let mut count = 0;
    let mut rising = true;
    for lane in lanes(active) {
        order[count] = (addresses[lane], lane as u32);
        rising &= count == 0 || order[count - 1].0 + u64::from(bytes) <= addresses[lane];
        count += 1;
    }
    if rising {
        return None;
    }
    let order = &mut order[..count];
    order.sort_unstable();
    let pair = order.windows(2).find(|pair| pair[0].0 + u64::from(bytes) > pair[1].0)?;
    let (one, other) = (pair[0].1, pair[1].1);
    Some((one.min(other), one.max(other), pair[1].0))
}

#[cfg(test)]
mod tests {
    use super::{overlap, words};

    #[test]
    fn accesses_are_taken_apart_into_words() {
        let all = |address, bytes| words(address, bytes).collect::<Vec<_>>();
        assert_eq!(all(8, 4), [(2, 0b1111)]);
        assert_eq!(all(8, 1), [(2, 0b0001)]);
        assert_eq!(all(11, 1), [(2, 0b1000)]);
        assert_eq!(all(10, 2), [(2, 0b1100)]);
        assert_eq!(all(16, 16), [(4, 15), (5, 15), (6, 15), (7, 15)]);
    }

    #[test]
    fn lanes_that_write_one_byte_are_found() {
        let mut addresses = std::array::from_fn(|lane| 4 * lane as u64);
        assert_eq!(overlap(&addresses, u32::MAX, 4), None);
        assert_eq!(overlap(&addresses, 0b11, 8), Some((0, 1, 4)));
        addresses.reverse();
        assert_eq!(overlap(&addresses, u32::MAX, 4), None);
        addresses[3] = addresses[20];
        assert_eq!(overlap(&addresses, u32::MAX, 4), Some((3, 20, addresses[20])));
        assert_eq!(overlap(&addresses, !(1 << 20), 4), None);
    }
}
