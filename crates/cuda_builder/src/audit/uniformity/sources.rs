//! Classification of instructions: barriers, and sources of divergence.
//!
//! An instruction counts as divergent unless it is known to be uniform. For LLVM's intrinsics that knowledge is in their own
//! attributes: one that is not `convergent` and has `memory(none)` computes from its operands alone.

use std::fmt;

use crate::llvm::{Opcode, Value};
use crate::passes::assembly_instructions;

/// Uniformity of an instruction's value over the threads of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// They have.
    Uniform,
    /// They have if its operands are uniform.
    Follows,
    /// They may have different values, whatever the operands.
    Divergent(Source),
}

/// A source of divergence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A special register, by LLVM's name: `tid.x`.
    Register(String),
    /// An atomic operation, which threads carry out one after the other.
    Atomic,
    /// A load of what another thread may write meanwhile.
    Changing,
    /// An intrinsic that gives each warp or lane a value of its own, or of which that is not known.
    Intrinsic(String),
    /// Inline assembly, by its text.
    Assembly(String),
    /// A call of a function that was not inlined, by its symbol if it is known.
    Call(Option<String>),
    /// A local variable whose address is kept where it is not followed.
    Local,
    /// A parameter of a function that was not inlined.
    Parameter,
    /// An instruction that is not known here.
    Unknown,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(name) if name.starts_with("tid.") => write!(f, "the thread's index (`{name}`)"),
            Self::Register(name) => write!(f, "the special register `{name}`"),
            Self::Atomic => write!(f, "the result of an atomic operation"),
            Self::Changing => write!(f, "an atomic or volatile load"),
            Self::Intrinsic(name) => write!(f, "the result of `{name}`"),
            Self::Assembly(text) => write!(f, "the result of the inline assembly `{}`", text.trim()),
            Self::Call(Some(name)) => {
                write!(f, "the result of `{}`, which is not inlined", crate::names::readable(name))
            }
            Self::Call(None) => write!(f, "the result of a call by pointer"),
            Self::Local => write!(f, "a local variable whose address is passed on"),
            Self::Parameter => write!(f, "a parameter of a function that is not inlined"),
            Self::Unknown => write!(f, "an instruction that the audit does not know"),
        }
    }
}

/// Special registers that are the same in all threads of a block, by the first part of their names.
const BLOCKS_OWN: [&str; 11] = [
    "aggr_smem_size",
    "cluster",
    "clusterid",
    "ctaid",
    "dynamic_smem_size",
    "gridid",
    "nclusterid",
    "nctaid",
    "ntid",
    "total_smem_size",
    "warpsize",
];

/// Intrinsics by which the lanes of a warp compute together, some of which LLVM has as plain arithmetic.
const OF_WARPS: [&str; 11] = [
    "activemask",
    "elect",
    "ldmatrix",
    "match",
    "mma",
    "movmatrix",
    "redux",
    "shfl",
    "tcgen05",
    "vote",
    "wmma",
];

/// Says of an instruction with a result whether it is uniform.
pub(super) fn nature(instruction: Value<'_>) -> Nature {
    match instruction.opcode() {
        Some(Opcode::AtomicReadModifyWrite | Opcode::CompareExchange) => Nature::Divergent(Source::Atomic),
        Some(Opcode::Load) if instruction.reads_what_changes() => Nature::Divergent(Source::Changing),
        Some(Opcode::Call) => call(instruction),
        Some(Opcode::Invoke | Opcode::CallBranch | Opcode::VariadicArgument) | None => {
            Nature::Divergent(Source::Unknown)
        }
        Some(_) => Nature::Follows,
    }
}

fn call(call: Value<'_>) -> Nature {
    let Some(callee) = call.callee() else { return Nature::Divergent(Source::Call(None)) };
    if let Some(assembly) = callee.assembly() {
        // A special register is written with a percent sign.
        let computes = !assembly.has_effects
            && !assembly.text.contains('%')
            && assembly_instructions(&assembly.text).all(|opcode| opcode.op().is_ok_and(|op| op.computes()));
        return if computes { Nature::Follows } else { Nature::Divergent(Source::Assembly(assembly.text)) };
    }
    if !callee.is_function() {
        return Nature::Divergent(Source::Call(None));
    }
    let name = callee.name();
    if name.starts_with("llvm.") {
        intrinsic(callee, name)
    } else {
        Nature::Divergent(Source::Call(Some(name)))
    }
}

fn intrinsic(callee: Value<'_>, name: String) -> Nature {
    if let Some(register) = name.strip_prefix("llvm.nvvm.read.ptx.sreg.") {
        let uniform = BLOCKS_OWN.contains(&first_part(register)) || register.starts_with("envreg");
        return if uniform {
            Nature::Uniform
        } else {
            Nature::Divergent(Source::Register(register.to_owned()))
        };
    }
    let nvidia = name.strip_prefix("llvm.nvvm.").map(first_part);
    let reads_read_only = matches!(nvidia, Some("ldg" | "ldu"));
    let of_warp = nvidia.is_some_and(|first| OF_WARPS.contains(&first));
    if is_block_vote(&name) {
        Nature::Uniform
    } else if !of_warp
        && !callee.has_word_attribute("convergent")
        && (callee.leaves_memory_alone() || reads_read_only)
    {
        Nature::Follows
    } else {
        Nature::Divergent(Source::Intrinsic(name))
    }
}

/// Whether the intrinsic is a barrier that gives all threads of the block the same count or vote.
fn is_block_vote(name: &str) -> bool {
    let all = name.starts_with("llvm.nvvm.barrier.cta.red.") && name.ends_with(".all");
    all || name.starts_with("llvm.nvvm.barrier0.")
}

/// Whether the instruction is a barrier that all threads of a block must reach together.
///
/// Barriers of a warp are not, nor those for a stated number of threads that need not be aligned: by them some threads of a
/// block may wait for each other while others do something else.
pub(super) fn is_barrier(instruction: Value<'_>) -> bool {
    if !instruction.is_call() {
        return false;
    }
    let Some(callee) = instruction.callee() else { return false };
    if let Some(assembly) = callee.assembly() {
        return assembly_instructions(&assembly.text)
            .any(|opcode| opcode.op().is_ok_and(|op| op.is_barrier()));
    }
    if !callee.is_function() {
        return false;
    }
    let name = callee.name();
    let counted = name.ends_with(".count") || name.ends_with(".cnt");
    name.starts_with("llvm.nvvm.barrier") && (!counted || name.contains(".aligned."))
}

fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}
