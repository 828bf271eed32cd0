//! The request of each instruction that cost most, lane by lane.

use crate::count_drive::{Block, launch, plain, shape};
use rayon::prelude::*;
use simt::cards::{Card, find};
use simt::count::{CounterObservation, L2State, LaunchShape};
use simt::internals::count::{Access, AccessKind};
use simt::observe::{self, Observation, Observer, Operation, Space};

/// An array, on a boundary of a line.
const ARRAY: u64 = 0x7_0000_0000;

fn card() -> Card {
    find("h200").unwrap()
}

/// What is kept of a launch of four blocks of 64 threads.
fn worst(kernel: impl Fn(&mut Block<'_>)) -> Vec<Access> {
    launch(shape(&card(), 4, 64), L2State::new(card()), &[], kernel).counters.worst
}

/// Addresses of a full warp.
fn full(address: impl Fn(u64) -> u64) -> Vec<Option<u64>> {
    (0..32).map(|lane| Some(address(lane))).collect()
}

#[test]
fn an_offset_costs_a_sector() {
    // Site 0 begins on a line, site 1 one element behind it. Warp 3 of them all begins at element 96.
    let found = worst(|block| {
        for warp in 0..2 {
            let first = block.block * 64 + u64::from(warp) * 32;
            block.load(warp, 0, 4, |lane| ARRAY + (first + lane) * 4);
            block.store(warp, 1, 4, |lane| ARRAY + (first + lane + 1) * 4);
        }
    });
    let expected = |site, kind, offset: u64, sectors| Access {
        site,
        kind,
        bytes: 4,
        lanes: full(|lane| (lane + offset) * 4),
        sectors,
        wavefronts: 0,
        block: [0; 3],
        warp: 0,
    };
    assert_eq!(
        found,
        [expected(0, AccessKind::GlobalLoad, 0, 4), expected(1, AccessKind::GlobalStore, 1, 5)]
    );
}

#[test]
fn the_dearest_request_is_kept_and_of_equals_the_first() {
    // Strides of 1, 8, 3 and 8 in the blocks; in the second block warp 1 alone has it.
    let found = worst(|block| {
        let stride = [1, 8, 3, 8][block.block as usize];
        block.load(0, 3, 4, |lane| ARRAY + lane * 4);
        block.load(1, 3, 4, |lane| ARRAY + 4096 + lane * 4 * stride);
    });
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.site, found.sectors, found.block, found.warp), (3, 32, [1, 0, 0], 1));
    assert_eq!(found.lanes, full(|lane| lane * 32));
}

#[test]
fn of_equals_the_first_warp_is_kept_whichever_comes_first() {
    let found = worst(|block| {
        for (warp, row) in [(1, 0), (1, 1), (0, 2), (0, 3)] {
            block.load(warp, 0, 4, |lane| ARRAY + row * 4 + lane * 8);
        }
    });
    assert_eq!((found[0].warp, found[0].lanes[0], found[0].block), (0, Some(8), [0; 3]));
}

#[test]
fn blocks_have_three_coordinates() {
    let shape = LaunchShape { grid: [3, 2, 2], ..shape(&card(), 12, 32) };
    let finished = launch(shape, L2State::new(card()), &[], |block| {
        let stride = if block.block == 10 { 2 } else { 1 };
        block.load(0, 0, 8, |lane| ARRAY + lane * 8 * stride);
    });
    let worst = &finished.counters.worst[0];
    assert_eq!((worst.block, worst.bytes, worst.sectors), ([1, 1, 1], 8, 16));
}

/// A warp writes rows of a tile and reads its columns, of rows that are `pitch` floats long.
fn transpose(pitch: u64) -> Vec<Access> {
    worst(|block| {
        for warp in 0..2_u32 {
            let row = u64::from(warp) + 1;
            block.access(warp, 0, Space::Shared, Operation::Store, 4, |lane| (row * pitch + lane) * 4);
            block.access(warp, 1, Space::Shared, Operation::Load, 4, |lane| (lane * pitch + row) * 4);
        }
    })
}

#[test]
fn a_transpose_without_and_with_padding() {
    for (pitch, wavefronts) in [(32, 32), (33, 1)] {
        let found = transpose(pitch);
        let [store, load] = &found[..] else { panic!("{found:?}") };
        assert_eq!((store.kind, store.wavefronts, store.sectors), (AccessKind::SharedStore, 1, 0));
        assert_eq!(store.lanes, full(|lane| (pitch + lane) * 4), "from the start of shared memory");
        assert_eq!((load.kind, load.wavefronts, load.warp), (AccessKind::SharedLoad, wavefronts, 0));
        assert_eq!(load.lanes, full(|lane| (lane * pitch + 1) * 4));
    }
}

#[test]
fn constants_cost_an_issue_per_address() {
    let found = worst(|block| {
        block.access(0, 0, Space::Constant, Operation::Load, 4, |_| ARRAY + 512);
        block.access(0, 0, Space::Constant, Operation::Load, 4, |lane| ARRAY + 384 + lane % 3 * 4);
    });
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.kind, found.wavefronts, found.sectors), (AccessKind::ConstantLoad, 3, 0));
    assert_eq!(found.lanes, full(|lane| lane % 3 * 4));
}

#[test]
fn atomics_in_both_memories() {
    let found = worst(|block| {
        block.access(0, 0, Space::Global, Operation::Atomic, 4, |lane| ARRAY + 64 + lane % 2 * 256);
        block.access(0, 1, Space::Global, Operation::Reduction, 8, |lane| ARRAY + lane * 8);
        block.access(0, 2, Space::Shared, Operation::Atomic, 4, |lane| lane / 8 * 4);
    });
    let kinds: Vec<_> = found.iter().map(|access| (access.kind, access.sectors, access.wavefronts)).collect();
    assert_eq!(
        kinds,
        [
            (AccessKind::GlobalAtomic, 2, 0),
            (AccessKind::GlobalAtomic, 8, 0),
            (AccessKind::SharedAtomic, 0, 8)
        ]
    );
    assert_eq!(found[0].lanes, full(|lane| 64 + lane % 2 * 256), "from the first line");
}

#[test]
fn local_memory_as_it_is_laid_out() {
    let found = worst(|block| {
        // The same variable of all threads, its third word; and an array that each thread indexes for itself.
        block.access(0, 0, Space::Local, Operation::Store, 4, |_| 8);
        block.access(0, 1, Space::Local, Operation::Load, 4, |lane| 16 + lane * 4);
    });
    let [store, load] = &found[..] else { panic!("{found:?}") };
    assert_eq!((store.kind, store.sectors), (AccessKind::LocalStore, 4));
    assert_eq!(store.lanes, full(|lane| lane * 4));
    assert_eq!((load.kind, load.sectors), (AccessKind::LocalLoad, 32));
    assert_eq!(load.lanes, full(|lane| lane * 132));
}

#[test]
fn lanes_that_take_no_part_have_no_address() {
    let found = worst(|block| {
        // Odd lanes only, from an address within a line; what the others would have asked is out of the way.
        let addresses =
            std::array::from_fn(|lane| if lane % 2 == 1 { ARRAY + 128 + lane as u64 * 64 } else { 1 });
        let access =
            observe::Access { active: 0xAAAA_AAAA, ..plain(Space::Global, Operation::Load, 4, &addresses) };
        block.observer.access(block.at(1, 5), &access);
        // No lane at all.
        block.observer.access(
            block.at(0, 6),
            &observe::Access { active: 0, ..plain(Space::Global, Operation::Load, 4, &addresses) },
        );
    });
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.site, found.sectors, found.warp), (5, 16, 1));
    let expected: Vec<_> = (0..32).map(|lane| (lane % 2 == 1).then_some(lane * 64)).collect();
    assert_eq!(found.lanes, expected, "lane 1 is in the middle of the first line");
}

#[test]
fn older_cards_count_their_own_sectors() {
    // On 1.0 a half-warp that is off by one element takes a transaction for each lane.
    let card = find("c870").unwrap();
    let finished = launch(shape(&card, 1, 32), L2State::new(card), &[], |block| {
        block.load(0, 0, 4, |lane| ARRAY + (lane + 1) * 4);
    });
    assert_eq!(finished.counters.worst[0].sectors, 32);
    assert_eq!(finished.counters.total.loads.sectors, 32);
}

#[test]
fn one_and_two_workers_keep_the_same() {
    let kept = |workers: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        let observation = CounterObservation::new(shape(&card(), 300, 64), L2State::new(card()));
        let run = observation.run_of_blocks();
        let firsts: Vec<u64> = (0..300).step_by(run as usize).collect();
        for some in firsts.chunks(2 * workers) {
            let observers: Vec<_> = pool.install(|| {
                let watched = |&first: &u64| {
                    let mut observer = observation.begin(first);
                    for block in first..(first + run).min(300) {
                        observer.block_begins(block, 2);
                        // Blocks 7, 107 and 207 are equally bad.
                        let stride = if block % 100 == 7 { 4 } else { 1 + block % 3 };
                        let mut block = Block { observer: &mut observer, block };
                        block.load(1, 2, 4, |lane| ARRAY + lane * 4 * stride);
                        block.access(0, 3, Space::Shared, Operation::Load, 4, |lane| lane * 4 * stride);
                    }
                    observer
                };
                some.par_iter().map(watched).collect()
            });
            observers.into_iter().for_each(|observer| observation.end(observer));
        }
        observation.finish().counters.worst
    };
    let one = kept(1);
    assert_eq!((one[0].block, one[0].warp, one[0].sectors), ([7, 0, 0], 1, 16));
    assert_eq!((one[1].block, one[1].wavefronts), ([7, 0, 0], 4));
    for _ in 0..5 {
        assert_eq!(kept(2), one);
    }
}
