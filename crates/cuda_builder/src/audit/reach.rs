//! Functions and variables that a function can reach.

use std::collections::{HashMap, HashSet};

use crate::llvm::Value;

/// The globals of one module with those that each names, looked up once however many kernels lead to it.
#[derive(Default)]
pub(super) struct Reach<'c> {
    named: HashMap<Value<'c>, Vec<Value<'c>>>,
}

impl<'c> Reach<'c> {
    /// The function, and everything reachable from it by name: functions and variables, each once, the function first.
    pub(super) fn from(&mut self, function: Value<'c>) -> Vec<Value<'c>> {
        let mut seen = HashSet::from([function]);
        let mut reached = vec![function];
        let mut next = 0;
        while let Some(global) = reached.get(next).copied() {
            next += 1;
            let named = self.named.entry(global).or_insert_with(|| named_by(global));
            reached.extend(named.iter().copied().filter(|global| seen.insert(*global)));
        }
        reached
    }
}

/// The functions and variables among the operands of a function's instructions, or in a variable's initialiser.
fn named_by(global: Value<'_>) -> Vec<Value<'_>> {
    let mut open: Vec<Value<'_>> = if global.is_function() {
        global.instructions().flat_map(Value::operands).collect()
    } else {
        global.initialiser().into_iter().collect()
    };
    let mut seen = HashSet::new();
    let mut named = Vec::new();
    while let Some(value) = open.pop() {
        // Instructions were walked with their function; blocks and parameters hold nothing.
        if !value.is_constant_value() || !seen.insert(value) {
            continue;
        }
        if value.is_function() || value.is_variable() {
            named.push(value);
        } else {
            open.extend(value.operands());
        }
    }
    named
}
