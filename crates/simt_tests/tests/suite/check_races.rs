//! racecheck by synthetic events: who is ordered behind whom, and what is a hazard.

use crate::check_events::{Events, GLOBAL, SHARED};
use proptest::prelude::*;
use simt::check::{Check, Finding, FindingKind, Hazard, Severity};
use simt::observe::Operation::{self, Atomic, Load, Reduction, Store};

/// What races, by the sites of the two accesses.
fn races(events: Events) -> Vec<(Hazard, Severity, u32, u32, u64)> {
    let findings = events.findings();
    let race = |finding: Finding| match finding.kind {
        FindingKind::Race { hazard, first, second, .. } => {
            assert_eq!(finding.check, Check::Racecheck);
            (hazard, finding.severity, first.place.ptx_line, second.place.ptx_line, finding.count)
        }
        kind => panic!("{kind:?}"),
    };
    findings.into_iter().map(race).collect()
}

fn racecheck() -> Events {
    Events::new(Check::Racecheck.into(), [4, 1, 1], [64, 1, 1])
}

const ALL: u64 = u64::MAX;

#[test]
fn reads_and_writes_of_two_warps_are_ordered_by_a_barrier_only() {
    let mut events = racecheck();
    events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
    events.access(0, 1, 2, SHARED, Load, 4, |lane| lane * 4);
    assert_eq!(races(events), [(Hazard::Raw, Severity::Error, 1, 2, 32)]);

    let mut events = racecheck();
    events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
    events.barrier(0, ALL);
    events.access(0, 1, 2, SHARED, Load, 4, |lane| lane * 4);
    assert_eq!(races(events), []);
}

#[test]
fn a_write_after_the_reads_of_another_warp_is_a_hazard_whichever_warp_read_last() {
    for (readers, hazards) in [([1, 0], 1), ([0, 1], 1), ([0, 0], 0)] {
        let mut events = racecheck();
        for warp in readers {
            events.access(0, warp, 1, SHARED, Load, 4, |lane| lane * 4);
        }
        events.access(0, 0, 2, SHARED, Store, 4, |lane| lane * 4);
        let found = races(events);
        assert_eq!(found.len(), hazards, "{readers:?}");
        assert!(found.iter().all(|race| *race == (Hazard::War, Severity::Error, 1, 2, 32)), "{found:?}");
    }
}

#[test]
fn a_barrier_of_some_warps_orders_those() {
    let run = |second, third| {
        let mut events = Events::new(Check::Racecheck.into(), [1, 1, 1], [128, 1, 1]);
        events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
        events.barrier(0, second);
        events.barrier(0, third);
        events.access(0, 2, 2, SHARED, Load, 4, |lane| lane * 4);
        races(events).len()
    };
    // Directly, by way of another warp, not at all, and the wrong way round.
    assert_eq!(run(0b0101, 0b1010), 0);
    assert_eq!(run(0b0011, 0b0110), 0);
    assert_eq!(run(0b0011, 0b1100), 1);
    assert_eq!(run(0b0110, 0b0011), 1);
}

#[test]
fn lanes_are_ordered_by_warp_barriers_of_their_own() {
    let run = |lanes: &[u32], other: u32| {
        let mut events = racecheck();
        events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
        for lanes in lanes {
            events.warp_barrier(0, 0, *lanes);
        }
        events.access(0, 0, 2, SHARED, Load, 4, |lane| (lane ^ u64::from(other)) * 4);
        races(events)
    };
    assert_eq!(run(&[], 1), [(Hazard::Raw, Severity::Warning, 1, 2, 32)]);
    assert_eq!(run(&[u32::MAX], 1), []);
    assert_eq!(run(&[], 0), [], "each lane reads what it wrote");
    let halves = [0x0000_ffff, 0xffff_0000];
    assert_eq!(run(&halves, 8), []);
    assert_eq!(run(&halves, 16), [(Hazard::Raw, Severity::Warning, 1, 2, 32)]);
    // The lower half and then lane 0 with the upper half: what the lower half did before is known there.
    let chain = [0x0000_ffff, 0xffff_0001];
    assert_eq!(run(&chain, 16), [(Hazard::Raw, Severity::Warning, 1, 2, 15)]);
}

#[test]
fn a_warp_of_less_than_32_lanes_is_whole_with_those() {
    let mut events = Events::new(Check::Racecheck.into(), [1, 1, 1], [40, 1, 1]);
    events.some(0xff).access(0, 1, 1, SHARED, Store, 4, |lane| lane * 4);
    events.warp_barrier(0, 1, 0xff);
    events.access(0, 1, 2, SHARED, Load, 4, |lane| (lane ^ 1) * 4);
    assert_eq!(races(events), []);
}

#[test]
fn lanes_of_one_store_that_write_one_byte_are_an_error() {
    let mut events = racecheck();
    events.access(0, 0, 3, SHARED, Store, 4, |lane| lane / 2 * 4);
    assert_eq!(races(events), [(Hazard::Waw, Severity::Error, 3, 3, 1)]);

    let mut events = racecheck();
    events.access(0, 0, 3, SHARED, Load, 4, |lane| lane / 2 * 4);
    events.access(0, 0, 4, GLOBAL, Reduction, 4, |_| 0x1000);
    assert_eq!(races(events), []);
}

#[test]
fn bytes_of_a_word_are_told_apart() {
    let mut events = racecheck();
    events.access(0, 0, 1, SHARED, Store, 1, |lane| lane);
    events.access(0, 1, 2, SHARED, Store, 1, |lane| lane + 32);
    events.access(0, 0, 3, SHARED, Store, 1, |lane| lane);
    assert_eq!(races(events), []);

    let mut events = racecheck();
    events.some(1).access(0, 0, 1, SHARED, Store, 1, |_| 6);
    events.some(1).access(0, 1, 2, SHARED, Load, 2, |_| 4);
    events.some(1).access(0, 1, 3, SHARED, Load, 16, |_| 0);
    assert_eq!(races(events), [(Hazard::Raw, Severity::Error, 1, 3, 1)]);
}

#[test]
fn atomics_do_not_race_with_each_other_but_with_plain_accesses() {
    let mut events = racecheck();
    events.access(0, 0, 1, SHARED, Atomic, 4, |_| 0);
    events.access(0, 1, 2, SHARED, Atomic, 4, |_| 0);
    assert_eq!(races(events), []);

    let mut events = racecheck();
    events.access(0, 0, 1, GLOBAL, Atomic, 4, |_| 0x1000);
    events.access(1, 0, 2, GLOBAL, Atomic, 4, |_| 0x1000);
    events.some(1).access(2, 0, 3, GLOBAL, Load, 4, |_| 0x1000);
    let found = races(events);
    assert_eq!(found.iter().map(|race| (race.2, race.3)).collect::<Vec<_>>(), [(1, 3), (2, 3)]);
    assert!(found.iter().all(|race| (race.0, race.1) == (Hazard::Raw, Severity::Error)), "{found:?}");
}

#[test]
fn blocks_are_not_ordered_even_if_they_run_one_after_the_other() {
    let mut events = racecheck();
    events.access(0, 0, 1, GLOBAL, Load, 4, |lane| 0x1000 + lane * 4);
    events.barrier(0, ALL);
    events.end(0);
    events.access(1, 1, 2, GLOBAL, Store, 4, |lane| 0x1000 + lane * 4);
    assert_eq!(races(events), [(Hazard::War, Severity::Error, 1, 2, 32)]);

    // Shared memory is each block's own.
    let mut events = racecheck();
    events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
    events.end(0);
    events.access(1, 1, 2, SHARED, Store, 4, |lane| lane * 4);
    assert_eq!(races(events), []);
}

#[test]
fn a_reader_of_another_block_is_remembered_beside_those_of_the_writers_own() {
    let mut events = racecheck();
    events.access(0, 0, 1, GLOBAL, Load, 4, |lane| 0x1000 + lane * 4);
    events.access(1, 0, 2, GLOBAL, Load, 4, |lane| 0x1000 + lane * 4);
    events.access(1, 1, 2, GLOBAL, Load, 4, |lane| 0x1000 + lane * 4);
    events.barrier(1, ALL);
    events.access(1, 0, 3, GLOBAL, Store, 4, |lane| 0x1000 + lane * 4);
    assert_eq!(races(events), [(Hazard::War, Severity::Error, 1, 3, 32)]);
}

/// Block 0 writes, hands on by an atomic; block 1 takes over, in its warp 0, and reads.
fn hand_over(fence: bool, barriers: bool, reader: u32) -> Events {
    let mut events = racecheck();
    events.access(0, 1, 1, GLOBAL, Store, 4, |lane| 0x2000 + lane * 4);
    if barriers {
        events.barrier(0, ALL);
    }
    if fence {
        events.fence(0, 0);
    }
    events.some(1).access(0, 0, 2, GLOBAL, Atomic, 4, |_| 0x1000);
    events.some(1).access(1, 0, 2, GLOBAL, Atomic, 4, |_| 0x1000);
    if barriers {
        events.barrier(1, ALL);
    }
    events.access(1, reader, 3, GLOBAL, Load, 4, |lane| 0x2000 + lane * 4);
    events
}

#[test]
fn a_fence_and_an_atomic_hand_on_what_a_block_has_done() {
    assert_eq!(races(hand_over(true, true, 1)), []);
    assert_eq!(races(hand_over(true, true, 0)), []);
    let race = [(Hazard::Raw, Severity::Error, 1, 3, 32)];
    assert_eq!(races(hand_over(false, true, 1)), race, "without a fence nothing is handed on");
    assert_eq!(
        races(hand_over(true, false, 0)),
        race,
        "the fence is of a warp that knows nothing of the writer"
    );
}

#[test]
fn what_was_taken_over_is_handed_on_too() {
    let chain = |fences: [bool; 2]| {
        let mut events = racecheck();
        events.some(1).access(0, 0, 1, GLOBAL, Store, 4, |_| 0x2000);
        for (block, fence) in [(0, fences[0]), (1, fences[1])] {
            if fence {
                events.fence(block, 0);
            }
            events.some(1).access(block, 0, 2, GLOBAL, Atomic, 4, |_| 0x1000 + 64 * block);
            events.some(1).access(block + 1, 0, 4, GLOBAL, Atomic, 4, |_| 0x1000 + 64 * block);
        }
        events.some(1).access(2, 0, 3, GLOBAL, Load, 4, |_| 0x2000);
        races(events).len()
    };
    assert_eq!(chain([true, true]), 0);
    assert_eq!(chain([true, false]), 1);
    assert_eq!(chain([false, true]), 1);
}

#[test]
fn an_access_that_releases_needs_no_fence() {
    let run = |releases: bool| {
        let mut events = racecheck();
        if releases {
            events.opcode(2, "atom.global.acq_rel.gpu.add.u32");
        }
        events.some(1).access(0, 0, 1, GLOBAL, Store, 4, |_| 0x2000);
        events.some(1).access(0, 0, 2, GLOBAL, Atomic, 4, |_| 0x1000);
        events.some(1).access(1, 0, 2, GLOBAL, Atomic, 4, |_| 0x1000);
        events.some(1).access(1, 0, 3, GLOBAL, Load, 4, |_| 0x2000);
        races(events).len()
    };
    assert_eq!(run(true), 0);
    assert_eq!(run(false), 1);
}

/// Lanes 0 and 1 of a warp take a lock one after the other, each adds to a counter, and gives the lock back.
fn locked(space: simt::observe::Space, taken: bool, fences: bool) -> usize {
    let mut events = racecheck();
    for lane in [1, 2] {
        if taken {
            events.some(lane).access(0, 0, 1, space, Atomic, 4, |_| 0x100);
        }
        if fences {
            events.fence_of(0, 0, lane);
        }
        events.some(lane).access(0, 0, 2, space, Load, 4, |_| 0x200);
        events.some(lane).access(0, 0, 3, space, Store, 4, |_| 0x200);
        if fences {
            events.fence_of(0, 0, lane);
        }
        events.some(lane).access(0, 0, 4, space, Atomic, 4, |_| 0x100);
    }
    races(events).len()
}

#[test]
fn a_lock_orders_the_lanes_of_a_warp() {
    for space in [GLOBAL, SHARED] {
        assert_eq!(locked(space, true, true), 0, "{space:?}");
        // Read after write and write after write; the write of the first lane stands for its read.
        assert_eq!(locked(space, true, false), 2, "without fences the lock orders nothing, {space:?}");
        assert_eq!(locked(space, false, true), 2, "who does not take the lock is not ordered, {space:?}");
    }
}

#[test]
fn a_lock_does_not_order_what_comes_before_it_is_given_back() {
    let mut events = racecheck();
    events.some(1).access(0, 0, 1, GLOBAL, Atomic, 4, |_| 0x100);
    events.fence_of(0, 0, 1);
    events.some(1).access(0, 0, 4, GLOBAL, Atomic, 4, |_| 0x100);
    events.some(1).access(0, 0, 3, GLOBAL, Store, 4, |_| 0x200);
    events.some(2).access(0, 0, 1, GLOBAL, Atomic, 4, |_| 0x100);
    events.some(2).access(0, 0, 2, GLOBAL, Load, 4, |_| 0x200);
    assert_eq!(races(events), [(Hazard::Raw, Severity::Warning, 3, 2, 1)]);
}

#[test]
fn a_flag_in_shared_memory_orders_warps() {
    let run = |flag: u64| {
        let mut events = racecheck();
        events.some(1).access(0, 0, 1, SHARED, Store, 4, |_| 64);
        events.some(1).access(0, 0, 2, SHARED, Atomic, 4, |_| 0);
        events.some(1).access(0, 1, 3, SHARED, Atomic, 4, |_| flag);
        events.some(1).access(0, 1, 4, SHARED, Load, 4, |_| 64);
        races(events).len()
    };
    assert_eq!(run(0), 0);
    assert_eq!(run(4), 1);
    // What the first warp does after it set the flag is not covered.
    let mut events = racecheck();
    events.some(1).access(0, 0, 2, SHARED, Atomic, 4, |_| 0);
    events.some(1).access(0, 0, 1, SHARED, Store, 4, |_| 64);
    events.some(1).access(0, 1, 3, SHARED, Atomic, 4, |_| 0);
    events.some(1).access(0, 1, 4, SHARED, Load, 4, |_| 64);
    assert_eq!(races(events), [(Hazard::Raw, Severity::Error, 1, 4, 1)]);
}

#[test]
fn a_flag_that_an_earlier_block_set_orders_nothing() {
    let mut events = racecheck();
    events.some(1).access(0, 0, 2, SHARED, Atomic, 4, |_| 0);
    events.some(1).access(0, 0, 2, SHARED, Atomic, 4, |_| 0);
    events.end_within_run(0);
    events.some(1).access(1, 0, 1, SHARED, Store, 4, |_| 64);
    events.some(1).access(1, 1, 3, SHARED, Atomic, 4, |_| 0);
    events.some(1).access(1, 1, 4, SHARED, Load, 4, |_| 64);
    assert_eq!(races(events), [(Hazard::Raw, Severity::Error, 1, 4, 1)]);
}

#[test]
fn a_kernel_without_hazards_stays_silent_over_many_rounds() {
    let mut events = racecheck();
    for round in 0..200 {
        for warp in 0..2 {
            events.access(0, warp, 1, SHARED, Store, 4, |lane| (u64::from(warp) * 32 + lane) * 4);
        }
        events.barrier(0, ALL);
        for warp in 0..2 {
            events.access(0, warp, 2, SHARED, Load, 4, |lane| ((lane * 7 + round) % 64) * 4);
            events.warp_barrier(0, warp, u32::MAX);
            events
                .some(0x00ff_ff00)
                .access(0, warp, 3, SHARED, Load, 4, |lane| ((lane * 3 + round) % 64) * 4);
            events.warp_barrier(0, warp, 0x00ff_ff00);
        }
        events.barrier(0, ALL);
    }
    assert_eq!(races(events), []);
}

/// Something that a warp does, or its block.
#[derive(Clone, Debug)]
enum Event {
    /// An access by these lanes, at a word for each.
    Access {
        operation: Operation,
        lanes: u32,
        words: Words,
    },
    Barrier,
    WarpBarrier(u32),
    Fence,
}

/// The word of each lane.
#[derive(Clone, Copy, Debug)]
enum Words {
    Even { first: u64, step: i64 },
    Rows { first: u64, step: u64, pitch: u64 },
    Scattered(u64),
}

impl Words {
    fn of(self, lane: u64) -> u64 {
        match self {
            Self::Even { first, step } => (first as i64 + 128 + lane as i64 * step) as u64,
            Self::Rows { first, step, pitch } => first + lane % 16 * step + lane / 16 * pitch,
            // In one of several pages of the history, and now and then in another.
            Self::Scattered(seed) => {
                let random = (seed ^ lane).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (random >> 58) + 5000 * (seed % 3 + u64::from(random.is_multiple_of(16)))
            }
        }
    }
}

fn event() -> impl Strategy<Value = Event> {
    let step = prop_oneof![Just(1), Just(1), Just(1), Just(0), Just(-1), Just(2), Just(33)];
    let words = prop_oneof![
        4 => (0..40_u64, step).prop_map(|(first, step)| Words::Even { first, step }),
        3 => (128..170_u64, 0..2_u64, prop_oneof![Just(0), Just(16), Just(20), Just(33)])
            .prop_map(|(first, step, pitch)| Words::Rows { first, step, pitch }),
        3 => (0..1000_u64).prop_map(Words::Scattered),
    ];
    let operation = prop_oneof![4 => Just(Load), 3 => Just(Store), 2 => Just(Atomic)];
    let lanes = prop_oneof![6 => Just(u32::MAX), 1 => Just(0x00ff_ff00), 1 => any::<u32>()];
    prop_oneof![
        8 => (operation, lanes, words)
            .prop_map(|(operation, lanes, words)| Event::Access { operation, lanes, words }),
        3 => Just(Event::Barrier),
        1 => prop_oneof![Just(u32::MAX), any::<u32>()].prop_map(Event::WarpBarrier),
        1 => Just(Event::Fence),
    ]
}

proptest! {
    /// Accesses of one, two and four words are taken in runs where that is certain to find nothing, those of half words one by one; all
    /// find the same.
    #[test]
    fn runs_of_words_find_what_words_find(events in prop::collection::vec((0..2_u64, 0..2_u32, event()), 1..40)) {
        let run = |bytes: u32| {
            let mut seen = racecheck();
            for (site, (block, warp, event)) in events.iter().enumerate() {
                match *event {
                    Event::Access { operation, lanes, words } => {
                        let space = if site % 3 == 0 { GLOBAL } else { SHARED };
                        let unit = u64::from(bytes.max(4));
                        seen.some(lanes).access(
                            *block, *warp, site as u32 + 1, space, operation, bytes, |lane| words.of(lane) * unit,
                        );
                    }
                    Event::Barrier => seen.barrier(*block, ALL),
                    Event::WarpBarrier(lanes) => seen.warp_barrier(*block, *warp, lanes),
                    Event::Fence => seen.fence(*block, *warp),
                }
            }
            races(seen)
        };
        let one_by_one = run(2);
        for bytes in [4, 8, 16] {
            prop_assert_eq!(&run(bytes), &one_by_one, "of {} bytes", bytes);
        }
    }
}
