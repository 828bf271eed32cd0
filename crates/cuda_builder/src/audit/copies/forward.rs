//! Which blocks of a function come after which within one iteration of its loops.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::llvm::{Block, Value};

/// The blocks of a function with the edges that close no loop.
pub(super) struct Forward<'c> {
    successors: HashMap<Block<'c>, Vec<Block<'c>>>,
}

impl<'c> Forward<'c> {
    /// Walks the function depth first. An edge to a block that the walk is still in closes a loop.
    pub(super) fn new(function: Value<'c>) -> Self {
        let mut successors: HashMap<Block<'c>, Vec<Block<'c>>> = HashMap::new();
        let mut within = HashSet::new();
        let mut walk: Vec<(Block<'c>, Vec<Block<'c>>)> = Vec::new();
        let enter = |block: Block<'c>, walk: &mut Vec<_>| walk.push((block, block.successors()));
        if let Some(entry) = function.blocks().next() {
            successors.insert(entry, Vec::new());
            within.insert(entry);
            enter(entry, &mut walk);
        }
        while let Some((block, left)) = walk.last_mut() {
            let block = *block;
            let Some(next) = left.pop() else {
                within.remove(&block);
                walk.pop();
                continue;
            };
            if within.contains(&next) {
                continue;
            }
            successors.entry(block).or_default().push(next);
            if let Entry::Vacant(new) = successors.entry(next) {
                new.insert(Vec::new());
                within.insert(next);
                enter(next, &mut walk);
            }
        }
        Self { successors }
    }

    /// The blocks that a block leads to.
    fn reached(&self, from: Block<'c>) -> HashSet<Block<'c>> {
        let mut reached = HashSet::new();
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            for next in self.successors.get(&block).into_iter().flatten() {
                if reached.insert(*next) {
                    open.push(*next);
                }
            }
        }
        reached
    }

    /// The size of the largest set of these blocks of which none leads to another.
    ///
    /// By Dilworth's theorem it is the least number of chains that the blocks can be divided into: as many as there are
    /// blocks, less one for each pair in a largest matching of blocks to blocks behind them.
    pub(super) fn most_apart(&self, blocks: &[Block<'c>]) -> usize {
        let behind: Vec<Vec<usize>> = blocks
            .iter()
            .map(|block| {
                let reached = self.reached(*block);
                (0..blocks.len()).filter(|other| reached.contains(&blocks[*other])).collect()
            })
            .collect();
        let mut before: Vec<Option<usize>> = vec![None; blocks.len()];
        let matched =
            (0..blocks.len()).filter(|block| join(*block, &behind, &mut before, &mut HashSet::new())).count();
        blocks.len() - matched
    }
}

/// Finds a partner for a block among those behind it, if need be by giving other blocks other partners.
fn join(
    block: usize,
    behind: &[Vec<usize>],
    before: &mut [Option<usize>],
    asked: &mut HashSet<usize>,
) -> bool {
    for &next in &behind[block] {
        if asked.insert(next) && before[next].is_none_or(|other| join(other, behind, before, asked)) {
            before[next] = Some(block);
            return true;
        }
    }
    false
}
