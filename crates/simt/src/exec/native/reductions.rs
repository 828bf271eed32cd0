//! Emits `red`: operations on integers in memory that give nothing back.
//!
//! The addresses are listed, checked and reported like those of any access. A function of the kernel then updates memory, by
//! atomic operations in global memory and by loads and stores in shared memory, which one worker accesses. If all lanes
//! have one address, it combines their operands first and updates once: that is one of the orders in which relaxed
//! operations may take effect. For example, with 32 lanes that add 1 to one counter,
//!
//! ```text
//! red.global.add.u32 [%rd1], 1   becomes   atomicrmw add ptr, i32 32 monotonic
//! ```

use std::fmt::Write as _;
use std::ops::Range;

use super::super::program::Program;
use super::super::step::Action;
use super::access::Place;
use super::context::at;
use super::emit::Emitter;
use super::graph::{End, Graph};
use super::sums::IS_WIDE;
use super::value::{lanes, literal};
use crate::memory::{Plain, PlainSpace, Reduction};
use crate::ptx::op::words::Update;

/// Returns LLVM's name of an operation, and the operand that changes nothing.
fn named(reduction: Reduction, bits: u32) -> (&'static str, u64) {
    let highest = 1_u64 << (bits - 1);
    match (reduction.update, reduction.is_signed) {
        (Update::Add, _) => ("add", 0),
        (Update::And, _) => ("and", u64::MAX),
        (Update::Or, _) => ("or", 0),
        (Update::Xor, _) => ("xor", 0),
        (Update::Min, false) => ("umin", u64::MAX),
        (Update::Max, false) => ("umax", 0),
        (Update::Min, true) => ("smin", highest - 1),
        (Update::Max, true) => ("smax", highest),
        _ => unreachable!("other operations do not combine"),
    }
}

/// Returns the additions to global memory whose sums are [held back](super::sums): those in loops.
pub(super) fn summed(program: &Program, graph: &Graph) -> Vec<u32> {
    let loops: Vec<Range<u32>> = graph
        .blocks
        .iter()
        .filter_map(|block| match block.end {
            End::Branch(branch) if branch.is_backward => Some(branch.target..block.steps.end),
            _ => None,
        })
        .collect();
    let is_addition = |pc: u32| match program.steps[pc as usize].action {
        Action::Memory(memory) => program.memory[memory as usize].plain().is_some_and(|plain| {
            let is_add = plain.reduction.is_some_and(|reduction| matches!(reduction.update, Update::Add));
            is_add && plain.space != PlainSpace::Shared
        }),
        _ => false,
    };
    let steps = graph.blocks.iter().flat_map(|block| block.straight());
    steps.filter(|pc| is_addition(*pc) && loops.iter().any(|steps| steps.contains(pc))).collect()
}

impl Emitter<'_> {
    /// Emits a reduction by the lanes of a mask, which is not empty; `slow` is for what is not the common case.
    pub(super) fn reduce(&mut self, plain: &Plain<'_>, pc: u32, mask: Option<&str>, slow: &str) {
        let (list, place) = match mask {
            None => {
                let number = self.access_number(pc);
                let address = self.address(plain);
                let place = self.place(plain, number);
                let list = self.listed(&address);
                self.check_and_tell(plain, number, (&place, &list), "-1", slow);
                (list, place)
            }
            Some(mask) => {
                let lane = self.first_lane(mask);
                self.partial_list(plain, pc, (mask, &lane), slow)
            }
        };
        let bits = 8 * plain.bytes;
        if self.summed.contains(&pc) {
            return self.sum_up(plain, &place, mask.unwrap_or("-1"));
        }
        self.settle_sums(plain, &place);
        let function = self.reducing(plain, bits);
        let value = self.stored(plain.elements[0], bits);
        let (base, mask) = (place.base.as_deref().unwrap_or("0"), mask.unwrap_or("-1"));
        let kind = lanes(bits);
        self.emit(format!("call void @{function}(ptr {list}, i64 {base}, {kind} {value}, i32 {mask})"));
    }

    /// Emits an addition of the lanes of a mask, at listed addresses, to the sums that are held back.
    fn sum_up(&mut self, plain: &Plain<'_>, place: &Place, mask: &str) {
        let bits = 8 * plain.bytes;
        let kind = lanes(bits);
        let values = self.in_prologue(|emitter| emitter.let_(format!("alloca {kind}, align 64")));
        let value = self.stored(plain.elements[0], bits);
        self.emit(format!("store {kind} {value}, ptr {values}, align 64"));
        let width = if bits == 64 { IS_WIDE } else { 0 };
        let summed = self.let_(format!("or i64 {}, {width}", place.first));
        let call = self.field("ptr", at::ADD);
        self.emit(format!("call void {call}(ptr %c, ptr {values}, i64 {summed}, i32 {mask})"));
    }

    /// Emits that sums which are held back go to memory if an access is to their allocation.
    pub(super) fn settle_sums(&mut self, plain: &Plain<'_>, place: &Place) {
        if self.summed.is_empty() || matches!(plain.space, PlainSpace::Shared | PlainSpace::Constant) {
            return;
        }
        let summed = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::SUMMED));
        let summed = self.let_(format!("load i64, ptr {summed}"));
        let summed = self.let_(format!("and i64 {summed}, {}", !IS_WIDE as i64));
        let others = self.let_(format!("icmp ne i64 {summed}, {}", place.first));
        let (go, settle) = (self.label(), self.label());
        self.likely(&others, &go, &settle);
        self.begin(&settle);
        let call = self.field("ptr", at::SETTLE);
        self.emit(format!("call void {call}(ptr %c)"));
        self.emit(format!("br label %{go}"));
        self.begin(&go);
    }

    /// Returns the name of the function that updates memory by the lanes of a mask, at listed addresses from a base. Lanes
    /// outside of the mask have the address of the first within.
    fn reducing(&mut self, plain: &Plain<'_>, bits: u32) -> String {
        let reduction = plain.reduction.expect("the access is a reduction");
        let (operation, neutral) = named(reduction, bits);
        let (neutral, kind) = (literal(bits, neutral), lanes(bits));
        let is_own = plain.space == PlainSpace::Shared;
        let name = format!("{}_{operation}_{bits}", if is_own { "update" } else { "atomic" });
        let is_extreme = matches!(reduction.update, Update::Min | Update::Max);
        self.intrinsic("declare i32 @llvm.cttz.i32(i32, i1)");
        self.intrinsic(format!("declare i{bits} @llvm.vector.reduce.{operation}.v32i{bits}({kind})"));
        if is_own && is_extreme {
            self.intrinsic(format!("declare i{bits} @llvm.{operation}.i{bits}(i{bits}, i{bits})"));
        }
        let align = bits / 8;
        let update = |text: &mut String, tag: &str, address: &str, value: &str| {
            let _ = writeln!(text, "  %h{tag} = add i64 {address}, %base");
            let _ = writeln!(text, "  %p{tag} = inttoptr i64 %h{tag} to ptr");
            if !is_own {
                // LLVM's instruction has the signed ones without their letter.
                let operation = operation.strip_prefix('s').unwrap_or(operation);
                let order = format!("monotonic, align {align}");
                let _ =
                    writeln!(text, "  %o{tag} = atomicrmw {operation} ptr %p{tag}, i{bits} {value} {order}");
                return;
            }
            let _ = writeln!(text, "  %o{tag} = load i{bits}, ptr %p{tag}, align {align}");
            let _ = match is_extreme {
                true => writeln!(
                    text,
                    "  %n{tag} = call i{bits} @llvm.{operation}.i{bits}(i{bits} %o{tag}, i{bits} {value})"
                ),
                false => writeln!(text, "  %n{tag} = {operation} i{bits} %o{tag}, {value}"),
            };
            let _ = writeln!(text, "  store i{bits} %n{tag}, ptr %p{tag}, align {align}");
        };
        let all = lanes(64);
        let mut text = format!(
            "void @{name}(ptr %list, i64 %base, {kind} %value, i32 %mask) noinline ATTRIBUTES {{\nstart:\n  \
             %values = alloca {kind}, align 64\n  \
             %addresses = load {all}, ptr %list, align 8\n  \
             %first = load i64, ptr %list, align 8\n  \
             %f0 = insertelement {all} poison, i64 %first, i32 0\n  \
             %firsts = shufflevector {all} %f0, {all} poison, <32 x i32> zeroinitializer\n  \
             %others = icmp ne {all} %addresses, %firsts\n  \
             %bits = bitcast <32 x i1> %others to i32\n  \
             %one = icmp eq i32 %bits, 0\n  \
             br i1 %one, label %together, label %apart\ntogether:\n  \
             %test = bitcast i32 %mask to <32 x i1>\n  \
             %own = select <32 x i1> %test, {kind} %value, {kind} splat (i{bits} {neutral})\n  \
             %sum = call i{bits} @llvm.vector.reduce.{operation}.v32i{bits}({kind} %own)\n"
        );
        update(&mut text, "t", "%first", "%sum");
        let _ = write!(
            text,
            "  ret void\napart:\n  \
             store {kind} %value, ptr %values, align 64\n  \
             %whole = icmp eq i32 %mask, -1\n  \
             br i1 %whole, label %all, label %next\nall:\n"
        );
        for lane in 0..32 {
            let _ = writeln!(text, "  %i{lane} = getelementptr i64, ptr %list, i64 {lane}");
            let _ = writeln!(text, "  %l{lane} = load i64, ptr %i{lane}");
            let _ = writeln!(text, "  %j{lane} = getelementptr i{bits}, ptr %values, i64 {lane}");
            let _ = writeln!(text, "  %v{lane} = load i{bits}, ptr %j{lane}");
            update(&mut text, &lane.to_string(), &format!("%l{lane}"), &format!("%v{lane}"));
        }
        text.push_str(
            "  ret void\nnext:\n  \
             %left = phi i32 [ %mask, %apart ], [ %rest, %next ]\n  \
             %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %at = getelementptr i64, ptr %list, i32 %lane\n  \
             %address = load i64, ptr %at\n",
        );
        let _ = writeln!(text, "  %from = getelementptr i{bits}, ptr %values, i32 %lane");
        let _ = writeln!(text, "  %operand = load i{bits}, ptr %from");
        update(&mut text, "m", "%address", "%operand");
        text.push_str(
            "  %lower = sub i32 %left, 1\n  \
             %rest = and i32 %left, %lower\n  \
             %more = icmp ne i32 %rest, 0\n  \
             br i1 %more, label %next, label %end\nend:\n  ret void\n}\n",
        );
        self.function_of_module(text);
        name
    }
}
