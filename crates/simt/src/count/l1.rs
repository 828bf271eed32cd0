//! Which accesses L1 serves, and how much of it a block has.

use crate::cards::{Card, Occupancy};
use crate::coalescing::ComputeCapability;

const KIB: u64 = 1 << 10;

/// Bytes of L1 of a multiprocessor, by capability, with `shared_bytes` of shared memory in use on it. From 7.0 on both
/// are cut from the same memory (CUDA C Programming Guide, "Technical Specifications per Compute Capability", "Unified
/// data cache size"); 2.x is taken as it comes, with 48 KiB shared and 16 KiB of L1; 3.x has 48 KiB of read-only cache.
fn bytes(capability: ComputeCapability, shared_bytes: u64) -> u64 {
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
    // What is left when shared memory has taken all that it can.
    unified.saturating_sub(shared_bytes).max(28 * KIB)
}

/// L1's part in global accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct L1 {
    /// Plain loads look there.
    pub(super) loads: bool,
    /// Loads through the read-only path do.
    pub(super) read_only: bool,
    /// It is filled by lines of 128 bytes, not by sectors.
    pub(super) lines: bool,
    /// Sectors that a block may load before one that it loaded is gone.
    pub(super) share: u32,
}

impl L1 {
    /// The rules of a card, for blocks with `shared_bytes` each.
    ///
    /// 2.x keeps global loads, by lines (CUDA C Programming Guide 5.0, F.4.2). 3.x does not, but from 3.2 on it has the
    /// read-only path. From 5.0 on both are one.
    pub(super) fn new(card: &Card, occupancy: &Occupancy, shared_bytes: u64) -> Self {
        let capability = card.compute_capability;
        let blocks = u64::from(occupancy.blocks.max(1));
        let share = bytes(capability, shared_bytes * blocks) / blocks / 32;
        Self {
            loads: capability.major == 2 || capability.major >= 5,
            read_only: capability.major == 2 || capability.at_least(3, 2),
            lines: capability.major == 2,
            share: share as u32,
        }
    }
}
