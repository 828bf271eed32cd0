//! Computes how much an L2 of two halves holds.
//!
//! The L2 of an A100, H100, H200 or B200 is made of two halves, each beside half of the multiprocessors. A multiprocessor reads
//! through its own half, which keeps a copy of what has its home in the other. So data that all multiprocessors read are there
//! twice, and of 50 MiB less than 34 MiB of them fit. Nor does a footprint that grows past that lose all its hits at once, as in a
//! single LRU list: lines meet in sets, some of which are fuller than others.
//!
//! For example, with 60 MiB of L2 and half of all lines copied, the mean capacity is 40 MiB; those of the four classes are 36,
//! 38.7, 41.3 and 44 MiB. A kernel that reads 16 MiB and writes 16 again and again hits; one that reads 32 and writes 16 misses
//! on all: on an H200 `coalesce run gather` takes as long for each byte of 16 MiB as of 256. On an H100, with 50 MiB of L2, a
//! kernel that reads 32 MiB takes as long as on an H200.

use crate::cards::Card;

/// Classes of lines by the capacity that they find.
pub(super) const CLASSES: usize = 4;

/// Copies of a line in an L2 of two halves, on average: a multiprocessor keeps in its own half what has its home in the other,
/// so half of the lines are there twice.
const COPIES: f64 = 1.5;

/// Returns the bytes after which a line of a class has left the cache.
///
/// The cache is not one list: lines meet in sets, some of which are fuller than others. Around the mean the capacities of the
/// four classes lie evenly from 0.9 to 1.1, so that hits become fewer gradually as a footprint grows past the cache. So it is
/// modelled where L2 is made of two halves, each beside half of the multiprocessors; on other cards all classes are alike.
pub(super) fn capacity(card: &Card, class: usize) -> u64 {
    if !has_halves(card) {
        return card.l2_bytes;
    }
    (card.l2_bytes as f64 * (0.9 + 0.2 / 3.0 * class as f64) / COPIES) as u64
}

/// Returns true for a card whose L2 has two halves: A100, H100, H200 and B200.
fn has_halves(card: &Card) -> bool {
    matches!((card.compute_capability.major, card.compute_capability.minor), (8..=10, 0))
}

/// Returns the class of a group's lines, by a hash of its number (Fibonacci hashing).
#[inline(always)]
pub(super) fn class_of(group: u64) -> usize {
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize
}
