//! Instructions of a warp or block that a compiler copied to paths of which a thread takes one.
//!
//! Lanes execute `bar.sync`, `wgmma` or `shfl.sync` together: all of them must be at the same instruction. An optimiser for one
//! thread may put a copy of it on either side of a branch, after which the lanes that the branch divides are at two instructions
//! and wait for each other for ever, or read registers of lanes that are elsewhere. LLVM leaves alone what is `convergent`; rustc
//! marks no inline assembly as that, and so the passes do (`passes::convergence`). This check is the backstop: it looks at
//! what came out.
//!
//! # Which copies are wrong
//!
//! Counting instructions does not tell. Inlining and unrolling copy rightly, and often: a loop with a barrier that runs four
//! times may well become four barriers. But those copies follow each other. What no right transformation makes are two copies of one
//! instruction between which there is no way, in either direction, within one iteration of the loops that they share:
//!
//! ```text
//!     source                 unrolled             wrong
//!
//!     for _ in 0..2 {        bar.sync   (#1)      if %tid == 0 {
//!         bar.sync           bar.sync   (#1)          ..
//!     }                                               bar.sync   (#1)
//!                                                 } else {
//!                                                     bar.sync   (#1)
//!                                                 }
//! ```
//!
//! 1. Once everything that must be inlined is, and before the optimiser runs, each such instruction in inline assembly gets a
//!    number, which stays with its copies ([`Originals::number`]). LLVM's own intrinsics are convergent by themselves.
//! 2. After the optimiser, the copies of each number are compared ([`Originals::check`]). The edges that close a loop are left out
//!    of the graph. The largest set of copies of which none leads to another must be no larger than the number of ways by which the
//!    function could call its way to the original: a helper that is called on both sides of a branch may be inlined on both.
//! 3. The back end neither inlines nor unrolls: it may not write any of them more often than its input has them ([`Counts`]).
//!
//! # What it does not see
//!
//! - An instruction that was moved into a branch, without a copy.
//! - Copies of a helper that is called in several places, as long as they are no more than the places.
//! - An instruction that lost its number, because LLVM replaced it. It replaces no assembly today.

mod counts;
mod forward;
#[cfg(test)]
mod tests;
mod ways;

use std::collections::{BTreeMap, HashMap, HashSet};

pub(crate) use self::counts::Counts;
use self::forward::Forward;
use self::ways::Ways;
use super::{Finding, authors_place};
use crate::llvm::{Block, Module, Value};
use crate::passes::{assembly_instructions, is_collective};

/// The first instruction of the kind in the assembly that a call is, with its full name.
fn together(call: Value<'_>) -> Option<String> {
    let assembly = call.is_call().then(|| call.callee()?.assembly()).flatten()?;
    assembly_instructions(&assembly.text).find(is_collective).map(|opcode| opcode.to_string())
}

/// Such instructions before optimisation, by their numbers, and the calls between functions.
#[derive(Debug, Default)]
pub(crate) struct Originals {
    originals: Vec<Original>,
    /// The functions that each function calls, once for each call.
    calls: HashMap<String, Vec<String>>,
    /// The functions that a call by pointer may lead to.
    by_pointer: Vec<String>,
}

#[derive(Debug)]
struct Original {
    instruction: String,
    function: String,
}

/// Stands for the callee of a call by pointer.
const POINTER: &str = "";

impl Originals {
    /// Numbers the instructions of a module.
    pub(crate) fn number(module: &Module<'_>) -> Self {
        let mut found = Self::default();
        for function in module.functions().filter(|function| !function.is_declaration()) {
            let mut callees = Vec::new();
            for call in function.instructions().filter(|instruction| instruction.is_call()) {
                if let Some(instruction) = together(call) {
                    call.set_number(found.originals.len() as u32);
                    found.originals.push(Original { instruction, function: function.name() });
                } else if let Some(callee) = call.callee().filter(|callee| callee.assembly().is_none()) {
                    callees.push(if callee.is_function() { callee.name() } else { String::from(POINTER) });
                }
            }
            let users = function.users();
            if users.iter().any(|user| !user.is_call() || user.callee() != Some(function)) {
                found.by_pointer.push(function.name());
            }
            found.calls.insert(function.name(), callees);
        }
        found
    }

    /// Compares the copies in the optimised module, and takes their numbers off.
    pub(crate) fn check(&self, module: &Module<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for function in module.functions().filter(|function| !function.is_declaration()) {
            let mut copies: BTreeMap<u32, Vec<Value<'_>>> = BTreeMap::new();
            for call in function.instructions().filter(|instruction| instruction.is_call()) {
                if let Some(number) = call.take_number() {
                    copies.entry(number).or_default().push(call);
                }
            }
            copies.retain(|_, copies| copies.len() > 1);
            if copies.is_empty() {
                continue;
            }
            let graph = Forward::new(function);
            for (number, copies) in copies {
                let Some(original) = self.originals.get(number as usize) else { continue };
                let blocks: HashSet<Block<'_>> = copies.iter().map(|copy| copy.parent_block()).collect();
                let found = graph.most_apart(&blocks.into_iter().collect::<Vec<_>>());
                if found == 1 {
                    continue;
                }
                let expected = Ways::new(self, &original.function).from(&function.name());
                if found > expected {
                    findings.push(Finding::CopiedToBranches {
                        function: function.name(),
                        instruction: original.instruction.clone(),
                        expected,
                        found,
                        place: copies.first().and_then(|copy| authors_place(*copy)),
                    });
                }
            }
        }
        findings
    }

    /// The functions that a function may call, once for each call.
    fn callees(&self, function: &str) -> impl Iterator<Item = &str> {
        let callees = self.calls.get(function).into_iter().flatten();
        callees.flat_map(|callee| {
            let pointed = if callee == POINTER { &self.by_pointer[..] } else { std::slice::from_ref(callee) };
            pointed.iter().map(String::as_str)
        })
    }
}
