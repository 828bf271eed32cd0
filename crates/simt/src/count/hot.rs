//! Finds the sector that atomics contend for most.
//!
//! L2 carries out the atomics of one sector one after another: of a warp's request one step for each lane that shares an
//! address. So the busiest sector bounds a launch from below, however many others there are. For example, a warp whose 32
//! lanes add to one counter takes 32 steps of its sector; one whose lanes add to 8 neighbouring words takes 4.

use crate::coalescing::{Addresses, LANES, SECTOR_BYTES};
use std::collections::HashMap;

/// Most sectors that a worker keeps apart. Later ones are not counted: they are many, and none of them is busy.
const MOST_SECTORS: usize = 1 << 20;

/// Requests and steps of each sector that atomics access.
#[derive(Default)]
pub(super) struct HotSectors(HashMap<u64, [u64; 2]>);

impl HotSectors {
    /// Counts a warp's atomics in global memory.
    pub(super) fn note(&mut self, addresses: &Addresses, active: u32) {
        let lanes = (0..LANES).filter(|lane| active >> lane & 1 == 1);
        let mut addresses: Vec<u64> = lanes.map(|lane| addresses[lane]).collect();
        addresses.sort_unstable();
        for sector in addresses.chunk_by(|a, b| a / SECTOR_BYTES == b / SECTOR_BYTES) {
            let steps = sector.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0) as u64;
            let index = sector[0] / SECTOR_BYTES;
            if self.0.len() < MOST_SECTORS || self.0.contains_key(&index) {
                let [requests, all] = self.0.entry(index).or_default();
                *requests += 1;
                *all += steps;
            }
        }
    }

    /// Adds another worker's counts.
    pub(super) fn add(&mut self, other: &Self) {
        for (&sector, [requests, steps]) in &other.0 {
            let known = self.0.entry(sector).or_default();
            *known = [known[0] + requests, known[1] + steps];
        }
    }

    /// Returns the most requests, and the most steps, of one sector.
    pub(super) fn busiest(&self) -> [u64; 2] {
        let most = |which: usize| self.0.values().map(|counts| counts[which]).max().unwrap_or(0);
        [most(0), most(1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_sector_is_found() {
        let (mut one, mut other) = (HotSectors::default(), HotSectors::default());
        let counter = [64; LANES];
        let words = std::array::from_fn(|lane| 256 + lane as u64 % 8 * 4);
        one.note(&counter, u32::MAX);
        other.note(&counter, 0b11);
        for _ in 0..5 {
            one.note(&words, u32::MAX);
        }
        assert_eq!(one.busiest(), [5, 32]);
        one.add(&other);
        assert_eq!(one.busiest(), [5, 34]);
    }
}
