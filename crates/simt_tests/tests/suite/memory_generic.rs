//! Addresses between spaces, hints, policies and fences.

use crate::memory_support::{ALL, Machine, device};
use simt::fault::FaultKind;
use simt::internals::memory::{
    ClusterMemory, LOCAL_WINDOW, SHARED_WINDOW, in_local_window, in_shared_window,
};
use simt::memory::Kind;

#[test]
fn conversions_move_by_the_window() {
    let memory = device();
    for (space, window) in [
        ("global", 0),
        ("const", 0),
        ("param", 0),
        ("shared", SHARED_WINDOW),
        ("shared::cta", SHARED_WINDOW),
        ("local", LOCAL_WINDOW),
    ] {
        for mask in [ALL, 0x0F0F_0001] {
            let mut machine = Machine::new(&memory);
            machine.set("%rd1", |lane| 0x40 + 8 * lane);
            machine.set("%rd2", |_| 5);
            machine.set("%rd3", |_| 6);
            machine.ok(&format!("cvta.{space}.u64 %rd2, %rd1; cvta.to.{space}.u64 %rd3, %rd2;"), mask);
            let expected =
                |lane: usize, value: u64, other: u64| if mask >> lane & 1 == 1 { value } else { other };
            let plain = |lane: usize| 0x40 + 8 * lane as u64;
            let generic = std::array::from_fn(|lane| expected(lane, window + plain(lane), 5));
            assert_eq!(machine.get("%rd2"), generic, "{space}");
            assert_eq!(machine.get("%rd3"), std::array::from_fn(|lane| expected(lane, plain(lane), 6)));
        }
    }
    let mut machine = Machine::new(&memory);
    // In place.
    machine.set("%rd1", |lane| lane);
    machine.ok("cvta.shared.u64 %rd1, %rd1;", ALL);
    assert_eq!(machine.get("%rd1"), std::array::from_fn(|lane| SHARED_WINDOW + lane as u64));
    let error = machine.decode("cvta.shared.u32 %r1, %r2;").expect_err("32 bits");
    assert_eq!(error.to_string(), "unsupported instruction cvta.shared.u32");
}

#[test]
fn windows_are_told_apart() {
    let memory = device();
    let constant = memory.allocate(64, Kind::Constant).expect("memory");
    let parameters = memory.allocate(64, Kind::Parameters).expect("memory");
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    let addresses = [
        buffer,
        SHARED_WINDOW,
        SHARED_WINDOW + (16 << 20) - 1,
        SHARED_WINDOW + (16 << 20),
        LOCAL_WINDOW,
        LOCAL_WINDOW + 100,
        constant + 63,
        constant + 64,
        parameters,
        0,
    ];
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| addresses[lane as usize % 10]);
    for (space, expected) in [
        ("shared", 0b00_0000_0110),
        ("shared::cta", 0b00_0000_0110),
        ("shared::cluster", 0b00_0000_0110),
        ("local", 0b00_0011_0000),
        ("const", 0b00_0100_0000),
        ("param", 0b01_0000_0000),
        ("global", 0b10_1000_1001),
    ] {
        machine.set("%p1", |lane| u64::from(lane == 31));
        machine.ok(&format!("isspacep.{space} %p1, %rd1;"), 0x3FF);
        let lanes = machine.get("%p1").iter().rev().fold(0, |lanes, bit| lanes << 1 | *bit as u32);
        assert_eq!(lanes, expected | 1 << 31, "{space}");
    }
    assert!(in_shared_window(SHARED_WINDOW) && !in_shared_window(SHARED_WINDOW - 1));
    assert!(in_local_window(LOCAL_WINDOW) && !in_local_window(LOCAL_WINDOW - 1));
}

#[test]
fn a_cluster_has_one_block() {
    let memory = device();
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |lane| 16 * lane);
    machine.set("%rd1", |lane| SHARED_WINDOW + lane);
    machine.ok(
        "mapa.shared::cluster.u32 %r2, %r1, 0; mapa.u64 %rd2, %rd1, 0; getctarank.shared::cluster.u32 %r3, %r1; getctarank.u64 %r4, %rd1;",
        ALL,
    );
    assert_eq!(machine.get("%r2"), machine.get("%r1"));
    assert_eq!(machine.get("%rd2"), machine.get("%rd1"));
    assert_eq!((machine.get("%r3"), machine.get("%r4")), ([0; 32], [0; 32]));
    machine.set("%r5", |lane| u64::from(lane == 3));
    let fault = machine.fault("mapa.shared::cluster.u32 %r2, %r1, %r5;", ALL);
    assert_eq!(fault.lane, 3);
    assert_eq!(fault.kind, FaultKind::Illegal("mapa to block 1 of a cluster of one block".to_owned()));
}

#[test]
fn addresses_of_other_blocks_name_their_rank() {
    let memory = device();
    let mut machine = Machine::new(&memory);
    machine.cluster = ClusterMemory::new(4);
    machine.set("%r1", |lane| 16 * lane);
    machine.set("%rd1", |lane| SHARED_WINDOW + lane);
    machine.set("%r5", |lane| lane % 4);
    machine.ok(
        "mapa.shared::cluster.u32 %r2, %r1, %r5; mapa.u64 %rd2, %rd1, %r5; getctarank.shared::cluster.u32 %r3, %r2; getctarank.u64 %r4, %rd2;",
        ALL,
    );
    let rank = |lane: u64| lane % 4;
    let by_lane = |value: &dyn Fn(u64) -> u64| std::array::from_fn(|lane| value(lane as u64));
    assert_eq!(machine.get("%r2"), by_lane(&|lane| ((rank(lane) + 1) << 24) + 16 * lane));
    assert_eq!(machine.get("%rd2"), by_lane(&|lane| SHARED_WINDOW + ((rank(lane) + 1) << 24) + lane));
    assert_eq!((machine.get("%r3"), machine.get("%r4")), (by_lane(&rank), by_lane(&rank)));
    // An address that has a rank already is mapped to another.
    machine.ok("mapa.shared::cluster.u32 %r2, %r2, 3;", ALL);
    assert_eq!(machine.get("%r2"), by_lane(&|lane| (4 << 24) + 16 * lane));
    machine.ok(
        "isspacep.shared::cluster %p1, %rd2; isspacep.shared::cta %p2, %rd2; isspacep.global %p3, %rd2;",
        ALL,
    );
    assert_eq!(machine.get("%p1"), [1; 32]);
    assert_eq!(machine.get("%p2"), by_lane(&|lane| u64::from(rank(lane) == 0)));
    assert_eq!(machine.get("%p3"), [0; 32]);
    let fault = machine.fault("mapa.u64 %rd2, %rd1, %r1;", ALL);
    assert_eq!(
        (fault.lane, fault.kind),
        (1, FaultKind::Illegal("mapa to block 16 of a cluster of 4 blocks".to_owned()))
    );
}

#[test]
fn advice_changes_nothing() {
    let memory = device();
    let buffer = memory.allocate(128, Kind::Device).expect("memory");
    memory.fill(buffer, &[3], 128).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |_| buffer);
    machine.ok(
        "prefetch.global.L1 [%rd1]; prefetch.global.L2 [%rd1+1000000]; prefetch.global.L2::evict_last [%rd1]; prefetchu.L1 [%rd1];
         applypriority.global.L2::evict_normal [%rd1], 128; discard.global.L2 [%rd1], 128;
         createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0; cp.async.bulk.prefetch.L2.global [%rd1], 128;
         ld.global.L1::no_allocate.L2::cache_hint.b32 %r1, [%rd1], %rd2;",
        ALL,
    );
    assert_eq!(machine.get("%r1"), [0x0303_0303; 32]);
    let policy = machine.get("%rd2");
    assert!(policy[0] != 0 && policy == [policy[0]; 32]);
    assert_eq!(machine.recorder.seen.len(), 1);
    let error = machine.decode("prefetch.global.L3 [%rd1];").expect_err("no such level");
    assert_eq!(error.to_string(), "prefetch.global.L3: unknown modifier .L3, or not in this place");
}

#[test]
fn fences_are_told_with_their_scope() {
    let memory = device();
    for (code, beyond) in [
        ("membar.cta;", false),
        ("membar.gl;", true),
        ("membar.sys;", true),
        ("fence.sc.cta;", false),
        ("fence.acq_rel.gpu;", true),
        ("fence.sc.sys;", true),
        ("fence.cta;", false),
        ("fence.mbarrier_init.release.cluster;", true),
        ("fence.proxy.async;", false),
        ("fence.proxy.async.shared::cta;", false),
    ] {
        let mut machine = Machine::new(&memory);
        machine.ok(code, ALL);
        assert_eq!(machine.recorder.fences, [beyond], "{code}");
    }
    let mut machine = Machine::new(&memory);
    assert_eq!(
        machine.decode("fence.odd.gpu;").expect_err("no such fence").to_string(),
        "fence.odd.gpu: unknown modifier .odd, or not in this place"
    );
}
