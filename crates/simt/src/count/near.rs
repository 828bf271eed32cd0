//! Notes requests to memory that is not the card's own, one by one and in their order.
//!
//! Pages of managed memory migrate in the order in which warps touch them ([`trails`](super::trails)), and memory of the host or of another
//! card is reached over a link ([`host_pages`](super::host_pages), [`peer_stores`](super::peer_stores)). For nearly all requests the lowest
//! and the highest address tell all of this; only those of lanes far apart are looked at lane by lane.
//!
//! For example, a warp that loads a row of `f32` from byte 65,472 of a managed array on touches its pages 0 and 1, so its trail gets two
//! steps. From byte 65,408 on it touches page 0 alone, as the first and the last lane tell.

use super::observer::CounterObserver;
use super::rows::InRows;
use super::run::Run;
use super::shape::{Elsewhere, Range};
use super::steady::{Memo, Path};
use crate::observe::{Access, At, Note, Operation, Rows, Site, SteadyAccess, Tally};
use std::ops;

/// The ranges of memory that is not the card's own. [`Elsewhere`] is their span, in which the card's own memory may lie as well: a program
/// may take pinned memory, memory of the card and pinned memory again.
#[derive(Debug)]
pub(super) struct Places(Box<[ops::Range<u64>]>);

impl Places {
    pub(super) fn of(ranges: &[Range]) -> Self {
        let from = |range: &Range| range.addresses.start.saturating_sub(Elsewhere::MARGIN);
        Self(ranges.iter().map(|range| from(range)..range.addresses.end).collect())
    }

    /// Returns true if one of the ranges, or the margin before it, has an address from the lowest to the highest.
    #[inline(always)]
    fn meet(&self, low: u64, high: u64) -> bool {
        let next = self.0.partition_point(|range| range.end <= low);
        self.0.get(next).is_some_and(|range| range.start <= high)
    }
}

impl CounterObserver {
    /// Notes a request to global memory if it may be to memory that is not the card's own.
    #[inline(always)]
    pub(super) fn note_elsewhere(&mut self, at: At, access: &Access<'_>) {
        if self.rules.elsewhere.is_among(access.addresses) {
            self.note_near(at, access);
        } else {
            self.run.host_pages.leave();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_near(&mut self, at: At, access: &Access<'_>) {
        let run = &mut *self.run;
        run.elsewhere = true;
        if run.trails.any() {
            let written = access.operation != Operation::Load;
            run.trails.note(at.warp(), access.addresses, access.active, written);
        }
        if run.peer_stores.any() && access.operation != Operation::Load {
            let is_atomic = access.operation.is_atomic();
            run.peer_stores.note(access.addresses, (access.active, access.bytes), is_atomic);
        }
        if run.host_pages.any() {
            let window = self.block / self.rules.cut.window;
            let first = access.addresses[(access.active.trailing_zeros() & 31) as usize];
            run.host_pages.note(window, at.warp(), first);
        }
    }

    /// Notes a repetition of its site's memo, which is not [far](Path::Far), as [`note_elsewhere`](Self::note_elsewhere) does.
    #[inline(never)]
    pub(super) fn note_steady_elsewhere(&mut self, at: At, access: &SteadyAccess) {
        let first = access.address(access.active.trailing_zeros());
        let last = access.address(31 - access.active.leading_zeros());
        let (low, high) = (first.min(last), first.max(last));
        let run = &mut *self.run;
        if !self.rules.elsewhere.is_between(low, high) || !run.places.meet(low, high) {
            return run.host_pages.leave();
        }
        run.elsewhere = true;
        let written = access.operation != Operation::Load;
        let by_lanes = run.peer_stores.any() && written
            || run.trails.any() && !run.trails.note_span(at.warp(), [low, high], written);
        if by_lanes {
            self.note_near(at, &access.with(&access.addresses()));
        } else if run.host_pages.any() {
            run.host_pages.note(self.block / self.rules.cut.window, at.warp(), first);
        }
        self.note_split(at, access.operation);
    }

    /// Notes a repetition of its site's memo that is far or in rows, likewise.
    #[cold]
    #[inline(never)]
    pub(super) fn note_lanes_elsewhere(&mut self, at: At, access: &SteadyAccess, rows: Option<Rows>) {
        self.note_elsewhere(at, &access.with(&access.addresses_in(rows)));
        self.note_split(at, access.operation);
    }

    /// Notes that a repetition straddles lines, if its price says so.
    #[inline(always)]
    fn note_split(&mut self, at: At, operation: Operation) {
        if self.run.memos.at(at.site().0).price.straddles() {
            self.run.host_pages.note_split(operation != Operation::Load);
        }
    }

    /// Returns true if one of the first notes may be of memory that is not the card's own.
    pub(super) fn are_near(&mut self, count: usize) -> bool {
        let Self { rules, run, .. } = self;
        let Run { notes, memos, places, .. } = &mut **run;
        let is_near = |note: &Note| memos.at(note.site).is_near(&rules.elsewhere, places, note.base);
        notes.notes[..count].iter().any(is_near)
    }

    /// Notes those of the first notes that may be of memory that is not the card's own.
    #[inline(never)]
    pub(super) fn note_notes_elsewhere(&mut self, count: usize) {
        for index in 0..count {
            let Note { base, site, warp } = self.run.notes.notes[index];
            let Run { memos, places, .. } = &mut *self.run;
            let memo = memos.at(site);
            if memo.is_near(&self.rules.elsewhere, places, base) {
                let (at, access) = (At::new(self.block, warp, Site(site)), memo.access(base));
                match memo.path {
                    Path::CachedRows | Path::StoredRows => {
                        let rows = memo.rows();
                        self.note_lanes_elsewhere(at, &access, Some(rows));
                    }
                    _ => self.note_steady_elsewhere(at, &access),
                }
            }
        }
    }
}

impl Memo {
    /// Returns true if a repetition in global memory that is not [far](Path::Far) may be to memory that is not the card's own.
    #[inline(always)]
    pub(super) fn is_near(&self, elsewhere: &Elsewhere, places: &Places, base: u64) -> bool {
        if self.tally.pitch == Tally::NO_ROWS {
            let low = self.low(base);
            return elsewhere.is_near(low) && places.meet(low, low);
        }
        let (low, high) = InRows { base, step: self.tally.step, rows: self.rows() }.span();
        elsewhere.is_between(low, high) && places.meet(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::shape::Placement;

    #[test]
    fn places_meet_what_lies_in_them_or_close_before() {
        let range = |addresses| Range { addresses, placement: Placement::Host };
        let places = Places::of(&[range(10_000..20_000), range(50_000..60_000)]);
        let margin = Elsewhere::MARGIN;
        assert!(!places.meet(0, 10_000 - margin - 1) && places.meet(0, 10_000 - margin));
        assert!(places.meet(19_999, 19_999) && !places.meet(20_000, 50_000 - margin - 1));
        assert!(places.meet(20_000, 55_000) && places.meet(0, 70_000) && !places.meet(60_000, 70_000));
        assert!(!Places::of(&[]).meet(0, u64::MAX));
    }
}
