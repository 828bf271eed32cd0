//! Barriers that only some threads of a block reach.
//!
//! All threads of a block have to reach each of its barriers together. In a safe kernel the types see to that: barriers
//! belong to the code of the block, and what differs between threads is kept from it. This check is the backstop. It knows
//! nothing of those types and reads the linked code itself, so that what gets past them, or a fault in them, ends in an error and
//! not in a block that hangs.
//!
//! # What is computed
//!
//! A divergence analysis, as compilers for GPUs have it: Karrenberg and Hack ("Improving Performance of OpenCL on CPUs", 2012)
//! find the values that are equal in all work items of a group, and LLVM's `UniformityAnalysis` goes by the same ideas.
//! A value is *divergent* if threads of one block may have different ones, and *uniform* otherwise; a branch is what its
//! condition is.
//!
//! 1. Some instructions are divergent by what they are: a read of the thread's index, an atomic operation, a shuffle
//!    (`sources`).
//! 2. An instruction with a divergent operand is divergent. For a load that operand is its address: threads that read one place
//!    read one value.
//! 3. A branch has an *influence*: the blocks that can be reached from it before its immediate post-dominator, which is the first
//!    block that every path from it leads through (`flow`). If the branch is divergent, not all threads get to these
//!    blocks, or not equally often: all that is computed there is divergent.
//! 4. At the post-dominator all threads are together again, but came by different paths: its phis are divergent if they choose
//!    between those paths.
//! 5. A variable in local memory is divergent if something divergent is written to it, or if it is written in the influence of a
//!    divergent branch, or if its address goes where it is not followed (`locals`).
//!
//! The rules are applied until nothing changes (`spread`). A barrier in the influence of a divergent branch is then an
//! error, and no other is: a block is control-dependent on a branch, directly or by way of further branches, exactly if
//! it lies in that branch's influence.
//!
//! LLVM distinguishes values that are divergent inside of a loop from values that are so only after it, because threads leave
//! the loop in different iterations (temporal divergence). Here the influence of a divergent exit is the whole loop, and so all of
//! it is divergent. Nothing is lost by that: no barrier may be in such a loop in any case, and what is used after it is
//! divergent in any case.
//!
//! # An example
//!
//! ```text
//! entry:  %tid = tid.x                             divergent (1)
//!         br %n > 3, one, join                     uniform: %n is a parameter of the kernel
//! one:    barrier                                  fine
//!         br join
//! join:   %k = phi [0, entry], [1, one]            uniform
//!         br loop
//! loop:   %i = phi [%k, join], [%next, loop]       divergent (3): in the influence of the branch below
//!         %next = %i + 1                           divergent (3)
//!         br %next < %tid, loop, after             divergent (2); its influence is {loop}, its post-dominator `after`
//! after:  br %next == 7, two, end                  divergent (2); its influence is {two}
//! two:    barrier                                  an error
//!         br end
//! end:    ret
//! ```
//!
//! # When
//!
//! On a copy of the linked module, before optimisation, which may replace a uniform value by a divergent one that it knows to be
//! equal. Everything is inlined in that copy, since a closure can only be judged where it is called, and variables are
//! moved to registers. A function that cannot be inlined (recursion, a call by pointer) is judged on its own, with divergent
//! parameters; a call of it is divergent, and is a barrier if the function has one.
//!
//! A branch of which all paths but one lead to a trap counts as none: a trap ends the grid, so that nobody waits for the threads
//! that went there.
//!
//! # What it does not see
//!
//! - Data races: a load at a uniform address counts as uniform, although a thread may write there meanwhile, unless the load is
//!   atomic or volatile.
//! - The address of a local variable that is kept in global or shared memory and read from there.
//! - `exit` in inline assembly, and the number of a barrier in inline assembly.
//! - Barriers of a cluster are held to the threads of each block, not to all blocks of the cluster; shuffles and other
//!   instructions of a warp are not held to anything.

mod flow;
mod locals;
mod sources;
mod spread;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use self::flow::{End, Flow, Node};
use self::spread::Spread;
use super::reach::Reach;
use super::{Finding, authors_place};
use crate::CudaBuilderError;
use crate::llvm::{Block, Linkage, Module, Opcode, TargetMachine, Value};
use crate::markers::Kernel;

/// The passes that bring the copy into the form that is judged: each kernel inlined whole, its variables in registers.
const INLINE: &str = "globaldce,function(sroa,early-cse,simplifycfg),always-inline,\
                      function(sroa,early-cse,simplifycfg),globaldce";

/// Checks that in safe kernels each barrier is reached by all threads of a block or by none.
pub(crate) fn uniformity(
    module: &Module<'_>,
    machine: &TargetMachine,
    kernels: &[Kernel],
) -> Result<Vec<Finding>, CudaBuilderError> {
    let checked = kernels_with_barriers(module, kernels);
    if checked.is_empty() {
        return Ok(Vec::new());
    }
    let mut copy = module.duplicate();
    for function in copy.functions().filter(|function| !function.is_declaration()) {
        if checked.contains(function.name().as_str()) {
            continue;
        }
        function.set_linkage(Linkage::Internal);
        for against in ["noinline", "optnone"] {
            function.remove_word_attribute(against);
        }
        function.add_word_attribute("alwaysinline");
    }
    machine
        .run(&mut copy, INLINE)
        .map_err(CudaBuilderError::llvm("preparing to look for barriers that not all threads reach"))?;
    let barriers = Barriers::find(&copy);
    let mut findings = Vec::new();
    let mut reach = Reach::default();
    let mut seen = HashSet::new();
    let kernels = copy.functions().filter(|function| checked.contains(function.name().as_str()));
    for function in kernels.flat_map(|kernel| reach.from(kernel)).filter(|global| global.is_function()) {
        if !function.is_declaration() && seen.insert(function) {
            check(function, &barriers, &mut findings);
        }
    }
    Ok(findings)
}

/// The names of safe kernels that lead to a barrier. Most have none, and need no copy.
fn kernels_with_barriers<'k>(module: &Module<'_>, kernels: &'k [Kernel]) -> HashSet<&'k str> {
    let mut reach = Reach::default();
    let mut known = HashMap::new();
    let mut found = HashSet::new();
    for kernel in kernels.iter().filter(|kernel| kernel.safe) {
        let reached = module.function(&kernel.name).map(|function| reach.from(function)).unwrap_or_default();
        for function in reached.into_iter().filter(|global| global.is_function()) {
            let has_barrier = || function.instructions().any(sources::is_barrier);
            if *known.entry(function).or_insert_with(has_barrier) {
                found.insert(kernel.name.as_str());
                break;
            }
        }
    }
    found
}

/// Checks one function.
fn check<'c>(function: Value<'c>, barriers: &Barriers<'c>, findings: &mut Vec<Finding>) {
    let blocks: Vec<Block<'c>> = function.blocks().collect();
    let numbers: HashMap<Block<'c>, usize> =
        blocks.iter().enumerate().map(|(number, block)| (*block, number)).collect();
    let sites: Vec<Vec<Value<'c>>> = blocks
        .iter()
        .map(|block| block.instructions().filter(|instruction| barriers.contains(*instruction)).collect())
        .collect();
    if sites.iter().all(Vec::is_empty) {
        return;
    }
    let node = |(block, sites): (&Block<'c>, &Vec<Value<'c>>)| Node {
        successors: block.successors().iter().map(|successor| numbers[successor]).collect(),
        end: match block.terminator().and_then(Value::opcode) {
            Some(Opcode::Unreachable) => End::Trap,
            _ => End::Open,
        },
        has_barrier: !sites.is_empty(),
    };
    let flow = Flow::new(&blocks.iter().zip(&sites).map(node).collect::<Vec<_>>());
    let spread = Spread::new(function, &blocks, &numbers, &flow);

    // The branch with the smallest influence tells most precisely what to change.
    let mut divergences: Vec<_> = spread.divergences().iter().collect();
    divergences.sort_by_key(|divergence| (divergence.influence.region.len(), divergence.block));
    let mut refuse = |finding: Finding| {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    };
    for (block, site) in
        sites.iter().enumerate().flat_map(|(block, sites)| sites.iter().map(move |site| (block, *site)))
    {
        let decides = |region: &Vec<usize>| region.binary_search(&block).is_ok();
        if let Some(divergence) = divergences.iter().find(|divergence| decides(&divergence.influence.region))
        {
            let origin = spread.origin_of_branch(divergence.block);
            refuse(Finding::DivergentBarrier {
                function: function.name(),
                place: authors_place(site),
                branch: blocks[divergence.block].terminator().and_then(authors_place),
                cause: origin.map(|(_, source)| source.to_string()).unwrap_or_default(),
                cause_place: origin.and_then(|(value, _)| place_of(value)),
            });
        } else if let Some((value, source)) = chosen_by(site).and_then(|value| spread.origin(value)) {
            refuse(Finding::DivergentChoice {
                function: function.name(),
                place: authors_place(site),
                cause: source.to_string(),
                cause_place: place_of(value),
            });
        }
    }
}

/// The source line where a value was computed; `None` for a parameter.
fn place_of(value: Value<'_>) -> Option<String> {
    value.is_instruction().then(|| authors_place(value)).flatten()
}

/// The value that says which barrier threads wait at: the barrier's number, or the function that is called.
fn chosen_by(site: Value<'_>) -> Option<Value<'_>> {
    let callee = site.callee()?;
    if callee.assembly().is_some() {
        None
    } else if !callee.is_function() {
        Some(callee)
    } else if sources::is_barrier(site) {
        site.arguments().next()
    } else {
        None
    }
}

/// The instructions of a module that wait for all threads of the block.
struct Barriers<'c> {
    /// The functions that have a barrier, or call one that has.
    functions: HashSet<Value<'c>>,
    /// Whether the address of such a function is taken, so that a call by pointer may lead to it.
    by_pointer: bool,
}

impl<'c> Barriers<'c> {
    fn find(module: &Module<'c>) -> Self {
        let mut found = Self { functions: HashSet::new(), by_pointer: false };
        // Repeated for the callers of each result. Kernels have none, and little else is left after inlining.
        let mut again = true;
        while again {
            again = false;
            for function in module.functions().filter(|function| !function.is_declaration()) {
                if !found.functions.contains(&function)
                    && function.instructions().any(|instruction| found.contains(instruction))
                {
                    let users = function.users();
                    found.functions.insert(function);
                    found.by_pointer |= !users.iter().all(|user| only_calls(*user, function));
                    again |= !users.is_empty();
                }
            }
        }
        found
    }

    /// Whether an instruction is a barrier, or a call that may lead to one.
    fn contains(&self, instruction: Value<'c>) -> bool {
        if !instruction.is_call() {
            return false;
        }
        if sources::is_barrier(instruction) {
            return true;
        }
        let Some(callee) = instruction.callee() else { return self.by_pointer };
        if callee.is_function() {
            self.functions.contains(&callee)
        } else {
            self.by_pointer && callee.assembly().is_none()
        }
    }
}

/// Whether a user of a function calls it, and does nothing else with it.
fn only_calls(user: Value<'_>, function: Value<'_>) -> bool {
    user.is_call() && user.callee() == Some(function) && user.arguments().all(|argument| argument != function)
}
