//! State of a running block: its warps, shared memory and barriers.

use super::cluster::AtCluster;
use super::pace::Pace;
use super::warp::Warp;
use crate::memory::SharedMemory;
use crate::ptx::op::control::Reduction;

/// Barriers of a block, without its cluster's.
pub(super) const BARRIERS: usize = 16;

/// State of a running block.
pub(super) struct Block {
    /// Index in the grid, x fastest.
    pub(super) index: u64,
    /// True until a warp is executed.
    pub(super) is_fresh: bool,
    pub(super) shared: SharedMemory,
    pub(super) warps: Vec<Warp>,
    /// Warps that have not ended, a bit each.
    pub(super) alive: u32,
    pub(super) barriers: Vec<BarrierState>,
    /// Barriers at which a thread has arrived, a bit each.
    pub(super) in_use: u32,
    pub(super) cluster: AtCluster,
    pub(super) printed: Vec<u8>,
    pub(super) pace: Pace,
}

/// State of one of a block's barriers since it last completed.
#[derive(Clone, Default)]
pub(super) struct BarrierState {
    /// Lanes that have arrived, by warp.
    pub(super) arrived: Vec<u32>,
    /// Lanes that were live when the first of the warp arrived, by warp.
    pub(super) there: Vec<u32>,
    /// Warps of which all lanes have arrived, a bit each.
    pub(super) full: u32,
    /// Threads that the barrier waits for; None for all.
    pub(super) threads: Option<u32>,
    /// Threads that arrived with a true predicate. `all` and `any` combine the same predicates.
    pub(super) count: u32,
    pub(super) all: bool,
    pub(super) any: bool,
}

impl Block {
    pub(super) fn new(warps: usize) -> Self {
        let state = BarrierState {
            arrived: vec![0; warps],
            there: vec![0; warps],
            all: true,
            ..BarrierState::default()
        };
        Self {
            index: 0,
            is_fresh: false,
            shared: SharedMemory::new(),
            warps: (0..warps).map(|_| Warp::default()).collect(),
            alive: 0,
            barriers: vec![state; BARRIERS],
            in_use: 0,
            cluster: AtCluster::new(warps),
            printed: Vec::new(),
            pace: Pace::default(),
        }
    }

    pub(super) fn begin(&mut self, index: u64, shared_bytes: u64) {
        self.index = index;
        self.is_fresh = true;
        self.shared.begin(shared_bytes);
        self.alive = u32::MAX >> (32 - self.warps.len());
        self.warps.iter_mut().for_each(|warp| warp.has_begun = false);
        if self.in_use != 0 {
            self.barriers.iter_mut().for_each(BarrierState::reset);
            self.in_use = 0;
        }
        self.cluster.begin();
    }
}

impl BarrierState {
    pub(super) fn reset(&mut self) {
        self.arrived.fill(0);
        self.there.fill(0);
        self.full = 0;
        self.threads = None;
        self.count = 0;
        self.all = true;
        self.any = false;
    }

    /// Returns the result of `bar.red`.
    pub(super) fn combined(&self, combine: Reduction) -> u128 {
        match combine {
            Reduction::Count => u128::from(self.count),
            Reduction::And => u128::from(self.all),
            Reduction::Or => u128::from(self.any),
        }
    }

    /// Returns true if all threads that the barrier waits for have arrived; `alive` are the block's warps that have not
    /// ended.
    pub(super) fn is_complete(&self, alive: u32) -> bool {
        match self.threads {
            None => self.full != 0 && alive & !self.full == 0,
            // A warp counts as 32 threads, even a last one that has fewer.
            Some(threads) => self.full.count_ones() * 32 >= threads,
        }
    }
}
