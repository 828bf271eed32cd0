//! Launches: what is asked for, what comes back.

use std::time::Duration;

use super::context::Context;
use super::error::LaunchFailure;
use super::kernel::Kernel;
use super::program::Program;
use crate::coalescing::ComputeCapability;
use crate::memory::Memory;
use crate::observe::Observation;

/// What a kernel can see of the card that it runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
    /// What it is capable of.
    pub capability: ComputeCapability,
    /// Of its multiprocessors: cycles of `%clock64` a nanosecond of `%globaltimer`.
    pub clock_ghz: f64,
    /// Blocks of this launch that the card has room for at a time: so many can wait for each other. 0 counts as 1.
    pub resident_blocks: u64,
    /// Shared memory that a block can have, static and dynamic together.
    pub shared_bytes_per_block: u32,
}

/// A launch: what the host asks for.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Of the program that is launched.
    pub kernel: &'a Kernel,
    /// Blocks, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster, in x, y and z; only 1, 1, 1 is possible.
    pub cluster: [u32; 3],
    /// Shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// As [`Kernel::parameters`] lays them out, [`Kernel::parameter_bytes`] together.
    pub parameters: &'a [u8],
    /// Local memory of a thread beyond what the kernel itself declares, for recursion and calls through addresses.
    pub stack_bytes: u32,
    /// The card.
    pub machine: Machine,
    /// Threads of this computer to use; 0 counts as 1. One stays on the caller's thread.
    pub workers: usize,
    /// When a worker has executed so many warp instructions without one of its warps coming to its end, the launch ends with
    /// a fault: a loop without end cannot be told from a long one. None: never.
    pub instruction_limit: Option<u64>,
    /// When for so long no warp has come to its end and no barrier of a block was passed, the launch ends with a fault; ten
    /// times that where barriers are passed. None: never.
    pub patience: Option<Duration>,
    /// Whether all blocks run at once and may wait for each other: then `%envreg1` and `%envreg2` have the address of the
    /// grid's barrier.
    pub cooperative: bool,
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Instructions that warps issued.
    pub warp_instructions: u64,
    /// The same, counted for each thread whose guard let it take part.
    pub thread_instructions: u64,
    /// What `vprintf` and failed assertions printed, block after block.
    pub printed: Vec<u8>,
}

/// Executes a launch on a program whose variables are in `memory`, watched by `observation`.
///
/// # Errors
/// The launch is not possible, or something went wrong in the kernel: then the first block's, in the order of blocks,
/// of all faults that were found. What other blocks wrote by then stays written.
pub fn launch<O: Observation + Send + Sync>(
    program: &Program,
    memory: &Memory,
    launch: &Launch<'_>,
    observation: &mut O,
) -> Result<Executed, LaunchFailure> {
    let context = Context::new(program, memory, launch)?;
    super::worker::execute(&context, observation)
}
