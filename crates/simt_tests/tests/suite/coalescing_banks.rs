//! Shared-memory wavefronts, constant replays and atomic conflicts, by compute capability.

use simt::coalescing::{Addresses, BankMode, ComputeCapability};
use simt::internals::coalescing::{Access, AtomicConflicts, BankRule, Request, constant_replays};

const ALL: u32 = u32::MAX;
const FERMI: BankRule = BankRule::Fermi;
const NARROW: BankRule = BankRule::Kepler(BankMode::FourBytes);
const WIDE: BankRule = BankRule::Kepler(BankMode::EightBytes);
const MODERN: BankRule = BankRule::ThirtyTwo;

fn lanes(address: impl Fn(u64) -> u64) -> Addresses {
    std::array::from_fn(|lane| address(lane as u64))
}

/// Wavefronts taken and ideal.
fn load(rule: BankRule, bytes: u32, address: impl Fn(u64) -> u64) -> (u32, u32) {
    let addresses = lanes(address);
    let request = Request { addresses: &addresses, active: ALL, bytes, access: Access::Load };
    let wavefronts = rule.wavefronts(&request);
    (wavefronts.taken, wavefronts.ideal)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn capability(text: &str) -> ComputeCapability {
    text.parse().unwrap()
}

#[test]
fn float_strides() {
    for s in 1..=64 {
        let ways = gcd(s, 32) as u32;
        assert_eq!(load(FERMI, 4, |k| 4 * s * k), (ways, 1), "2.x, stride {s}");
        assert_eq!(load(MODERN, 4, |k| 4 * s * k), (ways, 1), "5.x, stride {s}");
        let halves = 2 * gcd(s, 16) as u32;
        assert_eq!(load(BankRule::Sixteen, 4, |k| 4 * s * k), (halves, 2), "1.x, stride {s}");
    }
    for (s, ways) in [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (16, 8), (32, 16), (33, 1)] {
        assert_eq!(load(NARROW, 4, |k| 4 * s * k), (ways, 1), "3.x in 4-byte mode, stride {s}");
    }
    for (s, ways) in [(1, 1), (2, 1), (3, 2), (4, 2), (32, 16), (64, 32)] {
        assert_eq!(load(WIDE, 4, |k| 4 * s * k), (ways, 1), "3.x in 8-byte mode, stride {s}");
    }
}

#[test]
fn double_strides() {
    for s in 1..=32 {
        let passes = 2 * gcd(s, 16) as u32;
        assert_eq!(load(FERMI, 8, |k| 8 * s * k), (passes, 2), "2.x, stride {s}");
        assert_eq!(load(MODERN, 8, |k| 8 * s * k), (passes, 2), "5.x, stride {s}");
        assert_eq!(load(WIDE, 8, |k| 8 * s * k), (gcd(s, 32) as u32, 1), "3.x in 8-byte mode, stride {s}");
    }
    // 1.x: two words a lane, each of them in every second bank: two-way from the start.
    assert_eq!(load(BankRule::Sixteen, 8, |k| 8 * k), (8, 4));
}

#[test]
fn sixteen_bytes_go_in_quarter_warps() {
    assert_eq!(load(MODERN, 16, |k| 16 * k), (4, 4));
    assert_eq!(load(MODERN, 16, |k| 32 * k), (8, 4));
    assert_eq!(load(MODERN, 16, |k| 128 * k), (32, 4));
    // On 2.x the guide adds one way to every quarter, conflict or not.
    assert_eq!(load(FERMI, 16, |k| 16 * k), (8, 4));
    assert_eq!(load(NARROW, 16, |k| 16 * k), (2, 2));
    assert_eq!(load(WIDE, 16, |k| 16 * k), (2, 2));
    assert_eq!(load(BankRule::Sixteen, 16, |k| 16 * k), (32, 8));
}

#[test]
fn an_h200_takes_as_many_wavefronts() {
    let mut patterns = 0;
    for line in include_str!("../shared_h200.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| row[name].as_u64().unwrap() as u32;
        let addresses: Addresses = std::array::from_fn(|lane| row["addresses"][lane].as_u64().unwrap());
        let taken = |access| {
            let request = Request { addresses: &addresses, active: ALL, bytes: number("bytes"), access };
            MODERN.wavefronts(&request).taken
        };
        assert_eq!(
            (taken(Access::Load), taken(Access::Store)),
            (number("loads"), number("stores")),
            "{line}"
        );
        patterns += 1;
    }
    assert_eq!(patterns, 138);
}

#[test]
fn wide_loads_that_lanes_share_take_half_as_many() {
    // One row of a matrix for half the warp, another for the other half.
    assert_eq!(load(MODERN, 16, |k| 64 * (k / 16)), (2, 2));
    assert_eq!(load(MODERN, 8, |k| 8 * (k % 2)), (1, 1));
    // The two halves want the same, but neighbours do not.
    assert_eq!(load(MODERN, 16, |k| 16 * (k % 16)), (4, 4));
}

#[test]
fn a_padded_tile_has_no_conflicts_and_an_unpadded_has_all() {
    let column = |width: u64| move |k: u64| 4 * width * k;
    assert_eq!(load(MODERN, 4, column(32)), (32, 1));
    assert_eq!(load(MODERN, 4, column(33)), (1, 1));
    assert_eq!(load(BankRule::Sixteen, 4, column(16)), (32, 2));
    assert_eq!(load(BankRule::Sixteen, 4, column(17)), (2, 2));
}

#[test]
fn equal_words_are_broadcast() {
    for rule in [FERMI, NARROW, WIDE, MODERN] {
        assert_eq!(load(rule, 4, |_| 64), (1, 1), "{rule:?}: all lanes, one word");
        assert_eq!(load(rule, 4, |k| 4 * (k / 2)), (1, 1), "{rule:?}: many words, two lanes each");
        assert_eq!(load(rule, 1, |k| k), (1, 1), "{rule:?}: bytes of a word");
        assert_eq!(load(rule, 2, |k| 2 * k), (1, 1), "{rule:?}: halves of a word");
    }
    assert_eq!(load(BankRule::Sixteen, 4, |_| 64), (2, 2));
    // 1.x broadcasts one word a step: 16 lanes in 8 words of their own banks take longer than one step, but less
    // than a word each, for a step also serves one lane of every other bank.
    assert_eq!(load(BankRule::Sixteen, 4, |k| 4 * (k / 2)), (4, 2));
    assert_eq!(load(BankRule::Sixteen, 1, |k| k), (8, 2));
    assert_eq!(load(BankRule::Sixteen, 2, |k| 2 * k), (4, 2));
}

#[test]
fn words_64_apart_conflict_on_kepler_and_words_32_apart_in_a_group_do_not() {
    assert_eq!(load(NARROW, 4, |k| if k == 0 { 0 } else { 128 }), (1, 1));
    assert_eq!(load(NARROW, 4, |k| if k == 0 { 128 } else { 256 }), (2, 1));
    assert_eq!(load(NARROW, 4, |k| if k == 0 { 0 } else { 256 }), (2, 1));
    assert_eq!(load(MODERN, 4, |k| if k == 0 { 0 } else { 128 }), (2, 1));
}

#[test]
fn stores_on_1_x_conflict_within_a_word_and_not_within_a_location() {
    let store = |bytes, address: &dyn Fn(u64) -> u64| {
        let addresses = lanes(address);
        let request = Request { addresses: &addresses, active: ALL, bytes, access: Access::Store };
        BankRule::Sixteen.wavefronts(&request).taken
    };
    assert_eq!(store(4, &|_| 0), 2);
    assert_eq!(store(1, &|k| k), 8);
    assert_eq!(store(4, &|k| 4 * k), 2);
    assert_eq!(store(4, &|k| 64 * k), 32);
}

#[test]
fn parts_without_active_lanes_take_nothing() {
    let addresses = lanes(|k| 8 * k);
    for (active, expected) in [(0, 0), (0xFFFF, 1), (0xFFFF_0000, 1), (0x1_8000, 2), (ALL, 2)] {
        let request = Request { addresses: &addresses, active, bytes: 8, access: Access::Load };
        let wavefronts = MODERN.wavefronts(&request);
        assert_eq!((wavefronts.taken, wavefronts.excess()), (expected, 0), "{active:#x}");
    }
}

#[test]
fn rules_go_by_capability() {
    let rule = |text| BankRule::new(capability(text), BankMode::EightBytes);
    assert_eq!(rule("1.3"), BankRule::Sixteen);
    assert_eq!(rule("2.1"), FERMI);
    assert_eq!(rule("3.5"), WIDE);
    assert_eq!([rule("5.2"), rule("7.0"), rule("9.0"), rule("12.0")], [MODERN; 4]);
}

#[test]
fn constant_loads_are_replayed_for_each_address() {
    let replays = |text, address: &dyn Fn(u64) -> u64, active| {
        constant_replays(capability(text), &lanes(address), active)
    };
    assert_eq!(replays("9.0", &|_| 16, ALL), 1);
    assert_eq!(replays("9.0", &|k| 4 * k, ALL), 32);
    assert_eq!(replays("9.0", &|k| 4 * (k % 3), ALL), 3);
    assert_eq!(replays("9.0", &|k| 4 * k, 0b101), 2);
    assert_eq!(replays("9.0", &|_| 16, 0), 0);
    assert_eq!(replays("1.0", &|_| 16, ALL), 2);
    assert_eq!(replays("1.3", &|_| 16, 0xFFFF), 1);
}

#[test]
fn atomics_take_as_many_rounds_as_lanes_share_an_address() {
    let conflicts = |address: &dyn Fn(u64) -> u64, active| {
        let addresses = lanes(address);
        let conflicts =
            AtomicConflicts::new(&Request { addresses: &addresses, active, bytes: 4, access: Access::Store });
        (conflicts.addresses, conflicts.rounds)
    };
    assert_eq!(conflicts(&|_| 0, ALL), (1, 32));
    assert_eq!(conflicts(&|k| 4 * k, ALL), (32, 1));
    assert_eq!(conflicts(&|k| 4 * (k % 8), ALL), (8, 4));
    assert_eq!(conflicts(&|k| if k < 20 { 0 } else { 4 * k }, ALL), (13, 20));
    assert_eq!(conflicts(&|_| 0, 0), (0, 0));
}
