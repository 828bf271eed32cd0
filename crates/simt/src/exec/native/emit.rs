//! Emits a kernel as LLVM's text: blocks, steps, and the ways in and out.
//!
//! A call of the function executes one whole warp, from an entry where all lanes are together until the warp exits or does
//! what only the interpreter does: waits at a barrier, calls, diverges in a region that code does not know
//! ([`regions`](super::regions)). Registers are variables (`alloca`),
//! which LLVM turns into values: a scalar if the register is uniform, a scalar and a step if it is affine, 32 lanes
//! otherwise. When the function returns early, the live registers are in the warp's frame in a *compact* form: the
//! column of a uniform or affine register has its first lanes alone. [`Code::expand`](super::code::Code::expand) fills
//! the others before the interpreter reads them.
//!
//! For example, the block of `add.s32 %r3, %r1, %r2; st.global.b32 [%rd1], %r3` with `%r1` affine, `%r2` and `%r3` varying:
//!
//! ```text
//! B1:
//!   counters[1] += 1; instructions += 2      what each step was issued follows from it
//!   r1 = splat(load i32 %r1) + <0, 1, .. 31> * step
//!   store (r1 + load <32 x i32> %r2), %r3
//!   ...                                      the store, by `access`
//!   br B2
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::super::program::Program;
use super::super::special::Special;
use super::super::step::{Action, Rare};
use super::columns::Columns;
use super::context::{Counter, at, stopped};
use super::graph::{End, Graph};
use super::regions::{MOST_STEPS, Split};
use super::shape::{Shape, Step};
use super::shapes::Shapes;
use super::value::{Value, bits_of, lanes};
use crate::registers::{Slot, Width};

/// What a kernel is compiled for. Launches that agree in it share the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Key {
    pub(in super::super) function: u32,
    pub(in super::super) block: [u32; 3],
    /// True if accesses are reported.
    pub(in super::super) observes: bool,
    /// True if undefined registers are tracked.
    pub(in super::super) tracks: bool,
    /// True if synchronisation is reported.
    pub(in super::super) synchronises: bool,
}

/// A branch or a loop whose lanes have not met yet.
#[derive(Clone)]
pub(super) struct Open {
    /// The step at which they meet; [`NOWHERE`] if they exit.
    pub(super) meets: u32,
    /// Mask of all its lanes.
    pub(super) lanes: String,
    /// Lanes that have not begun, with their first step.
    pub(super) later: Option<(u32, String)>,
}

/// An access that compiled code reports: its step, by the number that it passes to the callbacks.
pub(super) type Accesses = Vec<u32>;

pub(super) struct Emitter<'a> {
    pub(super) program: &'a Program,
    pub(super) graph: &'a Graph,
    pub(super) columns: &'a Columns,
    pub(super) shapes: &'a Shapes,
    /// The divergent regions of the branches at blocks' ends, by block.
    splits: &'a [Option<Split>],
    /// Reports accesses.
    pub(super) observes: bool,
    /// Leaves to the interpreter behind loads of uninitialised bytes.
    tracks: bool,
    /// Reports what synchronises the lanes of a warp.
    synchronises: bool,
    prologue: String,
    pub(super) body: String,
    names: u32,
    /// The step that is being emitted.
    pub(super) pc: u32,
    /// Mask of the lanes for which it is emitted; None for all.
    pub(super) active: Option<String>,
    /// The branches and loops around it whose lanes are apart.
    pub(super) open: Vec<Open>,
    /// The registers that lanes need which are apart, by the step at which code stops.
    pub(super) apart: BTreeMap<u32, BTreeSet<usize>>,
    /// Numbers of accesses, for their bounds.
    pub(super) accesses: Accesses,
    /// The interpreter's functions that code calls, each with the address of its slots.
    pub(super) calls: Vec<[usize; 2]>,
    /// Guarded steps, in the order of their counters.
    pub(super) guarded: Vec<u32>,
    pub(super) exits: BTreeSet<(u32, u32)>,
    /// True if an access uses the observer's tallies.
    pub(super) tallied: bool,
    intrinsics: BTreeSet<String>,
    functions: BTreeSet<String>,
    pub(super) specials: Vec<((Special, u8), Value)>,
    /// Additions whose sums are held back.
    pub(super) summed: Vec<u32>,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        program: &'a Program,
        graph: &'a Graph,
        columns: &'a Columns,
        shapes: &'a Shapes,
        splits: &'a [Option<Split>],
        (key, summed): (Key, Vec<u32>),
    ) -> Self {
        Self {
            program,
            graph,
            columns,
            shapes,
            splits,
            observes: key.observes,
            tracks: key.tracks,
            synchronises: key.synchronises,
            prologue: String::new(),
            body: String::new(),
            names: 0,
            pc: 0,
            active: None,
            open: Vec::new(),
            apart: BTreeMap::new(),
            accesses: Vec::new(),
            calls: Vec::new(),
            guarded: Vec::new(),
            exits: BTreeSet::new(),
            tallied: false,
            intrinsics: BTreeSet::new(),
            functions: BTreeSet::new(),
            specials: Vec::new(),
            summed,
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
        let Self { accesses, calls, guarded, exits, apart, tallied, .. } = self;
        Emitted { text, accesses, calls, guarded, exits, apart, tallied }
    }

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
    pub(super) fn in_prologue<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
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

    fn block(&mut self, number: usize) {
        let graph = self.graph;
        let block = &graph.blocks[number];
        self.begin(&format!("B{number}"));
        let steps = block.steps.clone();
        if !steps.is_empty() {
            // The number of thread instructions is derived from the same counters, so they are always kept.
            self.count(Counter::Executed, number, "1");
            self.count_issued(steps.len());
        }
        for pc in block.straight() {
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
                            let splits = self.splits;
                            let mixed = match &splits[number] {
                                Some(_) => self.label(),
                                None => self.exit(pc, stopped::LEFT),
                            };
                            self.emit(format!(
                                "switch i32 {mask}, label %{mixed} [ i32 {all}, label %{jump} i32 {none}, label %{next} ]"
                            ));
                            if let Some(split) = &splits[number] {
                                self.begin(&mixed);
                                if split.returns {
                                    let (goes_on, go) = (self.has_time(MOST_STEPS), self.label());
                                    let left = self.exit(pc, stopped::LEFT);
                                    self.likely(&goes_on, &go, &left);
                                    self.begin(&go);
                                }
                                let rest = self.let_(format!("xor i32 {mask}, -1"));
                                let (taken, goes_on) = if is_negated { (rest, mask) } else { (mask, rest) };
                                self.split(number, split, (&taken, &goes_on));
                                self.emit(match split.meets {
                                    Some(block) => format!("br label %B{block}"),
                                    None => format!("ret i32 {}", stopped::ENDED),
                                });
                            }
                        }
                    }
                }
                self.begin(&jump);
                if branch.is_guarded {
                    self.count(Counter::Taken, number, "1");
                }
                if branch.is_backward {
                    let goes_on = self.has_time(0);
                    let tired = self.exit(branch.target, stopped::TIRED);
                    self.likely(&goes_on, &format!("B{target}"), &tired);
                } else {
                    self.emit(format!("br label %B{target}"));
                }
            }
        }
    }

    /// Emits a step that does not end its block, for the active lanes.
    pub(super) fn step(&mut self, pc: u32) {
        let program = self.program;
        let step = &program.steps[pc as usize];
        self.pc = pc;
        let guard = self.guard(pc);
        let skip = match &guard {
            Guard::None => None,
            Guard::Active(_) => None,
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
        let active = self.active.clone();
        let mask = match &guard {
            Guard::Mask(mask) | Guard::Active(mask) => Some(mask.as_str()),
            Guard::Uniform(_) => active.as_deref(),
            Guard::None => None,
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
            let index = Counter::of_blocks(self.graph.blocks.len()) + self.guarded.len();
            self.guarded.push(pc);
            let threads = mask.map_or_else(|| "32".to_owned(), |mask| self.threads(mask));
            self.count_at(index, &threads);
        }
        if let Some(skip) = skip {
            self.emit(format!("br label %{skip}"));
            self.begin(&skip);
        }
        let is_load =
            matches!(step.action, Action::Memory(_)) && !program.uses.results(pc as usize).is_empty();
        if self.tracks && is_load {
            let place = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::UNDEFINED));
            let lanes = self.let_(format!("load i32, ptr {place}"));
            let ok = self.let_(format!("icmp eq i32 {lanes}, 0"));
            let (go, leave) = (self.label(), self.exit(pc + 1, stopped::UNDEFINED));
            self.likely(&ok, &go, &leave);
            self.begin(&go);
        }
    }

    fn guard(&mut self, pc: u32) -> Guard {
        let step = &self.program.steps[pc as usize];
        if step.guard == 0 {
            return self.active.clone().map_or(Guard::None, Guard::Active);
        }
        let value = self.read(Slot { cell: step.guard, width: Width::Predicate });
        match value {
            Value::Scalar(condition) if step.flip == 0 => Guard::Uniform(condition),
            Value::Scalar(condition) => Guard::Uniform(self.let_(format!("xor i1 {condition}, true"))),
            other => {
                let mask = self.mask(&other);
                let mask = if step.flip == 0 { mask } else { self.let_(format!("xor i32 {mask}, -1")) };
                Guard::Mask(match self.active.clone() {
                    Some(active) => self.let_(format!("and i32 {mask}, {active}")),
                    None => mask,
                })
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

    fn rare(&mut self, pc: u32, rare: &Rare) {
        match rare {
            Rare::Nothing => return,
            Rare::WarpBarrier { .. } if !self.synchronises => return,
            Rare::Collective(collective, _) if !self.synchronises => {
                let op = self.program.sites()[pc as usize].op;
                if self.collective(pc, &op, collective) {
                    return;
                }
            }
            _ => {}
        }
        self.give_columns(pc, None);
        let call = self.field("ptr", at::RARE);
        self.emit(format!("call void {call}(ptr %c, ptr %f, i32 {pc})"));
        self.take_columns(pc, None);
    }
}

/// The lanes that execute a step.
enum Guard {
    None,
    /// All active lanes, or none of them.
    Uniform(String),
    /// Lanes of a mask, which may be empty.
    Mask(String),
    /// The active lanes, which are some.
    Active(String),
}

/// A function in LLVM's text.
pub(super) struct Emitted {
    pub(super) text: String,
    pub(super) accesses: Accesses,
    pub(super) calls: Vec<[usize; 2]>,
    pub(super) guarded: Vec<u32>,
    /// The steps before which code stops, with the reasons.
    pub(super) exits: BTreeSet<(u32, u32)>,
    /// The registers that lanes need which are apart where code stops before a step.
    pub(super) apart: BTreeMap<u32, BTreeSet<usize>>,
    pub(super) tallied: bool,
}
