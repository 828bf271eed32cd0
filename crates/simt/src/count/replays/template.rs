//! A counted block whose counts serve for blocks that repeat it: see [`replays`](super).

use crate::coalescing::SECTOR_BYTES;
use crate::count::block::BlockMemory;
use crate::count::by_site::BySite;
use crate::count::group::{GROUP_SHIFT, Group, Tally};
use crate::count::steady::Memo;
use crate::count::takes::Sink;
use crate::observe::Note;
use std::collections::HashMap;

/// Most notes of a template.
pub(super) const MOST_NOTES: usize = 1 << 12;

/// Most groups of a template, of which L1 forgets none.
const MOST_GROUPS: usize = 1 << 12;

/// Most sites of a template.
pub(super) const MOST_SITES: usize = 8;

/// Notes that were counted together.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::count) struct Batch {
    /// Number of the block's notes up to the batch's end.
    pub(super) end: usize,
    /// Whether the batch has loads through L1, and whether it has stores.
    pub(in crate::count) ways: [bool; 2],
}

/// A note of the template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) note: Note,
    /// The class of its site.
    pub(super) class: usize,
}

/// Sites that touch common groups, named by the number of one of them.
#[derive(Clone, Copy, Debug)]
struct Class {
    number: usize,
    /// Index of its first note.
    first: usize,
    /// The lowest and the highest group.
    groups: (u64, u64),
    /// The lowest and the highest sector, each within its group.
    sectors: (u64, u64),
}

/// Displacement of a class from the template: in bytes, and as whole groups and sectors within a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shift {
    pub(super) bytes: u64,
    groups: u64,
    sectors: u64,
}

/// Displacements by class.
pub(super) type Shifts = [Shift; MOST_SITES];

/// A counted block.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) notes: Vec<Kept>,
    pub(super) batches: Vec<Batch>,
    classes: Vec<Class>,
    /// The sites, each with a memo that has the counts of the block alone.
    pub(super) sites: Vec<(u32, Memo)>,
    /// Groups, each with its class.
    groups: Vec<(usize, Group)>,
    pub(super) tally: Tally,
    /// See [`BlockMemory::clock_of_block`].
    pub(super) clock: Option<u32>,
    /// The [version](super::Replays::version) of the memos.
    pub(super) version: u64,
    /// Blocks that have repeated it.
    pub(super) used: u32,
    /// Blocks in succession that have not.
    pub(super) misses: u32,
}

/// Joins sites into classes.
struct Joining {
    /// The class of each site.
    classes: [usize; MOST_SITES],
    /// The site that touched each group first.
    owners: HashMap<u64, usize>,
    /// The site whose groups come.
    site: usize,
}

impl Sink for Joining {
    fn take(&mut self, group: u64, _: u32) {
        let owner = *self.owners.entry(group).or_insert(self.site);
        let (one, other) = (self.classes[owner], self.classes[self.site]);
        self.classes.iter_mut().filter(|class| **class == other).for_each(|class| *class = one);
    }
}

impl Template {
    /// Counts a block's notes in an empty `memory`. Returns `None` if there are too many sites or groups.
    pub(super) fn of(
        notes: &[Note],
        batches: &[Batch],
        memos: &mut BySite<Memo>,
        memory: &mut BlockMemory,
        version: u64,
    ) -> Option<Self> {
        let mut sites: Vec<(u32, Memo)> = Vec::new();
        let mut numbers = Vec::with_capacity(notes.len());
        for note in notes {
            let known = sites.iter().position(|(site, _)| *site == note.site);
            numbers.push(known.unwrap_or(sites.len()));
            if known.is_none() {
                sites.push((note.site, memos.at(note.site).without_counts()));
            }
        }
        if sites.len() > MOST_SITES {
            return None;
        }
        let classes = std::array::from_fn(|site| site);
        let mut joining = Joining { classes, owners: HashMap::new(), site: 0 };
        let mut list = Vec::new();
        for (note, &number) in notes.iter().zip(&numbers) {
            let memo = &mut sites[number].1;
            memo.count(note, memory, &mut list);
            joining.site = number;
            memo.each_group(note.base, &mut joining);
        }
        let clock = memory.clock_of_block();
        memory.end_block(true, &mut list);
        let tally = std::mem::take(&mut memory.tally);
        let Joining { classes, owners, .. } = joining;
        if owners.len() > MOST_GROUPS {
            return None;
        }
        let kept = |(&note, number): (&Note, usize)| Kept { note, class: classes[number] };
        let notes: Vec<Kept> = notes.iter().zip(numbers).map(kept).collect();
        let with_class = |group: Group| Some((classes[*owners.get(&group.index)?], group));
        let groups = list.into_iter().map(with_class).collect::<Option<Vec<_>>>()?;
        let numbers = (0..sites.len()).filter(|&number| classes[number] == number);
        let classes = numbers.map(|number| Class::of(number, &notes, &groups)).collect::<Option<_>>()?;
        let batches = batches.to_vec();
        Some(Self { notes, batches, classes, sites, groups, tally, clock, version, used: 0, misses: 0 })
    }

    /// Compares notes with those of a batch. Sets the displacements of classes whose first note is among them.
    #[inline(always)]
    pub(super) fn compare(&self, batch: usize, notes: &[Note], shifts: &mut Shifts) -> Option<Batch> {
        let found = *self.batches.get(batch)?;
        let start = batch.checked_sub(1).map_or(0, |before| self.batches[before].end);
        let kept = &self.notes[start..found.end];
        if kept.len() != notes.len() {
            return None;
        }
        for class in &self.classes {
            if let Some(at) = class.first.checked_sub(start).filter(|at| *at < kept.len()) {
                shifts[class.number] = class.shift(notes[at].base.wrapping_sub(kept[at].note.base))?;
            }
        }
        let mut differs = 0;
        for (note, kept) in notes.iter().zip(kept) {
            differs |= u64::from((note.site ^ kept.note.site) | (note.warp ^ kept.note.warp));
            differs |= note.base.wrapping_sub(kept.note.base) ^ shifts[kept.class % MOST_SITES].bytes;
        }
        (differs == 0).then_some(found)
    }

    /// Returns true if no two displaced classes overlap.
    pub(super) fn are_apart(&self, shifts: &Shifts) -> bool {
        let extent = |class: &Class| {
            let (low, high) = class.groups;
            [low, high].map(|group| shifts[class.number].group(group))
        };
        let apart =
            |[low, high]: [u64; 2], [other_low, other_high]: [u64; 2]| high < other_low || other_high < low;
        let mut classes = self.classes.iter().enumerate();
        classes.all(|(at, one)| self.classes[..at].iter().all(|other| apart(extent(one), extent(other))))
    }

    /// Returns the displaced groups.
    #[inline(always)]
    pub(super) fn groups(&self, shifts: &Shifts) -> impl Iterator<Item = Group> {
        self.groups.iter().map(|&(class, group)| shifts[class % MOST_SITES].moved(group))
    }
}

impl Class {
    fn of(number: usize, notes: &[Kept], groups: &[(usize, Group)]) -> Option<Self> {
        let own = groups.iter().filter(|(class, _)| *class == number).map(|(_, group)| group);
        let sectors = own.clone().fold(0, |all, group| all | group.read | group.written);
        let indices = own.map(|group| group.index);
        Some(Self {
            number,
            first: notes.iter().position(|kept| kept.class == number)?,
            groups: (indices.clone().min()?, indices.max()?),
            sectors: (sectors.trailing_zeros().into(), sectors.ilog2().into()),
        })
    }

    /// Returns the displacement by this many bytes, or `None` if it would divide sectors of one group among two.
    #[inline(always)]
    fn shift(&self, bytes: u64) -> Option<Shift> {
        let sectors = bytes / SECTOR_BYTES % 32;
        let (low, high) = ((self.sectors.0 + sectors) / 32, (self.sectors.1 + sectors) / 32);
        let groups = ((bytes as i64 >> GROUP_SHIFT) as u64).wrapping_add(low);
        (bytes.is_multiple_of(SECTOR_BYTES) && low == high).then_some(Shift { bytes, groups, sectors })
    }
}

impl Shift {
    #[inline(always)]
    fn group(self, index: u64) -> u64 {
        index.wrapping_add(self.groups)
    }

    #[inline(always)]
    fn moved(self, group: Group) -> Group {
        // One half of the double width is empty, since a displaced group stays whole.
        let [read, written] = [group.read, group.written].map(|sectors| {
            let wide = u64::from(sectors) << self.sectors;
            (wide | wide >> 32) as u32
        });
        Group { index: self.group(group.index), read, written }
    }
}
