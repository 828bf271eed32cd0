//! Emits divergent regions: blocks under a mask of the active lanes.
//!
//! A value that varies keeps its old lanes outside of the mask. A uniform or affine one is simply assigned: the shapes see
//! to it that it is dead in all other lanes ([`shapes`](super::shapes)).
//!
//! A branch back may find that the warp's time slice is over. Then the interpreter goes on with the lanes as they are apart:
//! the emitter knows at each place which branches and loops are open ([`Open`]), and code notes their masks, outermost
//! first, from which [`apart`](super::apart) makes the interpreter's joins and fragments.

use super::super::step::NOWHERE;
use super::context::{Counter, at, stopped};
use super::emit::{Emitter, Open};
use super::regions::{After, Loop, Part, Split};
use super::value::Value;
use crate::registers::{Slot, Width};

impl Emitter<'_> {
    /// Emits both sides of a divergent branch at the end of a block, for the lanes that take it and those that do not.
    pub(super) fn split(&mut self, block: usize, split: &Split, (taken, goes_on): (&str, &str)) {
        let threads = self.threads(taken);
        self.count(Counter::TakenThreads, block, &threads);
        self.count(Counter::Divergent, block, "1");
        self.sides(split, (taken, goes_on), "-1");
    }

    /// Emits both sides of a branch, either of which may have no lanes.
    fn sides(&mut self, split: &Split, (taken, goes_on): (&str, &str), lanes: &str) {
        let meets = split.meets.map_or(NOWHERE, |block| self.start_of(block));
        let mut sides = [(&split.goes_on, goes_on), (&split.jumps, taken)];
        if split.jumps_first {
            sides.reverse();
        }
        let [_, (second, mask)] = sides;
        let second = second.first().map(|part| (self.start_of(part.first()), mask.to_owned()));
        for ((side, mask), later) in sides.into_iter().zip([second, None]) {
            if side.is_empty() {
                continue;
            }
            let (go, done) = (self.label(), self.label());
            self.go_if_any(mask, &go, &done);
            self.open.push(Open { meets, lanes: lanes.to_owned(), later });
            self.side(side, mask, &done);
            self.open.pop();
            self.emit(format!("br label %{done}"));
            self.begin(&done);
        }
    }

    fn start_of(&self, block: usize) -> u32 {
        self.graph.blocks[block].steps.start
    }

    /// Emits the parts of a side; lanes that leave it go to `end` once none is left. Returns the mask at its end.
    fn side(&mut self, parts: &[Part], mask: &str, end: &str) -> String {
        let mut mask = mask.to_owned();
        for part in parts {
            let (block, after) = match part {
                Part::Block(block, after) => (*block, after),
                Part::Loop(repeated) => {
                    self.repeated(repeated, &mask);
                    continue;
                }
            };
            self.masked_block(block, &mask);
            match after {
                After::Goes => {}
                After::Exits => {
                    let last = self.graph.blocks[block].steps.end - 1;
                    self.store_at(at::PC, &last.to_string());
                }
                After::Leaves { taken } => {
                    let (leaving, rest) = self.branch_under(block, &mask);
                    mask = if *taken { rest } else { leaving };
                    let go = self.label();
                    self.go_if_any(&mask, &go, end);
                }
                After::Splits(split) => {
                    let (taken, goes_on) = self.branch_under(block, &mask);
                    self.sides(split, (&taken, &goes_on), &mask);
                }
            }
        }
        mask
    }

    /// Emits a loop for the lanes of a mask, all of which have left it at its end.
    fn repeated(&mut self, repeated: &Loop, mask: &str) {
        let [again, body, done] = [(); 3].map(|()| self.label());
        let variable = self.in_prologue(|emitter| emitter.let_("alloca i32"));
        self.emit(format!("store i32 {mask}, ptr {variable}"));
        self.emit(format!("br label %{}", if repeated.goes_back { &again } else { &body }));
        let meets = self.start_of(repeated.meets);
        self.open.push(Open { meets, lanes: mask.to_owned(), later: None });
        self.begin(&again);
        self.go_back(self.start_of(repeated.first), &variable, &body);
        self.begin(&body);
        let now = self.let_(format!("load i32, ptr {variable}"));
        let rest = self.side(&repeated.body, &now, &done);
        self.emit(format!("store i32 {rest}, ptr {variable}"));
        self.emit(format!("br label %{again}"));
        self.open.pop();
        self.begin(&done);
    }

    /// Emits a branch back to a step, for the lanes of a mask that is in a variable, unless the time slice is over.
    fn go_back(&mut self, target: u32, variable: &str, go: &str) {
        let goes_on = self.has_time(0);
        let tired = self.label();
        self.likely(&goes_on, go, &tired);
        self.begin(&tired);
        let mask = self.let_(format!("load i32, ptr {variable}"));
        self.leave_apart(target, &mask, stopped::TIRED);
    }

    /// Emits the way out before a step that the lanes of a mask execute next, while others wait for them to meet.
    pub(super) fn leave_apart(&mut self, next: u32, mask: &str, reason: u32) {
        self.store_at(at::ACTIVE, mask);
        let open = self.open.clone();
        self.store_at(at::OPEN_COUNT, &open.len().to_string());
        let mut pcs = vec![next];
        for (index, Open { meets, lanes, later }) in open.iter().enumerate() {
            let (pc, mask) = later.clone().unwrap_or((0, "0".to_owned()));
            for (field, value) in
                [(*meets as i32).to_string(), lanes.clone(), pc.to_string(), mask].iter().enumerate()
            {
                self.store_at(at::OPEN + 4 * (4 * index + field), value);
            }
            pcs.extend((*meets != NOWHERE).then_some(*meets));
            pcs.extend(later.as_ref().map(|(pc, _)| *pc));
        }
        let mut live: Vec<usize> =
            pcs.iter().flat_map(|pc| self.graph.live_before(self.program, *pc)).collect();
        live.sort_unstable();
        live.dedup();
        self.apart.entry(next).or_default().extend(&live);
        live.retain(|number| !self.shapes.at_home[*number]);
        self.store_live(&live);
        self.store_at(at::PC, &next.to_string());
        self.emit(format!("ret i32 {reason}"));
    }

    /// Stores a word of the shared state.
    pub(super) fn store_at(&mut self, offset: usize, value: &str) {
        let place = self.let_(format!("getelementptr i8, ptr %c, i64 {offset}"));
        self.emit(format!("store i32 {value}, ptr {place}"));
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
}
