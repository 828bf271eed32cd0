//! Emits shuffles, votes and matches of whole warps.
//!
//! The lane that each lane reads is known where the shuffle's operands are constants, as in nearly all reductions: then a
//! shuffle is one of LLVM's, and one that reads the same lane everywhere is uniform. For example,
//! `shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1` exchanges the vector's halves. Other shuffles are called. `match.any` of words
//! compares all lanes with each one.

use std::fmt::Write as _;

use super::context::at;
use super::emit::Emitter;
use super::shapes::pattern;
use super::value::{Value, constant_lanes, lanes};
use crate::alu::{Collective, invert_source};
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::words::VoteMode;
use crate::registers::Slot;

impl Emitter<'_> {
    /// Emits a collective of all lanes. Returns false if it has to be called.
    pub(super) fn collective(&mut self, pc: u32, op: &Op, collective: &Collective) -> bool {
        let results: Vec<Slot> = collective.results().collect();
        let (Some(source), Some(result)) = (collective.sources().next(), results.first()) else {
            return false;
        };
        match op {
            Op::Vote { mode, .. } => {
                let value = self.read(source);
                let mut votes = self.mask(&value);
                if collective.slots.config & invert_source(0) != 0 {
                    votes = self.let_(format!("xor i32 {votes}, -1"));
                }
                let is = |emitter: &mut Self, all: i32| emitter.let_(format!("icmp eq i32 {votes}, {all}"));
                let verdict = match mode {
                    VoteMode::Ballot => votes,
                    VoteMode::All => is(self, -1),
                    VoteMode::Any => self.let_(format!("icmp ne i32 {votes}, 0")),
                    VoteMode::Uniform => {
                        let (all, none) = (is(self, -1), is(self, 0));
                        self.let_(format!("or i1 {all}, {none}"))
                    }
                };
                self.write(*result, &Value::Scalar(verdict), None);
                true
            }
            Op::Shfl { .. } => {
                let Some(from) = pattern(op, collective, self.columns, self.graph) else { return false };
                let value = self.read(source);
                let vector = self.vector(&value, 32);
                let kind = lanes(32);
                let moved = if from.iter().all(|lane| lane.0 == from[0].0) {
                    Value::Scalar(self.let_(format!("extractelement {kind} {vector}, i32 {}", from[0].0)))
                } else {
                    let picks = constant_lanes(32, |lane| from[lane as usize].0);
                    Value::Vector(
                        self.let_(format!("shufflevector {kind} {vector}, {kind} poison, {kind} {picks}")),
                    )
                };
                self.write(*result, &moved, None);
                if let Some(inside) = results.get(1) {
                    let mask = (0..32).fold(0, |mask, lane| mask | u32::from(from[lane].1) << lane);
                    let all = from.iter().all(|lane| lane.1 == from[0].1);
                    let value = if all {
                        Value::Scalar(from[0].1.to_string())
                    } else {
                        Value::Mask((mask as i32).to_string())
                    };
                    self.write(*inside, &value, None);
                }
                true
            }
            Op::Match { all: false, scalar: ScalarType::B32, .. } => {
                let value = self.read(source);
                let vector = self.vector(&value, 32);
                let (name, kind) = (self.matching(), lanes(32));
                let matches = self.let_(format!("call {kind} @{name}({kind} {vector})"));
                if self.observes {
                    self.tell_matches(pc, &matches);
                }
                self.write(*result, &Value::Vector(matches), None);
                true
            }
            _ => false,
        }
    }

    /// Emits that the observer is told how many values there are: of each, the first lane finds none before it.
    fn tell_matches(&mut self, pc: u32, matches: &str) {
        let kind = lanes(32);
        let before = constant_lanes(32, |lane| (1_u32 << lane) - 1);
        let others = self.let_(format!("and {kind} {matches}, {before}"));
        let firsts = self.let_(format!("icmp eq {kind} {others}, zeroinitializer"));
        let firsts = self.let_(format!("bitcast <32 x i1> {firsts} to i32"));
        self.intrinsic("declare i32 @llvm.ctpop.i32(i32)");
        let values = self.let_(format!("call i32 @llvm.ctpop.i32(i32 {firsts})"));
        let call = self.field("ptr", at::MATCHED);
        self.emit(format!("call void {call}(ptr %c, i32 {pc}, i32 {values})"));
    }

    /// Returns the name of the function that gives each lane a bit for each lane with the same word.
    fn matching(&mut self) -> &'static str {
        let kind = lanes(32);
        let mut text = format!("{kind} @match_any({kind} %words) noinline ATTRIBUTES {{\n");
        let mut before = "zeroinitializer".to_owned();
        for lane in 0..32 {
            let picks = constant_lanes(32, |_| lane);
            let _ = writeln!(
                text,
                "  %s{lane} = shufflevector {kind} %words, {kind} poison, {kind} {picks}\n  \
                 %c{lane} = icmp eq {kind} %words, %s{lane}\n  \
                 %b{lane} = select <32 x i1> %c{lane}, {kind} splat (i32 {}), {kind} zeroinitializer\n  \
                 %m{lane} = or {kind} {before}, %b{lane}",
                (1_u32 << lane) as i32
            );
            before = format!("%m{lane}");
        }
        let _ = writeln!(text, "  ret {kind} {before}\n}}");
        self.function_of_module(text);
        "match_any"
    }
}
