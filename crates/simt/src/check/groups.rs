//! Findings that one change of the source would mend, brought together.
//!
//! The checks tell findings apart by instruction, and a line of source is many instructions. Where the barrier is missing in
//!
//! ```text
//! 38    tile.put(own, value);                         // 4 stores once the loop around it is unrolled
//! 39    edge.put(own, other);                         // 4 stores
//!       // here
//! 43    sum += tile.at(left) + edge.at(right);        // 8 loads
//! ```
//!
//! there are up to 32 pairs of instructions that race, most of them in both orders, between lanes of one warp (warnings) as
//! between warps (errors), and reads of what nothing has written yet. Their author has made one mistake, at three lines.
//! Three rules bring them together:
//!
//! 1. Findings of one kind at one line are a group, whichever instruction, kernel and launch they are of. Races are at two
//!    lines, in either order.
//! 2. Races in shared memory are a group where one barrier would order them all. A barrier before line 40 orders what stands
//!    above it against the rest, so it separates each pair of lines that has line 40 between the first (38 or 39) and the
//!    second (43). The fewest barriers that separate all pairs are the fewest points that stab a set of intervals: take the
//!    interval that ends first, put a barrier right before its end, leave out all that it separates, and begin again.
//! 3. A read of shared memory that nothing has written yet belongs to the race at its line: the write is there, and came later.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{FindingKind, Memory, Severity};
use super::place::Place;
use super::report::Reported;

/// Findings that belong together, at least one.
#[derive(Clone, Debug)]
pub struct Group<'r> {
    /// The first is the one to show.
    findings: Vec<&'r Reported>,
    /// Reads that a race explains.
    explained: Vec<&'r Reported>,
    /// Which of all findings came first.
    order: usize,
}

impl<'r> Group<'r> {
    /// The one to show: the first that is an error, or else the first.
    pub fn shown(&self) -> &'r Reported {
        self.findings[0]
    }

    /// All of them, the one to show first. Reads that a race explains are not among them.
    pub fn findings(&self) -> &[&'r Reported] {
        &self.findings
    }

    /// Reads of shared memory that nothing had written yet, which the group's race explains.
    pub fn explained(&self) -> &[&'r Reported] {
        &self.explained
    }

    /// An error if any of them is one.
    pub fn severity(&self) -> Severity {
        self.shown().finding.severity
    }

    /// How often all of them happened.
    pub fn accesses(&self) -> u64 {
        self.findings.iter().map(|known| known.finding.count).sum()
    }

    /// The kernels that they were found in, by name.
    pub fn kernels(&self) -> BTreeSet<&'r str> {
        self.findings.iter().filter_map(|known| known.finding.kernel.as_deref()).collect()
    }

    /// The first instruction at each line that the shown finding does not name, by line.
    pub fn other_places(&self) -> Vec<&'r Place> {
        let shown: BTreeSet<Spot<'_>> = spots(self.shown()).into_iter().collect();
        let mut others = BTreeMap::new();
        for place in self.findings.iter().flat_map(|known| places(known)) {
            let spot = Spot::of(place);
            if !shown.contains(&spot) {
                others.entry(spot).or_insert(place);
            }
        }
        others.into_values().collect()
    }

    fn of(order: usize, known: &'r Reported) -> Self {
        Self { findings: vec![known], explained: Vec::new(), order }
    }

    /// Whether a finding is of the same kind, at the same lines.
    fn has_the_lines_of(&self, known: &Reported) -> bool {
        let (mine, other) = (&self.shown().finding, &known.finding);
        mine.place.is_some()
            && mine.check == other.check
            && mine.kind.is_like(&other.kind)
            && spots(self.shown()) == spots(known)
    }

    fn take(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.explained.extend(other.explained);
        self.order = self.order.min(other.order);
    }

    /// The lines of a race in shared memory, if it is one: smaller first.
    fn shared_race(&self) -> Option<[Spot<'r>; 2]> {
        match self.shown().finding.kind {
            FindingKind::Race { memory: Memory::Shared, .. } => spots(self.shown()).try_into().ok(),
            _ => None,
        }
    }
}

/// A line that a finding is at: of the source, or where that is not known of the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot<'r> {
    /// The source's file, or the function in the PTX.
    scope: &'r str,
    line: u32,
}

impl<'r> Spot<'r> {
    fn of(place: &'r Place) -> Self {
        match place.line() {
            Some(line) => Self { scope: &line.file, line: line.line },
            None => Self { scope: &place.function, line: place.ptx_line },
        }
    }
}

/// The instructions that a finding names: two for a race, none for what the host did.
fn places(known: &Reported) -> Vec<&Place> {
    match &known.finding.kind {
        FindingKind::Race { first, second, .. } => vec![&first.place, &second.place],
        _ => known.finding.place.iter().collect(),
    }
}

/// Their lines, smaller first.
fn spots(known: &Reported) -> Vec<Spot<'_>> {
    let mut spots: Vec<Spot<'_>> = places(known).into_iter().map(Spot::of).collect();
    spots.sort_unstable();
    spots
}

/// Brings findings together, in the order in which the first of each group was found.
pub(super) fn groups(findings: &[Reported]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (order, known) in findings.iter().enumerate() {
        match groups.iter_mut().find(|group| group.has_the_lines_of(known)) {
            Some(group) => group.findings.push(known),
            None => groups.push(Group::of(order, known)),
        }
    }
    let mut groups = explain_reads(merge_by_barrier(groups));
    groups.sort_by_key(|group| group.order);
    for group in &mut groups {
        let error = group.findings.iter().position(|known| known.finding.severity == Severity::Error);
        group.findings.swap(0, error.unwrap_or(0));
    }
    groups
}

/// The second rule.
fn merge_by_barrier(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    // Pairs of lines of one file, with the group's number: those that one barrier can separate at all.
    let mut pairs: Vec<(&str, u32, u32, usize)> = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        if let Some([one, other]) = group.shared_race()
            && one.scope == other.scope
            && one.line < other.line
        {
            pairs.push((one.scope, other.line, one.line, number));
        }
    }
    pairs.sort_unstable();
    // By number, the group that each becomes part of.
    let mut joins: BTreeMap<usize, usize> = BTreeMap::new();
    let mut barrier: Option<(&str, u32, Vec<usize>)> = None;
    let mut close = |barrier: Option<(&str, u32, Vec<usize>)>| {
        let numbers = barrier.map(|(.., numbers)| numbers).unwrap_or_default();
        let first = numbers.iter().copied().min();
        joins.extend(numbers.into_iter().filter_map(|number| Some((number, first?))));
    };
    for (scope, end, start, number) in pairs {
        match &mut barrier {
            Some((file, before, numbers)) if *file == scope && start < *before => numbers.push(number),
            _ => close(barrier.replace((scope, end, vec![number]))),
        }
    }
    close(barrier);
    let mut merged: BTreeMap<usize, Group<'_>> = BTreeMap::new();
    for (number, group) in groups.into_iter().enumerate() {
        let into = joins.get(&number).copied().unwrap_or(number);
        match merged.get_mut(&into) {
            Some(first) => first.take(group),
            None => drop(merged.insert(into, group)),
        }
    }
    merged.into_values().collect()
}

/// The third rule.
fn explain_reads(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let is_read = |group: &Group<'_>| {
        matches!(group.shown().finding.kind, FindingKind::UninitialisedRead { memory: Memory::Shared, .. })
    };
    let (reads, mut groups): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_read);
    let mut unexplained = Vec::new();
    for read in reads {
        let at = spots(read.shown());
        let race = groups.iter_mut().find(|group| {
            let lines = || group.findings.iter().flat_map(|known| spots(known));
            group.shared_race().is_some() && at.iter().all(|spot| lines().any(|line| line == *spot))
        });
        match race {
            Some(race) => {
                race.order = race.order.min(read.order);
                race.explained.extend(read.findings);
            }
            None => unexplained.push(read),
        }
    }
    groups.extend(unexplained);
    groups
}
