//! Emits divergent regions: blocks under a mask of the active lanes.
//!
//! A value that varies keeps its old lanes outside of the mask. A uniform or affine one is simply assigned: the shapes see
//! to it that it is dead in all other lanes ([`shapes`](super::shapes)). Memory is accessed by the interpreter's functions,
//! which take a mask.

use super::emit::{Counter, Emitter};
use super::regions::{After, Part, Split};
use super::values::Value;
use crate::registers::{Slot, Width};

impl Emitter<'_> {
    /// Emits both sides of a divergent branch at the end of a block, for the lanes that take it and those that do not.
    pub(super) fn split(&mut self, block: usize, split: &Split, (taken, goes_on): (&str, &str)) {
        let threads = self.threads(taken);
        self.count(Counter::TakenThreads, block, &threads);
        self.count(Counter::Divergent, block, "1");
        self.sides(split, (taken, goes_on));
    }

    /// Emits both sides of a branch, either of which may have no lanes.
    fn sides(&mut self, split: &Split, (taken, goes_on): (&str, &str)) {
        for (side, mask) in [(&split.goes_on, goes_on), (&split.jumps, taken)] {
            if side.is_empty() {
                continue;
            }
            let (go, done) = (self.label(), self.label());
            self.go_if_any(mask, &go, &done);
            self.side(side, mask, &done);
            self.emit(format!("br label %{done}"));
            self.begin(&done);
        }
    }

    /// Emits the parts of a side; lanes that leave it go to `end` once none is left.
    fn side(&mut self, parts: &[Part], mask: &str, end: &str) {
        let mut mask = mask.to_owned();
        for Part { block, after } in parts {
            self.masked_block(*block, &mask);
            match after {
                After::Goes => {}
                After::Leaves { taken } => {
                    let (leaving, rest) = self.branch_under(*block, &mask);
                    mask = if *taken { rest } else { leaving };
                    let go = self.label();
                    self.go_if_any(&mask, &go, end);
                }
                After::Splits(split) => {
                    let (taken, goes_on) = self.branch_under(*block, &mask);
                    self.sides(split, (&taken, &goes_on));
                }
            }
        }
    }

    fn go_if_any(&mut self, mask: &str, go: &str, none: &str) {
        let some = self.let_(format!("icmp ne i32 {mask}, 0"));
        self.emit(format!("br i1 {some}, label %{go}, label %{none}"));
        self.begin(go);
    }

    /// Emits the steps of a block, without the branch at its end, for the lanes of a mask.
    fn masked_block(&mut self, number: usize, mask: &str) {
        let block = &self.graph.blocks[number];
        self.count(Counter::Masked, number, "1");
        let threads = self.threads(mask);
        self.count(Counter::Threads, number, &threads);
        self.count_issued(block.steps.len());
        self.active = Some(mask.to_owned());
        for pc in block.straight() {
            self.step(pc);
        }
        self.active = None;
    }

    /// Emits the branch at a block's end for the lanes of a mask. Returns the lanes that take it, and those that do not.
    fn branch_under(&mut self, block: usize, mask: &str) -> (String, String) {
        let pc = self.graph.blocks[block].steps.end - 1;
        let step = &self.program.steps[pc as usize];
        let guard: Value = self.read(Slot { cell: step.guard, width: Width::Predicate });
        let guard = self.mask(&guard);
        let guarded = self.let_(format!("and i32 {guard}, {mask}"));
        let others = self.let_(format!("xor i32 {guarded}, {mask}"));
        let (taken, goes_on) = if step.flip == 0 { (guarded, others) } else { (others, guarded) };
        let threads = self.threads(&taken);
        self.count(Counter::TakenThreads, block, &threads);
        let [jump, stay] = [&taken, &goes_on].map(|mask| self.let_(format!("icmp ne i32 {mask}, 0")));
        let both = self.let_(format!("and i1 {jump}, {stay}"));
        let divergent = self.let_(format!("zext i1 {both} to i64"));
        self.count(Counter::Divergent, block, &divergent);
        (taken, goes_on)
    }

    /// Returns the number of a mask's lanes.
    pub(super) fn threads(&mut self, mask: &str) -> String {
        self.intrinsic("declare i32 @llvm.ctpop.i32(i32)");
        let count = self.let_(format!("call i32 @llvm.ctpop.i32(i32 {mask})"));
        self.let_(format!("zext i32 {count} to i64"))
    }
}
