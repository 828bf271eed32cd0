//! Computes occupancy: how many blocks of a kernel are resident on a multiprocessor.

use super::limits::Limits;
use crate::coalescing::LANES;
use counters::{Limiter, Residency};

/// Resources of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Threads per block.
    pub threads: u32,
    /// Registers per thread; 0 if unknown, which limits nothing.
    pub registers: u32,
    /// Shared memory per block in bytes, static and dynamic together.
    pub shared_bytes: u32,
}

/// Why a block cannot run at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OccupancyError {
    /// Too many threads or none.
    #[error("a block of {0} threads is not possible: this card allows 1 to {1}")]
    Threads(u32, u32),
    /// Too many registers per thread, or for the block as a whole.
    #[error("{0} registers per thread do not fit: use fewer registers or smaller blocks")]
    Registers(u32),
    /// Too much shared memory.
    #[error("a block needs {0} bytes of shared memory, but this card has {1}")]
    SharedMemory(u32, u32),
}

/// Occupancy of one multiprocessor by a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Resident blocks.
    pub blocks: u32,
    /// Resident warps.
    pub warps: u32,
    /// The resource that limits the blocks.
    pub residency: Residency,
}

impl Occupancy {
    /// Computes the occupancy of blocks of this shape, as NVIDIA's calculator does.
    ///
    /// # Errors
    /// [`OccupancyError`] if not even one block fits.
    pub fn new(limits: &Limits, block: BlockShape) -> Result<Self, OccupancyError> {
        let BlockShape { threads, registers, shared_bytes } = block;
        if threads == 0 || threads > limits.threads_per_block {
            return Err(OccupancyError::Threads(threads, limits.threads_per_block));
        }
        if registers > limits.registers_per_thread {
            return Err(OccupancyError::Registers(registers));
        }
        if shared_bytes > limits.shared_bytes_per_block {
            return Err(OccupancyError::SharedMemory(shared_bytes, limits.shared_bytes_per_block));
        }
        let lanes = LANES as u32;
        let warps = threads.div_ceil(lanes);
        let by_warps = limits.warps / warps;
        let by_registers = (registers > 0).then(|| {
            if limits.registers_by_block {
                let warps = warps.next_multiple_of(limits.warp_unit);
                limits.registers / (warps * lanes * registers).next_multiple_of(limits.register_unit)
            } else {
                let warp = (registers * lanes).next_multiple_of(limits.register_unit);
                let resident = limits.registers / warp / limits.warp_unit * limits.warp_unit;
                resident / warps
            }
        });
        if by_registers == Some(0) {
            return Err(OccupancyError::Registers(registers));
        }
        let shared = (shared_bytes + limits.shared_reserved).next_multiple_of(limits.shared_unit);
        let by_shared_memory = (shared > 0).then(|| limits.shared_bytes / shared);
        let (blocks, limiter) = [
            (Some(by_warps), Limiter::Warps),
            (Some(limits.blocks), Limiter::Blocks),
            (by_registers, Limiter::Registers),
            (by_shared_memory, Limiter::SharedMemory),
        ]
        .into_iter()
        .filter_map(|(blocks, limiter)| Some((blocks?, limiter)))
        .min_by_key(|&(blocks, _)| blocks)
        .unwrap_or((0, Limiter::Warps));
        let residency = Residency {
            registers,
            shared_bytes,
            most_warps: limits.warps,
            by_warps,
            by_blocks: limits.blocks,
            by_registers,
            by_shared_memory,
            limiter,
        };
        Ok(Self { blocks, warps: blocks * warps, residency })
    }

    /// Returns the share of possible warps that is resident.
    pub fn share(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.residency.most_warps)
    }
}
