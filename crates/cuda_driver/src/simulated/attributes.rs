//! A device's attributes, as far as the card's description and its compute capability determine them.
//!
//! Attributes that nothing here depends on (textures, sharing between processes, ...) have the card's value if it is
//! known, or 0 for what the simulated driver cannot do. An attribute that is not in the list returns
//! `CUDA_ERROR_INVALID_VALUE`.

use std::ffi::c_int;

use simt::cards::Card;
use simt::model::unified;

use super::codes::{INVALID_VALUE, Outcome};

/// Most blocks of a grid in x before 3.0, and in y and z always.
const SHORT_GRID: u32 = 65_535;

/// Constant memory of a module, in bytes.
pub(super) const CONSTANT_BYTES: u32 = 64 << 10;

/// Shared memory of a block without opting in, in bytes.
pub(super) const SHARED_WITHOUT_OPTIN: u32 = 48 << 10;

/// Returns the most threads of a block in x, y and z.
pub(super) fn most_threads(card: &Card) -> [u32; 3] {
    let most = card.limits().threads_per_block;
    [most, most, 64]
}

/// Returns the most blocks of a grid in x, y and z.
pub(super) fn most_blocks(card: &Card) -> [u32; 3] {
    match card.compute_capability.major {
        1 => [SHORT_GRID, SHORT_GRID, 1],
        2 => [SHORT_GRID; 3],
        _ => [i32::MAX as u32, SHORT_GRID, SHORT_GRID],
    }
}

/// Returns the shared memory of a block that has not opted in to more, in bytes.
pub(super) fn shared_without_optin(card: &Card) -> u32 {
    card.limits().shared_bytes_per_block.min(SHARED_WITHOUT_OPTIN)
}

/// Returns the memory's clock in kHz: two transfers per clock over the bus give the card's peak bandwidth.
fn memory_clock_khz(card: &Card) -> f64 {
    card.dram_gb_per_s * 1e9 / (f64::from(card.dram_bus_bits) / 8.0) / 2.0 / 1e3
}

/// Returns the attribute of this number, for the card on bus `slot`, counted from 0.
pub(super) fn of(card: &Card, slot: usize, attribute: c_int) -> Outcome<c_int> {
    let capability = card.compute_capability;
    let from = |major, minor| c_int::from(capability.at_least(major, minor));
    let limits = card.limits();
    let [block_x, block_y, block_z] = most_threads(card);
    let [grid_x, grid_y, grid_z] = most_blocks(card);
    let count = |value: u32| value as c_int;
    Ok(match attribute {
        1 => count(limits.threads_per_block),
        2 => count(block_x),
        3 => count(block_y),
        4 => count(block_z),
        5 => count(grid_x),
        6 => count(grid_y),
        7 => count(grid_z),
        8 => count(shared_without_optin(card)),
        9 => count(CONSTANT_BYTES),
        10 => count(card.warp_threads),
        // Pitch of a copy in bytes: the largest value.
        11 => c_int::MAX,
        12 => count(limits.registers.min(64 << 10)),
        13 => (card.clock_mhz * 1e3).round() as c_int,
        // Textures: alignment, and that of the pitch.
        14 => 512,
        51 => 32,
        // Copies overlap with kernels; copy engines, one per direction.
        15 => from(1, 1),
        40 => {
            if capability.at_least(2, 0) {
                2
            } else {
                from(1, 1)
            }
        }
        16 => count(card.multiprocessors),
        // No limit on a kernel's time; a discrete card; host memory can be mapped.
        17 | 18 => 0,
        19 => 1,
        // Compute mode: every process may use the device.
        20 => 0,
        // Textures and surfaces, which are not simulated: no extent.
        21..=30 | 42..=49 | 52..=74 | 77 => 0,
        31 => from(2, 0),
        // No ECC; not the Windows TCC driver.
        32 | 35 => 0,
        33 => slot as c_int + 1,
        34 | 50 => 0,
        36 => memory_clock_khz(card).round() as c_int,
        37 => count(card.dram_bus_bits),
        38 => c_int::try_from(card.l2_bytes).unwrap_or(c_int::MAX),
        39 => count(limits.warps * card.warp_threads),
        41 => from(2, 0),
        75 => c_int::from(capability.major),
        76 => c_int::from(capability.minor),
        78 => from(3, 5),
        // Global and local memory in L1: Kepler's L1 serves local memory alone.
        79 => c_int::from(capability.major != 1 && capability.major != 3),
        80 => from(2, 0),
        81 => count(limits.shared_bytes),
        82 => count(limits.registers),
        83 => from(3, 0),
        84 => 0,
        85 => slot as c_int,
        // Atomics on host memory over the link, which PCIe lacks.
        86 => 0,
        87 => single_to_double(card),
        // No access to pageable host memory.
        88 | 100 | 101 => 0,
        89 => c_int::from(unified::faults(capability)),
        90 => from(6, 0),
        // Registered host memory has the host's address on the device too.
        91 => 1,
        // Stream memory operations, cooperation between devices, remote writes, virtual memory management: not
        // supported.
        92..=94 | 96 | 98 | 102..=105 | 107 | 110 | 112 | 114 | 116..=119 => 0,
        95 => from(6, 0),
        97 => count(limits.shared_bytes_per_block),
        99 => 1,
        106 => count(limits.blocks),
        // Part of L2 can be set aside for persisting lines, which has no effect here.
        108 | 109 => 0,
        111 => count(limits.shared_reserved),
        113 | 115 => 1,
        // Clusters of several blocks.
        120 => from(9, 0),
        // Tensor maps.
        127 => from(9, 0),
        // Overlapping launches (which have no effect), confidential computing, fabrics, NUMA.
        121..=126 | 128..=135 => 0,
        _ => return Err(INVALID_VALUE),
    })
}

/// Returns the ratio of single- to double-precision throughput, by capability (the guide's table of arithmetic
/// throughput).
fn single_to_double(card: &Card) -> c_int {
    match (card.compute_capability.major, card.compute_capability.minor) {
        (1, _) => 8,
        (2, 0) | (6, 0) | (7, 0 | 2) | (8, 0) | (9, _) | (10, 0) => 2,
        (2, _) => 12,
        (3, 5 | 7) => 3,
        (3, _) => 24,
        (5..=7, _) => 32,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(key: &str, number: c_int) -> c_int {
        of(&simt::cards::find(key).expect("a card"), 0, number).expect("an attribute")
    }

    #[test]
    fn the_peak_can_be_computed_from_clock_and_bus() {
        for card in simt::cards::all() {
            let (clock, bus) = (of(&card, 0, 36).expect("clock"), of(&card, 0, 37).expect("bus"));
            let peak = 2.0 * f64::from(clock) * 1e3 * f64::from(bus / 8) / 1e9;
            assert!((peak / card.dram_gb_per_s - 1.0).abs() < 1e-6, "{}: {peak}", card.key);
        }
    }

    #[test]
    fn limits_go_by_the_capability() {
        assert_eq!((attribute("c870", 1), attribute("c870", 5), attribute("c870", 7)), (512, 65_535, 1));
        assert_eq!(
            (attribute("m2090", 1), attribute("m2090", 5), attribute("m2090", 7)),
            (1024, 65_535, 65_535)
        );
        assert_eq!((attribute("k40c", 5), attribute("h200", 5)), (i32::MAX, i32::MAX));
        assert_eq!(
            (attribute("h200", 8), attribute("h200", 97), attribute("h200", 111)),
            (48 << 10, 227 << 10, 1 << 10)
        );
        assert_eq!((attribute("c870", 8), attribute("c870", 97)), (16 << 10, 16 << 10));
        assert_eq!((attribute("h200", 12), attribute("h200", 82)), (65_536, 65_536));
        assert_eq!((attribute("k40c", 83), attribute("k40c", 89), attribute("v100", 89)), (1, 0, 1));
    }

    #[test]
    fn every_attribute_of_cust_is_answered_and_no_other() {
        let card = simt::cards::find("h200").expect("a card");
        for number in 1..=135 {
            assert!(of(&card, 0, number).is_ok(), "{number}");
        }
        for number in [-1, 0, 136, 9999] {
            assert_eq!(of(&card, 0, number), Err(INVALID_VALUE), "{number}");
        }
    }
}
