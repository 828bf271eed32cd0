//! Finds the 256 bytes that atomics contend for most.
//!
//! L2 is made of slices, over which addresses are spread in pieces of a few hundred bytes. A slice carries out one address of
//! a warp's atomic after another; lanes that share an address count once, because ptxas and the multiprocessor combine them.
//! So the busiest piece bounds a launch from below, however many others there are. For example, a warp whose 32 lanes add to
//! one counter takes one step of its piece; one whose lanes add to 8 neighbouring words takes 8.

use crate::coalescing::{Addresses, LANES};
use std::collections::HashMap;

/// Bytes of a piece.
const PIECE_BYTES: u64 = 256;

/// Most pieces that a worker keeps apart. Later ones are not counted: they are many, and none of them is busy.
const MOST_PIECES: usize = 1 << 20;

/// Addresses of atomics in each piece of global memory, summed over requests.
#[derive(Default)]
pub(super) struct HotPieces(HashMap<u64, u64>);

impl HotPieces {
    /// Counts a warp's atomics in global memory.
    pub(super) fn note(&mut self, addresses: &Addresses, active: u32) {
        let mut own = [0; LANES];
        let mut count = 0;
        for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
            own[count] = addresses[lane];
            count += 1;
        }
        let own = &mut own[..count];
        own.sort_unstable();
        for piece in own.chunk_by(|a, b| a / PIECE_BYTES == b / PIECE_BYTES) {
            let steps = piece.chunk_by(|a, b| a == b).count() as u64;
            let index = piece[0] / PIECE_BYTES;
            if self.0.len() < MOST_PIECES || self.0.contains_key(&index) {
                *self.0.entry(index).or_default() += steps;
            }
        }
    }

    /// Adds another worker's counts.
    pub(super) fn add(&mut self, other: &Self) {
        for (&piece, steps) in &other.0 {
            *self.0.entry(piece).or_default() += steps;
        }
    }

    /// Returns the most addresses of one piece.
    pub(super) fn busiest(&self) -> u64 {
        self.0.values().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_piece_is_found() {
        let (mut one, mut other) = (HotPieces::default(), HotPieces::default());
        let counter = [64; LANES];
        let words = std::array::from_fn(|lane| 256 + lane as u64 % 8 * 4);
        one.note(&counter, u32::MAX);
        other.note(&counter, 0b11);
        one.note(&words, u32::MAX);
        assert_eq!(one.busiest(), 8);
        for _ in 0..7 {
            other.note(&counter, u32::MAX);
        }
        one.add(&other);
        // One of the first worker, and 8 of the second.
        assert_eq!(one.busiest(), 9);
    }
}
