//! Prices requests at evenly spaced addresses once, and counts how often they repeat.
//!
//! What a request with the addresses `base + k * step` costs does not depend on all of `base`. Global memory is made of
//! lines of 128 bytes, and moving a warp by a whole line moves its sectors and lines with it; so the *phase*
//! `base mod 128` decides, beside step, active mask and bytes per lane. Shared memory has a phase of one word (256
//! bytes on 3.x, where two words share a bank's width), local memory of one word, and constant memory none. An
//! instruction of a loop, executed by all warps of a grid, nearly always repeats its step, mask and phase. So each site
//! keeps a [`Memo`]: the last such request, its price, and the number of repetitions not yet added to the counters.
//!
//! What does depend on all of `base` is which sectors are in L1 and which a block has written. For this, a memo has the
//! request's sectors as a mask from its first one, if they lie within 32. Shifting it by the first sector's place in its
//! group of 32 gives the masks of that group, in the lower half, and of the next, in the upper half.
//!
//! For example, the warp's lanes load `f32` from an array that begins 8 bytes before the end of a line: step 4, phase
//! 120. Lanes 0 and 1 are in the line's last sector, the next 24 fill three, and six are in a fifth one, so the mask is
//! `0b11111`: 5 sectors in 2 lines, 160 bytes moved for 128. If the first sector is
//! number 31 of its group, `0b11111 << 31` has one bit in the lower half and four in the upper one:
//!
//! ```text
//! sector of the group    ... 29  30  31 | 0   1   2   3   4 ...
//! touched                             x | x   x   x   x
//! half                   lower: 1 << 31 | upper: 0b1111
//! ```
//!
//! The next warp's addresses are 128 bytes higher, at the same phase: one more repetition, and a mask shifted to
//! `0b11111 << 3` of the next group.

use super::block::BlockMemory;
use super::group::{GROUP_SHIFT, Group};
use super::request::Steady;
use super::rows::InRows;
use super::takes::Sink;
use super::turns;
use super::worst::{Cost, order};
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES, Traffic, Wavefronts};
use crate::decode::Level;
use crate::observe::{At, Note, Operation, Rows, Space, SteadyAccess, Tally};
use counters::Counts;

/// A mask of sectors with one bit for each line of a group and a half, at its lowest sector.
const LINES: u64 = 0x1_1111_1111;

/// Bytes between lanes from which an access counts as irregular. No array is as large.
const LARGEST_STEP: u64 = 1 << 40;

/// The phase of a tally that no base has: no mask has all bits.
const UNREPEATED: u64 = u64::MAX;

/// The price of one request, without what depends on caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Price {
    /// Global or local memory.
    Memory {
        traffic: Traffic,
        /// Turns of L1.
        turns: u32,
    },
    /// Shared memory.
    Wavefronts(Wavefronts),
    /// Constant memory: the number of issues.
    Issues(u32),
}

impl Price {
    /// Returns the cost by which a site's worst request is chosen.
    pub(super) fn cost(&self) -> Cost {
        match self {
            Self::Memory { traffic, .. } => Cost::Sectors(traffic.sectors),
            Self::Wavefronts(wavefronts) => Cost::Wavefronts(wavefronts.taken),
            Self::Issues(issues) => Cost::Wavefronts(*issues),
        }
    }

    /// Returns the sectors of an access to memory.
    pub(super) fn sectors(&self) -> u32 {
        if let Self::Memory { traffic, .. } = self { traffic.sectors } else { 0 }
    }

    /// Returns [`Traffic::straddles`] of an access to memory.
    pub(super) fn straddles(&self) -> bool {
        matches!(self, Self::Memory { traffic, .. } if traffic.straddles())
    }
}

/// What has to be looked up at each repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// Nothing, in shared, constant and local memory.
    None,
    /// The sectors in [`Memo::sectors`], loaded through L1.
    Cached,
    /// The sectors in [`Memo::sectors`], stored.
    Stored,
    /// Those of each row, loaded through L1 or stored.
    CachedRows,
    StoredRows,
    /// Sectors further apart, or atomics, or loads past L1.
    Far,
}

impl Path {
    /// Whether they are loads through L1, and whether they are stores.
    #[inline(always)]
    pub(super) fn ways(self) -> [bool; 2] {
        [matches!(self, Self::Cached | Self::CachedRows), matches!(self, Self::Stored | Self::StoredRows)]
    }
}

/// A site's last request with evenly spaced addresses. What most repetitions look at fills a line of the host's cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Memo {
    // Step and lanes are not adjacent: else the compiler compares them as one vector, which has to wait until both have
    // been written by the caller.
    /// Step, phase and repetitions. Its own phase is [`UNREPEATED`] where each repetition has to be looked up.
    pub(super) tally: Tally,
    /// `base & tally.mask`.
    phase: u64,
    lanes: u64,
    kind: u32,
    /// Slot of the group that was touched last.
    pub(super) slot: u32,
    /// Distance of the lowest address from `base`.
    low: u64,
    /// Sectors touched, from that of the lowest address, a bit each.
    pub(super) sectors: u64,
    /// Base of the last request, kept up to date for [`Path::Far`] alone.
    last: u64,
    /// Sectors that go on to L2, of repetitions through L1.
    pub(super) l2_sectors: u64,
    /// Repetitions that hit L1 with all sectors.
    pub(super) in_l1: u64,
    /// Sectors that the block had written before, of the repetitions.
    pub(super) rewritten: u64,
    pub(super) path: Path,
    /// True for loads through L1.
    cached: bool,
    pub(super) price: Price,
}

impl Default for Memo {
    fn default() -> Self {
        Self {
            tally: Tally { phase: UNREPEATED, pitch: Tally::NO_ROWS, ..Tally::default() },
            lanes: 0,
            phase: 0,
            kind: 0,
            slot: 0,
            low: 0,
            sectors: 0,
            last: 0,
            l2_sectors: 0,
            in_l1: 0,
            rewritten: 0,
            path: Path::None,
            cached: false,
            price: Price::Issues(0),
        }
    }
}

/// Packs active mask and bytes per lane, of which there is at least one.
#[inline(always)]
fn lanes(access: &SteadyAccess) -> u64 {
    u64::from(access.active) | u64::from(access.bytes) << 32
}

/// The same with the length of the rows, which no access without rows has.
#[inline(always)]
fn lanes_in_rows(access: &SteadyAccess, rows: Rows) -> u64 {
    lanes(access) | u64::from(rows.log) << 40
}

/// Packs what else instructions differ in. The compiler reads four adjacent bytes at once.
#[inline(always)]
fn kind(access: &SteadyAccess) -> u32 {
    u32::from_le_bytes([
        access.space as u8,
        access.operation as u8,
        u8::from(access.read_only),
        u8::from(access.past_l1),
    ])
}

impl Memo {
    /// Creates the memo of an access that costs the same at all bases equal to its own in the bits of `phase_mask`.
    pub(super) fn new(access: &SteadyAccess, phase_mask: u64, price: Price) -> Self {
        let phase = access.base & phase_mask;
        let is_looked_up = matches!(access.space, Space::Global | Space::Local) || access.active != u32::MAX;
        Self {
            tally: Tally {
                step: access.step,
                pitch: Tally::NO_ROWS,
                phase: if is_looked_up { UNREPEATED } else { phase },
                mask: phase_mask,
                ..Tally::default()
            },
            lanes: lanes(access),
            kind: kind(access),
            phase,
            last: access.base,
            price,
            ..Self::default()
        }
    }

    /// Creates the memo of an access to global memory from 5.0 on. None if it counts as irregular.
    pub(super) fn global(access: &SteadyAccess, cached: bool, level: Level) -> Option<Self> {
        let Layout { low, sectors, steady, .. } = Layout::of(access)?;
        let traffic = if sectors != 0 {
            traffic(low, sectors, access.active.count_ones() * access.bytes)
        } else {
            steady?.traffic(access.bytes)
        };
        let turns = turns::of(traffic.lines, turns::of_steps(access, level));
        let path = match access.operation {
            _ if sectors == 0 => Path::Far,
            Operation::Load if cached => Path::Cached,
            Operation::Store => Path::Stored,
            _ => Path::Far,
        };
        // One address is in one sector, wherever in its line.
        let phases = if access.step == 0 { 0 } else { LINE_BYTES - 1 };
        let mut memo = Self::new(access, phases, Price::Memory { traffic, turns });
        if access.active == u32::MAX && matches!(path, Path::Cached | Path::Stored) {
            memo.tally.phase = memo.phase;
        }
        Some(Self { low: low.wrapping_sub(access.base), sectors, path, cached, ..memo })
    }

    /// Creates the memo of an access in rows.
    pub(super) fn in_rows(access: &SteadyAccess, rows: Rows, phase_mask: u64, price: Price) -> Self {
        let mut memo = Self::new(access, phase_mask, price);
        memo.tally.pitch = rows.pitch;
        memo.lanes = lanes_in_rows(access, rows);
        memo
    }

    /// Creates the memo of an access of all lanes in rows to global memory, as [`Memo::global`] does for others.
    pub(super) fn in_global_rows(
        access: &SteadyAccess,
        rows: Rows,
        phase_mask: u64,
        price: Price,
        cached: bool,
    ) -> Self {
        let path = match access.operation {
            Operation::Load if cached => Path::CachedRows,
            Operation::Store => Path::StoredRows,
            _ => Path::None,
        };
        let mut memo = Self { cached, path, ..Self::in_rows(access, rows, phase_mask, price) };
        if path != Path::None {
            memo.tally.phase = memo.phase;
        }
        memo
    }

    /// The rows of a memo of an access in rows.
    #[inline(always)]
    pub(super) fn rows(&self) -> Rows {
        Rows { log: (self.lanes >> 40) as u32, pitch: self.tally.pitch }
    }

    /// Returns true if an access in rows is a repetition.
    #[inline(always)]
    pub(super) fn is_in_rows(&self, access: &SteadyAccess, rows: Rows) -> bool {
        let differs = (self.tally.step ^ access.step)
            | (self.tally.pitch ^ rows.pitch)
            | (self.lanes ^ lanes_in_rows(access, rows))
            | u64::from(self.kind ^ kind(access))
            | ((access.base & self.tally.mask) ^ self.phase);
        differs == 0
    }

    /// Returns true if an access is a repetition.
    #[inline(always)]
    pub(super) fn is_of(&self, access: &SteadyAccess) -> bool {
        let differs = (self.tally.step ^ access.step)
            | (self.lanes ^ lanes(access))
            | u64::from(self.kind ^ kind(access))
            | ((access.base & self.tally.mask) ^ self.phase);
        differs == 0
    }

    /// Returns true if a repetition may be the site's worst request.
    #[inline(always)]
    pub(super) fn must_look(&self, at: At) -> bool {
        order(at) < self.tally.from
    }

    /// Returns the lowest address of a repetition, by its base.
    #[inline(always)]
    pub(super) fn low(&self, base: u64) -> u64 {
        base.wrapping_add(self.low)
    }

    /// Returns the load or the store that a repetition is, by its base.
    pub(super) fn access(&self, base: u64) -> SteadyAccess {
        let operation = if self.path.ways()[1] { Operation::Store } else { Operation::Load };
        SteadyAccess {
            base,
            step: self.tally.step,
            active: self.lanes as u32,
            bytes: (self.lanes >> 32) as u32 & 0xFF,
            space: Space::Global,
            operation,
            read_only: false,
            past_l1: false,
            strong: false,
        }
    }

    /// Returns the first group of a repetition, and the sectors of that group and of the next, in the lower and upper half.
    #[inline(always)]
    pub(super) fn place(&self, base: u64) -> (u64, u64) {
        let low = self.low(base);
        (low >> GROUP_SHIFT, self.sectors << (low >> 5 & 31))
    }

    /// Predicts the base of the site's next far request: as far on as this one is from the last. After the first, it is this one's own.
    #[inline(always)]
    pub(super) fn next_far(&mut self, base: u64) -> u64 {
        let last = std::mem::replace(&mut self.last, base);
        base.wrapping_add(base.wrapping_sub(last))
    }

    /// Looks up a repetition's sectors where its path tells that it should.
    #[inline(always)]
    pub(super) fn look_up(&mut self, base: u64, warp: u32, memory: &mut BlockMemory, list: &mut Vec<Group>) {
        let (group, sectors) = self.place(base);
        match self.path {
            Path::None | Path::Far => {}
            Path::Cached => {
                let missed = memory.load_near(&mut self.slot, warp, group, sectors, list);
                self.l2_sectors += u64::from(missed);
                self.in_l1 += u64::from(missed == 0);
            }
            Path::Stored => {
                let rewritten = memory.access_near(&mut self.slot, group, sectors, [false, true], list);
                self.rewritten += u64::from(rewritten);
            }
            Path::CachedRows | Path::StoredRows => self.look_up_rows(base, warp, memory, list),
        }
    }

    /// Passes each group of a repetition and its touched sectors to the sink, as [`look_up`](Self::look_up) comes to them.
    #[inline(always)]
    pub(super) fn each_group(&self, base: u64, sink: &mut impl Sink) {
        if matches!(self.path, Path::CachedRows | Path::StoredRows) {
            return InRows { base, step: self.tally.step, rows: self.rows() }.each(sink);
        }
        let (group, sectors) = self.place(base);
        sink.take(group, sectors as u32);
        if sectors >> 32 != 0 {
            sink.take(group + 1, (sectors >> 32) as u32);
        }
    }

    /// Returns this memo as if nothing had repeated it.
    pub(super) fn without_counts(&self) -> Self {
        let tally = Tally { repeats: 0, ..self.tally };
        Self { tally, l2_sectors: 0, in_l1: 0, rewritten: 0, slot: 0, ..*self }
    }

    /// Counts a noted repetition.
    #[inline(always)]
    pub(super) fn count(&mut self, note: &Note, memory: &mut BlockMemory, list: &mut Vec<Group>) {
        self.tally.repeats += 1;
        self.look_up(note.base, note.warp, memory, list);
    }

    /// Adds the repetitions that another memo of the same site has counted.
    #[inline(always)]
    pub(super) fn add_counts(&mut self, other: &Self) {
        self.tally.repeats += other.tally.repeats;
        self.l2_sectors += other.l2_sectors;
        self.in_l1 += other.in_l1;
        self.rewritten += other.rewritten;
    }

    /// Adds the repetitions to their site's counters. `local_to_l2` is [that of the rules](super::shape::Rules::local_to_l2).
    pub(super) fn settle(&mut self, counts: &mut Counts, local_to_l2: [bool; 2]) {
        let times = std::mem::take(&mut self.tally.repeats);
        if times == 0 {
            return;
        }
        let [space, operation, ..] = self.kind.to_le_bytes();
        let (load, store) = (operation == Operation::Load as u8, operation == Operation::Store as u8);
        match self.price {
            Price::Memory { traffic, turns } => {
                let sectors = times * u64::from(traffic.sectors);
                let missed = std::mem::take(&mut self.l2_sectors);
                let l2_sectors = if self.cached {
                    missed
                } else if space != Space::Local as u8 || local_to_l2[usize::from(!load)] {
                    sectors
                } else {
                    0
                };
                let extent = super::extent::Extent {
                    l2_sectors,
                    in_l1: std::mem::take(&mut self.in_l1),
                    rewritten: std::mem::take(&mut self.rewritten),
                    turns,
                };
                let memory = if space == Space::Local as u8 {
                    if load { &mut counts.local_loads } else { &mut counts.local_stores }
                } else if load {
                    &mut counts.loads
                } else if store {
                    &mut counts.stores
                } else {
                    let lanes = u64::from((self.lanes as u32).count_ones());
                    let (addresses, rounds) = if self.tally.step == 0 { (1, lanes) } else { (lanes, 1) };
                    counts.conflicts.addresses += times * addresses;
                    counts.conflicts.rounds += times * rounds;
                    &mut counts.atomics
                };
                super::extent::add(memory, &traffic, &extent, times);
            }
            Price::Wavefronts(wavefronts) => {
                let shared = if load {
                    &mut counts.shared_loads
                } else if store {
                    &mut counts.shared_stores
                } else {
                    &mut counts.shared_atomics
                };
                shared.requests += times;
                shared.wavefronts += times * u64::from(wavefronts.taken);
                shared.ideal += times * u64::from(wavefronts.ideal);
            }
            Price::Issues(issues) => {
                counts.constant.requests += times;
                counts.constant.replays += times * u64::from(issues - 1);
            }
        }
    }
}

/// The sectors of an access to global memory.
struct Layout {
    /// Lowest address.
    low: u64,
    /// Sectors from that of `low`; 0 if they do not lie within 32.
    sectors: u64,
    /// The addresses, if the active lanes are adjacent.
    steady: Option<Steady>,
}

impl Layout {
    fn of(access: &SteadyAccess) -> Option<Self> {
        let &SteadyAccess { step, active, .. } = access;
        if step.min(step.wrapping_neg()) >= LARGEST_STEP {
            return None;
        }
        let (first, last) = (active.trailing_zeros(), 31 - active.leading_zeros());
        let adjacent = active.count_ones() == last - first + 1;
        let steady = Steady::between(access.address(first), access.address(last), step, last - first + 1);
        // Irregular accesses are recorded in the order of their lanes, these by ascending addresses.
        if steady.low > steady.high || !adjacent && step >> 63 == 1 {
            return None;
        }
        let within = (steady.high >> 5) - (steady.low >> 5) < 32;
        let sector = |lane: u32| 1_u64 << ((access.address(lane) >> 5) - (steady.low >> 5));
        let sectors = if !within {
            0
        } else if adjacent && steady.step <= SECTOR_BYTES {
            u64::MAX >> (63 - ((steady.high >> 5) - (steady.low >> 5)))
        } else {
            (first..=last).filter(|lane| active >> lane & 1 == 1).fold(0, |all, lane| all | sector(lane))
        };
        if !adjacent && sectors == 0 {
            return None;
        }
        Some(Self { low: steady.low, sectors, steady: adjacent.then_some(steady) })
    }
}

/// Returns the traffic of some sectors, the first of which holds the address `low`.
fn traffic(low: u64, sectors: u64, bytes_used: u32) -> Traffic {
    let placed = sectors << (low >> 5 & 3);
    let pairs = placed | placed >> 1;
    let lines = (pairs | pairs >> 2) & LINES;
    let count = sectors.count_ones();
    Traffic {
        requests: 1,
        transactions: count,
        sectors: count,
        lines: lines.count_ones(),
        bytes_moved: count * SECTOR_BYTES as u32,
        bytes_used,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_far_request_is_as_far_on_as_the_last_was() {
        let mut memo = Memo { last: 4096, ..Memo::default() };
        let next = [4096, 8192, 8192, 1024, 0].map(|base| memo.next_far(base));
        assert_eq!(next, [4096, 12288, 8192, 1024_u64.wrapping_sub(7168), 1024_u64.wrapping_neg()]);
    }
}
