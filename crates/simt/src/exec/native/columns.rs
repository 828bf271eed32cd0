//! What the columns of a kernel hold: registers, constants, special registers.

use std::collections::HashMap;

use super::super::layout::Fill;
use super::super::program::{FunctionCode, KernelCode, Program};
use super::super::special::Special;
use super::super::step::Action;
use super::graph::Graph;
use super::shape::{Shape, Step, UNIFORM, grid};
use crate::ptx::op::Op;

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

impl Operand {
    /// Returns the constant, if it is one.
    pub(super) fn constant(self) -> Option<u64> {
        match self {
            Self::Constant(bits) => Some(bits as u64),
            _ => None,
        }
    }
}

/// What the columns of a kernel hold.
pub(super) struct Columns {
    fills: HashMap<u32, Fill>,
    shared: Vec<Option<u32>>,
    pub(super) block: [u32; 3],
    /// Registers that hold one constant wherever they are read.
    constants: HashMap<u32, u128>,
}

impl Columns {
    pub(super) fn new(
        program: &Program,
        function: &FunctionCode,
        code: &KernelCode,
        graph: &Graph,
        block: [u32; 3],
    ) -> Self {
        let fills = function.filled.iter().map(|(slot, fill)| (slot.cell, *fill)).collect();
        let mut columns = Self { fills, shared: code.shared.clone(), block, constants: HashMap::new() };
        columns.constants = columns.find_constants(program, function, graph);
        columns
    }

    /// Finds the registers whose only definition is a move of a constant, as of the block's shape.
    fn find_constants(
        &self,
        program: &Program,
        function: &FunctionCode,
        graph: &Graph,
    ) -> HashMap<u32, u128> {
        let mut definitions: HashMap<u32, Option<u128>> = HashMap::new();
        for slot in &function.undefined_at_start {
            definitions.insert(slot.cell, None);
        }
        for pc in function.first..function.end {
            let step = &program.steps[pc as usize];
            let moved = match (&program.sites()[pc as usize].op, &step.action) {
                (Op::Mov(_), Action::Arithmetic(arithmetic)) if step.guard == 0 => {
                    let mut sources = arithmetic.sources();
                    match (sources.next().map(|slot| self.operand(graph, slot.cell)), sources.next()) {
                        (Some(Operand::Constant(bits)), None) => Some(bits),
                        _ => None,
                    }
                }
                _ => None,
            };
            for slot in program.uses.results(pc as usize) {
                let known = definitions.entry(slot.cell).or_insert(moved);
                if *known != moved {
                    *known = None;
                }
            }
        }
        definitions.into_iter().filter_map(|(cell, bits)| Some((cell, bits?))).collect()
    }

    /// Returns what an instruction reads from a column whose constant it need not load.
    pub(super) fn source(&self, graph: &Graph, cell: u32) -> Operand {
        match self.constants.get(&cell) {
            Some(bits) => Operand::Constant(*bits),
            None => self.operand(graph, cell),
        }
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
                // Compiled code executes clusters of one block.
                Special::Cluster(axis) => Operand::Special(Special::Block(axis), size),
                Special::InCluster(_) | Special::ClusterRank => Operand::Constant(0),
                Special::Clock(_) | Special::Timer(_) => Operand::Frame,
                _ => Operand::Launch,
            },
            Fill::Parameters(_) => Operand::Launch,
            Fill::Local(_) => Operand::Frame,
        }
    }

    /// Returns the shape of a special register.
    pub(super) fn special(&self, special: Special) -> Shape {
        let [x, y, z] = self.block;
        let lane = |align| Shape::Affine { step: Step::Constant(1), align };
        match special {
            Special::Thread(0) if x.is_multiple_of(32) => lane(5),
            Special::Thread(_) if x.is_multiple_of(32) => UNIFORM,
            Special::Thread(2) if (x * y).is_multiple_of(32) => UNIFORM,
            Special::Thread(0) if matches!(x, 2 | 4 | 8 | 16) => grid(x.trailing_zeros(), 1, 0, 63),
            Special::Thread(1) if matches!(x, 2 | 4 | 8 | 16) && z == 1 => {
                let log = x.trailing_zeros();
                grid(log, 0, 1, 5 - log as u8)
            }
            Special::Thread(_) | Special::LaneMask(_) => Shape::Varying,
            Special::Lane => lane(63),
            _ => UNIFORM,
        }
    }
}
