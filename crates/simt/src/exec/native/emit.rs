//! Emits a kernel as LLVM's text: values, registers, blocks and the ways in and out.
//!
//! A call of the function executes one whole warp, all of whose lanes are together, from an entry until the warp exits
//! or does what only the interpreter does: diverges, waits at a barrier, calls. Registers are variables (`alloca`),
//! which LLVM turns into values: a scalar if the register is uniform, a scalar and a step if it is affine, 32 lanes
//! otherwise. When the function returns early, the live registers are in the warp's frame in a *compact* form: the
//! column of a uniform or affine register has its first lanes alone. [`Code::expand`](super::code::Code::expand) fills
//! the others before the interpreter reads them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::super::program::Program;
use super::super::special::Special;
use super::super::step::{Action, Rare};
use super::context::{at, stopped};
use super::graph::{End, Graph};
use super::shapes::{Columns, Operand, Shape, Shapes, Step, lane_mask};
use crate::registers::{Slot, Width};

/// A value of an instruction: the text of an operand, without its type.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The same in all lanes.
    Scalar(String),
    /// Base and step.
    Affine(String, String),
    /// Rows of `1 << log` lanes: base, and the steps within and between rows.
    Grid(u8, [String; 3]),
    /// 32 lanes.
    Vector(String),
    /// A predicate: 32 bits.
    Mask(String),
}

/// An access that compiled code reports: its step, by the number that it passes to the callbacks.
pub(super) type Accesses = Vec<u32>;

pub(super) struct Emitter<'a> {
    pub(super) program: &'a Program,
    pub(super) graph: &'a Graph,
    pub(super) columns: &'a Columns,
    pub(super) shapes: &'a Shapes,
    /// Reports accesses.
    pub(super) observes: bool,
    prologue: String,
    pub(super) body: String,
    names: u32,
    /// The step that is being emitted.
    pub(super) pc: u32,
    /// Numbers of accesses, for their bounds.
    pub(super) accesses: Accesses,
    /// Guarded steps, in the order of their counters.
    pub(super) guarded: Vec<u32>,
    exits: BTreeSet<(u32, u32)>,
    /// True if an access uses the observer's tallies.
    pub(super) tallied: bool,
    intrinsics: BTreeSet<String>,
    functions: BTreeSet<String>,
    specials: Vec<((Special, u8), Value)>,
}

/// Returns the type of 32 lanes.
pub(super) fn lanes(bits: u32) -> String {
    format!("<32 x i{bits}>")
}

pub(super) fn bits_of(width: Width) -> u32 {
    match width {
        Width::Predicate => 1,
        Width::Word => 32,
        Width::Double => 64,
        Width::Quad => 128,
    }
}

/// Returns a constant of 32 lanes.
fn constant_lanes(bits: u32, lane: impl Fn(u32) -> u32) -> String {
    let list: Vec<String> = (0..32).map(|index| format!("i{bits} {}", lane(index))).collect();
    format!("<{}>", list.join(", "))
}

fn literal(bits: u32, value: u64) -> String {
    match bits {
        1 => (value & 1 != 0).to_string(),
        32 => (value as i32).to_string(),
        _ => (value as i64).to_string(),
    }
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        program: &'a Program,
        graph: &'a Graph,
        columns: &'a Columns,
        shapes: &'a Shapes,
        observes: bool,
    ) -> Self {
        Self {
            program,
            graph,
            columns,
            shapes,
            observes,
            prologue: String::new(),
            body: String::new(),
            names: 0,
            pc: 0,
            accesses: Vec::new(),
            guarded: Vec::new(),
            exits: BTreeSet::new(),
            tallied: false,
            intrinsics: BTreeSet::new(),
            functions: BTreeSet::new(),
            specials: Vec::new(),
        }
    }

    /// Emits the whole function.
    pub(super) fn function(mut self, attributes: &str) -> Emitted {
        for block in 0..self.graph.blocks.len() {
            self.block(block);
        }
        let mut entries = String::new();
        for (index, pc) in self.graph.entries.clone().into_iter().enumerate() {
            let _ = write!(entries, " i32 {index}, label %E{pc}");
        }
        let bodies = std::mem::take(&mut self.body);
        for pc in self.graph.entries.clone() {
            self.entry(pc);
        }
        let exits = self.exits.clone();
        for (pc, reason) in exits {
            self.exit_code(pc, reason);
        }
        let ways = std::mem::take(&mut self.body);
        let mut text =
            format!("define i32 @warp(ptr noalias %c, ptr noalias %f, i32 %entry) {attributes} {{\n");
        for (number, slot) in self.graph.registers.iter().enumerate() {
            let bits = bits_of(slot.width);
            if self.shapes.at_home[number] {
                let offset = u64::from(slot.cell) * 8;
                let _ = writeln!(text, "  %r{number} = getelementptr i8, ptr %f, i64 {offset}");
                continue;
            }
            match (self.shapes.of[number], slot.width) {
                (Shape::Varying, Width::Predicate) => _ = writeln!(text, "  %r{number} = alloca i32"),
                (Shape::Varying, _) => _ = writeln!(text, "  %r{number} = alloca {}", lanes(bits)),
                (Shape::Affine { step, .. }, _) => {
                    _ = writeln!(text, "  %r{number} = alloca i{bits}");
                    if step == Step::Dynamic {
                        _ = writeln!(text, "  %s{number} = alloca i{bits}");
                    }
                }
                (Shape::Grid { inner, outer, .. }, _) => {
                    _ = writeln!(text, "  %r{number} = alloca i{bits}");
                    for (name, step) in [("s", inner), ("o", outer)] {
                        if step == Step::Dynamic {
                            _ = writeln!(text, "  %{name}{number} = alloca i{bits}");
                        }
                    }
                }
            }
        }
        text.push_str(&self.prologue);
        let _ = writeln!(text, "  switch i32 %entry, label %bad [{entries} ]\nbad:\n  unreachable");
        text.push_str(&bodies);
        text.push_str(&ways);
        text.push_str("}\n");
        for function in &self.functions {
            text.push_str("define internal ");
            text.push_str(&function.replace("ATTRIBUTES", attributes));
        }
        for declaration in &self.intrinsics {
            text.push_str(declaration);
            text.push('\n');
        }
        text.push_str("!0 = !{}\n!1 = !{!\"branch_weights\", i32 100000, i32 1}\n");
        let Self { accesses, guarded, exits, tallied, .. } = self;
        Emitted { text, accesses, guarded, exits, tallied }
    }

    // Text.

    pub(super) fn name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    /// Emits an instruction with a result and returns the result's name.
    pub(super) fn let_(&mut self, instruction: impl AsRef<str>) -> String {
        let name = self.name();
        let _ = writeln!(self.body, "  %x{name} = {}", instruction.as_ref());
        format!("%x{name}")
    }

    pub(super) fn emit(&mut self, instruction: impl AsRef<str>) {
        let _ = writeln!(self.body, "  {}", instruction.as_ref());
    }

    pub(super) fn label(&mut self) -> String {
        format!("L{}", self.name())
    }

    pub(super) fn begin(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
    }

    /// Emits a branch that is taken nearly always.
    pub(super) fn likely(&mut self, condition: &str, yes: &str, no: &str) {
        self.emit(format!("br i1 {condition}, label %{yes}, label %{no}, !prof !1"));
    }

    pub(super) fn intrinsic(&mut self, declaration: impl Into<String>) {
        self.intrinsics.insert(declaration.into());
    }

    /// Adds a function that the kernel's own calls: its text behind `define internal`, with the word `ATTRIBUTES`.
    pub(super) fn function_of_module(&mut self, text: String) {
        self.functions.insert(text);
    }

    /// Emits into the function's first block.
    fn in_prologue<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let body = std::mem::take(&mut self.body);
        self.body = std::mem::take(&mut self.prologue);
        let result = emit(self);
        self.prologue = std::mem::replace(&mut self.body, body);
        result
    }

    /// Loads a field of the shared state that does not change during a call.
    pub(super) fn field(&mut self, kind: &str, offset: usize) -> String {
        let place = self.let_(format!("getelementptr i8, ptr %c, i64 {offset}"));
        self.let_(format!("load {kind}, ptr {place}, !invariant.load !0"))
    }

    fn column(&mut self, cell: u32, offset: u32) -> String {
        self.let_(format!("getelementptr i8, ptr %f, i64 {}", u64::from(cell) * 8 + u64::from(offset)))
    }

    // Values.

    /// Returns 32 lanes of a value of this many bits.
    pub(super) fn vector(&mut self, value: &Value, bits: u32) -> String {
        match value {
            Value::Vector(vector) => vector.clone(),
            Value::Scalar(scalar) => self.splat(scalar, bits),
            Value::Affine(base, step) => {
                let (base, step) = (self.splat(base, bits), self.splat(step, bits));
                let numbers = constant_lanes(bits, |lane| lane);
                let product = self.let_(format!("mul {} {step}, {numbers}", lanes(bits)));
                self.let_(format!("add {} {base}, {product}", lanes(bits)))
            }
            Value::Grid(log, [base, inner, outer]) => {
                let kind = lanes(bits);
                let mut sum = self.splat(base, bits);
                let width = 1 << log;
                let parts = [
                    (inner, constant_lanes(bits, |lane| lane % width)),
                    (outer, constant_lanes(bits, |lane| lane / width)),
                ];
                for (step, numbers) in parts.into_iter().filter(|(step, _)| *step != "0") {
                    let step = self.splat(step, bits);
                    let product = self.let_(format!("mul {kind} {step}, {numbers}"));
                    sum = self.let_(format!("add {kind} {sum}, {product}"));
                }
                sum
            }
            Value::Mask(mask) => mask.clone(),
        }
    }

    pub(super) fn splat(&mut self, scalar: &str, bits: u32) -> String {
        if !scalar.starts_with('%') {
            return format!("splat (i{bits} {scalar})");
        }
        let kind = lanes(bits);
        let first = self.let_(format!("insertelement {kind} poison, i{bits} {scalar}, i32 0"));
        self.let_(format!("shufflevector {kind} {first}, {kind} poison, <32 x i32> zeroinitializer"))
    }

    /// Returns a predicate as 32 bits.
    pub(super) fn mask(&mut self, value: &Value) -> String {
        match value {
            Value::Mask(mask) => mask.clone(),
            Value::Scalar(scalar) => self.let_(format!("sext i1 {scalar} to i32")),
            Value::Vector(vector) => self.let_(format!("bitcast <32 x i1> {vector} to i32")),
            Value::Affine(..) | Value::Grid(..) => unreachable!("predicates are uniform or varying"),
        }
    }

    /// Returns a predicate as 32 lanes.
    pub(super) fn lanes_of_mask(&mut self, mask: &str) -> String {
        self.let_(format!("bitcast i32 {mask} to <32 x i1>"))
    }

    pub(super) fn operand(&self, cell: u32) -> Operand {
        self.columns.operand(self.graph, cell)
    }

    /// Reads a column; NaN of `f32` are canonical.
    pub(super) fn read(&mut self, slot: Slot) -> Value {
        let value = self.read_raw(slot);
        if slot.width == Width::Word
            && let Operand::Register(number) = self.operand(slot.cell)
            && self.shapes.raw[number]
        {
            return self.canonical(value);
        }
        value
    }

    /// Replaces NaN of `f32`.
    pub(super) fn canonical(&mut self, value: Value) -> Value {
        let (kind, float, test, text, nan) = match &value {
            Value::Scalar(text) => ("i32".to_owned(), "float", "i1", text.clone(), "2147483647".to_owned()),
            other => {
                let text = self.vector(other, 32);
                (lanes(32), "<32 x float>", "<32 x i1>", text, "splat (i32 2147483647)".to_owned())
            }
        };
        let number = self.let_(format!("bitcast {kind} {text} to {float}"));
        let is_nan = self.let_(format!("fcmp uno {float} {number}, {number}"));
        let result = self.let_(format!("select {test} {is_nan}, {kind} {nan}, {kind} {text}"));
        match value {
            Value::Scalar(_) => Value::Scalar(result),
            _ => Value::Vector(result),
        }
    }

    /// Reads a column as it is.
    pub(super) fn read_raw(&mut self, slot: Slot) -> Value {
        let bits = bits_of(slot.width);
        match self.operand(slot.cell) {
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

    fn register(&mut self, number: usize) -> Value {
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
            (Shape::Grid { log, inner, outer }, _) => {
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
                    _ => unreachable!("the analysis found the register affine"),
                };
                self.emit(format!("store i{bits} {base}, ptr %r{number}"));
                if shape == Step::Dynamic {
                    self.emit(format!("store i{bits} {step}, ptr %s{number}"));
                }
            }
            (Shape::Grid { log, inner, outer }, _) => {
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

    /// Returns the base and the steps of a value in rows of `1 << log` lanes.
    pub(super) fn in_rows(&mut self, value: &Value, log: u8, bits: u32) -> [String; 3] {
        match value {
            Value::Scalar(base) => [base.clone(), "0".to_owned(), "0".to_owned()],
            Value::Affine(base, step) => {
                let outer = match step.parse::<i64>() {
                    Ok(step) => literal(bits, step.wrapping_shl(u32::from(log)) as u64),
                    Err(_) => self.let_(format!("shl i{bits} {step}, {log}")),
                };
                [base.clone(), step.clone(), outer]
            }
            Value::Grid(_, parts) => parts.clone(),
            Value::Vector(_) | Value::Mask(_) => unreachable!("the analysis found rows"),
        }
    }

    /// Assigns to the register of a result's column, if it has one. In lanes that are not in `mask` it keeps its value.
    pub(super) fn write(&mut self, slot: Slot, value: &Value, mask: Option<&str>) {
        let Operand::Register(number) = self.operand(slot.cell) else {
            // A sink, or a column that stays in the frame.
            return self.store_column(slot, value, mask);
        };
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
    pub(super) fn load_column(&mut self, slot: Slot) -> Value {
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

    /// Returns a special register in this many bits.
    fn special(&mut self, special: Special, size: u8, bits: u32) -> Value {
        let known =
            self.specials.iter().find(|(key, _)| *key == (special, size)).map(|(_, value)| value.clone());
        let value = known.unwrap_or_else(|| {
            let value = self.in_prologue(|emitter| {
                let value = emitter.special_word(special);
                if size < 4 { emitter.cut(value, size) } else { value }
            });
            self.specials.push(((special, size), value.clone()));
            value
        });
        if bits != 64 {
            return value;
        }
        // None of them has the highest bit set.
        match value {
            Value::Scalar(word) => Value::Scalar(self.let_(format!("zext i32 {word} to i64"))),
            Value::Affine(base, step) => Value::Affine(self.let_(format!("zext i32 {base} to i64")), step),
            Value::Grid(log, [base, inner, outer]) => {
                Value::Grid(log, [self.let_(format!("zext i32 {base} to i64")), inner, outer])
            }
            other => {
                let words = self.vector(&other, 32);
                Value::Vector(self.let_(format!("zext {} {words} to {}", lanes(32), lanes(64))))
            }
        }
    }

    fn cut(&mut self, value: Value, size: u8) -> Value {
        let most = (1_u32 << (8 * u32::from(size))) - 1;
        match value {
            Value::Scalar(word) => Value::Scalar(self.let_(format!("and i32 {word}, {most}"))),
            // Coordinates of threads are below 1024, and lanes below 32.
            Value::Affine(..) | Value::Grid(..) if size == 2 => value,
            other => {
                let words = self.vector(&other, 32);
                Value::Vector(self.let_(format!("and {} {words}, splat (i32 {most})", lanes(32))))
            }
        }
    }

    fn special_word(&mut self, special: Special) -> Value {
        let [x, y, z] = self.columns.block;
        let warp = |emitter: &mut Self| emitter.field("i32", at::WARP);
        let scaled = |emitter: &mut Self| {
            let warp = warp(emitter);
            emitter.let_(format!("shl i32 {warp}, 5"))
        };
        match special {
            Special::Thread(0) if x.is_multiple_of(32) => {
                let first = scaled(self);
                let base = if y * z == 1 { first } else { self.let_(format!("urem i32 {first}, {x}")) };
                Value::Affine(base, "1".to_owned())
            }
            Special::Thread(1) if x.is_multiple_of(32) => {
                let first = scaled(self);
                let row = self.let_(format!("udiv i32 {first}, {x}"));
                Value::Scalar(self.let_(format!("urem i32 {row}, {y}")))
            }
            Special::Thread(2) if (x * y).is_multiple_of(32) => {
                let first = scaled(self);
                Value::Scalar(self.let_(format!("udiv i32 {first}, {}", x * y)))
            }
            Special::Thread(0) if matches!(x, 2 | 4 | 8 | 16) => {
                Value::Grid(x.trailing_zeros() as u8, ["0", "1", "0"].map(str::to_owned))
            }
            Special::Thread(1) if matches!(x, 2 | 4 | 8 | 16) && z == 1 => {
                let warp = warp(self);
                let first = self.let_(format!("mul i32 {warp}, {}", 32 / x));
                Value::Grid(x.trailing_zeros() as u8, [first, "0".to_owned(), "1".to_owned()])
            }
            Special::Thread(axis) => {
                let table = self.field("ptr", at::THREADS);
                let warp = warp(self);
                let warp = self.let_(format!("zext i32 {warp} to i64"));
                let offset = self.let_(format!("mul i64 {warp}, {}", 3 * 128));
                let row = self.let_(format!("getelementptr i8, ptr {table}, i64 {offset}"));
                let row = self.let_(format!("getelementptr i8, ptr {row}, i64 {}", 128 * u32::from(axis)));
                Value::Vector(self.let_(format!("load {}, ptr {row}, align 4", lanes(32))))
            }
            Special::Lane => Value::Affine("0".to_owned(), "1".to_owned()),
            Special::LaneMask(mask) => {
                let masks = lane_mask(mask);
                Value::Vector(constant_lanes(32, |lane| masks[lane as usize]))
            }
            Special::Block(axis) => Value::Scalar(self.field("i32", at::BLOCK + 4 * usize::from(axis))),
            Special::Multiprocessor => Value::Scalar(self.field("i32", at::MULTIPROCESSOR)),
            _ => Value::Scalar(warp(self)),
        }
    }

    // Ways in and out.

    /// Emits an entry: loads the live registers from the frame.
    fn entry(&mut self, pc: u32) {
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

    /// Returns the numbers of the registers that are live before a step and not kept in the frame.
    fn live_variables(&self, pc: u32) -> Vec<usize> {
        let mut live = self.graph.live_before(self.program, pc);
        live.retain(|number| !self.shapes.at_home[*number]);
        live
    }

    /// Returns true if the register's column always has all lanes.
    fn is_column(&self, number: usize) -> bool {
        self.shapes.at_home[number] && self.shapes.of[number] == Shape::Varying
    }

    /// Loads a register from its column, compact or not.
    fn compact(&mut self, slot: Slot, number: usize) -> Value {
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
            Shape::Grid { log, inner, outer } => {
                let (inner, outer) = (step_to(self, 1, inner), step_to(self, 1 << log, outer));
                Value::Grid(log, [base, inner, outer])
            }
            Shape::Varying => unreachable!("handled above"),
        }
    }

    /// Returns the label of the code that stops before a step.
    pub(super) fn exit(&mut self, pc: u32, reason: u32) -> String {
        self.exits.insert((pc, reason));
        format!("X{pc}_{reason}")
    }

    fn exit_code(&mut self, pc: u32, reason: u32) {
        self.begin(&format!("X{pc}_{reason}"));
        if reason != stopped::FAULT {
            for number in self.live_variables(pc) {
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
        let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::PC));
        self.emit(format!("store i32 {pc}, ptr {place}"));
        self.emit(format!("ret i32 {reason}"));
    }

    /// Stores the value of a lane whose distance from the first is a step, unless that is a constant.
    fn store_next(&mut self, slot: Slot, base: &str, step: &str, lane: u32) {
        if !step.starts_with('%') {
            return;
        }
        let bits = bits_of(slot.width);
        let next = self.let_(format!("add i{bits} {base}, {step}"));
        let place = self.column(slot.cell, lane * bits / 8);
        self.emit(format!("store i{bits} {next}, ptr {place}"));
    }

    // Blocks.

    /// Adds a number to a counter.
    pub(super) fn count(&mut self, index: usize, by: &str) {
        let counters = self.field("ptr", at::COUNTERS);
        let place = self.let_(format!("getelementptr i64, ptr {counters}, i64 {index}"));
        let old = self.let_(format!("load i64, ptr {place}"));
        let new = self.let_(format!("add i64 {old}, {by}"));
        self.emit(format!("store i64 {new}, ptr {place}"));
    }

    fn block(&mut self, number: usize) {
        let graph = self.graph;
        let block = &graph.blocks[number];
        self.begin(&format!("B{number}"));
        let steps = block.steps.clone();
        if !steps.is_empty() {
            // The number of thread instructions is derived from the same counters, so they are always kept.
            self.count(number, "1");
            let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::INSTRUCTIONS));
            let old = self.let_(format!("load i64, ptr {place}"));
            let new = self.let_(format!("add i64 {old}, {}", steps.len()));
            self.emit(format!("store i64 {new}, ptr {place}"));
        }
        let straight = match block.end {
            End::Branch(_) | End::Exit => steps.start..steps.end - 1,
            End::Falls | End::Interpreted => steps.clone(),
        };
        for pc in straight {
            self.step(pc);
        }
        match block.end {
            End::Exit => {
                let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::PC));
                self.emit(format!("store i32 {}, ptr {place}", steps.end - 1));
                self.emit(format!("ret i32 {}", stopped::ENDED));
            }
            End::Interpreted => {
                let exit = self.exit(steps.end, stopped::BETWEEN);
                self.emit(format!("br label %{exit}"));
            }
            End::Falls => self.emit(format!("br label %B{}", number + 1)),
            End::Branch(branch) => {
                let pc = steps.end - 1;
                let target = graph.block_starting(branch.target).expect("targets begin blocks");
                let jump = self.label();
                if !branch.is_guarded {
                    self.emit(format!("br label %{jump}"));
                } else {
                    let step = &self.program.steps[pc as usize];
                    let guard = self.read(Slot { cell: step.guard, width: Width::Predicate });
                    let is_negated = step.flip != 0;
                    let next = format!("B{}", number + 1);
                    match guard {
                        Value::Scalar(condition) => {
                            let (yes, no) = if is_negated { (&next, &jump) } else { (&jump, &next) };
                            self.emit(format!("br i1 {condition}, label %{yes}, label %{no}"));
                        }
                        other => {
                            let mask = self.mask(&other);
                            let (all, none) = if is_negated { (0, -1) } else { (-1, 0) };
                            let mixed = self.exit(pc, stopped::LEFT);
                            self.emit(format!(
                                "switch i32 {mask}, label %{mixed} [ i32 {all}, label %{jump} i32 {none}, label %{next} ]"
                            ));
                        }
                    }
                }
                self.begin(&jump);
                if branch.is_guarded {
                    self.count(graph.blocks.len() + number, "1");
                }
                if branch.is_backward {
                    let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::INSTRUCTIONS));
                    let now = self.let_(format!("load i64, ptr {place}"));
                    let limit = self.field("i64", at::LIMIT);
                    let goes_on = self.let_(format!("icmp ult i64 {now}, {limit}"));
                    let tired = self.exit(branch.target, stopped::TIRED);
                    self.likely(&goes_on, &format!("B{target}"), &tired);
                } else {
                    self.emit(format!("br label %B{target}"));
                }
            }
        }
    }

    /// Emits a step that does not end its block.
    fn step(&mut self, pc: u32) {
        let program = self.program;
        let step = &program.steps[pc as usize];
        self.pc = pc;
        let guard = self.guard(pc);
        let skip = match &guard {
            Guard::None => None,
            // The common cases need no mask: nothing is executed, or all lanes are.
            Guard::Uniform(condition) => {
                let (go, skip) = (self.label(), self.label());
                self.emit(format!("br i1 {condition}, label %{go}, label %{skip}"));
                self.begin(&go);
                Some(skip)
            }
            Guard::Mask(mask) => {
                let (go, skip) = (self.label(), self.label());
                let some = self.let_(format!("icmp ne i32 {mask}, 0"));
                self.emit(format!("br i1 {some}, label %{go}, label %{skip}"));
                self.begin(&go);
                Some(skip)
            }
        };
        let mask = match &guard {
            Guard::Mask(mask) => Some(mask.as_str()),
            _ => None,
        };
        match &step.action {
            Action::Arithmetic(arithmetic) => self.arithmetic(pc, arithmetic, mask),
            Action::Parameter(load) => {
                let value = self.parameter(load);
                self.write(load.result, &value, mask);
            }
            Action::Memory(memory) => self.memory(pc, &program.memory[*memory as usize], mask),
            Action::Rare(rare) => self.rare(pc, &program.rare[*rare as usize]),
            Action::Branch(_) => unreachable!("branches end blocks"),
        }
        // Behind the step, which the interpreter may have to execute instead.
        if self.program.steps[pc as usize].guard != 0 {
            let index = 2 * self.graph.blocks.len() + self.guarded.len();
            self.guarded.push(pc);
            let threads = match &guard {
                Guard::Mask(mask) => {
                    self.intrinsic("declare i32 @llvm.ctpop.i32(i32)");
                    let count = self.let_(format!("call i32 @llvm.ctpop.i32(i32 {mask})"));
                    self.let_(format!("zext i32 {count} to i64"))
                }
                _ => "32".to_owned(),
            };
            self.count(index, &threads);
        }
        if let Some(skip) = skip {
            self.emit(format!("br label %{skip}"));
            self.begin(&skip);
        }
    }

    fn guard(&mut self, pc: u32) -> Guard {
        let step = &self.program.steps[pc as usize];
        if step.guard == 0 {
            return Guard::None;
        }
        let value = self.read(Slot { cell: step.guard, width: Width::Predicate });
        match value {
            Value::Scalar(condition) if step.flip == 0 => Guard::Uniform(condition),
            Value::Scalar(condition) => Guard::Uniform(self.let_(format!("xor i1 {condition}, true"))),
            other => {
                let mask = self.mask(&other);
                Guard::Mask(if step.flip == 0 { mask } else { self.let_(format!("xor i32 {mask}, -1")) })
            }
        }
    }

    fn parameter(&mut self, load: &super::super::step::ParameterLoad) -> Value {
        let bits = bits_of(load.result.width);
        let parameters = self.field("ptr", at::PARAMETERS);
        let place = self.let_(format!("getelementptr i8, ptr {parameters}, i64 {}", load.offset));
        let loaded = 8 * u32::from(load.load.bytes);
        let text = self.let_(format!("load i{loaded}, ptr {place}, align 1"));
        let register = 8 * u32::from(load.load.register);
        let mut text = (text, loaded);
        if load.load.signed && register > text.1 {
            text = (self.let_(format!("sext i{} {} to i{register}", text.1, text.0)), register);
        }
        Value::Scalar(match bits {
            bits if bits > text.1 => self.let_(format!("zext i{} {} to i{bits}", text.1, text.0)),
            bits if bits < text.1 => self.let_(format!("trunc i{} {} to i{bits}", text.1, text.0)),
            _ => text.0,
        })
    }

    // Calls.

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

    /// Loads from the frame what an instruction that was called has written.
    pub(super) fn take_columns(&mut self, pc: u32) {
        let program = self.program;
        for slot in program.uses.results(pc as usize) {
            let Operand::Register(number) = self.operand(slot.cell) else { continue };
            if self.is_column(number) {
                continue;
            }
            let value = match self.shapes.of[number] {
                Shape::Varying => self.load_column(*slot),
                Shape::Affine { .. } | Shape::Grid { .. } => self.compact(*slot, number),
            };
            self.assign(number, &value);
        }
    }

    fn rare(&mut self, pc: u32, rare: &Rare) {
        if matches!(rare, Rare::Nothing) {
            return;
        }
        self.give_columns(pc, None);
        let call = self.field("ptr", at::RARE);
        self.emit(format!("call void {call}(ptr %c, ptr %f, i32 {pc})"));
        self.take_columns(pc);
    }
}

enum Guard {
    None,
    Uniform(String),
    Mask(String),
}

/// A function in LLVM's text.
pub(super) struct Emitted {
    pub(super) text: String,
    pub(super) accesses: Accesses,
    pub(super) guarded: Vec<u32>,
    /// The steps before which code stops, with the reasons.
    pub(super) exits: BTreeSet<(u32, u32)>,
    pub(super) tallied: bool,
}
