//! Observes the blocks of a launch for the checks.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex};

use super::checks::Checks;
use super::events::{Event, EventKind, Events, Found, add, lock};
use super::place::Place;
use super::race::{BlockRaces, Clocks, Races};
use super::shape::Shape;
use super::written::Written;
use crate::coalescing::Addresses;
use crate::memory::Memory;
use crate::observe::{Access, At, Misuse, Observer, Operation, Site, Space};
use crate::ptx::op::Op;

/// Knows which bytes of global memory are uninitialised.
pub trait Initialisation: Sync {
    /// Returns the active lanes that would read an uninitialised byte, with `bytes` per lane.
    fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32;
}

impl Initialisation for Memory {
    fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        self.uninitialised_lanes(addresses, active, bytes)
    }
}

/// Treats all memory as initialised.
impl Initialisation for () {
    fn uninitialised_lanes(&self, _: &Addresses, _: u32, _: u32) -> u32 {
        0
    }
}

/// Observes a run of blocks for a [`CheckObservation`](super::CheckObservation).
pub struct CheckObserver<'m, const ACCESSES: bool, const REGISTERS: bool> {
    checks: Checks,
    shape: Shape,
    initialisation: &'m dyn Initialisation,
    place: &'m (dyn Fn(Site) -> Place + Sync),
    /// Sites of strong accesses that release what precedes them.
    releases: HashMap<Site, bool>,
    /// Shared findings, to which this observer's are added at its end.
    home: Arc<Mutex<Found>>,
    races: Races,
    events: Events,
    /// Blocks that have begun and not ended; mostly one.
    blocks: HashMap<u64, Box<Block>>,
    undefined: u32,
}

/// State of a block during execution.
#[derive(Debug)]
struct Block {
    clocks: Clocks,
    races: BlockRaces,
    written: Written,
}

impl<'m, const ACCESSES: bool, const REGISTERS: bool> CheckObserver<'m, ACCESSES, REGISTERS> {
    /// Creates the observer of a run. With `racecheck`, runs come one after another, and the access history passes from
    /// one to the next.
    pub(super) fn new(
        checks: Checks,
        shape: Shape,
        initialisation: &'m dyn Initialisation,
        place: &'m (dyn Fn(Site) -> Place + Sync),
        home: Arc<Mutex<Found>>,
    ) -> Self {
        let races = mem::take(&mut lock(&home).races);
        Self {
            checks,
            shape,
            initialisation,
            place,
            releases: HashMap::new(),
            home,
            races,
            events: HashMap::new(),
            blocks: HashMap::new(),
            undefined: 0,
        }
    }

    fn event(&mut self, at: At, kind: EventKind, lanes: u32) {
        let count = u64::from(lanes.count_ones()).max(1);
        let order = self.events.len();
        let lane = if lanes == 0 { 0 } else { lanes.trailing_zeros() };
        let At { block, warp, site } = at;
        let new = Event { kind, site, block, warp, lane, count, order };
        add(&mut self.events, new);
    }

    /// Returns true if a strong access releases what precedes it, as a fence would.
    fn releases(&mut self, site: Site) -> bool {
        let place = self.place;
        *self
            .releases
            .entry(site)
            .or_insert_with(|| Op::read(&place(site).instruction).is_ok_and(|op| op.releases()))
    }

    /// Returns the lanes of a block's warp.
    fn lanes(&self, warp: u32) -> u32 {
        let left = self.shape.threads().saturating_sub(warp * 32);
        if left >= 32 { u32::MAX } else { (1 << left) - 1 }
    }

    fn block(&mut self, block: u64) -> &mut Block {
        let threads = self.shape.threads();
        self.blocks.entry(block).or_insert_with(|| {
            Box::new(Block {
                clocks: Clocks::new(block, threads),
                races: BlockRaces::default(),
                written: Written::default(),
            })
        })
    }

    fn initcheck(&mut self, at: At, access: &Access<'_>) {
        let Access { space, operation, addresses, active, bytes, .. } = *access;
        let reads = operation != Operation::Store;
        let missing = match space {
            Space::Global if reads => self.initialisation.uninitialised_lanes(addresses, active, bytes),
            Space::Shared => {
                let written = &mut self.block(at.block).written;
                let missing = if reads { written.missing(addresses, active, bytes) } else { 0 };
                if operation != Operation::Load {
                    written.write(addresses, active, bytes);
                }
                missing
            }
            _ => 0,
        } & active;
        self.undefined = missing;
        if missing != 0 {
            let address = addresses[missing.trailing_zeros() as usize];
            let atomic = operation != Operation::Load;
            self.event(at, EventKind::Read { space, bytes, address, atomic }, missing);
        }
    }
}

impl<const ACCESSES: bool, const REGISTERS: bool> Observer for CheckObserver<'_, ACCESSES, REGISTERS> {
    const ACCESSES: bool = ACCESSES;
    const SYNCHRONISATION: bool = true;
    const REGISTERS: bool = REGISTERS;

    fn block_ends(&mut self, block: u64) {
        self.blocks.remove(&block);
    }

    fn access(&mut self, at: At, access: &Access<'_>) {
        if !ACCESSES {
            return;
        }
        self.undefined = 0;
        if self.checks.initcheck {
            self.initcheck(at, access);
        }
        if self.checks.racecheck {
            let releases = access.strong && access.space == Space::Global && self.releases(at.site);
            let mut races = mem::take(&mut self.races);
            let block = self.block(at.block);
            if releases {
                block.clocks.fence(at.warp, access.active);
            }
            races.access(at, access, &mut block.clocks, &mut block.races);
            self.races = races;
        }
    }

    fn barrier(&mut self, at: At, _: u32, warps: u64) {
        if self.checks.racecheck {
            self.block(at.block).clocks.barrier(warps);
        }
    }

    fn warp_barrier(&mut self, at: At, lanes: u32) {
        if self.checks.racecheck {
            self.block(at.block).clocks.warp_barrier(at.warp, lanes);
        }
    }

    fn fence(&mut self, at: At, lanes: u32, _: bool) {
        if self.checks.racecheck {
            self.block(at.block).clocks.fence(at.warp, lanes);
        }
    }

    fn undefined_lanes(&mut self) -> u32 {
        self.undefined
    }

    fn undefined(&mut self, at: At, lanes: u32) {
        if self.checks.initcheck {
            self.event(at, EventKind::Register, lanes);
        }
    }

    fn misuse(&mut self, at: At, misuse: Misuse) {
        if self.checks.synccheck {
            let all = self.lanes(at.warp);
            let lanes = match misuse {
                Misuse::DivergentWarp { elsewhere } => all & !elsewhere,
                Misuse::DivergentBlock => all,
                Misuse::NotInMask { callers, .. } => callers,
                Misuse::NeverArrive { mask, missing } => mask & !missing,
            };
            self.event(at, EventKind::Misuse(misuse), lanes);
        }
    }
}

/// Adds its findings to the launch's, whether the launch succeeds or fails.
impl<const ACCESSES: bool, const REGISTERS: bool> Drop for CheckObserver<'_, ACCESSES, REGISTERS> {
    fn drop(&mut self) {
        let mut home = lock(&self.home);
        if self.checks.racecheck {
            home.races = mem::take(&mut self.races);
        }
        for event in mem::take(&mut self.events).into_values() {
            add(&mut home.events, event);
        }
    }
}
