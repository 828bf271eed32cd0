//! Deals blocks to multiprocessors, to find the one that has most to do.
//!
//! The first blocks, as many as fit, are dealt in turn; each later one goes to the multiprocessor whose block ends first. The
//! blocks of a multiprocessor share its schedulers evenly (*processor sharing*: Kleinrock, "Time-shared Systems", JACM 1967), so
//! n of them advance by one instruction each in the time of n. A block of few instructions ends early even beside long ones,
//! and the next comes to these: the work that is left on a multiprocessor does not matter. For example, two multiprocessors with
//! room for two blocks each, and blocks of 9, 4, 1, 4 and 4 instructions:
//!
//! ```text
//! multiprocessor 0   9 and 1: the 1 ends at time 2, and the fifth block comes: 14 instructions in all
//! multiprocessor 1   4 and 4: both end at 8                                     8, so the busiest has 1.27 times the mean
//! ```
//!
//! Blocks that end within an eighth of a mean block of each other count as ending at once, and their successors are spread over
//! as many multiprocessors as possible, since none can know which one is earlier by so little.
//!
//! As long as all blocks are alike they are only counted, since then the next place is where the next turn is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Parts of a mean block within which ends count as simultaneous.
const AT_ONCE: u64 = 8;

/// A multiprocessor, whose blocks share its schedulers.
#[derive(Clone, Default)]
struct Shared {
    /// Instructions of all blocks that were dealt to it.
    sum: u64,
    /// Time in instructions.
    now: u64,
    /// Instructions that a block resident from the start on would have issued by now.
    served: u64,
    /// Value of `served` at which each resident block ends.
    ends: BinaryHeap<Reverse<u64>>,
}

impl Shared {
    fn begin(&mut self, instructions: u64) {
        self.sum += instructions;
        self.ends.push(Reverse(self.served + instructions));
    }

    /// Returns the time at which the next block ends; `None` without blocks.
    fn next_end(&self) -> Option<u64> {
        let Reverse(end) = self.ends.peek()?;
        Some(self.now + (end - self.served) * self.ends.len() as u64)
    }

    /// Ends the next block if it ends by this time.
    fn end_by(&mut self, time: u64) -> bool {
        let Some(end) = self.next_end().filter(|end| *end <= time) else { return false };
        self.now = end;
        self.served = self.ends.pop().map_or(self.served, |Reverse(end)| end);
        true
    }
}

/// Instructions issued by each multiprocessor.
pub(super) struct Balance {
    multiprocessors: usize,
    /// Blocks that are dealt in turn.
    in_turn: u64,
    dealt: u64,
    /// Instructions of each block, while all are alike.
    alike: u64,
    /// Instructions of all blocks.
    total: u64,
    /// The multiprocessors, once blocks differ.
    shared: Vec<Shared>,
    /// Multiprocessors with room for a block, in the order in which blocks come to them.
    free: VecDeque<usize>,
}

impl Balance {
    /// Prepares to distribute blocks over this number of multiprocessors, `window` of which are resident at once on the card.
    pub(super) fn new(multiprocessors: u32, window: u64) -> Self {
        Self {
            multiprocessors: multiprocessors as usize,
            in_turn: window.max(1),
            dealt: 0,
            alike: 0,
            total: 0,
            shared: Vec::new(),
            free: VecDeque::new(),
        }
    }

    /// Deals the next block, with its instructions.
    pub(super) fn deal(&mut self, instructions: u64) {
        if self.dealt == 0 {
            self.alike = instructions;
        } else if self.shared.is_empty() && instructions != self.alike {
            self.tell_apart();
        }
        if !self.shared.is_empty() {
            if self.free.is_empty() {
                self.end_some();
            }
            if let Some(at) = self.free.pop_front() {
                self.shared[at].begin(instructions);
            }
        }
        self.total += instructions;
        self.dealt += 1;
    }

    /// Begins to follow each multiprocessor. Blocks so far were alike: they came and went in whole windows.
    fn tell_apart(&mut self) {
        self.shared = vec![Shared::default(); self.multiprocessors];
        let windows = (self.dealt - 1) / self.in_turn;
        let last = self.dealt - windows * self.in_turn;
        for place in 0..self.in_turn {
            let at = (place % self.multiprocessors as u64) as usize;
            let shared = &mut self.shared[at];
            (shared.now, shared.sum) = (shared.now + windows * self.alike, shared.sum + windows * self.alike);
            shared.served = windows * self.alike;
            if place < last {
                shared.begin(self.alike);
            } else {
                self.free.push_back(at);
            }
        }
    }

    /// Ends the blocks that end next, and makes room in their places.
    fn end_some(&mut self) {
        let Some(first) = self.shared.iter().filter_map(Shared::next_end).min() else { return };
        let until = first + self.total / self.dealt / AT_ONCE;
        let mut places = Vec::new();
        for (at, shared) in self.shared.iter_mut().enumerate() {
            let ended = (0..).take_while(|_| shared.end_by(until));
            places.extend(ended.map(|turn: usize| (turn, at)));
        }
        places.sort_unstable();
        self.free.extend(places.into_iter().map(|(_, at)| at));
    }

    /// Returns the instructions by multiprocessor.
    fn sums(&self) -> Vec<u64> {
        if !self.shared.is_empty() {
            return self.shared.iter().map(|shared| shared.sum).collect();
        }
        let (each, more) =
            (self.dealt / self.multiprocessors as u64, self.dealt % self.multiprocessors as u64);
        (0..self.multiprocessors as u64).map(|at| (each + u64::from(at < more)) * self.alike).collect()
    }

    /// Returns the instructions of the busiest multiprocessor over the mean of all; 0 without instructions.
    pub(super) fn imbalance(&self) -> f64 {
        let (most, total) = (self.sums().into_iter().max().unwrap_or(0), self.total);
        if total == 0 { 0.0 } else { most as f64 * self.multiprocessors as f64 / total as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_multiprocessor_is_found() {
        let mut balance = Balance::new(2, 2);
        assert_eq!(balance.imbalance(), 0.0);
        [9, 1, 1, 1].into_iter().for_each(|instructions| balance.deal(instructions));
        assert_eq!(balance.imbalance(), 1.5);
        // The places of short blocks are filled beside long ones.
        let mut balance = Balance::new(2, 4);
        [9, 4, 1, 4, 4].into_iter().for_each(|instructions| balance.deal(instructions));
        assert_eq!(balance.sums(), [14, 8]);
        // Three equal blocks on two multiprocessors: one has two of them.
        let mut balance = Balance::new(2, 8);
        [5, 5, 5].into_iter().for_each(|instructions| balance.deal(instructions));
        assert_eq!(balance.imbalance(), 4.0 / 3.0);
    }

    #[test]
    fn like_blocks_need_not_be_dealt() {
        // The last block differs by nothing that shows in the other sums.
        for window in [3, 100] {
            let (mut alike, mut apart) = (Balance::new(3, window), Balance::new(3, window));
            apart.deal(0);
            apart.deal(1);
            apart.deal(0);
            for _ in 0..50 {
                alike.deal(7);
                apart.deal(7);
            }
            let sums = alike.sums();
            assert_eq!((sums.iter().sum::<u64>(), sums.iter().max()), (350, Some(&119)));
            assert_eq!(apart.sums().iter().sum::<u64>(), 351);
        }
    }
}
