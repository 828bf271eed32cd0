//! Observes a launch for counting: combines the results of its runs in the order of blocks.

use super::balance::Balance;
use super::by_site::BySite;
use super::common::Common;
use super::contests::Contested;
use super::group::{GROUP_SHIFT, Group};
use super::halves::capacity;
use super::host_pages::{self, HostPages, OfHost};
use super::hottest::Hottest;
use super::issued::Issued;
use super::l2::L2State;
use super::observer::CounterObserver;
use super::peer_stores::{self, PeerStores};
use super::run::{Ptxas, Run, Totals};
use super::shape::{LaunchShape, Placement, Rules};
use super::trails::{self, Numbered};
use super::windows::{ManagedWindow, Windows};
use super::worst::Worst;
use crate::coalescing::SECTOR_BYTES;
use crate::exec::Chained;
use crate::exec::{self, Executed, Launch, LaunchFailure, Program};
use crate::memory::Memory;
use crate::model::unified::PAGE_BYTES;
use crate::observe::Observation;
use counters::Counts;
use counters::{DramCounts, HottestAtomics, LaunchCounters, LinkCounts, LoopedAtomics, SiteCounts};
use std::ops;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts a launch: the observation to pass to [`launch`].
///
/// ```
/// use simt::cards::{BlockShape, Occupancy, find};
/// use simt::count::{CounterObservation, L2State, LaunchShape};
/// use simt::observe::Observation;
///
/// let card = find("h200")?;
/// let shape = BlockShape { threads: 256, registers: 16, shared_bytes: 0 };
/// let occupancy = Occupancy::new(&card.limits(), shape)?;
/// let launch = LaunchShape::new([1024, 1, 1], [256, 1, 1], occupancy, &[]);
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
    l2: L2State,
    /// Workers' records, waiting for their next run.
    #[expect(clippy::vec_box, reason = "runs move to workers and back; their boxes are cheap to move")]
    pool: Mutex<Vec<Box<Run>>>,
    /// The current part.
    part: Option<u64>,
    windows: Windows,
    /// Managed memory, for workers that record trails.
    managed: Arc<[Numbered]>,
    /// The host's memory, for workers that count accesses to it.
    of_host: Arc<[OfHost]>,
    /// Other cards' memory, for workers that count stores to it.
    of_peers: Arc<[ops::Range<u64>]>,
    ptxas: Ptxas,
    dram_read: DramCounts,
    dram_written: DramCounts,
    link: LinkCounts,
    balance: Balance,
    common: Common,
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
}

impl std::fmt::Debug for CounterObservation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CounterObservation")
            .field("shape", &self.shape)
            .field("l2", &self.l2)
            .finish()
    }
}

impl CounterObservation {
    /// Prepares to count one launch on the card to which `l2` belongs.
    pub fn new(shape: LaunchShape, mut l2: L2State) -> Self {
        let rules = Rules::new(l2.card(), &shape);
        l2.begin_launch();
        Self {
            rules,
            pool: Mutex::default(),
            part: None,
            windows: Windows::new(rules.partitions),
            managed: trails::managed(&shape.ranges),
            of_host: host_pages::of_host(&shape.ranges),
            of_peers: peer_stores::of_peers(&shape.ranges),
            ptxas: Ptxas {
                combined: shape.combined.as_slice().into(),
                merged: shape.merged.as_slice().into(),
                contests: shape.contests.as_slice().into(),
            },
            dram_read: DramCounts::default(),
            dram_written: DramCounts::default(),
            link: LinkCounts::default(),
            common: Common::new(shape.blocks().div_ceil(rules.cut.run)),
            balance: Balance::new(l2.card().multiprocessors, rules.cut.window),
            shape,
            l2,
        }
    }

    /// Returns the results. After a failed launch they cover the runs before the failure.
    pub fn finish(mut self) -> Finished {
        if let Some(part) = self.part {
            self.windows.end_managed_window(self.rules.cut.window_of_part(part));
        }
        self.l2.end_launch();
        let mut counts = BySite::<Counts>::default();
        let mut worst = Worst::default();
        let mut totals = Totals::default();
        let mut host_pages = HostPages::new(self.of_host.clone());
        let mut stores = PeerStores::new(self.of_peers.clone());
        let (mut contested, mut matched_values) = (Contested::default(), 0);
        let mut hottest = Hottest::default();
        for mut run in std::mem::take(self.pool.get_mut().unwrap_or_else(PoisonError::into_inner)) {
            run.settle(&self.rules);
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
            hottest.add(run.hottest);
        }
        [self.link.split_loads, self.link.split_stores] = host_pages.split;
        self.link.peer_sectors_stored = stores.sectors;
        self.link.peer_packets_stored = stores.packets;
        self.link.peer_packets_masked = stores.masked;
        self.link.page_changes = host_pages.changes;
        self.link.pages_at_once = host_pages.at_once();
        let worst = worst.into_accesses(self.shape.grid);
        let counters = LaunchCounters {
            worst,
            hottest: hottest.most(),
            looped: contested.looped(),
            shared_swaps: contested.swaps(),
            matched_values,
            ..self.counters(&counts, &totals)
        };
        Finished { counters, l2: self.l2, managed: self.windows.finish_managed() }
    }

    fn counters(&mut self, counts: &BySite<Counts>, totals: &Totals) -> LaunchCounters {
        let total: Counts = counts.iter().map(|(_, counts)| *counts).sum();
        let issued = Issued { shape: &self.shape, counts, warps: totals.warps };
        let (indexed_loads, indexed_stores) = issued.indexed();
        let idle_requests = issued.idle_requests();
        let (mut dram_read, mut dram_written) = (self.dram_read, self.dram_written);
        if self.l2.card().l2_bytes == 0 {
            // Without a cache, memory sees the transactions.
            dram_read.granules = total.loads.sectors + total.atomics.sectors + total.local_loads.sectors;
            dram_written.granules = total.stores.sectors + total.atomics.sectors + total.local_stores.sectors;
            dram_read.pages = dram_read.pages.max(totals.scattered[0]);
            dram_written.pages = dram_written.pages.max(totals.scattered[1]);
        }
        let [camping_read, camping_written] = self.windows.camping();
        let float_atomics = self.shape.float_atomics.iter().map(|site| counts.get(*site).atomics.requests);
        let sites = counts.iter().filter(|(_, counts)| **counts != Counts::default());
        LaunchCounters {
            blocks: totals.blocks,
            warps: totals.warps,
            resident_blocks: self.shape.occupancy.blocks,
            resident_warps: self.shape.occupancy.warps,
            residency: Some(self.shape.occupancy.residency),
            windows: totals.blocks.div_ceil(self.rules.cut.window),
            round_trips: issued.waits(self.l2.card().loads_in_flight),
            copy_requests: issued.copy_requests(),
            chained_loads: issued.chained(Chained::Global),
            chained_on_chip: issued.chained(Chained::OnChip),
            dependency_clocks: issued.dependency_clocks(),
            indexed_loads,
            indexed_stores,
            issue_slots: issued.slots(|slots| slots.issued) + idle_requests,
            integer_slots: issued.slots(|slots| slots.integer),
            multiply_slots: issued.slots(|slots| slots.multiply),
            special_slots: issued.slots(|slots| slots.special),
            double_slots: issued.slots(|slots| slots.double),
            shuffle_slots: issued.slots(|slots| slots.shuffle),
            idle_requests,
            imbalance: self.balance.imbalance(),
            longest_block: self.balance.longest(),
            pace: totals.pace as f64 / totals.issued.max(1) as f64,
            phased: totals.phased * 2 > totals.storing,
            total,
            l2_sectors_read: total.loads.l2_sectors + total.local_loads.l2_sectors,
            l2_sectors_written: total.stores.l2_sectors
                + total.atomics.l2_sectors
                + total.local_stores.l2_sectors,
            l2_sectors_unread: self.l2.unread(),
            l2_sectors_shared: self.shared(total.loads.l2_sectors, totals),
            l1_hits_behind: totals.tally.behind as f64 / totals.tally.hits.max(1) as f64,
            l2_sectors_again: self.fetched_again(totals, total.stores.l2_sectors),
            float_atomics: float_atomics.sum(),
            dram_read,
            dram_written,
            camping_read,
            camping_written,
            hottest: HottestAtomics::default(),
            looped: LoopedAtomics::default(),
            shared_swaps: 0,
            matched_values: 0,
            link: self.link,
            managed_pages: self.windows.managed.iter().map(|window| window.pages.len() as u64).sum(),
            managed_blocks: self.windows.managed.iter().map(ManagedWindow::blocks).sum(),
            sites: sites.map(|(site, &counts)| SiteCounts { site, counts }).collect(),
            worst: Vec::new(),
        }
    }

    /// Of the sectors that blocks request from L2 to read, those that L1 has for another block of the same multiprocessor.
    fn shared(&self, requested: u64, totals: &Totals) -> u64 {
        let common = self.common.of_blocks(totals.blocks, requested, totals.tally.lost);
        let of_multiprocessor = totals.blocks.div_ceil(self.l2.card().multiprocessors.into());
        let together = of_multiprocessor.clamp(1, self.shape.occupancy.blocks.max(1).into());
        (common * (1.0 - 1.0 / together as f64)) as u64
    }

    /// Of the sectors that blocks load again because L1 has lost them, those that L2 has lost, too.
    ///
    /// L2 is looked up block by block, but resident blocks run side by side: before a block comes again to what it loaded, the others
    /// have touched their data as well. If these are about as much as L2 holds, it is gone.
    fn fetched_again(&self, totals: &Totals, stored: u64) -> u64 {
        let windows = totals.blocks as f64 / self.rules.cut.window as f64;
        let bytes = (self.common.distinct() + stored) as f64 * SECTOR_BYTES as f64 / windows.max(1.0);
        let share = bytes / capacity(self.l2.card(), 0).max(1) as f64;
        (((share - 1.0) / 0.4).clamp(0.0, 1.0) * totals.tally.lost as f64) as u64
    }

    fn new_run(&self) -> Run {
        let of_peers = self.of_peers.clone();
        Run::new(&self.rules, self.managed.clone(), self.of_host.clone(), of_peers, self.ptxas.clone())
    }

    /// Begins the part to which the next groups belong.
    fn begin_part(&mut self, part: u64) {
        let Some(before) = self.part.replace(part).filter(|&before| before != part) else { return };
        let cut = &self.rules.cut;
        self.l2.end_part();
        if cut.window_of_part(before) != cut.window_of_part(part) {
            self.l2.end_resident_window();
            self.windows.end_managed_window(cut.window_of_part(before));
        }
    }

    /// Counts groups outside of the card's own memory, and returns the groups that are in device memory.
    fn of_device(&mut self, groups: &[Group]) -> Vec<Group> {
        let mut of_device = Vec::with_capacity(groups.len());
        for &group in groups {
            let address = group.index << GROUP_SHIFT;
            let first = self.shape.ranges.partition_point(|range| range.addresses.end <= address);
            // A group may reach into a range that begins before it.
            let range = self.shape.ranges.get(first);
            let range = range.filter(|range| range.addresses.start < address + (1 << GROUP_SHIFT));
            match range.map(|range| range.placement) {
                None => of_device.push(group),
                Some(Placement::Managed) => {
                    self.windows.touch_page(address / PAGE_BYTES, group.read != 0, group.written != 0);
                    of_device.push(group);
                }
                Some(Placement::Host | Placement::Linked) => {
                    self.link.sectors_read += u64::from(group.read.count_ones());
                    self.link.sectors_written += u64::from(group.written.count_ones());
                }
                Some(Placement::Peer) => {
                    self.link.peer_sectors_read += u64::from(group.read.count_ones());
                    self.link.peer_packets_read += peer_stores::packets(group.read);
                    self.link.peer_sectors_written += u64::from(group.written.count_ones());
                }
            }
        }
        of_device
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

    fn end(&mut self, mut observer: CounterObserver) {
        observer.end_block();
        let mut run = observer.run;
        run.memory.drain(&mut run.groups);
        self.common.add(&run.groups);
        let ends = run.parts.iter().skip(1).map(|part| part.1).chain([run.groups.len()]);
        for (&(part, start), end) in run.parts.iter().zip(ends) {
            self.begin_part(part);
            let groups = &run.groups[start..end];
            let elsewhere = &self.rules.elsewhere;
            if !groups.iter().any(|group| elsewhere.is_near(group.index << GROUP_SHIFT)) {
                self.l2.touch(groups, &mut self.dram_read, &mut self.dram_written);
            } else {
                let of_device = self.of_device(groups);
                self.l2.touch(&of_device, &mut self.dram_read, &mut self.dram_written);
            }
        }
        for traffic in &run.partitions {
            self.windows.add_partitions(traffic);
        }
        self.windows.add_trails(run.trails.done.drain(..));
        run.blocks.drain(..).for_each(|instructions| self.balance.deal(instructions));
        run.parts.clear();
        run.groups.clear();
        run.partitions.clear();
        self.pool.get_mut().unwrap_or_else(PoisonError::into_inner).push(run);
    }
}
