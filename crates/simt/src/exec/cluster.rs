//! State that the blocks of a cluster share: their memories, and a barrier.
//!
//! A worker executes the blocks of a cluster in turn, by rank: each until all its warps wait or spin. They share their
//! memories ([`ClusterMemory`]) and one barrier of all threads, `barrier.cluster` (PTX ISA 9.0, "Parallel Synchronization and
//! Communication Instructions: barrier.cluster"). A block has reached it when all its live lanes have arrived, and a block
//! that has ended is no longer waited for. The barrier's phase counts its completions. A block learns of one when it goes
//! on: [`Runner::follow_cluster`] wakes the lanes that wait for that phase. For example, a cluster of two blocks:
//!
//! ```text
//!                                        reached   phase
//! block 0 arrives, and waits for 1       {0}       0      its turn ends: all its warps wait
//! block 1 arrives, and waits for 1       {0, 1}    1      complete: its own lanes go on at once
//! block 1 ends, block 0 goes on          {}        1      follows phase 1: its lanes go on
//! ```
//!
//! If no block of a cluster can go on, they are stuck together: see [`stuck`](super::stuck).

use super::barrier::CLUSTER;
use super::run::{Next, Runner};
use super::warp::{Fragment, Wait, Waiting, Warp};
use crate::memory::ClusterMemory;
use crate::observe::Observer;

/// State that the blocks of a cluster share.
pub(super) struct Cluster {
    pub(super) memory: ClusterMemory,
    /// Times that the barrier has completed.
    phase: u64,
    /// Blocks that have reached the barrier, a bit each by rank.
    reached: u32,
    /// Blocks that have ended, likewise.
    ended: u32,
    /// True if a thread has arrived since the barrier last completed.
    is_in_use: bool,
}

/// A block's part of its cluster's barrier.
#[derive(Default)]
pub(super) struct AtCluster {
    /// Phase of the barrier that the block has followed.
    phase: u64,
    /// Lanes that have arrived since, by warp.
    arrived: Vec<u32>,
    /// Warp and pc of the last arrival.
    last: (usize, u32),
}

impl Cluster {
    pub(super) fn new(blocks: u32) -> Self {
        Self { memory: ClusterMemory::new(blocks), phase: 0, reached: 0, ended: 0, is_in_use: false }
    }

    /// Forgets the blocks, so that others begin in their place.
    pub(super) fn begin(&mut self) {
        self.phase = 0;
        self.reached = 0;
        self.ended = 0;
        self.is_in_use = false;
    }

    /// Returns the ranks of blocks that the barrier waits for, a bit each.
    pub(super) fn missing(&self) -> u32 {
        let all = u32::MAX >> (u32::BITS - self.memory.size());
        all & !(self.reached | self.ended)
    }
}

impl AtCluster {
    pub(super) fn new(warps: usize) -> Self {
        Self { arrived: vec![0; warps], ..Self::default() }
    }

    pub(super) fn begin(&mut self) {
        self.phase = 0;
        self.arrived.fill(0);
    }
}

impl<O: Observer> Runner<'_, O> {
    /// Executes `barrier.cluster.arrive`.
    pub(super) fn cluster_arrive(&mut self, index: usize, pc: u32, mask: u32) {
        let at = &mut self.block.cluster;
        at.arrived[index] |= mask;
        at.last = (index, pc);
        self.cluster.is_in_use = true;
        self.block.warps[index].cluster_phase = self.cluster.phase + 1;
        self.check_cluster();
    }

    /// Executes `barrier.cluster.wait`.
    pub(super) fn cluster_wait(&mut self, index: usize, fragment: &mut Fragment, mask: u32) -> Next {
        let phase = self.block.warps[index].cluster_phase;
        if mask == 0 || self.cluster.phase >= phase {
            fragment.pc += 1;
            return Next::Go;
        }
        let join = self.set_aside(index, fragment, mask);
        let waiting = Fragment { lanes: mask, join, ..*fragment };
        self.block.warps[index].waiting.push(Waiting { fragment: waiting, wait: Wait::Cluster { phase } });
        Next::Other
    }

    /// Completes the cluster's barrier if all blocks have reached it, after a change in this one.
    pub(super) fn check_cluster(&mut self) {
        let rank = 1 << self.cluster.memory.rank();
        if self.block.alive == 0 {
            self.cluster.ended |= rank;
        }
        if !self.cluster.is_in_use {
            return;
        }
        let has_arrived = |(warp, arrived): (&Warp, &u32)| warp.has_begun && arrived & warp.live == warp.live;
        if self.block.warps.iter().zip(&self.block.cluster.arrived).all(has_arrived) {
            self.cluster.reached |= rank;
        }
        if self.cluster.missing() == 0 {
            self.cluster.reached = 0;
            self.cluster.is_in_use = false;
            self.cluster.phase += 1;
            self.follow_cluster();
        }
    }

    /// Wakes the lanes that wait for the cluster's barrier, if it has completed since the block last looked.
    pub(super) fn follow_cluster(&mut self) {
        let (now, at) = (self.cluster.phase, &mut self.block.cluster);
        if at.phase == now {
            return;
        }
        at.phase = now;
        let took_part = at.arrived.iter().any(|arrived| *arrived != 0);
        at.arrived.fill(0);
        let (index, pc) = at.last;
        self.report_barrier();
        for warp in &mut self.block.warps {
            for waiting in std::mem::take(&mut warp.waiting) {
                match waiting.wait {
                    Wait::Cluster { phase } if phase <= now => {
                        warp.wake(Fragment { pc: waiting.fragment.pc + 1, ..waiting.fragment });
                    }
                    _ => warp.waiting.push(waiting),
                }
            }
        }
        if O::SYNCHRONISATION && took_part {
            self.observer.barrier(self.at(index, pc), CLUSTER, u64::MAX);
        }
    }

    /// Returns true if lanes of the block wait for other blocks of the cluster at its barrier.
    pub(super) fn waits_for_cluster(&self) -> bool {
        let is_it = |waiting: &Waiting| matches!(waiting.wait, Wait::Cluster { .. });
        let waits = |warp: &Warp| warp.live != 0 && warp.waiting.iter().any(is_it);
        self.cluster.memory.size() > 1 && self.block.warps.iter().any(waits)
    }
}
