//! Devices and counters for tests.

use record::{Bound, Counted, DeviceInfo, Parts, counters::LaunchCounters};

/// An H200 as the driver describes it.
pub(crate) fn h200() -> DeviceInfo {
    DeviceInfo {
        ordinal: 0,
        name: "NVIDIA H200".to_string(),
        compute_capability: "9.0".to_string(),
        driver: "13.0".to_string(),
        memory_bytes: 150_754_820_096,
        l2_bytes: 60 << 20,
        multiprocessors: 132,
        max_threads_per_block: 1024,
        max_grid: i32::MAX as u32,
        max_grid_y: 65535,
        max_shared_per_block: 232_448,
        memory_clock_khz: 3_201_000,
        memory_bus_bits: 6144,
        card: None,
    }
}

/// A simulated C870.
pub(crate) fn c870() -> DeviceInfo {
    DeviceInfo {
        name: "Tesla C870 (modelled)".to_string(),
        compute_capability: "1.0".to_string(),
        memory_bytes: 1_610_612_736,
        l2_bytes: 0,
        multiprocessors: 16,
        max_threads_per_block: 512,
        max_grid: 65535,
        max_shared_per_block: 16384,
        memory_clock_khz: 0,
        memory_bus_bits: 0,
        card: Some("c870".to_string()),
        ..h200()
    }
}

/// The counters of a launch whose time is that of starting it.
pub(crate) fn counted(launch: LaunchCounters) -> Counted {
    let modelled_us = Parts { launch: 1.0, ..Parts::default() };
    Counted {
        launch,
        dram_bytes: 0,
        modelled_us,
        bound: Bound::Launch,
        estimates_us: None,
        lines: Vec::new(),
    }
}
