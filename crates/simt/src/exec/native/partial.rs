//! Emits loads and stores of some of a warp's lanes.
//!
//! Whatever the shape of the address, the lanes' addresses are listed. Lanes outside of the mask take that of the first
//! within: so one check holds for all 32, loads may read them all, and the observer sees what the interpreter shows it.
//! Stores go through the mask's lanes in ascending order, as in the interpreter.

use super::access::Place;
use super::columns::Operand;
use super::context::at;
use super::emit::Emitter;
use super::shape::Shape;
use super::transfers::Lanes;
use super::value::{Value, lanes};
use crate::memory::Plain;
use crate::registers::Slot;

impl Emitter<'_> {
    /// Emits an access by the lanes of a mask, which is not empty; `slow` is for what is not the common case.
    pub(super) fn partial(&mut self, plain: &Plain<'_>, pc: u32, mask: &str, slow: &str) {
        let lane = self.first_lane(mask);
        let (list, place) = self.partial_list(plain, pc, (mask, &lane), slow);
        let base = place.base.as_deref().unwrap_or("0");
        self.each_lane(plain, Lanes::Active { list: &list, base, mask, lane: &lane });
    }

    /// Lists, checks and reports the addresses of the lanes of a mask, the first of which is `lane`.
    pub(super) fn partial_list(
        &mut self,
        plain: &Plain<'_>,
        pc: u32,
        (mask, lane): (&str, &str),
        slow: &str,
    ) -> (String, Place) {
        let number = self.access_number(pc);
        let address = self.address(plain);
        let place = self.place(plain, number);
        let list = self.listed(&address);
        let at_first = self.let_(format!("getelementptr i64, ptr {list}, i32 {lane}"));
        let first = self.let_(format!("load i64, ptr {at_first}"));
        let others = self.splat(&first, 64);
        let (own, test) = (self.vector(&address, 64), self.lanes_of_mask(mask));
        let kind = lanes(64);
        let all = self.let_(format!("select <32 x i1> {test}, {kind} {own}, {kind} {others}"));
        self.listed(&Value::Vector(all));
        self.check_and_tell(plain, number, (&place, &list), mask, slow);
        (list, place)
    }

    /// Checks the listed addresses of the lanes of a mask, and reports them.
    pub(super) fn check_and_tell(
        &mut self,
        plain: &Plain<'_>,
        number: usize,
        (place, list): (&Place, &str),
        mask: &str,
        slow: &str,
    ) {
        self.check_list(plain, place, list, slow);
        if self.observes {
            let call = self.field("ptr", at::ANY);
            self.emit(format!("call void {call}(ptr %c, i32 {number}, i32 {mask})"));
        }
    }

    /// Returns true if a register has a value for each lane, not one for all.
    pub(super) fn varies(&self, slot: Slot) -> bool {
        match self.operand(slot.cell) {
            Operand::Register(register) => self.shapes.of[register] == Shape::Varying,
            _ => true,
        }
    }

    /// Returns the number of the first lane of a mask that is not empty.
    pub(super) fn first_lane(&mut self, mask: &str) -> String {
        self.intrinsic("declare i32 @llvm.cttz.i32(i32, i1)");
        self.let_(format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 true)"))
    }

    /// Returns the number of the last lane of a mask that is not empty.
    pub(super) fn last_lane(&mut self, mask: &str) -> String {
        self.intrinsic("declare i32 @llvm.ctlz.i32(i32, i1)");
        let above = self.let_(format!("call i32 @llvm.ctlz.i32(i32 {mask}, i1 true)"));
        self.let_(format!("sub i32 31, {above}"))
    }

    /// Returns the name of the function that stores the lanes of a mask one by one, at listed addresses from a base.
    pub(super) fn store_of_some(&mut self, bits: u32) -> String {
        self.intrinsic("declare i32 @llvm.cttz.i32(i32, i1)");
        let (name, kind, align) = (format!("store_some_{bits}"), lanes(bits), bits / 8);
        self.function_of_module(format!(
            "void @{name}(ptr %list, i64 %base, {kind} %value, i32 %mask) noinline ATTRIBUTES {{\nstart:\n  \
             %values = alloca {kind}, align 64\n  \
             store {kind} %value, ptr %values, align 64\n  br label %next\nnext:\n  \
             %left = phi i32 [ %mask, %start ], [ %rest, %next ]\n  \
             %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %at = getelementptr i64, ptr %list, i32 %lane\n  \
             %address = load i64, ptr %at\n  \
             %host = add i64 %address, %base\n  \
             %place = inttoptr i64 %host to ptr\n  \
             %from = getelementptr i{bits}, ptr %values, i32 %lane\n  \
             %one = load i{bits}, ptr %from\n  \
             store i{bits} %one, ptr %place, align {align}\n  \
             %lower = sub i32 %left, 1\n  \
             %rest = and i32 %left, %lower\n  \
             %more = icmp ne i32 %rest, 0\n  \
             br i1 %more, label %next, label %end\nend:\n  ret void\n}}\n"
        ));
        name
    }
}
