//! Takes local arrays apart whose loops LLVM leaves as they are, since it optimises for a target whose threads diverge.
//!
//! `for distance in [16, 8, 4, 2, 1]` asks an iterator for an `Option` in each round: one branch tells whether there is an element, and
//! after both of its sides have met, another one with the same condition whether the loop ends. Elsewhere LLVM lets the first
//! branch jump where the second will (*jump threading*), finds that the loop has five rounds, unrolls it, and the array is gone. For
//! NVIDIA GPUs it never threads jumps, so that diverged lanes meet early. Then the array stays in local memory:
//!
//! ```text
//! before                            threaded
//! next: %no = icmp eq %i, 5         next: %no = icmp eq %i, 5
//!       br %no, both, some                br %no, end, some
//! some: %x = load %i                some: %x = load %i
//!       br both                           ... br next
//! both: br %no, end, body
//! ```
//!
//! So jumps are threaded in those functions alone that still have an array after optimisation, and these are optimised once more. LLVM
//! never copies instructions that lanes have to execute together (`convergent`) for that.

use crate::llvm::{Module, Opcode, TargetMachine};

/// Simplifies loops whose exits are known by now, and unrolls them.
const SIMPLIFY: &str = "simplifycfg,instcombine,loop-simplify,lcssa,loop(loop-rotate,indvars,loop-unroll-full),sroa,early-cse,\
    instcombine,gvn,simplifycfg,sroa,instcombine,infer-alignment,adce,simplifycfg";

pub(super) fn run(module: &mut Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    let has_array = |function: &crate::llvm::Value<'_>| {
        !function.is_declaration()
            && function.instructions().any(|instruction| instruction.opcode() == Some(Opcode::Alloca))
    };
    let functions: Vec<_> = module.functions().filter(has_array).collect();
    for function in functions {
        machine.run_on(module, function, "jump-threading", false)?;
        machine.run_on(module, function, SIMPLIFY, true)?;
    }
    Ok(())
}
