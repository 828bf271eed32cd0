//! Groups the findings that one change of the source would mend.
//!
//! The checks distinguish findings by instruction, and a line of source is many instructions. If the barrier is missing in
//!
//! ```text
//! 38    tile.put(own, value);                         // 4 stores once the loop around it is unrolled
//! 39    edge.put(own, other);                         // 4 stores
//!       // here
//! 43    sum += tile.at(left) + edge.at(right);        // 8 loads
//! ```
//!
//! then up to 32 pairs of instructions race, most of them in both orders, both within a warp (warnings) and between warps
//! (errors), and some reads are uninitialised. The author has made one mistake, at three lines.
//! Three rules group them:
//!
//! 1. Findings of one kind at one line are a group, for all instructions, kernels and launches. A race is at two lines, in
//!    either order.
//! 2. Races in shared memory are a group if one barrier orders them all. A barrier before line 40 orders the lines above it
//!    before those below, so it separates each pair of lines with line 40 between the first (38 or 39) and the second (43).
//!    The fewest barriers that separate all pairs are the fewest points that stab a set of intervals: take the interval that
//!    ends first, put a barrier right before its end, remove all pairs that it separates, and repeat.
//! 3. A read of uninitialised shared memory belongs to the race at its line: the write exists, and came later.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::finding::{Finding, FindingKind, Memory, Severity};
use super::place::Place;

/// A finding, and where it was found first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// First launch with this finding, from 1 in the order of the run; None for a host call.
    pub launch: Option<u64>,
    /// Number of launches with this finding.
    pub launches: u64,
    /// Last launch with this finding.
    #[serde(skip)]
    pub(super) last: Option<u64>,
    /// The finding, with the count of all launches.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A group of findings, at least one.
#[derive(Clone, Debug)]
pub struct Group<'r> {
    /// Findings; the first is the one to show.
    findings: Vec<&'r Reported>,
    /// Uninitialised reads that a race explains.
    explained: Vec<&'r Reported>,
    /// Index of the group's first finding among all.
    order: usize,
}

impl<'r> Group<'r> {
    /// Returns the finding to show: the first error, or else the first finding.
    pub fn shown(&self) -> &'r Reported {
        self.findings[0]
    }

    /// Returns all findings, the one to show first, without reads that a race explains.
    pub fn findings(&self) -> &[&'r Reported] {
        &self.findings
    }

    /// Returns the reads of uninitialised shared memory that the group's race explains.
    pub(crate) fn explained(&self) -> &[&'r Reported] {
        &self.explained
    }

    /// Returns [`Severity::Error`] if any finding is an error.
    pub(crate) fn severity(&self) -> Severity {
        self.shown().finding.severity
    }

    /// Returns the sum of the findings' counts.
    pub fn accesses(&self) -> u64 {
        self.findings.iter().map(|known| known.finding.count).sum()
    }

    /// Returns the names of the kernels with these findings.
    pub(crate) fn kernels(&self) -> BTreeSet<&'r str> {
        self.findings.iter().filter_map(|known| known.finding.kernel.as_deref()).collect()
    }

    /// Returns the first instruction at each line that the shown finding does not name, by line.
    pub(crate) fn other_places(&self) -> Vec<&'r Place> {
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

    /// Returns true if a finding is of the same kind at the same lines.
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

    /// Returns the lines of a race in shared memory, smaller first; None for other findings.
    fn shared_race(&self) -> Option<[Spot<'r>; 2]> {
        match self.shown().finding.kind {
            FindingKind::Race { memory: Memory::Shared, .. } => spots(self.shown()).try_into().ok(),
            _ => None,
        }
    }
}

/// A line of a finding: of the source, or of the PTX if the source is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot<'r> {
    /// File of the source, or function of the PTX.
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

/// Returns the instructions that a finding names: two for a race, none for a host call.
fn places(known: &Reported) -> Vec<&Place> {
    match &known.finding.kind {
        FindingKind::Race { first, second, .. } => vec![&first.place, &second.place],
        _ => known.finding.place.iter().collect(),
    }
}

/// Returns their lines, smaller first.
fn spots(known: &Reported) -> Vec<Spot<'_>> {
    let mut spots: Vec<Spot<'_>> = places(known).into_iter().map(Spot::of).collect();
    spots.sort_unstable();
    spots
}

/// Groups findings, in the order of each group's first.
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

/// Applies the second rule.
fn merge_by_barrier(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    // Pairs of lines of one file that a barrier can separate, with the group's number.
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
    // For each merged group, the number of the group that it joins.
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

/// Applies the third rule.
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
