//! The number of blocks of a kernel that a multiprocessor holds at once.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The resource that limits the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limiter {
    /// Warps of the multiprocessor.
    Warps,
    /// Blocks of the multiprocessor.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Limiter::Warps => "warps",
            Limiter::Blocks => "blocks",
            Limiter::Registers => "registers",
            Limiter::SharedMemory => "shared memory",
        })
    }
}

/// The resources that a block takes of its multiprocessor, and the blocks that each resource would hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residency {
    /// Registers per thread, estimated from the PTX; 0 where unknown.
    pub registers: u32,
    /// Bytes of shared memory per block, static and dynamic together.
    pub shared_bytes: u32,
    /// Warps that a multiprocessor can hold.
    pub most_warps: u32,
    /// Blocks that its warps would hold.
    pub by_warps: u32,
    /// Blocks that it can hold of any kernel.
    pub by_blocks: u32,
    /// Blocks that its registers would hold; `None` where the kernel's are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_registers: Option<u32>,
    /// Blocks that its shared memory would hold; `None` where a block takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_shared_memory: Option<u32>,
    /// The resource that holds fewest; of equals the first in the order of [`Limiter`].
    pub limiter: Limiter,
}
