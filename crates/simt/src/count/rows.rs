//! Counts requests in rows: those of blocks that are fewer than 32 threads wide.
//!
//! In a block of 16 x 16 threads, a warp has two rows of 16 lanes. Where it loads `a[y][k]`, with `y` its row, each row has one
//! address; where it loads `b[k][x]`, both rows have the same 16 addresses; and where it stores `c[y][x]`, there are 64
//! bytes for each row, a matrix's pitch apart. Traffic and turns of such a request depend on the step, the pitch and the
//! phase of its base alone, as those of a [steady](super::steady) one do, so that the site's memo has them. What is in
//! L1 is looked up for each row by its first and last address.

use super::block::BlockMemory;
use super::distinct::Pieces;
use super::group::{GROUP_SHIFT, Group};
use super::level::by_level;
use super::observer::CounterObserver;
use super::request::{AnyLanes, Groups, Steady};
use super::run::Run;
use super::shape::Generation;
use super::sinks::{CachedLoads, Uncached};
use super::steady::{Memo, Price};
use super::takes::Sink;
use super::turns;
use crate::coalescing::{Addresses, LANES, LINE_BYTES, SECTOR_BYTES, constant_replays};
use crate::observe::{At, Rows, Space, SteadyAccess};

/// Bytes between lanes of a row from which they are looked up one by one.
const LARGEST_STEP: u64 = 1 << 30;

/// The addresses of a warp in rows, with ascending ones in each row.
pub(super) struct InRows {
    pub(super) base: u64,
    pub(super) step: u64,
    pub(super) rows: Rows,
}

impl InRows {
    /// Returns the lowest and the highest address.
    #[inline(always)]
    pub(super) fn span(&self) -> (u64, u64) {
        let last = self.base.wrapping_add(self.rows.pitch.wrapping_mul((LANES as u64 >> self.rows.log) - 1));
        let width = self.step.wrapping_mul((1 << self.rows.log) - 1);
        (self.base.min(last), self.base.max(last).wrapping_add(width))
    }

    /// Passes each group and its touched sectors to the sink, in the order of the lanes. Adjacent ones of the same group
    /// come together.
    #[inline(always)]
    pub(super) fn each(&self, sink: &mut impl Sink) {
        let lanes = 1 << self.rows.log;
        let mut joined = Joined { sink, group: self.base >> GROUP_SHIFT, sectors: 0 };
        let mut low = self.base;
        for _ in 0..LANES as u32 >> self.rows.log {
            let high = low.wrapping_add(u64::from(lanes - 1) * self.step);
            Steady { low, high, step: self.step, lanes }.each(&mut joined);
            low = low.wrapping_add(self.rows.pitch);
        }
        joined.sink.take(joined.group, joined.sectors);
    }
}

/// Joins adjacent sectors of the same group.
struct Joined<'a, S> {
    sink: &'a mut S,
    group: u64,
    sectors: u32,
}

impl<S: Sink> Sink for Joined<'_, S> {
    #[inline(always)]
    fn take(&mut self, group: u64, sectors: u32) {
        if group == self.group {
            self.sectors |= sectors;
        } else {
            self.sink.take(self.group, self.sectors);
            (self.group, self.sectors) = (group, sectors);
        }
    }
}

/// Returns the least of a sector, half a line and a line in which an access's first row lies that begins at a multiple of it; a line, if
/// the row lies in none.
fn unit_of_rows(access: &SteadyAccess, rows: Rows) -> u64 {
    let span = access.step * ((1 << rows.log) - 1) + u64::from(access.bytes);
    let holds = |unit: &u64| access.base % unit + span <= *unit;
    [SECTOR_BYTES, LINE_BYTES / 2].into_iter().find(holds).unwrap_or(LINE_BYTES)
}

impl CounterObserver {
    /// Counts an access in rows that has at least one active lane.
    #[inline(always)]
    pub(super) fn rows(&mut self, at: At, access: &SteadyAccess, rows: Rows) {
        let is_global = access.space == Space::Global;
        if access.space == Space::Local || is_global && !self.are_alike(access) {
            return self.lanes_access(at, &access.with(&rows.addresses(access.base, access.step)));
        }
        if is_global && rows.pitch == access.step << rows.log {
            return self.steady(at, access);
        }
        if !self.run.memos.at(at.site().0).is_in_rows(access, rows) {
            let new = self.memo_of_rows(at, access, rows);
            self.put_memo(at, new);
        }
        if is_global {
            self.look_up_rows(at, access);
        }
        let memo = self.run.memos.at(at.site().0);
        memo.tally.repeats += 1;
        if memo.must_look(at) {
            let addresses = rows.addresses(access.base, access.step);
            self.note_worst(at, &access.with(&addresses));
        }
        let Run { memos, places, .. } = &mut *self.run;
        if is_global && memos.at(at.site().0).is_near(&self.rules.elsewhere, places, access.base) {
            self.note_lanes_elsewhere(at, access, Some(rows));
        }
    }

    /// Returns true if a request to global memory costs the same in such rows at all bases of its phase.
    #[inline(always)]
    fn are_alike(&self, access: &SteadyAccess) -> bool {
        self.rules.generation == Generation::Sectors
            && access.active == u32::MAX
            && access.step < LARGEST_STEP
            && !access.operation.is_atomic()
    }

    #[inline(never)]
    fn memo_of_rows(&mut self, at: At, access: &SteadyAccess, rows: Rows) -> Memo {
        let addresses = rows.addresses(access.base, access.step);
        match access.space {
            Space::Shared | Space::Cluster => {
                let wavefronts = self.shared_wavefronts(at, &access.with(&addresses));
                Memo::in_rows(access, rows, self.run.shared.period() - 1, Price::Wavefronts(wavefronts))
            }
            Space::Constant => {
                let issues = constant_replays(self.rules.capability, &addresses, access.active);
                Memo::in_rows(access, rows, 0, Price::Issues(issues))
            }
            Space::Global | Space::Local => {
                let price = self.price_of_lanes(&addresses, access.bytes);
                // An address a row is in one sector, wherever in that; and in one line, if all are in the same place of theirs. So
                // is a row that fills a part of a line.
                let phases = match access.step {
                    0 if rows.pitch.is_multiple_of(LINE_BYTES) => 0,
                    0 if rows.pitch.is_multiple_of(SECTOR_BYTES) => LINE_BYTES - SECTOR_BYTES,
                    _ if rows.pitch.is_multiple_of(LINE_BYTES) => unit_of_rows(access, rows) - 1,
                    _ => LINE_BYTES - 1,
                };
                let cached = self.is_cached(access.operation, access.past_l1, access.read_only);
                Memo::in_global_rows(access, rows, phases, price, cached)
            }
        }
    }

    /// Returns the price of a request of all lanes to global memory, from 5.0 on.
    fn price_of_lanes(&self, addresses: &Addresses, bytes: u32) -> Price {
        let lanes = AnyLanes { addresses, pieces: Pieces::of(addresses, u32::MAX, self.rules.level) };
        let traffic = lanes.traffic(LANES as u32 * bytes);
        let turns = turns::of_lanes(&lanes.pieces, (addresses, u32::MAX), bytes, self.rules.level);
        Price::Memory { traffic, turns }
    }

    by_level! {
        /// Looks up which sectors of a site's memo are in L1, or which the block has written.
        #[inline(always)]
        fn look_up_rows = look_up_rows_avx2, look_up_rows_at(at: At, access: &SteadyAccess)
    }

    #[inline(always)]
    fn look_up_rows_at(&mut self, at: At, access: &SteadyAccess) {
        self.note_phase(access.operation);
        let Run { memos, memory, groups: list, .. } = &mut *self.run;
        memos.at(at.site().0).look_up_rows(access.base, at.warp(), memory, list);
    }
}

impl Memo {
    /// Looks up the sectors of a repetition in rows.
    #[inline(always)]
    pub(super) fn look_up_rows(
        &mut self,
        base: u64,
        warp: u32,
        memory: &mut BlockMemory,
        list: &mut Vec<Group>,
    ) {
        let lanes = InRows { base, step: self.tally.step, rows: self.rows() };
        let [loads, stores] = self.path.ways();
        if loads {
            let mut loads = CachedLoads::new(memory, list, warp, false);
            lanes.each(&mut loads);
            let missed = loads.end();
            self.l2_sectors += u64::from(missed);
            self.in_l1 += u64::from(missed == 0);
        } else {
            let (reads, writes) = (!stores, stores);
            let mut uncached = Uncached { memory, list, reads, writes, rewritten: 0, taken: 0 };
            lanes.each(&mut uncached);
            // Sectors that one request writes twice are written once.
            let twice = uncached.taken - self.price.sectors();
            self.rewritten += u64::from(if writes { uncached.rewritten - twice } else { 0 });
        }
    }
}
