//! Keeps the most expensive request of each instruction, for pictures of its lanes' sectors and banks.
//!
//! [`counters::Access`] defines the cost of a request. Most requests of an instruction cost the same, so the common
//! case must be one comparison. Cost, block and warp are packed into a *rank*: the cost in the high bits, then the
//! complements of the block's and the warp's number. The request with the highest rank is kept: the most expensive,
//! then that of the earliest block, then that of the earliest warp. Of a warp's own requests of equal rank the first is
//! kept. A warp's requests are deterministic, so the result does not depend on the number of workers.

use super::by_site::BySite;
use crate::observe::{Access, At, Operation, Site, Space};
use counters::AccessKind;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Bits of a rank for the warp: a block has at most 32.
const WARP_BITS: u32 = 6;

/// Bits of a rank below the cost. A launch with more blocks would take years.
const ORDER_BITS: u32 = 48;

const ORDER: u64 = (1 << ORDER_BITS) - 1;

/// Returns the number of a block's warp in the launch: less for an earlier block, or an earlier warp of the same one.
#[inline(always)]
pub(super) fn order(at: At) -> u64 {
    at.block << WARP_BITS | u64::from(at.warp())
}

/// Unit in bytes: addresses in global, local and constant memory are relative to the line on which the request begins.
const LINE_BYTES: u64 = 128;

/// Cost of a request.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// Sectors in global or local memory.
    Sectors(u32),
    /// Wavefronts in shared memory, or issues in constant memory.
    Wavefronts(u32),
}

/// The most expensive requests so far, by site.
#[derive(Default)]
pub(super) struct Worst {
    /// Rank of each site's kept request; 0 for none.
    ranks: BySite<u64>,
    kept: BTreeMap<u32, Kept>,
}

#[derive(Clone)]
struct Kept {
    rank: u64,
    block: u64,
    access: counters::Access,
}

impl Worst {
    /// Keeps a request if no earlier one of its site ranks as high.
    #[inline(always)]
    pub(super) fn note(&mut self, at: At, access: &Access<'_>, cost: Cost) {
        let (Cost::Sectors(units) | Cost::Wavefronts(units)) = cost;
        let rank = u64::from(units) << ORDER_BITS | (!order(at) & ORDER);
        if rank > self.ranks.get(at.site().0) {
            self.keep(at, access, cost, rank);
        }
    }

    /// Returns the [order](order) below which a request of this cost would be kept: 0 if the site's kept request costs
    /// more, the highest number if it costs less.
    pub(super) fn kept_below(&self, site: Site, cost: Cost) -> u64 {
        let (Cost::Sectors(units) | Cost::Wavefronts(units)) = cost;
        let rank = self.ranks.get(site.0);
        match (rank >> ORDER_BITS).cmp(&u64::from(units)) {
            Ordering::Greater => 0,
            Ordering::Equal => !rank & ORDER,
            Ordering::Less => u64::MAX,
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, at: At, access: &Access<'_>, cost: Cost, rank: u64) {
        let site = at.site().0;
        *self.ranks.at(site) = rank;
        let (sectors, wavefronts) = match cost {
            Cost::Sectors(sectors) => (sectors, 0),
            Cost::Wavefronts(wavefronts) => (0, wavefronts),
        };
        let access = counters::Access {
            site,
            kind: kind(access),
            bytes: access.bytes,
            lanes: lanes(access),
            sectors,
            wavefronts,
            block: [0; 3],
            warp: at.warp(),
        };
        self.kept.insert(site, Kept { rank, block: at.block, access });
    }

    /// Adds the requests that another worker has kept.
    pub(super) fn add(&mut self, other: &Worst) {
        for (&site, kept) in &other.kept {
            if self.kept.get(&site).is_none_or(|known| kept.rank > known.rank) {
                self.kept.insert(site, kept.clone());
            }
        }
    }

    /// Returns all kept requests by site, of a launch with this grid.
    pub(super) fn into_accesses(self, grid: [u32; 3]) -> Vec<counters::Access> {
        let [x, y] = [grid[0], grid[1]].map(u64::from);
        let placed = |Kept { block, access, .. }| {
            let block = [block % x, block / x % y, block / x / y].map(|index| index as u32);
            counters::Access { block, ..access }
        };
        self.kept.into_values().map(placed).collect()
    }
}

fn kind(access: &Access<'_>) -> AccessKind {
    match (access.space, access.operation) {
        (Space::Global, Operation::Load) => AccessKind::GlobalLoad,
        (Space::Global, Operation::Store) => AccessKind::GlobalStore,
        (Space::Global, Operation::Atomic | Operation::Reduction) => AccessKind::GlobalAtomic,
        (Space::Local, Operation::Load) => AccessKind::LocalLoad,
        (Space::Local, _) => AccessKind::LocalStore,
        (Space::Shared | Space::Cluster, Operation::Load) => AccessKind::SharedLoad,
        (Space::Shared | Space::Cluster, Operation::Store) => AccessKind::SharedStore,
        (Space::Shared | Space::Cluster, Operation::Atomic | Operation::Reduction) => {
            AccessKind::SharedAtomic
        }
        (Space::Constant, _) => AccessKind::ConstantLoad,
    }
}

/// Returns the addresses by lane, relative to the origin of [`counters::Access::lanes`].
fn lanes(access: &Access<'_>) -> Vec<Option<u64>> {
    let laid_out = |lane: usize, address: u64| match access.space {
        // One word of 32 threads makes a line: see `local`.
        Space::Local => address / 4 * 128 + lane as u64 * 4 + address % 4,
        _ => address,
    };
    let address =
        |lane: usize| (access.active >> lane & 1 != 0).then(|| laid_out(lane, access.addresses[lane]));
    let lanes: Vec<_> = (0..access.addresses.len()).map(address).collect();
    let first = lanes.iter().flatten().min().map_or(0, |low| low / LINE_BYTES * LINE_BYTES);
    let origin = if access.space == Space::Shared { 0 } else { first };
    lanes.into_iter().map(|address| Some(address? - origin)).collect()
}
