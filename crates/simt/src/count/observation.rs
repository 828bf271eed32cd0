//! Observes a launch for counting: combines the results of its runs in the order of blocks.

use super::by_site::BySite;
use super::contests::Contested;
use super::host_pages::{self, HostPages, OfHost};
use super::hottest::Hottest;
use super::l2::L2State;
use super::merged::Merged;
use super::near::Places;
use super::observer::CounterObserver;
use super::peer_stores::{self, PeerStores};
use super::run::{Run, Totals};
use super::shape::{LaunchShape, Rules};
use super::trails::{self, Numbered};
use super::windows::ManagedWindow;
use super::worst::Worst;
use crate::exec::{self, Executed, Launch, LaunchFailure, Program};
use crate::memory::Memory;
use crate::multiprocessor::{Recorder, Sample, Traces};
use crate::observe::{Observation, Observer};
use counters::{Counts, LaunchCounters};
use std::ops;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts a launch: the observation to pass to [`launch`].
///
/// ```
/// use simt::cards::{BlockShape, Occupancy, find};
/// use simt::count::{CounterObservation, L2State, LaunchShape, SiteFacts};
/// use simt::observe::Observation;
/// use std::sync::Arc;
///
/// let card = find("h200")?;
/// let shape = BlockShape { threads: 256, registers: 16, shared_bytes: 0 };
/// let occupancy = Occupancy::new(&card.limits(), shape)?;
/// let launch = LaunchShape::new([1024, 1, 1], [256, 1, 1], occupancy, Arc::new(SiteFacts::of(&[])));
/// let mut counters = CounterObservation::new(launch, L2State::new(card));
/// // simt::count::launch(&program, &memory, &launch, &mut counters)?;
/// let observer = counters.begin(0);
/// counters.end(observer);
/// let finished = counters.finish();
/// println!("{} sectors per request", finished.counters.sectors_per_request());
/// let for_the_next_launch: L2State = finished.l2;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CounterObservation {
    shape: LaunchShape,
    rules: Rules,
    /// Workers' records, waiting for their next run.
    pool: Mutex<Vec<Box<Run>>>,
    merged: Mutex<Merged>,
    /// Managed memory, for workers that record trails.
    managed: Arc<[Numbered]>,
    /// The host's memory, for workers that count accesses to it.
    of_host: Arc<[OfHost]>,
    /// Other cards' memory, for workers that count stores to it.
    of_peers: Arc<[ops::Range<u64>]>,
    /// Blocks that are recorded.
    sample: Sample,
}

/// Executes a launch and counts it in `counters`.
///
/// This is [`exec::launch`] compiled for this observation. That function is generic, so it is compiled with the crate
/// that calls it, and runs 4 times slower where that crate is not optimised.
///
/// # Errors
/// Fails as [`exec::launch`] does.
pub fn launch(
    program: &Program,
    memory: &Memory,
    launch: &Launch<'_>,
    counters: &mut CounterObservation,
) -> Result<Executed, LaunchFailure> {
    exec::launch(program, memory, launch, counters)
}

/// Results of a counted launch.
#[derive(Debug)]
pub struct Finished {
    /// The counters.
    pub counters: LaunchCounters,
    /// State of L2, for the next launch on the same device.
    pub l2: L2State,
    /// Pages of managed memory that each window touched, with their order, for the code that migrates them.
    pub managed: Vec<ManagedWindow>,
    /// What the warps of some blocks did, for the launch's time.
    pub traces: Traces,
}

impl std::fmt::Debug for CounterObservation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CounterObservation").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl CounterObservation {
    /// Prepares to count one launch on the card to which `l2` belongs.
    pub fn new(shape: LaunchShape, mut l2: L2State) -> Self {
        let rules = Rules::new(l2.card(), &shape);
        l2.begin_launch();
        let sample = shape.sample(l2.card());
        Self {
            sample,
            rules,
            pool: Mutex::default(),
            managed: trails::managed(&shape.ranges),
            of_host: host_pages::of_host(&shape.ranges),
            of_peers: peer_stores::of_peers(&shape.ranges),
            merged: Mutex::new(Merged::new(&shape, &rules, l2)),
            shape,
        }
    }

    /// Returns the results. After a failed launch they cover the runs before the failure.
    pub fn finish(self) -> Finished {
        let Self { shape, rules, pool, merged, of_host, of_peers, sample, .. } = self;
        let mut merged = merged.into_inner().unwrap_or_else(PoisonError::into_inner);
        merged.end_launch(&rules.cut);
        let mut counts = BySite::<Counts>::default();
        let mut worst = Worst::default();
        let mut totals = Totals::default();
        let mut host_pages = HostPages::new(of_host);
        let mut stores = PeerStores::new(of_peers);
        let (mut contested, mut matched_values) = (Contested::default(), 0);
        let (mut cluster_requests, mut cluster_bytes) = (0, 0);
        let mut hottest = Hottest::default();
        let mut recorders = Vec::new();
        for mut run in pool.into_inner().unwrap_or_else(PoisonError::into_inner) {
            run.settle(&rules);
            for (site, of_run) in run.counts.iter().filter(|(_, counts)| **counts != Counts::default()) {
                *counts.at(site) += *of_run;
            }
            worst.add(&run.worst);
            totals += run.totals;
            totals.tally += run.memory.tally;
            host_pages.add(&run.host_pages);
            stores.add(&run.peer_stores);
            contested += run.contests.sum;
            matched_values += run.matched_values;
            cluster_requests += run.cluster_requests;
            cluster_bytes += run.cluster_bytes;
            hottest.add(run.hottest);
            recorders.push(run.recorder);
        }
        let link = &mut merged.link;
        [link.split_loads, link.split_stores] = host_pages.split;
        link.peer_sectors_stored = stores.sectors;
        link.peer_sectors_updated = stores.updated;
        link.peer_packets_stored = stores.packets;
        link.peer_packets_masked = stores.masked;
        link.page_changes = host_pages.changes;
        link.pages_at_once = host_pages.at_once();
        let counters = LaunchCounters {
            worst: worst.into_accesses(shape.grid),
            hottest: hottest.most(),
            looped: contested.looped(),
            shared_swaps: contested.swaps(),
            matched_values,
            cluster_requests,
            cluster_bytes,
            ..merged.counters(&shape, &rules, &counts, &totals)
        };
        let traces = Traces::of(&sample, recorders.into_iter());
        Finished { counters, l2: merged.l2, managed: merged.windows.finish_managed(), traces }
    }

    fn new_run(&self) -> Run {
        let of_peers = self.of_peers.clone();
        let (managed, of_host) = (self.managed.clone(), self.of_host.clone());
        let recorder = Recorder::new(self.sample.clone());
        Run::new(
            &self.rules,
            Places::of(&self.shape.ranges),
            managed,
            of_host,
            of_peers,
            Arc::clone(&self.shape.facts),
            recorder,
        )
    }
}

impl Observation for CounterObservation {
    type Observer = CounterObserver;

    fn run_of_blocks(&self) -> u64 {
        self.rules.cut.run
    }

    fn begin(&self, _first_block: u64) -> CounterObserver {
        let waiting = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let run = waiting.unwrap_or_else(|| Box::new(self.new_run()));
        CounterObserver::new(self.rules, run)
    }

    fn end(&self, mut observer: CounterObserver) {
        // Where the executor has not told.
        observer.run_ends();
        let mut run = observer.run;
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        merged.add(&self.shape, &self.rules, &mut run);
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    }
}
