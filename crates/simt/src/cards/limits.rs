//! Limits of a multiprocessor, by compute capability.

use crate::coalescing::ComputeCapability;

/// Limits of one multiprocessor, of one block and of grids.
///
/// From the tables "Technical Specifications per Compute Capability" of the CUDA C Programming Guide, and for the units
/// of allocation from the data of NVIDIA's occupancy calculator. 8.8, 10.1, 10.3, 11.0 and 12.1 are assumed to equal
/// their nearest relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most resident warps.
    pub warps: u32,
    /// Most resident blocks.
    pub blocks: u32,
    /// Number of 32-bit registers.
    pub registers: u32,
    /// Unit of register allocation: per block on 1.x, per warp later.
    pub(crate) register_unit: u32,
    /// True if registers are allocated per block, as on 1.x.
    pub(crate) registers_by_block: bool,
    /// Most registers per thread.
    pub registers_per_thread: u32,
    /// Unit of warp allocation.
    pub(crate) warp_unit: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Most shared memory per block in bytes, with the opt-in if there is one.
    pub shared_bytes_per_block: u32,
    /// Unit of shared-memory allocation in bytes.
    pub shared_unit: u32,
    /// Shared memory in bytes that the system reserves for each block.
    pub shared_reserved: u32,
    /// Most threads per block.
    pub threads_per_block: u32,
    /// Most grids that the card executes at once.
    pub grids: u32,
}

impl Limits {
    /// Returns the limits of a compute capability.
    pub fn of(capability: ComputeCapability) -> Self {
        let tesla = Self {
            warps: 24,
            blocks: 8,
            registers: 8 << 10,
            register_unit: 256,
            registers_by_block: true,
            registers_per_thread: 124,
            warp_unit: 2,
            shared_bytes: 16 << 10,
            shared_bytes_per_block: 16 << 10,
            shared_unit: 512,
            shared_reserved: 0,
            threads_per_block: 512,
            grids: 1,
        };
        let fermi = Self {
            warps: 48,
            registers: 32 << 10,
            register_unit: 64,
            registers_by_block: false,
            registers_per_thread: 63,
            shared_bytes: 48 << 10,
            shared_bytes_per_block: 48 << 10,
            shared_unit: 128,
            threads_per_block: 1024,
            grids: 16,
            ..tesla
        };
        let kepler = Self {
            warps: 64,
            blocks: 16,
            registers: 64 << 10,
            register_unit: 256,
            registers_per_thread: 255,
            warp_unit: 4,
            shared_unit: 256,
            grids: 32,
            ..fermi
        };
        let maxwell = Self { blocks: 32, shared_bytes: 64 << 10, ..kepler };
        let volta = Self { shared_bytes: 96 << 10, shared_bytes_per_block: 96 << 10, grids: 128, ..maxwell };
        let ampere = Self {
            shared_bytes: 164 << 10,
            shared_bytes_per_block: 163 << 10,
            shared_unit: 128,
            shared_reserved: 1 << 10,
            ..volta
        };
        let consumer = Self {
            warps: 48,
            blocks: 16,
            shared_bytes: 100 << 10,
            shared_bytes_per_block: 99 << 10,
            ..ampere
        };
        let hopper = Self { shared_bytes: 228 << 10, shared_bytes_per_block: 227 << 10, ..ampere };
        match (capability.major, capability.minor) {
            (1, 0 | 1) => tesla,
            (1, _) => Self { warps: 32, registers: 16 << 10, register_unit: 512, ..tesla },
            (2, _) => fermi,
            (3, 0) => Self { registers_per_thread: 63, grids: 16, ..kepler },
            (3, 2) => Self { grids: 4, ..kepler },
            (3, 7) => Self { registers: 128 << 10, shared_bytes: 112 << 10, ..kepler },
            (3, _) => kepler,
            (5, 2) | (6, 1) => Self { shared_bytes: 96 << 10, ..maxwell },
            (6, 0) => Self { warp_unit: 2, grids: 128, ..maxwell },
            (5, 3) | (6, 2) => Self { grids: 16, ..maxwell },
            (5 | 6, _) => maxwell,
            (7, 5) => Self {
                warps: 32,
                blocks: 16,
                shared_bytes: 64 << 10,
                shared_bytes_per_block: 64 << 10,
                ..volta
            },
            (7, 2) => Self { grids: 16, ..volta },
            (7, _) => volta,
            (8, 0) => ampere,
            (8, 7 | 8) => Self { warps: 48, blocks: 16, ..ampere },
            (8, 9) => Self { blocks: 24, ..consumer },
            (8, _) => consumer,
            (9 | 10, _) => hopper,
            (11, _) => Self { warps: 48, blocks: 24, ..hopper },
            _ => Self { blocks: 24, ..consumer },
        }
    }
}
