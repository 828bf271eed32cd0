//! Counts a block by an earlier one with the same accesses at other addresses.
//!
//! Most blocks of a grid repeat each other: the same warps load and store in the same order, and only the addresses differ. L1 holds nothing
//! for a block when it begins. So its misses, its rewritten sectors and its requests to L2 are those of the earlier block, provided that sectors
//! of one [group](super::group) stay in one group: each array is displaced by whole groups, or by a few sectors within each.
//!
//! A block whose accesses to global memory were all [noted](super::noted) becomes the *template*: its notes and its counts. Later blocks'
//! notes are compared with it, which takes a few clocks per note instead of a look-up; when such a block ends, the template's groups are entered at their
//! displacement. An access that was not noted, a note that differs, or one of memory that is not the card's own ends the
//! comparison, and the block is *retraced*: the notes compared so far are counted one by one.
//!
//! For example, `y[i] = a * x[i] + y[i]` in blocks of 8 warps. The template loads groups 100 of `x` and 900 of `y`, all of whose 32 sectors
//! miss, and stores to group 900. The next block's notes are 1024 bytes further in both arrays: again 64 sectors miss, and groups 101 and
//! 901 are entered. Sites that touch the same group, such as the load and the store of `y`, form a *class* and must be displaced alike.
//! Where displaced classes overlap, the block is retraced, because loads of one array might hit data of the other.

mod template;
#[cfg(test)]
mod tests;

use super::block::BlockMemory;
use super::by_site::BySite;
use super::observer::CounterObserver;
use super::run::Run;
use super::steady::Memo;
use crate::observe::Note;
use template::{Batch, Kept, MOST_NOTES, MOST_SITES, Shift, Shifts, Template};

/// Blocks in succession that differ from a template until it is dropped.
const MOST_MISSES: u32 = 3;

/// Most blocks between a useless template and the next.
const LONGEST_WAIT: u32 = 1 << 10;

/// Blocks that repeat a useful template, at least. The next block replaces it without a wait.
const USEFUL: u32 = 8;

/// The way of counting the current block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Access by access.
    Counted,
    /// Access by access; all were noted so far, so that the block may become the template.
    Kept,
    /// By the template, which it has repeated so far.
    Following,
}

/// Result of comparing notes with the template.
pub(super) enum Outcome {
    /// There is none to repeat: the caller counts them.
    New,
    /// They repeat a batch of it.
    Repeated(Batch),
    /// They differ: the caller [retraces](CounterObserver::retrace) the block, then counts them.
    Differs,
}

/// The template, and how far the current block has followed it.
pub(super) struct Replays {
    state: State,
    template: Option<Template>,
    /// Batches of the template that the block has repeated.
    followed: usize,
    /// Displacements of the current block.
    shifts: Shifts,
    /// Notes and batches of a block that is kept.
    notes: Vec<Note>,
    batches: Vec<Batch>,
    /// Counts changes of the memos of global memory.
    pub(super) version: u64,
    /// Blocks until one may become a template.
    wait: u32,
    /// Blocks to wait when the next template was of no use.
    next_wait: u32,
    /// Where templates are counted, once there has been one.
    memory: Option<BlockMemory>,
    /// See [`L1::share`](super::l1::L1::share).
    share: u32,
}

impl Replays {
    pub(super) fn new(share: u32) -> Self {
        Self {
            state: State::Counted,
            template: None,
            followed: 0,
            shifts: [Shift::default(); MOST_SITES],
            notes: Vec::new(),
            batches: Vec::new(),
            version: 0,
            wait: 0,
            next_wait: 1,
            memory: None,
            share,
        }
    }

    /// Begins a block.
    pub(super) fn begin(&mut self) {
        self.notes.clear();
        self.batches.clear();
        self.followed = 0;
        let version = self.version;
        let is_current = self.template.as_ref().is_some_and(|template| template.version == version);
        self.state = if is_current {
            State::Following
        } else if self.wait > 0 {
            self.wait -= 1;
            State::Counted
        } else {
            State::Kept
        };
    }

    /// True unless accesses are counted as they come, whatever they are.
    #[inline(always)]
    pub(super) fn is_watching(&self) -> bool {
        self.state != State::Counted
    }

    /// Compares notes with the template's next.
    #[inline(always)]
    pub(super) fn compare(&mut self, notes: &[Note]) -> Outcome {
        match (self.state, &self.template) {
            (State::Following, Some(template)) => {
                match template.compare(self.followed, notes, &mut self.shifts) {
                    Some(batch) => {
                        self.followed += 1;
                        Outcome::Repeated(batch)
                    }
                    None => Outcome::Differs,
                }
            }
            _ => Outcome::New,
        }
    }

    /// Keeps notes that have been counted, where the block may become the template.
    #[inline(always)]
    pub(super) fn keep(&mut self, notes: &[Note], ways: [bool; 2]) {
        if self.state == State::Kept {
            if self.notes.len() + notes.len() > MOST_NOTES {
                self.state = State::Counted;
                self.was_of_no_use();
                return;
            }
            self.notes.extend_from_slice(notes);
            self.batches.push(Batch { end: self.notes.len(), ways });
        }
    }

    fn was_of_no_use(&mut self) {
        self.wait = self.next_wait;
        self.next_wait = (2 * self.next_wait).min(LONGEST_WAIT);
    }

    /// Notes that a block differs from the template.
    fn miss(&mut self) {
        let Some(template) = &mut self.template else { return };
        template.misses += 1;
        if template.misses >= MOST_MISSES {
            if template.used >= USEFUL {
                (self.wait, self.next_wait) = (0, 1);
            } else {
                self.was_of_no_use();
            }
            self.template = None;
        }
    }

    /// True if the block that ends has repeated all of the template, and no class has moved into another.
    fn has_repeated(&self) -> bool {
        self.state == State::Following
            && self.template.as_ref().is_some_and(|template| {
                self.followed == template.batches.len() && template.are_apart(&self.shifts)
            })
    }

    /// Makes the block that ends the template.
    #[cold]
    fn make_template(&mut self, memos: &mut BySite<Memo>) {
        let memory = self.memory.get_or_insert_with(|| BlockMemory::new(self.share));
        self.template = Template::of(&self.notes, &self.batches, memos, memory, self.version);
        if self.template.is_none() {
            self.was_of_no_use();
        }
    }
}

impl CounterObserver {
    /// Goes on counting accesses as they come.
    #[cold]
    #[inline(never)]
    pub(super) fn stop_watching(&mut self) {
        match self.run.replays.state {
            State::Following => self.retrace(),
            State::Kept => self.run.replays.was_of_no_use(),
            State::Counted => {}
        }
        self.run.replays.state = State::Counted;
    }

    /// Counts what repeated the template so far, note by note.
    #[cold]
    #[inline(never)]
    pub(super) fn retrace(&mut self) {
        let Run { memos, memory, groups: list, replays, .. } = &mut *self.run;
        replays.state = State::Counted;
        if let (Some(template), Some(last)) = (&replays.template, replays.followed.checked_sub(1)) {
            for Kept { note, class } in &template.notes[..template.batches[last].end] {
                let base = note.base.wrapping_add(replays.shifts[*class].bytes);
                memos.at(note.site).count(&Note { base, ..*note }, memory, list);
            }
        }
        replays.miss();
    }

    /// Ends the part of a block that follows a template, before the block itself.
    #[inline(always)]
    pub(super) fn end_following(&mut self) {
        if self.run.replays.has_repeated() {
            let Run { memos, memory, replays, .. } = &mut *self.run;
            let Some(template) = &mut replays.template else { return };
            for (site, counted) in &template.sites {
                memos.at(*site).add_counts(counted);
            }
            memory.enter(template.groups(&replays.shifts), template.tally, template.clock);
            template.used = template.used.saturating_add(1);
            template.misses = 0;
            replays.state = State::Counted;
        } else if self.run.replays.state == State::Following {
            self.retrace();
        }
    }

    /// Makes the block that has ended the template, if it can be one.
    #[inline(always)]
    pub(super) fn end_kept(&mut self) {
        let Run { memos, replays, .. } = &mut *self.run;
        if replays.state == State::Kept && !replays.notes.is_empty() {
            replays.make_template(memos);
        }
        replays.state = State::Counted;
    }
}
