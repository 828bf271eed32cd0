//! Collects the hazards found, one for each pair of instructions.

use std::collections::HashMap;

use super::mark::{ATOMIC, Mark, WRITE};
use crate::check::finding::{AccessKind, Hazard, Severity};
use crate::observe::{Site, Space};

/// One of the two accesses of a hazard.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Party {
    /// The block's index in the grid.
    pub(in super::super) block: u64,
    pub(in super::super) warp: u32,
    pub(in super::super) lane: u32,
    pub(in super::super) site: Site,
    pub(super) kind: u8,
}

impl Party {
    pub(super) fn of(mark: &Mark) -> Self {
        Self {
            block: u64::from(mark.block),
            warp: u32::from(mark.warp),
            lane: mark.lanes.trailing_zeros(),
            site: Site(mark.site),
            kind: mark.kind,
        }
    }

    /// Returns the kind of the access.
    pub(in super::super) fn access(&self) -> AccessKind {
        match self.kind {
            kind if kind & ATOMIC != 0 => AccessKind::Atomic,
            kind if kind & WRITE != 0 => AccessKind::Write,
            _ => AccessKind::Read,
        }
    }
}

/// A hazard as first found, and how often it occurred.
#[derive(Clone, Debug)]
pub(in super::super) struct FoundHazard {
    pub(in super::super) hazard: Hazard,
    pub(in super::super) severity: Severity,
    pub(in super::super) space: Space,
    pub(in super::super) address: u64,
    pub(in super::super) first: Party,
    pub(in super::super) second: Party,
    pub(in super::super) count: u64,
}

/// The hazards of a launch.
#[derive(Debug, Default)]
pub(super) struct Hazards {
    found: Vec<FoundHazard>,
    places: HashMap<(Hazard, bool, Severity, Site, Site), usize>,
}

impl Hazards {
    pub(super) fn add(&mut self, first: Party, second: Party, global: bool, address: u64, same_warp: bool) {
        let hazard = match (first.kind & WRITE != 0, second.kind & WRITE != 0) {
            (true, true) => Hazard::Waw,
            (true, false) => Hazard::Raw,
            _ => Hazard::War,
        };
        let severity = if same_warp { Severity::Warning } else { Severity::Error };
        let space = if global { Space::Global } else { Space::Shared };
        self.count(FoundHazard { hazard, severity, space, address, first, second, count: 1 });
    }

    /// Adds the hazards that were found apart, in blocks of the same launch.
    pub(super) fn absorb(&mut self, other: Self) {
        other.found.into_iter().for_each(|found| self.count(found));
    }

    /// Counts a hazard with those of its kind between the same instructions, or keeps it as the first of them.
    fn count(&mut self, found: FoundHazard) {
        let is_global = found.space == Space::Global;
        let key = (found.hazard, is_global, found.severity, found.first.site, found.second.site);
        let place = *self.places.entry(key).or_insert(self.found.len());
        match self.found.get_mut(place) {
            Some(known) => known.count += found.count,
            None => self.found.push(found),
        }
    }

    /// Returns the hazards in the order of their second accesses, and those of one by their first accesses' instructions.
    ///
    /// A word's earlier accesses are compared in the order in which its history has them, which is not the same for words that are kept
    /// one by one and in runs.
    pub(super) fn found(&self) -> Vec<&FoundHazard> {
        let mut all: Vec<&FoundHazard> = self.found.iter().collect();
        let second = |hazard: &FoundHazard| (hazard.second.block, hazard.second.warp, hazard.second.site);
        for of_access in all.chunk_by_mut(|a, b| second(a) == second(b)) {
            of_access.sort_by_key(|hazard| (hazard.first.site.0, hazard.hazard, hazard.severity));
        }
        all
    }
}
