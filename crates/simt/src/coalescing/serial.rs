//! Requests that are served one address after another: constant memory and atomics.

use super::capability::ComputeCapability;
use super::request::{Addresses, LANES, Request};

/// How many times a load from constant memory is issued: once for each distinct address, on 1.x once for each in each
/// half-warp. All lanes at one address is the broadcast that the constant cache is made for (CUDA C Programming Guide
/// 5.0, 5.3.2.4).
pub fn constant_replays(capability: ComputeCapability, addresses: &Addresses, active: u32) -> u32 {
    if capability.major == 1 {
        longest_and_distinct(addresses, active & 0xFFFF).1
            + longest_and_distinct(addresses, active & !0xFFFF).1
    } else {
        longest_and_distinct(addresses, active).1
    }
}

/// How lanes of one atomic instruction get in each other's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtomicConflicts {
    /// Distinct addresses, each of which is a transaction at least.
    pub addresses: u32,
    /// Lanes that share the most wanted address: they are served one after another, so this many rounds it takes.
    pub rounds: u32,
}

impl AtomicConflicts {
    /// The conflicts of a request. Updates of one address by several lanes are serialised (CUDA C Programming Guide
    /// 5.0, 4.1); that hardware may first combine them within the warp, as `red` without a result often is, is not
    /// counted here.
    pub fn new(request: &Request<'_>) -> Self {
        let (rounds, addresses) = longest_and_distinct(request.addresses, request.active);
        Self { addresses, rounds }
    }
}

/// The most lanes at one address, and how many distinct addresses there are.
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
