//! Accesses reported by base and step, in rows or not, count as the same accesses reported by their addresses, and sums of issues and
//! branches as each of them.

use crate::count_drive::shape;
use proptest::prelude::*;
use simt::cards::find;
use simt::count::{CounterObservation, Finished, L2State, LaunchShape, Placement, Range};
use simt::internals::observe::{Rows, SteadyAccess};
use simt::observe::{At, Observation, Observer, Operation, Site, Space};

const ARRAYS: u64 = 0x7_0000_0000;
const WARPS: u32 = 4;

/// An access at an address that block and warp determine.
#[derive(Clone, Debug)]
struct Pattern {
    site: u32,
    access: SteadyAccess,
    /// Distance of adjacent blocks and warps in bytes.
    block: u64,
    warp: u64,
}

impl Pattern {
    fn access(&self, block: u64, warp: u32) -> SteadyAccess {
        let base = self.access.base.wrapping_add(block * self.block + u64::from(warp) * self.warp);
        SteadyAccess { base, ..self.access }
    }
}

fn masks() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(u32::MAX),
        1 => (0..32_u32).prop_map(|lanes| u32::MAX >> lanes),
        1 => (0..32_u32).prop_map(|lanes| u32::MAX << lanes),
        1 => (0..32_u32).prop_map(|lane| 1 << lane),
        1 => Just(0x5555_5555),
        1 => any::<u32>(),
    ]
}

/// Steps in units of the access's bytes, up or down.
fn steps() -> impl Strategy<Value = u64> {
    let up = prop_oneof![
        4 => Just(1_u64),
        1 => Just(0),
        2 => 0..70_u64,
        1 => (0..12_u32).prop_map(|shift| 1 << shift),
        1 => 1..(1_u64 << 30),
        1 => (1_u64 << 41)..(1_u64 << 42),
    ];
    (up, prop::bool::weighted(0.3)).prop_map(|(step, down)| if down { step.wrapping_neg() } else { step })
}

/// Log2 of the lanes in a row, and the pitch of rows in units of the access's bytes, up or down.
fn rows() -> impl Strategy<Value = (u32, u64)> {
    let pitches = prop_oneof![
        3 => Just(0_u64),
        2 => 0..70_u64,
        3 => (4..12_u32).prop_map(|shift| 1 << shift),
        2 => 100..5000_u64,
        // Far enough apart, and not so far that rows would lie below address 0.
        1 => 1..(1_u64 << 24),
    ];
    (1..5_u32, pitches, prop::bool::weighted(0.2))
        .prop_map(|(log, pitch, down)| (log, if down { pitch.wrapping_neg() } else { pitch }))
}

prop_compose! {
    fn patterns()(
        site in 0..6_u32,
        space in prop::sample::select(vec![Space::Global, Space::Global, Space::Global, Space::Shared, Space::Local, Space::Constant]),
        operation in prop::sample::select(vec![Operation::Load, Operation::Load, Operation::Store, Operation::Atomic, Operation::Reduction]),
        bytes in prop::sample::select(vec![1_u32, 2, 4, 4, 8, 16, 32]),
        step in steps(),
        active in masks(),
        place in 0..400_u64,
        block in 0..300_u64,
        warp in 0..40_u64,
        read_only in prop::bool::weighted(0.2),
        past_l1 in prop::bool::weighted(0.2),
    ) -> Pattern {
        let operation = match space {
            Space::Constant => Operation::Load,
            Space::Local if operation != Operation::Load => Operation::Store,
            _ => operation,
        };
        // No card has accesses of 32 bytes but to global memory.
        let bytes = if space == Space::Global { bytes } else { bytes.min(16) };
        let size = u64::from(bytes);
        let step = step.wrapping_mul(size);
        // Active lanes are in the array, wherever lane 0 would be.
        let lowest = if step >> 63 == 1 { 31 - active.leading_zeros().min(31) } else { active.trailing_zeros() & 31 };
        let origin = if space == Space::Global || space == Space::Constant { ARRAYS } else { 0 };
        let base = (origin + place * size).wrapping_sub(step.wrapping_mul(u64::from(lowest)));
        let access = SteadyAccess {
            base, step, active, bytes, space, operation, read_only, past_l1, strong: false,
        };
        Pattern { site: site * 6 + space as u32, access, block: block * size, warp: warp * size }
    }
}

/// Two launches of some patterns, the second on the L2 that the first left.
fn launches(
    key: &str,
    ranges: &[Range],
    patterns: &[Pattern],
    blocks: u64,
    mut report: impl FnMut(&mut simt::internals::count::CounterObserver, At, &SteadyAccess),
) -> Vec<Finished> {
    let card = find(key).unwrap();
    let mut l2 = L2State::new(card.clone());
    let mut launch = || {
        let shape = LaunchShape { ranges: ranges.to_vec(), ..shape(&card, blocks, WARPS * 32) };
        let observation =
            CounterObservation::new(shape, std::mem::replace(&mut l2, L2State::new(card.clone())));
        for first in (0..blocks).step_by(3) {
            let mut observer = observation.begin(first);
            for block in first..(first + 3).min(blocks) {
                observer.block_begins(block, WARPS);
                for warp in 0..WARPS {
                    for pattern in patterns {
                        let at = At::new(block, warp, Site(pattern.site));
                        report(&mut observer, at, &pattern.access(block, warp));
                    }
                }
                observer.block_ends(block);
            }
            observation.end(observer);
        }
        let finished = observation.finish();
        l2 = finished.l2;
        Finished {
            counters: finished.counters,
            l2: L2State::new(card.clone()),
            managed: finished.managed,
            traces: finished.traces,
        }
    };
    vec![launch(), launch()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn steady_accesses_count_as_their_addresses(
        key in prop::sample::select(vec!["h200", "h200", "v100", "m2090", "c2050", "c1060", "c870"]),
        patterns in prop::collection::vec(patterns(), 1..12),
        blocks in 1..12_u64,
        placement in prop::sample::select(vec![None, None, Some(Placement::Managed), Some(Placement::Host)]),
    ) {
        let ranges: Vec<Range> =
            placement.into_iter().map(|placement| Range { addresses: ARRAYS..ARRAYS + (1 << 17), placement }).collect();
        let found = launches(key, &ranges, &patterns, blocks, |observer, at, access| {
            observer.steady_access(at, access);
        });
        let expected = launches(key, &ranges, &patterns, blocks, |observer, at, access| {
            let addresses = access.addresses();
            observer.access(at, &access.with(&addresses));
        });
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(&found.counters, &expected.counters);
            prop_assert_eq!(&found.managed, &expected.managed);
        }
    }

    #[test]
    fn accesses_in_rows_count_as_their_addresses(
        key in prop::sample::select(vec!["h200", "h200", "h200", "v100", "m2090", "c1060"]),
        patterns in prop::collection::vec((patterns(), rows()), 1..12),
        blocks in 1..12_u64,
        placement in prop::sample::select(vec![None, None, None, Some(Placement::Managed)]),
    ) {
        let ranges: Vec<Range> =
            placement.into_iter().map(|placement| Range { addresses: ARRAYS..ARRAYS + (1 << 17), placement }).collect();
        let (patterns, rows): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let count = |report: &dyn Fn(&mut simt::internals::count::CounterObserver, At, &SteadyAccess, Rows)| {
            let mut calls = (0..).map(|call| rows[call % rows.len()]);
            launches(key, &ranges, &patterns, blocks, |observer, at, access| {
                let (log, pitch) = calls.next().expect("endless");
                let rows = Rows { log, pitch: pitch.wrapping_mul(u64::from(access.bytes)) };
                // The lanes' addresses are not those of the pattern, and must not lie below 0 either.
                if matches!(access.space, Space::Global | Space::Constant) {
                    let base = access.base & ((1 << 48) - 1);
                    report(observer, at, &SteadyAccess { base, ..*access }, rows);
                } else {
                    let low = |number: u64| number & 0xFFFF;
                    let access = SteadyAccess { base: low(access.base), step: low(access.step), ..*access };
                    report(observer, at, &access, Rows { pitch: low(rows.pitch), ..rows });
                }
            })
        };
        let found = count(&|observer, at, access, rows| observer.rows_access(at, access, rows));
        let expected = count(&|observer, at, access, rows| {
            observer.access(at, &access.with(&rows.addresses(access.base, access.step)));
        });
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(&found.counters, &expected.counters);
            prop_assert_eq!(&found.managed, &expected.managed);
        }
    }
}

#[test]
fn sums_count_as_each_of_them() {
    const { assert!(<simt::internals::count::CounterObserver as Observer>::BATCHES && <() as Observer>::BATCHES) };
    let card = find("h200").unwrap();
    let count = |report: &dyn Fn(&mut simt::internals::count::CounterObserver)| {
        let observation = CounterObservation::new(shape(&card, 1, 64), L2State::new(card.clone()));
        let mut observer = observation.begin(0);
        observer.block_begins(0, 2);
        report(&mut observer);
        observer.block_ends(0);
        observation.end(observer);
        observation.finish().counters
    };
    let each = count(&|observer| {
        for (warp, active) in [(0, u32::MAX), (1, 0xFF), (0, 0)] {
            let at = At::new(0, warp, Site(3));
            observer.issue(at, active);
            observer.branch(at, active & 0xF, active & !0xF);
        }
    });
    let sums = count(&|observer| {
        observer.issues(Site(3), 3, 40);
        observer.branches(Site(3), 3, 2);
    });
    assert_eq!(each, sums);
}
