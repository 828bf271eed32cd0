//! What the first article finds on a C870, a C1060 and a C2050, found again on their models.

use crate::model_kernels::{Kernel, counters};
use simt::cards::find;
use simt::model::LaunchTime;

/// Useful bytes read and written over the modelled time without the launch, relative to the aligned, contiguous case. A
/// large footprint, so that nothing hangs on the launch.
fn relative(key: &str, kernel: Kernel, size: u64) -> f64 {
    let card = find(key).unwrap();
    let time = |kernel| LaunchTime::new(&counters(&card, kernel, size, 64 << 20), &card).seconds;
    time(Kernel::Offset(0)) / time(kernel)
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not within {tolerance} of {expected}");
}

/// How near the bandwidth is to what transactions alone give, by the distance of lanes: far apart, they open more pages.
fn pages(distance: u64) -> f64 {
    match distance {
        ..=32 => 0.05,
        33..=128 => 0.12,
        _ => 0.2,
    }
}

#[test]
fn c870_gets_an_eighth_at_any_offset_but_multiples_of_16() {
    for s in [0, 16, 32] {
        near(relative("c870", Kernel::Offset(s), 4), 1.0, 0.01);
    }
    for s in [1, 2, 7, 8, 15, 17, 24, 31] {
        near(relative("c870", Kernel::Offset(s), 4), 1.0 / 8.0, 0.05);
    }
    for s in [1, 4, 8, 15] {
        near(relative("c870", Kernel::Offset(s), 8), 1.0 / 4.0, 0.05);
    }
}

#[test]
fn c870_gets_an_eighth_at_any_stride_above_one() {
    for s in [2, 3, 4, 8, 16, 24, 32] {
        near(relative("c870", Kernel::Stride(s), 4), 1.0 / 8.0, pages(s * 4));
        near(relative("c870", Kernel::Stride(s), 8), 1.0 / 4.0, pages(s * 8));
    }
}

#[test]
fn c1060_serves_misaligned_warps_in_segments() {
    for s in [1, 2, 7, 9, 15, 17, 31] {
        near(relative("c1060", Kernel::Offset(s), 4), 0.571, 0.05);
    }
    for s in [8, 24] {
        near(relative("c1060", Kernel::Offset(s), 4), 0.667, 0.05);
    }
    for s in [0, 16, 32] {
        near(relative("c1060", Kernel::Offset(s), 4), 1.0, 0.01);
    }
    for (s, expected) in [(1, 0.8), (5, 0.667), (8, 1.0), (16, 1.0)] {
        near(relative("c1060", Kernel::Offset(s), 8), expected, 0.05);
    }
}

#[test]
fn c1060_by_stride() {
    for (s, expected) in
        [(1, 1.0), (2, 0.5), (3, 0.333), (4, 0.25), (8, 0.125), (16, 0.0625), (24, 0.0833), (32, 0.125)]
    {
        near(relative("c1060", Kernel::Stride(s), 4), expected, pages(s * 4));
    }
    for (s, expected) in [(2, 0.5), (4, 0.25), (8, 0.125), (16, 0.25), (32, 0.25)] {
        near(relative("c1060", Kernel::Stride(s), 8), expected, pages(s * 8));
    }
}

#[test]
fn c2050_is_nearly_flat_in_offset_and_poor_at_large_strides() {
    for s in 0..=32 {
        assert!(relative("c2050", Kernel::Offset(s), 4) > 0.93, "offset {s}");
        assert!(relative("c2050", Kernel::Offset(s), 8) > 0.93, "offset {s}");
    }
    // Loads fetch whole lines at any stride, stores are merged by sectors: between the two columns of the table.
    for (s, lines, sectors) in
        [(2, 0.5, 0.5), (4, 0.25, 0.25), (8, 0.125, 0.125), (16, 0.0625, 0.125), (32, 0.031, 0.125)]
    {
        let found = relative("c2050", Kernel::Stride(s), 4);
        assert!(found > lines * 0.9 && found < sectors * 1.1, "stride {s}: {found}");
    }
}

#[test]
fn large_strides_are_poor_on_every_card() {
    for card in simt::cards::all() {
        for s in [16, 32] {
            let found = relative(&card.key, Kernel::Stride(s), 4);
            assert!((0.02..0.18).contains(&found), "{}, stride {s}: {found}", card.key);
        }
    }
}

#[test]
fn cards_from_volta_on_lose_little_by_offset_and_all_by_stride() {
    for key in ["v100", "rtx3090", "a100-40", "a100-80", "h100", "h200"] {
        for s in [1, 8, 31] {
            let found = relative(key, Kernel::Offset(s), 4);
            assert!((0.88..1.0).contains(&found), "{key}, offset {s}: {found}");
        }
        near(relative(key, Kernel::Stride(4), 8) / relative(key, Kernel::Stride(2), 8), 0.5, 0.1);
    }
    // BPG and gpu-benches: a V100 gets about 0.9 of its aligned bandwidth at odd offsets, an eighth at stride 8.
    near(relative("v100", Kernel::Offset(1), 4), 0.9, 0.1);
    near(relative("v100", Kernel::Stride(8), 4), 0.125, 0.1);
}

#[test]
fn copies_reach_what_was_measured() {
    // Gpu-benches, `scale` in f64: GB/s, read and written.
    for (key, measured) in [("v100", 802.0), ("a100-40", 1381.0), ("a100-80", 1732.0)] {
        let card = find(key).unwrap();
        let bytes = 1 << 30;
        let time = LaunchTime::new(&counters(&card, Kernel::Copy, 8, bytes), &card);
        near(2.0 * bytes as f64 / time.seconds / 1e9, measured, 0.06);
    }
}
