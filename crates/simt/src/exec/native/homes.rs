//! Decides which registers live in the frame, and which hold results of plain float arithmetic, whose NaN are canonical only
//! when read.

use super::super::program::{FunctionCode, Program};
use super::super::step::Action;
use super::columns::{Columns, Operand};
use super::graph::{End, Graph};
use super::regions::Split;
use super::shape::{Shape, Step};
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{Float, FloatVerb};
use crate::ptx::op::words::Rounding;
use crate::registers::Width;

/// Places at which code may stop or start from which on a register that is live there stays in the frame.
const MANY_STOPS: u32 = 12;

/// Finds the registers that are live at many places where code stops or starts.
///
/// There each register is stored or loaded, unless it is kept in its column of the frame at all times. A kernel that
/// keeps a tile of 64 sums in registers and compares bounds before each store has hundreds of such places: its code would
/// consist of these copies, and LLVM would take minutes for it.
pub(super) fn find_homes(
    program: &Program,
    graph: &Graph,
    columns: &Columns,
    splits: &[Option<Split>],
    of: &[Shape],
) -> Vec<bool> {
    let may_diverge = |pc: u32| match columns.operand(graph, program.steps[pc as usize].guard) {
        Operand::Register(number) => !of[number].is_uniform(),
        Operand::Constant(_) => false,
        _ => true,
    };
    let stops = graph.blocks.iter().zip(splits).filter_map(|(block, split)| match block.end {
        End::Branch(branch) => {
            let pc = block.steps.end - 1;
            (branch.is_guarded && split.is_none() && may_diverge(pc)).then_some(pc)
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
pub(super) fn find_raw(
    program: &Program,
    function: &FunctionCode,
    graph: &Graph,
    columns: &Columns,
) -> Vec<bool> {
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
                (Op::Float(float), _) => is_plain_single(float),
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

/// Returns true for arithmetic on `f32` without modifiers, rounded to the nearest.
pub(super) fn is_plain_single(float: &Float) -> bool {
    float.scalar == ScalarType::F32 && is_plain(float) && has_machine_form(float.verb)
}

pub(super) fn is_plain(float: &Float) -> bool {
    matches!(float.rounding, None | Some(Rounding::NearestEven))
        && float.accuracy.is_none()
        && float.factors.is_none()
        && !(float.pairs || float.flushes || float.saturates || float.relu)
}

pub(super) fn has_machine_form(verb: FloatVerb) -> bool {
    use FloatVerb::{Abs, Add, Div, Fma, Mul, Neg, Rcp, Sqrt, Sub};
    matches!(verb, Add | Sub | Mul | Fma | Div | Rcp | Sqrt | Abs | Neg)
}
