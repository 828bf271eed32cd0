//! Finds registers that are varying because of where lanes come from: those that lanes of one warp may define in different
//! places. See [`shapes`](super::shapes).

use super::super::step::{Action, NOWHERE, Rare};
use super::graph::End;
use super::regions::{Split, each};
use super::shape::Shape;
use super::shapes::Analysis;

impl Analysis<'_> {
    /// Forces registers to be varying that are live where diverged lanes meet and may come there by different definitions.
    /// Returns true if there are new ones.
    pub(super) fn force_where_diverged(&mut self) -> bool {
        let mut found = false;
        for (at, block) in self.graph.blocks.iter().enumerate() {
            let (is_mixed, meets) = match block.end {
                End::Branch(branch) if branch.is_guarded => {
                    let guard = self.program.steps[block.steps.end as usize - 1].guard;
                    (!self.cell(guard).is_some_and(Shape::is_uniform), branch.meets)
                }
                End::Interpreted => match &self.program.steps[block.steps.end as usize].action {
                    Action::Branch(branch) => (branch.is_guarded, branch.meets),
                    Action::Rare(rare) => match &self.program.rare[*rare as usize] {
                        Rare::Switch { meets, .. } => (true, *meets),
                        _ => (false, NOWHERE),
                    },
                    _ => (false, NOWHERE),
                },
                _ => (false, NOWHERE),
            };
            if !is_mixed {
                continue;
            }
            let stop = self.graph.block_starting(meets);
            let mut seen = vec![false; self.graph.blocks.len()];
            let mut open = self.graph.blocks[at].successors.clone();
            while let Some(next) = open.pop() {
                if Some(next) == stop || std::mem::replace(&mut seen[next], true) {
                    continue;
                }
                open.extend(&self.graph.blocks[next].successors);
            }
            let live = stop.map(|stop| self.graph.blocks[stop].steps.start);
            let live = live.map_or_else(Vec::new, |pc| self.graph.live_before(self.program, pc));
            for block in (0..seen.len()).filter(|block| seen[*block]) {
                found |= self.force_results(block, &live);
            }
            // Code executes one side after the other with one variable for both.
            if let Some(Split { goes_on, jumps, .. }) = &self.splits[at]
                && let Some(second) = jumps.first()
            {
                let start = self.graph.blocks[second.first()].steps.start;
                let live = self.graph.live_before(self.program, start);
                each(goes_on, &mut |block| found |= self.force_results(block, &live));
            }
        }
        found
    }

    /// Forces results of a block to be varying that are among these registers. Returns true if there are new ones.
    fn force_results(&mut self, block: usize, live: &[usize]) -> bool {
        let mut found = false;
        for pc in self.graph.blocks[block].steps.clone() {
            for number in self.results(pc) {
                let lasts = live.contains(&number);
                if lasts && self.shapes[number] != Some(Shape::Varying) && !self.forced[number] {
                    self.forced[number] = true;
                    found = true;
                }
            }
        }
        found
    }

    fn results(&self, pc: u32) -> Vec<usize> {
        let results = self.program.uses.results(pc as usize).iter();
        results.filter_map(|slot| self.graph.register(slot.cell)).collect()
    }
}
