//! Emits the counters from which the issues and branches of each step follow.
//!
//! Code counts executions of blocks and branches at their ends, by whole warps and under masks, and threads of guarded steps.
//! The issues of each step follow from these when a run of blocks ends ([`settle`](super::settle)).

use super::context::{Counter, at};
use super::emit::Emitter;

impl Emitter<'_> {
    /// Adds a number to a counter of a block.
    pub(super) fn count(&mut self, counter: Counter, block: usize, by: &str) {
        self.count_at(counter.index(self.graph.blocks.len(), block), by);
    }

    /// Adds a number to the counter of an index.
    pub(super) fn count_at(&mut self, index: usize, by: &str) {
        let counters = self.field("ptr", at::COUNTERS);
        let place = self.let_(format!("getelementptr i64, ptr {counters}, i64 {index}"));
        let old = self.let_(format!("load i64, ptr {place}"));
        let new = self.let_(format!("add i64 {old}, {by}"));
        self.emit(format!("store i64 {new}, ptr {place}"));
    }

    /// Counts warp instructions.
    pub(super) fn count_issued(&mut self, steps: usize) {
        let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::INSTRUCTIONS));
        let old = self.let_(format!("load i64, ptr {place}"));
        let new = self.let_(format!("add i64 {old}, {steps}"));
        self.emit(format!("store i64 {new}, ptr {place}"));
    }

    /// Returns the condition that the warp's time slice lasts for this many steps from here.
    pub(super) fn has_time(&mut self, steps: u32) -> String {
        let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::INSTRUCTIONS));
        let mut now = self.let_(format!("load i64, ptr {place}"));
        if steps != 0 {
            now = self.let_(format!("add i64 {now}, {steps}"));
        }
        let limit = self.field("i64", at::LIMIT);
        self.let_(format!("icmp ult i64 {now}, {limit}"))
    }

    /// Returns the number of a mask's lanes.
    pub(super) fn threads(&mut self, mask: &str) -> String {
        self.intrinsic("declare i32 @llvm.ctpop.i32(i32)");
        let count = self.let_(format!("call i32 @llvm.ctpop.i32(i32 {mask})"));
        self.let_(format!("zext i32 {count} to i64"))
    }
}
