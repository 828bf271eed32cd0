//! The same launch gives the same counters, for any division of its blocks into runs and any number of workers.

use crate::count_drive::{Block, launch, shape, waits_before};
use proptest::prelude::*;
use rayon::prelude::*;
use simt::cards::find;
use simt::count::{CounterObservation, Finished, L2State, LaunchCounters, LaunchShape, Placement, Range};
use simt::observe::{Observation, Observer, Operation, Space};

const MANAGED: u64 = 0x7_0000_0000;
const PLAIN: u64 = 0x9_0000_0000;

/// A kernel in which blocks share lines with their neighbours, read what others wrote, and jump about, as `seed` has it.
fn mixed(block: &mut Block<'_>, seed: u64) {
    let index = block.block;
    let noise = |value: u64| (value ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    for warp in 0..4_u32 {
        let thread = index * 128 + u64::from(warp) * 32;
        block.issue(warp, 0, 5);
        block.load(warp, 1, 4, |lane| PLAIN + (thread + lane + seed % 33) * 4);
        block.store(warp, 2, 8, |lane| PLAIN + (1 << 20) + (thread + lane) * 8 * (seed % 9));
        // What the block before has just written, and a page that depends on the warp.
        let before = thread.saturating_sub(128);
        block.load(warp, 3, 8, |lane| PLAIN + (1 << 20) + (before + lane) * 8 * (seed % 9));
        let page = noise(thread) % 512;
        block.load(warp, 4, 4, |lane| MANAGED + page * 4096 + lane * 4);
        block.access(warp, 5, Space::Global, Operation::Atomic, 4, |lane| MANAGED + noise(lane) % 64 * 4);
        block.access(warp, 6, Space::Shared, Operation::Load, 4, |lane| lane * 4 * (seed % 33));
    }
    let at = block.at(3, 7);
    block.observer.barrier(at, 0, u64::MAX);
}

fn shape_of(key: &str, blocks: u64) -> (LaunchShape, L2State) {
    let card = find(key).unwrap();
    let ranges = vec![
        Range { addresses: MANAGED..MANAGED + (2 << 20), placement: Placement::Managed },
        Range { addresses: PLAIN..PLAIN + 4096, placement: Placement::Host },
    ];
    let shape = LaunchShape { facts: waits_before(3), ranges, ..shape(&card, blocks, 128) };
    (shape, L2State::new(card))
}

/// Two launches after one another, the second on the L2 that the first left.
fn twice(key: &str, blocks: u64, seed: u64, runs: &[u64]) -> [Finished; 2] {
    let (shape, l2) = shape_of(key, blocks);
    let mut first = launch(shape.clone(), l2, runs, |block| mixed(block, seed));
    let second =
        launch(shape, std::mem::replace(&mut first.l2, L2State::new(find(key).unwrap())), runs, |block| {
            mixed(block, seed + 1);
        });
    [first, second]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn however_blocks_are_cut(seed in 0..10_000_u64, blocks in 1..600_u64, runs in prop::collection::vec(1..100_u64, 1..8), card in 0..3_usize) {
        let key = ["c1060", "c2050", "h200"][card];
        let whole = twice(key, blocks, seed, &[blocks]);
        for runs in [&runs[..], &[1], &[16], &[]] {
            for (found, expected) in twice(key, blocks, seed, runs).iter().zip(&whole) {
                // What blocks have in common is estimated from the runs of a launch, whose lengths are always the same.
                let l2_sectors_shared = expected.counters.l2_sectors_shared;
                let found_counters = LaunchCounters { l2_sectors_shared, ..found.counters.clone() };
                prop_assert_eq!(&found_counters, &expected.counters, "{:?}", runs);
                prop_assert_eq!(&found.managed, &expected.managed);
            }
        }
    }
}

#[test]
fn however_many_workers() {
    for key in ["c870", "h200"] {
        let [expected, _] = twice(key, 500, 7, &[]);
        for workers in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            let (shape, l2) = shape_of(key, 500);
            let observation = CounterObservation::new(shape, l2);
            let run = observation.run_of_blocks();
            // Twice as many at a time as there are workers, as an executor does that must hand them in in order.
            let firsts: Vec<u64> = (0..500).step_by(run as usize).collect();
            for some in firsts.chunks(2 * workers) {
                let observers: Vec<_> = pool.install(|| {
                    some.par_iter()
                        .map(|&first| {
                            let mut observer = observation.begin(first);
                            for block in first..(first + run).min(500) {
                                observer.block_begins(block, 4);
                                mixed(&mut Block { observer: &mut observer, block }, 7);
                                observer.block_ends(block);
                            }
                            observer
                        })
                        .collect()
                });
                observers.into_iter().for_each(|observer| observation.end(observer));
            }
            assert_eq!(observation.finish().counters, expected.counters, "{key}, {workers} workers");
        }
    }
}

#[test]
fn runs_give_all_workers_something_to_do() {
    let card = find("h200").unwrap();
    for (blocks, threads, most) in
        [(132, 256, 2), (1, 1024, 1), (1 << 20, 256, 16), (1 << 20, 32, 64), (1000, 1024, 8)]
    {
        let observation = CounterObservation::new(shape(&card, blocks, threads), L2State::new(card.clone()));
        let run = observation.run_of_blocks();
        assert!(run.is_power_of_two() && run <= most, "{blocks} blocks of {threads}: runs of {run}");
        assert!(!observation.in_order());
    }
}

#[test]
fn blocks_that_take_turns_are_counted_too() {
    let card = find("h200").unwrap();
    let observation = CounterObservation::new(shape(&card, 2, 32), L2State::new(card));
    let mut observer = observation.begin(0);
    observer.block_begins(0, 1);
    observer.block_begins(1, 1);
    for turn in 0..3 {
        for block in 0..2 {
            let address = |lane: u64| PLAIN + (turn * 2 + block) * 128 + lane * 4;
            Block { observer: &mut observer, block }.load(0, 0, 4, address);
        }
    }
    observer.block_ends(0);
    observer.block_ends(1);
    observation.end(observer);
    let counters = observation.finish().counters;
    assert_eq!((counters.total.loads.requests, counters.total.loads.l2_sectors), (6, 24));
    assert_eq!((counters.dram_read.granules, counters.blocks, counters.warps), (12, 2, 2));
}

#[test]
fn a_block_that_touches_more_than_the_table_holds() {
    // 64 MiB by one block, each kilobyte twice: once a sector at its start, then all of it.
    let card = find("h200").unwrap();
    let bytes = 64_u64 << 20;
    let finished = launch(shape(&card, 1, 32), L2State::new(card.clone()), &[], |block| {
        for kib in 0..bytes >> 15 {
            block.load(0, 0, 4, |lane| PLAIN + (kib << 15) + (lane << 10));
        }
        for kib in 0..bytes >> 10 {
            block.load(0, 1, 16, |lane| PLAIN + (kib << 10) + lane % 16 * 64);
        }
    });
    let counters = finished.counters;
    assert_eq!(counters.total.loads.l2_sectors, bytes / 1024 + bytes / 64);
    // What the first pass read has been pushed out of L1, not out of L2's part: all in one moment.
    assert_eq!(counters.dram_read.bytes(card.dram_granule_bytes), bytes);
    assert_eq!(counters.dram_read.lines, bytes / 128);
}

/// Touches more groups of 1 KiB than the table forgets at, 32 with each access. The first block keeps most of them in L1,
/// so its table grows; the others write all of theirs twice.
fn many_groups(block: &mut Block<'_>) {
    let array = PLAIN + (block.block << 30);
    let group = |number: u64| move |lane: u64| array + ((number * 32 + lane) << 10);
    if block.block == 0 {
        (0..90).for_each(|number| block.store(0, 0, 4, group(number)));
        (0..180).for_each(|number| block.load(number as u32 % 9, 1, 4, group(90 + number)));
    } else {
        (0..300).for_each(|number| block.store(0, 2, 4, group(number)));
        (0..300).for_each(|number| block.store(0, 3, 4, group(number)));
    }
}

#[test]
fn a_block_counts_the_same_after_one_that_touched_much() {
    let card = find("h200").unwrap();
    let counters =
        |runs: &[u64]| launch(shape(&card, 4, 1024), L2State::new(card.clone()), runs, many_groups).counters;
    // All blocks by one worker, or each by one of its own.
    assert_eq!(counters(&[4]), counters(&[1]));
}
