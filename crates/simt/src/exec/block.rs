//! A block while it runs: its warps, its shared memory, its barriers.

use super::step::Combine;
use super::warp::Warp;
use crate::memory::SharedMemory;

/// Barriers of a block, without that of its cluster.
pub(super) const BARRIERS: usize = 16;

/// A block while it runs.
pub(super) struct Block {
    /// In the grid, x first.
    pub(super) index: u64,
    pub(super) shared: SharedMemory,
    pub(super) warps: Vec<Warp>,
    /// Bits of the warps that have not ended.
    pub(super) alive: u32,
    pub(super) barriers: Vec<BarrierState>,
    /// Bits of the barriers that someone has arrived at.
    pub(super) in_use: u32,
    pub(super) cluster: ClusterBarrier,
    pub(super) printed: Vec<u8>,
}

/// One of a block's barriers, since it was last passed.
#[derive(Clone, Default)]
pub(super) struct BarrierState {
    /// Who has arrived, by warp.
    pub(super) arrived: Vec<u32>,
    /// Who was there when the first of the warp arrived, by warp.
    pub(super) there: Vec<u32>,
    /// Bits of the warps of which all lanes have arrived.
    pub(super) full: u32,
    /// Threads that it waits for; none: all.
    pub(super) threads: Option<u32>,
    /// Of the predicates of those who have arrived.
    pub(super) count: u32,
    pub(super) all: bool,
    pub(super) any: bool,
}

/// The barrier of a cluster of one block.
#[derive(Default)]
pub(super) struct ClusterBarrier {
    /// How often it has been passed.
    pub(super) phase: u64,
    /// Who has arrived, by warp.
    pub(super) arrived: Vec<u32>,
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
            shared: SharedMemory::new(),
            warps: (0..warps).map(|_| Warp::default()).collect(),
            alive: 0,
            barriers: vec![state; BARRIERS],
            in_use: 0,
            cluster: ClusterBarrier { phase: 0, arrived: vec![0; warps] },
            printed: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, index: u64, shared_bytes: u64) {
        self.index = index;
        self.shared.begin(shared_bytes);
        self.alive = u32::MAX >> (32 - self.warps.len());
        self.warps.iter_mut().for_each(|warp| warp.has_begun = false);
        if self.in_use != 0 {
            self.barriers.iter_mut().for_each(BarrierState::reset);
            self.in_use = 0;
        }
        self.cluster.phase = 0;
        self.cluster.arrived.fill(0);
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

    /// What `bar.red` gives.
    pub(super) fn combined(&self, combine: Combine) -> u128 {
        match combine {
            Combine::Count => u128::from(self.count),
            Combine::And => u128::from(self.all),
            Combine::Or => u128::from(self.any),
        }
    }

    /// Whether all that it waits for have arrived; `alive` are the block's warps that have not ended.
    pub(super) fn is_complete(&self, alive: u32) -> bool {
        match self.threads {
            None => self.full != 0 && alive & !self.full == 0,
            // Warps count whole, whatever number of threads the last one has.
            Some(threads) => self.full.count_ones() * 32 >= threads,
        }
    }
}
