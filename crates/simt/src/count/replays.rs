//! Counts blocks that do what an earlier block did, elsewhere in memory.
//!
//! Most blocks of a grid repeat each other: the same warps load and store in the same order, at addresses that are as far from the
//! earlier block's as one array's part is from another's. L1 holds nothing for a block when it begins. So what misses, what is written
//! again and what goes on to L2 is what it was for that block, if what lay in one [group](super::group) still does: arrays move by whole groups,
//! or by a few sectors within each.
//!
//! A block whose accesses to global memory were all [noted](super::noted) becomes the *template*: its notes, and what counting them came
//! to. The notes of later blocks are compared with the template's, which takes a few clocks each instead of a look-up; at the end the block's
//! groups are entered at their distance. Any other access to global memory, or a note that differs, ends that: the block is then
//! *retraced*, by counting what was compared so far one by one.
//!
//! For example, `y[i] = a * x[i] + y[i]` in blocks of 8 warps. The template loads groups 100 of `x` and 900 of `y`, all of whose 32 sectors
//! miss, and stores to group 900. The next block's notes are 1024 bytes further, in both arrays: 64 sectors missed again, and groups 101 and
//! 901 are entered. Sites that touch the same group, as the load and the store of `y`, have to move by the same distance; those are of one *class*.
//! Where classes would move into each other, the block is retraced, since one array's loads might find the other's.

use super::block::BlockMemory;
use super::by_site::BySite;
use super::group::{GROUP_SHIFT, Group, Tally};
use super::observer::CounterObserver;
use super::run::Run;
use super::steady::Memo;
use super::takes::Sink;
use crate::observe::Note;
use std::collections::HashMap;

/// Log2 of the bytes of a sector.
const SECTOR_SHIFT: u32 = 5;

/// Most notes of a template.
const MOST_NOTES: usize = 1 << 12;

/// Most groups of a template, of which L1 forgets none.
const MOST_GROUPS: usize = 1 << 12;

/// Most sites of a template.
const MOST_SITES: usize = 8;

/// Blocks in succession that differ from a template before another takes its place.
const MOST_MISSES: u32 = 3;

/// Most blocks to wait for the next template where none was of use.
const LONGEST_WAIT: u32 = 1 << 10;

/// Blocks that have to repeat a template for the next one not to be waited for.
const USEFUL: u32 = 8;

/// What the current block is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its accesses are counted as they come.
    Counted,
    /// The same, and so far all were noted, so that it may become the template.
    Kept,
    /// It has done as the template did so far.
    Following,
}

/// Notes that were counted together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batch {
    /// Notes of the block up to its end.
    end: usize,
    /// Whether some are loads through L1, and whether some are stores.
    pub(super) ways: [bool; 2],
}

/// What became of some notes.
pub(super) enum Outcome {
    /// They have to be counted.
    New,
    /// They repeat a part of the template.
    Repeated(Batch),
    /// They have to be counted, after [what repeated the template before](CounterObserver::retrace).
    Differs,
}

/// A note of the template.
#[derive(Clone, Copy, Debug)]
struct Kept {
    note: Note,
    /// The class of its site.
    class: usize,
}

/// Sites that touch the same groups.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// The first note.
    first: usize,
    /// The lowest and the highest group.
    groups: (u64, u64),
    /// The lowest and the highest sector, each within its group.
    sectors: (u64, u64),
}

/// How far groups move: whole groups, and sectors within them.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    groups: u64,
    sectors: u64,
}

/// What the repetitions of one site came to.
#[derive(Clone, Copy, Debug)]
struct OfSite {
    site: u32,
    repeats: u64,
    l2_sectors: u64,
    in_l1: u64,
    rewritten: u64,
}

/// A block, and what counting it came to.
#[derive(Debug)]
struct Template {
    notes: Vec<Kept>,
    batches: Vec<Batch>,
    classes: Vec<Class>,
    sites: Vec<OfSite>,
    /// Groups, each with its class.
    groups: Vec<(usize, Group)>,
    tally: Tally,
    /// The clock of the warp that came farthest, from the block's beginning, if it loaded.
    clock: Option<u32>,
    /// The [version](Replays::version) of the memos.
    version: u64,
    used: u32,
    misses: u32,
}

/// The template, and how far the current block has followed it.
pub(super) struct Replays {
    state: State,
    template: Option<Template>,
    /// Batches of the template that the block has repeated.
    followed: usize,
    /// Distance of each class from the template's, in bytes, and by groups.
    distances: [u64; MOST_SITES],
    shifts: [Shift; MOST_SITES],
    /// Notes and batches of a block that is kept.
    notes: Vec<Note>,
    batches: Vec<Batch>,
    /// Counts changes of the memos of global memory.
    pub(super) version: u64,
    /// Blocks until one may become a template.
    wait: u32,
    /// Blocks to wait when the next template was of no use.
    next_wait: u32,
    /// Where templates are counted.
    memory: BlockMemory,
}

impl Replays {
    pub(super) fn new(share: u32) -> Self {
        Self {
            state: State::Counted,
            template: None,
            followed: 0,
            distances: [0; MOST_SITES],
            shifts: [Shift::default(); MOST_SITES],
            notes: Vec::new(),
            batches: Vec::new(),
            version: 0,
            wait: 0,
            next_wait: 1,
            memory: BlockMemory::new(share),
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
                match template.compare(self.followed, notes, &mut self.distances, &mut self.shifts) {
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
        self.template = Template::of(&self.notes, &self.batches, memos, &mut self.memory, self.version);
        if self.template.is_none() {
            self.was_of_no_use();
        }
    }
}

impl Template {
    /// `None` if it has too many sites or groups.
    fn of(
        notes: &[Note],
        batches: &[Batch],
        memos: &mut BySite<Memo>,
        memory: &mut BlockMemory,
        version: u64,
    ) -> Option<Self> {
        let mut sites: Vec<u32> = Vec::new();
        for note in notes {
            if !sites.contains(&note.site) {
                if sites.len() == MOST_SITES {
                    return None;
                }
                sites.push(note.site);
            }
        }
        let mut of_sites: Vec<Memo> = sites.iter().map(|&site| memos.at(site).without_counts()).collect();
        // The class of each site, and the site that came first to each group.
        let mut classes: [usize; MOST_SITES] = std::array::from_fn(|number| number);
        let mut owners: HashMap<u64, usize> = HashMap::new();
        let mut list = Vec::new();
        let mut numbers = Vec::with_capacity(notes.len());
        for note in notes {
            let number = sites.iter().position(|site| *site == note.site).unwrap_or_default();
            numbers.push(number);
            let memo = &mut of_sites[number];
            memo.tally.repeats += 1;
            memo.look_up(note.base, note.warp, memory, &mut list);
            memo.each_group(note.base, &mut Owners { of_groups: &mut owners, classes: &mut classes, number });
        }
        let clock = memory.clock_of_block();
        memory.end_block(true, &mut list);
        let tally = std::mem::take(&mut memory.tally);
        if owners.len() > MOST_GROUPS {
            return None;
        }
        // Numbers the classes from 0 on, in the order of their first notes.
        let mut firsts: Vec<(usize, usize)> = Vec::new();
        let kept = |(at, (&note, number)): (usize, (&Note, usize))| {
            let named = classes[number];
            let class = firsts.iter().position(|(name, _)| *name == named).unwrap_or_else(|| {
                firsts.push((named, at));
                firsts.len() - 1
            });
            Kept { note, class }
        };
        let kept: Vec<Kept> = notes.iter().zip(numbers).enumerate().map(kept).collect();
        let class_of = |group: &Group| {
            let named = classes[*owners.get(&group.index)?];
            firsts.iter().position(|(name, _)| *name == named)
        };
        let groups: Vec<(usize, Group)> =
            list.into_iter().filter_map(|group| Some((class_of(&group)?, group))).collect();
        let class = |(class, &(_, first)): (usize, &(usize, usize))| {
            let indices = groups.iter().filter(|(of, _)| *of == class).map(|(_, group)| group.index);
            let [lowest, highest] = [indices.clone().min(), indices.max()].map(Option::unwrap_or_default);
            let sectors = groups
                .iter()
                .filter(|(of, _)| *of == class)
                .fold(0, |all, (_, group)| all | group.read | group.written);
            let sectors = (sectors.trailing_zeros().into(), (31 - sectors.leading_zeros().min(31)).into());
            Class { first, groups: (lowest, highest), sectors }
        };
        Some(Self {
            notes: kept,
            batches: batches.to_vec(),
            classes: firsts.iter().enumerate().map(class).collect(),
            sites: sites
                .iter()
                .zip(&of_sites)
                .map(|(&site, memo)| OfSite {
                    site,
                    repeats: memo.tally.repeats,
                    l2_sectors: memo.l2_sectors,
                    in_l1: memo.in_l1,
                    rewritten: memo.rewritten,
                })
                .collect(),
            groups,
            tally,
            clock,
            version,
            used: 0,
            misses: 0,
        })
    }

    /// Compares notes with those of a batch, and finds the distances of the classes that begin with it.
    #[inline(always)]
    fn compare(
        &self,
        batch: usize,
        notes: &[Note],
        distances: &mut [u64; MOST_SITES],
        shifts: &mut [Shift; MOST_SITES],
    ) -> Option<Batch> {
        let found = *self.batches.get(batch)?;
        let start = batch.checked_sub(1).map_or(0, |before| self.batches[before].end);
        let kept = &self.notes[start..found.end];
        if kept.len() != notes.len() {
            return None;
        }
        for ((distance, shift), class) in distances.iter_mut().zip(shifts).zip(&self.classes) {
            if let Some(at) = class.first.checked_sub(start).filter(|at| *at < kept.len()) {
                *distance = notes[at].base.wrapping_sub(kept[at].note.base);
                *shift = class.shift(*distance)?;
            }
        }
        let mut differs = 0;
        for (note, kept) in notes.iter().zip(kept) {
            differs |= u64::from((note.site ^ kept.note.site) | (note.warp ^ kept.note.warp));
            differs |= note.base.wrapping_sub(kept.note.base) ^ distances[kept.class % MOST_SITES];
        }
        (differs == 0).then_some(found)
    }

    /// True if no class comes to where another does.
    fn are_apart(&self, shifts: &[Shift; MOST_SITES]) -> bool {
        let at = |class: usize| {
            let (low, high) = self.classes[class].groups;
            (shifts[class].group(low), shifts[class].group(high))
        };
        let pairs = (0..self.classes.len()).flat_map(|one| (0..one).map(move |other| (at(one), at(other))));
        pairs.into_iter().all(|(one, other)| one.1 < other.0 || other.1 < one.0)
    }
}

/// Puts the sites into one class that touch one group.
struct Owners<'a> {
    /// The site that came first to each group, by its number.
    of_groups: &'a mut HashMap<u64, usize>,
    /// The class of each site.
    classes: &'a mut [usize; MOST_SITES],
    /// The site that comes.
    number: usize,
}

impl Sink for Owners<'_> {
    fn take(&mut self, group: u64, _: u32) {
        let first = *self.of_groups.entry(group).or_insert(self.number);
        let (one, other) = (self.classes[first], self.classes[self.number]);
        self.classes.iter_mut().filter(|class| **class == other).for_each(|class| *class = one);
    }
}

impl Class {
    /// Returns how groups move by this many bytes, if what lies in one group stays in one.
    #[inline(always)]
    fn shift(&self, distance: u64) -> Option<Shift> {
        let sectors = distance >> SECTOR_SHIFT & 31;
        let [low, high] = [self.sectors.0, self.sectors.1].map(|sector| (sector + sectors) >> 5);
        let is_whole = distance & ((1 << SECTOR_SHIFT) - 1) == 0;
        let groups = ((distance as i64 >> GROUP_SHIFT) as u64).wrapping_add(low);
        (is_whole && low == high).then_some(Shift { groups, sectors })
    }
}

impl Shift {
    #[inline(always)]
    fn group(self, index: u64) -> u64 {
        index.wrapping_add(self.groups)
    }

    /// All of them come to lie in one half of twice the width.
    #[inline(always)]
    fn sectors(self, sectors: u32) -> u32 {
        let moved = u64::from(sectors) << self.sectors;
        (moved | moved >> 32) as u32
    }

    #[inline(always)]
    fn moved(self, group: Group) -> Group {
        let [read, written] = [group.read, group.written].map(|sectors| self.sectors(sectors));
        Group { index: self.group(group.index), read, written }
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
                let memo = memos.at(note.site);
                memo.tally.repeats += 1;
                memo.look_up(note.base.wrapping_add(replays.distances[*class]), note.warp, memory, list);
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
            for of_site in &template.sites {
                let memo = memos.at(of_site.site);
                memo.tally.repeats += of_site.repeats;
                memo.l2_sectors += of_site.l2_sectors;
                memo.in_l1 += of_site.in_l1;
                memo.rewritten += of_site.rewritten;
            }
            let shifts = &replays.shifts;
            let groups =
                template.groups.iter().map(|&(class, group)| shifts[class % MOST_SITES].moved(group));
            memory.enter(groups, template.tally, template.clock);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::{BlockShape, Occupancy, find};
    use crate::count::{CounterObservation, L2State, LaunchCounters, LaunchShape, SiteFacts};
    use crate::observe::{At, MOST_NOTES, Observation, Observer, Operation, Rows, Site, Space, SteadyAccess};
    use std::sync::Arc;

    const BLOCKS: u64 = 64;
    const WARPS: u32 = 8;

    /// What a warp does: a barrier, or an access of a site to adjacent 32-bit words from this base on, or to two rows of 16.
    #[derive(Clone, Copy)]
    enum Does {
        Waits,
        Loads(u32, u64),
        Stores(u32, u64),
        LoadsRows(u32, u64),
        StoresRows(u32, u64),
    }

    use Does::{Loads, LoadsRows, Stores, StoresRows, Waits};

    /// Of rows.
    const ROWS: Rows = Rows { log: 4, pitch: 4096 };

    /// Executes an access as compiled code does: notes it where it repeats the site's memo, else reports it.
    fn access(observer: &mut CounterObserver, at: At, access: &SteadyAccess, rows: Option<Rows>) {
        let tallies = observer.tallies(at.block, 0..MOST_SITES as u32 * 2).expect("there are sites");
        let run = &mut *observer.run;
        let tally = run.memos.at(at.site.0).tally;
        let repeats = tally.step == access.step
            && rows.is_none_or(|rows| rows.pitch == tally.pitch)
            && access.base & tally.mask == tally.phase
            && tallies.order + u64::from(at.warp) >= tally.from;
        if !repeats || run.notes.count as usize == MOST_NOTES {
            return match rows {
                None => observer.steady_access(at, access),
                Some(rows) => observer.rows_access(at, access, rows),
            };
        }
        run.notes.notes[run.notes.count as usize] =
            Note { base: access.base, site: at.site.0, warp: at.warp };
        run.notes.count += 1;
    }

    /// The counters of a launch whose warps do this, in turns from barrier to barrier; the groups that go on to L2; and how many blocks
    /// repeated a template. With `wait`, none does.
    fn counted(wait: u32, does: &dyn Fn(u64, u32) -> Vec<Does>) -> (LaunchCounters, Vec<Group>, u64) {
        let card = find("h200").expect("the card");
        let shape = BlockShape { threads: 32 * WARPS, registers: 16, shared_bytes: 0 };
        let occupancy = Occupancy::new(&card.limits(), shape).expect("it fits");
        let facts = Arc::new(SiteFacts::of(&[]));
        let shape = LaunchShape::new([BLOCKS as u32, 1, 1], [32 * WARPS, 1, 1], occupancy, facts);
        let counters = CounterObservation::new(shape, L2State::new(card));
        let mut observer = counters.begin(0);
        observer.run.replays.wait = wait;
        let used = |observer: &CounterObserver| {
            observer.run.replays.template.as_ref().map_or(0, |template| template.used)
        };
        let mut repeated = 0;
        for block in 0..BLOCKS {
            let before = used(&observer);
            observer.block_begins(block, WARPS);
            let warps: Vec<Vec<Does>> = (0..WARPS).map(|warp| does(block, warp)).collect();
            let parts = warps.iter().map(|warp| warp.split(|does| matches!(does, Waits)).count()).max();
            for part in 0..parts.unwrap_or(0) {
                for (warp, all) in (0..).zip(&warps) {
                    for does in all.split(|does| matches!(does, Waits)).nth(part).unwrap_or_default() {
                        let (site, operation, base, rows) = match *does {
                            Loads(site, base) => (site, Operation::Load, base, None),
                            Stores(site, base) => (site, Operation::Store, base, None),
                            LoadsRows(site, base) => (site, Operation::Load, base, Some(ROWS)),
                            StoresRows(site, base) => (site, Operation::Store, base, Some(ROWS)),
                            Waits => unreachable!("barriers divide the parts"),
                        };
                        let asked = SteadyAccess {
                            base,
                            step: 4,
                            active: u32::MAX,
                            bytes: 4,
                            space: Space::Global,
                            operation,
                            read_only: false,
                            past_l1: false,
                            strong: false,
                        };
                        access(&mut observer, At { block, warp, site: Site(site) }, &asked, rows);
                    }
                }
                observer.barrier(At { block, warp: 0, site: Site(0) }, 0, WARPS.into());
            }
            observer.block_ends(block);
            repeated += u64::from(used(&observer) > before);
        }
        observer.run_ends();
        let groups = observer.run.groups.clone();
        counters.end(observer);
        (counters.finish().counters, groups, repeated)
    }

    /// Asserts that templates change nothing, and that `least` blocks at least repeated one.
    fn assert_same(least: u64, does: impl Fn(u64, u32) -> Vec<Does>) {
        let (counters, groups, repeated) = counted(0, &does);
        let (one_by_one, all_groups, none) = counted(u32::MAX, &does);
        assert_eq!(none, 0);
        assert_eq!(groups, all_groups);
        assert_eq!(counters, one_by_one);
        assert!(repeated >= least, "{repeated} blocks of {BLOCKS} repeated the template");
    }

    const X: u64 = 1 << 20;
    const Y: u64 = 1 << 30;

    /// Where the warp's words are in an array that begins at this address.
    fn own(array: u64, block: u64, warp: u32) -> u64 {
        array + 128 * (block * u64::from(WARPS) + u64::from(warp))
    }

    #[test]
    fn streams_repeat() {
        assert_same(BLOCKS - 4, |block, warp| {
            let [x, y] = [X, Y].map(|array| own(array, block, warp));
            vec![Loads(0, x), Loads(1, y), Stores(2, y)]
        });
    }

    #[test]
    fn blocks_may_go_down_through_memory() {
        assert_same(BLOCKS / 2, |block, warp| {
            let row = 8192 * u64::from(warp) + 128 * (BLOCKS - block);
            vec![Loads(0, X + row), Stores(1, Y + row)]
        });
    }

    #[test]
    fn misaligned_blocks_overlap_with_their_neighbours() {
        assert_same(BLOCKS - 4, |block, warp| {
            let x = own(X, block, warp) + 4;
            vec![Loads(0, x), Stores(1, x)]
        });
    }

    #[test]
    fn what_neighbours_have_written_is_not_read() {
        assert_same(BLOCKS - 4, |block, warp| {
            let x = own(X, block, warp);
            vec![Loads(0, x), Loads(1, x + 128), Loads(2, x + 1024), Stores(3, x + 2048)]
        });
    }

    #[test]
    fn tiles_move_by_lines_within_groups() {
        assert_same(BLOCKS / 2, |block, warp| {
            let row = |of: u64, array: u64| array + 128 * block + (u64::from(warp) * 4 + of) * 8192;
            let loads = (0..4).map(|of| Loads(0, row(of, X)));
            let stores = (0..4).map(|of| Stores(1, Y + 262_144 * block + (u64::from(warp) * 4 + of) * 8192));
            loads.chain([Waits]).chain(stores).collect()
        });
    }

    #[test]
    fn rows_repeat() {
        // A product of tiles of 16: one matrix by rows, the other by columns of tiles.
        assert_same(BLOCKS / 2, |block, warp| {
            let (x, y) = (block % 64, block / 64);
            let row = u64::from(warp) * 2 * 4096;
            let step = |k: u64| {
                [
                    LoadsRows(0, X + y * 65_536 + row + 64 * k),
                    LoadsRows(1, Y + 64 * x + k * 65_536 + row),
                    Waits,
                ]
            };
            let result = StoresRows(2, 2 * Y + y * 65_536 + row + 64 * x);
            (0..4).flat_map(step).chain([result]).collect()
        });
    }

    #[test]
    fn lines_that_would_part_are_counted_one_by_one() {
        // Two lines of one group move by a line at each block: in one block of eight they are in two groups.
        assert_same(BLOCKS / 2, |block, warp| {
            let x = X + 65_536 * u64::from(warp) + 128 * block;
            vec![Loads(0, x), Loads(1, x + 128), Loads(0, x), Stores(1, x)]
        });
    }

    #[test]
    fn blocks_that_differ_are_counted_one_by_one() {
        // One warp in eleven blocks is elsewhere, does more, or is not aligned as the others.
        for odd in 0..3 {
            assert_same(BLOCKS / 4, |block, warp| {
                let x = own(X, block, warp);
                match (odd, block % 11 == 5 && warp == 6) {
                    (_, false) => vec![Loads(0, x), Stores(1, x + Y)],
                    (0, true) => vec![Loads(0, x + 4096), Stores(1, x + Y)],
                    (1, true) => vec![Loads(0, x), Loads(0, x), Stores(1, x + Y)],
                    _ => vec![Loads(0, x + 4), Stores(1, x + Y)],
                }
            });
        }
    }

    #[test]
    fn arrays_that_move_into_each_other_are_told_apart() {
        // From some block on, the second load finds what the first has brought.
        assert_same(1, |block, warp| {
            let near = own(X, 0, warp) + 1024 * block;
            let far = own(X, 0, warp) + 1024 * 30;
            vec![Loads(0, near), Loads(1, far), Stores(2, far)]
        });
    }

    #[test]
    fn random_places_repeat_nothing() {
        assert_same(0, |block, warp| {
            let place = |salt: u64| {
                ((block * 977 + u64::from(warp) * 31 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) * 128
            };
            vec![Loads(0, X + place(1)), Loads(1, X + place(2)), Stores(2, Y + place(3))]
        });
    }

    #[test]
    fn another_template_follows_one_that_no_longer_serves() {
        assert_same(BLOCKS / 2, |block, warp| {
            let x = own(X, block, warp);
            let turned = own(X, block, WARPS - 1 - warp);
            if block < 20 { vec![Loads(0, x)] } else { vec![Loads(0, turned), Stores(1, turned)] }
        });
    }
}
