//! Reads and writes registers: LLVM's variables within compiled code, and columns of the warp's frame.
//!
//! A variable holds a register in the form of its [`Shape`]. The interpreter knows columns alone, so before it is called for an
//! instruction the variables that this one reads are stored, and those that it writes are loaded afterwards. An early return
//! stores all live ones, uniform and affine ones in the compact form.

use super::columns::Operand;
use super::emit::Emitter;
use super::shape::{Shape, Step};
use super::value::{Value, bits_of, constant_lanes, lanes, literal};
use crate::registers::{Slot, Width};

impl Emitter<'_> {
    pub(super) fn column(&mut self, cell: u32, offset: u32) -> String {
        self.let_(format!("getelementptr i8, ptr %f, i64 {}", u64::from(cell) * 8 + u64::from(offset)))
    }

    /// Returns what an instruction reads from a column, a constant if its register holds one.
    pub(super) fn source(&self, cell: u32) -> Operand {
        self.columns.source(self.graph, cell)
    }

    pub(super) fn operand(&self, cell: u32) -> Operand {
        self.columns.operand(self.graph, cell)
    }

    /// Reads a column; NaN of `f32` are canonical.
    pub(super) fn read(&mut self, slot: Slot) -> Value {
        let value = self.read_raw(slot);
        if slot.width == Width::Word
            && let Operand::Register(number) = self.source(slot.cell)
            && self.shapes.raw[number]
        {
            return self.canonical(value);
        }
        value
    }

    /// Reads a column as it is.
    pub(super) fn read_raw(&mut self, slot: Slot) -> Value {
        let bits = bits_of(slot.width);
        match self.source(slot.cell) {
            Operand::Register(number) => self.register(number),
            Operand::Constant(value) => Value::Scalar(literal(bits, value as u64)),
            Operand::Special(special, size) => self.special(special, size, bits),
            Operand::Launch => {
                let place = self.column(slot.cell, 0);
                Value::Scalar(self.let_(format!("load i{bits}, ptr {place}")))
            }
            Operand::Frame => self.load_column(slot),
        }
    }

    pub(super) fn register(&mut self, number: usize) -> Value {
        let width = self.graph.registers[number].width;
        let bits = bits_of(width);
        match (self.shapes.of[number], width) {
            (Shape::Varying, Width::Predicate) => Value::Mask(self.let_(format!("load i32, ptr %r{number}"))),
            (Shape::Varying, _) => {
                Value::Vector(self.let_(format!("load {}, ptr %r{number}, align 64", lanes(bits))))
            }
            (Shape::Affine { step, .. }, _) => {
                let base = self.let_(format!("load i{bits}, ptr %r{number}"));
                match step {
                    Step::Constant(0) => Value::Scalar(base),
                    Step::Constant(step) => Value::Affine(base, literal(bits, step as u64)),
                    Step::Dynamic => Value::Affine(base, self.let_(format!("load i{bits}, ptr %s{number}"))),
                }
            }
            (Shape::Grid { log, inner, outer, .. }, _) => {
                let base = self.let_(format!("load i{bits}, ptr %r{number}"));
                let [inner, outer] = [("s", inner), ("o", outer)].map(|(name, step)| match step {
                    Step::Constant(step) => literal(bits, step as u64),
                    Step::Dynamic => self.let_(format!("load i{bits}, ptr %{name}{number}")),
                });
                Value::Grid(log, [base, inner, outer])
            }
        }
    }

    /// Assigns to a register.
    pub(super) fn assign(&mut self, number: usize, value: &Value) {
        let width = self.graph.registers[number].width;
        let bits = bits_of(width);
        match (self.shapes.of[number], width) {
            (Shape::Varying, Width::Predicate) => {
                let mask = self.mask(value);
                self.emit(format!("store i32 {mask}, ptr %r{number}"));
            }
            (Shape::Varying, _) => {
                let vector = self.vector(value, bits);
                self.emit(format!("store {} {vector}, ptr %r{number}, align 64", lanes(bits)));
            }
            (Shape::Affine { step: shape, .. }, _) => {
                let (base, step) = match value {
                    Value::Scalar(base) => (base.clone(), "0".to_owned()),
                    Value::Affine(base, step) => (base.clone(), step.clone()),
                    // Rows that go on where the one before ends.
                    Value::Grid(_, [base, inner, _]) => (base.clone(), inner.clone()),
                    _ => unreachable!("the analysis found the register affine"),
                };
                self.emit(format!("store i{bits} {base}, ptr %r{number}"));
                if shape == Step::Dynamic {
                    self.emit(format!("store i{bits} {step}, ptr %s{number}"));
                }
            }
            (Shape::Grid { log, inner, outer, .. }, _) => {
                let [base, own_inner, own_outer] = self.in_rows(value, log, bits);
                self.emit(format!("store i{bits} {base}, ptr %r{number}"));
                for (name, step, own) in [("s", inner, own_inner), ("o", outer, own_outer)] {
                    if step == Step::Dynamic {
                        self.emit(format!("store i{bits} {own}, ptr %{name}{number}"));
                    }
                }
            }
        }
    }

    /// Assigns to the register of a result's column, if it has one. In lanes that are not in `mask` it keeps its value.
    pub(super) fn write(&mut self, slot: Slot, value: &Value, mask: Option<&str>) {
        let Operand::Register(number) = self.operand(slot.cell) else {
            // A sink, or a column that stays in the frame.
            return self.store_column(slot, value, mask);
        };
        // One that is not varying is dead in the lanes outside.
        let mask = mask.filter(|_| self.shapes.of[number] == Shape::Varying);
        let Some(mask) = mask else { return self.assign(number, value) };
        let old = self.register(number);
        let bits = bits_of(slot.width);
        let merged = if slot.width == Width::Predicate {
            let (new, old) = (self.mask(value), self.mask(&old));
            let new = self.let_(format!("and i32 {new}, {mask}"));
            let rest = self.let_(format!("xor i32 {mask}, -1"));
            let old = self.let_(format!("and i32 {old}, {rest}"));
            Value::Mask(self.let_(format!("or i32 {new}, {old}")))
        } else {
            let kind = lanes(bits);
            let (new, old) = (self.vector(value, bits), self.vector(&old, bits));
            let test = self.lanes_of_mask(mask);
            Value::Vector(self.let_(format!("select <32 x i1> {test}, {kind} {new}, {kind} {old}")))
        };
        self.assign(number, &merged);
    }

    /// Loads a column of the frame.
    fn load_column(&mut self, slot: Slot) -> Value {
        let place = self.column(slot.cell, 0);
        match slot.width {
            Width::Predicate => Value::Mask(self.let_(format!("load i32, ptr {place}"))),
            width => {
                let kind = lanes(bits_of(width));
                Value::Vector(self.let_(format!("load {kind}, ptr {place}, align 64")))
            }
        }
    }

    /// Stores a column of the frame, in the lanes of a mask.
    pub(super) fn store_column(&mut self, slot: Slot, value: &Value, mask: Option<&str>) {
        let place = self.column(slot.cell, 0);
        if slot.width == Width::Predicate {
            let mut bits = self.mask(value);
            if let Some(mask) = mask {
                let old = self.let_(format!("load i32, ptr {place}"));
                let rest = self.let_(format!("xor i32 {mask}, -1"));
                let old = self.let_(format!("and i32 {old}, {rest}"));
                let new = self.let_(format!("and i32 {bits}, {mask}"));
                bits = self.let_(format!("or i32 {old}, {new}"));
            }
            self.emit(format!("store i32 {bits}, ptr {place}"));
            return;
        }
        let bits = bits_of(slot.width);
        let kind = lanes(bits);
        if mask.is_none()
            && let Value::Scalar(base) | Value::Affine(base, _) = value
        {
            // Off the path that is taken nearly always, so by a call.
            let step = if let Value::Affine(_, step) = value { step } else { "0" };
            let name = self.filling(bits);
            return self.emit(format!("call void @{name}(ptr {place}, i{bits} {base}, i{bits} {step})"));
        }
        let mut vector = self.vector(value, bits);
        if let Some(mask) = mask {
            let old = self.let_(format!("load {kind}, ptr {place}, align 64"));
            let test = self.lanes_of_mask(mask);
            vector = self.let_(format!("select <32 x i1> {test}, {kind} {vector}, {kind} {old}"));
        }
        self.emit(format!("store {kind} {vector}, ptr {place}, align 64"));
    }

    /// Returns the name of the function that fills a column with `base + k * step`.
    fn filling(&mut self, bits: u32) -> String {
        let (name, kind) = (format!("fill_{bits}"), lanes(bits));
        let numbers = constant_lanes(bits, |lane| lane);
        let splat = |name: &str, of: &str| {
            format!(
                "  %{name}0 = insertelement {kind} poison, i{bits} {of}, i32 0\n  \
                 %{name} = shufflevector {kind} %{name}0, {kind} poison, <32 x i32> zeroinitializer\n"
            )
        };
        let (bases, steps) = (splat("b", "%base"), splat("s", "%step"));
        self.function_of_module(format!(
            "void @{name}(ptr %column, i{bits} %base, i{bits} %step) noinline ATTRIBUTES {{\n{bases}{steps}  \
             %p = mul {kind} %s, {numbers}\n  %v = add {kind} %b, %p\n  \
             store {kind} %v, ptr %column, align 64\n  ret void\n}}\n"
        ));
        name
    }

    /// Returns the numbers of the registers that are live before a step and not kept in the frame.
    pub(super) fn live_variables(&self, pc: u32) -> Vec<usize> {
        let mut live = self.graph.live_before(self.program, pc);
        live.retain(|number| !self.shapes.at_home[*number]);
        live
    }

    /// Returns true if the register's column always has all lanes.
    fn is_column(&self, number: usize) -> bool {
        self.shapes.at_home[number] && self.shapes.of[number] == Shape::Varying
    }

    /// Loads a register from its column, compact or not.
    pub(super) fn compact(&mut self, slot: Slot, number: usize) -> Value {
        let shape = self.shapes.of[number];
        if shape == Shape::Varying {
            return self.load_column(slot);
        }
        let place = self.column(slot.cell, 0);
        if slot.width == Width::Predicate {
            let bits = self.let_(format!("load i32, ptr {place}"));
            return Value::Scalar(self.let_(format!("trunc i32 {bits} to i1")));
        }
        let bits = bits_of(slot.width);
        let base = self.let_(format!("load i{bits}, ptr {place}"));
        let step_to = |emitter: &mut Self, lane: u32, step: Step| match step {
            Step::Constant(step) => literal(bits, step as u64),
            Step::Dynamic => {
                let place = emitter.column(slot.cell, lane * bits / 8);
                let next = emitter.let_(format!("load i{bits}, ptr {place}"));
                emitter.let_(format!("sub i{bits} {next}, {base}"))
            }
        };
        match shape {
            Shape::Affine { step: Step::Constant(0), .. } => Value::Scalar(base),
            Shape::Affine { step, .. } => {
                let step = step_to(self, 1, step);
                Value::Affine(base, step)
            }
            Shape::Grid { log, inner, outer, .. } => {
                let (inner, outer) = (step_to(self, 1, inner), step_to(self, 1 << log, outer));
                Value::Grid(log, [base, inner, outer])
            }
            Shape::Varying => unreachable!("handled above"),
        }
    }

    /// Stores the value of a lane whose distance from the first is a step, unless that is a constant.
    pub(super) fn store_next(&mut self, slot: Slot, base: &str, step: &str, lane: u32) {
        if !step.starts_with('%') {
            return;
        }
        let bits = bits_of(slot.width);
        let next = self.let_(format!("add i{bits} {base}, {step}"));
        let place = self.column(slot.cell, lane * bits / 8);
        self.emit(format!("store i{bits} {next}, ptr {place}"));
    }

    /// Stores to the frame what an instruction that is called reads, and what it leaves in other lanes.
    pub(super) fn give_columns(&mut self, pc: u32, mask: Option<&str>) {
        let program = self.program;
        let sources = program.uses.sources(pc as usize);
        let kept = if mask.is_some() { program.uses.results(pc as usize) } else { &[] };
        for slot in sources.iter().chain(kept) {
            match self.operand(slot.cell) {
                Operand::Register(number) if self.is_column(number) => {}
                Operand::Register(_) | Operand::Special(..) => {
                    let value = self.read(*slot);
                    self.store_column(*slot, &value, None);
                }
                _ => {}
            }
        }
    }

    /// Loads from the frame what an instruction that was called has written, in the lanes of a mask.
    pub(super) fn take_columns(&mut self, pc: u32, mask: Option<&str>) {
        let program = self.program;
        for slot in program.uses.results(pc as usize) {
            let Operand::Register(number) = self.operand(slot.cell) else { continue };
            if self.is_column(number) {
                continue;
            }
            let value = match (self.shapes.of[number], mask) {
                (Shape::Varying, _) => self.load_column(*slot),
                (_, Some(mask)) => self.first_of_column(*slot, mask),
                _ => self.compact(*slot, number),
            };
            self.assign(number, &value);
        }
    }

    /// Loads the value of the first lane of a mask, which is that of all its lanes.
    fn first_of_column(&mut self, slot: Slot, mask: &str) -> Value {
        let lane = self.first_lane(mask);
        let column = self.column(slot.cell, 0);
        if slot.width == Width::Predicate {
            let lanes = self.let_(format!("load i32, ptr {column}"));
            let first = self.let_(format!("lshr i32 {lanes}, {lane}"));
            return Value::Scalar(self.let_(format!("trunc i32 {first} to i1")));
        }
        let bits = bits_of(slot.width);
        let place = self.let_(format!("getelementptr i{bits}, ptr {column}, i32 {lane}"));
        Value::Scalar(self.let_(format!("load i{bits}, ptr {place}")))
    }
}
