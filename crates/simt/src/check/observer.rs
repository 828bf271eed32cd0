//! Observes the blocks of a launch for the checks.
//!
//! An observer serves a run of blocks and keeps per block what the checks need: vector clocks and the access history of shared memory
//! for racecheck ([`race`](super::race)), and which bytes of shared memory are written for initcheck. What it finds is an
//! [`Event`]: what happened, where and to which lane, each once per instruction, with a count. Events are plain data and turn into
//! [`Finding`](super::Finding)s with positions and texts once the launch has ended
//! ([`observation`](super::observation)).
//!
//! | check | listens to |
//! | --- | --- |
//! | memcheck | nothing: a fault ends the launch, which returns it |
//! | racecheck | accesses, barriers, votes and shuffles of warps, fences, atomics |
//! | initcheck | accesses, and registers that are read before they are written |
//! | synccheck | misuse of barriers, which the executor notices itself |
//!
//! For example, thread 40 of a block reads `tile[41]` without a barrier after thread 41 has stored it. The store put its
//! clock into the history of that word; the load finds it there, not ordered before its own clock, and the two
//! accesses become a read-after-write hazard of both sites. 31 more lanes of the warp count on the same hazard.
//!
//! The two parameters of the type let the compiler leave out what a set of checks does not listen to: with synccheck alone, no
//! access reaches this file.

use std::collections::HashMap;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::checks::Checks;
use super::events::{Event, EventKind, Events, Found, add, lock};
use super::pieces::{Piece, Pieces};
use super::place::Place;
use super::race::{BlockRaces, Clocks, Races};
use super::shape::Shape;
use super::written::Written;
use crate::coalescing::Addresses;
use crate::memory::{LastAllocation, Memory};
use crate::observe::{Access, At, Misuse, Observer, Operation, Rows, Site, Space, SteadyAccess};
use crate::ptx::op::Op;

/// Knows which bytes of global memory are uninitialised.
pub trait Initialisation: Sync {
    /// Returns the active lanes that would read an uninitialised byte, with `bytes` per lane.
    fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32;

    /// Returns true if it is certain that all of these bytes, which threads may read, are initialised. `last` is where bytes were
    /// found the last time.
    #[allow(unused_variables, reason = "the names say what is asked")]
    fn is_initialised(&self, address: u64, bytes: u64, last: &mut LastAllocation) -> bool {
        false
    }

    /// Returns true if these bytes are known to be initialised without a look at each. `lanes` is the number of look-ups that the caller
    /// makes otherwise.
    #[allow(unused_variables, reason = "the names say what is asked")]
    fn is_whole(&self, address: u64, bytes: u64, lanes: u32, last: &mut LastAllocation) -> bool {
        false
    }
}

impl Initialisation for Memory {
    fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        self.uninitialised_lanes(addresses, active, bytes)
    }

    fn is_initialised(&self, address: u64, bytes: u64, last: &mut LastAllocation) -> bool {
        self.is_initialised(address, bytes, last)
    }

    fn is_whole(&self, address: u64, bytes: u64, lanes: u32, last: &mut LastAllocation) -> bool {
        self.is_whole(address, bytes, lanes, last)
    }
}

/// Treats all memory as initialised.
impl Initialisation for () {
    fn uninitialised_lanes(&self, _: &Addresses, _: u32, _: u32) -> u32 {
        0
    }

    fn is_initialised(&self, _: u64, _: u64, _: &mut LastAllocation) -> bool {
        true
    }
}

/// Observes a run of blocks for a [`CheckObservation`](super::CheckObservation).
pub struct CheckObserver<'m, const ACCESSES: bool, const REGISTERS: bool> {
    checks: Checks,
    shape: Shape,
    initialisation: &'m dyn Initialisation,
    last_allocation: LastAllocation,
    place: &'m (dyn Fn(Site) -> Place + Sync),
    /// Sites of strong accesses that release what precedes them.
    releases: HashMap<Site, bool>,
    /// Shared findings, to which this observer's are added at its end.
    home: Arc<Mutex<Found>>,
    /// True in clusters of several blocks, where each block has an access history of its own.
    apart: bool,
    races: Races,
    events: Events,
    /// Blocks that have begun and not ended, with their numbers; mostly one.
    blocks: Vec<(u64, Box<Block>)>,
    /// Memory of blocks that have ended, for those that begin.
    spare: Vec<Block>,
    undefined: u32,
}

/// State of a block during execution.
#[derive(Debug, Default)]
pub(super) struct Block {
    clocks: Clocks,
    races: BlockRaces,
    written: Written,
}

impl<'m, const ACCESSES: bool, const REGISTERS: bool> CheckObserver<'m, ACCESSES, REGISTERS> {
    /// Creates the observer of a run. With `racecheck`, runs come one after another, and the access history passes from
    /// one to the next, unless the blocks are kept `apart`.
    pub(super) fn new(
        checks: Checks,
        shape: Shape,
        initialisation: &'m dyn Initialisation,
        place: &'m (dyn Fn(Site) -> Place + Sync),
        home: Arc<Mutex<Found>>,
        apart: bool,
    ) -> Self {
        let (races, spare) = if apart {
            (Races::default(), Vec::new())
        } else {
            let mut home = lock(&home);
            (mem::take(&mut home.races), mem::take(&mut home.spare))
        };
        Self {
            checks,
            shape,
            initialisation,
            last_allocation: LastAllocation::default(),
            place,
            releases: HashMap::new(),
            home,
            apart,
            races,
            events: HashMap::new(),
            blocks: Vec::new(),
            spare,
            undefined: 0,
        }
    }

    fn event(&mut self, at: At, kind: EventKind, lanes: u32) {
        let count = u64::from(lanes.count_ones()).max(1);
        let order = self.events.len();
        let lane = if lanes == 0 { 0 } else { lanes.trailing_zeros() };
        let (block, warp, site) = (at.block, at.warp(), at.site());
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
        let place = self.place_of(block);
        &mut self.blocks[place].1
    }

    /// Returns a block's place among those that have begun.
    fn place_of(&mut self, block: u64) -> usize {
        let known = self.blocks.iter().position(|(number, _)| *number == block);
        known.unwrap_or_else(|| self.begin(block))
    }

    #[cold]
    fn begin(&mut self, block: u64) -> usize {
        let threads = self.shape.threads();
        let mut begun = self.spare.pop().unwrap_or_default();
        begun.clocks.restart(block, threads);
        begun.races.clear();
        begun.written.clear();
        self.blocks.push((block, Box::new(begun)));
        self.blocks.len() - 1
    }

    /// Calls `check` with the launch's races and the block.
    fn race(&mut self, at: At, check: impl FnOnce(&mut Races, &mut Block)) {
        let place = self.place_of(at.block);
        check(&mut self.races, &mut self.blocks[place].1);
    }

    /// Observes an access whose lanes are evenly spaced, within rows if there are such.
    fn even_access(&mut self, at: At, access: &SteadyAccess, rows: Option<Rows>) {
        if !ACCESSES {
            return;
        }
        self.undefined = 0;
        if access.strong {
            let addresses = access.addresses_in(rows);
            return self.access(at, &access.with(&addresses));
        }
        let pieces = Pieces::of(access, rows);
        if self.checks.initcheck && !self.is_initialised(at, access, pieces.as_ref()) {
            let addresses = access.addresses_in(rows);
            self.initcheck(at, &access.with(&addresses));
        }
        if self.checks.racecheck {
            self.race(at, |races, block| {
                races.steady(at, access, (rows, pieces.as_ref()), &mut block.clocks, &mut block.races);
            });
        }
    }

    /// Returns true if it is certain that an access with these pieces reads no uninitialised byte. Takes note then of what it
    /// writes.
    fn is_initialised(&mut self, at: At, access: &SteadyAccess, pieces: Option<&Pieces>) -> bool {
        let (is_load, is_store) = (access.operation == Operation::Load, access.operation == Operation::Store);
        let Some(pieces) = pieces.filter(|_| is_load || is_store) else {
            return false;
        };
        let [first, last] = pieces.ends();
        let range = |piece: Piece| (piece.word << 2, piece.words << 2);
        match access.space {
            Space::Global if is_load => {
                let mut has = |(start, bytes)| {
                    self.initialisation.is_initialised(start, bytes, &mut self.last_allocation)
                };
                if pieces.are_adjacent() {
                    has((first << 2, (last + 1 - first) << 2))
                } else {
                    pieces.clone().map(range).all(has)
                }
            }
            Space::Shared => {
                let written = &mut self.block(at.block).written;
                if is_store {
                    pieces.clone().for_each(|piece| written.write_range(range(piece)));
                    return true;
                }
                written.has_all_before((last + 1) << 2)
                    || pieces.clone().all(|piece| written.has(range(piece)))
            }
            _ => true,
        }
    }

    /// Returns true if the lanes read one allocation that is known as fully written.
    fn reads_whole(&mut self, addresses: &Addresses, active: u32, bytes: u32) -> bool {
        let (mut first, mut last) = (u64::MAX, 0);
        for (lane, &address) in addresses.iter().enumerate() {
            let is_active = active >> lane & 1 != 0;
            first = first.min(if is_active { address } else { u64::MAX });
            last = last.max(if is_active { address } else { 0 });
        }
        let bytes = last.wrapping_sub(first).wrapping_add(bytes.into());
        self.initialisation.is_whole(first, bytes, active.count_ones(), &mut self.last_allocation)
    }

    fn initcheck(&mut self, at: At, access: &Access<'_>) {
        let Access { space, operation, addresses, active, bytes, .. } = *access;
        let reads = operation != Operation::Store;
        let missing = match space {
            Space::Global if reads && !self.reads_whole(addresses, active, bytes) => {
                self.initialisation.uninitialised_lanes(addresses, active, bytes)
            }
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

/// Returns an access of all lanes that are evenly spaced, throughout or in two rows of 16.
fn evenly_spaced(access: &Access<'_>) -> Option<(SteadyAccess, Option<Rows>)> {
    let addresses = access.addresses;
    let (base, step) = (addresses[0], addresses[1].wrapping_sub(addresses[0]));
    let pitch = addresses[16].wrapping_sub(base);
    let is_even = |lane: u64, address: u64| {
        let (place, row) = (lane & 15, lane >> 4);
        address == base.wrapping_add(step.wrapping_mul(place)).wrapping_add(pitch.wrapping_mul(row))
    };
    let all = access.active == u32::MAX
        && addresses.iter().zip(0..).fold(true, |all, (&address, lane)| all & is_even(lane, address));
    let rows = (pitch != step.wrapping_mul(16)).then_some(Rows { log: 4, pitch });
    all.then(|| (SteadyAccess::spaced(access, base, step), rows))
}

impl<const ACCESSES: bool, const REGISTERS: bool> Observer for CheckObserver<'_, ACCESSES, REGISTERS> {
    const ACCESSES: bool = ACCESSES;
    const SYNCHRONISATION: bool = true;
    const REGISTERS: bool = REGISTERS;

    /// Orders all that the block's warps have done before what they do next, since other blocks may have handed it on.
    fn block_resumes(&mut self, block: u64, written: &[Range<u64>]) {
        let state = self.block(block);
        written.iter().for_each(|range| state.written.write_range((range.start, range.end - range.start)));
        state.clocks.barrier(u64::MAX);
        state.races.pass_barrier();
    }

    fn block_ends(&mut self, block: u64) {
        if let Some(place) = self.blocks.iter().position(|(number, _)| *number == block) {
            self.spare.push(*self.blocks.swap_remove(place).1);
        }
    }

    fn access(&mut self, at: At, access: &Access<'_>) {
        if !ACCESSES {
            return;
        }
        if !access.strong
            && let Some((access, rows)) = evenly_spaced(access)
        {
            return self.even_access(at, &access, rows);
        }
        self.undefined = 0;
        if self.checks.initcheck {
            self.initcheck(at, access);
        }
        if self.checks.racecheck {
            let releases = access.strong && access.space == Space::Global && self.releases(at.site());
            self.race(at, |races, block| {
                if releases {
                    block.clocks.fence(at.warp(), access.active);
                }
                races.access(at, access, &mut block.clocks, &mut block.races);
            });
        }
    }

    fn steady_access(&mut self, at: At, access: &SteadyAccess) {
        self.even_access(at, access, None);
    }

    fn rows_access(&mut self, at: At, access: &SteadyAccess, rows: Rows) {
        self.even_access(at, access, Some(rows));
    }

    fn barrier(&mut self, at: At, _: u32, warps: u64) {
        if self.checks.racecheck {
            let block = self.block(at.block);
            block.clocks.barrier(warps);
            if warps == u64::MAX {
                block.races.pass_barrier();
            }
        }
    }

    fn warp_barrier(&mut self, at: At, lanes: u32) {
        if self.checks.racecheck {
            self.block(at.block).clocks.warp_barrier(at.warp(), lanes);
        }
    }

    fn fence(&mut self, at: At, lanes: u32, _: bool) {
        if self.checks.racecheck {
            self.block(at.block).clocks.fence(at.warp(), lanes);
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
            let all = self.lanes(at.warp());
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
            let races = mem::take(&mut self.races);
            if self.apart {
                home.races.absorb(races);
            } else {
                home.races = races;
            }
        }
        if !self.apart {
            home.spare = mem::take(&mut self.spare);
        }
        for event in mem::take(&mut self.events).into_values() {
            add(&mut home.events, event);
        }
    }
}
