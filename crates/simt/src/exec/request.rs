//! A launch as the host requests it, and its result.

use std::time::Duration;

use super::kernel::Kernel;
use crate::coalescing::ComputeCapability;

/// Properties of the card that a kernel can observe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Compute capability.
    pub capability: ComputeCapability,
    /// Clock of the multiprocessors: cycles of `%clock64` per nanosecond of `%globaltimer`.
    pub clock_ghz: f64,
    /// Blocks of this launch that are resident on the card at a time, and so can wait for each other. 0 counts as 1.
    pub resident_blocks: u64,
    /// Most shared memory of a block in bytes, static and dynamic together.
    pub shared_bytes_per_block: u32,
    /// Most blocks of a cluster: 8 from compute capability 9.0 on, or 16 if the kernel may have clusters of a size that is not
    /// portable; 1 on cards without clusters.
    pub blocks_per_cluster: u32,
}

/// A launch of a kernel, as the host requests it.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Kernel of the program to launch.
    pub kernel: &'a Kernel,
    /// Blocks of the grid, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster, in x, y and z; None for what the kernel requires, else clusters of one block.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes, beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Parameters, laid out by [`Kernel::parameters`] in [`Kernel::parameter_bytes`].
    pub parameters: &'a [u8],
    /// Local memory per thread in bytes beyond what the kernel itself declares, for recursion and indirect calls.
    pub stack_bytes: u32,
    /// Card that the launch runs on.
    pub machine: Machine,
    /// Host threads to use, the caller's included; 0 counts as 1.
    pub workers: usize,
    /// Limit in warp instructions that a worker executes without one of its warps ending. Beyond it the launch fails
    /// with [`FaultKind::Endless`](crate::fault::FaultKind::Endless), since an endless loop cannot be told from a long
    /// one. None for no limit.
    pub instruction_limit: Option<u64>,
    /// Limit on the time without progress: no warp ends and no block passes a barrier. While only barriers are passed,
    /// ten times as long. Beyond it the launch fails with [`FaultKind::Endless`](crate::fault::FaultKind::Endless).
    /// None for no limit.
    pub patience: Option<Duration>,
    /// True if all blocks are resident together and may wait for each other. `%envreg1` and `%envreg2` then hold the
    /// address of the grid's barrier.
    pub cooperative: bool,
}

impl Launch<'_> {
    /// Returns the blocks of a cluster in x, y and z, where the launch or the kernel states them.
    pub(super) fn explicit_cluster(&self) -> Option<[u32; 3]> {
        self.cluster.or(self.kernel.required_cluster)
    }

    /// Returns the number of blocks of a cluster, 1 where nothing states it.
    pub fn cluster_size(&self) -> u64 {
        self.explicit_cluster().map_or(1, |shape| shape.iter().map(|blocks| u64::from(*blocks)).product())
    }
}

/// Result of a launch that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Instructions that warps issued.
    pub warp_instructions: u64,
    /// The same, counted once for each thread whose guard is true.
    pub thread_instructions: u64,
    /// Output of `vprintf`, block after block.
    pub printed: Vec<u8>,
}
