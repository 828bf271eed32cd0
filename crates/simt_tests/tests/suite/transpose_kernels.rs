//! NVIDIA's transposes of 2048 x 2048 floats (tiles of 32 x 32, blocks of 32 x 8), and counters that follow from the
//! tiles.

use simt::cards::{BlockShape, Card, Occupancy};
use simt::coalescing::{Addresses, BankMode};
use simt::internals::coalescing::{Access, BankRule, Coalescer, Request};
use simt::internals::model::{Counters, PartitionTraffic, Touched};
use std::collections::HashSet;

pub(crate) const N: u64 = 2048;
pub(crate) const TILES: u64 = N / 32;
pub(crate) const OUT: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Variant {
    Straight,
    SharedCopy,
    Naive,
    Coalesced,
    Padded,
    Diagonal,
}

use Variant::{Coalesced, Diagonal, Naive, Padded, SharedCopy, Straight};

/// Blocks that a multiprocessor has room for, and their shared memory in bytes.
pub(crate) fn occupancy(card: &Card, variant: Variant) -> (Occupancy, u32) {
    let shared_bytes = match variant {
        Straight | Naive => 0,
        SharedCopy | Coalesced => 32 * 32 * 4,
        Padded | Diagonal => 32 * 33 * 4,
    };
    // The first cards pass parameters in shared memory, which costs the block whose tile is a power of two its neighbour.
    let parameters = if card.compute_capability.major == 1 && shared_bytes > 0 { 32 } else { 0 };
    let shape = BlockShape { threads: 256, registers: 16, shared_bytes: shared_bytes + parameters };
    (Occupancy::new(&card.limits(), shape).unwrap(), shared_bytes)
}

/// Instructions a warp for its four rows, counted by hand: address arithmetic, four loads and stores, as many to and
/// from shared memory, and two divisions for the diagonal.
pub(crate) fn instructions(variant: Variant) -> u32 {
    match variant {
        Straight | Naive => 35,
        SharedCopy | Coalesced | Padded => 55,
        Diagonal => 115,
    }
}

pub(crate) fn counters(card: &Card, variant: Variant) -> Counters {
    let (occupancy, shared_bytes) = occupancy(card, variant);
    let resident = u64::from(occupancy.blocks * card.multiprocessors);
    let pages_window = resident.max(card.l2_bytes / (2 * 32 * 128));

    let blocks = TILES * TILES;
    let requests = (blocks * 32) as f64;
    let lanes = |step: u64| -> Addresses { std::array::from_fn(|lane| OUT + lane as u64 * step) };
    let traffic = |step, access| {
        let addresses = lanes(step);
        let request = Request { addresses: &addresses, active: u32::MAX, bytes: 4, access };
        Coalescer::new(card.compute_capability).traffic(&request)
    };
    let load = traffic(4, Access::Load);
    let store = traffic(if variant == Naive { N * 4 } else { 4 }, Access::Store);

    let rule = BankRule::new(card.compute_capability, BankMode::FourBytes);
    let wavefronts = |step: u64, access| {
        let addresses: Addresses = std::array::from_fn(|lane| lane as u64 * step);
        f64::from(
            rule.wavefronts(&Request { addresses: &addresses, active: u32::MAX, bytes: 4, access }).taken,
        )
    };
    let shared = match variant {
        Straight | Naive => 0.0,
        SharedCopy => wavefronts(4, Access::Store) + wavefronts(4, Access::Load),
        Coalesced => wavefronts(4, Access::Store) + wavefronts(32 * 4, Access::Load),
        Padded | Diagonal => wavefronts(4, Access::Store) + wavefronts(33 * 4, Access::Load),
    };

    let mut camping =
        [PartitionTraffic::new(card.dram_partitions), PartitionTraffic::new(card.dram_partitions)];
    let mut pages = [HashSet::new(), HashSet::new()];
    let mut pages_opened = [0, 0];
    for block in 0..blocks {
        let (bx, by) = (block % TILES, block / TILES);
        let (x, y) = if variant == Diagonal { ((bx + by) % TILES, bx) } else { (bx, by) };
        let (to_x, to_y) = if matches!(variant, Straight | SharedCopy) { (x, y) } else { (y, x) };
        for (way, (column, row)) in [(x, y), (to_x, to_y)].into_iter().enumerate() {
            for line in 0..32 {
                let address = ((row * 32 + line) * N + column * 32) * 4;
                camping[way].add(address, 128);
                pages[way].insert(address / u64::from(card.dram_page_bytes));
            }
        }
        for way in 0..2 {
            if (block + 1) % resident == 0 || block + 1 == blocks {
                camping[way].end_window();
            }
            if (block + 1) % pages_window == 0 || block + 1 == blocks {
                pages_opened[way] += pages[way].len();
                pages[way].clear();
            }
        }
    }
    // With a cache, DRAM sees each byte once, whatever the order of the lanes; without, it sees the transactions.
    let moved = |sectors: u32| {
        let granules =
            if card.l2_bytes == 0 { f64::from(sectors) * requests } else { (N * N * 4 / 32) as f64 };
        assert_eq!(card.dram_granule_bytes, 32);
        granules
    };
    // Without a cache, each lane of a column goes to a page of its own: 15 beyond the first in each half-warp.
    let scattered = [0.0, if card.l2_bytes == 0 && variant == Naive { 30.0 * requests } else { 0.0 }];
    let touched = |way: usize, sectors: u32| Touched {
        granules: moved(sectors),
        lines: (N * N * 4 / 128) as f64,
        pages: (pages_opened[way] as f64).max(scattered[way]),
    };
    let warps = requests / 4.0;
    let turns = |lines: u32, requests: u32| (0.3 * f64::from(lines)).ceil().max(f64::from(requests));
    Counters {
        blocks: blocks as f64,
        warps,
        resident_warps: f64::from(occupancy.warps),
        round_trips: 1.0,
        instructions: f64::from(instructions(variant)) * warps,
        requests: requests * f64::from(load.requests + store.requests),
        straddling: 0.0,
        l1_turns: requests * (turns(load.lines, load.requests) + turns(store.lines, store.requests)),
        lines_a_load: f64::from(load.lines) / f64::from(load.requests),
        stores: requests * f64::from(store.requests),
        l2_sectors_read: requests * f64::from(load.sectors),
        l2_sectors_written: requests * f64::from(store.sectors),
        dram_read: touched(0, load.sectors),
        dram_written: touched(1, store.sectors),
        camping_read: camping[0].camping(),
        camping_written: camping[1].camping(),
        shared_wavefronts: requests * shared,
        phased: shared_bytes > 0,
        ..Counters::default()
    }
}
