//! Executes a launch under checks, and turns what observers noted into findings.
//!
//! [`launch`] chooses the observer by the checks, so that each set of them pays only for what it listens to, and observes for
//! the counters at the same time. With racecheck or initcheck blocks execute one after another: findings are then the
//! same on any number of workers, and the access history passes from block to block.
//!
//! For example, 256 blocks read the same uninitialised element. The observer has one event for that instruction, with the
//! first block, warp and lane that met it and a count of 256; here it gets the name of the kernel, the line of the source, and
//! the coordinates of its thread.

use std::mem;
use std::sync::{Arc, Mutex};

use super::checks::{Check, Checks};
use super::events::{Event, EventKind, Found, lock};
use super::finding::{Finding, FindingKind, RacingAccess};
use super::observer::{CheckObserver, Initialisation};
use super::place::Place;
use super::race::Party;
use super::shape::Shape;
use crate::count::{self, CounterObservation};
use crate::exec::{self, Executed, Launch, LaunchFailure, Program};
use crate::memory::Memory;
use crate::observe::{Observation, Site};

/// What to check in a launch, and how findings name its instructions.
pub struct Watch<'a> {
    /// The checks. memcheck finds faults, which the launch itself returns: see [`Finding::of_fault`].
    pub checks: Checks,
    /// Name of the kernel in findings.
    pub kernel: &'a str,
    /// Returns the place of a site. Called for sites of findings, and for atomic and other strong accesses, whose
    /// opcodes tell whether they release.
    pub place: &'a (dyn Fn(Site) -> Place + Sync),
}

/// Executes a launch under checks, and returns its findings.
///
/// `counters` count the launch, as [`count::launch`](fn@crate::count::launch) does. Each set of checks pays only for
/// what it observes. initcheck relies on [`Memory::track_initialisation`], which must be on before memory is allocated.
pub fn launch(
    program: &Program,
    memory: &Memory,
    launch: &Launch<'_>,
    counters: &mut CounterObservation,
    watch: &Watch<'_>,
) -> (Result<Executed, LaunchFailure>, Vec<Finding>) {
    let shape = Shape { grid: launch.grid, block: launch.block };
    let (checks, place) = (watch.checks, watch.place);
    let clusters = launch.cluster_size() > 1;
    if checks.initcheck {
        let mut both = (
            counters,
            CheckObservation::<true, true>::new(checks, shape, memory, place).in_clusters(clusters),
        );
        (exec::launch(program, memory, launch, &mut both), both.1.findings(watch.kernel))
    } else if checks.racecheck {
        let mut both = (
            counters,
            CheckObservation::<true, false>::new(checks, shape, memory, place).in_clusters(clusters),
        );
        (exec::launch(program, memory, launch, &mut both), both.1.findings(watch.kernel))
    } else if checks.synccheck {
        let mut both = (
            counters,
            CheckObservation::<false, false>::new(checks, shape, memory, place).in_clusters(clusters),
        );
        (exec::launch(program, memory, launch, &mut both), both.1.findings(watch.kernel))
    } else {
        (count::launch(program, memory, launch, counters), Vec::new())
    }
}

/// Observes a launch for racecheck, initcheck and synccheck; memcheck needs no observer. [`launch`] chooses the
/// parameters: `ACCESSES` for racecheck and initcheck, `REGISTERS` for initcheck.
///
/// With either of these, blocks are executed one after another, so that findings do not depend on the number of
/// workers.
pub struct CheckObservation<'m, const ACCESSES: bool, const REGISTERS: bool> {
    checks: Checks,
    shape: Shape,
    initialisation: &'m dyn Initialisation,
    place: &'m (dyn Fn(Site) -> Place + Sync),
    found: Arc<Mutex<Found>>,
    in_clusters: bool,
}

impl<'m, const ACCESSES: bool, const REGISTERS: bool> CheckObservation<'m, ACCESSES, REGISTERS> {
    /// Prepares to observe one launch.
    pub fn new(
        checks: Checks,
        shape: Shape,
        initialisation: &'m dyn Initialisation,
        place: &'m (dyn Fn(Site) -> Place + Sync),
    ) -> Self {
        Self { checks, shape, initialisation, place, found: Arc::default(), in_clusters: false }
    }

    /// Sets whether the launch has clusters of several blocks, whose accesses are not compared with each other.
    #[must_use]
    pub fn in_clusters(self, in_clusters: bool) -> Self {
        Self { in_clusters, ..self }
    }

    /// Returns the findings for a report, also after a launch that failed.
    pub fn findings(self, kernel: &str) -> Vec<Finding> {
        let place = self.place;
        let found = mem::take(&mut *lock(&self.found));
        let finding = |check, kind, at: &Event| Finding {
            kernel: Some(kernel.to_owned()),
            place: Some(place(at.site)),
            thread: Some(self.shape.thread(at.block, at.warp, at.lane)),
            count: at.count,
            ..Finding::new(check, kind)
        };
        let mut events: Vec<Event> = found.events.into_values().collect();
        events.sort_by_key(|event| (event.block, event.warp, event.lane, event.order));
        let mut findings: Vec<Finding> = Vec::new();
        for event in &events {
            let (check, kind) = match event.kind {
                EventKind::Read { space, bytes, address, atomic } => {
                    let kind =
                        FindingKind::UninitialisedRead { memory: space.into(), bytes, address, atomic };
                    (Check::Initcheck, kind)
                }
                EventKind::Register => {
                    let place = place(event.site);
                    let base = place.instruction.split('.').next().unwrap_or_default();
                    let branch = !["ld", "ldu", "st", "atom", "red", "cp", "prefetch"].contains(&base);
                    (Check::Initcheck, FindingKind::UninitialisedRegister { branch })
                }
                EventKind::Misuse(misuse) => {
                    (Check::Synccheck, FindingKind::Barrier { problem: misuse.into() })
                }
            };
            findings.push(finding(check, kind, event));
        }
        for hazard in found.races.hazards() {
            let access = |party: &Party| RacingAccess {
                access: party.access(),
                place: place(party.site),
                thread: self.shape.thread(party.block, party.warp, party.lane),
            };
            let (first, second) = (access(&hazard.first), access(&hazard.second));
            findings.push(Finding {
                severity: hazard.severity,
                kernel: Some(kernel.to_owned()),
                place: Some(first.place.clone()),
                thread: Some(first.thread),
                count: hazard.count,
                ..Finding::new(
                    Check::Racecheck,
                    FindingKind::Race {
                        hazard: hazard.hazard,
                        memory: hazard.space.into(),
                        address: hazard.address,
                        first: first.into(),
                        second: second.into(),
                    },
                )
            });
        }
        findings
    }
}

impl<'m, const ACCESSES: bool, const REGISTERS: bool> Observation
    for CheckObservation<'m, ACCESSES, REGISTERS>
{
    type Observer = CheckObserver<'m, ACCESSES, REGISTERS>;

    fn run_of_blocks(&self) -> u64 {
        1
    }

    fn in_order(&self) -> bool {
        self.checks.racecheck || self.checks.initcheck
    }

    fn begin(&self, _: u64) -> Self::Observer {
        let found = self.found.clone();
        let Self { checks, shape, initialisation, place, in_clusters, .. } = *self;
        CheckObserver::new(checks, shape, initialisation, place, found, in_clusters)
    }

    /// Observers return their findings when they are dropped.
    fn end(&self, observer: Self::Observer) {
        drop(observer);
    }
}
