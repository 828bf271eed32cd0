//! Emits the ways into a kernel's code and out of it: live registers are loaded from the frame, and stored there.

use super::context::{at, stopped};
use super::emit::Emitter;
use super::value::{Value, bits_of};
use crate::registers::Width;

impl Emitter<'_> {
    /// Emits an entry: loads the live registers from the frame.
    pub(super) fn entry(&mut self, pc: u32) {
        self.begin(&format!("E{pc}"));
        if pc == self.graph.first {
            for number in self.graph.live_before(self.program, pc) {
                // Registers that are read before they are written are 0.
                let zero = match self.graph.registers[number].width {
                    Width::Predicate => Value::Scalar("false".to_owned()),
                    _ => Value::Scalar("0".to_owned()),
                };
                self.assign(number, &zero);
            }
        } else {
            for number in self.live_variables(pc) {
                let slot = self.graph.registers[number];
                let value = self.compact(slot, number);
                self.assign(number, &value);
            }
        }
        let block = self.graph.block_starting(pc).expect("entries begin blocks");
        self.emit(format!("br label %B{block}"));
    }

    /// Returns the label of the code that stops before a step.
    pub(super) fn exit(&mut self, pc: u32, reason: u32) -> String {
        self.exits.insert((pc, reason));
        format!("X{pc}_{reason}")
    }

    pub(super) fn exit_code(&mut self, pc: u32, reason: u32) {
        self.begin(&format!("X{pc}_{reason}"));
        if reason != stopped::FAULT {
            let live = self.live_variables(pc);
            self.store_live(&live);
        }
        let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::PC));
        self.emit(format!("store i32 {pc}, ptr {place}"));
        self.emit(format!("ret i32 {reason}"));
    }

    /// Stores registers to the frame, in compact form.
    pub(super) fn store_live(&mut self, live: &[usize]) {
        for &number in live {
            let slot = self.graph.registers[number];
            let value = self.read(slot);
            let place = self.column(slot.cell, 0);
            let bits = bits_of(slot.width);
            match (&value, slot.width) {
                (Value::Scalar(_), Width::Predicate) => {
                    let mask = self.mask(&value);
                    self.emit(format!("store i32 {mask}, ptr {place}"));
                }
                (Value::Scalar(base), _) => self.emit(format!("store i{bits} {base}, ptr {place}")),
                (Value::Affine(base, step), _) => {
                    self.emit(format!("store i{bits} {base}, ptr {place}"));
                    self.store_next(slot, base, step, 1);
                }
                (Value::Grid(log, [base, inner, outer]), _) => {
                    self.emit(format!("store i{bits} {base}, ptr {place}"));
                    self.store_next(slot, base, inner, 1);
                    self.store_next(slot, base, outer, 1 << log);
                }
                _ => self.store_column(slot, &value, None),
            }
        }
    }
}
