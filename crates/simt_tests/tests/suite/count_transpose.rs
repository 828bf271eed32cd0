//! What is observed of NVIDIA's transposes is what `transpose_kernels` works out from their tiles, by which the models of
//! the older cards were made.

use crate::count_drive::{Block, launch, waits_before};
use crate::transpose_kernels::Variant::{self, Coalesced, Diagonal, Naive, Padded, SharedCopy, Straight};
use crate::transpose_kernels::{N, OUT, TILES, counters, instructions, occupancy};
use simt::cards::{Card, find};
use simt::count::{Finished, L2State, LaunchShape, Modelled};
use simt::internals::model::Counters;
use simt::observe::{Observer, Operation, Space};
use std::sync::Arc;

/// A block of 32 x 8 threads: each warp takes every eighth row of a tile. Sites: 0 arithmetic, 1 loads, 2 the first use of
/// what they loaded, 3 to shared memory, 4 the barrier, 5 from shared memory, 6 stores.
fn tile(block: &mut Block<'_>, variant: Variant) {
    let (bx, by) = (block.block % TILES, block.block / TILES);
    let (x, y) = if variant == Diagonal { ((bx + by) % TILES, bx) } else { (bx, by) };
    let (to_x, to_y) = if matches!(variant, Straight | SharedCopy) { (x, y) } else { (y, x) };
    let through_shared = !matches!(variant, Straight | Naive);
    let width = if matches!(variant, Padded | Diagonal) { 33 } else { 32 };
    let memory = if through_shared { 16 } else { 8 };
    for warp in 0..8_u32 {
        let rows = || (0..4).map(|step| u64::from(warp) + 8 * step);
        block.issue(warp, 2, 1);
        block.issue(warp, 0, instructions(variant) - memory - 1);
        for row in rows() {
            block.load(warp, 1, 4, |lane| ((y * 32 + row) * N + x * 32 + lane) * 4);
            if through_shared {
                block.access(warp, 3, Space::Shared, Operation::Store, 4, |lane| (row * width + lane) * 4);
            }
        }
    }
    if through_shared {
        let at = block.at(7, 4);
        block.observer.barrier(at, 0, u64::MAX);
    }
    for warp in 0..8_u32 {
        for row in (0..4).map(|step| u64::from(warp) + 8 * step) {
            if through_shared {
                let transposed = variant != SharedCopy;
                block.access(warp, 5, Space::Shared, Operation::Load, 4, |lane| {
                    (if transposed { lane * width + row } else { row * width + lane }) * 4
                });
            }
            if variant == Naive {
                block.store(warp, 6, 4, |lane| OUT + ((x * 32 + lane) * N + y * 32 + row) * 4);
            } else {
                block.store(warp, 6, 4, |lane| OUT + ((to_y * 32 + row) * N + to_x * 32 + lane) * 4);
            }
        }
    }
}

fn observed(card: &Card, variant: Variant) -> Finished {
    let (occupancy, shared_bytes) = occupancy(card, variant);
    let shape = LaunchShape {
        shared_bytes,
        facts: waits_before(2),
        ..LaunchShape::new([64, 64, 1], [32, 8, 1], occupancy, Arc::default())
    };
    launch(shape, L2State::new(card.clone()), &[], |block| tile(block, variant))
}

#[test]
fn observed_counters_are_those_worked_out() {
    // Each rule once; all variants on all three take a minute.
    for (key, variants) in [
        ("gtx280", &[Naive, Coalesced, Diagonal][..]),
        ("m2090", &[Straight, Diagonal]),
        ("k20x", &[SharedCopy, Naive, Padded]),
    ] {
        let card = find(key).unwrap();
        for &variant in variants {
            let found = observed(&card, variant).counters.model();
            // On 1.x the two halves of every warp look up the same line, which costs nothing there.
            let straddling = if card.l2_bytes == 0 { 0.0 } else { found.straddling };
            let expected = counters(&card, variant);
            // These cards have no constants for parts of lines, nor for loads in flight.
            let Counters { loads, gathered, scattered, rewritten, lines_a_sector, stored_in_part, .. } =
                expected;
            let found = Counters { loads, gathered, scattered, rewritten, lines_a_sector, ..found };
            let found = Counters { straddling, stored_in_part, ..found };
            assert_eq!(found, expected, "{key}, {variant:?}");
        }
    }
}

#[test]
fn bank_conflicts_and_memory_by_variant() {
    let card = find("h200").unwrap();
    let requests = N * N / 32;
    for (variant, ways, store_sectors) in [(Naive, 1, 32), (Coalesced, 32, 4), (Padded, 1, 4)] {
        let found = observed(&card, variant).counters;
        let shared = if variant == Naive { 0 } else { requests };
        assert_eq!(found.total.shared_stores.ways(), 1.0, "{variant:?}");
        assert_eq!(found.total.shared_loads.ways(), ways as f64, "{variant:?}");
        assert_eq!(found.total.shared_loads.requests, shared, "{variant:?}");
        assert_eq!(found.total.excess_wavefronts(), (ways - 1) * shared, "{variant:?}");
        assert_eq!(found.total.barriers, TILES * TILES * u64::from(shared > 0), "{variant:?}");
        assert_eq!(found.phased, shared > 0, "{variant:?}");
        assert_eq!(found.l2_sectors_written, requests * store_sectors, "{variant:?}");
        // Memory is passed through once, however the lanes are ordered.
        assert_eq!(found.dram_read.bytes(card.dram_granule_bytes), N * N * 4, "{variant:?}");
        assert_eq!(found.dram_written.bytes(card.dram_granule_bytes), N * N * 4, "{variant:?}");
    }
}
