//! Drives an observer with the accesses of a kernel, as an executor would.

use simt::cards::{BlockShape, Card, Occupancy};
use simt::coalescing::Addresses;
use simt::count::{CounterObservation, Finished, L2State, LaunchShape, SiteFacts, Wait, Waiting};
use simt::internals::count::CounterObserver;
use simt::observe::{Access, At, Observation, Observer, Operation, Site, Space};
use std::sync::Arc;

/// A block under observation.
pub(crate) struct Block<'a> {
    pub(crate) observer: &'a mut CounterObserver,
    pub(crate) block: u64,
}

/// A plain access of a full warp.
pub(crate) fn plain(space: Space, operation: Operation, bytes: u32, addresses: &Addresses) -> Access<'_> {
    Access {
        space,
        operation,
        addresses,
        active: u32::MAX,
        bytes,
        read_only: false,
        past_l1: false,
        strong: false,
    }
}

impl Block<'_> {
    pub(crate) fn at(&self, warp: u32, site: u32) -> At {
        At::new(self.block, warp, Site(site))
    }

    /// Issues instructions at a site.
    pub(crate) fn issue(&mut self, warp: u32, site: u32, times: u32) {
        let at = self.at(warp, site);
        (0..times).for_each(|_| self.observer.issue(at, u32::MAX));
    }

    /// Issues a memory instruction of 32 lanes.
    pub(crate) fn access(
        &mut self,
        warp: u32,
        site: u32,
        space: Space,
        operation: Operation,
        bytes: u32,
        address: impl Fn(u64) -> u64,
    ) {
        let addresses: Addresses = std::array::from_fn(|lane| address(lane as u64));
        let at = self.at(warp, site);
        self.observer.issue(at, u32::MAX);
        self.observer.access(at, &plain(space, operation, bytes, &addresses));
    }

    pub(crate) fn load(&mut self, warp: u32, site: u32, bytes: u32, address: impl Fn(u64) -> u64) {
        self.access(warp, site, Space::Global, Operation::Load, bytes, address);
    }

    pub(crate) fn store(&mut self, warp: u32, site: u32, bytes: u32, address: impl Fn(u64) -> u64) {
        self.access(warp, site, Space::Global, Operation::Store, bytes, address);
    }
}

/// The shape of a launch in one dimension.
pub(crate) fn shape(card: &Card, blocks: u64, threads: u32) -> LaunchShape {
    let block = BlockShape { threads, registers: 10, shared_bytes: 0 };
    let occupancy = Occupancy::new(&card.limits(), block).unwrap();
    LaunchShape::new([blocks as u32, 1, 1], [threads, 1, 1], occupancy, Arc::default())
}

/// A basic block that waits for loads before this site.
pub(crate) fn waits_before(site: u32) -> Arc<SiteFacts> {
    let wait = Wait { site, turns: 1, earlier: Vec::new() };
    let waiting = vec![Waiting { block: site, waits: vec![wait], loads: Vec::new() }];
    Arc::new(SiteFacts { waiting, ..SiteFacts::default() })
}

/// Launches: runs of blocks with the lengths that `runs` gives in turn, over and over, several at a time, handed in in
/// order.
pub(crate) fn launch(
    shape: LaunchShape,
    l2: L2State,
    runs: &[u64],
    kernel: impl Fn(&mut Block<'_>),
) -> Finished {
    let blocks: u64 = shape.grid.iter().map(|&blocks| u64::from(blocks)).product();
    let warps = shape.block.iter().product::<u32>().div_ceil(32);
    let observation = CounterObservation::new(shape, l2);
    let own = [observation.run_of_blocks()];
    let runs = if runs.is_empty() { &own } else { runs };
    let mut first = 0;
    let mut waiting = Vec::new();
    for &length in runs.iter().cycle() {
        if first >= blocks {
            break;
        }
        let mut observer = observation.begin(first);
        for block in first..(first + length).min(blocks) {
            observer.block_begins(block, warps);
            kernel(&mut Block { observer: &mut observer, block });
            observer.block_ends(block);
        }
        first += length;
        waiting.push(observer);
        if waiting.len() > 3 {
            waiting.drain(..).for_each(|observer| observation.end(observer));
        }
    }
    waiting.drain(..).for_each(|observer| observation.end(observer));
    observation.finish()
}
