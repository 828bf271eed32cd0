//! Deals blocks to multiprocessors, to find the one that has most to do.
//!
//! The first blocks, as many as fit, are dealt in turn; each later one goes to the multiprocessor that has issued the fewest
//! instructions so far, which stands for the one that is first to have room. For example, blocks of 9, 1, 1 and 1
//! instructions on two multiprocessors with one block each: 9 and 3, so the busiest has 1.5 times the mean.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instructions issued by each multiprocessor.
pub(super) struct Balance {
    /// Blocks that are still dealt in turn.
    in_turn: u64,
    dealt: u64,
    first: Vec<u64>,
    /// Instructions with the multiprocessor's number, after the first blocks.
    later: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Balance {
    /// Prepares to deal blocks to so many multiprocessors, `window` of which are resident at once on the card.
    pub(super) fn new(multiprocessors: u32, window: u64) -> Self {
        Self { in_turn: window, dealt: 0, first: vec![0; multiprocessors as usize], later: BinaryHeap::new() }
    }

    /// Deals the next block, with its instructions.
    pub(super) fn deal(&mut self, instructions: u64) {
        let count = self.first.len();
        if self.dealt < self.in_turn {
            self.first[self.dealt as usize % count] += instructions;
        } else {
            if self.later.is_empty() {
                self.later = self.first.iter().enumerate().map(|(at, &sum)| Reverse((sum, at))).collect();
            }
            if let Some(mut least) = self.later.peek_mut() {
                least.0.0 += instructions;
            }
        }
        self.dealt += 1;
    }

    /// Returns the instructions of the busiest multiprocessor over the mean of all; 0 without instructions.
    pub(super) fn imbalance(&self) -> f64 {
        let sums: Vec<u64> = match self.later.is_empty() {
            true => self.first.clone(),
            false => self.later.iter().map(|Reverse((sum, _))| *sum).collect(),
        };
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
}
