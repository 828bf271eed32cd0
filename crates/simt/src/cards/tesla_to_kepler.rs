//! The built-in cards of 1.x, 2.x and 3.x. [`known`](super::known) defines the words of the comments.

use super::card::Card;
use crate::coalescing::ComputeCapability;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

/// Returns the constants that all cards here share.
fn before_volta(capability: ComputeCapability) -> Card {
    Card {
        // Estimate.
        warp_overhead_ns: 100.0,
        // Not separate: the fitted constants include these costs.
        l1_clocks: 40.0,
        integer_clocks: 0.0,
        straggler_ns: 0.0,
        block_clocks: 0.0,
        constant_clocks: 1.0,
        rewrite_sectors: 0.0,
        // No page faults.
        fault_page_us: 0.0,
        fault_piece_us: 0.0,
        // Taken over from the H200.
        host_access_share: 0.935,
        dram_turnaround: 0.0,
        sharpness: 4.0,
        ..Card::blank(capability)
    }
}

/// Returns the constants that the cards of 1.x share.
fn tesla(minor: u8) -> Card {
    Card {
        warp_threads: 32,
        // Guide 5.0, 5.4.1: 8 cores, one instruction per warp every four clocks.
        issue_per_clock: 0.25,
        // All cores execute integers.
        integer_per_clock: 0.25,
        // Guide 5.0, F.3.3: a half-warp every two clocks.
        wavefronts_per_clock: 0.5,
        l2_bytes: 0,
        l2_gb_per_s: 0.0,
        // Guide 5.0, 5.2.3: 400 to 800 clocks; 600 at 1.3 GHz.
        dram_latency_ns: 460.0,
        l2_latency_ns: 0.0,
        host_link_latency_us: 30.0,
        launch_us: 7.0,
        // Transpose: a copy on a GTX 280 gets 96.9 of 141.7 GB/s. Taken over for the other two.
        dram_share: 0.7,
        // Guide 5.0, F.3.2: the smallest transaction. There is no cache, so DRAM sees all transactions.
        dram_granule_bytes: 32,
        dram_page_bytes: 1024,
        dram_line_weight: 0.0,
        // Taken over from 2.0.
        dram_page_weight: 0.03,
        straddle_penalty: 0.0,
        // Transpose: copying through shared memory over copying, on three cards 0.835, 0.883 and 0.884.
        phase_share: 0.87,
        calibration:
            "dram_share: copy of the GTX 280; phase_share: copies through shared memory on GTX 280, M2090 \
                      and K20X; dram_page_weight: taken over from M2090 and K20X; the rest assumed"
                .to_owned(),
        ..before_volta(ComputeCapability { major: 1, minor })
    }
}

/// Tesla C870.
pub(super) fn c870() -> Card {
    Card {
        key: "c870".to_owned(),
        name: "Tesla C870".to_owned(),
        source: "data sheet; pinned copies over PCIe 1 estimated".to_owned(),
        // Sheet: 128 cores, 8 per multiprocessor, 1350 MHz.
        multiprocessors: 16,
        clock_mhz: 1350.0,
        // Sheet: 1.5 GB GDDR3 at 1.6 GT/s on 384 bits.
        memory_bytes: GIB + GIB / 2,
        dram_gb_per_s: 76.8,
        dram_bus_bits: 384,
        // Transpose: the 8-series has 6.
        dram_partitions: 6,
        // Estimate: 80% of PCIe 1 x16.
        host_link_gb_per_s: 3.2,
        ..tesla(0)
    }
}

/// Tesla C1060.
pub(super) fn c1060() -> Card {
    Card {
        key: "c1060".to_owned(),
        name: "Tesla C1060".to_owned(),
        source: "data sheet; pinned copies over PCIe 2 estimated".to_owned(),
        // Sheet: 240 cores, 8 per multiprocessor, 1296 MHz.
        multiprocessors: 30,
        clock_mhz: 1296.0,
        // Sheet: 4 GB GDDR3 at 800 MHz on 512 bits.
        memory_bytes: 4 * GIB,
        dram_gb_per_s: 102.4,
        dram_bus_bits: 512,
        // Transpose: the 10-series has 8.
        dram_partitions: 8,
        // Estimate: 5.5 to 6 are common on PCIe 2 x16.
        host_link_gb_per_s: 5.7,
        ..tesla(3)
    }
}

/// GeForce GTX 280: the card of NVIDIA's paper on the transpose.
pub(super) fn gtx280() -> Card {
    Card {
        key: "gtx280".to_owned(),
        name: "GeForce GTX 280".to_owned(),
        // Sheet: 1 GB GDDR3 at 1107 MHz on 512 bits; otherwise the chip of the C1060.
        memory_bytes: GIB,
        dram_gb_per_s: 141.7,
        ..c1060()
    }
}

/// Returns the constants that the cards of 2.x and 3.x share.
fn fermi() -> Card {
    Card {
        warp_threads: 32,
        // Guide 5.0, F.4.1: two schedulers, each every second shader clock.
        issue_per_clock: 1.0,
        // All cores execute integers.
        integer_per_clock: 1.0,
        // Guide 5.0, F.4.3: a bank has 32 bits every two clocks.
        wavefronts_per_clock: 0.5,
        l2_bytes: 768 * KIB,
        // Guide 5.0, 5.2.3: 400 to 800 clocks; L2 estimated at half.
        dram_latency_ns: 500.0,
        l2_latency_ns: 250.0,
        host_link_gb_per_s: 5.7,
        host_link_latency_us: 30.0,
        launch_us: 5.0,
        // Transpose: a copy on an M2090 gets 125.2 of 177.6 GB/s.
        dram_share: 0.72,
        // 32 bytes, the L2 segment; an estimate for DRAM.
        dram_granule_bytes: 32,
        dram_page_bytes: 1024,
        dram_line_weight: 0.0,
        // Transpose: fitted to the padded and the diagonal tile of M2090 and K20X.
        dram_page_weight: 0.03,
        straddle_penalty: 0.0,
        phase_share: 0.87,
        dram_partitions: 0,
        calibration: "dram_share, l2_gb_per_s: copy and naive transpose of the M2090; phase_share: copies through \
                      shared memory on GTX 280, M2090 and K20X; dram_page_weight: tiled transposes of M2090 and \
                      K20X; the rest assumed"
            .to_owned(),
        ..before_volta(ComputeCapability { major: 2, minor: 0 })
    }
}

/// Tesla C2050.
pub(super) fn c2050() -> Card {
    Card {
        key: "c2050".to_owned(),
        name: "Tesla C2050".to_owned(),
        source: "data sheet; pinned copies over PCIe 2 estimated".to_owned(),
        // Sheet: 448 cores, 32 per multiprocessor, 1150 MHz.
        multiprocessors: 14,
        clock_mhz: 1150.0,
        // Sheet: 3 GB GDDR5 at 1500 MHz on 384 bits, without ECC.
        memory_bytes: 3 * GIB,
        dram_gb_per_s: 144.0,
        dram_bus_bits: 384,
        // Estimate: the M2090's, by the clock.
        l2_gb_per_s: 245.0,
        ..fermi()
    }
}

/// Tesla M2090.
pub(super) fn m2090() -> Card {
    Card {
        key: "m2090".to_owned(),
        name: "Tesla M2090".to_owned(),
        source: "data sheet; pinned copies over PCIe 2 estimated".to_owned(),
        // Sheet: 512 cores, 32 per multiprocessor, 1300 MHz.
        multiprocessors: 16,
        clock_mhz: 1300.0,
        // Sheet: 6 GB GDDR5 at 1850 MHz on 384 bits, without ECC.
        memory_bytes: 6 * GIB,
        dram_gb_per_s: 177.6,
        dram_bus_bits: 384,
        // Transpose: fitted to the naive one, 61.5 GB/s.
        l2_gb_per_s: 280.0,
        ..fermi()
    }
}

/// Tesla K20X.
pub(super) fn k20x() -> Card {
    Card {
        key: "k20x".to_owned(),
        name: "Tesla K20X".to_owned(),
        source: "data sheet; pinned copies over PCIe 2 estimated".to_owned(),
        compute_capability: ComputeCapability { major: 3, minor: 5 },
        // Sheet: 2688 cores, 192 per multiprocessor, 732 MHz.
        multiprocessors: 14,
        clock_mhz: 732.0,
        // Guide 5.0, F.5.1: four schedulers.
        issue_per_clock: 4.0,
        // Guide 5.0, 5.4.1: 160 lanes per clock, more than are issued.
        integer_per_clock: 4.0,
        // Guide 5.0, F.5.3: every clock.
        wavefronts_per_clock: 1.0,
        // Sheet: 6 GB GDDR5 at 2600 MHz on 384 bits.
        memory_bytes: 6 * GIB,
        dram_gb_per_s: 249.6,
        dram_bus_bits: 384,
        // Query.
        l2_bytes: MIB + MIB / 2,
        // Transpose: fitted to the naive one, 92.0 GB/s.
        l2_gb_per_s: 430.0,
        // Transpose: a copy gets 147.6 GB/s, with ECC on.
        dram_share: 0.6,
        // Estimates.
        dram_latency_ns: 350.0,
        l2_latency_ns: 200.0,
        calibration: "dram_share, l2_gb_per_s: copy and naive transpose of the K20X; phase_share: copies through \
                      shared memory on GTX 280, M2090 and K20X; dram_page_weight: tiled transposes of M2090 and \
                      K20X; the rest assumed"
            .to_owned(),
        ..fermi()
    }
}

/// Tesla K40c.
pub(super) fn k40c() -> Card {
    Card {
        key: "k40c".to_owned(),
        name: "Tesla K40c".to_owned(),
        source: "deviceQuery; pinned copies over PCIe 3 as measured elsewhere".to_owned(),
        // Query: 15 multiprocessors of 192 cores, 745 MHz.
        multiprocessors: 15,
        clock_mhz: 745.0,
        // Query: 12 GB at 3004 MHz on 384 bits, 1.5 MiB of L2.
        memory_bytes: 12 * GIB,
        dram_gb_per_s: 288.4,
        // Estimate: the K20X's, by clock and multiprocessors.
        l2_gb_per_s: 470.0,
        // Gpu-benches: PCIe 3 x16 from pinned memory.
        host_link_gb_per_s: 12.35,
        calibration: "taken over from the K20X; nothing measured on this card".to_owned(),
        ..k20x()
    }
}
