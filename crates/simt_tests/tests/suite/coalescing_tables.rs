//! Exact transaction counts of one warp, aligned to 256 bytes and then shifted or spread, by compute capability.
//! The figures were worked out from the guide's rules by hand and by a separate program.

use simt::coalescing::{Addresses, ComputeCapability, LANES};
use simt::internals::coalescing::{Access, Coalescer, Request, Traffic, Transaction};

const BASE: u64 = 0x7_0000_0000;

fn capability(text: &str) -> ComputeCapability {
    text.parse().unwrap()
}

fn lanes(address: impl Fn(u64) -> u64) -> Addresses {
    std::array::from_fn(|lane| address(lane as u64))
}

fn load(coalescer: Coalescer, bytes: u32, address: impl Fn(u64) -> u64) -> Traffic {
    let addresses = lanes(address);
    let request = Request { addresses: &addresses, active: u32::MAX, bytes, access: Access::Load };
    let traffic = coalescer.traffic(&request);
    let transactions = coalescer.transactions(&request);
    assert_eq!(traffic.transactions as usize, transactions.len());
    assert_eq!(traffic.bytes_moved, transactions.bytes());
    traffic
}

fn offset(coalescer: Coalescer, bytes: u32, offset: u64) -> (u32, u32) {
    let traffic = load(coalescer, bytes, |lane| BASE + (lane + offset) * u64::from(bytes));
    (traffic.transactions, traffic.bytes_moved)
}

fn stride(coalescer: Coalescer, bytes: u32, stride: u64) -> (u32, u32) {
    let traffic = load(coalescer, bytes, |lane| BASE + lane * stride * u64::from(bytes));
    (traffic.transactions, traffic.bytes_moved)
}

fn tesla() -> Coalescer {
    Coalescer::new(capability("1.0"))
}

fn gt200() -> Coalescer {
    Coalescer::new(capability("1.3"))
}

fn fermi() -> Coalescer {
    Coalescer::new(capability("2.0"))
}

fn fermi_without_l1() -> Coalescer {
    Coalescer::with_l1(capability("2.0"), false)
}

fn sectors() -> Coalescer {
    Coalescer::new(capability("9.0"))
}

#[test]
fn float_offsets() {
    for s in 0..=32 {
        let (strict, segmented, lines, sector) = match s {
            0 | 32 => ((2, 128), (2, 128), (1, 128), (4, 128)),
            16 => ((2, 128), (2, 128), (2, 256), (4, 128)),
            8 | 24 => ((32, 1024), (3, 192), (2, 256), (4, 128)),
            _ => ((32, 1024), (3, 224), (2, 256), (5, 160)),
        };
        assert_eq!(offset(tesla(), 4, s), strict, "1.0, offset {s}");
        assert_eq!(offset(gt200(), 4, s), segmented, "1.3, offset {s}");
        assert_eq!(offset(fermi(), 4, s), lines, "2.0, offset {s}");
        assert_eq!(offset(fermi_without_l1(), 4, s), sector, "2.0 without L1, offset {s}");
        assert_eq!(offset(sectors(), 4, s), sector, "9.0, offset {s}");
    }
}

#[test]
fn float_strides() {
    // Transactions and bytes at 1.3, by stride from 1: segments shrink from stride 17 on, as fewer hold two lanes.
    let printed = [
        (1, (2, 128)),
        (2, (2, 256)),
        (3, (4, 384)),
        (4, (4, 512)),
        (8, (8, 1024)),
        (16, (16, 2048)),
        (24, (24, 1536)),
        (32, (32, 1024)),
    ];
    for (s, expected) in printed {
        assert_eq!(stride(gt200(), 4, s), expected, "1.3, stride {s}");
    }
    for s in 1..=32_u64 {
        let strict = if s == 1 { (2, 128) } else { (32, 1024) };
        assert_eq!(stride(tesla(), 4, s), strict, "1.0, stride {s}");
        // The warp spans 31 s words and one, and no line in between is left out up to stride 32.
        let lines = ((31 * s) / 32 + 1) as u32;
        assert_eq!(stride(fermi(), 4, s), (lines, lines * 128), "2.0, stride {s}");
        let count = (4 * s).min(32) as u32;
        assert_eq!(stride(sectors(), 4, s), (count, count * 32), "9.0, stride {s}");
        assert_eq!(stride(fermi_without_l1(), 4, s), (count, count * 32), "2.0 without L1, stride {s}");
    }
}

#[test]
fn gt200_is_worst_at_stride_sixteen_and_recovers() {
    let efficiency = |s: u64| 128.0 / f64::from(stride(gt200(), 4, s).1);
    for s in (1..=32).filter(|&s| s != 16) {
        assert!(efficiency(s) > efficiency(16), "stride {s}");
    }
    assert_eq!(efficiency(16), 0.0625);
    assert_eq!(efficiency(32), 0.125);
}

#[test]
fn double_offsets() {
    for s in 0..=32 {
        let strict = if s % 16 == 0 { (2, 256) } else { (32, 1024) };
        assert_eq!(offset(tesla(), 8, s), strict, "1.0, offset {s}");
        let segmented = match s % 16 {
            0 => (2, 256),
            8 => (4, 256),
            1..=4 | 12..=15 => (4, 320),
            _ => (4, 384),
        };
        assert_eq!(offset(gt200(), 8, s), segmented, "1.3, offset {s}");
        let lines = if s % 16 == 0 { (2, 256) } else { (4, 512) };
        assert_eq!(offset(fermi(), 8, s), lines, "2.0, offset {s}");
        let halves = if s % 4 == 0 { (8, 256) } else { (10, 320) };
        assert_eq!(offset(fermi_without_l1(), 8, s), halves, "2.0 without L1, offset {s}");
        let whole = if s % 4 == 0 { (8, 256) } else { (9, 288) };
        assert_eq!(offset(sectors(), 8, s), whole, "9.0, offset {s}");
    }
}

#[test]
fn double_strides() {
    for s in 1..=32_u64 {
        let strict = if s == 1 { (2, 256) } else { (32, 1024) };
        assert_eq!(stride(tesla(), 8, s), strict, "1.0, stride {s}");
        let count = (8 * s).min(32) as u32;
        assert_eq!(stride(sectors(), 8, s), (count, count * 32), "9.0, stride {s}");
        let lines = stride(fermi(), 8, s).1;
        if s.is_power_of_two() {
            assert_eq!(256.0 / f64::from(lines), (1.0 / s as f64).max(0.0625), "2.0, stride {s}");
        } else if s > 16 {
            assert_eq!(lines, 4096, "2.0, stride {s}");
        }
    }
    // 1.3 falls as 1/s to an eighth at 8 and rises again to a quarter, where each lane has 32 bytes to itself.
    for (s, bytes) in [(1, 256), (2, 512), (4, 1024), (8, 2048), (16, 1024), (32, 1024)] {
        assert_eq!(stride(gt200(), 8, s).1, bytes, "1.3, stride {s}");
    }
}

#[test]
fn the_documented_efficiencies() {
    let percent = |traffic: Traffic| (traffic.efficiency() * 1000.0).round() / 10.0;
    let float_at = |coalescer, s| percent(load(coalescer, 4, |lane| BASE + (lane + s) * 4));
    let double_at = |coalescer, s| percent(load(coalescer, 8, |lane| BASE + (lane + s) * 8));
    let float_by = |coalescer, s| percent(load(coalescer, 4, |lane| BASE + lane * s * 4));
    let double_by = |coalescer, s| percent(load(coalescer, 8, |lane| BASE + lane * s * 8));
    assert_eq!([float_at(tesla(), 0), float_at(tesla(), 8), float_at(tesla(), 1)], [100.0, 12.5, 12.5]);
    assert_eq!([float_at(gt200(), 0), float_at(gt200(), 8), float_at(gt200(), 1)], [100.0, 66.7, 57.1]);
    assert_eq!([float_at(fermi(), 0), float_at(fermi(), 16), float_at(fermi(), 1)], [100.0, 50.0, 50.0]);
    assert_eq!(
        [float_at(sectors(), 0), float_at(sectors(), 8), float_at(sectors(), 1)],
        [100.0, 100.0, 80.0]
    );
    assert_eq!(
        [1, 2, 3, 4, 8, 16, 24, 32].map(|s| float_by(tesla(), s)),
        [100.0, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5]
    );
    assert_eq!(
        [1, 2, 3, 4, 8, 16, 24, 32].map(|s| float_by(gt200(), s)),
        [100.0, 50.0, 33.3, 25.0, 12.5, 6.3, 8.3, 12.5]
    );
    assert_eq!(
        [1, 2, 3, 4, 8, 16, 24, 32].map(|s| float_by(fermi(), s)),
        [100.0, 50.0, 33.3, 25.0, 12.5, 6.3, 4.2, 3.1]
    );
    assert_eq!(
        [1, 2, 3, 4, 8, 16, 24, 32].map(|s| float_by(sectors(), s)),
        [100.0, 50.0, 33.3, 25.0, 12.5, 12.5, 12.5, 12.5]
    );
    assert_eq!([0, 1, 4].map(|s| double_at(tesla(), s)), [100.0, 25.0, 25.0]);
    assert_eq!(
        [0, 8, 1, 4, 12, 5, 9].map(|s| double_at(gt200(), s)),
        [100.0, 100.0, 80.0, 80.0, 80.0, 66.7, 66.7]
    );
    assert_eq!([0, 1, 16].map(|s| double_at(fermi(), s)), [100.0, 50.0, 100.0]);
    assert_eq!([0, 1, 4].map(|s| double_at(sectors(), s)), [100.0, 88.9, 100.0]);
    assert_eq!([1, 2, 3, 4, 8, 32].map(|s| double_by(sectors(), s)), [100.0, 50.0, 33.3, 25.0, 25.0, 25.0]);
    assert_eq!([8, 16, 32].map(|s| double_by(gt200(), s)), [12.5, 25.0, 25.0]);
}

#[test]
fn every_capability_from_maxwell_on_counts_sectors_and_kepler_skips_l1() {
    for text in ["5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0", "10.0", "12.0"] {
        assert_eq!(offset(Coalescer::new(capability(text)), 4, 1), (5, 160), "{text}");
    }
    assert_eq!(offset(Coalescer::new(capability("3.5")), 4, 1), (5, 160));
    assert_eq!(offset(Coalescer::with_l1(capability("3.5"), true), 4, 1), (2, 256));
    assert_eq!(offset(Coalescer::new(capability("1.1")), 4, 1), (32, 1024));
    assert_eq!(offset(Coalescer::new(capability("1.2")), 4, 1), (3, 224));
}

#[test]
fn transactions_of_1_x_have_addresses_and_sizes() {
    let of = |coalescer: Coalescer, address: &dyn Fn(u64) -> u64, bytes| {
        let addresses = lanes(address);
        let request = Request { addresses: &addresses, active: u32::MAX, bytes, access: Access::Load };
        coalescer.transactions(&request).to_vec()
    };
    let at = |address, bytes| Transaction { address, bytes };
    assert_eq!(of(tesla(), &|k| 1024 + 4 * k, 4), [at(1024, 64), at(1088, 64)]);
    assert_eq!(
        of(tesla(), &|k| 1024 + 16 * k, 16),
        [at(1024, 128), at(1152, 128), at(1280, 128), at(1408, 128)]
    );
    assert_eq!(of(gt200(), &|k| 1028 + 4 * k, 4), [at(1024, 128), at(1088, 64), at(1152, 32)]);
    // Eight words on: the first half-warp lies across the middle of a line, the second across its end.
    assert_eq!(of(gt200(), &|k| 1056 + 4 * k, 4), [at(1024, 128), at(1120, 32), at(1152, 32)]);
}

#[test]
fn idle_lanes_leave_a_pattern_coalesced_on_1_0_and_swapped_lanes_do_not() {
    let straight = lanes(|lane| BASE + 4 * lane);
    let some = Request { addresses: &straight, active: 0x0F0F_F0F2, bytes: 4, access: Access::Load };
    assert_eq!(
        tesla().transactions(&some).to_vec(),
        [Transaction { address: BASE, bytes: 64 }, Transaction { address: BASE + 64, bytes: 64 }]
    );
    let mut swapped = straight;
    swapped.swap(2, 3);
    let request = Request { addresses: &swapped, active: u32::MAX, bytes: 4, access: Access::Load };
    assert_eq!(tesla().traffic(&request).transactions, 16 + 1);
    assert_eq!(gt200().traffic(&request).transactions, 2);
    // Bytes and halves of words are never coalesced on 1.0.
    assert_eq!(load(tesla(), 2, |lane| BASE + 2 * lane).transactions, 32);
    assert_eq!(load(gt200(), 2, |lane| BASE + 2 * lane).bytes_moved, 64);
    assert_eq!(load(gt200(), 1, |lane| BASE + lane).bytes_moved, 64);
}

#[test]
fn a_broadcast_is_one_transaction_except_on_1_0() {
    let broadcast = |coalescer| load(coalescer, 4, |_| BASE + 8);
    assert_eq!(broadcast(tesla()).transactions, 32);
    assert_eq!((broadcast(gt200()).transactions, broadcast(gt200()).bytes_moved), (2, 64));
    assert_eq!((broadcast(fermi()).transactions, broadcast(fermi()).bytes_moved), (1, 128));
    let modern = broadcast(sectors());
    assert_eq!((modern.requests, modern.sectors, modern.lines), (1, 1, 1));
    assert_eq!((modern.bytes_used, modern.efficiency()), (128, 4.0));
}

#[test]
fn stores_pass_l1_by_on_fermi() {
    let addresses = lanes(|lane| BASE + 4 + 4 * lane);
    let request = Request { addresses: &addresses, active: u32::MAX, bytes: 4, access: Access::Store };
    let traffic = fermi().traffic(&request);
    assert_eq!((traffic.transactions, traffic.bytes_moved, traffic.lines), (5, 160, 2));
}

#[test]
fn wide_accesses_are_split_up_to_kepler_and_whole_from_maxwell() {
    for (bytes, parts) in [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)] {
        let contiguous = |coalescer| load(coalescer, bytes, |lane| BASE + lane * u64::from(bytes)).requests;
        assert_eq!(contiguous(tesla()), 2, "1.0, {bytes} bytes");
        assert_eq!(contiguous(fermi()), parts, "2.0, {bytes} bytes");
        assert_eq!(contiguous(sectors()), 1, "9.0, {bytes} bytes");
        let sectors = load(sectors(), bytes, |lane| BASE + lane * u64::from(bytes)).sectors;
        assert_eq!(sectors, bytes, "contiguous lanes use their sectors up");
    }
}

#[test]
fn a_warp_straddles_where_it_crosses_lines_that_it_need_not() {
    let at =
        |bytes: u32, s: u64| load(sectors(), bytes, |lane| BASE + (lane + s) * u64::from(bytes)).straddles();
    for s in 0..=32 {
        assert_eq!(at(4, s), s % 32 != 0, "float, offset {s}");
        assert_eq!(at(8, s), s % 16 != 0, "double, offset {s}");
        let by_stride = load(sectors(), 4, |lane| BASE + lane * s * 4).straddles();
        assert!(!by_stride, "float, stride {s}: its lines are its own");
    }
}

#[test]
fn no_active_lane_costs_nothing() {
    let addresses = [0; LANES];
    for coalescer in [tesla(), gt200(), fermi(), sectors()] {
        let request = Request { addresses: &addresses, active: 0, bytes: 4, access: Access::Load };
        assert_eq!(coalescer.traffic(&request), Traffic::default());
        assert!(coalescer.transactions(&request).is_empty());
    }
}

#[test]
fn capabilities_are_read_and_refused() {
    assert_eq!(capability("9.0").to_string(), "9.0");
    assert!(capability("8.6").at_least(8, 0) && !capability("7.5").at_least(8, 0));
    let refused = |text: &str| text.parse::<ComputeCapability>().unwrap_err().to_string();
    assert!(refused("4.2").starts_with("no NVIDIA card has compute capability 4.2: known are 1.0, 1.1"));
    assert_eq!(refused("9"), "\"9\" is not a compute capability: write major.minor, such as \"9.0\"");
    assert_eq!(refused("+9.0"), "\"+9.0\" is not a compute capability: write major.minor, such as \"9.0\"");
}
