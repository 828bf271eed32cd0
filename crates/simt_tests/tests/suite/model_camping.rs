//! Partition camping in a transpose by tiles of 32 x 32 floats, before Fermi.

use simt::internals::model::PartitionTraffic;

/// In which order blocks take tiles.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Cartesian,
    Diagonal,
}

/// Efficiency of the transpose of `n` x `n` floats against a copy by the same tiles, with `window` blocks at a time, the
/// output `padding` floats wider than the input, and each stored row of a tile moving `store_factor` times its bytes.
fn efficiency(n: u64, partitions: u32, window: usize, order: Order, padding: u64, store_factor: f64) -> f64 {
    let tiles = n / 32;
    let sum = |transposed: bool, order: Order| {
        let (mut reads, mut writes) = (PartitionTraffic::new(partitions), PartitionTraffic::new(partitions));
        for (block, (bx, by)) in (0..tiles).flat_map(|by| (0..tiles).map(move |bx| (bx, by))).enumerate() {
            let (x, y) = if order == Order::Diagonal { ((bx + by) % tiles, bx) } else { (bx, by) };
            let (to_x, to_y) = if transposed { (y, x) } else { (x, y) };
            for row in 0..32 {
                reads.add(((y * 32 + row) * n + x * 32) * 4, 128);
                writes.add(((to_y * 32 + row) * (n + padding) + to_x * 32) * 4, 128);
            }
            if (block + 1) % window == 0 {
                reads.end_window();
                writes.end_window();
            }
        }
        reads.end_window();
        writes.end_window();
        (reads.camping(), writes.camping())
    };
    let copy = sum(false, Order::Cartesian);
    let transpose = sum(true, order);
    (copy.0 + copy.1) / (transpose.0 + store_factor * transpose.1)
}

#[track_caller]
fn between(value: f64, least: f64, most: f64) {
    assert!(value >= least && value <= most, "{value} is not between {least} and {most}");
}

#[test]
fn gtx280_camps_at_2048() {
    for window in [30, 60, 90, 120] {
        between(efficiency(2048, 8, window, Order::Cartesian, 0, 1.0), 0.22, 0.30);
        between(efficiency(2048, 8, window, Order::Cartesian, 0, 8.0), 0.031, 0.043);
        between(efficiency(2048, 8, window, Order::Diagonal, 0, 1.0), 0.97, 1.05);
        between(efficiency(2048, 8, window, Order::Cartesian, 64, 1.0), 0.94, 1.12);
    }
}

#[test]
fn gtx280_does_not_camp_where_rows_are_an_odd_number_of_partitions() {
    for window in [30, 90] {
        between(efficiency(2112, 8, window, Order::Cartesian, 0, 1.0), 0.9, 1.1);
    }
    between(efficiency(1024, 8, 90, Order::Cartesian, 0, 1.0), 0.28, 0.40);
}

#[test]
fn c870_camps_by_other_sizes() {
    between(efficiency(2048, 6, 48, Order::Cartesian, 0, 1.0), 0.6, 0.8);
    between(efficiency(1920, 6, 48, Order::Cartesian, 0, 1.0), 0.28, 0.42);
}

#[test]
fn camping_is_between_one_and_all_partitions() {
    let mut one = PartitionTraffic::new(8);
    assert_eq!(one.camping(), 1.0);
    for row in 0..100 {
        one.add(row * 2048, 128);
    }
    assert_eq!(one.camping(), 1.0, "the window has not ended");
    one.end_window();
    assert_eq!(one.camping(), 8.0);
    let mut even = PartitionTraffic::new(8);
    for piece in 0..64 {
        even.add(piece * 128, 128);
    }
    even.end_window();
    assert_eq!(even.camping(), 1.0);
    let mut two = PartitionTraffic::new(6);
    two.add(0, 64);
    two.add(256, 64);
    two.end_window();
    assert_eq!(two.camping(), 3.0);
    let mut hashed = PartitionTraffic::new(0);
    hashed.add(0, 128);
    hashed.end_window();
    assert_eq!(hashed.camping(), 1.0);
}
