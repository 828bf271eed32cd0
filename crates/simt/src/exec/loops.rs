//! Finds loops by the text: what lies between a branch backwards and its target.

use crate::ptx::cfg::Cfg;
use std::ops::RangeInclusive;

/// Returns the basic blocks of each loop.
fn loops(cfg: &Cfg) -> impl Iterator<Item = RangeInclusive<usize>> {
    cfg.blocks.iter().enumerate().flat_map(|(from, block)| {
        block.successors.iter().map(move |to| to.0 as usize..=from).filter(|range| !range.is_empty())
    })
}

/// Returns for each basic block whether it is in a loop.
pub(super) fn repeats(cfg: &Cfg) -> Vec<bool> {
    let mut repeats = vec![false; cfg.blocks.len()];
    loops(cfg).for_each(|range| repeats[range].fill(true));
    repeats
}

/// Returns for each basic block those of the innermost loop around it, or all blocks if there is none.
pub(super) fn innermost(cfg: &Cfg) -> Vec<RangeInclusive<usize>> {
    let mut innermost = vec![0..=cfg.blocks.len(); cfg.blocks.len()];
    for range in loops(cfg) {
        for around in &mut innermost[range.clone()] {
            if range.end() - range.start() < around.end() - around.start() {
                *around = range.clone();
            }
        }
    }
    innermost
}
