//! The observer's shortcuts give what the rules of `coalescing` give, for any addresses.

use crate::count_drive::{plain, shape};
use proptest::prelude::*;
use simt::cards::{Card, find};
use simt::coalescing::{Addresses, BankMode};
use simt::count::{CounterObservation, Counts, L2State, LaunchShape, SiteFacts};
use simt::internals::coalescing::{
    Access as Way, AtomicConflicts, BankRule, Coalescer, Request, constant_replays,
};
use simt::internals::count::{AtomicCounts, MemoryCounts, SharedCounts};
use simt::internals::exec::Merged;
use simt::observe::{Access, At, Observation, Observer, Operation, Site, Space};
use std::sync::Arc;

const CARDS: [&str; 5] = ["c870", "c1060", "c2050", "k40c", "h200"];

/// The counters of some accesses at site 0, by one block.
fn counts(card: &Card, bank_mode: BankMode, accesses: &[Access<'_>]) -> Counts {
    let shape = LaunchShape { bank_mode, ..shape(card, 1, 256) };
    let observation = CounterObservation::new(shape, L2State::new(card.clone()));
    let mut observer = observation.begin(0);
    observer.block_begins(0, 8);
    for access in accesses {
        observer.access(At::new(0, 0, Site(0)), access);
    }
    observer.block_ends(0);
    observation.end(observer);
    let counters = observation.finish().counters;
    assert_eq!(counters.site(0), counters.total);
    counters.total
}

#[test]
fn merged_loads_take_the_wavefronts_of_the_whole() {
    let card = find("h200").expect("a card");
    let load =
        |site: u32, bytes: u32, address: &dyn Fn(u64) -> u64, merged: Vec<(u32, Merged)>, sites: u32| {
            let facts = Arc::new(SiteFacts { merged, ..SiteFacts::default() });
            let shape = LaunchShape { facts, ..shape(&card, 1, 32) };
            let observation = CounterObservation::new(shape, L2State::new(card.clone()));
            let mut observer = observation.begin(0);
            observer.block_begins(0, 1);
            for word in 0..sites {
                let addresses = std::array::from_fn(|lane| address(lane as u64) + u64::from(word * bytes));
                let access = plain(Space::Shared, Operation::Load, bytes, &addresses);
                observer.access(At::new(0, 0, Site(site + word)), &access);
            }
            observer.block_ends(0);
            observation.end(observer);
            observation.finish().counters.total.shared_loads
        };
    // The third of four instructions comes first; its address is 8 bytes behind the start.
    let of_four = vec![(0, (0, 0)), (1, (4, 0)), (2, (8, 16)), (3, (12, 0))];
    let of_four: Vec<(u32, Merged)> =
        of_four.into_iter().map(|(site, (back, bytes))| (site, Merged { back, bytes })).collect();
    // Rows of 32 bytes for eight lanes each, one word for all, and neighbours' quads.
    let patterns: [&dyn Fn(u64) -> u64; 3] = [&|lane| lane / 8 * 32, &|_| 64, &|lane| lane * 16];
    let found = patterns.map(|address| {
        let apart = load(0, 4, address, Vec::new(), 4);
        let merged = load(0, 4, address, of_four.clone(), 4);
        let whole = load(0, 16, address, Vec::new(), 1);
        assert_eq!((merged.wavefronts, merged.ideal), (whole.wavefronts, whole.ideal));
        assert_eq!(merged.requests, 4);
        (apart.wavefronts, merged.wavefronts)
    });
    // On an H200 two wavefronts serve the first pattern's merged load: `dct_8x8` has 12 per warp of 16 loads, 8 of which merge.
    assert_eq!(found, [(4, 2), (4, 2), (16, 4)]);
}

/// Lanes at one distance, up or down, in pieces, or anywhere; in units of the access's size.
fn units() -> impl Strategy<Value = Vec<u64>> {
    let steady = (0..1000_u64, 0..600_u64)
        .prop_map(|(first, step)| (0..32).map(|lane| first + lane * step).collect::<Vec<u64>>());
    let down = (0..1000_u64, 0..40_u64)
        .prop_map(|(first, step)| (0..32).map(|lane| first + (31 - lane) * step).collect::<Vec<u64>>());
    let pieces = (0..1000_u64, 0..5000_u64, 1..32_usize, 0..4_u64).prop_map(|(first, second, cut, step)| {
        (0..32).map(|lane| if lane < cut { first } else { second } + lane as u64 * step).collect()
    });
    let anywhere = (1..20_u32).prop_flat_map(|bits| prop::collection::vec(0..1_u64 << bits, 32));
    prop_oneof![3 => steady, 1 => down, 2 => pieces, 2 => anywhere]
}

fn actives() -> impl Strategy<Value = u32> {
    let some = (1..=32_u32, 0..32_u32).prop_map(|(count, shift)| {
        let lanes = u32::MAX >> (32 - count) << shift;
        if lanes == 0 { 1 } else { lanes }
    });
    prop_oneof![4 => Just(u32::MAX), 2 => some, 1 => 1..=u32::MAX]
}

/// What only the time needs, of which `count_model` knows what it must be.
fn of_time(found: &MemoryCounts) -> MemoryCounts {
    let MemoryCounts { turns, requests_in_l1, rewritten, .. } = *found;
    MemoryCounts { turns, requests_in_l1, rewritten, ..MemoryCounts::default() }
}

proptest! {
    #[test]
    fn global(units in units(), active in actives(), shift in 0..=4_u32, store: bool, past_l1: bool, card in 0..5_usize) {
        let card = find(CARDS[card]).unwrap();
        let bytes = 1 << shift;
        let addresses: Addresses = std::array::from_fn(|lane| 0x7_0000_0000 + units[lane] * u64::from(bytes));
        let operation = if store { Operation::Store } else { Operation::Load };
        let access = Access { active, past_l1, ..plain(Space::Global, operation, bytes, &addresses) };
        let way = if store { Way::Store } else { Way::Load };
        let request = Request { addresses: &addresses, active, bytes, access: way };
        let cached = card.compute_capability.major == 2 && !past_l1;
        let traffic = Coalescer::with_l1(card.compute_capability, cached).traffic(&request);
        let counts = counts(&card, BankMode::FourBytes, &[access, access]);
        let found = if store { counts.stores } else { counts.loads };
        // A block's second load of the same finds all of it in L1, where there is one, and each sector is counted once.
        let l1 = !store && !past_l1 && !matches!(card.compute_capability.major, 1 | 3);
        let distinct = Coalescer::with_l1("9.0".parse().unwrap(), true).traffic(&request);
        let l2_sectors = match (l1, card.compute_capability.major) {
            // The second finds nothing that the first has pushed out: a block has 85 sectors of 16 KiB.
            (true, 2) if distinct.lines * 4 > 85 => found.l2_sectors.clamp(u64::from(distinct.lines * 4), 8 * 32 * 4),
            (true, 2) => u64::from(distinct.lines * 4),
            (true, _) => u64::from(distinct.sectors),
            _ => 2 * u64::from(traffic.sectors),
        };
        prop_assert_eq!(found, MemoryCounts {
            instructions: 2,
            requests: 2 * u64::from(traffic.requests),
            transactions: 2 * u64::from(traffic.transactions),
            sectors: 2 * u64::from(traffic.sectors),
            lines: 2 * u64::from(traffic.lines),
            straddling: 2 * u64::from(traffic.requests * u32::from(traffic.straddles())),
            bytes_requested: 2 * u64::from(traffic.bytes_used),
            bytes_moved: 2 * u64::from(traffic.bytes_moved),
            l2_sectors,
            ..of_time(&found)
        });
    }

    #[test]
    fn shared(all in prop::collection::vec((units(), actives(), 0..=4_u32, 0..3_usize), 1..6), card in 0..5_usize, wide: bool) {
        let card = find(CARDS[card]).unwrap();
        let mode = if wide { BankMode::EightBytes } else { BankMode::FourBytes };
        let rule = BankRule::new(card.compute_capability, mode);
        let operations = [Operation::Load, Operation::Store, Operation::Atomic];
        // Twice each, moved by a word the second time, so that what is remembered is used.
        let requests: Vec<(Addresses, u32, u32, Operation)> = all.iter().flat_map(|(units, active, shift, operation)| {
            [0, 16, 0].map(|moved| {
                let address = |lane: usize| (units[lane] << shift) + moved;
                (std::array::from_fn(address), *active, 1 << shift, operations[*operation])
            })
        }).collect();
        let accesses: Vec<Access<'_>> = requests.iter().map(|(addresses, active, bytes, operation)| {
            Access { active: *active, ..plain(Space::Shared, *operation, *bytes, addresses) }
        }).collect();
        let counts = counts(&card, mode, &accesses);
        let mut expected = [SharedCounts::default(); 3];
        for access in &accesses {
            let way = if access.operation == Operation::Load { Way::Load } else { Way::Store };
            let request = Request { addresses: access.addresses, active: access.active, bytes: access.bytes, access: way };
            let wavefronts = rule.wavefronts(&request);
            let (of, rounds) = match access.operation {
                Operation::Load => (0, 0),
                Operation::Store => (1, 0),
                _ => (2, AtomicConflicts::new(&request).rounds),
            };
            expected[of] += SharedCounts {
                requests: 1,
                wavefronts: u64::from(wavefronts.taken.max(rounds)),
                ideal: u64::from(wavefronts.ideal),
            };
        }
        prop_assert_eq!([counts.shared_loads, counts.shared_stores, counts.shared_atomics], expected);
    }

    #[test]
    fn constants_and_atomics(units in units(), active in actives(), card in 0..5_usize) {
        let card = find(CARDS[card]).unwrap();
        let addresses: Addresses = std::array::from_fn(|lane| 0x7_0000_0000 + units[lane] * 4);
        let access = Access { active, ..plain(Space::Constant, Operation::Load, 4, &addresses) };
        let found = counts(&card, BankMode::FourBytes, &[access]).constant;
        let issues = constant_replays(card.compute_capability, &addresses, active);
        prop_assert_eq!((found.requests, found.replays), (1, u64::from(issues) - 1));
        let access = Access { active, ..plain(Space::Global, Operation::Reduction, 4, &addresses) };
        let found = counts(&card, BankMode::FourBytes, &[access]);
        let request = Request { addresses: &addresses, active, bytes: 4, access: Way::Store };
        let conflicts = AtomicConflicts::new(&request);
        prop_assert_eq!(found.conflicts, AtomicCounts { addresses: conflicts.addresses.into(), rounds: conflicts.rounds.into() });
        let traffic = Coalescer::new(card.compute_capability).traffic(&request);
        prop_assert_eq!(found.atomics.sectors, u64::from(traffic.sectors));
        prop_assert_eq!(found.atomics.l2_sectors, u64::from(traffic.sectors));
    }
}

#[test]
fn local_memory_is_interleaved() {
    let card = find("h200").unwrap();
    let counted = |card: &Card, operation, bytes: u32, address: &dyn Fn(u64) -> u64| {
        let addresses: Addresses = std::array::from_fn(|lane| address(lane as u64));
        counts(card, BankMode::FourBytes, &[plain(Space::Local, operation, bytes, &addresses)])
    };
    let of = |card: &Card, bytes, address: &dyn Fn(u64) -> u64| {
        counted(card, Operation::Store, bytes, address).local_stores
    };
    // The same variable of all threads: a line for every word of it.
    for (bytes, lines) in [(1, 1), (4, 1), (8, 2), (16, 4)] {
        let found = of(&card, bytes, &|_| 64);
        assert_eq!((found.requests, found.sectors, found.lines), (1, 4 * lines, lines), "{bytes} bytes");
        assert_eq!(found.bytes_requested, 32 * u64::from(bytes));
        assert_eq!(found.l2_sectors, found.sectors, "L1 writes it through");
        let loaded = counted(&card, Operation::Load, bytes, &|_| 64).local_loads;
        assert_eq!((loaded.sectors, loaded.l2_sectors), (4 * lines, 0), "L1 keeps it");
    }
    // An array indexed by each thread for itself: a line a thread.
    let found = of(&card, 4, &|lane| lane * 4);
    assert_eq!((found.sectors, found.lines), (32, 32));
    assert_eq!(of(&find("c1060").unwrap(), 4, &|_| 64).l2_sectors, 4, "no L1");
    assert_eq!(of(&find("c2050").unwrap(), 4, &|_| 64).l2_sectors, 0, "L1 writes back");
}

#[test]
fn branches_barriers_and_unknown_sites() {
    let card = find("h200").unwrap();
    let shape = shape(&card, 1, 64);
    let observation = CounterObservation::new(shape, L2State::new(card));
    let mut observer = observation.begin(0);
    let at = |site| At::new(0, 0, Site(site));
    observer.block_begins(0, 2);
    observer.branch(at(0), 0xFFFF, 0xFFFF_0000);
    observer.branch(at(0), u32::MAX, 0);
    observer.branch(at(0), 0, u32::MAX);
    observer.branch(at(1), 1, 2);
    observer.barrier(at(1), 0, u64::MAX);
    observer.issue(at(5), 0b111);
    observer.issue(at(5), 0);
    observer.block_ends(0);
    observation.end(observer);
    let counters = observation.finish().counters;
    assert_eq!((counters.total.branches, counters.total.divergent_branches), (4, 2));
    assert_eq!(counters.site(0).divergence(), 1.0 / 3.0);
    assert_eq!(counters.site(1).barriers, 1);
    assert_eq!((counters.site(5).instructions, counters.site(5).thread_instructions), (2, 3));
    assert_eq!(counters.site(5).lane_share(), 3.0 / 64.0);
    assert_eq!((counters.warps, counters.blocks, counters.windows), (2, 1, 1));
}
