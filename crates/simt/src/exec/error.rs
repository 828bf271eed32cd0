//! Why a program cannot be loaded or launched, and what ended a launch.

use crate::decode::DecodeError;
use crate::fault::{Fault, FaultKind};

/// Why a module cannot become a program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The simulator does not know an instruction that a kernel can reach, or cannot do it so.
    #[error("{error}, line {line}{} in `{function}`", place(source_line))]
    Instruction {
        /// What is wrong with it.
        error: DecodeError,
        /// Its line in the PTX.
        line: u32,
        /// Its place in the source, as in "src/copy.rs:12:9", where the PTX says so.
        source_line: Option<String>,
        /// The function that it stands in.
        function: String,
    },
    /// A kernel calls a function that only another module could define.
    #[error(
        "`{name}` is declared, but not defined: called on line {line} in `{function}`; link the module that defines it"
    )]
    UndefinedFunction {
        /// Its name.
        name: String,
        /// The line of the call.
        line: u32,
        /// Who calls it.
        function: String,
    },
    /// A variable that only another module could define.
    #[error(
        "the variable `{name}` is declared `.extern`, line {line}, but not defined; link the module that defines it"
    )]
    UndefinedVariable {
        /// Its name.
        name: String,
        /// The line of its declaration.
        line: u32,
    },
    /// A variable that cannot be laid out.
    #[error("the variable `{name}`, line {line}: {what}")]
    Variable {
        /// Its name.
        name: String,
        /// The line of its declaration.
        line: u32,
        /// What is wrong with it.
        what: String,
    },
    /// A function that cannot be laid out.
    #[error("the function `{name}`, line {line}: {what}")]
    Function {
        /// Its name.
        name: String,
        /// The line of its name.
        line: u32,
        /// What is wrong with it.
        what: String,
    },
    /// There is no room for the module's variables.
    #[error("no memory for the variable `{name}` of {bytes} bytes: {what}")]
    Memory {
        /// Its name.
        name: String,
        /// Its size.
        bytes: u64,
        /// Why not.
        what: String,
    },
}

fn place(source_line: &Option<String>) -> String {
    source_line.as_ref().map_or_else(String::new, |place| format!(" ({place})"))
}

/// Why a launch did not end well.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchFailure {
    /// A block of no threads, or of more than can be.
    #[error("a block of {} x {} x {} threads: at most {most} are possible, 64 of them in z, and not 0", block[0], block[1], block[2])]
    Block {
        /// As asked for.
        block: [u32; 3],
        /// The most threads.
        most: u32,
    },
    /// A grid of no blocks, or of more than can be.
    #[error("a grid of {} x {} x {} blocks: at most 2147483647 x 65535 x 65535 are possible, and not 0", grid[0], grid[1], grid[2])]
    Grid {
        /// As asked for.
        grid: [u32; 3],
    },
    /// The kernel is compiled for one shape of block only.
    #[error("a block of {} x {} x {} threads: `.reqntid` of the kernel asks for {} x {} x {}", block[0], block[1], block[2], required[0], required[1], required[2])]
    RequiredBlock {
        /// As asked for.
        block: [u32; 3],
        /// What the kernel wants.
        required: [u32; 3],
    },
    /// The kernel is not one of the program's.
    #[error("the kernel `{kernel}` belongs to another program than the one that is launched")]
    OtherProgram {
        /// Its name.
        kernel: String,
    },
    /// Clusters of several blocks.
    #[error("clusters of {} x {} x {} blocks: the simulator knows clusters of one block only", cluster[0], cluster[1], cluster[2])]
    Cluster {
        /// As asked for.
        cluster: [u32; 3],
    },
    /// The parameters' bytes are not as many as the kernel takes.
    #[error("{given} bytes of parameters: the kernel takes {wanted}")]
    Parameters {
        /// As given.
        given: usize,
        /// What the kernel takes.
        wanted: u32,
    },
    /// More shared memory than a block can have.
    #[error("{bytes} bytes of shared memory, {dynamic} of them dynamic: a block can have {limit}")]
    SharedMemory {
        /// Static and dynamic together.
        bytes: u64,
        /// What the launch asked for.
        dynamic: u32,
        /// What there is.
        limit: u32,
    },
    /// The simulator's own memory has no room for what the launch needs.
    #[error("no memory for {what}: {why}")]
    Memory {
        /// For what.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// Something went wrong in the kernel.
    #[error("{}", words(&fault.kind))]
    Fault {
        /// What, where and who.
        fault: Box<Fault>,
        /// What was printed by then, block after block.
        printed: Vec<u8>,
    },
}

/// In short; whoever reports findings says more.
fn words(kind: &FaultKind) -> String {
    match kind {
        FaultKind::OutOfBounds { address, bytes, .. } => {
            format!("an access of {bytes} bytes at {address:#x}, which is out of bounds")
        }
        FaultKind::Misaligned { address, bytes, .. } => {
            format!("an access of {bytes} bytes at {address:#x}, which is misaligned")
        }
        FaultKind::ReadOnly { address, bytes } => {
            format!("a write of {bytes} bytes at {address:#x}, which is only read")
        }
        FaultKind::Trap => "`trap` was executed: a panic in Rust".to_owned(),
        FaultKind::Breakpoint => "`brkpt` was executed without a debugger".to_owned(),
        FaultKind::AssertFailed => "an assertion failed".to_owned(),
        FaultKind::Deadlock { waiting } => format!("deadlock: {waiting}"),
        FaultKind::StackOverflow { wanted, limit } => {
            format!("{wanted} bytes of stack are wanted, and a thread has {limit}")
        }
        FaultKind::Endless { instructions, .. } => {
            format!(
                "no warp came to its end for {instructions} instructions: a loop without end, or a very long one"
            )
        }
        FaultKind::Illegal(what) => what.clone(),
    }
}
