//! Latencies, the memory mountain, bytes in flight and banks on a simulated H200.

use crate::support::records::{number, records};
use serde_json::Value;

/// The figure of a chase in ns per load.
fn ns(record: &Value) -> f64 {
    number(record, "ns_per_operation")
}

#[test]
fn small_chases_end_where_they_must() {
    let records = records(&["latency", "--small"]);
    let kernels: Vec<&str> =
        records.iter().map(|record| record["kernel"].as_str().unwrap_or_default()).collect();
    assert_eq!(kernels, ["chase_shared", "chase_constant", "chase_cached", "chase_l2", "chase_each"]);
    for record in &records {
        assert_eq!(record["verified"], true, "{record}");
        assert_eq!(record["operations"]["kind"], "load", "{record}");
        // A simulated card has no clock to read cycles from.
        assert!(record["observed"]["cycles"].is_null(), "{record}");
    }
}

#[test]
fn a_chase_takes_the_latency_of_its_level() {
    let of = |kernel: &str, bytes: &str| {
        let records = records(&["latency", "--kernel", kernel, "--bytes", bytes]);
        (records.len(), ns(&records[0]))
    };
    let clocks = |clocks: f64| clocks / 1.98;
    let near = |(rows, found): (usize, f64), expected: f64| {
        assert!(rows == 1 && (found / expected - 1.0).abs() < 0.15, "{found}, not {expected}");
    };
    near(of("chase_cached", "4KiB"), clocks(32.0));
    near(of("chase_cached", "1MiB"), clocks(275.0));
    near(of("chase_l2", "4KiB"), clocks(275.0));
    near(of("chase_l2", "128MiB"), clocks(655.0));
}

#[test]
fn wavefronts_follow_the_rule_of_banks() {
    let gcd = |stride: u64| if stride == 0 { 1 } else { 1 << stride.trailing_zeros().min(5) };
    let records = records(&["banks", "--small", "--range", "0..=33"]);
    assert_eq!(records.len(), 3 * 34);
    for record in &records {
        let (stride, width) =
            (number(record, "parameters.stride") as u64, number(record, "parameters.width") as u64);
        let loads = &record["counters"]["total"]["shared_loads"];
        let per = loads["wavefronts"].as_f64().unwrap_or(0.0) / loads["requests"].as_f64().unwrap_or(1.0);
        // Vectors of w words go in w parts of 32 / w lanes: of these, lanes whose distance is a multiple of 32 / w vectors share
        // banks.
        let words = width / 4;
        let lanes = 32 / words;
        let conflicts = if stride == 0 { 1 } else { gcd(stride).min(lanes) };
        // Where all lanes read the same words, two parts are served as one.
        let parts = if stride == 0 { words.div_ceil(2) } else { words };
        assert_eq!(per, (parts * conflicts) as f64, "stride {stride}, {width} bytes");
        assert_eq!(record["verified"], true, "{record}");
    }
}

#[test]
fn bandwidth_falls_along_the_slope_and_rises_with_bytes_in_flight() {
    let rates = |arguments: &[&str]| -> Vec<f64> {
        let records = records(arguments);
        records.iter().map(|record| number(record, "gb_per_s")).collect()
    };
    let slope = rates(&["mountain", "--bytes", "16MiB", "--range", "1,2,8"]);
    // Half of each sector, from a stride of 2 on.
    assert!(slope[0] > 1.5 * slope[1] && slope[1] >= 0.95 * slope[2], "{slope:?}");
    let rising = rates(&["occupancy", "--kernel", "in_flight_1", "--bytes", "16MiB"]);
    // Beyond the knee it stays.
    assert!(rising.windows(2).all(|pair| pair[1] > 0.95 * pair[0]), "{rising:?}");
    assert!(rising[rising.len() - 1] > 4.0 * rising[0], "{rising:?}");
}
