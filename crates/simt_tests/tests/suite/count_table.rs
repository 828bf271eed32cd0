//! The table of one warp's transactions, found again in whole launches: every offset and stride, `f32` and `f64`, loads
//! and stores, by compute capability.

use crate::count_drive::{launch, shape};
use simt::cards::{Card, find};
use simt::count::{Counts, L2State};
use simt::internals::count::MemoryCounts;

const BLOCKS: u64 = 8;
const THREADS: u32 = 256;
const WARPS: u64 = BLOCKS * THREADS as u64 / 32;
const BASE: u64 = 0x7_0000_0000;

/// A launch in which thread `i` loads element `i * step + offset` and stores there.
fn counts(card: &Card, size: u64, step: u64, offset: u64) -> Counts {
    let finished = launch(shape(card, BLOCKS, THREADS), L2State::new(card.clone()), &[], |block| {
        for warp in 0..THREADS / 32 {
            let first = block.block * u64::from(THREADS) + u64::from(warp) * 32;
            let address = |lane: u64| BASE + ((first + lane) * step + offset) * size;
            block.load(warp, 0, size as u32, address);
            block.store(warp, 1, size as u32, address);
        }
    });
    finished.counters.total
}

/// Transactions and bytes a warp, which all warps have alike.
fn per_warp(counts: &MemoryCounts) -> (u64, u64) {
    assert_eq!((counts.transactions % WARPS, counts.bytes_moved % WARPS), (0, 0), "{counts:?}");
    assert_eq!(counts.instructions, WARPS);
    assert_eq!(counts.sectors * 32, counts.bytes_moved);
    (counts.transactions / WARPS, counts.bytes_moved / WARPS)
}

fn card(key: &str) -> Card {
    find(key).unwrap()
}

#[track_caller]
fn both(key: &str, size: u64, step: u64, offset: u64, expected: (u64, u64)) {
    let counts = counts(&card(key), size, step, offset);
    assert_eq!(
        per_warp(&counts.loads),
        expected,
        "{key}, loads, {size} bytes, stride {step}, offset {offset}"
    );
    assert_eq!(
        per_warp(&counts.stores),
        expected,
        "{key}, stores, {size} bytes, stride {step}, offset {offset}"
    );
    let efficiency = (32 * size) as f64 / expected.1 as f64;
    assert_eq!(counts.loads.efficiency(), efficiency);
    assert_eq!(counts.efficiency(), efficiency);
}

/// 2.0: loads by lines, stores by sectors.
#[track_caller]
fn fermi(size: u64, step: u64, offset: u64, loads: (u64, u64), stores: (u64, u64)) {
    let counts = counts(&card("c2050"), size, step, offset);
    assert_eq!(per_warp(&counts.loads), loads, "loads, {size} bytes, stride {step}, offset {offset}");
    assert_eq!(per_warp(&counts.stores), stores, "stores, {size} bytes, stride {step}, offset {offset}");
}

#[test]
fn float_offsets() {
    for s in 0..=32 {
        let (strict, segmented, lines, sectors) = match s {
            0 | 32 => ((2, 128), (2, 128), (1, 128), (4, 128)),
            16 => ((2, 128), (2, 128), (2, 256), (4, 128)),
            8 | 24 => ((32, 1024), (3, 192), (2, 256), (4, 128)),
            _ => ((32, 1024), (3, 224), (2, 256), (5, 160)),
        };
        both("c870", 4, 1, s, strict);
        both("c1060", 4, 1, s, segmented);
        fermi(4, 1, s, lines, sectors);
        both("k40c", 4, 1, s, sectors);
        both("h200", 4, 1, s, sectors);
    }
}

#[test]
fn float_strides() {
    for (s, expected) in [
        (1, (2, 128)),
        (2, (2, 256)),
        (3, (4, 384)),
        (4, (4, 512)),
        (8, (8, 1024)),
        (16, (16, 2048)),
        (24, (24, 1536)),
        (32, (32, 1024)),
    ] {
        both("c1060", 4, s, 0, expected);
    }
    for s in 1..=32 {
        both("c870", 4, s, 0, if s == 1 { (2, 128) } else { (32, 1024) });
        let lines = 31 * s / 32 + 1;
        let sectors = (4 * s).min(32);
        fermi(4, s, 0, (lines, lines * 128), (sectors, sectors * 32));
        both("k40c", 4, s, 0, (sectors, sectors * 32));
        both("h200", 4, s, 0, (sectors, sectors * 32));
    }
}

#[test]
fn double_offsets() {
    for s in 0..=32 {
        both("c870", 8, 1, s, if s % 16 == 0 { (2, 256) } else { (32, 1024) });
        let segmented = match s % 16 {
            0 => (2, 256),
            8 => (4, 256),
            1..=4 | 12..=15 => (4, 320),
            _ => (4, 384),
        };
        both("c1060", 8, 1, s, segmented);
        let lines = if s % 16 == 0 { (2, 256) } else { (4, 512) };
        let halves = if s % 4 == 0 { (8, 256) } else { (10, 320) };
        fermi(8, 1, s, lines, halves);
        both("k40c", 8, 1, s, halves);
        both("h200", 8, 1, s, if s % 4 == 0 { (8, 256) } else { (9, 288) });
    }
}

#[test]
fn double_strides() {
    for s in 1..=32 {
        both("c870", 8, s, 0, if s == 1 { (2, 256) } else { (32, 1024) });
        let sectors = (8 * s).min(32);
        both("k40c", 8, s, 0, (sectors, sectors * 32));
        both("h200", 8, s, 0, (sectors, sectors * 32));
    }
    for (s, bytes) in [(1, 256), (2, 512), (4, 1024), (8, 2048), (16, 1024), (32, 1024)] {
        assert_eq!(per_warp(&counts(&card("c1060"), 8, s, 0).loads).1, bytes, "1.3, stride {s}");
    }
    for (s, bytes) in [(1, 256), (2, 512), (4, 1024), (8, 2048), (16, 4096), (32, 4096)] {
        assert_eq!(per_warp(&counts(&card("c2050"), 8, s, 0).loads).1, bytes, "2.0, stride {s}");
    }
}

#[test]
fn sectors_that_reach_l2_are_those_of_the_hardware() {
    // docs/h200.md, by Nsight Compute: sectors a request of a load that reach L2.
    for (size, offset, expected) in [(4, 0, 4.0), (4, 1, 4.125), (4, 8, 4.0), (8, 1, 8.125), (8, 32, 8.0)] {
        let counts = counts(&card("h200"), size, 1, offset);
        assert_eq!(counts.loads.l2_sectors as f64 / WARPS as f64, expected, "{size} bytes, offset {offset}");
        assert_eq!(counts.stores.l2_sectors, counts.stores.sectors);
        assert_eq!(counts.loads.requests, WARPS);
    }
    // A K40c keeps no global loads in L1.
    let kepler = counts(&card("k40c"), 4, 1, 1);
    assert_eq!(kepler.loads.l2_sectors, 5 * WARPS);
    // A C2050 does, by lines: the one that two warps share is read once.
    let fermi = counts(&card("c2050"), 4, 1, 1);
    assert_eq!(fermi.loads.l2_sectors, BLOCKS * 9 * 4);
}

#[test]
fn counts_explain_themselves() {
    let aligned = counts(&card("h200"), 4, 1, 0);
    assert_eq!((aligned.sectors_per_request(), aligned.efficiency()), (4.0, 1.0));
    assert_eq!(aligned.loads.ideal_sectors(), aligned.loads.sectors);
    assert_eq!(aligned.loads.straddling, 0);
    let shifted = counts(&card("h200"), 4, 1, 1);
    assert_eq!((shifted.sectors_per_request(), shifted.efficiency()), (5.0, 0.8));
    assert_eq!(shifted.loads.straddling, WARPS);
    assert_eq!(aligned.instructions, 2 * WARPS);
    assert_eq!(aligned.thread_instructions, 64 * WARPS);
    assert_eq!((aligned.lane_share(), aligned.divergence()), (1.0, 0.0));
    assert_eq!(Counts::default().efficiency(), 1.0);
    assert_eq!(Counts::default().sectors_per_request(), 0.0);
}
