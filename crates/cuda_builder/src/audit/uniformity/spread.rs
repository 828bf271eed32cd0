//! Propagation of divergence through a function: from its sources along operands, branches and local variables.

use std::collections::{HashMap, HashSet, VecDeque};

use super::flow::{Flow, Influence};
use super::locals;
use super::sources::{self, Nature, Source};
use crate::llvm::{Block, Opcode, Value};

/// The reason for a value's divergence.
enum Cause<'c> {
    Source(Source),
    /// It has this operand, or this instruction writes to it.
    Value(Value<'c>),
    /// Control dependence: the branch at the end of this block decides whether, or how often, a thread gets there.
    Branch(usize),
}

/// A divergent branch.
pub(super) struct Divergence {
    /// The block that it ends.
    pub(super) block: usize,
    pub(super) influence: Influence,
}

/// The divergent values and branches of one function.
pub(super) struct Spread<'a, 'c> {
    blocks: &'a [Block<'c>],
    numbers: &'a HashMap<Block<'c>, usize>,
    flow: &'a Flow,
    /// The kernel's parameters that are variables in local memory.
    by_value: HashSet<Value<'c>>,
    /// The cause of each divergent value.
    causes: HashMap<Value<'c>, Cause<'c>>,
    /// The condition of each divergent branch, by the number of its block.
    conditions: HashMap<usize, Value<'c>>,
    divergences: Vec<Divergence>,
    /// Divergent values whose users are still to be visited; first in, first out, so that chains of causes are short.
    open: VecDeque<Value<'c>>,
}

impl<'a, 'c> Spread<'a, 'c> {
    /// Applies all rules until nothing changes. The parameters of a kernel are uniform; those of another function are not known
    /// to be.
    pub(super) fn new(
        function: Value<'c>,
        blocks: &'a [Block<'c>],
        numbers: &'a HashMap<Block<'c>, usize>,
        flow: &'a Flow,
    ) -> Self {
        let mut spread = Self {
            blocks,
            numbers,
            flow,
            by_value: HashSet::new(),
            causes: HashMap::new(),
            conditions: HashMap::new(),
            divergences: Vec::new(),
            open: VecDeque::new(),
        };
        for index in 0..function.parameter_count() {
            let Some(parameter) = function.parameter(index) else { continue };
            if !function.is_kernel() {
                spread.mark(parameter, Cause::Source(Source::Parameter));
            } else if function.has_parameter_attribute(index, "byval") {
                spread.by_value.insert(parameter);
                if locals::escapes(parameter) {
                    spread.mark(parameter, Cause::Source(Source::Local));
                }
            }
        }
        for instruction in blocks.iter().flat_map(|block| block.instructions()) {
            if !instruction.has_result() {
                continue;
            }
            if instruction.opcode() == Some(Opcode::Alloca) {
                if locals::escapes(instruction) {
                    spread.mark(instruction, Cause::Source(Source::Local));
                }
            } else if let Nature::Divergent(source) = sources::nature(instruction) {
                spread.mark(instruction, Cause::Source(source));
            }
        }
        while let Some(value) = spread.open.pop_front() {
            if let Some(address) = locals::written(value) {
                for variable in locals::behind(address) {
                    if variable.is_instruction() || spread.by_value.contains(&variable) {
                        spread.mark(variable, Cause::Value(value));
                    }
                }
            }
            for user in value.users().into_iter().filter(|user| user.is_instruction()) {
                spread.visit(user, value);
            }
        }
        spread
    }

    /// The divergent branches.
    pub(super) fn divergences(&self) -> &[Divergence] {
        &self.divergences
    }

    /// The source that the branch at the end of a block depends on, if it is divergent.
    pub(super) fn origin_of_branch(&self, block: usize) -> Option<(Value<'c>, &Source)> {
        self.origin(*self.conditions.get(&block)?)
    }

    /// The source that a divergent value depends on in the last place.
    pub(super) fn origin(&self, mut value: Value<'c>) -> Option<(Value<'c>, &Source)> {
        loop {
            // Every cause was found before its effects, so this terminates.
            match self.causes.get(&value)? {
                Cause::Source(source) => return Some((value, source)),
                Cause::Value(before) => value = *before,
                Cause::Branch(block) => value = *self.conditions.get(block)?,
            }
        }
    }

    /// Applies the rules to a user of a divergent operand.
    fn visit(&mut self, user: Value<'c>, operand: Value<'c>) {
        let block = user.parent_block();
        if block.terminator() == Some(user) {
            if let Some(number) = self.numbers.get(&block) {
                self.diverge(*number, operand);
            }
        } else if locals::written(user).is_some() || sources::nature(user) == Nature::Follows {
            self.mark(user, Cause::Value(operand));
        }
    }

    fn mark(&mut self, value: Value<'c>, cause: Cause<'c>) {
        if let std::collections::hash_map::Entry::Vacant(entry) = self.causes.entry(value) {
            entry.insert(cause);
            self.open.push_back(value);
        }
    }

    /// The branch at the end of a block is divergent: so is all that it decides.
    fn diverge(&mut self, block: usize, condition: Value<'c>) {
        if self.conditions.contains_key(&block) {
            return;
        }
        let Some(influence) = self.flow.influence(block) else { return };
        self.conditions.insert(block, condition);
        for inside in &influence.region {
            for instruction in self.blocks[*inside].instructions() {
                self.mark(instruction, Cause::Branch(block));
            }
        }
        if let Some(join) = influence.join {
            let phis = self.blocks[join].instructions().take_while(|phi| phi.opcode() == Some(Opcode::Phi));
            let choosing: Vec<_> = phis.filter(|phi| self.chooses(*phi, block, &influence.region)).collect();
            for phi in choosing {
                self.mark(phi, Cause::Branch(block));
            }
        }
        self.divergences.push(Divergence { block, influence });
    }

    /// Whether a phi where the paths from a branch join takes different values from them.
    fn chooses(&self, phi: Value<'c>, branch: usize, region: &[usize]) -> bool {
        let mut values = phi.incoming().into_iter().filter_map(|(value, from)| {
            let from = self.numbers.get(&from)?;
            let of_branch = *from == branch || region.binary_search(from).is_ok();
            (of_branch && !value.is_undefined()).then_some(value)
        });
        let first = values.next();
        values.any(|value| Some(value) != first)
    }
}
