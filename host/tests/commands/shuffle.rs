//! Shuffles on a simulated card: every kind, type and width, each lane's value by the definition; and sums.

use crate::support::records::{number, records, refusal};
use std::collections::BTreeSet;

/// 1028 elements: the last warp has four.
const BYTES: &str = "4112";

#[test]
fn every_kind_type_and_width_verifies() {
    let records = records(&["shuffle", "--bytes", BYTES, "--width", "2,4,8,16,32", "--block", "64"]);
    let mut seen = BTreeSet::new();
    for record in &records {
        let kernel = record["kernel"].as_str().unwrap_or_default().to_string();
        if kernel.starts_with("shuffle_") {
            let (width, operand) = (number(record, "parameters.width"), number(record, "parameters.operand"));
            assert!(seen.insert((kernel, width as u32, operand as u32)), "{record}");
        }
    }
    for kind in ["idx", "up", "down", "xor", "wrap"] {
        for element in ["i32", "f32"] {
            for width in [2, 4, 8, 16, 32] {
                let kernel = format!("shuffle_{kind}_{element}");
                for operand in [1, width - 1] {
                    assert!(seen.contains(&(kernel.clone(), width, operand)), "{kernel} {width} {operand}");
                }
            }
        }
    }
}

#[test]
fn sums_verify_in_any_whole_warps() {
    let records = records(&["shuffle", "--bytes", BYTES, "--block", "32,96,1024", "--width", "32"]);
    let sums = |name: &str| {
        let of = records.iter().filter(|record| record["kernel"] == name);
        of.map(|record| number(record, "bytes.written") / 4.0).collect::<Vec<_>>()
    };
    assert_eq!(sums("reduce_warp_shuffle"), [33.0; 3]);
    assert_eq!(sums("reduce_warp_shared"), [33.0; 3]);
    assert_eq!(sums("reduce_block_shuffle"), [33.0, 11.0, 2.0]);
    assert_eq!(sums("reduce_block_shared"), [33.0, 11.0, 2.0]);
    assert_eq!(sums("reduce_vector"), [1.0; 3]);
    assert_eq!(sums("reduce_persistent"), [1.0; 3]);
}

#[test]
fn sums_by_shuffles_leave_shared_memory_alone() {
    let names = "reduce_warp_shuffle,reduce_warp_shared,reduce_block_shuffle,reduce_block_shared";
    let records = records(&["shuffle", "--kernel", names, "--bytes", "16KiB"]);
    let wavefronts: Vec<f64> = records
        .iter()
        .map(|record| {
            let total = &record["counters"]["total"];
            let of = |kind: &str| total[kind]["wavefronts"].as_f64().unwrap_or(0.0);
            of("shared_loads") + of("shared_stores")
        })
        .collect();
    assert_eq!(wavefronts.len(), 4);
    assert_eq!(wavefronts[0], 0.0);
    assert!(wavefronts[2] > 0.0 && wavefronts[2] < wavefronts[3] / 3.0, "{wavefronts:?}");
}

#[test]
fn a_width_that_is_no_power_of_two_is_refused() {
    for (width, says) in [
        ("3", "the nearest are 2 and 4"),
        ("1", "the nearest is 2"),
        ("64", "the nearest is 32"),
        ("0", "'0' is not a whole number"),
        ("-8", "'-8' is not a whole number"),
    ] {
        let error = refusal(&["shuffle", "--width", width]);
        assert!(error.contains(says), "{error}");
    }
    let error = refusal(&["shuffle", "--block", "48"]);
    assert!(error.contains("the nearest are 32 and 64"), "{error}");
}
