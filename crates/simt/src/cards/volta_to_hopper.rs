//! The built-in cards from 7.0 on. [`known`](super::known) defines the words of the comments.

use super::card::Card;
use crate::coalescing::ComputeCapability;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Returns the constants that the cards from 7.0 on share.
fn volta(major: u8, minor: u8) -> Card {
    Card {
        warp_threads: 32,
        // Guide: four schedulers, one instruction per clock each; one wavefront of 32 banks per clock.
        issue_per_clock: 4.0,
        // Guide, throughput of arithmetic instructions: 64 lanes per clock.
        integer_per_clock: 2.0,
        wavefronts_per_clock: 1.0,
        // Records: fitted on an H200, see there; assumed for the others.
        l1_clocks: 46.5,
        integer_clocks: 3.04,
        straggler_ns: 80.7,
        block_clocks: 152.5,
        constant_clocks: 2.1,
        rewrite_sectors: 3.43,
        dram_turnaround: 0.067,
        sharpness: 3.35,
        // Records: fitted on an H200; assumed for the others.
        host_access_share: 0.935,
        // Published figures have no such part, see `unified`.
        fault_page_us: 0.0,
        fault_piece_us: 0.0,
        // Estimates.
        warp_overhead_ns: 200.0,
        host_link_latency_us: 10.0,
        launch_us: 3.0,
        dram_share: 0.92,
        dram_granule_bytes: 64,
        dram_page_bytes: 256,
        // Records: fitted on an H200, see there; assumed for the others.
        dram_line_weight: 0.275,
        dram_page_weight: 0.291,
        straddle_penalty: 0.039,
        phase_share: 1.0,
        dram_partitions: 0,
        ..Card::blank(ComputeCapability { major, minor })
    }
}

/// V100 with SXM2.
pub(super) fn v100() -> Card {
    Card {
        key: "v100".to_owned(),
        name: "Tesla V100-SXM2-32GB".to_owned(),
        source: "data sheet; latencies and PCIe 3 as measured by gpu-benches".to_owned(),
        calibration:
            "dram_share: copy of gpu-benches, 802 GB/s; what is fitted on the H200 is taken over from there; the \
                      rest assumed"
                .to_owned(),
        // Sheet: 80 multiprocessors, 1530 MHz, 32 GB HBM2 at 877 MHz on 4096 bits, 6 MiB of L2.
        multiprocessors: 80,
        clock_mhz: 1530.0,
        memory_bytes: 32 * GIB,
        dram_gb_per_s: 898.0,
        dram_bus_bits: 4096,
        l2_bytes: 6 * MIB,
        // Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018.
        l2_gb_per_s: 2155.0,
        // Gpu-benches.
        dram_latency_ns: 425.0,
        l2_latency_ns: 156.0,
        host_link_gb_per_s: 12.35,
        host_link_latency_us: 30.0,
        dram_share: 0.93,
        // HBM2 moves 32 bytes; that nothing in between asks for more is an estimate.
        dram_granule_bytes: 32,
        ..volta(7, 0)
    }
}

/// GeForce RTX 3090.
pub(super) fn rtx3090() -> Card {
    Card {
        key: "rtx3090".to_owned(),
        name: "NVIDIA GeForce RTX 3090".to_owned(),
        source: "data sheet; latencies, L2 and PCIe 4 estimated".to_owned(),
        calibration: "what is fitted on the H200 is taken over from there; the rest assumed".to_owned(),
        // Sheet: 82 multiprocessors, 1695 MHz, 24 GB GDDR6X at 19.5 GT/s on 384 bits, 6 MiB of L2.
        multiprocessors: 82,
        clock_mhz: 1695.0,
        memory_bytes: 24 * GIB,
        dram_gb_per_s: 936.0,
        dram_bus_bits: 384,
        l2_bytes: 6 * MIB,
        // Estimates.
        l2_gb_per_s: 2600.0,
        dram_latency_ns: 350.0,
        l2_latency_ns: 160.0,
        host_link_gb_per_s: 25.0,
        ..volta(8, 6)
    }
}

/// A100 with 40 GB and SXM4.
pub(super) fn a100_40() -> Card {
    Card {
        key: "a100-40".to_owned(),
        name: "NVIDIA A100-SXM4-40GB".to_owned(),
        source: "data sheet; latencies and L2 as measured by gpu-benches; PCIe 4 estimated".to_owned(),
        calibration:
            "dram_share: copy of gpu-benches, 1381 GB/s; what is fitted on the H200 is taken over from there; the \
                      rest assumed"
                .to_owned(),
        // Sheet: 108 multiprocessors, 1410 MHz, 40 GB HBM2 at 1215 MHz on 5120 bits, 40 MiB of L2.
        multiprocessors: 108,
        clock_mhz: 1410.0,
        memory_bytes: 40 * GIB,
        dram_gb_per_s: 1555.0,
        dram_bus_bits: 5120,
        l2_bytes: 40 * MIB,
        // Gpu-benches; its latency of DRAM is 289 to 400.
        l2_gb_per_s: 5400.0,
        dram_latency_ns: 350.0,
        l2_latency_ns: 150.0,
        // Estimate: 24 to 26 are common on PCIe 4 x16.
        host_link_gb_per_s: 25.0,
        dram_share: 0.92,
        ..volta(8, 0)
    }
}

/// A100 with 80 GB and SXM4.
pub(super) fn a100_80() -> Card {
    Card {
        key: "a100-80".to_owned(),
        name: "NVIDIA A100-SXM4-80GB".to_owned(),
        calibration:
            "dram_share: copy of gpu-benches, 1732 GB/s; what is fitted on the H200 is taken over from there; the \
                      rest assumed"
                .to_owned(),
        // Sheet: 80 GB HBM2e at 1593 MHz on 5120 bits.
        memory_bytes: 80 * GIB,
        dram_gb_per_s: 2039.0,
        dram_share: 0.885,
        // Gpu-benches: 85 GB/s with 3456 threads of 8 bytes in flight.
        dram_latency_ns: 325.0,
        ..a100_40()
    }
}

/// H100 with SXM5.
pub(super) fn h100() -> Card {
    Card {
        key: "h100".to_owned(),
        name: "NVIDIA H100 80GB HBM3".to_owned(),
        source: "data sheet; the rest taken over from the H200, which is the same chip".to_owned(),
        calibration: "taken over from the H200; nothing measured on this card".to_owned(),
        // Sheet: 80 GB HBM3 on 5120 bits, 50 MiB of L2.
        memory_bytes: 80 * GIB,
        dram_gb_per_s: 3352.0,
        dram_bus_bits: 5120,
        l2_bytes: 50 * MIB,
        ..h200()
    }
}

/// H200 with SXM5, the card that measurements in this repository are from.
pub(super) fn h200() -> Card {
    Card {
        key: "h200".to_owned(),
        name: "NVIDIA H200".to_owned(),
        source: "driver and records in docs/results/h200".to_owned(),
        calibration: "15 constants fitted together to 58 measured rows (crates/simt/src/model says which), those of the host \
                      link and of faults to rows of unified memory; latencies as published; the rest assumed"
            .to_owned(),
        // Records: what the driver says. The peak is two transfers a clock of 3201 MHz on 6016 bits.
        multiprocessors: 132,
        memory_bytes: 150_109_880_320,
        dram_gb_per_s: 4814.304,
        dram_bus_bits: 6016,
        l2_bytes: 60 * MIB,
        // MLPerf system description: 1980 MHz.
        clock_mhz: 1980.0,
        // Records, fitted: reads and writes together. Gpu-benches reads up to 34 MB with 9600.
        l2_gb_per_s: 6270.0,
        // Gpu-benches has 275: 123 GB/s with 4224 threads of 8 bytes in flight. The difference of 200 to L2 was chosen
        // between fits.
        dram_latency_ns: 300.0,
        l2_latency_ns: 100.0,
        // Measured on an H200: pinned memory to the device.
        host_link_gb_per_s: 55.4,
        // Records: on-demand rows of `unified`.
        fault_page_us: 4.6,
        fault_piece_us: 4.2,
        // Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024: shared memory,
        // L1 and L2 of an H100. Device memory is an estimate between its 479 clocks at a lower clock rate and 660.
        chain_clocks: [29.0, 40.7, 263.0, 600.0],
        // Records, fitted: see `calibration`. From kernel to kernel, when many are queued.
        launch_us: 0.517,
        dram_share: 0.912,
        warp_overhead_ns: 247.5,
        // Nsight Compute: bytes read from DRAM double when lanes are 64 bytes apart.
        dram_granule_bytes: 64,
        // Records: the distance beyond which distance costs little more (wide-strides.jsonl, up to 2 KiB).
        dram_page_bytes: 256,
        ..volta(9, 0)
    }
}
