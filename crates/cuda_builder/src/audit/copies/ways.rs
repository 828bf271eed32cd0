//! In how many ways functions call their way to one of them.

use std::collections::{HashMap, HashSet};

use super::Originals;

/// Where there is recursion on the way.
pub(super) const UNBOUNDED: usize = usize::MAX;

/// The ways by which functions call their way to one of them.
pub(super) struct Ways<'a> {
    calls: &'a Originals,
    to: &'a str,
    /// What is known for a function; `None` while it is being computed.
    known: HashMap<&'a str, Option<usize>>,
}

impl<'a> Ways<'a> {
    /// For the ways to the function `to`.
    pub(super) fn new(calls: &'a Originals, to: &'a str) -> Self {
        Self { calls, to, known: HashMap::new() }
    }

    /// The ways from a function; 1 if it is the one itself, and [`UNBOUNDED`] if there is recursion on the way.
    pub(super) fn from(mut self, function: &str) -> usize {
        // A function that is not known was made by the optimiser, from some that are.
        self.calls.calls.get_key_value(function).map_or(UNBOUNDED, |(known, _)| self.count(known))
    }

    fn count(&mut self, from: &'a str) -> usize {
        if from == self.to {
            return 1;
        }
        match self.known.get(from) {
            Some(Some(ways)) => return *ways,
            // Recursion is without bound only where it leads on: below, a function without a way counts for nothing.
            Some(None) => return if self.leads_there(from) { UNBOUNDED } else { 0 },
            None => {}
        }
        self.known.insert(from, None);
        let calls = self.calls;
        let ways = calls.callees(from).fold(0_usize, |ways, callee| ways.saturating_add(self.count(callee)));
        self.known.insert(from, Some(ways));
        ways
    }

    /// Whether any way leads from a function to the one.
    fn leads_there(&self, from: &'a str) -> bool {
        let mut seen = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(function) = open.pop() {
            if function == self.to {
                return true;
            }
            open.extend(self.calls.callees(function).filter(|callee| seen.insert(callee)));
        }
        false
    }
}
