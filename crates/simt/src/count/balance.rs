//! Deals blocks to multiprocessors, to find the one that has most to do.
//!
//! The first blocks, as many as fit, are dealt in turn; each later one goes to the multiprocessor that has issued the fewest
//! instructions so far, which stands for the one that is first to have room. For example, blocks of 9, 1, 1 and 1
//! instructions on two multiprocessors with one block each: 9 and 3, so the busiest has 1.5 times the mean.
//!
//! As long as all blocks are alike they are only counted, since then the fewest instructions are where the next turn is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instructions issued by each multiprocessor.
pub(super) struct Balance {
    multiprocessors: usize,
    /// Blocks that are dealt in turn.
    in_turn: u64,
    dealt: u64,
    /// Instructions of each block, while all are alike.
    alike: u64,
    /// Instructions by multiprocessor, once blocks differ.
    first: Vec<u64>,
    /// The same with its number, after the blocks that are dealt in turn.
    later: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Balance {
    /// Prepares to distribute blocks over this number of multiprocessors, `window` of which are resident at once on the card.
    pub(super) fn new(multiprocessors: u32, window: u64) -> Self {
        Self {
            multiprocessors: multiprocessors as usize,
            in_turn: window,
            dealt: 0,
            alike: 0,
            first: Vec::new(),
            later: BinaryHeap::new(),
        }
    }

    /// Deals the next block, with its instructions.
    pub(super) fn deal(&mut self, instructions: u64) {
        if self.dealt == 0 {
            self.alike = instructions;
        } else if self.first.is_empty() && instructions != self.alike {
            self.first = self.sums();
        }
        if !self.first.is_empty() {
            self.deal_unlike(instructions);
        }
        self.dealt += 1;
    }

    fn deal_unlike(&mut self, instructions: u64) {
        if self.dealt < self.in_turn {
            self.first[self.dealt as usize % self.multiprocessors] += instructions;
            return;
        }
        if self.later.is_empty() {
            self.later = self.first.iter().enumerate().map(|(at, &sum)| Reverse((sum, at))).collect();
        }
        if let Some(mut least) = self.later.peek_mut() {
            least.0.0 += instructions;
        }
    }

    /// Returns the instructions by multiprocessor, in any order.
    fn sums(&self) -> Vec<u64> {
        if !self.later.is_empty() {
            return self.later.iter().map(|Reverse((sum, _))| *sum).collect();
        }
        if !self.first.is_empty() {
            return self.first.clone();
        }
        let (each, more) =
            (self.dealt / self.multiprocessors as u64, self.dealt % self.multiprocessors as u64);
        (0..self.multiprocessors as u64).map(|at| (each + u64::from(at < more)) * self.alike).collect()
    }

    /// Returns the instructions of the busiest multiprocessor over the mean of all; 0 without instructions.
    pub(super) fn imbalance(&self) -> f64 {
        let sums = self.sums();
        let (most, total) = (sums.iter().copied().max().unwrap_or(0), sums.iter().sum::<u64>());
        if total == 0 { 0.0 } else { most as f64 * sums.len() as f64 / total as f64 }
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
