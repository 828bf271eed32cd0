//! Collects what the observers of a launch find: races, and other events counted by instruction.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::finding::BarrierProblem;
use super::observer::Block;
use super::race::Races;
use crate::observe::{Misuse, Site, Space};

/// Findings of a launch so far; observers return them even if the launch fails.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) races: Races,
    /// Memory of blocks that have ended, for those that begin.
    pub(super) spare: Vec<Block>,
    pub(super) events: Events,
}

pub(super) fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    // Findings of a worker that panicked count too.
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<Misuse> for BarrierProblem {
    fn from(misuse: Misuse) -> Self {
        match misuse {
            Misuse::DivergentWarp { elsewhere } => Self::DivergentWarp { elsewhere },
            Misuse::DivergentBlock => Self::DivergentBlock,
            Misuse::NotInMask { mask, callers } => Self::NotInMask { mask, callers },
            Misuse::NeverArrive { mask, missing } => Self::NeverArrive { mask, missing },
        }
    }
}

/// Events by instruction and class.
pub(super) type Events = HashMap<(Site, u8), Event>;

/// A finding other than a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) kind: EventKind,
    pub(super) site: Site,
    pub(super) block: u64,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) count: u64,
    /// Number of kinds of events that its observer had seen before.
    pub(super) order: usize,
}

/// Adds an event to those of its kind. The thread shown is the lowest, in whatever order they came.
pub(super) fn add(events: &mut Events, event: Event) {
    match events.entry((event.site, event.kind.class())) {
        Entry::Vacant(vacant) => {
            vacant.insert(event);
        }
        Entry::Occupied(mut occupied) => {
            let known = occupied.get_mut();
            let count = known.count + event.count;
            if (event.block, event.warp, event.lane) < (known.block, known.warp, known.lane) {
                *known = Event { order: known.order, ..event };
            }
            known.count = count;
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum EventKind {
    Read { space: Space, bytes: u32, address: u64, atomic: bool },
    Register,
    Misuse(Misuse),
}

impl EventKind {
    /// Returns the class: events of one instruction and class are counted together.
    fn class(self) -> u8 {
        match self {
            Self::Read { space: Space::Shared, .. } => 1,
            Self::Read { .. } => 0,
            Self::Register => 2,
            Self::Misuse(Misuse::DivergentWarp { .. }) => 3,
            Self::Misuse(Misuse::DivergentBlock) => 4,
            Self::Misuse(Misuse::NotInMask { .. }) => 5,
            Self::Misuse(Misuse::NeverArrive { .. }) => 6,
        }
    }
}
