//! The rules of L1 by compute capability: the accesses that it caches, and its size per block.

use super::shape::LaunchShape;
use crate::cards::Card;
use crate::coalescing::{ComputeCapability, SECTOR_BYTES};

const KIB: u64 = 1 << 10;

/// Returns the bytes of L1 per multiprocessor, with `shared_bytes` of shared memory in use on it. From 7.0 on both
/// share one memory (CUDA C Programming Guide, "Technical Specifications per Compute Capability", "Unified data cache
/// size"). 2.x has its default split, 48 KiB shared and 16 KiB of L1; 3.x has 48 KiB of read-only cache.
pub(crate) fn bytes(capability: ComputeCapability, shared_bytes: u64) -> u64 {
    let unified = match (capability.major, capability.minor) {
        (1, _) => return 0,
        (2, _) => return 16 * KIB,
        (3, _) => return 48 * KIB,
        (5, _) | (6, 1 | 2) => return 48 * KIB,
        (6, _) => return 24 * KIB,
        (7, 5) => 96 * KIB,
        (7, _) => 128 * KIB,
        (8, 0 | 7) => 192 * KIB,
        (8, _) | (12, _) => 128 * KIB,
        _ => 256 * KIB,
    };
    // The remainder when shared memory has its largest size is the minimum.
    unified.saturating_sub(shared_bytes).max(28 * KIB)
}

/// The rules of L1 for global accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct L1 {
    /// True if plain loads go through L1.
    pub(super) loads: bool,
    /// True if loads through the read-only path do.
    pub(super) read_only: bool,
    /// True if L1 is filled by lines of 128 bytes, false for sectors.
    pub(super) lines: bool,
    /// Sectors that a block may load before an earlier one is evicted.
    pub(super) share: u32,
}

impl L1 {
    /// Returns the rules of a card for a launch.
    ///
    /// 2.x caches global loads, by lines (CUDA C Programming Guide 5.0, F.4.2). 3.x does not, but has the read-only
    /// path from 3.2 on. From 5.0 on both are one.
    pub(super) fn new(card: &Card, shape: &LaunchShape) -> Self {
        let capability = card.compute_capability;
        let room = u64::from(shape.occupancy.blocks.max(1));
        let blocks = shape.blocks().div_ceil(card.multiprocessors.into()).clamp(1, room);
        let share = bytes(capability, u64::from(shape.shared_bytes) * room) / blocks / SECTOR_BYTES;
        Self {
            loads: capability.major == 2 || capability.major >= 5,
            read_only: capability.major == 2 || capability.at_least(3, 2),
            lines: capability.major == 2,
            share: share as u32,
        }
    }
}
