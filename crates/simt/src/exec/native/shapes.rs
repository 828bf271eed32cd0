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
//! of its place in a row of 16 lanes and of the row: such registers have two steps ([`Shape::Grid`]). Where each row goes on
//! where the one before ends, as in `tid.y * 16 + tid.x`, the register is affine after all.
//!
//! The shape belongs to the register, not to a place in the program: it is the join of what all definitions give. It
//! holds for all lanes while they are together: when lanes that the interpreter executed have met, a warp enters code only if
//! its live registers have their shapes. Lanes may come to a join by different definitions, so a register that is defined
//! where a warp may have diverged and is live at the join is varying. Others keep their shapes there: in a loop that a guard
//! of the kernel's bounds surrounds, the counter is uniform, although a warp at the edge diverges at the guard.
//!
//! In a region that code executes under a mask, a register that is not varying holds for the active lanes alone, and one
//! variable serves both sides of a branch. So a register that the first side defines and the second finds as it was before
//! is varying too.

use super::super::program::{FunctionCode, Program};
use super::super::step::{Action, Rare};
use super::columns::{Columns, Operand};
use super::graph::{Graph, is_called};
use super::homes::{find_homes, find_raw};
use super::regions::Split;
use super::shape::{Shape, Step, UNIFORM, bitwise, narrow, shifted_right, sum};
use crate::alu::{Collective, shuffled};
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Format, IntegerVerb, LogicVerb};
use crate::ptx::op::words::Part;
use crate::registers::{Slot, Width};

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

/// The shapes that are known so far.
pub(super) struct Analysis<'a> {
    pub(super) program: &'a Program,
    pub(super) graph: &'a Graph,
    columns: &'a Columns,
    pub(super) splits: &'a [Option<Split>],
    pub(super) shapes: Vec<Option<Shape>>,
    /// Registers that are varying whatever their definitions give.
    pub(super) forced: Vec<bool>,
}

/// Finds the shapes of a kernel's registers.
pub(super) fn find(
    program: &Program,
    function: &FunctionCode,
    graph: &Graph,
    columns: &Columns,
    splits: &[Option<Split>],
) -> Shapes {
    let count = graph.registers.len();
    let (shapes, forced) = (vec![None; count], vec![false; count]);
    let mut analysis = Analysis { program, graph, columns, splits, shapes, forced };
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
    let at_home = find_homes(program, graph, columns, splits, &of);
    let mut raw = find_raw(program, function, graph, columns);
    // The interpreter reads their columns.
    raw.iter_mut().zip(&at_home).for_each(|(raw, at_home)| *raw &= !at_home);
    analysis.shapes = of.iter().map(|shape| Some(*shape)).collect();
    let steps = function.first..function.end;
    let given =
        steps.map(|pc| analysis.transfer(pc, 0).map_or(Shape::Varying, |shape| cut(shape, program, pc)));
    Shapes { raw, at_home, given: given.collect(), first: function.first, of }
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
    pub(super) fn cell(&self, cell: u32) -> Option<Shape> {
        Some(match self.columns.source(self.graph, cell) {
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
        self.columns.source(self.graph, cell).constant()
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
                rare @ Rare::Collective(collective, _)
                    if is_called(rare) && is_uniform(op, collective, self.columns, self.graph) =>
                {
                    Some(UNIFORM)
                }
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
                    (IntegerVerb::Div | IntegerVerb::Rem, _) => {
                        match power_of_two(integer.scalar, self.constant(sources[1].cell)) {
                            Some(by) if integer.verb == IntegerVerb::Div => shifted_right(shapes[0], by),
                            Some(by) => bitwise(LogicVerb::And, shapes[0], UNIFORM, Some((1 << by) - 1)),
                            None => otherwise,
                        }
                    }
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
                    (Shape::Grid { log, inner, outer, align }, Some(by)) if by < 32 => {
                        let align = (align + by as u8).min(63);
                        Shape::of_rows(log, shifted(inner, by), shifted(outer, by), align)
                    }
                    (Shape::Affine { .. }, None) if by.is_uniform() && !one.is_uniform() => {
                        Shape::Affine { step: Step::Dynamic, align: 0 }
                    }
                    _ => otherwise,
                }
            }
            (Op::Logic(LogicVerb::Shr, scalar), [one, _]) if is_wide_enough(*scalar) => {
                match self.constant(sources[1].cell) {
                    Some(by) if by < 32 && !is_signed(*scalar) => shifted_right(*one, by as u32),
                    _ => otherwise,
                }
            }
            (Op::Logic(verb @ (LogicVerb::And | LogicVerb::Or | LogicVerb::Xor), scalar), [a, b])
                if is_wide_enough(*scalar) =>
            {
                let ((lanes, cell), other) =
                    if b.is_uniform() { ((*a, sources[1].cell), *b) } else { ((*b, sources[0].cell), *a) };
                bitwise(*verb, lanes, other, self.constant(cell))
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
        let rows = |log, steps: (Step, Step), x: u8, (cell, factor): (u32, Shape)| {
            let align = (x + factor.align()).min(63);
            Shape::of_rows(log, by(cell, steps.0), by(cell, steps.1), align)
        };
        let (a_step, x, b_step, y) = match (a, b) {
            (Shape::Affine { step: a, align: x }, Shape::Affine { step: b, align: y }) => (a, x, b, y),
            (Shape::Grid { log, inner, outer, align }, other) if other.is_uniform() => {
                return rows(log, (inner, outer), align, (b_cell, b));
            }
            (other, Shape::Grid { log, inner, outer, align }) if other.is_uniform() => {
                return rows(log, (inner, outer), align, (a_cell, a));
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
}

/// Returns true if a collective of all lanes gives each of them the same.
fn is_uniform(op: &Op, collective: &Collective, columns: &Columns, graph: &Graph) -> bool {
    match op {
        Op::Vote { .. } => true,
        Op::Shfl { .. } => pattern(op, collective, columns, graph)
            .is_some_and(|lanes| lanes.iter().all(|lane| *lane == lanes[0])),
        _ => false,
    }
}

/// Returns the lane that each lane reads in a shuffle, and true if that is within its segment; None if it is not known.
pub(super) fn pattern(
    op: &Op,
    collective: &Collective,
    columns: &Columns,
    graph: &Graph,
) -> Option<[(u32, bool); 32]> {
    let Op::Shfl { mode, .. } = op else { return None };
    let constant = |slot: Slot| Some(columns.source(graph, slot.cell).constant()? as u32);
    let mut operands = collective.sources().skip(1);
    let (b, c) = (constant(operands.next()?)?, constant(operands.next()?)?);
    Some(std::array::from_fn(|lane| shuffled(*mode, lane as u32, b, c)))
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

/// Returns the exponent of a divisor by which a division of numbers without a sign is a shift.
pub(super) fn power_of_two(scalar: ScalarType, divisor: Option<u64>) -> Option<u32> {
    let divisor = divisor.filter(|divisor| divisor.is_power_of_two() && *divisor < 1 << 32)?;
    (is_integer(scalar) && !is_signed(scalar)).then_some(divisor.trailing_zeros())
}

pub(super) fn is_integer(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::U32 | ScalarType::S32 | ScalarType::U64 | ScalarType::S64)
}

pub(super) fn is_signed(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}
