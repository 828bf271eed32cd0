//! Reports deadlock: no thread of a block can make progress.
//!
//! A block is stuck when each of its live warps waits: for a barrier, or for lanes that a member mask names. Then
//! nothing in the block can wake them, as other blocks reach a block through memory alone, which only running lanes
//! read, or through the barrier of their cluster. A cluster is stuck when each of its blocks waits and none of them can
//! complete that barrier. The worker notices when a round through the warps finds all of them blocked, and ends the launch with
//! [`FaultKind::Deadlock`], which lists the waiting warps. For example, in a kernel whose lane 0 alone of warp 0
//! branches round `bar.sync 0` to `bar.sync 1`:
//!
//! ```text
//! warp 0, lanes 0x00000001, waits at barrier 1 for all threads
//! warp 0, lanes 0xfffffffe, waits at barrier 0 for all threads
//! ```
//!
//! Two warps that spin for each other are not stuck in this sense: they execute. The limits of
//! [`patience`](super::patience) end them.

use std::fmt::Write;

use super::frame::lanes_of;
use super::run::{Runner, Stop};
use super::warp::Wait;
use crate::fault::FaultKind;
use crate::observe::{Misuse, Observer};

impl<O: Observer> Runner<'_, O> {
    /// Returns the fault of a deadlock, with each waiting warp and where it waits. Reports the barriers' misuse to the
    /// observer.
    pub(super) fn deadlock(&mut self) -> Stop {
        let mut words = String::new();
        let mut first = None;
        let mut barriers = Vec::new();
        for index in 0..self.block.warps.len() {
            if self.block.alive >> index & 1 == 0 {
                continue;
            }
            for waiting in self.block.warps[index].waiting.clone() {
                let pc = waiting.fragment.pc;
                let lanes = waiting.fragment.lanes;
                first.get_or_insert((index, pc, lanes.trailing_zeros()));
                let site = &self.context.program.sites()[pc as usize];
                let what = match waiting.wait {
                    Wait::Barrier { number, .. } => {
                        barriers.push((index, pc, number));
                        let state = &self.block.barriers[number as usize];
                        let present = state.full.count_ones() * 32;
                        match state.threads {
                            Some(threads) => {
                                format!("at barrier {number} for {threads} threads, of which {present} came")
                            }
                            None => format!("at barrier {number} for all threads"),
                        }
                    }
                    Wait::Cluster { .. } => self.cluster_wait_in_words(),
                    Wait::Collective { mask, .. } | Wait::WarpBarrier { mask } => {
                        let missing = mask & !lanes;
                        self.observer.misuse(self.at(index, pc), Misuse::NeverArrive { mask, missing });
                        format!("for the other lanes of the mask {mask:#010x}")
                    }
                };
                if words.len() > 2000 {
                    continue;
                }
                let separator = if words.is_empty() { "" } else { "; " };
                // Writing to a String cannot fail.
                let _ = write!(words, "{separator}warp {index}, lanes {lanes:#010x}, waits {what} ({site})");
            }
        }
        for (index, pc, number) in &barriers {
            let state = &self.block.barriers[*number as usize];
            // A warp has arrived only once all of its lanes have.
            let elsewhere = self.block.warps[*index].live & !state.arrived[*index];
            let is_for_all = state.threads.is_none();
            let at = self.at(*index, *pc);
            if elsewhere != 0 {
                self.observer.misuse(at, Misuse::DivergentWarp { elsewhere });
            } else if is_for_all {
                self.observer.misuse(at, Misuse::DivergentBlock);
            }
        }
        let (index, pc, lane) = first.unwrap_or((0, 0, 0));
        self.fault(index, pc, lane.min(31), FaultKind::Deadlock { waiting: words })
    }

    /// Describes a wait at the cluster's barrier.
    fn cluster_wait_in_words(&self) -> String {
        let mut words = "at the cluster's barrier for all threads".to_owned();
        if self.cluster.memory.size() > 1 {
            let missing: Vec<String> =
                lanes_of(self.cluster.missing()).map(|rank| rank.to_string()).collect();
            words += match missing.len() {
                1 => ", which block ",
                _ => ", which blocks ",
            };
            words += &missing.join(", ");
            words += " of the cluster did not reach";
        }
        words
    }
}
