//! What holds for any addresses, and agreement with a reference that is plain sets and nothing else.

use proptest::prelude::*;
use simt::coalescing::{Addresses, BankMode, ComputeCapability, LANES};
use simt::internals::coalescing::{Access, BankRule, Coalescer, Request, sectors_and_lines};
use std::collections::{BTreeMap, BTreeSet};

fn coalescer(text: &str) -> Coalescer {
    Coalescer::new(text.parse::<ComputeCapability>().unwrap())
}

/// Addresses as kernels have them: a base and a stride, some scattered, some all over, some descending.
fn any_addresses(bytes: u64) -> impl Strategy<Value = Addresses> {
    let base = (0..1_u64 << 40).prop_map(move |base| base * bytes);
    let progression = (base.clone(), 0..40_u64)
        .prop_map(move |(base, stride)| std::array::from_fn(|lane| base + lane as u64 * stride * bytes));
    let near = (base.clone(), prop::array::uniform32(0..200_u64))
        .prop_map(move |(base, words)| words.map(|word| base + word * bytes));
    let far = prop::array::uniform32((0..1_u64 << 40).prop_map(move |word| word * bytes));
    let ascending = near.clone().prop_map(|mut addresses: Addresses| {
        addresses.sort_unstable();
        addresses
    });
    let descending = progression.clone().prop_map(|mut addresses: Addresses| {
        addresses.reverse();
        addresses
    });
    prop_oneof![progression, near, far, ascending, descending]
}

fn any_active() -> impl Strategy<Value = u32> {
    prop_oneof![Just(u32::MAX), any::<u32>(), (0..32_u32).prop_map(|lanes| (1 << lanes) - 1)]
}

fn any_case() -> impl Strategy<Value = (u32, Addresses, u32)> {
    (0..5_u32).prop_flat_map(|log| (Just(1 << log), any_addresses(1 << log), any_active()))
}

fn active_addresses(addresses: &Addresses, active: u32) -> Vec<u64> {
    (0..LANES).filter(|lane| active >> lane & 1 == 1).map(|lane| addresses[lane]).collect()
}

fn distinct(addresses: &[u64], granule: u64) -> BTreeSet<u64> {
    addresses.iter().map(|address| address / granule).collect()
}

proptest! {
    #[test]
    fn sectors_and_lines_are_the_sets((bytes, addresses, active) in any_case()) {
        let touched = active_addresses(&addresses, active);
        let expected = (distinct(&touched, 32).len() as u32, distinct(&touched, 128).len() as u32);
        prop_assert_eq!(sectors_and_lines(&addresses, active), expected);
        let request = Request { addresses: &addresses, active, bytes, access: Access::Load };
        let traffic = coalescer("9.0").traffic(&request);
        prop_assert_eq!((traffic.sectors, traffic.lines), expected);
        let starts: BTreeSet<u64> =
            coalescer("9.0").transactions(&request).iter().map(|transaction| transaction.address / 32).collect();
        prop_assert_eq!(starts, distinct(&touched, 32));
    }

    #[test]
    fn split_warps_are_sets_a_part((bytes, addresses, active) in any_case(), cached: bool) {
        let fermi = Coalescer::with_l1("2.0".parse().unwrap(), cached);
        for access in [Access::Load, Access::Store] {
            let request = Request { addresses: &addresses, active, bytes, access };
            let granule = if cached && access == Access::Load { 128 } else { 32 };
            let width = LANES / (bytes as usize / 4).max(1);
            let (mut requests, mut transactions, mut lines) = (0, 0, 0);
            for start in (0..LANES).step_by(width) {
                let part = (((1_u64 << width) - 1) << start) as u32;
                let touched = active_addresses(&addresses, active & part);
                requests += u32::from(!touched.is_empty());
                transactions += distinct(&touched, granule).len() as u32;
                lines += distinct(&touched, 128).len() as u32;
            }
            let traffic = fermi.traffic(&request);
            prop_assert_eq!(traffic.requests, requests);
            prop_assert_eq!(traffic.transactions, transactions);
            prop_assert_eq!(traffic.lines, lines);
            prop_assert_eq!(traffic.bytes_moved, transactions * granule as u32);
            prop_assert_eq!(fermi.transactions(&request).len() as u32, transactions);
        }
    }

    #[test]
    fn the_order_of_lanes_does_not_matter_from_1_2_on(
        (bytes, addresses, _) in any_case(),
        order in Just((0..LANES).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        // 1.2 takes half-warps and 2.x parts of a warp, so there lanes are shuffled within those.
        let within = |width: usize| -> Addresses {
            let mut order = order.clone();
            order.sort_by_key(|lane| lane / width);
            std::array::from_fn(|lane| addresses[order[lane]])
        };
        let traffic = |text, addresses: &Addresses| {
            let request = Request { addresses, active: u32::MAX, bytes, access: Access::Load };
            coalescer(text).traffic(&request)
        };
        prop_assert_eq!(traffic("9.0", &addresses), traffic("9.0", &within(32)));
        prop_assert_eq!(traffic("5.0", &addresses), traffic("5.0", &within(32)));
        prop_assert_eq!(traffic("1.3", &addresses), traffic("1.3", &within(16)));
        prop_assert_eq!(traffic("2.0", &addresses), traffic("2.0", &within(8)));
    }

    #[test]
    fn sectors_lie_between_the_ideal_and_the_lanes((bytes, addresses, active) in any_case()) {
        let request = Request { addresses: &addresses, active, bytes, access: Access::Load };
        let touched = active_addresses(&addresses, active);
        let ideal = (distinct(&touched, 1).len() as u32 * bytes).div_ceil(32);
        let traffic = coalescer("9.0").traffic(&request);
        prop_assert!(traffic.sectors >= ideal && traffic.sectors <= active.count_ones());
        prop_assert!(traffic.lines <= traffic.sectors && traffic.sectors <= 4 * traffic.lines);
        prop_assert_eq!(traffic.bytes_used, active.count_ones() * bytes);
    }

    #[test]
    fn transactions_cover_every_lane_on_every_card((bytes, addresses, active) in any_case()) {
        for text in ["1.0", "1.3", "2.0", "3.5", "9.0"] {
            for access in [Access::Load, Access::Store] {
                let request = Request { addresses: &addresses, active, bytes, access };
                let coalescer = coalescer(text);
                let transactions = coalescer.transactions(&request);
                for address in active_addresses(&addresses, active) {
                    let covered = transactions.iter().any(|transaction| {
                        transaction.address <= address
                            && address + u64::from(bytes) <= transaction.address + u64::from(transaction.bytes)
                    });
                    prop_assert!(covered, "{text}: {address:#x} in {:?}", &*transactions);
                }
                for transaction in transactions.iter() {
                    prop_assert!(matches!(transaction.bytes, 32 | 64 | 128));
                    prop_assert_eq!(transaction.address % u64::from(transaction.bytes), 0);
                }
                let traffic = coalescer.traffic(&request);
                prop_assert_eq!(traffic.transactions as usize, transactions.len());
                prop_assert_eq!(traffic.bytes_moved, transactions.bytes());
                prop_assert_eq!(traffic.sectors * 32, traffic.bytes_moved);
            }
        }
    }

    #[test]
    fn wavefronts_are_the_worst_bank_of_each_part((bytes, addresses, active) in any_case()) {
        let addresses = addresses.map(|address| address % 49152 / u64::from(bytes) * u64::from(bytes));
        let request = Request { addresses: &addresses, active, bytes, access: Access::Store };
        let width = LANES / (bytes as usize / 4).max(1);
        let (mut taken, mut ideal) = (0, 0);
        for start in (0..LANES).step_by(width) {
            let part = (((1_u64 << width) - 1) << start) as u32;
            let mut words: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for address in active_addresses(&addresses, active & part) {
                for byte in address..address + u64::from(bytes) {
                    words.entry(byte / 4 % 32).or_default().insert(byte / 4);
                }
            }
            taken += words.values().map(BTreeSet::len).max().unwrap_or(0);
            ideal += usize::from(!words.is_empty());
        }
        let wavefronts = BankRule::ThirtyTwo.wavefronts(&request);
        prop_assert_eq!((wavefronts.taken as usize, wavefronts.ideal as usize), (taken, ideal));
        // Loads that lanes share take two parts as one, so at best half.
        let request = Request { access: Access::Load, ..request };
        let load = BankRule::ThirtyTwo.wavefronts(&request).taken as usize;
        prop_assert!(load <= taken && 2 * load >= taken && (bytes > 4 || load == taken), "{load} {taken}");
        for rule in [
            BankRule::Sixteen,
            BankRule::Fermi,
            BankRule::Kepler(BankMode::FourBytes),
            BankRule::Kepler(BankMode::EightBytes),
        ] {
            let wavefronts = rule.wavefronts(&request);
            prop_assert!(wavefronts.taken >= wavefronts.ideal, "{rule:?}");
            prop_assert_eq!(wavefronts.ideal == 0, active == 0, "{:?}", rule);
        }
    }
}
