//! What only the time of a launch needs: turns of L1, hits of warps that go side by side, sectors that are written in
//! pieces, machine instructions, and how the host's memory is gone about.

use crate::count_drive::{Block, launch, shape};
use simt::cards::{Card, find};
use simt::count::{L2State, LaunchCounters, LaunchShape, Modelled, Placement, Range, SiteFacts, Wait};
use simt::internals::count::Slots;
use std::sync::Arc;

const BASE: u64 = 0x7f00_0000_0000;

fn h200() -> Card {
    find("h200").unwrap()
}

fn counted(blocks: u64, ranges: Vec<Range>, kernel: impl Fn(&mut Block<'_>)) -> LaunchCounters {
    let card = h200();
    let shape = LaunchShape { ranges, ..shape(&card, blocks, 256) };
    launch(shape, L2State::new(card), &[], kernel).counters
}

#[test]
fn a_request_takes_a_turn_of_l1_for_four_lines_and_for_each_word_of_a_bank() {
    let turns = |bytes: u32, address: fn(u64) -> u64| {
        let loads =
            counted(1, Vec::new(), |block| block.load(0, 1, bytes, |lane| BASE + address(lane))).total.loads;
        (loads.lines, loads.turns)
    };
    assert_eq!(turns(4, |lane| lane * 4), (1, 1));
    assert_eq!(turns(4, |_| 0), (1, 1));
    // Two lines next to each other are looked up together, and so are four; 512 bytes of data take four turns.
    assert_eq!(turns(4, |lane| lane * 4 + 64), (2, 1));
    assert_eq!(turns(16, |lane| lane * 16), (4, 4));
    // All lanes get 8 bytes, half of them at a time.
    assert_eq!(turns(8, |_| 0), (1, 2));
    // Whole lines apart, all lanes want the first bank of data; a word more, each another one.
    assert_eq!(turns(4, |lane| lane * 128), (32, 32));
    assert_eq!(turns(4, |lane| lane * 132), (32, 8));
    assert_eq!(turns(4, |lane| lane * 32), (8, 8));
    // Two rows of half a warp each, one below the other, and one beside.
    assert_eq!(turns(4, |lane| lane / 16 * 8192 + lane % 16 * 4), (2, 2));
    assert_eq!(turns(4, |lane| lane / 16 * (8192 + 64) + lane % 16 * 4), (2, 1));
    // In no order at all.
    assert_eq!(turns(4, |lane| lane * lane * 4), (24, 8));
}

#[test]
fn a_warp_finds_what_another_brought_when_it_was_at_the_same_point() {
    // 512 KiB, twice what a block that is alone has of L1: a second walk of the same warp finds none of it.
    let lines = 4096;
    let walk = |warps: u32, times: u32| {
        counted(1, Vec::new(), |block| {
            for warp in 0..warps {
                for _ in 0..times {
                    for line in 0..lines {
                        block.load(warp, 1, 4, |lane| BASE + line * 128 + lane * 4);
                    }
                }
            }
        })
    };
    assert_eq!(walk(1, 2).total.loads.l2_sectors, 2 * 4 * lines);
    // But one that follows, however late it is executed here, walks beside the first.
    let side_by_side = walk(8, 1);
    assert_eq!(side_by_side.total.loads.l2_sectors, 4 * lines);
    assert_eq!(side_by_side.total.loads.requests_in_l1, 7 * lines);
    assert_eq!(side_by_side.model().l1_hit_share, 7.0 / 8.0);
}

#[test]
fn sectors_that_are_written_in_pieces() {
    let stores = |kernel: &dyn Fn(&mut Block<'_>)| counted(1, Vec::new(), |block| kernel(block)).total.stores;
    // Rows of a turned tile: each of four warps writes two words of every sector.
    let turned = stores(&|block| {
        for warp in 0..4 {
            block.store(warp, 1, 4, |lane| BASE + lane % 16 * 8192 + (u64::from(warp) * 2 + lane / 16) * 4);
        }
    });
    assert_eq!((turned.sectors, turned.rewritten), (4 * 16, 3 * 16));
    // Neighbours that share a sector at their ends.
    let shifted = stores(&|block| {
        for warp in 0..4 {
            block.store(warp, 1, 4, |lane| BASE + 4 + u64::from(warp) * 128 + lane * 4);
        }
    });
    assert_eq!((shifted.sectors, shifted.rewritten), (4 * 5, 3));
    let whole = stores(&|block| block.store(0, 1, 16, |lane| BASE + lane * 16));
    assert_eq!((whole.sectors, whole.rewritten), (16, 0));
}

#[test]
fn instructions_become_slots_by_site() {
    let card = h200();
    let slots = vec![
        Slots::default(),
        Slots { issued: 2, integer: 2, ..Slots::default() },
        Slots { issued: 18, integer: 8, ..Slots::default() },
    ];
    let shape =
        LaunchShape { facts: Arc::new(SiteFacts { slots, ..SiteFacts::default() }), ..shape(&card, 3, 256) };
    let counters = launch(shape, L2State::new(card), &[], |block| {
        block.issue(0, 0, 100);
        block.issue(0, 1, 10);
        block.issue(0, 2, 1);
    })
    .counters;
    assert_eq!(counters.total.instructions, 3 * 111);
    assert_eq!((counters.issue_slots, counters.integer_slots), (3 * 38, 3 * 28));
    assert_eq!((counters.model().instructions, counters.model().integer), (114.0, 84.0));
}

#[test]
fn what_a_kernel_begins_with_costs_slots_from_7_0_on() {
    let slots = vec![Slots { issued: 3, hidden: 2, ..Slots::default() }];
    for (card, issued) in [(h200(), 3), (find("v100").unwrap(), 3), (find("c870").unwrap(), 1)] {
        let facts = Arc::new(SiteFacts { slots: slots.clone(), ..SiteFacts::default() });
        let shape = LaunchShape { facts, ..shape(&card, 5, 256) };
        let counters = launch(shape, L2State::new(card), &[], |block| block.issue(0, 0, 8)).counters;
        assert_eq!(counters.issue_slots, 5 * 8 * issued);
    }
}

#[test]
fn bodies_that_are_skipped_make_idle_requests() {
    let card = h200();
    let slots = vec![Slots { issued: 1, ..Slots::default() }; 3];
    let facts = Arc::new(SiteFacts { slots, guarded: vec![(0, 1), (0, 2)], ..SiteFacts::default() });
    let shape = LaunchShape { facts, ..shape(&card, 3, 256) };
    let counters = launch(shape, L2State::new(card), &[], |block| {
        block.issue(0, 0, 8);
        block.issue(0, 1, 1);
        block.issue(0, 2, 8);
    })
    .counters;
    assert_eq!((counters.idle_requests, counters.issue_slots), (3 * 7, 3 * (17 + 7)));
    assert_eq!(counters.model().idle_requests, 21.0);
}

#[test]
fn a_ring_of_copies_waits_for_several_stages_together() {
    let card = h200();
    let round_trips = |shared_bytes: u32| {
        let (copies, copy_waits) = (vec![0], vec![Wait { site: 1, turns: 1, earlier: Vec::new() }]);
        let facts = Arc::new(SiteFacts { copies, copy_waits, ..SiteFacts::default() });
        let shape = LaunchShape { shared_bytes, facts, ..shape(&card, 1, 64) };
        // Two warps copy 512 bytes each, eight times.
        let counters = launch(shape, L2State::new(card.clone()), &[], |block| {
            for (step, warp) in (0..8).flat_map(|step| [(step, 0), (step, 1)]) {
                let from = BASE + (step * 2 + u64::from(warp)) * 512;
                block.load(warp, 0, 16, |lane| from + lane * 16);
                block.issue(warp, 1, 1);
            }
        })
        .counters;
        assert_eq!(counters.copy_requests, 16);
        counters.round_trips
    };
    // A stage has 1 KiB. What does not hold two of them holds one.
    assert_eq!([round_trips(0), round_trips(1024), round_trips(4096)], [8.0, 8.0, 2.0]);
}

#[test]
fn stores_that_do_not_cover_sectors_and_stores_that_merge() {
    let model = |step: u64, warps: u32| {
        counted(1, Vec::new(), |block| {
            for warp in 0..warps {
                block.store(warp, 1, 4, |lane| BASE + u64::from(warp) * 4 + lane * step);
            }
        })
        .model()
    };
    // A word of each of 32 sectors; all words of four.
    assert_eq!((model(32, 1).stored_in_part, model(32, 1).l2_sectors_written), (32.0, 32.0));
    assert_eq!((model(4, 1).stored_in_part, model(4, 1).l2_sectors_written), (0.0, 4.0));
    // Without hits in L1 nothing merges: each of two warps changes 32 sectors in part.
    assert_eq!((model(32, 2).stored_in_part, model(32, 2).l2_sectors_written), (64.0, 64.0));
}

#[test]
fn pages_and_split_lines_of_the_hosts_memory() {
    let bytes = 64 << 20;
    let range = |placement| vec![Range { addresses: BASE..BASE + bytes, placement }];
    // Eight warps of four blocks, each at a page of its own for two requests, then at another.
    let go = |placement, shift: u64| {
        counted(4, range(placement), |block| {
            for warp in 0..8_u32 {
                let first = (block.block * 8 + u64::from(warp)) << 21;
                for step in [0, 128, (1 << 21) % bytes] {
                    let from = BASE + (first + step) % bytes + shift;
                    block.load(warp, 1, 4, |lane| from + lane * 4);
                }
            }
        })
        .link
    };
    let pinned = go(Placement::Host, 0);
    assert_eq!((pinned.page_changes, pinned.pages_at_once), (2 * 32, 32));
    assert_eq!((pinned.split_loads, pinned.split_stores), (0, 0));
    let shifted = go(Placement::Host, 4);
    assert_eq!((shifted.split_loads, shifted.split_stores), (3 * 32, 0));
    // The addresses of managed memory cost nothing, but lines are split.
    let linked = go(Placement::Linked, 4);
    assert_eq!((linked.page_changes, linked.pages_at_once, linked.split_loads), (0, 0, 3 * 32));
    assert!(linked.sectors_read > 0);
    let managed = go(Placement::Managed, 4);
    assert_eq!((managed.sectors_read, managed.split_loads), (0, 0));
}
