//! Requests that are served one address at a time: constant memory and atomics.

use super::capability::ComputeCapability;
use super::request::{Addresses, LANES, Request};

/// Returns how often a load from constant memory is issued: once per distinct address, on 1.x once per distinct address
/// of each half-warp. If all lanes share one address, the constant cache broadcasts it (CUDA C Programming Guide 5.0,
/// 5.3.2.4).
pub fn constant_replays(capability: ComputeCapability, addresses: &Addresses, active: u32) -> u32 {
    if capability.major == 1 {
        longest_and_distinct(addresses, active & 0xFFFF).1
            + longest_and_distinct(addresses, active & !0xFFFF).1
    } else {
        longest_and_distinct(addresses, active).1
    }
}

/// Conflicts between the lanes of one atomic instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtomicConflicts {
    /// Distinct addresses, each of which is at least one transaction.
    pub addresses: u32,
    /// Rounds: lanes that share the most contended address, which are served one after another.
    pub rounds: u32,
}

impl AtomicConflicts {
    /// Returns the conflicts of a request. Updates of one address by several lanes are serialised (CUDA C Programming
    /// Guide 5.0, 4.1). Hardware may first combine them within the warp, as it often does for `red`; that is not
    /// counted here.
    pub fn new(request: &Request<'_>) -> Self {
        let (rounds, addresses) = longest_and_distinct(request.addresses, request.active);
        Self { addresses, rounds }
    }
}

/// Returns the most lanes at one address, and the number of distinct addresses.
fn longest_and_distinct(addresses: &Addresses, active: u32) -> (u32, u32) {
    let mut packed = [0; LANES];
    let mut count = 0;
    for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
        packed[count] = addresses[lane];
        count += 1;
    }
    packed[..count].sort_unstable();
    packed[..count]
        .chunk_by(|a, b| a == b)
        .fold((0, 0), |(longest, distinct), run| (longest.max(run.len() as u32), distinct + 1))
}
