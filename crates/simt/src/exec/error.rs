//! Errors of loading and launching a program.

use super::kernel::Kernel;
use super::request::Machine;
use crate::coalescing::ComputeCapability;
use crate::decode::DecodeError;
use crate::fault::{Fault, FaultKind};

/// An error in turning a module into a program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// An instruction that a kernel can reach is unknown to the simulator, or has an unsupported form.
    #[error("{error}, line {line}{} in `{function}`", place(source_line))]
    Instruction {
        /// What is wrong with it.
        error: DecodeError,
        /// Its line in the PTX.
        line: u32,
        /// Line in the source, such as "src/copy.rs:12:9", if the PTX gives it.
        source_line: Option<String>,
        /// Function that contains it.
        function: String,
    },
    /// A kernel calls a function that the module declares but does not define.
    #[error(
        "`{name}` is declared, but not defined: called on line {line} in `{function}`; link the module that defines it"
    )]
    UndefinedFunction {
        /// Its name.
        name: String,
        /// The line of the call.
        line: u32,
        /// Function that calls it.
        function: String,
    },
    /// The module declares a variable `.extern`, but does not define it.
    #[error(
        "the variable `{name}` is declared `.extern`, line {line}, but not defined; link the module that defines it"
    )]
    UndefinedVariable {
        /// Its name.
        name: String,
        /// The line of its declaration.
        line: u32,
    },
    /// A variable cannot be laid out.
    #[error("the variable `{name}`, line {line}: {what}")]
    Variable {
        /// Its name.
        name: String,
        /// The line of its declaration.
        line: u32,
        /// What is wrong with it.
        what: String,
    },
    /// A function cannot be laid out.
    #[error("the function `{name}`, line {line}: {what}")]
    Function {
        /// Its name.
        name: String,
        /// The line of its name.
        line: u32,
        /// What is wrong with it.
        what: String,
    },
    /// The device has too little memory for the module's variables.
    #[error("no memory for the variable `{name}` of {bytes} bytes: {what}")]
    Memory {
        /// Its name.
        name: String,
        /// Its size in bytes.
        bytes: u64,
        /// Reason, from the allocator.
        what: String,
    },
}

fn place(source_line: &Option<String>) -> String {
    source_line.as_ref().map_or_else(String::new, |place| format!(" ({place})"))
}

/// An error of a launch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchFailure {
    /// The block has no threads or too many.
    #[error("a block of {} x {} x {} threads is not possible: it must have 1 to {most} threads, at most 64 in z", block[0], block[1], block[2])]
    Block {
        /// Shape that was requested.
        block: [u32; 3],
        /// Most threads of a block.
        most: u32,
    },
    /// The grid has no blocks or too many.
    #[error("a grid of {} x {} x {} blocks is not possible: it must have 1 to 2147483647 blocks in x, and 1 to 65535 in y and in z", grid[0], grid[1], grid[2])]
    Grid {
        /// Shape that was requested.
        grid: [u32; 3],
    },
    /// The kernel requires another shape of block.
    #[error("a block of {} x {} x {} threads does not fit the kernel: its `.reqntid` requires {} x {} x {}", block[0], block[1], block[2], required[0], required[1], required[2])]
    RequiredBlock {
        /// Shape that was requested.
        block: [u32; 3],
        /// Shape that the kernel requires.
        required: [u32; 3],
    },
    /// The kernel belongs to another program.
    #[error("the kernel `{kernel}` belongs to another program than the one that is launched")]
    OtherProgram {
        /// Its name.
        kernel: String,
    },
    /// The launch cannot have clusters of this shape.
    #[error("clusters of {} x {} x {} blocks are not possible: {why}", cluster[0], cluster[1], cluster[2])]
    Cluster {
        /// Shape that was requested.
        cluster: [u32; 3],
        /// Reason.
        why: ClusterMisfit,
    },
    /// The parameters' size differs from what the kernel takes.
    #[error("the launch passes {given} bytes of parameters, but the kernel takes {wanted}")]
    Parameters {
        /// Bytes given.
        given: usize,
        /// Bytes that the kernel takes.
        wanted: u32,
    },
    /// The launch needs more shared memory than a block can have.
    #[error(
        "a block needs {bytes} bytes of shared memory, {dynamic} of them dynamic, but this card allows {limit}"
    )]
    SharedMemory {
        /// Static and dynamic shared memory in bytes.
        bytes: u64,
        /// Dynamic shared memory that the launch requests, in bytes.
        dynamic: u32,
        /// Most shared memory of a block in bytes.
        limit: u32,
    },
    /// The simulated device has too little memory for what the launch needs.
    #[error("no memory for {what}: {why}")]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// Reason, from the allocator.
        why: String,
    },
    /// The kernel faulted.
    #[error("{}", words(&fault.kind))]
    Fault {
        /// The fault.
        fault: Box<Fault>,
        /// Output up to the fault, block after block.
        printed: Vec<u8>,
    },
}

/// Why a launch cannot have clusters of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterMisfit {
    /// The card has no clusters of several blocks.
    #[error("this card, of compute capability {capability}, has none of several blocks; they begin at 9.0")]
    Capability {
        /// The card's compute capability.
        capability: ComputeCapability,
    },
    /// The cluster has no blocks or too many.
    #[error("a cluster has 1 to {most} blocks{}", if *most < 16 { ", or to 16 if the kernel allows sizes that are not portable" } else { "" })]
    Size {
        /// Most blocks of a cluster.
        most: u32,
    },
    /// The grid is not a multiple of the cluster.
    #[error("the grid of {} x {} x {} blocks is not a multiple of them", grid[0], grid[1], grid[2])]
    Grid {
        /// Shape of the grid.
        grid: [u32; 3],
    },
    /// The kernel requires another shape.
    #[error("the kernel's `.reqnctapercluster` requires {} x {} x {}", required[0], required[1], required[2])]
    Required {
        /// Shape that the kernel requires.
        required: [u32; 3],
    },
}

impl ClusterMisfit {
    /// Returns why a launch of a kernel with this grid cannot have clusters of a shape on a card; None if it can.
    pub fn of(kernel: &Kernel, grid: [u32; 3], cluster: [u32; 3], machine: &Machine) -> Option<Self> {
        let blocks = cluster.iter().fold(1u64, |product, length| product.saturating_mul(u64::from(*length)));
        if let Some(required) = kernel.required_cluster.filter(|required| *required != cluster) {
            return Some(Self::Required { required });
        }
        let most = machine.blocks_per_cluster.max(1);
        if blocks > 1 && most == 1 {
            return Some(Self::Capability { capability: machine.capability });
        }
        if blocks == 0 || blocks > u64::from(most) {
            return Some(Self::Size { most });
        }
        let divides = grid.iter().zip(cluster).all(|(grid, cluster)| grid.is_multiple_of(cluster));
        (!divides).then_some(Self::Grid { grid })
    }
}

/// Describes a fault in one clause; findings say more.
fn words(kind: &FaultKind) -> String {
    match kind {
        FaultKind::OutOfBounds { address, bytes, .. } => {
            format!("an access of {bytes} bytes at {address:#x}, which is out of bounds")
        }
        FaultKind::Misaligned { address, bytes, .. } => {
            format!("an access of {bytes} bytes at {address:#x}, which is misaligned")
        }
        FaultKind::ReadOnly { address, bytes } => {
            format!("a write of {bytes} bytes at {address:#x}, which is read-only")
        }
        FaultKind::Trap => "`trap` was executed: a panic in Rust".to_owned(),
        FaultKind::Breakpoint => "`brkpt` was executed without a debugger".to_owned(),
        FaultKind::AssertFailed => "an assertion failed".to_owned(),
        FaultKind::Deadlock { waiting } => format!("deadlock: {waiting}"),
        FaultKind::StackOverflow { wanted, limit } => {
            format!("a thread needs {wanted} bytes of stack, but has {limit}")
        }
        FaultKind::Endless { instructions, .. } => {
            format!("no warp has ended for {instructions} instructions: an endless loop, or a very long one")
        }
        FaultKind::Illegal(what) => what.clone(),
    }
}
