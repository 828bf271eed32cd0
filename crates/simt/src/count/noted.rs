//! Counts accesses to global memory that compiled code has noted.
//!
//! Code compares an access with its site's [memo](super::steady) itself, and notes a repetition by its base, its site and its warp: a few
//! instructions in place of a call. Notes are counted together, in their order, before anything else looks at what the block has
//! touched, before a barrier, and when there is no room for more. Where the launch has memory that is not the card's own, notes that may be
//! of it are then [noted there](super::near) too, one by one.

use super::level::by_level;
use super::observer::CounterObserver;
use super::replays::Outcome;
use super::run::Run;

/// The slot of an access is fetched this many notes ahead.
const AHEAD: usize = 8;

impl CounterObserver {
    /// Counts what has been noted.
    #[inline(always)]
    pub(super) fn count_notes(&mut self) {
        if self.run.notes.count != 0 {
            self.count_some_notes();
        }
    }

    by_level! {
        #[inline(never)]
        fn count_some_notes = count_some_notes_avx2, count_some_notes_at()
    }

    #[inline(always)]
    fn count_some_notes_at(&mut self) {
        let count = std::mem::take(&mut self.run.notes.count) as usize;
        let is_near = self.rules.elsewhere.any() && self.are_near(count);
        if is_near {
            // Each request has to be noted by itself.
            self.stop_watching();
        }
        let Run { notes, replays, .. } = &mut *self.run;
        match replays.compare(&notes.notes[..count]) {
            Outcome::Repeated(batch) => return self.phase.note_ways(batch.ways),
            Outcome::Differs => self.retrace(),
            Outcome::New => {}
        }
        let Run { memos, memory, groups: list, notes, replays, .. } = &mut *self.run;
        let mut ways = [false; 2];
        let notes = &notes.notes[..count];
        for (at, note) in notes.iter().enumerate() {
            if let Some(later) = notes.get(at + AHEAD) {
                memory.fetch(later.base);
            }
            let memo = memos.at(note.site);
            let [loads, stores] = memo.path.ways();
            ways = [ways[0] | loads, ways[1] | stores];
            memo.count(note, memory, list);
        }
        self.phase.note_ways(ways);
        replays.keep(notes, ways);
        if is_near {
            self.note_notes_elsewhere(count);
        }
    }
}
