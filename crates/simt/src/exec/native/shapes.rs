//! Shapes of registers: how the values of a warp's lanes relate.
//!
//! A register is *affine* if lane `k` holds `base + k * step` with one base and one step for the whole warp, *uniform*
//! if the step is 0, and *varying* otherwise. Affine registers are kept as two scalars, and a memory access at an affine
//! address needs one bounds check for the warp and no 32 addresses. The names are those of Collange, Defour and Zhang,
//! "Dynamic detection of uniform and affine vectors in GPGPU computations" (Euro-Par workshops 2009); here the shapes are
//! found before execution, by a fixpoint over the function's instructions.
//!
//! For example, in blocks of 256 threads:
//!
//! ```text
//! mov.u32 %r1, %tid.x             affine, step 1, base a multiple of 32
//! mad.lo.s32 %r2, %ctaid.x, 256, %r1   affine, step 1, base a multiple of 32
//! shr.u32 %r3, %r2, 5             uniform: the lane's bits are shifted out
//! and.b32 %r4, %r2, 31            affine, step 1, base 0
//! mul.wide.u32 %rd1, %r2, 4       affine, step 4, if 32 bits do not overflow between two lanes, which code checks
//! ld.global.b32 %r5, [%rd1]       varying
//! ```
//!
//! In narrower rows, as of blocks of 16 x 16 threads, a lane's column and row are no affine functions of its number, but
//! of its place in a row of 16 lanes and of the row: such registers have two steps ([`Shape::Grid`]).
//!
//! The shape belongs to the register, not to a place in the program: it is the join of what all definitions give. It
//! holds while all lanes are together. A register that is defined where a warp may have diverged is varying if it is
//! defined elsewhere too, or used behind the join, since lanes come there by different definitions.

use std::collections::HashMap;
use std::ops::Range;

use super::super::layout::Fill;
use super::super::program::{FunctionCode, KernelCode, Program};
use super::super::special::{LaneMask, Special};
use super::super::step::{Action, NOWHERE, Rare};
use super::graph::{End, Graph};
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Format, IntegerVerb, LogicVerb};
use crate::ptx::op::words::Part;
use crate::registers::{Slot, Width};

/// The distance between the values of adjacent lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Constant(i64),
    /// Known when the code runs, and the same for all lanes.
    Dynamic,
}

/// How the values of a register's lanes relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The base is a multiple of two to the power of `align`.
    Affine {
        step: Step,
        align: u8,
    },
    /// Rows of `1 << log` lanes: lane `k` holds `base + k % width * inner + k / width * outer`.
    Grid {
        log: u8,
        inner: Step,
        outer: Step,
    },
    Varying,
}

pub(super) const UNIFORM: Shape = Shape::Affine { step: Step::Constant(0), align: 0 };

impl Step {
    fn map(self, by: impl FnOnce(i64) -> i64) -> Self {
        match self {
            Self::Constant(step) => Self::Constant(by(step)),
            Self::Dynamic => Self::Dynamic,
        }
    }

    fn combine(self, other: Self, by: impl FnOnce(i64, i64) -> i64) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(by(a, b)),
            _ => Self::Dynamic,
        }
    }
}

impl Shape {
    /// Returns the steps within and between rows of `1 << log` lanes; None if they are no such rows.
    fn steps(self, log: u8) -> Option<(Step, Step)> {
        match self {
            Self::Affine { step, .. } => Some((step, step.map(|step| step.wrapping_shl(u32::from(log))))),
            Self::Grid { log: own, inner, outer } if own == log => Some((inner, outer)),
            _ => None,
        }
    }

    /// Combines the steps of two shapes, one of which has rows.
    fn rows(self, other: Self, by: impl Fn(Step, Step) -> Step) -> Self {
        let ((Self::Grid { log, .. }, _) | (_, Self::Grid { log, .. })) = (self, other) else {
            return Self::Varying;
        };
        match (self.steps(log), other.steps(log)) {
            (Some((a, b)), Some((c, d))) => Self::Grid { log, inner: by(a, c), outer: by(b, d) },
            _ => Self::Varying,
        }
    }

    pub(super) fn is_uniform(self) -> bool {
        matches!(self, Self::Affine { step: Step::Constant(0), .. })
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Affine { step: a, align: x }, Self::Affine { step: b, align: y }) => {
                Self::Affine { step: if a == b { a } else { Step::Dynamic }, align: x.min(y) }
            }
            _ => self.rows(other, |a, b| if a == b { a } else { Step::Dynamic }),
        }
    }

    /// Returns the exponent of the step and true if the bits of `k * step` are zeros of the base, so that they do not
    /// carry: the step is a power of two and the base a multiple of 32 times it.
    pub(super) fn lane_bits(self) -> Option<u32> {
        match self {
            Self::Affine { step: Step::Constant(step), align } if step > 0 && step & (step - 1) == 0 => {
                let exponent = step.trailing_zeros();
                (u32::from(align) >= exponent + 5).then_some(exponent)
            }
            _ => None,
        }
    }
}

/// What an instruction reads from a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// A register, by its number in the graph.
    Register(usize),
    Constant(u128),
    Special(Special, u8),
    /// A column with one value for the whole launch, in all lanes.
    Launch,
    /// A column that exists in the frame alone.
    Frame,
}

/// What the columns of a kernel hold.
pub(super) struct Columns {
    fills: HashMap<u32, Fill>,
    shared: Vec<Option<u32>>,
    pub(super) block: [u32; 3],
}

impl Columns {
    pub(super) fn new(function: &FunctionCode, code: &KernelCode, block: [u32; 3]) -> Self {
        let fills = function.filled.iter().map(|(slot, fill)| (slot.cell, *fill)).collect();
        Self { fills, shared: code.shared.clone(), block }
    }

    pub(super) fn operand(&self, graph: &Graph, cell: u32) -> Operand {
        if let Some(number) = graph.register(cell) {
            return Operand::Register(number);
        }
        let Some(fill) = self.fills.get(&cell) else { return Operand::Frame };
        match *fill {
            Fill::Bits(bits) => Operand::Constant(bits),
            Fill::Shared(variable, offset) => {
                let place = self.shared.get(variable as usize).copied().flatten().unwrap_or(0);
                Operand::Constant(u128::from(u64::from(place).wrapping_add_signed(offset)))
            }
            Fill::Special(Special::BlockShape(axis), size) => {
                let cut = u128::MAX >> (128 - 8 * u32::from(size.clamp(1, 16)));
                Operand::Constant(u128::from(self.block[usize::from(axis)]) & cut)
            }
            Fill::Special(special, size) => match special {
                Special::Thread(_)
                | Special::Lane
                | Special::LaneMask(_)
                | Special::Block(_)
                | Special::Warp
                | Special::Multiprocessor => Operand::Special(special, size),
                Special::Clock(_) | Special::Timer(_) => Operand::Frame,
                _ => Operand::Launch,
            },
            Fill::Parameters(_) => Operand::Launch,
            Fill::Local(_) => Operand::Frame,
        }
    }

    /// Returns the shape of a special register.
    fn special(&self, special: Special) -> Shape {
        let [x, y, z] = self.block;
        let lane = |align| Shape::Affine { step: Step::Constant(1), align };
        match special {
            Special::Thread(0) if x.is_multiple_of(32) => lane(5),
            Special::Thread(_) if x.is_multiple_of(32) => UNIFORM,
            Special::Thread(2) if (x * y).is_multiple_of(32) => UNIFORM,
            Special::Thread(0) if matches!(x, 2 | 4 | 8 | 16) => grid(x.trailing_zeros(), 1, 0),
            Special::Thread(1) if matches!(x, 2 | 4 | 8 | 16) && z == 1 => grid(x.trailing_zeros(), 0, 1),
            Special::Thread(_) | Special::LaneMask(_) => Shape::Varying,
            Special::Lane => lane(63),
            _ => UNIFORM,
        }
    }
}

/// The shapes of a kernel's registers.
pub(super) struct Shapes {
    pub(super) of: Vec<Shape>,
    /// Registers whose `f32` values may be NaN of other bits than the canonical ones.
    pub(super) raw: Vec<bool>,
    /// Registers that are kept in their columns of the frame; see [`find_homes`].
    pub(super) at_home: Vec<bool>,
    /// What each step gives its first result, by its distance from the function's first.
    given: Vec<Shape>,
    first: u32,
}

impl Shapes {
    /// Returns the shape that a step gives its first result. That of the register may be a wider one.
    pub(super) fn given(&self, pc: u32) -> Shape {
        self.given[(pc - self.first) as usize]
    }
}

struct Analysis<'a> {
    program: &'a Program,
    graph: &'a Graph,
    columns: &'a Columns,
    shapes: Vec<Option<Shape>>,
    forced: Vec<bool>,
}

/// Finds the shapes of a kernel's registers.
pub(super) fn find(program: &Program, function: &FunctionCode, graph: &Graph, columns: &Columns) -> Shapes {
    let count = graph.registers.len();
    let mut analysis =
        Analysis { program, graph, columns, shapes: vec![None; count], forced: vec![false; count] };
    for slot in &function.undefined_at_start {
        if let Some(number) = graph.register(slot.cell) {
            // Zero, as the interpreter has it.
            analysis.shapes[number] = Some(Shape::Affine { step: Step::Constant(0), align: 63 });
        }
    }
    let start = analysis.shapes.clone();
    loop {
        analysis.shapes.clone_from(&start);
        analysis.settle(function);
        if !analysis.force_where_diverged() {
            break;
        }
    }
    // A register that nothing defines is never read by code that runs.
    let of: Vec<Shape> = analysis.shapes.iter().map(|shape| shape.unwrap_or(Shape::Varying)).collect();
    let at_home = find_homes(program, graph, columns, &of);
    let mut raw = find_raw(program, function, graph, columns);
    // The interpreter reads their columns.
    raw.iter_mut().zip(&at_home).for_each(|(raw, at_home)| *raw &= !at_home);
    analysis.shapes = of.iter().map(|shape| Some(*shape)).collect();
    let steps = function.first..function.end;
    let given =
        steps.map(|pc| analysis.transfer(pc, 0).map_or(Shape::Varying, |shape| cut(shape, program, pc)));
    Shapes { raw, at_home, given: given.collect(), first: function.first, of }
}

/// Places at which code may stop or start from which on a register that is live there stays in the frame.
const MANY_STOPS: u32 = 12;

/// Finds the registers that are live at many places where code stops or starts.
///
/// There each register is stored or loaded, unless it is kept in its column of the frame at all times. A kernel that
/// keeps a tile of 64 sums in registers and compares bounds before each store has hundreds of such places: its code would
/// consist of these copies, and LLVM would take minutes for it.
fn find_homes(program: &Program, graph: &Graph, columns: &Columns, of: &[Shape]) -> Vec<bool> {
    let may_diverge = |pc: u32| match columns.operand(graph, program.steps[pc as usize].guard) {
        Operand::Register(number) => !of[number].is_uniform(),
        Operand::Constant(_) => false,
        _ => true,
    };
    let stops = graph.blocks.iter().filter_map(|block| match block.end {
        End::Branch(branch) => {
            let pc = block.steps.end - 1;
            (branch.is_guarded && may_diverge(pc)).then_some(pc)
        }
        End::Interpreted => Some(block.steps.end),
        End::Falls | End::Exit => None,
    });
    let mut live_at = vec![0; of.len()];
    for pc in stops.chain(graph.entries.iter().copied()) {
        graph.live_before(program, pc).into_iter().for_each(|number| live_at[number] += 1);
    }
    let is_plain = |number: usize| match of[number] {
        Shape::Varying => true,
        // A uniform predicate is one bit in code, and a mask in its column.
        Shape::Affine { step: Step::Constant(_), .. } => graph.registers[number].width != Width::Predicate,
        _ => false,
    };
    (0..of.len()).map(|number| live_at[number] >= MANY_STOPS && is_plain(number)).collect()
}

/// Finds the registers that hold nothing but results of plain `f32` arithmetic, moved or not. Their NaN are made
/// canonical where something else reads them, and not in the loops that sum them up.
fn find_raw(program: &Program, function: &FunctionCode, graph: &Graph, columns: &Columns) -> Vec<bool> {
    let mut raw = vec![true; graph.registers.len()];
    let definitions = || {
        (function.first..function.end).flat_map(|pc| {
            let results = program.uses.results(pc as usize).iter();
            results.filter_map(move |slot| Some((pc as usize, graph.register(slot.cell)?)))
        })
    };
    let mut defined = vec![false; raw.len()];
    definitions().for_each(|(_, number)| defined[number] = true);
    loop {
        let mut changed = false;
        for (index, number) in definitions().filter(|(_, number)| raw[*number]).collect::<Vec<_>>() {
            let is_raw = match (&program.sites()[index].op, &program.steps[index].action) {
                (Op::Float(float), _) => super::floats::is_plain_single(float),
                (Op::Mov(_), Action::Arithmetic(arithmetic)) => {
                    arithmetic.sources().all(|slot| match columns.operand(graph, slot.cell) {
                        Operand::Register(source) => raw[source] && slot.width == Width::Word,
                        Operand::Constant(bits) => bits as u32 & 0x7FFF_FFFF <= 0x7F80_0000,
                        _ => false,
                    })
                }
                _ => false,
            };
            if !is_raw {
                raw[number] = false;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    (0..raw.len()).map(|number| raw[number] && defined[number]).collect()
}

impl Analysis<'_> {
    fn settle(&mut self, function: &FunctionCode) {
        let mut changed = true;
        while changed {
            changed = false;
            for pc in function.first..function.end {
                let results = self.program.uses.results(pc as usize);
                for (index, slot) in results.iter().enumerate() {
                    let Some(number) = self.graph.register(slot.cell) else { continue };
                    let Some(mut shape) = self.transfer(pc, index) else { continue };
                    let guard = self.program.steps[pc as usize].guard;
                    if guard != 0 && !self.cell(guard).is_some_and(Shape::is_uniform) {
                        shape = Shape::Varying;
                    }
                    if slot.width == Width::Word {
                        shape = narrow(shape);
                    }
                    if self.forced[number] || slot.width == Width::Predicate && !shape.is_uniform() {
                        shape = Shape::Varying;
                    }
                    let joined = self.shapes[number].map_or(shape, |known| known.join(shape));
                    changed |= self.shapes[number] != Some(joined);
                    self.shapes[number] = Some(joined);
                }
            }
        }
    }

    /// Returns the shape of a column; None while it is not known.
    fn cell(&self, cell: u32) -> Option<Shape> {
        Some(match self.columns.operand(self.graph, cell) {
            Operand::Register(number) => self.shapes[number]?,
            Operand::Constant(bits) => {
                Shape::Affine { step: Step::Constant(0), align: (bits as u64).trailing_zeros().min(63) as u8 }
            }
            Operand::Special(special, _) => self.columns.special(special),
            Operand::Launch => UNIFORM,
            Operand::Frame => Shape::Varying,
        })
    }

    fn constant(&self, cell: u32) -> Option<u64> {
        match self.columns.operand(self.graph, cell) {
            Operand::Constant(bits) => Some(bits as u64),
            _ => None,
        }
    }

    /// Returns the shape of a result of a step; None while a source's is not known.
    fn transfer(&self, pc: u32, result: usize) -> Option<Shape> {
        let index = pc as usize;
        let op = &self.program.sites()[index].op;
        match &self.program.steps[index].action {
            Action::Parameter(_) => Some(UNIFORM),
            Action::Arithmetic(arithmetic) => {
                let cells: Vec<Slot> = arithmetic.sources().collect();
                self.arithmetic(op, &cells, result)
            }
            Action::Memory(memory) => {
                let memory = &self.program.memory[*memory as usize];
                if memory.moved().is_some() {
                    let source = self.cell(memory.sources().first()?.cell)?;
                    // The windows are multiples of large powers of two.
                    return Some(source);
                }
                // A generic address may be one in local memory, where each lane has its own value.
                let is_load = memory.plain().is_some_and(|plain| plain.is_load && !plain.is_generic());
                let address = self.cell(memory.addresses().first()?.cell)?;
                Some(if is_load && address.is_uniform() { UNIFORM } else { Shape::Varying })
            }
            Action::Rare(rare) => match &self.program.rare[*rare as usize] {
                Rare::Parameters(_) => Some(UNIFORM),
                _ => Some(Shape::Varying),
            },
            Action::Branch(_) => Some(Shape::Varying),
        }
    }

    fn arithmetic(&self, op: &Op, sources: &[Slot], result: usize) -> Option<Shape> {
        let shapes: Vec<Shape> =
            sources.iter().map(|slot| self.cell(slot.cell)).collect::<Option<Vec<Shape>>>()?;
        let all_uniform = shapes.iter().all(|shape| shape.is_uniform());
        let otherwise = if all_uniform { UNIFORM } else { Shape::Varying };
        let narrow = sources.iter().any(|slot| slot.width == Width::Predicate);
        let is_wide_enough = |scalar: ScalarType| matches!(scalar.size(), Some(4 | 8)) && !narrow;
        if result != 0 {
            return Some(otherwise);
        }
        Some(match (op, shapes.as_slice()) {
            (Op::Mov(scalar), [one]) if is_wide_enough(*scalar) && same_width(sources, *scalar) => *one,
            (Op::Integer(integer), shapes)
                if is_wide_enough(integer.scalar)
                    && !integer.packed
                    && !integer.saturates
                    && !integer.carry_in
                    && !integer.carry_out =>
            {
                let product = || {
                    let extends = integer.part == Some(Part::Wide) && is_signed(integer.scalar);
                    self.product((sources[0].cell, shapes[0]), (sources[1].cell, shapes[1]), extends)
                };
                match (integer.verb, integer.part) {
                    (IntegerVerb::Add, _) => sum(shapes[0], shapes[1], false),
                    (IntegerVerb::Sub, _) => sum(shapes[0], shapes[1], true),
                    (IntegerVerb::Mul, Some(Part::Low | Part::Wide)) => product(),
                    (IntegerVerb::Mad, Some(Part::Low | Part::Wide)) => sum(product(), shapes[2], false),
                    _ => otherwise,
                }
            }
            (Op::Convert(convert), [one]) => {
                let kept = |format| matches!(format, Format::Scalar(scalar) if is_integer(scalar));
                let plain = kept(convert.to) && kept(convert.from) && !convert.saturates;
                if plain { *one } else { otherwise }
            }
            (Op::Logic(LogicVerb::Shl, scalar), [one, by]) if is_wide_enough(*scalar) => {
                let shifted = |step: Step, by: u64| step.map(|step| step.wrapping_shl(by as u32));
                match (*one, self.constant(sources[1].cell)) {
                    (Shape::Affine { step, align }, Some(by)) if by < 32 => {
                        Shape::Affine { step: shifted(step, by), align: (align + by as u8).min(63) }
                    }
                    (Shape::Grid { log, inner, outer }, Some(by)) if by < 32 => {
                        Shape::Grid { log, inner: shifted(inner, by), outer: shifted(outer, by) }
                    }
                    (Shape::Affine { .. }, None) if by.is_uniform() && !one.is_uniform() => {
                        Shape::Affine { step: Step::Dynamic, align: 0 }
                    }
                    _ => otherwise,
                }
            }
            (Op::Logic(LogicVerb::Shr, scalar), [one, _]) if is_wide_enough(*scalar) => {
                match (one.lane_bits(), self.constant(sources[1].cell), one) {
                    (Some(exponent), Some(by), Shape::Affine { align, .. })
                        if by < 32 && !is_signed(*scalar) =>
                    {
                        let by = by as u32;
                        if by >= exponent + 5 {
                            UNIFORM
                        } else if by <= exponent {
                            let step = Step::Constant(1 << (exponent - by));
                            Shape::Affine { step, align: align - by as u8 }
                        } else {
                            grid(by - exponent, 0, 1)
                        }
                    }
                    _ => otherwise,
                }
            }
            (Op::Logic(verb @ (LogicVerb::And | LogicVerb::Or | LogicVerb::Xor), scalar), [a, b])
                if is_wide_enough(*scalar) && !all_uniform =>
            {
                let ((lanes, cell), other) =
                    if b.is_uniform() { ((*a, sources[1].cell), *b) } else { ((*b, sources[0].cell), *a) };
                match (lanes.lane_bits(), self.constant(cell)) {
                    _ if !other.is_uniform() => Shape::Varying,
                    (Some(exponent), Some(mask)) => bitwise(*verb, lanes, exponent, mask),
                    _ => Shape::Varying,
                }
            }
            _ => otherwise,
        })
    }

    /// Returns the shape of a product; `extends` if it is a wide one of signed numbers.
    fn product(&self, (a_cell, a): (u32, Shape), (b_cell, b): (u32, Shape), extends: bool) -> Shape {
        let by = |cell: u32, step: Step| match (self.constant(cell), step) {
            (Some(factor), Step::Constant(step)) => {
                let factor = if extends { i64::from(factor as i32) } else { factor as i64 };
                Step::Constant(step.wrapping_mul(factor))
            }
            (_, Step::Constant(0)) => step,
            _ => Step::Dynamic,
        };
        let (a_step, x, b_step, y) = match (a, b) {
            (Shape::Affine { step: a, align: x }, Shape::Affine { step: b, align: y }) => (a, x, b, y),
            (Shape::Grid { log, inner, outer }, other) if other.is_uniform() => {
                return Shape::Grid { log, inner: by(b_cell, inner), outer: by(b_cell, outer) };
            }
            (other, Shape::Grid { log, inner, outer }) if other.is_uniform() => {
                return Shape::Grid { log, inner: by(a_cell, inner), outer: by(a_cell, outer) };
            }
            _ => return Shape::Varying,
        };
        let align = (x + y).min(63);
        match (a.is_uniform(), b.is_uniform()) {
            (true, true) => Shape::Affine { step: Step::Constant(0), align },
            (false, true) => Shape::Affine { step: by(b_cell, a_step), align },
            (true, false) => Shape::Affine { step: by(a_cell, b_step), align },
            (false, false) => Shape::Varying,
        }
    }

    /// Forces registers to be varying whose lanes may come by different definitions. Returns true if there are new
    /// ones.
    fn force_where_diverged(&mut self) -> bool {
        let mut found = false;
        let mut definitions = vec![0_u32; self.forced.len()];
        for block in &self.graph.blocks {
            let last = block.steps.end + u32::from(matches!(block.end, End::Interpreted));
            for pc in block.steps.start..last {
                for number in self.results(pc) {
                    definitions[number] += 1;
                }
            }
        }
        for (at, block) in self.graph.blocks.iter().enumerate() {
            let (is_mixed, meets) = match block.end {
                End::Branch(branch) if branch.is_guarded => {
                    let guard = self.program.steps[block.steps.end as usize - 1].guard;
                    (!self.cell(guard).is_some_and(Shape::is_uniform), branch.meets)
                }
                End::Interpreted => match &self.program.steps[block.steps.end as usize].action {
                    Action::Branch(branch) => (branch.is_guarded, branch.meets),
                    Action::Rare(rare) => match &self.program.rare[*rare as usize] {
                        Rare::Switch { meets, .. } => (true, *meets),
                        _ => (false, NOWHERE),
                    },
                    _ => (false, NOWHERE),
                },
                _ => (false, NOWHERE),
            };
            if !is_mixed {
                continue;
            }
            let stop = self.graph.block_starting(meets);
            let mut seen = vec![false; self.graph.blocks.len()];
            let mut open = self.graph.blocks[at].successors.clone();
            while let Some(next) = open.pop() {
                if Some(next) == stop || std::mem::replace(&mut seen[next], true) {
                    continue;
                }
                open.extend(&self.graph.blocks[next].successors);
            }
            let live = stop.map(|stop| self.graph.blocks[stop].steps.start);
            let live = live.map_or_else(Vec::new, |pc| self.graph.live_before(self.program, pc));
            for block in (0..seen.len()).filter(|block| seen[*block]) {
                let Range { start, end } = self.graph.blocks[block].steps;
                for pc in start..end {
                    for number in self.results(pc) {
                        let lasts = definitions[number] > 1 || live.contains(&number);
                        if lasts && self.shapes[number] != Some(Shape::Varying) && !self.forced[number] {
                            self.forced[number] = true;
                            found = true;
                        }
                    }
                }
            }
        }
        found
    }

    fn results(&self, pc: u32) -> Vec<usize> {
        let results = self.program.uses.results(pc as usize).iter();
        results.filter_map(|slot| self.graph.register(slot.cell)).collect()
    }
}

/// Returns the shape with steps as numbers of 32 bits.
fn narrow(shape: Shape) -> Shape {
    let cut = |step: i64| i64::from(step as i32);
    match shape {
        Shape::Affine { step, align } => Shape::Affine { step: step.map(cut), align },
        Shape::Grid { log, inner, outer } => {
            Shape::Grid { log, inner: inner.map(cut), outer: outer.map(cut) }
        }
        Shape::Varying => shape,
    }
}

fn cut(shape: Shape, program: &Program, pc: u32) -> Shape {
    match program.uses.results(pc as usize).first() {
        Some(slot) if slot.width == Width::Word => narrow(shape),
        _ => shape,
    }
}

fn same_width(sources: &[Slot], scalar: ScalarType) -> bool {
    sources.iter().all(|slot| slot.width == Width::of(scalar))
}

pub(super) fn is_integer(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::U32 | ScalarType::S32 | ScalarType::U64 | ScalarType::S64)
}

pub(super) fn is_signed(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

fn sum(a: Shape, b: Shape, negates: bool) -> Shape {
    let both =
        |a: Step, b: Step| a.combine(b, |a, b| if negates { a.wrapping_sub(b) } else { a.wrapping_add(b) });
    match (a, b) {
        (Shape::Affine { step: a, align: x }, Shape::Affine { step: b, align: y }) => {
            Shape::Affine { step: both(a, b), align: x.min(y) }
        }
        _ => a.rows(b, both),
    }
}

fn grid(log: u32, inner: i64, outer: i64) -> Shape {
    Shape::Grid { log: log as u8, inner: Step::Constant(inner), outer: Step::Constant(outer) }
}

/// Returns the shape of affine bits combined with a constant.
fn bitwise(verb: LogicVerb, lanes: Shape, exponent: u32, constant: u64) -> Shape {
    let Shape::Affine { step, align } = lanes else { return Shape::Varying };
    let field = 31_u64 << exponent;
    let in_field = constant & field;
    match verb {
        LogicVerb::And if in_field == 0 => UNIFORM,
        LogicVerb::And if in_field == field => Shape::Affine { step, align },
        LogicVerb::And => {
            // The lowest bits of the lane's number give its place in a row, the others the row.
            let bits = in_field >> exponent;
            let one = 1_i64 << exponent;
            if (bits + 1).is_power_of_two() {
                grid(bits.trailing_ones(), one, 0)
            } else if (32 - bits).is_power_of_two() {
                let log = bits.trailing_zeros();
                grid(log, 0, one << log)
            } else {
                Shape::Varying
            }
        }
        LogicVerb::Or | LogicVerb::Xor if in_field == 0 => {
            Shape::Affine { step, align: align.min(constant.trailing_zeros().min(63) as u8) }
        }
        _ => Shape::Varying,
    }
}

/// Returns the lanes' values of a mask register's column, for constants.
pub(super) fn lane_mask(mask: LaneMask) -> [u32; 32] {
    std::array::from_fn(|lane| mask.of(lane as u32))
}
